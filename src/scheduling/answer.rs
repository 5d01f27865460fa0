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
/// use pvbind::scheduling::{PodClaims, find_pod_volumes};
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
/// let volumes = find_pod_volumes(&claims, &Node::default(), &snapshot, Features::default())?;
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
/// For an example see [`utilization_score`](super::utilization_score), which takes
/// them.
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
/// use pvbind::scheduling::{PodClaims, find_pod_volumes};
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
/// // The driver asks that its pools be looked at, and this one has room.
/// let pool = volumes.dynamic_provisions[0].capacity.as_ref().unwrap();
/// assert_eq!(pool.metadata.name(), "zone-a");
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
    /// Whether the node fits.
    pub fn fits(&self) -> bool {
        self.reasons.is_empty()
    }

    /// The reasons, in upstream's order.
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
/// use pvbind::scheduling::{PodClaims, find_pod_volumes};
/// use pvbind::view::Snapshot;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"storageClassName": "gone"}}"#)?;
/// let claims = PodClaims { delayed: vec![Arc::new(claim)], ..PodClaims::default() };
/// let error = find_pod_volumes(&claims, &Node::default(), &Snapshot::new(), Features::default()).unwrap_err();
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
