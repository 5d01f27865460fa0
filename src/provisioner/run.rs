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
///
/// ```
/// use std::collections::BTreeSet;
/// use pvbind::provisioner::{CreateAnswer, DeleteAnswer, Driver, csi};
/// /// Disks by name, as many as are asked for.
/// struct Disks(BTreeSet<String>);
/// impl Driver for Disks {
///     fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer {
///         self.0.insert(request.name.clone());
///         CreateAnswer::Created(csi::Volume { volume_id: request.name, ..Default::default() })
///     }
///     fn delete_volume(&mut self, request: csi::DeleteVolumeRequest) -> DeleteAnswer {
///         self.0.remove(&request.volume_id); // gone, or never there
///         DeleteAnswer::Deleted
///     }
/// }
/// let mut disks = Disks(BTreeSet::new());
/// disks.create_volume(csi::CreateVolumeRequest { name: "pvc-u-1".into(), ..Default::default() });
/// assert!(disks.0.contains("pvc-u-1"));
/// # let volume_id = "pvc-u-1".to_owned();
/// # disks.delete_volume(csi::DeleteVolumeRequest { volume_id, ..Default::default() });
/// # assert!(disks.0.is_empty());
/// ```
pub trait Driver {
    /// Makes a volume, or gives the one that it made under this name before.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::provisioner::{CreateAnswer, Driver, csi};
    /// # use pvbind::provisioner::DeleteAnswer;
    /// struct Disks(BTreeMap<String, String>);
    /// impl Driver for Disks {
    ///     fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer {
    ///         let next = format!("vol-{}", self.0.len());
    ///         let volume_id = self.0.entry(request.name).or_insert(next).clone();
    ///         CreateAnswer::Created(csi::Volume { volume_id, ..Default::default() })
    ///     }
    /// #     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
    /// #         DeleteAnswer::Deleted
    /// #     }
    /// }
    /// let mut disks = Disks(BTreeMap::new());
    /// let request = csi::CreateVolumeRequest { name: "pvc-u-1".into(), ..Default::default() };
    /// let first = disks.create_volume(request.clone());
    /// // Asked again, as when the provisioner was restarted before it had written this down.
    /// assert_eq!(disks.create_volume(request), first);
    /// ```
    fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer;

    /// Deletes a volume; one that is not there is deleted.
    ///
    /// ```
    /// use pvbind::provisioner::{DeleteAnswer, Driver, csi};
    /// # use pvbind::provisioner::CreateAnswer;
    /// struct Disks { attached: Vec<String> }
    /// impl Driver for Disks {
    ///     fn delete_volume(&mut self, request: csi::DeleteVolumeRequest) -> DeleteAnswer {
    ///         match self.attached.contains(&request.volume_id) {
    ///             true => DeleteAnswer::Failed("still attached".into()),
    ///             false => DeleteAnswer::Deleted,
    ///         }
    ///     }
    /// #     fn create_volume(&mut self, _: csi::CreateVolumeRequest) -> CreateAnswer {
    /// #         CreateAnswer::Created(csi::Volume::default())
    /// #     }
    /// }
    /// let mut disks = Disks { attached: vec!["vol-1".into()] };
    /// let request = csi::DeleteVolumeRequest { volume_id: "vol-0".into(), ..Default::default() };
    /// assert_eq!(disks.delete_volume(request), DeleteAnswer::Deleted); // though there is none
    /// ```
    fn delete_volume(&mut self, request: csi::DeleteVolumeRequest) -> DeleteAnswer;

