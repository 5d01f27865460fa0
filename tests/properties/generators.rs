//! Small worlds: few names, classes, sizes and labels, so that volumes and
//! claims meet often, and every odd form now and then.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
use pvbind::matching::Features;
use serde_json::{Value, json};

const SIZES: [&str; 12] = [
    "0",
    "1",
    "1500m",
    "2",
    "1Gi",
    "1073741824",
    "2Gi",
    "2G",
    "5Gi",
    "7Ei",
    "1e40",
    "-1",
];
const CLASSES: [&str; 3] = ["", "fast", "slow"];
const KEYS: [&str; 3] = ["zone", "disk", "kubernetes.io/hostname"];
const VALUES: [&str; 3] = ["a", "b", "7"];

pub(crate) fn size() -> impl Strategy<Value = &'static str> {
    select(&SIZES[..])
}

/// One of 20 names.
pub(crate) fn volume() -> impl Strategy<Value = PersistentVolume> {
    volume_among(20)
}

/// One of so many names.
pub(crate) fn volume_among(names: u16) -> impl Strategy<Value = PersistentVolume> {
    let spec = (
        option_often(size()),
        prop::option::of(select(&CLASSES[..])),
        access_modes(),
        prop::option::of(select(&["Filesystem", "Block", "Tape"][..])),
        option_rarely(select(&["", "gold"][..])),
        prop::option::of(node_affinity()),
        option_rarely(claim_ref()),
    );
    let rest = (
        0..names,
        labels(),
        option_rarely(select(&CLASSES[..])),
        option_often(Just("Available")),
        prop::bool::weighted(0.1),
    );
    (spec, rest).prop_map(|(spec, (name, labels, annotation, phase, is_deleted))| {
        let (size, class, modes, mode, attributes, affinity, claim_ref) = spec;
        read(json!({
            "metadata": {
                "name": format!("pv-{name:02}"),
                "labels": labels,
                "annotations": annotation.map(|class| json!({"volume.beta.kubernetes.io/storage-class": class})),
                "deletionTimestamp": is_deleted.then_some("2026-01-01T00:00:00Z"),
            },
            "spec": {
                "capacity": size.map(|size| json!({"storage": size})),
                "storageClassName": class,
                "accessModes": modes,
                "volumeMode": mode,
                "volumeAttributesClassName": attributes,
                "nodeAffinity": affinity.map(|terms| json!({"required": {"nodeSelectorTerms": terms}})),
                "claimRef": claim_ref,
            },
            "status": {"phase": phase.unwrap_or("Bound")},
        }))
    })
}

/// An open volume: nothing but the claim's own wishes can refuse it.
pub(crate) fn open_volume() -> impl Strategy<Value = PersistentVolume> {
    volume().prop_map(|mut volume| {
        volume.spec.claim_ref = None;
        volume.metadata.deletion_timestamp = None;
        volume.status.phase = Some("Available".into());
        volume
    })
}

pub(crate) fn claim() -> impl Strategy<Value = PersistentVolumeClaim> {
    (
        option_often(size()),
        prop::option::of(select(&CLASSES[..])),
        access_modes(),
        prop::option::of(select(&["Filesystem", "Block"][..])),
        option_rarely(select(&["", "gold"][..])),
        prop::option::weighted(0.4, label_selector()),
    )
        .prop_map(|(size, class, modes, mode, attributes, selector)| {
            read(json!({
                "metadata": {"namespace": "default", "name": "claim", "uid": "u-1"},
                "spec": {
                    "resources": {"requests": size.map(|size| json!({"storage": size}))},
                    "storageClassName": class,
                    "accessModes": modes,
                    "volumeMode": mode,
                    "volumeAttributesClassName": attributes,
                    "selector": selector,
                },
            }))
        })
}

pub(crate) fn node_labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    labels().prop_map(|labels| labels.unwrap_or_default())
}

