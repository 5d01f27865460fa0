//! What the recorded vectors cannot see of operations.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{CleanUpVolume, Next, begin};
use crate::api::{PersistentVolume, PersistentVolumeClaim, StorageClass, names};
use crate::controller::{Config, InTreePlugin, VolumeSources};
use crate::plan::{FollowUp as _, Operation, Plan, Provisioner, Step, Write};
use crate::view::Snapshot;

const PLUGIN: &str = "kubernetes.io/nfs";

fn config() -> Config {
    Config {
        plugins: vec![InTreePlugin {
            can_provision: true,
            can_delete: true,
            can_recycle: true,
            ..InTreePlugin::new(PLUGIN, ["nfs"])
        }],
        ..Config::default()
    }
}

fn volume(uid: &str, policy: &str, phase: &str) -> PersistentVolume {
    serde_json::from_value(json!({
        "metadata": {"name": "pv", "uid": uid}, "status": {"phase": phase},
        "spec": {"persistentVolumeReclaimPolicy": policy, "nfs": {"path": "/"},
            "claimRef": {"namespace": "shop", "name": "data", "uid": "u-claim"}}}))
    .unwrap()
}

fn claim(spec: Value) -> Arc<PersistentVolumeClaim> {
    serde_json::from_value(json!({"spec": spec, "metadata": {
        "namespace": "shop", "name": "data", "uid": "u-claim"}}))
    .map(Arc::new)
    .unwrap()
}

/// What a deletion does once its volume is read again.
fn deletion(config: &Config, view: &Snapshot, read: Option<PersistentVolume>) -> Plan<Next> {
    let volume = Arc::new(volume("u-1", "Delete", "Released"));
    let Next::ReadVolume(next) = begin(config, Operation::Delete { volume }).verdict else {
        panic!("the volume is not read again");
    };
    next.answer(config, view, read)
}

#[test]
fn a_deletion_ends_unless_the_volume_is_the_same_and_still_released() {
    let empty = Snapshot::new();
    let mut kept = Snapshot::new();
    kept.apply(claim(json!({})));
    let released = || volume("u-1", "Delete", "Released");
    for (view, read) in [
        (&empty, None),
        (&empty, Some(volume("u-2", "Delete", "Released"))),
        (&empty, Some(volume("u-1", "Retain", "Released"))),
        (&empty, Some(volume("u-1", "Delete", "Bound"))),
        (&kept, Some(released())),
    ] {
        let plan = deletion(&config(), view, read);
        assert_eq!(plan, Plan::empty(Next::Finished));
    }
    let plan = deletion(&config(), &empty, Some(released()));
    assert!(matches!(plan.verdict, Next::Delete(_)));
}

#[test]
fn a_volume_whose_claim_ref_lost_its_uid_meanwhile_is_not_deleted() {
    let mut read = volume("u-1", "Delete", "Released");
    read.spec.claim_ref.as_mut().unwrap().uid = None;
    let plan = deletion(&config(), &Snapshot::new(), Some(read));
    assert_eq!(plan, Plan::empty(Next::Finished));
}

/// What recycling does once its volume is read again.
fn recycling(config: &Config, read: PersistentVolume) -> Plan<Next> {
    let volume = Arc::new(volume("u-1", "Recycle", "Released"));
    let Next::ReadVolume(next) = begin(config, Operation::Recycle { volume }).verdict else {
        panic!("the volume is not read again");
    };
    next.answer(config, &Snapshot::new(), Some(read))
}

#[test]
fn a_volume_made_anew_under_the_same_name_is_not_emptied() {
    let plan = recycling(&config(), volume("u-2", "Recycle", "Released"));
    assert_eq!(plan, Plan::empty(Next::Finished));
    let plan = recycling(&config(), volume("u-1", "Recycle", "Released"));
    assert!(matches!(plan.verdict, Next::Recycle(_)));
}

#[test]
fn a_plugin_that_cannot_recycle_fails_the_volume() {
    let mut config = config();
    for plugin in &mut config.plugins {
        plugin.can_recycle = false;
    }
    let plan = recycling(&config, volume("u-1", "Recycle", "Released"));
    let [Step::Write { .. }, Step::Event(event)] = plan.steps.as_slice() else {
        panic!("{plan:?}");
    };
    assert_eq!(event.message, "No recycler plugin found for the volume!");
}

#[test]
fn a_volume_made_by_a_plugin_that_cannot_delete_fails() {
    let mut config = config();
    for plugin in &mut config.plugins {
        plugin.can_delete = false;
    }
    let mut read = volume("u-1", "Delete", "Released");
    read.metadata.set_annotation(names::PROVISIONED_BY, PLUGIN);
    let plan = deletion(&config, &Snapshot::new(), Some(read));
    let [Step::Write { .. }, Step::Event(event)] = plan.steps.as_slice() else {
        panic!("{plan:?}");
    };
    assert_eq!(event.message, "no deletable volume plugin matched");
}

