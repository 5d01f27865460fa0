//! Syncs carried out to their ends: the synchronous driver.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    CallState, ClaimEnd, ClaimNext, ClaimOutcome, Config, CreateVolume, DataSource, DeleteVolume,
    Ledger, Progress, ProvisionError, RequestInputs, SecretReference, VolumeNext, VolumeOutcome,
    csi, sync_volume,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::plan::{ApiServer, Done, Plan, Report, carry_out};
use crate::view::{Held, ProvisioningView};

/// What a CSI driver, and what stands around it, does for a provisioner.
///
/// All methods but the two calls have an answer already, for drivers that need
/// no secrets, snapshots or VolumeAttributesClasses. A driver that fills volumes
/// must say in its answer with what
/// ([`csi::Volume::content_source`]), or the volume is deleted again.
///
/// See [`run_claim`] for an example.
pub trait Driver {
    /// Makes a volume, or gives the one that it made under this name before.
    fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer;

    /// Deletes a volume; one that is not there is deleted.
    fn delete_volume(&mut self, request: csi::DeleteVolumeRequest) -> DeleteAnswer;

    /// The content of a secret.
    ///
    /// # Errors
    /// A text that says why there is none; so for all methods below.
    fn secrets(&mut self, secret: &SecretReference) -> Result<csi::Secrets, String> {
        Err(format!("secret `{secret}` was not found"))
    }

    /// The driver's name for a snapshot that a volume is to be filled with;
    /// `None` for a source that is found without, which all others are. What is to
    /// be checked first says [`RequestInputs::content_source`], a ReferenceGrant
    /// for a source in another namespace above all.
    fn content_source(
        &mut self,
        source: &DataSource,
    ) -> Result<Option<csi::VolumeContentSource>, String> {
        let _ = source;
        Ok(None)
    }

    /// The parameters of a VolumeAttributesClass; `None` if there is no such
    /// class. One whose `driverName` is another driver's is an error.
    fn attributes(&mut self, class: &str) -> Result<Option<BTreeMap<String, String>>, String> {
        let _ = class;
        Ok(None)
    }
}

/// What a driver answers when it is asked for a volume.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CreateAnswer {
    /// The volume.
    Created(csi::Volume),
    /// That the claim is not its business, and why. Nothing follows, not even
    /// another try: a driver that is busy answers `Failed`.
    Ignored(String),
    /// That it never can, and why (gRPC INVALID_ARGUMENT).
    Infeasible(String),
    /// That it cannot now.
    Failed {
        /// Why.
        message: String,
        /// Where that leaves things; if the driver cannot tell, as after a
        /// timeout, in the background. That the scheduler is to choose again counts
        /// as finished where no other node can help
        /// ([`CreateVolume::may_reschedule`]).
        state: CallState,
    },
}

/// What a driver answers when it is to delete a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeleteAnswer {
    /// That the volume is gone.
    Deleted,
    /// That the volume is not its business, and why. Nothing follows, not even
    /// another try, and the data stays: a driver whose volume is busy or still
    /// attached answers `Failed`.
    Ignored(String),
    /// That it cannot, and why.
    Failed(String),
}

/// What was done in a claim's sync.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ClaimReport {
    /// The steps that were tried, in order.
    pub done: Vec<Done>,
    /// How it ended.
    pub end: ClaimEnd,
}

/// What was done in a volume's sync.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct VolumeReport {
    /// The steps that were tried, in order.
    pub done: Vec<Done>,
    /// What came of it.
    pub outcome: Result<VolumeOutcome, ProvisionError>,
}

