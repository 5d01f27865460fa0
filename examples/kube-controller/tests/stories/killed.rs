//! Controllers that are killed, at any request and inside of a plugin.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use kube_controller::host_path::HostPath;
use kube_controller::permit::Permit;
use kube_controller::provisioner::Provisioner;
use pvbind::api::PersistentVolume;
use pvbind::controller::{DeleteError, InTreePlugin, ProvisionRequest};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::cluster::{
    Controller, HOST_PATH, claim, class, folder, settings, volume, with_provisioner,
};
use crate::fake::{CLAIMS, Fake, VOLUMES};
use crate::provisioning::{SELECTED_NODE, node};
use crate::trouble::picture;

const CLAIMS_OF_ALL_KINDS: [&str; 8] = [
    "data", "reserved", "named", "made", "chosen", "assumed", "external", "default",
];

/// Claims of all kinds: to be bound, one that has a volume reserved, one that
/// names a volume, two to be provisioned, at once and for a chosen node, one for
/// which the scheduler takes a volume, an external one, and one of the default
/// class.
pub(crate) fn begin(fake: &Fake) {
    fake.create(node("node-a"));
    fake.create(class("local", HOST_PATH, "Immediate"));
    fake.create(class("waits", HOST_PATH, "WaitForFirstConsumer"));
    let none = "kubernetes.io/no-provisioner";
    fake.create(class("static", none, "WaitForFirstConsumer"));
    let mut fast = class("fast", "csi.example.com", "Immediate");
    fast["metadata"]["annotations"] =
        json!({"storageclass.kubernetes.io/is-default-class": "true"});
    fake.create(fast);
    let recycled = json!({"persistentVolumeReclaimPolicy": "Recycle"});
    fake.create(volume("pv", "5Gi", recycled));
    let reference = json!({"claimRef": {"namespace": "shop", "name": "reserved"}});
    fake.create(volume("reserved", "5Gi", reference));
    fake.create(volume("wanted", "50Gi", json!({})));
    fake.create(volume(
        "assumed",
        "5Gi",
        json!({"storageClassName": "static"}),
    ));
    let of_class = |name: &str, class: Value| {
        // Without a class, no volume is to be found before the default class is.
        let size = if class.is_null() { "500Gi" } else { "5Gi" };
        fake.create(claim(name, size, json!({"storageClassName": class})));
    };
    fake.create(claim("data", "5Gi", json!({})));
    fake.create(claim("reserved", "5Gi", json!({})));
    fake.create(claim("named", "5Gi", json!({"volumeName": "wanted"})));
    of_class("made", json!("local"));
    of_class("chosen", json!("waits"));
    of_class("assumed", json!("static"));
    of_class("external", json!("fast"));
    of_class("default", Value::Null);
}

pub(crate) fn end(fake: &Fake) {
    for claim in CLAIMS_OF_ALL_KINDS {
        fake.delete(CLAIMS, &format!("shop/{claim}"));
    }
}

/// The scheduler and the external provisioner, who look every three seconds.
pub(crate) fn outsiders(fake: &Fake) -> JoinSet<()> {
    let fake = fake.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(3)).await;
            schedule(&fake);
            provision(&fake);
        }
    });
    tasks
}

fn schedule(fake: &Fake) {
    let (chosen, assumed, free) = {
        let state = fake.lock();
        let named = |name: &str| state.at(CLAIMS, name, "/spec/volumeName") != Value::Null;
        let annotations = state.at(CLAIMS, "shop/chosen", "/metadata/annotations");
        let is_chosen = annotations[SELECTED_NODE].is_string() || named("shop/chosen");
        let assumed = state.get(CLAIMS, "shop/assumed").cloned();
        let free = state.at(VOLUMES, "assumed", "/spec/claimRef") == Value::Null
            && state.at(VOLUMES, "assumed", "/status/phase") == "Available";
        let is_there = state.get(CLAIMS, "shop/chosen").is_some();
        (is_chosen || !is_there, assumed, free)
    };
    if !chosen {
        let annotations = json!({"metadata": {"annotations": {SELECTED_NODE: "node-a"}}});
        fake.patch(CLAIMS, "shop/chosen", annotations);
    }
    if let Some(claim) = assumed.filter(|_| free) {
        let reference = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
            "namespace": "shop", "name": "assumed", "uid": claim["metadata"]["uid"]});
        let assumed = json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
            "spec": {"claimRef": reference}});
        fake.patch(VOLUMES, "assumed", assumed);
    }
}

