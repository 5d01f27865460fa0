//! What the binding controller does to whole clusters, over many syncs.
//!
//! The cluster comes to rest within a bound, and to the same rest whatever
//! happened on the way. What must never happen on the way is watched by the
//! world itself, see `support/world.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use pvbind::api::ClaimPhase;
use pvbind::controller::{DeleteError, InTreePlugin, sync_claim, sync_volume};
use pvbind::matching::Features;
use serde_json::{Value, json};

use crate::generators::features;
use crate::world::{Answers, Faults, World};

/// Volumes and claims of each cluster: at most so many.
const MOST: usize = 4;

/// How many writes bring a cluster to rest at most, faults aside.
///
/// Four writes per pair, and once each what else may be due. Of a volume, nine:
/// annotation and finalizers, claimRef taken away, Available, its two of a bind,
/// Released, Failed, and for its deletion the finalizer and the object. Of a
/// claim, eight: migration annotation, default class, provisioner, selected node
/// removed, Pending, its two of a bind, Lost. Each claim may also have a volume
/// made, which is one write and then those of a volume.
fn most_writes(world: &World) -> usize {
    const VOLUME: usize = 9;
    const CLAIM: usize = 8;
    let (volumes, claims) = (world.server.volumes.len(), world.server.claims.len());
    volumes * VOLUME + claims * (CLAIM + 1 + VOLUME)
}

/// A cluster, as it is generated.
#[derive(Clone, Debug)]
struct Seed {
    volumes: Vec<Value>,
    claims: Vec<Value>,
    classes: Vec<Value>,
    pods: Vec<Value>,
    dynamic_provisioning: bool,
    features: Features,
    answers: Answers,
}

impl Seed {
    fn world(&self) -> World {
        let mut world = World::default();
        for volume in &self.volumes {
            let name = volume["metadata"]["name"].as_str().unwrap().to_owned();
            let volume = serde_json::from_value(volume.clone()).unwrap();
            world.server.volumes.insert(name, volume);
        }
        for claim in &self.claims {
            let claim = serde_json::from_value(claim.clone()).unwrap();
            let key = pvbind::api::ClaimKey::of(&claim);
            world.server.claims.insert(key, claim);
        }
        let classes = self.classes.iter().cloned();
        world.classes = classes
            .map(|class| serde_json::from_value(class).map(Arc::new).unwrap())
            .collect();
        let pods = self.pods.iter().cloned();
        world.pods = pods
            .map(|pod| serde_json::from_value(pod).map(Arc::new).unwrap())
            .collect();
        let node = json!({"metadata": {"name": "node"}});
        world.nodes = vec![serde_json::from_value(node).map(Arc::new).unwrap()];
        world.answers = self.answers.clone();
        let config = &mut world.config;
        config.dynamic_provisioning = self.dynamic_provisioning;
        config.features = self.features;
        config.plugins = vec![
            InTreePlugin {
                can_provision: true,
                can_delete: true,
                can_recycle: true,
                ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
            },
            InTreePlugin {
                can_recycle: true,
                ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
            },
        ];
        world
    }
}

fn pick<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = T> + use<T> {
    prop::sample::select(values.to_vec())
}

fn rarely<S: Strategy>(strategy: S) -> impl Strategy<Value = Option<S::Value>> {
    prop::option::weighted(0.25, strategy)
}

fn yes(likely: f64) -> impl Strategy<Value = bool> {
    prop::bool::weighted(likely)
}

const PROVISIONERS: [&str; 5] = [
    "kubernetes.io/host-path",
    "kubernetes.io/gce-pd",
    "kubernetes.io/unheard",
    "disk.csi",
    "",
];

/// The class of the i-th volume or claim. Where nobody competes, each claim has
/// a class of its own.
fn class_name(i: usize, class: Option<&'static str>, competes: bool) -> Option<String> {
    match competes {
        true => class.map(str::to_owned),
        false => Some(format!("own-{i}")),
    }
}

