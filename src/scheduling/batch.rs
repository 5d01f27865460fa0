//! The volumes for a pod on several nodes at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::PodSearch;
use super::search::{Chosen, DelayedClaim};
use crate::api::{Node, PersistentVolume};
use crate::matching::{Found, LayeredNode, LayeredReach};
use crate::view::SchedulingView;

/// Some nodes, and what was chosen on each.
///
/// Every step is done for all of them before the next one. Most of the time of
/// a search is spent waiting for memory, and waits of nodes that do not depend
/// on each other overlap.
pub(super) struct Batch<'n, 'a> {
    nodes: Vec<&'n Node>,
    /// For each node the different reaches of the open claims.
    reaches: Vec<Vec<LayeredReach<'a>>>,
    /// For each node the volume of each open claim.
    chosen: Vec<Option<&'a Arc<PersistentVolume>>>,
    claims: usize,
    known: Known<'a>,
}

impl<'n, 'a> Batch<'n, 'a> {
    const MOST: usize = 16;

    pub(super) fn new<V: SchedulingView + ?Sized>(search: &PodSearch<'a, V>) -> Self {
        Batch::of(search, Self::MOST)
    }

    /// What is chosen on one node: nothing, if another one was selected.
    pub(super) fn alone<V: SchedulingView + ?Sized>(
        search: &PodSearch<'a, V>,
        node: &'n Node,
    ) -> Vec<Option<&'a Arc<PersistentVolume>>> {
        let mut batch = Batch::of(search, 1);
        batch.nodes.push(node);
        batch.search(search);
        batch.chosen
    }

    fn of<V: SchedulingView + ?Sized>(search: &PodSearch<'a, V>, most: usize) -> Self {
        let reaches = std::iter::repeat_with(|| search.no_reaches());
        Batch {
            nodes: Vec::with_capacity(most),
            reaches: reaches.take(most).collect(),
            chosen: Vec::with_capacity(most.saturating_mul(search.open.len())),
            claims: search.open.len(),
            known: Known::default(),
        }
    }

    /// Takes the next nodes; tells whether there are any.
    pub(super) fn fill(&mut self, nodes: &mut impl Iterator<Item = &'n Node>) -> bool {
        self.nodes.clear();
        self.nodes.extend(nodes.take(Self::MOST));
        !self.nodes.is_empty()
    }

    pub(super) fn search<V: SchedulingView + ?Sized>(&mut self, search: &PodSearch<'a, V>) {
        let nodes: Vec<Option<LayeredNode<'_>>> = (self.nodes.iter())
            .map(|node| {
                let is_elsewhere = search.selected_elsewhere(node).next().is_some();
                (!is_elsewhere).then(|| search.layers.node(node.metadata.labels()))
            })
            .collect();
        for (node, reaches) in nodes.iter().zip(&mut self.reaches) {
            if let Some(node) = node {
                reach(search, node, reaches);
            }
        }
        self.chosen.clear();
        for (node, reaches) in nodes.iter().zip(&self.reaches) {
            match node {
                Some(node) => self.known.choose(search, node, reaches, &mut self.chosen),
                None => self.chosen.extend(search.open.iter().map(|_| None)),
            }
        }
    }

    /// The nodes, with what was chosen on each.
    pub(super) fn chosen(&self) -> impl Iterator<Item = (&'n Node, Chosen<'_, 'a>)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.map(|(place, &node)| {
            let start = place.saturating_mul(self.claims);
            let chosen = self.chosen.get(start..).unwrap_or_default();
            (node, chosen.get(..self.claims).unwrap_or_default())
        })
    }
}

/// Finds the volumes that the open claims reach on a node.
pub(super) fn reach<'a, V: ?Sized>(
    search: &PodSearch<'a, V>,
    node: &LayeredNode<'_>,
    reaches: &mut [LayeredReach<'a>],
) {
    let mut reached = 0;
    for delayed in &search.open {
        if delayed.reach == reached
            && let Some(reach) = reaches.get_mut(reached)
        {
            delayed.search.reach(node, reach);
            reached += 1;
        }
    }
}

/// What was chosen on nodes before, where choosing takes long: nodes that reach
/// the same volumes share it.
#[derive(Default)]
struct Known<'a> {
    chosen: HashMap<Vec<usize>, Vec<Option<&'a Arc<PersistentVolume>>>>,
    /// How many words are kept, and how many may be.
    kept: usize,
    may_keep: usize,
    greedy: Greedy<'a>,
}

