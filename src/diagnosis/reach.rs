//! Which nodes an affinity or topology reaches.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::zone::{ZONE_LABELS, ZoneLabel, ZoneLabels};
use crate::api::{Node, NodeSelector, TopologySelectorTerm};
use crate::selector::{CompiledNodeSelector, CompiledTopology};

/// All nodes, and those of each label.
#[derive(Debug)]
pub(super) struct Nodes {
    nodes: Vec<Arc<Node>>,
    by_label: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
    /// One node for each combination of zone and region that there is, by what
    /// it has of each of their labels, in the order of [`ZONE_LABELS`].
    by_zone: [BTreeMap<Option<String>, Vec<usize>>; 4],
    /// Whether some node has no zone and no region.
    is_without_zones: bool,
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
        let numbered = nodes.iter().enumerate();
        let combinations: BTreeMap<_, _> = numbered.map(|(at, node)| (zones(node), at)).collect();
        let mut by_zone: [BTreeMap<_, Vec<_>>; 4] = Default::default();
        let is_without_zones = combinations.contains_key(&[const { None }; 4]);
        for (values, place) in combinations {
            for (value, places) in values.into_iter().zip(&mut by_zone) {
                places.entry(value).or_default().push(place);
            }
        }
        Nodes {
            nodes,
            by_label,
            by_zone,
            is_without_zones,
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

    /// Whether the scheduler takes some node for one that is in these zones; if
    /// none, the label that the fewest nodes satisfy.
    pub(super) fn any_in<'z>(&self, zones: &'z ZoneLabels) -> Result<(), &'z ZoneLabel> {
        let places_of = |zone: &'z ZoneLabel| {
            let indexes = ZONE_LABELS.iter().zip(&self.by_zone);
            let indexes = indexes.filter(|((label, _), _)| zone.counts(label));
            indexes.flat_map(|(_, index)| {
                let values = zone.values.iter();
                values.filter_map(|value| index.get(&Some(value.clone())))
            })
        };
        let count = |zone: &&'z ZoneLabel| places_of(zone).map(Vec::len).sum::<usize>();
        let Some(zone) = zones.iter().min_by_key(count) else {
            return Ok(());
        };
        let nodes = places_of(zone).flatten();
        let mut nodes = nodes.filter_map(|place| self.nodes.get(*place));
        let is_there = self.is_without_zones || nodes.any(|node| zones.conflict(node).is_none());
        if is_there { Ok(()) } else { Err(zone) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_zone_is_found_where_some_node_does_not_conflict() {
        let mut state = 5_u64;
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from((state >> 33) % limit).unwrap()
        };
        let mut found = [0, 0];
        for _ in 0..2_000 {
            let mut labels = |values: &[Option<&str>]| {
                let few: BTreeMap<&str, &str> = ZONE_LABELS
                    .iter()
                    .filter_map(|(label, _)| {
                        let value = values[below(values.len().try_into().unwrap())]?;
                        Some((*label, value))
                    })
                    .collect();
                json!({"metadata": {"labels": few}})
            };
            let volume = labels(&[None, Some("a"), Some("a__b"), Some("z"), Some("")]);
            let volume = serde_json::from_value(volume).unwrap();
            let nodes: Vec<Arc<Node>> = (0..4)
                .map(|_| labels(&[None, Some("a"), Some("b"), Some("c")]))
                .map(|node| Arc::new(serde_json::from_value(node).unwrap()))
                .collect();
            let zones = ZoneLabels::of(&volume);
            let plain = nodes.iter().any(|node| zones.conflict(node).is_none());
            assert_eq!(Nodes::new(nodes).any_in(&zones).is_ok(), plain);
            found[usize::from(plain)] += 1;
        }
        assert!(found.iter().all(|count| *count > 200), "{found:?}");
    }
}
