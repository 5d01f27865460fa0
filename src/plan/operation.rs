//! Operations: slow work in a backend.

use std::fmt;
use std::sync::Arc;

use crate::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};

/// Slow work in a backend, started by a step of a plan.
///
/// An operation goes on by itself, over several plans, while syncs of the same
/// object may run. The embedder sees to it that no two of the same
/// [`name`](Operation::name) go on at once; a start in the meantime is left
/// out, because the next sync starts it again if it is still needed.
/// [`controller::begin`](crate::controller::begin) gives its first plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Operation {
    /// Make a volume for a claim.
    Provision {
        /// The claim.
        claim: Arc<PersistentVolumeClaim>,
        /// Its class.
        class: Arc<StorageClass>,
        /// Who makes the volume.
        provisioner: Provisioner,
    },
    /// Delete a volume.
    Delete {
        /// The volume.
        volume: Arc<PersistentVolume>,
    },
    /// Delete a volume's files and make it available again.
    Recycle {
        /// The volume.
        volume: Arc<PersistentVolume>,
    },
}

/// Who makes a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provisioner {
    /// An in-tree plugin of this name, through the embedder.
    Internal(String),
    /// A provisioner of this name, which watches claims by itself.
    External(String),
}

impl Operation {
    /// Upstream's name: `provision-NAMESPACE/NAME[UID]`, `delete-NAME[UID]`,
    /// `recycle-NAME[UID]`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::Operation;
    /// let volume: PersistentVolume =
    ///     serde_json::from_str(r#"{"metadata": {"name": "pv-1", "uid": "u-1"}}"#)?;
    /// let operation = Operation::Delete { volume: Arc::new(volume) };
    /// assert_eq!(operation.name(), "delete-pv-1[u-1]");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// The object as last written takes the place of the one that the
    /// operation was planned with.
    pub(super) fn claim_written(&mut self, written: &Arc<PersistentVolumeClaim>) {
        if let Operation::Provision { claim, .. } = self
            && claim.metadata.is_same_object(&written.metadata)
        {
            *claim = Arc::clone(written);
        }
    }

    pub(super) fn volume_written(&mut self, written: &Arc<PersistentVolume>) {
        if let Operation::Delete { volume } | Operation::Recycle { volume } = self
            && volume.metadata.is_same_object(&written.metadata)
        {
            *volume = Arc::clone(written);
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, metadata) = match self {
            Operation::Provision { claim, .. } => ("provision", &claim.metadata),
            Operation::Delete { volume } => ("delete", &volume.metadata),
            Operation::Recycle { volume } => ("recycle", &volume.metadata),
        };
        write!(f, "{verb}-{}[{}]", metadata.key(), metadata.uid())
    }
}