fn provision(fake: &Fake) {
    let provisioner = "volume.kubernetes.io/storage-provisioner";
    let claims: Vec<Value> = fake.lock().all(CLAIMS).into_iter().cloned().collect();
    for claim in claims {
        let metadata = &claim["metadata"];
        if metadata["annotations"][provisioner] != "csi.example.com" {
            continue;
        }
        let name = format!("csi-{}", metadata["name"].as_str().unwrap());
        if fake.lock().get(VOLUMES, &name).is_some() {
            continue;
        }
        let spec = json!({"storageClassName": "fast", "nfs": null,
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                "namespace": "shop", "name": metadata["name"], "uid": metadata["uid"]}});
        fake.create(volume(&name, "500Gi", spec));
    }
}

/// The story without trouble: the pictures after its two halves, and how many
/// requests each of them took.
pub(crate) async fn untroubled() -> (Vec<Value>, Vec<Value>, usize, usize) {
    let fake = Fake::new();
    begin(&fake);
    let outsiders = outsiders(&fake);
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let (bound, first) = so_far(&fake);
    end(&fake);
    fake.quiet().await;
    let (released, all) = so_far(&fake);
    fake.assert_no_wrongs();
    let claims = bound
        .iter()
        .filter(|object| object["kind"] == "PersistentVolumeClaim");
    for claim in claims {
        let volumes = bound
            .iter()
            .map(|object| &object["spec"]["claimRef"]["name"]);
        let volumes: Vec<_> = volumes.collect();
        assert_eq!(claim["status"]["phase"], "Bound", "{claim} {volumes:?}");
    }
    controller.stop().await;
    drop(outsiders);
    (bound, released, first, all - first)
}

fn so_far(fake: &Fake) -> (Vec<Value>, usize) {
    let state = fake.lock();
    (picture(&state), state.counted)
}

/// Lets a controller run up to the request after which the API server hangs,
/// kills it, and starts another. How many requests there are depends on how long
/// the folders take; a controller that is done before is killed, too.
async fn kill_after(fake: &Fake, controller: Controller, next: &str) -> Controller {
    fake.quiet().await;
    controller.kill().await;
    fake.act(|state| {
        state.hangs = false;
        state.hangs_after = None;
    });
    Controller::start(fake, next)
}

#[tokio::test(start_paused = true)]
async fn a_controller_killed_at_any_request_is_followed_by_one_that_finishes() {
    let (bound, released, binding, releasing) = untroubled().await;
    assert!(binding > 30, "{binding}");
    assert!(releasing > 20, "{releasing}");
    for request in 1..=binding {
        let fake = Fake::new();
        begin(&fake);
        let outsiders = outsiders(&fake);
        fake.act(|state| state.hangs_after = Some(request));
        let first = Controller::start(&fake, "first");
        let second = kill_after(&fake, first, "second").await;
        fake.quiet().await;
        assert_eq!(picture(&fake.lock()), bound, "killed at request {request}");
        fake.assert_no_wrongs();
        second.kill().await;
        drop(outsiders);
    }
    for request in 1..=releasing {
        let fake = Fake::new();
        begin(&fake);
        let outsiders = outsiders(&fake);
        let first = Controller::start(&fake, "first");
        fake.quiet().await;
        fake.act(|state| state.hangs_after = Some(request));
        end(&fake);
        let second = kill_after(&fake, first, "second").await;
        fake.quiet().await;
        let now = picture(&fake.lock());
        assert_eq!(now, released, "killed at request {request}");
        fake.assert_no_wrongs();
        second.kill().await;
        drop(outsiders);
    }
    let left = std::fs::read_dir(folder()).map_or(0, |entries| {
        let made =
            |name: &str| name.starts_with("pvc-uid-made-") || name.starts_with("pvc-uid-chosen-");
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| made(name)).count()
    });
    // The folders of the last run of the first half, which were never deleted,
    // have the names that all the others had.
    assert!(left <= 2, "{left} folders are left");
}

/// The host-path plugin, which stops for good at one of its steps: before or
/// after one of its works.
struct Halting {
    plugin: HostPath,
    steps_left: Mutex<Option<usize>>,
    halted_at: Mutex<Option<&'static str>>,
}

