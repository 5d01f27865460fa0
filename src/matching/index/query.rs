//! Searches in the index.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::VolumeIndex;
use super::group::{Group, ModesGroup, ModesKey, Node};
use super::names::VolumesByName;
use super::slot::{Request, Slot};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::matching::find::{check_before_reservation, check_claim, is_reachable};
use crate::matching::{AccessModeSet, FindError, FindOptions};
use crate::selector::CompiledLabelSelector;

pub(super) fn best_match<'a>(
    index: &'a VolumeIndex,
    claim: &PersistentVolumeClaim,
    delay_binding: bool,
    vac_enabled: bool,
) -> Result<Option<&'a Arc<PersistentVolume>>, FindError> {
    let asked = AccessModeSet::of(claim.access_modes());
    let has_volumes = |set: &AccessModeSet| index.sets.get(set.index()).is_some_and(|&n| n > 0);
    let serves = |set: &AccessModeSet| set.contains(asked) && has_volumes(set);
    let asks_for_unknown = claim.access_modes().iter().any(|mode| mode.is_unknown());
    if asks_for_unknown || !AccessModeSet::all().any(|set| serves(&set)) {
        return Ok(None);
    }
    let selector = check_claim(claim, vac_enabled)?;
    let options = FindOptions {
        vac_enabled,
        ..FindOptions::default()
    };
    let request = Request::of(claim.requested_storage());
    // Of each group the reserved volume with the lowest name, in one pass.
    let mut reserved = [None; AccessModeSet::COUNT];
    for volume in index.reserved.for_claim(claim, &options) {
        let set = AccessModeSet::of(volume.access_modes());
        if let Some(first) = reserved.get_mut(set.index()) {
            first.get_or_insert(volume);
        }
    }
    let open = if delay_binding {
        None
    } else {
        index.open.of_claim(claim)
    };
    for set in AccessModeSet::all().filter(serves) {
        if let Some(Some(volume)) = reserved.get(set.index()) {
            return Ok(Some(volume));
        }
        let first = open.and_then(|group| first_of_set(group, set, request, selector.as_ref()));
        if let Some(slot) = first {
            return Ok(slot.volume());
        }
    }
    Ok(None)
}

/// The first volume with exactly these known modes, whatever unknown modes it
/// has beside them.
fn first_of_set<'a>(
    group: &'a Group,
    set: AccessModeSet,
    request: Request<'_>,
    selector: Option<&CompiledLabelSelector>,
) -> Option<&'a Slot> {
    group
        .iter()
        .filter(|(modes, _)| modes.known() == set)
        .filter_map(|(_, volumes)| volumes.first(request, selector))
        .min()
}

/// A claim, prepared for searches on many nodes: see [`VolumeIndex::search`].
pub struct ClaimSearch<'i, 'c> {
    index: &'i VolumeIndex,
    claim: &'c PersistentVolumeClaim,
    vac_enabled: bool,
    selector: Option<CompiledLabelSelector>,
    open: Option<&'i Group>,
    modes: ModesKey,
    within_class: bool,
}

impl<'i, 'c> ClaimSearch<'i, 'c> {
    pub(super) fn new(
        index: &'i VolumeIndex,
        claim: &'c PersistentVolumeClaim,
        vac_enabled: bool,
    ) -> Result<Self, FindError> {
        Ok(ClaimSearch {
            index,
            claim,
            vac_enabled,
            selector: check_claim(claim, vac_enabled)?,
            open: index.open.of_claim(claim),
            modes: ModesKey::of(claim.access_modes()),
            within_class: false,
        })
    }

    /// Looks at volumes of the claim's class only, as the scheduler does:
    /// elsewhere a volume that is reserved for the claim is taken whatever its
    /// class.
    #[must_use]
    pub fn within_class(mut self) -> Self {
        self.within_class = true;
        self
    }

    /// The volume for the claim on the node, without those of the excluded
    /// names: the answer of
    /// [`find_matching_volume`](crate::matching::find_matching_volume) with a
    /// node, over the volumes in the order of their names.
    ///
    /// A node that was prepared by another index is prepared again, which only
    /// costs time.
    pub fn on_node(
        &self,
        node: &NodeLabels<'_>,
        excluded: &[&str],
    ) -> Option<&'i Arc<PersistentVolume>> {
        let options = self.options(node, excluded);
        if let Some(volume) = self.reserved(&options, |_| true) {
            return is_reachable(volume, &options).then_some(volume);
        }
        let is_free = |volume: &PersistentVolume| !excluded.contains(&volume.name());
        self.first_open(node, is_free)?.volume()
    }

    pub(super) fn options<'o>(
        &self,
        node: &NodeLabels<'o>,
        excluded: &'o [&'o str],
    ) -> FindOptions<'o> {
        FindOptions {
            node_labels: Some(node.node.labels),
            excluded,
            delay_binding: true,
            vac_enabled: self.vac_enabled,
        }
    }

    /// The volume that is taken before all open ones.
    pub(super) fn reserved(
        &self,
        options: &FindOptions<'_>,
        accepts: impl Fn(&PersistentVolume) -> bool,
    ) -> Option<&'i Arc<PersistentVolume>> {
        let of_class = |volume: &PersistentVolume| volume.class_name() == self.claim.class_name();
        let mut reserved = self.index.reserved.for_claim(self.claim, options);
        reserved.find(|volume| (!self.within_class || of_class(volume)) && accepts(volume))
    }

    /// The first open volume in order that fits and that the caller accepts.
    pub(super) fn first_open(
        &self,
        node: &NodeLabels<'_>,
        accepts: impl Fn(&PersistentVolume) -> bool,
    ) -> Option<&'i Slot> {
        // Numbers of affinities mean nothing in another index.
        let own;
        let node = if std::ptr::eq(node.node.affinities, &self.index.affinities) {
            &node.node
        } else {
            own = self.index.node(node.node.labels);
            &own.node
        };
        let request = Request::of(self.claim.requested_storage());
        let accepts = |slot: &Slot| slot.volume().is_some_and(|volume| accepts(volume));
        self.serving()
            .filter_map(|group| group.first_on_node(request, self.selector.as_ref(), node, accepts))
            .min()
    }

    /// The groups of open volumes whose access modes serve the claim.
    pub(super) fn serving(&self) -> impl Iterator<Item = &'i ModesGroup> {
        let groups = self.open.into_iter().flatten();
        groups
            .filter(|(modes, _)| modes.contains(&self.modes))
            .map(|(_, group)| group)
    }
}

