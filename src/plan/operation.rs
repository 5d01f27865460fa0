//! Operations: slow work in a backend.

use std::fmt;
use std::sync::Arc;

use crate::api::{ObjectMeta, PersistentVolume, PersistentVolumeClaim, StorageClass};

/// Slow work in a backend, started by a step of a plan.
///
/// An operation goes on by itself, over several plans, while syncs of the same
/// object may run. The embedder sees to it that no two of the same
/// [`name`](Operation::name) go on at once; a start in the meantime is left
/// out, because the next sync starts it again if it is still needed.
/// [`controller::begin`](crate::controller::begin) gives its first plan.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, sync_volume};
/// use pvbind::plan::{Operation, Step};
/// use pvbind::view::Snapshot;
/// // Released already, so that the view is believed: its claim is gone.
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"}, "spec": {
///         "persistentVolumeReclaimPolicy": "Delete",
///         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
/// let plan = sync_volume(&Config::default(), &Snapshot::new(), &volume, None);
/// let Some(Step::Start(operation)) = plan.steps.last() else { panic!() };
/// assert!(matches!(operation, Operation::Delete { .. }));
/// // By this name the embedder knows whether it is going on already.
/// assert_eq!(operation.name(), "delete-pv-1[u-1]");
/// # Ok::<(), serde_json::Error>(())
/// ```
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
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, read_objects};
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::{Operation, Provisioner, Step};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(
///     r#"{"kind": "StorageClass", "metadata": {"name": "old"},
///         "provisioner": "kubernetes.io/gce-pd", "volumeBindingMode": "Immediate"}"#,
/// )?
/// .into_iter()
/// .collect();
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"storageClassName": "old"}}"#)?;
/// // A CSI driver has taken over from the in-tree plugin that the class names.
/// let plan = sync_claim(&Config::default(), &snapshot, &claim);
/// let Some(Step::Start(Operation::Provision { provisioner, .. })) = plan.steps.last() else { panic!() };
/// assert_eq!(*provisioner, Provisioner::External("pd.csi.storage.gke.io".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Operation::Provision { .. } => "provision",
            Operation::Delete { .. } => "delete",
            Operation::Recycle { .. } => "recycle",
        }
    }

    /// The metadata of the object that it is about.
    pub(super) fn metadata(&self) -> &ObjectMeta {
        match self {
            Operation::Provision { claim, .. } => &claim.metadata,
            Operation::Delete { volume } | Operation::Recycle { volume } => &volume.metadata,
        }
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
        let metadata = self.metadata();
        write!(f, "{}-{}[{}]", self.kind(), metadata.key(), metadata.uid())
    }
}
