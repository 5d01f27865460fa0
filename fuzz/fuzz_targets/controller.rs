//! A small cluster under the controller, its users, an old cache and a slow
//! backend, in any order. The world watches every write for what must never
//! happen (see `tests/support/world.rs`); in the end, with a fresh cache and no
//! more faults, the cluster comes to rest.
#![no_main]
#![allow(dead_code, reason = "the tests use the rest of the world")]

#[path = "../../tests/support/server.rs"]
mod server;
#[path = "../../tests/support/world.rs"]
mod world;

use std::sync::Arc;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pvbind::api::{ClaimKey, names};
use pvbind::controller::{DeleteError, InTreePlugin, Next};
use serde_json::{Value, json};

use world::{Answers, World};

#[derive(Arbitrary, Debug)]
enum Operation {
    CreateClaim(Claim),
    DeleteClaim(u8),
    CreateVolume(Volume),
    DeleteVolume(u8),
    EditClaimRef(u8, ClaimRef),
    EditPolicy(u8, u8),
    /// The cache sees what there is.
    Refresh,
    SyncClaim(u8),
    SyncVolume(u8),
    /// The next writes so many times succeed, then none does, up to `Mend`.
    Cut(u8),
    Mend,
    /// The backend answers an operation.
    Answer(u8, u8),
    /// The controller is started again: its operations are gone.
    Restart,
}

#[derive(Arbitrary, Debug)]
struct Claim {
    name: u8,
    class: u8,
    size: u8,
    volume: Option<u8>,
    node: u8,
    provisioner: u8,
    marks: u8,
    is_block: bool,
}

#[derive(Arbitrary, Debug)]
struct Volume {
    name: u8,
    class: u8,
    size: u8,
    policy: u8,
    source: u8,
    provisioner: u8,
    phase: u8,
    marks: u8,
    claim_ref: ClaimRef,
    is_block: bool,
}

#[derive(Arbitrary, Debug)]
struct ClaimRef {
    claim: Option<u8>,
    uid: u8,
}

#[derive(Arbitrary, Debug)]
struct Class {
    provisioner: u8,
    marks: u8,
}

const MOST: u8 = 4;
const CLASSES: [Option<&str>; 4] = [None, Some("fast"), Some("late"), Some("")];
const PROVISIONERS: [Option<&str>; 6] = [
    None,
    Some("kubernetes.io/host-path"),
    Some("kubernetes.io/gce-pd"),
    Some("kubernetes.io/unheard"),
    Some("disk.csi"),
    Some(""),
];
const POLICIES: [Option<&str>; 4] = [Some("Retain"), Some("Delete"), Some("Recycle"), None];
const PHASES: [Option<&str>; 6] = [
    None,
    Some("Pending"),
    Some("Available"),
    Some("Bound"),
    Some("Released"),
    Some("Failed"),
];

fn pick<T: Copy>(among: &[T], at: u8) -> T {
    among[usize::from(at) % among.len()]
}

fn claim_key(name: u8) -> ClaimKey {
    ClaimKey::new("ns", format!("c{}", name % MOST))
}

fn volume_name(name: u8) -> String {
    format!("v{}", name % MOST)
}

struct Cluster {
    world: World,
    /// Makes uids and versions.
    clock: u64,
    /// Operations that go on, with their names.
    running: Vec<(String, Next)>,
}

impl Cluster {
    fn new(classes: [Class; 2]) -> Self {
        let mut world = World::default();
        world.held = Some(Vec::new());
        for (name, class) in ["fast", "late"].into_iter().zip(classes) {
            let provisioner = pick(&PROVISIONERS[1..], class.provisioner);
            let mode = match class.marks & 1 {
                0 => "Immediate",
                _ => "WaitForFirstConsumer",
            };
            let class = json!({"metadata": {"name": name, "annotations": {
                    "storageclass.kubernetes.io/is-default-class":
                        (class.marks & 2 != 0).to_string()}},
                "provisioner": provisioner, "volumeBindingMode": mode,
                "reclaimPolicy": if class.marks & 4 == 0 { "Delete" } else { "Retain" }});
            let class = serde_json::from_value(class).unwrap();
            world.classes.push(Arc::new(class));
        }
        let node = serde_json::from_value(json!({"metadata": {"name": "node"}})).unwrap();
        world.nodes.push(Arc::new(node));
        world.config.plugins = vec![InTreePlugin {
            can_provision: true,
            can_delete: true,
            can_recycle: true,
            ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
        }];
        let migrated = &mut world.config.migrated_plugins;
        migrated.insert("kubernetes.io/gce-pd".to_owned(), "pd.csi".to_owned());
        world.refresh();
        Cluster {
            world,
            clock: 100,
            running: Vec::new(),
        }
    }