fn volume(i: usize, competes: bool) -> impl Strategy<Value = Value> {
    let spec = (
        rarely(pick(&["fast", "late", "missing", ""])),
        prop::option::weighted(0.95, pick(&["1Gi", "2Gi", "5Gi"])),
        rarely(pick(&["Filesystem", "Block"])),
        prop::option::weighted(0.9, pick(&["Retain", "Delete", "Delete", "Recycle", "Odd"])),
        pick(&["hostPath", "hostPath", "nfs", "csi", "fc"]),
        prop::option::of((0..MOST, pick(&["", "mine", "mine", "old"]))),
    );
    let metadata = (
        yes(0.4),
        rarely(pick(&PROVISIONERS)),
        rarely(pick(&["pd.csi.storage.gke.io", ""])),
        yes(0.2),
        yes(0.05),
    );
    let phase = prop::option::of(pick(&[
        "Pending",
        "Available",
        "Bound",
        "Released",
        "Failed",
    ]));
    (spec, metadata, phase).prop_map(move |(spec, metadata, phase)| {
        let (class, size, mode, policy, source, claim) = spec;
        let (by_controller, provisioner, migrated, finalizer, is_deleted) = metadata;
        let mut annotations = serde_json::Map::new();
        if by_controller {
            annotations.insert("pv.kubernetes.io/bound-by-controller".into(), json!("yes"));
        }
        if let Some(provisioner) = provisioner {
            annotations.insert("pv.kubernetes.io/provisioned-by".into(), json!(provisioner));
        }
        if let Some(migrated) = migrated {
            annotations.insert("pv.kubernetes.io/migrated-to".into(), json!(migrated));
        }
        let claim_ref = claim.map(|(claim, uid)| {
            let claim = if competes { claim } else { i % MOST };
            let uid = match uid {
                "mine" => format!("uc{claim}"),
                uid => uid.to_owned(),
            };
            json!({"kind": "PersistentVolumeClaim", "namespace": "ns",
                "name": format!("c{claim}"), "uid": uid})
        });
        let finalizers = finalizer.then(|| json!(["kubernetes.io/pv-controller", "x/y"]));
        json!({
            "kind": "PersistentVolume", "apiVersion": "v1",
            "metadata": {"name": format!("v{i}"), "uid": format!("uv{i}"), "resourceVersion": "10",
                "annotations": annotations, "finalizers": finalizers,
                "deletionTimestamp": is_deleted.then_some("2026-01-01T00:00:00Z")},
            "spec": {"storageClassName": class_name(i % MOST, class, competes),
                "capacity": size.map(|size| json!({"storage": size})),
                "accessModes": ["ReadWriteOnce"], "volumeMode": mode,
                "persistentVolumeReclaimPolicy": policy, source: {}, "claimRef": claim_ref},
            "status": {"phase": phase}})
    })
}

