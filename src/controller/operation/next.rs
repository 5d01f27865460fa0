//! What an operation waits for.

use std::sync::Arc;

use super::delete::{self, Deleting};
use super::provision::{self, Provisioning};
use super::{
    CleanUpVolume, DeleteVolume, ProvisionVolume, RecycleVolume, StartProvisioner, recycle,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::controller::Config;
use crate::plan::{FollowUp, Plan};
use crate::view::ClusterView;

/// What an operation waits for, once its plan is carried out. Each value takes
/// its answer, and gives the next plan.
///
/// A deletion, answered by hand:
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, InTreePlugin, Next, begin};
/// use pvbind::plan::{Operation, Step, Write};
/// use pvbind::view::Snapshot;
/// let mut config = Config::default();
/// config.plugins.push(InTreePlugin {
///     can_delete: true,
///     ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
/// });
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"}, "spec": {
///         "persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/var/volumes/1"},
///         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
/// let view = Snapshot::new();
/// let plan = begin(&config, Operation::Delete { volume: Arc::new(volume.clone()) });
/// // What was planned may be old by now: the volume is read again ...
/// let Next::ReadVolume(next) = plan.verdict else { panic!() };
/// assert_eq!(next.name(), "pv-1");
/// let Next::Delete(next) = next.answer(&config, &view, Some(volume.clone())).verdict else { panic!() };
/// // ... then the backend deletes it ...
/// assert_eq!(next.plugin(), "kubernetes.io/host-path");
/// let Next::ReadVolume(next) = next.deleted().verdict else { panic!() };
/// // ... and last the object goes.
/// let plan = next.answer(&config, &view, Some(volume));
/// assert!(matches!(plan.steps[0], Step::Write { write: Write::DeleteVolume(_), .. }));
/// assert_eq!(plan.verdict, Next::Finished);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "an operation goes on only when it is answered"]
pub enum Next {
    /// Nothing: the operation is over.
    Finished,
    /// That the plan's last write is done or has failed. Which, it heard while
    /// the plan was carried out.
    AfterWrite(AfterWrite),
    /// What the API server, not a cache, says about a volume.
    ReadVolume(ReadVolume),
    /// Whether a plugin can make volumes at all.
    StartProvisioner(StartProvisioner),
    /// A volume.
    Provision(ProvisionVolume),
    /// That a volume that was made in vain is deleted in the backend.
    CleanUp(CleanUpVolume),
    /// That a volume is deleted in the backend.
    Delete(DeleteVolume),
    /// That a volume's files are deleted.
    Recycle(RecycleVolume),
}

impl FollowUp for Next {
    fn claim_written(&mut self, claim: &PersistentVolumeClaim) {
        if let Some(job) = self.provisioning()
            && job.claim.metadata.is_same_object(&claim.metadata)
        {
            job.claim = Arc::new(claim.clone());
        }
    }

    fn volume_written(&mut self, volume: &PersistentVolume) {
        if let Next::AfterWrite(AfterWrite {
            job: WriteJob::RemoveFinalizer(held),
            ..
        }) = self
            && held.metadata.is_same_object(&volume.metadata)
        {
            *held = Arc::new(volume.clone());
        }
    }

    fn write_done(&mut self) {
        if let Next::AfterWrite(after) = self {
            after.result.get_or_insert(Ok(()));
        }
    }

    fn write_failed(&mut self, message: &str) {
        if let Next::AfterWrite(after) = self {
            after.result = Some(Err(message.to_owned()));
        }
    }
}

impl Next {
    fn provisioning(&mut self) -> Option<&mut Provisioning> {
        match self {
            Next::StartProvisioner(next) => Some(&mut next.job),
            Next::Provision(next) => Some(&mut next.job),
            Next::CleanUp(next) => Some(&mut next.job),
            Next::ReadVolume(ReadVolume {
                job: ReadJob::Provision(job),
                ..
            }) => Some(job),
            Next::AfterWrite(AfterWrite {
                job: WriteJob::SetExternal(job) | WriteJob::Create(job, _),
                ..
            }) => Some(job),
            _ => None,
        }
    }
}