    fn tick(&mut self) -> String {
        self.clock += 1;
        self.clock.to_string()
    }

    fn carry_out(&mut self, operation: Operation) {
        match operation {
            Operation::CreateClaim(claim) => self.create_claim(claim),
            Operation::DeleteClaim(name) => {
                self.world.server.claims.remove(&claim_key(name));
                self.world.is_fresh = false;
            }
            Operation::CreateVolume(volume) => self.create_volume(volume),
            Operation::DeleteVolume(name) => {
                self.world.server.volumes.remove(&volume_name(name));
                self.world.is_fresh = false;
            }
            Operation::EditClaimRef(name, claim_ref) => {
                let claim_ref = self.claim_ref(&claim_ref);
                let version = self.tick();
                let name = volume_name(name);
                if let Some(volume) = self.world.server.volumes.get_mut(&name) {
                    volume.spec.claim_ref = serde_json::from_value(claim_ref).unwrap();
                    volume.metadata.resource_version = Some(version);
                }
                self.world.is_fresh = false;
            }
            Operation::EditPolicy(name, policy) => {
                let version = self.tick();
                let name = volume_name(name);
                if let Some(volume) = self.world.server.volumes.get_mut(&name) {
                    let policy = json!(pick(&POLICIES, policy));
                    volume.spec.persistent_volume_reclaim_policy =
                        serde_json::from_value(policy).unwrap();
                    volume.metadata.resource_version = Some(version);
                }
                self.world.is_fresh = false;
            }
            Operation::Refresh => self.world.refresh(),
            Operation::SyncClaim(name) => {
                self.world.sync_claim(&claim_key(name));
                self.begin();
            }
            Operation::SyncVolume(name) => {
                self.world.sync_volume(&volume_name(name));
                for key in std::mem::take(&mut self.world.enqueued) {
                    self.world.sync_claim(&key);
                }
                self.begin();
            }
            Operation::Cut(writes) => self.world.faults.writes_left = Some(usize::from(writes % 6)),
            Operation::Mend => self.world.faults.writes_left = None,
            Operation::Answer(at, answer) => self.answer(at, answer),
            Operation::Restart => {
                self.running.clear();
                self.world.refresh();
            }
        }
    }

    fn create_claim(&mut self, claim: Claim) {
        let key = claim_key(claim.name);
        if self.world.server.claims.contains_key(&key) {
            return;
        }
        let mut annotations = serde_json::Map::new();
        if let Some(provisioner) = pick(&PROVISIONERS, claim.provisioner) {
            annotations.insert(names::STORAGE_PROVISIONER.to_owned(), json!(provisioner));
        }
        if let Some(node) = pick(&[None, Some("node"), Some("nowhere")], claim.node) {
            annotations.insert(names::SELECTED_NODE.to_owned(), json!(node));
        }
        if claim.marks & 1 != 0 {
            annotations.insert(names::BOUND_BY_CONTROLLER.to_owned(), json!("yes"));
        }
        if claim.marks & 2 != 0 {
            annotations.insert(names::BIND_COMPLETED.to_owned(), json!("yes"));
        }
        let version = self.tick();
        let object: Value = json!({
            "metadata": {"namespace": "ns", "name": key.name, "uid": format!("u{version}"),
                "resourceVersion": version, "annotations": annotations},
            "spec": {"storageClassName": pick(&CLASSES, claim.class),
                "accessModes": ["ReadWriteOnce"],
                "volumeMode": claim.is_block.then_some("Block"),
                "resources": {"requests": {"storage": format!("{}Gi", claim.size % 4 + 1)}},
                "volumeName": claim.volume.map(volume_name)},
            "status": {"phase": pick(&[None, Some("Pending"), Some("Bound"), Some("Lost")],
                claim.marks >> 2)}});
        let object = serde_json::from_value(object).unwrap();
        self.world.server.claims.insert(key, object);
        self.world.is_fresh = false;
    }

