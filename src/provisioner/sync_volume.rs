//! One sync of a volume: its finalizer, and its deletion.

use std::fmt;
use std::sync::Arc;

use super::error::for_event;
use super::parameters::ClassSecrets;
use super::volume::{check_deletable, check_ours, finalizer_edit};
use super::{
    Config, Kept, NotOurs, ProvisionError, RequestError, SecretNames, SecretReference, SecretUse,
    csi,
};
use crate::api::{PersistentVolume, names};
use crate::binding::{Edit, without_finalizer};
use crate::plan::{Change, Event, EventReason, FollowUp, OnFailure, Plan, Step, Write};
use crate::view::{ClusterView, Held};

/// One sync of a volume: its finalizer is put right, and if it is to go, the
/// driver is to delete it.
///
/// Carry out the plan, then answer what its verdict, a [`VolumeNext`], asks for;
/// that gives the next plan, until it is [`VolumeNext::Over`]. No two syncs of
/// one volume may run at once. [`run_volume`](super::run_volume) is that loop.
///
/// Nothing at all is done for a volume that is [not ours](check_ours).
///
/// Follows `syncVolume` and `deleteVolumeOperation` of
/// sig-storage-lib-external-provisioner 13.
///
/// # Cost
/// A few comparisons for a settled volume, and no allocation but that of the
/// refusal's text; a copy of the volume where it is edited.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::provisioner::{Config, VolumeNext, sync_volume};
/// let volume: PersistentVolume = serde_json::from_str(r#"{
///     "metadata": {"name": "pvc-u-1", "annotations": {"pv.kubernetes.io/provisioned-by": "disk.csi"},
///         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
///     "spec": {"persistentVolumeReclaimPolicy": "Delete",
///         "csi": {"driver": "disk.csi", "volumeHandle": "h-1"}},
///     "status": {"phase": "Released"}}"#)?;
/// let volume = Arc::new(volume);
/// let plan = sync_volume(&Config::new("disk.csi"), &volume);
/// let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
/// assert_eq!(operation.request()?.volume_id, "h-1");
///
/// // The driver has deleted it: the object goes, and then its finalizer.
/// let plan = operation.deleted();
/// assert!(plan.has_writes());
/// let VolumeNext::ReadVolume(read) = plan.verdict else { panic!() };
/// let plan = read.answer(Some((*volume).clone()));
/// assert!(plan.has_writes());
/// assert!(matches!(plan.verdict, VolumeNext::Over(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sync_volume<'a>(
    config: &Config,
    volume: impl Into<Held<'a, PersistentVolume>>,
) -> Plan<VolumeNext> {
    let volume = volume.into();
    if let Err(refusal) = check_ours(config, &volume) {
        return Plan::empty(over(Ok(VolumeOutcome::NotOurs(refusal))));
    }
    let edit = finalizer_edit(config, &volume);
    let mut steps = Vec::new();
    let volume = match edit {
        Edit::Unchanged => volume,
        Edit::Changed(edited) => {
            let (step, edited) = write(volume.into_arc(), edited);
            steps.push(step);
            Held::Shared(edited)
        }
    };
    let verdict = match check_deletable(config, &volume) {
        Err(refusal) => over(Ok(VolumeOutcome::Kept(refusal))),
        Ok(()) => VolumeNext::DeleteVolume(DeleteVolume {
            volume: volume.into_arc(),
            adds_finalizer: config.adds_finalizer,
        }),
    };
    Plan { steps, verdict }
}

