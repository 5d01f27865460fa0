#![doc = include_str!("front_page.md")]
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

/// The example of the README, tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
