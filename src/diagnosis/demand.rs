//! Pending claims, counted by what the rules look at.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::parts::{ClaimStop, Rule};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use crate::matching::{FindOptions, MatchReport};

/// Pending claims in groups of one *shape*: what all rules but that on size look
/// at, for a volume that is free. See [`Census`](super::census::Census), of which
/// it is the other side.
#[derive(Debug)]
pub(super) struct Demand {
    classes: BTreeMap<String, BTreeMap<String, Vec<Arc<PersistentVolumeClaim>>>>,
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
            shapes.entry(shape(&claim)).or_default().push(claim);
        }
        for claims in classes.values_mut().flat_map(BTreeMap::values_mut) {
            claims.sort_by(
                |a: &Arc<PersistentVolumeClaim>, b: &Arc<PersistentVolumeClaim>| {
                    a.requested_storage().cmp(b.requested_storage())
                },
            );
        }
        Demand { classes }
    }

    /// What the pending claims of its class can do with a free volume.
    pub(super) fn offers(&self, volume: &PersistentVolume, vac_enabled: bool) -> Offers {
        let mut offers = Offers::default();
        let options = FindOptions {
            attributes_classes: vac_enabled,
            ..FindOptions::default()
        };
        let shapes = self.classes.get(volume.class_name());
        for claims in shapes.into_iter().flat_map(BTreeMap::values) {
            let split =
                claims.partition_point(|claim| claim.requested_storage() <= volume.storage());
            let (small, large) = claims.split_at_checked(split).unwrap_or_default();
            for side in [small, large] {
                // The one that is nearest to the volume's size speaks for all.
                let nearest = match std::ptr::eq(side, small) {
                    true => side.last(),
                    false => side.first(),
                };
                let Some(claim) = nearest else {
                    continue;
                };
                let report = MatchReport::new(claim, [volume], &options);
                match (report.summary().refused.first(), &report.error) {
                    (None, None) => offers.fit(side),
                    (None, Some(_)) => {}
                    (Some(refused), _) => {
                        offers.stop(Rule::of(&refused.refusal), claim, side.len())
                    }
                }
            }
        }
        offers.fitting.sort_unstable();
        offers.fitting.truncate(TOLD);
        offers
    }
}

impl Offers {
    fn fit(&mut self, claims: &[Arc<PersistentVolumeClaim>]) {
        self.count = self.count.saturating_add(claims.len());
        self.fitting
            .extend(claims.iter().take(TOLD).map(|claim| ClaimKey::of(claim)));
    }

    fn stop(&mut self, rule: Rule, claim: &PersistentVolumeClaim, count: usize) {
        let same = self
            .stopped
            .iter_mut()
            .find(|stop| stop.rule.code == rule.code);
        match same {
            Some(stop) => stop.count = stop.count.saturating_add(count),
            None => self.stopped.push(ClaimStop {
                rule,
                count,
                example: claim.metadata.key(),
            }),
        }
    }
}

/// What the rules look at, but for the size, as a text.
fn shape(claim: &PersistentVolumeClaim) -> String {
    let mut modes: Vec<_> = claim
        .access_modes()
        .iter()
        .map(|mode| mode.as_str())
        .collect();
    modes.sort_unstable();
    modes.dedup();
    let selector = serde_json::to_value(&claim.spec.selector).unwrap_or_default();
    let mode = claim.volume_mode().as_str();
    let attributes_class = claim.attributes_class_name();
    serde_json::json!([mode, attributes_class, modes, selector]).to_string()
}
