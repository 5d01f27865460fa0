//! The recorded clusters, with what Kubernetes itself said about them.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    dead_code,
    reason = "a test fails by panicking, and uses a part of what the example has"
)]

mod controller;
mod diagnosis;
mod scheduling;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/world.rs"]
mod world;
