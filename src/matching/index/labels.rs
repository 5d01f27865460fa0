//! Open volumes by their labels, for claims with a selector.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::slot::{Ordered, Slot};
use crate::api::PersistentVolume;
use crate::selector::{CompiledLabelSelector, Condition, Requirement};

/// The labelled open volumes of a group: volumes with equal labels stand
/// together, so that a selector is evaluated once for all of them, and each
/// label leads to the sets that have it.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelIndex {
    sets: Vec<LabelSet>,
    unused: Vec<u32>,
    by_labels: BTreeMap<ByLabels, u32>,
    /// Key and value to the sets that have this label.
    postings: BTreeMap<Box<str>, BTreeMap<Box<str>, BTreeSet<u32>>>,
}

#[derive(Clone, Debug, Default)]
struct LabelSet {
    /// Any volume that has, or once had, these labels.
    example: Arc<PersistentVolume>,
    volumes: Ordered,
}

/// A volume that stands for its labels.
#[derive(Clone, Debug)]
struct ByLabels(Arc<PersistentVolume>);

impl Ord for ByLabels {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.metadata.labels().cmp(other.0.metadata.labels())
    }
}

impl PartialOrd for ByLabels {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByLabels {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByLabels {}

impl LabelIndex {
    /// The sets of volumes whose labels satisfy the selector. `None` if no
    /// requirement of the selector leads to few sets, because all of them hold
    /// for a volume that lacks the label.
    pub(super) fn satisfying(&self, selector: &CompiledLabelSelector) -> Option<Vec<&Ordered>> {
        let found = selector
            .requirements()
            .iter()
            .filter_map(|requirement| self.sets_with(requirement))
            .min_by_key(|postings| postings.iter().map(|ids| ids.len()).sum::<usize>())?;
        let ids: BTreeSet<u32> = found.into_iter().flatten().copied().collect();
        let sets = ids.iter().filter_map(|&id| self.sets.get(id as usize));
        Some(
            sets.filter(|set| selector.matches(set.example.metadata.labels()))
                .map(|set| &set.volumes)
                .collect(),
        )
    }

    /// The postings that a requirement leads to, if it asks for a label.
    fn sets_with(&self, requirement: &Requirement) -> Option<Vec<&BTreeSet<u32>>> {
        let postings = self.postings.get(requirement.key());
        if let Some(values) = requirement.required_values() {
            let found = values
                .iter()
                .filter_map(|value| postings?.get(value.as_str()));
            Some(found.collect())
        } else if matches!(requirement.condition(), Condition::Exists) {
            Some(postings.into_iter().flat_map(BTreeMap::values).collect())
        } else {
            None
        }
    }

    pub(super) fn insert(&mut self, slot: Slot) {
        let Some(volume) = slot.volume().cloned() else {
            return;
        };
        let key = ByLabels(volume);
        let id = match self.by_labels.get(&key) {
            Some(&id) => id,
            None => self.add(key),
        };
        if let Some(set) = self.sets.get_mut(id as usize) {
            set.volumes.insert(slot);
        }
    }

    fn add(&mut self, key: ByLabels) -> u32 {
        let id = self
            .unused
            .pop()
            .unwrap_or_else(|| u32::try_from(self.sets.len()).unwrap_or(u32::MAX));
        for (label, value) in key.0.metadata.labels() {
            let values = self.postings.entry(label.as_str().into()).or_default();
            values.entry(value.as_str().into()).or_default().insert(id);
        }
        let set = LabelSet {
            example: key.0.clone(),
            volumes: Ordered::default(),
        };
        match self.sets.get_mut(id as usize) {
            Some(place) => *place = set,
            None => self.sets.push(set),
        }
        self.by_labels.insert(key, id);
        id
    }

    pub(super) fn remove(&mut self, slot: &Slot) {
        let Some(volume) = slot.volume().cloned() else {
            return;
        };
        let key = ByLabels(volume);
        let Some(&id) = self.by_labels.get(&key) else {
            return;
        };
        let Some(set) = self.sets.get_mut(id as usize) else {
            return;
        };
        set.volumes.remove(slot);
        if !set.volumes.is_empty() {
            return;
        }
        *set = LabelSet::default();
        self.unused.push(id);
        self.by_labels.remove(&key);
        for (label, value) in key.0.metadata.labels() {
            let Some(values) = self.postings.get_mut(label.as_str()) else {
                continue;
            };
            if let Some(ids) = values.get_mut(value.as_str()) {
                ids.remove(&id);
                if ids.is_empty() {
                    values.remove(value.as_str());
                }
            }
            if values.is_empty() {
                self.postings.remove(label.as_str());
            }
        }
    }
}
