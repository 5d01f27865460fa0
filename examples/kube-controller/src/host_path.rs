//! Folders of this machine as volumes: the sample of an in-tree plugin.

use std::io;
use std::path::{Component, Path, PathBuf};

use futures::future::BoxFuture;
use pvbind::api::{PersistentVolume, ResourceList};
use pvbind::controller::{DeleteError, InTreePlugin, ProvisionRequest};
use serde_json::json;

use crate::provisioner::Provisioner;

/// Makes folders under one folder of the machine that the controller runs on.
/// For tries on a single machine, as upstream's `--enable-hostpath-provisioner`:
/// pods on other nodes find nothing in the folder.
///
/// As upstream, it deletes and empties only folders under `/tmp`, and its own.
///
/// Differences from upstream: the folder is named after the volume, so that a
/// volume made twice is one; and a volume is emptied here, not by a pod.
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

    /// The folder of a volume, if it is one that may be emptied.
    fn folder_of(&self, volume: &PersistentVolume) -> Result<PathBuf, String> {
        let path = volume.spec.unknown.get("hostPath");
        let path = path.and_then(|source| source.get("path")?.as_str());
        let path = Path::new(path.unwrap_or_default());
        let is_below = |folder: &Path| path.starts_with(folder) && path != folder;
        let is_plain = path.components().all(|part| part != Component::ParentDir);
        match is_plain && (is_below(&self.folder) || is_below(Path::new("/tmp"))) {
            true => Ok(path.to_owned()),
            false => Err(format!(
                "host_path deleter only supports /tmp/.+ but received provided {}",
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
            can_recycle: true,
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
            let path = self.folder_of(&volume).map_err(DeleteError::Failed)?;
            let deleted = blocking(move || match std::fs::remove_dir_all(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                result => result,
            });
            deleted.await.map_err(DeleteError::Failed)
        })
    }

    fn recycle(&self, volume: PersistentVolume) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let path = self.folder_of(&volume)?;
            blocking(move || empty(&path)).await
        })
    }
}

/// Deletes what is in a folder, and keeps the folder.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
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
