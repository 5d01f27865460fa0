//! A provisioner with its driver: a story of claims, failures, restarts and an
//! old cache in any order, under the controller and a scheduler; or one claim
//! and class of any shape, asked for; or any topology.
//!
//! Nothing may panic or take long. What must never be written or asked of the
//! driver is watched by the world and the driver (see `tests/support`); in the
//! end, with a fresh cache and no more faults, everything comes to rest, every
//! claim is bound, and when the claims are gone so are the volumes.
#![no_main]
#![allow(dead_code, reason = "the tests use the rest of the world")]

#[path = "../../tests/support/provisioning.rs"]
mod provisioning;
#[path = "../../tests/support/server.rs"]
mod server;
#[path = "../../tests/support/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pvbind::api::{ClaimKey, CsiNode, Node, PersistentVolumeClaim, StorageClass};
use pvbind::provisioner::{
    CallState, ClaimNext, Config, RequestInputs, TopologyConfig, TopologyQuery, VolumeNames, csi,
    sync_claim, topology_requirement, topology_requirement_plain,
};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use provisioning::{Fault, Sidecar, delete_claim, schedule};
use world::World;

#[derive(Arbitrary, Debug)]
enum Input {
    Story(Vec<Operation>),
    Request(Box<Shape>),
    Topology(Box<Places>),
}

#[derive(Arbitrary, Debug)]
enum Operation {
    CreateClaim(u8, bool),
    DeleteClaim(u8),
    /// The provisioner's cache sees what there is.
    Refresh,
    /// The provisioner syncs with the cache that it has.
    SyncClaim(u8),
    SyncVolume(u8),
    /// The controller comes to rest.
    Control,
    Schedule,
    /// The driver's next call but so many goes wrong.
    Fault(u8, u8),
    /// The next writes so many times succeed, then none does, up to `Mend`.
    Cut(u8),
    Mend,
    Wait(u16),
    /// The provisioner is started again.
    Restart,
    EditPolicy(u8, bool),
}

#[derive(Arbitrary, Debug)]
struct Shape {
    uid: String,
    modes: Vec<String>,
    size: String,
    volume_mode: Option<String>,
    source: Option<(String, String, String)>,
    selector: bool,
    parameters: BTreeMap<String, String>,
    secret: Option<(u8, String, String)>,
    annotations: BTreeMap<String, String>,
    uid_length: Option<u16>,
    capacity: i64,
    segments: Vec<BTreeMap<String, String>>,
    flags: u8,
    prefix: Option<String>,
}

#[derive(Arbitrary, Debug)]
struct Places {
    claim: String,
    nodes: Vec<(BTreeMap<u8, u8>, Option<Vec<u8>>)>,
    allowed: Vec<Vec<(u8, Vec<u8>)>>,
    selected: Option<u8>,
    flags: u8,
}

const MOST: u8 = 3;

fn object<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    serde_json::from_value(value).map(Arc::new).unwrap()
}

fn key(name: u8) -> ClaimKey {
    ClaimKey::new("ns", format!("c-{}", name % MOST))
}

fn fault(kind: u8) -> Fault {
    match kind % 8 {
        0 => Fault::Fails(CallState::Finished),
        1 => Fault::Fails(CallState::InBackground),
        2 => Fault::Fails(CallState::NoChange),
        3 => Fault::Fails(CallState::Reschedule),
        4 => Fault::Lost,
        5 => Fault::Infeasible,
        6 => Fault::TooSmall,
        _ => Fault::Unfilled,
    }
}

