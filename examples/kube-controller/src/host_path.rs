//! Folders of this machine as volumes: the sample of an in-tree plugin.

use std::io;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use pvbind::api::{PersistentVolume, ResourceList};
use pvbind::controller::{DeleteError, InTreePlugin, ProvisionRequest};
use serde_json::json;

use crate::provisioner::Provisioner;

/// Makes folders under one folder of the machine that the controller runs on.
/// For tries on a single machine, as upstream's `--enable-hostpath-provisioner`:
/// pods on other nodes find nothing in the folder.
///
/// Differences from upstream: the folder is named after the volume, so that a
/// volume made twice is one; and only folders under its own are deleted.
#[derive(Debug)]
pub struct HostPath {
    folder: PathBuf,
}

impl HostPath {
    /// The plugin's name.
    pub const NAME: &'static str = "kubernetes.io/host-path";
    /// The folder that upstream uses.
    pub const FOLDER: &'static str = "/tmp/hostpath_pv";

    /// A plugin that makes volumes under this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        HostPath {
            folder: folder.into(),
        }
    }

    /// The folder of a volume, if it is one that this plugin made.
    fn own_folder(&self, volume: &PersistentVolume) -> Result<PathBuf, String> {
        let path = volume.spec.unknown.get("hostPath");
        let path = path.and_then(|source| source.get("path")?.as_str());
        let path = Path::new(path.unwrap_or_default());
        match path.parent() == Some(&*self.folder) && path.file_name().is_some() {
            true => Ok(path.to_owned()),
            false => Err(format!(
                "host_path deleter only supports {}/.+ but received provided {}",
                self.folder.display(),
                path.display()
            )),
        }
    }
}

impl Provisioner for HostPath {
    fn plugin(&self) -> InTreePlugin {
        InTreePlugin {
            can_provision: true,
            can_delete: true,
            ..InTreePlugin::new(HostPath::NAME, ["hostPath"])
        }
    }

    fn provision(
        &self,
        request: ProvisionRequest,
    ) -> BoxFuture<'_, Result<PersistentVolume, String>> {
        Box::pin(async move {
            let path = self.folder.join(&request.volume_name);
            let folder = path.clone();
            blocking(move || std::fs::create_dir_all(folder)).await?;
            volume_at(&path, &request).map_err(|error| error.to_string())
        })
    }

    fn delete(&self, volume: PersistentVolume) -> BoxFuture<'_, Result<(), DeleteError>> {
        Box::pin(async move {
            let path = self.own_folder(&volume).map_err(DeleteError::Failed)?;
            let deleted = blocking(move || match std::fs::remove_dir_all(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                result => result,
            });
            deleted.await.map_err(DeleteError::Failed)
        })
    }
}

fn volume_at(
    path: &Path,
    request: &ProvisionRequest,
) -> Result<PersistentVolume, serde_json::Error> {
    let spec = &request.claim.spec;
    let capacity = ResourceList::of_storage(request.claim.requested_storage().clone());
    serde_json::from_value(json!({
    "metadata": {"annotations": {"kubernetes.io/createdby": "hostpath-dynamic-provisioner"}},
    "spec": {
        "capacity": capacity,
        "accessModes": spec.access_modes,
        "volumeMode": spec.volume_mode,
        "persistentVolumeReclaimPolicy": request.class.reclaim_policy,
        "hostPath": {"path": path},
    }}))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
