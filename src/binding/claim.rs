//! Which volume a claim has.

use super::Edit;
use crate::api::{PersistentVolume, PersistentVolumeClaim, names};

/// Binds a claim to a volume: the third edit of a bind, written after the
/// volume.
///
/// If `spec.volumeName` differs it is set, and the claim is marked with
/// `pv.kubernetes.io/bound-by-controller`: the user did not ask for this
/// volume. In any case the claim is marked with
/// `pv.kubernetes.io/bind-completed`.
///
/// Follows `bindClaimToVolume` of Kubernetes 1.36.
///
/// Cost: at most one copy of the claim.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::binding::{Edit, bind_claim_to_volume};
/// let claim: PersistentVolumeClaim = serde_json::from_str(r#"{"metadata": {"name": "data"}}"#)?;
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// let bound = bind_claim_to_volume(&claim, &volume).changed().unwrap();
/// assert_eq!(bound.volume_name(), "pv-1");
/// assert!(bound.is_bind_completed());
/// assert_eq!(bind_claim_to_volume(&bound, &volume), Edit::Unchanged);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn bind_claim_to_volume(
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
) -> Edit<PersistentVolumeClaim> {
    let names_it = claim.volume_name() == volume.name();
    if names_it && claim.is_bind_completed() {
        return Edit::Unchanged;
    }
    let mut claim = claim.clone();
    let mut mark = |key: &str| {
        if !claim.metadata.has_annotation(key) {
            claim.metadata.set_annotation(key, names::YES);
        }
    };
    if !names_it {
        mark(names::BOUND_BY_CONTROLLER);
    }
    mark(names::BIND_COMPLETED);
    if !names_it {
        claim.spec.volume_name = Some(volume.name().to_owned());
    }
    Edit::Changed(claim)
}
