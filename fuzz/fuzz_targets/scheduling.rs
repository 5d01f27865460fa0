//! A small cluster and a pod: all forms of the search for its volumes.
//!
//! Nothing may panic or take long; many nodes and the plain form answer as one
//! node does; choosing the volumes together is never worse.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pvbind::api::{Node, Object};
use pvbind::matching::Features;
use pvbind::scheduling::{
    Assumptions, PodClaims, PodSearch, PodVolumes, PoolRoom, ScoreShape, assign_pod_volumes,
    find_pod_volumes, find_pod_volumes_on_nodes, find_pod_volumes_plain, pre_filter,
    utilization_score, wasted_bytes,
};
use pvbind::view::{ClusterView, Snapshot};
use serde_json::{Value, json};

#[derive(Arbitrary, Debug)]
struct Cluster {
    classes: [Class; 3],
    volumes: Vec<Volume>,
    claims: Vec<Claim>,
    pools: Vec<Pool>,
    /// The claims that the pod uses, by number.
    used: Vec<u8>,
    hosts: Vec<u8>,
    has_attributes_classes: bool,
}

#[derive(Arbitrary, Debug)]
struct Class {
    provisioner: u8,
    mode: Option<bool>,
    zone: Option<u8>,
}

#[derive(Arbitrary, Debug)]
struct Volume {
    name: u8,
    class: u8,
    size: u8,
    modes: u8,
    label: Option<u8>,
    host: Option<u8>,
    claim: Option<u8>,
    is_available: bool,
    attributes: bool,
}

#[derive(Arbitrary, Debug)]
struct Claim {
    class: u8,
    size: Option<u8>,
    modes: u8,
    label: Option<u8>,
    selected: Option<u8>,
    volume: Option<u8>,
    is_complete: bool,
    attributes: bool,
}

#[derive(Arbitrary, Debug)]
struct Pool {
    class: u8,
    capacity: Option<u8>,
    largest: Option<u8>,
    host: Option<Option<u8>>,
}

const SIZES: [&str; 12] = [
    "0",
    "1",
    "2",
    "3",
    "5Gi",
    "5G",
    "10Gi",
    "8Ei",
    "1e40",
    "-1",
    "100m",
    "1e2000000000",
];
const MODES: [&str; 4] = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "Other"];

fn size(size: u8) -> &'static str {
    SIZES[usize::from(size) % SIZES.len()]
}

fn modes(bits: u8) -> Vec<&'static str> {
    let chosen = MODES.iter().enumerate();
    let chosen = chosen.filter(|(place, _)| bits >> place & 1 == 1);
    chosen.map(|(_, mode)| *mode).collect()
}

fn class(class: u8) -> String {
    // The last of them does not exist.
    format!("class-{}", class % 4)
}

fn host(host: u8) -> String {
    format!("host-{}", host % 4)
}

fn annotations(claim: &Claim) -> BTreeMap<&'static str, String> {
    let selected = claim.selected.map(host);
    let selected = selected.map(|host| ("volume.kubernetes.io/selected-node", host));
    let complete = claim
        .is_complete
        .then(|| ("pv.kubernetes.io/bind-completed", "yes".to_owned()));
    selected.into_iter().chain(complete).collect()
}

fn read(value: Value) -> Object {
    Object::from_value(value).expect("the object is well formed")
}

impl Cluster {
    fn snapshot(&self) -> Snapshot {
        let classes = self.classes.iter().enumerate().map(|(number, class)| {
            let mode = class.mode.map(|is_delayed| {
                if is_delayed { "WaitForFirstConsumer" } else { "Immediate" }
            });
            let provisioner = ["kubernetes.io/no-provisioner", "csi", "free"];
            json!({"kind": "StorageClass", "metadata": {"name": format!("class-{number}")},
                "provisioner": provisioner[usize::from(class.provisioner) % 3],
                "volumeBindingMode": mode,
                "allowedTopologies": class.zone.map(|zone| json!([{"matchLabelExpressions": [
                    {"key": "kubernetes.io/hostname", "values": [host(zone), host(zone.wrapping_add(1))]}]}]))})
        });
        let volumes = self.volumes.iter().take(40).map(|volume| {
            json!({"kind": "PersistentVolume",
                "metadata": {"name": format!("pv-{}", volume.name),
                    "labels": volume.label.map(|label| json!({"x": (label % 3).to_string()}))},
                "spec": {"storageClassName": class(volume.class),
                    "capacity": {"storage": size(volume.size)},
                    "accessModes": modes(volume.modes),
                    "volumeAttributesClassName": volume.attributes.then_some("gold"),
                    "claimRef": volume.claim.map(|claim| json!({
                        "namespace": "shop", "name": format!("c-{}", claim % 8)})),
                    "nodeAffinity": volume.host.map(|name| json!({"required": {
                        "nodeSelectorTerms": [{"matchExpressions": [
                            {"key": "kubernetes.io/hostname", "operator": "In",
                             "values": [host(name)]}]}]}}))},
                "status": {"phase": if volume.is_available { "Available" } else { "Bound" }}})
        });
        let claims = self
            .claims
            .iter()
            .take(8)
            .enumerate()
            .map(|(number, claim)| {
                json!({"kind": "PersistentVolumeClaim",
                "metadata": {"namespace": "shop", "name": format!("c-{number}"),
                    "annotations": annotations(claim)},
                "spec": {"storageClassName": class(claim.class),
                    "accessModes": modes(claim.modes),
                    "volumeAttributesClassName": claim.attributes.then_some("gold"),
                    "volumeName": claim.volume.map(|volume| format!("pv-{volume}")),
                    "selector": claim.label.map(|label| json!({
                        "matchLabels": {"x": (label % 3).to_string()}})),
                    "resources": {"requests": claim.size.map(|request| json!({
                        "storage": size(request)}))}}})
            });
        let pools = self.pools.iter().take(8).enumerate().map(|(number, pool)| {
            json!({"kind": "CSIStorageCapacity",
                "metadata": {"namespace": "csi", "name": format!("pool-{number}")},
                "storageClassName": class(pool.class),
                "capacity": pool.capacity.map(size), "maximumVolumeSize": pool.largest.map(size),
                "nodeTopology": pool.host.map(|name| json!({
                    "matchLabels": name.map(|name| json!({
                        "kubernetes.io/hostname": host(name)}))}))})
        });
        let driver = json!({"kind": "CSIDriver", "metadata": {"name": "csi"},
            "spec": {"storageCapacity": true}});
        let objects = classes
            .chain(volumes)
            .chain(claims)
            .chain(pools)
            .chain([driver]);
        objects.map(read).collect()
    }

