//! Objects are read and written without loss, and bad ones are refused with
//! the place.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use pvbind::api::{
    AccessMode, List, Object, PersistentVolume, PersistentVolumeClaim, Pod, ReadError, StatefulSet,
    read_objects,
};
use pvbind::quantity::Quantity;
use serde_json::{Value, json};

/// Reads an object as its kind, and writes it again.
fn round_trip(value: &Value) -> Value {
    let object = Object::from_value(value.clone()).unwrap();
    serde_json::to_value(&object).unwrap()
}

/// Fails unless `written` is the same JSON as `read`, up to the text of
/// quantities and fields that are null.
fn assert_same(read: &Value, written: &Value, path: &str) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            for (key, value) in read {
                let path = format!("{path}.{key}");
                match written.get(key) {
                    Some(written) => assert_same(value, written, &path),
                    None => assert!(value.is_null(), "{path} is lost"),
                }
            }
            for key in written.keys() {
                assert!(read.contains_key(key), "{path}.{key} is new");
            }
        }
        (Value::Array(read), Value::Array(written)) => {
            assert_eq!(read.len(), written.len(), "{path}");
            for (index, (read, written)) in read.iter().zip(written).enumerate() {
                assert_same(read, written, &format!("{path}[{index}]"));
            }
        }
        (read, written) if read == written => {}
        (read, written) => {
            let is_amount = ["capacity", "requests", "limits", "maximumVolumeSize"]
                .iter()
                .any(|field| path.contains(field));
            let quantity = |value: &Value| serde_json::from_value::<Quantity>(value.clone());
            assert!(
                is_amount && quantity(read).unwrap() == quantity(written).unwrap(),
                "{path}: read {read}, wrote {written}"
            );
        }
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn every_object_of_the_recorded_clusters_survives() {
    for cluster in ["pending", "scheduled", "released"] {
        let path = folder("examples/clusters").join(format!("{cluster}.json"));
        let text = fs::read_to_string(path).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        let typed: List = serde_json::from_str(&text).unwrap();
        assert_same(&list, &serde_json::to_value(&typed).unwrap(), cluster);
        let items = list["items"].as_array().unwrap();
        assert_eq!(read_objects(&text).unwrap().len(), items.len());
        for item in items {
            assert_same(
                item,
                &round_trip(item),
                &item["metadata"]["name"].to_string(),
            );
        }
    }
}

#[test]
fn every_object_of_the_vectors_survives() {
    let mut objects = 0;
    for file in [
        "find_matching_volume",
        "find_best_match_for_claim",
        "volume_satisfies_claim",
        "sync_claim",
        "sync_volume",
        "pod_volumes",
        "csi_provisioner",
        "csi_topology",
    ] {
        let path = folder("tests/vectors").join(format!("{file}.ndjson.gz"));
        let lines = BufReader::new(GzDecoder::new(fs::File::open(path).unwrap())).lines();
        // The first lines show every form; all of them take long.
        for line in lines.take(300) {
            let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
            objects += check_objects_in(&case);
        }
    }
    assert!(objects > 10_000, "only {objects} objects");
}

fn check_objects_in(value: &Value) -> usize {
    match value {
        Value::Object(fields)
            if fields.contains_key("kind") && fields.contains_key("apiVersion") =>
        {
            // Steps of the controller vectors have a kind too, but no metadata.
            if fields.contains_key("metadata") {
                assert_same(value, &round_trip(value), "");
                return 1;
            }
            0
        }
        Value::Object(fields) => fields.values().map(check_objects_in).sum(),
        Value::Array(items) => items.iter().map(check_objects_in).sum(),
        _ => 0,
    }
}

