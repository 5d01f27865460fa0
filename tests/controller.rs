//! Stories of the binding controller that the recorded cases do not tell.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it does not expect"
)]

use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim, StorageClass};
use pvbind::binding::{VolumeLifeRefusalReason, mark_volume_available};
use pvbind::controller::{ClaimEvidence, Config, InTreePlugin, sync_claim, sync_volume};
use pvbind::plan::{Plan, Step, SyncError, Verdict, Write};
use pvbind::view::Snapshot;
use serde_json::{Value, json};
use std::sync::Arc;

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    serde_json::from_value(value).map(Arc::new).unwrap()
}

fn volume(spec: Value) -> Arc<PersistentVolume> {
    let mut object = json!({"metadata": {"name": "pv", "uid": "u-pv"}, "status": {"phase": "Available"},
        "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}});
    pvbind::plan::apply_merge_patch(&mut object["spec"], &spec);
    read(object)
}

fn claim(spec: Value) -> Arc<PersistentVolumeClaim> {
    let mut object = json!({"metadata": {"namespace": "shop", "name": "data", "uid": "u-claim"},
        "status": {"phase": "Pending"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}});
    pvbind::plan::apply_merge_patch(&mut object["spec"], &spec);
    read(object)
}

fn without_attributes_classes() -> Config {
    let mut config = Config::default();
    config.features.volume_attributes_class = false;
    config
}

fn messages(plan: &Plan) -> Vec<&str> {
    plan.steps
        .iter()
        .filter_map(|step| match step {
            Step::Event(event) => Some(event.message.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn without_volume_attributes_classes_a_claim_that_names_one_is_not_searched_for() {
    let mut snapshot = Snapshot::new();
    snapshot.apply(volume(json!({"volumeAttributesClassName": "gold"})));
    let claim = claim(json!({"volumeAttributesClassName": "gold"}));
    let plan = sync_claim(&without_attributes_classes(), &snapshot, &claim);
    let Verdict::Retry(error @ SyncError::Find { .. }) = &plan.verdict else {
        panic!("{plan:?}");
    };
    assert_eq!(
        error.to_string(),
        "error finding PV for claim \"shop/data\": unsupported volumeAttributesClassName is set \
         on claim shop/data when the feature-gate VolumeAttributesClass is disabled"
    );
    assert!(sync_claim(&Config::default(), &snapshot, &claim).has_writes());
}

#[test]
fn without_volume_attributes_classes_a_claim_may_not_name_a_volume_that_has_one() {
    let mut snapshot = Snapshot::new();
    snapshot.apply(volume(json!({"volumeAttributesClassName": "gold"})));
    let claim = claim(json!({"volumeAttributesClassName": "gold", "volumeName": "pv"}));
    let plan = sync_claim(&without_attributes_classes(), &snapshot, &claim);
    let [message] = messages(&plan)[..] else {
        panic!("{plan:?}");
    };
    assert!(
        message.starts_with("Cannot bind to requested volume \"pv\": "),
        "{message}"
    );
    let plan = sync_claim(&Config::default(), &snapshot, &claim);
    assert_eq!(messages(&plan), [""; 0]);
    assert!(plan.has_writes());
}

#[test]
fn only_with_volume_attributes_classes_a_bind_notes_the_class_in_the_status() {
    let mut snapshot = Snapshot::new();
    snapshot.apply(volume(json!({"volumeAttributesClassName": "gold",
        "claimRef": {"namespace": "shop", "name": "data"}})));
    let claim = claim(json!({"volumeName": "pv"}));
    for (config, noted) in [
        (Config::default(), Some("gold")),
        (without_attributes_classes(), None),
    ] {
        let plan = sync_claim(&config, &snapshot, &claim);
        let Some(Step::Write {
            write: Write::ClaimStatus(change),
            ..
        }) = plan.steps.last()
        else {
            panic!("{plan:?}");
        };
        let status = &change.to.status;
        assert_eq!(
            status.current_volume_attributes_class_name.as_deref(),
            noted
        );
    }
}

#[test]
fn a_plugin_that_cannot_provision_is_told_of_and_not_started() {
    let class: Arc<StorageClass> = read(json!({"metadata": {"name": "c"},
        "provisioner": "kubernetes.io/nfs", "volumeBindingMode": "Immediate"}));
    let mut snapshot = Snapshot::new();
    snapshot.apply(class);
    let claim = claim(json!({"storageClassName": "c"}));
    let mut config = Config::default();
    config.plugins = vec![InTreePlugin::new("kubernetes.io/nfs", ["nfs"])];
    let plan = sync_claim(&config, &snapshot, &claim);
    assert_eq!(messages(&plan), ["no provisionable volume plugin matched"]);
    assert!(!plan.steps.iter().any(|step| matches!(step, Step::Start(_))));
    for plugin in &mut config.plugins {
        plugin.can_provision = true;
    }
    let plan = sync_claim(&config, &snapshot, &claim);
    assert!(plan.steps.iter().any(|step| matches!(step, Step::Start(_))));
}

#[test]
fn what_the_api_server_says_of_another_claim_releases_nothing() {
    let volume =
        volume(json!({"claimRef": {"namespace": "shop", "name": "data", "uid": "u-claim"}}));
    let mut bound = (*volume).clone();
    bound.status.phase = Some("Bound".into());
    let bound = Arc::new(bound);
    let key = ClaimKey::new("shop", "data");
    let ask = Verdict::AskApiServer(key.clone());
    let (config, view) = (Config::default(), Snapshot::new());
    let sync = |evidence: &ClaimEvidence| sync_volume(&config, &view, &bound, Some(evidence));

    let mut other = (*claim(json!({}))).clone();
    other.metadata.name = Some("other".to_owned());
    other.metadata.uid = Some("u-other".to_owned());
    let other = Some(Arc::new(other));
    let of_another = ClaimEvidence {
        key: ClaimKey::new("shop", "other"),
        claim: other.clone(),
    };
    assert_eq!(sync(&of_another), Plan::empty(ask.clone()));
    let mixed_up = ClaimEvidence {
        key: key.clone(),
        claim: other,
    };
    assert_eq!(sync(&mixed_up), Plan::empty(ask));
    let gone = ClaimEvidence { key, claim: None };
    assert!(sync(&gone).has_writes());
}

#[test]
fn a_volume_that_a_claim_holds_is_not_called_available() {
    let held = volume(json!({"claimRef": {"namespace": "shop", "name": "data", "uid": "u-claim"}}));
    let refused = mark_volume_available(&held).unwrap_err();
    assert_eq!(refused.reason, VolumeLifeRefusalReason::StillClaimed);
    let reserved = volume(json!({"claimRef": {"namespace": "shop", "name": "data"}}));
    assert!(mark_volume_available(&reserved).is_ok());
}

#[test]
fn a_bound_claim_without_uid_does_not_take_a_volume_that_is_reserved_for_another() {
    let mut snapshot = Snapshot::new();
    snapshot.apply(volume(
        json!({"claimRef": {"namespace": "shop", "name": "someone"}}),
    ));
    let mut bound = (*claim(json!({"volumeName": "pv"}))).clone();
    bound.metadata.uid = None;
    bound
        .metadata
        .set_annotation("pv.kubernetes.io/bind-completed", "yes");
    let plan = sync_claim(&Config::default(), &snapshot, &bound);
    assert_eq!(
        messages(&plan),
        ["Two claims are bound to the same volume, this one is bound incorrectly"]
    );
}
