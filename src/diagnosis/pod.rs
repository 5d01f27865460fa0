//! Why a pod is not scheduled, as far as volumes are the reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::claim::other_scheduler;
use super::parts::Counted;
use super::pod_facts::ClaimStanding;
use super::words::NAMED;
use super::{Code, Diagnosis, Finding, Kind, ObjectName, PodFacts, Remedy, Survey};
use crate::api::{ClaimKey, Node, PersistentVolumeClaim, Pod, names};
use crate::scheduling::{
    ClaimNotReady, PodClaims, PodSearch, PreFilterRefusal, Sharing, SplitError, UnfitReason,
    check_access, check_pod_claims, pre_filter,
};
use crate::selector::{CompiledNodeSelector, Labels as _};
use crate::view::DiagnosticView;

/// What the scheduler says of a node that the pod itself does not want.
const NOT_WANTED: &str = "node(s) didn't match Pod's node affinity/selector";
/// Of so many unfit nodes the obstacles are told.
const EXPLAINED: usize = 16;

pub(super) fn diagnose<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Diagnosis {
    let object = ObjectName::of(Kind::Pod, &pod.metadata);
    let mut notes = Vec::new();
    let is_waiting = pod.node_name().is_empty() && !pod.is_finished();
    if is_waiting && let Some(scheduler) = other_scheduler(pod) {
        let scheduler = scheduler.to_owned();
        notes.push(PodFacts::OtherScheduler { scheduler }.into());
    }
    Diagnosis::new(object, survey.pod_main(pod), notes)
}

/// The main finding alone.
pub(super) fn main<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, pod: &Pod) -> Finding {
    let node = pod.node_name();
    if pod.is_finished() {
        let phase = pod.status.phase.as_ref();
        let phase = phase.map(|phase| phase.to_string()).unwrap_or_default();
        return PodFacts::Finished { phase }.into();
    }
    if pod.claims().next().is_none() {
        let node = node.to_owned();
        return PodFacts::WithoutClaims { node }.into();
    }
    if !node.is_empty() {
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
    // Claims that are being deleted stay as long as the pod does.
    let claims = match check_pod_claims(pod, survey.view) {
        Ok(()) | Err(ClaimNotReady::BeingDeleted { .. }) => PodClaims::of(pod, survey.view),
        Err(not_ready) => return refused(survey, pod, not_ready.into()),
    };
    let claims = match claims {
        Ok(claims) => claims,
        Err(split) => return refused(survey, pod, split.into()),
    };
    if !claims.immediate.is_empty() {
        let immediate = claims.immediate.iter();
        let claims: Vec<_> = immediate.map(|claim| standing(survey, claim)).collect();
        if let Some(unknown) = not_known_of(&claims) {
            return unknown;
        }
        return PodFacts::CannotStart { node, claims }.into();
    }
    if claims.delayed.is_empty() {
        return PodFacts::Scheduled { node }.into();
    }
    let delayed = claims.delayed.iter();
    let facts = PodFacts::BypassedScheduler {
        node,
        claims: delayed.map(|claim| ClaimKey::of(claim)).collect(),
    };
    Finding::from(facts).with(Remedy::new(
        "delete the pod and create it again without spec.nodeName",
        "the scheduler chooses a node, if need be by a nodeSelector, and the volume with it",
    ))
}

fn refused<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    pod: &Pod,
    refusal: PreFilterRefusal,
) -> Finding {
    let namespace = pod.metadata.namespace();
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
                PodFacts::ClaimTerminating { claim: key(claim) }.into()
            }
            ClaimNotReady::NotOwned { claim, .. } => PodFacts::ClaimNotOwned { claim }.into(),
        },
        PreFilterRefusal::Split(split) => match split {
            SplitError::ClaimMissing { claim } => missing(survey, claim),
            SplitError::NotOwned { claim, .. } => PodFacts::ClaimNotOwned { claim }.into(),
            SplitError::NoBindingMode { class } => PodFacts::NoBindingMode { class }.into(),
        },
        PreFilterRefusal::UnboundImmediate { claims } => {
            let standings = claims.into_iter().filter_map(|key| {
                let claim = survey.view.claim(&key.namespace, &key.name)?;
                Some(standing(survey, &claim))
            });
            let claims = standings.collect();
            PodFacts::UnboundImmediate { claims }.into()
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

fn missing<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, claim: ClaimKey) -> Finding {
    if !survey.known.claims {
        return not_known("claims", &claim.to_string());
    }
    let similar = survey.similar_claims(&claim);
    PodFacts::ClaimMissing { claim, similar }.into()
}

