//! What a claim's sync waits for, and how it ends.

use std::fmt;

use super::{AnswerError, CallState, CreateVolume, NotNow, ProvisionError};
use crate::api::{ObjectReference, PersistentVolume};
use crate::plan::{FollowUp, Plan};

/// What a claim's sync waits for, once its plan is carried out. Each value takes
/// its answer, and gives the next plan; the [module](super) shows the loop.
///
/// More may come with later versions. A program that does not know one gives the
/// sync up: the next comes to the same point, if the
/// [`Ledger`](super::Ledger::claim_asked) was told before the driver was called.
///
/// ```
/// # use pvbind::api::{PersistentVolumeClaim, read_objects};
/// # use pvbind::view::Snapshot;
/// # use serde_json::json;
/// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
/// #     "provisioner": "csi.example.com"});
/// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
/// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
/// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
/// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
/// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
/// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
/// use pvbind::provisioner::{ClaimNext, Config, sync_claim};
/// /// What a log says of it.
/// fn told(next: &ClaimNext) -> String {
///     match next {
///         ClaimNext::Over(end) => match &end.outcome {
///             Ok(outcome) => outcome.to_string(),
///             Err(error) => error.to_string(),
///         },
///         ClaimNext::CreateVolume(operation) => format!("asks for {}", operation.volume_name()),
///         ClaimNext::CleanUp(next) => format!("takes back {}", next.volume_id()),
///         ClaimNext::ReadVolume(next) => format!("reads {}", next.name()),
///         _ => "cannot go on".into(),
///     }
/// }
/// let plan = sync_claim(&Config::new("csi.example.com"), &view, &claim);
/// assert_eq!(told(&plan.verdict), "asks for pvc-u-1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "a sync goes on only when it is answered"]
pub enum ClaimNext {
    /// Nothing: the sync is over.
    Over(ClaimEnd),
    /// A volume from the driver.
    CreateVolume(CreateVolume),
    /// That the driver deletes a volume that it should not have made.
    CleanUp(CleanUp),
    /// What the API server, not a cache, has under the volume's name: the volume
    /// was to be created and exists already, or is to be deleted again and may
    /// have been taken into use by then.
    ReadVolume(ReadHolder),
}

impl FollowUp for ClaimNext {
    fn already_exists(&mut self, volume: &PersistentVolume) {
        let is_created = matches!(
            self,
            ClaimNext::Over(ClaimEnd {
                outcome: Ok(ClaimOutcome::Provisioned { .. }),
                ..
            })
        );
        let uid = volume.claim_ref().map_or("", ObjectReference::uid);
        // A name that holds the whole uid can be no other claim's.
        if is_created && !volume.name().ends_with(uid) {
            *self = ClaimNext::ReadVolume(ReadHolder {
                volume: volume.name().to_owned(),
                uid: uid.to_owned(),
                clean_up: None,
            });
        }
    }

    fn write_failed(&mut self, message: &str) {
        let ClaimNext::Over(end) = self else {
            return;
        };
        // A volume that the driver made and the API server does not know of
        // must not be forgotten.
        if matches!(end.outcome, Ok(ClaimOutcome::Provisioned { .. })) {
            end.progress = Progress::InBackground;
        }
        let message = message.to_owned();
        end.outcome = Err(ProvisionError::Write { message });
    }
}

/// How a claim's sync ended.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::provisioner::{ClaimEnd, Ledger, Progress, ProvisionError};
/// use pvbind::view::Snapshot;
/// // What the program itself makes of a sync that it gave up before the driver was called.
/// let message = "shutting down".to_owned();
/// let given_up = ClaimEnd {
///     outcome: Err(ProvisionError::Failed { message }),
///     progress: Progress::Unchanged,
/// };
/// let claim = Arc::new(PersistentVolumeClaim::default());
/// let mut ledger = Ledger::default();
/// ledger.claim_ended(&Snapshot::new(), &claim, &given_up, 0);
/// assert!(!ledger.is_in_progress(&claim));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ClaimEnd {
    /// What came of it. An error means that the claim is to be tried again, how
    /// much later says the [`Ledger`](super::Ledger); anything else, that it is
    /// not, until it or its class changes.
    pub outcome: Result<ClaimOutcome, ProvisionError>,
    /// Whether the claim is in progress now.
    pub progress: Progress,
}