#[test]
fn a_volume_of_another_name_is_no_answer() {
    let mut other = volume("u-1", "Delete", "Released");
    other.metadata.name = Some("other".to_owned());
    let plan = deletion(&config(), &Snapshot::new(), Some(other));
    assert_eq!(plan, Plan::empty(Next::Finished));
}

#[test]
fn an_operation_whose_plan_was_not_carried_out_is_given_up() {
    let read = || volume("u-1", "Delete", "Released");
    let Next::Delete(next) = deletion(&config(), &Snapshot::new(), Some(read())).verdict else {
        panic!("the backend is not asked");
    };
    let Next::ReadVolume(next) = next.deleted().verdict else {
        panic!("the volume is not read again");
    };
    let mut with_finalizer = read();
    with_finalizer.metadata.finalizers = Some(vec![names::PV_CONTROLLER_FINALIZER.to_owned()]);
    let plan = next.answer(&config(), &Snapshot::new(), Some(with_finalizer));
    let Next::AfterWrite(next) = plan.verdict.clone() else {
        panic!("{plan:?}");
    };
    assert_eq!(next.proceed(), Plan::empty(Next::Finished));

    // Carried out, and answered with another volume: that one is not deleted.
    let mut other = read();
    other.metadata.name = Some("other".to_owned());
    other.metadata.uid = Some("u-2".to_owned());
    let mut verdict = plan.verdict;
    verdict.volume_written(&other);
    verdict.write_done();
    let Next::AfterWrite(next) = verdict else {
        panic!("{verdict:?}");
    };
    let plan = next.proceed();
    let [
        Step::Write {
            write: Write::DeleteVolume(deleted),
            ..
        },
    ] = plan.steps.as_slice()
    else {
        panic!("{plan:?}");
    };
    assert_eq!(deleted.name(), "pv");
}

#[test]
fn a_claim_recreated_under_the_same_name_does_not_take_over_a_provisioning() {
    let mut plan = provisioning(&config(), claim(json!({})), json!({}));
    let mut other = (*claim(json!({}))).clone();
    other.metadata.uid = Some("u-other".to_owned());
    plan.verdict.claim_written(&other);
    let Next::StartProvisioner(next) = plan.verdict else {
        panic!("{plan:?}");
    };
    let Next::Provision(next) = next.started(&Snapshot::new()).verdict else {
        panic!("the backend is not asked");
    };
    assert_eq!(next.request().volume_name, "pvc-u-claim");
}

