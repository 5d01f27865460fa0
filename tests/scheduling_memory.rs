//! How much memory one call for many nodes takes, its answers included.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support {
    pub mod allocations;
}

use std::sync::Arc;

use pvbind::api::{Node, Object, Pod};
use pvbind::matching::Features;
use pvbind::scheduling::{PodClaims, find_pod_volumes_on_nodes, find_pod_volumes_plain};
use pvbind::view::Snapshot;
use serde_json::{Value, json};
use support::allocations::{Counting, peak_of};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NODES: usize = 5_000;
const ZONES: usize = 10;

fn node(place: usize) -> Node {
    let name = format!("host-{place}");
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": format!("zone-{}", place % ZONES)}}}))
    .unwrap()
}

fn class(name: &str, provisioner: &str) -> Value {
    json!({"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner,
           "volumeBindingMode": "WaitForFirstConsumer"})
}

fn claim(name: &str, class: &str, size: &str) -> Value {
    json!({"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": name},
           "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": size}}}})
}

fn volume(name: &str, size: &str, modes: &[&str], key: &str, value: &str) -> Value {
    json!({"kind": "PersistentVolume", "metadata": {"name": name},
           "spec": {"storageClassName": "local", "accessModes": modes, "capacity": {"storage": size},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                        {"key": key, "operator": "In", "values": [value]}]}]}}},
           "status": {"phase": "Available"}})
}

/// Several volumes of each size, in two sets of access modes, on every host.
fn pinned() -> Vec<Value> {
    let on_host = |place: usize| {
        let host = format!("host-{place}");
        ["100Gi", "150Gi", "200Gi", "250Gi", "300Gi", "350Gi"]
            .into_iter()
            .enumerate()
            .map(move |(number, size)| {
                let modes = [&["ReadWriteOnce"][..], &["ReadWriteOnce", "ReadOnlyMany"]];
                let name = format!("pv-{place}-{number}");
                volume(
                    &name,
                    size,
                    modes[number % 2],
                    "kubernetes.io/hostname",
                    &host,
                )
            })
    };
    (0..NODES).flat_map(on_host).collect()
}

/// Many volumes that all nodes of a zone reach.
fn zonal() -> Vec<Value> {
    let in_zone = |place: usize| {
        let (name, zone) = (
            format!("pv-zonal-{place}"),
            format!("zone-{}", place % ZONES),
        );
        let key = "topology.kubernetes.io/zone";
        volume(&name, "120Gi", &["ReadWriteOnce"], key, &zone)
    };
    (0..ZONES * 100).map(in_zone).collect()
}

/// A pool on every host.
fn pools() -> Vec<Value> {
    let on_host = |place: usize| {
        json!({"kind": "CSIStorageCapacity",
               "metadata": {"namespace": "shop", "name": format!("pool-{place}")},
               "storageClassName": "csi", "capacity": "1Ti",
               "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": format!("host-{place}")}}})
    };
    let driver = json!({"kind": "CSIDriver", "metadata": {"name": "csi.example.com"},
                        "spec": {"storageCapacity": true}});
    (0..NODES).map(on_host).chain([driver]).collect()
}

fn bytes_per_node(what: &str, class_of_claims: &str, objects: Vec<Value>) -> usize {
    let claims = [("c-3", "300Gi"), ("c-1", "100Gi"), ("c-2", "200Gi")];
    let claims = claims.map(|(name, size)| claim(name, class_of_claims, size));
    let classes = [
        class("local", "kubernetes.io/no-provisioner"),
        class("csi", "csi.example.com"),
    ];
    let objects = objects.into_iter().chain(claims).chain(classes);
    let snapshot: Snapshot = objects
        .map(|value| Object::from_value(value).unwrap())
        .collect();
    let used =
        ["c-3", "c-1", "c-2"].map(|name| json!({"persistentVolumeClaim": {"claimName": name}}));
    let pod = json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": {"volumes": used}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let claims = PodClaims::of(&pod, &snapshot).unwrap();
    let nodes: Vec<_> = (0..NODES).map(node).map(Arc::new).collect();
    let nodes = || nodes.iter().map(|node| &**node);

    let (answers, peak) =
        peak_of(|| find_pod_volumes_on_nodes(&claims, nodes(), &snapshot, Features::default()));
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().fits()));
    for (node, answer) in nodes().zip(&answers).step_by(NODES / 3) {
        assert_eq!(
            answer,
            &find_pod_volumes_plain(&claims, node, &snapshot, Features::default())
        );
    }
    println!(
        "{what}: {} bytes per node at the peak, answers included",
        peak / NODES
    );
    peak / NODES
}

#[test]
fn a_call_for_5000_different_nodes_takes_less_than_a_kibibyte_a_node() {
    let both = [pinned(), zonal()].concat();
    for (what, class, objects) in [
        ("six volumes pinned to each host", "local", pinned()),
        ("and 100 in each zone", "local", both),
        ("a capacity pool on each host", "csi", pools()),
    ] {
        let bytes = bytes_per_node(what, class, objects);
        assert!(bytes < 1024, "{what}: {bytes} bytes per node");
    }
}