fn claim(i: usize, competes: bool) -> impl Strategy<Value = Value> {
    let spec = (
        prop::option::of(pick(&["fast", "fast", "late", "missing", ""])),
        pick(&["1Gi", "2Gi", "3Gi", "9Gi"]),
        rarely(pick(&["Filesystem", "Block"])),
        prop::option::weighted(0.4, 0..MOST + 1),
        yes(0.1),
    );
    let metadata = (
        yes(0.3),
        yes(0.3),
        rarely(pick(&["node", "nowhere", ""])),
        rarely(pick(&PROVISIONERS)),
        rarely(pick(&["pd.csi.storage.gke.io", ""])),
    );
    let status = (
        prop::option::of(pick(&["Pending", "Bound", "Lost"])),
        yes(0.3),
    );
    (spec, metadata, status).prop_map(move |(spec, metadata, (phase, has_status))| {
        let (class, size, mode, volume, has_source) = spec;
        let (completed, by_controller, node, provisioner, migrated) = metadata;
        let mut annotations = serde_json::Map::new();
        if completed {
            annotations.insert("pv.kubernetes.io/bind-completed".into(), json!("yes"));
        }
        if by_controller {
            annotations.insert("pv.kubernetes.io/bound-by-controller".into(), json!("yes"));
        }
        if let Some(node) = node {
            annotations.insert("volume.kubernetes.io/selected-node".into(), json!(node));
        }
        if let Some(name) = provisioner {
            annotations.insert(
                "volume.kubernetes.io/storage-provisioner".into(),
                json!(name),
            );
        }
        if let Some(migrated) = migrated {
            annotations.insert("pv.kubernetes.io/migrated-to".into(), json!(migrated));
        }
        // Of the volumes that another claim may have, none is asked for.
        let volume = volume.map(|volume| if competes { volume } else { i });
        json!({
            "kind": "PersistentVolumeClaim", "apiVersion": "v1",
            "metadata": {"namespace": "ns", "name": format!("c{i}"), "uid": format!("uc{i}"),
                "resourceVersion": "10", "annotations": annotations},
            "spec": {"storageClassName": class_name(i, class, competes),
                "accessModes": ["ReadWriteOnce"], "volumeMode": mode,
                "resources": {"requests": {"storage": size}},
                "volumeName": volume.map(|volume| format!("v{volume}")),
                "dataSource": has_source.then(|| json!({"kind": "VolumeSnapshot", "name": "s"}))},
            "status": {"phase": phase, "accessModes": has_status.then(|| json!(["ReadWriteMany"])),
                "capacity": has_status.then(|| json!({"storage": "3Gi"}))}})
    })
}

fn class(name: String) -> impl Strategy<Value = Value> {
    (
        pick(&PROVISIONERS),
        prop::option::weighted(0.95, pick(&["Immediate", "WaitForFirstConsumer"])),
        yes(0.3),
        pick(&["Delete", "Retain"]),
        yes(0.1),
    )
        .prop_map(
            move |(provisioner, mode, is_default, policy, has_options)| {
                json!({
                "metadata": {"name": name, "annotations":
                    {"storageclass.kubernetes.io/is-default-class": is_default.to_string()}},
                "provisioner": provisioner, "volumeBindingMode": mode, "reclaimPolicy": policy,
                "mountOptions": has_options.then(|| json!(["ro"]))})
            },
        )
}

fn answers() -> impl Strategy<Value = Answers> {
    let result = |likely| yes(likely).prop_map(|ok| if ok { Ok(()) } else { Err("no".to_owned()) });
    let delete = pick(&[
        Ok(()),
        Ok(()),
        Err(DeleteError::InUse("in use".to_owned())),
        Err(DeleteError::Failed("no".to_owned())),
        Err(DeleteError::CannotStart("no".to_owned())),
    ]);
    (result(0.9), result(0.7), delete, result(0.7)).prop_map(
        |(start, provision, delete, recycle)| Answers {
            start,
            provision,
            delete,
            recycle,
        },
    )
}

fn cluster(competes: bool) -> impl Strategy<Value = Seed> {
    // Where nobody competes, each claim has two volumes of its class.
    let volumes: Vec<_> = (0..if competes { MOST } else { 2 * MOST })
        .map(|i| prop::option::weighted(0.8, volume(i, competes)))
        .collect();
    let claims: Vec<_> = (0..MOST)
        .map(|i| prop::option::weighted(0.8, claim(i, competes)))
        .collect();
    let names: Vec<String> = match competes {
        true => vec!["fast".into(), "late".into()],
        false => (0..MOST).map(|i| format!("own-{i}")).collect(),
    };
    let classes: Vec<_> = names.into_iter().map(class).collect();
    let switches = (yes(0.9), features());
    (volumes, claims, classes, yes(0.5), switches, answers()).prop_map(
        |(volumes, claims, classes, has_pod, (dynamic_provisioning, features), answers)| {
            let pod = json!({"metadata": {"namespace": "ns", "name": "pod"}, "spec": {"volumes": [
                {"name": "a", "persistentVolumeClaim": {"claimName": "c0"}}]}});
            Seed {
                volumes: volumes.into_iter().flatten().collect(),
                claims: claims.into_iter().flatten().collect(),
                classes,
                pods: Vec::from_iter(has_pod.then_some(pod)),
                dynamic_provisioning,
                features,
                answers,
            }
        },
    )
}