/// What a volume's sync waits for, once its plan is carried out. Each value
/// takes its answer, and gives the next plan. More may come, as for
/// [`ClaimNext`](super::ClaimNext).
///
/// ```
/// # use pvbind::api::PersistentVolume;
/// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
/// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
/// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
/// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
/// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
/// #     "status": {"phase": "Released"}}))?;
/// use pvbind::provisioner::{Config, VolumeNext, sync_volume};
/// let next = |driver| match sync_volume(&Config::new(driver), &volume).verdict {
///     VolumeNext::Over(outcome) => format!("over: {}", outcome.map_or("failed", |it| it.code())),
///     VolumeNext::DeleteVolume(operation) => format!("delete {}", operation.volume().name()),
///     VolumeNext::ReadVolume(next) => format!("read {}", next.name()),
///     _ => "cannot go on".into(),
/// };
/// assert_eq!(next("csi.example.com"), "delete pvc-u-1");
/// assert_eq!(next("nfs.example.com"), "over: of-another-driver");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "a sync goes on only when it is answered"]
pub enum VolumeNext {
    /// Nothing: the sync is over. An error means that the volume is to be tried
    /// again, how much later says the [`Ledger`](super::Ledger).
    Over(Result<VolumeOutcome, ProvisionError>),
    /// That the driver deletes the volume.
    DeleteVolume(DeleteVolume),
    /// What the API server, not a cache, has of the volume now that it is being
    /// deleted.
    ReadVolume(ReadVolume),
}

impl FollowUp for VolumeNext {
    fn volume_written(&mut self, written: &PersistentVolume) {
        if let VolumeNext::DeleteVolume(next) = self
            && next.volume.name() == written.name()
        {
            next.volume = Arc::new(written.clone());
        }
    }

    fn write_failed(&mut self, message: &str) {
        let message = message.to_owned();
        *self = over(Err(ProvisionError::Write { message }));
    }
}

/// What became of a volume. `Display` is a sentence for people.
///
/// ```
/// use pvbind::provisioner::{Kept, VolumeOutcome};
/// let kept = VolumeOutcome::Kept(Kept::Policy { policy: "Retain".into() });
/// assert_eq!(kept.code(), "policy");
/// assert_eq!(kept.to_string(), "the volume's reclaim policy is `Retain`, not `Delete`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VolumeOutcome {
    /// It is not ours.
    NotOurs(NotOurs),
    /// The backend's volume stays.
    Kept(Kept),
    /// The driver left it alone.
    Ignored {
        /// Why.
        reason: String,
    },
    /// It is deleted.
    Deleted,
}

impl VolumeOutcome {
    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::provisioner::{Kept, VolumeOutcome};
    /// let kept = VolumeOutcome::Kept(Kept::NotReleased { phase: "Bound".into() });
    /// assert_eq!(kept.code(), "not-released");
    /// assert_eq!(VolumeOutcome::Deleted.code(), "deleted");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            VolumeOutcome::NotOurs(refusal) => refusal.code(),
            VolumeOutcome::Kept(refusal) => refusal.code(),
            VolumeOutcome::Ignored { .. } => "ignored",
            VolumeOutcome::Deleted => "deleted",
        }
    }
}

impl fmt::Display for VolumeOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VolumeOutcome::NotOurs(refusal) => refusal.fmt(f),
            VolumeOutcome::Kept(refusal) => refusal.fmt(f),
            VolumeOutcome::Ignored { reason } => write!(f, "the volume is left alone: {reason}"),
            VolumeOutcome::Deleted => f.write_str("the volume is deleted"),
        }
    }
}

