//! The operation that has a volume made for a claim.

use std::sync::Arc;

use super::CleanUpVolume;
use super::next::{AfterWrite, Next, ReadJob, ReadVolume, WriteJob};
use crate::api::{
    Node, PersistentVolume, PersistentVolumeClaim, PersistentVolumeReclaimPolicy, StorageClass,
    VolumePhase, names,
};
use crate::binding::{Edit, claim_reference};
use crate::controller::draft::Draft;
use crate::controller::provision::{failed, set_provisioner};
use crate::controller::{Config, ProvisionRequest};
use crate::plan::{Event, EventReason, OnFailure, Plan, Provisioner, Step, Write};
use crate::view::{ClusterView, Held};

/// How often the creation of a volume is tried, and how often a volume that
/// was made in vain is deleted.
pub(super) const ATTEMPTS: u32 = 5;

/// The name that the claim's own volume will have.
pub(crate) fn volume_name_for(claim: &PersistentVolumeClaim) -> String {
    format!("pvc-{}", claim.metadata.uid())
}

/// What stays the same over the whole operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Provisioning {
    /// The claim as last written.
    pub(super) claim: Arc<PersistentVolumeClaim>,
    class: Arc<StorageClass>,
    /// The plugin, or the external provisioner.
    pub(super) provisioner: String,
}

impl Provisioning {
    fn volume_name(&self) -> String {
        volume_name_for(&self.claim)
    }

    pub(super) fn over(draft: Draft) -> Plan<Next> {
        draft.with(Next::Finished)
    }

    fn fails(&self, message: impl Into<String>) -> Plan<Next> {
        let mut draft = Draft::of_operation();
        draft.event(failed(&self.claim, message));
        Provisioning::over(draft)
    }
}

pub(super) fn begin(
    config: &Config,
    claim: Arc<PersistentVolumeClaim>,
    class: Arc<StorageClass>,
    provisioner: Provisioner,
) -> Plan<Next> {
    let job = |provisioner| Provisioning {
        claim,
        class,
        provisioner,
    };
    match provisioner {
        Provisioner::External(name) => begin_external(config, job(name)),
        Provisioner::Internal(name) => begin_internal(config, job(name)),
    }
}

/// Follows `provisionClaimOperationExternal` of Kubernetes 1.36.
fn begin_external(config: &Config, job: Provisioning) -> Plan<Next> {
    let edit = set_provisioner(config, &job.claim, &job.provisioner);
    if !edit.is_changed() {
        return external_set(&job, Ok(()));
    }
    let mut draft = Draft::of_operation();
    draft.claim_or(OnFailure::Tell, Held::Lent(&job.claim), edit);
    draft.with(Next::AfterWrite(AfterWrite::new(WriteJob::SetExternal(
        job,
    ))))
}

pub(super) fn external_set(job: &Provisioning, result: Result<(), String>) -> Plan<Next> {
    if let Err(message) = result {
        return job.fails(format!("Error saving claim: {message}"));
    }
    let message = format!(
        "Waiting for a volume to be created either by the external provisioner '{}' or manually \
         by the system administrator. If volume creation is delayed, please verify that the \
         provisioner is running and correctly registered.",
        job.provisioner
    );
    let mut draft = Draft::of_operation();
    let reason = EventReason::ExternalProvisioning;
    draft.event(Event::on_claim(&job.claim, reason, message));
    Provisioning::over(draft)
}

/// Follows `provisionClaimOperation` of Kubernetes 1.36, as do the functions
/// below it.
fn begin_internal(config: &Config, job: Provisioning) -> Plan<Next> {
    let plugin = &job.provisioner;
    if job.claim.spec.data_source.is_some() {
        return job.fails(format!(
            "plugin {plugin:?} is not a CSI plugin. \
             Only CSI plugin can provision a claim with a datasource"
        ));
    }
    let mut draft = Draft::of_operation();
    let edit = set_provisioner(config, &job.claim, plugin);
    draft.claim(Held::Lent(&job.claim), edit);
    draft.with(Next::ReadVolume(ReadVolume {
        name: job.volume_name(),
        job: ReadJob::Provision(job),
    }))
}

