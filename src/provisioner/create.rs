//! The call that makes a volume, and what follows its answers.

use std::sync::Arc;

use super::call_state::{INVALID_ARGUMENT, StatusName};
use super::claim::selected_node;
use super::error::{INFEASIBLE, for_event};
use super::volume_object::volume_object;
use super::{
    AnswerError, CallState, ClaimEnd, ClaimNext, ClaimOutcome, ClassParameters, CleanUp, Config,
    DataSource, Progress, ProvisionError, RequestError, SecretNames, SecretReference, SecretUse,
    csi,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim, StorageClass, names};
use crate::binding::claim_reference;
use crate::plan::{Change, Event, EventReason, OnFailure, Plan, Step, Write};

/// The call that makes a volume for a claim: see [`ClaimNext::CreateVolume`].
///
/// Ask for the [`request`](Self::request), add the
/// [secret](Self::provisioner_secret), call the driver, and answer with what it
/// said: [`created`](Self::created),
/// [`failed_with_status`](Self::failed_with_status) or, without gRPC,
/// [`infeasible`](Self::infeasible) and [`failed`](Self::failed),
/// [`ignored`](Self::ignored), or [`refused`](Self::refused) if there is no
/// request. Each gives the next plan.
///
/// Until the driver is called, the sync may be given up anywhere: the next one
/// comes to the same point. Once it is called, there may be a volume, and whoever
/// loses the answer (a future that is dropped at a timeout or at shutdown) must
/// not lose the claim: tell the [`Ledger`](super::Ledger::claim_asked) before.
///
/// ```
/// use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
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
/// assert_eq!(request.name, operation.volume_name());
/// assert_eq!(operation.provisioner_secret()?, None);
///
/// let volume = csi::Volume { volume_id: "h-1".into(), ..csi::Volume::default() };
/// let plan = operation.created(&config, &request, &volume);
/// let ClaimNext::Over(end) = plan.verdict else { panic!() };
/// assert_eq!(end.outcome?.to_string(), "the volume `pvc-u-1` was made");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CreateVolume {
    claim: Arc<PersistentVolumeClaim>,
    class: Arc<StorageClass>,
    volume_name: String,
    standing: Standing,
}

/// What is known of earlier calls for the same claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Standing {
    /// Nothing.
    #[default]
    Unknown,
    /// There is none that may have left anything.
    New,
    /// There is one, and this is where it asked the volume to be.
    InProgress(Option<csi::TopologyRequirement>),
}

impl CreateVolume {
    pub(super) fn new(
        claim: Arc<PersistentVolumeClaim>,
        class: Arc<StorageClass>,
        volume_name: String,
    ) -> Self {
        CreateVolume {
            claim,
            class,
            volume_name,
            standing: Standing::default(),
        }
    }

    pub(super) fn standing(self, standing: Standing) -> Self {
        CreateVolume { standing, ..self }
    }

    /// Where an earlier call, of which nobody knows what came of it, asked the
    /// volume to be: a driver may take the same name with another place for another
    /// volume.
    pub(super) fn asked_before(&self) -> Option<&csi::TopologyRequirement> {
        match &self.standing {
            Standing::InProgress(places) => places.as_ref(),
            Standing::Unknown | Standing::New => None,
        }
    }

