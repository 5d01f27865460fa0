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
//!
//! # The rules
//! In the order of [`find_matching_volume`]:
//!
//! | rule | holds for | refused as |
//! | --- | --- | --- |
//! | [`check_not_excluded`] | every volume | `excluded` |
//! | [`check_claim_ref`] | every volume | `claimed-by-other` |
//! | [`check_capacity`] | every volume | `too-small` |
//! | [`check_volume_mode`] | every volume | `volume-mode` |
//! | [`check_attributes_class`] | every volume | `attributes-class`, `attributes-class-disabled` |
//! | [`check_not_being_deleted`] | every volume | `being-deleted` |
//! | [`check_node_affinity`] | every volume, if a node is given | `node-affinity` |
//! | [`check_reserved`] | what is not bound to the claim, if binding is delayed and no node is given | `not-reserved` |
//! | [`check_phase`] | what is not bound to the claim | `phase` |
//! | [`check_selector`] | what is not bound to the claim | `selector`; for a selector that cannot be read, a report says `selector-unparsable` |
//! | [`check_class`] | what is not bound to the claim | `class` |
//! | [`check_access_modes`] | what is not bound to the claim, if a node is given | `access-modes` |
//! | [`check_known_access_modes`] | every volume, in the search of the controller | `access-modes` |
//!
//! Each but the last is a step of `FindMatchingVolume` of Kubernetes 1.36; the
//! last stands for the groups of `findBestMatchForClaim`. Each is total: there
//! is no object for which it panics. Each costs constant time and no
//! allocation, unless it says otherwise, on objects of the sizes that an API
//! server admits; a hostile one costs at most time linear in its size.
//!
//! ```
//! use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
//! use pvbind::matching::{FindOptions, MatchReport, find_matching_volume};
//! let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
//!     "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
//!     "spec": {"capacity": {"storage": "5G"}}}))?;
//! let claim: PersistentVolumeClaim = serde_json::from_str(
//!     r#"{"spec": {"resources": {"requests": {"storage": "5Gi"}}}}"#)?;
//! let options = FindOptions::default();
//! assert_eq!(find_matching_volume(&claim, [&volume], &options).unwrap(), None);
//! // And why not?
//! let report = MatchReport::new(&claim, [&volume], &options);
//! assert_eq!(
//!     report.volumes[0].refusals[0].to_string(),
//!     "is too small: has 5G, asked 5Gi"
//! );
//! # Ok::<(), serde_json::Error>(())
//! ```

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

mod features;
pub use features::Features;

mod find;
pub use find::{FindError, FindOptions, SearchOptions, find_matching_volume};

mod search;
pub use search::find_best_match_for_claim;

mod index;
pub use index::{ClaimSearch, LayeredNode, LayeredSearch, NodeLabels, VolumeIndex, VolumeLayers};
pub(crate) use index::{Found, LayeredReach};

mod report;
pub use report::{Bucket, MatchReport, Shortfall, VolumeReport};

mod json;

mod summary;
pub use summary::{RefusedCount, Summary};

mod satisfies;
pub use satisfies::volume_satisfies_claim;