/// The call that deletes a volume: see [`VolumeNext::DeleteVolume`].
///
/// Ask for the [`request`](Self::request), add the
/// [secret](Self::provisioner_secret), call the driver, and answer with what it
/// said: [`deleted`](Self::deleted), [`failed`](Self::failed) or
/// [`ignored`](Self::ignored).
///
/// ```
/// use pvbind::provisioner::{Config, VolumeNext, sync_volume};
/// use pvbind::view::Snapshot;
/// # use pvbind::api::PersistentVolume;
/// # let volume: PersistentVolume = serde_json::from_str(r#"{
/// #     "metadata": {"name": "pvc-u-1",
/// #         "annotations": {
/// #             "volume.kubernetes.io/provisioner-deletion-secret-name": "keys",
/// #             "volume.kubernetes.io/provisioner-deletion-secret-namespace": "disks"}},
/// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
/// #         "csi": {"driver": "disk.csi", "volumeHandle": "h-1"}},
/// #     "status": {"phase": "Released"}}"#)?;
/// let plan = sync_volume(&Config::new("disk.csi"), &volume);
/// let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
/// assert_eq!(operation.request()?.volume_id, "h-1");
/// let secret = operation.provisioner_secret(&Snapshot::new())?;
/// assert_eq!(secret.unwrap().to_string(), "disks/keys");
///
/// // The event VolumeFailedDelete, and it is tried again.
/// let plan = operation.failed("in use");
/// assert_eq!(plan.steps.len(), 1);
/// let VolumeNext::Over(outcome) = plan.verdict else { panic!() };
/// assert_eq!(outcome.unwrap_err().to_string(), "in use");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteVolume {
    volume: Arc<PersistentVolume>,
    adds_finalizer: bool,
}

