//! Searches in an index with changed volumes in front of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::query::{ClaimSearch, NodeLabels};
use super::{VolumeIndex, slot::Slot};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::matching::FindError;
use crate::matching::find::is_reachable;

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
    pub fn new(base: &'a VolumeIndex) -> Self {
        VolumeLayers {
            base,
            fronts: Vec::new(),
        }
    }

    /// The same, with these volumes in front of all.
    pub fn behind(mut self, front: &'a VolumeIndex) -> Self {
        if !front.is_empty() {
            self.fronts.push(front);
        }
        self
    }

    /// Prepares a claim for searches on many nodes, among the volumes of its
    /// class: see [`ClaimSearch::within_class`].
    ///
    /// # Errors
    /// Those of [`find_matching_volume`](crate::matching::find_matching_volume).
    pub fn search<'c>(
        &self,
        claim: &'c PersistentVolumeClaim,
        vac_enabled: bool,
    ) -> Result<LayeredSearch<'a, 'c>, FindError> {
        let fronts = self.fronts.iter();
        Ok(LayeredSearch {
            base: self.base.search(claim, vac_enabled)?.within_class(),
            fronts: fronts
                .map(|front| Ok(front.search(claim, vac_enabled)?.within_class()))
                .collect::<Result<_, FindError>>()?,
            layers: self.clone(),
        })
    }

    /// Prepares a node for searches for many claims.
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

    /// The volume of this name.
    pub fn get(&self, name: &str) -> Option<&'a Arc<PersistentVolume>> {
        let fronts = self.fronts.iter().rev();
        let mut found = fronts.filter_map(|front| front.get(name));
        found.next().or_else(|| self.base.get(name))
    }

    /// All volumes, by name.
    pub fn all(&self) -> Vec<&'a Arc<PersistentVolume>> {
        self.selected(|_| true)
    }

    /// The volumes of a class, by name, whatever their phase. Linear in the
    /// number of all volumes.
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
#[derive(Debug)]
pub struct LayeredSearch<'i, 'c> {
    base: ClaimSearch<'i, 'c>,
    fronts: Vec<ClaimSearch<'i, 'c>>,
    layers: VolumeLayers<'i>,
}

/// A node, prepared for searches for many claims: see [`VolumeLayers::node`].
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
    pub fn on_node(
        &self,
        node: &LayeredNode<'_>,
        excluded: &[&str],
    ) -> Option<&'i Arc<PersistentVolume>> {
        if self.fronts.is_empty() {
            return self.base.on_node(&node.base, excluded);
        }
        let searches = || std::iter::once(&self.base).chain(&self.fronts).enumerate();
        let options = self.base.options(&node.base, excluded);
        let reserved = searches().filter_map(|(depth, search)| {
            search.reserved(&options, |volume| !self.layers.hides(depth, volume))
        });
        if let Some(volume) = reserved.min_by_key(|volume| volume.name()) {
            return is_reachable(volume, &options).then_some(volume);
        }
        let nodes = std::iter::once(&node.base).chain(&node.fronts);
        searches()
            .zip(nodes)
            .filter_map(|((depth, search), node)| {
                search.first_open(node, |volume| {
                    !excluded.contains(&volume.name()) && !self.layers.hides(depth, volume)
                })
            })
            .min()
            .and_then(Slot::volume)
    }
}
