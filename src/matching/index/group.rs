//! Open volumes, grouped by what equality decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::affinity::{Affinities, AffinityId, ByAffinity, NodeCandidates};
use super::labels::LabelIndex;
use super::slot::{AtLeast, Ordered, Request, Slot};
use crate::api::{AccessMode, PersistentVolume, PersistentVolumeClaim, VolumeMode};
use crate::matching::AccessModeSet;
use crate::selector::CompiledLabelSelector;

/// All open volumes: those without claimRef, in phase Available, that nobody
/// asked to delete.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// By class, VolumeAttributesClass and volume mode.
    groups: BTreeMap<Box<str>, ByAttributesClass>,
}

type ByAttributesClass = BTreeMap<Box<str>, BTreeMap<VolumeMode, Group>>;

/// The open volumes that have one class, VolumeAttributesClass and volume mode.
pub(super) type Group = BTreeMap<ModesKey, ModesGroup>;

/// A volume's access modes: the known ones as a set, in the order of the
/// search, and the unknown ones by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ModesKey {
    known: AccessModeSet,
    unknown: BTreeSet<AccessMode>,
}

impl ModesKey {
    pub(super) fn of(modes: &[AccessMode]) -> Self {
        let unknown = modes.iter().filter(|mode| mode.is_unknown());
        ModesKey {
            known: AccessModeSet::of(modes),
            unknown: unknown.cloned().collect(),
        }
    }

    pub(super) fn known(&self) -> AccessModeSet {
        self.known
    }

    /// Whether all modes of the other are among these.
    pub(super) fn contains(&self, other: &ModesKey) -> bool {
        self.known.contains(other.known) && self.unknown.is_superset(&other.unknown)
    }
}

impl Groups {
    /// The group that a claim's volume must be in.
    pub(super) fn of_claim(&self, claim: &PersistentVolumeClaim) -> Option<&Group> {
        self.groups
            .get(claim.class_name())?
            .get(claim.attributes_class_name())?
            .get(claim.volume_mode())
    }

    pub(super) fn insert(
        &mut self,
        volume: Arc<PersistentVolume>,
        affinity: AffinityId,
        always: bool,
    ) {
        let by_mode = get_or_insert(&mut self.groups, volume.class_name())
            .and_then(|by| get_or_insert(by, volume.attributes_class_name()));
        let Some(by_mode) = by_mode else {
            return;
        };
        let group = by_mode.entry(volume.volume_mode().clone()).or_default();
        let modes = group
            .entry(ModesKey::of(volume.access_modes()))
            .or_default();
        modes.insert(Slot::new(volume, affinity), always);
    }

    pub(super) fn remove(&mut self, volume: &Arc<PersistentVolume>, affinity: AffinityId) {
        let slot = &Slot::new(Arc::clone(volume), affinity);
        let Some(by_attributes) = self.groups.get_mut(volume.class_name()) else {
            return;
        };
        let Some(by_mode) = by_attributes.get_mut(volume.attributes_class_name()) else {
            return;
        };
        let Some(group) = by_mode.get_mut(volume.volume_mode()) else {
            return;
        };
        let key = ModesKey::of(volume.access_modes());
        if let Some(modes) = group.get_mut(&key) {
            modes.remove(slot);
            if modes.all.is_empty() {
                group.remove(&key);
            }
        }
        if group.is_empty() {
            by_mode.remove(volume.volume_mode());
        }
        if by_mode.is_empty() {
            by_attributes.remove(volume.attributes_class_name());
        }
        if by_attributes.is_empty() {
            self.groups.remove(volume.class_name());
        }
    }
}

/// The entry of a name, always there. `entry` would copy the name each time.
fn get_or_insert<'a, T: Default>(
    map: &'a mut BTreeMap<Box<str>, T>,
    name: &str,
) -> Option<&'a mut T> {
    if !map.contains_key(name) {
        map.insert(name.into(), T::default());
    }
    map.get_mut(name)
}

/// Open volumes of one group that a node reaches: those of one node affinity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached<'a> {
    group: &'a ModesGroup,
    affinity: AffinityId,
    volumes: &'a Ordered,
}

impl<'a> Reached<'a> {
    /// The first volume in order among all these that is wanted, and that the
    /// caller accepts.
    pub(super) fn first(
        reached: &[Reached<'a>],
        wanted: Wanted<'_>,
        accepts: impl Fn(&Slot) -> bool,
    ) -> Option<&'a Slot> {
        let groups = reached.chunk_by(|a, b| std::ptr::eq(a.group, b.group));
        let firsts = groups.filter_map(|in_group| {
            let group = in_group.first()?.group;
            group.first_reached(in_group, wanted, &accepts)
        });
        firsts.min()
    }

    pub(super) fn len(&self) -> usize {
        self.volumes.len()
    }

    /// What tells these volumes from those of another group or affinity.
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self.volumes).addr()
    }
}

/// Which volumes a search looks for.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) request: Request<'a>,
    pub(super) selector: Option<&'a CompiledLabelSelector>,
    /// Only those that come after this one.
    pub(super) after: Option<&'a Slot>,
}

