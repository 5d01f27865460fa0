//! What the server in memory shares with a real one.

use serde_json::json;

use super::*;
use crate::api::Node;
use crate::controller::{DeleteError, ProvisionRequest};

fn volume(json: serde_json::Value) -> PersistentVolume {
    serde_json::from_value(json).unwrap()
}

fn change(from: &PersistentVolume, to: PersistentVolume) -> Change<PersistentVolume> {
    Change {
        from: Arc::new(from.clone()),
        to: Arc::new(to),
    }
}

#[test]
fn a_write_that_is_based_on_an_old_version_is_a_conflict() {
    let mut server = MemoryServer::default();
    let first = server
        .create_volume(&volume(json!({"metadata": {"name": "pv-1"}})))
        .unwrap();
    let mut labelled = first.clone();
    labelled.metadata.labels = Some([("disk".to_owned(), "ssd".to_owned())].into());
    let second = server
        .update_volume(&change(&first, labelled.clone()))
        .unwrap();
    assert_eq!(second.metadata.resource_version(), "2");
    let error = server.update_volume(&change(&first, labelled)).unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Conflict);
    assert_eq!(
        error.message,
        "Operation cannot be fulfilled on persistentvolumes \"pv-1\": the object has been \
         modified; please apply your changes to the latest version and try again"
    );
    assert!(server.delete_volume(&first).is_err());
    assert_eq!(server.delete_volume(&second), Ok(()));
    assert_eq!(
        server.delete_volume(&second).unwrap_err().kind,
        ApiErrorKind::NotFound
    );
}

#[test]
fn an_object_of_the_same_name_that_was_made_again_is_another() {
    let mut server = MemoryServer::default();
    let named = volume(json!({"metadata": {"name": "pv-1"}}));
    let mut first = server.create_volume(&named).unwrap();
    server.delete_volume(&first).unwrap();
    let second = server.create_volume(&named).unwrap();
    assert_ne!(first.metadata.uid(), second.metadata.uid());
    first.metadata.resource_version = None;
    let error = server
        .update_volume(&change(&first, first.clone()))
        .unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Conflict);
}

#[test]
fn spec_and_status_are_written_apart() {
    let mut server = MemoryServer::default();
    let stored = server
        .create_volume(&volume(json!({"metadata": {"name": "pv-1"}})))
        .unwrap();
    let mut both = stored.clone();
    both.spec.storage_class_name = Some("fast".to_owned());
    both.status.phase = Some("Bound".into());
    let written = server
        .update_volume(&change(&stored, both.clone()))
        .unwrap();
    assert_eq!(written.status.phase, Some("Pending".into()));
    assert_eq!(written.spec, both.spec);
    both.metadata = written.metadata.clone();
    both.spec.storage_class_name = Some("slow".to_owned());
    let written = server
        .update_volume_status(&change(&written, both))
        .unwrap();
    assert_eq!(written.spec.storage_class_name.as_deref(), Some("fast"));
    assert_eq!(written.status.phase, Some("Bound".into()));
    assert_eq!(written.metadata.resource_version(), "3");
}

#[test]
fn a_write_that_changes_nothing_keeps_the_version() {
    let mut server = MemoryServer::default();
    let stored = server
        .create_volume(&volume(json!({"metadata": {"name": "pv-1"}})))
        .unwrap();
    let written = server.update_volume(&change(&stored, stored.clone()));
    assert_eq!(written, Ok(stored));
}

#[test]
fn what_is_deleted_goes_with_its_last_finalizer() {
    let mut server = MemoryServer::default();
    let stored = server
        .create_volume(&volume(json!({"metadata": {"name": "pv-1",
            "finalizers": ["kubernetes.io/pv-protection"]}})))
        .unwrap();
    server.delete_volume(&stored).unwrap();
    let held = server.read_volume("pv-1").unwrap().unwrap();
    assert!(held.metadata.is_being_deleted());
    // Nobody can take a deletion back.
    let mut free = held.clone();
    free.metadata.deletion_timestamp = None;
    free.metadata.finalizers = None;
    server.update_volume(&change(&held, free)).unwrap();
    assert_eq!(server.read_volume("pv-1").unwrap(), None);
}

/// A cluster of these objects.
fn cluster(objects: serde_json::Value) -> Snapshot {
    let objects: Vec<Object> = serde_json::from_value(objects).unwrap();
    objects.into_iter().collect()
}

fn claim(json: serde_json::Value) -> PersistentVolumeClaim {
    serde_json::from_value(json).unwrap()
}

#[test]
fn versions_rise_above_what_the_cluster_came_with() {
    for (had, next) in [("41", "42"), ("199", "200"), ("0", "1")] {
        let metadata = json!({"name": "node-a", "uid": "u-1", "resourceVersion": had});
        let node = json!({"kind": "Node", "metadata": metadata});
        let mut server = MemoryServer::new(cluster(json!([node])));
        let created = server.create_volume(&volume(json!({"metadata": {"name": "pv-1"}})));
        let created = created.unwrap();
        assert_eq!(created.metadata.resource_version(), next, "after `{had}`");
    }
    let nines = "9".repeat(30);
    assert_eq!(successor(&nines), format!("1{}", "0".repeat(30)));
}

/// A server with a volume of this version, and what it has after a write to it.
fn after_a_write_over(version: &str) -> (MemoryServer, PersistentVolume) {
    let metadata = json!({"name": "pv-1", "uid": "u-1", "resourceVersion": version});
    let loaded = json!({"kind": "PersistentVolume", "metadata": metadata});
    let mut server = MemoryServer::new(cluster(json!([loaded])));
    let stored = server.read_volume("pv-1").unwrap().unwrap();
    let mut available = stored.clone();
    available.status.phase = Some("Available".into());
    let written = server
        .update_volume_status(&change(&stored, available))
        .unwrap();
    assert_eq!(server.read_volume("pv-1"), Ok(Some(written.clone())));
    (server, written)
}

