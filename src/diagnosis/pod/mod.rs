//! Why a pod is not scheduled, as far as volumes are the reason.

mod obstacles;
mod search;

use std::sync::Arc;

use search::searched;

use super::claim::other_scheduler;
use super::pod_facts::ClaimStanding;
use super::{
    Code, Diagnosis, Finding, Kind, ObjectName, PodFacts, Remedy, Severity, Survey, volume,
};
use crate::api::{ClaimKey, PersistentVolumeClaim, Pod, names};
use crate::scheduling::{
    ClaimNotReady, PodClaims, PreFilterRefusal, Sharing, SplitError, check_access,
    check_pod_claims, pre_filter,
};
use crate::view::DiagnosticView;

/// Of so many claims it is told that they cannot work.
const TOLD: usize = 10;

pub(super) fn diagnose<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Diagnosis {
    let object = ObjectName::of(Kind::Pod, &pod.metadata);
    let main = survey.pod_main(pod);
    let mut notes = match pod.is_finished() || pod.metadata.is_being_deleted() {
        true => Vec::new(),
        false => not_ready(survey, pod),
    };
    if main.code() == Code::PodGated {
        let later = placed_or_searched(survey, pod);
        notes.extend((later.severity() == Severity::Fault).then_some(later));
    }
    let is_waiting =
        pod.node_name().is_empty() && !pod.is_finished() && !pod.metadata.is_being_deleted();
    if is_waiting && let Some(scheduler) = other_scheduler(pod) {
        let scheduler = scheduler.to_owned();
        notes.push(PodFacts::OtherScheduler { scheduler }.into());
    }
    if is_waiting {
        notes.extend(contested(survey, pod));
    }
    if !pod.is_finished() {
        notes.extend(data_at_risk(survey, pod));
    }
    notes.retain(|note| *note != main);
    Diagnosis::new(object, main, notes)
}

/// The data of the pod's claims that are being deleted: it goes when the pod
/// does.
fn data_at_risk<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Vec<Finding> {
    let namespace = pod.namespace();
    let claims = pod.claims().take(TOLD);
    let risks = claims.filter_map(|claim| {
        let claim = survey.view.claim(namespace, &claim.claim)?;
        let volume = survey.view.volume(claim.volume_name())?;
        let is_going = claim.metadata.is_being_deleted() && volume.is_bound_to(&claim);
        is_going
            .then(|| volume::data_at_risk(survey, &volume))
            .flatten()
    });
    risks.collect()
}

/// The main finding alone.
pub(super) fn main<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Finding {
    if pod.is_finished() {
        let phase = pod.status.phase.as_ref();
        let phase = phase.map(|phase| phase.to_string()).unwrap_or_default();
        return PodFacts::Finished { phase }.into();
    }
    if pod.claims().next().is_none() {
        let node = pod.node_name().to_owned();
        return PodFacts::WithoutClaims { node }.into();
    }
    if pod.metadata.is_being_deleted() {
        let node = pod.node_name().to_owned();
        return PodFacts::Terminating { node }.into();
    }
    let gates = scheduling_gates(pod);
    if pod.node_name().is_empty() && !gates.is_empty() {
        return Finding::from(PodFacts::Gated { gates }).with(Remedy::new(
            "see what is to remove the scheduling gates, and whether that runs",
            "gates can only be removed; then the pod is scheduled like any other",
        ));
    }
    placed_or_searched(survey, pod)
}

/// Whoever put these on the pod does not want it scheduled before they are
/// removed.
fn scheduling_gates(pod: &Pod) -> Vec<String> {
    let gates = pod.spec.unknown.get("schedulingGates");
    let gates = gates.and_then(serde_json::Value::as_array);
    let name = |gate: &serde_json::Value| {
        let name = gate.get("name").and_then(serde_json::Value::as_str);
        name.unwrap_or_default().to_owned()
    };
    gates.into_iter().flatten().map(name).collect()
}

fn placed_or_searched<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Finding {
    if !pod.node_name().is_empty() {
        return on_node(survey, pod);
    }
    match pre_filter(pod, survey.view) {
        Ok(claims) => {
            in_use(survey, pod, &claims).unwrap_or_else(|| searched(survey, pod, &claims))
        }
        Err(refusal) => refused(survey, pod, refusal),
    }
}

