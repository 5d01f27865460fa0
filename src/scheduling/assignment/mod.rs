//! Volumes for all claims of a pod at once: a policy that Kubernetes does not
//! have.

mod bipartite;
mod pack;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use self::pack::Room;
use super::batch::{Greedy, reach};
use super::search::{DelayedClaim, ToProvision};
use super::{
    DynamicProvision, FindVolumesError, PodClaims, PodSearch, PodVolumes, StaticBinding,
    UnfitReason,
};
use crate::api::{Node, PersistentVolume, PersistentVolumeClaim};
use crate::matching::{Features, LayeredNode, LayeredReach};
use crate::quantity::Quantity;
use crate::view::SchedulingView;

/// How the room of a capacity pool is looked at when several claims of a pod
/// must be provisioned. This enum is complete.
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodClaims, PoolRoom, assign_pod_volumes};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
///      "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": true}}
///     {"kind": "CSIStorageCapacity", "metadata": {"name": "pool"},
///      "storageClassName": "fast", "capacity": "10Gi", "nodeTopology": {}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "a"},
///      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "6Gi"}}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "b"},
///      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "6Gi"}}}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(r#"{"spec": {"volumes": [
///     {"persistentVolumeClaim": {"claimName": "a"}}, {"persistentVolumeClaim": {"claimName": "b"}}]}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let fits = |room| assign_pod_volumes(&claims, &Node::default(), &snapshot, Features::default(), room)
///     .map(|volumes| volumes.fits());
/// // Each has room, both have not: upstream lets the pod go there.
/// assert_eq!(fits(PoolRoom::PerClaim), Ok(true));
/// assert_eq!(fits(PoolRoom::Shared), Ok(false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PoolRoom {
    /// The pod's claims share it: what they ask for together must fit into the
    /// pool's `capacity`, and each into its limit.
    #[default]
    Shared,
    /// Each claim is looked at as if it were alone, as upstream does.
    PerClaim,
}

/// What a node offers the claims of a pod if their volumes are chosen together.
///
/// [`find_pod_volumes`](super::find_pod_volumes), which follows Kubernetes,
/// gives the smallest claim the smallest volume that fits, and goes on: so a
/// claim that could have had another volume can take the only one that a later
/// claim fits. This looks at all claims at once. Where Kubernetes itself
/// schedules the pod its own choice holds, so this is for an embedder who
/// reserves the volumes (sets their claimRef) or binds them itself.
///
/// What is chosen, in this order:
/// 1. as few claims as possible with neither a volume nor a way to provision
///    one: if there is an assignment that meets all, one is found;
/// 2. as few provisions as possible, as a volume that is there comes first
///    upstream too;
/// 3. the fewest bytes wasted by volumes larger than their claims ask for;
/// 4. of such assignments: the one that leaves the claims that come last in the
///    pod without volume, that uses the volumes that come first by size and
///    name, and in which the claims choose among these in the order of their
///    sizes, then of the pod, as they do upstream.
///
/// The form of the answer is that of [`find_pod_volumes`], in the same orders:
/// on a node that does not fit it holds the first reason, the bindings that
/// could be made, and no provisions. A claim with a volume that is reserved for
/// it takes that or none, as upstream; the rules for bound claims and for
/// `selected-node` are the same.
///
/// # Differences
/// From Kubernetes 1.36:
/// - the choice itself;
/// - with [`PoolRoom::Shared`] claims share the room of a pool, so that a node
///   can be refused which upstream takes, and on which the driver would then
///   run out of room. Each CSIStorageCapacity counts as a pool of its own: that
///   the pools of two classes are the same disk is not visible;
/// - a claim that the pod names twice gets one volume.
///
/// # Errors
/// The node has no answer: see [`FindVolumesError`].
///
/// # Cost
/// With n delayed claims: n² steps in the index, then at most n³ in n alone,
/// however many volumes there are. It is bounded: of a pod with more than 256
/// delayed claims each gets its volume as upstream gives it, smallest claim
/// first. If several pools of a class serve the node, arranging claims in them
/// is bounded too: beyond six claims in six pools an arrangement can be missed.
///
/// [`find_pod_volumes`]: super::find_pod_volumes
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodClaims, PoolRoom, assign_pod_volumes, find_pod_volumes};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "local"},
///      "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "any"},
///      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "choosy"},
///      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "10Gi"}},
///               "selector": {"matchLabels": {"x": "y"}}}}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-10", "labels": {"x": "y"}},
///      "spec": {"storageClassName": "local", "capacity": {"storage": "10Gi"}},
///      "status": {"phase": "Available"}}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-20"},
///      "spec": {"storageClassName": "local", "capacity": {"storage": "20Gi"}},
///      "status": {"phase": "Available"}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(r#"{"spec": {"volumes": [
///     {"persistentVolumeClaim": {"claimName": "any"}},
///     {"persistentVolumeClaim": {"claimName": "choosy"}}]}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let node = Node::default();
/// // Upstream gives `any` the smaller volume, and `choosy` finds none.
/// assert!(!find_pod_volumes(&claims, &node, &snapshot, Features::default())?.fits());
/// let volumes = assign_pod_volumes(&claims, &node, &snapshot, Features::default(), PoolRoom::Shared)?;
/// assert!(volumes.fits());
/// let names: Vec<_> = volumes.static_bindings.iter().map(|b| b.volume.name()).collect();
/// assert_eq!(names, ["pv-20", "pv-10"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assign_pod_volumes<V: SchedulingView + ?Sized>(
    claims: &PodClaims,
    node: &Node,
    view: &V,
    features: Features,
    room: PoolRoom,
) -> Result<PodVolumes, FindVolumesError> {
    PodSearch::new(claims, view, features).assign_on_node(node, room)
}

