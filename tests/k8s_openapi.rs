//! The conversions from and to k8s-openapi's types give what a detour through
//! JSON gives, which is their definition, for every object of the vectors and
//! the recordings.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fmt::{Debug, Display};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::storage::v1 as storage;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use pvbind::api::{
    CsiDriver, CsiNode, CsiStorageCapacity, LabelSelector, Node, Object, ObjectReference,
    PersistentVolume, PersistentVolumeClaim, Pod, StatefulSet, StorageClass, Timestamp,
    read_objects,
};
use pvbind::quantity::Quantity;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Converts there and back, each way directly and through JSON.
fn check<Ours, Theirs>(ours: &Ours)
where
    Ours: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    Theirs: Clone + Debug + PartialEq + Serialize + DeserializeOwned,
    Ours: TryFrom<Theirs> + for<'a> TryFrom<&'a Theirs>,
    Theirs: TryFrom<Ours> + for<'a> TryFrom<&'a Ours>,
    <Ours as TryFrom<Theirs>>::Error: Debug,
    <Theirs as TryFrom<Ours>>::Error: Display,
{
    let json = serde_json::to_value(ours).unwrap();
    let plain: Result<Theirs, _> = serde_json::from_value(json.clone());
    let theirs = match (Theirs::try_from(ours.clone()), plain) {
        (Ok(theirs), Ok(plain)) => {
            assert_eq!(theirs, plain, "{json}");
            theirs
        }
        (Err(_), Err(_)) => return,
        (Err(error), Ok(_)) => panic!("{error}, though it is valid: {json}"),
        (Ok(_), Err(error)) => panic!("taken, though {error}: {json}"),
    };
    assert!(Theirs::try_from(ours).ok().as_ref() == Some(&theirs));

    let plain: Ours = serde_json::from_value(serde_json::to_value(&theirs).unwrap()).unwrap();
    let back = Ours::try_from(theirs.clone()).unwrap();
    assert_eq!(back, plain, "{json}");
    assert_eq!(
        serde_json::to_value(&back).unwrap(),
        serde_json::to_value(&plain).unwrap()
    );
    assert!(Ours::try_from(&theirs).ok().as_ref() == Some(&back));
    assert_nothing_lost(&json, &serde_json::to_value(&back).unwrap(), "");
    // What came back converts to the same again.
    assert!(Theirs::try_from(back).ok() == Some(theirs));
}

/// Fails if a field is lost or changed. New are only fields that the other side
/// requires, and those empty, and the kind.
fn assert_nothing_lost(before: &Value, after: &Value, path: &str) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let path = format!("{path}.{key}");
                match after.get(key) {
                    Some(after) => assert_nothing_lost(value, after, &path),
                    None => assert!(value.is_null(), "{path} is lost"),
                }
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                let is_empty = match value {
                    Value::String(text) => text.is_empty(),
                    Value::Array(items) => items.is_empty(),
                    Value::Object(_) => {
                        assert_nothing_lost(&json!({}), value, &format!("{path}.{key}"));
                        true
                    }
                    Value::Number(number) => number.as_i64() == Some(0),
                    _ => false,
                };
                let is_type = key == "kind" || key == "apiVersion";
                assert!(is_empty || is_type, "{path}.{key} is new: {value}");
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len(), "{path}");
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                assert_nothing_lost(before, after, &format!("{path}[{index}]"));
            }
        }
        // Amounts that only the other side reads as such.
        (Value::Number(number), Value::String(text)) => assert_eq!(&number.to_string(), text),
        (before, after) => assert_eq!(before, after, "{path}"),
    }
}

fn check_object(object: &Object) -> bool {
    match object {
        Object::PersistentVolume(ours) => check::<_, core::PersistentVolume>(&**ours),
        Object::PersistentVolumeClaim(ours) => check::<_, core::PersistentVolumeClaim>(&**ours),
        Object::StorageClass(ours) => check::<_, storage::StorageClass>(&**ours),
        Object::Node(ours) => check::<_, core::Node>(&**ours),
        Object::Pod(ours) => check::<_, core::Pod>(&**ours),
        Object::CsiDriver(ours) => check::<_, storage::CSIDriver>(&**ours),
        Object::CsiNode(ours) => check::<_, storage::CSINode>(&**ours),
        Object::CsiStorageCapacity(ours) => check::<_, storage::CSIStorageCapacity>(&**ours),
        Object::StatefulSet(ours) => check::<_, apps::StatefulSet>(&**ours),
        _ => return false,
    }
    true
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn every_object_of_the_recordings_converts_there_and_back() {
    for cluster in ["pending", "scheduled", "released"] {
        let path = folder("examples/clusters").join(format!("{cluster}.json"));
        let objects = read_objects(&fs::read_to_string(path).unwrap()).unwrap();
        let converted = objects.iter().filter(|object| check_object(object)).count();
        assert!(converted > 10, "only {converted} of {}", objects.len());
    }
}

#[test]
fn every_object_of_the_vectors_converts_there_and_back() {
    let vectors = folder("tests/vectors");
    let mut objects = 0;
    for file in fs::read_dir(vectors).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "gz") {
            continue;
        }
        for line in BufReader::new(GzDecoder::new(fs::File::open(path).unwrap())).lines() {
            let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
            objects += check_objects_in(&case);
        }
    }
    assert!(objects > 50_000, "only {objects} objects");
}