pub(super) fn not_there_yet(config: &Config, job: Provisioning) -> Plan<Next> {
    let has_mount_options = config
        .plugin(&job.provisioner)
        .is_some_and(|plugin| plugin.has_mount_options);
    let options = job.class.mount_options.as_deref().unwrap_or_default();
    if !options.is_empty() && !has_mount_options {
        return job.fails(format!(
            "Mount options are not supported by the provisioner but StorageClass {:?} has mount \
             options [{}]",
            job.class.name(),
            options.join(" ")
        ));
    }
    Plan::empty(Next::StartProvisioner(StartProvisioner { job }))
}

/// An operation that wants to know whether a plugin can make volumes at all:
/// see [`Next::StartProvisioner`].
///
/// Upstream's `NewProvisioner` of the plugin: a failure of it is told in an event
/// of its own, before anything was asked of the backend.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolumeClaim, StorageClass};
/// use pvbind::controller::{Config, InTreePlugin, Next, begin};
/// use pvbind::plan::{Operation, Provisioner, Step};
/// use pvbind::view::Snapshot;
/// # let mut config = Config::default();
/// # config.plugins.push(InTreePlugin {
/// #     can_provision: true,
/// #     ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
/// # });
/// # let view = Snapshot::new();
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-a"}}}"#)?;
/// let operation = Operation::Provision {
///     claim: Arc::new(claim),
///     class: Arc::new(StorageClass::default()),
///     provisioner: Provisioner::Internal("kubernetes.io/host-path".to_owned()),
/// };
/// let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
/// let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
/// assert_eq!(next.plugin(), "kubernetes.io/host-path");
/// // The plugin can; but the node that the scheduler chose is not there.
/// let plan = next.started(&view);
/// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
/// assert_eq!(event.message, r#"Failed to get target node: node "node-a" not found"#);
/// assert_eq!(plan.verdict, Next::Finished);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StartProvisioner {
    pub(super) job: Provisioning,
}

