//! What in-tree plugins do in their backend.

use std::sync::Arc;

use crate::api::{Node, PersistentVolume, PersistentVolumeClaim, StorageClass};

/// What in-tree plugins do in their backend.
///
/// ```
/// use pvbind::api::{PersistentVolume, StorageClass};
/// use pvbind::controller::{Backend, DeleteError, ProvisionRequest};
/// use serde_json::json;
/// /// Directories of this host.
/// struct HostPath;
/// impl Backend for HostPath {
///     fn start_provisioner(&mut self, _plugin: &str, _class: &StorageClass) -> Result<(), String> {
///         Ok(())
///     }
///     fn provision(&mut self, request: &ProvisionRequest) -> Result<PersistentVolume, String> {
///         let path = format!("/var/volumes/{}", request.volume_name);
///         // std::fs::create_dir(&path) ...
///         serde_json::from_value(json!({"spec": {
///             "hostPath": {"path": path}, "accessModes": request.claim.spec.access_modes,
///             "capacity": request.claim.spec.resources.requests,
///             "persistentVolumeReclaimPolicy": "Delete"}}))
///         .map_err(|error| error.to_string())
///     }
///     fn delete(&mut self, _plugin: &str, volume: &PersistentVolume) -> Result<(), DeleteError> {
///         match volume.spec.unknown.get("hostPath").and_then(|source| source["path"].as_str()) {
///             Some(_path) => Ok(()), // std::fs::remove_dir_all(path) ...
///             None => Err(DeleteError::Failed("it has no path".to_owned())),
///         }
///     }
///     fn recycle(&mut self, _plugin: &str, _volume: &PersistentVolume) -> Result<(), String> {
///         Err("not supported".to_owned())
///     }
/// }
/// let error = HostPath.delete("kubernetes.io/host-path", &PersistentVolume::default()).unwrap_err();
/// assert_eq!(error.to_string(), "it has no path");
/// ```
pub trait Backend {
    /// Whether a plugin can make volumes of a class at all. It is asked before each
    /// volume; nothing is made yet.
    ///
    /// # Errors
    /// A text that says why not. It is told in an event `ProvisioningFailed`, and the
    /// next sync of the claim tries again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Backend, Config, DeleteError, InTreePlugin, MemoryServer, ProvisionRequest, run_operation};
    /// # use pvbind::plan::{Operation, Provisioner};
    /// # use pvbind::view::Snapshot;
    /// # let (mut config, view, mut server) = (Config::default(), Snapshot::new(), MemoryServer::default());
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data"}, "spec": {
    /// #         "storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let class: StorageClass = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "fast"}, "parameters": {"folder": "/var/volumes"}}))?;
    /// # let provision = Operation::Provision {
    /// #     claim: Arc::new(server.create_claim(&claim)?), class: Arc::new(class),
    /// #     provisioner: Provisioner::Internal("kubernetes.io/nfs".to_owned()),
    /// # };
    /// # struct Nfs;
    /// impl Backend for Nfs {
    ///     fn start_provisioner(&mut self, _plugin: &str, class: &StorageClass) -> Result<(), String> {
    ///         let parameters = class.parameters.as_ref();
    ///         match parameters.and_then(|parameters| parameters.get("server")) {
    ///             Some(_) => Ok(()),
    ///             None => Err(format!("class {} names no server", class.name())),
    ///         }
    ///     }
    /// #     fn provision(&mut self, _: &ProvisionRequest) -> Result<PersistentVolume, String> { panic!() }
    /// #     fn delete(&mut self, _: &str, _: &PersistentVolume) -> Result<(), DeleteError> { panic!() }
    /// #     fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> { panic!() }
    /// }
    /// let report = run_operation(&config, &view, &mut server, &mut Nfs, provision);
    /// # assert_eq!(report.error(), None);
    /// assert_eq!(
    ///     server.events()[0].to_string(),
    ///     "Warning ProvisioningFailed on PersistentVolumeClaim shop/data: \
    ///      Failed to create provisioner: class fast names no server",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn start_provisioner(&mut self, plugin: &str, class: &StorageClass) -> Result<(), String>;

