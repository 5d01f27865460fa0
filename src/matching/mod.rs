//! Which volume a claim gets, one rule per function.
//!
//! | question | function | upstream (Kubernetes 1.36) |
//! | --- | --- | --- |
//! | which of these volumes, on this node or on none in particular? | [`find_matching_volume`] | `FindMatchingVolume` |
//! | which volume does the binding controller take? | [`find_best_match_for_claim`] | `persistentVolumeOrderedIndex.findBestMatchForClaim` |
//! | may a claim have the volume that it names? | [`volume_satisfies_claim`] | `checkVolumeSatisfyClaim` |
//! | the same questions, at any size | [`VolumeIndex`] | none |
//! | why does a volume not fit? | [`MatchReport`] | none |
//!
//! Each rule is a function of its own that returns a [`Refusal`] with the
//! facts. The slice searches are the definition: they visit every volume and
//! apply the rules in upstream's order. [`VolumeIndex`] gives the same answers
//! without visiting them.

mod refusal;
pub use refusal::{Mismatch, Refusal};

mod rules;
pub use rules::{
    check_access_modes, check_attributes_class, check_capacity, check_claim_ref, check_class,
    check_known_access_modes, check_node_affinity, check_not_being_deleted, check_not_excluded,
    check_phase, check_reserved, check_selector, check_volume_mode,
};

mod access_modes;
pub use access_modes::AccessModeSet;

mod find;
pub use find::{FindError, FindOptions, SearchOptions, find_matching_volume};

mod search;
pub use search::find_best_match_for_claim;

mod index;
pub use index::{ClaimSearch, LayeredNode, LayeredSearch, NodeLabels, VolumeIndex, VolumeLayers};
pub(crate) use index::{Found, LayeredReach};

mod report;
pub use report::{Bucket, MatchReport, Shortfall, VolumeReport};

mod summary;
pub use summary::{RefusedCount, Summary};

mod satisfies;
pub use satisfies::volume_satisfies_claim;
