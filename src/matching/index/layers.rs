//! Searches in an index with changed volumes in front of it.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

use super::VolumeIndex;
use super::group::Reached;
use super::query::{ClaimSearch, NodeLabels};
use super::slot::Slot;
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::matching::{Features, FindError};

/// An index of volumes, with layers in front of it: a volume of a layer hides
/// the volumes of its name behind it.
///
/// A scheduler that has decided and not yet written keeps the volumes as they
/// will be in such a layer, and leaves the index alone.
///
/// # Cost
/// Without layers that of [`VolumeIndex`]; a layer that holds volumes adds a
/// search in itself, and a look-up for each volume that a search behind it
/// finds.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::matching::{VolumeIndex, VolumeLayers};
/// let volume = |class: &str| -> Arc<PersistentVolume> {
///     serde_json::from_value(serde_json::json!({
///         "metadata": {"name": "pv-1"}, "spec": {"storageClassName": class}}))
///     .map(Arc::new)
///     .unwrap()
/// };
/// let index: VolumeIndex = [volume("slow")].into_iter().collect();
/// let changed: VolumeIndex = [volume("fast")].into_iter().collect();
/// let layers = VolumeLayers::new(&index).behind(&changed);
/// assert_eq!(layers.get("pv-1").unwrap().class_name(), "fast");
/// assert_eq!(layers.of_class("slow"), Vec::<&Arc<PersistentVolume>>::new());
/// ```
#[derive(Clone, Debug)]
pub struct VolumeLayers<'a> {
    base: &'a VolumeIndex,
    /// The one in front of all others last; none is empty.
    fronts: Vec<&'a VolumeIndex>,
}

