//! PersistentVolume.

use super::{
    NodeSelector, ObjectMeta, ObjectReference, PersistentVolumeClaim, ResourceList, names,
};
use crate::quantity::Quantity;

object! {
    /// A PersistentVolume (core/v1).
    ///
    /// ```
    /// use pvbind::api::{AccessMode, PersistentVolume, VolumePhase};
    /// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    ///     "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    ///     "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    ///         "nfs": {"server": "files", "path": "/"}},
    ///     "status": {"phase": "Available"}}))?;
    /// assert_eq!(volume.storage().to_string(), "5Gi");
    /// assert_eq!(volume.access_modes(), [AccessMode::ReadWriteOnce]);
    /// assert_eq!(volume.status.phase, Some(VolumePhase::Available));
    /// // What is absent has the meaning that Kubernetes gives it ...
    /// assert_eq!(volume.class_name(), "");
    /// assert_eq!(volume.volume_mode().as_str(), "Filesystem");
    /// // ... and what this crate has no name for is kept.
    /// assert_eq!(volume.source(), Some("nfs"));
    /// assert_eq!(serde_json::to_value(&volume)?["spec"]["nfs"]["server"], "files");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct PersistentVolume("a PersistentVolume") {
        /// `v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `PersistentVolume`, where written.
        kind: Option<String> = "kind",
        /// Name, labels, annotations and the rest of the metadata.
        metadata: ObjectMeta = "metadata",
        /// What the volume is and whom it is for.
        spec: PersistentVolumeSpec = "spec",
        /// The phase that the volume is in.
        status: PersistentVolumeStatus = "status",
    }
}

object! {
    /// What a volume is and whom it is for.
    ///
    /// Sources other than `csi` stand among the unknown fields;
    /// [`PersistentVolume::source`] names the one that is set.
    ///
    /// ```
    /// use pvbind::api::{ObjectReference, PersistentVolume};
    /// let mut volume = PersistentVolume::default();
    /// // Reserved for a claim that may come: a claimRef without uid.
    /// volume.spec.claim_ref = Some(ObjectReference {
    ///     namespace: Some("shop".to_owned()),
    ///     name: Some("data".to_owned()),
    ///     ..ObjectReference::default()
    /// });
    /// assert_eq!(
    ///     serde_json::to_string(&volume.spec)?,
    ///     r#"{"claimRef":{"namespace":"shop","name":"data"}}"#,
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct PersistentVolumeSpec("a PersistentVolume's spec") {
        /// The claim that the volume is bound to or reserved for.
        claim_ref: Option<ObjectReference> = "claimRef",
        /// How large the volume is.
        capacity: Option<ResourceList> = "capacity",
        /// How it may be mounted.
        access_modes: Option<Vec<AccessMode>> = "accessModes",
        /// Whether it is a file system or a raw device; absent means a file
        /// system.
        volume_mode: Option<VolumeMode> = "volumeMode",
        /// The name of its class. [`PersistentVolume::class_name`] also looks
        /// at the annotation.
        storage_class_name: Option<String> = "storageClassName",
        /// The name of its VolumeAttributesClass; absent means "".
        volume_attributes_class_name: Option<String> = "volumeAttributesClassName",
        /// The nodes that can reach it.
        node_affinity: Option<VolumeNodeAffinity> = "nodeAffinity",
        /// What happens when its claim is gone.
        persistent_volume_reclaim_policy: Option<PersistentVolumeReclaimPolicy> = "persistentVolumeReclaimPolicy",
        /// Options for mounting.
        mount_options: Option<Vec<String>> = "mountOptions",
        /// The volume of a CSI driver.
        csi: Option<CsiVolumeSource> = "csi",
    }
}

object! {
    /// The phase that a volume is in.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// let volume: PersistentVolume = serde_json::from_str(
    ///     r#"{"status": {"phase": "Failed", "message": "disk is attached"}}"#)?;
    /// assert_eq!(volume.status.message.as_deref(), Some("disk is attached"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct PersistentVolumeStatus("a PersistentVolume's status") {
        /// The phase; absent in a manifest, for which an API server writes
        /// `Pending`.
        phase: Option<VolumePhase> = "phase",
        /// Why the volume is in this phase, for people.
        message: Option<String> = "message",
        /// Why the volume is in this phase, for programs.
        reason: Option<String> = "reason",
    }
}

