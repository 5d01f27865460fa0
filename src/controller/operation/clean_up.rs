//! What follows if a volume was made and could not be created as an object.

use std::sync::Arc;

use super::next::Next;
use super::provision::{ATTEMPTS, Provisioning};
use crate::api::PersistentVolume;
use crate::controller::draft::Draft;
use crate::plan::{Event, EventReason, Plan};

/// An operation that wants a volume deleted in the backend because it could not
/// be created as an object: see [`Next::CleanUp`].
///
/// Upstream, once the backend has deleted the volume, reads the object to drop
/// its finalizer, finds none, and counts the attempt as failed; so it asks up
/// to five times whatever the backend says. This does the same, because the
/// last event tells of it; but [`is_confirmed`](Self::is_confirmed) knows
/// better.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
/// use pvbind::controller::{Config, InTreePlugin, Next, begin};
/// use pvbind::plan::{ApiError, ApiErrorKind, Execution, Operation, Provisioner};
/// use pvbind::view::Snapshot;
/// # let mut config = Config::default();
/// # config.plugins.push(InTreePlugin {
/// #     can_provision: true,
/// #     ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
/// # });
/// # let view = Snapshot::new();
/// # let plan = begin(&config, Operation::Provision {
/// #     claim: Arc::new(PersistentVolumeClaim::default()),
/// #     class: Arc::new(StorageClass::default()),
/// #     provisioner: Provisioner::Internal("kubernetes.io/host-path".to_owned()),
/// # });
/// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
/// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
/// # let Next::Provision(next) = next.started(&view).verdict else { panic!() };
/// // The backend made a volume, and then the API server does not take the object.
/// let mut execution = Execution::new(next.provisioned(PersistentVolume::default()));
/// while execution.step().is_some() {
///     let message = "quota exceeded".to_owned();
///     execution.answer(Err(ApiError { kind: ApiErrorKind::Other, message }));
/// }
/// let report = execution.finish();
/// assert_eq!(report.done.len(), 5); // it was tried so often
/// let Next::AfterWrite(next) = report.end.finished()? else { panic!() };
/// let Next::CleanUp(next) = next.proceed().verdict else { panic!() };
/// assert!(!next.is_confirmed());
/// // Deleted in the backend; upstream would ask four times more.
/// let Next::CleanUp(next) = next.deleted().verdict else { panic!() };
/// assert!(next.is_confirmed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CleanUpVolume {
    pub(super) job: Provisioning,
    volume: Arc<PersistentVolume>,
    failed_attempts: u32,
    is_confirmed: bool,
}

impl CleanUpVolume {
    pub(super) fn new(job: Provisioning, volume: Arc<PersistentVolume>) -> Self {
        CleanUpVolume {
            job,
            volume,
            failed_attempts: 0,
            is_confirmed: false,
        }
    }

