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
