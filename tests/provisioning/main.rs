//! The whole story of a claim, for both binding modes: claim, scheduler's
//! choice, provisioner, volume, bound; then the claim is deleted, and its volume
//! released, deleted in the backend, and gone. The binding controller, the
//! scheduler's choice, the provisioner and its driver each see nothing but the
//! objects.
//!
//! Then the same with a failure and a restart at every step: after every write,
//! before every write, and at every call to the driver in every way in which a
//! call can go wrong.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../support/provisioning.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod provisioning;
#[path = "../support/server.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod server;
#[path = "../support/world.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use pvbind::api::{ClaimKey, PersistentVolumeClaim, names};
use pvbind::provisioner::{CallState, Config, TopologyConfig, VolumeNames};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use provisioning::{Fault, Sidecar, delete_claim};
use world::World;

const MODES: [&str; 2] = ["Immediate", "WaitForFirstConsumer"];

fn object<T: DeserializeOwned>(value: Value) -> Arc<T> {
    serde_json::from_value(value).map(Arc::new).unwrap()
}

fn key() -> ClaimKey {
    ClaimKey::new("shop", "data-web-1")
}

/// A claim that nobody has seen yet, its pod, and a driver in two zones.
fn begin(mode: &str) -> (World, Sidecar) {
    let mut world = World::default();
    world.server.honours_finalizers = true;
    world.classes = vec![object(
        json!({"metadata": {"name": "fast", "uid": "c-1", "resourceVersion": "1"},
        "provisioner": "disk.csi", "volumeBindingMode": mode, "reclaimPolicy": "Delete"}),
    )];
    for (node, zone) in [("n1", "a"), ("n2", "b"), ("n3", "b")] {
        world.nodes.push(object(
            json!({"metadata": {"name": node, "labels": {"zone": zone}}}),
        ));
        world.csi_nodes.push(object(json!({"metadata": {"name": node},
            "spec": {"drivers": [{"name": "disk.csi", "nodeID": node, "topologyKeys": ["zone"]}]}})));
    }
    let claim: PersistentVolumeClaim = serde_json::from_value(json!({
        "metadata": {"namespace": "shop", "name": "data-web-1", "uid": "u-1", "resourceVersion": "1"},
        "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}}},
        "status": {"phase": "Pending"}}))
    .unwrap();
    world.server.claims.insert(key(), claim);
    world.pods = vec![object(
        json!({"metadata": {"namespace": "shop", "name": "web-1"},
        "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}]}}),
    )];
    let mut config = Config::new("disk.csi");
    config.topology = Some(TopologyConfig::default());
    (world, Sidecar::new(config))
}

/// What must hold once everybody is at rest and the claim is there.
fn check_bound(world: &World, sidecar: &Sidecar) {
    let claim = &world.server.claims[&key()];
    assert_eq!(claim.volume_name(), "pvc-u-1", "{:?}", world.server.log);
    assert!(claim.is_fully_bound());
    assert_eq!(world.server.volumes.len(), 1);
    let volume = &world.server.volumes["pvc-u-1"];
    assert!(volume.is_bound_to(claim));
    let finalizer = names::EXTERNAL_PROVISIONER_FINALIZER;
    assert!(volume.metadata.has_finalizer(finalizer));
    assert_eq!(sidecar.disks.volumes.len(), 1, "one volume in the backend");
    assert_eq!(sidecar.disks.made, ["pvc-u-1"], "it was made once");
    assert_eq!(sidecar.disks.asked.len(), 1, "under one name");
    assert_eq!(sidecar.ledger.in_progress().len(), 0);
}

/// What must hold once everybody is at rest and the claim is gone.
fn check_gone(world: &World, sidecar: &Sidecar) {
    assert!(
        world.server.volumes.is_empty(),
        "{:?}",
        world.server.volumes
    );
    assert!(
        sidecar.disks.volumes.is_empty(),
        "{:?}",
        sidecar.disks.volumes
    );
    assert_eq!(sidecar.disks.made.len(), 1);
    assert_eq!(sidecar.ledger.in_progress().len(), 0);
}

/// Everything until rest; whoever is cut off begins anew.
fn settle(world: &mut World, sidecar: &mut Sidecar) {
    sidecar.settle(world);
    if world.faults.writes_left == Some(0) {
        world.faults.writes_left = None;
        sidecar.restart();
        sidecar.settle(world);
    }
}

/// The whole story, with the checks at its two points of rest.
fn play(world: &mut World, sidecar: &mut Sidecar) -> Value {
    settle(world, sidecar);
    check_bound(world, sidecar);
    let bound = world.state();
    delete_claim(world, &key());
    settle(world, sidecar);
    check_gone(world, sidecar);
    bound
}

#[test]
fn a_claim_goes_from_nothing_to_bound_and_its_volume_to_nothing_again() {
    for mode in MODES {
        let (mut world, mut sidecar) = begin(mode);
        play(&mut world, &mut sidecar);
        let claims: BTreeSet<_> = sidecar.disks.asked.keys().cloned().collect();
        assert_eq!(claims, BTreeSet::from(["pvc-u-1".to_owned()]));
        let events: Vec<_> = world
            .server
            .log
            .iter()
            .filter_map(|step| step["reason"].as_str())
            .collect();
        assert!(events.contains(&"Provisioning"), "{events:?}");
        let failures = ["ProvisioningFailed", "VolumeFailedDelete", "ClaimLost"];
        assert!(
            !events.iter().any(|event| failures.contains(event)),
            "{events:?}"
        );
        let asked = &sidecar.disks.asked["pvc-u-1"];
        assert_eq!(asked.len(), 1, "the driver is asked once");
        let requirement = asked[0].accessibility_requirements.as_ref().unwrap();
        let first = &requirement.preferred[0].segments["zone"];
        if mode == "WaitForFirstConsumer" {
            assert_eq!(first, "a", "where the scheduler put the pod");
        }
    }
}

#[test]
fn a_restart_after_every_write_changes_nothing_in_the_end() {
    for mode in MODES {
        let (mut world, mut sidecar) = begin(mode);
        let undisturbed = play(&mut world, &mut sidecar);
        let writes = world.writes;
        assert!(writes >= 8, "{writes} writes");
        for cut in 1..=writes {
            let (mut world, mut sidecar) = begin(mode);
            world.faults.writes_left = Some(cut);
            assert_eq!(play(&mut world, &mut sidecar), undisturbed, "{mode}, {cut}");
        }
    }
}

#[test]
fn a_failure_of_every_write_changes_nothing_in_the_end() {
    for mode in MODES {
        let (mut world, mut sidecar) = begin(mode);
        let undisturbed = play(&mut world, &mut sidecar);
        let (mut world, mut sidecar) = begin(mode);
        world.faults.failed_once = Some(BTreeSet::new());
        assert_eq!(play(&mut world, &mut sidecar), undisturbed, "{mode}");
    }
}

const FAULTS: [Fault; 7] = [
    Fault::Fails(CallState::Finished),
    Fault::Fails(CallState::InBackground),
    Fault::Fails(CallState::NoChange),
    Fault::Fails(CallState::Reschedule),
    Fault::Lost,
    Fault::Infeasible,
    Fault::TooSmall,
];

#[test]
fn the_driver_may_fail_in_every_way_at_every_call() {
    for mode in MODES {
        for fault in FAULTS {
            // Making and deleting are the two calls; a volume that is too small
            // takes a third, and each fault is met twice in a row too.
            for calls in [vec![0], vec![1], vec![0, 1], vec![0, 1, 2], vec![0, 2]] {
                let (mut world, mut sidecar) = begin(mode);
                sidecar.disks.faults = calls.iter().map(|&call| (call, fault)).collect();
                play(&mut world, &mut sidecar);
            }
        }
    }
}

#[test]
fn a_restart_after_every_write_with_every_fault_of_the_driver() {
    for mode in MODES {
        for fault in FAULTS {
            for cut in 1..24 {
                let (mut world, mut sidecar) = begin(mode);
                sidecar.disks.faults = [(0, fault), (2, fault)].into();
                world.faults.writes_left = Some(cut);
                play(&mut world, &mut sidecar);
            }
        }
    }
}

#[test]
fn a_claim_that_is_deleted_while_the_driver_works_leaves_nothing_behind() {
    for mode in MODES {
        for fault in FAULTS {
            let (mut world, mut sidecar) = begin(mode);
            sidecar.disks.faults = [(0, fault)].into();
            // Up to the first call, and not on to the second.
            while sidecar.disks.calls == 0 {
                world.settle(100).unwrap();
                provisioning::schedule(&mut world);
                world.refresh();
                let claim = world.server.claims[&key()].clone();
                let cache = std::mem::take(&mut world.snapshot);
                sidecar.sync_claim(&mut world, &cache, &Arc::new(claim));
            }
            let is_in_background = matches!(
                fault,
                Fault::Lost | Fault::Fails(CallState::InBackground) | Fault::TooSmall
            );
            assert_eq!(
                sidecar.ledger.in_progress().len() == 1,
                is_in_background,
                "{fault:?}"
            );
            delete_claim(&mut world, &key());
            settle(&mut world, &mut sidecar);
            assert!(world.server.volumes.is_empty(), "{fault:?}");
            assert!(sidecar.disks.volumes.is_empty(), "{fault:?}");
            assert_eq!(sidecar.ledger.in_progress().len(), 0, "{fault:?}");
        }
    }
}

#[test]
fn an_old_cache_makes_no_second_volume() {
    for mode in MODES {
        let (mut world, mut sidecar) = begin(mode);
        world.settle(100).unwrap();
        provisioning::schedule(&mut world);
        world.settle(100).unwrap();
        world.refresh();
        let claim = Arc::new(world.server.claims[&key()].clone());
        let old = std::mem::take(&mut world.snapshot);
        for _ in 0..3 {
            // The cache has not heard of the volume that was made.
            sidecar.sync_claim(&mut world, &old, &claim);
        }
        assert_eq!(sidecar.disks.made, ["pvc-u-1"]);
        settle(&mut world, &mut sidecar);
        check_bound(&world, &sidecar);
        // Nor of the binding.
        sidecar.sync_claim(&mut world, &old, &claim);
        settle(&mut world, &mut sidecar);
        check_bound(&world, &sidecar);
    }
}

#[test]
fn the_volume_of_a_class_that_retains_stays_with_its_data() {
    let (mut world, mut sidecar) = begin("Immediate");
    let class = Arc::make_mut(&mut world.classes[0]);
    class.reclaim_policy = Some("Retain".into());
    sidecar.settle(&mut world);
    delete_claim(&mut world, &key());
    sidecar.settle(&mut world);
    let volume = &world.server.volumes["pvc-u-1"];
    assert_eq!(volume.status.phase, Some("Released".into()));
    assert_eq!(sidecar.disks.volumes.len(), 1);
}

#[test]
fn a_copy_that_was_not_filled_is_made_anew_and_the_claim_bound_to_the_one_that_was() {
    for mode in MODES {
        for faults in [vec![2], vec![2, 3], vec![2, 4]] {
            let (mut world, mut sidecar) = begin(mode);
            settle(&mut world, &mut sidecar);
            check_bound(&world, &sidecar);
            assert_eq!(sidecar.disks.calls, 1);
            // From here on there is a second claim, which copies the first.
            let copy: PersistentVolumeClaim = serde_json::from_value(json!({
                "metadata": {"namespace": "shop", "name": "copy", "uid": "u-2",
                    "resourceVersion": "1"},
                "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                    "dataSource": {"kind": "PersistentVolumeClaim", "name": "data-web-1"},
                    "resources": {"requests": {"storage": "5Gi"}}},
                "status": {"phase": "Pending"}}))
            .unwrap();
            world.server.claims.insert(ClaimKey::of(&copy), copy);
            world.pods.push(object(
                json!({"metadata": {"namespace": "shop", "name": "copier"}, "spec": {
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "copy"}}]}}),
            ));
            let first = sidecar.disks.calls;
            sidecar.disks.faults = faults
                .iter()
                .map(|call| (first + call - 2, Fault::Unfilled))
                .collect();
            settle(&mut world, &mut sidecar);
            let key = ClaimKey::new("shop", "copy");
            assert!(
                world.server.claims[&key].is_fully_bound(),
                "{mode} {faults:?}"
            );
            let volume = &sidecar.disks.volumes["pvc-u-2"];
            let source = json!(volume.content_source);
            assert_eq!(source, json!({"volume": {"volume_id": "h-pvc-u-1"}}));
            let missing = |step: &&Value| {
                step["message"] == "volume content source missing"
                    || step["message"]
                        .as_str()
                        .is_some_and(|text| text.contains("orphaned"))
            };
            assert!(world.server.log.iter().filter(missing).count() >= 1);
            assert_eq!(sidecar.disks.volumes.len(), 2);
            assert_eq!(sidecar.ledger.in_progress().len(), 0);

            // A cache that has not heard of it asks again, and the driver does
            // not say any more what it filled it with: it is in use, and stays.
            let mut unbound = world.server.claims[&key].clone();
            unbound.spec.volume_name = None;
            world.refresh();
            let mut old = std::mem::take(&mut world.snapshot);
            old.delete(&world.server.volumes["pvc-u-2"]);
            old.apply(Arc::new(unbound.clone()));
            let call = sidecar.disks.calls;
            sidecar.disks.faults = [(call, Fault::Unfilled)].into();
            sidecar.sync_claim(&mut world, &old, &Arc::new(unbound));
            assert_eq!(sidecar.disks.calls, call + 1, "asked, and not to delete");
            assert_eq!(sidecar.disks.volumes.len(), 2);
            assert_eq!(sidecar.ledger.in_progress().len(), 0);
        }
    }
}

