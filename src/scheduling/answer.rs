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
#[derive(Clone, Debug, PartialEq)]
pub struct StaticBinding {
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The volume.
    pub volume: Arc<PersistentVolume>,
}

/// A claim for which a volume must be made.
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
