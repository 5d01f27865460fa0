//! The policy that chooses a pod's volumes together, against trying all
//! assignments, and the forms of the faithful one against each other.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;
use pvbind::api::{Node, Object, PersistentVolume, PersistentVolumeClaim};
use pvbind::matching::{Features, FindOptions, find_matching_volume};
use pvbind::scheduling::{
    PodClaims, PodSearch, PodVolumes, PoolRoom, StaticBinding, assign_pod_volumes,
    find_pod_volumes, find_pod_volumes_on_nodes, find_pod_volumes_plain, wasted_bytes,
};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

/// A small cluster, and a pod with up to four claims.
#[derive(Clone, Debug)]
struct World {
    objects: Vec<Value>,
    pod: Value,
    nodes: Vec<Node>,
}

/// `local` has no provisioner, `csi` has one whose pools count, `free` one
/// whose pools do not.
const CLASSES: [&str; 3] = ["local", "csi", "free"];
const SIZES: [u8; 6] = [0, 1, 2, 3, 5, 8];

fn claim(classes: &'static [&str]) -> impl Strategy<Value = Value> {
    (
        select(classes),
        prop::option::weighted(0.9, select(&SIZES[..])),
        prop::bool::weighted(0.3),
        prop::option::weighted(0.05, select(&["a", "b"][..])),
    )
        .prop_map(|(class, size, is_choosy, selected)| {
            let selector = is_choosy.then(|| json!({"matchLabels": {"x": "y"}}));
            let annotations =
                selected.map(|node| json!({"volume.kubernetes.io/selected-node": node}));
            json!({"kind": "PersistentVolumeClaim",
                "metadata": {"namespace": "shop", "annotations": annotations},
                "spec": {"storageClassName": class, "selector": selector,
                    "resources": {"requests": size.map(|size| json!({"storage": size.to_string()}))}}})
        })
}

fn volume(classes: &'static [&str]) -> impl Strategy<Value = Value> {
    (
        select(classes),
        select(&SIZES[..]),
        any::<bool>(),
        prop::option::of(select(&["a", "b"][..])),
        prop::option::weighted(0.1, 0..4_u8),
    )
        .prop_map(|(class, size, is_labelled, host, reserved)| {
            let labels = is_labelled.then(|| json!({"x": "y"}));
            let affinity = host.map(|host| {
                json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]}})
            });
            let claim_ref =
                reserved.map(|claim| json!({"namespace": "shop", "name": format!("c{claim}")}));
            json!({"kind": "PersistentVolume", "metadata": {"labels": labels},
                "spec": {"storageClassName": class, "capacity": {"storage": size.to_string()},
                    "nodeAffinity": affinity, "claimRef": claim_ref},
                "status": {"phase": "Available"}})
        })
}

fn pool() -> impl Strategy<Value = Value> {
    (
        prop::option::weighted(0.8, select(&SIZES[..])),
        prop::option::weighted(0.3, select(&SIZES[..])),
        prop_oneof![
            Just(json!({})),
            Just(json!({"matchLabels": {"kubernetes.io/hostname": "a"}}))
        ],
    )
        .prop_map(|(capacity, largest, topology)| {
            let text = |size: Option<u8>| size.map(|size| size.to_string());
            json!({"kind": "CSIStorageCapacity", "metadata": {"namespace": "shop"},
                "storageClassName": "csi", "nodeTopology": topology,
                "capacity": text(capacity), "maximumVolumeSize": text(largest)})
        })
}

fn named(mut objects: Vec<Value>, prefix: &str) -> Vec<Value> {
    for (place, object) in objects.iter_mut().enumerate() {
        object["metadata"]["name"] = json!(format!("{prefix}{place}"));
    }
    objects
}

fn world() -> impl Strategy<Value = World> {
    let claims = prop::collection::vec(claim(&CLASSES), 1..5);
    let volumes = prop::collection::vec(volume(&CLASSES), 0..6);
    let pools = prop::collection::vec(pool(), 0..4);
    built((claims, volumes, pools))
}

/// Claims and volumes that are all of one class.
fn crowded_world() -> impl Strategy<Value = World> {
    let claims = prop::collection::vec(claim(&CLASSES[..1]), 2..9);
    let volumes = prop::collection::vec(volume(&CLASSES[..1]), 2..14);
    built((claims, volumes, Just(Vec::new())))
}

