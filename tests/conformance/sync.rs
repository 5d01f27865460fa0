//! sync_claim and sync_volume: one call, and the operation that it started.

use std::collections::BTreeMap;
use std::sync::Arc;

use pvbind::api::{ClaimKey, Object, PersistentVolume, PersistentVolumeClaim};
use pvbind::controller::{
    ClaimEvidence, Config, InTreePlugin, VolumeSources, run_operation, sync_claim, sync_volume,
};
use pvbind::plan::{ApiErrorKind, ApiServer as _, Plan, Report, Verdict, carry_out};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use crate::normal::normal;
use crate::server::{Plugin, Server};
use crate::{CaseOutcome, same, text};

pub(crate) fn run_claim(case: &Value) -> Result<CaseOutcome, String> {
    let mut world = World::of(case)?;
    let focus = ClaimKey::new("default", text(case, "focus")?);
    let claim = world.server.claims.get(&focus).ok_or("no such claim")?;
    let claim = Arc::new(claim.clone());
    let plan = sync_claim(&world.config, &world.snapshot, claim);
    world.play(plan, case)
}

pub(crate) fn run_volume(case: &Value) -> Result<CaseOutcome, String> {
    let mut world = World::of(case)?;
    let focus = text(case, "focus")?;
    let volume = world.server.volumes.get(focus).ok_or("no such volume")?;
    let volume = Arc::new(volume.clone());
    let (config, snapshot) = (&world.config, &world.snapshot);
    let mut plan = sync_volume(config, snapshot, &volume, None);
    if let Verdict::AskApiServer(key) = &plan.verdict {
        same("steps before the evidence", &plan.steps.len(), &0)?;
        let claim = world.server.read_claim(key).unwrap().map(Arc::new);
        let key = key.clone();
        let evidence = ClaimEvidence { key, claim };
        plan = sync_volume(config, snapshot, &volume, Some(&evidence));
    }
    world.play(plan, case)
}

/// The cluster of a case: what the cache has, and what the API server has.
struct World {
    config: Config,
    snapshot: Snapshot,
    server: Server,
    plugin: Plugin,
}

impl World {
    fn of(case: &Value) -> Result<World, String> {
        let mut world = World {
            config: config(case)?,
            snapshot: Snapshot::new(),
            server: Server::default(),
            plugin: plugin(&case["plugin"]),
        };
        let api_only: Vec<_> = list(case, "apiOnlyClaims")
            .map(|name| name.as_str())
            .collect();
        for kind in ["claims", "volumes", "classes", "pods", "nodes"] {
            for value in list(case, kind) {
                let object = Object::from_value(value.clone()).map_err(|e| e.to_string())?;
                let metadata = object.metadata().ok_or("an object of unknown kind")?;
                let is_hidden = kind == "claims"
                    && metadata.namespace() == "default"
                    && api_only.contains(&Some(metadata.name()));
                match &object {
                    Object::PersistentVolumeClaim(claim) => world.server_has_claim(claim),
                    Object::PersistentVolume(volume) => {
                        let name = volume.name().to_owned();
                        world.server.volumes.insert(name, (**volume).clone());
                    }
                    _ => {}
                }
                if !is_hidden {
                    world.snapshot.apply_object(object);
                }
            }
        }
        for value in list(case, "apiClaims") {
            let claim: PersistentVolumeClaim =
                serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
            world.server_has_claim(&claim);
        }
        world.server.failing_writes = case["failWrite"]
            .as_u64()
            .map(|k| k as usize)
            .into_iter()
            .collect();
        if let Some(count) = case["failCreates"]["count"].as_u64() {
            let kind = match case["failCreates"]["alreadyExists"] == true {
                true => ApiErrorKind::AlreadyExists,
                false => ApiErrorKind::Conflict,
            };
            world.server.failing_creations = (0..count).map(|_| kind).collect();
        }
        Ok(world)
    }

    fn server_has_claim(&mut self, claim: &PersistentVolumeClaim) {
        let key = ClaimKey::of(claim);
        self.server.claims.insert(key, claim.clone());
    }