impl DeleteVolume {
    /// What the driver is to be asked. Secrets are left out: see
    /// [`provisioner_secret`](Self::provisioner_secret).
    ///
    /// # Errors
    /// The volume has no CSI source with a handle; answer with
    /// [`failed`](Self::failed). For a volume of an in-tree plugin that the
    /// driver took over from, the embedder makes the request itself.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
    /// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # use pvbind::provisioner::{Config, sync_volume};
    /// use pvbind::provisioner::{RequestError, VolumeNext};
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// assert_eq!(operation.request()?.volume_id, "vol-0a1b");
    /// // What an in-tree plugin made names no handle: that is for the embedder to find.
    /// # let mut volume = volume;
    /// volume.spec.csi = None;
    /// volume.metadata.set_annotation("pv.kubernetes.io/migrated-to", "csi.example.com");
    /// let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// assert_eq!(operation.request(), Err(RequestError::NoHandle));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn request(&self) -> Result<csi::DeleteVolumeRequest, RequestError> {
        let csi = self.volume.spec.csi.as_ref();
        match csi.and_then(|csi| csi.volume_handle.as_deref()) {
            None | Some("") => Err(RequestError::NoHandle),
            Some(handle) => Ok(csi::DeleteVolumeRequest {
                volume_id: handle.to_owned(),
                secrets: csi::Secrets::default(),
            }),
        }
    }

    /// The driver deleted the volume, or knows nothing of it: the plan deletes
    /// its object.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
    /// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # use pvbind::provisioner::{Config, sync_volume};
    /// use pvbind::provisioner::VolumeNext;
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// let plan = operation.deleted();
    /// assert_eq!(plan.steps[0].to_string(), "delete persistentvolumes pvc-u-1");
    /// // The finalizer goes last, from what the API server has by then.
    /// assert!(matches!(plan.verdict, VolumeNext::ReadVolume(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deleted(self) -> Plan<VolumeNext> {
        let finalizer = names::EXTERNAL_PROVISIONER_FINALIZER;
        let waits = self.adds_finalizer && self.volume.metadata.has_finalizer(finalizer);
        let verdict = match waits {
            true => VolumeNext::ReadVolume(ReadVolume {
                name: self.volume.name().to_owned(),
                uid: self.volume.metadata.uid().to_owned(),
            }),
            false => over(Ok(VolumeOutcome::Deleted)),
        };
        let delete = Step::Write {
            write: Write::DeleteVolume(self.volume),
            on_failure: OnFailure::Tell,
        };
        Plan {
            steps: vec![delete],
            verdict,
        }
    }

    /// The driver says that the volume is not its business.
    ///
    /// Nothing follows: no event, and no other try until the volume's object
    /// changes; its data stays. A driver whose volume is busy or attached still
    /// has [failed](Self::failed).
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
    /// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # use pvbind::provisioner::{Config, sync_volume};
    /// use pvbind::provisioner::VolumeNext;
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// let plan = operation.ignored("its node is gone");
    /// assert!(plan.is_empty());
    /// let VolumeNext::Over(outcome) = plan.verdict else { panic!() };
    /// assert_eq!(outcome?.to_string(), "the volume is left alone: its node is gone");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ignored(self, reason: &str) -> Plan<VolumeNext> {
        let reason = reason.to_owned();
        Plan::empty(over(Ok(VolumeOutcome::Ignored { reason })))
    }

    /// The driver could not delete the volume; that it never can
    /// (INVALID_ARGUMENT) is an ordinary failure here.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
    /// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # use pvbind::provisioner::{Config, sync_volume};
    /// use pvbind::provisioner::VolumeNext;
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// let plan = operation.failed("volume is attached to node-1");
    /// assert_eq!(
    ///     plan.steps[0].to_string(),
    ///     "event Warning VolumeFailedDelete on PersistentVolume pvc-u-1: volume is attached to node-1"
    /// );
    /// let VolumeNext::Over(outcome) = plan.verdict else { panic!() };
    /// assert!(outcome.is_err()); // and so it is tried again
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failed(self, message: &str) -> Plan<VolumeNext> {
        let reason = EventReason::VolumeFailedDelete;
        let event = Event::on_volume(&self.volume, reason, for_event(message));
        let message = message.to_owned();
        Plan {
            steps: vec![Step::Event(event)],
            verdict: over(Err(ProvisionError::Failed { message })),
        }
    }

    /// The operation's name; no two of one name may run at once.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
    /// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # use pvbind::provisioner::{Config, VolumeNext, sync_volume};
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// assert_eq!(operation.name(), "delete-pvc-u-1[u-9]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> String {
        let metadata = &self.volume.metadata;
        format!("delete-{}[{}]", metadata.key(), metadata.uid())
    }

    /// The volume, as last written.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
    /// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # use pvbind::provisioner::{Config, VolumeNext, sync_volume};
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// // A volume that is still attached must not be asked for: look for VolumeAttachments of it.
    /// let csi = operation.volume().spec.csi.as_ref().ok_or("no CSI source")?;
    /// assert_eq!(csi.volume_handle.as_deref(), Some("vol-0a1b"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume(&self) -> &Arc<PersistentVolume> {
        &self.volume
    }

    /// The secret to be added to the request: the one noted on the volume, none
    /// if it is noted as empty, or, if nothing is noted, the one that its class names, if there still is such a class. A name
    /// with `${pvc.annotations['KEY']}` cannot be filled in from the class, as
    /// the claim is gone; that is what the note is for.
    ///
    /// If the secret is not there any more, the driver is asked without it: its
    /// namespace may be gone with the claim.
    ///
    /// # Errors
    /// What is wrong with the class's names for the secret.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolume, read_objects};
    /// use pvbind::view::Snapshot;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1"},
    /// #     "spec": {"storageClassName": "fast", "persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # let class = serde_json::json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "parameters": {"csi.storage.k8s.io/provisioner-secret-name": "backend",
    /// #         "csi.storage.k8s.io/provisioner-secret-namespace": "storage"}});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # use pvbind::provisioner::{Config, VolumeNext, sync_volume};
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// // A volume from before secrets were noted: what its class says now, while there is one.
    /// let secret = operation.provisioner_secret(&view)?;
    /// assert_eq!(secret.map(|found| found.to_string()), Some("storage/backend".into()));
    /// assert_eq!(operation.provisioner_secret(&Snapshot::new())?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn provisioner_secret<V: ClusterView + ?Sized>(
        &self,
        view: &V,
    ) -> Result<Option<SecretReference>, RequestError> {
        let metadata = &self.volume.metadata;
        let noted = metadata
            .annotation(names::DELETION_SECRET_NAME)
            .zip(metadata.annotation(names::DELETION_SECRET_NAMESPACE));
        if let Some((name, namespace)) = noted {
            let secret = SecretReference {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            };
            let is_named = !secret.namespace.is_empty() && !secret.name.is_empty();
            return Ok(is_named.then_some(secret));
        }
        let Some(class) = view.class(self.volume.class_name()) else {
            return Ok(None);
        };
        let claim = self.volume.claim_ref();
        let names = SecretNames {
            volume: self.volume.name(),
            namespace: claim.map(|claim| claim.namespace()).unwrap_or_default(),
            claim: claim.map(|claim| claim.name()).unwrap_or_default(),
            annotations: None,
        };
        ClassSecrets::read(&class)?.fill(SecretUse::Provisioner, &names)
    }
}