/// The pod has a node. Only the scheduler has delayed claims bound, before it
/// gives one.
fn on_node<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Finding {
    let node = pod.node_name().to_owned();
    if let Some(first) = not_ready(survey, pod).into_iter().next() {
        return first;
    }
    let claims = match PodClaims::of(pod, survey.view) {
        Ok(claims) => claims,
        Err(split) => return refused(survey, pod, split.into()),
    };
    // What is about to be bound needs nothing more.
    let is_unbound = |claim: &&Arc<PersistentVolumeClaim>| {
        survey.claim_main(claim).code() != Code::ClaimWouldBind
    };
    let immediate: Vec<_> = claims.immediate.iter().filter(is_unbound).collect();
    if !immediate.is_empty() {
        let immediate = immediate.into_iter();
        let claims: Vec<_> = immediate.map(|claim| standing(survey, claim)).collect();
        return not_known_of(&claims).unwrap_or(PodFacts::CannotStart { node, claims }.into());
    }
    let delayed = claims.delayed.iter().filter(is_unbound);
    let (selected, bypassed): (Vec<_>, Vec<_>) =
        delayed.partition(|claim| selected_node(claim).is_some());
    if !bypassed.is_empty() {
        let claims = bypassed.into_iter().map(|claim| ClaimKey::of(claim));
        let facts = PodFacts::BypassedScheduler {
            node,
            claims: claims.collect(),
        };
        return Finding::from(facts).with(Remedy::new(
            "delete the pod and create it again without spec.nodeName",
            "the scheduler chooses a node, if need be by a nodeSelector, and the volume with it",
        ));
    }
    if let Some(first) = selected.first() {
        return to_be_made(survey, node, selected_node(first), &selected);
    }
    let phase = pod.status.phase.as_ref();
    let is_running = phase.is_some_and(|phase| phase.as_str() == "Running");
    PodFacts::Scheduled { node, is_running }.into()
}

/// The node was given to the claims as well, by hand or by the scheduler: their
/// volumes are to be made.
fn to_be_made<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    node: String,
    selected: Option<&str>,
    claims: &[&Arc<PersistentVolumeClaim>],
) -> Finding {
    let standings: Vec<_> = claims.iter().map(|claim| standing(survey, claim)).collect();
    if let Some(unknown) = not_known_of(&standings) {
        return unknown;
    }
    let is_fault = |claim: &ClaimStanding| claim.code.severity() == Severity::Fault;
    if standings.iter().any(is_fault) {
        let claims = standings;
        return PodFacts::CannotStart { node, claims }.into();
    }
    let of_node = claims
        .iter()
        .filter(|claim| selected_node(claim) == selected);
    PodFacts::WaitsForVolumes {
        node: selected.unwrap_or_default().to_owned(),
        claims: of_node.map(|claim| ClaimKey::of(claim)).collect(),
    }
    .into()
}

fn selected_node(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.metadata.annotation(names::SELECTED_NODE)
}

/// The claims of a pod that cannot work, each by itself, since the scheduler
/// stops at the first. On a node, claims that are being deleted do: they stay as
/// long as the pod does.
fn not_ready<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Vec<Finding> {
    let is_placed = !pod.node_name().is_empty();
    let mut alone = pod.clone();
    let mut findings = Vec::new();
    for volume in alone.spec.volumes.take().unwrap_or_default() {
        alone.spec.volumes = Some(vec![volume]);
        match check_pod_claims(&alone, survey.view) {
            Ok(()) => {}
            Err(ClaimNotReady::BeingDeleted { .. }) if is_placed => {}
            Err(not_ready) => findings.push(refused(survey, pod, not_ready.into())),
        }
        if findings.len() >= TOLD {
            break;
        }
    }
    findings
}

fn refused<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    pod: &Pod,
    refusal: PreFilterRefusal,
) -> Finding {
    let namespace = pod.namespace();
    let key = |claim: String| ClaimKey::new(namespace, claim);
    match refusal {
        PreFilterRefusal::NotReady(not_ready) => match not_ready {
            ClaimNotReady::Missing { claim } => missing(survey, key(claim)),
            ClaimNotReady::NotCreatedYet { claim } => {
                PodFacts::EphemeralClaimMissing { claim: key(claim) }.into()
            }
            ClaimNotReady::Lost { claim, volume } => {
                let claim = key(claim);
                PodFacts::ClaimLost { claim, volume }.into()
            }
            ClaimNotReady::BeingDeleted { claim } => {
                let remedy = Remedy::new(
                    format!("when claim `{claim}` is gone, create it again"),
                    "the pod is scheduled then, and starts without the data, unless the volume is \
                     kept and given to the new claim",
                );
                let facts = PodFacts::ClaimTerminating { claim: key(claim) };
                Finding::from(facts).with(remedy)
            }
            ClaimNotReady::NotOwned { claim, .. } => not_owned(claim),
        },
        PreFilterRefusal::Split(split) => match split {
            SplitError::ClaimMissing { claim } => missing(survey, claim),
            SplitError::NotOwned { claim, .. } => not_owned(claim),
            SplitError::NoBindingMode { class } => PodFacts::NoBindingMode { class }.into(),
        },
        PreFilterRefusal::UnboundImmediate { claims } => {
            let standings = claims.into_iter().filter_map(|key| {
                let claim = survey.view.claim(&key.namespace, &key.name)?;
                Some(standing(survey, &claim))
            });
            let claims: Vec<ClaimStanding> = standings.collect();
            let is_fault = |claim: &ClaimStanding| claim.code.severity() == Severity::Fault;
            match claims.iter().any(is_fault) {
                true => PodFacts::ClaimUnbindable { claims }.into(),
                false => PodFacts::UnboundImmediate { claims }.into(),
            }
        }
    }
}