    /// Makes a volume. Of what it returns, name, claimRef, phase and class are
    /// overwritten. After a restart the same volume may be asked for again; a
    /// backend that goes by its name makes no second one.
    ///
    /// # Errors
    /// A text that says why it cannot. It is told in an event `ProvisioningFailed`,
    /// and the scheduler may choose another node.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Backend, Config, DeleteError, InTreePlugin, MemoryServer, ProvisionRequest, run_operation};
    /// # use pvbind::plan::{Operation, Provisioner};
    /// # use pvbind::view::Snapshot;
    /// # let (mut config, view, mut server) = (Config::default(), Snapshot::new(), MemoryServer::default());
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data"}, "spec": {
    /// #         "storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let class: StorageClass = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "fast"}, "parameters": {"folder": "/var/volumes"}}))?;
    /// # let provision = Operation::Provision {
    /// #     claim: Arc::new(server.create_claim(&claim)?), class: Arc::new(class),
    /// #     provisioner: Provisioner::Internal("kubernetes.io/nfs".to_owned()),
    /// # };
    /// use pvbind::quantity::Quantity;
    /// struct Nfs { free: Quantity }
    /// impl Backend for Nfs {
    ///     fn provision(&mut self, request: &ProvisionRequest) -> Result<PersistentVolume, String> {
    ///         let asked = request.claim.requested_storage();
    ///         if *asked > self.free {
    ///             return Err(format!("{asked} asked, {} free", self.free));
    ///         }
    ///         // Make it, and describe it: see `Backend`.
    /// #       Ok(PersistentVolume::default())
    ///     }
    /// #     fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> { Ok(()) }
    /// #     fn delete(&mut self, _: &str, _: &PersistentVolume) -> Result<(), DeleteError> { panic!() }
    /// #     fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> { panic!() }
    /// }
    /// # let mut nfs = Nfs { free: "1Gi".parse()? };
    /// let report = run_operation(&config, &view, &mut server, &mut nfs, provision);
    /// # assert_eq!(report.error(), None);
    /// assert_eq!(
    ///     server.events()[0].to_string(),
    ///     "Warning ProvisioningFailed on PersistentVolumeClaim shop/data: \
    ///      Failed to provision volume with StorageClass \"fast\": 5Gi asked, 1Gi free",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn provision(&mut self, request: &ProvisionRequest) -> Result<PersistentVolume, String>;

    /// Deletes a volume; one that is not there is deleted. The same volume may be
    /// asked for again.
    ///
    /// # Errors
    /// Why it is not deleted: see [`DeleteError`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Backend, Config, DeleteError, InTreePlugin, MemoryServer, ProvisionRequest, run_operation};
    /// # use pvbind::plan::{Operation, Provisioner};
    /// # use pvbind::view::Snapshot;
    /// # let (mut config, view, mut server) = (Config::default(), Snapshot::new(), MemoryServer::default());
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/exports/1"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// # let volume = Arc::new(volume);
    /// # server.put(PersistentVolume::clone(&volume));
    /// struct Nfs { mounts: Vec<String>, folders: Vec<String> }
    /// impl Backend for Nfs {
    ///     fn delete(&mut self, _plugin: &str, volume: &PersistentVolume) -> Result<(), DeleteError> {
    ///         if self.mounts.iter().any(|name| name == volume.name()) {
    ///             return Err(DeleteError::InUse("mounted by 10.0.0.7".to_owned()));
    ///         }
    ///         self.folders.retain(|name| name != volume.name());
    ///         Ok(())
    ///     }
    /// #     fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> { panic!() }
    /// #     fn provision(&mut self, _: &ProvisionRequest) -> Result<PersistentVolume, String> { panic!() }
    /// #     fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> { panic!() }
    /// }
    /// # let delete = Operation::Delete { volume };
    /// # let mut nfs = Nfs { mounts: vec!["pv-1".to_owned()], folders: vec!["pv-1".to_owned()] };
    /// let report = run_operation(&config, &view, &mut server, &mut nfs, delete.clone());
    /// # assert_eq!(report.error(), None);
    /// // While it is mounted the volume stays Released, and each sync tells so.
    /// let told = server.events()[0].to_string();
    /// assert_eq!(told, "Normal VolumeDelete on PersistentVolume pv-1: mounted by 10.0.0.7");
    /// # nfs.mounts.clear();
    /// # let report = run_operation(&config, &view, &mut server, &mut nfs, delete);
    /// # assert_eq!((report.error(), nfs.folders.len()), (None, 0));
    /// # assert_eq!(server.snapshot().find::<PersistentVolume>("", "pv-1"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn delete(&mut self, plugin: &str, volume: &PersistentVolume) -> Result<(), DeleteError>;

