//! csi_provisioner: what the sidecar of a CSI driver does with a claim or a
//! volume.

use std::sync::Arc;

use pvbind::api::{Object, PersistentVolume, PersistentVolumeClaim, StorageClass};
use pvbind::plan::{Plan, Step, Write};
use pvbind::provisioner::{
    CallState, ClaimEnd, ClaimNext, Config, CreateVolume, DeleteVolume, NotNow, Progress,
    VolumeNext, check_claim, check_ours, sync_claim, sync_volume,
};
use pvbind::view::Snapshot;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::normal::normal;
use crate::sync::{difference, list, step};
use crate::{CaseOutcome, same, text};

pub(crate) fn run(case: &Value) -> Result<CaseOutcome, String> {
    match text(case, "kind")? {
        "claim" => run_claim(case)?,
        "volume" => run_volume(case)?,
        other => return Err(format!("nobody knows the kind `{other}`")),
    }
    Ok(CaseOutcome::default())
}

fn run_claim(case: &Value) -> Result<(), String> {
    let (config, snapshot) = (config(case)?, snapshot(case)?);
    let claim: Arc<PersistentVolumeClaim> = read(case, "claim")?;
    let checked = check_claim(&config, &snapshot, &claim);
    let should_provision = json!(checked.is_ok());
    same(
        "should provision",
        &should_provision,
        &case["wantShouldProvision"],
    )?;
    let error = checked.err().filter(NotNow::is_error);
    let error = error.map(|error| error.to_string());
    same("should error", &json!(error), &case["wantShouldError"])?;

    let mut steps = Vec::new();
    let mut next = told(sync_claim(&config, &snapshot, &claim), &mut steps);
    let end = loop {
        next = match next {
            ClaimNext::Over(end) => break end,
            ClaimNext::CreateVolume(operation) => {
                steps.push(json!({"do": "provision", "volume": operation.volume_name(),
                    "selectedNode": operation.selected_node()}));
                told(answered(case, &config, operation)?, &mut steps)
            }
            other => return Err(format!("nobody knows {other:?}")),
        };
    };
    compare_steps(&steps, case)?;
    let ClaimEnd { outcome, progress } = end;
    compare_error(outcome.err(), case)?;
    // The set is empty before.
    let in_progress = progress == Progress::InBackground;
    same("in progress", &json!(in_progress), &case["wantInProgress"])
}

fn answered(
    case: &Value,
    config: &Config,
    operation: CreateVolume,
) -> Result<Plan<ClaimNext>, String> {
    Ok(match text(case, "answer")? {
        "ok" => {
            let volume = made(&operation);
            operation.provisioned(config, volume)
        }
        "ignored" => operation.ignored("not mine"),
        "infeasible" => {
            operation.infeasible("rpc error: code = InvalidArgument desc = no such type")
        }
        "error" => operation.failed("backend down", state(case)?),
        other => return Err(format!("nobody knows the answer `{other}`")),
    })
}

fn state(case: &Value) -> Result<CallState, String> {
    Ok(match text(case, "answerState")? {
        "finished" => CallState::Finished,
        "background" => CallState::InBackground,
        "noChange" => CallState::NoChange,
        "reschedule" => CallState::Reschedule,
        other => return Err(format!("nobody knows the state `{other}`")),
    })
}

/// The volume that the driver of the cases makes.
fn made(operation: &CreateVolume) -> PersistentVolume {
    serde_json::from_value(json!({
        "metadata": {"name": format!("pvc-{}", operation.claim().metadata.uid())},
        "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": operation.class().reclaim_policy,
            "csi": {"driver": "csi.example.com", "volumeHandle": "h-1"}}}))
    .unwrap()
}