/// What became of a claim. `Display` is a sentence for people.
///
/// ```
/// use pvbind::provisioner::{ClaimOutcome, NotNow};
/// let waits = ClaimOutcome::NotNow(NotNow::NoProvisioner);
/// assert_eq!(waits.code(), "no-provisioner");
/// assert_eq!(waits.to_string(), "the claim has no provisioner yet");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimOutcome {
    /// It is not to be provisioned, or not now.
    NotNow(NotNow),
    /// It was deleted, and nothing of it is with the driver.
    Gone,
    /// Its volume is known already.
    VolumeKnown {
        /// The volume.
        volume: String,
    },
    /// It asks for a raw device, and the driver cannot make one.
    NoBlockSupport,
    /// The provisioner of its class is somebody else, although the claim names
    /// us.
    ClassOfAnother {
        /// Who.
        provisioner: String,
    },
    /// The driver, or a populator in its stead, left it alone.
    Ignored {
        /// Why.
        reason: String,
    },
    /// The scheduler is to choose another node.
    Rescheduled,
    /// Its volume was made.
    Provisioned {
        /// The volume.
        volume: String,
    },
}

impl ClaimOutcome {
    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::provisioner::{ClaimOutcome, NotNow};
    /// // Why it is left alone, not that it is.
    /// let waits = ClaimOutcome::NotNow(NotNow::NoNodeSelected { class: "fast".into() });
    /// assert_eq!(waits.code(), "no-node-selected");
    /// assert_eq!(ClaimOutcome::Rescheduled.code(), "rescheduled");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            ClaimOutcome::NotNow(refusal) => refusal.code(),
            ClaimOutcome::Gone => "gone",
            ClaimOutcome::VolumeKnown { .. } => "volume-known",
            ClaimOutcome::NoBlockSupport => "no-block-support",
            ClaimOutcome::ClassOfAnother { .. } => "class-of-another",
            ClaimOutcome::Ignored { .. } => "ignored",
            ClaimOutcome::Rescheduled => "rescheduled",
            ClaimOutcome::Provisioned { .. } => "provisioned",
        }
    }
}

impl fmt::Display for ClaimOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimOutcome::NotNow(refusal) => refusal.fmt(f),
            ClaimOutcome::Gone => f.write_str("the claim is gone"),
            ClaimOutcome::VolumeKnown { volume } => {
                write!(f, "the claim's volume `{volume}` is there already")
            }
            ClaimOutcome::NoBlockSupport => {
                f.write_str("the claim asks for a raw device, which the driver cannot make")
            }
            ClaimOutcome::ClassOfAnother { provisioner } => {
                write!(
                    f,
                    "the claim's class is for the provisioner `{provisioner}`"
                )
            }
            ClaimOutcome::Ignored { reason } => write!(f, "the claim is left alone: {reason}"),
            ClaimOutcome::Rescheduled => f.write_str("the scheduler is to choose another node"),
            ClaimOutcome::Provisioned { volume } => write!(f, "the volume `{volume}` was made"),
        }
    }
}

/// Whether a claim is in progress after a sync.
///
/// ```
/// # use pvbind::api::{PersistentVolumeClaim, read_objects};
/// # use pvbind::view::Snapshot;
/// # use serde_json::json;
/// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
/// #     "provisioner": "csi.example.com"});
/// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
/// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
/// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
/// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
/// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
/// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
/// # let config = Config::new("csi.example.com");
/// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
/// #     panic!()
/// # };
/// use pvbind::provisioner::{CallState, Progress};
/// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
/// let after = |state| match operation.clone().failed("the backend says no", state).verdict {
///     ClaimNext::Over(end) => end.progress,
///     _ => panic!(),
/// };
/// assert_eq!(after(CallState::Finished), Progress::Finished);
/// assert_eq!(after(CallState::InBackground), Progress::InBackground);
/// // Not called at all: an earlier call counts as before.
/// assert_eq!(after(CallState::NoChange), Progress::Unchanged);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Progress {
    /// No: nothing of it is left with the driver.
    Finished,
    /// Yes: it must be continued, even if it is deleted.
    InBackground,
    /// As before.
    Unchanged,
}

