//! The operation that recycles a volume.

use std::sync::Arc;

use super::next::{Next, ReadJob, ReadVolume};
use super::released::is_still_released;
use crate::api::PersistentVolume;
use crate::controller::Config;
use crate::controller::bind::unbind;
use crate::controller::draft::Draft;
use crate::plan::{Event, EventReason, EventType, Plan};
use crate::view::{ClusterView, Held};

/// Follows `recycleVolumeOperation` of Kubernetes 1.36, as do the functions
/// below it.
pub(super) fn begin(volume: &PersistentVolume) -> Plan<Next> {
    Plan::empty(Next::ReadVolume(ReadVolume {
        name: volume.name().to_owned(),
        job: ReadJob::Recycle {
            uid: volume.metadata.uid().to_owned(),
        },
    }))
}

pub(super) fn read<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    volume: Arc<PersistentVolume>,
) -> Plan<Next> {
    if !is_still_released(view, &volume) {
        return Plan::empty(Next::Finished);
    }
    let users = users(view, &volume);
    if !users.is_empty() {
        let mut draft = Draft::of_operation();
        let message = format!("Volume is used by pods: {}", users.join(","));
        let event = Event::on_volume(&volume, EventReason::VolumeFailedRecycle, message);
        draft.event(event.with_type(EventType::Normal));
        return draft.with(Next::Finished);
    }
    match config.plugin_for(&volume) {
        Some(plugin) if plugin.can_recycle => Plan::empty(Next::Recycle(RecycleVolume {
            plugin: plugin.name.clone(),
            volume,
        })),
        _ => fail(&volume, "No recycler plugin found for the volume!"),
    }
}

/// The pods that still use the volume's claim, which is gone: `NAMESPACE/NAME`,
/// sorted. While there is a claim of that name, they use that one.
///
/// Follows `isVolumeUsed` of Kubernetes 1.36.
fn users<V: ClusterView + ?Sized>(view: &V, volume: &PersistentVolume) -> Vec<String> {
    let Some(reference) = volume.claim_ref() else {
        return Vec::new();
    };
    let (namespace, name) = (reference.namespace(), reference.name());
    if view.claim(namespace, name).is_some() {
        return Vec::new();
    }
    let mut users = Vec::new();
    view.visit_pods_using_claim(namespace, name, &mut |pod| {
        if !pod.is_finished() {
            users.push(format!("{namespace}/{}", pod.name()));
        }
    });
    users.sort();
    users
}

/// An operation that wants a volume's files deleted: see [`Next::Recycle`].
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, InTreePlugin, Next, begin};
/// use pvbind::plan::{Operation, Step, Write};
/// use pvbind::view::Snapshot;
/// let mut config = Config::default();
/// config.plugins.push(InTreePlugin { can_recycle: true, ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"]) });
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"name": "pv-1", "uid": "u-1",
///         "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
///     "status": {"phase": "Released"}, "spec": {
///         "persistentVolumeReclaimPolicy": "Recycle", "nfs": {"path": "/"},
///         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
/// let operation = Operation::Recycle { volume: Arc::new(volume.clone()) };
/// let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
/// let Next::Recycle(next) = next.answer(&config, &Snapshot::new(), Some(volume)).verdict else { panic!() };
/// // Emptied, it loses its claimRef and may serve anybody.
/// let plan = next.recycled();
/// let [Step::Event(_), Step::Write { write: Write::Volume(change), .. }, Step::Write { .. }] =
///     plan.steps.as_slice() else { panic!() };
/// assert_eq!(change.to.claim_ref(), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RecycleVolume {
    plugin: String,
    volume: Arc<PersistentVolume>,
}

