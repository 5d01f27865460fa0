//! What is said to become of a volume becomes of it: the controller is let run.

use proptest::prelude::*;
use pvbind::api::{ClaimKey, PersistentVolume, VolumePhase};
use pvbind::diagnosis::{Code, Diagnosis, Facts, Reclaim, Survey, VolumeFacts};
use pvbind::plan::{Step, Write};
use pvbind::provisioner::{self, VolumeNext};
use pvbind::view::Snapshot;
use serde_json::json;

use crate::diagnosis::{cluster, config, merge};
use crate::remedies::Objects;
use crate::world::World;

const FINALIZER: &str = "kubernetes.io/pv-controller";

const EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";
const DRIVER: &str = "csi.a";

/// So many syncs lead a volume to its end.
const ENOUGH: usize = 4;

fn world(snapshot: &Snapshot) -> World {
    let mut world = World {
        config: config(),
        classes: snapshot.classes().cloned().collect(),
        nodes: snapshot.nodes().cloned().collect(),
        pods: snapshot.pods().cloned().collect(),
        ..World::default()
    };
    world.server.honours_finalizers = true;
    for volume in snapshot.volumes().iter() {
        let name = volume.name().to_owned();
        world
            .server
            .volumes
            .insert(name, PersistentVolume::clone(volume));
    }
    for claim in snapshot.claims() {
        let key = ClaimKey::of(claim);
        world.server.claims.insert(key, (**claim).clone());
    }
    world
}

impl World {
    /// Syncs the volume alone, as long as it takes.
    fn follow(&mut self, name: &str) -> Option<&PersistentVolume> {
        for _ in 0..ENOUGH {
            self.refresh();
            self.sync_volume(name);
        }
        self.server.volumes.get(name)
    }

    /// Syncs the volume, and all claims in between.
    fn follow_with_claims(&mut self, name: &str) -> Option<&PersistentVolume> {
        for _ in 0..ENOUGH {
            self.refresh();
            self.sync_volume(name);
            for key in self.claim_keys() {
                self.refresh();
                self.sync_claim(&key);
            }
        }
        self.follow(name)
    }

    /// Lets the external provisioner have its say, with a driver that deletes.
    fn ask_driver(&mut self, name: &str) {
        let Some(volume) = self.server.volumes.get_mut(name) else {
            return;
        };
        let plan = provisioner::sync_volume(&provisioner::Config::new(DRIVER), &*volume);
        let is_deleted = matches!(plan.verdict, VolumeNext::DeleteVolume(_));
        for step in plan.steps {
            if let Step::Write {
                write: Write::Volume(change),
                ..
            } = step
            {
                volume.metadata.finalizers = change.to.metadata.finalizers.clone();
            }
        }
        let finalizers = volume.metadata.finalizers.as_mut();
        if let Some(finalizers) = finalizers.filter(|_| is_deleted) {
            finalizers.retain(|finalizer| finalizer != EXTERNAL);
        }
    }

    fn without_claims(mut self) -> World {
        self.server.claims.clear();
        self
    }

    fn without_pods(mut self) -> World {
        self.pods.clear();
        self
    }
}

/// Whether this has become of a volume.
fn has_become(then: &Reclaim, after: Option<&PersistentVolume>) -> bool {
    let phase = after.and_then(PersistentVolume::phase);
    let is_failed = phase == Some(&VolumePhase::Failed);
    let stays = is_failed || phase == Some(&VolumePhase::Released);
    match then {
        Reclaim::DeletedBy(_) => after.is_none_or(|volume| {
            let metadata = &volume.metadata;
            metadata.is_being_deleted() && !metadata.has_finalizer(FINALIZER)
        }),
        Reclaim::RecycledBy(_) => after.is_some() && !stays,
        Reclaim::Fails(_) => is_failed,
        _ => stays,
    }
}

/// What the backend refuses: the controller is told nothing of it here.
fn is_of_backend(message: &str) -> bool {
    message.contains("host_path deleter")
}

/// Volumes more like each other than those of [`cluster`]: of one claim, or
/// being deleted, or bound by the controller.
fn changed(mut objects: Objects, is: [bool; 4]) -> Objects {
    let [of_one, of_first, is_deleted, by_controller] = is;
    let (name, uid) = match of_first {
        true => ("claim", "u-1"),
        false => ("other", "u-2"),
    };
    objects.insert(json!({"kind": "CSIDriver", "metadata": {"name": DRIVER}}));
    let volumes = objects.0.values_mut();
    for volume in volumes.filter(|object| object["kind"] == "PersistentVolume") {
        if of_one && volume["spec"]["claimRef"].is_object() {
            let reference = json!({"namespace": "default", "name": name, "uid": uid});
            merge(volume, &json!({"spec": {"claimRef": reference}}));
        }
        if is_deleted && volume["metadata"]["finalizers"].is_array() {
            let now = json!("2026-01-01T00:00:00Z");
            merge(volume, &json!({"metadata": {"deletionTimestamp": now}}));
        }
        if by_controller {
            let annotations = json!({"pv.kubernetes.io/bound-by-controller": "yes"});
            merge(volume, &json!({"metadata": {"annotations": annotations}}));
        }
    }
    objects
}