/// A volume of which it must be known whether the API server has it, and for
/// which claim:
/// - It was to be created under a name made of a shortened uid, and exists
///   already: made by us before, or another claim's whose uid begins alike.
/// - The driver's answer does not serve, and the volume is to be
///   [deleted again](CleanUp). If there is an object, an earlier answer did serve,
///   and the volume is in use.
///
/// See [`ClaimNext::ReadVolume`].
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::plan::{ApiError, ApiErrorKind, Execution, Written};
/// use pvbind::provisioner::{
///     ClaimNext, Config, RequestInputs, VolumeNames, csi, sync_claim,
/// };
/// # use pvbind::api::{PersistentVolumeClaim, read_objects};
/// # use pvbind::view::Snapshot;
/// # let view: Snapshot = read_objects(
/// #     r#"{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi"}"#,
/// # )?.into_iter().collect();
/// # let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
/// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
/// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "disk.csi"}},
/// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
/// #         "resources": {"requests": {"storage": "5Gi"}}}}"#)?;
/// let mut config = Config::new("disk.csi");
/// config.volume_names = VolumeNames::new("k8s", Some(1))?;
/// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
/// #     panic!()
/// # };
/// let request = operation.request(&config, &view, &RequestInputs::default())?;
/// let volume = csi::Volume { volume_id: "h-1".into(), ..csi::Volume::default() };
/// let mut execution = Execution::new(operation.created(&config, &request, &volume));
/// execution.answer(Err(ApiError {
///     kind: ApiErrorKind::AlreadyExists,
///     message: "persistentvolumes \"k8s-u\" already exists".into(),
/// }));
/// let Ok(ClaimNext::ReadVolume(next)) = execution.finish().end.finished() else { panic!() };
/// assert_eq!(next.name(), "k8s-u");
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "k8s-u"},
///     "spec": {"claimRef": {"namespace": "shop", "name": "other", "uid": "u-2"}}}"#)?;
/// let ClaimNext::Over(end) = next.answer(Some(volume)).verdict else { panic!() };
/// assert_eq!(end.outcome.unwrap_err().code(), "name-taken");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReadHolder {
    volume: String,
    /// Of the claim that it was to be for.
    uid: String,
    /// If it is to be deleted again.
    clean_up: Option<Box<CleanUp>>,
}

impl ReadHolder {
    /// The volume's name.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// # use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// # let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// # let small = csi::Volume {
    /// #     volume_id: "vol-0a1b".into(),
    /// #     capacity_bytes: 1 << 30, // of 5Gi
    /// #     ..csi::Volume::default()
    /// # };
    /// let ClaimNext::ReadVolume(read) = operation.created(&config, &request, &small).verdict else {
    ///     panic!()
    /// };
    /// // A GET of this, from the API server: a cache may lag behind.
    /// assert_eq!(read.name(), "pvc-u-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        &self.volume
    }

    /// Goes on with what was read; `None` if there is no such volume. Another
    /// claim's volume is left alone, and so is the backend's, which is that
    /// claim's too: [`ProvisionError::NameTaken`].
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// # use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// # let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// let small = csi::Volume {
    ///     volume_id: "vol-0a1b".into(),
    ///     capacity_bytes: 1 << 30, // of 5Gi
    ///     ..csi::Volume::default()
    /// };
    /// let ClaimNext::ReadVolume(read) = operation.created(&config, &request, &small).verdict else {
    ///     panic!()
    /// };
    /// // The object is there, from an earlier and better answer: its data stays.
    /// let object = serde_json::from_value(json!({"metadata": {"name": "pvc-u-1"}, "spec": {
    ///     "claimRef": {"uid": "u-1"}, "csi": {"volumeHandle": "vol-0a1b"}}}))?;
    /// assert!(matches!(read.clone().answer(Some(object)).verdict, ClaimNext::Over(_)));
    /// // It is not: what the driver made is taken back.
    /// assert!(matches!(read.answer(None).verdict, ClaimNext::CleanUp(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn answer(self, volume: Option<PersistentVolume>) -> Plan<ClaimNext> {
        let name = self.volume.clone();
        let outcome = match (volume, self.clean_up) {
            (None, Some(clean_up)) => return Plan::empty(ClaimNext::CleanUp(*clean_up)),
            // A driver that made a second volume under the name.
            (Some(volume), Some(clean_up)) if clean_up.is_another_than(&volume) => {
                return Plan::empty(ClaimNext::CleanUp(*clean_up));
            }
            (None, None) => Err(ProvisionError::Write {
                message: format!("volume `{name}` existed, and is gone"),
            }),
            (Some(volume), clean_up) => match other_holder(&volume, &self.uid) {
                Some(error) => Err(error),
                None if clean_up.is_some() => Ok(ClaimOutcome::VolumeKnown { volume: name }),
                None => Ok(ClaimOutcome::Provisioned { volume: name }),
            },
        };
        let progress = match &outcome {
            Err(ProvisionError::Write { .. }) => Progress::InBackground,
            _ => Progress::Finished,
        };
        Plan::empty(ClaimNext::Over(ClaimEnd { outcome, progress }))
    }

    /// The API server did not answer. The claim stays in progress: the next sync
    /// is given the same volume, and asks again.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// use pvbind::provisioner::Progress;
    /// # use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// # let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// # let small = csi::Volume {
    /// #     volume_id: "vol-0a1b".into(),
    /// #     capacity_bytes: 1 << 30, // of 5Gi
    /// #     ..csi::Volume::default()
    /// # };
    /// # let ClaimNext::ReadVolume(read) = operation.created(&config, &request, &small).verdict else {
    /// #     panic!()
    /// # };
    /// let ClaimNext::Over(end) = read.failed("etcdserver: request timed out").verdict else {
    ///     panic!()
    /// };
    /// // Nothing is deleted on a guess; the driver is asked again.
    /// assert_eq!(end.outcome.map_err(|error| error.code()), Err("write-failed"));
    /// assert_eq!(end.progress, Progress::InBackground);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failed(self, message: &str) -> Plan<ClaimNext> {
        let message = message.to_owned();
        Plan::empty(ClaimNext::Over(ClaimEnd {
            outcome: Err(ProvisionError::Write { message }),
            progress: Progress::InBackground,
        }))
    }
}