/// More claims than this are not arranged: with them an arrangement could take
/// seconds for each node.
const MOST_TOGETHER: usize = 256;

// Why the answer is right. `bipartite` finds, for the graph of claims and
// volumes that fit: the most claims with a volume, of such sets of claims the
// one that comes first in the order of worth, and the smallest volumes.
//
// - *As many claims as possible, the larger ones first, is what the first three
//   wishes ask for.* A class's volumes serve its claims only, so classes do not
//   meet. Within a class, whether a claim can be provisioned alone depends on
//   its size only, and the larger ones cannot: so those that need a volume most
//   come first. The fewest stay without volume, so the fewest are provisioned.
//   The waste is the volumes' sizes less the requests, so with the number fixed
//   it is least for the largest requests and the smallest volumes.
// - *If what is left can share the pools in any assignment, it can in this
//   one.* The first base of a matroid is the largest one place by place: its
//   first, second, … member is no smaller than that of any other independent
//   set. The same holds for the dual, so what is left is the smallest place by
//   place, and smaller volumes fit wherever larger ones did.
// - *The n smallest volumes for each of n claims of a class are enough.* If a
//   claim has another volume, the n-1 other claims leave one of its n smallest
//   free. Taking that makes the set of volumes come earlier, and after finitely
//   many such steps no claim has another volume.
//
// A request below zero counts as zero when worth is compared: one cannot be
// given less than nothing.
impl<'a, V: SchedulingView + ?Sized> PodSearch<'a, V> {
    /// What a node offers if the volumes are chosen together: see
    /// [`assign_pod_volumes`].
    ///
    /// # Errors
    /// The node has no answer.
    ///
    /// ```
    /// use pvbind::api::Node;
    /// use pvbind::matching::Features;
    /// use pvbind::scheduling::{PodClaims, PodSearch, PoolRoom};
    /// use pvbind::view::Snapshot;
    /// let (claims, snapshot) = (PodClaims::default(), Snapshot::new());
    /// let search = PodSearch::new(&claims, &snapshot, Features::default()); // once for all nodes
    /// let nodes = [Node::default(), Node::default()];
    /// let fits = nodes.iter().filter(|node| {
    ///     search.assign_on_node(node, PoolRoom::Shared).is_ok_and(|volumes| volumes.fits())
    /// });
    /// assert_eq!(fits.count(), 2); // a pod without claims fits everywhere
    /// ```
    pub fn assign_on_node(
        &self,
        node: &Node,
        room: PoolRoom,
    ) -> Result<PodVolumes, FindVolumesError> {
        let mut volumes = match self.before_choice(node)? {
            ControlFlow::Continue(volumes) => volumes,
            ControlFlow::Break(volumes) => return Ok(volumes),
        };
        let prepared = self.layers.node(node.metadata.labels());
        let open = self.open_once();
        let chosen = match open.len() <= MOST_TOGETHER {
            true => self.choose(&open, &prepared),
            false => self.choose_apart(&open, &prepared),
        };
        let mut missed = self.selected_once();
        for (delayed, volume) in open.into_iter().zip(chosen) {
            match volume {
                Some(volume) => volumes.static_bindings.push(StaticBinding {
                    claim: Arc::clone(delayed.claim),
                    volume: Arc::clone(volume),
                }),
                None => missed.extend(self.to_provision(delayed.claim, delayed.class, true)),
            }
        }
        match self.provision_together(&missed, node, room)? {
            Ok(provisions) => volumes.dynamic_provisions = provisions,
            Err(reason) => volumes.reasons.insert(reason),
        }
        Ok(volumes)
    }

