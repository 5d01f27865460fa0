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
    pub fn name(&self) -> &str {
        &self.volume
    }

    /// Goes on with what was read; `None` if there is no such volume. Another
    /// claim's volume is left alone, and so is the backend's, which is that
    /// claim's too: [`ProvisionError::NameTaken`].
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
    pub fn operation(&self) -> &CreateVolume {
        &self.operation
    }

    /// Why it does not serve.
    pub fn error(&self) -> &AnswerError {
        &self.error
    }

    /// The driver deleted it.
    pub fn deleted(self) -> Plan<ClaimNext> {
        let message = self.error.to_string();
        self.operation.failed(&message, CallState::InBackground)
    }

    /// The driver could not delete it: the next sync is given the same volume,
    /// and asks again. The text, which is upstream's, names the volume as it was
    /// asked for, not as the driver does.
    pub fn failed(self, message: &str) -> Plan<ClaimNext> {
        let (error, volume) = (&self.error, self.operation.volume_name());
        let message =
            format!("{error}. Cleanup of volume {volume} failed, volume is orphaned: {message}");
        self.operation.failed(&message, CallState::InBackground)
    }
}
