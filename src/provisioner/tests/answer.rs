//! What follows the driver's answers.

use super::*;
use crate::plan::Event;

fn new_operation(view: &Snapshot) -> CreateVolume {
    operation(&Config::new("disk.csi"), view, &claim(json!({})))
}

fn warnings(plan: &Plan<ClaimNext>) -> Vec<String> {
    let event = |step: &Step| match step {
        Step::Event(Event {
            reason, message, ..
        }) => Some(format!("{reason}: {message}")),
        _ => None,
    };
    plan.steps.iter().filter_map(event).collect()
}

#[test]
fn each_state_of_a_failed_call_says_what_stays_in_progress() {
    let view = view(&class(json!({})));
    for (state, progress) in [
        (CallState::Finished, Progress::Finished),
        (CallState::InBackground, Progress::InBackground),
        (CallState::NoChange, Progress::Unchanged),
        // Without a selected node there is nothing to choose again.
        (CallState::Reschedule, Progress::Finished),
    ] {
        let plan = new_operation(&view).failed("down", state);
        assert!(!plan.has_writes(), "{state:?}");
        assert_eq!(warnings(&plan), ["ProvisioningFailed: down"]);
        let end = end(plan);
        assert_eq!(end.progress, progress, "{state:?}");
        let message = "down".to_owned();
        assert_eq!(end.outcome, Err(ProvisionError::Failed { message }));
    }
}

#[test]
fn a_failure_without_change_leaves_a_claim_in_progress_in_the_ledger_and_starts_none() {
    let mut view = view(&class(json!({})));
    view.apply(claim(json!({})));
    let mut ledger = Ledger::default();
    let mut hear = |state| {
        let operation = new_operation(&view);
        let claim = Arc::clone(operation.claim());
        let due = ledger.claim_ended(&view, &claim, &end(operation.failed("down", state)), 0);
        assert!(due.is_some(), "it is tried again");
        ledger.is_in_progress(&claim)
    };
    assert!(!hear(CallState::NoChange));
    assert!(hear(CallState::InBackground));
    assert!(hear(CallState::NoChange));
    assert!(!hear(CallState::Finished));
    assert!(!hear(CallState::NoChange));
}

#[test]
fn rescheduling_takes_the_selected_node_away_and_is_no_error() {
    let view = view(&class(json!({})));
    for node in ["n1", ""] {
        let mut claim = PersistentVolumeClaim::clone(&claim(json!({})));
        claim
            .metadata
            .set_annotation("volume.kubernetes.io/selected-node", node);
        let operation = operation(&Config::new("disk.csi"), &view, &Arc::new(claim));
        let plan = operation.failed("full", CallState::Reschedule);
        let [_, Step::Write { write, .. }] = &plan.steps[..] else {
            panic!("{plan:?}");
        };
        let patch = write.merge_patch().unwrap();
        let annotations = &patch["metadata"]["annotations"];
        assert_eq!(
            annotations,
            &json!({"volume.kubernetes.io/selected-node": null})
        );
        let end = end(plan);
        assert_eq!(end.outcome, Ok(ClaimOutcome::Rescheduled));
        assert_eq!(end.progress, Progress::Finished);
    }
}

#[test]
fn an_infeasible_claim_is_told_so_and_is_not_in_progress() {
    let view = view(&class(json!({})));
    let plan = new_operation(&view).infeasible("no such type");
    assert_eq!(
        warnings(&plan),
        [
            "ProvisioningFailed: Volume provisioning failed with infeasible error. \
          Retries will be delayed. no such type"
        ]
    );
    let end = end(plan);
    assert_eq!(end.progress, Progress::Finished);
    let message = "no such type".to_owned();
    assert_eq!(end.outcome, Err(ProvisionError::Infeasible { message }));
}

#[test]
fn a_status_says_whether_the_driver_may_still_be_at_it() {
    let background = [1, 4, 10, 14];
    for code in (1..=16).filter(|code| ![3, 8].contains(code)) {
        for may_reschedule in [false, true] {
            let expected = match background.contains(&code) {
                true => CallState::InBackground,
                false => CallState::Finished,
            };
            assert_eq!(CallState::after_status(code, may_reschedule), expected);
        }
    }
    // No room is final: nothing was made.
    assert_eq!(CallState::after_status(8, false), CallState::Finished);
    assert_eq!(CallState::after_status(8, true), CallState::Reschedule);
    assert_eq!(CallState::after_status(u32::MAX, true), CallState::Finished);
}

