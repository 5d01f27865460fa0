//! A cluster under the controller: API server, cache and backend in memory,
//! with a watch over every write.
//!
//! The watch panics on what must never happen, whatever the cluster, the faults
//! and the age of the cache:
//! - a volume that must be kept (policy other than Delete) is deleted, as an
//!   object or in the backend;
//! - a volume goes from one claim's uid to another's in one write: its claimRef
//!   was not cleared between;
//! - a claimRef that the controller did not make is removed (only its uid may
//!   go), or a claim's volumeName is removed or changed;
//! - a write of spec and metadata touches the status, or one of the status
//!   anything else;
//! - a plan writes a claim's binding before its volume;
//! - a volume is called Released while the server has its claim, and that claim
//!   names no other volume;
//! - a step is planned that the life of a volume or a claim refuses.
//!
//! Where the cache is as new as the server ([`World::is_fresh`]), also that a
//! claim is bound to a volume that is not bound to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use pvbind::api::{
    ClaimKey, ClaimPhase, CsiNode, Node, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeReclaimPolicy as Policy, Pod, StorageClass, VolumePhase, names,
};
use pvbind::binding::ClaimStatusError;
use pvbind::controller::{
    Backend, ClaimEvidence, Config, DeleteError, Next, ProvisionRequest, begin, run_operation,
    sync_claim, sync_volume,
};
use pvbind::plan::{
    ApiError, ApiErrorKind, ApiServer, Change, End, Event, Operation, Plan, Step, SyncError,
    Verdict, Write, carry_out,
};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use crate::server::{Server, error};

/// How the backend answers, always the same way.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    pub(crate) start: Result<(), String>,
    pub(crate) provision: Result<(), String>,
    pub(crate) delete: Result<(), DeleteError>,
    pub(crate) recycle: Result<(), String>,
}

impl Default for Answers {
    fn default() -> Self {
        Answers {
            start: Ok(()),
            provision: Ok(()),
            delete: Ok(()),
            recycle: Ok(()),
        }
    }
}

/// Which writes fail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// If set, each different write fails the first time, and is noted here.
    pub(crate) failed_once: Option<BTreeSet<String>>,
    /// If set, so many writes succeed, and then none.
    pub(crate) writes_left: Option<usize>,
}

#[derive(Default)]
pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) server: Server,
    /// The cache.
    pub(crate) snapshot: Snapshot,
    pub(crate) classes: Vec<Arc<StorageClass>>,
    pub(crate) nodes: Vec<Arc<Node>>,
    pub(crate) csi_nodes: Vec<Arc<CsiNode>>,
    pub(crate) pods: Vec<Arc<Pod>>,
    pub(crate) answers: Answers,
    pub(crate) faults: Faults,
    /// The writes that succeeded.
    pub(crate) writes: usize,
    /// The writes that were asked for.
    pub(crate) attempts: usize,
    /// If set, operations are not run but put here.
    pub(crate) held: Option<Vec<Operation>>,
    /// The claims that were enqueued, each as often as it was.
    pub(crate) enqueued: Vec<ClaimKey>,
    /// Whether the cache is as new as the server; set by [`World::refresh`].
    pub(crate) is_fresh: bool,
    /// Two numbers that shuffle the order of objects in the cache and of the
    /// syncs of volumes, and the order of the syncs of claims.
    pub(crate) volume_order: u64,
    pub(crate) claim_order: u64,
}

impl World {
    /// Makes the cache anew from the server.
    pub(crate) fn refresh(&mut self) {
        let mut snapshot = Snapshot::new();
        for name in self.volume_names() {
            snapshot.apply(Arc::new(self.server.volumes[&name].clone()));
        }
        for key in self.claim_keys() {
            snapshot.apply(Arc::new(self.server.claims[&key].clone()));
        }
        for class in &self.classes {
            snapshot.apply(Arc::clone(class));
        }
        for node in &self.nodes {
            snapshot.apply(Arc::clone(node));
        }
        for csi_node in &self.csi_nodes {
            snapshot.apply(Arc::clone(csi_node));
        }
        for pod in &self.pods {
            snapshot.apply(Arc::clone(pod));
        }
        self.snapshot = snapshot;
        self.is_fresh = true;
    }