fn run_volume(case: &Value) -> Result<(), String> {
    let config = config(case)?;
    let mut volume: Arc<PersistentVolume> = read(case, "volume")?;
    let is_ours = check_ours(&config, &volume).is_ok();
    same("is mine", &json!(is_ours), &case["wantIsMine"])?;

    let mut steps = Vec::new();
    let mut next = told(sync_volume(&config, &volume), &mut steps);
    let outcome = loop {
        next = match next {
            VolumeNext::Over(outcome) => break outcome,
            VolumeNext::DeleteVolume(operation) => {
                volume = Arc::clone(operation.volume());
                steps.push(json!({"do": "deleteBackend", "volume": volume.name()}));
                told(deletion_answered(case, operation)?, &mut steps)
            }
            VolumeNext::ReadVolume(read) => told(read.answer(Some((*volume).clone())), &mut steps),
            other => return Err(format!("nobody knows {other:?}")),
        };
    };
    compare_steps(&steps, case)?;
    compare_error(outcome.err(), case)
}

fn deletion_answered(case: &Value, operation: DeleteVolume) -> Result<Plan<VolumeNext>, String> {
    Ok(match text(case, "answer")? {
        "ok" => operation.deleted(),
        "ignored" => operation.ignored("not mine"),
        "infeasible" | "error" => operation.failed("backend down"),
        other => return Err(format!("nobody knows the answer `{other}`")),
    })
}

/// What a plan does, in the form of `wantSteps`; nothing of it fails.
fn told<V>(plan: Plan<V>, steps: &mut Vec<Value>) -> V {
    for step in plan.steps {
        steps.push(match step {
            Step::Event(event) => json!({"do": "event", "kind": event.regarding.kind,
                "name": event.key(), "type": event.event_type.to_string(),
                "reason": event.reason.as_str(), "message": event.message}),
            Step::Write { write, .. } => match write {
                Write::CreateVolume { volume, .. } => json!({"do": "create",
                    "resource": "persistentvolumes",
                    "object": normal::<PersistentVolume>(&json!(*volume))}),
                Write::Claim(change) => json!({"do": "update",
                    "resource": "persistentvolumeclaims",
                    "object": normal::<PersistentVolumeClaim>(&json!(*change.to))}),
                Write::Volume(change) => json!({"do": "finalizers", "volume": change.to.name(),
                    "finalizers": change.to.metadata.finalizers}),
                Write::DeleteVolume(volume) => json!({"do": "delete",
                    "resource": "persistentvolumes", "name": volume.name()}),
                other => panic!("a write that no case has: {other:?}"),
            },
            other => panic!("a step that no case has: {other:?}"),
        });
    }
    plan.verdict
}

fn compare_steps(ours: &[Value], case: &Value) -> Result<(), String> {
    let want: Vec<_> = list(case, "wantSteps").map(step).collect();
    match ours == want {
        true => Ok(()),
        false => Err(difference(ours, &want)),
    }
}

fn compare_error(ours: Option<impl ToString>, case: &Value) -> Result<(), String> {
    let ours = ours.map(|error| error.to_string());
    same("error", &json!(ours), &case["wantError"])
}

fn config(case: &Value) -> Result<Config, String> {
    let flag = |field: &str| case[field].as_bool().ok_or(format!("no `{field}`"));
    let mut config = Config::new(text(case, "provisioner")?);
    config.additional_names = list(case, "additionalProvisioners")
        .map(|name| name.as_str().unwrap_or_default().to_owned())
        .collect();
    config.adds_finalizer = flag("addFinalizer")?;
    config.supports_block = flag("supportsBlock")?;
    Ok(config)
}

fn snapshot(case: &Value) -> Result<Snapshot, String> {
    let mut snapshot = Snapshot::new();
    for class in list(case, "classes") {
        let class: StorageClass =
            serde_json::from_value(class.clone()).map_err(|error| error.to_string())?;
        snapshot.apply(Arc::new(class));
    }
    if let Some(volume) = case.get("existingVolume") {
        let volume = Object::from_value(volume.clone()).map_err(|error| error.to_string())?;
        snapshot.apply_object(volume);
    }
    Ok(snapshot)
}

fn read<T: DeserializeOwned>(case: &Value, field: &str) -> Result<Arc<T>, String> {
    let object = serde_json::from_value(case[field].clone());
    object.map(Arc::new).map_err(|error| error.to_string())
}
