//! Searches in the index.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

use super::VolumeIndex;
use super::group::{Group, ModesKey, Node, Reached, Wanted};
use super::names::VolumesByName;
use super::slot::{Request, Slot};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::matching::find::{check_before_reservation, check_claim};
use crate::matching::{AccessModeSet, Features, FindError, FindOptions, SearchOptions};
use crate::selector::{CompiledLabelSelector, CompiledNodeSelector};

pub(super) fn best_match<'a>(
    index: &'a VolumeIndex,
    claim: &PersistentVolumeClaim,
    options: SearchOptions,
) -> Result<Option<&'a Arc<PersistentVolume>>, FindError> {
    let asked = AccessModeSet::of(claim.access_modes());
    let has_volumes = |set: &AccessModeSet| index.sets.get(set.index()).is_some_and(|&n| n > 0);
    let serves = |set: &AccessModeSet| set.contains(asked) && has_volumes(set);
    let asks_for_unknown = claim.access_modes().iter().any(|mode| mode.is_unknown());
    if asks_for_unknown || !AccessModeSet::all().any(|set| serves(&set)) {
        return Ok(None);
    }
    let selector = check_claim(claim, options.features)?;
    let find = FindOptions::from(options);
    let request = Request::of(claim.requested_storage());
    // Of each group the reserved volume with the lowest name, in one pass.
    let mut reserved = [None; AccessModeSet::COUNT];
    for volume in index.reserved.for_claim(claim, &find) {
        let set = AccessModeSet::of(volume.access_modes());
        if let Some(first) = reserved.get_mut(set.index()) {
            first.get_or_insert(volume);
        }
    }
    let open = if options.delay_binding {
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
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Features, VolumeIndex};
/// let in_zone = |name: &str, zone: &str| -> Arc<PersistentVolume> {
///     serde_json::from_value(serde_json::json!({
///         "metadata": {"name": name}, "status": {"phase": "Available"},
///         "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
///             {"key": "zone", "operator": "In", "values": [zone]}]}]}}}}))
///     .map(Arc::new)
///     .unwrap()
/// };
/// let index: VolumeIndex = [in_zone("pv-1", "x"), in_zone("pv-2", "y")].into_iter().collect();
/// let claim = PersistentVolumeClaim::default();
/// let search = index.search(&claim, Features::default())?;
/// let nodes = ["x", "y", "z"].map(|zone| BTreeMap::from([("zone".to_owned(), zone.to_owned())]));
/// let found = nodes.each_ref().map(|labels| {
///     let volume = search.on_node(&index.node(labels), &[]);
///     volume.map(|volume| volume.name())
/// });
/// assert_eq!(found, [Some("pv-1"), Some("pv-2"), None]);
/// # Ok::<(), pvbind::matching::FindError>(())
/// ```
pub struct ClaimSearch<'i, 'c> {
    index: &'i VolumeIndex,
    claim: &'c PersistentVolumeClaim,
    request: Request<'c>,
    selector: Option<CompiledLabelSelector>,
    open: Option<&'i Group>,
    modes: ModesKey,
    /// The volumes that are taken before all open ones, in the order of their
    /// names.
    reserved: Vec<ReservedVolume<'i>>,
}

struct ReservedVolume<'i> {
    volume: &'i Arc<PersistentVolume>,
    affinity: Option<CompiledNodeSelector>,
}

impl<'i, 'c> ClaimSearch<'i, 'c> {
    pub(super) fn new(
        index: &'i VolumeIndex,
        claim: &'c PersistentVolumeClaim,
        features: Features,
    ) -> Result<Self, FindError> {
        let selector = check_claim(claim, features)?;
        let options = FindOptions {
            features,
            ..FindOptions::default()
        };
        let reserved = index.reserved.for_claim(claim, &options);
        Ok(ClaimSearch {
            index,
            claim,
            request: Request::of(claim.requested_storage()),
            selector,
            open: index.open.of_claim(claim),
            modes: ModesKey::of(claim.access_modes()),
            reserved: reserved.map(ReservedVolume::new).collect(),
        })
    }