fn built(
    parts: impl Strategy<Value = (Vec<Value>, Vec<Value>, Vec<Value>)>,
) -> impl Strategy<Value = World> {
    parts.prop_map(|(claims, volumes, pools)| {
        let class = |name: &str, provisioner: &str| {
            json!({"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner,
                   "volumeBindingMode": "WaitForFirstConsumer"})
        };
        let mut objects = vec![
            class("local", "kubernetes.io/no-provisioner"),
            class("csi", "csi.example.com"),
            class("free", "free.example.com"),
            json!({"kind": "CSIDriver", "metadata": {"name": "csi.example.com"},
                   "spec": {"storageCapacity": true}}),
        ];
        let used: Vec<_> = (0..claims.len())
            .map(|claim| json!({"persistentVolumeClaim": {"claimName": format!("c{claim}")}}))
            .collect();
        objects.extend(named(claims, "c"));
        objects.extend(named(volumes, "v"));
        objects.extend(named(pools, "p"));
        let node = |name: &str| -> Node {
            let labels = json!({"kubernetes.io/hostname": name});
            serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap()
        };
        World {
            objects,
            pod: json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": {"volumes": used}}),
            nodes: vec![node("a"), node("b"), node("c"), node("a")],
        }
    })
}

impl World {
    fn snapshot(&self) -> Snapshot {
        let objects = self.objects.iter().cloned();
        objects
            .map(|value| Object::from_value(value).unwrap())
            .collect()
    }

    fn claims(&self, snapshot: &Snapshot) -> PodClaims {
        PodClaims::of(&serde_json::from_value(self.pod.clone()).unwrap(), snapshot).unwrap()
    }
}

/// The best assignment by trying all: how many are provisioned, and how much is
/// wasted. `None` if no assignment meets all claims.
struct BruteForce<'a> {
    node: &'a Node,
    volumes: Vec<&'a PersistentVolume>,
    pools: Vec<(Option<i64>, i64)>,
    best: Option<(usize, i128)>,
}

impl<'a> BruteForce<'a> {
    fn run(
        snapshot: &'a Snapshot,
        claims: &PodClaims,
        node: &'a Node,
        is_shared: bool,
    ) -> Option<(usize, i128)> {
        let serves = |topology: &Option<pvbind::api::LabelSelector>| {
            let labels = node.metadata.labels();
            topology.as_ref().is_some_and(|topology| {
                pvbind::selector::label_selector_matches(topology, labels) == Ok(true)
            })
        };
        let pools = snapshot
            .capacities()
            .filter(|pool| serves(&pool.node_topology));
        let mut search = BruteForce {
            node,
            volumes: snapshot.volumes().iter().map(|volume| &**volume).collect(),
            pools: pools
                .filter_map(|pool| {
                    let together = pool.capacity.as_ref().filter(|_| is_shared);
                    Some((together.map(|room| room.value()), pool.limit()?.value()))
                })
                .collect(),
            best: None,
        };
        let delayed: Vec<_> = claims.delayed.iter().map(|claim| &**claim).collect();
        search.next(&delayed, &mut Vec::new(), 0, 0);
        search.best
    }

    fn next(
        &mut self,
        claims: &[&PersistentVolumeClaim],
        used: &mut Vec<&'a str>,
        provisions: usize,
        waste: i128,
    ) {
        let Some((claim, rest)) = claims.split_first() else {
            let found = (provisions, waste);
            self.best = Some(self.best.map_or(found, |best| best.min(found)));
            return;
        };
        let selected = claim
            .metadata
            .annotation("volume.kubernetes.io/selected-node");
        if selected.is_some_and(|node| node != self.node.name()) {
            return;
        }
        let volumes = if selected.is_none() {
            self.volumes.clone()
        } else {
            Vec::new()
        };
        for &volume in &volumes {
            if !used.contains(&volume.name()) && self.fits(claim, volume) {
                used.push(volume.name());
                let held = i128::from(volume.storage().value());
                let wasted = held - i128::from(claim.requested_storage().value());
                self.next(rest, used, provisions, waste + wasted);
                used.pop();
            }
        }
        match (claim.class_name(), claim.storage_request()) {
            ("local", _) => {}
            ("csi", Some(request)) => {
                let size = request.value();
                for pool in 0..self.pools.len() {
                    let (room, limit) = self.pools[pool];
                    if size <= limit && room.is_none_or(|room| size <= room) {
                        self.pools[pool].0 = room.map(|room| room - size);
                        self.next(rest, used, provisions + 1, waste);
                        self.pools[pool].0 = room;
                    }
                }
            }
            _ => self.next(rest, used, provisions + 1, waste),
        }
    }

    /// Whether the claim may have the volume: what the search among all finds
    /// if it is reserved, else what it finds in the volume alone.
    fn fits(&self, claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
        let options = FindOptions {
            node_labels: Some(self.node.metadata.labels()),
            excluded: &[],
            delay_binding: true,
            features: Features::default(),
        };
        let of_class = || {
            let volumes = self.volumes.iter().copied();
            volumes.filter(|volume| volume.class_name() == claim.class_name())
        };
        let found = find_matching_volume(claim, of_class(), &options).unwrap();
        let Some(found) = found else {
            return false;
        };
        if found.claim_ref().is_some() {
            return found.name() == volume.name();
        }
        volume.class_name() == claim.class_name()
            && find_matching_volume(claim, [volume], &options)
                .unwrap()
                .is_some()
    }
}