/// That a volume is for another claim than the one of this uid.
pub(super) fn other_holder(volume: &PersistentVolume, uid: &str) -> Option<ProvisionError> {
    let holder = volume.claim_ref()?;
    let is_other = !holder.uid().is_empty() && holder.uid() != uid;
    is_other.then(|| ProvisionError::NameTaken {
        volume: volume.name().to_owned(),
        holder: holder.key(),
    })
}

/// A volume that the driver made and that does not serve: it is to be deleted
/// in the backend. See [`ClaimNext::CleanUp`].
///
/// Before, it is [asked](ReadHolder) whether the volume has an object; upstream
/// does not ask. A driver that answers well at first and worse when it is asked
/// again, as a provisioner with an old cache does, would delete data in use.
///
/// Whether that succeeds or not, the claim stays in progress, as upstream has
/// it: the driver may have answered before it was done, and only the next call
/// under the same name shows what is there.
///
/// ```
/// use pvbind::provisioner::{ClaimNext, Config, Progress, RequestInputs, csi, sync_claim};
/// # use pvbind::api::{PersistentVolumeClaim, read_objects};
/// # use pvbind::view::Snapshot;
/// # let view: Snapshot = read_objects(
/// #     r#"{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi"}"#,
/// # )?.into_iter().collect();
/// # let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
/// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
/// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "disk.csi"}},
/// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
/// #         "resources": {"requests": {"storage": "5Gi"}}}}"#)?;
/// # let config = Config::new("disk.csi");
/// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
/// #     panic!()
/// # };
/// let request = operation.request(&config, &view, &RequestInputs::default())?;
/// let volume = csi::Volume {
///     volume_id: "h-1".into(),
///     capacity_bytes: 1 << 30,
///     ..csi::Volume::default()
/// };
/// let ClaimNext::ReadVolume(next) = operation.created(&config, &request, &volume).verdict else {
///     panic!()
/// };
/// // The API server has no volume of that name.
/// let ClaimNext::CleanUp(next) = next.answer(None).verdict else { panic!() };
/// assert_eq!(next.volume_id(), "h-1");
/// let ClaimNext::Over(end) = next.deleted().verdict else { panic!() };
/// assert_eq!(
///     end.outcome.unwrap_err().to_string(),
///     "created volume capacity 1073741824 less than requested capacity 5368709120"
/// );
/// assert_eq!(end.progress, Progress::InBackground);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CleanUp {
    operation: CreateVolume,
    volume_id: String,
    error: AnswerError,
}

impl CleanUp {
    pub(super) fn new(operation: CreateVolume, volume_id: String, error: AnswerError) -> Self {
        CleanUp {
            operation,
            volume_id,
            error,
        }
    }

