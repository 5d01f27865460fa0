//! Where pods can go.

use std::cmp::Reverse;
use std::sync::Arc;

use pvbind::api::{Node, NodeSelector, PersistentVolumeClaim, Pod};
use pvbind::scheduling::{
    AccessConflict, Assumptions, PodClaims, PodSearch, PodVolumes, PoolRoom, ScoreShape,
    check_access, pre_filter, utilization_score, wasted_bytes,
};
use pvbind::selector::node_selector_matches;
use pvbind::view::{SchedulingView, Snapshot};

/// What becomes of a pod.
pub enum Verdict {
    /// No node will do before this has changed.
    Refused(String),
    /// The pod uses no claims.
    NoClaims,
    /// An answer for each node, by name.
    Nodes(Vec<(Arc<Node>, NodeVerdict)>),
}

/// What becomes of a pod on a node.
pub enum NodeVerdict {
    Fits {
        volumes: PodVolumes,
        score: i64,
        /// Pods in the way of ReadWriteOnce, which no scheduler looks at.
        advice: Vec<AccessConflict>,
    },
    /// The reasons, and the facts behind them.
    Unfit(Vec<String>, Vec<String>),
}

pub fn verdict(pod: &Pod, snapshot: &Snapshot, together: bool) -> Verdict {
    let claims = match pre_filter(pod, snapshot) {
        Ok(claims) if claims.is_empty() => return Verdict::NoClaims,
        Ok(claims) => claims,
        Err(refusal) => return Verdict::Refused(refusal.to_string()),
    };
    let search = PodSearch::new(&claims, snapshot, true);
    let nodes = snapshot.nodes().map(|node| {
        let verdict = on_node(pod, &claims, &search, node, snapshot, together);
        (Arc::clone(node), verdict)
    });
    Verdict::Nodes(nodes.collect())
}

fn on_node<V: SchedulingView>(
    pod: &Pod,
    claims: &PodClaims,
    search: &PodSearch<'_, V>,
    node: &Node,
    snapshot: &Snapshot,
    together: bool,
) -> NodeVerdict {
    let mut reasons = Vec::new();
    if !is_wanted(pod, node) {
        reasons.push("node(s) didn't match Pod's node affinity/selector".to_owned());
    }
    let (conflicts, advice): (Vec<_>, Vec<_>) = all(claims)
        .filter_map(|claim| {
            let others = snapshot.pods().map(|other| &**other);
            let others = others.filter(|other| other.metadata.key() != pod.metadata.key());
            check_access(claim, node.name(), others).err()
        })
        .partition(AccessConflict::is_enforced);
    reasons.extend(conflicts.iter().map(AccessConflict::to_string));
    let found = if together {
        search.assign_on_node(node, PoolRoom::Shared)
    } else {
        search.on_node(node)
    };
    let mut facts = Vec::new();
    match found {
        Ok(volumes) if volumes.fits() && reasons.is_empty() => {
            let score = utilization_score(&volumes.static_bindings, &ScoreShape::default());
            return NodeVerdict::Fits {
                volumes,
                score,
                advice,
            };
        }
        Ok(volumes) => {
            reasons.extend(volumes.reasons().map(|reason| reason.to_string()));
            if !volumes.fits() && !together {
                facts.extend(search.explain(node).iter().map(ToString::to_string));
            }
        }
        Err(error) => reasons.push(error.to_string()),
    }
    NodeVerdict::Unfit(reasons, facts)
}

fn all(claims: &PodClaims) -> impl Iterator<Item = &Arc<PersistentVolumeClaim>> {
    claims.bound.iter().chain(&claims.delayed)
}

/// Whether the pod's own node selector and required affinity take the node.
pub fn is_wanted(pod: &Pod, node: &Node) -> bool {
    let labels = node.metadata.labels();
    let mut selector = pod.spec.node_selector.iter().flatten();
    let affinity = pod.spec.affinity.as_ref();
    let required: Option<&NodeSelector> = affinity
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|nodes| {
            nodes
                .required_during_scheduling_ignored_during_execution
                .as_ref()
        });
    selector.all(|(key, value)| labels.get(key) == Some(value))
        && required.is_none_or(|required| {
            node_selector_matches(required, labels, Some(node.name())) == Ok(true)
        })
}

/// The pods that find a node if they are placed one after another, each where
/// its volumes are used best, then where fewest bytes are wasted, then on the
/// node that comes first by name. What an earlier pod takes is gone for the
/// later ones; the room in capacity pools is not counted down.
pub fn one_after_another(
    pods: &[Arc<Pod>],
    snapshot: &Snapshot,
    together: bool,
) -> Vec<Option<(String, PodVolumes)>> {
    let mut assumptions = Assumptions::new();
    let mut places = Vec::new();
    for pod in pods {
        let view = assumptions.over(snapshot);
        let Ok(claims) = pre_filter(pod, &view) else {
            places.push(None);
            continue;
        };
        let search = PodSearch::new(&claims, &view, true);
        let fitting = snapshot.nodes().filter_map(|node| {
            match on_node(pod, &claims, &search, node, snapshot, together) {
                NodeVerdict::Fits { volumes, score, .. } => {
                    let waste = wasted_bytes(&volumes.static_bindings);
                    Some((Reverse(score), waste, node.name(), volumes))
                }
                NodeVerdict::Unfit(..) => None,
            }
        });
        let best = fitting.min_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
        let place = best.map(|(_, _, node, volumes)| (node.to_owned(), volumes));
        if let Some((node, volumes)) = &place {
            let (_kept, _plan) = assumptions.assume(pod, &claims, node, volumes);
        }
        places.push(place);
    }
    places
}
