//! One node and many: the fast forms.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::batch::Batch;
use super::provision::ProvisionClass;
use super::{
    DynamicProvision, FindVolumesError, PodClaims, PodVolumes, StaticBinding, UnfitReason,
    UnfitReasons,
};
use crate::api::{Node, PersistentVolume, PersistentVolumeClaim, names};
use crate::matching::{Features, FindError, LayeredReach, LayeredSearch, VolumeLayers};
use crate::selector::CompiledNodeSelector;
use crate::view::{Held, SchedulingView};

/// What one node offers the claims of a pod.
///
/// Follows `FindPodVolumes` of Kubernetes 1.36; [`find_pod_volumes_plain`] is
/// the definition. Immediate claims are not looked at: [`pre_filter`] refuses
/// their pods.
///
/// # Differences
/// - Where several CSIStorageCapacities have room, the first in the view's
///   order is named; upstream's order is undefined.
/// - The nodes that in-tree volumes of a bound claim were migrated for are not
///   looked at.
///
/// # Errors
/// The node has no answer: see [`FindVolumesError`].
///
/// # Cost
/// That of a search in the index for each delayed claim, and of preparing the
/// pod; who asks for several nodes prepares it once: [`PodSearch`]. A claim with
/// a selector also looks past the volumes that the pod's earlier claims took.
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodClaims, find_pod_volumes};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "local"},
///      "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
///      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
///      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"},
///               "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
///                   {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}]}]}}},
///      "status": {"phase": "Available"}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#,
/// )?;
/// let node = |host: &str| -> Node {
///     serde_json::from_value(serde_json::json!({
///         "metadata": {"name": host, "labels": {"kubernetes.io/hostname": host}}}))
///     .unwrap()
/// };
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let on_a = find_pod_volumes(&claims, &node("a"), &snapshot, Features::default())?;
/// assert_eq!(on_a.static_bindings[0].volume.name(), "pv-1");
/// let on_b = find_pod_volumes(&claims, &node("b"), &snapshot, Features::default())?;
/// let reasons: Vec<_> = on_b.reasons().map(|reason| reason.to_string()).collect();
/// assert_eq!(reasons, ["node(s) didn't find available persistent volumes to bind"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`find_pod_volumes_plain`]: super::find_pod_volumes_plain
/// [`pre_filter`]: super::pre_filter
pub fn find_pod_volumes<V: SchedulingView + ?Sized>(
    claims: &PodClaims,
    node: &Node,
    view: &V,
    features: Features,
) -> Result<PodVolumes, FindVolumesError> {
    PodSearch::new(claims, view, features).on_node(node)
}

/// What each of these nodes offers the claims of a pod, in the order of the
/// nodes: exactly the answers of [`find_pod_volumes`], and so of `FindPodVolumes`
/// of Kubernetes 1.36, which asks node by node.
///
/// # Cost
/// The pod is prepared once. On each node only what its labels lead to is
/// looked at: the volumes and capacity pools that its labels select, not those
/// of other hosts; and nodes that reach the same volumes share one search.
///
/// An answer takes 64 bytes, and 16 for each binding or provision; what the
/// call needs beside the answers is at most a few hundred bytes a node.
///
/// # Errors
/// Each answer on its own: those of [`find_pod_volumes`]. The call itself does not
/// fail.
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodClaims, find_pod_volumes_on_nodes};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-b"}, "status": {"phase": "Available"},
///      "spec": {"storageClassName": "local", "nodeAffinity": {"required": {"nodeSelectorTerms": [
///          {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}]}]}}}}
///     {"kind": "Node", "metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "a"}}}
///     {"kind": "Node", "metadata": {"name": "b", "labels": {"kubernetes.io/hostname": "b"}}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let nodes: Vec<&Node> = snapshot.nodes().map(|node| &**node).collect();
/// let answers = find_pod_volumes_on_nodes(&claims, nodes.iter().copied(), &snapshot, Features::default());
/// let fits: Vec<_> = nodes.iter().zip(&answers)
///     .filter(|(_, answer)| answer.as_ref().is_ok_and(|volumes| volumes.fits()))
///     .map(|(node, _)| node.name())
///     .collect();
/// assert_eq!(fits, ["b"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_pod_volumes_on_nodes<'n, V: SchedulingView + ?Sized>(
    claims: &PodClaims,
    nodes: impl IntoIterator<Item = &'n Node>,
    view: &V,
    features: Features,
) -> Vec<Result<PodVolumes, FindVolumesError>> {
    PodSearch::new(claims, view, features).on_nodes(nodes)
}

