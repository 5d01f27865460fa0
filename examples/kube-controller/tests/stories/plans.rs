//! The end of a story is what a snapshot and plans give without any server.

use std::sync::Arc;

use pvbind::api::{ClaimKey, Object, PersistentVolume, PersistentVolumeClaim, StorageClass};
use pvbind::controller::{
    Backend, ClaimEvidence, Config, DeleteError, ProvisionRequest, run_operation, sync_claim,
    sync_volume,
};
use pvbind::plan::{Plan, Verdict, carry_out};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use crate::cluster::{Controller, HOST_PATH, claim, class, folder, volume};
use crate::fake::{CLAIMS, Fake, VOLUMES};
use crate::trouble::picture;

#[allow(dead_code, reason = "these stories use a part of it")]
#[path = "../../../../tests/support/server.rs"]
mod server;

/// The same as the controller, without anything that it runs on.
struct Bare {
    config: Config,
    server: server::Server,
    /// What never changes here: classes, nodes, pods.
    others: Vec<Object>,
}

impl Bare {
    fn new(objects: &[Value]) -> Self {
        let host_path = kube_controller::host_path::HostPath::new(folder()).unwrap();
        let plugins: [&dyn kube_controller::provisioner::Provisioner; 1] = [&host_path];
        let mut bare = Bare {
            config: kube_controller::provisioner::config(plugins),
            server: server::Server::default(),
            others: Vec::new(),
        };
        for object in objects {
            match Object::from_value(object.clone()).unwrap() {
                Object::PersistentVolume(volume) => {
                    let name = volume.name().to_owned();
                    bare.server.volumes.insert(name, *volume);
                }
                Object::PersistentVolumeClaim(claim) => {
                    bare.server.claims.insert(ClaimKey::of(&claim), *claim);
                }
                other => bare.others.push(other),
            }
        }
        bare
    }

    fn snapshot(&self) -> Snapshot {
        let volumes = self.server.volumes.values().cloned().map(Object::from);
        let claims = self.server.claims.values().cloned().map(Object::from);
        volumes
            .chain(claims)
            .chain(self.others.iter().cloned())
            .collect()
    }

    /// Syncs everything until nothing changes.
    fn settle(&mut self) {
        loop {
            let before = self.server.writes;
            for name in self.server.volumes.keys().cloned().collect::<Vec<_>>() {
                let Some(volume) = self.server.volumes.get(&name).cloned().map(Arc::new) else {
                    continue;
                };
                let snapshot = self.snapshot();
                let mut plan = sync_volume(&self.config, &snapshot, &volume, None);
                if let Verdict::AskApiServer(key) = plan.verdict {
                    let claim = self.server.claims.get(&key).cloned().map(Arc::new);
                    let evidence = ClaimEvidence { key, claim };
                    plan = sync_volume(&self.config, &snapshot, &volume, Some(&evidence));
                }
                self.carry_out(plan);
            }
            for key in self.server.claims.keys().cloned().collect::<Vec<_>>() {
                let claim = self.server.claims[&key].clone();
                let plan = sync_claim(&self.config, &self.snapshot(), &claim);
                self.carry_out(plan);
            }
            if self.server.writes == before {
                return;
            }
        }
    }

    fn carry_out(&mut self, plan: Plan) {
        let report = carry_out(&mut self.server, plan);
        for operation in report.operations() {
            let view = self.snapshot();
            let operation = operation.clone();
            let server = &mut self.server;
            let _ = run_operation(&self.config, &view, server, &mut Folders, operation);
        }
    }

    fn picture(&self) -> Vec<Value> {
        let volumes = self.server.volumes.values().map(|volume| json!(volume));
        let claims = self.server.claims.values().map(|claim| json!(claim));
        volumes.chain(claims).map(plain).collect()
    }
}

/// What the host path plugin answers, without folders.
struct Folders;

impl Backend for Folders {
    fn start_provisioner(&mut self, _plugin: &str, _class: &StorageClass) -> Result<(), String> {
        Ok(())
    }

    fn provision(&mut self, request: &ProvisionRequest) -> Result<PersistentVolume, String> {
        let spec = &request.claim.spec;
        Ok(serde_json::from_value(json!({
            "kind": "PersistentVolume", "apiVersion": "v1",
            "metadata": {"annotations": {"kubernetes.io/createdby": "hostpath-dynamic-provisioner"}},
            "spec": {"capacity": spec.resources.requests, "accessModes": spec.access_modes,
                "volumeMode": spec.volume_mode,
                "persistentVolumeReclaimPolicy": request.class.reclaim_policy,
                "hostPath": {"path": folder().join(&request.volume_name)}}}))
        .unwrap())
    }

