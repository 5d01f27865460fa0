//! Node affinities, each kept once and evaluated once per node.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use crate::api::{NodeSelector, NodeSelectorOperator, PersistentVolume, names};
use crate::selector::{CompiledNodeSelector, CompiledTerm};

/// The number of a node affinity in [`Affinities`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct AffinityId(u32);

impl AffinityId {
    /// The volume has no node affinity: every node can reach it.
    pub(super) const ANYWHERE: AffinityId = AffinityId(u32::MAX);
}

/// A hash map by the number of an affinity. Nobody outside chooses the numbers,
/// so that they need no protection from those who would make them collide.
pub(super) type ByAffinity<T> = HashMap<AffinityId, T, BuildHasherDefault<NumberHasher>>;

/// Spreads a small number over all bits.
#[derive(Clone, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u32(&mut self, number: u32) {
        // 2^64 over the golden ratio, odd: no two numbers become one.
        let spread = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = spread ^ (spread >> 32);
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
}

/// All different node affinities of the volumes in the index.
#[derive(Clone, Debug, Default)]
pub(super) struct Affinities {
    entries: Vec<Known>,
    unused: Vec<AffinityId>,
    /// By the text of the written affinity.
    by_text: HashMap<Box<str>, AffinityId>,
    /// Affinities of the common form, one `In` on one key with one value.
    by_pair: BTreeMap<Box<str>, HashMap<Box<str>, AffinityId>>,
    /// Key and value of a label to the affinities that a node *can only* match
    /// if it has that label.
    candidates: BTreeMap<Box<str>, HashMap<Box<str>, Candidates>>,
}

#[derive(Clone, Debug)]
struct Known {
    users: usize,
    compiled: CompiledNodeSelector,
    written: Written,
    finding: Finding,
}

/// How an affinity is found again when a volume brings it.
#[derive(Clone, Debug)]
enum Written {
    Pair(Box<str>, Box<str>),
    Text(Box<str>),
}

/// How the affinities are found that may match a node.
#[derive(Clone, Debug)]
enum Finding {
    /// Under any of these labels.
    Labels(Vec<(Box<str>, Box<str>)>),
    /// It must always be evaluated.
    Always,
    /// It matches no node at all.
    Never,
}

/// An affinity that a node may match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) affinity: AffinityId,
    /// Whether the label that led to it is all that it asks for.
    pub(super) is_certain: bool,
}

/// The affinities behind one label. Nearly always one, which then needs no
/// memory of its own.
#[derive(Clone, Debug)]
enum Candidates {
    One(Candidate),
    Many(Vec<Candidate>),
}

impl Candidates {
    fn as_slice(&self) -> &[Candidate] {
        match self {
            Candidates::One(candidate) => std::slice::from_ref(candidate),
            Candidates::Many(candidates) => candidates,
        }
    }

    fn push(&mut self, candidate: Candidate) {
        match self {
            Candidates::One(first) => *self = Candidates::Many(vec![*first, candidate]),
            Candidates::Many(candidates) => candidates.push(candidate),
        }
    }

    /// Takes an affinity out; tells whether none is left.
    fn remove(&mut self, affinity: AffinityId) -> bool {
        match self {
            Candidates::One(candidate) => candidate.affinity == affinity,
            Candidates::Many(candidates) => {
                candidates.retain(|candidate| candidate.affinity != affinity);
                candidates.is_empty()
            }
        }
    }
}

/// The affinities that a node may match, by its labels; see
/// [`Affinities::candidates`].
#[derive(Clone, Default)]
pub(super) struct NodeCandidates<'a> {
    /// Those of the first label that leads to any: the host name, as a rule,
    /// and no other.
    first: &'a [Candidate],
    more: Vec<&'a [Candidate]>,
}

impl NodeCandidates<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = Candidate> {
        let more = self.more.iter().copied().flatten();
        self.first.iter().chain(more).copied()
    }
}

