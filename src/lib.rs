#![doc = include_str!("front_page.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

/// The version of Kubernetes whose behaviour is followed: see
/// [`guide::versions`].
///
/// ```
/// assert!(pvbind::KUBERNETES_VERSION.starts_with("1."));
/// ```
pub const KUBERNETES_VERSION: &str = "1.36";

pub mod api;
pub mod binding;
pub mod controller;
pub mod convert;
pub mod diagnosis;
pub mod guide;
pub mod matching;
pub mod plan;
pub mod provisioner;
pub mod quantity;
pub mod scheduling;
pub mod selector;
pub mod view;

// What nearly every program names.
#[doc(no_inline)]
pub use api::{PersistentVolume, PersistentVolumeClaim, StorageClass, read_objects};
#[doc(no_inline)]
pub use matching::Features;
#[doc(no_inline)]
pub use quantity::Quantity;
#[doc(no_inline)]
pub use view::{ClusterView, Snapshot};

/// The example of the README, tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
