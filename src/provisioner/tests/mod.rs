//! The whole of a claim's sync: request, answers, object.

mod answer;
mod progress;
mod request;
mod run;

use std::sync::Arc;

use super::*;
use crate::api::{PersistentVolume, PersistentVolumeClaim, StorageClass, read_objects};
use crate::plan::{Plan, Step, Write};
use crate::view::Snapshot;
use serde_json::{Value, json};

fn claim(spec: Value) -> Arc<PersistentVolumeClaim> {
    let mut claim = json!({
        "metadata": {"namespace": "shop", "name": "data", "uid": "u-1", "annotations": {
            "volume.kubernetes.io/storage-provisioner": "disk.csi"}},
        "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}}}});
    for (field, value) in spec.as_object().unwrap() {
        claim["spec"][field] = value.clone();
    }
    serde_json::from_value(claim).map(Arc::new).unwrap()
}

fn class(fields: Value) -> Value {
    let mut class = json!({"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1",
        "metadata": {"name": "fast"}, "provisioner": "disk.csi"});
    for (field, value) in fields.as_object().unwrap() {
        class[field] = value.clone();
    }
    class
}

fn view(class: &Value) -> Snapshot {
    let class: StorageClass = serde_json::from_value(class.clone()).unwrap();
    let mut view = Snapshot::new();
    view.apply(Arc::new(class));
    view
}

fn operation(config: &Config, view: &Snapshot, claim: &Arc<PersistentVolumeClaim>) -> CreateVolume {
    match sync_claim(config, view, claim).verdict {
        ClaimNext::CreateVolume(operation) => operation,
        other => panic!("no call: {other:?}"),
    }
}

fn request(config: &Config, class_fields: Value, claim_spec: Value) -> Result<Value, RequestError> {
    let view = view(&class(class_fields));
    let operation = operation(config, &view, &claim(claim_spec));
    let request = operation.request(config, &view, &RequestInputs::default())?;
    Ok(json!(request))
}

/// What the driver answers to this.
fn answered(
    config: &Config,
    view: &Snapshot,
    operation: CreateVolume,
    made: &csi::Volume,
) -> Plan<ClaimNext> {
    let inputs = RequestInputs::default();
    let request = operation.request(config, view, &inputs).unwrap();
    operation.created(config, &request, made)
}

fn made(volume: Value) -> csi::Volume {
    let mut made = json!({"volume_id": "h-1"});
    for (field, value) in volume.as_object().unwrap() {
        made[field] = value.clone();
    }
    serde_json::from_value(made).unwrap()
}

/// The volume that the plan creates.
fn created(plan: &Plan<ClaimNext>) -> Value {
    match &plan.steps[..] {
        [
            Step::Write {
                write: Write::CreateVolume { volume, .. },
                ..
            },
        ] => json!(**volume),
        other => panic!("no creation: {other:?}"),
    }
}

/// The volume that is to be deleted again, once it is known to be in no use.
fn to_clean_up(plan: Plan<ClaimNext>) -> CleanUp {
    assert!(plan.is_empty());
    let ClaimNext::ReadVolume(next) = plan.verdict else {
        panic!("not asked");
    };
    assert_eq!(next.name(), "pvc-u-1");
    match next.answer(None).verdict {
        ClaimNext::CleanUp(clean_up) => clean_up,
        other => panic!("nothing to clean up: {other:?}"),
    }
}

fn end(plan: Plan<ClaimNext>) -> ClaimEnd {
    match plan.verdict {
        ClaimNext::Over(end) => end,
        other => panic!("not over: {other:?}"),
    }
}

#[test]
fn the_request_holds_what_claim_and_class_say() {
    let config = Config {
        default_fs_type: "ext4".into(),
        tells_names: true,
        ..Config::new("disk.csi")
    };
    let class = json!({"mountOptions": ["noatime"], "parameters": {"type": "ssd",
        "csi.storage.k8s.io/provisioner-secret-name": "keys",
        "csi.storage.k8s.io/provisioner-secret-namespace": "${pvc.namespace}"}});
    let claim = json!({"accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "resources": {"requests": {"storage": "1500m"}}});
    let mount = json!({"fs_type": "ext4", "mount_flags": ["noatime"]});
    assert_eq!(
        request(&config, class, claim).unwrap(),
        json!({"name": "pvc-u-1", "capacity_range": {"required_bytes": 2},
            "volume_capabilities": [
                {"mount": mount, "access_mode": "SINGLE_NODE_WRITER"},
                {"mount": mount, "access_mode": "MULTI_NODE_READER_ONLY"}],
            "parameters": {"type": "ssd", "csi.storage.k8s.io/pvc/name": "data",
                "csi.storage.k8s.io/pvc/namespace": "shop", "csi.storage.k8s.io/pv/name": "pvc-u-1"}})
    );
}

#[test]
fn single_node_modes_are_told_to_drivers_that_know_them() {
    let mut config = Config::new("disk.csi");
    let modes = |config: &Config, mode: &str| {
        let request = request(config, json!({}), json!({"accessModes": [mode]}))?;
        Ok::<_, RequestError>(request["volume_capabilities"][0]["access_mode"].clone())
    };
    assert_eq!(
        modes(&config, "ReadWriteOnce").unwrap(),
        "SINGLE_NODE_WRITER"
    );
    assert_eq!(
        modes(&config, "ReadWriteMany").unwrap(),
        "MULTI_NODE_MULTI_WRITER"
    );
    assert_eq!(
        modes(&config, "ReadWriteOncePod").unwrap_err().to_string(),
        "driver `disk.csi` does not know the access mode `ReadWriteOncePod`"
    );
    config.knows_single_node_modes = true;
    assert_eq!(
        modes(&config, "ReadWriteOnce").unwrap(),
        "SINGLE_NODE_MULTI_WRITER"
    );
    assert_eq!(
        modes(&config, "ReadWriteOncePod").unwrap(),
        "SINGLE_NODE_SINGLE_WRITER"
    );
    assert_eq!(
        modes(&config, "ReadNever").unwrap_err().code(),
        "access-mode"
    );
}

#[test]
fn what_cannot_be_asked_for_is_refused_with_the_reason() {
    let config = Config::new("disk.csi");
    for (claim, code) in [
        (json!({"selector": {"matchLabels": {"a": "b"}}}), "selector"),
        (json!({"selector": {}}), "selector"),
        (json!({"accessModes": []}), "access-mode"),
        (json!({"volumeMode": "Tape"}), "volume-mode"),
        (
            json!({"resources": {"requests": {"storage": "-1"}}}),
            "size",
        ),
        (
            json!({"resources": {"requests": {"storage": "10E"}}}),
            "size",
        ),
        (
            json!({"volumeAttributesClassName": "gold"}),
            "attributes-class",
        ),
        (
            json!({"dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}}),
            "data-source",
        ),
        (
            json!({"dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}}),
            "data-source",
        ),
        (
            json!({"dataSourceRef": {"apiGroup": "x.io", "kind": "Disk", "name": "x"}}),
            "for-populator",
        ),
    ] {
        let refused = request(&config, json!({}), claim.clone());
        assert_eq!(refused.unwrap_err().code(), code, "{claim}");
    }
}

#[test]
fn a_uid_that_no_name_can_hold_is_refused_before_the_driver_is_asked() {
    let config = Config::new("disk.csi");
    let view = view(&class(json!({})));
    let refused = |uid: &str| {
        let mut claim = PersistentVolumeClaim::clone(&claim(json!({})));
        claim.metadata.uid = Some(uid.to_owned());
        let operation = operation(&config, &view, &Arc::new(claim));
        let asked = operation.request(&config, &view, &RequestInputs::default());
        asked.err().map(|error| error.code())
    };
    assert_eq!(refused(""), Some("no-uid"));
    // With `pvc-` before it as long as a name may be.
    let longest = "a".repeat(124);
    let longer = [&longest, "a"].concat();
    for uid in [
        "A",
        "a b",
        "a\u{7}",
        "-",
        "a-",
        &longer,
        &"a".repeat(1_000_000),
    ] {
        assert_eq!(refused(uid), Some("volume-name"));
    }
    for uid in ["u-1", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", &longest] {
        assert_eq!(refused(uid), None);
    }
}

#[test]
fn a_refused_request_fails_the_claim_and_a_populators_is_left_alone() {
    let config = Config::new("disk.csi");
    let view = view(&class(json!({})));
    let operation = operation(&config, &view, &claim(json!({})));
    let plan = operation.clone().refused(&RequestError::Selector);
    let Step::Event(event) = &plan.steps[0] else {
        panic!("no event");
    };
    assert_eq!(
        event.to_string(),
        "Warning ProvisioningFailed on PersistentVolumeClaim shop/data: claim Selector is not supported"
    );
    assert_eq!(end(plan).progress, Progress::Finished);
    let populator = RequestError::ForPopulator {
        kind: "Disk".into(),
        name: "x".into(),
    };
    let plan = operation.refused(&populator);
    assert!(plan.is_empty());
    assert_eq!(end(plan).outcome.unwrap().code(), "ignored");
}

#[test]
fn a_claim_is_copied_from_a_bound_claim_of_the_same_driver() {
    let config = Config::new("disk.csi");
    let mut view = view(&class(json!({})));
    view.extend(
        read_objects(
            r#"{"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "old", "uid": "u-0"},
                "spec": {"volumeName": "pv-0", "resources": {"requests": {"storage": "5Gi"}}},
                "status": {"phase": "Bound"}}
            {"kind": "PersistentVolume", "metadata": {"name": "pv-0"}, "spec": {
                "capacity": {"storage": "5Gi"}, "csi": {"driver": "disk.csi", "volumeHandle": "h-0"},
                "claimRef": {"namespace": "shop", "name": "old", "uid": "u-0"}}}"#,
        )
        .unwrap(),
    );
    let source = json!({"kind": "PersistentVolumeClaim", "name": "old"});
    let ask = |size: &str| {
        let claim = claim(json!({"dataSource": source,
            "resources": {"requests": {"storage": size}}}));
        operation(&config, &view, &claim).request(&config, &view, &RequestInputs::default())
    };
    assert_eq!(
        json!(ask("5Gi").unwrap().volume_content_source),
        json!({"volume": {"volume_id": "h-0"}})
    );
    assert_eq!(
        ask("4Gi").unwrap_err().to_string(),
        "claim `shop/old` cannot be copied: it asks for more than the claim that is to be filled"
    );
}

#[test]
fn the_object_is_made_of_the_answer_the_claim_and_the_class() {
    let config = Config {
        topology: Some(TopologyConfig::default()),
        identity: Some("me".into()),
        marks_read_only: true,
        ..Config::new("disk.csi")
    };
    let class = class(
        json!({"mountOptions": ["noatime"], "reclaimPolicy": "Retain", "parameters": {
        "csi.storage.k8s.io/fstype": "xfs",
        "csi.storage.k8s.io/provisioner-secret-name": "keys",
        "csi.storage.k8s.io/provisioner-secret-namespace": "disks",
        "csi.storage.k8s.io/node-stage-secret-name": "${pv.name}",
        "csi.storage.k8s.io/node-stage-secret-namespace": "${pvc.namespace}"}}),
    );
    let claim = claim(json!({"accessModes": ["ReadOnlyMany"], "volumeMode": "Filesystem"}));
    let mut view = view(&class);
    view.extend(
        read_objects(
            r#"{"kind": "Node", "metadata": {"name": "n", "labels": {"zone": "a"}}}
            {"kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": [
                {"name": "disk.csi", "nodeID": "n", "topologyKeys": ["zone"]}]}}"#,
        )
        .unwrap(),
    );
    let operation = operation(&config, &view, &claim);
    let answer = made(
        json!({"capacity_bytes": 6442450944_i64, "volume_context": {"iops": "9"},
        "accessible_topology": [{"segments": {"zone": "a", "rack": "1"}}, {"segments": {}}]}),
    );
    let volume = created(&answered(&config, &view, operation, &answer));
    assert_eq!(
        volume,
        json!({
            "metadata": {"name": "pvc-u-1",
                "annotations": {"pv.kubernetes.io/provisioned-by": "disk.csi",
                    "volume.kubernetes.io/provisioner-deletion-secret-name": "keys",
                    "volume.kubernetes.io/provisioner-deletion-secret-namespace": "disks"},
                "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
            "spec": {"capacity": {"storage": "6Gi"}, "accessModes": ["ReadOnlyMany"],
                "volumeMode": "Filesystem", "storageClassName": "fast",
                "persistentVolumeReclaimPolicy": "Retain", "mountOptions": ["noatime"],
                "claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
                    "namespace": "shop", "name": "data", "uid": "u-1"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "rack", "operator": "In", "values": ["1"]},
                    {"key": "zone", "operator": "In", "values": ["a"]}]}]}},
                "csi": {"driver": "disk.csi", "volumeHandle": "h-1", "readOnly": true,
                    "fsType": "xfs", "volumeAttributes": {"iops": "9",
                        "storage.kubernetes.io/csiProvisionerIdentity": "me"},
                    "nodeStageSecretRef": {"name": "pvc-u-1", "namespace": "shop"}}}})
    );
    let volume: PersistentVolume = serde_json::from_value(volume).unwrap();
    assert_eq!(check_ours(&config, &volume), Ok(()));
}

#[test]
fn a_driver_that_is_told_no_topology_makes_no_affinity_and_silence_means_the_size_asked_for() {
    let config = Config::new("disk.csi");
    let view = view(&class(json!({})));
    let operation = operation(&config, &view, &claim(json!({})));
    let answer = made(json!({"accessible_topology": [{"segments": {"zone": "a"}}]}));
    let volume = created(&answered(&config, &view, operation, &answer));
    assert_eq!(volume["spec"]["nodeAffinity"], Value::Null);
    assert_eq!(volume["spec"]["capacity"]["storage"], "5Gi");
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Delete");
}

#[test]
fn a_volume_that_is_too_small_is_deleted_again() {
    let config = Config::new("disk.csi");
    let view = view(&class(json!({})));
    let operation = operation(&config, &view, &claim(json!({})));
    let answer = made(json!({"capacity_bytes": 5}));
    let plan = answered(&config, &view, operation, &answer);
    let clean_up = to_clean_up(plan);
    assert_eq!(clean_up.volume_id(), "h-1");
    let message = "created volume capacity 5 less than requested capacity 5368709120";
    let deleted = end(clean_up.clone().deleted());
    assert_eq!(deleted.outcome.unwrap_err().to_string(), message);
    assert_eq!(deleted.progress, Progress::InBackground);
    let orphaned = end(clean_up.failed("down"));
    let told = orphaned.outcome.unwrap_err().to_string();
    assert_eq!(
        told,
        format!("{message}. Cleanup of volume pvc-u-1 failed, volume is orphaned: down")
    );
    assert_eq!(orphaned.progress, Progress::InBackground);
}

#[test]
fn a_shortened_name_that_is_another_claims_is_not_taken_for_ones_own() {
    let mut config = Config::new("disk.csi");
    config.volume_names = VolumeNames::new("pvc", Some(1)).unwrap();
    let mut view = view(&class(json!({})));
    let other = r#"{"kind": "PersistentVolume", "metadata": {"name": "pvc-u"}, "spec": {
        "claimRef": {"namespace": "shop", "name": "other", "uid": "u-2"}}}"#;
    view.extend(read_objects(other).unwrap());
    let plan = sync_claim(&config, &view, claim(json!({})));
    let text = "the volume `pvc-u` is of the claim `shop/other`, whose uid begins alike";
    let [Step::Event(event)] = &plan.steps[..] else {
        panic!("not told: {plan:?}");
    };
    assert_eq!(
        event.to_string(),
        format!("Warning ProvisioningFailed on PersistentVolumeClaim shop/data: {text}")
    );
    assert_eq!(end(plan).outcome.unwrap_err().to_string(), text);
}