fn story(operations: Vec<Operation>) {
    let mut world = World::default();
    world.server.honours_finalizers = true;
    for (name, mode) in [("fast", "Immediate"), ("late", "WaitForFirstConsumer")] {
        world.classes.push(object(
            json!({"metadata": {"name": name}, "provisioner": "disk.csi",
            "volumeBindingMode": mode, "reclaimPolicy": "Delete"}),
        ));
    }
    for (node, zone) in [("n1", "a"), ("n2", "b")] {
        let metadata = json!({"name": node, "labels": {"zone": zone}});
        world.nodes.push(object(json!({"metadata": metadata})));
        let drivers = json!([{"name": "disk.csi", "nodeID": node, "topologyKeys": ["zone"]}]);
        let csi_node = json!({"metadata": {"name": node}, "spec": {"drivers": drivers}});
        world.csi_nodes.push(object(csi_node));
    }
    let mut config = Config::new("disk.csi");
    config.topology = Some(TopologyConfig::default());
    let mut sidecar = Sidecar::new(config);
    // An old cache may ask for a volume again whose claim is gone.
    sidecar.disks.may_be_asked_again = true;
    let mut cache = Snapshot::new();
    for (number, operation) in operations.into_iter().take(40).enumerate() {
        match operation {
            Operation::CreateClaim(name, is_delayed) => {
                let key = key(name);
                if world.server.claims.contains_key(&key) {
                    continue;
                }
                let class = if is_delayed { "late" } else { "fast" };
                let claim: PersistentVolumeClaim = serde_json::from_value(json!({
                    "metadata": {"namespace": "ns", "name": key.name, "resourceVersion": "1",
                        "uid": format!("{}-{number}", key.name)},
                    "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "5Gi"}}},
                    "status": {"phase": "Pending"}}))
                .unwrap();
                world.pods.push(object(json!({
                    "metadata": {"namespace": "ns", "name": format!("{}-{number}", key.name)},
                    "spec": {"volumes": [
                        {"name": "v", "persistentVolumeClaim": {"claimName": key.name}}]}})));
                world.server.claims.insert(key, claim);
            }
            Operation::DeleteClaim(name) => {
                world.server.claims.remove(&key(name));
            }
            Operation::Refresh => {
                world.refresh();
                cache = std::mem::take(&mut world.snapshot);
            }
            Operation::SyncClaim(name) => {
                let key = key(name);
                if let Some(claim) = cache.find(&key.namespace, &key.name).cloned() {
                    sidecar.sync_claim(&mut world, &cache, &claim);
                }
            }
            Operation::SyncVolume(at) => {
                let names: Vec<_> = cache
                    .volumes()
                    .iter()
                    .map(|v| v.name().to_owned())
                    .collect();
                if let Some(name) = names.get(usize::from(at) % names.len().max(1)) {
                    sidecar.sync_volume(&mut world, &cache, name);
                }
            }
            Operation::Control => drop(world.settle(100)),
            Operation::Schedule => schedule(&mut world),
            Operation::Fault(later, kind) => {
                let call = sidecar.disks.calls + usize::from(later % 4);
                sidecar.disks.faults.insert(call, fault(kind));
            }
            Operation::Cut(writes) => world.faults.writes_left = Some(usize::from(writes % 8)),
            Operation::Mend => world.faults.writes_left = None,
            Operation::Wait(time) => sidecar.now += u64::from(time),
            Operation::Restart => sidecar.restart(),
            Operation::EditPolicy(at, retains) => {
                let policy = if retains { "Retain" } else { "Delete" };
                let volumes = world.server.volumes.len();
                let mut all = world.server.volumes.values_mut();
                if let Some(volume) = all.nth(usize::from(at) % volumes.max(1)) {
                    volume.spec.persistent_volume_reclaim_policy = Some(policy.into());
                    let version: u64 = volume.metadata.resource_version().parse().unwrap_or(0);
                    volume.metadata.resource_version = Some((version + 1).to_string());
                }
            }
        }
    }
    world.faults.writes_left = None;
    sidecar.settle(&mut world);
    for claim in world.server.claims.values() {
        assert!(claim.is_fully_bound(), "{claim:?}");
    }
    for key in world.claim_keys() {
        delete_claim(&mut world, &key);
    }
    sidecar.settle(&mut world);
    for volume in world.server.volumes.values() {
        let policy = volume.spec.persistent_volume_reclaim_policy.as_ref();
        assert_eq!(policy.map(|policy| policy.as_str()), Some("Retain"));
    }
}

