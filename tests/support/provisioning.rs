//! A CSI driver, its provisioner and a scheduler beside a world under the
//! controller: everything that it takes to bring a claim from nothing to bound,
//! and its volume to nothing again.
//!
//! The driver panics on what must never happen:
//! - it is asked for two volumes for one claim: under two names, or once more
//!   after its volume was deleted;
//! - it is to delete a volume that the provisioner cannot know to be Released,
//!   of policy Delete and its own, unless it was just made too small or not
//!   filled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pvbind::api::{
    ClaimKey, Node, PersistentVolume, PersistentVolumeClaim, PersistentVolumeReclaimPolicy,
    VolumePhase,
};
use pvbind::matching::Features;
use pvbind::plan::carry_out;
use pvbind::provisioner::{
    Backoff, CallState, Config, CreateAnswer, DeleteAnswer, Driver, Ledger, check_ours, csi,
    run_claim, run_volume,
};
use pvbind::scheduling::{Assumptions, find_pod_volumes_on_nodes, pre_filter};
use pvbind::view::Snapshot;

use crate::world::World;

/// How the driver answers a call instead of doing what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does nothing, and says so.
    Fails(CallState),
    /// It does what it should, and the answer is lost.
    Lost,
    /// It says that it never can; a deletion fails.
    Infeasible,
    /// It makes a volume of one byte; a deletion fails.
    TooSmall,
    /// It fills a volume with nothing where it should copy another, or does not
    /// say any more with what it filled it; a deletion fails.
    Unfilled,
}

/// A CSI driver.
#[derive(Debug, Default)]
pub(crate) struct Disks {
    /// What there is in the backend, by name.
    pub(crate) volumes: BTreeMap<String, csi::Volume>,
    /// Every volume ever asked for, by name: where it was to be.
    pub(crate) asked: BTreeMap<String, Vec<csi::CreateVolumeRequest>>,
    /// The names under which a volume was made that was of the right size.
    pub(crate) made: Vec<String>,
    /// How many calls there were.
    pub(crate) calls: usize,
    /// Which calls, counted from 0, go wrong.
    pub(crate) faults: BTreeMap<usize, Fault>,
    /// Whether a claim may be provisioned again after its volume was released:
    /// a provisioner with an old cache cannot know better.
    pub(crate) may_be_asked_again: bool,
    /// The handles of volumes that may be deleted.
    deletable: BTreeSet<String>,
    flawed: BTreeSet<String>,
}

impl Disks {
    fn fault(&mut self) -> Option<Fault> {
        let fault = self.faults.get(&self.calls).copied();
        self.calls += 1;
        fault
    }

    fn make(&mut self, request: &csi::CreateVolumeRequest, fault: Option<Fault>) -> csi::Volume {
        if let Some(volume) = self.volumes.get(&request.name) {
            let mut volume = volume.clone();
            if fault == Some(Fault::Unfilled) {
                volume.content_source = None;
            }
            return volume;
        }
        let required = request.capacity_range.unwrap_or_default().required_bytes;
        let requirement = request.accessibility_requirements.clone();
        let preferred = requirement.unwrap_or_default().preferred;
        let is_too_small = fault == Some(Fault::TooSmall);
        let source = request.volume_content_source.clone();
        let is_unfilled = fault == Some(Fault::Unfilled) && source.is_some();
        let volume = csi::Volume {
            capacity_bytes: if is_too_small { 1 } else { required },
            content_source: source.filter(|_| !is_unfilled),
            volume_id: format!("h-{}", request.name),
            accessible_topology: preferred.into_iter().take(1).collect(),
            ..csi::Volume::default()
        };
        if is_too_small || is_unfilled {
            self.flawed.insert(volume.volume_id.clone());
        } else {
            self.made.push(request.name.clone());
        }
        self.volumes.insert(request.name.clone(), volume.clone());
        volume
    }
}

fn failed(message: &str, state: CallState) -> CreateAnswer {
    CreateAnswer::Failed {
        message: message.to_owned(),
        state,
    }
}

impl Driver for Disks {
    fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer {
        assert!(
            self.may_be_asked_again || !self.deletable.contains(&format!("h-{}", request.name)),
            "a volume is asked for again after it was released: {request:?}"
        );
        let asked = self.asked.entry(request.name.clone()).or_default();
        asked.push(request.clone());
        let fault = self.fault();
        match fault {
            None | Some(Fault::TooSmall | Fault::Unfilled) => {
                CreateAnswer::Created(self.make(&request, fault))
            }
            Some(Fault::Infeasible) => CreateAnswer::Infeasible("no such type".to_owned()),
            Some(Fault::Fails(state)) => failed("backend down", state),
            Some(Fault::Lost) => {
                self.make(&request, None);
                failed("no answer", CallState::InBackground)
            }
        }
    }

    fn delete_volume(&mut self, request: csi::DeleteVolumeRequest) -> DeleteAnswer {
        let id = &request.volume_id;
        assert!(
            self.deletable.contains(id) || self.flawed.contains(id),
            "a volume that is to be kept is deleted: {id}"
        );
        let fault = self.fault();
        if matches!(fault, None | Some(Fault::Lost)) {
            self.volumes.retain(|_, volume| volume.volume_id != *id);
            self.flawed.remove(id);
        }
        match fault {
            None => DeleteAnswer::Deleted,
            Some(_) => DeleteAnswer::Failed("backend down".to_owned()),
        }
    }
}

