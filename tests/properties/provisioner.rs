//! What must hold of a provisioner whatever the cluster, the claim, and the
//! driver's luck.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use pvbind::api::{
    ClaimKey, PersistentVolume, PersistentVolumeClaim, TopologySelectorTerm, names,
    stateful_set_claim_name,
};
use pvbind::plan::{Step, Write};
use pvbind::provisioner::{
    CallState, ClaimNext, Config, CreateVolume, RequestInputs, TopologyConfig, TopologyQuery,
    VolumeNames, VolumeNext, VolumeOutcome, continue_claim, csi, sync_claim, sync_volume,
    topology_requirement, topology_requirement_plain,
};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use crate::provisioning::{Fault, Sidecar, delete_claim};
use crate::world::World;

const ZONES: [&str; 4] = ["a", "b", "c", ""];
const KEYS: [&str; 3] = ["zone", "rack", "host"];

fn object<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    serde_json::from_value(value).map(Arc::new).unwrap()
}

fn pick<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(values.to_vec())
}

fn labels() -> impl Strategy<Value = Value> {
    let one = || prop::option::weighted(0.9, pick(&ZONES));
    (one(), one(), one()).prop_map(|(zone, rack, host)| {
        let labels = KEYS.into_iter().zip([zone, rack, host]);
        labels
            .filter_map(|(key, value)| Some((key.to_owned(), json!(value?))))
            .collect()
    })
}

/// Nodes with some labels, and CSINodes with some keys.
fn cluster() -> impl Strategy<Value = Snapshot> {
    let keys = || prop::sample::subsequence(KEYS.to_vec(), 0..=2).prop_shuffle();
    let nodes = prop::collection::vec((labels(), prop::option::weighted(0.8, keys())), 0..10);
    nodes.prop_map(|nodes| {
        let mut snapshot = Snapshot::new();
        for (number, (labels, keys)) in nodes.into_iter().enumerate() {
            let name = format!("n{number}");
            let metadata = json!({"name": name, "labels": labels});
            snapshot.apply(object::<pvbind::api::Node>(json!({"metadata": metadata})));
            if let Some(keys) = keys {
                let drivers = json!([{"name": "disk.csi", "nodeID": name, "topologyKeys": keys}]);
                snapshot.apply(object::<pvbind::api::CsiNode>(
                    json!({"metadata": {"name": name}, "spec": {"drivers": drivers}}),
                ));
            }
        }
        snapshot
    })
}

fn allowed() -> impl Strategy<Value = Vec<TopologySelectorTerm>> {
    let values = || prop::collection::vec(pick(&ZONES), 0..3);
    let expression =
        (pick(&KEYS), values()).prop_map(|(key, values)| json!({"key": key, "values": values}));
    let term = prop::collection::vec(expression, 0..3)
        .prop_map(|expressions| json!({"matchLabelExpressions": expressions}));
    prop_oneof![
        Just(vec![]),
        prop::collection::vec(term, 0..3).prop_map(|terms| {
            let terms = terms.into_iter().map(serde_json::from_value);
            terms.collect::<Result<_, _>>().unwrap()
        }),
    ]
}

/// Selected node, strict, immediate.
fn choices() -> impl Strategy<Value = (Option<String>, bool, bool)> {
    let node = prop::option::of((0..8).prop_map(|number| format!("n{number}")));
    (node, any::<bool>(), any::<bool>())
}

fn sorted(list: &[csi::Topology]) -> Vec<csi::Topology> {
    let mut list = list.to_vec();
    list.sort();
    list
}

