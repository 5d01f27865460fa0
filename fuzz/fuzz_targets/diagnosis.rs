//! A small cluster of odd objects, or any text as one: everything in it is
//! diagnosed, whatever is known of it.
//!
//! Nothing may panic or take long; no text does anything to a terminal, or grows
//! with the names in it; the worst is first. Of clusters that are built, what is
//! said of a claim is what the controller decides, and each remedy's patch
//! removes what it is for.
#![no_main]
#![allow(dead_code, reason = "the tests use the rest")]

#[path = "../../tests/support/agreement.rs"]
mod agreement;
#[path = "../../tests/support/remedies.rs"]
mod remedies;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pvbind::api::{names, read_objects};
use pvbind::controller::{Config, InTreePlugin};
use pvbind::diagnosis::{Diagnosis, Known, Survey, TextStyle};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use agreement::{bound_to, said_bound_to, said_refused};
use remedies::Objects;

#[derive(Arbitrary, Debug)]
enum Input {
    Built(Vec<Piece>),
    Written(String),
}

#[derive(Arbitrary, Debug)]
enum Piece {
    Claim(Claim),
    Volume(Volume),
    Class(Class),
    Node(u8, u8),
    Pod(Pod),
    Driver(u8, bool),
    CsiNode(u8, u8),
    Capacity(u8, u8),
    Said(u8, String),
}

#[derive(Arbitrary, Debug)]
struct Claim {
    name: u8,
    class: u8,
    size: u8,
    modes: u8,
    volume: u8,
    phase: u8,
    marks: u16,
    node: u8,
    has: u8,
}

#[derive(Arbitrary, Debug)]
struct Volume {
    name: u8,
    class: u8,
    size: u8,
    modes: u8,
    phase: u8,
    policy: u8,
    source: u8,
    made_by: u8,
    claim: u8,
    uid: u8,
    marks: u16,
    affinity: u8,
    zone: u8,
}

#[derive(Arbitrary, Debug)]
struct Class {
    name: u8,
    provisioner: u8,
    marks: u8,
    parameters: u8,
}

#[derive(Arbitrary, Debug)]
struct Pod {
    name: u8,
    claims: [u8; 3],
    node: u8,
    marks: u8,
}

const MOST: usize = 24;
const CLASSES: [Option<&str>; 5] = [None, Some(""), Some("fast"), Some("late"), Some("lat")];
const PROVISIONERS: [Option<&str>; 6] = [
    Some("disk.csi"),
    Some(names::NO_PROVISIONER),
    Some("kubernetes.io/host-path"),
    Some("kubernetes.io/gce-pd"),
    Some("kubernetes.io/unheard"),
    None,
];
const SIZES: [Option<&str>; 8] = [
    Some("5Gi"),
    Some("5G"),
    Some("8Gi"),
    Some("5"),
    Some("0"),
    Some("1e18"),
    Some("-1"),
    None,
];
const MODES: [&[&str]; 6] = [
    &["ReadWriteOnce"],
    &["ReadWriteOnce", "ReadOnlyMany"],
    &["RWO"],
    &["ReadWriteOncePod"],
    &["Never"],
    &[],
];
const PHASES: [Option<&str>; 6] = [
    Some("Available"),
    Some("Bound"),
    Some("Released"),
    Some("Failed"),
    Some("Pending"),
    None,
];
const ZONE: &str = "topology.kubernetes.io/zone";
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const CREATED: &str = "2026-01-01T00:00:00Z";

fn pick<T: Copy>(among: &[T], at: u8) -> T {
    among[usize::from(at) % among.len()]
}

fn claim_name(at: u8) -> (&'static str, &'static str) {
    pick(
        &[("ns", "data"), ("ns", "dato"), ("db", "data"), ("", "")],
        at,
    )
}

fn volume_name(at: u8) -> &'static str {
    pick(&["", "pv-1", "pv-2", "pv-3", "pw-1"], at)
}

fn node_name(at: u8) -> &'static str {
    pick(&["", "n1", "n2", "n9"], at)
}

fn affinity(at: u8) -> Value {
    let term = |key: &str, value: &str| {
        json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": key, "operator": "In", "values": [value]}]}]}})
    };
    match at % 7 {
        0 => term("kubernetes.io/hostname", "n1"),
        1 => term(ZONE, "a"),
        2 => term(OLD_ZONE, "a"),
        3 => term("rack", "r1"),
        4 => json!({"required": {"nodeSelectorTerms": []}}),
        5 => {
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "No"}]}]}})
        }
        _ => Value::Null,
    }
}

