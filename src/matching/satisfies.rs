//! A claim that names its volume.

use super::rules::{
    check_access_modes, check_attributes_class, check_class, check_not_being_deleted,
    check_volume_mode,
};
use super::{Mismatch, Refusal};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::matching::Features;

/// Whether a claim can have the volume that it names in `spec.volumeName`; the
/// first rule that refuses, whose text stands in upstream's event.
///
/// The rules, in this order: the volume is not being deleted; it is large
/// enough, both sizes rounded up to whole bytes; class, VolumeAttributesClass
/// and volume mode are the same; it has the claim's access modes. Selector, node
/// affinity, phase and claimRef are not looked at.
///
/// # Errors
/// The first rule that refuses.
///
/// Follows `checkVolumeSatisfyClaim` of Kubernetes 1.36.
///
/// # Differences
/// Sizes beyond 63 bits are compared as they are; upstream compares them after
/// wrapping around.
///
/// # Cost
/// Constant, as long as the amounts are not hostile, and without allocation.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Features, volume_satisfies_claim};
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"capacity": {"storage": "1Gi"}}}"#)?;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}"#)?;
/// let mismatch = volume_satisfies_claim(&volume, &claim, Features::default()).unwrap_err();
/// assert_eq!(mismatch.to_string(), "requested PV is too small");
/// assert_eq!(mismatch.refusal.to_string(), "is too small: has 1Gi, asked 2Gi");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn volume_satisfies_claim<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
    features: Features,
) -> Result<(), Mismatch<'a>> {
    check_not_being_deleted(volume)
        .and_then(|()| check_capacity_in_bytes(volume, claim))
        .and_then(|()| check_class(volume, claim))
        .and_then(|()| check_attributes_class(volume, claim, features))
        .and_then(|()| check_volume_mode(volume, claim))
        .and_then(|()| check_access_modes(volume, claim))
        .map_err(|refusal| Mismatch { refusal, volume })
}

fn check_capacity_in_bytes<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
) -> Result<(), Refusal<'a>> {
    let (has, asked) = (volume.storage(), claim.requested_storage());
    if has.cmp_rounded_up(asked).is_lt() {
        Err(Refusal::TooSmall { has, asked })
    } else {
        Ok(())
    }
}
