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
