//! Invariants, on generated inputs.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod generators;
mod matching;