    /// The name of the plugin that made the volume. It is asked to delete it
    /// whatever the set-up says that it can.
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
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// # let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// # let made: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "folder-17"}, "spec": {"hostPath": {"path": "/var/volumes/17"}}}))?;
    /// # let mut execution = Execution::new(next.provisioned(made));
    /// # while execution.step().is_some() {
    /// #     execution.answer(Err(ApiError::new(ApiErrorKind::Other, "quota exceeded")));
    /// # }
    /// # let Next::AfterWrite(next) = execution.finish().end.finished()? else { panic!() };
    /// # let Next::CleanUp(next) = next.proceed().verdict else { panic!() };
    /// # let can_delete = config.plugin("kubernetes.io/host-path").unwrap().can_delete;
    /// // `next`: a volume was made, and the API server did not take its object.
    /// assert_eq!((next.plugin(), can_delete), ("kubernetes.io/host-path", false));
    /// // One that cannot says so, and is asked again like one that failed.
    /// let plan = next.cannot_start("no deleter");
    /// assert!(matches!(plan.verdict, Next::CleanUp(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plugin(&self) -> &str {
        &self.job.provisioner
    }

    /// The volume that is to be deleted: not as the backend gave it, but as it would
    /// have been created.
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
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// # let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// # let made: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "folder-17"}, "spec": {"hostPath": {"path": "/var/volumes/17"}}}))?;
    /// # let mut execution = Execution::new(next.provisioned(made));
    /// # while execution.step().is_some() {
    /// #     execution.answer(Err(ApiError::new(ApiErrorKind::Other, "quota exceeded")));
    /// # }
    /// # let Next::AfterWrite(next) = execution.finish().end.finished()? else { panic!() };
    /// # let Next::CleanUp(next) = next.proceed().verdict else { panic!() };
    /// // The backend made `folder-17`, and the API server did not take the object.
    /// let volume = next.volume();
    /// assert_eq!(volume.name(), "pvc-u-1");
    /// assert_eq!(volume.source(), Some("hostPath"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume(&self) -> &PersistentVolume {
        &self.volume
    }

    /// Whether the backend has said that it deleted the volume. An embedder may
    /// then end the operation: nothing is left to clean up.
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
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// # let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// # let made: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "folder-17"}, "spec": {"hostPath": {"path": "/var/volumes/17"}}}))?;
    /// # let mut execution = Execution::new(next.provisioned(made));
    /// # while execution.step().is_some() {
    /// #     execution.answer(Err(ApiError::new(ApiErrorKind::Other, "quota exceeded")));
    /// # }
    /// # let Next::AfterWrite(next) = execution.finish().end.finished()? else { panic!() };
    /// # let Next::CleanUp(next) = next.proceed().verdict else { panic!() };
    /// // `next`: a volume was made, and the API server did not take its object.
    /// let (mut asked, mut verdict) = (0, Next::CleanUp(next));
    /// while let Next::CleanUp(next) = verdict {
    ///     if next.is_confirmed() {
    ///         break;
    ///     }
    ///     asked += 1;
    ///     verdict = next.deleted().verdict; // what the backend answered
    /// }
    /// // Upstream, and `run_operation`, ask five times.
    /// assert_eq!(asked, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// The backend deleted the volume: see the type's own page for what upstream
    /// makes of it.
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
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// # let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// # let made: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "folder-17"}, "spec": {"hostPath": {"path": "/var/volumes/17"}}}))?;
    /// # let mut execution = Execution::new(next.provisioned(made));
    /// # while execution.step().is_some() {
    /// #     execution.answer(Err(ApiError::new(ApiErrorKind::Other, "quota exceeded")));
    /// # }
    /// # let Next::AfterWrite(next) = execution.finish().end.finished()? else { panic!() };
    /// # let Next::CleanUp(next) = next.proceed().verdict else { panic!() };
    /// // `next`: a volume was made, and the API server did not take its object.
    /// let mut plan = next.deleted();
    /// while let Next::CleanUp(next) = plan.verdict {
    ///     plan = next.deleted();
    /// }
    /// // As upstream tells it, although all is well:
    /// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
    /// assert_eq!(
    ///     event.message,
    ///     "Error cleaning provisioned volume for claim shop/data: \
    ///      persistentvolumes \"pvc-u-1\" not found. Please delete manually.",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deleted(mut self) -> Plan<Next> {
        self.is_confirmed = true;
        let message = format!("persistentvolumes {:?} not found", self.volume.name());
        self.failed(&message)
    }

    /// The backend could not delete the volume, or it is still in use. It is
    /// asked again at once; after the fifth time an event
    /// `ProvisioningCleanupFailed` asks people to delete it.
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
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// # let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// # let made: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "folder-17"}, "spec": {"hostPath": {"path": "/var/volumes/17"}}}))?;
    /// # let mut execution = Execution::new(next.provisioned(made));
    /// # while execution.step().is_some() {
    /// #     execution.answer(Err(ApiError::new(ApiErrorKind::Other, "quota exceeded")));
    /// # }
    /// # let Next::AfterWrite(next) = execution.finish().end.finished()? else { panic!() };
    /// # let Next::CleanUp(next) = next.proceed().verdict else { panic!() };
    /// // `next`: a volume was made, and the API server did not take its object.
    /// let mut answers = ["busy", "busy", "busy", "busy", "no such server"].into_iter();
    /// let mut plan = next.failed(answers.next().unwrap());
    /// while let Next::CleanUp(next) = plan.verdict {
    ///     assert!(plan.steps.is_empty());
    ///     plan = next.failed(answers.next().unwrap());
    /// }
    /// // Only the last failure is told.
    /// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
    /// assert_eq!(event.reason.as_str(), "ProvisioningCleanupFailed");
    /// assert!(event.message.ends_with("shop/data: no such server. Please delete manually."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn failed(mut self, message: &str) -> Plan<Next> {
        self.failed_attempts = self.failed_attempts.saturating_add(1);
        if self.failed_attempts < ATTEMPTS {
            return Plan::empty(Next::CleanUp(self));
        }
        let claim = &self.job.claim;
        let message = format!(
            "Error cleaning provisioned volume for claim {}: {message}. Please delete manually.",
            claim.metadata.key()
        );
        let mut draft = Draft::of_operation();
        let reason = EventReason::ProvisioningCleanupFailed;
        draft.event(Event::on_claim(claim, reason, message));
        Provisioning::over(draft)
    }

    /// The plugin cannot delete volumes at all now; counts as
    /// [`failed`](Self::failed).
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
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// # let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// # let made: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "folder-17"}, "spec": {"hostPath": {"path": "/var/volumes/17"}}}))?;
    /// # let mut execution = Execution::new(next.provisioned(made));
    /// # while execution.step().is_some() {
    /// #     execution.answer(Err(ApiError::new(ApiErrorKind::Other, "quota exceeded")));
    /// # }
    /// # let Next::AfterWrite(next) = execution.finish().end.finished()? else { panic!() };
    /// # let Next::CleanUp(next) = next.proceed().verdict else { panic!() };
    /// // `next`: a volume was made, and the API server did not take its object.
    /// let mut plan = next.cannot_start("no credentials");
    /// while let Next::CleanUp(next) = plan.verdict {
    ///     plan = next.cannot_start("no credentials");
    /// }
    /// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
    /// let reason = r#"failed to create deleter for volume "pvc-u-1": no credentials"#;
    /// assert!(event.message.contains(reason));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cannot_start(self, message: &str) -> Plan<Next> {
        let message = super::delete::cannot_start(&self.volume, message);
        self.failed(&message)
    }
}