    fn play(&mut self, plan: Plan, case: &Value) -> Result<CaseOutcome, String> {
        let report: Report = carry_out(&mut self.server, plan);
        for done in &report.done {
            self.follow(done);
        }
        let operations: Vec<_> = report.operations().cloned().collect();
        for operation in &operations {
            let _report = run_operation(
                &self.config,
                &self.snapshot,
                &mut self.server,
                &mut self.plugin,
                operation.clone(),
            );
        }
        let ours: Vec<_> = self.server.log.iter().map(step).collect();
        let want: Vec<_> = list(case, "wantSteps").map(step).collect();
        if ours != want {
            return Err(difference(&ours, &want));
        }
        let mut outcome = CaseOutcome::default();
        let error = report.error().map(|error| error.to_string());
        let (error, want) = (error.as_deref(), case["wantError"].as_str());
        match want.and_then(before_selector_error) {
            // The spec quotes the text up to here; selectors word their own
            // errors.
            Some(quoted) if error.is_some_and(|error| error.starts_with(quoted)) => {
                outcome.leave_out("error, what is wrong with a selector");
            }
            _ => same("error", &error, &want)?,
        }
        let enqueued: Vec<_> = report
            .enqueued_claims()
            .map(|key| json!(key.to_string()))
            .collect();
        let want: Vec<_> = list(case, "wantEnqueuedClaims").cloned().collect();
        same("enqueued claims", &enqueued, &want)?;
        let names: Vec<_> = operations
            .iter()
            .map(|operation| json!(operation.name()))
            .collect();
        let want: Vec<_> = list(case, "wantOperations").cloned().collect();
        same("operations", &names, &want)?;
        Ok(outcome)
    }

    /// The cache follows what was written, as upstream's does.
    fn follow(&mut self, done: &pvbind::plan::Done) {
        let pvbind::plan::Step::Write { write, .. } = &done.step else {
            return;
        };
        if done.result.is_err() {
            return;
        }
        if let Some(volume) = self.server.volumes.get(&write.key()) {
            self.snapshot.apply(Arc::new(volume.clone()));
        }
        for claim in self.server.claims.values() {
            if claim.metadata.key() == write.key() {
                self.snapshot.apply(Arc::new(claim.clone()));
            }
        }
    }
}

/// An error up to where it says what is wrong with a selector.
fn before_selector_error(error: &str) -> Option<&str> {
    let quoted = "error creating internal label selector for claim: ";
    let (before, after) = error.split_once(quoted)?;
    let (claim, _) = after.split_once(": ")?;
    error.get(..before.len() + quoted.len() + claim.len())
}

pub(crate) fn list<'a>(case: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    case[field].as_array().into_iter().flatten()
}

fn config(case: &Value) -> Result<Config, String> {
    let mut config = Config::default();
    config.dynamic_provisioning = case["dynamicProvisioning"]
        .as_bool()
        .ok_or("no `dynamicProvisioning`")?;
    config.plugins = list(case, "inTreePlugins")
        .filter_map(Value::as_str)
        .map(|name| InTreePlugin {
            sources: VolumeSources::Every,
            can_provision: true,
            can_delete: true,
            can_recycle: true,
            ..InTreePlugin::new(name, [] as [&str; 0])
        })
        .collect();
    let migrated: BTreeMap<String, String> =
        serde_json::from_value(case["migratedPlugins"].clone()).map_err(|e| e.to_string())?;
    config.migrated_plugins = migrated;
    Ok(config)
}

fn plugin(answers: &Value) -> Plugin {
    let answer = |what: &str| answers[what].as_str().map(str::to_owned);
    Plugin {
        provision: answer("provision"),
        delete: answer("delete"),
        delete_in_use: answers["deleteInUse"] == true,
        recycle: answer("recycle"),
        ..Plugin::default()
    }
}

/// A step with its object in the form in which objects are compared.
pub(crate) fn step(step: &Value) -> Value {
    let mut step = step.clone();
    if let Some(object) = step.get_mut("object") {
        *object = match object["kind"].as_str() {
            Some("PersistentVolumeClaim") => normal::<PersistentVolumeClaim>(object),
            _ => normal::<PersistentVolume>(object),
        };
    }
    step
}

pub(crate) fn difference(ours: &[Value], want: &[Value]) -> String {
    let first = (0..).find(|&at| ours.get(at) != want.get(at)).unwrap_or(0);
    let show = |steps: &[Value]| match steps.get(first) {
        Some(step) => step.to_string(),
        None => format!("no step ({} in all)", steps.len()),
    };
    format!(
        "step {first}:\n      ours {}\n      want {}",
        show(ours),
        show(want)
    )
}
