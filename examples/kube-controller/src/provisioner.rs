//! What an in-tree plugin must do.

use futures::future::BoxFuture;
use pvbind::api::{PersistentVolume, StorageClass};
use pvbind::controller::{Config, DeleteError, InTreePlugin, ProvisionRequest};

use crate::permit::Permit;

/// An in-tree plugin: makes, deletes and recycles volumes in a backend.
///
/// Each method may be cut off anywhere, when the controller is killed or loses
/// the lead, and is then called again with the same request. So each must give
/// the same when it is called twice: make a volume under a name that follows
/// from the request, and take a volume that is not there for deleted.
///
/// Each is called once at a time for a volume, even if the lead was lost and is
/// held again. What goes on after its future was dropped, such as a thread, must
/// keep the [`Permit`] for as long, and ask it whether to go on.
pub trait Provisioner: Send + Sync + 'static {
    /// Its name, which volumes it serves, and what it can do.
    fn plugin(&self) -> InTreePlugin;

    /// Whether it can make volumes of a class at all.
    ///
    /// # Errors
    /// A text that says why not.
    fn start(&self, class: &StorageClass) -> Result<(), String> {
        let _ = class;
        Ok(())
    }

    /// Makes a volume. Of what it returns, name, claimRef, phase and class are
    /// overwritten.
    ///
    /// # Errors
    /// A text that says why it cannot.
    fn provision(
        &self,
        request: ProvisionRequest,
        permit: Permit,
    ) -> BoxFuture<'_, Result<PersistentVolume, String>> {
        let _ = (request, permit);
        Box::pin(async { Err("not supported".to_owned()) })
    }

    /// Deletes a volume; one that is not there is deleted.
    ///
    /// # Errors
    /// Why it is not deleted.
    fn delete(
        &self,
        volume: PersistentVolume,
        permit: Permit,
    ) -> BoxFuture<'_, Result<(), DeleteError>> {
        let _ = (volume, permit);
        Box::pin(async { Err(DeleteError::CannotStart("not supported".to_owned())) })
    }

    /// Deletes a volume's files.
    ///
    /// # Errors
    /// A text that says why it cannot.
    fn recycle(
        &self,
        volume: PersistentVolume,
        permit: Permit,
    ) -> BoxFuture<'_, Result<(), String>> {
        let _ = (volume, permit);
        Box::pin(async { Err("not supported".to_owned()) })
    }
}

/// The in-tree plugins of Kubernetes 1.36 that can do nothing here; they are
/// named so that events tell "cannot" from "unknown".
const KNOWN: [(&str, &str); 6] = [
    ("kubernetes.io/host-path", "hostPath"),
    ("kubernetes.io/nfs", "nfs"),
    ("kubernetes.io/local-volume", "local"),
    ("kubernetes.io/iscsi", "iscsi"),
    ("kubernetes.io/fc", "fc"),
    ("kubernetes.io/flexvolume", "flexVolume"),
];

/// How the decisions are set up, with these provisioners.
pub fn config<'p>(provisioners: impl IntoIterator<Item = &'p dyn Provisioner>) -> Config {
    let mut config = Config::default();
    config.plugins = provisioners.into_iter().map(Provisioner::plugin).collect();
    for (name, source) in KNOWN {
        if config.plugin(name).is_none() {
            config.plugins.push(InTreePlugin::new(name, [source]));
        }
    }
    config
}
