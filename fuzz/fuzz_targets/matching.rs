//! Changes of a small cluster, and questions: the index answers what the slice
//! search answers, and the report puts every volume into one bucket.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
use pvbind::matching::{
    Bucket, Features, FindOptions, MatchReport, SearchOptions, VolumeIndex,
    find_best_match_for_claim, find_matching_volume,
};
use serde_json::{Value, json};

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(Volume),
    Remove(u8),
    Ask(Claim),
}

#[derive(Arbitrary, Debug)]
struct Volume {
    name: u8,
    size: u8,
    class: u8,
    modes: u8,
    mode: u8,
    attributes: u8,
    labels: u8,
    affinity: Vec<Vec<Requirement>>,
    has_affinity: bool,
    reserved: u8,
    is_available: bool,
    is_deleted: bool,
}

#[derive(Arbitrary, Debug)]
struct Claim {
    size: u8,
    class: u8,
    modes: u8,
    mode: u8,
    attributes: u8,
    selector: Option<Vec<Requirement>>,
    node: u8,
    excluded: [u8; 2],
    delay_binding: bool,
    attributes_classes: bool,
}

#[derive(Arbitrary, Debug)]
struct Requirement {
    key: u8,
    operator: u8,
    values: Vec<u8>,
}

fuzz_target!(|operations: Vec<Operation>| {
    let mut index = VolumeIndex::new();
    let mut volumes: BTreeMap<String, Arc<PersistentVolume>> = BTreeMap::new();
    for operation in operations {
        match operation {
            Operation::Insert(volume) => {
                let volume: Arc<PersistentVolume> = Arc::new(read(volume.json()));
                let replaced = volumes.insert(volume.name().to_owned(), volume.clone());
                assert_eq!(index.insert(volume), replaced);
            }
            Operation::Remove(name) => {
                let name = volume_name(name);
                assert_eq!(index.remove(&name), volumes.remove(&name));
            }
            Operation::Ask(claim) => ask(&index, &volumes, &claim),
        }
        assert!(index.iter().eq(volumes.values()));
    }
});

fn ask(index: &VolumeIndex, volumes: &BTreeMap<String, Arc<PersistentVolume>>, asked: &Claim) {
    let claim: PersistentVolumeClaim = read(asked.json());
    let by_name = || volumes.values().map(Arc::as_ref);
    let search = SearchOptions {
        delay_binding: asked.delay_binding,
        features: Features::default().with_volume_attributes_class(asked.attributes_classes),
    };
    let options = FindOptions::from(search);
    let slice = find_best_match_for_claim(&claim, by_name(), search);
    let found = index.best_match(&claim, search);
    assert_eq!(found.map(|found| found.map(Arc::as_ref)), slice);
    check(
        &MatchReport::new(&claim, by_name(), &options),
        slice.unwrap_or_default(),
    );

    let labels: BTreeMap<String, String> = read(labels(asked.node));
    let excluded = asked.excluded.map(volume_name);
    let excluded = excluded.each_ref().map(String::as_str);
    let options = FindOptions {
        node_labels: Some(&labels),
        excluded: &excluded,
        ..options
    };
    let slice = find_matching_volume(&claim, by_name(), &options);
    let found = index.best_match_on_node(&claim, &labels, &excluded, search.features);
    assert_eq!(found.map(|found| found.map(Arc::as_ref)), slice);
    check(
        &MatchReport::new(&claim, by_name(), &options),
        slice.unwrap_or_default(),
    );
}

fn check(report: &MatchReport<'_>, found: Option<&PersistentVolume>) {
    assert_eq!(report.chosen(), found);
    let chosen = report.bucket(Bucket::Chosen).count();
    assert_eq!(chosen, usize::from(found.is_some()));
    let summary = report.summary();
    let refused: usize = summary.refused.iter().map(|refused| refused.count).sum();
    assert_eq!(summary.fitting + refused, report.volumes.len());
    assert!(!report.to_string().is_empty());
}

