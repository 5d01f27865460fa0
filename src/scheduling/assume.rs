//! Decisions that are made and not yet written.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{AssumedView, PendingBind, PodClaims, PodVolumes};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim, Pod, names};
use crate::binding::bind_volume_to_claim;
use crate::matching::VolumeIndex;
use crate::plan::{Change, OnFailure, Plan, Step, Write, WriteContext};
use crate::view::{SchedulingView, is_older_version};

/// Volumes and claims as they will be once the decisions made are written.
///
/// A scheduler places the next pod before the API server has heard of the last
/// one. In between it looks at the cluster through
/// [`over`](Assumptions::over), which shows the assumed objects in place of
/// those of the view behind. In order:
///
/// 1. [`assume`](Assumptions::assume) for the node chosen, and carry out the
///    plan that it gives.
/// 2. Tell every watch event ([`observe_volume`](Assumptions::observe_volume),
///    [`observe_claim`](Assumptions::observe_claim),
///    [`forget_volume`](Assumptions::forget_volume),
///    [`forget_claim`](Assumptions::forget_claim)): an assumed object goes when
///    a newer one arrives.
/// 3. Ask [`bind_progress`](super::bind_progress) until everything is bound;
///    [`revert`](Assumptions::revert) if it says to schedule again, or if the
///    plan fails.
///
/// Follows `AssumeCache` and `AssumePodVolumes` of Kubernetes 1.36.
///
/// # Differences
/// Reverting takes away what this one assumption put in front, and shows what
/// an earlier one still assumes of the same object; upstream shows the API
/// server's object then.
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{Assumptions, PodClaims, find_pod_volumes};
/// use pvbind::view::{SchedulingView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
///      "spec": {"storageClassName": "local"}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "a", "uid": "u-1"}, "spec": {"storageClassName": "local"}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "b", "uid": "u-2"}, "spec": {"storageClassName": "local"}}
///     {"kind": "Pod", "metadata": {"name": "first"}, "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "a"}}]}}
///     {"kind": "Pod", "metadata": {"name": "second"}, "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "b"}}]}}"#)?
/// .into_iter()
/// .collect();
/// let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
/// let (first, second) = (snapshot.pod("", "first").unwrap(), snapshot.pod("", "second").unwrap());
/// let mut assumptions = Assumptions::new();
///
/// let claims = PodClaims::of(&first, &snapshot)?;
/// let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
/// let (assumption, _plan) = assumptions.assume(&first, &claims, node.name(), &volumes);
///
/// // Nothing is written yet, and still the second pod does not get the same volume.
/// let claims = PodClaims::of(&second, &snapshot)?;
/// assert!(!find_pod_volumes(&claims, &node, &assumptions.over(&snapshot), Features::default())?.fits());
/// // The first one is given up.
/// assumptions.revert(assumption);
/// assert!(find_pod_volumes(&claims, &node, &assumptions.over(&snapshot), Features::default())?.fits());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Assumptions {
    next: u64,
    volumes: BTreeMap<String, Vec<Assumed<PersistentVolume>>>,
    claims: BTreeMap<ClaimKey, Vec<Assumed<PersistentVolumeClaim>>>,
    /// The last of each of `volumes`.
    front: VolumeIndex,
}

/// An object as one assumption has it.
#[derive(Debug)]
struct Assumed<T> {
    by: u64,
    object: Arc<T>,
}

/// What was assumed for one pod; the handle to revert it.
///
/// One that came true is dropped: what it assumed goes by itself when the watch
/// events arrive. So a scheduler keeps it with the pod while the pod is being
/// bound:
///
/// ```
/// # use pvbind::api::{ClaimKey, Node, Pod, read_objects};
/// # use pvbind::matching::Features;
/// # use pvbind::scheduling::{Assumption, Assumptions, PodClaims, find_pod_volumes};
/// # use pvbind::view::{ClusterView, SchedulingView, Snapshot};
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
/// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
/// #      "volumeBindingMode": "WaitForFirstConsumer"}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
/// #      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}}}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
/// #      "spec": {"storageClassName": "local", "capacity": {"storage": "20Gi"}}}
/// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
/// #      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
/// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
/// #      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
/// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "uid": "u-3"}, "spec": {"volumes": [
/// #         {"persistentVolumeClaim": {"claimName": "data"}}, {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?
/// # .into_iter()
/// # .collect();
/// # let pod = snapshot.pod("shop", "web").unwrap();
/// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
/// # let claims = PodClaims::of(&pod, &snapshot)?;
/// # let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
/// use std::collections::HashMap;
/// let mut assumptions = Assumptions::new();
/// let mut being_bound: HashMap<String, Assumption> = HashMap::new();
/// let (assumption, plan) = assumptions.assume(&pod, &claims, "node-a", &volumes);
/// being_bound.insert(pod.metadata.key(), assumption);
/// // The plan failed: the volume is free for the next pod again.
/// let assumption = being_bound.remove("shop/web").unwrap();
/// assumptions.revert(assumption);
/// assert_eq!(assumptions.over(&snapshot).volume("pv-1").unwrap().claim_ref(), None);
/// # drop(plan);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "an assumption that is not kept cannot be reverted"]
pub struct Assumption {
    id: u64,
    volumes: Vec<String>,
    claims: Vec<ClaimKey>,
}