    /// The open claims, by size, each once.
    fn open_once(&self) -> Vec<&DelayedClaim<'a>> {
        let mut seen = BTreeSet::new();
        let open = self.open.iter();
        open.filter(|delayed| seen.insert(key(delayed.claim)))
            .collect()
    }

    /// The claims for which this node was selected, in pod order, each once.
    fn selected_once(&self) -> Vec<ToProvision<'_, 'a>> {
        let mut seen = BTreeSet::new();
        let selected = self.selected.iter();
        selected
            .filter(|selected| seen.insert(key(selected.claim)))
            .filter_map(|selected| self.to_provision(selected.claim, selected.class, false))
            .collect()
    }

    /// The volume for each open claim.
    fn choose(
        &self,
        open: &[&DelayedClaim<'a>],
        node: &LayeredNode<'_>,
    ) -> Vec<Option<&'a Arc<PersistentVolume>>> {
        let mut of_class: BTreeMap<usize, usize> = BTreeMap::new();
        for delayed in open {
            *of_class.entry(delayed.class).or_default() += 1;
        }
        let mut fitting = Vec::with_capacity(open.len());
        for delayed in open {
            let enough = of_class.get(&delayed.class).copied().unwrap_or(0);
            fitting.push(delayed.fitting(node, enough));
        }
        let volumes: BTreeSet<_> = fitting.iter().flatten().copied().map(Ranked).collect();
        let volumes: Vec<_> = volumes.into_iter().map(|Ranked(volume)| volume).collect();
        let ranks: BTreeMap<&str, usize> = volumes
            .iter()
            .enumerate()
            .map(|(rank, volume)| (volume.name(), rank))
            .collect();
        let candidates: Vec<Vec<usize>> = fitting
            .iter()
            .map(|fitting| {
                let ranks = fitting.iter().filter_map(|volume| ranks.get(volume.name()));
                let mut ranks: Vec<_> = ranks.copied().collect();
                ranks.sort_unstable();
                ranks
            })
            .collect();
        let order: Vec<usize> = (0..open.len()).collect();
        // Sorted from the largest; the order of equal ones stays that of the pod.
        let mut worth = order.clone();
        worth.sort_by(|&a, &b| match (open.get(a), open.get(b)) {
            (Some(a), Some(b)) => b.worth().cmp(&a.worth()),
            _ => a.cmp(&b),
        });
        let chosen = bipartite::assign(&candidates, volumes.len(), &worth, &order);
        let volume_of = |rank: Option<usize>| volumes.get(rank?).copied();
        chosen.into_iter().map(volume_of).collect()
    }

    /// The volume for each open claim if there are too many to look at them all
    /// at once.
    fn choose_apart(
        &self,
        open: &[&DelayedClaim<'a>],
        node: &LayeredNode<'_>,
    ) -> Vec<Option<&'a Arc<PersistentVolume>>> {
        let mut reaches = self.no_reaches();
        reach(self, node, &mut reaches);
        let mut chosen = Vec::with_capacity(open.len());
        let open = open.iter().copied();
        Greedy::default().choose(open, node, &reaches, &mut chosen);
        chosen
    }

    /// How all these claims are provisioned; the reason if they cannot be.
    fn provision_together(
        &self,
        missed: &[ToProvision<'_, 'a>],
        node: &Node,
        room: PoolRoom,
    ) -> Result<Result<Vec<DynamicProvision>, UnfitReason>, FindVolumesError> {
        let mut provisions = match self.provision(missed.iter().copied(), node)? {
            Ok(provisions) => provisions,
            Err(reason) => return Ok(Err(reason)),
        };
        if room == PoolRoom::PerClaim {
            return Ok(Ok(provisions));
        }
        let labels = node.metadata.labels();
        // The claims of each class that draw on pools, by their place.
        let mut classes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, (missed, provision)) in missed.iter().zip(&provisions).enumerate() {
            if provision.capacity.is_some() {
                classes.entry(&missed.class.name).or_default().push(place);
            }
        }
        for places in classes.values() {
            let class = places.first().and_then(|&place| missed.get(place));
            let prepared = class.and_then(|missed| missed.class.prepared(self.view));
            let Some(pools) = prepared.and_then(|prepared| prepared.pools.as_ref()) else {
                continue;
            };
            let serving = pools.iter().filter(|pool| pool.serves(labels));
            let (rooms, capacities): (Vec<_>, Vec<_>) = serving
                .filter_map(|pool| {
                    let together = pool.capacity.capacity.as_ref().map(Quantity::value);
                    let largest = pool.limit?;
                    Some((Room { largest, together }, &pool.capacity))
                })
                .unzip();
            let size = |&place: &usize| {
                let claim = missed.get(place).map(|missed| missed.claim);
                claim.map_or(0, |claim| claim.requested_storage().value())
            };
            let sizes: Vec<_> = places.iter().map(size).collect();
            let Ok(packed) = pack::pack(&sizes, &rooms) else {
                return Ok(Err(UnfitReason::NotEnoughSpace));
            };
            for (place, pool) in places.iter().zip(packed) {
                if let Some(provision) = provisions.get_mut(*place) {
                    provision.capacity = capacities.get(pool).map(|&pool| Arc::clone(pool));
                }
            }
        }
        Ok(Ok(provisions))
    }
}

