//! Assumed objects against a simple model: for every object what each assumption
//! made of it, the last one in front.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use pvbind::api::{ClaimKey, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use pvbind::binding::bind_volume_to_claim;
use pvbind::matching::Features;
use pvbind::scheduling::{
    Assumption, Assumptions, PodClaims, PodVolumes, find_pod_volumes, find_pod_volumes_plain,
};
use pvbind::view::{ClusterView, Held, SchedulingView, Snapshot};
use serde_json::{Value, json};

const VOLUMES: [&str; 4] = ["pv-0", "pv-1", "pv-2", "pv-3"];
const CLAIMS: [&str; 4] = ["c-0", "c-1", "c-2", "c-3"];

/// What happens to a scheduler.
#[derive(Clone, Debug)]
enum Event {
    /// A pod with these claims is placed on `a` or `b`, if it fits.
    Assume {
        claims: Vec<usize>,
        on_b: bool,
    },
    /// One of the assumptions made so far is reverted.
    Revert(usize),
    /// An object arrives, with a version relative to the one known, perhaps as
    /// another object of the same name.
    Volume {
        which: usize,
        version: i64,
        is_other: bool,
        is_taken: bool,
    },
    Claim {
        which: usize,
        version: i64,
        is_other: bool,
    },
    VolumeDeleted(usize),
    ClaimDeleted(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let version = || select(&[-1_i64, 0, 0, 1, 1, 5][..]);
    let claims = prop::collection::btree_set(0..4_usize, 1..3);
    prop_oneof![
        6 => (claims, any::<bool>()).prop_map(|(claims, on_b)| Event::Assume {
            claims: claims.into_iter().collect(),
            on_b,
        }),
        3 => (0..8_usize).prop_map(Event::Revert),
        3 => (0..4_usize, version(), prop::bool::weighted(0.1), prop::bool::weighted(0.2))
            .prop_map(|(which, version, is_other, is_taken)| {
                Event::Volume { which, version, is_other, is_taken }
            }),
        2 => (0..4_usize, version(), prop::bool::weighted(0.1))
            .prop_map(|(which, version, is_other)| Event::Claim { which, version, is_other }),
        1 => (0..4_usize).prop_map(Event::VolumeDeleted),
        1 => (0..4_usize).prop_map(Event::ClaimDeleted),
    ]
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn volume(which: usize, version: i64, uid: u64, is_taken: bool) -> PersistentVolume {
    let host = ["a", "b"][which % 2];
    let by = is_taken.then(|| json!({"namespace": "else", "name": "where", "uid": "u"}));
    read(json!({"kind": "PersistentVolume",
        "metadata": {"name": VOLUMES[which], "uid": uid.to_string(),
                     "resourceVersion": version.to_string()},
        "spec": {"storageClassName": "csi", "capacity": {"storage": (which / 2 + 1).to_string()},
            "claimRef": by,
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "host", "operator": "In", "values": [host]}]}]}}},
        "status": {"phase": if is_taken { "Bound" } else { "Available" }}}))
}

fn claim(which: usize, version: i64, uid: u64) -> PersistentVolumeClaim {
    read(json!({"kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "shop", "name": CLAIMS[which], "uid": uid.to_string(),
                     "resourceVersion": version.to_string()},
        "spec": {"storageClassName": "csi",
                 "resources": {"requests": {"storage": (which % 3).to_string()}}}}))
}