fn object(piece: &Piece) -> Value {
    match piece {
        Piece::Claim(claim) => claim_object(claim),
        Piece::Volume(volume) => volume_object(volume),
        Piece::Class(class) => class_object(class),
        Piece::Node(name, zone) => {
            let name = node_name(*name);
            let (label, value) = pick(
                &[(ZONE, "a"), (ZONE, "b"), (OLD_ZONE, "a"), ("rack", "r1")],
                *zone,
            );
            json!({"kind": "Node", "metadata": {"name": name, "labels":
                {label: value, "kubernetes.io/hostname": format!("{name}.local")}}})
        }
        Piece::Pod(pod) => pod_object(pod),
        Piece::Driver(name, counts) => json!({"kind": "CSIDriver",
            "metadata": {"name": pick(&["disk.csi", "pd.csi"], *name)}, "spec": {"storageCapacity": counts}}),
        Piece::CsiNode(node, keys) => {
            let keys = pick::<&[&str]>(&[&[], &[ZONE]], *keys);
            json!({"kind": "CSINode", "metadata": {"name": node_name(*node)},
                "spec": {"drivers": [{"name": "disk.csi", "nodeID": "1", "topologyKeys": keys}]}})
        }
        Piece::Capacity(class, size) => json!({"kind": "CSIStorageCapacity",
            "metadata": {"namespace": "ns", "name": format!("pool-{class}")},
            "storageClassName": pick(&CLASSES, *class).unwrap_or_default(),
            "nodeTopology": {}, "capacity": pick(&SIZES, *size)}),
        Piece::Said(claim, message) => {
            let (namespace, name) = claim_name(*claim);
            json!({"kind": "Event", "metadata": {"namespace": namespace, "name": format!("said-{claim}")},
                "reason": "ProvisioningFailed", "message": message,
                "involvedObject": {"namespace": namespace, "name": name}})
        }
    }
}

fn claim_object(claim: &Claim) -> Value {
    let (namespace, name) = claim_name(claim.name);
    let mark = |bit: u16| claim.marks >> bit & 1 == 1;
    let mut annotations = serde_json::Map::new();
    for (bit, key, value) in [
        (0, names::BIND_COMPLETED, "yes"),
        (1, names::BOUND_BY_CONTROLLER, "yes"),
        (2, names::BETA_STORAGE_CLASS, "late"),
        (3, names::SELECTED_NODE, node_name(claim.node)),
        (4, names::STORAGE_PROVISIONER, "disk.csi"),
    ] {
        if mark(bit) {
            annotations.insert(key.to_owned(), json!(value));
        }
    }
    let selectors = [
        json!({}),
        json!({"matchLabels": {"disk": "ssd"}}),
        json!({"matchExpressions": [{"key": "disk", "operator": "Unheard"}]}),
    ];
    let kinds = [
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
        ("own.io", "Image"),
    ];
    let (group, kind) = pick(&kinds, claim.has >> 4);
    let source = json!({"apiGroup": group, "kind": kind, "name": "data"});
    json!({"kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": name, "annotations": annotations,
            "uid": mark(5).then(|| format!("u-{}", claim.name % 4)),
            "resourceVersion": mark(6).then_some("7"),
            "deletionTimestamp": mark(7).then_some(CREATED),
            "finalizers": mark(8).then_some([names::PVC_PROTECTION_FINALIZER, "own.io/mine"])},
        "spec": {"storageClassName": pick(&CLASSES, claim.class),
            "accessModes": pick(&MODES, claim.modes),
            "volumeMode": mark(9).then_some("Block"),
            "volumeAttributesClassName": mark(10).then_some("gold"),
            "selector": mark(11).then(|| selectors[usize::from(claim.node) % 3].clone()),
            "dataSource": mark(12).then(|| source.clone()),
            "dataSourceRef": mark(13).then_some(source),
            "resources": {"requests": {"storage": pick(&SIZES, claim.size)}},
            "volumeName": volume_name(claim.volume)},
        "status": {"phase": pick(&[None, Some("Pending"), Some("Bound"), Some("Lost")], claim.phase),
            "capacity": mark(14).then(|| json!({"storage": pick(&SIZES, claim.has)}))}})
}