    fn pod(&self) -> pvbind::api::Pod {
        let used: Vec<_> = self.used.iter().take(8).collect();
        let volumes: Vec<_> = used
            .into_iter()
            .map(
                |claim| json!({"persistentVolumeClaim": {"claimName": format!("c-{}", claim % 8)}}),
            )
            .collect();
        serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": "web"}, "spec": {"volumes": volumes}}))
        .expect("the pod is well formed")
    }

    fn nodes(&self) -> Vec<Node> {
        let hosts = self.hosts.iter().take(6).map(|&name| {
            let name = host(name);
            json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
        });
        hosts
            .map(|node| serde_json::from_value(node).expect("the node is well formed"))
            .collect()
    }
}

fn check(volumes: &PodVolumes) {
    let given: BTreeSet<_> = volumes
        .static_bindings
        .iter()
        .map(|b| b.volume.name())
        .collect();
    assert_eq!(
        given.len(),
        volumes.static_bindings.len(),
        "a volume is given away once"
    );
    for shape in [ScoreShape::default(), ScoreShape::emptier_first()] {
        let score = utilization_score(&volumes.static_bindings, &shape);
        assert!((0..=100).contains(&score));
    }
}

/// Provisions, and then waste, where it can be told exactly.
fn cost(volumes: &PodVolumes) -> (usize, Option<i128>) {
    let bindings = &volumes.static_bindings;
    let is_exact = bindings.iter().all(|binding| {
        let sizes = [binding.volume.storage(), binding.claim.requested_storage()];
        sizes
            .iter()
            .all(|size| size.as_i64().is_some_and(|bytes| bytes >= 0))
    });
    let waste = is_exact.then(|| wasted_bytes(bindings));
    (volumes.dynamic_provisions.len(), waste)
}

fuzz_target!(|cluster: Cluster| {
    let snapshot = cluster.snapshot();
    let pod = cluster.pod();
    let _ = pre_filter(&pod, &snapshot);
    let Ok(claims) = PodClaims::of(&pod, &snapshot) else {
        return;
    };
    let features = Features::default().with_volume_attributes_class(cluster.has_attributes_classes);
    let nodes = cluster.nodes();
    let search = PodSearch::new(&claims, &snapshot, features);
    let answers = find_pod_volumes_on_nodes(&claims, &nodes, &snapshot, features);
    assert_eq!(answers.len(), nodes.len());
    for (node, answer) in nodes.iter().zip(answers) {
        assert_eq!(answer, find_pod_volumes(&claims, node, &snapshot, features));
        assert_eq!(
            answer,
            find_pod_volumes_plain(&claims, node, &snapshot, features)
        );
        let shared = assign_pod_volumes(&claims, node, &snapshot, features, PoolRoom::Shared);
        let alone = assign_pod_volumes(&claims, node, &snapshot, features, PoolRoom::PerClaim);
        for better in [&shared, &alone].into_iter().flatten() {
            check(better);
        }
        let Ok(faithful) = answer else {
            continue;
        };
        assert_eq!(faithful.fits(), search.explain(node).is_empty());
        if !faithful.fits() {
            continue;
        }
        let alone = alone.expect("the better policy has an answer where the faithful one fits");
        assert!(alone.fits());
        let (was, is) = (cost(&faithful), cost(&alone));
        assert!(is.0 <= was.0);
        if let ((was_made, Some(was)), (is_made, Some(is))) = (was, is) {
            assert!(is_made < was_made || is <= was);
        }
        let mut assumptions = Assumptions::new();
        let (assumption, _plan) = assumptions.assume(&pod, &claims, node.name(), &faithful);
        for binding in &faithful.static_bindings {
            let over = assumptions.over(&snapshot);
            let held = over.volume(binding.volume.name());
            assert!(held.is_some_and(|volume| volume.claim_ref().is_some()));
        }
        assumptions.revert(assumption);
        assert!(assumptions.is_empty());
    }
});
