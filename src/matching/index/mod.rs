//! The index: the answers of the slice searches without visiting every volume.

mod affinity;
mod group;
mod labels;
mod layers;
mod names;
mod query;
mod slot;

pub(crate) use layers::{Found, LayeredReach};
pub use layers::{LayeredNode, LayeredSearch, VolumeLayers};
pub use query::{ClaimSearch, NodeLabels};

use std::sync::Arc;

use self::affinity::Affinities;
use self::group::Groups;
use self::names::VolumesByName;
use self::query::Reserved;
use super::{AccessModeSet, FindError, SearchOptions};
use crate::api::{PersistentVolume, PersistentVolumeClaim, VolumePhase};
use crate::matching::Features;
use std::collections::BTreeMap;

/// The volumes of a cluster, arranged so that the volume for a claim is found
/// in logarithmic time.
///
/// Its answers are those of the slice searches over its volumes in the order of
/// their names: [`best_match`](Self::best_match) of
/// [`find_best_match_for_claim`](super::find_best_match_for_claim), and
/// [`best_match_on_node`](Self::best_match_on_node) of
/// [`find_matching_volume`](super::find_matching_volume).
///
/// Volumes are shared, not copied. To change one, insert the changed volume
/// under the same name. A `clone` shares the volumes too, and copies how they
/// are arranged: its cost is linear, so what changes little is better laid in
/// front of an index ([`VolumeLayers`]) than in a copy of it.
///
/// # Cost
/// Inserting, replacing and removing a volume is logarithmic in the number of
/// volumes. A search is logarithmic too, for each set of access modes that
/// serves the claim and, on a node, for each different node affinity that the
/// node matches; a selector adds one step for each different set of labels that
/// its rarest label leads to.
///
/// Some questions cost more, up to a walk over the volumes that they concern: a
/// selector of nothing but `NotIn` and `DoesNotExist` (in order of size, until it
/// is satisfied); many volumes reserved for one claim; sizes beyond 64 bits of
/// bytes; many different sets of unknown access modes; many different node
/// affinities that no `In` leads to.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{SearchOptions, VolumeIndex};
/// let mut index = VolumeIndex::new();
/// for (name, size) in [("large", "20Gi"), ("snug", "6Gi"), ("small", "1Gi")] {
///     let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///         "metadata": {"name": name},
///         "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]},
///         "status": {"phase": "Available"},
///     }))?;
///     index.insert(Arc::new(volume));
/// }
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"spec": {"resources": {"requests": {"storage": "5Gi"}}, "accessModes": ["ReadWriteOnce"]}}"#,
/// )?;
/// let found = index.best_match(&claim, SearchOptions::default()).unwrap();
/// assert_eq!(found.unwrap().name(), "snug");
/// index.remove("snug");
/// let found = index.best_match(&claim, SearchOptions::default()).unwrap();
/// assert_eq!(found.unwrap().name(), "large");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct VolumeIndex {
    by_name: VolumesByName,
    affinities: Affinities,
    open: Groups,
    reserved: Reserved,
    /// How many volumes there are of each set of access modes, open or not: a
    /// group that has none is not searched, and so reports no error.
    sets: [usize; AccessModeSet::COUNT],
}

