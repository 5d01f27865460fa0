//! Invariants, on generated inputs.
//!
//! - `quantity`: reading what was printed gives the same amount and text;
//!   amounts, texts, sums and differences agree with exact arithmetic on big
//!   integers; the order is total, agrees with exact arithmetic and with the
//!   hash; nothing changes on the way through JSON; errors are those of the
//!   rules.
//! - `selector`: the compiled forms answer as the plain forms do, errors
//!   included, and both as a few lines written from the rules alone; an
//!   explanation names exactly what fails.
//! - `matching`: the index equals the slice search whatever happened before;
//!   the answer does not depend on the order of the volumes but by documented
//!   ties; what is chosen satisfies every rule; another open volume never turns
//!   a match into none.
//! - `controller`: every cluster comes to rest within a bound on its writes; to
//!   the same rest if the run is cut after any write, if every write fails once,
//!   and in any order of objects but that of competing claims; on the way no
//!   volume that is to be kept is deleted, none goes from claim to claim without
//!   being cleared, no wish of a user is removed, no claim is bound before its
//!   volume, no status write touches the spec, and no volume is released while
//!   its claim lives, even if the cache misses claims.
//! - `assignment`: the policy that chooses a pod's volumes together finds an
//!   assignment whenever trying all does, at the same cost; it fits where the
//!   faithful one does; another open volume never makes a node unfit for it; no
//!   volume is given away twice; one node, many nodes and the plain form agree.
//! - `assume`: whatever is assumed, observed, deleted and reverted in whatever
//!   order, the layered view says what a simple model says, also in searches.
//! - `scheduling`: many nodes equal one node equal the plain form, also with
//!   assumed objects in front; an excluded volume is never used; obstacles
//!   explain the reasons; reverting restores the view; another node or open
//!   volume makes no node unfit.
//! - `diagnosis`: a claim is said to be bound exactly where the sync binds it; a
//!   volume that is said to be refused is chosen by no search; what is counted is
//!   what the full report counts; each remedy's patch removes its finding.
//!
//! - `provisioner`: the same claim always asks for the same name and topology; a
//!   claim is never provisioned twice, whatever is retried or cut short; no
//!   volume is deleted unless it is Released, of policy Delete and ours; preferred
//!   is requisite in another order; claims of one StatefulSet replica begin at the
//!   same segment, and the fast form of the topology is the plain one.
//!
//! To add a part: its module below, its lines here, its inputs in a file of its
//! own or, if others can use them, in `generators`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

#[path = "../support/agreement.rs"]
mod agreement;
mod assignment;
mod assume;
mod controller;
mod diagnosis;
#[path = "../support/exact.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod exact;
mod generators;
mod matching;
mod provisioner;
#[path = "../support/provisioning.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod provisioning;
mod quantity;
#[path = "../support/remedies.rs"]
mod remedies;
mod scheduling;
mod selector;
#[path = "../support/server.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod server;
mod volumes;
#[path = "../support/world.rs"]
#[allow(dead_code, reason = "the fuzz target uses the rest of it")]
mod world;
