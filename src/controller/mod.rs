//! The binding controller as decisions.
//!
//! | call | on | upstream (Kubernetes 1.36) |
//! | --- | --- | --- |
//! | [`sync_claim`] | a claim that was added, changed or enqueued, or whose volume was deleted; every claim every 15 seconds | `syncClaim` |
//! | [`sync_volume`] | a volume that was added or changed, or whose claim was deleted; every volume every 15 seconds | `syncVolume` |
//! | [`begin`], then the answers to [`Next`] | an operation that a plan started | `provisionClaimOperation`, `deleteVolumeOperation`, `recycleVolumeOperation` |
//!
//! Each call looks at one object and a [view](crate::view::ClusterView) of the
//! cluster, and gives a [`Plan`](crate::plan::Plan). What a user sees of
//! upstream is kept to the letter: which writes in which order, reasons and
//! messages of events, texts of errors, names of operations.
//!
//! ```
//! use pvbind::api::{PersistentVolumeClaim, read_objects};
//! use pvbind::controller::{Config, sync_claim};
//! use pvbind::view::Snapshot;
//! let snapshot: Snapshot = read_objects(r#"
//!     {"kind": "PersistentVolume", "metadata": {"name": "pv-1", "uid": "u-1"},
//!      "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]},
//!      "status": {"phase": "Available"}}"#)?
//! .into_iter()
//! .collect();
//! let claim: PersistentVolumeClaim = serde_json::from_str(
//!     r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-2"},
//!         "spec": {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}}"#,
//! )?;
//! let plan = sync_claim(&Config::default(), &snapshot, &claim);
//! // Volume, its status, claim, its status: a bind.
//! assert_eq!(plan.steps.len(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
pub use config::{Config, InTreePlugin, MIGRATED_PLUGINS, VolumeSources};

mod sync_claim;
pub use sync_claim::sync_claim;

mod sync_volume;
pub use sync_volume::{ClaimEvidence, sync_volume};

mod operation;
pub(crate) use operation::volume_name_for;
pub use operation::{
    AfterWrite, CleanUpVolume, DeleteVolume, Next, ProvisionVolume, ReadVolume, RecycleVolume,
    StartProvisioner, begin,
};

mod backend;
pub use backend::{Backend, DeleteError, ProvisionRequest};

mod run;
pub use run::{OperationEnd, OperationReport, run_operation, run_volume_sync};

mod memory_server;
pub use memory_server::MemoryServer;

mod bind;
mod default_class;
mod draft;
mod finalizers;
mod migration;
mod provision;
mod reclaim;