#[test]
fn two_claims_whose_uids_begin_alike_never_share_a_volume_whatever_the_cache_has_heard() {
    for old_cache in [false, true] {
        let (mut world, mut sidecar) = begin("Immediate");
        sidecar.config.volume_names = VolumeNames::new("k8s", Some(1)).unwrap();
        let mut other = world.server.claims[&key()].clone();
        other.metadata.name = Some("other".to_owned());
        other.metadata.uid = Some("u-2".to_owned());
        let others = ClaimKey::of(&other);
        world.server.claims.insert(others.clone(), other);
        world.settle(100).unwrap();
        if old_cache {
            world.refresh();
            let old = std::mem::take(&mut world.snapshot);
            for key in [&key(), &others] {
                let claim = Arc::new(world.server.claims[key].clone());
                sidecar.sync_claim(&mut world, &old, &claim);
            }
            assert_eq!(sidecar.disks.calls, 2, "the driver was asked for both");
        }
        sidecar.settle(&mut world);
        assert!(world.server.claims[&key()].is_fully_bound());
        assert_eq!(world.server.claims[&others].volume_name(), "");
        assert_eq!(sidecar.disks.made, ["k8s-u"]);
        assert_eq!(sidecar.disks.volumes.len(), 1);
        let volume = &world.server.volumes["k8s-u"];
        assert!(volume.is_bound_to(&world.server.claims[&key()]));
        // When the first is gone, the name is free.
        sidecar.disks.may_be_asked_again = true;
        delete_claim(&mut world, &key());
        sidecar.settle(&mut world);
        assert!(world.server.claims[&others].is_fully_bound(), "{old_cache}");
    }
}
