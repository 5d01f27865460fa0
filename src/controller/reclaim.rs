//! What happens to a volume whose claim is gone.

use super::draft::Draft;
use crate::api::{PersistentVolume, PersistentVolumeReclaimPolicy as Policy, names};
use crate::binding::mark_volume_released;
use crate::plan::{EventReason, Operation, SyncError};
use crate::view::Held;

/// Releases a volume, then reclaims it by its policy.
///
/// Follows `reclaimVolume` of Kubernetes 1.36.
pub(super) fn release_and_reclaim(
    draft: &mut Draft,
    volume: Held<'_, PersistentVolume>,
) -> Result<(), SyncError> {
    let edit = mark_volume_released(&volume)?;
    let volume = draft.volume_status(volume, edit);
    let migrated_to = volume.metadata.annotation(names::MIGRATED_TO);
    if migrated_to.is_some_and(|driver| !driver.is_empty()) {
        return Ok(());
    }
    match volume.reclaim_policy() {
        Some(Policy::Retain) => {}
        Some(Policy::Recycle) => draft.start(Operation::Recycle {
            volume: volume.into_arc(),
        }),
        Some(Policy::Delete) => draft.start(Operation::Delete {
            volume: volume.into_arc(),
        }),
        _ => draft.reclaim_failed(
            volume,
            EventReason::VolumeUnknownReclaimPolicy,
            "Volume has unrecognized PersistentVolumeReclaimPolicy",
        )?,
    }
    Ok(())
}
