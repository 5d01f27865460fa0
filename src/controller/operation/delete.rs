//! The operation that deletes a volume.

use std::sync::Arc;

use super::next::{AfterWrite, Next, ReadJob, ReadVolume, WriteJob};
use super::released::is_still_released;
use crate::api::{PersistentVolume, names};
use crate::binding::{check_may_be_deleted, without_finalizer};
use crate::controller::Config;
use crate::controller::draft::Draft;
use crate::controller::migration::volume_provisioner;
use crate::plan::{Event, EventReason, OnFailure, Plan, Step, Write};
use crate::view::{ClusterView, Held};

/// Which volume is being deleted, and how far it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deleting {
    uid: String,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The backend is to be asked.
    BeforeBackend,
    /// The backend has deleted it.
    AfterBackend,
}

/// Who deletes a volume.
enum Deleter<'c> {
    /// An in-tree plugin of this name.
    Plugin(&'c str),
    /// Somebody else, who watches volumes.
    External,
}

/// Follows `deleteVolumeOperation` of Kubernetes 1.36, as do the functions
/// below it.
pub(super) fn begin(config: &Config, volume: &Arc<PersistentVolume>) -> Plan<Next> {
    match deleter(config, volume) {
        Ok(Deleter::External) => Plan::empty(Next::Finished),
        _ => read_again(volume, Stage::BeforeBackend),
    }
}

fn read_again(volume: &PersistentVolume, stage: Stage) -> Plan<Next> {
    Plan::empty(Next::ReadVolume(ReadVolume {
        name: volume.name().to_owned(),
        job: ReadJob::Delete(Deleting {
            uid: volume.metadata.uid().to_owned(),
            stage,
        }),
    }))
}

pub(super) fn read<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    job: Deleting,
    volume: Arc<PersistentVolume>,
) -> Plan<Next> {
    if volume.metadata.uid() != job.uid {
        return Plan::empty(Next::Finished);
    }
    match job.stage {
        Stage::AfterBackend => remove_finalizer(volume),
        Stage::BeforeBackend if !is_still_released(view, &volume) => Plan::empty(Next::Finished),
        Stage::BeforeBackend => match deleter(config, &volume) {
            Err(message) => fail(&volume, &message),
            Ok(Deleter::External) => Plan::empty(Next::Finished),
            Ok(Deleter::Plugin(_)) if check_may_be_deleted(&volume).is_err() => {
                Plan::empty(Next::Finished)
            }
            Ok(Deleter::Plugin(plugin)) => Plan::empty(Next::Delete(DeleteVolume {
                plugin: plugin.to_owned(),
                volume,
            })),
        },
    }
}

/// Who deletes the volume: who made it, or else the plugin that serves it.
///
/// Follows `findDeletablePlugin` of Kubernetes 1.36.
fn deleter<'c>(config: &'c Config, volume: &PersistentVolume) -> Result<Deleter<'c>, String> {
    let made_by = volume_provisioner(volume).filter(|name| !name.is_empty());
    if let Some(name) = made_by {
        return match config.plugin(name) {
            Some(plugin) if plugin.can_delete => Ok(Deleter::Plugin(&plugin.name)),
            plugin if name.starts_with(names::IN_TREE_PREFIX) => Err(match plugin {
                Some(_) => "no deletable volume plugin matched".to_owned(),
                None => format!("no volume plugin matched name: {name}"),
            }),
            _ => Ok(Deleter::External),
        };
    }
    if volume.metadata.has_annotation(names::MIGRATED_TO) || volume.spec.csi.is_some() {
        return Ok(Deleter::External);
    }
    let error = match config.plugin_for(volume) {
        Some(plugin) if plugin.can_delete => return Ok(Deleter::Plugin(&plugin.name)),
        Some(_) => "no deletable volume plugin matched",
        None => "no volume plugin matched",
    };
    let name = volume.name();
    Err(format!(
        "error getting deleter volume plugin for volume {name:?}: {error}"
    ))
}