impl StartProvisioner {
    /// The plugin's name, which is the class's provisioner.
    ///
    /// ```
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// use pvbind::controller::{Config, InTreePlugin, Next, begin, sync_claim};
    /// use pvbind::plan::Step;
    /// # use pvbind::view::{ClusterView, Snapshot};
    /// # let mut config = Config::default();
    /// # let view: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "example.com/nfs-folders",
    /// #      "volumeBindingMode": "Immediate"}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #      "spec": {"storageClassName": "fast"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let claim = view.claim("shop", "data").unwrap();
    /// // A plugin of your own: what the set-up knows is asked, whatever it is called.
    /// let plugin = InTreePlugin::new("example.com/nfs-folders", ["nfs"]);
    /// config.plugins.push(InTreePlugin { can_provision: true, ..plugin });
    /// let plan = sync_claim(&config, &view, claim);
    /// let Some(Step::Start(operation)) = plan.steps.last() else { panic!() };
    /// let Next::ReadVolume(next) = begin(&config, operation.clone()).verdict else { panic!() };
    /// let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// assert_eq!(next.plugin(), "example.com/nfs-folders");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plugin(&self) -> &str {
        &self.job.provisioner
    }

    /// The class that the volume is made for, as it was when the operation was
    /// planned: its parameters say whether the plugin can.
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
    /// // A plugin that needs to know a server:
    /// let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// let parameters = next.class().parameters.clone().unwrap_or_default();
    /// let plan = match parameters.get("server") {
    ///     Some(_) => next.started(&view),
    ///     None => next.cannot_start("the class names no server"),
    /// };
    /// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
    /// assert_eq!(event.message, "Failed to create provisioner: the class names no server");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn class(&self) -> &StorageClass {
        &self.job.class
    }

    /// The plugin can make volumes: the next question is for the volume, on the
    /// node that was selected for the claim, if one was. If that node is not in the
    /// view, the operation ends with an event `ProvisioningFailed`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Config, InTreePlugin, Next, begin};
    /// # use pvbind::plan::{Operation, Provisioner, Step, Write};
    /// # use pvbind::view::Snapshot;
    /// # let mut config = Config::default();
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let view = Snapshot::new();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/selected-node": "node-a"}}}))?;
    /// # let class: StorageClass = serde_json::from_str(r#"{"metadata": {"name": "fast"}}"#)?;
    /// # let mut view = view;
    /// # view.apply::<pvbind::api::Node>(serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#).map(Arc::new)?);
    /// # let plan = begin(&config, Operation::Provision {
    /// #     claim: Arc::new(claim), class: Arc::new(class),
    /// #     provisioner: Provisioner::Internal("kubernetes.io/nfs".to_owned()),
    /// # });
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// // `next`: for a claim for which the scheduler chose node-a.
    /// let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// assert_eq!(next.request().node.unwrap().name(), "node-a");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn started<V: ClusterView + ?Sized>(self, view: &V) -> Plan<Next> {
        let metadata = &self.job.claim.metadata;
        let selected = metadata.annotation(names::SELECTED_NODE);
        let node = match selected {
            None => None,
            Some(name) => match view.node(name) {
                Some(node) => Some(node.into_arc()),
                None => {
                    let message = format!("Failed to get target node: node {name:?} not found");
                    return self.job.fails(message);
                }
            },
        };
        Plan::empty(Next::Provision(ProvisionVolume {
            job: self.job,
            node,
        }))
    }

    /// The plugin cannot be started: an event `ProvisioningFailed`, and the next
    /// sync of the claim tries again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Config, InTreePlugin, Next, begin};
    /// # use pvbind::plan::{Operation, Provisioner, Step, Write};
    /// # use pvbind::view::Snapshot;
    /// # let mut config = Config::default();
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let view = Snapshot::new();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/selected-node": "node-a"}}}))?;
    /// # let class: StorageClass = serde_json::from_str(r#"{"metadata": {"name": "fast"}}"#)?;
    /// # let mut view = view;
    /// # view.apply::<pvbind::api::Node>(serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#).map(Arc::new)?);
    /// # let plan = begin(&config, Operation::Provision {
    /// #     claim: Arc::new(claim), class: Arc::new(class),
    /// #     provisioner: Provisioner::Internal("kubernetes.io/nfs".to_owned()),
    /// # });
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// // `next`: for a claim of an in-tree plugin.
    /// let plan = next.cannot_start("no credentials");
    /// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
    /// assert_eq!(event.message, "Failed to create provisioner: no credentials");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn cannot_start(self, message: &str) -> Plan<Next> {
        let message = format!("Failed to create provisioner: {message}");
        self.job.fails(message)
    }
}

/// An operation that wants a volume: see [`Next::Provision`].
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
/// use pvbind::controller::{Config, InTreePlugin, Next, begin};
/// use pvbind::plan::{Operation, Provisioner, Step, Write};
/// use pvbind::view::Snapshot;
/// let mut config = Config::default();
/// config.plugins.push(InTreePlugin {
///     can_provision: true,
///     ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
/// });
/// let claim: PersistentVolumeClaim = serde_json::from_str(r#"
///     {"metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
///      "spec": {"storageClassName": "local"}}"#)?;
/// let plan = begin(&config, Operation::Provision {
///     claim: Arc::new(claim),
///     class: Arc::new(StorageClass::default()),
///     provisioner: Provisioner::Internal("kubernetes.io/host-path".to_owned()),
/// });
/// let (view, none) = (Snapshot::new(), None);
/// let Next::ReadVolume(next) = plan.verdict else { panic!() };
/// let Next::StartProvisioner(next) = next.answer(&config, &view, none).verdict else { panic!() };
/// let Next::Provision(next) = next.started(&view).verdict else { panic!() };
/// assert_eq!(next.request().volume_name, "pvc-u-1");
///
/// // Whatever the backend gives, it is created bound to the claim, by this name.
/// let plan = next.provisioned(PersistentVolume::default());
/// let Step::Write { write: Write::CreateVolume { volume, .. }, .. } = &plan.steps[0] else { panic!() };
/// assert_eq!(volume.name(), "pvc-u-1");
/// assert_eq!(volume.claim_ref().unwrap().key(), "shop/data");
/// assert_eq!(volume.class_name(), "local");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ProvisionVolume {
    pub(super) job: Provisioning,
    node: Option<Arc<Node>>,
}