impl Affinities {
    /// The affinities found by a label of the node. Each that is
    /// not certain has still to be evaluated with [`Affinities::matches`]; one
    /// may come more than once.
    pub(super) fn candidates(&self, labels: &BTreeMap<String, String>) -> NodeCandidates<'_> {
        let mut lists = self.candidates.iter().filter_map(|(key, values)| {
            let value = labels.get(key.as_ref())?;
            values.get(value.as_str()).map(Candidates::as_slice)
        });
        NodeCandidates {
            first: lists.next().unwrap_or_default(),
            more: lists.collect(),
        }
    }

    /// Whether a node with these labels matches the affinity. An affinity that
    /// cannot be parsed does not match.
    pub(super) fn matches(&self, id: AffinityId, labels: &BTreeMap<String, String>) -> bool {
        self.entry(id)
            .is_none_or(|entry| match (&entry.finding, &entry.written) {
                (Finding::Never, _) => false,
                (_, Written::Pair(key, value)) => {
                    labels.get(key.as_ref()).map(String::as_str) == Some(value.as_ref())
                }
                (_, Written::Text(_)) => entry.compiled.matches(labels, None) == Ok(true),
            })
    }

    /// Whether no label leads to the affinity, so that it must be evaluated for
    /// every node.
    pub(super) fn is_always_evaluated(&self, id: AffinityId) -> bool {
        self.entry(id)
            .is_some_and(|entry| matches!(entry.finding, Finding::Always))
    }

    /// The number of a volume's affinity, which is entered if it is new.
    pub(super) fn enter(&mut self, volume: &PersistentVolume) -> AffinityId {
        let Some(required) = volume.required_node_affinity() else {
            return AffinityId::ANYWHERE;
        };
        if let Some(id) = self.find(required) {
            if let Some(entry) = self.entries.get_mut(id.0 as usize) {
                entry.users = entry.users.saturating_add(1);
            }
            return id;
        }
        self.add(required)
    }

    /// The number of a volume's affinity, if it has been entered.
    pub(super) fn id_of(&self, volume: &PersistentVolume) -> Option<AffinityId> {
        match volume.required_node_affinity() {
            None => Some(AffinityId::ANYWHERE),
            Some(required) => self.find(required),
        }
    }

    /// One volume less has this affinity; the last one takes it along.
    pub(super) fn leave(&mut self, id: AffinityId) {
        let Some(entry) = self.entries.get_mut(id.0 as usize) else {
            return;
        };
        entry.users = entry.users.saturating_sub(1);
        if entry.users > 0 {
            return;
        }
        match entry.written.clone() {
            Written::Pair(key, value) => remove_from(&mut self.by_pair, &key, &value, |_| true),
            Written::Text(text) => {
                self.by_text.remove(&text);
            }
        }
        if let Finding::Labels(labels) = entry.finding.clone() {
            for (key, value) in labels {
                remove_from(&mut self.candidates, &key, &value, |ids| ids.remove(id));
            }
        }
        self.unused.push(id);
    }

    fn entry(&self, id: AffinityId) -> Option<&Known> {
        self.entries.get(id.0 as usize)
    }

    fn find(&self, required: &NodeSelector) -> Option<AffinityId> {
        match single_pair(required) {
            Some((key, value)) => self.by_pair.get(key)?.get(value).copied(),
            None => self.by_text.get(text_of(required).as_str()).copied(),
        }
    }

    fn add(&mut self, required: &NodeSelector) -> AffinityId {
        let id = self.unused.pop().unwrap_or_else(|| {
            // More than 2^32 - 1 different affinities do not fit into memory.
            AffinityId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX))
        });
        let written = match single_pair(required) {
            Some((key, value)) => {
                let values = self.by_pair.entry(key.into()).or_default();
                values.insert(value.into(), id);
                Written::Pair(key.into(), value.into())
            }
            None => {
                let text: Box<str> = text_of(required).into();
                self.by_text.insert(text.clone(), id);
                Written::Text(text)
            }
        };
        let compiled = CompiledNodeSelector::compile(required);
        let finding = finding(&compiled);
        if let Finding::Labels(labels) = &finding {
            for (key, value) in labels {
                let candidate = Candidate {
                    affinity: id,
                    is_certain: matches!(written, Written::Pair(..)),
                };
                let values = self.candidates.entry(key.clone()).or_default();
                match values.entry(value.clone()) {
                    Entry::Occupied(mut candidates) => candidates.get_mut().push(candidate),
                    Entry::Vacant(place) => {
                        place.insert(Candidates::One(candidate));
                    }
                }
            }
        }
        let entry = Known {
            users: 1,
            compiled,
            written,
            finding,
        };
        match self.entries.get_mut(id.0 as usize) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        id
    }
}

/// The label of an affinity of the common form: one term with one expression,
/// `In` with one value.
fn single_pair(required: &NodeSelector) -> Option<(&str, &str)> {
    let [term] = required.node_selector_terms.as_deref()? else {
        return None;
    };
    let [expression] = term.match_expressions.as_deref()? else {
        return None;
    };
    let [value] = expression.values.as_deref()? else {
        return None;
    };
    let has_fields = term
        .match_fields
        .as_ref()
        .is_some_and(|fields| !fields.is_empty());
    let is_in = expression.operator == Some(NodeSelectorOperator::In);
    (is_in && !has_fields).then(|| {
        (
            expression.key.as_deref().unwrap_or_default(),
            value.as_str(),
        )
    })
}

/// A text that is equal for equal affinities.
fn text_of(required: &NodeSelector) -> String {
    serde_json::to_string(required).unwrap_or_default()
}

/// Under which labels an affinity is found: every term that can match must
/// have an `In`, of which each value leads to the affinity.
fn finding(compiled: &CompiledNodeSelector) -> Finding {
    let mut labels = Vec::new();
    let can_match = |term: &&CompiledTerm| term.error().is_none() && !term.is_empty();
    for term in compiled.terms().iter().filter(can_match) {
        let requirements = term.requirements().iter();
        let listing = requirements.filter_map(|requirement| {
            let values = requirement.required_values()?;
            Some((requirement.key(), values))
        });
        // A host name tells one node from all others.
        let best =
            listing.min_by_key(|(key, values)| (*key != names::HOSTNAME_LABEL, values.len()));
        let Some((key, values)) = best else {
            return Finding::Always;
        };
        labels.extend(
            values
                .iter()
                .map(|value| (key.into(), value.as_str().into())),
        );
    }
    if labels.is_empty() {
        return Finding::Never;
    }
    labels.sort_unstable();
    labels.dedup();
    Finding::Labels(labels)
}

/// Removes what stands under two keys, if the last user agrees that nothing is
/// left of it, and the outer entry with the last inner one.
fn remove_from<T>(
    map: &mut BTreeMap<Box<str>, HashMap<Box<str>, T>>,
    key: &str,
    value: &str,
    is_gone: impl FnOnce(&mut T) -> bool,
) {
    let Some(values) = map.get_mut(key) else {
        return;
    };
    if values.get_mut(value).is_some_and(is_gone) {
        values.remove(value);
        if values.is_empty() {
            map.remove(key);
        }
    }
}