    /// The content of a secret.
    ///
    /// # Errors
    /// A text that says why there is none.
    ///
    /// ```
    /// use pvbind::provisioner::{Driver, SecretReference, csi};
    /// # use pvbind::provisioner::{CreateAnswer, DeleteAnswer};
    /// struct Disks;
    /// impl Driver for Disks {
    ///     fn secrets(&mut self, secret: &SecretReference) -> Result<csi::Secrets, String> {
    ///         match secret.to_string().as_str() {
    ///             "storage/backend" => Ok(csi::Secrets([("token".into(), "hunter2".into())].into())),
    ///             _ => Err(format!("no permission to read secret `{secret}`")),
    ///         }
    ///     }
    /// #     fn create_volume(&mut self, _: csi::CreateVolumeRequest) -> CreateAnswer {
    /// #         CreateAnswer::Created(csi::Volume::default())
    /// #     }
    /// #     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
    /// #         DeleteAnswer::Deleted
    /// #     }
    /// }
    /// let secret = SecretReference { namespace: "storage".into(), name: "backend".into() };
    /// assert_eq!(Disks.secrets(&secret)?.0["token"], "hunter2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn secrets(&mut self, secret: &SecretReference) -> Result<csi::Secrets, String> {
        Err(format!("secret `{secret}` was not found"))
    }

    /// The driver's name for what a volume is to be filled with. It is asked for
    /// every source, for another claim and a populator's object too; only a
    /// snapshot needs one, and for all others, which are found without, the answer
    /// is `None`. What is to be checked first says
    /// [`RequestInputs::content_source`], a ReferenceGrant for a source in another
    /// namespace above all.
    ///
    /// # Errors
    /// A text that says what stands against reading from the source.
    ///
    /// ```
    /// use pvbind::provisioner::{DataSource, Driver, csi::VolumeContentSource};
    /// # use pvbind::provisioner::{CreateAnswer, DeleteAnswer, csi};
    /// struct Disks;
    /// impl Driver for Disks {
    ///     fn content_source(
    ///         &mut self,
    ///         source: &DataSource,
    ///     ) -> Result<Option<VolumeContentSource>, String> {
    ///         let DataSource::Snapshot { name, .. } = source else { return Ok(None) };
    ///         // What the VolumeSnapshotContent says, once all is checked.
    ///         Ok(Some(VolumeContentSource::Snapshot { snapshot_id: format!("snap-of-{name}") }))
    ///     }
    /// #     fn create_volume(&mut self, _: csi::CreateVolumeRequest) -> CreateAnswer {
    /// #         CreateAnswer::Created(csi::Volume::default())
    /// #     }
    /// #     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
    /// #         DeleteAnswer::Deleted
    /// #     }
    /// }
    /// let nightly = DataSource::Snapshot { namespace: "shop".into(), name: "nightly".into() };
    /// let source = Disks.content_source(&nightly)?.ok_or("none")?;
    /// assert_eq!(source.to_string(), "snapshot `snap-of-nightly`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn content_source(
        &mut self,
        source: &DataSource,
    ) -> Result<Option<csi::VolumeContentSource>, String> {
        let _ = source;
        Ok(None)
    }

    /// The parameters of a VolumeAttributesClass; `None` if there is no such
    /// class. Asked only if [`Config::modifies_volumes`].
    ///
    /// # Errors
    /// A text that says why there are none; so if its `driverName` is another
    /// driver's.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::provisioner::Driver;
    /// # use pvbind::provisioner::{CreateAnswer, DeleteAnswer, csi};
    /// struct Disks(BTreeMap<String, BTreeMap<String, String>>);
    /// impl Driver for Disks {
    ///     fn attributes(&mut self, class: &str) -> Result<Option<BTreeMap<String, String>>, String> {
    ///         Ok(self.0.get(class).cloned())
    ///     }
    /// #     fn create_volume(&mut self, _: csi::CreateVolumeRequest) -> CreateAnswer {
    /// #         CreateAnswer::Created(csi::Volume::default())
    /// #     }
    /// #     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
    /// #         DeleteAnswer::Deleted
    /// #     }
    /// }
    /// let iops = BTreeMap::from([("iops".to_owned(), "3000".to_owned())]);
    /// let mut disks = Disks([("gold".to_owned(), iops)].into());
    /// assert_eq!(disks.attributes("gold")?.ok_or("none")?["iops"], "3000");
    /// assert_eq!(disks.attributes("silver")?, None); // the claim waits for the class
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn attributes(&mut self, class: &str) -> Result<Option<BTreeMap<String, String>>, String> {
        let _ = class;
        Ok(None)
    }
}