    /// The volumes, in the order in which they are synced.
    pub(crate) fn volume_names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.server.volumes.keys().cloned().collect();
        names.sort_by_key(|name| shuffled(name, self.volume_order));
        names
    }

    pub(crate) fn claim_keys(&self) -> Vec<ClaimKey> {
        let mut keys: Vec<_> = self.server.claims.keys().cloned().collect();
        keys.sort_by_key(|key| shuffled(&key.name, self.claim_order));
        keys
    }

    /// Syncs until nothing is written any more; how many syncs that took.
    ///
    /// Which object is synced depends on nothing but the state of the cluster:
    /// the first one that asks for a write, volumes before claims. So a run
    /// that was cut goes the same way from where it was. Enqueued claims come
    /// when all claims do.
    pub(crate) fn settle(&mut self, most: usize) -> Result<usize, String> {
        for syncs in 0..most {
            if !self.step() {
                return Ok(syncs);
            }
            if self.faults.writes_left == Some(0) {
                return Ok(syncs);
            }
        }
        Err(format!("still writing after {most} syncs"))
    }

    fn step(&mut self) -> bool {
        let before = self.attempts;
        for name in self.volume_names() {
            self.refresh();
            self.sync_volume(&name);
            if self.attempts > before {
                return true;
            }
        }
        for key in self.claim_keys() {
            self.refresh();
            self.sync_claim(&key);
            if self.attempts > before {
                return true;
            }
        }
        false
    }

    /// Syncs a claim as the cache has it.
    pub(crate) fn sync_claim(&mut self, key: &ClaimKey) {
        let claim = self.snapshot.find(&key.namespace, &key.name);
        let Some(claim) = claim.map(Arc::clone) else {
            return;
        };
        let plan = sync_claim(&self.config, &self.snapshot, &claim);
        assert!(
            !matches!(plan.verdict, Verdict::AskApiServer(_)),
            "a claim's sync asks for a claim"
        );
        self.carry_out(plan);
    }

    /// Syncs a volume as the cache has it.
    pub(crate) fn sync_volume(&mut self, name: &str) {
        let Some(volume) = self.snapshot.find::<PersistentVolume>("", name).cloned() else {
            return;
        };
        let plan = sync_volume(&self.config, &self.snapshot, &volume, None);
        let Verdict::AskApiServer(key) = plan.verdict else {
            return self.carry_out(plan);
        };
        assert!(plan.steps.is_empty(), "steps before the evidence");
        let claim = self.server.claims.get(&key).cloned().map(Arc::new);
        let evidence = ClaimEvidence { key, claim };
        let plan = sync_volume(&self.config, &self.snapshot, &volume, Some(&evidence));
        assert!(
            !matches!(plan.verdict, Verdict::AskApiServer(_)),
            "the evidence is not enough"
        );
        self.carry_out(plan);
    }

    fn carry_out(&mut self, plan: Plan) {
        check_order(&plan.steps);
        let is_refused = matches!(
            &plan.verdict,
            Verdict::Retry(
                SyncError::Claim(_)
                    | SyncError::Volume(_)
                    | SyncError::ClaimStatus(ClaimStatusError::Refused(_))
            )
        );
        assert!(!is_refused, "the life of an object refuses: {plan:?}");
        let report = carry_out(&mut self.watched(), plan);
        let operations: Vec<_> = report.operations().cloned().collect();
        self.enqueued.extend(report.enqueued_claims().cloned());
        if self.is_fresh {
            self.refresh();
        }
        for operation in operations {
            match &mut self.held {
                Some(held) => held.push(operation),
                None => self.run(operation),
            }
        }
    }

    fn run(&mut self, operation: Operation) {
        let mut backend = Plugins {
            answers: self.answers.clone(),
            kept: self
                .server
                .volumes
                .values()
                .filter(|volume| !may_be_deleted(volume))
                .map(|volume| volume.name().to_owned())
                .collect(),
        };
        let mut server = Watched {
            server: &mut self.server,
            faults: &mut self.faults,
            writes: &mut self.writes,
            attempts: &mut self.attempts,
            is_fresh: self.is_fresh,
        };
        let snapshot = &self.snapshot;
        let _report = run_operation(&self.config, snapshot, &mut server, &mut backend, operation);
        if self.is_fresh {
            self.refresh();
        }
    }

    /// The first plan of an operation, carried out; what it waits for then.
    pub(crate) fn begin(&mut self, operation: Operation) -> Option<Next> {
        let plan = begin(&self.config, operation);
        self.carry_out_part(plan)
    }

    /// Answers what an operation waits for; what it waits for next.
    pub(crate) fn answer(&mut self, next: Next, answers: &Answers) -> Option<Next> {
        let (config, view) = (&self.config, &self.snapshot);
        let plan = match next {
            Next::AfterWrite(next) => next.proceed(),
            Next::ReadVolume(next) => {
                let volume = self.server.volumes.get(next.name()).cloned();
                next.answer(config, view, volume)
            }
            Next::StartProvisioner(next) => match &answers.start {
                Ok(()) => next.started(view),
                Err(message) => next.cannot_start(message),
            },
            Next::Provision(next) => match &answers.provision {
                Ok(()) => {
                    let volume = made(&next.request());
                    next.provisioned(volume)
                }
                Err(message) => next.failed(message),
            },
            Next::CleanUp(next) => match &answers.delete {
                Ok(()) => next.deleted(),
                Err(DeleteError::CannotStart(message)) => next.cannot_start(message),
                Err(error) => next.failed(&error.to_string()),
            },
            Next::Delete(next) => match &answers.delete {
                Ok(()) => next.deleted(),
                Err(DeleteError::CannotStart(message)) => next.cannot_start(message),
                Err(DeleteError::InUse(message)) => next.in_use(message),
                Err(error) => next.failed(&error.to_string()),
            },
            Next::Recycle(next) => match &answers.recycle {
                Ok(()) => next.recycled(),
                Err(message) => next.failed(message),
            },
            _ => return None,
        };
        self.carry_out_part(plan)
    }

    fn carry_out_part(&mut self, plan: Plan<Next>) -> Option<Next> {
        let report = carry_out(&mut self.watched(), plan);
        if self.is_fresh {
            self.refresh();
        }
        let End::Finished(next) = report.end else {
            return None;
        };
        if let Next::Delete(next) = &next {
            let stored = self.server.volumes.get(next.volume().name()).unwrap();
            assert!(
                may_be_deleted(stored),
                "a kept volume is to be deleted: {stored:?}"
            );
        }
        (next != Next::Finished).then_some(next)
    }

    /// The server, with the watch over what it is asked for.
    pub(crate) fn watched(&mut self) -> Watched<'_> {
        Watched {
            server: &mut self.server,
            faults: &mut self.faults,
            writes: &mut self.writes,
            attempts: &mut self.attempts,
            is_fresh: self.is_fresh,
        }
    }

    /// All volumes and claims, but for resourceVersions.
    pub(crate) fn state(&self) -> Value {
        let mut volumes: Vec<_> = self.server.volumes.values().cloned().collect();
        for volume in &mut volumes {
            volume.metadata.resource_version = None;
            if let Some(reference) = &mut volume.spec.claim_ref {
                reference.resource_version = None;
            }
        }
        let mut claims: Vec<_> = self.server.claims.values().cloned().collect();
        for claim in &mut claims {
            claim.metadata.resource_version = None;
        }
        json!([volumes, claims])
    }
}