/// The choice that upstream makes: claim by claim, the smallest first, each its
/// smallest volume.
#[derive(Default)]
pub(super) struct Greedy<'a> {
    /// The volumes taken on the node at hand.
    taken: Taken<'a>,
    /// For each reach the last open volume that was taken for a claim without
    /// selector on the node at hand.
    last: Vec<Option<Found<'a>>>,
}

impl<'a> Greedy<'a> {
    /// Adds the volume that each of these claims finds on a node. They are
    /// sorted by size.
    pub(super) fn choose<'s>(
        &mut self,
        open: impl IntoIterator<Item = &'s DelayedClaim<'a>>,
        node: &LayeredNode<'_>,
        reaches: &[LayeredReach<'a>],
        chosen: &mut Vec<Option<&'a Arc<PersistentVolume>>>,
    ) where
        'a: 's,
    {
        self.taken.clear();
        self.last.clear();
        self.last.resize(reaches.len(), None);
        for delayed in open {
            let reach = reaches.get(delayed.reach);
            let Some((reach, last)) = reach.zip(self.last.get_mut(delayed.reach)) else {
                chosen.push(None);
                continue;
            };
            // What a claim without selector passed by, a larger one passes by
            // too.
            let is_choosy = delayed.claim.spec.selector.is_some();
            let after = last.filter(|_| !is_choosy);
            let is_free = |volume: &Arc<PersistentVolume>| !self.taken.contains(volume);
            let found = delayed.search.find(node, reach, after, is_free);
            chosen.push(found.map(|found| found.volume));
            if let Some(found) = found {
                self.taken.insert(found.volume);
                if !is_choosy && !found.is_reserved() {
                    *last = Some(found);
                }
            }
        }
    }
}

/// The volumes taken on a node: in a list while they are few.
#[derive(Default)]
struct Taken<'a> {
    few: Vec<&'a Arc<PersistentVolume>>,
    many: HashSet<*const PersistentVolume>,
}

impl<'a> Taken<'a> {
    const FEW: usize = 16;

    fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }

    fn insert(&mut self, volume: &'a Arc<PersistentVolume>) {
        if self.few.len() < Self::FEW {
            self.few.push(volume);
        } else {
            self.many.insert(Arc::as_ptr(volume));
        }
    }

    fn contains(&self, volume: &Arc<PersistentVolume>) -> bool {
        let mut few = self.few.iter();
        few.any(|taken| Arc::ptr_eq(taken, volume))
            || (!self.many.is_empty() && self.many.contains(&Arc::as_ptr(volume)))
    }
}

impl<'a> Known<'a> {
    /// A search among fewer volumes is as fast as finding its answer here.
    const WORTH_SHARING: usize = 64;
    /// Bounds the memory of a call by the number of nodes.
    const WORDS_PER_NODE: usize = 32;