#[test]
fn a_status_is_told_as_the_sidecar_tells_it() {
    let view = view(&class(json!({})));
    let config = Config::new("disk.csi");
    let told = |code| {
        let operation = new_operation(&view);
        let end = end(operation.failed_with_status(&config, code, "x"));
        let error = end.outcome.unwrap_err();
        (error.code(), error.to_string(), end.progress)
    };
    let text = |name: &str| format!("rpc error: code = {name} desc = x");
    let finished = Progress::Finished;
    assert_eq!(told(3), ("infeasible", text("InvalidArgument"), finished));
    assert_eq!(told(8), ("failed", text("ResourceExhausted"), finished));
    assert_eq!(told(17), ("failed", text("Code(17)"), finished));
    let background = Progress::InBackground;
    // An answer that was lost on the way.
    assert_eq!(told(0), ("failed", text("OK"), background));
    assert_eq!(told(10), ("failed", text("Aborted"), background));
}

/// The answer to a claim that is to be filled from the snapshot `s-1`.
fn filled_with(source: Value) -> Plan<ClaimNext> {
    let config = Config::new("disk.csi");
    let view = view(&class(json!({})));
    let source_of_claim = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot",
        "name": "s"});
    let operation = operation(
        &config,
        &view,
        &claim(json!({"dataSource": source_of_claim})),
    );
    let snapshot_id = "s-1".to_owned();
    let inputs = RequestInputs {
        content_source: Some(csi::VolumeContentSource::Snapshot { snapshot_id }),
        ..RequestInputs::default()
    };
    let request = operation.request(&config, &view, &inputs).unwrap();
    operation.created(&config, &request, &made(json!({"content_source": source})))
}

#[test]
fn a_volume_that_was_not_filled_as_asked_is_deleted_again_and_stays_in_progress() {
    for (source, message) in [
        (Value::Null, "volume content source missing"),
        (
            json!({"snapshot": {"snapshot_id": "s-2"}}),
            "volume content source is snapshot `s-2`, not snapshot `s-1`",
        ),
        (
            json!({"volume": {"volume_id": "s-1"}}),
            "volume content source is volume `s-1`, not snapshot `s-1`",
        ),
    ] {
        let plan = filled_with(source);
        let clean_up = to_clean_up(plan);
        assert_eq!(clean_up.volume_id(), "h-1");
        let deleted = clean_up.clone().deleted();
        assert_eq!(
            warnings(&deleted),
            [format!("ProvisioningFailed: {message}")]
        );
        assert_eq!(end(deleted).progress, Progress::InBackground);
        let orphaned = clean_up.failed("down");
        let text = format!("{message}. Cleanup of volume pvc-u-1 failed, volume is orphaned: down");
        assert_eq!(warnings(&orphaned), [format!("ProvisioningFailed: {text}")]);
        assert_eq!(end(orphaned).progress, Progress::InBackground);
    }
    let plan = filled_with(json!({"snapshot": {"snapshot_id": "s-1"}}));
    assert_eq!(created(&plan)["spec"]["csi"]["volumeHandle"], "h-1");
}

#[test]
fn a_volume_that_is_in_use_is_not_deleted_again_whatever_the_driver_says_of_it_now() {
    let volume = |uid: &str| -> PersistentVolume {
        let holder = json!({"namespace": "shop", "name": "data", "uid": uid});
        let object = json!({"metadata": {"name": "pvc-u-1"}, "spec": {"claimRef": holder}});
        serde_json::from_value(object).unwrap()
    };
    let read = || match filled_with(Value::Null).verdict {
        ClaimNext::ReadVolume(next) => next,
        other => panic!("not asked: {other:?}"),
    };
    let known = end(read().answer(Some(volume("u-1"))));
    assert_eq!(known.outcome.unwrap().code(), "volume-known");
    assert_eq!(known.progress, Progress::Finished);
    let others = end(read().answer(Some(volume("u-2"))));
    assert_eq!(others.outcome.unwrap_err().code(), "name-taken");
    // But a second volume that the driver made under the name is.
    for (handle, is_in_use) in [("h-1", true), ("h-0", false)] {
        let mut object = volume("u-1");
        object.spec.csi = serde_json::from_value(json!({"volumeHandle": handle})).unwrap();
        let next = read().answer(Some(object)).verdict;
        let is_cleaned_up = matches!(next, ClaimNext::CleanUp(_));
        assert_eq!(is_cleaned_up, !is_in_use, "{handle}");
    }
    let unknown = end(read().failed("no answer"));
    assert_eq!(unknown.progress, Progress::InBackground);
    assert_eq!(unknown.outcome.unwrap_err().to_string(), "no answer");
}