#[test]
fn unknown_fields_and_values_survive_at_every_level() {
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "future": [1, {"a": null}],
        "metadata": {
            "name": "pv-1", "managedFields": [{"manager": "kubectl"}],
            "ownerReferences": [{"name": "o", "strength": 7}],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce", "ReadWriteSometimes"], "volumeMode": "Tape",
            "persistentVolumeReclaimPolicy": "Bury", "fc": {"lun": 2},
            "capacity": {"storage": "1Gi", "iops": "500"},
            "csi": {"driver": "d", "nodeStageSecretRef": {"name": "s"}},
            "claimRef": {"name": "c", "future": true},
            "nodeAffinity": {"preferred": [], "required": {"nodeSelectorTerms": [
                {"weight": 1, "matchExpressions": [{"key": "k", "operator": "Near", "values": ["1"], "unit": "m"}]},
            ], "mode": "x"}},
        },
        "status": {"phase": "Dreaming", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"},
    });
    assert_eq!(round_trip(&volume), volume);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "c"}], "nodeSelector": {"disk": "ssd"},
            "affinity": {"podAffinity": {}, "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}},
            "volumes": [{"name": "v", "configMap": {"name": "m"}},
                {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"claims": []}}}}}],
        },
        "status": {"phase": "Napping", "qosClass": "Guaranteed"},
    });
    assert_eq!(round_trip(&pod), pod);
}

#[test]
fn absent_empty_and_zero_stay_different_texts() {
    for text in [
        r#"{}"#,
        r#"{"metadata":{},"spec":{},"status":{}}"#,
        r#"{"metadata":{"labels":{},"annotations":{"a":""},"finalizers":[]}}"#,
        r#"{"spec":{"selector":{},"resources":{},"volumeName":"","storageClassName":""}}"#,
        r#"{"spec":{"selector":{"matchLabels":{},"matchExpressions":[]},"accessModes":[]}}"#,
        r#"{"spec":{"resources":{"requests":{}}},"status":{"capacity":{}}}"#,
    ] {
        let claim: PersistentVolumeClaim = serde_json::from_str(text).unwrap();
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&claim).unwrap(), read);
    }
    for text in [
        r#"{"spec":{"nodeAffinity":{}}}"#,
        r#"{"spec":{"nodeAffinity":{"required":{}}}}"#,
        r#"{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[]}}}}"#,
        r#"{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{}]}},"csi":{}}}"#,
    ] {
        let volume: PersistentVolume = serde_json::from_str(text).unwrap();
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&volume).unwrap(), read);
    }
}

#[test]
fn null_means_absent_everywhere() {
    let claim: PersistentVolumeClaim = serde_json::from_value(json!({
        "metadata": {"name": "c", "creationTimestamp": null, "labels": null},
        "spec": {"accessModes": null, "selector": null, "resources": null, "storageClassName": null},
        "status": null,
    }))
    .unwrap();
    assert!(!claim.has_class() && claim.spec.selector.is_none());
    assert_eq!(
        serde_json::to_string(&claim).unwrap(),
        r#"{"metadata":{"name":"c"},"spec":{}}"#
    );
}

#[test]
fn values_without_a_name_compare_by_their_text() {
    assert_eq!(AccessMode::from("ReadWriteOnce"), AccessMode::ReadWriteOnce);
    assert_ne!(AccessMode::from("readwriteonce"), AccessMode::ReadWriteOnce);
    assert_eq!(AccessMode::from("x"), AccessMode::from("x"));
    assert!(AccessMode::from("").is_unknown());
}

