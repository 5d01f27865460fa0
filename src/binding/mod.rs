//! Binding: edits of single objects, and the lives of volumes and claims.
//!
//! Each function takes an object, and gives an [`Edit`]: a changed copy, or the
//! word that nothing had to change. Status edits go through the two state
//! machines, [`VolumeState`] and [`ClaimState`], so that a step of a life that
//! must not happen cannot be written.
//!
//! The four edits of a bind, in the order in which they must be written:
//! [`bind_volume_to_claim`], [`volume_claimed`], [`bind_claim_to_volume`],
//! [`claim_bound`].

mod edit;
pub use edit::Edit;

mod volume;
pub use volume::{bind_volume_to_claim, claim_reference, unbind_volume};

mod claim;
pub use claim::bind_claim_to_volume;

mod volume_life;
pub use volume_life::{
    VolumeEvent, VolumeRefusal, VolumeRefusalReason, VolumeState, check_may_be_deleted,
    volume_claimed, volume_freed, volume_reclaim_failed, volume_released,
};

mod claim_life;
pub use claim_life::{
    ClaimEvent, ClaimRefusal, ClaimRefusalReason, ClaimState, ClaimStatusError, claim_bound,
    claim_lost, claim_waits,
};
