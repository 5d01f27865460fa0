//! The segments that the nodes of a cluster make up.

use std::collections::BTreeSet;

use super::Segment;
use crate::api::Node;
use crate::view::ProvisioningView;

/// The segments of all nodes that have all these labels. Nodes of one segment
/// cost a look-up each; only its first node has it copied. Where most nodes are
/// segments of their own, looking up costs more than copying and is left out, so
/// a segment may come more than once.
pub(super) fn cluster_segments<V: ProvisioningView + ?Sized>(
    view: &V,
    keys: &BTreeSet<&str>,
) -> Vec<Segment> {
    /// So many segments are few in any cluster.
    const FEW: usize = 128;
    let mut seen = BTreeSet::new();
    let mut segments = Vec::new();
    // The values of one node, each with its length in front so that no two
    // lists of values look the same.
    let mut place = Vec::new();
    let mut nodes: usize = 0;
    view.visit_nodes(&mut |node| {
        nodes = nodes.saturating_add(1);
        if seen.len() > FEW && seen.len() > nodes / 2 {
            segments.extend(segment_of(node, keys));
            return;
        }
        let labels = node.metadata.labels();
        place.clear();
        for key in keys {
            let Some(value) = labels.get(*key) else {
                return;
            };
            place.extend_from_slice(&value.len().to_be_bytes());
            place.extend_from_slice(value.as_bytes());
        }
        if !seen.contains(&place) {
            seen.insert(place.clone());
            segments.extend(segment_of(node, keys));
        }
    });
    segments
}

pub(super) fn cluster_segments_plain<V: ProvisioningView + ?Sized>(
    view: &V,
    keys: &BTreeSet<&str>,
) -> Vec<Segment> {
    let mut segments = Vec::new();
    view.visit_nodes(&mut |node| segments.extend(segment_of(node, keys)));
    segments
}

/// The node's segment, if it has all the labels.
fn segment_of(node: &Node, keys: &BTreeSet<&str>) -> Option<Segment> {
    let labels = node.metadata.labels();
    let pairs: Option<Vec<_>> = keys
        .iter()
        .map(|key| Some((*key, labels.get(*key)?.as_str())))
        .collect();
    pairs.map(Segment::new)
}