#[test]
fn an_error_names_the_object_the_field_and_the_value() {
    for (text, want) in [
        (
            r#"{"kind": "List", "items": [{"kind": "Pod"}, {"kind": "PersistentVolumeClaim",
                "metadata": {"namespace": "a", "name": "b"}, "spec": {"resources": {"requests": {"storage": "5 Gi"}}}}]}"#,
            ".items[1]: PersistentVolumeClaim `a/b`: .spec.resources.requests.storage: ",
        ),
        (
            r#"{"kind": "PersistentVolume", "metadata": {"name": "v", "labels": {"a/b": 1}}}"#,
            "PersistentVolume `v`: .metadata.labels[\"a/b\"]: invalid type: integer `1`, expected a string",
        ),
        (
            r#"{"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"nodeAffinity":
                {"required": {"nodeSelectorTerms": [{}, {"matchExpressions": [{"key": []}]}]}}}}"#,
            "PersistentVolume `v`: .spec.nodeAffinity.required.nodeSelectorTerms[1].matchExpressions[0].key: ",
        ),
        (
            r#"{"kind": "PersistentVolume", "spec": 7}"#,
            "PersistentVolume `without a name`: .spec: invalid type: integer `7`",
        ),
        ("{} 7", "value 2: not a Kubernetes object: `7`"),
        (
            r#"{"kind": "List", "items": [[]]}"#,
            ".items[0]: not a Kubernetes object: `[]`",
        ),
        (
            r#"{"kind": "List", "items": {}}"#,
            "List `without a name`: .items: `{}`, expected a list",
        ),
        ("{\n  \"kind\": }", "line 2, column 11: expected value"),
        ("{", "line 1, column 1: EOF while parsing an object"),
    ] {
        let error = read_objects(text).unwrap_err();
        assert!(error.to_string().starts_with(want), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn deep_json_is_refused_not_a_crash() {
    let deep = "[".repeat(200_000);
    assert!(matches!(read_objects(&deep), Err(ReadError::Syntax { .. })));
    let lists = r#"{"kind": "List", "items": ["#.repeat(60) + "]}".repeat(60).as_str();
    assert_eq!(read_objects(&lists), Ok(Vec::new()));
}

#[test]
fn kinds_of_other_groups_are_not_taken_for_kubernetes_own() {
    let objects = read_objects(
        r#"{"kind": "Node", "apiVersion": "example.com/v1", "spec": 7}
           {"kind": "StorageClass", "apiVersion": "storage.k8s.io/v9", "provisioner": "p"}
           {"kind": "PersistentVolumeList", "apiVersion": "v1", "items": [{"metadata": {"name": "v"}}]}"#,
    )
    .unwrap();
    let allow_list = r#"{"kind": "AllowList", "items": ["10.0.0.1"]}"#;
    assert!(matches!(
        &read_objects(allow_list).unwrap()[..],
        [Object::Other(_)]
    ));
    let named = r#"{"kind": "AllowList", "metadata": {"name": "a"}, "items": [{"ip": "1.2.3.4"}]}"#;
    assert!(matches!(
        &read_objects(named).unwrap()[..],
        [Object::Other(_)]
    ));
    assert!(matches!(objects[0], Object::Other(_)));
    assert!(matches!(&objects[1], Object::StorageClass(class) if class.provisioner() == "p"));
    assert!(matches!(&objects[2], Object::PersistentVolume(volume) if volume.name() == "v"));
}

#[test]
fn claims_of_stateful_sets_and_ephemeral_volumes_have_their_names() {
    let set: StatefulSet = serde_json::from_value(json!({
        "metadata": {"name": "mysql"},
        "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}]},
    }))
    .unwrap();
    assert_eq!(
        set.claim_names(12).collect::<Vec<_>>(),
        ["data-mysql-12", "logs-mysql-12"]
    );
    assert_eq!(set.ordinals(), 0..1);
    let set: StatefulSet =
        serde_json::from_value(json!({"spec": {"replicas": 3, "ordinals": {"start": 5}}})).unwrap();
    assert_eq!(set.ordinals(), 5..8);
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "u-1"},
        "spec": {"volumes": [{"name": "tmp", "ephemeral": {}}, {"name": "x", "emptyDir": {}}]},
    }))
    .unwrap();
    assert!(pod.uses_claim("web-tmp"));
    let claim = |uid: &str| -> PersistentVolumeClaim {
        serde_json::from_value(json!({"metadata": {"namespace": "shop", "name": "web-tmp",
            "ownerReferences": [{"uid": uid, "controller": true}]}}))
        .unwrap()
    };
    assert!(pod.owns(&claim("u-1")) && !pod.owns(&claim("u-2")));
}