/// The claims of a pod, prepared for searches on many nodes.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodSearch, pre_filter};
/// use pvbind::view::{SchedulingView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
///      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-b"}, "status": {"phase": "Available"},
///      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"},
///               "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
///                   {"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}]}]}}}}
///     {"kind": "Node", "metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "a"}}}
///     {"kind": "Node", "metadata": {"name": "b", "labels": {"kubernetes.io/hostname": "b"}}}
///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web"},
///      "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
/// .into_iter()
/// .collect();
/// let pod = snapshot.pod("shop", "web").unwrap();
/// let claims = pre_filter(&pod, &snapshot)?;
/// let search = PodSearch::new(&claims, &snapshot, Features::default());
/// let mut told = Vec::new();
/// for node in snapshot.nodes() {
///     if search.on_node(node)?.fits() {
///         told.push(format!("{} fits", node.name()));
///     }
///     for obstacle in search.explain(node) {
///         told.push(format!("{}: {obstacle}", node.name()));
///     }
/// }
/// assert_eq!(told, [
///     "a: the only volume of its class does not fit claim shop/data, \
///      and class `local` has no provisioner",
///     "b fits",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PodSearch<'a, V: ?Sized> {
    pub(super) view: &'a V,
    pub(super) features: Features,
    pub(super) layers: VolumeLayers<'a>,
    pub(super) bound: Vec<BoundClaim<'a>>,
    /// The delayed claims of which nobody selected a node yet, by size, in pod
    /// order where equal.
    pub(super) open: Vec<DelayedClaim<'a>>,
    /// Why no volume can be looked for; nothing is open then.
    pub(super) failure: Option<FindError>,
    /// How many different reaches the open claims have.
    pub(super) reaches: usize,
    /// The delayed claims of which somebody selected a node, in pod order.
    pub(super) selected: Vec<SelectedClaim<'a>>,
    classes: Vec<ProvisionClass<'a>>,
}

/// A bound claim, and its volume.
pub(super) struct BoundClaim<'a> {
    pub(super) claim: &'a Arc<PersistentVolumeClaim>,
    pub(super) volume: Option<Held<'a, PersistentVolume>>,
    pub(super) affinity: Option<CompiledNodeSelector>,
}

pub(super) struct DelayedClaim<'a> {
    pub(super) claim: &'a Arc<PersistentVolumeClaim>,
    pub(super) search: LayeredSearch<'a, 'a>,
    /// Which of the different reaches of the pod's claims is its own.
    pub(super) reach: usize,
    /// Its place among the classes.
    pub(super) class: usize,
}

pub(super) struct SelectedClaim<'a> {
    pub(super) claim: &'a Arc<PersistentVolumeClaim>,
    pub(super) node: &'a str,
    pub(super) class: usize,
}

/// A claim that no volume was found for.
#[derive(Clone, Copy)]
pub(super) struct ToProvision<'s, 'a> {
    pub(super) claim: &'a Arc<PersistentVolumeClaim>,
    pub(super) class: &'s ProvisionClass<'a>,
    /// Whether a volume was looked for.
    pub(super) was_searched: bool,
}

/// The volume that was found for each open claim, in order.
pub(super) type Chosen<'s, 'a> = &'s [Option<&'a Arc<PersistentVolume>>];

