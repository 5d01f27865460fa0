//! Folders of this machine as volumes: the sample of an in-tree plugin.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use futures::future::BoxFuture;
use pvbind::api::{PersistentVolume, ResourceList, VolumeMode};
use pvbind::controller::{DeleteError, InTreePlugin, ProvisionRequest};
use serde_json::json;

use crate::permit::Permit;
use crate::provisioner::Provisioner;

/// Makes folders under one folder of the machine that the controller runs on.
/// For tries on a single machine, as upstream's `--enable-hostpath-provisioner`:
/// pods on other nodes find nothing in the folder.
///
/// As upstream, it deletes only what is under `/tmp`, or under its own folder.
///
/// # Which paths it touches
/// A path is followed to where it really is, and that must be under `/tmp` or
/// the own folder, too; what is deleted or emptied must not be a link itself.
/// The own folder must not be a link nor, under `/tmp`, somebody else's. Links inside of a
/// volume are removed, never followed. Somebody who may rename folders under
/// `/tmp` while one is deleted is not kept out: give no such rights away.
///
/// # Differences from upstream
/// The folder is named after the volume, so that a volume made twice is one. A
/// volume is emptied here, and only under those folders, not by a pod. Links in
/// the middle of a path are followed there.
#[derive(Debug)]
pub struct HostPath {
    folder: PathBuf,
}

impl HostPath {
    /// The plugin's name.
    pub const NAME: &'static str = "kubernetes.io/host-path";
    /// The folder that upstream uses.
    pub const FOLDER: &'static str = "/tmp/hostpath_pv";
    /// Under which anybody's volume may be deleted.
    const COMMON: &'static str = "/tmp";

    /// A plugin that makes volumes under this folder.
    ///
    /// # Errors
    /// The folder is relative, the root of the machine, or holds `..`, which no
    /// volume may.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self, String> {
        let folder = folder.into();
        let shown = folder.display();
        let has = |part: Component<'_>| folder.components().any(|other| other == part);
        if !folder.is_absolute() {
            return Err(format!("`{shown}` is no absolute path"));
        }
        if has(Component::ParentDir) {
            return Err(format!(
                "`{shown}` holds `..`, which a volume's path may not"
            ));
        }
        if folder.parent().is_none() {
            return Err("`/` is the whole machine; name a folder".to_owned());
        }
        Ok(HostPath { folder })
    }

    /// Whether the path reads as one under the folders that may be touched.
    fn reads_as_own(&self, path: &Path) -> bool {
        let is_below = |folder: &Path| path.starts_with(folder) && path != folder;
        let is_plain = path.components().all(|part| part != Component::ParentDir);
        is_plain && (is_below(&self.folder) || is_below(Path::new(HostPath::COMMON)))
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
        permit: Permit,
    ) -> BoxFuture<'_, Result<PersistentVolume, String>> {
        Box::pin(async move {
            if *request.claim.volume_mode() == VolumeMode::Block {
                return Err(format!(
                    "{} does not support block volume provisioning",
                    HostPath::NAME
                ));
            }
            let path = self.folder.join(&request.volume_name);
            let (root, folder) = (self.folder.clone(), path.clone());
            blocking(permit, move |_| make(&root, &folder)).await?;
            volume_at(&path, &request).map_err(|error| error.to_string())
        })
    }

    fn delete(
        &self,
        volume: PersistentVolume,
        permit: Permit,
    ) -> BoxFuture<'_, Result<(), DeleteError>> {
        Box::pin(async move {
            let path = path_of(&volume);
            if !self.reads_as_own(&path) {
                return Err(DeleteError::Failed(format!(
                    "host_path deleter only supports /tmp/.+ but received provided {}",
                    path.display()
                )));
            }
            let root = self.folder.clone();
            let deleted = blocking(permit, move |permit| delete(&root, &path, permit));
            deleted.await.map_err(DeleteError::Failed)
        })
    }

    fn recycle(
        &self,
        volume: PersistentVolume,
        permit: Permit,
    ) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let path = path_of(&volume);
            if !self.reads_as_own(&path) {
                return Err(format!(
                    "host_path recycler only supports folders under /tmp and {}, not {}",
                    self.folder.display(),
                    path.display()
                ));
            }
            let root = self.folder.clone();
            blocking(permit, move |permit| {
                let folder = real_place(&root, &path)?.ok_or_else(|| {
                    refusal(format!("there is no {} on this machine", path.display()))
                })?;
                empty(&folder, permit)
            })
            .await
        })
    }
}

