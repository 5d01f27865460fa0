//! The controller on an API server in this process: the stories that it must
//! tell on a real one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::await_holding_lock,
    reason = "a test fails by panicking; each guard is dropped before, which the lint does not see"
)]

mod answers;
mod binding;
mod cluster;
mod deletion;
mod doubts;
mod fake;
mod folders;
mod killed;
mod lead;
mod plans;
mod provisioning;
mod restored;
mod scale;
mod trouble;
