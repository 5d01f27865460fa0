//! Which nodes an affinity or topology reaches.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::zone::ZONE_LABELS;
use crate::api::{Node, NodeSelector, TopologySelectorTerm};
use crate::selector::{CompiledNodeSelector, CompiledTopology};

/// All nodes, and those of each label.
#[derive(Debug)]
pub(super) struct Nodes {
    nodes: Vec<Arc<Node>>,
    by_label: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
    /// One for each combination of zone and region.
    of_zones: Vec<usize>,
}

impl Nodes {
    pub(super) fn new(nodes: impl IntoIterator<Item = Arc<Node>>) -> Self {
        let mut nodes: Vec<_> = nodes.into_iter().collect();
        nodes.sort_by(|a, b| a.name().cmp(b.name()));
        let mut by_label: BTreeMap<String, BTreeMap<String, Vec<usize>>> = BTreeMap::new();
        for (place, node) in nodes.iter().enumerate() {
            for (key, value) in node.metadata.labels() {
                let values = by_label.entry(key.clone()).or_default();
                values.entry(value.clone()).or_default().push(place);
            }
        }
        let zones =
            |node: &Node| ZONE_LABELS.map(|(label, _)| node.metadata.labels().get(label).cloned());
        let of_zones: BTreeMap<_, _> = (0..)
            .zip(&nodes)
            .map(|(at, node)| (zones(node), at))
            .collect();
        let of_zones = of_zones.into_values().collect();
        Nodes {
            nodes,
            by_label,
            of_zones,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// By name.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().map(|node| &**node)
    }

    pub(super) fn first(&self) -> Option<&Node> {
        self.nodes.first().map(|node| &**node)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        let place = self.nodes.binary_search_by(|node| node.name().cmp(name));
        place
            .ok()
            .and_then(|place| self.nodes.get(place))
            .map(|node| &**node)
    }

    /// How many nodes have this label with this value.
    pub(super) fn with_label(&self, key: &str, value: &str) -> usize {
        let places = self.by_label.get(key).and_then(|values| values.get(value));
        places.map_or(0, Vec::len)
    }

    /// One node for each combination of zone and region.
    pub(super) fn of_zones(&self) -> impl Iterator<Item = &Node> {
        let nodes = self.of_zones.iter();
        nodes.filter_map(|place| self.nodes.get(*place).map(|node| &**node))
    }

    /// The values that nodes have of a label.
    pub(super) fn values(&self, label: &str) -> impl Iterator<Item = &str> {
        let values = self.by_label.get(label);
        values
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(String::as_str)
    }

    /// Whether some node can reach a volume with this affinity.
    pub(super) fn any_reaches(&self, required: &NodeSelector) -> bool {
        let compiled = CompiledNodeSelector::compile(required);
        let reaches = |node: &Node| compiled.matches(node.metadata.labels(), None) == Ok(true);
        // If every term names values of some label, only nodes with those can.
        let named: Option<Vec<_>> = compiled
            .terms()
            .iter()
            .filter(|term| term.error().is_none() && !term.is_empty())
            .map(|term| {
                let requirements = term.requirements().iter();
                let mut listing = requirements.filter_map(|requirement| {
                    let values = requirement.required_values()?;
                    Some((requirement.key(), values))
                });
                listing.next()
            })
            .collect();
        let Some(named) = named else {
            return self.iter().any(reaches);
        };
        let places = named.into_iter().flat_map(|(key, values)| {
            let by_value = self.by_label.get(key);
            let values = values.iter();
            values
                .filter_map(move |value| by_value?.get(value.as_str()))
                .flatten()
        });
        let mut nodes = places.filter_map(|place| self.nodes.get(*place));
        nodes.any(|node| reaches(node))
    }

    /// Whether some node is in these topologies.
    pub(super) fn any_allowed(&self, terms: &[TopologySelectorTerm]) -> bool {
        let compiled = CompiledTopology::compile(terms);
        self.iter()
            .any(|node| compiled.matches(node.metadata.labels()))
    }
}
