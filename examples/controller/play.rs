//! Syncs, round after round, until nothing changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use pvbind::api::{ClaimKey, PersistentVolume, StorageClass};
use pvbind::controller::{
    Backend, Config, DeleteError, ProvisionRequest, run_operation, run_volume_sync, sync_claim,
};
use pvbind::diagnosis::printable;
use pvbind::plan::{Done, Operation, Plan, Provisioner, Report, Step, Write, carry_out};
use serde_json::{Value, json};

use crate::arguments::Answer;
use crate::cluster::Cluster;

/// More rounds than any cluster needs: a claim and its volume are done in a
/// few, and each round finishes all that can be done side by side.
const MOST_ROUNDS: usize = 20;

/// What was played.
pub struct Played {
    /// Every step and event, in order.
    pub story: String,
    /// Whether a last round changed nothing.
    pub is_settled: bool,
    pub rounds: usize,
    pub writes: usize,
    /// The last event or error about each object.
    pub last_words: BTreeMap<String, String>,
}

pub fn play(cluster: &mut Cluster, answers: &[Answer]) -> Played {
    let hint =
        |driver: &str| format!("{driver} has not answered; answer with --provision {driver}=ok");
    resume(cluster, answers, &mut BTreeSet::new(), &hint)
}

/// Plays on: what stands in `told` is not told again, and `hint` says what to
/// do about a driver that has not answered.
pub fn resume(
    cluster: &mut Cluster,
    answers: &[Answer],
    told: &mut BTreeSet<String>,
    hint: &dyn Fn(&str) -> String,
) -> Played {
    let mut player = Player {
        config: config(),
        answers: answers
            .iter()
            .map(|answer| (answer.provisioner.clone(), answer.result.clone()))
            .collect(),
        cluster,
        told,
        hint,
        played: Played {
            story: String::new(),
            is_settled: false,
            rounds: 0,
            writes: 0,
            last_words: BTreeMap::new(),
        },
    };
    while player.played.rounds < MOST_ROUNDS && !player.played.is_settled {
        player.played.rounds += 1;
        player.played.is_settled = !player.round();
    }
    player.played
}

/// Kubernetes' own controller, whose host-path plugin makes volumes here too.
fn config() -> Config {
    let mut config = Config::kube_controller_manager();
    for plugin in &mut config.plugins {
        plugin.can_provision |= plugin.name == "kubernetes.io/host-path";
    }
    config
}

type Answers = BTreeMap<String, Result<(), String>>;

struct Player<'c> {
    config: Config,
    answers: Answers,
    cluster: &'c mut Cluster,
    /// What stands in the story and need not be repeated.
    told: &'c mut BTreeSet<String>,
    hint: &'c dyn Fn(&str) -> String,
    played: Played,
}