fn volume_object(volume: &Volume) -> Value {
    let mark = |bit: u16| volume.marks >> bit & 1 == 1;
    let name = match volume_name(volume.name) {
        "" => "pv-1",
        name => name,
    };
    let made_by = pick(&PROVISIONERS, volume.made_by);
    let mut annotations = serde_json::Map::new();
    for (bit, key, value) in [
        (0, names::BOUND_BY_CONTROLLER, Some("yes")),
        (1, names::PROVISIONED_BY, made_by),
        (2, names::MIGRATED_TO, Some("pd.csi")),
    ] {
        if let Some(value) = value.filter(|_| mark(bit)) {
            annotations.insert(key.to_owned(), json!(value));
        }
    }
    let (namespace, claim) = claim_name(volume.claim);
    let uid = pick(
        &[None, Some(""), Some("u-0"), Some("u-1"), Some("u-old")],
        volume.uid,
    );
    let reference =
        json!({"namespace": (!mark(3)).then_some(namespace), "name": claim, "uid": uid});
    let sources = [
        ("hostPath", json!({"path": "/tmp/x"})),
        ("hostPath", json!({"path": "/data"})),
        ("csi", json!({"driver": "disk.csi", "volumeHandle": "v"})),
        ("nfs", json!({"server": "nas", "path": "/"})),
        ("gcePersistentDisk", json!({"pdName": "d"})),
    ];
    let (source, value) = sources[usize::from(volume.source) % sources.len()].clone();
    let finalizers = [
        names::PV_PROTECTION_FINALIZER,
        names::PV_CONTROLLER_FINALIZER,
        names::EXTERNAL_PROVISIONER_FINALIZER,
        "external-attacher/disk-csi",
    ];
    let finalizers: Vec<_> = (0..4)
        .filter(|bit| mark(bit + 4))
        .map(|bit| finalizers[usize::from(bit)])
        .collect();
    json!({"kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": annotations, "finalizers": finalizers,
            "labels": {"disk": mark(8).then_some("ssd"),
                ZONE: pick(&[None, Some("a"), Some("b__c"), Some("a__")], volume.zone)},
            "resourceVersion": mark(9).then_some("8"),
            "deletionTimestamp": mark(10).then_some(CREATED)},
        "spec": {"storageClassName": pick(&CLASSES, volume.class),
            "accessModes": pick(&MODES, volume.modes),
            "capacity": {"storage": pick(&SIZES, volume.size)},
            "volumeMode": mark(11).then_some("Block"),
            "nodeAffinity": affinity(volume.affinity),
            "persistentVolumeReclaimPolicy":
                pick(&[Some("Retain"), Some("Delete"), Some("Recycle"), Some("Unheard"), None], volume.policy),
            "claimRef": mark(12).then_some(reference), source: value},
        "status": {"phase": pick(&PHASES, volume.phase), "message": mark(13).then_some("no\u{1b}[2J")}})
}

fn class_object(class: &Class) -> Value {
    let mark = |bit: u8| class.marks >> bit & 1 == 1;
    let mode = pick(
        &[
            Some("Immediate"),
            Some("WaitForFirstConsumer"),
            Some("WaitForFirstConsumer"),
            None,
        ],
        class.marks,
    );
    let topologies = [
        Value::Null,
        json!([{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]),
        json!([{"matchLabelExpressions": [{"key": ZONE, "values": ["z"]}]}]),
    ];
    let parameters = [
        Value::Null,
        json!({"csi.storage.k8s.io/fs-type": "xfs"}),
        json!({"csi.storage.k8s.io/provisioner-secret-name": "${pvc.name}"}),
    ];
    json!({"kind": "StorageClass",
        "metadata": {"name": pick(&["fast", "late"], class.name), "creationTimestamp": CREATED,
            "annotations": {names::IS_DEFAULT_CLASS: mark(2).to_string()}},
        "provisioner": pick(&PROVISIONERS, class.provisioner), "volumeBindingMode": mode,
        "allowVolumeExpansion": mark(3).then_some(true),
        "allowedTopologies": topologies[usize::from(class.parameters >> 4) % 3],
        "parameters": parameters[usize::from(class.parameters) % 3]})
}

fn pod_object(pod: &Pod) -> Value {
    let mark = |bit: u8| pod.marks >> bit & 1 == 1;
    let volumes = pod.claims.iter().enumerate().filter_map(|(place, claim)| {
        let name = pick(&["data", "dato", "gone", ""], *claim);
        let volume =
            json!({"name": format!("v{place}"), "persistentVolumeClaim": {"claimName": name}});
        (!name.is_empty()).then_some(volume)
    });
    let mut volumes: Vec<Value> = volumes.collect();
    if mark(0) {
        volumes.push(json!({"name": "own", "ephemeral": {"volumeClaimTemplate": {}}}));
    }
    json!({"kind": "Pod",
        "metadata": {"namespace": if mark(1) { "db" } else { "ns" }, "name": format!("pod-{}", pod.name % 4),
            "uid": "u-pod", "deletionTimestamp": mark(2).then_some(CREATED)},
        "spec": {"volumes": volumes, "nodeName": node_name(pod.node),
            "schedulerName": mark(3).then_some("night"),
            "schedulingGates": mark(4).then(|| json!([{"name": "quota"}, 7])),
            "nodeSelector": mark(5).then(|| json!({ZONE: "a"}))},
        "status": {"phase": mark(6).then_some("Succeeded")}})
}

/// What is null is not there: a label must have a value.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        other => other,
    }
}