fn class() -> Arc<StorageClass> {
    Arc::new(read(
        json!({"kind": "StorageClass", "metadata": {"name": "csi"},
        "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}),
    ))
}

fn node(name: &str) -> Node {
    read(json!({"metadata": {"name": name, "labels": {"host": name}}}))
}

type Stack<T> = Vec<(usize, Arc<T>)>;

/// The cluster as told by watch events, and what is assumed in front of it.
#[derive(Default)]
struct Model {
    snapshot: Snapshot,
    volumes: BTreeMap<String, Stack<PersistentVolume>>,
    claims: BTreeMap<String, Stack<PersistentVolumeClaim>>,
}

impl Model {
    /// The cluster as a scheduler should see it, written out.
    fn shown(&self) -> Snapshot {
        let mut shown = Snapshot::new();
        shown.apply(class());
        for volume in self.snapshot.volumes().iter() {
            shown.apply(Arc::clone(volume));
        }
        for claim in self.snapshot.claims() {
            shown.apply(Arc::clone(claim));
        }
        for (_, volume) in self.volumes.values().filter_map(|stack| stack.last()) {
            shown.apply(Arc::clone(volume));
        }
        for (_, claim) in self.claims.values().filter_map(|stack| stack.last()) {
            shown.apply(Arc::clone(claim));
        }
        shown
    }

    fn is_newer(uid: &str, version: &str, held: (&str, &str)) -> bool {
        let number = |version: &str| version.parse::<i64>().unwrap();
        uid != held.0 || number(version) > number(held.1)
    }
}

/// The model beside what is tested.
struct Run {
    model: Model,
    assumptions: Assumptions,
    kept: BTreeMap<usize, Assumption>,
    next: usize,
    uids: u64,
}

impl Run {
    fn new() -> Self {
        let mut run = Run {
            model: Model::default(),
            assumptions: Assumptions::new(),
            kept: BTreeMap::new(),
            next: 0,
            uids: 100,
        };
        run.model.snapshot.apply(class());
        for which in 0..4 {
            run.model
                .snapshot
                .apply(Arc::new(volume(which, 10, which as u64, false)));
            run.model
                .snapshot
                .apply(Arc::new(claim(which, 10, which as u64)));
        }
        run
    }

    fn happens(&mut self, event: &Event) -> Result<(), TestCaseError> {
        match event {
            Event::Assume { claims, on_b } => self.assume(claims, *on_b)?,
            Event::Revert(which) => {
                let Some(id) = self.kept.keys().copied().nth(*which) else {
                    return Ok(());
                };
                self.assumptions.revert(self.kept.remove(&id).unwrap());
                let of_others = |stack: &mut Stack<_>| stack.retain(|(by, _)| *by != id);
                self.model.volumes.values_mut().for_each(of_others);
                let of_others = |stack: &mut Stack<_>| stack.retain(|(by, _)| *by != id);
                self.model.claims.values_mut().for_each(of_others);
            }
            Event::Volume {
                which,
                version,
                is_other,
                is_taken,
            } => {
                let known = self.model.snapshot.volume(VOLUMES[*which]).map(|held| {
                    let metadata = &held.metadata;
                    (
                        metadata.uid().parse().unwrap(),
                        metadata.resource_version().parse::<i64>().unwrap(),
                    )
                });
                let (uid, before) = self.known(known, *is_other);
                let seen = volume(*which, before + version, uid, *is_taken);
                let stack = self
                    .model
                    .volumes
                    .entry(VOLUMES[*which].to_owned())
                    .or_default();
                let goes = stack.last().is_some_and(|(_, held)| {
                    let held = (held.metadata.uid(), held.metadata.resource_version());
                    Model::is_newer(seen.metadata.uid(), seen.metadata.resource_version(), held)
                });
                if goes {
                    stack.clear();
                }
                prop_assert_eq!(self.assumptions.observe_volume(&seen), goes);
                self.model.snapshot.apply(Arc::new(seen));
            }
            Event::Claim {
                which,
                version,
                is_other,
            } => {
                let known = self
                    .model
                    .snapshot
                    .claim("shop", CLAIMS[*which])
                    .map(|held| {
                        let metadata = &held.metadata;
                        (
                            metadata.uid().parse().unwrap(),
                            metadata.resource_version().parse::<i64>().unwrap(),
                        )
                    });
                let (uid, before) = self.known(known, *is_other);
                let seen = claim(*which, before + version, uid);
                let stack = self
                    .model
                    .claims
                    .entry(CLAIMS[*which].to_owned())
                    .or_default();
                let goes = stack.last().is_some_and(|(_, held)| {
                    let held = (held.metadata.uid(), held.metadata.resource_version());
                    Model::is_newer(seen.metadata.uid(), seen.metadata.resource_version(), held)
                });
                if goes {
                    stack.clear();
                }
                prop_assert_eq!(self.assumptions.observe_claim(&seen), goes);
                self.model.snapshot.apply(Arc::new(seen));
            }
            Event::VolumeDeleted(which) => {
                let name = VOLUMES[*which];
                let had = self
                    .model
                    .volumes
                    .remove(name)
                    .is_some_and(|stack| !stack.is_empty());
                prop_assert_eq!(self.assumptions.forget_volume(name), had);
                let known = self.model.snapshot.volume(name).map(|held| held.into_arc());
                if let Some(known) = known {
                    self.model.snapshot.delete(&*known);
                }
            }
            Event::ClaimDeleted(which) => {
                let name = CLAIMS[*which];
                let had = self
                    .model
                    .claims
                    .remove(name)
                    .is_some_and(|stack| !stack.is_empty());
                prop_assert_eq!(
                    self.assumptions.forget_claim(&ClaimKey::new("shop", name)),
                    had
                );
                let known = self
                    .model
                    .snapshot
                    .claim("shop", name)
                    .map(|held| held.into_arc());
                if let Some(known) = known {
                    self.model.snapshot.delete(&*known);
                }
            }
        }
        self.check()
    }

    /// The uid of what arrives, and the version known before.
    fn known(&mut self, known: Option<(u64, i64)>, is_other: bool) -> (u64, i64) {
        match known {
            Some((uid, version)) if !is_other => (uid, version),
            known => {
                self.uids += 1;
                (self.uids, known.map_or(10, |(_, version)| version))
            }
        }
    }

    fn assume(&mut self, which: &[usize], on_b: bool) -> Result<(), TestCaseError> {
        let node = node(if on_b { "b" } else { "a" });
        let (claims, found) = {
            let view = self.assumptions.over(&self.model.snapshot);
            let claims = which
                .iter()
                .filter_map(|&which| view.claim("shop", CLAIMS[which]));
            let claims = PodClaims {
                delayed: claims.map(|claim| claim.into_arc()).collect(),
                ..PodClaims::default()
            };
            let found = find_pod_volumes(&claims, &node, &view, Features::default()).unwrap();
            (claims, found)
        };
        if !found.fits() || claims.is_empty() {
            return Ok(());
        }
        let id = self.next;
        self.next += 1;
        let (assumption, plan) =
            self.assumptions
                .assume(&Pod::default(), &claims, node.name(), &found);
        self.kept.insert(id, assumption);
        self.put_in_front(id, &found, node.name());
        prop_assert_eq!(
            plan.steps.len(),
            found.static_bindings.len() + found.dynamic_provisions.len()
        );
        Ok(())
    }

    fn put_in_front(&mut self, id: usize, found: &PodVolumes, node: &str) {
        for binding in &found.static_bindings {
            // What is bound already stays as it is, and is not assumed again.
            let edit = bind_volume_to_claim(&binding.volume, &binding.claim);
            if let Some(volume) = edit.changed() {
                let stack = self
                    .model
                    .volumes
                    .entry(volume.name().to_owned())
                    .or_default();
                stack.push((id, Arc::new(volume)));
            }
        }
        for provision in &found.dynamic_provisions {
            let mut claim = PersistentVolumeClaim::clone(&provision.claim);
            claim
                .metadata
                .set_annotation("volume.kubernetes.io/selected-node", node);
            let stack = self
                .model
                .claims
                .entry(claim.metadata.name().to_owned())
                .or_default();
            stack.push((id, Arc::new(claim)));
        }
    }

    /// What the layered view says is what the model says, also in searches.
    fn check(&self) -> Result<(), TestCaseError> {
        let shown = self.model.shown();
        let view = self.assumptions.over(&self.model.snapshot);
        for name in VOLUMES {
            let of = |held: Option<Held<'_, PersistentVolume>>| held.map(|held| held.into_arc());
            prop_assert_eq!(of(view.volume(name)), of(shown.volume(name)));
        }
        for name in CLAIMS {
            let of =
                |held: Option<Held<'_, PersistentVolumeClaim>>| held.map(|held| held.into_arc());
            prop_assert_eq!(of(view.claim("shop", name)), of(shown.claim("shop", name)));
        }
        let all: Vec<_> = shown.volumes().iter().collect();
        prop_assert_eq!(view.volume_layers().all(), all);
        let claims = PodClaims {
            delayed: shown.claims().cloned().collect(),
            ..PodClaims::default()
        };
        for node in [node("a"), node("b")] {
            prop_assert_eq!(
                find_pod_volumes(&claims, &node, &view, Features::default()),
                find_pod_volumes_plain(&claims, &node, &shown, Features::default())
            );
        }
        let is_empty = self.model.volumes.values().all(Vec::is_empty)
            && self.model.claims.values().all(Vec::is_empty);
        prop_assert_eq!(self.assumptions.is_empty(), is_empty);
        Ok(())
    }
}

proptest! {
    #[test]
    fn whatever_is_assumed_observed_and_reverted_the_view_shows_what_a_simple_model_says(
        events in prop::collection::vec(event(), 1..30),
    ) {
        let mut run = Run::new();
        run.check()?;
        for event in &events {
            run.happens(event)?;
        }
        // In the end everything is reverted, and nothing is left.
        for (_, assumption) in std::mem::take(&mut run.kept) {
            run.assumptions.revert(assumption);
        }
        prop_assert!(run.assumptions.is_empty());
    }
}