impl Halting {
    async fn step(&self, name: &'static str) {
        let halts = match &mut *self.steps_left.lock().unwrap() {
            None => false,
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
        };
        if halts {
            *self.halted_at.lock().unwrap() = Some(name);
            std::future::pending::<()>().await;
        }
    }
}

impl Provisioner for Halting {
    fn plugin(&self) -> InTreePlugin {
        self.plugin.plugin()
    }

    fn provision(
        &self,
        request: ProvisionRequest,
        permit: Permit,
    ) -> BoxFuture<'_, Result<PersistentVolume, String>> {
        Box::pin(async move {
            self.step("before provision").await;
            let result = self.plugin.provision(request, permit).await;
            self.step("after provision").await;
            result
        })
    }

    fn delete(
        &self,
        volume: PersistentVolume,
        permit: Permit,
    ) -> BoxFuture<'_, Result<(), DeleteError>> {
        Box::pin(async move {
            self.step("before delete").await;
            let result = self.plugin.delete(volume, permit).await;
            self.step("after delete").await;
            result
        })
    }

    fn recycle(
        &self,
        volume: PersistentVolume,
        permit: Permit,
    ) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            self.step("before recycle").await;
            let result = self.plugin.recycle(volume, permit).await;
            self.step("after recycle").await;
            result
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_controller_killed_inside_a_plugin_is_followed_by_one_that_finishes() {
    let mut seen = Vec::new();
    for step in 0..6 {
        let fake = Fake::new();
        fake.create(class("local", HOST_PATH, "Immediate"));
        let made = fake.create(claim("halts", "5Gi", json!({"storageClassName": "local"})));
        let recycled = folder().join(format!("halts-{step}"));
        std::fs::create_dir_all(recycled.join("deep")).unwrap();
        let spec = json!({"persistentVolumeReclaimPolicy": "Recycle", "nfs": null,
            "hostPath": {"path": recycled}});
        fake.create(volume("again", "5Gi", spec));
        fake.create(claim("data", "5Gi", json!({})));
        let plugin = Arc::new(Halting {
            plugin: HostPath::new(folder()).unwrap(),
            // Two steps of provisioning, and two more of one of the others.
            steps_left: Mutex::new(Some(if step < 4 { step } else { step - 2 })),
            halted_at: Mutex::default(),
        });
        let with = |name| with_provisioner(settings(name), plugin.clone());
        let first = Controller::with(&fake, with("first"));
        fake.quiet().await;
        let (deleted_first, deleted_last) = match step {
            ..2 => (None, vec!["shop/halts", "shop/data"]),
            2..4 => (Some("shop/halts"), vec!["shop/data"]),
            _ => (Some("shop/data"), vec!["shop/halts"]),
        };
        if let Some(claim) = deleted_first {
            fake.delete(CLAIMS, claim);
            fake.quiet().await;
        }
        let halted_at = plugin.halted_at.lock().unwrap().unwrap();
        seen.push(halted_at);
        first.kill().await;
        *plugin.steps_left.lock().unwrap() = None;
        let second = Controller::with(&fake, with("second"));
        fake.quiet().await;
        let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
        if step < 2 {
            let phase = fake.lock().at(CLAIMS, "shop/halts", "/status/phase");
            assert_eq!(phase, "Bound", "{halted_at}");
            assert!(folder().join(&name).is_dir(), "{halted_at}");
        }
        for claim in deleted_last {
            fake.delete(CLAIMS, claim);
        }
        fake.quiet().await;
        let state = fake.lock();
        assert!(state.get(VOLUMES, &name).is_none(), "{halted_at}");
        assert!(!folder().join(&name).exists(), "{halted_at}");
        let phase = state.at(VOLUMES, "again", "/status/phase");
        assert_eq!(phase, "Available", "{halted_at}");
        assert_eq!(std::fs::read_dir(&recycled).unwrap().count(), 0);
        drop(state);
        std::fs::remove_dir(recycled).unwrap();
        fake.assert_no_wrongs();
        second.stop().await;
    }
    let expected = ["provision", "delete", "recycle"];
    let expected = expected.map(|work| [format!("before {work}"), format!("after {work}")]);
    assert_eq!(seen, expected.concat());
}
