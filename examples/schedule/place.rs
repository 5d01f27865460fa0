//! Where pods can go.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use pvbind::api::{Node, NodeSelector, PersistentVolumeClaim, Pod};
use pvbind::matching::Features;
use pvbind::scheduling::{
    AccessConflict, Assumptions, Obstacle, PodClaims, PodSearch, PodVolumes, PoolRoom, ScoreShape,
    check_access, pre_filter, utilization_score, wasted_bytes,
};
use pvbind::selector::node_selector_matches;
use pvbind::view::{ClusterView as _, SchedulingView, Snapshot};

/// A node that was found for a pod, with its volumes there.
pub type Place = Option<(String, PodVolumes)>;

/// Up to so many nodes are told one by one.
const FEW_NODES: usize = 10;

/// What becomes of a pod.
pub enum Verdict {
    /// No node will do before this has changed.
    Refused(String),
    /// The pod uses no claims.
    NoClaims,
    /// What becomes of it on the nodes, first those that will do.
    Nodes(Vec<Group>),
}

/// Nodes with the same verdict, by name.
pub struct Group {
    pub nodes: Vec<String>,
    pub verdict: NodeVerdict,
    /// What stands in the way on the first of these nodes.
    pub obstacles: Vec<Obstacle>,
}

/// What becomes of a pod on a node.
#[derive(PartialEq)]
pub enum NodeVerdict {
    Fits {
        volumes: PodVolumes,
        score: i64,
        /// Pods in the way of ReadWriteOnce, which no scheduler looks at.
        advice: Vec<AccessConflict>,
    },
    /// The reasons.
    Unfit(Vec<String>),
}

impl NodeVerdict {
    pub fn fits(&self) -> bool {
        matches!(self, NodeVerdict::Fits { .. })
    }
}

pub fn verdict(pod: &Pod, snapshot: &Snapshot, together: bool, all: bool) -> Verdict {
    let claims = match pre_filter(pod, snapshot) {
        Ok(claims) if claims.is_empty() => return Verdict::NoClaims,
        Ok(claims) => claims,
        Err(refusal) => return Verdict::Refused(refusal.to_string()),
    };
    let search = PodSearch::new(&claims, snapshot, Features::default());
    let verdicts = on_nodes(pod, &claims, &search, snapshot, together);
    let is_each = all || snapshot.nodes().count() <= FEW_NODES;
    let mut groups: Vec<Group> = Vec::new();
    // By the reasons; what fits in another way stands by itself.
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (node, verdict) in snapshot.nodes().zip(verdicts) {
        let key = match &verdict {
            _ if is_each => format!("{}", groups.len()),
            NodeVerdict::Unfit(reasons) => format!("{reasons:?}"),
            NodeVerdict::Fits {
                volumes, advice, ..
            } if volumes.static_bindings.is_empty() => {
                let pools = volumes
                    .dynamic_provisions
                    .iter()
                    .map(|provision| provision.capacity.as_ref().map(|pool| pool.metadata.key()));
                format!("fits {:?} {advice:?}", pools.collect::<Vec<_>>())
            }
            NodeVerdict::Fits { .. } => format!("fits {}", groups.len()),
        };
        if let Some(&place) = known.get(&key) {
            groups[place].nodes.push(node.name().to_owned());
            continue;
        }
        known.insert(key, groups.len());
        let obstacles = match verdict.fits() || together {
            true => Vec::new(),
            false => search.explain(node),
        };
        groups.push(Group {
            nodes: vec![node.name().to_owned()],
            verdict,
            obstacles,
        });
    }
    if !is_each {
        groups.sort_by_key(|group| match &group.verdict {
            NodeVerdict::Fits { score, volumes, .. } => {
                (Reverse(*score), wasted_bytes(&volumes.static_bindings))
            }
            NodeVerdict::Unfit(_) => (Reverse(-1), 0),
        });
    }
    Verdict::Nodes(groups)
}

/// What becomes of the pod on each node, in the order of their names.
fn on_nodes<V: SchedulingView>(
    pod: &Pod,
    claims: &PodClaims,
    search: &PodSearch<'_, V>,
    snapshot: &Snapshot,
    together: bool,
) -> Vec<NodeVerdict> {
    let users: Vec<_> = all(claims)
        .map(|claim| users(claim, pod, snapshot))
        .collect();
    let nodes = || snapshot.nodes().map(|node| &**node);
    let found = match together {
        true => nodes()
            .map(|node| search.assign_on_node(node, PoolRoom::Shared))
            .collect(),
        false => search.on_nodes(nodes()),
    };
    let verdicts = nodes().zip(found).map(|(node, found)| {
        let mut reasons = Vec::new();
        if !is_wanted(pod, node) {
            reasons.push("node(s) didn't match Pod's node affinity/selector".to_owned());
        }
        let (conflicts, advice): (Vec<_>, Vec<_>) = all(claims)
            .zip(&users)
            .filter_map(|(claim, users)| check_access(claim, node.name(), users).err())
            .partition(AccessConflict::is_enforced);
        reasons.extend(conflicts.iter().map(AccessConflict::to_string));
        match found {
            Ok(volumes) if volumes.fits() && reasons.is_empty() => {
                let score = utilization_score(&volumes.static_bindings, &ScoreShape::default());
                return NodeVerdict::Fits {
                    volumes,
                    score,
                    advice,
                };
            }
            Ok(volumes) => reasons.extend(volumes.reasons().map(|reason| reason.to_string())),
            Err(error) => reasons.push(error.to_string()),
        }
        NodeVerdict::Unfit(reasons)
    });
    verdicts.collect()
}

/// The other pods that name the claim.
fn users(claim: &PersistentVolumeClaim, pod: &Pod, snapshot: &Snapshot) -> Vec<Pod> {
    let (namespace, name) = (claim.metadata.namespace(), claim.metadata.name());
    let mut users = Vec::new();
    snapshot.visit_pods_using_claim(namespace, name, &mut |user| {
        if user.metadata.key() != pod.metadata.key() {
            users.push(user.clone());
        }
    });
    users
}

fn all(claims: &PodClaims) -> impl Iterator<Item = &Arc<PersistentVolumeClaim>> {
    claims.bound.iter().chain(&claims.delayed)
}

/// Whether the pod's own node selector and required affinity take the node.
fn is_wanted(pod: &Pod, node: &Node) -> bool {
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
pub fn one_after_another(pods: &[Arc<Pod>], snapshot: &Snapshot, together: bool) -> Vec<Place> {
    let mut assumptions = Assumptions::new();
    let mut places = Vec::new();
    for pod in pods {
        let view = assumptions.over(snapshot);
        let Ok(claims) = pre_filter(pod, &view) else {
            places.push(None);
            continue;
        };
        let search = PodSearch::new(&claims, &view, Features::default());
        let verdicts = on_nodes(pod, &claims, &search, snapshot, together);
        let fitting = snapshot
            .nodes()
            .zip(verdicts)
            .filter_map(|(node, verdict)| match verdict {
                NodeVerdict::Fits { volumes, score, .. } => {
                    let waste = wasted_bytes(&volumes.static_bindings);
                    Some((Reverse(score), waste, node.name(), volumes))
                }
                NodeVerdict::Unfit(_) => None,
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