impl Assumptions {
    /// Nothing assumed. A scheduler has one, for all pods and for as long as it runs:
    /// what another one assumes it does not see.
    ///
    /// ```
    /// # use pvbind::api::{ClaimKey, Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{Assumption, Assumptions, PodClaims, find_pod_volumes};
    /// # use pvbind::view::{ClusterView, SchedulingView, Snapshot};
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #      "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "20Gi"}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
    /// #      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "uid": "u-3"}, "spec": {"volumes": [
    /// #         {"persistentVolumeClaim": {"claimName": "data"}}, {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod = snapshot.pod("shop", "web").unwrap();
    /// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// # let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
    /// let (mut ours, others) = (Assumptions::new(), Assumptions::new());
    /// let (assumption, _plan) = ours.assume(&pod, &claims, "node-a", &volumes);
    /// assert!(ours.over(&snapshot).volume("pv-1").unwrap().claim_ref().is_some());
    /// assert!(others.over(&snapshot).volume("pv-1").unwrap().claim_ref().is_none());
    /// # ours.revert(assumption);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> Self {
        Assumptions::default()
    }

    /// A view of the cluster with the assumed objects in front.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::scheduling::Assumptions;
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let assumptions = Assumptions::new();
    /// assert!(assumptions.over(&snapshot).volume("pv-1").is_some());
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    pub fn over<'a, V: SchedulingView + ?Sized>(&'a self, view: &'a V) -> AssumedView<'a, V> {
        AssumedView::new(self, view)
    }

    /// Assumes that the pod goes to the node with these volumes: each volume
    /// that was found is bound to its claim, and each claim to be provisioned is
    /// marked with `volume.kubernetes.io/selected-node`, even if it was before.
    /// Their resourceVersions stay.
    ///
    /// Gives the handle to revert it, and the plan of writes: the volumes, then
    /// the claims, those that stay as they are included: a conflict tells that
    /// somebody else was faster. Its verdict is what
    /// [`bind_progress`](super::bind_progress) asks for.
    ///
    /// If every claim is bound there is nothing to assume and to write.
    ///
    /// Give only the answer for that node, and only one that
    /// [`fits`](PodVolumes::fits): one that does not may hold bindings all the
    /// same, and they would be written. The claims must have passed
    /// [`pre_filter`](super::pre_filter): immediate claims are not looked at.
    ///
    /// Follows `AssumePodVolumes` and `bindAPIUpdate` of Kubernetes 1.36.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim, Pod};
    /// use pvbind::scheduling::{Assumptions, PodClaims, PodVolumes, StaticBinding};
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let claim: Arc<PersistentVolumeClaim> =
    ///     Arc::new(serde_json::from_str(r#"{"metadata": {"name": "data", "uid": "u-1"}}"#)?);
    /// let volume: Arc<PersistentVolume> =
    ///     Arc::new(serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?);
    /// let mut snapshot = Snapshot::new();
    /// snapshot.apply(Arc::clone(&volume));
    /// let claims = PodClaims { delayed: vec![Arc::clone(&claim)], ..PodClaims::default() };
    /// let mut found = PodVolumes::default();
    /// found.static_bindings.push(StaticBinding { claim: Arc::clone(&claim), volume });
    ///
    /// let mut assumptions = Assumptions::new();
    /// let (assumption, plan) = assumptions.assume(&Pod::default(), &claims, "node-a", &found);
    /// assert_eq!(plan.steps.len(), 1);
    /// let is_bound = |assumptions: &Assumptions| {
    ///     assumptions.over(&snapshot).volume("pv-1").unwrap().is_bound_to(&claim)
    /// };
    /// assert!(is_bound(&assumptions));
    /// assumptions.revert(assumption);
    /// assert!(!is_bound(&assumptions));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn assume(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        node: &str,
        found: &PodVolumes,
    ) -> (Assumption, Plan<PendingBind>) {
        let id = self.next;
        self.next = id.saturating_add(1);
        let mut assumption = Assumption {
            id,
            volumes: Vec::new(),
            claims: Vec::new(),
        };
        let mut plan = Plan::empty(PendingBind::new(pod, node));
        if claims.all_bound() {
            return (assumption, plan);
        }
        for binding in &found.static_bindings {
            let edit = bind_volume_to_claim(&binding.volume, &binding.claim);
            let to = match edit.changed() {
                None => Arc::clone(&binding.volume),
                Some(bound) => {
                    let bound = Arc::new(bound);
                    self.put_volume(id, &bound);
                    assumption.volumes.push(bound.name().to_owned());
                    bound
                }
            };
            plan.verdict.add_binding(&to, &binding.claim);
            plan.steps.push(write(Write::Volume(Change {
                from: Arc::clone(&binding.volume),
                to,
            })));
        }
        for provision in &found.dynamic_provisions {
            let mut claim = PersistentVolumeClaim::clone(&provision.claim);
            claim.metadata.set_annotation(names::SELECTED_NODE, node);
            let claim = Arc::new(claim);
            let key = ClaimKey::of(&claim);
            let stack = self.claims.entry(key.clone()).or_default();
            stack.push(Assumed {
                by: id,
                object: Arc::clone(&claim),
            });
            assumption.claims.push(key);
            plan.verdict.add_provision(&claim);
            plan.steps.push(write(Write::Claim(Change {
                from: Arc::clone(&provision.claim),
                to: claim,
            })));
        }
        (assumption, plan)
    }

    /// Takes away what one assumption put in front, as if it had never been
    /// made. What went since, because something newer arrived, stays gone.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{ClaimKey, PersistentVolumeClaim, Pod};
    /// use pvbind::scheduling::{Assumptions, DynamicProvision, PodClaims, PodVolumes};
    /// let claim = Arc::new(PersistentVolumeClaim::default());
    /// let claims = PodClaims { delayed: vec![Arc::clone(&claim)], ..PodClaims::default() };
    /// let mut found = PodVolumes::default();
    /// found.dynamic_provisions.push(DynamicProvision { claim, capacity: None });
    /// let mut assumptions = Assumptions::new();
    /// let (assumption, _plan) = assumptions.assume(&Pod::default(), &claims, "node-a", &found);
    /// let selected = |assumptions: &Assumptions| {
    ///     let claim = assumptions.claim(&ClaimKey::new("", ""))?;
    ///     claim.metadata.annotation("volume.kubernetes.io/selected-node").map(str::to_owned)
    /// };
    /// assert_eq!(selected(&assumptions).as_deref(), Some("node-a"));
    /// assumptions.revert(assumption);
    /// assert!(assumptions.is_empty());
    /// ```
    pub fn revert(&mut self, assumption: Assumption) {
        for name in &assumption.volumes {
            if let Some(stack) = self.volumes.get_mut(name) {
                stack.retain(|assumed| assumed.by != assumption.id);
                self.show_last(name);
            }
        }
        for key in &assumption.claims {
            if let Some(stack) = self.claims.get_mut(key) {
                stack.retain(|assumed| assumed.by != assumption.id);
                if stack.is_empty() {
                    self.claims.remove(key);
                }
            }
        }
    }

    /// The cluster has this volume now. An assumed one goes if this one is
    /// newer; tells whether it did.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim, Pod};
    /// use pvbind::scheduling::{Assumptions, PodClaims, PodVolumes, StaticBinding};
    /// let volume = |version: &str| -> Arc<PersistentVolume> {
    ///     let metadata = serde_json::json!({"name": "pv-1", "resourceVersion": version});
    ///     serde_json::from_value(serde_json::json!({"metadata": metadata})).map(Arc::new).unwrap()
    /// };
    /// let claim = Arc::new(PersistentVolumeClaim::default());
    /// let claims = PodClaims { delayed: vec![Arc::clone(&claim)], ..PodClaims::default() };
    /// let mut found = PodVolumes::default();
    /// found.static_bindings.push(StaticBinding { claim, volume: volume("7") });
    /// let mut assumptions = Assumptions::new();
    /// let (_assumption, _plan) = assumptions.assume(&Pod::default(), &claims, "node-a", &found);
    /// // What the watch still says of the time before changes nothing.
    /// assert!(!assumptions.observe_volume(&volume("7")));
    /// assert!(assumptions.observe_volume(&volume("8")));
    /// assert!(assumptions.is_empty());
    /// ```
    pub fn observe_volume(&mut self, volume: &PersistentVolume) -> bool {
        let Some(stack) = self.volumes.get(volume.name()) else {
            return false;
        };
        let is_newer = stack.last().is_some_and(|assumed| {
            let (held, seen) = (&assumed.object.metadata, &volume.metadata);
            held.uid() != seen.uid()
                || is_older_version(held.resource_version(), seen.resource_version())
        });
        is_newer && self.forget_volume(volume.name())
    }

    /// The cluster has this claim now. An assumed one goes if this one is
    /// newer; tells whether it did.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolumeClaim, Pod};
    /// use pvbind::scheduling::{Assumptions, DynamicProvision, PodClaims, PodVolumes};
    /// let claim = |uid: &str, version: &str| -> Arc<PersistentVolumeClaim> {
    ///     let metadata = serde_json::json!({"name": "data", "uid": uid, "resourceVersion": version});
    ///     serde_json::from_value(serde_json::json!({"metadata": metadata})).map(Arc::new).unwrap()
    /// };
    /// let claims = PodClaims { delayed: vec![claim("u-1", "7")], ..PodClaims::default() };
    /// let mut found = PodVolumes::default();
    /// found.dynamic_provisions.push(DynamicProvision { claim: claim("u-1", "7"), capacity: None });
    /// let mut assumptions = Assumptions::new();
    /// let (_assumption, _plan) = assumptions.assume(&Pod::default(), &claims, "node-a", &found);
    /// assert!(!assumptions.observe_claim(&claim("u-1", "6")));
    /// // Another claim of the name, whatever its version, ends what was assumed.
    /// assert!(assumptions.observe_claim(&claim("u-2", "1")));
    /// ```
    pub fn observe_claim(&mut self, claim: &PersistentVolumeClaim) -> bool {
        let key = ClaimKey::of(claim);
        let Some(assumed) = self.claim(&key) else {
            return false;
        };
        let (held, seen) = (&assumed.metadata, &claim.metadata);
        let is_newer = held.uid() != seen.uid()
            || is_older_version(held.resource_version(), seen.resource_version());
        is_newer && self.forget_claim(&key)
    }

    /// The volume of this name was deleted: an assumed one goes; tells whether
    /// there was one. Without this the view would go on showing a volume that nobody
    /// has.
    ///
    /// ```
    /// # use pvbind::api::{ClaimKey, Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{Assumption, Assumptions, PodClaims, find_pod_volumes};
    /// # use pvbind::view::{ClusterView, SchedulingView, Snapshot};
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #      "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "20Gi"}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
    /// #      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "uid": "u-3"}, "spec": {"volumes": [
    /// #         {"persistentVolumeClaim": {"claimName": "data"}}, {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod = snapshot.pod("shop", "web").unwrap();
    /// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// # let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
    /// # let mut assumptions = Assumptions::new();
    /// # let (assumption, plan) = assumptions.assume(&pod, &claims, "node-a", &volumes);
    /// // Assumed for a pod: that claim `data` gets pv-1. Then a watch tells that pv-1 is gone.
    /// let without_it = Snapshot::new();
    /// assert!(assumptions.over(&without_it).volume("pv-1").is_some());
    /// assert!(assumptions.forget_volume("pv-1"));
    /// assert!(assumptions.over(&without_it).volume("pv-1").is_none());
    /// assert!(!assumptions.forget_volume("pv-2")); // nothing was assumed of it
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget_volume(&mut self, name: &str) -> bool {
        let had = self.volumes.remove(name).is_some();
        self.front.remove(name);
        had
    }

    /// The claim of this key was deleted: an assumed one goes; tells whether
    /// there was one.
    ///
    /// ```
    /// # use pvbind::api::{ClaimKey, Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{Assumption, Assumptions, PodClaims, find_pod_volumes};
    /// # use pvbind::view::{ClusterView, SchedulingView, Snapshot};
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #      "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "20Gi"}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
    /// #      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "uid": "u-3"}, "spec": {"volumes": [
    /// #         {"persistentVolumeClaim": {"claimName": "data"}}, {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod = snapshot.pod("shop", "web").unwrap();
    /// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// # let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
    /// # let mut assumptions = Assumptions::new();
    /// # let (assumption, plan) = assumptions.assume(&pod, &claims, "node-a", &volumes);
    /// // Assumed for a pod: that claim `logs` is provisioned for it, and `data` gets pv-1.
    /// assert!(assumptions.forget_claim(&ClaimKey::new("shop", "logs")));
    /// // Of `data` the volume is assumed, not the claim.
    /// assert!(!assumptions.forget_claim(&ClaimKey::new("shop", "data")));
    /// assert_eq!(assumptions.volumes().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget_claim(&mut self, key: &ClaimKey) -> bool {
        self.claims.remove(key).is_some()
    }

    /// Whether nothing is assumed: then [`over`](Self::over) shows what the view
    /// shows.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use pvbind::api::{PersistentVolumeClaim, Pod};
    /// use pvbind::scheduling::{Assumptions, PodClaims, PodVolumes};
    /// // A pod whose claims are all bound already: there is nothing to keep in mind.
    /// let claims = PodClaims { bound: vec![Arc::default()], ..PodClaims::default() };
    /// let mut assumptions = Assumptions::new();
    /// let (_assumption, plan) =
    ///     assumptions.assume(&Pod::default(), &claims, "node-a", &PodVolumes::default());
    /// assert!(assumptions.is_empty() && plan.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.volumes.is_empty() && self.claims.is_empty()
    }

    /// The assumed volumes, and no others: each as the last assumption about it has
    /// it.
    ///
    /// ```
    /// # use pvbind::api::{ClaimKey, Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{Assumption, Assumptions, PodClaims, find_pod_volumes};
    /// # use pvbind::view::{ClusterView, SchedulingView, Snapshot};
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #      "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "20Gi"}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
    /// #      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "uid": "u-3"}, "spec": {"volumes": [
    /// #         {"persistentVolumeClaim": {"claimName": "data"}}, {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod = snapshot.pod("shop", "web").unwrap();
    /// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// # let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
    /// # let mut assumptions = Assumptions::new();
    /// # let (assumption, plan) = assumptions.assume(&pod, &claims, "node-a", &volumes);
    /// // The cluster has pv-1 and pv-2, of which one was chosen.
    /// let names: Vec<_> = assumptions.volumes().iter().map(|volume| volume.name()).collect();
    /// assert_eq!(names, ["pv-1"]);
    /// let claim = assumptions.volumes().get("pv-1").and_then(|volume| volume.claim_ref());
    /// assert_eq!(claim.unwrap().key(), "shop/data");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volumes(&self) -> &VolumeIndex {
        &self.front
    }

    /// The assumed claim of this key: one that a volume is to be made for. Of a claim
    /// that gets a volume there is, only the [volume](Self::volumes) is assumed.
    ///
    /// ```
    /// # use pvbind::api::{ClaimKey, Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{Assumption, Assumptions, PodClaims, find_pod_volumes};
    /// # use pvbind::view::{ClusterView, SchedulingView, Snapshot};
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #      "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "20Gi"}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
    /// #      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "uid": "u-3"}, "spec": {"volumes": [
    /// #         {"persistentVolumeClaim": {"claimName": "data"}}, {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod = snapshot.pod("shop", "web").unwrap();
    /// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// # let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
    /// # let mut assumptions = Assumptions::new();
    /// # let (assumption, plan) = assumptions.assume(&pod, &claims, "node-a", &volumes);
    /// let logs = assumptions.claim(&ClaimKey::new("shop", "logs")).unwrap();
    /// let node = logs.metadata.annotation("volume.kubernetes.io/selected-node");
    /// assert_eq!(node, Some("node-a"));
    /// assert_eq!(assumptions.claim(&ClaimKey::new("shop", "data")), None); // it gets pv-1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim(&self, key: &ClaimKey) -> Option<&Arc<PersistentVolumeClaim>> {
        let stack = self.claims.get(key)?;
        stack.last().map(|assumed| &assumed.object)
    }

    fn put_volume(&mut self, by: u64, volume: &Arc<PersistentVolume>) {
        let name = volume.name().to_owned();
        let stack = self.volumes.entry(name).or_default();
        stack.push(Assumed {
            by,
            object: Arc::clone(volume),
        });
        self.front.insert(Arc::clone(volume));
    }

    fn show_last(&mut self, name: &str) {
        let stack = self.volumes.get(name);
        match stack.and_then(|stack| stack.last()) {
            Some(last) => {
                self.front.insert(Arc::clone(&last.object));
            }
            None => {
                self.volumes.remove(name);
                self.front.remove(name);
            }
        }
    }
}

fn write(write: Write) -> Step {
    Step::Write {
        write,
        on_failure: OnFailure::Stop(WriteContext::Plain),
    }
}

#[cfg(test)]
mod tests;