/// A key to sort by: a different order for each number, that of the names for
/// 0.
fn shuffled(name: &str, order: u64) -> (u64, String) {
    let mut mixed = order;
    if order != 0 {
        for byte in name.bytes() {
            mixed = (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            mixed ^= mixed >> 29;
        }
    }
    (mixed, name.to_owned())
}

fn may_be_deleted(volume: &PersistentVolume) -> bool {
    volume.spec.persistent_volume_reclaim_policy == Some(Policy::Delete)
}

/// A volume's writes stand before its claim's, spec before status.
fn check_order(steps: &[Step]) {
    let is_binding = |step: &Step| match step {
        Step::Write {
            write: Write::Claim(change),
            ..
        } => change.to.is_bind_completed() && !change.from.is_bind_completed(),
        Step::Write {
            write: Write::ClaimStatus(change),
            ..
        } => change.to.status.phase == Some(ClaimPhase::Bound),
        _ => false,
    };
    let is_volumes = |step: &Step| {
        let Step::Write { write, .. } = step else {
            return false;
        };
        write.resource() == "persistentvolumes"
    };
    if let Some(first) = steps.iter().position(is_binding) {
        let late = steps.iter().skip(first).any(is_volumes);
        assert!(!late, "a claim is bound before its volume: {steps:?}");
    }
}

/// The server, with a watch over what it is asked for.
pub(crate) struct Watched<'w> {
    server: &'w mut Server,
    faults: &'w mut Faults,
    writes: &'w mut usize,
    attempts: &'w mut usize,
    is_fresh: bool,
}