    /// Looks at volumes of the claim's class only, as the scheduler does:
    /// elsewhere a volume that is reserved for the claim is taken whatever its
    /// class.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Features, VolumeIndex};
    /// let reserved: PersistentVolume = serde_json::from_str(
    ///     r#"{"metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    ///         "spec": {"storageClassName": "slow", "claimRef": {"name": "data"}}}"#)?;
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}"#)?;
    /// let index: VolumeIndex = [Arc::new(reserved)].into_iter().collect();
    /// let labels = BTreeMap::new();
    /// let (search, node) = (index.search(&claim, Features::default())?, index.node(&labels));
    /// // What is reserved for the claim is taken, unless one looks in its class only.
    /// assert!(search.on_node(&node, &[]).is_some());
    /// assert!(search.within_class().on_node(&node, &[]).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn within_class(mut self) -> Self {
        let class = self.claim.class_name();
        self.reserved
            .retain(|reserved| reserved.volume.class_name() == class);
        self
    }

    /// The volume for the claim on the node, without those of the excluded
    /// names: the answer of
    /// [`find_matching_volume`](crate::matching::find_matching_volume) with a
    /// node, over the volumes in the order of their names.
    ///
    /// A node that was prepared by another index is prepared again, which only
    /// costs time.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Features, VolumeIndex};
    /// # use serde_json::{from_value, json};
    /// # let in_zone_a = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
    /// #     {"key": "zone", "operator": "In", "values": ["a"]}]}]}});
    /// # let volumes: Vec<PersistentVolume> = from_value(json!([
    /// #     {"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}},
    /// #     {"metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
    /// #      "spec": {"claimRef": {"namespace": "shop", "name": "data"}, "nodeAffinity": in_zone_a}}]))?;
    /// # let claim: PersistentVolumeClaim = from_value(json!({"metadata": {"namespace": "shop", "name": "data"}}))?;
    /// // pv-1 is open and reachable from everywhere; pv-2, in zone a, is reserved for the claim.
    /// let index: VolumeIndex = volumes.into_iter().map(Arc::new).collect();
    /// let search = index.search(&claim, Features::default())?;
    /// let labels = BTreeMap::from([("zone".to_owned(), "b".to_owned())]);
    /// let node = index.node(&labels);
    /// // The reservation goes first, even where it cannot be used.
    /// assert_eq!(search.on_node(&node, &[]), None);
    /// assert_eq!(search.on_node(&node, &["pv-2"]).unwrap().name(), "pv-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_node(
        &self,
        node: &NodeLabels<'_>,
        excluded: &[&str],
    ) -> Option<&'i Arc<PersistentVolume>> {
        let is_free = |volume: &Arc<PersistentVolume>| {
            excluded.is_empty() || !excluded.contains(&volume.name())
        };
        match self.reserved(node.node.labels, is_free) {
            Some((volume, is_reachable)) => is_reachable.then_some(volume),
            None => {
                let mut reached = Vec::new();
                self.reach(node, &mut reached);
                self.first_open(&reached, None, is_free)?.volume()
            }
        }
    }

    /// The volume that is taken before all open ones, if the caller accepts it,
    /// and whether a node with these labels reaches it.
    pub(super) fn reserved(
        &self,
        labels: &BTreeMap<String, String>,
        accepts: impl Fn(&Arc<PersistentVolume>) -> bool,
    ) -> Option<(&'i Arc<PersistentVolume>, bool)> {
        let mut reserved = self.reserved.iter();
        let first = reserved.find(|reserved| accepts(reserved.volume))?;
        Some((first.volume, first.is_reachable(labels)))
    }

    /// Whether a node with these labels reaches each of the volumes that are
    /// taken before all open ones.
    pub(super) fn reserved_reachable(
        &self,
        labels: &BTreeMap<String, String>,
    ) -> impl Iterator<Item = bool> {
        let reserved = self.reserved.iter();
        reserved.map(|reserved| reserved.is_reachable(labels))
    }

    /// Adds the open volumes that may serve the claim and that a node reaches.
    pub(super) fn reach(&self, node: &NodeLabels<'_>, reached: &mut Vec<Reached<'i>>) {
        // Numbers of affinities mean nothing in another index.
        let own;
        let node = if std::ptr::eq(node.node.affinities, &self.index.affinities) {
            &node.node
        } else {
            own = self.index.node(node.node.labels);
            &own.node
        };
        for (modes, group) in self.open.into_iter().flatten() {
            if modes.contains(&self.modes) {
                group.reach(node, reached);
            }
        }
    }

    /// Equal for two claims that reach the same open volumes on every node.
    pub(super) fn reach_key(&self) -> impl Hash + Eq + use<> {
        let group = self.open.map(|group| std::ptr::from_ref(group).addr());
        (group, self.modes.clone())
    }

    /// The first open volume in order, after this one, that fits and that the
    /// caller accepts.
    pub(super) fn first_open(
        &self,
        reached: &[Reached<'i>],
        after: Option<&Slot>,
        accepts: impl Fn(&Arc<PersistentVolume>) -> bool,
    ) -> Option<&'i Slot> {
        let wanted = Wanted {
            request: self.request,
            selector: self.selector.as_ref(),
            after,
        };
        let accepts = |slot: &Slot| slot.volume().is_some_and(&accepts);
        Reached::first(reached, wanted, accepts)
    }
}

impl<'i> ReservedVolume<'i> {
    fn new(volume: &'i Arc<PersistentVolume>) -> Self {
        let required = volume.required_node_affinity();
        ReservedVolume {
            volume,
            affinity: required.map(CompiledNodeSelector::compile),
        }
    }

    fn is_reachable(&self, labels: &BTreeMap<String, String>) -> bool {
        let affinity = self.affinity.as_ref();
        affinity.is_none_or(|affinity| affinity.matches(labels, None) == Ok(true))
    }
}

impl fmt::Debug for ClaimSearch<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimSearch")
            .field("claim", &self.claim.metadata.key())
            .finish_non_exhaustive()
    }
}

/// A node, prepared for searches for many claims: see [`VolumeIndex::node`].
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Features, VolumeIndex};
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}}"#)?;
/// let index: VolumeIndex = [Arc::new(volume)].into_iter().collect();
/// let labels = BTreeMap::new();
/// let node = index.node(&labels);
/// // Two claims of one pod: what the first one takes is not for the second.
/// let (first, second) = (PersistentVolumeClaim::default(), PersistentVolumeClaim::default());
/// let taken = index.search(&first, Features::default())?.on_node(&node, &[]).unwrap();
/// assert_eq!(index.search(&second, Features::default())?.on_node(&node, &[taken.name()]), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NodeLabels<'a> {
    node: Node<'a>,
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

impl<'a> NodeLabels<'a> {
    pub(super) fn labels(&self) -> &'a BTreeMap<String, String> {
        self.node.labels
    }
}

impl fmt::Debug for NodeLabels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeLabels").field(self.node.labels).finish()
    }
}

/// The volumes that have a claimRef, by the claim that it names.
#[derive(Clone, Debug, Default)]
pub(super) struct Reserved {
    hasher: RandomState,
    /// By the hash of namespace and name. Volumes of claims with equal hashes
    /// stand together; [`Reserved::of`] tells them apart.
    volumes: HashMap<u64, OneOrMany>,
}

/// Nearly always one, which then needs no memory of its own.
#[derive(Clone, Debug)]
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
