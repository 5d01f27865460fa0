//! Pages to read: what differs from Kubernetes and why, and which versions go
//! together. They hold no code.

/// Where this crate differs from Kubernetes on purpose, each with its reason.
#[doc = include_str!("differences.md")]
pub mod differences {}

/// Which Kubernetes, which k8s-openapi, which Rust.
#[doc = include_str!("versions.md")]
pub mod versions {}