impl Watched<'_> {
    /// Lets a write pass, or makes it fail.
    fn pass(&mut self, what: impl FnOnce() -> Value) -> Result<(), ApiError> {
        *self.attempts += 1;
        if let Some(failed) = &mut self.faults.failed_once {
            let mut what = what();
            without_versions(&mut what);
            if failed.insert(what.to_string()) {
                return Err(error(ApiErrorKind::Conflict));
            }
        }
        match &mut self.faults.writes_left {
            None => {}
            Some(0) => return Err(error(ApiErrorKind::Other)),
            Some(left) => *left -= 1,
        }
        Ok(())
    }

    fn count<T>(&mut self, result: Result<T, ApiError>) -> Result<T, ApiError> {
        if result.is_ok() {
            *self.writes += 1;
        }
        result
    }

    /// The server has no claim that the volume could still serve.
    fn check_abandoned(&self, volume: &PersistentVolume) {
        let holder = volume.claim_ref().unwrap();
        let claim = self.server.claims.get(&ClaimKey::referred(holder));
        let is_kept = claim.is_some_and(|claim| {
            let wanted = claim.volume_name();
            claim.metadata.uid() == holder.uid() && (wanted.is_empty() || wanted == volume.name())
        });
        assert!(
            !is_kept,
            "a volume is released, its claim lives: {volume:?}"
        );
    }

    /// The claim's volume on the server is bound to the claim.
    fn check_bound(&self, claim: &PersistentVolumeClaim) {
        let volume = self.server.volumes.get(claim.volume_name());
        let holder = volume.and_then(|volume| volume.claim_ref());
        assert_eq!(
            holder.map(|holder| holder.uid()),
            Some(claim.metadata.uid()),
            "a claim is bound to a volume that is not bound to it: {claim:?}"
        );
    }
}

fn without_versions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("resourceVersion");
            fields.values_mut().for_each(without_versions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_versions),
        _ => {}
    }
}