impl Player<'_> {
    /// Syncs every object once; whether that changed anything.
    fn round(&mut self) -> bool {
        let before = self.played.writes;
        let volumes: Vec<_> = self.cluster.server.volumes.keys().cloned().collect();
        for name in volumes {
            self.sync_volume(&name);
        }
        let claims: Vec<_> = self.cluster.server.claims.keys().cloned().collect();
        for key in claims {
            self.sync_claim(&key);
        }
        self.played.writes > before
    }

    fn sync_claim(&mut self, key: &ClaimKey) {
        let claim = self.cluster.snapshot.find(&key.namespace, &key.name);
        let Some(claim) = claim.cloned() else {
            return;
        };
        let plan = sync_claim(&self.config, &self.cluster.snapshot, &claim);
        self.carry_out(&format!("claim {key}"), plan);
    }

    fn sync_volume(&mut self, name: &str) {
        let volume = self.cluster.snapshot.find::<PersistentVolume>("", name);
        let Some(volume) = volume.cloned() else {
            return;
        };
        let cluster = &mut *self.cluster;
        let (view, server) = (&cluster.snapshot, &mut cluster.server);
        match run_volume_sync(&self.config, view, server, &volume) {
            Ok(report) => self.tell_report(&format!("volume {name}"), &report),
            Err(error) => self.tell_once(name, &format!("error: {error}"), &mut Vec::new()),
        }
    }

    fn carry_out(&mut self, object: &str, plan: Plan) {
        let report = carry_out(&mut self.cluster.server, plan);
        self.tell_report(object, &report);
    }

    fn tell_report(&mut self, object: &str, report: &Report) {
        let mut lines = Vec::new();
        for done in &report.done {
            self.tell(done, &mut lines);
        }
        if let Some(error) = report.error() {
            self.tell_once(object, &format!("error: {error}"), &mut lines);
        }
        let operations: Vec<_> = report.operations().cloned().collect();
        for operation in operations {
            self.run(object, operation, &mut lines);
        }
        if !lines.is_empty() {
            let _ = writeln!(self.played.story, "{}", printable(object));
            for line in lines {
                let _ = writeln!(self.played.story, "  {}", printable(&line));
            }
        }
    }

    fn run(&mut self, object: &str, operation: Operation, lines: &mut Vec<String>) {
        let name = operation.name();
        if let Operation::Provision {
            provisioner: Provisioner::Internal(plugin),
            ..
        } = &operation
            && !self.answers.contains_key(plugin)
        {
            let line = format!(
                "waits for plugin {plugin} to make a volume; answer with --provision {plugin}=ok"
            );
            return self.tell_once(object, &line, lines);
        }
        let mut backend = Plugins(&self.answers);
        let cluster = &mut *self.cluster;
        let view = &cluster.snapshot;
        let server = &mut cluster.server;
        let report = run_operation(&self.config, view, server, &mut backend, operation.clone());
        let mut steps = Vec::new();
        for done in &report.done {
            self.tell(done, &mut steps);
        }
        if let Operation::Provision {
            claim,
            provisioner: Provisioner::External(driver),
            ..
        } = &operation
        {
            let key = ClaimKey::of(claim);
            self.answer(&key, driver, &mut steps);
        }
        if !steps.is_empty() {
            lines.push(format!("operation {name}"));
            lines.extend(steps.into_iter().map(|step| format!("  {step}")));
        }
    }

    /// An external provisioner has seen the claim.
    fn answer(&mut self, key: &ClaimKey, driver: &str, lines: &mut Vec<String>) {
        let Some(claim) = self.cluster.server.claims.get(key).cloned() else {
            return;
        };
        match self.answers.get(driver) {
            None => {
                let line = (self.hint)(driver);
                self.tell_once(&format!("hint {key}"), &line, lines);
            }
            Some(Err(message)) => {
                let class = claim.class_name();
                let line = format!(
                    "{driver}: Warning ProvisioningFailed: failed to provision volume with \
                     StorageClass {class:?}: {message}"
                );
                self.tell_once(&format!("claim {key}"), &line, lines);
            }
            Some(Ok(())) => {
                if let Some(volume) = self.cluster.make_volume(driver, &claim) {
                    self.played.writes += 1;
                    lines.push(format!("{driver}: creates volume {volume}"));
                }
            }
        }
    }

    fn tell(&mut self, done: &Done, lines: &mut Vec<String>) {
        self.cluster.follow(done);
        match &done.step {
            Step::Write { write, .. } => {
                self.played.writes += 1;
                let error = done.error();
                let error = error
                    .map(|error| format!(" failed: {error}"))
                    .unwrap_or_default();
                lines.push(format!("{}{error}", told_write(write)));
            }
            Step::Event(event) => {
                let kind = match event.regarding.kind.as_deref() {
                    Some("PersistentVolume") => "volume",
                    _ => "claim",
                };
                let object = format!("{kind} {}", event.key());
                let line = format!(
                    "event {} {}: {}",
                    event.event_type, event.reason, event.message
                );
                self.tell_once(&object, &line, lines);
            }
            Step::EnqueueClaim(key) => {
                self.tell_once(
                    &format!("claim {key}"),
                    &format!("next: claim {key}"),
                    lines,
                );
            }
            _ => {}
        }
    }

    fn tell_once(&mut self, object: &str, line: &str, lines: &mut Vec<String>) {
        if self.told.insert(format!("{object}: {line}")) {
            lines.push(line.to_owned());
        }
        if !line.starts_with("next: ") {
            let words = line.strip_prefix("event ").unwrap_or(line);
            let words = words.to_owned();
            self.played.last_words.insert(object.to_owned(), words);
        }
    }
}

/// A write in one line, with its merge patch.
fn told_write(write: &Write) -> String {
    let kind = match write.resource() {
        "persistentvolumes" => "volume",
        _ => "claim",
    };
    let key = write.key();
    match write {
        Write::CreateVolume { .. } => format!("create {kind} {key}"),
        Write::DeleteVolume(_) => format!("delete {kind} {key}"),
        _ => {
            let part = if write.subresource().is_empty() {
                ""
            } else {
                " status"
            };
            let mut patch = write.merge_patch().unwrap_or_default();
            if let Some(Value::Object(metadata)) = patch.get_mut("metadata") {
                metadata.remove("resourceVersion");
                if metadata.is_empty()
                    && let Value::Object(fields) = &mut patch
                {
                    fields.remove("metadata");
                }
            }
            format!("write {kind}{part} {key}: {patch}")
        }
    }
}

/// In-tree plugins: provisioning is answered from the command line, the rest
/// succeeds.
struct Plugins<'a>(&'a Answers);

impl Backend for Plugins<'_> {
    fn start_provisioner(&mut self, _plugin: &str, _class: &StorageClass) -> Result<(), String> {
        Ok(())
    }

    fn provision(&mut self, request: &ProvisionRequest) -> Result<PersistentVolume, String> {
        self.0.get(&request.plugin).cloned().unwrap_or(Ok(()))?;
        let spec = &request.claim.spec;
        let requests = spec.resources.requests.as_ref();
        let storage = requests.and_then(|requests| requests.storage.as_ref());
        let volume = json!({"spec": {
            "capacity": {"storage": storage}, "accessModes": spec.access_modes,
            "volumeMode": spec.volume_mode,
            "hostPath": {"path": format!("/tmp/hostpath_pv/{}", request.volume_name)},
            "persistentVolumeReclaimPolicy": request.class.reclaim_policy}});
        serde_json::from_value(volume).map_err(|error| error.to_string())
    }

    fn delete(&mut self, _plugin: &str, _volume: &PersistentVolume) -> Result<(), DeleteError> {
        Ok(())
    }

    fn recycle(&mut self, _plugin: &str, _volume: &PersistentVolume) -> Result<(), String> {
        Ok(())
    }
}