/// What each node says, folded into counts.
fn searched<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    pod: &Pod,
    claims: &PodClaims,
) -> Finding {
    if !survey.known.volumes {
        let mut names = claims.bound.iter().map(|claim| claim.volume_name());
        if let Some(name) = names.find(|name| survey.view.volume(name).is_none()) {
            return not_known("volumes", name);
        }
    }
    if !survey.known.nodes || survey.nodes.is_empty() {
        let delayed = claims.delayed.iter().chain(&claims.bound);
        let claims = delayed.map(|claim| ClaimKey::of(claim)).collect();
        return PodFacts::NodesNotKnown { claims }.into();
    }
    let wishes = Wishes::of(pod);
    let (wanted, others): (Vec<_>, Vec<_>) =
        survey.nodes.iter().partition(|node| wishes.accept(node));
    let search = PodSearch::new(claims, survey.view, survey.config.attributes_classes);
    let mut reasons: BTreeMap<UnfitReason, usize> = BTreeMap::new();
    let (mut fitting, mut unfit) = (Vec::new(), Vec::new());
    for (node, found) in wanted.iter().zip(search.on_nodes(wanted.iter().copied())) {
        match found {
            Ok(volumes) if volumes.fits() => fitting.push(node.name()),
            Ok(volumes) => {
                unfit.push(*node);
                for reason in volumes.reasons() {
                    let count = reasons.entry(reason).or_default();
                    *count = count.saturating_add(1);
                }
            }
            Err(error) => {
                let message = error.to_string();
                return PodFacts::SearchFails { message }.into();
            }
        }
    }
    let mut counts: Vec<_> = reasons
        .into_iter()
        .map(|(reason, count)| Counted {
            code: reason.code(),
            count,
            text: reason.text().to_owned(),
        })
        .collect();
    if !others.is_empty() {
        counts.push(Counted {
            code: "node-selector",
            count: others.len(),
            text: NOT_WANTED.to_owned(),
        });
    }
    if let Some(waits) = waits_for_volumes(claims, &fitting) {
        return waits;
    }
    let nodes = survey.nodes.len();
    if let Some(first) = fitting.first() {
        return PodFacts::SomeNodesFit {
            nodes,
            fitting: fitting.len(),
            example: (*first).to_owned(),
            reasons: counts,
        }
        .into();
    }
    let is_room_missing = counts
        .iter()
        .any(|reason| reason.code == UnfitReason::NotEnoughSpace.code());
    if is_room_missing && !survey.known.csi_storage_capacities {
        return not_known("CSIStorageCapacities", "");
    }
    let is_volume_missing = counts
        .iter()
        .any(|reason| reason.code == UnfitReason::NoVolume.code());
    if is_volume_missing && !survey.known.volumes {
        return not_known("volumes", "");
    }
    PodFacts::NoNodeFits {
        nodes,
        reasons: counts,
        obstacles: obstacles(&search, &unfit),
    }
    .into()
}

/// The scheduler has chosen a node that fits, and waits for what is to be made
/// there.
fn waits_for_volumes(claims: &PodClaims, fitting: &[&str]) -> Option<Finding> {
    let selected = |claim: &Arc<PersistentVolumeClaim>| {
        let node = claim.metadata.annotation(names::SELECTED_NODE)?.to_owned();
        fitting
            .contains(&node.as_str())
            .then_some((node, ClaimKey::of(claim)))
    };
    let selected: Vec<_> = claims.delayed.iter().filter_map(selected).collect();
    let (node, _) = selected.first()?.clone();
    let claims = selected.into_iter().map(|(_, claim)| claim).collect();
    Some(PodFacts::WaitsForVolumes { node, claims }.into())
}

/// What stands in the way, each thing once.
fn obstacles<V: DiagnosticView + ?Sized>(
    search: &PodSearch<'_, V>,
    unfit: &[&Node],
) -> Vec<String> {
    let mut obstacles = Vec::new();
    for node in unfit.iter().take(EXPLAINED) {
        for obstacle in search.explain(node) {
            let text = format!("node `{}`: {obstacle}", node.name());
            if !obstacles.contains(&text) && obstacles.len() < NAMED {
                obstacles.push(text);
            }
        }
    }
    obstacles
}

/// What the pod itself asks of a node.
struct Wishes<'p> {
    pod: &'p Pod,
    affinity: Option<CompiledNodeSelector>,
}

impl<'p> Wishes<'p> {
    fn of(pod: &'p Pod) -> Self {
        let affinity = pod.spec.affinity.as_ref();
        let required = affinity
            .and_then(|affinity| affinity.node_affinity.as_ref())
            .and_then(|node| {
                let required = &node.required_during_scheduling_ignored_during_execution;
                required.as_ref()
            });
        Wishes {
            pod,
            affinity: required.map(CompiledNodeSelector::compile),
        }
    }

    fn accept(&self, node: &Node) -> bool {
        let labels = node.metadata.labels();
        let mut asked = self.pod.spec.node_selector.iter().flatten();
        asked.all(|(key, value)| labels.label(key) == Some(value))
            && self
                .affinity
                .as_ref()
                .is_none_or(|required| required.matches(labels, Some(node.name())) == Ok(true))
    }
}