impl RecycleVolume {
    /// The name of the plugin that is to delete the volume's files: the first that
    /// supports its source, whoever made the volume.
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
    /// // A released NFS volume that the plugin `example.com/nfs-folders` has made:
    /// # let released = volume("Recycle", "7")?;
    /// # let operation = Operation::Recycle { volume: Arc::new(released.clone()) };
    /// let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// let Next::Recycle(next) = next.answer(&config, &Snapshot::new(), Some(released)).verdict
    /// else { panic!() };
    /// // Unlike a deletion, which is left to who made it.
    /// assert_eq!(next.plugin(), "kubernetes.io/nfs");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// The volume that is to be emptied, as it was just read from the API server.
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
    /// let operation = Operation::Recycle { volume: Arc::new(volume("Recycle", "7")?) };
    /// let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// // It was written since the operation was planned.
    /// let newer = volume("Recycle", "9")?;
    /// let Next::Recycle(next) = next.answer(&config, &Snapshot::new(), Some(newer)).verdict
    /// else { panic!() };
    /// assert_eq!(next.volume().metadata.resource_version(), "9");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume(&self) -> &PersistentVolume {
        &self.volume
    }

    /// The files are deleted; the volume may serve another claim: an event
    /// `VolumeRecycled`, then the volume is unbound and becomes Available. One that
    /// was reserved by hand stays so.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::PersistentVolume;
    /// # use pvbind::controller::{Config, InTreePlugin, Next, begin};
    /// # use pvbind::plan::{Operation, Step, Write};
    /// # use pvbind::view::Snapshot;
    /// # let mut config = Config::default();
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let view = Snapshot::new();
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Recycle", "nfs": {"path": "/"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// # let operation = Operation::Recycle { volume: Arc::new(volume.clone()) };
    /// # let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// # let Next::Recycle(next) = next.answer(&config, &view, Some(volume)).verdict else { panic!() };
    /// // `next`: a released NFS volume is to be emptied.
    /// let plan = next.recycled();
    /// let Some(Step::Write { write: Write::VolumeStatus(change), .. }) = plan.steps.last() else { panic!() };
    /// assert_eq!(change.to.status.phase.as_ref().unwrap().as_str(), "Available");
    /// assert_eq!(change.to.claim_ref().unwrap().key(), "shop/data"); // without uid
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn recycled(self) -> Plan<Next> {
        let mut draft = Draft::of_operation();
        let reason = EventReason::VolumeRecycled;
        draft.event(Event::on_volume(&self.volume, reason, "Volume recycled"));
        // Unbinding leads to Available from every phase, so it is not refused.
        let _refused = unbind(&mut draft, Held::Shared(self.volume));
        draft.with(Next::Finished)
    }

    /// The files could not be deleted: the volume becomes Failed, and an event
    /// `VolumeFailedRecycle` says so.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::PersistentVolume;
    /// # use pvbind::controller::{Config, InTreePlugin, Next, begin};
    /// # use pvbind::plan::{Operation, Step, Write};
    /// # use pvbind::view::Snapshot;
    /// # let mut config = Config::default();
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let view = Snapshot::new();
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Recycle", "nfs": {"path": "/"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// # let operation = Operation::Recycle { volume: Arc::new(volume.clone()) };
    /// # let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// # let Next::Recycle(next) = next.answer(&config, &view, Some(volume)).verdict else { panic!() };
    /// // `next`: a released NFS volume is to be emptied.
    /// let plan = next.failed("server is down");
    /// let [Step::Write { .. }, Step::Event(event)] = plan.steps.as_slice() else { panic!() };
    /// assert_eq!(event.message, "Recycle failed: server is down");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn failed(self, message: &str) -> Plan<Next> {
        fail(&self.volume, &format!("Recycle failed: {message}"))
    }
}

fn fail(volume: &Arc<PersistentVolume>, message: &str) -> Plan<Next> {
    let mut draft = Draft::of_operation();
    let reason = EventReason::VolumeFailedRecycle;
    // A volume that is some claim's again did not fail to be reclaimed: there
    // is nothing to say about it.
    let _refused = draft.reclaim_failed(Held::Lent(volume), reason, message);
    draft.with(Next::Finished)
}