/// Brings a world to rest, without faults from here on.
fn settled(mut world: World) -> Result<World, TestCaseError> {
    let most = 2 * most_writes(&world) + 10;
    world.settle(most).map_err(TestCaseError::fail)?;
    Ok(world)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_cluster_comes_to_rest_within_a_bound(
        seed in cluster(true), orders in any::<(u64, u64)>()
    ) {
        let most = most_writes(&seed.world());
        let mut world = seed.world();
        (world.volume_order, world.claim_order) = orders;
        let world = settled(world)?;
        prop_assert!(world.writes <= most, "{} writes, at most {most}", world.writes);
        for claim in world.snapshot.claims() {
            let plan = sync_claim(&world.config, &world.snapshot, claim);
            prop_assert!(!plan.has_writes(), "{plan:?}");
        }
        for volume in world.snapshot.volumes().iter() {
            let plan = sync_volume(&world.config, &world.snapshot, volume, None);
            prop_assert!(!plan.has_writes(), "{plan:?}");
        }
        let mut holders = BTreeSet::new();
        for claim in world.server.claims.values() {
            if claim.is_bind_completed() && claim.status.phase == Some(ClaimPhase::Bound) {
                prop_assert!(holders.insert(claim.volume_name()), "two claims have one volume");
                let volume = &world.server.volumes[claim.volume_name()];
                let holder = volume.claim_ref().map(|holder| holder.uid());
                prop_assert_eq!(holder, Some(claim.metadata.uid()));
            }
        }
    }

    /// The world watches over it; here the cache misses some of the claims.
    #[test]
    fn a_cache_that_misses_claims_releases_no_volume_of_a_claim_that_lives(
        seed in cluster(true), missing in prop::collection::vec(any::<bool>(), MOST)
    ) {
        let mut world = seed.world();
        world.refresh();
        world.is_fresh = false;
        world.held = Some(Vec::new());
        for (key, is_missing) in world.claim_keys().iter().zip(missing) {
            if is_missing {
                world.snapshot.delete(&world.server.claims[key]);
            }
        }
        for name in world.volume_names() {
            world.sync_volume(&name);
        }
    }

    #[test]
    fn a_run_that_is_cut_after_any_write_ends_the_same(seed in cluster(true)) {
        let whole = settled(seed.world())?;
        let end = whole.state();
        for writes in 0..whole.writes {
            let mut world = seed.world();
            world.faults.writes_left = Some(writes);
            let mut world = settled(world)?;
            prop_assert_eq!(world.writes, writes);
            world.faults = Faults::default();
            let world = settled(world)?;
            prop_assert_eq!(world.state(), end.clone(), "cut after {} writes", writes);
        }
    }

    #[test]
    fn conflicts_change_nothing_in_the_end(seed in cluster(true)) {
        let end = settled(seed.world())?.state();
        let mut world = seed.world();
        world.faults.failed_once = Some(BTreeSet::new());
        prop_assert_eq!(settled(world)?.state(), end);
    }

    /// Which claim comes first decides who gets a volume; the order of the
    /// volumes decides nothing.
    #[test]
    fn the_order_of_the_volumes_changes_nothing(seed in cluster(true), order in any::<u64>()) {
        let end = settled(seed.world())?.state();
        let mut world = seed.world();
        world.volume_order = order;
        prop_assert_eq!(settled(world)?.state(), end);
    }

    #[test]
    fn no_order_changes_anything_where_no_two_claims_want_the_same(
        seed in cluster(false), orders in any::<(u64, u64)>()
    ) {
        let end = settled(seed.world())?.state();
        let mut world = seed.world();
        (world.volume_order, world.claim_order) = orders;
        prop_assert_eq!(settled(world)?.state(), end);
    }
}