    /// The driver's name for the volume.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// # use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// # let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// # let small = csi::Volume {
    /// #     volume_id: "vol-0a1b".into(),
    /// #     capacity_bytes: 1 << 30, // of 5Gi
    /// #     ..csi::Volume::default()
    /// # };
    /// # let ClaimNext::ReadVolume(read) = operation.created(&config, &request, &small).verdict else {
    /// #     panic!()
    /// # };
    /// let ClaimNext::CleanUp(clean_up) = read.answer(None).verdict else { panic!() };
    /// // For DeleteVolume: the driver's name, not `pvc-u-1`.
    /// assert_eq!(clean_up.volume_id(), "vol-0a1b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume_id(&self) -> &str {
        &self.volume_id
    }

    /// First the API server is asked whether the volume is in use.
    pub(super) fn plan(self) -> Plan<ClaimNext> {
        let claim = self.operation.claim();
        Plan::empty(ClaimNext::ReadVolume(ReadHolder {
            volume: self.operation.volume_name().to_owned(),
            uid: claim.metadata.uid().to_owned(),
            clean_up: Some(Box::new(self)),
        }))
    }

    /// Whether the object says that it is of another volume of the backend.
    fn is_another_than(&self, object: &PersistentVolume) -> bool {
        let csi = object.spec.csi.as_ref();
        let handle = csi.and_then(|csi| csi.volume_handle.as_deref());
        handle.is_some_and(|handle| handle != self.volume_id)
    }

    /// The operation that made it: for its secret.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// # use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// # let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// # let small = csi::Volume {
    /// #     volume_id: "vol-0a1b".into(),
    /// #     capacity_bytes: 1 << 30, // of 5Gi
    /// #     ..csi::Volume::default()
    /// # };
    /// # let ClaimNext::ReadVolume(read) = operation.created(&config, &request, &small).verdict else {
    /// #     panic!()
    /// # };
    /// let ClaimNext::CleanUp(clean_up) = read.answer(None).verdict else { panic!() };
    /// // DeleteVolume wants the secret that CreateVolume had.
    /// assert_eq!(clean_up.operation().provisioner_secret()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn operation(&self) -> &CreateVolume {
        &self.operation
    }

    /// Why it does not serve.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// use pvbind::provisioner::AnswerError;
    /// # use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// # let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// # let small = csi::Volume {
    /// #     volume_id: "vol-0a1b".into(),
    /// #     capacity_bytes: 1 << 30, // of 5Gi
    /// #     ..csi::Volume::default()
    /// # };
    /// # let ClaimNext::ReadVolume(read) = operation.created(&config, &request, &small).verdict else {
    /// #     panic!()
    /// # };
    /// let ClaimNext::CleanUp(clean_up) = read.answer(None).verdict else { panic!() };
    /// let too_small = AnswerError::TooSmall { has: 1 << 30, asked: 5 << 30 };
    /// assert_eq!(*clean_up.error(), too_small);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn error(&self) -> &AnswerError {
        &self.error
    }

    /// The driver deleted it.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// use pvbind::provisioner::Progress;
    /// # use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// # let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// # let small = csi::Volume {
    /// #     volume_id: "vol-0a1b".into(),
    /// #     capacity_bytes: 1 << 30, // of 5Gi
    /// #     ..csi::Volume::default()
    /// # };
    /// # let ClaimNext::ReadVolume(read) = operation.created(&config, &request, &small).verdict else {
    /// #     panic!()
    /// # };
    /// let ClaimNext::CleanUp(clean_up) = read.answer(None).verdict else { panic!() };
    /// let ClaimNext::Over(end) = clean_up.deleted().verdict else { panic!() };
    /// // Gone, and the claim has no volume all the same: it is an error, and tried again.
    /// assert_eq!(end.outcome.map_err(|error| error.code()), Err("failed"));
    /// assert_eq!(end.progress, Progress::InBackground);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deleted(self) -> Plan<ClaimNext> {
        let message = self.error.to_string();
        self.operation.failed(&message, CallState::InBackground)
    }

    /// The driver could not delete it: the next sync is given the same volume,
    /// and asks again. The text, which is upstream's, names the volume as it was
    /// asked for, not as the driver does.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// # use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// # let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// # let small = csi::Volume {
    /// #     volume_id: "vol-0a1b".into(),
    /// #     capacity_bytes: 1 << 30, // of 5Gi
    /// #     ..csi::Volume::default()
    /// # };
    /// # let ClaimNext::ReadVolume(read) = operation.created(&config, &request, &small).verdict else {
    /// #     panic!()
    /// # };
    /// let ClaimNext::CleanUp(clean_up) = read.answer(None).verdict else { panic!() };
    /// let ClaimNext::Over(end) = clean_up.failed("in use").verdict else { panic!() };
    /// assert_eq!(
    ///     end.outcome.map_err(|error| error.to_string()),
    ///     Err("created volume capacity 1073741824 less than requested capacity 5368709120. \
    ///          Cleanup of volume pvc-u-1 failed, volume is orphaned: in use".to_owned())
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failed(self, message: &str) -> Plan<ClaimNext> {
        let (error, volume) = (&self.error, self.operation.volume_name());
        let message =
            format!("{error}. Cleanup of volume {volume} failed, volume is orphaned: {message}");
        self.operation.failed(&message, CallState::InBackground)
    }
}