fn labels() -> impl Strategy<Value = Option<BTreeMap<String, String>>> {
    let label = (select(&KEYS[..]), select(&VALUES[..]));
    let label = label.prop_map(|(key, value)| (key.to_owned(), value.to_owned()));
    prop::option::of(prop::collection::vec(label, 0..4).prop_map(BTreeMap::from_iter))
}

/// Mostly one or two known modes, in any order, now and then an unknown one.
fn access_modes() -> impl Strategy<Value = Vec<&'static str>> {
    let known = vec![
        "ReadWriteOnce",
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOncePod",
    ];
    prop_oneof![
        4 => Just(vec!["ReadWriteOnce"]),
        4 => subsequence(known, 0..4).prop_shuffle(),
        1 => subsequence(vec!["ReadSideways", "ReadWriteOnce"], 1..3),
    ]
}

/// A reservation or binding for the claim, an earlier one, or another.
fn claim_ref() -> impl Strategy<Value = Value> {
    let name = select(&["claim", "claim", "other"][..]);
    let uid = select(&["", "u-1", "u-0"][..]);
    (name, uid).prop_map(|(name, uid)| json!({"namespace": "default", "name": name, "uid": uid}))
}

/// Terms of a node selector, now and then empty or invalid.
fn node_affinity() -> impl Strategy<Value = Vec<Value>> {
    let term = prop_oneof![
        4 => select(&VALUES[..])
            .prop_map(|value| json!({"matchExpressions": [expression("kubernetes.io/hostname", "In", &[value])]})),
        4 => prop::collection::vec(node_expression(), 0..3)
            .prop_map(|expressions| json!({"matchExpressions": expressions})),
        1 => Just(json!({"matchFields": [expression("metadata.name", "In", &["n"])]})),
    ];
    prop_oneof![
        4 => term.clone().prop_map(|term| vec![term]),
        1 => prop::collection::vec(term, 0..4),
    ]
}

fn node_expression() -> impl Strategy<Value = Value> {
    let operators = [
        "In",
        "In",
        "NotIn",
        "Exists",
        "DoesNotExist",
        "Gt",
        "Lt",
        "Near",
    ];
    any_expression(&operators)
}

fn label_selector() -> impl Strategy<Value = Value> {
    let expressions = prop::collection::vec(
        any_expression(&["In", "In", "NotIn", "Exists", "DoesNotExist"]),
        0..3,
    );
    (labels(), expressions).prop_map(
        |(labels, expressions)| json!({"matchLabels": labels, "matchExpressions": expressions}),
    )
}

/// One or two values, or none where the operator takes none; now and then the
/// other way round, which is invalid.
fn any_expression(operators: &[&'static str]) -> impl Strategy<Value = Value> + use<> {
    let values = subsequence(VALUES.to_vec(), 1..3);
    let operators = operators.to_vec();
    (
        select(&KEYS[..]),
        select(operators),
        values,
        prop::bool::weighted(0.03),
    )
        .prop_map(|(key, operator, mut values, is_invalid)| {
            if matches!(operator, "Exists" | "DoesNotExist") != is_invalid {
                values.clear();
            }
            if matches!(operator, "Gt" | "Lt") {
                values = vec!["5"];
            }
            expression(key, operator, &values)
        })
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

fn option_often<T: Strategy>(strategy: T) -> impl Strategy<Value = Option<T::Value>> {
    prop::option::weighted(0.9, strategy)
}

fn option_rarely<T: Strategy>(strategy: T) -> impl Strategy<Value = Option<T::Value>> {
    prop::option::weighted(0.15, strategy)
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The feature gates of a cluster, mostly those of Kubernetes 1.36.
pub(crate) fn features() -> impl Strategy<Value = Features> {
    let volume_attributes_class = prop::bool::weighted(0.8);
    volume_attributes_class
        .prop_map(|is_on| Features::default().with_volume_attributes_class(is_on))
}