fn config(bits: u16) -> Config {
    let mut config = Config::default();
    config.plugins = vec![InTreePlugin {
        can_provision: bits & 1 == 0,
        can_delete: true,
        can_recycle: true,
        ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
    }];
    config.dynamic_provisioning = bits & 2 == 0;
    config
}

fn known(bits: u16) -> Known {
    let mut known = Known::default();
    let fields = [
        &mut known.volumes,
        &mut known.claims,
        &mut known.classes,
        &mut known.nodes,
        &mut known.pods,
        &mut known.csi_drivers,
        &mut known.csi_nodes,
        &mut known.csi_storage_capacities,
    ];
    for (bit, field) in fields.into_iter().enumerate() {
        *field = bits >> bit & 1 == 0;
    }
    known
}

/// What must hold of everything that is said of a cluster.
fn check_texts(config: &Config, known: &Known, snapshot: &Snapshot) -> Vec<Diagnosis> {
    let view = Survey::knowing(config, snapshot, known.clone()).view();
    let severities: Vec<_> = view.iter().map(Diagnosis::severity).collect();
    assert!(severities.is_sorted_by(|a, b| a >= b));
    let text = view.text(TextStyle::wide(60));
    assert!(!text.contains('\u{1b}'));
    assert!(text.len() < 16_000 * (severities.len() + 1));
    for diagnosis in view.iter() {
        assert!(!diagnosis.text(TextStyle::default()).contains('\u{1b}'));
        for finding in diagnosis.findings() {
            assert!(!finding.to_string().is_empty());
        }
    }
    serde_json::to_string(&view).expect("a diagnosis can be written");
    view.iter().cloned().collect()
}

fn check_built(pieces: &[Piece], bits: u16) {
    let mut objects = Objects::default();
    for piece in pieces.iter().take(MOST) {
        objects.insert(without_nulls(object(piece)));
    }
    let (config, snapshot) = (config(bits >> 8), objects.snapshot());
    for known in [known(bits), Known::default()] {
        for diagnosis in check_texts(&config, &known, &snapshot) {
            // What was said by provisioners counts.
            let diagnosis = objects.diagnosis(&config, &known, &diagnosis.object);
            // Claims of one uid, or of none, are taken for each other: nothing is
            // asked of what a remedy does to them.
            objects.check_remedies(&config, &known, &diagnosis, false);
        }
    }
    let survey = Survey::new(&config, &snapshot);
    for claim in snapshot.claims() {
        let diagnosis = survey.claim(claim);
        let bound = bound_to(&config, &snapshot, claim);
        assert_eq!(said_bound_to(&diagnosis), bound, "{diagnosis:?}");
        if let Some(volume) = bound {
            assert!(!said_refused(&diagnosis).contains(&volume), "{diagnosis:?}");
        }
    }
}

fuzz_target!(|input: (u16, Input)| {
    let (bits, input) = input;
    match input {
        Input::Built(pieces) => check_built(&pieces, bits),
        Input::Written(text) => {
            if let Ok(objects) = read_objects(&text) {
                let snapshot: Snapshot = objects.into_iter().collect();
                check_texts(&config(bits >> 8), &known(bits), &snapshot);
            }
        }
    }
});