fn path_of(volume: &PersistentVolume) -> PathBuf {
    let source = volume.spec.unknown.get("hostPath");
    let path = source.and_then(|source| source.get("path")?.as_str());
    PathBuf::from(path.unwrap_or_default())
}

/// Makes a volume's folder, and the root above it.
fn make(root: &Path, folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o750);
    builder.create(root)?;
    let found = fs::symlink_metadata(root)?;
    if !found.is_dir() {
        return Err(refusal(format!(
            "{} is a link, not a folder",
            root.display()
        )));
    }
    // Where everybody may make folders, somebody else may have made this one.
    // On Linux, the file says who this process is.
    if root.starts_with(HostPath::COMMON)
        && let Ok(own) = fs::metadata("/proc/self")
        && found.uid() != own.uid()
    {
        let root = root.display();
        return Err(refusal(format!("{root} belongs to somebody else")));
    }
    builder.create(folder)
}

/// Deletes a file or folder; one that is not there is deleted.
fn delete(root: &Path, path: &Path, permit: &Permit) -> io::Result<()> {
    let Some(place) = real_place(root, path)? else {
        return Ok(());
    };
    if !fs::symlink_metadata(&place)?.is_dir() {
        return fs::remove_file(place);
    }
    empty(&place, permit)?;
    fs::remove_dir(place)
}

/// Where the path really is, if there is anything: under a folder that may be
/// touched, or it is refused.
fn real_place(root: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(refusal(format!("{} is no folder", path.display())));
    };
    let Some(parent) = there(parent.canonicalize())? else {
        return Ok(None);
    };
    let mut is_own = false;
    for folder in [root, Path::new(HostPath::COMMON)] {
        let folder = there(folder.canonicalize())?;
        is_own |= folder.is_some_and(|folder| parent.starts_with(folder));
    }
    let place = parent.join(name);
    if !is_own {
        return Err(refusal(format!(
            "{} leads to {}, which is not touched",
            path.display(),
            place.display()
        )));
    }
    match there(fs::symlink_metadata(&place))? {
        Some(found) if found.is_symlink() => Err(refusal(format!(
            "{} is a link, which is not touched",
            path.display()
        ))),
        found => Ok(found.map(|_| place)),
    }
}

/// Deletes what is in a folder, and keeps the folder. Stops between two entries
/// when the lead is lost.
fn empty(folder: &Path, permit: &Permit) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        permit.check().map_err(io::Error::other)?;
        let entry = entry?;
        let removed = if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        // Somebody else may delete in here, too.
        there(removed)?;
    }
    Ok(())
}

/// `None` if there is nothing of that name.
fn there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn refusal(message: String) -> io::Error {
    io::Error::other(message)
}

fn volume_at(
    path: &Path,
    request: &ProvisionRequest,
) -> Result<PersistentVolume, serde_json::Error> {
    let spec = &request.claim.spec;
    let capacity = ResourceList::of_storage(request.claim.requested_storage().clone());
    let access_modes = match request.claim.access_modes() {
        [] => json!(["ReadWriteOnce"]),
        modes => json!(modes),
    };
    serde_json::from_value(json!({
    "metadata": {"annotations": {"kubernetes.io/createdby": "hostpath-dynamic-provisioner"}},
    "spec": {
        "capacity": capacity,
        "accessModes": access_modes,
        "volumeMode": spec.volume_mode,
        "persistentVolumeReclaimPolicy": request.class.reclaim_policy,
        "hostPath": {"path": path},
    }}))
}

/// Works in a thread, which keeps the permit, since it cannot be cut off.
async fn blocking<T: Send + 'static>(
    permit: Permit,
    work: impl FnOnce(&Permit) -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(move || work(&permit)).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
