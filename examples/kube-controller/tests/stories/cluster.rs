//! What the stories begin with.

use std::sync::Arc;
use std::time::Duration;

use kube_controller::health::Health;
use kube_controller::host_path::HostPath;
use kube_controller::leader::LeaseSettings;
use kube_controller::provisioner::Provisioner;
use kube_controller::run::{Clients, Settings, run};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::fake::Fake;

/// A controller that runs.
pub(crate) struct Controller {
    pub(crate) health: Health,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Controller {
    pub(crate) fn start(fake: &Fake, identity: &str) -> Self {
        Controller::with(fake, settings(identity))
    }

    pub(crate) fn with(fake: &Fake, settings: Settings) -> Self {
        let (stop, stopped) = watch::channel(false);
        let health = Health::default();
        let clients = Clients {
            lease: fake.client(&settings.identity),
            work: fake.client(&settings.identity),
        };
        let task = tokio::spawn(run(clients, settings, health.clone(), stopped));
        Controller { health, stop, task }
    }

    /// As by `kill -9`.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// As by SIGTERM.
    pub(crate) async fn stop(self) {
        self.stop.send(true).unwrap();
        self.task.await.unwrap();
    }
}

pub(crate) fn settings(identity: &str) -> Settings {
    Settings {
        resync: Duration::from_secs(15),
        provisioners: vec![Arc::new(HostPath::new(folder()).unwrap())],
        lease: Some(LeaseSettings::new(
            "kube-system",
            "pvbind-controller",
            identity,
        )),
        identity: identity.to_owned(),
        dry_run: false,
    }
}

pub(crate) fn with_provisioner(
    mut settings: Settings,
    provisioner: Arc<dyn Provisioner>,
) -> Settings {
    settings.provisioners = vec![provisioner];
    settings
}

/// A folder of this process, under which host paths are. The plugin deletes
/// nothing outside /tmp, wherever else temporary files may be.
pub(crate) fn folder() -> std::path::PathBuf {
    std::path::PathBuf::from(format!("/tmp/pvbind-stories-{}", std::process::id()))
}

pub(crate) fn volume(name: &str, size: &str, spec: Value) -> Value {
    let mut volume = json!({
        "kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": name},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain",
            "nfs": {"server": "files", "path": format!("/{name}")}}});
    pvbind::plan::apply_merge_patch(&mut volume["spec"], &spec);
    volume
}

/// A claim of the namespace `shop`, without a class unless `spec` says so.
pub(crate) fn claim(name: &str, size: &str, spec: Value) -> Value {
    let mut claim = json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
            "storageClassName": "", "resources": {"requests": {"storage": size}}}});
    pvbind::plan::apply_merge_patch(&mut claim["spec"], &spec);
    claim
}

pub(crate) fn class(name: &str, provisioner: &str, mode: &str) -> Value {
    json!({"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1",
        "metadata": {"name": name}, "provisioner": provisioner,
        "reclaimPolicy": "Delete", "volumeBindingMode": mode})
}

pub(crate) const HOST_PATH: &str = HostPath::NAME;