/// An operation that wants a volume deleted in the backend: see
/// [`Next::Delete`].
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, InTreePlugin, Next, begin};
/// use pvbind::plan::{Operation, Step};
/// use pvbind::view::Snapshot;
/// let mut config = Config::default();
/// config.plugins.push(InTreePlugin { can_delete: true, ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"]) });
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"}, "spec": {
///         "persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/"},
///         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
/// let operation = Operation::Delete { volume: Arc::new(volume.clone()) };
/// let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
/// let Next::Delete(next) = next.answer(&config, &Snapshot::new(), Some(volume)).verdict else { panic!() };
/// // In use is no failure: an event, and the next sync tries again.
/// let plan = next.clone().in_use("mounted by 10.0.0.7");
/// assert!(matches!(plan.steps.as_slice(), [Step::Event(_)]));
/// // A failure is written into the volume's status.
/// let plan = next.failed("permission denied");
/// assert!(matches!(plan.steps.as_slice(), [Step::Write { .. }, Step::Event(_)]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteVolume {
    plugin: String,
    volume: Arc<PersistentVolume>,
}

impl DeleteVolume {
    /// The name of the plugin that is to delete the volume: the one that made it
    /// (annotation `pv.kubernetes.io/provisioned-by`), or else the first that
    /// supports its source.
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
    /// # let released = volume("Delete", "7")?;
    /// # let operation = Operation::Delete { volume: Arc::new(released.clone()) };
    /// let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// let Next::Delete(next) = next.answer(&config, &Snapshot::new(), Some(released)).verdict
    /// else { panic!() };
    /// // Not `kubernetes.io/nfs`, although that would come first for NFS.
    /// assert_eq!(next.plugin(), "example.com/nfs-folders");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// The volume that is to be deleted, as it was just read from the API server,
    /// with the fields that this crate has no name for.
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
    /// # let released = volume("Delete", "7")?;
    /// # let operation = Operation::Delete { volume: Arc::new(released.clone()) };
    /// # let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// let answer = next.answer(&config, &Snapshot::new(), Some(released));
    /// let Next::Delete(next) = answer.verdict else { panic!() };
    /// // What a plugin needs to know is in the volume's source.
    /// let source = next.volume().spec.unknown.get("nfs");
    /// assert_eq!(source.map(|nfs| &nfs["path"]), Some(&"/exports/1".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume(&self) -> &PersistentVolume {
        &self.volume
    }

    /// The backend deleted the volume; its object may go. Before that it is read
    /// once more, and loses the finalizer `kubernetes.io/pv-controller`.
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
    /// # use pvbind::plan::{Step, Write};
    /// # let mut released = volume("Delete", "7")?;
    /// # released.metadata.add_finalizer("kubernetes.io/pv-controller");
    /// # let view = Snapshot::new();
    /// # let operation = Operation::Delete { volume: Arc::new(released.clone()) };
    /// # let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// # let Next::Delete(next) = next.answer(&config, &view, Some(released.clone())).verdict else { panic!() };
    /// // `next`: a released NFS volume with that finalizer is to be deleted.
    /// let Next::ReadVolume(next) = next.deleted().verdict else { panic!() };
    /// let plan = next.answer(&config, &view, Some(released));
    /// let [Step::Write { write: Write::Volume(change), .. }] = plan.steps.as_slice() else { panic!() };
    /// assert!(!change.to.metadata.has_finalizer("kubernetes.io/pv-controller"));
    /// // Only when that is written the object is deleted.
    /// assert!(matches!(plan.verdict, Next::AfterWrite(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deleted(self) -> Plan<Next> {
        read_again(&self.volume, Stage::AfterBackend)
    }

    /// The volume is still in use: an event `VolumeDelete` of type Normal, and the
    /// next sync tries again.
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
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// # let operation = Operation::Delete { volume: Arc::new(volume.clone()) };
    /// # let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// # let Next::Delete(next) = next.answer(&config, &view, Some(volume)).verdict else { panic!() };
    /// // `next`: a released NFS volume is to be deleted.
    /// let plan = next.in_use("mounted by 10.0.0.7");
    /// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
    /// assert_eq!(event.to_string(), "Normal VolumeDelete on PersistentVolume pv-1: mounted by 10.0.0.7");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn in_use(self, message: &str) -> Plan<Next> {
        let mut draft = Draft::of_operation();
        let reason = EventReason::VolumeDelete;
        draft.event(Event::on_volume(&self.volume, reason, message));
        draft.with(Next::Finished)
    }

    /// The backend could not delete the volume: it becomes Failed with this
    /// message, and an event `VolumeFailedDelete` says so. Syncs try again.
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
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// # let operation = Operation::Delete { volume: Arc::new(volume.clone()) };
    /// # let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// # let Next::Delete(next) = next.answer(&config, &view, Some(volume)).verdict else { panic!() };
    /// // `next`: a released NFS volume is to be deleted.
    /// let plan = next.failed("permission denied");
    /// let [Step::Write { write: Write::VolumeStatus(change), .. }, Step::Event(event)] =
    ///     plan.steps.as_slice() else { panic!() };
    /// assert_eq!(change.to.status.message.as_deref(), Some("permission denied"));
    /// assert_eq!(event.reason.as_str(), "VolumeFailedDelete");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn failed(self, message: &str) -> Plan<Next> {
        fail(&self.volume, message)
    }

    /// The plugin cannot delete volumes at all now: as [`failed`](Self::failed),
    /// with upstream's words in front.
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
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// # let operation = Operation::Delete { volume: Arc::new(volume.clone()) };
    /// # let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// # let Next::Delete(next) = next.answer(&config, &view, Some(volume)).verdict else { panic!() };
    /// // `next`: a released NFS volume is to be deleted.
    /// let plan = next.cannot_start("no credentials");
    /// let [_, Step::Event(event)] = plan.steps.as_slice() else { panic!() };
    /// assert_eq!(event.message, r#"failed to create deleter for volume "pv-1": no credentials"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn cannot_start(self, message: &str) -> Plan<Next> {
        fail(&self.volume, &cannot_start(&self.volume, message))
    }
}