    fn delete(&mut self, _plugin: &str, _volume: &PersistentVolume) -> Result<(), DeleteError> {
        Ok(())
    }

    fn recycle(&mut self, _plugin: &str, _volume: &PersistentVolume) -> Result<(), String> {
        Err("not supported".to_owned())
    }
}

/// An object without what only a server adds.
fn plain(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
    ] {
        metadata.remove(field);
    }
    if let Some(status) = object["status"].as_object_mut() {
        status.remove("lastPhaseTransitionTime");
    }
    if let Some(finalizers) = object.pointer_mut("/metadata/finalizers") {
        let kept = finalizers.as_array().unwrap().iter();
        let kept: Vec<_> = kept
            .filter(|name| !name.as_str().unwrap().ends_with("-protection"))
            .cloned()
            .collect();
        *finalizers = json!(kept);
        if kept.is_empty() {
            object["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("finalizers");
        }
    }
    if let Some(reference) = object.pointer_mut("/spec/claimRef") {
        reference.as_object_mut().unwrap().remove("resourceVersion");
    }
    object
}

#[tokio::test(start_paused = true)]
async fn the_cluster_ends_where_plans_alone_lead() {
    let fake = Fake::new();
    let mut objects = vec![
        class("local", HOST_PATH, "Immediate"),
        class("waits", HOST_PATH, "WaitForFirstConsumer"),
        class("fast", "csi.example.com", "Immediate"),
        volume("large", "50Gi", json!({})),
        volume("fitting", "5Gi", json!({})),
        volume("fast", "5Gi", json!({"storageClassName": "fast"})),
        volume(
            "reserved",
            "5Gi",
            json!({"claimRef": {"namespace": "shop", "name": "reserved"}}),
        ),
        volume(
            "foreign",
            "5Gi",
            json!({"claimRef":
            {"namespace": "shop", "name": "nobody", "uid": "uid-of-nobody"}}),
        ),
        volume(
            "again",
            "5Gi",
            json!({"persistentVolumeReclaimPolicy": "Recycle", "claimRef":
            {"namespace": "shop", "name": "nobody", "uid": "uid-of-nobody"}}),
        ),
        claim("data", "4Gi", json!({})),
        claim("more", "5Gi", json!({})),
        claim("too-much", "500Gi", json!({})),
        claim("reserved", "5Gi", json!({})),
        claim("named", "5Gi", json!({"volumeName": "missing"})),
        claim("dynamic", "5Gi", json!({"storageClassName": "local"})),
        claim("waits", "5Gi", json!({"storageClassName": "waits"})),
        claim("static", "5Gi", json!({"storageClassName": "fast"})),
        claim("external", "5Gi", json!({"storageClassName": "fast"})),
    ];
    for object in &mut objects {
        *object = fake.create(object.clone());
    }
    let mut bare = Bare::new(&objects);

    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    bare.settle();
    let pictures =
        |fake: &Fake| -> Vec<Value> { picture(&fake.lock()).into_iter().map(plain).collect() };
    assert_eq!(pictures(&fake), bare.picture());
    assert_eq!(
        fake.lock().at(VOLUMES, "foreign", "/status/phase"),
        "Released"
    );
    assert_eq!(fake.lock().at(VOLUMES, "again", "/status/phase"), "Failed");

    // Then the claims go.
    for name in ["data", "reserved", "dynamic", "static"] {
        fake.delete(CLAIMS, &format!("shop/{name}"));
        bare.server.claims.remove(&ClaimKey::new("shop", name));
    }
    fake.quiet().await;
    bare.settle();
    assert_eq!(pictures(&fake), bare.picture());
    fake.assert_no_wrongs();
    controller.stop().await;
}

/// A snapshot is filled from typed objects as well as from these.
#[test]
fn the_snapshot_of_the_bare_world_holds_its_claims() {
    let bare = Bare::new(&[claim("data", "4Gi", json!({}))]);
    let snapshot = bare.snapshot();
    assert!(
        snapshot
            .find::<PersistentVolumeClaim>("shop", "data")
            .is_some()
    );
}