impl ProvisionVolume {
    /// What is to be made. A new value at each call, that shares the objects.
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
    /// // For a claim with the uid `u-1` that asks for 5Gi of class `fast`:
    /// let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// let request = next.request();
    /// assert_eq!(request.volume_name, "pvc-u-1");
    /// assert_eq!(request.claim.requested_storage().to_string(), "5Gi");
    /// assert_eq!(request.class.name(), "fast");
    /// // The claim has no `selected-node`: any node will do.
    /// assert_eq!(request.node, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn request(&self) -> ProvisionRequest {
        ProvisionRequest {
            plugin: self.job.provisioner.clone(),
            volume_name: self.job.volume_name(),
            claim: Arc::clone(&self.job.claim),
            class: Arc::clone(&self.job.class),
            node: self.node.clone(),
        }
    }

    /// The backend made this volume. Its name, claimRef, phase and class, and
    /// the controller's annotations and finalizer, are added here; namespace,
    /// uid, resourceVersion and timestamps are taken away. Everything else is
    /// created as the backend gives it.
    ///
    /// Whether the volume is as the claim asks is the backend's affair: nothing is
    /// checked.
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
    /// // `next`: for a claim with the uid `u-1`.
    /// let made: PersistentVolume = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"name": "folder-17", "labels": {"zone": "a"}}, "spec": {
    ///         "persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/var/volumes/17"}}}))?;
    /// let plan = next.provisioned(made);
    /// let [Step::Write { write: Write::CreateVolume { volume, attempts }, .. }] = plan.steps.as_slice()
    /// else { panic!() };
    /// assert_eq!((volume.name(), *attempts), ("pvc-u-1", 5)); // not `folder-17`
    /// assert_eq!(volume.metadata.labels()["zone"], "a");
    /// // As its policy is Delete, the object must not go before the folder.
    /// assert!(volume.metadata.has_finalizer("kubernetes.io/pv-controller"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn provisioned(self, volume: PersistentVolume) -> Plan<Next> {
        let volume = self.job.dress(volume);
        let mut draft = Draft::of_operation();
        draft.step(Step::Write {
            write: Write::CreateVolume {
                volume: Box::new(volume.clone()),
                attempts: ATTEMPTS,
            },
            on_failure: OnFailure::Tell,
        });
        let job = WriteJob::Create(self.job, Arc::new(volume));
        draft.with(Next::AfterWrite(AfterWrite::new(job)))
    }

    /// The backend could not make a volume. The claim loses the annotation
    /// `volume.kubernetes.io/selected-node`, so that the scheduler may choose another
    /// node, and an event `ProvisioningFailed` says why.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Config, InTreePlugin, Next, begin};
    /// # use pvbind::plan::{Operation, Provisioner, Step, Write};
    /// # use pvbind::view::Snapshot;
    /// # let mut config = Config::default();
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let view = Snapshot::new();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/selected-node": "node-a"}}}))?;
    /// # let class: StorageClass = serde_json::from_str(r#"{"metadata": {"name": "fast"}}"#)?;
    /// # let mut view = view;
    /// # view.apply::<pvbind::api::Node>(serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#).map(Arc::new)?);
    /// # let plan = begin(&config, Operation::Provision {
    /// #     claim: Arc::new(claim), class: Arc::new(class),
    /// #     provisioner: Provisioner::Internal("kubernetes.io/nfs".to_owned()),
    /// # });
    /// # let Next::ReadVolume(next) = plan.verdict else { panic!() };
    /// # let Next::StartProvisioner(next) = next.answer(&config, &view, None).verdict else { panic!() };
    /// # let Next::Provision(next) = next.started(&view).verdict else { panic!() };
    /// // `next`: for a claim for which the scheduler chose a node.
    /// let plan = next.failed("no space");
    /// let [Step::Write { write: Write::Claim(change), .. }, Step::Event(event)] =
    ///     plan.steps.as_slice() else { panic!() };
    /// assert!(!change.to.metadata.has_annotation("volume.kubernetes.io/selected-node"));
    /// assert_eq!(
    ///     event.message,
    ///     r#"Failed to provision volume with StorageClass "fast": no space"#,
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn failed(self, message: &str) -> Plan<Next> {
        let job = self.job;
        let mut draft = Draft::of_operation();
        let edit = without_selected_node(&job.claim);
        let claim = draft.claim_or(OnFailure::Ignore, Held::Lent(&job.claim), edit);
        let class = job.class.name();
        let message = format!("Failed to provision volume with StorageClass {class:?}: {message}");
        draft.event(failed(&claim, message));
        Provisioning::over(draft)
    }
}