#[test]
fn a_deleted_claim_is_continued_as_it_was_and_a_changed_one_as_it_is() {
    let config = Config::new("disk.csi");
    let mut view = view(&class(json!({})));
    let before = claim(json!({}));
    let plan = continue_claim(&config, &view, &before);
    assert!(matches!(plan.verdict, ClaimNext::CreateVolume(_)));
    view.apply(claim(json!({"volumeName": "pv"})));
    let plan = continue_claim(&config, &view, &before);
    assert_eq!(end(plan).outcome.unwrap().code(), "has-volume");
}

#[test]
fn the_secret_that_deletes_is_the_noted_one_or_else_the_classs() {
    let config = Config::new("disk.csi");
    let view = view(&class(json!({"parameters": {
        "csi.storage.k8s.io/provisioner-secret-name": "${pvc.name}-keys",
        "csi.storage.k8s.io/provisioner-secret-namespace": "${pvc.namespace}"}})));
    let secret = |annotations: Value| {
        let volume: PersistentVolume = serde_json::from_value(json!({
            "metadata": {"name": "pv", "annotations": annotations},
            "spec": {"csi": {"driver": "disk.csi", "volumeHandle": "h"}, "storageClassName": "fast",
                "persistentVolumeReclaimPolicy": "Delete",
                "claimRef": {"namespace": "shop", "name": "data"}},
            "status": {"phase": "Released"}}))
        .unwrap();
        let VolumeNext::DeleteVolume(operation) = sync_volume(&config, &volume).verdict else {
            panic!("not deleted");
        };
        let secret = operation.provisioner_secret(&view).unwrap();
        secret.map(|secret| secret.to_string())
    };
    assert_eq!(secret(json!({})).unwrap(), "shop/data-keys");
    let noted = |namespace, name| {
        secret(
            json!({"volume.kubernetes.io/provisioner-deletion-secret-name": name,
            "volume.kubernetes.io/provisioner-deletion-secret-namespace": namespace}),
        )
    };
    assert_eq!(noted("ns", "n").unwrap(), "ns/n");
    // As the sidecar notes that there was none.
    assert_eq!(noted("", ""), None);
    assert_eq!(noted("ns", ""), None);
}

#[test]
fn a_volume_that_was_made_without_a_secret_gets_none_from_its_class_later() {
    let config = Config::new("disk.csi");
    let before = view(&class(json!({})));
    let operation = operation(&config, &before, &claim(json!({})));
    let mut object = created(&answered(&config, &before, operation, &made(json!({}))));
    for part in ["name", "namespace"] {
        let key = format!("volume.kubernetes.io/provisioner-deletion-secret-{part}");
        assert_eq!(object["metadata"]["annotations"][key], "");
    }
    object["status"] = json!({"phase": "Released"});
    let object: PersistentVolume = serde_json::from_value(object).unwrap();
    let VolumeNext::DeleteVolume(operation) = sync_volume(&config, &object).verdict else {
        panic!("not deleted");
    };
    let later = view(&class(json!({"parameters": {
        "csi.storage.k8s.io/provisioner-secret-name": "${pvc.annotations['none']}",
        "csi.storage.k8s.io/provisioner-secret-namespace": "disks"}})));
    assert_eq!(operation.provisioner_secret(&later), Ok(None));
}