/// Syncs a claim to the end: carries out its plans, and answers what it waits
/// for from the driver. The claim is taken from the view if it is there still; if it
/// is gone, it is continued if the ledger has it in progress, and dropped if not.
///
/// How it ended is for [`Ledger::claim_ended`], which also says when to try again.
/// What was written, [`ClaimReport::done`], is best applied to the caches at once.
///
/// It is synchronous and waits nowhere; an asynchronous embedder writes the
/// [same loop](super#the-loop-of-an-asynchronous-embedder). There are no hooks for
/// classes and volumes of in-tree plugins, for attached volumes or for claims of
/// other nodes; who needs them writes the loop too.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim, read_objects};
/// use pvbind::plan::{ApiError, ApiServer, Change, Event};
/// use pvbind::provisioner::{
///     Config, CreateAnswer, DeleteAnswer, Driver, Ledger, csi, run_claim,
/// };
/// use pvbind::view::Snapshot;
/// struct Disks;
/// impl Driver for Disks {
///     fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer {
///         CreateAnswer::Created(csi::Volume { volume_id: request.name, ..Default::default() })
///     }
///     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
///         DeleteAnswer::Deleted
///     }
/// }
/// # struct Server;
/// # impl ApiServer for Server {
/// #     fn update_volume(&mut self, c: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { Ok((*c.to).clone()) }
/// #     fn update_volume_status(&mut self, c: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { Ok((*c.to).clone()) }
/// #     fn update_claim(&mut self, c: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { Ok((*c.to).clone()) }
/// #     fn update_claim_status(&mut self, c: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { Ok((*c.to).clone()) }
/// #     fn create_volume(&mut self, v: &PersistentVolume) -> Result<PersistentVolume, ApiError> { Ok(v.clone()) }
/// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { Ok(()) }
/// #     fn record_event(&mut self, _: &Event) {}
/// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { Ok(None) }
/// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { Ok(None) }
/// # }
/// let mut snapshot: Snapshot = read_objects(
///     r#"{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi"}"#,
/// )?
/// .into_iter()
/// .collect();
/// let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
///     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
///         "annotations": {"volume.kubernetes.io/storage-provisioner": "disk.csi"}},
///     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}"#)?;
/// let config = Config::new("disk.csi");
/// let mut ledger = Ledger::default();
/// let claim = Arc::new(claim);
/// snapshot.apply(Arc::clone(&claim));
/// let report = run_claim(&config, &snapshot, &mut Server, &mut Disks, &mut ledger, &claim);
/// assert_eq!(ledger.claim_ended(&snapshot, &claim, &report.end, 0), None);
/// assert_eq!(report.end.outcome.unwrap().code(), "provisioned");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_claim<V: ProvisioningView + ?Sized>(
    config: &Config,
    view: &V,
    server: &mut (impl ApiServer + ?Sized),
    driver: &mut (impl Driver + ?Sized),
    ledger: &mut Ledger,
    claim: &Arc<PersistentVolumeClaim>,
) -> ClaimReport {
    let mut done = Vec::new();
    let mut plan = ledger.sync_claim(config, view, claim);
    loop {
        let report = carry_out(server, plan);
        done.extend(report.done);
        let next = match report.end.finished() {
            Ok(next) => next,
            // No write of these plans stops them; should one, it failed.
            Err(error) => {
                let message = error.to_string();
                let outcome: Result<ClaimOutcome, _> = Err(ProvisionError::Write { message });
                let progress = Progress::Unchanged;
                let end = ClaimEnd { outcome, progress };
                return ClaimReport { done, end };
            }
        };
        plan = match next {
            ClaimNext::Over(end) => return ClaimReport { done, end },
            ClaimNext::CreateVolume(operation) => create(config, view, driver, ledger, operation),
            ClaimNext::CleanUp(next) => {
                let secrets = next
                    .operation()
                    .provisioner_secret()
                    .map_err(|error| error.to_string())
                    .and_then(|secret| read_secret(driver, secret));
                let volume_id = next.volume_id().to_owned();
                let answer = secrets.map(|secrets| {
                    driver.delete_volume(csi::DeleteVolumeRequest { volume_id, secrets })
                });
                match answer {
                    Ok(DeleteAnswer::Deleted) => next.deleted(),
                    Ok(DeleteAnswer::Ignored(message) | DeleteAnswer::Failed(message))
                    | Err(message) => next.failed(&message),
                }
            }
            ClaimNext::ReadVolume(next) => match server.read_volume(next.name()) {
                Ok(volume) => next.answer(volume),
                Err(error) => next.failed(&error.message),
            },
        };
    }
}

fn create<V: ProvisioningView + ?Sized>(
    config: &Config,
    view: &V,
    driver: &mut (impl Driver + ?Sized),
    ledger: &mut Ledger,
    operation: CreateVolume,
) -> Plan<ClaimNext> {
    let inputs = match inputs(config, driver, &operation) {
        Ok(inputs) => inputs,
        Err(message) => return operation.failed(&message, CallState::NoChange),
    };
    let request = operation
        .request(config, view, &inputs)
        .and_then(|request| Ok((request, operation.provisioner_secret()?)));
    let (mut request, secret) = match request {
        Ok(asked) => asked,
        Err(error) => return operation.refused(&error),
    };
    let asked = request.clone();
    match read_secret(driver, secret) {
        Ok(secrets) => request.secrets = secrets,
        Err(message) => return operation.failed(&message, CallState::NoChange),
    }
    ledger.claim_asked(&operation, &request);
    match driver.create_volume(request) {
        CreateAnswer::Created(volume) => operation.created(config, &asked, &volume),
        CreateAnswer::Ignored(reason) => operation.ignored(&reason),
        CreateAnswer::Infeasible(message) => operation.infeasible(&message),
        CreateAnswer::Failed { message, state } => {
            let state = match state {
                // Another node would get the same request.
                CallState::Reschedule if !operation.may_reschedule(config) => CallState::Finished,
                state => state,
            };
            operation.failed(&message, state)
        }
    }
}

fn inputs(
    config: &Config,
    driver: &mut (impl Driver + ?Sized),
    operation: &CreateVolume,
) -> Result<RequestInputs, String> {
    let content_source = match operation.data_source() {
        None => None,
        Some(source) => driver.content_source(&source)?,
    };
    let attributes = match operation.attributes_class_name() {
        "" => None,
        // That the driver takes none is for the request to say.
        _ if !config.modifies_volumes => None,
        class => driver.attributes(class)?,
    };
    Ok(RequestInputs {
        content_source,
        attributes,
    })
}