/// What is said of a volume that does not come true.
fn untrue(snapshot: &Snapshot, volume: &PersistentVolume, diagnosis: &Diagnosis) -> Option<String> {
    let name = volume.name();
    let has_uid = |volume: &PersistentVolume| {
        let reference = volume.claim_ref();
        reference.is_some_and(|reference| !reference.uid().is_empty())
    };
    // With its last finalizer an object goes, whatever else is said.
    let goes =
        |after: Option<&PersistentVolume>| volume.metadata.is_being_deleted() && after.is_none();
    let becomes =
        |then: &Reclaim, after: Option<&PersistentVolume>| goes(after) || has_become(then, after);
    let is_elsewhere = diagnosis.finding(Code::VolumeClaimElsewhere).is_some();
    diagnosis.findings().iter().find_map(|finding| {
        let Facts::Volume(facts) = &finding.facts else {
            return None;
        };
        let is_true = match facts {
            VolumeFacts::ClaimGone { then, .. }
            | VolumeFacts::Reclaiming { then }
            | VolumeFacts::Failed { retry: then, .. } => match then {
                Reclaim::Fails(message) if is_of_backend(message) => true,
                // The pods that are still there come first.
                Reclaim::Fails(_) => becomes(then, world(snapshot).without_pods().follow(name)),
                then => becomes(then, world(snapshot).follow(name)),
            },
            VolumeFacts::AtRelease { then } if has_uid(volume) && !is_elsewhere => {
                let mut world = world(snapshot).without_claims().without_pods();
                becomes(then, world.follow(name))
            }
            VolumeFacts::ReleaseFails { message } if has_uid(volume) && !is_elsewhere => {
                let mut world = world(snapshot).without_claims().without_pods();
                let then = Reclaim::Fails(message.clone());
                is_of_backend(message) || becomes(&then, world.follow(name))
            }
            VolumeFacts::ClaimElsewhere { then, .. } => {
                let mut world = world(snapshot);
                let after = world.follow(name);
                let reference = after.map(|volume| volume.claim_ref().is_some());
                match reference {
                    _ if goes(after) => true,
                    Some(false) => then.contains("takes it from the claim"),
                    Some(true) if !after.is_some_and(has_uid) => then.contains("stays reserved"),
                    _ => then.starts_with("it will be released"),
                }
            }
            VolumeFacts::New { .. } => {
                let mut world = world(snapshot);
                let after = world.follow(name);
                let phase = after.and_then(PersistentVolume::phase);
                goes(after) || phase == Some(&VolumePhase::Available)
            }
            VolumeFacts::Terminating { holders } | VolumeFacts::TerminatingStuck { holders } => {
                let holders = holders.iter();
                let mut holders = holders.filter(|holder| {
                    let is_asked = [FINALIZER, EXTERNAL].contains(&&*holder.finalizer);
                    is_asked && !is_of_backend(&holder.who)
                });
                holders.all(|holder| {
                    let mut world = world(snapshot);
                    // A driver may be faster than the controller.
                    world.ask_driver(name);
                    world.follow_with_claims(name);
                    world.ask_driver(name);
                    let mut world = world.without_claims().without_pods();
                    world.follow(name);
                    world.ask_driver(name);
                    let after = world.follow(name);
                    let is_held = after
                        .is_some_and(|volume| volume.metadata.has_finalizer(&holder.finalizer));
                    is_held == holder.nobody
                })
            }
            _ => true,
        };
        (!is_true).then(|| format!("{facts}\n{diagnosis:?}\n{volume:?}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(600), ..ProptestConfig::default() })]

    #[test]
    fn what_is_said_to_become_of_a_volume_becomes_of_it(
        objects in cluster(),
        is in any::<[bool; 4]>(),
    ) {
        let objects = changed(objects, is);
        let (config, snapshot) = (config(), objects.snapshot());
        let survey = Survey::new(&config, &snapshot);
        for volume in snapshot.volumes().iter() {
            let found = untrue(&snapshot, volume, &survey.volume(volume));
            prop_assert_eq!(found, None);
        }
    }
}
