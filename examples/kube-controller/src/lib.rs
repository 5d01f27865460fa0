//! The binding controller of Kubernetes on [`pvbind`] and [`kube`]: what
//! `persistentvolume-binder-controller` of kube-controller-manager does.
//!
//! `pvbind` decides; this package does. It is complete, and meant to be read:
//!
//! | module | does |
//! | --- | --- |
//! | [`run`] | lead, stop, hand over |
//! | [`leader`] | hold the Lease |
//! | [`term`] | know until when the lead is held |
//! | [`watches`] | follow volumes, claims, classes, pods and nodes |
//! | [`worker`] | keep the snapshot, take the next object from the queue, carry out its plan |
//! | [`queue`] | what to sync next, and when |
//! | [`operations`] | slow work in a backend, each at most once at a time |
//! | [`permit`] | work under a name that nobody else works under |
//! | [`finalizers`] | put no finalizer on what is being deleted |
//! | [`provisioner`], [`host_path`] | what an in-tree plugin must do, and one that does it |
//! | [`server`] | send a write to the right place with the right version |
//! | [`events`] | publish events |
//! | [`health`] | answer `/healthz` and `/readyz` |
//! | [`failures`] | tell of the same failure once in a while |

pub mod events;
pub mod failures;
pub mod finalizers;
pub mod health;
pub mod host_path;
pub mod leader;
pub mod operations;
pub mod permit;
pub mod provisioner;
pub mod queue;
pub mod run;
pub mod server;
pub mod term;
pub mod watches;
pub mod worker;