#[test]
fn what_only_the_api_server_may_say_is_not_taken_from_the_backend() {
    let plan = provisioning(&config(), claim(json!({})), json!({}));
    let Next::StartProvisioner(next) = plan.verdict else {
        panic!("{plan:?}");
    };
    let Next::Provision(next) = next.started(&Snapshot::new()).verdict else {
        panic!("the backend is not asked");
    };
    let made = serde_json::from_value(json!({"metadata": {
        "name": "x", "namespace": "kube-system", "uid": "u-x", "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"disk": "ssd"}}}));
    let plan = next.provisioned(made.unwrap());
    let [
        Step::Write {
            write: Write::CreateVolume { volume, .. },
            ..
        },
    ] = plan.steps.as_slice()
    else {
        panic!("{plan:?}");
    };
    let metadata = serde_json::to_value(&volume.metadata).unwrap();
    let mut fields: Vec<_> = metadata.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["annotations", "labels", "name"]);
}

#[test]
fn an_object_whose_policy_became_retain_meanwhile_is_not_deleted() {
    let read = volume("u-1", "Delete", "Released");
    let Next::Delete(next) = deletion(&config(), &Snapshot::new(), Some(read)).verdict else {
        panic!("the backend is not asked");
    };
    let Next::ReadVolume(next) = next.deleted().verdict else {
        panic!("the volume is not read again");
    };
    let retained = volume("u-1", "Retain", "Released");
    let plan = next.answer(&config(), &Snapshot::new(), Some(retained));
    assert_eq!(plan, Plan::empty(Next::Finished));
}

#[test]
fn a_plugin_that_cannot_delete_fails_the_volume() {
    let mut config = config();
    for plugin in &mut config.plugins {
        plugin.can_delete = false;
    }
    let read = volume("u-1", "Delete", "Released");
    let plan = deletion(&config, &Snapshot::new(), Some(read));
    let [Step::Write { write, .. }, Step::Event(event)] = plan.steps.as_slice() else {
        panic!("{plan:?}");
    };
    assert!(matches!(write, Write::VolumeStatus(_)));
    assert_eq!(
        event.message,
        "error getting deleter volume plugin for volume \"pv\": no deletable volume plugin matched"
    );
}

fn provisioning(config: &Config, claim: Arc<PersistentVolumeClaim>, class: Value) -> Plan<Next> {
    let class: StorageClass = serde_json::from_value(class).unwrap();
    let provisioner = Provisioner::Internal(PLUGIN.to_owned());
    let operation = Operation::Provision {
        claim,
        class: Arc::new(class),
        provisioner,
    };
    let Next::ReadVolume(next) = begin(config, operation).verdict else {
        panic!("it is not asked whether the volume exists");
    };
    assert_eq!(next.name(), "pvc-u-claim");
    next.answer(config, &Snapshot::new(), None)
}

#[test]
fn mount_options_stop_only_a_plugin_without_them() {
    let class = json!({"metadata": {"name": "c"}, "mountOptions": ["ro", "hard"]});
    let plan = provisioning(&config(), claim(json!({})), class.clone());
    let [Step::Event(event)] = plan.steps.as_slice() else {
        panic!("{plan:?}");
    };
    assert_eq!(
        event.message,
        "Mount options are not supported by the provisioner but StorageClass \"c\" has mount \
         options [ro hard]"
    );
    let mut config = config();
    for plugin in &mut config.plugins {
        plugin.has_mount_options = true;
    }
    let plan = provisioning(&config, claim(json!({})), class);
    assert!(matches!(plan.verdict, Next::StartProvisioner(_)));
}

/// An operation whose volume could not be created.
fn clean_up() -> CleanUpVolume {
    let plan = provisioning(&config(), claim(json!({})), json!({}));
    let Next::StartProvisioner(next) = plan.verdict else {
        panic!("{plan:?}");
    };
    let Next::Provision(next) = next.started(&Snapshot::new()).verdict else {
        panic!("the backend is not asked");
    };
    let plan = next.provisioned(PersistentVolume::default());
    let mut verdict = plan.verdict;
    verdict.write_failed("full");
    let Next::AfterWrite(next) = verdict else {
        panic!("{verdict:?}");
    };
    let plan = next.proceed();
    let Next::CleanUp(next) = plan.verdict else {
        panic!("{plan:?}");
    };
    next
}

#[test]
fn a_clean_up_is_tried_five_times_and_knows_what_the_backend_said() {
    let mut next = clean_up();
    assert!(!next.is_confirmed());
    for _ in 0..4 {
        let Next::CleanUp(again) = next.deleted().verdict else {
            panic!("it ends too early");
        };
        next = again;
        assert!(next.is_confirmed());
    }
    let plan = next.cannot_start("no key");
    assert_eq!(plan.verdict, Next::Finished);
    let [Step::Event(event)] = plan.steps.as_slice() else {
        panic!("{plan:?}");
    };
    assert_eq!(
        event.message,
        "Error cleaning provisioned volume for claim shop/data: failed to create deleter for \
         volume \"pvc-u-claim\": no key. Please delete manually."
    );
}

#[test]
fn a_recycled_volume_keeps_what_a_user_reserved() {
    let mut volume = volume("u-1", "Recycle", "Released");
    let operation = Operation::Recycle {
        volume: Arc::new(volume.clone()),
    };
    let Next::ReadVolume(next) = begin(&config(), operation).verdict else {
        panic!("the volume is not read again");
    };
    volume.metadata.set_annotation(names::MIGRATED_TO, "");
    let plan = next.answer(&config(), &Snapshot::new(), Some(volume));
    let Next::Recycle(next) = plan.verdict else {
        panic!("{plan:?}");
    };
    let plan = next.recycled();
    let [
        Step::Event(_),
        Step::Write {
            write: Write::Volume(change),
            ..
        },
        Step::Write {
            write: Write::VolumeStatus(_),
            ..
        },
    ] = plan.steps.as_slice()
    else {
        panic!("{plan:?}");
    };
    assert_eq!(change.to.claim_ref().unwrap().key(), "shop/data");
}

#[test]
fn a_plugin_serves_the_sources_that_it_names() {
    let config = config();
    let mut other = volume("u-1", "Recycle", "Released");
    assert!(config.plugin_for(&other).is_some());
    other.spec.unknown = Default::default();
    assert_eq!(config.plugin_for(&other), None);
    let every = InTreePlugin {
        sources: VolumeSources::Every,
        ..InTreePlugin::new("x", [] as [&str; 0])
    };
    let config = Config {
        plugins: vec![every],
        ..Config::default()
    };
    assert!(config.plugin_for(&other).is_some());
}