impl<'a> VolumeLayers<'a> {
    /// An index with nothing in front.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::{VolumeIndex, VolumeLayers};
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// let index: VolumeIndex = [Arc::new(volume)].into_iter().collect();
    /// // Nothing is copied: the layers lend what the index holds.
    /// let layers = VolumeLayers::new(&index);
    /// assert!(Arc::ptr_eq(layers.get("pv-1").unwrap(), index.get("pv-1").unwrap()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(base: &'a VolumeIndex) -> Self {
        VolumeLayers {
            base,
            fronts: Vec::new(),
        }
    }

    /// The same, with these volumes in front of all, the layers that were put
    /// there before included.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::{VolumeIndex, VolumeLayers};
    /// # use serde_json::{from_value, json};
    /// # let holding = |phase: &str| -> Result<VolumeIndex, serde_json::Error> {
    /// #     let volume: PersistentVolume = from_value(json!({"metadata": {"name": "pv-1"}, "status": {"phase": phase}}))?;
    /// #     Ok([Arc::new(volume)].into_iter().collect())
    /// # };
    /// // One volume in three states: as the cluster has it, as decided, as decided after that.
    /// let [base, first, second] = [holding("Available")?, holding("Bound")?, holding("Released")?];
    /// let layers = VolumeLayers::new(&base).behind(&first).behind(&second);
    /// let phase = layers.get("pv-1").unwrap().status.phase.as_ref().unwrap();
    /// assert_eq!(phase.as_str(), "Released");
    /// assert_eq!(layers.all().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn behind(mut self, front: &'a VolumeIndex) -> Self {
        if !front.is_empty() {
            self.fronts.push(front);
        }
        self
    }

    /// Prepares a claim for searches on many nodes, among the volumes of its
    /// class: see [`ClaimSearch::within_class`].
    ///
    /// Cost: for each layer that of [`VolumeIndex::search`].
    ///
    /// # Errors
    /// Those of [`find_matching_volume`](crate::matching::find_matching_volume).
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::matching::{Features, VolumeIndex, VolumeLayers};
    /// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"namespace": "shop", "name": "data"},
    ///     "spec": {"volumeAttributesClassName": "gold"}}))?;
    /// let index = VolumeIndex::new();
    /// let layers = VolumeLayers::new(&index);
    /// assert!(layers.search(&claim, Features::default()).is_ok());
    /// // What is wrong with the claim shows here, once, and not on each node.
    /// let off = Features::default().with_volume_attributes_class(false);
    /// assert!(layers.search(&claim, off).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn search<'c>(
        &self,
        claim: &'c PersistentVolumeClaim,
        features: Features,
    ) -> Result<LayeredSearch<'a, 'c>, FindError> {
        let fronts = self.fronts.iter();
        Ok(LayeredSearch {
            base: self.base.search(claim, features)?.within_class(),
            fronts: fronts
                .map(|front| Ok(front.search(claim, features)?.within_class()))
                .collect::<Result<_, FindError>>()?,
            layers: self.clone(),
        })
    }

    /// Prepares a node for searches for many claims.
    ///
    /// Cost: for each layer that of [`VolumeIndex::node`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{Node, PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Features, FindError, VolumeIndex, VolumeLayers};
    /// # use serde_json::{from_value, json};
    /// # let volumes: Vec<PersistentVolume> = from_value(json!([
    /// #     {"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}, "spec": {"storageClassName": "fast"}},
    /// #     {"metadata": {"name": "pv-2"}, "status": {"phase": "Available"}, "spec": {"storageClassName": "slow"}}]))?;
    /// # let index: VolumeIndex = volumes.into_iter().map(Arc::new).collect();
    /// # let node: Node = from_value(json!({"metadata": {"name": "node-a"}}))?;
    /// # let claims: Vec<PersistentVolumeClaim> = from_value(json!([
    /// #     {"spec": {"storageClassName": "slow"}}, {"spec": {"storageClassName": "fast"}}]))?;
    /// // pv-1 of class fast and pv-2 of class slow; one claim of class slow, one of fast.
    /// let layers = VolumeLayers::new(&index);
    /// let prepared = layers.node(node.metadata.labels());
    /// let names = claims.iter().map(|claim| {
    ///     let found = layers.search(claim, Features::default())?.on_node(&prepared, &[]);
    ///     Ok(found.map(|volume| volume.name()))
    /// });
    /// assert_eq!(names.collect::<Result<Vec<_>, FindError>>()?, [Some("pv-2"), Some("pv-1")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn node<'n>(&self, labels: &'n BTreeMap<String, String>) -> LayeredNode<'n>
    where
        'a: 'n,
    {
        let fronts = self.fronts.iter();
        LayeredNode {
            base: self.base.node(labels),
            fronts: fronts.map(|front| front.node(labels)).collect(),
        }
    }

    /// The volume of this name, as the foremost layer that has it says. One
    /// look-up for each layer.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::{VolumeIndex, VolumeLayers};
    /// # let index = |text: &str| -> Result<VolumeIndex, serde_json::Error> {
    /// #     let volume: PersistentVolume = serde_json::from_str(text)?;
    /// #     Ok([Arc::new(volume)].into_iter().collect())
    /// # };
    /// let base = index(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// let assumed = index(r#"{"metadata": {"name": "pv-2"}, "spec": {"claimRef": {"name": "data"}}}"#)?;
    /// let layers = VolumeLayers::new(&base).behind(&assumed);
    /// assert!(layers.get("pv-1").unwrap().claim_ref().is_none());
    /// // A volume that only a layer has is there too.
    /// assert!(layers.get("pv-2").unwrap().claim_ref().is_some());
    /// assert!(layers.get("pv-3").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&'a Arc<PersistentVolume>> {
        let fronts = self.fronts.iter().rev();
        let mut found = fronts.filter_map(|front| front.get(name));
        found.next().or_else(|| self.base.get(name))
    }

    /// All volumes, by name.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::{VolumeIndex, VolumeLayers};
    /// let index = |names: &[&str]| -> VolumeIndex {
    ///     let volume = |name: &&str| -> Arc<PersistentVolume> {
    ///         serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).map(Arc::new).unwrap()
    ///     };
    ///     names.iter().map(volume).collect()
    /// };
    /// let (base, front) = (index(&["pv-1", "pv-3"]), index(&["pv-2", "pv-3"]));
    /// let layers = VolumeLayers::new(&base).behind(&front);
    /// let names: Vec<_> = layers.all().iter().map(|volume| volume.name()).collect();
    /// assert_eq!(names, ["pv-1", "pv-2", "pv-3"]);
    /// ```
    pub fn all(&self) -> Vec<&'a Arc<PersistentVolume>> {
        self.selected(|_| true)
    }

    /// The volumes of a class, by name, whatever their phase. Linear in the
    /// number of all volumes.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::{VolumeIndex, VolumeLayers};
    /// let volume = |name: &str, class: &str| -> Arc<PersistentVolume> {
    ///     serde_json::from_value(serde_json::json!({
    ///         "metadata": {"name": name}, "spec": {"storageClassName": class}}))
    ///     .map(Arc::new)
    ///     .unwrap()
    /// };
    /// let index: VolumeIndex = [volume("a", "fast"), volume("b", "slow")].into_iter().collect();
    /// let names: Vec<_> = VolumeLayers::new(&index).of_class("fast").iter().map(|v| v.name()).collect();
    /// assert_eq!(names, ["a"]);
    /// ```
    pub fn of_class(&self, class: &str) -> Vec<&'a Arc<PersistentVolume>> {
        self.selected(|volume| volume.class_name() == class)
    }

    fn selected(
        &self,
        is_wanted: impl Fn(&PersistentVolume) -> bool,
    ) -> Vec<&'a Arc<PersistentVolume>> {
        let layers = std::iter::once(&self.base).chain(&self.fronts);
        let mut selected: Vec<_> = layers
            .enumerate()
            .flat_map(|(depth, index)| index.iter().map(move |volume| (depth, volume)))
            .filter(|(depth, volume)| is_wanted(volume) && !self.hides(*depth, volume))
            .map(|(_, volume)| volume)
            .collect();
        if !self.fronts.is_empty() {
            selected.sort_unstable_by_key(|volume| volume.name());
        }
        selected
    }

    /// Whether a layer in front has a volume of this name. The index itself is
    /// at depth 0.
    fn hides(&self, depth: usize, volume: &PersistentVolume) -> bool {
        let fronts = self.fronts.iter().skip(depth);
        fronts
            .filter(|front| front.get(volume.name()).is_some())
            .count()
            > 0
    }
}