fn request(shape: Shape) {
    let (source_group, source_kind, source_name) = shape.source.clone().unwrap_or_default();
    let source = json!({"apiGroup": source_group, "kind": source_kind, "name": source_name});
    let mut annotations = json!(shape.annotations);
    annotations["volume.kubernetes.io/storage-provisioner"] = json!("disk.csi");
    // Hardly any text can be part of a volume's name.
    let uid = match shape.uid.len() % 4 {
        0 => shape.uid,
        length => format!("u-{length}"),
    };
    let claim = serde_json::from_value::<PersistentVolumeClaim>(json!({
        "metadata": {"namespace": "ns", "name": "c", "uid": uid, "annotations": annotations},
        "spec": {"accessModes": shape.modes, "volumeMode": shape.volume_mode,
            "storageClassName": "fast", "dataSource": shape.source.as_ref().map(|_| source),
            "selector": shape.selector.then(|| json!({})),
            "resources": {"requests": {"storage": shape.size}}}}));
    // A size that is no quantity is no claim.
    let Ok(claim) = claim else { return };
    let mut parameters = shape.parameters;
    if let Some((usage, name, namespace)) = shape.secret {
        let uses = pvbind::provisioner::SecretUse::ALL;
        let usage = uses[usize::from(usage) % uses.len()].as_str();
        let key = format!("csi.storage.k8s.io/{usage}-secret-name");
        parameters.insert(format!("{key}space"), namespace);
        parameters.insert(key, name);
    }
    let class: Arc<StorageClass> = object(json!({"metadata": {"name": "fast"},
        "provisioner": "disk.csi", "parameters": parameters}));
    let mut view = Snapshot::new();
    view.apply(class);
    let mut config = Config::new("disk.csi");
    let prefix = shape.prefix.unwrap_or_else(|| "pvc".to_owned());
    let Ok(names) = VolumeNames::new(prefix, shape.uid_length.map(usize::from)) else {
        return;
    };
    config.volume_names = names;
    config.knows_single_node_modes = shape.flags & 1 != 0;
    config.tells_names = shape.flags & 2 != 0;
    config.marks_read_only = shape.flags & 4 != 0;
    config.topology = (shape.flags & 8 != 0).then(|| {
        let mut topology = TopologyConfig::default();
        topology.is_immediate = false;
        topology
    });
    let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
        return;
    };
    let asked = operation.request(&config, &view, &RequestInputs::default());
    assert_eq!(
        asked,
        operation.request(&config, &view, &RequestInputs::default())
    );
    let _secret = operation.provisioner_secret();
    let volume = csi::Volume {
        capacity_bytes: shape.capacity,
        volume_id: "h".to_owned(),
        accessible_topology: shape
            .segments
            .into_iter()
            .map(|segments| csi::Topology { segments })
            .collect(),
        ..csi::Volume::default()
    };
    let Ok(asked) = asked else { return };
    let plan = operation.created(&config, &asked, &volume);
    if plan.has_writes() {
        // What is created is never smaller than asked for.
        let required = asked.capacity_range.unwrap_or_default().required_bytes;
        assert!(shape.capacity == 0 || shape.capacity >= required);
        let json = serde_json::to_string(&asked).unwrap();
        let read: csi::CreateVolumeRequest = serde_json::from_str(&json).unwrap();
        assert_eq!(read, asked);
    } else {
        // Whatever could be asked for can be written down too, unless the
        // driver's answer does not serve.
        assert!(matches!(plan.verdict, ClaimNext::ReadVolume(_)));
    }
}

fn topology(places: Places) {
    let mut snapshot = Snapshot::new();
    for (number, (labels, keys)) in places.nodes.iter().take(50).enumerate() {
        let name = format!("n{number}");
        let labels: BTreeMap<_, _> = labels
            .iter()
            .map(|(key, value)| ((key % 4).to_string(), (value % 4).to_string()))
            .collect();
        let metadata = json!({"name": name, "labels": labels});
        snapshot.apply(object::<Node>(json!({"metadata": metadata})));
        if let Some(keys) = keys {
            let keys: Vec<_> = keys.iter().map(|key| (key % 4).to_string()).collect();
            let drivers = json!([{"name": "disk.csi", "topologyKeys": keys}]);
            snapshot.apply(object::<CsiNode>(
                json!({"metadata": {"name": name}, "spec": {"drivers": drivers}}),
            ));
        }
    }
    let term = |expressions: &Vec<(u8, Vec<u8>)>| {
        let expressions: Vec<_> = expressions
            .iter()
            .map(|(key, values)| {
                let values: Vec<_> = values.iter().map(|value| (value % 4).to_string()).collect();
                json!({"key": (key % 4).to_string(), "values": values})
            })
            .collect();
        json!({"matchLabelExpressions": expressions})
    };
    let allowed: Vec<_> = places.allowed.iter().map(term).collect();
    let allowed: Vec<_> = serde_json::from_value(json!(allowed)).unwrap();
    let selected = places.selected.map(|number| format!("n{}", number % 60));
    let query = TopologyQuery {
        allowed: &allowed,
        selected_node: selected.as_deref(),
        is_strict: places.flags & 1 != 0,
        is_immediate: places.flags & 2 != 0,
        ..TopologyQuery::new("disk.csi", &places.claim)
    };
    let found = topology_requirement(&query, &snapshot);
    assert_eq!(found, topology_requirement_plain(&query, &snapshot));
    match found {
        Ok(Some(found)) => {
            let sorted = |mut list: Vec<csi::Topology>| {
                list.sort();
                list
            };
            assert_eq!(sorted(found.requisite), sorted(found.preferred));
        }
        Ok(None) => {}
        Err(error) => drop(error.to_string()),
    }
}

fuzz_target!(|input: Input| {
    match input {
        Input::Story(operations) => story(operations),
        Input::Request(shape) => request(*shape),
        Input::Topology(places) => topology(*places),
    }
});
