//! What Kubernetes does with storage, as pure functions: the same answers as
//! Kubernetes 1.36, the reason for every answer, at any size.
//!
//! Given Kubernetes storage objects, `pvbind` says what happens to them and
//! why. It is deterministic: no input or output, no clock, no randomness, no
//! threads. The embedding program reads, calls, and carries out what it gets
//! back.
//!
//! ```
//! use std::sync::Arc;
//! use pvbind::api::{Object, read_objects};
//! use pvbind::matching::{SearchOptions, FindOptions, MatchReport, VolumeIndex};
//!
//! // What `kubectl get pv,pvc -A -o json` prints.
//! let objects = read_objects(r#"{"kind": "List", "apiVersion": "v1", "items": [
//!     {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "pv-1"},
//!      "spec": {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"]},
//!      "status": {"phase": "Available"}},
//!     {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "pv-2"},
//!      "spec": {"capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteOnce"]},
//!      "status": {"phase": "Available"}},
//!     {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
//!      "metadata": {"namespace": "shop", "name": "data"},
//!      "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}}]}"#)?;
//! let mut index = VolumeIndex::new();
//! let mut claims = Vec::new();
//! for object in objects {
//!     match object {
//!         Object::PersistentVolume(volume) => drop(index.insert(Arc::from(volume))),
//!         Object::PersistentVolumeClaim(claim) => claims.push(claim),
//!         _ => {}
//!     }
//! }
//! for claim in &claims {
//!     // Which volume does Kubernetes' controller take?
//!     let found = index.best_match(claim, SearchOptions::default())?;
//!     assert_eq!(found.unwrap().name(), "pv-2");
//!     // And why not the others?
//!     let report = MatchReport::new(claim, index.iter().map(Arc::as_ref), &FindOptions::default());
//!     assert_eq!(
//!         report.to_string(),
//!         "1 of 2 volumes fits, best pv-2 (8Gi): 1 is too small (largest 2Gi, asked 5Gi)"
//!     );
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The house
//! A module uses only those below it.
//!
//! | module | holds |
//! | --- | --- |
//! | [`controller`] | claim sync, volume sync, provisioning, reclaim, each from an object and a view to a plan |
//! | [`scheduling`] | which volumes a pod gets on a node, on thousands of nodes, and why a node does not fit |
//! | [`plan`], [`view`] | steps and operations, and a driver that carries them out; what decisions ask of a cluster |
//! | [`binding`] | edits of single objects; the lives of volume and claim |
//! | [`matching`] | which volume a claim gets, and why not another |
//! | [`selector`] | label, node and topology selectors |
//! | [`api`] | the objects as Kubernetes writes them |
//! | [`quantity`] | exact quantities |
//!
//! Beside the house, the doors: [`convert`] from and to other crates' objects.
//!
//! # What holds everywhere
//! - A check gives a typed refusal with the facts, not `false`.
//! - Objects keep fields and values that this crate does not know.
//! - The same input gives the same answer; ties are broken by documented rules.
//! - No input panics or hangs.
//! - Each fast form has a plain form beside it, which is the definition.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod api;
pub mod binding;
pub mod controller;
pub mod convert;
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
