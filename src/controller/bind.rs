//! Binding a claim and a volume: four writes.

use super::Config;
use super::draft::Draft;
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::binding::{
    bind_claim_to_volume, bind_volume_to_claim, mark_claim_bound, mark_volume_available,
    mark_volume_bound, unbind_volume,
};
use crate::plan::SyncError;
use crate::view::Held;

/// Volume, its status, claim, its status: in this order, so that a bind cut off
/// anywhere leaves the volume to no other claim and is finished by the next
/// sync of either.
///
/// Follows `bind` of Kubernetes 1.36.
pub(super) fn bind(
    config: &Config,
    draft: &mut Draft,
    volume: Held<'_, PersistentVolume>,
    claim: Held<'_, PersistentVolumeClaim>,
) -> Result<(), SyncError> {
    let edit = bind_volume_to_claim(&volume, &claim);
    let volume = draft.volume(volume, edit);
    let edit = mark_volume_bound(&volume)?;
    let volume = draft.volume_status(volume, edit);
    let edit = bind_claim_to_volume(&claim, &volume);
    let claim = draft.claim(claim, edit);
    let edit = mark_claim_bound(&claim, &volume, config.features)?;
    draft.claim_status(claim, edit);
    Ok(())
}

/// Takes a volume from its claim and makes it available.
///
/// Follows `unbindVolume` of Kubernetes 1.36.
pub(super) fn unbind(
    draft: &mut Draft,
    volume: Held<'_, PersistentVolume>,
) -> Result<(), SyncError> {
    let edit = unbind_volume(&volume);
    let volume = draft.volume(volume, edit);
    let edit = mark_volume_available(&volume)?;
    draft.volume_status(volume, edit);
    Ok(())
}