/// A claim, prepared for searches on many nodes: see [`VolumeLayers::search`].
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::binding::bind_volume_to_claim;
/// use pvbind::matching::{Features, VolumeIndex, VolumeLayers};
/// let open: Arc<PersistentVolume> = serde_json::from_str(
///     r#"{"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}}"#).map(Arc::new)?;
/// let first: PersistentVolumeClaim = serde_json::from_str(r#"{"metadata": {"name": "first"}}"#)?;
/// let second: PersistentVolumeClaim = serde_json::from_str(r#"{"metadata": {"name": "second"}}"#)?;
/// // Chosen for the first claim, and not written yet.
/// let taken = bind_volume_to_claim(&open, &first).applied_to(&open);
/// let index: VolumeIndex = [open].into_iter().collect();
/// let front: VolumeIndex = [Arc::new(taken)].into_iter().collect();
///
/// let labels = BTreeMap::new();
/// let finds = |layers: &VolumeLayers<'_>| -> Result<bool, pvbind::matching::FindError> {
///     Ok(layers.search(&second, Features::default())?.on_node(&layers.node(&labels), &[]).is_some())
/// };
/// assert!(finds(&VolumeLayers::new(&index))?);
/// assert!(!finds(&VolumeLayers::new(&index).behind(&front))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LayeredSearch<'i, 'c> {
    base: ClaimSearch<'i, 'c>,
    fronts: Vec<ClaimSearch<'i, 'c>>,
    layers: VolumeLayers<'i>,
}

/// A node, prepared for searches for many claims: see [`VolumeLayers::node`].
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{Node, PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Features, LayeredNode, VolumeIndex, VolumeLayers};
/// # use serde_json::{from_value, json};
/// # let volume: PersistentVolume = from_value(json!({"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}}))?;
/// # let index: VolumeIndex = [Arc::new(volume)].into_iter().collect();
/// # let nodes: Vec<Node> = from_value(json!([{"metadata": {"name": "node-a"}}, {"metadata": {"name": "node-b"}}]))?;
/// let layers = VolumeLayers::new(&index); // of a volume that every node reaches
/// // Prepared once, and kept while the pod's claims are gone through.
/// let prepared: Vec<LayeredNode<'_>> =
///     nodes.iter().map(|node| layers.node(node.metadata.labels())).collect();
/// let claim = PersistentVolumeClaim::default();
/// let search = layers.search(&claim, Features::default())?;
/// assert!(prepared.iter().all(|node| search.on_node(node, &[]).is_some()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LayeredNode<'a> {
    base: NodeLabels<'a>,
    fronts: Vec<NodeLabels<'a>>,
}

