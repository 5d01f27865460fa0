//! What Kubernetes does with storage, as pure functions.
//!
//! Given Kubernetes storage objects, `pvbind` says what happens to them and
//! why: deterministic, without input or output, clock, randomness or threads.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod api;
pub mod binding;
pub mod controller;
pub mod matching;
pub mod plan;
pub mod quantity;
pub mod selector;
pub mod view;