proptest! {
    #[test]
    fn preferred_is_requisite_in_another_order_and_the_fast_form_is_the_plain_one(
        snapshot in cluster(),
        allowed in allowed(),
        (node, is_strict, is_immediate) in choices(),
        name in "[a-z]{0,3}(-[a-z]{0,3})?(-[0-9]{0,12})?",
    ) {
        let query = TopologyQuery {
            allowed: &allowed,
            selected_node: node.as_deref(),
            is_strict,
            is_immediate,
            ..TopologyQuery::new("disk.csi", &name)
        };
        let found = topology_requirement(&query, &snapshot);
        prop_assert_eq!(&found, &topology_requirement_plain(&query, &snapshot));
        prop_assert_eq!(&found, &topology_requirement(&query, &snapshot));
        if let Ok(Some(found)) = found {
            prop_assert!(!found.requisite.is_empty());
            prop_assert_eq!(sorted(&found.preferred), sorted(&found.requisite));
            // It begins somewhere and goes round.
            let first = found.requisite.iter().position(|one| *one == found.preferred[0]);
            let mut round = found.requisite.clone();
            round.rotate_left(first.unwrap());
            let has_twins = found.requisite.iter().collect::<BTreeSet<_>>().len()
                < found.requisite.len();
            prop_assert!(has_twins || round == found.preferred);
            if let Some(node) = &node {
                // The first choice is where the node is.
                let node = snapshot.find::<pvbind::api::Node>("", node).unwrap();
                let is_there = |(key, value): (&String, &String)| {
                    node.metadata.labels().get(key) == Some(value)
                };
                prop_assert!(has_twins || found.preferred[0].segments.iter().all(is_there));
            }
        }
    }

    #[test]
    fn claims_of_one_replica_begin_at_the_same_segment_and_the_next_replica_one_later(
        snapshot in cluster(),
        set in "[a-z]([a-z0-9]{0,6}[a-z])?",
        templates in prop::collection::vec("[a-z][a-z0-9-]{0,6}", 2..4),
        ordinal in 0..1000_u32,
    ) {
        let ask = |template: &str, ordinal| {
            let name = stateful_set_claim_name(template, &set, ordinal);
            let query = TopologyQuery {
                is_immediate: true,
                ..TopologyQuery::new("disk.csi", &name)
            };
            topology_requirement(&query, &snapshot).ok().flatten()
        };
        let Some(first) = ask(&templates[0], ordinal) else { return Ok(()) };
        for template in &templates {
            let found = ask(template, ordinal);
            prop_assert_eq!(found.as_ref(), Some(&first));
        }
        let mut next = first.preferred.clone();
        next.rotate_left(1);
        let found = ask(&templates[0], ordinal + 1).unwrap();
        prop_assert_eq!(found.preferred, next);
    }
}

fn claim() -> impl Strategy<Value = Value> {
    (
        pick(&["u-1", "1b4e28ba-2fa1-11d2-883f-0016d3cca427"]),
        pick(&["data", "data-web-0", "logs-web-1"]),
        prop_oneof![
            9 => pick(&[json!(["ReadWriteOnce"]), json!(["ReadWriteMany", "ReadOnlyMany"])]),
            1 => Just(json!([])),
        ],
        pick(&["5Gi", "1", "0", "1500m"]),
        prop::option::of(0..5_usize),
        prop::option::weighted(0.1, Just(json!({}))),
    )
        .prop_map(|(uid, name, modes, size, node, selector)| {
            let node = node.map(|number| format!("n{number}"));
            let mut annotations = json!({names::STORAGE_PROVISIONER: "disk.csi"});
            if let Some(node) = node {
                annotations[names::SELECTED_NODE] = json!(node);
            }
            json!({"metadata": {"namespace": "shop", "name": name, "uid": uid,
                    "annotations": annotations},
                "spec": {"storageClassName": "fast", "accessModes": modes, "selector": selector,
                    "resources": {"requests": {"storage": size}}}})
        })
}

fn config() -> impl Strategy<Value = Config> {
    (
        prop::option::weighted(0.8, (any::<bool>(), any::<bool>())),
        prop::option::of(1..40_usize),
        any::<bool>(),
    )
        .prop_map(|(topology, uid_length, adds_finalizer)| {
            let mut config = Config::new("disk.csi");
            config.topology = topology.map(|(is_strict, is_immediate)| {
                let mut topology = TopologyConfig::default();
                topology.is_strict = is_strict;
                topology.is_immediate = is_immediate;
                topology
            });
            config.volume_names = VolumeNames::new("pvc", uid_length).unwrap();
            config.adds_finalizer = adds_finalizer;
            config.additional_names = vec!["kubernetes.io/old".to_owned()];
            config
        })
}

fn called(next: ClaimNext) -> CreateVolume {
    match next {
        ClaimNext::CreateVolume(operation) => operation,
        other => panic!("the driver is not called: {other:?}"),
    }
}

/// The properties below mean nothing where nothing is asked for.
#[test]
fn many_of_the_claims_and_clusters_are_asked_for_with_a_place() {
    let mut runner = TestRunner::deterministic();
    let (mut asked, mut with_place, mut with_node) = (0, 0, 0);
    for _ in 0..400 {
        let mut draw = || {
            let drawn = (cluster(), claim(), config()).new_tree(&mut runner);
            drawn.unwrap().current()
        };
        let (mut snapshot, claim, config) = draw();
        snapshot.apply(object::<pvbind::api::StorageClass>(
            json!({"metadata": {"name": "fast"}, "provisioner": "disk.csi"}),
        ));
        let claim: Arc<PersistentVolumeClaim> = object(claim);
        let operation = called(sync_claim(&config, &snapshot, &claim).verdict);
        let request = operation.request(&config, &snapshot, &RequestInputs::default());
        if let Ok(request) = request {
            asked += 1;
            let has_place = request.accessibility_requirements.is_some();
            with_place += usize::from(has_place);
            with_node += usize::from(has_place && !operation.selected_node().is_empty());
        }
    }
    assert!(asked >= 200, "{asked}");
    assert!(with_place >= 80, "{with_place}");
    assert!(with_node >= 30, "{with_node}");
}