#[test]
fn a_version_longer_than_any_stays_with_its_object() {
    let (mut server, written) = after_a_write_over(&"9".repeat(100_000));
    assert_eq!(written.metadata.resource_version().len(), 100_001);
    let other = server.create_volume(&volume(json!({"metadata": {"name": "pv-2"}})));
    assert_eq!(other.unwrap().metadata.resource_version(), "1");
}

#[test]
fn versions_that_are_no_numbers_are_replaced_by_numbers() {
    let (_, written) = after_a_write_over("x");
    assert_eq!(written.metadata.resource_version(), "1");
}

struct NoBackend;

impl Backend for NoBackend {
    fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> {
        Err("there is none".to_owned())
    }

    fn provision(&mut self, _: &ProvisionRequest) -> Result<PersistentVolume, String> {
        Err("there is none".to_owned())
    }

    fn delete(&mut self, _: &str, _: &PersistentVolume) -> Result<(), DeleteError> {
        Err(DeleteError::Failed("there is none".to_owned()))
    }

    fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> {
        Err("there is none".to_owned())
    }
}

fn settle(server: &mut MemoryServer) {
    for _ in 0..5 {
        if server.resync(&Config::default(), &mut NoBackend) == 0 {
            return;
        }
    }
    panic!("it does not end");
}

/// What somebody writes by hand, without uids and versions.
fn manifests() -> Snapshot {
    cluster(json!([
        {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
            "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}},
        {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}},
    ]))
}

#[test]
fn what_was_written_by_hand_is_bound_and_stays_so() {
    let mut server = MemoryServer::new(manifests());
    settle(&mut server);
    let volume = server.read_volume("pv-1").unwrap().unwrap();
    let claim = server.read_claim(&ClaimKey::new("shop", "data")).unwrap();
    assert!(volume.is_bound_to(&claim.unwrap()));
}

#[test]
fn a_simulation_that_goes_on_later_does_not_give_a_claims_data_to_its_successor() {
    let mut server = MemoryServer::new(manifests());
    settle(&mut server);
    // Saved, and begun again.
    let mut server = MemoryServer::new(server.snapshot().clone());
    let key = ClaimKey::new("shop", "data");
    let first = server.read_claim(&key).unwrap().unwrap();
    server.delete_claim(&key).unwrap();
    let mut server = MemoryServer::new(server.snapshot().clone());
    let again = json!({"metadata": {"namespace": "shop", "name": "data"}, "spec": first.spec});
    let mut again = claim(again);
    again.spec.volume_name = None;
    let second = server.create_claim(&again).unwrap();
    assert_ne!(first.metadata.uid(), second.metadata.uid());
    settle(&mut server);
    let volume = server.read_volume("pv-1").unwrap().unwrap();
    assert_eq!(volume.status.phase, Some("Released".into()));
    let second = server.read_claim(&key).unwrap().unwrap();
    assert_eq!(second.status.phase, Some("Pending".into()));
}

#[test]
fn what_an_api_server_fills_in_is_filled_in() {
    let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"}});
    let mut server = MemoryServer::new(cluster(json!([class])));
    let class = server.snapshot().find::<StorageClass>("", "fast").unwrap();
    assert_eq!(class.volume_binding_mode, Some("Immediate".into()));
    assert_eq!(class.reclaim_policy, Some("Delete".into()));
    // Nobody creates an object with a status or in the past.
    server.set_time("2026-11-30T00:00:00Z".into());
    let created = server.create_volume(&volume(json!({
        "metadata": {"name": "pv-1", "creationTimestamp": "2020-01-01T00:00:00Z"},
        "status": {"phase": "Bound"}})));
    let created = serde_json::to_value(created.unwrap()).unwrap();
    assert_eq!(created["status"], json!({"phase": "Pending"}));
    assert_eq!(created["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(
        created["metadata"]["creationTimestamp"],
        "2026-11-30T00:00:00Z"
    );
}

#[test]
fn what_is_being_deleted_gets_no_new_finalizers() {
    let mut server = MemoryServer::default();
    let named = volume(json!({"metadata": {"name": "pv-1", "finalizers": ["a"]}}));
    let stored = server.create_volume(&named).unwrap();
    server.delete_volume(&stored).unwrap();
    let held = server.read_volume("pv-1").unwrap().unwrap();
    let mut more = held.clone();
    more.metadata.finalizers = Some(vec!["a".to_owned(), "b".to_owned()]);
    let error = server.update_volume(&change(&held, more)).unwrap_err();
    assert_eq!(
        error.message,
        "persistentvolumes \"pv-1\" is invalid: metadata.finalizers: Forbidden: no new \
         finalizers can be added if the object is being deleted, found new finalizers [\"b\"]"
    );
}

#[test]
fn what_others_put_replaces_what_was_there_whatever_its_version() {
    for version in ["7", "x", &"9".repeat(1_000)] {
        let metadata = json!({"name": "node-a", "uid": "u-1", "resourceVersion": version});
        let node = json!({"kind": "Node", "metadata": metadata});
        let mut server = MemoryServer::new(cluster(json!([node])));
        let labels = json!({"name": "node-a", "labels": {"zone": "a"}});
        let labelled: Node = serde_json::from_value(json!({"metadata": labels})).unwrap();
        server.put(labelled);
        let held = server.snapshot().find::<Node>("", "node-a").unwrap();
        assert_eq!(held.metadata.labels()["zone"], "a", "over `{version:.9}`");
        assert_eq!(held.metadata.uid(), "u-1");
    }
}