pub(super) fn cannot_start(volume: &PersistentVolume, message: &str) -> String {
    let name = volume.name();
    format!("failed to create deleter for volume {name:?}: {message}")
}

fn remove_finalizer(volume: Arc<PersistentVolume>) -> Plan<Next> {
    let edit = without_finalizer(&volume, names::PV_CONTROLLER_FINALIZER);
    if !edit.is_changed() {
        return delete_object(volume);
    }
    let mut draft = Draft::of_operation();
    draft.volume_or(OnFailure::Tell, Held::Lent(&volume), edit);
    let job = WriteJob::RemoveFinalizer(volume);
    draft.with(Next::AfterWrite(AfterWrite::new(job)))
}

pub(super) fn finalizer_removed(
    volume: Arc<PersistentVolume>,
    result: Result<(), String>,
) -> Plan<Next> {
    match result {
        Ok(()) => delete_object(volume),
        Err(message) => {
            let message = format!("persistent volume controller can't update finalizer: {message}");
            fail(&volume, &message)
        }
    }
}

fn delete_object(volume: Arc<PersistentVolume>) -> Plan<Next> {
    let mut draft = Draft::of_operation();
    if check_may_be_deleted(&volume).is_ok() {
        draft.step(Step::Write {
            write: Write::DeleteVolume(volume),
            on_failure: OnFailure::Ignore,
        });
    }
    draft.with(Next::Finished)
}

fn fail(volume: &Arc<PersistentVolume>, message: &str) -> Plan<Next> {
    let mut draft = Draft::of_operation();
    let reason = EventReason::VolumeFailedDelete;
    // A volume that is some claim's again did not fail to be reclaimed: there
    // is nothing to say about it.
    let _refused = draft.reclaim_failed(Held::Lent(volume), reason, message);
    draft.with(Next::Finished)
}