fn check_objects_in(value: &Value) -> usize {
    match value {
        Value::Object(fields) if fields.contains_key("kind") && fields.contains_key("metadata") => {
            let object = Object::from_value(value.clone()).unwrap();
            usize::from(check_object(&object))
        }
        Value::Object(fields) => fields.values().map(check_objects_in).sum(),
        Value::Array(items) => items.iter().map(check_objects_in).sum(),
        _ => 0,
    }
}

#[test]
fn fields_that_only_the_other_side_knows_go_through_the_unknown_fields() {
    let text = json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "web", "namespace": "shop", "generation": 3,
            "managedFields": [{"manager": "kubectl", "time": "2026-01-02T03:04:05Z",
                "fieldsV1": {"f:spec": {"f:nodeName": {}}}}]},
        "spec": {
            "containers": [{"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "affinity": {"podAntiAffinity": {}, "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]}},
            "volumes": [
                {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
                {"name": "own", "ephemeral": {"volumeClaimTemplate": {
                    "metadata": {"labels": {"for": "web"}},
                    "spec": {"resources": {"requests": {"storage": "1Gi"}}}}}}]},
        "status": {"phase": "Running", "podIP": "10.0.0.7",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}});
    let ours: Pod = serde_json::from_value(text.clone()).unwrap();
    check::<_, core::Pod>(&ours);
    let theirs = core::Pod::try_from(&ours).unwrap();
    let spec = theirs.spec.as_ref().unwrap();
    assert_eq!(spec.containers[0].image.as_deref(), Some("web:1"));
    assert_eq!(
        serde_json::to_value(Pod::try_from(theirs).unwrap()).unwrap(),
        text
    );
}

#[test]
fn an_object_that_is_empty_there_is_empty_here() {
    check::<_, core::PersistentVolume>(&PersistentVolume::default());
    check::<_, core::PersistentVolumeClaim>(&PersistentVolumeClaim::default());
    check::<_, storage::StorageClass>(&StorageClass::default());
    check::<_, core::Node>(&Node::default());
    check::<_, core::Pod>(&Pod::default());
    check::<_, storage::CSIDriver>(&CsiDriver::default());
    check::<_, storage::CSINode>(&CsiNode::default());
    check::<_, storage::CSIStorageCapacity>(&CsiStorageCapacity::default());
    check::<_, apps::StatefulSet>(&StatefulSet::default());
    let ours = PersistentVolumeClaim::try_from(core::PersistentVolumeClaim::default()).unwrap();
    let text = serde_json::to_string(&ours).unwrap();
    assert_eq!(
        text,
        r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{}}"#
    );
}

#[test]
fn the_templates_of_a_stateful_set_are_claims_there() {
    let set = json!({
        "kind": "StatefulSet", "apiVersion": "apps/v1", "metadata": {"name": "db"},
        "spec": {"replicas": 3, "ordinals": {"start": 5}, "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}},
            "volumeClaimTemplates": [{"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                "metadata": {"name": "data"},
                "spec": {"resources": {"requests": {"storage": "1Gi"}}},
                "status": {"phase": "Pending"}}]},
        "status": {"replicas": 3}});
    let ours: StatefulSet = serde_json::from_value(set.clone()).unwrap();
    check::<_, apps::StatefulSet>(&ours);
    let theirs = apps::StatefulSet::try_from(ours).unwrap();
    assert_eq!(serde_json::to_value(&theirs).unwrap(), set);
}

