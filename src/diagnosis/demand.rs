//! Pending claims, counted by what the rules look at.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::parts::{ClaimStop, Rule};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use crate::matching::{Features, FindOptions, MatchReport, Refusal};
use crate::quantity::Quantity;
use crate::selector::{CompiledLabelSelector, SelectorError};

/// Pending claims in groups of one *shape*: what all rules but those on size
/// and labels look at, for a volume that is free. See [`Census`](super::census::Census), of which
/// it is the other side.
#[derive(Debug)]
pub(super) struct Demand {
    classes: BTreeMap<String, BTreeMap<String, Vec<Pending>>>,
}

/// A pending claim.
#[derive(Debug)]
struct Pending {
    claim: Arc<PersistentVolumeClaim>,
    selector: Option<Result<CompiledLabelSelector, SelectorError>>,
}

/// What the pending claims of a volume's class can do with it.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// Claims that it fits, the first few.
    pub(super) fitting: Vec<ClaimKey>,
    /// How many there are.
    pub(super) count: usize,
    /// Those that a rule stops.
    pub(super) stopped: Vec<ClaimStop>,
}

/// How many claims are told by name.
const TOLD: usize = 5;

impl Demand {
    pub(super) fn new(claims: impl IntoIterator<Item = Arc<PersistentVolumeClaim>>) -> Self {
        let mut classes: BTreeMap<String, BTreeMap<String, Vec<_>>> = BTreeMap::new();
        for claim in claims {
            let shapes = classes.entry(claim.class_name().to_owned()).or_default();
            let selector = claim.spec.selector.as_ref();
            let selector = selector.map(CompiledLabelSelector::compile);
            let pending = Pending { selector, claim };
            shapes
                .entry(shape(&pending.claim))
                .or_default()
                .push(pending);
        }
        for claims in classes.values_mut().flat_map(BTreeMap::values_mut) {
            claims.sort_by(|a: &Pending, b: &Pending| a.asked().cmp(b.asked()));
        }
        Demand { classes }
    }

    /// What the pending claims of its class can do with a free volume.
    pub(super) fn offers(&self, volume: &PersistentVolume, features: Features) -> Offers {
        let mut offers = Offers::default();
        let options = FindOptions {
            features,
            ..FindOptions::default()
        };
        let shapes = self.classes.get(volume.class_name());
        for claims in shapes.into_iter().flat_map(BTreeMap::values) {
            let split = claims.partition_point(|claim| claim.asked() <= volume.storage());
            let (small, large) = claims.split_at_checked(split).unwrap_or_default();
            // The ones that are nearest to the volume's size, of which the first
            // speaks for all.
            let below: Vec<_> = small.iter().rev().take(TOLD).collect();
            let above: Vec<_> = large.iter().take(TOLD).collect();
            for (side, few) in [(small, below), (large, above)] {
                let Some(nearest) = few.first() else {
                    continue;
                };
                let mut bare = PersistentVolumeClaim::clone(&nearest.claim);
                bare.spec.selector = None;
                let report = MatchReport::new(&bare, [volume], &options);
                match report.summary().refused.first() {
                    Some(refused) => {
                        let few = few.into_iter().map(|pending| ClaimKey::of(&pending.claim));
                        offers.stop(Rule::of(&refused.refusal), few, side.len());
                    }
                    None => side
                        .iter()
                        .for_each(|claim| offers.judge_selector(claim, volume)),
                }
            }
        }
        offers.fitting.sort_unstable();
        offers
    }
}

impl Offers {
    /// A claim that names the volume, and fits it.
    pub(super) fn add_named(&mut self, claim: &ClaimKey) {
        self.count = self.count.saturating_add(1);
        if self.fitting.len() < TOLD {
            self.fitting.push(claim.clone());
        }
    }

    /// Nothing but its selector can keep the claim from the volume.
    fn judge_selector(&mut self, pending: &Pending, volume: &PersistentVolume) {
        let refusal = match &pending.selector {
            Some(Err(_)) => Refusal::SelectorUnparsable,
            Some(Ok(selector)) if !selector.matches(volume.metadata.labels()) => Refusal::Selector,
            _ => {
                self.count = self.count.saturating_add(1);
                if self.fitting.len() < TOLD {
                    self.fitting.push(ClaimKey::of(&pending.claim));
                }
                return;
            }
        };
        let claim = ClaimKey::of(&pending.claim);
        self.stop(Rule::of(&refusal), [claim], 1);
    }

    /// One rule stops so many claims, of which these are the first few.
    fn stop(&mut self, rule: Rule, claims: impl IntoIterator<Item = ClaimKey>, count: usize) {
        let same = self
            .stopped
            .iter_mut()
            .find(|stop| stop.rule.code == rule.code);
        match same {
            Some(stop) => {
                stop.count = stop.count.saturating_add(count);
                let room = TOLD.saturating_sub(stop.claims.len());
                stop.claims.extend(claims.into_iter().take(room));
            }
            None => self.stopped.push(ClaimStop {
                rule,
                count,
                claims: claims.into_iter().collect(),
            }),
        }
    }
}

impl Pending {
    fn asked(&self) -> &Quantity {
        self.claim.requested_storage()
    }
}

/// What the rules look at, but for size and selector, as a text.
fn shape(claim: &PersistentVolumeClaim) -> String {
    let mut modes: Vec<_> = claim
        .access_modes()
        .iter()
        .map(|mode| mode.as_str())
        .collect();
    modes.sort_unstable();
    modes.dedup();
    let mode = claim.volume_mode().as_str();
    let attributes_class = claim.attributes_class_name();
    serde_json::json!([mode, attributes_class, modes]).to_string()
}