impl ApiServer for Watched<'_> {
    fn update_volume(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError> {
        let (from, to) = (&*change.from, &*change.to);
        assert_ne!(from, to, "a write that changes nothing");
        assert_eq!(from.status, to.status, "a spec write touches the status");
        if let Some(before) = from.claim_ref() {
            let after = to.claim_ref();
            let uid = after.map(|after| after.uid()).unwrap_or_default();
            assert!(
                before.uid().is_empty() || uid.is_empty() || before.uid() == uid,
                "a volume goes from claim to claim: {from:?} {to:?}"
            );
            let is_users = !from.metadata.has_annotation(names::BOUND_BY_CONTROLLER);
            let is_same = after.is_some_and(|after| {
                (after.name() == before.name() && after.namespace() == before.namespace())
                    || (!uid.is_empty() && before.uid() == uid)
            });
            assert!(
                !is_users || is_same,
                "a user's claimRef is removed: {from:?} {to:?}"
            );
        }
        self.pass(|| json!(["volume", to]))?;
        let result = self.server.update_volume(change);
        self.count(result)
    }

    fn update_volume_status(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError> {
        let (from, to) = (&*change.from, &*change.to);
        assert_ne!(from.status, to.status, "a write that changes nothing");
        assert_eq!(from.spec, to.spec, "a status write touches the spec");
        self.pass(|| json!(["volume status", to]))?;
        let result = self.server.update_volume_status(change);
        if result.is_ok() && to.status.phase == Some(VolumePhase::Released) {
            self.check_abandoned(to);
        }
        self.count(result)
    }

    fn update_claim(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError> {
        let (from, to) = (&*change.from, &*change.to);
        assert_ne!(from, to, "a write that changes nothing");
        assert_eq!(from.status, to.status, "a spec write touches the status");
        let before = from.volume_name();
        assert!(
            before.is_empty() || before == to.volume_name(),
            "a claim's volumeName is changed: {from:?} {to:?}"
        );
        let is_binding = to.is_bind_completed() && !from.is_bind_completed();
        if self.is_fresh && (is_binding || before != to.volume_name()) {
            self.check_bound(to);
        }
        self.pass(|| json!(["claim", to]))?;
        let result = self.server.update_claim(change);
        self.count(result)
    }

    fn update_claim_status(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError> {
        let (from, to) = (&*change.from, &*change.to);
        assert_ne!(from.status, to.status, "a write that changes nothing");
        assert_eq!(from.spec, to.spec, "a status write touches the spec");
        if self.is_fresh && to.status.phase == Some(ClaimPhase::Bound) {
            self.check_bound(to);
        }
        self.pass(|| json!(["claim status", to]))?;
        let result = self.server.update_claim_status(change);
        self.count(result)
    }

    fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> {
        self.pass(|| json!(["create", volume]))?;
        let result = self.server.create_volume(volume);
        self.count(result)
    }

    fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError> {
        if let Some(stored) = self.server.volumes.get(volume.name())
            && stored.metadata.resource_version == volume.metadata.resource_version
        {
            assert!(
                may_be_deleted(stored),
                "a kept volume is deleted: {stored:?}"
            );
            let finalizer = names::PV_CONTROLLER_FINALIZER;
            assert!(
                !stored.metadata.has_finalizer(finalizer),
                "a volume is deleted with its finalizer: {stored:?}"
            );
        }
        self.pass(|| json!(["delete", volume.name()]))?;
        let result = self.server.delete_volume(volume);
        self.count(result)
    }

    fn record_event(&mut self, event: &Event) {
        self.server.record_event(event);
    }

    fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
        self.server.read_claim(key)
    }

    fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError> {
        self.server.read_volume(name)
    }
}

/// The volume that the backend makes.
fn made(request: &ProvisionRequest) -> PersistentVolume {
    let spec = &request.claim.spec;
    let requests = spec.resources.requests.as_ref();
    let storage = requests.and_then(|requests| requests.storage.as_ref());
    serde_json::from_value(json!({"spec": {
        "capacity": {"storage": storage}, "accessModes": spec.access_modes,
        "volumeMode": spec.volume_mode, "hostPath": {"path": "/made"},
        "persistentVolumeReclaimPolicy": request.class.reclaim_policy}}))
    .unwrap()
}

/// In-tree plugins that answer as they were told.
struct Plugins {
    answers: Answers,
    /// The volumes that must not be deleted.
    kept: BTreeSet<String>,
}

impl Backend for Plugins {
    fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> {
        self.answers.start.clone()
    }

    fn provision(&mut self, request: &ProvisionRequest) -> Result<PersistentVolume, String> {
        self.answers.provision.clone()?;
        Ok(made(request))
    }

    fn delete(&mut self, _: &str, volume: &PersistentVolume) -> Result<(), DeleteError> {
        let is_kept = self.kept.contains(volume.name());
        assert!(
            !is_kept,
            "a kept volume is deleted in the backend: {volume:?}"
        );
        self.answers.delete.clone()
    }

    fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> {
        self.answers.recycle.clone()
    }
}