    /// Adds the volumes that each open claim finds on a node, in order.
    fn choose<V: ?Sized>(
        &mut self,
        search: &PodSearch<'a, V>,
        node: &LayeredNode<'_>,
        reaches: &[LayeredReach<'a>],
        chosen: &mut Vec<Option<&'a Arc<PersistentVolume>>>,
    ) {
        self.may_keep = self.may_keep.saturating_add(Self::WORDS_PER_NODE);
        let key = key_of(search, node, reaches);
        if let Some(known) = key.as_ref().and_then(|key| self.chosen.get(key)) {
            chosen.extend_from_slice(known);
            return;
        }
        let start = chosen.len();
        self.greedy.choose(&search.open, node, reaches, chosen);
        if let Some(key) = key {
            self.keep(key, chosen.get(start..).unwrap_or_default());
        }
    }

    fn keep(&mut self, key: Vec<usize>, chosen: Chosen<'_, 'a>) {
        let words = key.len().saturating_add(chosen.len());
        if self.kept.saturating_add(words) > self.may_keep {
            self.chosen.clear();
            self.kept = 0;
        }
        if words <= self.may_keep {
            self.kept = self.kept.saturating_add(words);
            self.chosen.insert(key, chosen.to_vec());
        }
    }
}

/// What a node's answer depends on, if the answer is worth sharing.
fn key_of<'a, V: ?Sized>(
    search: &PodSearch<'a, V>,
    node: &LayeredNode<'_>,
    reaches: &[LayeredReach<'a>],
) -> Option<Vec<usize>> {
    let volumes = reaches.iter().map(LayeredReach::len);
    if volumes.sum::<usize>() < Known::WORTH_SHARING {
        return None;
    }
    let mut key = Vec::new();
    for reach in reaches {
        key.extend(reach.addresses());
        // An end, so that no two lists of reaches read the same.
        key.push(0);
    }
    let searches = search.open.iter().map(|delayed| &delayed.search);
    let reserved = searches.flat_map(|search| search.reserved_reachable(node));
    key.extend(reserved.map(usize::from));
    Some(key)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::Object;
    use crate::matching::Features;
    use crate::scheduling::{
        PodClaims, find_pod_volumes, find_pod_volumes_on_nodes, find_pod_volumes_plain,
    };
    use crate::view::Snapshot;

    fn volume(place: usize, size: usize, modes: &[&str]) -> Value {
        let label = if place.is_multiple_of(3) { "y" } else { "n" };
        json!({"kind": "PersistentVolume",
            "metadata": {"name": format!("pv-{place:05}"), "labels": {"x": label}},
            "spec": {"storageClassName": "local", "accessModes": modes,
                     "capacity": {"storage": size.to_string()}},
            "status": {"phase": "Available"}})
    }

    fn claim(place: usize, size: usize, modes: &[&str], selector: &Value) -> Value {
        json!({"kind": "PersistentVolumeClaim", "metadata": {"name": format!("c-{place}")},
            "spec": {"storageClassName": "local", "accessModes": modes, "selector": selector,
                     "resources": {"requests": {"storage": size.to_string()}}}})
    }

    fn world(objects: Vec<Value>) -> (Snapshot, PodClaims) {
        let class = json!({"kind": "StorageClass", "metadata": {"name": "local"},
            "volumeBindingMode": "WaitForFirstConsumer"});
        let objects = objects.into_iter().chain([class]);
        let snapshot: Snapshot = objects
            .map(|value| Object::from_value(value).unwrap())
            .collect();
        let claims = PodClaims {
            delayed: snapshot.claims().cloned().collect(),
            ..PodClaims::default()
        };
        (snapshot, claims)
    }

    #[test]
    fn many_claims_that_share_volumes_find_what_the_plain_form_finds() {
        let modes = [
            &["ReadWriteOnce"][..],
            &["ReadWriteOnce", "ReadOnlyMany"],
            &[],
        ];
        let selectors = [json!(null), json!(null), json!({"matchLabels": {"x": "y"}})];
        let mut objects = Vec::new();
        for place in 0..90 {
            objects.push(volume(place, place * 7 % 31, modes[place % 2]));
        }
        for place in 0..60 {
            let (modes, selector) = (modes[place % 3], &selectors[place / 2 % 3]);
            objects.push(claim(place, place * 5 % 23, modes, selector));
        }
        let (snapshot, claims) = world(objects);
        let node = Node::default();
        let plain = find_pod_volumes_plain(&claims, &node, &snapshot, Features::default());
        assert_eq!(plain.as_ref().unwrap().static_bindings.len(), 60);
        assert_eq!(
            find_pod_volumes(&claims, &node, &snapshot, Features::default()),
            plain
        );
    }

    #[test]
    fn thousands_of_equal_claims_end() {
        let n = 4_000;
        let volumes = (0..n).map(|place| volume(place, 5, &[]));
        let claims = (0..n).map(|place| claim(place, 1, &[], &json!(null)));
        let (snapshot, claims) = world(volumes.chain(claims).collect());
        let found =
            find_pod_volumes(&claims, &Node::default(), &snapshot, Features::default()).unwrap();
        assert_eq!(found.static_bindings.len(), n);
        let names: Vec<_> = found
            .static_bindings
            .iter()
            .map(|b| b.volume.name())
            .collect();
        assert!(names.is_sorted(), "each takes the next one");
    }

    #[test]
    fn more_nodes_than_are_looked_at_side_by_side_keep_their_order() {
        let objects = (0..40).map(|place| {
            let mut volume = volume(place, 5, &[]);
            volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In",
                                       "values": [format!("host-{place}")]}]}]}});
            volume
        });
        let (snapshot, claims) = world(objects.chain([claim(0, 1, &[], &json!(null))]).collect());
        let node = |place: usize| -> Node {
            let name = format!("host-{place}");
            serde_json::from_value(json!({"metadata": {
                "name": name, "labels": {"kubernetes.io/hostname": name}}}))
            .unwrap()
        };
        let nodes: Vec<_> = (0..41).map(node).collect();
        let found = find_pod_volumes_on_nodes(&claims, &nodes, &snapshot, Features::default());
        assert_eq!(found.len(), 41);
        for (place, found) in found.into_iter().map(Result::unwrap).enumerate() {
            let names: Vec<_> = found
                .static_bindings
                .iter()
                .map(|b| b.volume.name())
                .collect();
            let own = format!("pv-{place:05}");
            assert_eq!(
                names,
                if place < 40 {
                    vec![own.as_str()]
                } else {
                    vec![]
                }
            );
        }
    }
}