#[test]
fn a_source_that_nobody_asked_for_does_not_matter() {
    let view = view(&class(json!({})));
    let answer = made(json!({"content_source": {"volume": {"volume_id": "h-0"}}}));
    let config = Config::new("disk.csi");
    let plan = answered(&config, &view, new_operation(&view), &answer);
    assert_eq!(end(plan).outcome.unwrap().code(), "provisioned");
}

#[test]
fn a_volume_without_a_name_is_an_error_and_stays_in_progress() {
    let view = view(&class(json!({})));
    let answer = made(json!({"volume_id": ""}));
    let config = Config::new("disk.csi");
    let end = end(answered(&config, &view, new_operation(&view), &answer));
    assert_eq!(end.progress, Progress::InBackground);
    let text = end.outcome.unwrap_err().to_string();
    assert_eq!(text, "the driver made a volume without a volume_id");
}

#[test]
fn a_name_that_no_object_can_hold_is_an_error_and_stays_in_progress() {
    let (config, view) = (Config::new("disk.csi"), view(&class(json!({}))));
    for (bytes, serves) in [(4096, true), (4097, false), (3_000_000, false)] {
        let answer = made(json!({"volume_id": "h".repeat(bytes)}));
        let end = end(answered(&config, &view, new_operation(&view), &answer));
        assert_eq!(end.outcome.is_ok(), serves, "{bytes}");
        if let Err(error) = end.outcome {
            assert_eq!(end.progress, Progress::InBackground);
            let text = "the driver made a volume with a volume_id of";
            assert_eq!(
                error.to_string(),
                format!("{text} {bytes} bytes, more than 4096")
            );
        }
    }
}

#[test]
fn what_a_driver_says_is_whole_in_the_error_and_fits_into_the_event() {
    let view = view(&class(json!({})));
    let message = "no\n".repeat(1_000_000);
    for plan in [
        new_operation(&view).failed(&message, CallState::Finished),
        new_operation(&view).infeasible(&message),
    ] {
        let told = warnings(&plan).remove(0);
        assert!(
            told.contains(r"no\nno") && told.len() < 1100,
            "{}",
            told.len()
        );
        let error = end(plan).outcome.unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn no_size_that_a_driver_says_overflows_or_passes_for_more_than_it_is() {
    let view = view(&class(json!({})));
    let config = Config::new("disk.csi");
    for (bytes, serves) in [
        (i64::MIN, false),
        (-1, false),
        (0, true),
        (5_368_709_119, false),
        (5_368_709_120, true),
        (i64::MAX, true),
    ] {
        let answer = made(json!({"capacity_bytes": bytes}));
        let plan = answered(&config, &view, new_operation(&view), &answer);
        let is_created = !matches!(plan.verdict, ClaimNext::ReadVolume(_));
        assert_eq!(is_created, serves, "{bytes}");
    }
}

#[test]
fn what_the_driver_says_of_itself_goes_before_the_identity() {
    let config = Config {
        identity: Some("me".into()),
        ..Config::new("disk.csi")
    };
    let view = view(&class(json!({})));
    let key = "storage.kubernetes.io/csiProvisionerIdentity";
    for (context, expected) in [(json!({}), "me"), (json!({key: "driver"}), "driver")] {
        let answer = made(json!({"volume_context": context}));
        let volume = created(&answered(&config, &view, new_operation(&view), &answer));
        assert_eq!(volume["spec"]["csi"]["volumeAttributes"][key], expected);
    }
}