impl fmt::Debug for ClaimSearch<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimSearch")
            .field("claim", &self.claim.metadata.key())
            .field("within_class", &self.within_class)
            .finish_non_exhaustive()
    }
}

/// A node, prepared for searches for many claims: see [`VolumeIndex::node`].
pub struct NodeLabels<'a> {
    pub(super) node: Node<'a>,
}

impl<'a> NodeLabels<'a> {
    pub(super) fn new(index: &'a VolumeIndex, labels: &'a BTreeMap<String, String>) -> Self {
        NodeLabels {
            node: Node {
                labels,
                candidates: index.affinities.candidates(labels),
                affinities: &index.affinities,
            },
        }
    }
}

impl fmt::Debug for NodeLabels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeLabels").field(self.node.labels).finish()
    }
}

/// The volumes that have a claimRef, by the claim that it names.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    hasher: RandomState,
    /// By the hash of namespace and name. Volumes of claims with equal hashes
    /// stand together; [`Reserved::of`] tells them apart.
    volumes: HashMap<u64, OneOrMany>,
}

/// Nearly always one, which then needs no memory of its own.
#[derive(Debug)]
enum OneOrMany {
    One(Arc<PersistentVolume>),
    Many(Box<VolumesByName>),
}

impl OneOrMany {
    fn iter(&self) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        let (one, many) = match self {
            OneOrMany::One(volume) => (Some(volume), None),
            OneOrMany::Many(volumes) => (None, Some(volumes.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

impl Reserved {
    /// The volumes that a search takes before all others, in the order of their
    /// names: bound to the claim, and satisfying the rules that hold for them.
    fn for_claim<'a, 'b>(
        &'a self,
        claim: &'b PersistentVolumeClaim,
        options: &'b FindOptions<'b>,
    ) -> impl Iterator<Item = &'a Arc<PersistentVolume>> + use<'a, 'b> {
        self.of(claim.metadata.namespace(), claim.metadata.name())
            .filter(move |volume| {
                volume.is_bound_to(claim)
                    && check_before_reservation(claim, volume, options).is_ok()
            })
    }

    pub(super) fn of<'a, 'b>(
        &'a self,
        namespace: &'b str,
        name: &'b str,
    ) -> impl Iterator<Item = &'a Arc<PersistentVolume>> + use<'a, 'b> {
        let found = self.volumes.get(&self.hash(namespace, name));
        let volumes = found.into_iter().flat_map(OneOrMany::iter);
        volumes.filter(move |volume| {
            volume
                .claim_ref()
                .is_some_and(|by| by.name() == name && by.namespace() == namespace)
        })
    }

    pub(super) fn insert(&mut self, volume: Arc<PersistentVolume>) {
        let Some(by) = volume.claim_ref() else {
            return;
        };
        let hash = self.hash(by.namespace(), by.name());
        match self.volumes.entry(hash) {
            Entry::Vacant(entry) => {
                entry.insert(OneOrMany::One(volume));
            }
            Entry::Occupied(mut entry) => {
                if let OneOrMany::One(first) = entry.get() {
                    let mut many = VolumesByName::default();
                    many.insert(Arc::clone(first));
                    entry.insert(OneOrMany::Many(Box::new(many)));
                }
                if let OneOrMany::Many(volumes) = entry.get_mut() {
                    volumes.insert(volume);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, volume: &Arc<PersistentVolume>) {
        let Some(by) = volume.claim_ref() else {
            return;
        };
        let hash = self.hash(by.namespace(), by.name());
        let Entry::Occupied(mut entry) = self.volumes.entry(hash) else {
            return;
        };
        let is_gone = match entry.get_mut() {
            OneOrMany::One(_) => true,
            OneOrMany::Many(volumes) => {
                volumes.remove(volume.name());
                volumes.len() == 0
            }
        };
        if is_gone {
            entry.remove();
        }
    }

    fn hash(&self, namespace: &str, name: &str) -> u64 {
        self.hasher.hash_one((namespace, name))
    }
}
