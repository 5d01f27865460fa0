//! The external (CSI) provisioner as decisions: what the sidecar beside a CSI
//! driver decides, for drivers that are written in Rust and for everybody who
//! wants to know what it would do.
//!
//! | call | on | upstream |
//! | --- | --- | --- |
//! | [`sync_claim`], then the answers to [`ClaimNext`] | a claim that was added or changed, or is due again | `syncClaim` of sig-storage-lib-external-provisioner 13 |
//! | [`CreateVolume::request`] | what the driver is asked for | `prepareProvision` of external-provisioner 6 |
//! | [`sync_volume`], then the answers to [`VolumeNext`] | a volume that was added or changed, or is due again | `syncVolume` of the library |
//! | [`topology_requirement`] | where a volume must be reachable from | `GenerateAccessibilityRequirements` |
//! | [`Ledger`] | between syncs: what is in progress, what is due when | its queues |
//!
//! Each sync looks at one object and a [view](crate::view::ProvisioningView) of
//! the cluster, and gives a [`Plan`](crate::plan::Plan); the call to the driver
//! is a value that waits for its answer. Events and errors are upstream's to
//! the letter where it has any. What is asked of the driver are plain types, in
//! [`csi`], that map one to one to the messages of the CSI specification; there
//! is no gRPC here.
//!
//! # What is held
//! - The same claim always asks under the same name, and on the same cluster for
//!   the same topology.
//! - A claim is never provisioned twice, whatever is retried or cut short: what
//!   was made before is asked for again under its name.
//! - No volume that has an object is deleted unless its policy is Delete, it is
//!   Released, and it is ours. One that was just made and does not serve is
//!   [cleaned up](CleanUp).
//!
//! # What is left to the embedder
//! Calling the driver, reading secrets, VolumeSnapshots and
//! VolumeAttributesClasses, waiting until what is due; translating classes and
//! volumes of in-tree plugins that the driver took over
//! ([`CreateVolume::provisioned`] takes such an object); refusing to delete a
//! volume that is attached still; publishing CSIStorageCapacities.
//!
//! [`run_claim`] and [`run_volume`] are the loops for a synchronous [`Driver`];
//! there is an example at each.
//!
//! # The loop of an asynchronous embedder
//! The same, written out, with an `.await` at each call:
//!
//! ```
//! use std::sync::Arc;
//! use pvbind::api::PersistentVolumeClaim;
//! use pvbind::plan::{ApiError, Execution, FollowUp, Plan, Step, Written};
//! use pvbind::provisioner::{
//!     ClaimEnd, ClaimNext, Config, RequestInputs, continue_claim, csi,
//! };
//! use pvbind::view::Snapshot;
//!
//! /// What gRPC returns instead of an answer.
//! struct Status { code: u32, message: String }
//! # struct Driver;
//! # impl Driver {
//! #     async fn create_volume(&self, r: csi::CreateVolumeRequest) -> Result<csi::Volume, Status> {
//! #         Ok(csi::Volume { volume_id: r.name, ..Default::default() })
//! #     }
//! #     async fn delete_volume(&self, _: csi::DeleteVolumeRequest) -> Result<(), Status> { Ok(()) }
//! # }
//! # async fn write(step: &Step) -> Result<Written, ApiError> { Ok(Written::Nothing) }
//! # async fn read_volume(_: &str) -> Result<Option<pvbind::api::PersistentVolume>, ApiError> { Ok(None) }
//! # async fn secrets(_: Option<pvbind::provisioner::SecretReference>) -> csi::Secrets { Default::default() }
//!
//! /// Sends the steps of a plan to the API server; then what follows it.
//! async fn carry_out<V: FollowUp>(plan: Plan<V>) -> Option<V> {
//!     let mut execution = Execution::new(plan);
//!     while let Some(step) = execution.step() {
//!         let result = write(step).await;
//!         execution.answer(result);
//!     }
//!     execution.finish().end.finished().ok()
//! }
//!
//! /// `None` if the sync was given up; the next one begins anew.
//! async fn sync(
//!     config: &Config, view: &Snapshot, driver: &Driver, claim: &Arc<PersistentVolumeClaim>,
//! ) -> Option<ClaimEnd> {
//!     let mut plan = continue_claim(config, view, claim);
//!     loop {
//!         plan = match carry_out(plan).await? {
//!             ClaimNext::Over(end) => return Some(end), // for the `Ledger`
//!             ClaimNext::CreateVolume(operation) => {
//!                 let inputs = RequestInputs::default(); // snapshots, attributes
//!                 match operation.request(config, view, &inputs) {
//!                     Err(refusal) => operation.refused(&refusal),
//!                     Ok(request) => {
//!                         let mut sent = request.clone();
//!                         sent.secrets = secrets(operation.provisioner_secret().ok()?).await;
//!                         match driver.create_volume(sent).await {
//!                             Ok(volume) => operation.created(config, &request, &volume),
//!                             Err(Status { code, message }) => {
//!                                 operation.failed_with_status(config, code, &message)
//!                             }
//!                         }
//!                     }
//!                 }
//!             }
//!             ClaimNext::CleanUp(next) => {
//!                 let volume_id = next.volume_id().to_owned();
//!                 let secrets = secrets(next.operation().provisioner_secret().ok()?).await;
//!                 let request = csi::DeleteVolumeRequest { volume_id, secrets };
//!                 match driver.delete_volume(request).await {
//!                     Ok(()) => next.deleted(),
//!                     Err(status) => next.failed(&status.message),
//!                 }
//!             }
//!             ClaimNext::ReadVolume(next) => match read_volume(next.name()).await {
//!                 Ok(volume) => next.answer(volume),
//!                 Err(error) => next.failed(&error.message),
//!             },
//!             _ => return None,
//!         };
//!     }
//! }
//! ```

pub mod csi;

mod config;
pub use config::{Config, TopologyConfig};

mod volume_names;
pub use volume_names::{VolumeNames, VolumeNamesError};

mod object_name;

mod claim;
pub use claim::{NotNow, check_claim};

mod error;
pub(crate) use error::NO_BLOCK_SUPPORT;
pub use error::ProvisionError;

mod sync_claim;
pub use sync_claim::{continue_claim, sync_claim};

mod next;
pub use next::{ClaimEnd, ClaimNext, ClaimOutcome, CleanUp, Progress, ReadHolder};

mod call_state;
pub use call_state::CallState;

mod create;
pub use create::CreateVolume;

mod request;
pub use request::RequestInputs;

mod request_error;
pub use request_error::RequestError;

mod parameters;
pub use parameters::{ClassParameters, RESERVED_PREFIX, SecretUse};

mod secret;
pub use secret::{SecretNames, SecretProblem, SecretReference};

mod source;
pub use source::DataSource;

mod volume_object;
pub use volume_object::AnswerError;

mod volume;
pub use volume::{Kept, NotOurs, check_deletable, check_ours};

mod sync_volume;
pub use sync_volume::{DeleteVolume, ReadVolume, VolumeNext, VolumeOutcome, sync_volume};

mod backoff;
pub use backoff::Backoff;

mod ledger;
pub use ledger::Ledger;

mod run;
pub use run::{
    ClaimReport, CreateAnswer, DeleteAnswer, Driver, VolumeReport, run_claim, run_volume,
};

mod topology;
pub use topology::{
    Segment, TopologyError, TopologyQuery, topology_requirement, topology_requirement_plain,
};

#[cfg(test)]
mod tests;