fn without_selected_node(claim: &PersistentVolumeClaim) -> Edit<PersistentVolumeClaim> {
    if !claim.metadata.has_annotation(names::SELECTED_NODE) {
        return Edit::Unchanged;
    }
    let mut claim = claim.clone();
    claim.metadata.remove_annotation(names::SELECTED_NODE);
    Edit::Changed(claim)
}

impl Provisioning {
    /// The volume as it is created: bound from the beginning, so that no other
    /// claim can take it.
    fn dress(&self, mut volume: PersistentVolume) -> PersistentVolume {
        let policy = volume.reclaim_policy();
        let is_deleted_later = policy == Some(&PersistentVolumeReclaimPolicy::Delete);
        let metadata = &mut volume.metadata;
        metadata.name = Some(self.volume_name());
        // What only the API server may say of an object that is to be created.
        metadata.namespace = None;
        metadata.uid = None;
        metadata.resource_version = None;
        metadata.creation_timestamp = None;
        metadata.deletion_timestamp = None;
        metadata.set_annotation(names::BOUND_BY_CONTROLLER, names::YES);
        metadata.set_annotation(names::PROVISIONED_BY, &self.provisioner);
        if is_deleted_later {
            metadata.add_finalizer(names::PV_CONTROLLER_FINALIZER);
        }
        volume.spec.claim_ref = Some(claim_reference(&self.claim));
        volume.spec.storage_class_name = Some(self.claim.class_name().to_owned());
        volume.status.phase = Some(VolumePhase::Bound);
        volume
    }
}

pub(super) fn created(
    job: Provisioning,
    volume: Arc<PersistentVolume>,
    result: Result<(), String>,
) -> Plan<Next> {
    let mut draft = Draft::of_operation();
    let Err(message) = result else {
        let plugin = &job.provisioner;
        let message = format!(
            "Successfully provisioned volume {} using {plugin}",
            volume.name()
        );
        let reason = EventReason::ProvisioningSucceeded;
        draft.event(Event::on_claim(&job.claim, reason, message));
        return Provisioning::over(draft);
    };
    let message = format!(
        "Error creating provisioned PV object for claim {}: {message}. Deleting the volume.",
        job.claim.metadata.key()
    );
    draft.event(failed(&job.claim, message));
    draft.with(Next::CleanUp(CleanUpVolume::new(job, volume)))
}
