//! The recorded clusters, with what Kubernetes itself said about them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    dead_code,
    reason = "a test fails by panicking, and uses a part of what the example has"
)]

mod claims;
#[path = "../../examples/pvbind/cluster.rs"]
mod cluster;
mod controller;
#[path = "../../examples/pvbind/outcome.rs"]
mod outcome;
mod scheduling;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/world.rs"]
mod world;