impl VolumeIndex {
    /// An index without volumes.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::matching::{Features, SearchOptions, VolumeIndex};
    /// let index = VolumeIndex::new();
    /// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    ///     "spec": {"selector": {"matchExpressions": [{"key": "disk", "operator": "Like"}]}}}))?;
    /// // The controller only reads the selector where a group of volumes is searched ...
    /// assert_eq!(index.best_match(&claim, SearchOptions::default()), Ok(None));
    /// // ... the scheduler always.
    /// let labels = BTreeMap::new();
    /// assert!(index.best_match_on_node(&claim, &labels, &[], Features::default()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> Self {
        VolumeIndex::default()
    }

    /// Puts a volume in, and returns the one of the same name that it replaces.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::VolumeIndex;
    /// let volume = |class: &str| -> Arc<PersistentVolume> {
    ///     serde_json::from_value(serde_json::json!({
    ///         "metadata": {"name": "pv-1"}, "spec": {"storageClassName": class}}))
    ///     .map(Arc::new)
    ///     .unwrap()
    /// };
    /// let mut index = VolumeIndex::new();
    /// assert_eq!(index.insert(volume("slow")), None);
    /// // The changed volume takes the place of the one of its name.
    /// assert_eq!(index.insert(volume("fast")), Some(volume("slow")));
    /// assert_eq!(index.len(), 1);
    /// ```
    pub fn insert(&mut self, volume: Arc<PersistentVolume>) -> Option<Arc<PersistentVolume>> {
        let replaced = self.by_name.insert(Arc::clone(&volume));
        if let Some(replaced) = &replaced {
            self.leave_groups(replaced);
        }
        self.enter_groups(volume);
        replaced
    }

    /// Takes a volume out.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::VolumeIndex;
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// let mut index: VolumeIndex = [Arc::new(volume)].into_iter().collect();
    /// assert_eq!(index.remove("pv-1").unwrap().name(), "pv-1");
    /// assert!(index.is_empty() && index.remove("pv-1").is_none());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn remove(&mut self, name: &str) -> Option<Arc<PersistentVolume>> {
        let volume = self.by_name.remove(name)?;
        self.leave_groups(&volume);
        Some(volume)
    }

    /// The volume of this name, whatever its phase. Logarithmic.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{SearchOptions, VolumeIndex};
    /// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"name": "pv-1"}, "status": {"phase": "Released"}}))?;
    /// let index: VolumeIndex = [Arc::new(volume)].into_iter().collect();
    /// // No claim gets it, and it is there.
    /// let claim = PersistentVolumeClaim::default();
    /// assert_eq!(index.best_match(&claim, SearchOptions::default())?, None);
    /// assert_eq!(index.get("pv-1").unwrap().name(), "pv-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        self.by_name.get(name)
    }

    /// All volumes in the order of their names.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::VolumeIndex;
    /// let volume = |name: &str| -> Arc<PersistentVolume> {
    ///     serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).map(Arc::new).unwrap()
    /// };
    /// let index: VolumeIndex = [volume("b"), volume("a")].into_iter().collect();
    /// assert_eq!(index.iter().map(|volume| volume.name()).collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<PersistentVolume>> {
        self.by_name.iter()
    }

    /// The volumes whose claimRef has this namespace and name, whatever its
    /// uid, in the order of their names.
    ///
    /// Costs a look-up, however many volumes there are.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::VolumeIndex;
    /// let volume = |name: &str, uid: &str| -> Arc<PersistentVolume> {
    ///     serde_json::from_value(serde_json::json!({"metadata": {"name": name},
    ///         "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": uid}}}))
    ///     .map(Arc::new)
    ///     .unwrap()
    /// };
    /// // One that an earlier claim of the name left behind, and the one that is there now.
    /// let index: VolumeIndex = [volume("pv-2", "u-2"), volume("pv-1", "u-1")].into_iter().collect();
    /// let names: Vec<_> = index.claimed_by("shop", "data").map(|volume| volume.name()).collect();
    /// assert_eq!(names, ["pv-1", "pv-2"]);
    /// ```
    pub fn claimed_by<'a, 'n>(
        &'a self,
        namespace: &'n str,
        name: &'n str,
    ) -> impl Iterator<Item = &'a Arc<PersistentVolume>> + use<'a, 'n> {
        self.reserved.of(namespace, name)
    }

    /// How many volumes there are, bound ones and others that no claim can get
    /// included.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::VolumeIndex;
    /// let volumes: Vec<PersistentVolume> = serde_json::from_value(serde_json::json!([
    ///     {"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}},
    ///     {"metadata": {"name": "pv-2"}, "status": {"phase": "Bound"}},
    ///     {"metadata": {"name": "pv-2"}, "status": {"phase": "Released"}}]))?;
    /// let index: VolumeIndex = volumes.into_iter().map(Arc::new).collect();
    /// assert_eq!(index.len(), 2); // the later pv-2 took the place of the earlier
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is no volume.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::VolumeIndex;
    /// // What was decided and not written yet, until the watch brings it.
    /// let mut assumed = VolumeIndex::new();
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// assumed.insert(Arc::new(volume));
    /// assert!(!assumed.is_empty());
    /// assumed.remove("pv-1");
    /// assert!(assumed.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The volume that the binding controller takes for a claim: the answer of
    /// [`find_best_match_for_claim`](super::find_best_match_for_claim).
    ///
    /// # Errors
    /// Those of the slice search.
    ///
    /// ```
    /// use pvbind::api::{Object, PersistentVolumeClaim, read_objects};
    /// use pvbind::matching::{SearchOptions, VolumeIndex};
    /// let objects = read_objects(
    ///     r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"}}"#,
    /// )?;
    /// let volumes = objects.into_iter().filter_map(|object| match object {
    ///     Object::PersistentVolume(volume) => Some(volume.into()),
    ///     _ => None,
    /// });
    /// let index: VolumeIndex = volumes.collect();
    /// let claim = PersistentVolumeClaim::default();
    /// let found = index.best_match(&claim, SearchOptions::default())?;
    /// assert_eq!(found.map(|volume| volume.name()), Some("pv-1"));
    /// let waits = SearchOptions { delay_binding: true, ..SearchOptions::default() };
    /// assert_eq!(index.best_match(&claim, waits)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn best_match(
        &self,
        claim: &PersistentVolumeClaim,
        options: SearchOptions,
    ) -> Result<Option<&Arc<PersistentVolume>>, FindError> {
        query::best_match(self, claim, options)
    }

    /// The volume for a claim on a node with these labels, without those of the
    /// excluded names: the answer of
    /// [`find_matching_volume`](super::find_matching_volume) with a node, over
    /// the volumes in the order of their names.
    ///
    /// To ask for one claim and many nodes, or for many claims and one node,
    /// prepare them once: [`search`](Self::search), [`node`](Self::node).
    ///
    /// # Errors
    /// Those of the slice search.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Features, VolumeIndex};
    /// let on_host = |name: &str, host: &str| -> Arc<PersistentVolume> {
    ///     serde_json::from_value(serde_json::json!({
    ///         "metadata": {"name": name}, "status": {"phase": "Available"},
    ///         "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
    ///             {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]}}}}))
    ///     .map(Arc::new)
    ///     .unwrap()
    /// };
    /// let index: VolumeIndex = [on_host("a-1", "a"), on_host("b-1", "b")].into_iter().collect();
    /// let labels = BTreeMap::from([("kubernetes.io/hostname".to_owned(), "b".to_owned())]);
    /// let claim = PersistentVolumeClaim::default();
    /// let found = index.best_match_on_node(&claim, &labels, &[], Features::default())?;
    /// assert_eq!(found.unwrap().name(), "b-1");
    /// assert_eq!(index.best_match_on_node(&claim, &labels, &["b-1"], Features::default())?, None);
    /// # Ok::<(), pvbind::matching::FindError>(())
    /// ```
    pub fn best_match_on_node(
        &self,
        claim: &PersistentVolumeClaim,
        node_labels: &BTreeMap<String, String>,
        excluded: &[&str],
        features: Features,
    ) -> Result<Option<&Arc<PersistentVolume>>, FindError> {
        let search = self.search(claim, features)?;
        Ok(search.on_node(&self.node(node_labels), excluded))
    }

    /// Prepares searches for one claim on many nodes: what depends on the claim
    /// alone is found out once.
    ///
    /// # Errors
    /// Those of the slice search.
    ///
    /// Cost: the selector is compiled, and the volumes that are reserved for the
    /// claim are looked at.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Features, VolumeIndex};
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #     "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
    /// #         {"key": "zone", "operator": "In", "values": ["a"]}]}]}}}}))?;
    /// let index: VolumeIndex = [Arc::new(volume)].into_iter().collect(); // pv-1, in zone a
    /// let claim = PersistentVolumeClaim::default();
    /// let search = index.search(&claim, Features::default())?;
    /// let reached = ["a", "b"].map(|zone| {
    ///     let labels = BTreeMap::from([("zone".to_owned(), zone.to_owned())]);
    ///     search.on_node(&index.node(&labels), &[]).is_some()
    /// });
    /// assert_eq!(reached, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn search<'i, 'c>(
        &'i self,
        claim: &'c PersistentVolumeClaim,
        features: Features,
    ) -> Result<ClaimSearch<'i, 'c>, FindError> {
        ClaimSearch::new(self, claim, features)
    }

    /// Prepares searches for many claims on one node.
    ///
    /// Cost: one look-up for each label and each key that node affinities name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{Node, PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Features, FindError, VolumeIndex};
    /// # use serde_json::{from_value, json};
    /// # let volume: PersistentVolume = from_value(json!({"metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #     "spec": {"capacity": {"storage": "8Gi"}}}))?;
    /// # let node: Node = from_value(json!({"metadata": {"name": "node-a"}}))?;
    /// # let asking = |size: &str| from_value(json!({"spec": {"resources": {"requests": {"storage": size}}}}));
    /// let index: VolumeIndex = [Arc::new(volume)].into_iter().collect(); // pv-1, of 8Gi
    /// let claims: [PersistentVolumeClaim; 2] = [asking("5Gi")?, asking("9Gi")?];
    /// let prepared = index.node(node.metadata.labels());
    /// let fits = |claim| Ok(index.search(claim, Features::default())?.on_node(&prepared, &[]).is_some());
    /// let fitting: Vec<bool> = claims.iter().map(fits).collect::<Result<_, FindError>>()?;
    /// assert_eq!(fitting, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn node<'a>(&'a self, labels: &'a BTreeMap<String, String>) -> NodeLabels<'a> {
        NodeLabels::new(self, labels)
    }

    fn enter_groups(&mut self, volume: Arc<PersistentVolume>) {
        if let Some(count) = self.count_of(&volume) {
            *count = count.saturating_add(1);
        }
        if volume.claim_ref().is_some() {
            self.reserved.insert(volume);
        } else if is_open(&volume) {
            let affinity = self.affinities.enter(&volume);
            let always = self.affinities.is_always_evaluated(affinity);
            self.open.insert(volume, affinity, always);
        }
    }

    fn leave_groups(&mut self, volume: &Arc<PersistentVolume>) {
        if let Some(count) = self.count_of(volume) {
            *count = count.saturating_sub(1);
        }
        if volume.claim_ref().is_some() {
            self.reserved.remove(volume);
        } else if is_open(volume)
            && let Some(affinity) = self.affinities.id_of(volume)
        {
            self.open.remove(volume, affinity);
            self.affinities.leave(affinity);
        }
    }

    fn count_of(&mut self, volume: &PersistentVolume) -> Option<&mut usize> {
        let set = AccessModeSet::of(volume.access_modes());
        self.sets.get_mut(set.index())
    }
}

/// Whether an unreserved volume can be taken by any claim that it fits.
fn is_open(volume: &PersistentVolume) -> bool {
    volume.claim_ref().is_none()
        && volume.status.phase == Some(VolumePhase::Available)
        && !volume.metadata.is_being_deleted()
}

impl Extend<Arc<PersistentVolume>> for VolumeIndex {
    fn extend<I: IntoIterator<Item = Arc<PersistentVolume>>>(&mut self, volumes: I) {
        for volume in volumes {
            self.insert(volume);
        }
    }
}

impl FromIterator<Arc<PersistentVolume>> for VolumeIndex {
    fn from_iter<I: IntoIterator<Item = Arc<PersistentVolume>>>(volumes: I) -> Self {
        let mut index = VolumeIndex::new();
        index.extend(volumes);
        index
    }
}