/// What a driver answers when it is asked for a volume.
///
/// ```
/// use pvbind::provisioner::{CallState, CreateAnswer};
/// /// What a backend's HTTP status comes to.
/// fn answer(status: u16, message: String) -> CreateAnswer {
///     match status {
///         400 | 422 => CreateAnswer::Infeasible(message),
///         507 => CreateAnswer::Failed { message, state: CallState::Reschedule },
///         // 504 too: the backend may have made it.
///         500.. => CreateAnswer::Failed { message, state: CallState::InBackground },
///         _ => CreateAnswer::Failed { message, state: CallState::Finished },
///     }
/// }
/// assert_eq!(answer(422, "no type nvme9".into()), CreateAnswer::Infeasible("no type nvme9".into()));
/// ```
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
///
/// ```
/// use pvbind::provisioner::DeleteAnswer;
/// /// What a backend's HTTP status comes to.
/// fn answer(status: u16) -> DeleteAnswer {
///     match status {
///         200..=299 | 404 => DeleteAnswer::Deleted,
///         // Not `Ignored`: the volume would stay for ever.
///         _ => DeleteAnswer::Failed(format!("the backend said {status}")),
///     }
/// }
/// assert_eq!(answer(404), DeleteAnswer::Deleted);
/// assert_eq!(answer(409), DeleteAnswer::Failed("the backend said 409".into()));
/// ```
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
///
/// ```
/// # use std::sync::Arc;
/// # use pvbind::api::{PersistentVolumeClaim, read_objects};
/// # use pvbind::controller::MemoryServer;
/// # use pvbind::provisioner::{Config, CreateAnswer, DeleteAnswer, Driver, Ledger, csi};
/// # use pvbind::view::Snapshot;
/// # use serde_json::json;
/// use pvbind::provisioner::{ClaimReport, run_claim};
/// # struct Disks;
/// # impl Driver for Disks {
/// #     fn create_volume(&mut self, r: csi::CreateVolumeRequest) -> CreateAnswer {
/// #         CreateAnswer::Created(csi::Volume { volume_id: r.name, ..Default::default() })
/// #     }
/// #     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
/// #         DeleteAnswer::Deleted
/// #     }
/// # }
/// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
/// #     "provisioner": "csi.example.com"});
/// # let mut view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
/// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
/// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
/// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
/// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
/// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
/// # let config = Config::new("csi.example.com");
/// # let (mut driver, mut ledger, claim) = (Disks, Ledger::default(), Arc::new(claim));
/// # view.apply(Arc::clone(&claim));
/// # let mut server = MemoryServer::new(view.clone());
/// let ClaimReport { done, end } =
///     run_claim(&config, &view, &mut server, &mut driver, &mut ledger, &claim);
/// let told: Vec<String> = done.iter().map(|done| done.step.to_string()).collect();
/// assert_eq!(told[1], "create persistentvolumes pvc-u-1"); // told[0] is the event
/// assert_eq!(end.outcome?.to_string(), "the volume `pvc-u-1` was made");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ClaimReport {
    /// The steps that were tried, in order.
    pub done: Vec<Done>,
    /// How it ended.
    pub end: ClaimEnd,
}

