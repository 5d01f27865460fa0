//! Binding: edits of single objects, and the lives of volumes and claims.
//!
//! Each function takes an object, and gives an [`Edit`]: a changed copy, or the
//! word that nothing had to change. Status edits go through the two state
//! machines, [`VolumeState`] and [`ClaimState`], so that a step of a life that
//! must not happen cannot be written.
//!
//! The four edits of a bind, in the order in which they must be written:
//! [`bind_volume_to_claim`], [`mark_volume_bound`], [`bind_claim_to_volume`],
//! [`mark_claim_bound`].
//!
//! ```
//! use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
//! use pvbind::binding::*;
//! use pvbind::matching::Features;
//! let volume: PersistentVolume = serde_json::from_str(
//!     r#"{"metadata": {"name": "pv-1"}, "spec": {"capacity": {"storage": "5Gi"}}}"#)?;
//! let claim: PersistentVolumeClaim = serde_json::from_str(
//!     r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?;
//! let volume = bind_volume_to_claim(&volume, &claim).applied_to(&volume);
//! let volume = mark_volume_bound(&volume)?.applied_to(&volume);
//! let claim = bind_claim_to_volume(&claim, &volume).applied_to(&claim);
//! let claim = mark_claim_bound(&claim, &volume, Features::default())?.applied_to(&claim);
//! assert_eq!(VolumeState::of(&volume), VolumeState::Bound);
//! assert_eq!(ClaimState::of(&claim), ClaimState::Bound);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod edit;
pub use edit::Edit;

mod volume;
pub use volume::{bind_volume_to_claim, claim_reference, unbind_volume, without_finalizer};

mod claim;
pub use claim::bind_claim_to_volume;

mod volume_life;
pub use volume_life::{
    VolumeLifeEvent, VolumeLifeRefusal, VolumeLifeRefusalReason, VolumeState, check_may_be_deleted,
    mark_volume_available, mark_volume_bound, mark_volume_failed, mark_volume_released,
};

mod claim_life;
pub use claim_life::{
    ClaimLifeEvent, ClaimLifeRefusal, ClaimLifeRefusalReason, ClaimState, ClaimStatusError,
    mark_claim_bound, mark_claim_lost, mark_claim_pending,
};