fn standing<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    claim: &PersistentVolumeClaim,
) -> ClaimStanding {
    let main = survey.claim_main(claim);
    ClaimStanding {
        claim: ClaimKey::of(claim),
        code: main.code(),
        text: main.to_string(),
    }
}

/// What is not known decides how a claim of the pod stands.
fn not_known_of(claims: &[ClaimStanding]) -> Option<Finding> {
    let mut claims = claims.iter();
    let unknown = claims.find(|claim| claim.code == Code::ClaimNotKnown)?;
    let claim = unknown.claim.to_string();
    Some(not_known("objects behind a claim", &claim))
}

fn not_known(what: &str, name: &str) -> Finding {
    PodFacts::NotKnown {
        what: what.to_owned(),
        name: name.to_owned(),
    }
    .into()
}

/// Another pod has a claim that is for one pod alone.
fn in_use<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    pod: &Pod,
    claims: &PodClaims,
) -> Option<Finding> {
    let enforced = claims.bound.iter().chain(&claims.delayed);
    let mut enforced = enforced.filter(|claim| Sharing::of(claim).is_enforced());
    enforced.find_map(|claim| {
        let metadata = &claim.metadata;
        let mut pods = Vec::new();
        let visit = &mut |other: &Pod| {
            // The pod that asks has no node, and is in nobody's way.
            if let Err(conflict) = check_access(claim, "", [other]) {
                pods.extend(conflict.pods.into_iter().map(|pod| pod.name));
            }
        };
        let view = survey.view;
        view.visit_pods_using_claim(metadata.namespace(), metadata.name(), visit);
        pods.retain(|name| name != pod.name());
        pods.sort_unstable();
        pods.dedup();
        (!pods.is_empty()).then(|| {
            let claim = ClaimKey::of(claim);
            Finding::from(PodFacts::ClaimInUse { claim, pods }).with(Remedy::new(
                "let the other pod finish, or give this pod a claim of its own",
                "a claim's access modes never change; ReadWriteOncePod is for one pod",
            ))
        })
    })
}

/// Other pods wait for a claim that is for one pod alone.
fn contested<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Vec<Finding> {
    let namespace = pod.namespace();
    let claims = pod.claims().take(TOLD).filter_map(|of_pod| {
        let claim = survey.view.claim(namespace, &of_pod.claim)?;
        Sharing::of(&claim)
            .is_enforced()
            .then(|| ClaimKey::of(&claim))
    });
    let findings = claims.filter_map(|claim| {
        let waiting = survey.waiting_for(&claim);
        let others = waiting.iter().filter(|other| *other != pod.name());
        let pods: Vec<_> = others.take(TOLD).cloned().collect();
        let is_waiting = waiting
            .binary_search_by(|other| other.as_str().cmp(pod.name()))
            .is_ok();
        let count = waiting.len().saturating_sub(usize::from(is_waiting));
        (count > 0).then(|| PodFacts::ClaimContested { claim, pods, count }.into())
    });
    findings.collect()
}

fn missing<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, claim: ClaimKey) -> Finding {
    if !survey.known.has_claims_of(&claim.namespace) {
        return not_known("claims", &claim.to_string());
    }
    let elsewhere = survey.elsewhere(&claim);
    // A pod cannot use the claims of other namespaces.
    let mut similar = survey.similar_claims(&claim);
    let own = format!("{}/", claim.namespace);
    similar.retain(|similar| similar.starts_with(&own));
    let create = Remedy::new(
        format!("create claim `{claim}`"),
        "the pod is scheduled when the claim is bound, or with it",
    );
    let rename = similar.first().filter(|_| similar.len() == 1).map(|other| {
        Remedy::new(
            format!("if claim `{other}` was meant, correct its name where the pod is made"),
            "the volumes of a pod cannot be changed: it is to be created again",
        )
    });
    let facts = PodFacts::ClaimMissing {
        claim,
        similar,
        elsewhere,
    };
    Finding::from(facts).with_all(rename).with(create)
}

fn not_owned(claim: ClaimKey) -> Finding {
    let remedy = Remedy::new(
        format!("rename the pod or its volume, or delete claim `{claim}` if nobody needs its data"),
        "a claim of that name is then made for the pod alone",
    );
    Finding::from(PodFacts::ClaimNotOwned { claim }).with(remedy)
}