/// What was done in a volume's sync.
///
/// ```
/// # use pvbind::api::{PersistentVolume, read_objects};
/// # use pvbind::controller::MemoryServer;
/// # use pvbind::provisioner::{Config, CreateAnswer, DeleteAnswer, Driver, csi};
/// # use pvbind::view::{ClusterView, Snapshot};
/// use pvbind::provisioner::{VolumeReport, run_volume};
/// # struct Disks;
/// # impl Driver for Disks {
/// #     fn create_volume(&mut self, r: csi::CreateVolumeRequest) -> CreateAnswer {
/// #         CreateAnswer::Created(csi::Volume { volume_id: r.name, ..Default::default() })
/// #     }
/// #     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
/// #         DeleteAnswer::Deleted
/// #     }
/// # }
/// # let (config, mut driver) = (Config::new("csi.example.com"), Disks);
/// # let cluster = read_objects(r#"{"kind": "PersistentVolume",
/// #     "metadata": {"name": "pv-1", "resourceVersion": "8"}, "status": {"phase": "Bound"},
/// #     "spec": {"persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": "csi.example.com"}}}"#)?;
/// # let view: Snapshot = cluster.into_iter().collect();
/// let mut server = MemoryServer::new(view.clone());
/// // A bound volume is to get its finalizer, and another writer was faster.
/// let mut volume = PersistentVolume::clone(&view.volume("pv-1").unwrap());
/// volume.metadata.resource_version = Some("7".to_owned());
/// let VolumeReport { done, outcome } =
///     run_volume(&config, &view, &mut server, &mut driver, &volume);
/// assert_eq!(done[0].step.to_string(), "update persistentvolumes pv-1");
/// assert!(done[0].error().is_some());
/// assert_eq!(outcome.map_err(|error| error.code()), Err("write-failed"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
/// It stands for what one worker of the sidecar does with one claim of its queue;
/// upstream has no function that does all of it.
///
/// It holds the ledger until the driver has answered, so that one claim is synced
/// after the other; who calls a slow driver for several at once writes the loop.
///
/// It is synchronous and waits nowhere; an asynchronous embedder writes the
/// [same loop](super#the-loop-of-an-asynchronous-embedder). There are no hooks for
/// classes and volumes of in-tree plugins, for attached volumes or for claims of
/// other nodes; who needs them writes the loop too.
///
/// # Cost
/// That of the calls it makes, to the driver and the API server, and of
/// [`CreateVolume::request`] between them.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolumeClaim, read_objects};
/// use pvbind::controller::MemoryServer;
/// use pvbind::provisioner::{
///     Config, CreateAnswer, DeleteAnswer, Driver, Ledger, csi, run_claim,
/// };
/// use pvbind::view::{ClusterView, Snapshot};
/// struct Disks;
/// impl Driver for Disks {
///     fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer {
///         CreateAnswer::Created(csi::Volume { volume_id: request.name, ..Default::default() })
///     }
///     fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
///         DeleteAnswer::Deleted
///     }
/// }
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
/// let mut server = MemoryServer::new(snapshot.clone());
/// let report = run_claim(&config, &snapshot, &mut server, &mut Disks, &mut ledger, &claim);
/// assert_eq!(ledger.claim_ended(&snapshot, &claim, &report.end, 0), None);
/// assert_eq!(report.end.outcome.unwrap().code(), "provisioned");
/// assert_eq!(server.snapshot().volume("pvc-u-1").unwrap().class_name(), "fast");
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
/// It stands for what one worker of the sidecar does with one volume of its queue.
/// What came of it is for [`Ledger::volume_ended`].
///
/// Nothing asks whether the volume is attached still, or whether it is on this
/// node: a driver that must not delete it then answers
/// [`Failed`](DeleteAnswer::Failed).
///
/// # Cost
/// That of the calls it makes, to the driver and the API server. A settled volume
/// costs none: see [`sync_volume`].
///
/// ```
/// use pvbind::controller::MemoryServer;
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
/// # let volume: pvbind::api::PersistentVolume = serde_json::from_str(r#"{
/// #     "metadata": {"name": "pvc-u-1",
/// #         "annotations": {
/// #             "volume.kubernetes.io/provisioner-deletion-secret-name": "keys",
/// #             "volume.kubernetes.io/provisioner-deletion-secret-namespace": "disks"}},
/// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
/// #         "csi": {"driver": "disk.csi", "volumeHandle": "h-1"}},
/// #     "status": {"phase": "Released"}}"#)?;
/// let (config, view) = (Config::new("disk.csi"), Snapshot::new());
/// let (mut server, mut disks) = (MemoryServer::default(), Disks(Vec::new()));
/// # server.put(volume.clone());
/// let report = run_volume(&config, &view, &mut server, &mut disks, &volume);
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