impl<'a> DelayedClaim<'a> {
    /// The smallest volumes that fit, at most so many; a volume that is reserved
    /// for the claim stands alone.
    fn fitting(&self, node: &LayeredNode<'_>, enough: usize) -> Vec<&'a Arc<PersistentVolume>> {
        let mut reach = LayeredReach::default();
        self.search.reach(node, &mut reach);
        let mut fitting = Vec::new();
        let mut last = None;
        while fitting.len() < enough {
            let Some(found) = self.search.find(node, &reach, last, |_| true) else {
                break;
            };
            fitting.push(found.volume);
            if found.is_reserved() {
                break;
            }
            last = Some(found);
        }
        fitting
    }

    /// How much a claim should rather have a volume than be provisioned: the
    /// larger first, and of those of size zero the ones that say so, which need
    /// a pool.
    fn worth(&self) -> (&Quantity, bool) {
        static ZERO: Quantity = Quantity::ZERO;
        let request = self.claim.storage_request();
        (request.unwrap_or(&ZERO).max(&ZERO), request.is_some())
    }
}

/// A volume, ordered by size and then name.
struct Ranked<'a>(&'a Arc<PersistentVolume>);

impl Ranked<'_> {
    fn key(&self) -> (&Quantity, &str) {
        (self.0.storage(), self.0.name())
    }
}

impl PartialEq for Ranked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Ranked<'_> {}

impl PartialOrd for Ranked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

fn key(claim: &PersistentVolumeClaim) -> (&str, &str) {
    (claim.metadata.namespace(), claim.metadata.name())
}

#[cfg(test)]
mod tests;
