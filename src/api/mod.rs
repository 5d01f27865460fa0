//! The objects as Kubernetes writes them, and the names it uses.
//!
//! Every object keeps what this crate has no name for: unknown fields at every
//! level, and unknown values of text fields. Reading an object and writing it
//! again changes nothing but this: quantities take their canonical text, a
//! field that was `null` is left out, and a number in an unknown field that is
//! no 64-bit integer becomes a double. Fields are optional where the text
//! may lack them, because absent, empty and zero are different texts; the
//! accessors (`name()`, `class_name()`, `volume_mode()` …) give the meaning
//! that Kubernetes gives to an absent field.
//!
//! A later version of this crate may give more fields a name; so make objects
//! from JSON, or with `..Default::default()` behind the fields that matter.
//!
//! A read error names the field by its path:
//!
//! ```
//! use pvbind::api::PersistentVolume;
//! let error = serde_json::from_str::<PersistentVolume>(
//!     r#"{"spec": {"capacity": {"storage": "10GB"}}}"#,
//! )
//! .unwrap_err();
//! assert!(error.to_string().starts_with(".spec.capacity.storage: "));
//! ```

#[macro_use]
pub(crate) mod object;
pub use object::UnknownFields;

mod time;
pub use time::Timestamp;

mod meta;
pub use meta::{ObjectMeta, ObjectReference, OwnerReference};

mod resources;
pub use resources::ResourceList;

mod selectors;
pub use selectors::{
    LabelSelector, LabelSelectorOperator, LabelSelectorRequirement, NodeSelector,
    NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm,
    TopologySelectorLabelRequirement, TopologySelectorTerm,
};

mod volume;
pub use volume::{
    AccessMode, CsiVolumeSource, PersistentVolume, PersistentVolumeReclaimPolicy,
    PersistentVolumeSpec, PersistentVolumeStatus, VOLUME_SOURCES, VolumeMode, VolumeNodeAffinity,
    VolumePhase,
};

mod claim;
pub use claim::{
    ClaimPhase, ClassOrigin, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus, PersistentVolumeClaimTemplate, ResourceRequirements,
};

mod key;
pub use key::{ClaimKey, ClaimKeyError};

mod class;
pub use class::{StorageClass, VolumeBindingMode};

mod node;
pub use node::Node;

mod pod;
pub use pod::{
    Affinity, EphemeralVolumeSource, PersistentVolumeClaimVolumeSource, Pod, PodNodeAffinity,
    PodPhase, PodSpec, PodStatus, PodVolume, PodVolumeClaim, ephemeral_claim_name,
};

mod csi;
pub use csi::{CsiDriver, CsiDriverSpec, CsiNode, CsiNodeDriver, CsiNodeSpec, CsiStorageCapacity};

mod stateful_set;
pub use stateful_set::{
    StatefulSet, StatefulSetOrdinals, StatefulSetSpec, stateful_set_claim_name,
};

mod list;
pub use list::{List, Object, ObjectError, Place, ReadError, read_objects};

pub mod names;