proptest! {
    #[test]
    fn the_same_claim_always_asks_for_the_same_name_and_topology(
        snapshot in cluster(),
        claim in claim(),
        config in config(),
        phase in pick(&["Pending", "Lost"]),
        version in 1..100_u32,
    ) {
        let mut snapshot = snapshot;
        snapshot.apply(object::<pvbind::api::StorageClass>(
            json!({"metadata": {"name": "fast"}, "provisioner": "disk.csi"}),
        ));
        let first: Arc<PersistentVolumeClaim> = object(claim.clone());
        let mut later = claim;
        later["metadata"]["resourceVersion"] = json!(version.to_string());
        later["metadata"]["labels"] = json!({"touched": "yes"});
        later["status"] = json!({"phase": phase});
        let later: Arc<PersistentVolumeClaim> = object(later);
        let ask = |operation: &CreateVolume| {
            operation.request(&config, &snapshot, &RequestInputs::default())
        };
        let operation = called(sync_claim(&config, &snapshot, &first).verdict);
        let request = ask(&operation);
        // After a restart the objects come in another order.
        let mut restarted = Snapshot::new();
        restarted.apply(Arc::clone(operation.class()));
        for node in snapshot.nodes().collect::<Vec<_>>().into_iter().rev() {
            restarted.apply(Arc::clone(node));
        }
        for csi_node in snapshot.csi_nodes().collect::<Vec<_>>().into_iter().rev() {
            restarted.apply(Arc::clone(csi_node));
        }
        for (claim, view) in [(&first, &snapshot), (&later, &snapshot), (&later, &restarted)] {
            let again = called(continue_claim(&config, view, claim).verdict);
            prop_assert_eq!(again.volume_name(), operation.volume_name());
            let asked = again.request(&config, view, &RequestInputs::default());
            prop_assert_eq!(asked, request.clone());
        }
        // After each failure too.
        for state in [CallState::Finished, CallState::InBackground, CallState::NoChange] {
            let plan = operation.clone().failed("down", state);
            prop_assert!(!plan.has_writes());
        }
        if let Ok(request) = request {
            prop_assert_eq!(&request.name, operation.volume_name());
            prop_assert_eq!(&request.name, &config.volume_names.name_for(&later));
        }
    }

    #[test]
    fn no_volume_is_deleted_unless_it_is_released_of_policy_delete_and_ours(
        made_by in prop::option::of(pick(&["disk.csi", "kubernetes.io/old", "other", ""])),
        migrated_to in prop::option::of(pick(&["disk.csi", "other"])),
        driver in prop::option::of(pick(&["disk.csi", "other"])),
        policy in prop::option::of(pick(&["Delete", "Retain", "Recycle", "Unheard"])),
        phase in prop::option::of(pick(&["Released", "Bound", "Available", "Failed"])),
        finalizers in prop::sample::subsequence(
            vec![names::EXTERNAL_PROVISIONER_FINALIZER, "other"], 0..=2),
        is_being_deleted in any::<bool>(),
        config in config(),
    ) {
        let mut annotations = serde_json::Map::new();
        for (key, value) in [(names::PROVISIONED_BY, made_by), (names::MIGRATED_TO, migrated_to)] {
            if let Some(value) = value {
                annotations.insert(key.to_owned(), json!(value));
            }
        }
        let volume: Arc<PersistentVolume> = object(json!({
            "metadata": {"name": "pv", "uid": "u", "annotations": annotations,
                "finalizers": finalizers,
                "deletionTimestamp": is_being_deleted.then_some("2026-01-01T00:00:00Z")},
            "spec": {"persistentVolumeReclaimPolicy": policy,
                "csi": driver.map(|driver| json!({"driver": driver, "volumeHandle": "h"}))},
            "status": {"phase": phase}}));
        let ours = ["disk.csi", "kubernetes.io/old"];
        let is_ours = |name: Option<&str>| name.is_some_and(|name| ours.contains(&name));
        let is_ours = match (made_by, driver) {
            (Some(_), _) => is_ours(made_by) || is_ours(migrated_to),
            (None, Some(_)) => is_ours(driver),
            (None, None) => is_ours(migrated_to),
        };
        let plan = sync_volume(&config, &volume);
        let deletes = |step: &Step| {
            matches!(step, Step::Write { write: Write::DeleteVolume(_), .. })
        };
        prop_assert!(!plan.steps.iter().any(deletes), "the backend goes first");
        if !is_ours {
            prop_assert!(plan.is_empty(), "another's volume is touched");
        }
        match plan.verdict {
            VolumeNext::DeleteVolume(operation) => {
                prop_assert!(is_ours);
                prop_assert_eq!(policy, Some("Delete"));
                prop_assert_eq!(phase, Some("Released"));
                // What the driver did not do is not done.
                for plan in [operation.clone().failed("down"), operation.ignored("not mine")] {
                    prop_assert!(!plan.has_writes());
                }
            }
            VolumeNext::Over(outcome) => {
                prop_assert!(!matches!(outcome, Ok(VolumeOutcome::Deleted)));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        pick(&[
            CallState::Finished,
            CallState::InBackground,
            CallState::NoChange,
            CallState::Reschedule,
        ])
        .prop_map(Fault::Fails),
        pick(&[
            Fault::Lost,
            Fault::Infeasible,
            Fault::TooSmall,
            Fault::Unfilled
        ]),
    ]
}

/// Two claims of one class; the second of a StatefulSet.
fn two_claims(is_delayed: bool) -> World {
    let mut world = World::default();
    world.server.honours_finalizers = true;
    let mode = match is_delayed {
        true => "WaitForFirstConsumer",
        false => "Immediate",
    };
    world.classes = vec![object(
        json!({"metadata": {"name": "fast"}, "provisioner": "disk.csi",
        "volumeBindingMode": mode, "reclaimPolicy": "Delete"}),
    )];
    for (node, zone) in [("n1", "a"), ("n2", "b")] {
        let metadata = json!({"name": node, "labels": {"zone": zone}});
        world.nodes.push(object(json!({"metadata": metadata})));
        let drivers = json!([{"name": "disk.csi", "nodeID": node, "topologyKeys": ["zone"]}]);
        world.csi_nodes.push(object(
            json!({"metadata": {"name": node}, "spec": {"drivers": drivers}}),
        ));
    }
    for name in ["data", "logs-web-0"] {
        let claim: PersistentVolumeClaim = serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": name, "uid": format!("u-{name}"),
                "resourceVersion": "1"},
            "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "5Gi"}}},
            "status": {"phase": "Pending"}}))
        .unwrap();
        world.server.claims.insert(ClaimKey::of(&claim), claim);
        world.pods.push(object(
            json!({"metadata": {"namespace": "shop", "name": name}, "spec": {
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}}),
        ));
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_claim_is_never_provisioned_twice_whatever_is_retried_or_cut_short(
        is_delayed in any::<bool>(),
        faults in prop::collection::btree_map(0..8_usize, fault(), 0..5),
        cuts in prop::collection::vec(1..14_usize, 0..4),
        fails_once in any::<bool>(),
        deleted_in_between in any::<bool>(),
    ) {
        let mut world = two_claims(is_delayed);
        let mut config = Config::new("disk.csi");
        config.topology = Some(TopologyConfig::default());
        let mut sidecar = Sidecar::new(config);
        sidecar.disks.faults = faults;
        world.faults.failed_once = fails_once.then(BTreeSet::new);
        let mut was_cut = false;
        for (number, cut) in cuts.into_iter().enumerate() {
            world.faults.writes_left = Some(cut);
            sidecar.settle(&mut world);
            if world.faults.writes_left == Some(0) {
                sidecar.restart();
                was_cut = true;
            }
            if number == 0 && deleted_in_between {
                delete_claim(&mut world, &ClaimKey::new("shop", "data"));
            }
        }
        world.faults.writes_left = None;
        sidecar.settle(&mut world);

        let made: BTreeSet<_> = sidecar.disks.made.iter().collect();
        prop_assert_eq!(made.len(), sidecar.disks.made.len(), "twice: {:?}", sidecar.disks.made);
        for (name, asked) in &sidecar.disks.asked {
            // Where nothing was rescheduled, all requests under a name are one.
            let differ = asked.iter().any(|request| request != &asked[0]);
            prop_assert!(is_delayed || !differ, "{}: {:?}", name, asked);
        }
        for claim in world.server.claims.values() {
            prop_assert!(claim.is_fully_bound(), "{:?}", claim);
        }
        for volume in world.server.volumes.values() {
            let handle = volume.spec.csi.as_ref().unwrap().volume_handle.as_deref();
            prop_assert!(sidecar.disks.volumes.values().any(|v| Some(&*v.volume_id) == handle));
        }
        // Nothing is left over, but for what a process forgot when it ended: a
        // claim that the driver was at work on, and that was deleted since.
        let known = world.server.volumes.len();
        let has = sidecar.disks.volumes.len();
        let may_forget = was_cut && deleted_in_between;
        prop_assert!(has == known || (may_forget && has == known + 1), "{} of {}", known, has);
        for key in world.claim_keys() {
            delete_claim(&mut world, &key);
        }
        sidecar.settle(&mut world);
        prop_assert!(world.server.volumes.is_empty());
        prop_assert!(sidecar.disks.volumes.len() <= usize::from(may_forget));
    }
}
