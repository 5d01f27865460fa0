//! Whether a volume is still to be reclaimed.

use crate::api::PersistentVolume;
use crate::view::ClusterView;

/// Whether a volume is still released, now that the operation's turn has come:
/// it had a claim, and that is missing in the view, another one of the same
/// name, or has another volume. A claim that names no volume keeps this one.
///
/// Follows `isVolumeReleased` of Kubernetes 1.36.
pub(super) fn is_still_released<V: ClusterView + ?Sized>(
    view: &V,
    volume: &PersistentVolume,
) -> bool {
    let Some(reference) = volume.claim_ref() else {
        return false;
    };
    if reference.uid().is_empty() {
        return false;
    }
    match view.claim(reference.namespace(), reference.name()) {
        None => true,
        Some(claim) if claim.metadata.uid() != reference.uid() => true,
        Some(claim) => !claim.volume_name().is_empty() && claim.volume_name() != volume.name(),
    }
}