object! {
    /// The nodes that can reach a volume.
    ///
    /// Without `required` every node can; with `required` that has no terms,
    /// none can.
    ///
    /// ```
    /// use pvbind::api::VolumeNodeAffinity;
    /// use pvbind::selector::volume_affinity_accepts;
    /// let labels = std::collections::BTreeMap::from([("zone", "a")]);
    /// let every: VolumeNodeAffinity = serde_json::from_str("{}")?;
    /// assert!(volume_affinity_accepts(Some(&every), &labels)?);
    /// let none: VolumeNodeAffinity = serde_json::from_str(r#"{"required": {"nodeSelectorTerms": []}}"#)?;
    /// assert!(!volume_affinity_accepts(Some(&none), &labels)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct VolumeNodeAffinity("a volume's node affinity") {
        /// What a node must satisfy.
        required: Option<NodeSelector> = "required",
    }
}

object! {
    /// The volume of a CSI driver (`CSIPersistentVolumeSource` of core/v1).
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// let volume: PersistentVolume = serde_json::from_str(
    ///     r#"{"spec": {"csi": {"driver": "csi.example.com", "volumeHandle": "7"}}}"#)?;
    /// assert_eq!(volume.source(), Some("csi"));
    /// assert_eq!(volume.spec.csi.unwrap().driver.as_deref(), Some("csi.example.com"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct CsiVolumeSource("a CSI volume source") {
        /// The driver's name.
        driver: Option<String> = "driver",
        /// The driver's name for the volume.
        volume_handle: Option<String> = "volumeHandle",
    }
}

open_enum! {
    /// How a volume may be mounted.
    ///
    /// The order is that of the search: see
    /// [`find_best_match_for_claim`](crate::matching::find_best_match_for_claim).
    ///
    /// ```
    /// use pvbind::api::AccessMode;
    /// assert_eq!(AccessMode::from("ReadWriteMany"), AccessMode::ReadWriteMany);
    /// // A mode of a later Kubernetes is kept as it is.
    /// let later = AccessMode::from("ReadWriteSometimes");
    /// assert!(later.is_unknown());
    /// assert_eq!(later.as_str(), "ReadWriteSometimes");
    /// ```
    pub enum AccessMode {
        /// By the pods of one node, for reading and writing.
        ReadWriteOnce = "ReadWriteOnce",
        /// By many nodes, for reading.
        ReadOnlyMany = "ReadOnlyMany",
        /// By many nodes, for reading and writing.
        ReadWriteMany = "ReadWriteMany",
        /// By one pod in the cluster, for reading and writing.
        ReadWriteOncePod = "ReadWriteOncePod",
    }
}

impl AccessMode {
    /// The known modes, in the order of the search.
    ///
    /// ```
    /// use pvbind::api::AccessMode;
    /// let columns = AccessMode::KNOWN.map(|mode| mode.abbreviation().to_owned());
    /// assert_eq!(columns, ["RWO", "ROX", "RWX", "RWOP"]);
    /// ```
    pub const KNOWN: [AccessMode; 4] = [
        AccessMode::ReadWriteOnce,
        AccessMode::ReadOnlyMany,
        AccessMode::ReadWriteMany,
        AccessMode::ReadWriteOncePod,
    ];

    /// The abbreviation that `kubectl get` prints, or the whole text of an
    /// unknown mode.
    ///
    /// ```
    /// use pvbind::api::AccessMode;
    /// assert_eq!(AccessMode::ReadOnlyMany.abbreviation(), "ROX");
    /// assert_eq!(AccessMode::from("ReadNever").abbreviation(), "ReadNever");
    /// ```
    pub fn abbreviation(&self) -> &str {
        match self {
            AccessMode::ReadWriteOnce => "RWO",
            AccessMode::ReadOnlyMany => "ROX",
            AccessMode::ReadWriteMany => "RWX",
            AccessMode::ReadWriteOncePod => "RWOP",
            AccessMode::Other(text) => text,
        }
    }
}

open_enum! {
    /// Whether a volume is a file system or a raw device.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, VolumeMode};
    /// use serde_json::{from_value, json};
    /// let disk: PersistentVolume = from_value(json!({"spec": {"volumeMode": "Block"}}))?;
    /// assert_eq!(disk.spec.volume_mode, Some(VolumeMode::Block));
    /// // The field may be absent; the accessor says what that means.
    /// let nfs: PersistentVolume = from_value(json!({"spec": {"nfs": {"server": "files"}}}))?;
    /// assert_eq!((&nfs.spec.volume_mode, nfs.volume_mode()), (&None, &VolumeMode::Filesystem));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum VolumeMode {
        /// A file system, mounted into a directory.
        Filesystem = "Filesystem",
        /// A raw block device.
        Block = "Block",
    }
}