/// An operation whose plan ended with a write that matters: see
/// [`Next::AfterWrite`].
///
/// How the write went it hears from the [`Execution`](crate::plan::Execution) of
/// the plan, as its verdict; so take it from there and not from the plan.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolumeClaim, StorageClass};
/// use pvbind::controller::{Config, Next, begin};
/// use pvbind::plan::{ApiError, ApiErrorKind, Execution, Operation, Provisioner, Step};
/// # let operation = Operation::Provision {
/// #     claim: Arc::new(PersistentVolumeClaim::default()),
/// #     class: Arc::new(StorageClass::default()),
/// #     provisioner: Provisioner::External("csi.example.com".to_owned()),
/// # };
/// // The claim is to be told who makes its volume, and somebody was faster.
/// let mut execution = Execution::new(begin(&Config::default(), operation));
/// execution.answer(Err(ApiError::new(ApiErrorKind::Conflict, "the object has been modified")));
/// let Next::AfterWrite(next) = execution.finish().end.finished()? else { panic!() };
/// let plan = next.proceed();
/// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
/// assert_eq!(event.message, "Error saving claim: the object has been modified");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AfterWrite {
    pub(super) job: WriteJob,
    /// How the write went, once it was heard.
    result: Option<Result<(), String>>,
}

/// What the write was for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WriteJob {
    /// The external provisioner's name was noted on the claim.
    SetExternal(Provisioning),
    /// The volume that the backend made was created.
    Create(Provisioning, Arc<PersistentVolume>),
    /// The finalizer of a volume that the backend deleted was removed.
    RemoveFinalizer(Arc<PersistentVolume>),
}

impl AfterWrite {
    pub(super) fn new(job: WriteJob) -> Self {
        AfterWrite { job, result: None }
    }

    /// Goes on. If the write was neither done nor refused, because the plan was
    /// not carried out to its end, the operation is given up: the next sync
    /// starts it again.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolumeClaim, StorageClass};
    /// use pvbind::controller::{Config, Next, begin};
    /// use pvbind::plan::{Operation, Plan, Provisioner};
    /// let plan = begin(&Config::default(), Operation::Provision {
    ///     claim: Arc::new(PersistentVolumeClaim::default()),
    ///     class: Arc::new(StorageClass::default()),
    ///     provisioner: Provisioner::External("csi.example.com".to_owned()),
    /// });
    /// // The write of this plan was not carried out: nobody is told of a provisioner.
    /// let Next::AfterWrite(next) = plan.verdict else { panic!() };
    /// assert_eq!(next.proceed(), Plan::empty(Next::Finished));
    /// ```
    pub fn proceed(self) -> Plan<Next> {
        let Some(result) = self.result else {
            return Plan::empty(Next::Finished);
        };
        match self.job {
            WriteJob::SetExternal(job) => provision::external_set(&job, result),
            WriteJob::Create(job, volume) => provision::created(job, volume, result),
            WriteJob::RemoveFinalizer(volume) => delete::finalizer_removed(volume, result),
        }
    }
}

/// An operation that wants to know what the API server has of a volume: see
/// [`Next::ReadVolume`].
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, Next, begin};
/// use pvbind::plan::{Operation, Plan};
/// use pvbind::view::Snapshot;
/// let volume = |uid: &str| -> PersistentVolume {
///     serde_json::from_value(serde_json::json!({
///         "metadata": {"name": "pv-1", "uid": uid}, "status": {"phase": "Released"}, "spec": {
///             "claimRef": {"namespace": "shop", "name": "data", "uid": "u-9"}}}))
///     .unwrap()
/// };
/// let (config, view) = (Config::default(), Snapshot::new());
/// let operation = Operation::Recycle { volume: Arc::new(volume("u-1")) };
/// let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
/// // A volume made anew under the name is another one: its files stay.
/// let plan = next.answer(&config, &view, Some(volume("u-2")));
/// assert_eq!(plan, Plan::empty(Next::Finished));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReadVolume {
    pub(super) name: String,
    pub(super) job: ReadJob,
}

