//! From and to the types of [k8s-openapi](k8s_openapi) 0.29.
//!
//! Opened by the feature `k8s-openapi029`. Which version of Kubernetes the
//! types are of (`v1_33` to `v1_37`) is the choice of your program: this crate
//! switches no version on, and works with each.
//!
//! | from k8s-openapi | to k8s-openapi |
//! | --- | --- |
//! | `From`: StorageClass, Node, CSIDriver, CSINode, and the parts that hold no quantity | `TryFrom`: a time or a field that this crate has no name for may be of no form that k8s-openapi has |
//! | `TryFrom`: PersistentVolume, PersistentVolumeClaim, Pod, StatefulSet, CSIStorageCapacity, Quantity, whose quantities are unchecked texts there | `From`: Quantity |
//!
//! Each conversion exists for a value and for a reference. From k8s-openapi
//! both cost the same: only what is kept is copied.
//!
//! ```
//! use k8s_openapi::api::core::v1;
//! use pvbind::api::PersistentVolumeClaim;
//!
//! let theirs = v1::PersistentVolumeClaim {
//!     spec: Some(v1::PersistentVolumeClaimSpec {
//!         volume_name: Some("pv-1".to_owned()),
//!         ..Default::default()
//!     }),
//!     ..Default::default()
//! };
//! let claim = PersistentVolumeClaim::try_from(&theirs)?;
//! assert_eq!(claim.volume_name(), "pv-1");
//! assert_eq!(v1::PersistentVolumeClaim::try_from(claim)?, theirs);
//! # Ok::<(), pvbind::convert::k8s_openapi029::ConversionError>(())
//! ```
//!
//! # What is kept
//! The answer is what a detour through JSON gives: fields that this crate has
//! no name for go to and come from the `unknown` fields. What the detour
//! changes, changes here too:
//! - A quantity that goes to k8s-openapi takes its canonical text.
//! - A time that goes to k8s-openapi is a point in time: how it was written
//!   (offset, zeros of the fraction) is lost. Of what comes from there, the times
//!   of creation and deletion keep their fraction of a second; k8s-openapi cuts
//!   it off wherever it writes JSON, and so in fields that this crate has no name
//!   for.
//! - Years before 0 in fields that this crate has no name for are refused on the
//!   way there: k8s-openapi does not read what it writes of them.
//! - Fields that k8s-openapi requires, such as the operator of a selector, are
//!   empty there when absent here.
//! - Fields that the chosen version of k8s-openapi does not have are **lost**
//!   on the way there. So do not replace an object of a newer API server by one
//!   that went through k8s-openapi's types: send the merge patch of the change
//!   ([`Change::merge_patch`](crate::plan::Change::merge_patch)), which holds
//!   only what is to be different.
//!
//! # Cost
//! Fields go directly from type to type: linear in the size of the object.
//! Only fields that this crate has no name for become JSON values, as
//! everywhere in this crate.

#[macro_use]
mod part;

mod error;
pub use error::ConversionError;

mod claim;
mod class;
mod csi;
mod meta;
mod node;
mod pod;
mod rest;
mod selectors;
mod stateful_set;
mod values;
mod volume;