    /// The driver made this volume when it was asked so: the plan creates its
    /// object.
    ///
    /// A volume that is smaller than asked for, or not filled with what was asked
    /// for, is first to be deleted again, see [`ClaimNext::CleanUp`]; then, as for
    /// one without a name that can be kept, the sync ends with an error, and the claim stays in
    /// progress.
    ///
    /// The object: the name that was asked for; capacity as the driver says, or
    /// as asked for if it says nothing; the driver's name for it as CSI source,
    /// with context, file system and secrets; node affinity from the accessible
    /// topology, one term for each, if the driver is told of topology; access
    /// modes, volume mode and VolumeAttributesClass of the claim; class; the
    /// class's policy, Delete if it has none, and its mount options; a full
    /// reference to the claim; `pv.kubernetes.io/provisioned-by` := the class's
    /// provisioner; the secret for the volume's deletion, noted as empty if there
    /// is none; the finalizer if in use. A part of the accessible topology without
    /// labels is left out, and so is an empty VolumeAttributesClass.
    ///
    /// Follows `csiProvisioner.Provision` of external-provisioner 6.
    ///
    /// # Differences
    /// - A class without policy counts as Delete, which is what the API server
    ///   writes there.
    /// - Upstream asks only that the driver names some source, if one was asked
    ///   for; here it must be that one, so that no claim is bound to other data
    ///   than it asks for.
    /// - A volume without a name, or with one of more than 4,096 bytes, is an
    ///   error; upstream makes an object that nothing can use, or tries to.
    /// - A volume that has an object is not deleted again, whatever the driver
    ///   answers when it is asked for it once more; upstream deletes it.
    ///
    /// ```
    /// use pvbind::plan::{Step, Write};
    /// use pvbind::provisioner::{RequestInputs, csi};
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
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
    /// let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// // Asked for 5Gi, the driver made 6Gi.
    /// let made = csi::Volume {
    ///     volume_id: "vol-0a1b".into(),
    ///     capacity_bytes: 6 << 30,
    ///     ..csi::Volume::default()
    /// };
    /// let plan = operation.created(&config, &request, &made);
    /// let Step::Write { write: Write::CreateVolume { volume, .. }, .. } = &plan.steps[0] else {
    ///     panic!()
    /// };
    /// assert_eq!(volume.storage().to_string(), "6Gi");
    /// assert_eq!(volume.claim_ref().map(|claim| claim.key()), Some("shop/data".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn created(
        self,
        config: &Config,
        request: &csi::CreateVolumeRequest,
        volume: &csi::Volume,
    ) -> Plan<ClaimNext> {
        match volume_object(config, &self, request, volume) {
            Ok(object) => self.provisioned(config, object),
            // The driver has made the volume: it must not be forgotten.
            Err(AnswerError::Request(error)) => {
                self.failed(&error.to_string(), CallState::InBackground)
            }
            Err(
                error @ (AnswerError::TooSmall { .. }
                | AnswerError::NoContentSource
                | AnswerError::OtherContentSource { .. }),
            ) => CleanUp::new(self, volume.volume_id.clone(), error).plan(),
            Err(error @ (AnswerError::NoVolumeId | AnswerError::VolumeIdTooLong { .. })) => {
                self.failed(&error.to_string(), CallState::InBackground)
            }
        }
    }

    /// The volume was made, and this is its object: for an embedder that makes
    /// the object itself, as for an in-tree class that the driver took over.
    /// Its name, claimRef, class, the annotation and the finalizer are set here;
    /// all else is taken as it is. That the volume is as large as asked for, and
    /// filled with what was asked for, is for the embedder to see to.
    ///
    /// Follows `provisionClaimOperation` of sig-storage-lib-external-provisioner
    /// 13, after the provisioner returned a volume.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::{Step, Write};
    /// use pvbind::provisioner::{ClaimNext, Config, sync_claim};
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
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"spec": {
    ///     "capacity": {"storage": "5Gi"}, "gcePersistentDisk": {"pdName": "d-1"}}}"#)?;
    /// let plan = operation.provisioned(&config, volume);
    /// let Step::Write { write: Write::CreateVolume { volume, .. }, .. } = &plan.steps[0] else {
    ///     panic!()
    /// };
    /// assert_eq!(volume.name(), "pvc-u-1");
    /// assert_eq!(volume.class_name(), "fast");
    /// assert_eq!(volume.claim_ref().unwrap().uid(), "u-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn provisioned(self, config: &Config, mut volume: PersistentVolume) -> Plan<ClaimNext> {
        let metadata = &mut volume.metadata;
        metadata.name = Some(self.volume_name.clone());
        metadata.set_annotation(names::PROVISIONED_BY, self.class.provisioner());
        if config.adds_finalizer {
            metadata.add_finalizer(names::EXTERNAL_PROVISIONER_FINALIZER);
        }
        volume.spec.claim_ref = Some(claim_reference(&self.claim));
        volume.spec.storage_class_name = Some(self.claim.class_name().to_owned());
        let create = Write::CreateVolume {
            volume: Box::new(volume),
            attempts: 1,
        };
        let outcome = ClaimOutcome::Provisioned {
            volume: self.volume_name,
        };
        Plan {
            steps: vec![tell(create)],
            verdict: over(Ok(outcome), Progress::Finished),
        }
    }

    /// The driver says that the claim is not its business.
    ///
    /// Nothing follows: no event, no volume, no other try until the claim or its
    /// class changes, and the claim is not in progress any more. A driver that is
    /// busy, or cannot do it now, has [failed](Self::failed).
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # use pvbind::provisioner::{Config, sync_claim};
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
    /// use pvbind::provisioner::{ClaimNext, ClaimOutcome};
    /// let plan = operation.ignored("of another region");
    /// assert!(plan.steps.is_empty());
    /// let ClaimNext::Over(end) = plan.verdict else { panic!() };
    /// // No error: nobody tries again.
    /// assert_eq!(end.outcome, Ok(ClaimOutcome::Ignored { reason: "of another region".into() }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ignored(self, reason: &str) -> Plan<ClaimNext> {
        let reason = reason.to_owned();
        Plan::empty(over(
            Ok(ClaimOutcome::Ignored { reason }),
            Progress::Finished,
        ))
    }

    /// The driver will never do what is asked for (gRPC INVALID_ARGUMENT). It is
    /// tried again much later, or when the class changes.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # use pvbind::provisioner::{Config, sync_claim};
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
    /// use pvbind::provisioner::{ClaimNext, Progress};
    /// let plan = operation.infeasible("no disks of type nvme9");
    /// assert_eq!(
    ///     plan.steps[0].to_string(),
    ///     "event Warning ProvisioningFailed on PersistentVolumeClaim shop/data: Volume \
    ///      provisioning failed with infeasible error. Retries will be delayed. no disks of type nvme9"
    /// );
    /// let ClaimNext::Over(end) = plan.verdict else { panic!() };
    /// assert_eq!(end.outcome.map_err(|error| error.code()), Err("infeasible"));
    /// assert_eq!(end.progress, Progress::Finished);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn infeasible(self, message: &str) -> Plan<ClaimNext> {
        let told = format!("{INFEASIBLE}{message}");
        let message = message.to_owned();
        let error = ProvisionError::Infeasible { message };
        Plan {
            steps: vec![self.failure(&told)],
            verdict: over(Err(error), Progress::Finished),
        }
    }

    /// The driver failed, with this text, and left things so. If nobody knows how
    /// it left things, as after a timeout or a broken connection, say
    /// [`CallState::InBackground`].
    ///
    /// The error holds the text as it is. The event holds it on one line and in
    /// at most 1,024 bytes, which is what the API server takes.
    ///
    /// Follows `provisionClaimOperation` of sig-storage-lib-external-provisioner
    /// 13, after the provisioner returned an error.
    ///
    /// ```
    /// use pvbind::provisioner::{CallState, ClaimNext, Config, Progress, sync_claim};
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
    /// // Without a selected node there is nothing to choose again.
    /// let plan = operation.failed("no room", CallState::Reschedule);
    /// assert!(!plan.has_writes());
    /// let ClaimNext::Over(end) = plan.verdict else { panic!() };
    /// assert_eq!(end.outcome.unwrap_err().to_string(), "no room");
    /// assert_eq!(end.progress, Progress::Finished);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failed(self, message: &str, state: CallState) -> Plan<ClaimNext> {
        let mut steps = vec![self.failure(message)];
        let has_node = self.claim.metadata.has_annotation(names::SELECTED_NODE);
        let progress = match state {
            CallState::Reschedule if has_node => {
                steps.push(tell(self.without_selected_node()));
                let outcome = Ok(ClaimOutcome::Rescheduled);
                let verdict = over(outcome, Progress::Finished);
                return Plan { steps, verdict };
            }
            CallState::Finished | CallState::Reschedule => Progress::Finished,
            CallState::InBackground => Progress::InBackground,
            CallState::NoChange => Progress::Unchanged,
        };
        let message = message.to_owned();
        let error = ProvisionError::Failed { message };
        Plan {
            steps,
            verdict: over(Err(error), progress),
        }
    }

    /// The driver failed with a gRPC status of this number and this text:
    /// [infeasible](Self::infeasible) if it is INVALID_ARGUMENT (3), else
    /// [failed](Self::failed) in the state that [`CallState::after_status`]
    /// gives. Events and errors hold the status as the sidecar writes it. OK (0)
    /// is no failure; whoever says it here has lost the answer, so that the claim
    /// stays in progress.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::provisioner::{ClaimNext, Config, Progress, sync_claim};
    /// # use pvbind::view::Snapshot;
    /// # let view: Snapshot = read_objects(
    /// #     r#"{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi"}"#,
    /// # )?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "disk.csi"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}"#)?;
    /// let config = Config::new("disk.csi");
    /// let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    ///     panic!()
    /// };
    /// let plan = operation.failed_with_status(&config, 14, "connection refused");
    /// let ClaimNext::Over(end) = plan.verdict else { panic!() };
    /// assert_eq!(
    ///     end.outcome.unwrap_err().to_string(),
    ///     "rpc error: code = Unavailable desc = connection refused"
    /// );
    /// assert_eq!(end.progress, Progress::InBackground);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failed_with_status(self, config: &Config, code: u32, message: &str) -> Plan<ClaimNext> {
        let text = format!("rpc error: code = {} desc = {message}", StatusName(code));
        if code == INVALID_ARGUMENT {
            return self.infeasible(&text);
        }
        let state = CallState::after_status(code, self.may_reschedule(config));
        self.failed(&text, state)
    }

    /// There is no [`request`](Self::request): as if the driver had failed and
    /// finished, or, if a populator makes the volume, had ignored the claim.
    /// Where the reason lies outside the claim and its class and may pass, as
    /// with a secret that is not there yet, what is in progress stays so:
    /// the driver may still be at work from an earlier call.
    ///
    /// If the selected node or its CSINode is gone, and the claim is known not to
    /// be in progress ([`Ledger::sync_claim`](super::Ledger::sync_claim) knows),
    /// the scheduler is to choose another.
    ///
    /// ```
    /// use pvbind::provisioner::{ClaimNext, Config, Progress, RequestError, sync_claim};
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
    /// let plan = operation.refused(&RequestError::Selector);
    /// let ClaimNext::Over(end) = plan.verdict else { panic!() };
    /// assert_eq!(end.outcome.unwrap_err().to_string(), "claim Selector is not supported");
    /// assert_eq!(end.progress, Progress::Finished);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refused(self, error: &RequestError) -> Plan<ClaimNext> {
        match error {
            RequestError::ForPopulator { .. } => self.ignored(&error.to_string()),
            RequestError::Topology(problem)
                if problem.is_node_gone() && self.standing == Standing::New =>
            {
                self.failed(&error.to_string(), CallState::Reschedule)
            }
            RequestError::Topology(_)
            | RequestError::SnapshotNotGiven { .. }
            | RequestError::CannotCopy { .. }
            | RequestError::AttributesNotGiven { .. }
            | RequestError::SecretIncomplete { .. }
            | RequestError::SecretTemplate { .. } => {
                self.failed(&error.to_string(), CallState::NoChange)
            }
            _ => self.failed(&error.to_string(), CallState::Finished),
        }
    }

    /// The operation's name; no two of one name may run at once.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
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
    /// // The uid tells it from a call for an earlier claim of the same name.
    /// assert_eq!(operation.name(), "provision-shop/data[u-1]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> String {
        let metadata = &self.claim.metadata;
        format!("provision-{}[{}]", metadata.key(), metadata.uid())
    }

    /// The claim.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let config = Config::new("csi.example.com");
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// // Before the driver is called: is the claim `shop/data` of now still this one?
    /// let mut now = claim.metadata.clone();
    /// assert!(operation.claim().metadata.is_same_object(&now));
    /// // It was deleted, and created again under its name.
    /// now.uid = Some("u-2".to_owned());
    /// assert!(!operation.claim().metadata.is_same_object(&now));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim(&self) -> &Arc<PersistentVolumeClaim> {
        &self.claim
    }

    /// Its class.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::{Step, Write};
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com",
    /// #     "reclaimPolicy": "Retain"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let config = Config::new("csi.example.com");
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// // Who makes the object himself takes over what the class says, here Retain.
    /// let mut volume: PersistentVolume = serde_json::from_value(json!({"spec": {
    ///     "capacity": {"storage": "5Gi"}, "csi": {"driver": "csi.example.com", "volumeHandle": "h-1"}}}))?;
    /// let policy = operation.class().reclaim_policy.clone();
    /// volume.spec.persistent_volume_reclaim_policy = policy;
    /// let plan = operation.provisioned(&config, volume);
    /// let Step::Write { write: Write::CreateVolume { volume, .. }, .. } = &plan.steps[0] else {
    ///     panic!()
    /// };
    /// assert_eq!(volume.reclaim_policy().map(|policy| policy.as_str()), Some("Retain"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn class(&self) -> &Arc<StorageClass> {
        &self.class
    }

    /// The name that the volume will have.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// use std::collections::BTreeMap;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let config = Config::new("csi.example.com");
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// // What the storage holds: an earlier call made the volume, and its answer was lost.
    /// let held = BTreeMap::from([("pvc-u-1", "h-1")]);
    /// // The name follows from the claim's uid, so that no second one is made.
    /// assert_eq!(held.get(operation.volume_name()), Some(&"h-1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume_name(&self) -> &str {
        &self.volume_name
    }

    /// The node that the claim's first consumer was scheduled to, "" if none,
    /// whatever the class's binding mode.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let config = Config::new("csi.example.com");
    /// # let mut claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// claim.metadata.set_annotation("volume.kubernetes.io/selected-node", "node-1");
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// // So also for a class that binds at once: upstream does not ask.
    /// assert_eq!(operation.selected_node(), "node-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn selected_node(&self) -> &str {
        selected_node(&self.claim)
    }

    /// Whether another node may be chosen: the driver is told of topology, and
    /// a node is selected.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// use pvbind::provisioner::TopologyConfig;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let mut config = Config::new("csi.example.com");
    /// # let mut claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// claim.metadata.set_annotation("volume.kubernetes.io/selected-node", "node-1");
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// // Another node would get the same volume from a driver that knows no places.
    /// assert!(!operation.may_reschedule(&config));
    /// config.topology = Some(TopologyConfig::default());
    /// assert!(operation.may_reschedule(&config));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn may_reschedule(&self, config: &Config) -> bool {
        config.topology.is_some() && !self.selected_node().is_empty()
    }

    /// What the volume is to be filled with. A snapshot is to be looked up and
    /// given to [`request`](Self::request); a claim is found there.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// use pvbind::provisioner::DataSource;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let config = Config::new("csi.example.com");
    /// # let mut claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// claim.spec.data_source = Some(serde_json::from_value(json!({
    ///     "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "nightly"}))?);
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// let Some(DataSource::Snapshot { namespace, name }) = operation.data_source() else { panic!() };
    /// assert_eq!((namespace.as_str(), name.as_str()), ("shop", "nightly"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn data_source(&self) -> Option<DataSource> {
        DataSource::of(&self.claim)
    }

    /// The VolumeAttributesClass whose parameters are to be given to
    /// [`request`](Self::request); "" if none.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// use std::collections::BTreeMap;
    /// use pvbind::provisioner::RequestInputs;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let mut config = Config::new("csi.example.com");
    /// # let mut claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// claim.spec.volume_attributes_class_name = Some("gold".into());
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// // The VolumeAttributesClasses of the cluster, by name, and the parameters of each.
    /// let iops = |value: &str| BTreeMap::from([("iops".to_owned(), value.to_owned())]);
    /// let classes = BTreeMap::from([("gold", iops("9000")), ("silver", iops("3000"))]);
    /// let attributes = classes.get(operation.attributes_class_name()).cloned();
    /// config.modifies_volumes = true; // what the driver can do
    /// let inputs = RequestInputs { attributes, ..RequestInputs::default() };
    /// let request = operation.request(&config, &view, &inputs)?;
    /// assert_eq!(request.mutable_parameters["iops"], "9000");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attributes_class_name(&self) -> &str {
        self.claim.attributes_class_name()
    }

    /// The secret to be added to the request, if the class names one.
    ///
    /// # Errors
    /// What is wrong with the class's parameters; [`request`](Self::request)
    /// finds that too.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// # use pvbind::provisioner::{ClaimNext, Config, sync_claim};
    /// let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    ///     "provisioner": "csi.example.com", "parameters": {
    ///         "csi.storage.k8s.io/provisioner-secret-name": "${pvc.name}-key",
    ///         "csi.storage.k8s.io/provisioner-secret-namespace": "${pvc.namespace}"}});
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
    /// let secret = operation.provisioner_secret()?.ok_or("the class names no secret")?;
    /// assert_eq!(secret.to_string(), "shop/data-key");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn provisioner_secret(&self) -> Result<Option<SecretReference>, RequestError> {
        self.secret(&ClassParameters::read(&self.class)?, SecretUse::Provisioner)
    }

    pub(super) fn secret(
        &self,
        parameters: &ClassParameters,
        usage: SecretUse,
    ) -> Result<Option<SecretReference>, RequestError> {
        let metadata = &self.claim.metadata;
        let names = SecretNames {
            volume: &self.volume_name,
            namespace: metadata.namespace(),
            claim: metadata.name(),
            annotations: Some(metadata),
        };
        parameters.secret(usage, &names)
    }

    fn failure(&self, message: &str) -> Step {
        let reason = EventReason::ProvisioningFailed;
        Step::Event(Event::on_claim(&self.claim, reason, for_event(message)))
    }

    /// The scheduler is to choose again.
    fn without_selected_node(&self) -> Write {
        let mut claim = PersistentVolumeClaim::clone(&self.claim);
        claim.metadata.remove_annotation(names::SELECTED_NODE);
        Write::Claim(Change {
            from: Arc::clone(&self.claim),
            to: Arc::new(claim),
        })
    }
}

fn over(outcome: Result<ClaimOutcome, ProvisionError>, progress: Progress) -> ClaimNext {
    ClaimNext::Over(ClaimEnd { outcome, progress })
}

fn tell(write: Write) -> Step {
    Step::Write {
        write,
        on_failure: OnFailure::Tell,
    }
}