open_enum! {
    /// What happens to a volume when its claim is gone.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeReclaimPolicy, StorageClass};
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}}))?;
    /// assert_eq!(volume.spec.persistent_volume_reclaim_policy, Some(PersistentVolumeReclaimPolicy::Retain));
    /// // A class has one for the volumes that are made for it, under another name.
    /// let class: StorageClass = from_value(json!({"reclaimPolicy": "Delete"}))?;
    /// assert_eq!(class.reclaim_policy, Some(PersistentVolumeReclaimPolicy::Delete));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum PersistentVolumeReclaimPolicy {
        /// Nothing; an administrator decides.
        Retain = "Retain",
        /// It is deleted, in the backend too.
        Delete = "Delete",
        /// Its files are deleted and it becomes available again.
        Recycle = "Recycle",
    }
}

open_enum! {
    /// The phase of a volume.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, VolumePhase};
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({
    ///     "spec": {"claimRef": {"namespace": "shop", "name": "data"}}, "status": {"phase": "Available"}}))?;
    /// // Available, and yet kept for a claim that has not taken it.
    /// assert_eq!(volume.status.phase, Some(VolumePhase::Available));
    /// // A manifest has none; the API server writes Pending, and no claim gets the
    /// // volume before the controller has made that Available.
    /// assert_eq!(PersistentVolume::default().status.phase, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum VolumePhase {
        /// Not seen by the controller yet.
        Pending = "Pending",
        /// Free, or reserved for a claim that has not taken it yet.
        Available = "Available",
        /// Bound to a claim.
        Bound = "Bound",
        /// Its claim is gone and it has not been reclaimed yet.
        Released = "Released",
        /// It could not be reclaimed.
        Failed = "Failed",
    }
}

/// The names of the volume sources that Kubernetes 1.36 knows, as they stand in
/// a volume's spec.
///
/// ```
/// use pvbind::api::VOLUME_SOURCES;
/// assert!(VOLUME_SOURCES.contains(&"hostPath")); // spelled as in the spec
/// assert!(!VOLUME_SOURCES.contains(&"persistentVolumeClaim")); // that is a pod's
/// ```
pub const VOLUME_SOURCES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

impl PersistentVolume {
    /// The volume's name, "" if absent: what a claim names as `volumeName`.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"metadata": {"name": "pv-1"}}))?;
    /// let claim: PersistentVolumeClaim = from_value(json!({"spec": {"volumeName": "pv-1"}}))?;
    /// assert_eq!(claim.volume_name(), volume.name());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    /// The phase, `None` if none was written yet. An API server writes `Pending`
    /// when it creates a volume.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, VolumePhase};
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"status": {"phase": "Released"}}))?;
    /// assert_eq!(volume.phase(), Some(&VolumePhase::Released));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn phase(&self) -> Option<&VolumePhase> {
        self.status.phase.as_ref()
    }

    /// What is to happen to the volume when its claim is gone, `None` if absent.
    ///
    /// An API server fills in `Retain`. Nothing else does: to the controller a
    /// released volume without policy has one that it does not know, and becomes
    /// Failed.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeReclaimPolicy};
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}}))?;
    /// assert_eq!(volume.reclaim_policy(), Some(&PersistentVolumeReclaimPolicy::Delete));
    /// assert_eq!(PersistentVolume::default().reclaim_policy(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reclaim_policy(&self) -> Option<&PersistentVolumeReclaimPolicy> {
        self.spec.persistent_volume_reclaim_policy.as_ref()
    }

    /// The class of the volume: the annotation
    /// `volume.beta.kubernetes.io/storage-class` if its key is present (even
    /// when empty), else `spec.storageClassName`, else "".
    ///
    /// Follows `GetPersistentVolumeClass` of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// let volume: PersistentVolume = serde_json::from_str(
    ///     r#"{"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": ""}},
    ///         "spec": {"storageClassName": "fast"}}"#)?;
    /// assert_eq!(volume.class_name(), ""); // the annotation is there, so it decides
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn class_name(&self) -> &str {
        self.metadata
            .annotation(names::BETA_STORAGE_CLASS)
            .or(self.spec.storage_class_name.as_deref())
            .unwrap_or_default()
    }

    /// Whether the volume is a file system or a raw device; absent means a
    /// file system.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"spec": {"nfs": {"server": "files"}}}))?;
    /// let claim: PersistentVolumeClaim = from_value(json!({"spec": {"volumeMode": "Filesystem"}}))?;
    /// // The fields differ, the modes do not.
    /// assert_eq!(volume.spec.volume_mode, None);
    /// assert_eq!(volume.volume_mode(), claim.volume_mode());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume_mode(&self) -> &VolumeMode {
        self.spec
            .volume_mode
            .as_ref()
            .unwrap_or(&VolumeMode::Filesystem)
    }

    /// The access modes as listed: in this order, repeats and unknown modes
    /// included; none if absent.
    /// [`AccessModeSet`](crate::matching::AccessModeSet) compares them as sets.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume =
    ///     from_value(json!({"spec": {"accessModes": ["ReadOnlyMany", "ReadWriteOnce"]}}))?;
    /// let short: Vec<_> = volume.access_modes().iter().map(|mode| mode.abbreviation()).collect();
    /// assert_eq!(short, ["ROX", "RWO"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn access_modes(&self) -> &[AccessMode] {
        self.spec.access_modes.as_deref().unwrap_or_default()
    }

    /// The storage capacity in bytes; absent counts as zero.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// let volume: PersistentVolume =
    ///     serde_json::from_str(r#"{"spec": {"capacity": {"storage": "5G"}}}"#)?;
    /// assert_eq!(volume.storage().value(), 5_000_000_000);
    /// assert_eq!(PersistentVolume::default().storage().value(), 0);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn storage(&self) -> &Quantity {
        static ZERO: Quantity = Quantity::ZERO;
        self.spec
            .capacity
            .as_ref()
            .and_then(|capacity| capacity.storage.as_ref())
            .unwrap_or(&ZERO)
    }

    /// The name of the VolumeAttributesClass; absent means "".
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"spec": {"volumeAttributesClassName": ""}}))?;
    /// // Absent and empty are the same name, so these two fit.
    /// let claim = PersistentVolumeClaim::default();
    /// assert_eq!(volume.attributes_class_name(), claim.attributes_class_name());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attributes_class_name(&self) -> &str {
        self.spec
            .volume_attributes_class_name
            .as_deref()
            .unwrap_or_default()
    }

    /// What a node must satisfy to reach the volume; `None` if every node can.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// let anywhere: PersistentVolume = serde_json::from_str(r#"{"spec": {"nodeAffinity": {}}}"#)?;
    /// assert_eq!(anywhere.required_node_affinity(), None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn required_node_affinity(&self) -> Option<&NodeSelector> {
        self.spec.node_affinity.as_ref()?.required.as_ref()
    }

    /// The claim that the volume is bound to or reserved for, if any.
    /// [`is_bound_to`](Self::is_bound_to) says whether it is a certain claim.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({
    ///     "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}},
    ///     "status": {"phase": "Released"}}))?;
    /// // It stays when the claim is gone, and keeps the volume from other claims.
    /// assert_eq!(volume.claim_ref().unwrap().key(), "shop/data");
    /// assert_eq!(PersistentVolume::default().claim_ref(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim_ref(&self) -> Option<&ObjectReference> {
        self.spec.claim_ref.as_ref()
    }

    /// Whether the volume is bound to the claim, or reserved for it: its
    /// claimRef has the claim's namespace and name and, if it has a uid, the
    /// claim's uid.
    ///
    /// Follows `IsVolumeBoundToClaim` of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-2"}}"#,
    /// )?;
    /// let reserved: PersistentVolume = serde_json::from_str(
    ///     r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data"}}}"#,
    /// )?;
    /// assert!(reserved.is_bound_to(&claim));
    /// // An earlier claim of the same name is another claim.
    /// let taken: PersistentVolume = serde_json::from_str(
    ///     r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#,
    /// )?;
    /// assert!(!taken.is_bound_to(&claim));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn is_bound_to(&self, claim: &PersistentVolumeClaim) -> bool {
        self.claim_ref().is_some_and(|reference| {
            reference.name() == claim.metadata.name()
                && reference.namespace() == claim.metadata.namespace()
                && (reference.uid().is_empty() || reference.uid() == claim.metadata.uid())
        })
    }

    /// The name of the volume source that is set, as it stands in the spec
    /// (`csi`, `hostPath`, `nfs` …). The first in the order of
    /// [`VOLUME_SOURCES`] if a hostile object sets several; `None` if it sets
    /// none that Kubernetes 1.36 knows.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// let volume: PersistentVolume =
    ///     serde_json::from_str(r#"{"spec": {"hostPath": {"path": "/data"}}}"#)?;
    /// assert_eq!(volume.source(), Some("hostPath"));
    /// assert_eq!(volume.spec.unknown.get("hostPath").unwrap()["path"], "/data");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn source(&self) -> Option<&'static str> {
        VOLUME_SOURCES.into_iter().find(|&source| match source {
            "csi" => self.spec.csi.is_some(),
            other => self
                .spec
                .unknown
                .get(other)
                .is_some_and(|value| !value.is_null()),
        })
    }
}
