//! What the API server lets an object be, as far as this controller writes it.

use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{CLAIMS, EVENTS, Key, LEASES, VOLUMES};

type Checked = Result<(), Refusal>;

pub(super) fn check_new(resource: &str, object: &Value) -> Checked {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    check_name(name)?;
    match resource {
        VOLUMES => check_volume(object),
        EVENTS => check_event(object),
        LEASES => check_lease(object),
        _ => Ok(()),
    }
}

pub(super) fn check_change(key: &Key, old: &Value, new: &Value) -> Checked {
    check_finalizers(old, new)?;
    match &*key.0 {
        VOLUMES => {
            check_volume(new)?;
            check_same(old, new, "/spec/volumeMode")?;
            for source in SOURCES {
                check_same(old, new, &format!("/spec/{source}"))?;
            }
            check_phase(
                new,
                &["", "Pending", "Available", "Bound", "Released", "Failed"],
            )
        }
        CLAIMS => {
            check_claim_spec(old, new)?;
            check_phase(new, &["", "Pending", "Bound", "Lost"])
        }
        EVENTS => {
            check_event(new)?;
            let (mut old, mut new) = (old.clone(), new.clone());
            for event in [&mut old, &mut new] {
                event["series"] = Value::Null;
                event["metadata"] = Value::Null;
            }
            if old != new {
                return Err(Refusal::invalid("events are immutable but for series"));
            }
            Ok(())
        }
        LEASES => check_lease(new),
        _ => Ok(()),
    }
}

const SOURCES: [&str; 4] = ["hostPath", "nfs", "csi", "local"];

fn check_finalizers(old: &Value, new: &Value) -> Checked {
    let of = |object: &Value| object["metadata"]["finalizers"].as_array().cloned();
    let before = of(old).unwrap_or_default();
    let added = of(new).unwrap_or_default();
    let is_going = !old["metadata"]["deletionTimestamp"].is_null();
    if is_going && added.iter().any(|one| !before.contains(one)) {
        return Err(Refusal::invalid(
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is \
             being deleted",
        ));
    }
    Ok(())
}

fn check_claim_spec(old: &Value, new: &Value) -> Checked {
    let mut allowed = old["spec"].clone();
    if is_empty(&allowed["volumeName"]) {
        allowed["volumeName"] = new["spec"]["volumeName"].clone();
    }
    if allowed["storageClassName"].is_null() {
        allowed["storageClassName"] = new["spec"]["storageClassName"].clone();
    }
    let mut spec = new["spec"].clone();
    for field in ["volumeName", "storageClassName"] {
        // Absent is as good as null.
        let _ = (&spec[field], &allowed[field]);
        spec[field] = spec[field].take();
        allowed[field] = allowed[field].take();
    }
    match spec == allowed {
        true => Ok(()),
        false => Err(Refusal::invalid(
            "spec: Forbidden: spec is immutable after creation except resources.requests and \
             volumeAttributesClassName for bound claims",
        )),
    }
}

fn check_volume(volume: &Value) -> Checked {
    let spec = &volume["spec"];
    require(&spec["capacity"]["storage"], "spec.capacity")?;
    let modes = spec["accessModes"].as_array();
    if modes.is_none_or(Vec::is_empty) {
        return Err(Refusal::invalid("spec.accessModes: Required value"));
    }
    let sources = SOURCES.iter().filter(|source| !spec[**source].is_null());
    if sources.count() != 1 {
        return Err(Refusal::invalid("spec: must specify one volume type"));
    }
    if !spec["hostPath"].is_null() {
        require(&spec["hostPath"]["path"], "spec.hostPath.path")?;
        let path = spec["hostPath"]["path"].as_str().unwrap();
        if path.split('/').any(|part| part == "..") {
            return Err(Refusal::invalid(
                "spec.hostPath.path: must not contain '..'",
            ));
        }
    }
    let policy = &spec["persistentVolumeReclaimPolicy"];
    if !["Retain", "Delete", "Recycle"]
        .iter()
        .any(|known| policy == known)
    {
        return Err(Refusal::invalid(
            "spec.persistentVolumeReclaimPolicy: Unsupported value",
        ));
    }
    if !spec["claimRef"].is_null() {
        require(&spec["claimRef"]["name"], "spec.claimRef.name")?;
        require(&spec["claimRef"]["namespace"], "spec.claimRef.namespace")?;
    }
    Ok(())
}

fn check_event(event: &Value) -> Checked {
    let text = |field: &str| event[field].as_str().unwrap_or_default();
    for field in ["eventTime", "reportingController", "reportingInstance"] {
        require(&event[field], field)?;
    }
    for (field, longest) in [
        ("reportingInstance", 128),
        ("action", 128),
        ("reason", 128),
        ("note", 1024),
    ] {
        require(&event[field], field)?;
        if text(field).len() > longest {
            return Err(Refusal::invalid(format!("{field}: too long")));
        }
    }
    if !["Normal", "Warning"].contains(&text("type")) {
        return Err(Refusal::invalid("type: has invalid value"));
    }
    let namespace = match &event["regarding"]["namespace"] {
        Value::Null => json!("default"),
        namespace => namespace.clone(),
    };
    if event["metadata"]["namespace"] != namespace {
        return Err(Refusal::invalid("involvedObject.namespace: does not match"));
    }
    let series = &event["series"];
    let count = series["count"].as_i64().unwrap_or_default();
    if !series.is_null() && (count < 2 || series["lastObservedTime"].is_null()) {
        return Err(Refusal::invalid("series.count: should be at least 2"));
    }
    Ok(())
}

fn check_lease(lease: &Value) -> Checked {
    let spec = &lease["spec"];
    let seconds = &spec["leaseDurationSeconds"];
    if !seconds.is_null() && seconds.as_i64().is_none_or(|seconds| seconds <= 0) {
        return Err(Refusal::invalid(
            "spec.leaseDurationSeconds: must be greater than 0",
        ));
    }
    let transitions = &spec["leaseTransitions"];
    if !transitions.is_null() && transitions.as_i64().is_none_or(|count| count < 0) {
        return Err(Refusal::invalid(
            "spec.leaseTransitions: must not be negative",
        ));
    }
    if spec["holderIdentity"] == "" {
        return Err(Refusal::invalid("spec.holderIdentity: must not be empty"));
    }
    Ok(())
}

fn check_phase(object: &Value, known: &[&str]) -> Checked {
    let phase = object["status"]["phase"].as_str().unwrap_or_default();
    match known.contains(&phase) {
        true => Ok(()),
        false => Err(Refusal::invalid("status.phase: Unsupported value")),
    }
}

/// A DNS-1123 subdomain.
fn check_name(name: &str) -> Checked {
    let is_alphanumeric = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_label = |label: &str| {
        let mut letters = label.chars();
        label.starts_with(is_alphanumeric)
            && label.ends_with(is_alphanumeric)
            && letters.all(|letter| is_alphanumeric(letter) || letter == '-')
    };
    match name.len() <= 253 && name.split('.').all(is_label) {
        true => Ok(()),
        false => Err(Refusal::invalid(format!(
            "metadata.name: Invalid value: {name}"
        ))),
    }
}

fn check_same(old: &Value, new: &Value, pointer: &str) -> Checked {
    match old.pointer(pointer) == new.pointer(pointer) {
        true => Ok(()),
        false => Err(Refusal::invalid(format!("{pointer}: field is immutable"))),
    }
}

fn require(value: &Value, field: &str) -> Checked {
    match is_empty(value) {
        true => Err(Refusal::invalid(format!("{field}: Required value"))),
        false => Ok(()),
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value == ""
}
