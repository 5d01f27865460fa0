//! What must hold of the volumes of a pod.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use pvbind::api::{
    CsiDriver, CsiStorageCapacity, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass,
};
use pvbind::matching::{Features, FindOptions, find_matching_volume};
use pvbind::scheduling::{
    Assumptions, FindVolumesError, Obstacle, PodClaims, PodSearch, PodVolumes, UnfitReasons,
    find_pod_volumes, find_pod_volumes_on_nodes, find_pod_volumes_plain,
};
use pvbind::view::{ClusterView, SchedulingView, Snapshot};
use serde_json::{Value, json};

use crate::generators::{claim, features, node_labels, open_volume, volume_among};

/// A cluster, and the claims of a pod.
#[derive(Debug)]
struct World {
    snapshot: Snapshot,
    nodes: Vec<Node>,
    claims: PodClaims,
    features: Features,
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

/// A class of this name whose claims wait.
fn class(name: &'static str) -> impl Strategy<Value = Arc<StorageClass>> {
    const PROVISIONERS: [&str; 4] = ["", "kubernetes.io/no-provisioner", "csi.a", "csi.b"];
    let topologies = [
        json!(null),
        json!([{"matchLabelExpressions": [{"key": "zone", "values": ["a", "7"]}]}]),
        json!([{}, {"matchLabelExpressions": [{"key": "disk", "values": ["b"]}]}]),
    ];
    (select(&PROVISIONERS[..]), select(topologies.to_vec())).prop_map(
        move |(provisioner, topologies)| {
            read(json!({
                "metadata": {"name": name}, "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": topologies}))
        },
    )
}

fn pool() -> impl Strategy<Value = Value> {
    let topologies = [
        json!(null),
        json!({}),
        json!({"matchLabels": {"zone": "a"}}),
        json!({"matchLabels": {"zone": "b", "disk": "a"}}),
        json!({"matchExpressions": [{"key": "disk", "operator": "Exists"}]}),
        json!({"matchExpressions": [{"key": "disk", "operator": "In"}]}),
    ];
    let limits = [
        json!(null),
        json!("1"),
        json!("1500m"),
        json!("2Gi"),
        json!("1e40"),
    ];
    let limit = || select(limits.to_vec());
    let class = select(&["fast", "slow"][..]);
    (class, select(topologies.to_vec()), limit(), limit()).prop_map(
        |(class, topology, capacity, largest)| {
            json!({"storageClassName": class, "nodeTopology": topology,
                "capacity": capacity, "maximumVolumeSize": largest})
        },
    )
}

/// A claim, and how it stands: waiting, with a node selected, or bound.
fn standing_claim() -> impl Strategy<Value = (PersistentVolumeClaim, u8, u8)> {
    (claim(), 0..6_u8, 0..20_u8)
}

fn world() -> impl Strategy<Value = World> {
    let volumes = prop_oneof![
        4 => prop::collection::vec(volume_among(20), 0..25),
        1 => prop::collection::vec(volume_among(1000), 200..400),
    ];
    let nodes = prop::collection::vec(node_labels(), 1..6);
    let claims = prop::collection::vec(standing_claim(), 0..4);
    let pools = prop::collection::vec(pool(), 0..6);
    let features = features();
    (
        volumes,
        nodes,
        claims,
        pools,
        class("fast"),
        class("slow"),
        features,
    )
        .prop_map(|(volumes, nodes, standing, pools, fast, slow, features)| {
            let mut snapshot = Snapshot::new();
            for volume in volumes {
                snapshot.apply(Arc::new(volume));
            }
            snapshot.apply(fast);
            snapshot.apply(slow);
            snapshot.apply(read::<CsiDriver>(
                json!({"metadata": {"name": "csi.b"}, "spec": {"storageCapacity": true}}),
            ));
            for (place, mut pool) in pools.into_iter().enumerate() {
                pool["metadata"] = json!({"namespace": "x", "name": format!("pool-{place}")});
                snapshot.apply(read::<CsiStorageCapacity>(pool));
            }
            let nodes = nodes.into_iter().enumerate();
            let nodes = nodes.map(|(place, labels)| node(place, &labels)).collect();
            World {
                snapshot,
                nodes,
                claims: split(standing),
                features,
            }
        })
}

fn node(place: usize, labels: &BTreeMap<String, String>) -> Node {
    let name = format!("node-{place}");
    serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap()
}

fn split(standing: Vec<(PersistentVolumeClaim, u8, u8)>) -> PodClaims {
    let mut claims = PodClaims::default();
    let names = ["claim", "other", "third", "fourth"];
    for ((mut claim, how, which), name) in standing.into_iter().zip(names) {
        claim.metadata.name = Some(name.to_owned());
        match how {
            0 => {
                claim.spec.volume_name = Some(format!("pv-{which:02}"));
                claims.bound.push(Arc::new(claim));
            }
            1 => {
                let key = "volume.kubernetes.io/selected-node";
                claim.metadata.set_annotation(key, "node-0");
                claims.delayed.push(Arc::new(claim));
            }
            _ => claims.delayed.push(Arc::new(claim)),
        }
    }
    claims
}

fn check_forms<V: SchedulingView>(world: &World, view: &V) -> Result<(), TestCaseError> {
    let many = find_pod_volumes_on_nodes(&world.claims, &world.nodes, view, world.features);
    prop_assert_eq!(many.len(), world.nodes.len());
    for (node, many) in world.nodes.iter().zip(many) {
        let plain = find_pod_volumes_plain(&world.claims, node, view, world.features);
        let one = find_pod_volumes(&world.claims, node, view, world.features);
        prop_assert_eq!(&one, &plain);
        prop_assert_eq!(&many, &plain);
    }
    Ok(())
}

/// Everything that a view says of the volumes and of the pod's claims.
#[derive(Debug, PartialEq)]
struct Said {
    volumes: Vec<Arc<PersistentVolume>>,
    claims: Vec<Option<Arc<PersistentVolumeClaim>>>,
    answers: Vec<Result<PodVolumes, FindVolumesError>>,
}

fn said_by<V: SchedulingView>(world: &World, view: &V) -> Said {
    let claim = |claim: &Arc<PersistentVolumeClaim>| {
        let held = view.claim(claim.metadata.namespace(), claim.metadata.name());
        held.map(|held| held.into_arc())
    };
    let features = world.features;
    Said {
        volumes: view.volume_layers().all().into_iter().cloned().collect(),
        claims: world.claims.delayed.iter().map(claim).collect(),
        answers: find_pod_volumes_on_nodes(&world.claims, &world.nodes, view, features),
    }
}

/// The reasons that upstream would tell for these obstacles: it stops at the
/// first of each kind.
fn reasons_of(obstacles: &[Obstacle]) -> UnfitReasons {
    let is_of_bound = |obstacle: &&Obstacle| {
        matches!(
            obstacle,
            Obstacle::VolumeMissing { .. } | Obstacle::VolumeUnreachable { .. }
        )
    };
    let first_bound = obstacles.iter().find(is_of_bound);
    let first_other = obstacles.iter().find(|obstacle| !is_of_bound(obstacle));
    let mut reasons = UnfitReasons::default();
    for obstacle in first_bound.into_iter().chain(first_other) {
        reasons.insert(obstacle.reason());
    }
    reasons
}

proptest! {
    #[test]
    fn many_nodes_equal_one_node_equal_the_plain_form(world in world()) {
        check_forms(&world, &world.snapshot)?;
    }

    #[test]
    fn an_excluded_volume_is_never_used(
        world in world(),
        first in prop::collection::btree_set(0..20_u8, 0..6),
    ) {
        let view = &world.snapshot;
        let layers = view.volume_layers();
        let first: Vec<_> = first.iter().map(|which| format!("pv-{which:02}")).collect();
        for (claim, node) in world.claims.delayed.iter().zip(world.nodes.iter().cycle()) {
            let labels = node.metadata.labels();
            let Ok(search) = layers.search(claim, world.features) else { continue };
            let prepared = layers.node(labels);
            let mut excluded: Vec<&str> = first.iter().map(String::as_str).collect();
            // Whatever is found is excluded the next time, until nothing is left.
            loop {
                let found = search.on_node(&prepared, &excluded);
                let indexed = view.volumes();
                let in_index = indexed
                    .search(claim, world.features)
                    .unwrap()
                    .within_class()
                    .on_node(&indexed.node(labels), &excluded);
                let options = FindOptions {
                    node_labels: Some(labels),
                    excluded: &excluded,
                    delay_binding: true,
                    features: world.features,
                };
                let candidates = layers.of_class(claim.class_name());
                let candidates = candidates.into_iter().map(|volume| &**volume);
                let in_slice = find_matching_volume(claim, candidates, &options).unwrap();
                let names = [
                    found.map(|volume| volume.name()),
                    in_index.map(|volume| volume.name()),
                    in_slice.map(PersistentVolume::name),
                ];
                for name in names.into_iter().flatten() {
                    prop_assert!(!excluded.contains(&name), "{name} was excluded");
                }
                prop_assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
                match names[0] {
                    Some(name) => excluded.push(name),
                    None => break,
                }
            }
        }
    }

    #[test]
    fn what_stands_in_the_way_explains_the_reasons(world in world()) {
        let search = PodSearch::new(&world.claims, &world.snapshot, world.features);
        for node in &world.nodes {
            let obstacles = search.explain(node);
            match search.on_node(node) {
                Ok(found) => prop_assert_eq!(found.reasons, reasons_of(&obstacles)),
                Err(_) => prop_assert_eq!(obstacles, []),
            }
        }
    }

    #[test]
    fn another_pod_sees_what_was_assumed_and_reverting_restores_the_view(
        world in world(),
        other in prop::collection::vec(standing_claim(), 1..3),
        second_first in any::<bool>(),
    ) {
        let before = said_by(&world, &world.snapshot);
        let mut assumptions = Assumptions::new();
        let pod = Pod::default();
        let mut other = split(other);
        for claim in &mut other.delayed {
            Arc::make_mut(claim).metadata.namespace = Some("elsewhere".to_owned());
        }
        let mut kept = Vec::new();
        for claims in [&world.claims, &other] {
            let found = {
                let view = assumptions.over(&world.snapshot);
                let find = |node| find_pod_volumes(claims, node, &view, world.features).ok();
                let found = world.nodes.iter().find_map(|node| Some((node, find(node)?)));
                found.map(|(node, found)| (node.name().to_owned(), found))
            };
            let Some((node, found)) = found else { return Ok(()) };
            let (assumption, plan) = assumptions.assume(&pod, claims, &node, &found);
            prop_assert_eq!(
                plan.steps.len(),
                found.static_bindings.len() + found.dynamic_provisions.len()
            );
            let view = assumptions.over(&world.snapshot);
            for binding in &found.static_bindings {
                let shown = view.volume(binding.volume.name()).unwrap();
                prop_assert!(shown.is_bound_to(&binding.claim));
            }
            check_forms(&world, &view)?;
            kept.push((assumption, said_by(&world, &view), found));
        }
        // A volume that is assumed for one pod is not given to another.
        let names = |place: usize| -> BTreeSet<String> {
            let bindings = kept[place].2.static_bindings.iter();
            bindings.map(|binding| binding.volume.name().to_owned()).collect()
        };
        prop_assert!(names(0).is_disjoint(&names(1)));

        let (second, first) = (kept.pop().unwrap(), kept.pop().unwrap());
        if second_first {
            assumptions.revert(second.0);
            prop_assert_eq!(said_by(&world, &assumptions.over(&world.snapshot)), first.1);
            assumptions.revert(first.0);
        } else {
            assumptions.revert(first.0);
            assumptions.revert(second.0);
        }
        prop_assert!(assumptions.is_empty());
        prop_assert_eq!(said_by(&world, &assumptions.over(&world.snapshot)), before);
    }

    #[test]
    fn another_node_changes_nothing_and_another_open_volume_makes_no_node_unfit(
        world in world(),
        labels in node_labels(),
        added in open_volume(),
    ) {
        let World { mut snapshot, mut nodes, claims, features } = world;
        let before = find_pod_volumes_on_nodes(&claims, &nodes, &snapshot, features);
        nodes.insert(0, node(9, &labels));
        let after = find_pod_volumes_on_nodes(&claims, &nodes, &snapshot, features);
        prop_assert_eq!(&before[..], &after[1..]);

        let mut added: PersistentVolume = added;
        added.metadata.name = Some("pv-added".to_owned());
        snapshot.apply(Arc::new(added));
        let after = find_pod_volumes_on_nodes(&claims, &nodes, &snapshot, features);
        for (before, after) in before.iter().zip(&after[1..]) {
            if before.as_ref().is_ok_and(|found| found.fits()) {
                prop_assert!(after.as_ref().is_ok_and(|found| found.fits()), "{:?}", after);
            }
        }
    }
}