fn error_of<Theirs: TryFrom<Ours>, Ours: DeserializeOwned>(ours: Value) -> String
where
    Theirs::Error: Display,
{
    let ours: Ours = serde_json::from_value(ours).unwrap();
    match Theirs::try_from(ours) {
        Ok(_) => panic!("it converts"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cannot_be_converted_is_named_with_object_field_and_value() {
    let error = error_of::<core::PersistentVolume, PersistentVolume>(json!({
        "metadata": {"name": "pv-1"}, "spec": {"csi": {"fsType": 7}}}));
    assert_eq!(
        error,
        "PersistentVolume `pv-1`: .spec.csi.fsType: invalid type: integer `7`, expected a string, in `7`"
    );
    let error = error_of::<core::PersistentVolumeClaim, PersistentVolumeClaim>(json!({
        "metadata": {"namespace": "shop", "name": "data", "deletionTimestamp": "soon"}}));
    assert_eq!(
        error,
        "PersistentVolumeClaim `shop/data`: .metadata.deletionTimestamp: `soon` is no RFC 3339 time"
    );
    let error = error_of::<core::PersistentVolumeClaim, PersistentVolumeClaim>(json!({
        "metadata": {"name": "data"}, "spec": {"dataSource": []}}));
    assert!(
        error.starts_with("PersistentVolumeClaim `data`: .spec.dataSource: "),
        "{error}"
    );
    let error = error_of::<storage::StorageClass, StorageClass>(json!({
        "apiVersion": "storage.k8s.io/v1beta1", "metadata": {"name": "fast"}}));
    assert_eq!(
        error,
        "StorageClass `fast`: .apiVersion: `storage.k8s.io/v1beta1`, expected `storage.k8s.io/v1`"
    );
    // However deep it stands in what this crate has no name for.
    let error = error_of::<core::Node, Node>(json!({
        "metadata": {"name": "a"}, "spec": {"podCIDRs": ["10.0.0.0/24", 7], "unschedulable": true}}));
    assert_eq!(
        error,
        "Node `a`: .spec.podCIDRs[1]: invalid type: integer `7`, expected a string, in `7`"
    );
    let error =
        error_of::<apps::StatefulSet, StatefulSet>(json!({"spec": {"replicas": 3000000000_u32}}));
    assert_eq!(
        error,
        "StatefulSet without a name: .spec.replicas: `3000000000` is beyond 32 bits"
    );
    let mut theirs = core::PersistentVolume::default();
    let capacity = [("storage".to_owned(), meta_quantity("10GB"))];
    theirs.metadata.name = Some("pv-2".to_owned());
    theirs.spec.get_or_insert_default().capacity = Some(capacity.into());
    assert_eq!(
        PersistentVolume::try_from(theirs).unwrap_err().to_string(),
        "PersistentVolume `pv-2`: .spec.capacity.storage: quantity `10GB` has an unexpected `B` at offset 3"
    );
}

fn meta_quantity(text: &str) -> k8s_openapi::apimachinery::pkg::api::resource::Quantity {
    k8s_openapi::apimachinery::pkg::api::resource::Quantity(text.to_owned())
}

#[test]
fn blanks_around_an_amount_do_not_count_as_they_do_not_in_json() {
    let mut theirs = core::PersistentVolume::default();
    let capacity = [("storage".to_owned(), meta_quantity(" 10Gi "))];
    theirs.spec.get_or_insert_default().capacity = Some(capacity.into());
    let by_json: PersistentVolume =
        serde_json::from_value(serde_json::to_value(&theirs).unwrap()).unwrap();
    assert_eq!(
        PersistentVolume::try_from(&theirs).unwrap().storage(),
        by_json.storage()
    );
    assert_eq!(by_json.storage().to_string(), "10Gi");
}

#[test]
fn the_place_in_a_list_is_named() {
    let mut theirs = core::Pod::default();
    let volume = |amount: &str| {
        let mut template = core::PersistentVolumeClaimTemplate::default();
        let requests = [("storage".to_owned(), meta_quantity(amount))];
        template.spec.resources.get_or_insert_default().requests = Some(requests.into());
        core::Volume {
            ephemeral: Some(core::EphemeralVolumeSource {
                volume_claim_template: Some(template),
            }),
            ..Default::default()
        }
    };
    theirs.spec.get_or_insert_default().volumes = Some(vec![volume("1Gi"), volume("1gi")]);
    assert_eq!(
        Pod::try_from(theirs).unwrap_err().field,
        ".spec.volumes[1].ephemeral.volumeClaimTemplate.spec.resources.requests.storage"
    );
}

#[test]
fn parts_convert_on_their_own() {
    let selector: LabelSelector = serde_json::from_value(
        json!({"matchLabels": {"tier": "fast"}, "matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["a"]}]}),
    )
    .unwrap();
    check::<_, meta::LabelSelector>(&selector);
    let reference = core::ObjectReference {
        name: Some("data".to_owned()),
        ..Default::default()
    };
    assert_eq!(ObjectReference::from(&reference).name(), "data");
    let quantity = Quantity::try_from(meta_quantity("1024Mi")).unwrap();
    assert_eq!(meta_quantity("1Gi"), quantity.into());
    let written = Timestamp::from("2026-01-02T04:04:05.250+01:00");
    let time = meta::Time::try_from(written.clone()).unwrap();
    let read = Timestamp::from(time);
    assert_eq!(read.as_str(), "2026-01-02T03:04:05.25Z");
    assert_eq!(read.unix_nanos(), written.unix_nanos());
}
