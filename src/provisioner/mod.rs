//! The external (CSI) provisioner as decisions: what the sidecar beside a CSI
//! driver decides, for drivers that are written in Rust and for everybody who
//! wants to know what it would do.
//!
//! | call | on | upstream |
//! | --- | --- | --- |
//! | [`Ledger::sync_claim`] or [`sync_claim`], then the answers to [`ClaimNext`] | a claim that was added or changed, or is due again | `syncClaim` of sig-storage-lib-external-provisioner 13 |
//! | [`CreateVolume::request`] | what the driver is asked for | `prepareProvision` of external-provisioner 6 |
//! | [`sync_volume`], then the answers to [`VolumeNext`] | a volume that was added or changed, or is due again | `syncVolume` of the library |
//! | [`topology_requirement`] | where a volume must be reachable from | `GenerateAccessibilityRequirements` |
//! | [`Ledger`] | between syncs: what is in progress, what is due when | its queues |
//!
//! Each sync looks at one object and a [view](crate::view::ProvisioningView) of
//! the cluster, and gives a [`Plan`](crate::plan::Plan); the call to the driver
//! is a value that waits for its answer. The events of its library (see the
//! [differences](crate::guide::differences#external-provisioner)), and the errors whose
//! documentation says so, are upstream's to the letter. What is asked of the driver are plain types, in
//! [`csi`], that map one to one to the messages of the CSI specification; there
//! is no gRPC here.
//!
//! # What is held
//! - The same claim always asks under the same name, and on the same cluster for
//!   the same topology; while it is in progress for the same topology even if the
//!   cluster changes, if the [`Ledger`] is [told](Ledger::claim_asked).
//! - A claim is never provisioned twice, whatever is retried or cut short: what
//!   was made before is asked for again under its name.
//! - No volume that has an object is deleted unless its policy is Delete, it is
//!   Released, and it is ours. One that was just made and does not serve is
//!   [cleaned up](CleanUp).
//!
//! # The sidecar's flags
//! | flag of external-provisioner 6 | here |
//! | --- | --- |
//! | `--volume-name-prefix`, `--volume-name-uuid-length` | [`VolumeNames::new`], for [`Config::volume_names`]; the flag's -1 is `None` |
//! | `--default-fstype` | [`Config::default_fs_type`] |
//! | `--extra-create-metadata` | [`Config::tells_names`] |
//! | `--controller-publish-readonly` | [`Config::marks_read_only`] |
//! | `--strict-topology`, `--immediate-topology` | [`TopologyConfig::is_strict`], [`TopologyConfig::is_immediate`], in [`Config::topology`] |
//! | `--retry-interval-start`, `--retry-interval-max` | [`Backoff::base`], [`Backoff::cap`], in milliseconds, for [`Ledger::new`] |
//! | `--worker-threads` | the embedder's: syncs of different objects may run side by side around one ledger, though not by [`run_claim`], which holds it while the driver works |
//! | `--timeout`, `--leader-election` and the like | the embedder's, see below |
//! | `--prevent-volume-mode-conversion` | the embedder's check: [`RequestInputs::content_source`] |
//! | `--cloning-protection-threads` | the embedder's: no finalizer is put on what is being copied |
//! | `--enable-capacity`, `--capacity-…` | the embedder's: nothing here publishes CSIStorageCapacities |
//! | `--node-deployment`, `--node-deployment-…` | nobody's: see below |
//! | `--csi-address`, `--kubeconfig`, `--kube-api-qps`, `--http-endpoint` and the like | the embedder's |
//!
//! What the sidecar asks the driver when it starts stands in [`Config`] too: its name
//! ([`Config::driver`]), whether it has `VOLUME_ACCESSIBILITY_CONSTRAINTS`
//! ([`Config::topology`]), `SINGLE_NODE_MULTI_WRITER`
//! ([`Config::knows_single_node_modes`]) and `MODIFY_VOLUME`
//! ([`Config::modifies_volumes`]).
//!
//! # What is left to the embedder
//! Calling the driver, reading secrets, VolumeSnapshots and
//! VolumeAttributesClasses, waiting until what is due; translating classes and
//! volumes of in-tree plugins that the driver took over
//! ([`CreateVolume::provisioned`] takes such an object); refusing to delete a
//! volume that is attached still; publishing CSIStorageCapacities. And:
//! - checking ReferenceGrants and snapshots before a volume is filled from them:
//!   [`RequestInputs::content_source`] has the list;
//! - that one process alone does this for a driver, by a Lease or by other means:
//!   two ledgers do not know of each other;
//! - a deadline for each call to the driver; a call that ran out of time is
//!   [in the background](CallState::InBackground), never finished;
//! - drivers that run beside every node and make local volumes there: nothing here
//!   asks whose node a claim or volume is for, and a driver that says OK to the
//!   deletion of a volume that it does not know has the object of another node's
//!   volume deleted.
//!
//! # Without losing a volume
//! A claim is in the ledger's [progress](Ledger::in_progress) while nobody knows
//! whether the driver made its volume. It is put there before the call, by
//! [`Ledger::claim_asked`], and taken from there when the sync
//! [ended](Ledger::claim_ended). A future that is dropped between the two, by a
//! timeout, a `select!` or a task that is shut down, leaves it there, and it is due
//! at once: sync every claim that is in progress, whether it is in the caches or
//! not. Ledgers end with the process: let calls end before you do.
//!
//! [`run_claim`] and [`run_volume`] are the loops for a synchronous [`Driver`];
//! there is an example at each.
//!
//! # What to sync when
//! A claim or volume is to be synced when it was added or changed, a claim also when
//! its class was, and what failed when the [`Ledger`] says so. The ledger has no
//! queue and no clock. Around [`run_claim`] and [`run_volume`] they are:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//! use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
//! use pvbind::plan::ApiServer;
//! use pvbind::provisioner::{Config, Driver, Ledger, run_claim, run_volume};
//! use pvbind::view::Snapshot;
//! # use pvbind::api::read_objects;
//! # use pvbind::controller::MemoryServer;
//! # use pvbind::provisioner::{CallState, CreateAnswer, DeleteAnswer, csi};
//! # struct BusyAtFirst(bool);
//! # impl Driver for BusyAtFirst {
//! #     fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer {
//! #         match std::mem::take(&mut self.0) {
//! #             true => CreateAnswer::Failed { message: "busy".into(), state: CallState::InBackground },
//! #             false => CreateAnswer::Created(csi::Volume { volume_id: request.name, ..Default::default() }),
//! #         }
//! #     }
//! #     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer { DeleteAnswer::Deleted }
//! # }
//!
//! /// What is to be synced, by uid, and when: in milliseconds, on a clock that does
//! /// not run backwards.
//! type Queue<T> = BTreeMap<String, (u64, Arc<T>)>;
//!
//! /// Takes out what is due.
//! fn take_due<T>(queue: &mut Queue<T>, now: u64) -> Vec<(String, Arc<T>)> {
//!     let all = std::mem::take(queue).into_iter();
//!     let (due, later): (Queue<T>, Queue<T>) = all.partition(|(_, (at, _))| *at <= now);
//!     *queue = later;
//!     due.into_iter().map(|(uid, (_, object))| (uid, object)).collect()
//! }
//!
//! struct Provisioner {
//!     config: Config,
//!     ledger: Ledger,
//!     claims: Queue<PersistentVolumeClaim>,
//!     volumes: Queue<PersistentVolume>,
//! }
//!
//! impl Provisioner {
//!     /// A watch event, already applied to the view. The claims of a class that was
//!     /// added or changed are put in as if they had changed themselves.
//!     fn claim_changed(&mut self, view: &Snapshot, claim: Arc<PersistentVolumeClaim>) {
//!         let due = self.ledger.claim_due(view, &claim);
//!         self.claims.insert(claim.metadata.uid().to_owned(), (due, claim));
//!     }
//!     /// It stays in the queue: if the driver may be at it still, it is continued.
//!     fn claim_deleted(&mut self, claim: &PersistentVolumeClaim) {
//!         self.ledger.forget_claim(claim.metadata.uid());
//!     }
//!     fn volume_changed(&mut self, volume: Arc<PersistentVolume>) {
//!         let due = self.ledger.volume_due(&volume);
//!         self.volumes.insert(volume.metadata.uid().to_owned(), (due, volume));
//!     }
//!     fn volume_deleted(&mut self, volume: &PersistentVolume) {
//!         self.volumes.remove(volume.metadata.uid());
//!         self.ledger.forget_volume(volume.metadata.uid());
//!     }
//!     /// One turn, whenever something is due or has changed.
//!     fn turn(
//!         &mut self, view: &Snapshot, server: &mut impl ApiServer, driver: &mut impl Driver, now: u64,
//!     ) {
//!         let Provisioner { config, ledger, claims, volumes } = self;
//!         for (uid, claim) in take_due(claims, now) {
//!             let report = run_claim(config, view, server, driver, ledger, &claim);
//!             if let Some(due) = ledger.claim_ended(view, &claim, &report.end, now) {
//!                 claims.insert(uid, (due, claim));
//!             }
//!         }
//!         for (uid, volume) in take_due(volumes, now) {
//!             let report = run_volume(config, view, server, driver, &volume);
//!             if let Some(due) = ledger.volume_ended(&volume, &report.outcome, now) {
//!                 volumes.insert(uid, (due, volume));
//!             }
//!         }
//!     }
//! }
//!
//! # let class = serde_json::json!({"kind": "StorageClass", "metadata": {"name": "fast"},
//! #     "provisioner": "csi.example.com"});
//! # let mut view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
//! # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
//! #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
//! #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
//! #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}))?;
//! # let claim = Arc::new(claim);
//! # view.apply(Arc::clone(&claim));
//! # let (mut server, mut driver) = (MemoryServer::new(view.clone()), BusyAtFirst(true));
//! let mut provisioner = Provisioner {
//!     config: Config::new("csi.example.com"),
//!     ledger: Ledger::default(),
//!     claims: Queue::new(),
//!     volumes: Queue::new(),
//! };
//! provisioner.claim_changed(&view, claim);
//! provisioner.turn(&view, &mut server, &mut driver, 0);
//! // The driver was busy: once more in a second.
//! assert_eq!(provisioner.claims["u-1"].0, 1_000);
//! provisioner.turn(&view, &mut server, &mut driver, 1_000);
//! assert!(provisioner.claims.is_empty());
//! # let volume = Arc::new(PersistentVolume::default());
//! # provisioner.claim_deleted(&PersistentVolumeClaim::default());
//! # provisioner.volume_changed(Arc::clone(&volume));
//! # provisioner.turn(&view, &mut server, &mut driver, 2_000);
//! # provisioner.volume_deleted(&volume);
//! # assert!(provisioner.volumes.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The loop of an asynchronous embedder
//! The same, written out, with an `.await` at each call:
//!
//! ```
//! use std::sync::Arc;
//! use pvbind::api::PersistentVolumeClaim;
//! use pvbind::plan::{ApiError, Execution, FollowUp, Plan, Step, Written};
//! use pvbind::provisioner::{
//!     ClaimEnd, ClaimNext, Config, Ledger, Progress, ProvisionError, RequestInputs, csi,
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
//! async fn carry_out<V: FollowUp>(plan: Plan<V>) -> Result<V, ProvisionError> {
//!     let mut execution = Execution::new(plan);
//!     while let Some(step) = execution.step() {
//!         let result = write(step).await;
//!         execution.answer(result);
//!     }
//!     let end = execution.finish().end.finished();
//!     end.map_err(|error| ProvisionError::Write { message: error.to_string() })
//! }
//!
//! /// How it ended is for `Ledger::claim_ended`, which says when to try again.
//! async fn sync(
//!     config: &Config, view: &Snapshot, driver: &Driver, ledger: &mut Ledger,
//!     claim: &Arc<PersistentVolumeClaim>,
//! ) -> ClaimEnd {
//!     let given_up = |error| ClaimEnd { outcome: Err(error), progress: Progress::Unchanged };
//!     let mut plan = ledger.sync_claim(config, view, claim);
//!     loop {
//!         let next = match carry_out(plan).await {
//!             Ok(next) => next,
//!             Err(error) => return given_up(error),
//!         };
//!         plan = match next {
//!             ClaimNext::Over(end) => return end,
//!             ClaimNext::CreateVolume(operation) => {
//!                 let inputs = RequestInputs::default(); // snapshots, attributes
//!                 let request = operation.request(config, view, &inputs);
//!                 let secret = operation.provisioner_secret();
//!                 match request.and_then(|request| Ok((request, secret?))) {
//!                     Err(refusal) => operation.refused(&refusal),
//!                     Ok((request, secret)) => {
//!                         let mut sent = request.clone();
//!                         sent.secrets = secrets(secret).await;
//!                         // From here on the claim must not be forgotten.
//!                         ledger.claim_asked(&operation, &request);
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
//!                 match next.operation().provisioner_secret() {
//!                     Err(error) => next.failed(&error.to_string()),
//!                     Ok(secret) => {
//!                         let secrets = secrets(secret).await;
//!                         let request = csi::DeleteVolumeRequest { volume_id, secrets };
//!                         match driver.delete_volume(request).await {
//!                             Ok(()) => next.deleted(),
//!                             Err(Status { code, message }) => {
//!                                 next.failed(&format!("status {code}: {message}"))
//!                             }
//!                         }
//!                     }
//!                 }
//!             }
//!             ClaimNext::ReadVolume(next) => match read_volume(next.name()).await {
//!                 Ok(volume) => next.answer(volume),
//!                 Err(error) => next.failed(&error.message),
//!             },
//!             _ => {
//!                 let message = "a step that this program does not know".to_owned();
//!                 return given_up(ProvisionError::Failed { message });
//!             }
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
