//! The answer for a node.

use std::sync::Arc;

use super::{UnfitReason, UnfitReasons};
use crate::api::{ClaimKey, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim};
use crate::matching::FindError;

/// What a node offers the claims of a pod.
///
/// Follows `PodVolumes` and `ConflictReasons` of Kubernetes 1.36. Which claim,
/// volume or capacity stands behind a reason says
/// [`PodSearch::explain`](super::PodSearch::explain).
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodClaims, PodVolumes, find_pod_volumes};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
///      "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
///      "spec": {"storageClassName": "fast", "capacity": {"storage": "1Gi"}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "small"},
///      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "large"},
///      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "9Gi"}}}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(r#"{"spec": {"volumes": [
///     {"persistentVolumeClaim": {"claimName": "large"}},
///     {"persistentVolumeClaim": {"claimName": "small"}}]}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let volumes: PodVolumes =
///     find_pod_volumes(&claims, &Node::default(), &snapshot, Features::default())?;
/// assert!(volumes.fits());
/// // One claim gets the volume that is there, the other one made to order.
/// let found = &volumes.static_bindings[0];
/// assert_eq!((found.claim.name(), found.volume.name()), ("small", "pv-1"));
/// assert_eq!(volumes.dynamic_provisions[0].claim.name(), "large");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodVolumes {
    /// Why the node does not fit; empty if it does.
    pub reasons: UnfitReasons,
    /// The volumes that were found, in the order in which they were chosen:
    /// for the smallest claim first.
    pub static_bindings: Vec<StaticBinding>,
    /// What must be provisioned; empty if one of the claims cannot be.
    pub dynamic_provisions: Vec<DynamicProvision>,
}

/// A claim, and the volume that was found for it.
///
/// Both are as they stand in the view; [`Assumptions::assume`](super::Assumptions::assume)
/// makes the bind of them.
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
/// use pvbind::scheduling::StaticBinding;
/// // `volumes`: what a node offers a pod with the claims `data` and `logs`.
/// let [StaticBinding { claim, volume }] = volumes.static_bindings.as_slice() else { panic!() };
/// assert_eq!((claim.name(), volume.name()), ("data", "pv-1"));
/// // It is larger than what was asked for, and bound to nobody yet.
/// assert_eq!(claim.requested_storage().to_string(), "5Gi");
/// assert_eq!(volume.storage().to_string(), "8Gi");
/// assert_eq!(volume.claim_ref(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct StaticBinding {
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The volume.
    pub volume: Arc<PersistentVolume>,
}

/// A claim for which a volume must be made.
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{DynamicProvision, PodClaims, find_pod_volumes};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
///      "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": true}}
///     {"kind": "CSIStorageCapacity", "metadata": {"namespace": "csi", "name": "zone-a"},
///      "storageClassName": "fast", "capacity": "20Gi", "nodeTopology": {"matchLabels": {"zone": "a"}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
///      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let node: Node = serde_json::from_str(r#"{"metadata": {"labels": {"zone": "a"}}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
/// let [DynamicProvision { claim, capacity }] = volumes.dynamic_provisions.as_slice()
/// else { panic!() };
/// assert_eq!(claim.name(), "data");
/// // The driver asks that its pools be looked at, and this one has room.
/// assert_eq!(capacity.as_ref().unwrap().metadata.name(), "zone-a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicProvision {
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The object that promises enough room, where one was asked for.
    pub capacity: Option<Arc<CsiStorageCapacity>>,
}

impl PodVolumes {
    /// Whether the node fits. Ask before anything else is taken from the answer: that
    /// of a node that does not fit may hold bindings all the same.
    ///
    /// ```
    /// # use pvbind::api::{Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{PodClaims, find_pod_volumes};
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer",
    /// #      "provisioner": "kubernetes.io/no-provisioner"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"name": "more"}, "spec": {"storageClassName": "local"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod: Pod = serde_json::from_str(r#"{"spec": {"volumes": [
    /// #     {"persistentVolumeClaim": {"claimName": "data"}},
    /// #     {"persistentVolumeClaim": {"claimName": "more"}}]}}"#)?;
    /// # let node = Node::default();
    /// // Two claims of a class without provisioner, and one volume:
    /// let claims = PodClaims::of(&pod, &snapshot)?;
    /// let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
    /// assert!(!volumes.fits());
    /// assert_eq!(volumes.static_bindings.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fits(&self) -> bool {
        self.reasons.is_empty()
    }

    /// The reasons, in upstream's order; none if the node fits.
    ///
    /// ```
    /// # use pvbind::api::{Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{PodClaims, find_pod_volumes};
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer",
    /// #      "provisioner": "kubernetes.io/no-provisioner"}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"name": "old",
    /// #          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv-9"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod: Pod = serde_json::from_str(r#"{"spec": {"volumes": [
    /// #     {"persistentVolumeClaim": {"claimName": "old"}},
    /// #     {"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
    /// // A claim whose volume is gone, and one that no volume fits:
    /// let claims = PodClaims::of(&pod, &snapshot)?;
    /// let volumes = find_pod_volumes(&claims, &Node::default(), &snapshot, Features::default())?;
    /// let texts: Vec<_> = volumes.reasons().map(|reason| reason.text()).collect();
    /// assert_eq!(texts, [
    ///     "node(s) didn't find available persistent volumes to bind",
    ///     "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reasons(&self) -> impl Iterator<Item = UnfitReason> {
        self.reasons.iter()
    }
}

/// Why there is no answer for a node. `Display` is upstream's text.
///
/// It says nothing about the node: with it upstream's scheduler ends the attempt
/// to schedule the pod, whatever the other nodes offer.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{Node, PersistentVolumeClaim};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{FindVolumesError, PodClaims, find_pod_volumes};
/// use pvbind::view::Snapshot;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"storageClassName": "gone"}}"#)?;
/// let claims = PodClaims { delayed: vec![Arc::new(claim)], ..PodClaims::default() };
/// let error = find_pod_volumes(&claims, &Node::default(), &Snapshot::new(), Features::default()).unwrap_err();
/// assert_eq!(error, FindVolumesError::ClassMissing { class: "gone".to_owned() });
/// assert_eq!(error.to_string(), r#"failed to find storage class "gone""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FindVolumesError {
    /// No volume can be looked for.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A claim that must be provisioned has no class.
    #[error("no class for claim {:?}", claim.to_string())]
    NoClass {
        /// The claim.
        claim: ClaimKey,
    },
    /// The class of a claim that must be provisioned does not exist.
    #[error("failed to find storage class {class:?}")]
    ClassMissing {
        /// The class.
        class: String,
    },
}