impl Wanted<'_> {
    /// Those of a set that are large enough and come late enough.
    fn among<'s>(&self, slots: &'s Ordered) -> AtLeast<'s, '_> {
        match self.after {
            None => slots.at_least(self.request),
            Some(after) => slots.at_least_after(self.request, after),
        }
    }
}

/// The open volumes that also have the same access modes.
#[derive(Clone, Debug, Default)]
pub(super) struct ModesGroup {
    all: Ordered,
    /// The same volumes by their node affinity.
    by_affinity: ByAffinity<Ordered>,
    /// Those of the affinities that no label leads to.
    always_evaluated: BTreeSet<AffinityId>,
    /// The same volumes, where they have labels.
    labelled: LabelIndex,
}

impl ModesGroup {
    /// The first volume in order that is large enough and satisfies the
    /// selector, on whatever node.
    pub(super) fn first(
        &self,
        request: Request<'_>,
        selector: Option<&CompiledLabelSelector>,
    ) -> Option<&Slot> {
        let Some(selector) = selector else {
            return self.all.at_least(request).next();
        };
        match self.labelled.satisfying(selector) {
            Some(sets) => {
                let firsts = sets.into_iter();
                firsts.filter_map(|set| set.at_least(request).next()).min()
            }
            None => {
                let mut volumes = self.all.at_least(request);
                volumes.find(|slot| satisfies(slot, Some(selector)))
            }
        }
    }

    /// Adds the volumes of this group that a node reaches. Those of one affinity
    /// can come twice.
    pub(super) fn reach<'a>(&'a self, node: &Node<'_>, reached: &mut Vec<Reached<'a>>) {
        let with_volumes = |affinity| {
            let volumes = self.by_affinity.get(&affinity)?;
            Some(Reached {
                group: self,
                affinity,
                volumes,
            })
        };
        let found = node.candidates.iter().filter_map(|candidate| {
            let reached = with_volumes(candidate.affinity)?;
            let matches =
                candidate.is_certain || node.affinities.matches(candidate.affinity, node.labels);
            matches.then_some(reached)
        });
        reached.extend(found);
        let always = self.always_evaluated.iter().copied();
        reached.extend(
            always
                .filter(|&id| node.affinities.matches(id, node.labels))
                .chain([AffinityId::ANYWHERE])
                .filter_map(with_volumes),
        );
    }

    /// The first volume in order among those reached in this group that is
    /// wanted, and that the caller accepts.
    fn first_reached<'a>(
        &'a self,
        reached: &[Reached<'a>],
        wanted: Wanted<'_>,
        accepts: impl Fn(&Slot) -> bool,
    ) -> Option<&'a Slot> {
        let selector = wanted.selector;
        let by_labels = selector.and_then(|selector| {
            let candidates: usize = reached.iter().map(|reached| reached.volumes.len()).sum();
            (candidates > Self::FEW).then(|| self.labelled.satisfying(selector))?
        });
        match by_labels {
            Some(labelled) => {
                let mut ids: Vec<_> = reached.iter().map(|reached| reached.affinity).collect();
                ids.sort_unstable();
                let is_reached =
                    |slot: &&Slot| ids.binary_search(&slot.affinity()).is_ok() && accepts(slot);
                let firsts = labelled.into_iter();
                firsts
                    .filter_map(|set| wanted.among(set).find(is_reached))
                    .min()
            }
            None => {
                let fits = |slot: &&Slot| {
                    (selector.is_none() || satisfies(slot, selector)) && accepts(slot)
                };
                let sets = reached.iter();
                sets.filter_map(|reached| wanted.among(reached.volumes).find(fits))
                    .min()
            }
        }
    }

    /// Up to this many candidates are looked at one by one.
    const FEW: usize = 32;

    fn insert(&mut self, slot: Slot, always: bool) {
        if always {
            self.always_evaluated.insert(slot.affinity());
        }
        let same_affinity = self.by_affinity.entry(slot.affinity()).or_default();
        same_affinity.insert(slot.clone());
        if has_labels(&slot) {
            self.labelled.insert(slot.clone());
        }
        self.all.insert(slot);
    }

    fn remove(&mut self, slot: &Slot) {
        self.all.remove(slot);
        if has_labels(slot) {
            self.labelled.remove(slot);
        }
        if let Some(same_affinity) = self.by_affinity.get_mut(&slot.affinity()) {
            same_affinity.remove(slot);
            if same_affinity.is_empty() {
                self.by_affinity.remove(&slot.affinity());
                self.always_evaluated.remove(&slot.affinity());
            }
        }
    }
}

/// A node, prepared for searches in many groups.
pub(super) struct Node<'a> {
    pub(super) labels: &'a BTreeMap<String, String>,
    pub(super) candidates: NodeCandidates<'a>,
    pub(super) affinities: &'a Affinities,
}

fn has_labels(slot: &Slot) -> bool {
    slot.volume()
        .is_some_and(|volume| !volume.metadata.labels().is_empty())
}

fn satisfies(slot: &Slot, selector: Option<&CompiledLabelSelector>) -> bool {
    slot.volume().is_some_and(|volume| {
        selector.is_none_or(|selector| selector.matches(volume.metadata.labels()))
    })
}