impl<'i> LayeredSearch<'i, '_> {
    /// The volume for the claim on the node, without those of the excluded
    /// names: the answer of
    /// [`find_matching_volume`](crate::matching::find_matching_volume) with a
    /// node, over [`VolumeLayers::of_class`] of the claim's class.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Features, VolumeIndex, VolumeLayers};
    /// # use serde_json::{from_value, json};
    /// # let volumes: Vec<PersistentVolume> = from_value(json!([
    /// #     {"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}, "spec": {"storageClassName": "fast"}},
    /// #     {"metadata": {"name": "pv-2"}, "status": {"phase": "Available"}, "spec": {"storageClassName": "fast"}}]))?;
    /// # let index: VolumeIndex = volumes.into_iter().map(Arc::new).collect();
    /// # let claim: PersistentVolumeClaim = from_value(json!({"spec": {"storageClassName": "fast"}}))?;
    /// // pv-1 and pv-2, of class fast, and a claim of that class.
    /// let (layers, labels) = (VolumeLayers::new(&index), BTreeMap::new());
    /// let (search, node) = (layers.search(&claim, Features::default())?, layers.node(&labels));
    /// assert_eq!(search.on_node(&node, &[]).unwrap().name(), "pv-1");
    /// // For a second claim like it in the same pod, what the first one got is left out.
    /// assert_eq!(search.on_node(&node, &["pv-1"]).unwrap().name(), "pv-2");
    /// assert!(search.on_node(&node, &["pv-1", "pv-2"]).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_node(
        &self,
        node: &LayeredNode<'_>,
        excluded: &[&str],
    ) -> Option<&'i Arc<PersistentVolume>> {
        let mut reach = LayeredReach::default();
        self.reach(node, &mut reach);
        let found = self.find(node, &reach, None, |volume| {
            excluded.is_empty() || !excluded.contains(&volume.name())
        });
        found.map(|found| found.volume)
    }

    /// Finds the open volumes that may serve the claim and that a node reaches,
    /// in place of those that were found before.
    pub(crate) fn reach(&self, node: &LayeredNode<'_>, reach: &mut LayeredReach<'i>) {
        reach.base.clear();
        self.base.reach(&node.base, &mut reach.base);
        reach.fronts.resize_with(self.fronts.len(), Vec::new);
        let fronts = self.fronts.iter().zip(&node.fronts);
        for ((search, node), reached) in fronts.zip(&mut reach.fronts) {
            reached.clear();
            search.reach(node, reached);
        }
    }

    /// Equal for two claims that reach the same open volumes on every node.
    pub(crate) fn reach_key(&self) -> impl Hash + Eq + use<> {
        let searches = self.searches();
        let keys = searches.map(|(_, search)| search.reach_key());
        keys.collect::<Vec<_>>()
    }

    /// The volume for the claim among those reached on the node that the caller
    /// accepts. Open volumes are looked at from the one after this on.
    pub(crate) fn find(
        &self,
        node: &LayeredNode<'_>,
        reach: &LayeredReach<'i>,
        after: Option<Found<'i>>,
        accepts: impl Fn(&Arc<PersistentVolume>) -> bool,
    ) -> Option<Found<'i>> {
        let accepts_at = |depth: usize| {
            let accepts = &accepts;
            move |volume: &Arc<PersistentVolume>| {
                accepts(volume) && !self.layers.hides(depth, volume)
            }
        };
        let labels = node.base.labels();
        let reserved = self
            .searches()
            .filter_map(|(depth, search)| search.reserved(labels, accepts_at(depth)));
        if let Some((volume, is_reachable)) = reserved.min_by_key(|(volume, _)| volume.name()) {
            return is_reachable.then_some(Found {
                volume,
                place: None,
            });
        }
        let after = after.and_then(|found| found.place);
        let reached = std::iter::once(&reach.base).chain(&reach.fronts);
        let firsts = self
            .searches()
            .zip(reached)
            .filter_map(|((depth, search), reached)| {
                search.first_open(reached, after, accepts_at(depth))
            });
        let first = firsts.min()?;
        Some(Found {
            volume: first.volume()?,
            place: Some(first),
        })
    }

    /// Whether a node reaches each of the volumes that are taken before all open
    /// ones.
    pub(crate) fn reserved_reachable(&self, node: &LayeredNode<'_>) -> impl Iterator<Item = bool> {
        let labels = node.base.labels();
        self.searches()
            .flat_map(move |(_, search)| search.reserved_reachable(labels))
    }

    fn searches(&self) -> impl Iterator<Item = (usize, &ClaimSearch<'i, '_>)> {
        std::iter::once(&self.base).chain(&self.fronts).enumerate()
    }
}

/// A volume that was found for a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'i> {
    pub(crate) volume: &'i Arc<PersistentVolume>,
    /// Its place in the order of open volumes; `None` if it is reserved for the
    /// claim.
    place: Option<&'i Slot>,
}

impl Found<'_> {
    /// Whether the volume is reserved for the claim, not open.
    pub(crate) fn is_reserved(&self) -> bool {
        self.place.is_none()
    }
}

/// The open volumes that a node reaches.
#[derive(Debug, Default)]
pub(crate) struct LayeredReach<'i> {
    base: Vec<Reached<'i>>,
    fronts: Vec<Vec<Reached<'i>>>,
}

impl LayeredReach<'_> {
    /// How many volumes there are.
    pub(crate) fn len(&self) -> usize {
        let sets = self.base.iter().chain(self.fronts.iter().flatten());
        sets.map(Reached::len).sum()
    }

    /// What tells this reach from another of the same layers.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = usize> {
        let sets = self.base.iter().chain(self.fronts.iter().flatten());
        sets.map(Reached::address)
    }
}