    /// Deletes a volume's files, so that it may serve another claim.
    ///
    /// # Errors
    /// A text that says why it cannot: the volume becomes Failed with it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Backend, Config, DeleteError, InTreePlugin, MemoryServer, ProvisionRequest, run_operation};
    /// # use pvbind::plan::{Operation, Provisioner};
    /// # use pvbind::view::Snapshot;
    /// # let (mut config, view, mut server) = (Config::default(), Snapshot::new(), MemoryServer::default());
    /// # config.plugins.push(InTreePlugin {
    /// #     can_provision: true, can_delete: true, can_recycle: true,
    /// #     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
    /// # });
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/exports/1"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// # let volume = Arc::new(volume);
    /// # server.put(PersistentVolume::clone(&volume));
    /// # #[derive(Default)]
    /// struct Nfs { emptied: Vec<String> }
    /// impl Backend for Nfs {
    ///     fn recycle(&mut self, _plugin: &str, volume: &PersistentVolume) -> Result<(), String> {
    ///         let source = volume.spec.unknown.get("nfs").ok_or("it has no NFS source")?;
    ///         self.emptied.push(source["path"].to_string()); // rm -rf ...
    ///         Ok(())
    ///     }
    /// #     fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> { panic!() }
    /// #     fn provision(&mut self, _: &ProvisionRequest) -> Result<PersistentVolume, String> { panic!() }
    /// #     fn delete(&mut self, _: &str, _: &PersistentVolume) -> Result<(), DeleteError> { panic!() }
    /// }
    /// # let mut nfs = Nfs::default();
    /// let recycle = Operation::Recycle { volume };
    /// let report = run_operation(&config, &view, &mut server, &mut nfs, recycle);
    /// assert_eq!(nfs.emptied, [r#""/exports/1""#]);
    /// # assert_eq!(report.error(), None);
    /// let told = server.events()[0].to_string();
    /// assert_eq!(told, "Normal VolumeRecycled on PersistentVolume pv-1: Volume recycled");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn recycle(&mut self, plugin: &str, volume: &PersistentVolume) -> Result<(), String>;
}

/// A volume to be made: what [`ProvisionVolume`](super::ProvisionVolume) asks a
/// [`Backend`] for.
///
/// It has no private fields, so that a backend can be tried without a cluster:
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
/// use pvbind::controller::ProvisionRequest;
/// use serde_json::json;
/// /// The spec of a volume that is as large as was asked for, with what its class says.
/// fn describe(request: &ProvisionRequest) -> Result<PersistentVolume, serde_json::Error> {
///     serde_json::from_value(json!({"spec": {
///         "nfs": {"server": "10.0.0.7", "path": format!("/exports/{}", request.volume_name)},
///         "accessModes": request.claim.spec.access_modes, "mountOptions": request.class.mount_options,
///         "capacity": request.claim.spec.resources.requests}}))
/// }
/// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
/// #     "spec": {"resources": {"requests": {"storage": "5Gi"}}}}))?;
/// # let request = ProvisionRequest {
/// #     plugin: "kubernetes.io/nfs".to_owned(), volume_name: "pvc-u-1".to_owned(),
/// #     claim: Arc::new(claim), class: Arc::new(StorageClass::default()), node: None,
/// # };
/// assert_eq!(describe(&request)?.storage().to_string(), "5Gi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ProvisionRequest {
    /// The plugin that is to make it.
    pub plugin: String,
    /// The name that it will have.
    pub volume_name: String,
    /// The claim that it is for.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The claim's class.
    pub class: Arc<StorageClass>,
    /// The node that the claim's first consumer was scheduled to.
    pub node: Option<Arc<Node>>,
}

/// Why a volume is not deleted in the backend.
///
/// Of a volume that is to be reclaimed [`InUse`](Self::InUse) is told in an event
/// of type Normal, and the volume stays Released; the others make it Failed.
///
/// ```
/// use pvbind::controller::DeleteError;
/// let error = DeleteError::InUse("attached to node-a".to_owned());
/// assert_eq!(error.to_string(), "attached to node-a");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteError {
    /// The plugin cannot delete volumes at all now.
    #[error("{0}")]
    CannotStart(String),
    /// Somebody still uses it.
    #[error("{0}")]
    InUse(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}
