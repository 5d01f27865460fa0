//! More nodes of a kind that is there.

use std::collections::BTreeSet;
use std::sync::Arc;

use pvbind::api::{Node, PersistentVolume, VolumePhase, names};
use pvbind::view::Snapshot;

/// Nodes that are not there yet, and their volumes.
pub struct Addition {
    pub original: String,
    pub nodes: Vec<Arc<Node>>,
    pub volumes: Vec<Arc<PersistentVolume>>,
}

/// Copies of a node. Each has a name and host name of its own, in every label
/// whose value is the original's; and a copy, open and unused, of every volume
/// that is pinned to the original by such a label.
pub fn copies(snapshot: &Snapshot, node: Option<&str>, count: u32) -> Result<Addition, String> {
    let original = match node {
        Some(name) => snapshot
            .nodes()
            .find(|node| node.name() == name)
            .ok_or_else(|| format!("there is no node `{name}`"))?,
        None => default_node(snapshot).ok_or("there is no node to copy")?,
    };
    let taken: BTreeSet<_> = snapshot.nodes().map(|node| node.name()).collect();
    let mut addition = Addition {
        original: original.name().to_owned(),
        nodes: Vec::new(),
        volumes: Vec::new(),
    };
    let names = (1..).map(|number| format!("{}-copy-{number}", original.name()));
    let free = names.filter(|name| !taken.contains(name.as_str()));
    for name in free.take(count as usize) {
        let suffix = name.strip_prefix(original.name()).unwrap_or_default();
        addition.nodes.push(Arc::new(node_copy(original, &name)));
        let local = snapshot
            .volumes()
            .iter()
            .filter(|volume| is_pinned(volume, original));
        let copies = local.map(|volume| Arc::new(volume_copy(volume, original, &name, suffix)));
        addition.volumes.extend(copies);
    }
    Ok(addition)
}

impl Addition {
    /// A cluster with the additions.
    pub fn added_to(&self, snapshot: &Snapshot) -> Snapshot {
        let mut larger = Snapshot::new();
        larger.replace_all(snapshot.volumes().iter().chain(&self.volumes).cloned());
        larger.replace_all(snapshot.nodes().chain(&self.nodes).cloned());
        larger.replace_all(snapshot.claims().cloned());
        larger.replace_all(snapshot.classes().cloned());
        larger.replace_all(snapshot.pods().cloned());
        larger.replace_all(snapshot.csi_drivers().cloned());
        larger.replace_all(snapshot.csi_nodes().cloned());
        larger.replace_all(snapshot.capacities().cloned());
        larger
    }
}

fn default_node(snapshot: &Snapshot) -> Option<&Arc<Node>> {
    let volumes = snapshot.volumes().iter();
    let asked: BTreeSet<&str> = volumes.flat_map(|volume| asked_values(volume)).collect();
    let has_volumes = |node: &&Arc<Node>| {
        let mut volumes = snapshot.volumes().iter();
        identities(node).any(|identity| asked.contains(identity))
            && volumes.any(|volume| is_pinned(volume, node))
    };
    let pinned = snapshot.nodes().find(has_volumes);
    pinned.or_else(|| snapshot.nodes().next())
}

/// The label values that a volume's affinity names.
fn asked_values(volume: &PersistentVolume) -> impl Iterator<Item = &str> {
    let required = volume.required_node_affinity();
    let terms = required.and_then(|required| required.node_selector_terms.as_ref());
    terms
        .into_iter()
        .flatten()
        .flat_map(|term| term.match_expressions.iter().flatten())
        .flat_map(|expression| expression.values.iter().flatten())
        .map(String::as_str)
}

/// The values that tell the node from others.
fn identities(node: &Node) -> impl Iterator<Item = &str> {
    let host = node.metadata.labels().get(names::HOSTNAME_LABEL);
    std::iter::once(node.name()).chain(host.map(String::as_str))
}

fn is_identity(node: &Node, value: &str) -> bool {
    identities(node).any(|identity| identity == value)
}

/// Whether every term of the volume's affinity asks for this node by a label.
fn is_pinned(volume: &PersistentVolume, node: &Node) -> bool {
    let Some(terms) = volume
        .required_node_affinity()
        .and_then(|required| required.node_selector_terms.as_ref())
    else {
        return false;
    };
    let labels = node.metadata.labels();
    !terms.is_empty()
        && terms.iter().all(|term| {
            term.match_expressions.iter().flatten().any(|expression| {
                let key = expression.key.as_deref().unwrap_or_default();
                let values = expression.values.as_deref().unwrap_or_default();
                expression
                    .operator
                    .as_ref()
                    .is_some_and(|operator| operator.as_str() == "In")
                    && values.len() == 1
                    && labels.get(key) == Some(&values[0])
                    && is_identity(node, &values[0])
            })
        })
}

fn node_copy(original: &Node, name: &str) -> Node {
    let mut copy = original.clone();
    for value in copy
        .metadata
        .labels
        .iter_mut()
        .flat_map(|labels| labels.values_mut())
    {
        if is_identity(original, value) {
            *value = name.to_owned();
        }
    }
    copy.metadata.name = Some(name.to_owned());
    copy.metadata.uid = None;
    copy
}

fn volume_copy(
    volume: &PersistentVolume,
    node: &Node,
    host: &str,
    suffix: &str,
) -> PersistentVolume {
    let mut copy = volume.clone();
    copy.metadata.name = Some(format!("{}{suffix}", volume.name()));
    copy.metadata.uid = None;
    copy.metadata.deletion_timestamp = None;
    copy.spec.claim_ref = None;
    copy.status.phase = Some(VolumePhase::Available);
    let affinity = copy.spec.node_affinity.as_mut();
    let required = affinity.and_then(|affinity| affinity.required.as_mut());
    let terms = required.and_then(|required| required.node_selector_terms.as_mut());
    let expressions = terms
        .into_iter()
        .flatten()
        .flat_map(|term| term.match_expressions.iter_mut().flatten());
    for value in expressions.flat_map(|expression| expression.values.iter_mut().flatten()) {
        if is_identity(node, value) {
            *value = host.to_owned();
        }
    }
    copy
}
