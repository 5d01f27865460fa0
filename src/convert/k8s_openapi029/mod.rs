//! From and to the types of [k8s-openapi](k8s_openapi) 0.29.
//!
//! Opened by the feature `k8s-openapi029`. Which version of Kubernetes the
//! types are of (`v1_33` to `v1_37`) is the choice of your program: this crate
//! switches no version on, and works with each.
//!
//! | from k8s-openapi | to k8s-openapi |
//! | --- | --- |
//! | `From`: StorageClass, Node, CSIDriver, CSINode, and the parts that hold no quantity | `TryFrom`: a time or a field that this crate has no name for may be of no form that k8s-openapi has |
//! | `TryFrom`: PersistentVolume, PersistentVolumeClaim, Pod, StatefulSet, CSIStorageCapacity, Quantity, whose quantities are unchecked texts there | `From`: Quantity |
//!
//! Each conversion exists for a value and for a reference. From k8s-openapi
//! both cost the same: only what is kept is copied.
//!
//! ```
//! use k8s_openapi::api::core::v1;
//! use pvbind::api::PersistentVolumeClaim;
//!
//! let theirs = v1::PersistentVolumeClaim {
//!     spec: Some(v1::PersistentVolumeClaimSpec {
//!         volume_name: Some("pv-1".to_owned()),
//!         ..Default::default()
//!     }),
//!     ..Default::default()
//! };
//! let claim = PersistentVolumeClaim::try_from(&theirs)?;
//! assert_eq!(claim.volume_name(), "pv-1");
//! assert_eq!(v1::PersistentVolumeClaim::try_from(claim)?, theirs);
//! # Ok::<(), pvbind::convert::k8s_openapi029::ConversionError>(())
//! ```
//!
//! # From a watch to a patch
//! All that an operator does with this crate, but for the calls of kube, which
//! stand in the comments. A program of that kind is `examples/kube-controller`
//! in the repository.
//!
//! ```
//! use std::sync::Arc;
//!
//! use k8s_openapi::api::{core::v1, storage::v1 as storage};
//! use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
//! use pvbind::controller::{Config, sync_claim};
//! use pvbind::convert::k8s_openapi029::ConversionError;
//! use pvbind::plan::{ApiError, End, Execution, Report, Step, Verdict, Write, Written};
//! use pvbind::view::Snapshot;
//!
//! /// What a watch tells. An object that cannot be converted is not left out
//! /// in silence: see the module `view`.
//! fn hear_claim(
//!     snapshot: &mut Snapshot,
//!     theirs: &v1::PersistentVolumeClaim,
//! ) -> Result<(), ConversionError> {
//!     snapshot.apply(Arc::new(PersistentVolumeClaim::try_from(theirs)?));
//!     Ok(())
//! }
//!
//! /// Sends a write, and returns the object as the API server then has it, which
//! /// the next write of the plan is based on.
//! fn send(write: &Write) -> Result<Written, ApiError> {
//!     // kube: `api.patch(name, &PatchParams::default(), &Patch::Merge(patch))`, or
//!     // `patch_status` where the subresource is `status`.
//!     let patch = write.merge_patch().unwrap_or_default();
//!     println!("{write} {patch}");
//!     match write {
//!         // As if the API server had answered with what it was sent.
//!         Write::Volume(change) | Write::VolumeStatus(change) => {
//!             let theirs = v1::PersistentVolume::try_from(&*change.to).map_err(other)?;
//!             let written = PersistentVolume::try_from(theirs).map_err(other)?;
//!             Ok(Written::Volume(Arc::new(written)))
//!         }
//!         Write::Claim(change) | Write::ClaimStatus(change) => {
//!             Ok(Written::Claim(Arc::clone(&change.to)))
//!         }
//!         // kube: `api.create(…)`, `api.delete(…)`; and what a later version has.
//!         _ => Err(other("is not played here")),
//!     }
//! }
//!
//! fn other(error: impl ToString) -> ApiError {
//!     ApiError::new(pvbind::plan::ApiErrorKind::Other, error.to_string())
//! }
//!
//! /// One turn of the work queue: decide, and carry the plan out.
//! fn turn(snapshot: &Snapshot, namespace: &str, name: &str) -> Option<Report> {
//!     let claim = snapshot.find::<PersistentVolumeClaim>(namespace, name)?;
//!     let plan = sync_claim(&Config::default(), snapshot, claim);
//!     let mut execution = Execution::new(plan);
//!     while let Some(step) = execution.step() {
//!         let answer = match step {
//!             Step::Write { write, .. } => send(write),
//!             Step::Event(event) => {
//!                 println!("{event}"); // kube: `recorder.publish(…)`
//!                 Ok(Written::Nothing)
//!             }
//!             // The report tells these to the caller.
//!             Step::EnqueueClaim(_) | Step::Start(_) => Ok(Written::Nothing),
//!             other_step => Err(other(format!("cannot {other_step}"))),
//!         };
//!         execution.answer(answer);
//!     }
//!     // `report.operations()` go to tasks of their own, `report.enqueued_claims()`
//!     // to the queue; on `End::Stopped` and `Verdict::Retry` the claim goes there
//!     // with a delay, and `Verdict::AskApiServer` is for volumes: see
//!     // `run_volume_sync`.
//!     Some(execution.finish())
//! }
//!
//! # let claim: v1::PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
//! #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1", "resourceVersion": "7"},
//! #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
//! #              "resources": {"requests": {"storage": "5Gi"}}},
//! #     "status": {"phase": "Pending"}}))?;
//! # let class: storage::StorageClass = serde_json::from_value(serde_json::json!({
//! #     "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
//! #     "volumeBindingMode": "Immediate"}))?;
//! let mut snapshot = Snapshot::new();
//! snapshot.apply(Arc::new(StorageClass::from(&class)));
//! hear_claim(&mut snapshot, &claim)?;
//! let report = turn(&snapshot, "shop", "data").unwrap();
//! let started: Vec<_> = report.operations().map(ToString::to_string).collect();
//! assert_eq!(started, ["provision-shop/data[u-1]"]);
//! # let volume: v1::PersistentVolume = serde_json::from_value(serde_json::json!({
//! #     "metadata": {"name": "pv-1", "uid": "u-2", "resourceVersion": "8"},
//! #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
//! #              "capacity": {"storage": "8Gi"}},
//! #     "status": {"phase": "Available"}}))?;
//!
//! // Somebody makes a volume that fits.
//! snapshot.apply(Arc::new(PersistentVolume::try_from(&volume)?));
//! let report = turn(&snapshot, "shop", "data").unwrap();
//! let done: Vec<_> = report.done.iter().map(|done| done.step.to_string()).collect();
//! assert_eq!(done, [
//!     "update persistentvolumes pv-1",
//!     "update persistentvolumes/status pv-1",
//!     "update persistentvolumeclaims shop/data",
//!     "update persistentvolumeclaims/status shop/data",
//! ]);
//! assert_eq!(report.end, End::Finished(Verdict::Settled));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A view of the cluster is filled from watched objects one by one:
//!
//! ```
//! # use std::sync::Arc;
//! # use k8s_openapi::api::{core::v1, storage::v1 as storage};
//! # use pvbind::api::{PersistentVolume, StorageClass};
//! # use pvbind::view::{ClusterView, Snapshot};
//! # let their_volume = v1::PersistentVolume {
//! #     metadata: serde_json::from_str(r#"{"name": "pv-1"}"#)?,
//! #     ..Default::default()
//! # };
//! # let their_class = storage::StorageClass {
//! #     metadata: serde_json::from_str(r#"{"name": "fast"}"#)?,
//! #     provisioner: "csi.example.com".to_owned(),
//! #     ..Default::default()
//! # };
//! let mut snapshot = Snapshot::new();
//! // Quantities may be wrong in the one; nothing can be in the other.
//! snapshot.apply(Arc::new(PersistentVolume::try_from(&their_volume)?));
//! snapshot.apply(Arc::new(StorageClass::from(&their_class)));
//! assert!(snapshot.volume("pv-1").is_some() && snapshot.class("fast").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is kept
//! The answer is what a detour through JSON gives: fields that this crate has
//! no name for go to and come from the `unknown` fields. What the detour
//! changes, changes here too:
//! - A quantity that goes to k8s-openapi takes its canonical text:
//!   ```
//!   use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Theirs;
//!   use pvbind::quantity::Quantity;
//!   let size = Quantity::try_from(Theirs("1024Mi".to_owned()))?;
//!   assert_eq!(Theirs::from(size).0, "1Gi");
//!   # Ok::<(), pvbind::quantity::ParseError>(())
//!   ```
//! - A time that goes to k8s-openapi is a point in time: how it was written
//!   (offset, zeros of the fraction) is lost. Of what comes from there, the times
//!   of creation and deletion keep their fraction of a second; k8s-openapi cuts
//!   it off wherever it writes JSON, and so in fields that this crate has no name
//!   for.
//! - Years before 0 in fields that this crate has no name for are refused on the
//!   way there: k8s-openapi does not read what it writes of them.
//! - Fields that k8s-openapi requires, such as the operator of a selector, are
//!   empty there when absent here.
//! - Fields that the chosen version of k8s-openapi does not have are **lost**
//!   on the way there. So do not replace an object of a newer API server by one
//!   that went through k8s-openapi's types: send the merge patch of the change
//!   ([`Change::merge_patch`](crate::plan::Change::merge_patch)), which holds
//!   only what is to be different.
//!
//! # Cost
//! Fields go directly from type to type: linear in the size of the object.
//! Only fields that this crate has no name for become JSON values, as
//! everywhere in this crate.

#[macro_use]
mod part;

mod error;
pub use error::ConversionError;

mod claim;
mod class;
mod csi;
mod meta;
mod node;
mod pod;
mod rest;
mod selectors;
mod stateful_set;
mod values;
mod volume;