impl Volume {
    fn json(&self) -> Value {
        let terms: Vec<_> = self
            .affinity
            .iter()
            .map(|term| requirements(term))
            .collect();
        let terms: Vec<_> = terms
            .into_iter()
            .map(|expressions| json!({"matchExpressions": expressions}))
            .collect();
        json!({
            "metadata": {
                "name": volume_name(self.name),
                "labels": labels(self.labels),
                "deletionTimestamp": self.is_deleted.then_some("2026-01-01T00:00:00Z"),
            },
            "spec": {
                "capacity": {"storage": size(self.size)},
                "storageClassName": class(self.class),
                "accessModes": modes(self.modes),
                "volumeMode": mode(self.mode),
                "volumeAttributesClassName": class(self.attributes % 8),
                "nodeAffinity": self.has_affinity.then(|| json!({"required": {"nodeSelectorTerms": terms}})),
                "claimRef": claim_ref(self.reserved),
            },
            "status": {"phase": if self.is_available { "Available" } else { "Released" }},
        })
    }
}

impl Claim {
    fn json(&self) -> Value {
        let selector = self.selector.as_ref();
        json!({
            "metadata": {"namespace": "default", "name": "claim", "uid": "u-1"},
            "spec": {
                "resources": {"requests": {"storage": size(self.size)}},
                "storageClassName": class(self.class),
                "accessModes": modes(self.modes),
                "volumeMode": mode(self.mode),
                "volumeAttributesClassName": class(self.attributes % 8),
                "selector": selector.map(|selector| json!({"matchExpressions": requirements(selector)})),
            },
        })
    }
}

fn volume_name(number: u8) -> String {
    format!("pv-{}", number % 12)
}

fn size(number: u8) -> &'static str {
    const SIZES: [&str; 8] = ["0", "1Gi", "1073741824", "2Gi", "1500m", "2", "1e40", "-1"];
    SIZES[usize::from(number) % SIZES.len()]
}

fn class(number: u8) -> Option<&'static str> {
    [None, None, Some(""), Some("fast")][usize::from(number) % 4]
}

fn mode(number: u8) -> Option<&'static str> {
    [None, None, Some("Filesystem"), Some("Block")][usize::from(number) % 4]
}

fn modes(bits: u8) -> Vec<&'static str> {
    let modes = [
        "ReadWriteOnce",
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOncePod",
        "ReadSideways",
    ];
    let listed = |bit: &usize| bits & (1 << bit) != 0;
    (0..modes.len())
        .filter(listed)
        .map(|bit| modes[bit])
        .collect()
}

fn claim_ref(number: u8) -> Option<Value> {
    let of =
        |name: &str, uid: &str| Some(json!({"namespace": "default", "name": name, "uid": uid}));
    match number % 8 {
        0 => of("claim", ""),
        1 => of("claim", "u-1"),
        2 => of("claim", "u-0"),
        3 => of("other", "u-9"),
        _ => None,
    }
}

const KEYS: [&str; 3] = ["kubernetes.io/hostname", "zone", "disk"];
const VALUES: [&str; 3] = ["a", "b", "7"];

/// Two bits for each key: no label, or one of the values.
fn labels(bits: u8) -> Value {
    let label = |key: usize| {
        let value = usize::from(bits >> (2 * key)) & 3;
        Some((KEYS[key], *VALUES.get(value)?))
    };
    json!(
        (0..KEYS.len())
            .filter_map(label)
            .collect::<BTreeMap<_, _>>()
    )
}

fn requirements(list: &[Requirement]) -> Vec<Value> {
    let operators = [
        "In",
        "In",
        "In",
        "NotIn",
        "Exists",
        "DoesNotExist",
        "Gt",
        "Near",
    ];
    let one = |requirement: &Requirement| {
        let values = requirement
            .values
            .iter()
            .map(|&value| VALUES[usize::from(value) % 3]);
        json!({
            "key": KEYS[usize::from(requirement.key) % 3],
            "operator": operators[usize::from(requirement.operator) % 8],
            "values": values.collect::<Vec<_>>(),
        })
    };
    list.iter().map(one).collect()
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("made as the API server would")
}