    fn create_volume(&mut self, volume: Volume) {
        let name = volume_name(volume.name);
        if self.world.server.volumes.contains_key(&name) {
            return;
        }
        let mut annotations = serde_json::Map::new();
        if let Some(provisioner) = pick(&PROVISIONERS, volume.provisioner) {
            annotations.insert(names::PROVISIONED_BY.to_owned(), json!(provisioner));
        }
        if volume.marks & 1 != 0 {
            annotations.insert(names::BOUND_BY_CONTROLLER.to_owned(), json!("yes"));
        }
        let has_finalizer = volume.marks & 2 != 0;
        let finalizers = has_finalizer.then(|| json!([names::PV_CONTROLLER_FINALIZER]));
        let claim_ref = self.claim_ref(&volume.claim_ref);
        let version = self.tick();
        let source = pick(&["hostPath", "csi", "fc"], volume.source);
        let object = json!({
            "metadata": {"name": name, "uid": format!("u{version}"), "resourceVersion": version,
                "annotations": annotations, "finalizers": finalizers},
            "spec": {"storageClassName": pick(&CLASSES, volume.class),
                "accessModes": ["ReadWriteOnce"], "claimRef": claim_ref,
                "volumeMode": volume.is_block.then_some("Block"),
                "capacity": (volume.size % 8 != 0)
                    .then(|| json!({"storage": format!("{}Gi", volume.size % 8)})),
                "persistentVolumeReclaimPolicy": pick(&POLICIES, volume.policy), source: {}},
            "status": {"phase": pick(&PHASES, volume.phase)}});
        let object = serde_json::from_value(object).unwrap();
        self.world.server.volumes.insert(name, object);
        self.world.is_fresh = false;
    }

    /// Of a claim as it is now, as it was, or of the name alone.
    fn claim_ref(&self, reference: &ClaimRef) -> Value {
        let Some(name) = reference.claim else {
            return Value::Null;
        };
        let key = claim_key(name);
        let claim = self.world.server.claims.get(&key);
        let uid = match reference.uid % 3 {
            0 => "",
            1 => claim.map(|claim| claim.metadata.uid()).unwrap_or_default(),
            _ => "u-old",
        };
        json!({"namespace": key.namespace, "name": key.name, "uid": uid})
    }

    /// Begins the operations that were started, each unless one of its name
    /// goes on.
    fn begin(&mut self) {
        let held = self.world.held.replace(Vec::new());
        for operation in held.into_iter().flatten() {
            let name = operation.name();
            if self.running.iter().all(|(running, _)| *running != name)
                && let Some(next) = self.world.begin(operation)
            {
                self.running.push((name, next));
            }
        }
    }

    fn answer(&mut self, at: u8, answer: u8) {
        if self.running.is_empty() {
            return;
        }
        let at = usize::from(at) % self.running.len();
        let (name, next) = self.running.swap_remove(at);
        let result = |bit: u8| match answer & bit {
            0 => Ok(()),
            _ => Err("no".to_owned()),
        };
        let answers = Answers {
            start: result(1),
            provision: result(2),
            delete: match answer >> 2 & 3 {
                0 | 1 => Ok(()),
                2 => Err(DeleteError::InUse("in use".to_owned())),
                _ => Err(DeleteError::Failed("no".to_owned())),
            },
            recycle: result(16),
        };
        if let Some(next) = self.world.answer(next, &answers) {
            self.running.push((name, next));
        }
    }

    /// Without faults the cluster comes to rest, however it looks.
    fn come_to_rest(mut self) {
        self.world.held = None;
        self.world.faults.writes_left = None;
        let objects = self.world.server.volumes.len() + 2 * self.world.server.claims.len();
        self.world.settle(20 * objects + 10).unwrap();
    }
}

fuzz_target!(|input: ([Class; 2], Vec<Operation>)| {
    let (classes, operations) = input;
    let mut cluster = Cluster::new(classes);
    for operation in operations {
        cluster.carry_out(operation);
    }
    cluster.come_to_rest();
});