impl<'a, V: SchedulingView + ?Sized> PodSearch<'a, V> {
    /// Prepares the claims of a pod, for a cluster with these feature gates. It
    /// borrows claims and view: whoever applies a change to the view prepares anew.
    ///
    /// What is wrong with a claim is no error here, but the answer of every node.
    ///
    /// # Cost
    /// Linear in the number of claims: a look-up of the volume of each bound one and
    /// of the class of each delayed one, and the compilation of their selectors.
    ///
    /// ```
    /// # use pvbind::api::{Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{PodClaims, PodSearch};
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
    /// #      "spec": {"storageClassName": "local", "volumeAttributesClassName": "gold"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata": {"namespace": "shop"},
    /// #     "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// // A claim that names an attributes class, in a cluster where that gate is off:
    /// let features = Features::default().with_volume_attributes_class(false);
    /// let search = PodSearch::new(&claims, &snapshot, features);
    /// let error = search.on_node(&Node::default()).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "unsupported volumeAttributesClassName is set on claim shop/data \
    ///      when the feature-gate VolumeAttributesClass is disabled",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(claims: &'a PodClaims, view: &'a V, features: Features) -> Self {
        let mut search = PodSearch {
            view,
            features,
            layers: view.volume_layers(),
            bound: Vec::new(),
            open: Vec::new(),
            failure: None,
            reaches: 0,
            selected: Vec::new(),
            classes: Vec::new(),
        };
        for claim in &claims.bound {
            search.add_bound(claim);
        }
        let classes = search.add_classes(&claims.delayed);
        let mut open = Vec::new();
        for (claim, class) in claims.delayed.iter().zip(classes) {
            match claim.metadata.annotation(names::SELECTED_NODE) {
                Some(node) => search.selected.push(SelectedClaim { claim, node, class }),
                None => open.push((claim, class)),
            }
        }
        open.sort_by(|(a, _), (b, _)| a.requested_storage().cmp(b.requested_storage()));
        if let Err(error) = search.add_open(open) {
            search.open.clear();
            search.failure = Some(error);
        }
        search
    }

    /// What a node offers: see [`find_pod_volumes`].
    ///
    /// # Errors
    /// The node has no answer.
    ///
    /// # Cost
    /// That of [`find_pod_volumes`] without preparing the pod. Many nodes cost less
    /// at once: [`on_nodes`](Self::on_nodes).
    ///
    /// ```
    /// # use pvbind::api::{Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{PodClaims, PodSearch};
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-b"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "nodeAffinity": {"required": {"nodeSelectorTerms": [
    /// #          {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-b"]}]}]}}}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod: Pod = serde_json::from_str(
    /// #     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// # let node = |name: &str| serde_json::from_value::<Node>(serde_json::json!({
    /// #     "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}));
    /// // A claim of class `local`, whose only volume is on node-b:
    /// let search = PodSearch::new(&claims, &snapshot, Features::default());
    /// assert!(!search.on_node(&node("node-a")?)?.fits());
    /// let volumes = search.on_node(&node("node-b")?)?;
    /// assert_eq!(volumes.static_bindings[0].volume.name(), "pv-b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_node(&self, node: &Node) -> Result<PodVolumes, FindVolumesError> {
        self.answer(node, &Batch::alone(self, node))
    }

    /// What each of these nodes offers: see [`find_pod_volumes_on_nodes`].
    ///
    /// ```
    /// use pvbind::api::Node;
    /// use pvbind::matching::Features;
    /// use pvbind::scheduling::{PodClaims, PodSearch};
    /// use pvbind::view::Snapshot;
    /// let (claims, snapshot) = (PodClaims::default(), Snapshot::new());
    /// let search = PodSearch::new(&claims, &snapshot, Features::default());
    /// let nodes = [Node::default(), Node::default()];
    /// // In the order of the nodes, and the same as one by one.
    /// let answers = search.on_nodes(&nodes);
    /// assert_eq!(answers, [search.on_node(&nodes[0]), search.on_node(&nodes[1])]);
    /// ```
    pub fn on_nodes<'n>(
        &self,
        nodes: impl IntoIterator<Item = &'n Node>,
    ) -> Vec<Result<PodVolumes, FindVolumesError>> {
        let mut nodes = nodes.into_iter();
        let mut answers = Vec::with_capacity(nodes.size_hint().0);
        let mut batch = Batch::new(self);
        while batch.fill(&mut nodes) {
            batch.search(self);
            let answer = |(node, chosen)| self.answer(node, chosen);
            answers.extend(batch.chosen().map(answer));
        }
        answers
    }

    /// The volumes among which one for a claim is looked for: all of its class,
    /// whatever their phase, by name. Linear in the number of all volumes.
    ///
    /// With [`MatchReport`](crate::matching::MatchReport) they tell why none of
    /// them fits.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// use pvbind::matching::{Features, FindOptions, MatchReport};
    /// use pvbind::scheduling::{PodClaims, PodSearch};
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {"storageClassName": "local"}}
    ///     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "spec": {"storageClassName": "fast"}}"#)?
    /// .into_iter()
    /// .collect();
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"spec": {"storageClassName": "local"}}"#)?;
    /// let claims = PodClaims::default();
    /// let candidates = PodSearch::new(&claims, &snapshot, Features::default()).candidates(&claim);
    /// let volumes = candidates.iter().map(|volume| &***volume);
    /// let report = MatchReport::new(&claim, volumes, &FindOptions::default());
    /// assert_eq!(report.to_string(), "0 of 1 volume fit: 1 is not Available");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn candidates(&self, claim: &PersistentVolumeClaim) -> Vec<&'a Arc<PersistentVolume>> {
        self.layers.of_class(claim.class_name())
    }

    fn add_bound(&mut self, claim: &'a Arc<PersistentVolumeClaim>) {
        let volume = self.view.volume(claim.volume_name());
        let required = volume.as_ref().and_then(|volume| {
            let required = volume.required_node_affinity()?;
            Some(CompiledNodeSelector::compile(required))
        });
        self.bound.push(BoundClaim {
            claim,
            affinity: required,
            volume,
        });
    }

    /// Claims that reach the same volumes share the work of finding out which.
    fn add_open(
        &mut self,
        claims: Vec<(&'a Arc<PersistentVolumeClaim>, usize)>,
    ) -> Result<(), FindError> {
        let mut reaches = HashMap::new();
        for (claim, class) in claims {
            let search = self.layers.search(claim, self.features)?;
            let known = reaches.len();
            let reach = *reaches.entry(search.reach_key()).or_insert(known);
            self.open.push(DelayedClaim {
                claim,
                search,
                reach,
                class,
            });
        }
        self.reaches = reaches.len();
        Ok(())
    }

    /// The place of each claim's class among the classes.
    fn add_classes(&mut self, claims: &'a [Arc<PersistentVolumeClaim>]) -> Vec<usize> {
        let mut places = HashMap::new();
        let mut place_of = |claim: &'a Arc<PersistentVolumeClaim>| {
            let name = claim.class_name();
            *places.entry(name).or_insert_with(|| {
                self.classes.push(ProvisionClass::new(name));
                self.classes.len().saturating_sub(1)
            })
        };
        claims.iter().map(&mut place_of).collect()
    }

    /// What speaks against the node for the sake of bound claims.
    pub(super) fn bound_reasons(&self, node: &Node) -> UnfitReasons {
        let labels = node.metadata.labels();
        let first = self.bound.iter().find_map(|bound| bound.refusal(labels));
        first.into_iter().collect()
    }

    /// The claims for which another node was selected.
    pub(super) fn selected_elsewhere(
        &self,
        node: &Node,
    ) -> impl Iterator<Item = &SelectedClaim<'a>> {
        let selected = self.selected.iter();
        selected.filter(|selected| selected.node != node.metadata.name())
    }

    /// The answer as far as the volumes chosen do not matter, and whether it ends
    /// there.
    pub(super) fn before_choice(
        &self,
        node: &Node,
    ) -> Result<ControlFlow<PodVolumes, PodVolumes>, FindVolumesError> {
        let mut volumes = PodVolumes {
            reasons: self.bound_reasons(node),
            ..PodVolumes::default()
        };
        if self.selected_elsewhere(node).next().is_some() {
            volumes.reasons.insert(UnfitReason::NoVolume);
            return Ok(ControlFlow::Break(volumes));
        }
        if let Some(error) = &self.failure {
            return Err(error.clone().into());
        }
        Ok(ControlFlow::Continue(volumes))
    }

    /// The answer for a node on which these volumes were chosen.
    fn answer(&self, node: &Node, chosen: Chosen<'_, 'a>) -> Result<PodVolumes, FindVolumesError> {
        let mut volumes = match self.before_choice(node)? {
            ControlFlow::Continue(volumes) => volumes,
            ControlFlow::Break(volumes) => return Ok(volumes),
        };
        let found = chosen.iter().flatten().count();
        volumes.static_bindings.reserve_exact(found);
        for (delayed, volume) in self.open.iter().zip(chosen) {
            if let Some(volume) = volume {
                volumes.static_bindings.push(StaticBinding {
                    claim: Arc::clone(delayed.claim),
                    volume: Arc::clone(volume),
                });
            }
        }
        match self.provision(self.missed(chosen), node)? {
            Ok(provisions) => volumes.dynamic_provisions = provisions,
            Err(reason) => volumes.reasons.insert(reason),
        }
        Ok(volumes)
    }

    /// Room for the reaches of one node.
    pub(super) fn no_reaches(&self) -> Vec<LayeredReach<'a>> {
        let none = std::iter::repeat_with(LayeredReach::default);
        none.take(self.reaches).collect()
    }

    /// What must be provisioned, in order, when these volumes were chosen.
    pub(super) fn missed<'s>(
        &'s self,
        chosen: Chosen<'s, 'a>,
    ) -> impl Iterator<Item = ToProvision<'s, 'a>> {
        let selected = self.selected.iter();
        let selected = selected
            .filter_map(|selected| self.to_provision(selected.claim, selected.class, false));
        let open = self.open.iter().zip(chosen);
        selected.chain(
            open.filter(|(_, chosen)| chosen.is_none())
                .filter_map(|(delayed, _)| self.to_provision(delayed.claim, delayed.class, true)),
        )
    }

    pub(super) fn to_provision<'s>(
        &'s self,
        claim: &'a Arc<PersistentVolumeClaim>,
        class: usize,
        was_searched: bool,
    ) -> Option<ToProvision<'s, 'a>> {
        Some(ToProvision {
            claim,
            class: self.classes.get(class)?,
            was_searched,
        })
    }

    /// How all these claims are provisioned; the reason if one cannot be.
    pub(super) fn provision<'s>(
        &'s self,
        missed: impl IntoIterator<Item = ToProvision<'s, 'a>>,
        node: &Node,
    ) -> Result<Result<Vec<DynamicProvision>, UnfitReason>, FindVolumesError> {
        let labels = node.metadata.labels();
        let mut provisions = Vec::new();
        for missed in missed {
            match missed.class.provision(missed.claim, labels, self.view)? {
                Ok(provision) => provisions.push(provision),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(provisions))
    }
}

impl BoundClaim<'_> {
    fn refusal(&self, labels: &BTreeMap<String, String>) -> Option<UnfitReason> {
        if self.volume.is_none() {
            return Some(UnfitReason::VolumeMissing);
        }
        let affinity = self.affinity.as_ref()?;
        match affinity.matches(labels, None) {
            Ok(true) => None,
            _ => Some(UnfitReason::NodeAffinity),
        }
    }
}

impl<V: ?Sized> fmt::Debug for PodSearch<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = self.bound.iter().map(|bound| bound.claim.metadata.key());
        let open = self.open.iter().map(|open| open.claim.metadata.key());
        let selected = self.selected.iter().map(|claim| claim.claim.metadata.key());
        f.debug_struct("PodSearch")
            .field("bound", &bound.collect::<Vec<_>>())
            .field("open", &open.collect::<Vec<_>>())
            .field("selected", &selected.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
