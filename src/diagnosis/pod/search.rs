//! What each node says of a pod's claims.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::obstacles::obstacles;
use super::{not_known, standing};
use crate::api::{ClaimKey, Node, PersistentVolumeClaim, Pod, names};
use crate::diagnosis::parts::Counted;
use crate::diagnosis::pod_facts::ClaimStanding;
use crate::diagnosis::words::Names;
use crate::diagnosis::zone::ZoneLabels;
use crate::diagnosis::{Finding, Kind, ObjectName, Patch, PodFacts, Remedy, Severity, Survey};
use crate::scheduling::{PodClaims, PodSearch, UnfitReason};
use crate::selector::{CompiledNodeSelector, Labels as _};
use crate::view::DiagnosticView;

/// What the scheduler says of a node that the pod itself does not want.
const NOT_WANTED: &str = "node(s) didn't match Pod's node affinity/selector";
/// What the scheduler says of a node in another zone than a volume's labels
/// say: its plugin `VolumeZone`.
const OTHER_ZONE: &str = "node(s) had no available volume zone";

/// What each node says, folded into counts.
pub(super) fn searched<V: DiagnosticView + ?Sized>(
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
    let zones = ZonesOfClaims::of(survey, claims);
    let (elsewhere, wanted): (Vec<_>, Vec<_>) = wanted
        .into_iter()
        .partition(|node| zones.conflict(node).is_some());
    let search = PodSearch::new(claims, survey.view, survey.config.features);
    let judged = match Judged::of(&search, &wanted) {
        Ok(judged) => judged,
        Err(message) => return PodFacts::SearchFails { message }.into(),
    };
    let out_of_question = [
        ("volume-zone", elsewhere.len(), OTHER_ZONE),
        ("node-selector", others.len(), NOT_WANTED),
    ];
    let out_of_question = out_of_question
        .into_iter()
        .filter(|(_, count, _)| *count > 0);
    let out_of_question = out_of_question.map(|(code, count, text)| Counted {
        code,
        count,
        text: text.to_owned(),
    });
    let out_of_question: Vec<_> = out_of_question.collect();
    let counts = [judged.counts.as_slice(), &out_of_question].concat();
    if let Some(waits) = waits_for_volumes(survey, claims, &judged.fitting) {
        return waits;
    }
    let nodes = survey.nodes.len();
    if let Some(first) = judged.fitting.first() {
        return PodFacts::SomeNodesFit {
            nodes,
            fitting: judged.fitting.len(),
            example: (*first).to_owned(),
            kept_free: judged.kept_free,
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
    let mut obstacles = obstacles(survey, claims, &search, &judged.unfit);
    if let Some(conflict) = elsewhere.first().and_then(|node| zones.conflict(node)) {
        obstacles.push(conflict);
    }
    // Undoing a selection comes first, where it changes anything.
    let anew = selected_anew(survey, claims, &wanted);
    let anew = anew.filter(|(later, _)| later.counts != judged.counts);
    let remedies = match anew {
        Some((later, undo)) => {
            let later = [later.counts, out_of_question].concat();
            std::iter::once(undo).chain(remedies(&later)).collect()
        }
        None => remedies(&counts),
    };
    let facts = PodFacts::NoNodeFits {
        nodes,
        reasons: counts,
        obstacles,
    };
    Finding::from(facts).with_all(remedies)
}

/// What the nodes say that the pod may go to.
struct Judged<'n> {
    fitting: Vec<&'n str>,
    unfit: Vec<&'n Node>,
    /// How many of those that fit take no pods.
    kept_free: usize,
    counts: Vec<Counted>,
}

impl<'n> Judged<'n> {
    fn of<V: DiagnosticView + ?Sized>(
        search: &PodSearch<'_, V>,
        nodes: &[&'n Node],
    ) -> Result<Self, String> {
        let mut reasons: BTreeMap<UnfitReason, usize> = BTreeMap::new();
        let mut judged = Judged {
            fitting: Vec::new(),
            unfit: Vec::new(),
            kept_free: 0,
            counts: Vec::new(),
        };
        for (node, found) in nodes.iter().zip(search.on_nodes(nodes.iter().copied())) {
            let found = found.map_err(|error| error.to_string())?;
            if found.fits() {
                judged.fitting.push(node.name());
                let is_kept_free = usize::from(is_kept_free(node));
                judged.kept_free = judged.kept_free.saturating_add(is_kept_free);
                continue;
            }
            judged.unfit.push(*node);
            for reason in found.reasons() {
                let count = reasons.entry(reason).or_default();
                *count = count.saturating_add(1);
            }
        }
        judged.counts = reasons
            .into_iter()
            .map(|(reason, count)| Counted {
                code: reason.code(),
                count,
                text: reason.text().to_owned(),
            })
            .collect();
        Ok(judged)
    }
}

/// What the nodes would say if none were selected for any claim, and undoing
/// that.
fn selected_anew<'n, V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    claims: &PodClaims,
    nodes: &[&'n Node],
) -> Option<(Judged<'n>, Remedy)> {
    let is_selected =
        |claim: &&Arc<PersistentVolumeClaim>| claim.metadata.has_annotation(names::SELECTED_NODE);
    let selected: Vec<_> = claims.delayed.iter().filter(is_selected).collect();
    let first = selected.first()?;
    let mut anew = claims.clone();
    for claim in &mut anew.delayed {
        let metadata = &mut Arc::make_mut(claim).metadata;
        metadata.remove_annotation(names::SELECTED_NODE);
    }
    let search = PodSearch::new(&anew, survey.view, survey.config.features);
    let later = Judged::of(&search, nodes).ok()?;
    let keys = selected.iter().map(|claim| ClaimKey::of(claim).to_string());
    let keys: Vec<_> = keys.collect();
    let noun = if keys.len() == 1 { "claim" } else { "claims" };
    let undo = Remedy::new(
        format!(
            "remove annotation `{}` from {noun} {}, so that the scheduler selects another node",
            names::SELECTED_NODE,
            Names(&keys)
        ),
        "if the provisioner has begun, it may leave a volume behind",
    );
    let patch = || {
        let metadata = &first.metadata;
        let patch = json!({"metadata": {"annotations": {names::SELECTED_NODE: null}}});
        Patch::of(ObjectName::of(Kind::Claim, metadata), metadata, patch)
    };
    let is_enough = !later.fitting.is_empty() && selected.len() == 1;
    let undo = if is_enough {
        undo.patching(patch())
    } else {
        undo
    };
    Some((later, undo))
}

/// What would make a node fit.
fn remedies(reasons: &[Counted]) -> Vec<Remedy> {
    let has = |code: &str| reasons.iter().any(|reason| reason.code == code);
    let is_elsewhere = [UnfitReason::NodeAffinity.code(), "volume-zone"];
    let is_elsewhere = is_elsewhere.into_iter().any(has);
    let mut remedies = Vec::new();
    if has(UnfitReason::NoVolume.code()) {
        remedies.push(Remedy::new(
            "create a volume that fits the claim and is in reach of a node that the pod may go to",
            "the scheduler tries again when a volume appears",
        ));
    }
    if has(UnfitReason::NotEnoughSpace.code()) {
        remedies.push(Remedy::new(
            "free room in the backend, or ask for less in a new claim",
            "the scheduler tries again when a pool changes",
        ));
    }
    if is_elsewhere && has("node-selector") {
        remedies.push(Remedy::new(
            "let the pod's node selector and affinity admit a node that reaches its volumes",
            "the pod is to be created again where it cannot be changed",
        ));
    } else if is_elsewhere {
        remedies.push(Remedy::new(
            "add a node that reaches all of the pod's volumes",
            "the data does not move; a copy of it in reach needs a new claim",
        ));
    }
    remedies
}

/// The scheduler has chosen a node that fits, and waits for what is to be made
/// there.
fn waits_for_volumes<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    claims: &PodClaims,
    fitting: &[&str],
) -> Option<Finding> {
    let selected = claims.delayed.iter().filter_map(|claim| {
        let node = claim.metadata.annotation(names::SELECTED_NODE)?;
        fitting.contains(&node).then(|| (node.to_owned(), claim))
    });
    let selected: Vec<_> = selected.collect();
    let (node, _) = selected.first()?.clone();
    let standings = selected.iter().map(|(_, claim)| standing(survey, claim));
    let standings: Vec<_> = standings.collect();
    let is_fault = |claim: &ClaimStanding| claim.code.severity() == Severity::Fault;
    if standings.iter().any(is_fault) {
        return Some(PodFacts::ClaimUnbindable { claims: standings }.into());
    }
    let claims = selected.into_iter().map(|(_, claim)| ClaimKey::of(claim));
    let claims = claims.collect();
    Some(PodFacts::WaitsForVolumes { node, claims }.into())
}

/// Whether a node is cordoned, or has a taint that keeps pods away.
fn is_kept_free(node: &Node) -> bool {
    let spec = node.unknown.get("spec");
    let field = |name: &str| spec.and_then(|spec| spec.get(name));
    let taints = field("taints").and_then(serde_json::Value::as_array);
    let mut effects = taints.into_iter().flatten().filter_map(|taint| {
        let effect = taint.get("effect");
        effect.and_then(serde_json::Value::as_str)
    });
    let is_cordoned = field("unschedulable").and_then(serde_json::Value::as_bool) == Some(true);
    is_cordoned || effects.any(|effect| matches!(effect, "NoSchedule" | "NoExecute"))
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

/// The zones and regions that the labels of bound volumes tie their pod to.
struct ZonesOfClaims(Vec<(ClaimKey, String, ZoneLabels)>);

impl ZonesOfClaims {
    fn of<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, claims: &PodClaims) -> Self {
        let zones = claims.bound.iter().filter_map(|claim| {
            let volume = survey.view.volume(claim.volume_name())?;
            let labels = ZoneLabels::of(&volume);
            (!labels.is_empty()).then(|| (ClaimKey::of(claim), volume.name().to_owned(), labels))
        });
        ZonesOfClaims(zones.collect())
    }

    /// Why the scheduler refuses a node for its zone or region.
    fn conflict(&self, node: &Node) -> Option<String> {
        self.0.iter().find_map(|(claim, volume, labels)| {
            let conflict = labels.conflict(node)?;
            Some(format!(
                "node `{}`: claim {claim} is bound to volume `{volume}`, {conflict}",
                node.name()
            ))
        })
    }
}