/// A provisioner with its driver.
pub(crate) struct Sidecar {
    pub(crate) config: Config,
    pub(crate) disks: Disks,
    pub(crate) ledger: Ledger,
    /// The time, in milliseconds.
    pub(crate) now: u64,
}

impl Sidecar {
    pub(crate) fn new(config: Config) -> Self {
        Sidecar {
            config,
            disks: Disks::default(),
            ledger: Ledger::new(Backoff::default()),
            now: 0,
        }
    }

    /// The process ends, and another one begins.
    pub(crate) fn restart(&mut self) {
        self.ledger = Ledger::new(Backoff::default());
    }

    /// Syncs a claim with this cache.
    pub(crate) fn sync_claim(
        &mut self,
        world: &mut World,
        cache: &Snapshot,
        claim: &Arc<PersistentVolumeClaim>,
    ) {
        let config = &self.config;
        let (disks, ledger) = (&mut self.disks, &mut self.ledger);
        let report = run_claim(config, cache, &mut world.watched(), disks, ledger, claim);
        let end = &report.end;
        self.ledger.claim_ended(cache, claim, end, self.now);
    }

    /// Syncs a volume with this cache.
    pub(crate) fn sync_volume(&mut self, world: &mut World, cache: &Snapshot, name: &str) {
        let Some(volume) = cache.find::<PersistentVolume>("", name) else {
            return;
        };
        if may_be_deleted(&self.config, volume) {
            let handle = volume.spec.csi.as_ref().unwrap().volume_handle.clone();
            self.disks.deletable.extend(handle);
        }
        let (config, disks) = (&self.config, &mut self.disks);
        let report = run_volume(config, cache, &mut world.watched(), disks, volume);
        self.ledger.volume_ended(volume, &report.outcome, self.now);
    }

    /// Everything that is due, once, with a fresh cache for each object; how
    /// many calls and writes were made is in the world and the driver.
    fn pass(&mut self, world: &mut World) {
        for name in world.volume_names() {
            let cache = fresh(world);
            let volume = cache.find::<PersistentVolume>("", &name);
            if volume.is_some_and(|volume| self.ledger.volume_due(volume) <= self.now) {
                self.sync_volume(world, &cache, &name);
            }
        }
        let mut claims: Vec<_> = self.ledger.in_progress().cloned().collect();
        for key in world.claim_keys() {
            let claim = fresh(world).find(&key.namespace, &key.name).cloned();
            let is_new = |claim: &Arc<PersistentVolumeClaim>| !self.ledger.is_in_progress(claim);
            claims.extend(claim.filter(is_new));
        }
        for claim in claims {
            let cache = fresh(world);
            if self.ledger.claim_due(&cache, &claim) <= self.now {
                self.sync_claim(world, &cache, &claim);
            }
        }
    }

    /// Controller, scheduler and provisioner until nothing is left to do.
    ///
    /// Ends early if the world's writes are used up. Time passes whenever
    /// nothing else is to be done, as long as something is due then.
    pub(crate) fn settle(&mut self, world: &mut World) {
        const MOST: usize = 60;
        let mut quiet_since = 0;
        for _ in 0..MOST {
            let before = (world.attempts, self.disks.calls);
            if world.faults.writes_left == Some(0) {
                return;
            }
            world.settle(100).unwrap();
            schedule(world);
            self.pass(world);
            if (world.attempts, self.disks.calls) != before {
                quiet_since = 0;
            } else if quiet_since > 1 {
                return;
            } else {
                // What failed is due by then.
                quiet_since += 1;
                self.now += Backoff::default().cap;
            }
        }
        panic!("still at it: {:?}", world.server.log);
    }
}

fn fresh(world: &mut World) -> Snapshot {
    world.refresh();
    std::mem::take(&mut world.snapshot)
}

fn may_be_deleted(config: &Config, volume: &PersistentVolume) -> bool {
    volume.status.phase == Some(VolumePhase::Released)
        && volume.spec.persistent_volume_reclaim_policy
            == Some(PersistentVolumeReclaimPolicy::Delete)
        && check_ours(config, volume).is_ok()
}

/// Chooses the first node that fits, for every pod that waits for one.
pub(crate) fn schedule(world: &mut World) {
    for pod in world.pods.clone() {
        world.refresh();
        let view = &world.snapshot;
        let Ok(claims) = pre_filter(&pod, view) else {
            continue;
        };
        let nodes: Vec<Node> = world.nodes.iter().map(|node| (**node).clone()).collect();
        let answers = find_pod_volumes_on_nodes(&claims, &nodes, view, Features::default());
        let found = nodes
            .iter()
            .zip(answers)
            .find_map(|(node, answer)| Some((node, answer.ok().filter(|found| found.fits())?)));
        if let Some((node, found)) = found {
            let is_chosen = |provision: &pvbind::scheduling::DynamicProvision| {
                let metadata = &provision.claim.metadata;
                metadata.has_annotation(pvbind::api::names::SELECTED_NODE)
            };
            if found.dynamic_provisions.iter().all(is_chosen) {
                continue;
            }
            let mut assumptions = Assumptions::new();
            let (_, plan) = assumptions.assume(&pod, &claims, node.name(), &found);
            let _report = carry_out(&mut world.watched(), plan);
        }
    }
}

/// A user deletes a claim, and the pods that use it.
pub(crate) fn delete_claim(world: &mut World, key: &ClaimKey) {
    world.server.claims.remove(key);
    world.pods.retain(|pod| !pod.uses_claim(&key.name));
}
