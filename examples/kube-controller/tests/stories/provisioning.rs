//! Claims whose volumes are made for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kube_controller::permit::Permit;
use kube_controller::provisioner::Provisioner;
use pvbind::api::PersistentVolume;
use pvbind::controller::{InTreePlugin, ProvisionRequest};
use serde_json::{Value, json};

use crate::cluster::{
    Controller, HOST_PATH, claim, class, folder, settings, volume, with_provisioner,
};
use crate::fake::{CLAIMS, Fake, VOLUMES};

pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

pub(crate) fn node(name: &str) -> Value {
    json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": name,
        "labels": {"kubernetes.io/hostname": name}}})
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_made_at_once_for_an_immediate_class() {
    let fake = Fake::new();
    fake.create(class("local", HOST_PATH, "Immediate"));
    let made = fake.create(claim("data", "5Gi", json!({"storageClassName": "local"})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
    {
        let state = fake.lock();
        assert_eq!(state.at(CLAIMS, "shop/data", "/status/phase"), "Bound");
        assert_eq!(state.at(CLAIMS, "shop/data", "/spec/volumeName"), *name);
        assert_eq!(state.at(VOLUMES, &name, "/status/phase"), "Bound");
        assert_eq!(state.at(VOLUMES, &name, "/spec/capacity/storage"), "5Gi");
        assert_eq!(state.at(VOLUMES, &name, "/spec/storageClassName"), "local");
        let by = "/metadata/annotations/pv.kubernetes.io~1provisioned-by";
        assert_eq!(state.at(VOLUMES, &name, by), HOST_PATH);
        let events = state.events_about("data");
        assert!(
            events.contains(&"ProvisioningSucceeded".to_owned()),
            "{events:?}"
        );
        assert_eq!(state.wrongs, [] as [&str; 0]);
    }
    assert!(folder().join(&name).is_dir());
    std::fs::remove_dir_all(folder().join(name)).unwrap();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn with_wait_for_first_consumer_a_volume_is_made_once_the_scheduler_chose_a_node() {
    let fake = Fake::new();
    fake.create(node("node-a"));
    fake.create(class("waits", HOST_PATH, "WaitForFirstConsumer"));
    let made = fake.create(claim("data", "5Gi", json!({"storageClassName": "waits"})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    assert!(fake.lock().all(VOLUMES).is_empty());
    let events = fake.lock().events_about("data");
    assert_eq!(
        events,
        ["WaitForFirstConsumer"],
        "one event, however often it is said"
    );

    // The scheduler chooses.
    let annotations = json!({"metadata": {"annotations": {SELECTED_NODE: "node-a"}}});
    fake.patch(CLAIMS, "shop/data", annotations);
    fake.quiet().await;
    assert_eq!(
        fake.lock().at(CLAIMS, "shop/data", "/status/phase"),
        "Bound"
    );
    fake.assert_no_wrongs();
    let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
    std::fs::remove_dir_all(folder().join(name)).unwrap();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn with_wait_for_first_consumer_the_scheduler_may_choose_a_volume_that_is_there() {
    let fake = Fake::new();
    fake.create(class(
        "waits",
        "kubernetes.io/no-provisioner",
        "WaitForFirstConsumer",
    ));
    for name in ["pv-a", "pv-b"] {
        fake.create(volume(name, "5Gi", json!({"storageClassName": "waits"})));
    }
    let made = fake.create(claim("data", "5Gi", json!({"storageClassName": "waits"})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    assert_eq!(
        fake.lock().at(CLAIMS, "shop/data", "/status/phase"),
        "Pending"
    );

    // The scheduler's assumed bind.
    let assumed = json!({
        "metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
        "spec": {"claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
            "namespace": "shop", "name": "data", "uid": made["metadata"]["uid"]}}});
    fake.patch(VOLUMES, "pv-b", assumed);
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(state.at(CLAIMS, "shop/data", "/spec/volumeName"), "pv-b");
    assert_eq!(state.at(CLAIMS, "shop/data", "/status/phase"), "Bound");
    assert_eq!(state.at(VOLUMES, "pv-a", "/status/phase"), "Available");
    assert_eq!(state.wrongs, [] as [&str; 0]);
    drop(state);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_external_provisioner_is_told_and_what_it_makes_is_bound() {
    let fake = Fake::new();
    fake.create(class("fast", "csi.example.com", "Immediate"));
    let made = fake.create(claim("data", "5Gi", json!({"storageClassName": "fast"})));
    let controller = Controller::start(&fake, "a");
    let provisioner = "/metadata/annotations/volume.kubernetes.io~1storage-provisioner";
    fake.until("the claim is handed over", |state| {
        state.at(CLAIMS, "shop/data", provisioner) == "csi.example.com"
    })
    .await;
    let reference = json!({
        "storageClassName": "fast", "nfs": null, "persistentVolumeReclaimPolicy": "Delete",
        "csi": {"driver": "csi.example.com", "volumeHandle": "h-1"},
        "claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "shop",
            "name": "data", "uid": made["metadata"]["uid"]}});
    fake.create(volume("pvc-1", "5Gi", reference));
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(state.at(CLAIMS, "shop/data", "/spec/volumeName"), "pvc-1");
    assert_eq!(state.at(VOLUMES, "pvc-1", "/status/phase"), "Bound");
    assert_eq!(state.events_about("data")[0], "ExternalProvisioning");
    drop(state);
    controller.stop().await;
}

/// A plugin that takes its time, and fails as often as it is told.
#[derive(Default)]
pub(crate) struct Slow {
    pub(crate) takes: Duration,
    pub(crate) fails: AtomicUsize,
    pub(crate) calls: AtomicUsize,
    pub(crate) going_on: AtomicUsize,
    pub(crate) most_at_once: AtomicUsize,
}

struct GoingOn<'a>(&'a AtomicUsize);

impl Drop for GoingOn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Provisioner for Slow {
    fn plugin(&self) -> InTreePlugin {
        InTreePlugin {
            can_provision: true,
            can_delete: true,
            ..InTreePlugin::new("kubernetes.io/slow", ["nfs"])
        }
    }

    fn provision(
        &self,
        request: ProvisionRequest,
        _permit: Permit,
    ) -> BoxFuture<'_, Result<PersistentVolume, String>> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::SeqCst);
            let before = self.going_on.fetch_add(1, Ordering::SeqCst);
            let _going_on = GoingOn(&self.going_on);
            self.most_at_once.fetch_max(before + 1, Ordering::SeqCst);
            tokio::time::sleep(self.takes).await;
            let left = self.fails.load(Ordering::SeqCst);
            if left > 0 {
                self.fails.store(left - 1, Ordering::SeqCst);
                return Err("quota exceeded".to_owned());
            }
            let spec = &request.claim.spec;
            let volume = json!({"spec": {
                "capacity": spec.resources.requests, "accessModes": spec.access_modes,
                "volumeMode": spec.volume_mode,
                "persistentVolumeReclaimPolicy": request.class.reclaim_policy,
                "nfs": {"server": "files", "path": format!("/{}", request.volume_name)}}});
            Ok(serde_json::from_value(volume).unwrap())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_runs_once_at_a_time_however_often_its_claim_is_synced() {
    let fake = Fake::new();
    let slow = Arc::new(Slow {
        takes: Duration::from_secs(100),
        ..Slow::default()
    });
    let settings = with_provisioner(settings("a"), slow.clone());
    fake.create(class("slow", "kubernetes.io/slow", "Immediate"));
    fake.create(claim("data", "5Gi", json!({"storageClassName": "slow"})));
    let controller = Controller::with(&fake, settings);
    for seconds in 0..10 {
        let labels = json!({"metadata": {"labels": {"touched": seconds.to_string()}}});
        fake.patch(CLAIMS, "shop/data", labels);
        tokio::time::sleep(Duration::from_secs(7)).await;
    }
    fake.until("bound", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
    assert_eq!(slow.calls.load(Ordering::SeqCst), 1);
    assert_eq!(slow.most_at_once.load(Ordering::SeqCst), 1);
    assert_eq!(fake.lock().all(VOLUMES).len(), 1);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_fails_says_so_and_is_tried_again_after_a_while() {
    let fake = Fake::new();
    let slow = Arc::new(Slow {
        fails: AtomicUsize::new(4),
        ..Slow::default()
    });
    let settings = with_provisioner(settings("a"), slow.clone());
    fake.create(class("slow", "kubernetes.io/slow", "Immediate"));
    fake.create(claim("data", "5Gi", json!({"storageClassName": "slow"})));
    let controller = Controller::with(&fake, settings);
    fake.until("bound", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
    assert_eq!(slow.calls.load(Ordering::SeqCst), 5);
    // The count is written once in a while.
    tokio::time::sleep(Duration::from_secs(90)).await;
    let events = fake.lock().events_about("data");
    assert_eq!(events, ["ProvisioningFailed", "ProvisioningSucceeded"]);
    let state = fake.lock();
    let failed = state.all("events").into_iter();
    let mut failed = failed.filter(|event| event["reason"] == "ProvisioningFailed");
    let failed = failed.next().unwrap();
    assert_eq!(failed["series"]["count"], 4);
    assert!(
        failed["note"].as_str().unwrap().ends_with("quota exceeded"),
        "{failed}"
    );
    drop(state);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_told_to_stop_lets_its_operations_end() {
    let fake = Fake::new();
    let slow = Arc::new(Slow {
        takes: Duration::from_secs(10),
        ..Slow::default()
    });
    let settings = with_provisioner(settings("a"), slow.clone());
    fake.create(class("slow", "kubernetes.io/slow", "Immediate"));
    fake.create(claim("data", "5Gi", json!({"storageClassName": "slow"})));
    let controller = Controller::with(&fake, settings);
    while slow.calls.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    controller.stop().await;
    assert_eq!(fake.lock().all(VOLUMES).len(), 1, "what was made is known");
    let holder = "/spec/holderIdentity";
    let lease = fake
        .lock()
        .at("leases", "kube-system/pvbind-controller", holder);
    assert_eq!(lease, Value::Null, "the lead was given back");
}