/// What the volume is read for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReadJob {
    /// It must not exist.
    Provision(Provisioning),
    /// Whether it is to be deleted still.
    Delete(Deleting),
    /// Whether it is to be recycled still.
    Recycle {
        /// Which volume was meant.
        uid: String,
    },
}

impl ReadVolume {
    /// The name of the volume to read: the one to delete or recycle, or the one that
    /// is to be made, `pvc-UID`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Config, InTreePlugin, Next, begin};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, Execution, Operation, Provisioner, Step, Write};
    /// # use pvbind::view::Snapshot;
    /// # let mut config = Config::default();
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
    /// # });
    /// # let view = Snapshot::new();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}, "spec": {
    /// #         "storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let class: StorageClass = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "fast"}, "parameters": {"folder": "/var/volumes"}}))?;
    /// # let plan = begin(&config, Operation::Provision {
    /// #     claim: Arc::new(claim), class: Arc::new(class),
    /// #     provisioner: Provisioner::Internal("kubernetes.io/host-path".to_owned()),
    /// # });
    /// // `plan`: that of a provision operation for a claim with the uid `u-1`.
    /// let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// // If it is there already, the operation was done before.
    /// assert_eq!(next.name(), "pvc-u-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Goes on with what was read; `None` if there is no such volume. A volume of
    /// another name is no answer, and ends the operation.
    ///
    /// Here deletion and recycling check again whether the volume is still
    /// released, against the claims in the view, and provisioning whether the volume
    /// is not there yet. Constant cost, but for a recycled volume that of finding
    /// the pods that use its claim.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::PersistentVolume;
    /// # use pvbind::controller::{Config, InTreePlugin, Next, begin};
    /// # use pvbind::plan::Operation;
    /// # use pvbind::view::Snapshot;
    /// # let mut config = Config::default();
    /// # for name in ["kubernetes.io/nfs", "example.com/nfs-folders"] {
    /// #     config.plugins.push(InTreePlugin {
    /// #         can_delete: true, can_recycle: true, ..InTreePlugin::new(name, ["nfs"])
    /// #     });
    /// # }
    /// # let volume = |policy: &str, version: &str| serde_json::from_value::<PersistentVolume>(serde_json::json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1", "resourceVersion": version,
    /// #         "annotations": {"pv.kubernetes.io/provisioned-by": "example.com/nfs-folders"}},
    /// #     "status": {"phase": "Released"},
    /// #     "spec": {"persistentVolumeReclaimPolicy": policy, "nfs": {"server": "10.0.0.7", "path": "/exports/1"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}));
    /// # use pvbind::api::PersistentVolumeClaim;
    /// # use pvbind::plan::Plan;
    /// # let released = volume("Delete", "7")?;
    /// # let operation = Operation::Delete { volume: Arc::new(released.clone()) };
    /// # let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// let mut view = Snapshot::new();
    /// let plan = next.clone().answer(&config, &view, Some(released.clone()));
    /// assert!(matches!(plan.verdict, Next::Delete(_)));
    /// // But if its claim is there, though only as one without volume, the volume stays.
    /// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"namespace": "shop", "name": "data", "uid": "u-2"}}))?;
    /// view.apply(Arc::new(claim));
    /// assert_eq!(next.answer(&config, &view, Some(released)), Plan::empty(Next::Finished));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn answer<V: ClusterView + ?Sized>(
        self,
        config: &Config,
        view: &V,
        volume: Option<PersistentVolume>,
    ) -> Plan<Next> {
        if (volume.as_ref()).is_some_and(|volume| volume.name() != self.name) {
            return Plan::empty(Next::Finished);
        }
        let volume = volume.map(Arc::new);
        match (self.job, volume) {
            (ReadJob::Provision(job), None) => provision::not_there_yet(config, job),
            (ReadJob::Delete(job), Some(volume)) => delete::read(config, view, job, volume),
            (ReadJob::Recycle { uid }, Some(volume)) if volume.metadata.uid() == uid => {
                recycle::read(config, view, volume)
            }
            _ => Plan::empty(Next::Finished),
        }
    }
}