/// A volume whose backend is gone, and whose object waits for our finalizer to
/// go: see [`VolumeNext::ReadVolume`].
///
/// ```
/// # use pvbind::api::PersistentVolume;
/// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
/// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
/// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
/// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
/// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
/// #     "status": {"phase": "Released"}}))?;
/// # use pvbind::provisioner::{Config, sync_volume};
/// use pvbind::provisioner::VolumeNext;
/// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
/// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
/// let VolumeNext::ReadVolume(read) = operation.deleted().verdict else { panic!() };
/// // Until the finalizer is taken away, Kubernetes shows the volume as Terminating.
/// assert_eq!(read.name(), "pvc-u-1");
/// let plan = read.answer(Some(volume));
/// assert_eq!(plan.steps[0].to_string(), "update persistentvolumes pvc-u-1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadVolume {
    name: String,
    uid: String,
}

impl ReadVolume {
    /// The volume's name.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
    /// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # use pvbind::provisioner::{Config, sync_volume};
    /// # use pvbind::provisioner::VolumeNext;
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// # let VolumeNext::ReadVolume(read) = operation.deleted().verdict else { panic!() };
    /// let path = format!("/api/v1/persistentvolumes/{}", read.name());
    /// assert_eq!(path, "/api/v1/persistentvolumes/pvc-u-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Goes on with what was read; `None` if there is no such volume.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pvc-u-1", "uid": "u-9",
    /// #         "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete",
    /// #         "csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}},
    /// #     "status": {"phase": "Released"}}))?;
    /// # use pvbind::provisioner::{Config, sync_volume};
    /// # use pvbind::provisioner::VolumeNext;
    /// # let plan = sync_volume(&Config::new("csi.example.com"), &volume);
    /// # let VolumeNext::DeleteVolume(operation) = plan.verdict else { panic!() };
    /// # let VolumeNext::ReadVolume(read) = operation.deleted().verdict else { panic!() };
    /// // Another volume of that name by now, which keeps its finalizer.
    /// let mut later = volume.clone();
    /// later.metadata.uid = Some("u-10".into());
    /// assert!(!read.clone().answer(Some(later)).has_writes());
    /// assert!(read.answer(Some(volume)).has_writes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn answer(self, volume: Option<PersistentVolume>) -> Plan<VolumeNext> {
        let outcome = over(Ok(VolumeOutcome::Deleted));
        let Some(volume) = volume.filter(|volume| volume.metadata.uid() == self.uid) else {
            return Plan::empty(outcome);
        };
        let Edit::Changed(edited) =
            without_finalizer(&volume, names::EXTERNAL_PROVISIONER_FINALIZER)
        else {
            return Plan::empty(outcome);
        };
        let (step, _) = write(Arc::new(volume), edited);
        Plan {
            steps: vec![step],
            verdict: outcome,
        }
    }
}

fn over(outcome: Result<VolumeOutcome, ProvisionError>) -> VolumeNext {
    VolumeNext::Over(outcome)
}

fn write(from: Arc<PersistentVolume>, to: PersistentVolume) -> (Step, Arc<PersistentVolume>) {
    let to = Arc::new(to);
    let change = Change {
        from,
        to: Arc::clone(&to),
    };
    let step = Step::Write {
        write: Write::Volume(change),
        on_failure: OnFailure::Tell,
    };
    (step, to)
}