fn read_secret(
    driver: &mut (impl Driver + ?Sized),
    secret: Option<SecretReference>,
) -> Result<csi::Secrets, String> {
    match secret {
        None => Ok(csi::Secrets::default()),
        Some(secret) => driver.secrets(&secret),
    }
}

/// Syncs a volume to the end: carries out its plans, and answers what it waits
/// for from the driver and the API server.
///
/// The view serves for the secret of a volume that has none noted. If the secret
/// cannot be read, the driver is asked without it, as upstream does.
///
/// Nothing asks whether the volume is attached still, or whether it is on this
/// node: a driver that must not delete it then answers
/// [`Failed`](DeleteAnswer::Failed).
///
/// ```
/// use pvbind::provisioner::{
///     Config, CreateAnswer, DeleteAnswer, Driver, VolumeOutcome, csi, run_volume,
/// };
/// use pvbind::view::Snapshot;
/// struct Disks(Vec<String>);
/// impl Driver for Disks {
///     fn create_volume(&mut self, _: csi::CreateVolumeRequest) -> CreateAnswer {
///         CreateAnswer::Infeasible("read only".into())
///     }
///     fn delete_volume(&mut self, request: csi::DeleteVolumeRequest) -> DeleteAnswer {
///         self.0.push(request.volume_id);
///         DeleteAnswer::Deleted
///     }
/// }
/// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
/// # use pvbind::plan::{ApiError, ApiServer, Change, Event};
/// # struct Server;
/// # impl ApiServer for Server {
/// #     fn update_volume(&mut self, c: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { Ok((*c.to).clone()) }
/// #     fn update_volume_status(&mut self, c: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { Ok((*c.to).clone()) }
/// #     fn update_claim(&mut self, c: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { Ok((*c.to).clone()) }
/// #     fn update_claim_status(&mut self, c: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { Ok((*c.to).clone()) }
/// #     fn create_volume(&mut self, v: &PersistentVolume) -> Result<PersistentVolume, ApiError> { Ok(v.clone()) }
/// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { Ok(()) }
/// #     fn record_event(&mut self, _: &Event) {}
/// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { Ok(None) }
/// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { Ok(None) }
/// # }
/// # let volume: PersistentVolume = serde_json::from_str(r#"{
/// #     "metadata": {"name": "pvc-u-1",
/// #         "annotations": {
/// #             "volume.kubernetes.io/provisioner-deletion-secret-name": "keys",
/// #             "volume.kubernetes.io/provisioner-deletion-secret-namespace": "disks"}},
/// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
/// #         "csi": {"driver": "disk.csi", "volumeHandle": "h-1"}},
/// #     "status": {"phase": "Released"}}"#)?;
/// let (config, view) = (Config::new("disk.csi"), Snapshot::new());
/// let mut disks = Disks(Vec::new());
/// let report = run_volume(&config, &view, &mut Server, &mut disks, &volume);
/// assert_eq!(report.outcome, Ok(VolumeOutcome::Deleted));
/// assert_eq!(disks.0, ["h-1"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn run_volume<'a, V: ProvisioningView + ?Sized>(
    config: &Config,
    view: &V,
    server: &mut (impl ApiServer + ?Sized),
    driver: &mut (impl Driver + ?Sized),
    volume: impl Into<Held<'a, PersistentVolume>>,
) -> VolumeReport {
    let mut done = Vec::new();
    let mut plan = sync_volume(config, volume);
    loop {
        let Report { done: tried, end } = carry_out(server, plan);
        done.extend(tried);
        let next = match end.finished() {
            Ok(next) => next,
            // As for a claim.
            Err(error) => {
                let message = error.to_string();
                let outcome = Err(ProvisionError::Write { message });
                return VolumeReport { done, outcome };
            }
        };
        plan = match next {
            VolumeNext::Over(outcome) => return VolumeReport { done, outcome },
            VolumeNext::DeleteVolume(operation) => delete(view, driver, operation),
            VolumeNext::ReadVolume(next) => match server.read_volume(next.name()) {
                Ok(volume) => next.answer(volume),
                Err(error) => {
                    let message = error.message;
                    let outcome = Err(ProvisionError::Write { message });
                    return VolumeReport { done, outcome };
                }
            },
        };
    }
}

fn delete<V: ProvisioningView + ?Sized>(
    view: &V,
    driver: &mut (impl Driver + ?Sized),
    operation: DeleteVolume,
) -> Plan<VolumeNext> {
    let request = operation
        .request()
        .and_then(|request| Ok((request, operation.provisioner_secret(view)?)))
        .map_err(|error| error.to_string())
        .map(|(request, secret)| {
            // The secret may be gone with its namespace; the volume is to go too.
            let secrets = read_secret(driver, secret).unwrap_or_default();
            csi::DeleteVolumeRequest { secrets, ..request }
        });
    match request.map(|request| driver.delete_volume(request)) {
        Ok(DeleteAnswer::Deleted) => operation.deleted(),
        Ok(DeleteAnswer::Ignored(reason)) => operation.ignored(&reason),
        Ok(DeleteAnswer::Failed(message)) | Err(message) => operation.failed(&message),
    }
}