fn cost(volumes: &PodVolumes) -> (usize, i128) {
    (
        volumes.dynamic_provisions.len(),
        wasted_bytes(&volumes.static_bindings),
    )
}

fn check_bindings(bindings: &[StaticBinding]) {
    let mut by_volume = BTreeMap::new();
    for binding in bindings {
        let before = by_volume.insert(binding.volume.name(), binding.claim.metadata.name());
        assert_eq!(before, None, "a volume is given away once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn the_better_policy_finds_what_brute_force_finds_at_the_same_cost(world in world()) {
        let snapshot = world.snapshot();
        let claims = world.claims(&snapshot);
        for node in &world.nodes {
            for (room, is_shared) in [(PoolRoom::Shared, true), (PoolRoom::PerClaim, false)] {
                let volumes = assign_pod_volumes(&claims, node, &snapshot, Features::default(), room).unwrap();
                check_bindings(&volumes.static_bindings);
                let best = BruteForce::run(&snapshot, &claims, node, is_shared);
                prop_assert_eq!(volumes.fits().then(|| cost(&volumes)), best, "{:?}", room);
            }
        }
    }

    #[test]
    fn where_the_faithful_policy_fits_the_better_one_does_and_at_no_greater_cost(world in world()) {
        let snapshot = world.snapshot();
        let claims = world.claims(&snapshot);
        for node in &world.nodes {
            let faithful = find_pod_volumes(&claims, node, &snapshot, Features::default()).unwrap();
            check_bindings(&faithful.static_bindings);
            let better =
                assign_pod_volumes(&claims, node, &snapshot, Features::default(), PoolRoom::PerClaim).unwrap();
            if faithful.fits() {
                prop_assert!(better.fits());
                prop_assert!(cost(&better) <= cost(&faithful));
            }
        }
    }

    #[test]
    fn one_node_many_nodes_and_the_plain_form_agree(world in world()) {
        let snapshot = world.snapshot();
        let claims = world.claims(&snapshot);
        let many = find_pod_volumes_on_nodes(&claims, &world.nodes, &snapshot, Features::default());
        prop_assert_eq!(many.len(), world.nodes.len());
        let search = PodSearch::new(&claims, &snapshot, Features::default());
        for (node, answer) in world.nodes.iter().zip(many) {
            let plain = find_pod_volumes_plain(&claims, node, &snapshot, Features::default());
            prop_assert_eq!(&answer, &plain);
            prop_assert_eq!(&answer, &find_pod_volumes(&claims, node, &snapshot, Features::default()));
            let reasons: Vec<_> = answer.unwrap().reasons().collect();
            let obstacles = search.explain(node);
            prop_assert_eq!(reasons.is_empty(), obstacles.is_empty());
        }
    }

    #[test]
    fn no_volume_is_given_to_two_claims_of_a_pod(world in crowded_world()) {
        let snapshot = world.snapshot();
        let claims = world.claims(&snapshot);
        let many = find_pod_volumes_on_nodes(&claims, &world.nodes, &snapshot, Features::default());
        for (node, faithful) in world.nodes.iter().zip(many) {
            let faithful = faithful.unwrap();
            let better =
                assign_pod_volumes(&claims, node, &snapshot, Features::default(), PoolRoom::Shared).unwrap();
            for found in [&faithful, &better] {
                let volumes = found.static_bindings.iter().map(|binding| binding.volume.name());
                let different: BTreeSet<_> = volumes.collect();
                prop_assert_eq!(different.len(), found.static_bindings.len());
            }
            // Nor does a claim look where another one with other wishes did.
            let plain = find_pod_volumes_plain(&claims, node, &snapshot, Features::default());
            prop_assert_eq!(faithful, plain.unwrap());
        }
    }

    #[test]
    fn another_open_volume_never_makes_a_node_unfit_for_the_better_policy(
        world in world(),
        extra in volume(&CLASSES),
    ) {
        let snapshot = world.snapshot();
        let claims = world.claims(&snapshot);
        let mut larger = world.clone();
        let mut extra = extra;
        extra["metadata"]["name"] = json!("extra");
        extra["spec"]["claimRef"] = Value::Null;
        larger.objects.push(extra);
        let with_extra = larger.snapshot();
        for node in &world.nodes {
            let fits = |snapshot: &Snapshot| {
                assign_pod_volumes(&claims, node, snapshot, Features::default(), PoolRoom::Shared).unwrap().fits()
            };
            prop_assert!(!fits(&snapshot) || fits(&with_extra));
        }
    }
}
