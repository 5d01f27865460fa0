//! What a diagnosis says of a claim, and what the decision says.

use std::collections::BTreeSet;
use std::sync::Arc;

use pvbind::api::{ClaimPhase, PersistentVolumeClaim};
use pvbind::controller::{Config, sync_claim};
use pvbind::diagnosis::{ClaimFacts, Diagnosis, Facts};
use pvbind::plan::{Step, Write};
use pvbind::view::Snapshot;

/// The volume that the sync binds a claim to; a claim that it gives the default
/// class is synced once more.
pub(crate) fn bound_to(
    config: &Config,
    snapshot: &Snapshot,
    claim: &PersistentVolumeClaim,
) -> Option<String> {
    let mut after = Arc::new(claim.clone());
    for step in sync_claim(config, snapshot, claim).steps {
        if let Step::Write {
            write: Write::Claim(change) | Write::ClaimStatus(change),
            ..
        } = step
        {
            after = change.to;
        }
    }
    if after.has_class() && !claim.has_class() {
        return bound_to(config, snapshot, &after);
    }
    let is_bound = after.is_bind_completed() && after.status.phase == Some(ClaimPhase::Bound);
    is_bound.then(|| after.volume_name().to_owned())
}

pub(crate) fn facts_of(diagnosis: &Diagnosis) -> impl Iterator<Item = &ClaimFacts> {
    diagnosis
        .findings()
        .iter()
        .filter_map(|finding| match &finding.facts {
            Facts::Claim(facts) => Some(facts),
            _ => None,
        })
}

/// The volume that a claim is said to have, or to get.
pub(crate) fn said_bound_to(diagnosis: &Diagnosis) -> Option<String> {
    facts_of(diagnosis).find_map(|facts| match facts {
        ClaimFacts::Bound { volume, .. } | ClaimFacts::WouldBind { volume, .. } => {
            Some(volume.clone())
        }
        _ => None,
    })
}

/// The volumes that a claim is said not to get.
pub(crate) fn said_refused(diagnosis: &Diagnosis) -> BTreeSet<String> {
    let mut refused = BTreeSet::new();
    for facts in facts_of(diagnosis) {
        match facts {
            ClaimFacts::NoVolumeFits { nearest, .. } => {
                refused.extend(nearest.iter().map(|miss| miss.volume.clone()));
            }
            ClaimFacts::ReservedUnusable { volume, .. }
            | ClaimFacts::NamesMismatchedVolume { volume, .. }
            | ClaimFacts::NamesTakenVolume { volume, .. }
            | ClaimFacts::ReleasedByEarlier { volume, .. }
            | ClaimFacts::DecimalAgainstBinary { volume, .. } => {
                refused.insert(volume.clone());
            }
            _ => {}
        }
    }
    refused
}
