//! PersistentVolumeClaim.

use super::{
    AccessMode, ClaimKey, LabelSelector, ObjectMeta, ResourceList, Timestamp, VolumeMode, names,
};
use crate::quantity::Quantity;
use serde_json::Value;

object! {
    /// A PersistentVolumeClaim (core/v1).
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    ///     "apiVersion": "v1", "kind": "PersistentVolumeClaim",
    ///     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    ///     "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
    ///         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// assert_eq!(claim.key().to_string(), "shop/data");
    /// assert_eq!(claim.requested_storage().value(), 5 << 30);
    /// assert_eq!(claim.class_name(), "fast");
    /// // No volume yet.
    /// assert_eq!(claim.volume_name(), "");
    /// assert!(!claim.is_bind_completed());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct PersistentVolumeClaim("a PersistentVolumeClaim") {
        /// `v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `PersistentVolumeClaim`, where written.
        kind: Option<String> = "kind",
        /// Name, namespace, annotations and the rest of the metadata.
        metadata: ObjectMeta = "metadata",
        /// What is asked for.
        spec: PersistentVolumeClaimSpec = "spec",
        /// What was given.
        status: PersistentVolumeClaimStatus = "status",
    }
}

object! {
    /// What a claim asks for.
    ///
    /// ```
    /// use pvbind::api::{AccessMode, PersistentVolumeClaimSpec, ResourceList, ResourceRequirements};
    /// let spec = PersistentVolumeClaimSpec {
    ///     access_modes: Some(vec![AccessMode::ReadWriteOnce]),
    ///     resources: ResourceRequirements {
    ///         requests: Some(ResourceList::of_storage("5Gi".parse()?)),
    ///         ..ResourceRequirements::default()
    ///     },
    ///     ..PersistentVolumeClaimSpec::default()
    /// };
    /// assert_eq!(
    ///     serde_json::to_string(&spec)?,
    ///     r#"{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}}"#,
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PersistentVolumeClaimSpec("a PersistentVolumeClaim's spec") {
        /// How the volume must be mountable.
        access_modes: Option<Vec<AccessMode>> = "accessModes",
        /// Which labels the volume must have. An empty selector is not the
        /// same object as none.
        selector: Option<LabelSelector> = "selector",
        /// How large the volume must be.
        resources: ResourceRequirements = "resources",
        /// The volume that the claim is bound to or asks for by name.
        volume_name: Option<String> = "volumeName",
        /// The name of the class; "" means none, absent that the claim does not
        /// say: see [`ClassOrigin::Unset`]. [`PersistentVolumeClaim::class_name`]
        /// also looks at the annotation.
        storage_class_name: Option<String> = "storageClassName",
        /// Whether the volume must be a file system or a raw device; absent
        /// means a file system.
        volume_mode: Option<VolumeMode> = "volumeMode",
        /// What to fill the volume with.
        data_source: Option<Value> = "dataSource",
        /// What to fill the volume with, of any kind.
        data_source_ref: Option<Value> = "dataSourceRef",
        /// The name of the VolumeAttributesClass; absent means "".
        volume_attributes_class_name: Option<String> = "volumeAttributesClassName",
    }
}

object! {
    /// How much of each resource is asked for
    /// (`VolumeResourceRequirements` of core/v1).
    ///
    /// ```
    /// use pvbind::api::{ResourceList, ResourceRequirements};
    /// let resources = ResourceRequirements {
    ///     requests: Some(ResourceList::of_storage("5Gi".parse()?)),
    ///     ..ResourceRequirements::default()
    /// };
    /// assert_eq!(serde_json::to_string(&resources)?, r#"{"requests":{"storage":"5Gi"}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct ResourceRequirements("resource requirements") {
        /// The least that is needed.
        requests: Option<ResourceList> = "requests",
        /// The most that may be given. Kubernetes 1.36 does not look at it
        /// when it binds.
        limits: Option<ResourceList> = "limits",
    }
}

object! {
    /// What a claim was given.
    ///
    /// ```
    /// use pvbind::api::{ClaimPhase, PersistentVolumeClaim};
    /// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    ///     "spec": {"resources": {"requests": {"storage": "5Gi"}}},
    ///     "status": {"phase": "Bound", "capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteOnce"]}}))?;
    /// assert_eq!(claim.status.phase, Some(ClaimPhase::Bound));
    /// // It may be more than was asked for.
    /// assert!(claim.status.capacity.as_ref().unwrap().storage.as_ref() > claim.storage_request());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct PersistentVolumeClaimStatus("a PersistentVolumeClaim's status") {
        /// The phase; absent in a manifest, for which an API server writes
        /// `Pending`.
        phase: Option<ClaimPhase> = "phase",
        /// The access modes of the volume.
        access_modes: Option<Vec<AccessMode>> = "accessModes",
        /// The capacity of the volume.
        capacity: Option<ResourceList> = "capacity",
        /// The VolumeAttributesClass of the volume.
        current_volume_attributes_class_name: Option<String> = "currentVolumeAttributesClassName",
    }
}

object! {
    /// A claim to be made: the template of an ephemeral volume or of a
    /// StatefulSet.
    ///
    /// ```
    /// use pvbind::api::{Pod, PersistentVolumeClaimTemplate};
    /// let pod: Pod = serde_json::from_value(serde_json::json!({"spec": {"volumes": [
    ///     {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {
    ///         "spec": {"storageClassName": "fast"}}}}]}}))?;
    /// let volume = pod.spec.volumes.unwrap().remove(0);
    /// let template: PersistentVolumeClaimTemplate = volume.ephemeral.unwrap().volume_claim_template.unwrap();
    /// assert_eq!(template.spec.storage_class_name.as_deref(), Some("fast"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct PersistentVolumeClaimTemplate("a claim template") {
        /// `v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `PersistentVolumeClaim`, where written.
        kind: Option<String> = "kind",
        /// Metadata of the claims to be made.
        metadata: ObjectMeta = "metadata",
        /// Spec of the claims to be made.
        spec: PersistentVolumeClaimSpec = "spec",
    }
}

open_enum! {
    /// The phase of a claim.
    ///
    /// ```
    /// use pvbind::api::{ClaimPhase, PersistentVolumeClaim};
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim =
    ///     from_value(json!({"spec": {"volumeName": "pv-1"}, "status": {"phase": "Lost"}}))?;
    /// assert_eq!(claim.status.phase, Some(ClaimPhase::Lost));
    /// assert_eq!(claim.volume_name(), "pv-1"); // it keeps the name of what is gone
    /// // A manifest has none; the API server writes Pending.
    /// assert_eq!(PersistentVolumeClaim::default().status.phase, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum ClaimPhase {
        /// Not bound yet.
        Pending = "Pending",
        /// Bound to a volume.
        Bound = "Bound",
        /// The volume that it was bound to is gone.
        Lost = "Lost",
    }
}

/// Where a claim's class comes from: see
/// [`PersistentVolumeClaim::class_origin`].
///
/// ```
/// use pvbind::api::{ClassOrigin, PersistentVolumeClaim};
/// let origin = |text: &str| {
///     serde_json::from_str::<PersistentVolumeClaim>(text).map(|claim| claim.class_origin())
/// };
/// assert_eq!(origin(r#"{"spec": {"storageClassName": ""}}"#)?, ClassOrigin::Spec);
/// assert_eq!(origin("{}")?, ClassOrigin::Unset);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClassOrigin {
    /// From the annotation `volume.beta.kubernetes.io/storage-class`.
    Annotation,
    /// From `spec.storageClassName`.
    Spec,
    /// From nowhere: the claim has no class, and takes the default class when
    /// there is one and no volume without class fits.
    Unset,
}

impl PersistentVolumeClaim {
    /// The claim's name.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim = from_value(json!({"metadata": {"name": "data"}}))?;
    /// assert_eq!(claim.name(), "data");
    /// // A manifest that leaves the name to the API server has none yet.
    /// let claim: PersistentVolumeClaim = from_value(json!({"metadata": {"generateName": "data-"}}))?;
    /// assert_eq!(claim.name(), "");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    /// The claim's namespace, "" if absent.
    ///
    /// An API server always fills it in; a manifest without one is not taken to
    /// be in `default`.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use serde_json::{from_value, json};
    /// let metadata = json!({"namespace": "shop", "name": "data"});
    /// let claim: PersistentVolumeClaim = from_value(json!({"metadata": metadata}))?;
    /// assert_eq!(claim.namespace(), "shop");
    /// let manifest: PersistentVolumeClaim = from_value(json!({"metadata": {"name": "data"}}))?;
    /// assert_eq!(manifest.namespace(), ""); // not "default"
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn namespace(&self) -> &str {
        self.metadata.namespace()
    }

    /// Namespace and name.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "data"}}"#)?;
    /// assert_eq!(claim.key().to_string(), "shop/data");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn key(&self) -> ClaimKey {
        ClaimKey::of(self)
    }

    /// The phase, `None` if none was written yet. An API server writes `Pending`
    /// when it creates a claim.
    ///
    /// ```
    /// use pvbind::api::{ClaimPhase, PersistentVolumeClaim};
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim = from_value(json!({"status": {"phase": "Lost"}}))?;
    /// assert_eq!(claim.phase(), Some(&ClaimPhase::Lost));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn phase(&self) -> Option<&ClaimPhase> {
        self.status.phase.as_ref()
    }

    /// The class of the claim: the annotation
    /// `volume.beta.kubernetes.io/storage-class` if its key is present (even
    /// when empty), else `spec.storageClassName`, else "".
    ///
    /// Follows `GetPersistentVolumeClaimClass` of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
    ///         "spec": {"storageClassName": "new"}}"#)?;
    /// assert_eq!(claim.class_name(), "old");
    /// assert_eq!(PersistentVolumeClaim::default().class_name(), "");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn class_name(&self) -> &str {
        self.metadata
            .annotation(names::BETA_STORAGE_CLASS)
            .or(self.spec.storage_class_name.as_deref())
            .unwrap_or_default()
    }

    /// Where the class comes from; [`class_name`](Self::class_name) says which it
    /// is.
    ///
    /// Follows the order of `GetPersistentVolumeClaimClass` of Kubernetes 1.36:
    /// the annotation, even an empty one, before the field.
    ///
    /// ```
    /// use pvbind::api::{ClassOrigin, PersistentVolumeClaim};
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim = from_value(json!({
    ///     "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": ""}},
    ///     "spec": {"storageClassName": "fast"}}))?;
    /// // The old annotation hides the field, and here says "no class".
    /// assert_eq!(claim.class_origin(), ClassOrigin::Annotation);
    /// assert_eq!(claim.class_name(), "");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn class_origin(&self) -> ClassOrigin {
        if self.metadata.has_annotation(names::BETA_STORAGE_CLASS) {
            ClassOrigin::Annotation
        } else if self.spec.storage_class_name.is_some() {
            ClassOrigin::Spec
        } else {
            ClassOrigin::Unset
        }
    }

    /// Whether the claim says which class it wants, "" (none) included. A claim
    /// that does not can be given the default class.
    ///
    /// Follows `PersistentVolumeClaimHasClass` of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let unset = PersistentVolumeClaim::default();
    /// assert!(!unset.has_class());
    /// let empty: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"spec": {"storageClassName": ""}}"#)?;
    /// assert!(empty.has_class());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn has_class(&self) -> bool {
        self.class_origin() != ClassOrigin::Unset
    }

    /// Whether the volume must be a file system or a raw device; absent means
    /// a file system.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolumeClaim, VolumeMode};
    /// use serde_json::{from_value, json};
    /// let disk: PersistentVolumeClaim = from_value(json!({"spec": {"volumeMode": "Block"}}))?;
    /// assert_eq!(disk.volume_mode(), &VolumeMode::Block);
    /// // Absent is not a wildcard: this claim never takes a raw device.
    /// let data: PersistentVolumeClaim = from_value(json!({"spec": {}}))?;
    /// assert_eq!(data.volume_mode(), &VolumeMode::Filesystem);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume_mode(&self) -> &VolumeMode {
        self.spec
            .volume_mode
            .as_ref()
            .unwrap_or(&VolumeMode::Filesystem)
    }

    /// The access modes as listed: in this order, repeats and unknown modes
    /// included. None if absent, which asks for nothing, so that any volume
    /// will do.
    ///
    /// ```
    /// use pvbind::api::{AccessMode, PersistentVolumeClaim};
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim =
    ///     from_value(json!({"spec": {"accessModes": ["ReadWriteMany", "ReadOnlyMany"]}}))?;
    /// assert_eq!(claim.access_modes(), [AccessMode::ReadWriteMany, AccessMode::ReadOnlyMany]);
    /// assert!(PersistentVolumeClaim::default().access_modes().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn access_modes(&self) -> &[AccessMode] {
        self.spec.access_modes.as_deref().unwrap_or_default()
    }

    /// The storage request in bytes, if there is one.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"spec": {"resources": {"requests": {"storage": "1Ki"}}}}"#)?;
    /// assert_eq!(claim.storage_request().unwrap().value(), 1024);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn storage_request(&self) -> Option<&Quantity> {
        self.spec.resources.requests.as_ref()?.storage.as_ref()
    }

    /// The storage request in bytes; absent counts as zero.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let claim = PersistentVolumeClaim::default();
    /// assert_eq!(claim.storage_request(), None);
    /// assert_eq!(claim.requested_storage().value(), 0);
    /// ```
    pub fn requested_storage(&self) -> &Quantity {
        static ZERO: Quantity = Quantity::ZERO;
        self.storage_request().unwrap_or(&ZERO)
    }

    /// The name of the VolumeAttributesClass; absent means "".
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim = from_value(json!({"spec": {
    ///     "storageClassName": "fast", "volumeAttributesClassName": "gold"}}))?;
    /// // What the backend gives the volume, which may change; not the class.
    /// assert_eq!(claim.attributes_class_name(), "gold");
    /// assert_eq!(PersistentVolumeClaim::default().attributes_class_name(), "");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attributes_class_name(&self) -> &str {
        self.spec
            .volume_attributes_class_name
            .as_deref()
            .unwrap_or_default()
    }

    /// The volume that the claim is bound to or asks for by name, "" if none.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim = from_value(json!({
    ///     "spec": {"volumeName": "pv-1"}, "status": {"phase": "Pending"}}))?;
    /// // A name alone is a wish: nobody has bound this claim yet.
    /// assert_eq!(claim.volume_name(), "pv-1");
    /// assert!(!claim.is_fully_bound());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume_name(&self) -> &str {
        self.spec.volume_name.as_deref().unwrap_or_default()
    }

    /// Whether the controller has finished binding: the annotation
    /// `pv.kubernetes.io/bind-completed` is present.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// // Only that the key is there counts.
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": ""}}}"#)?;
    /// assert!(claim.is_bind_completed());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn is_bind_completed(&self) -> bool {
        self.metadata.has_annotation(names::BIND_COMPLETED)
    }

    /// Whether the scheduler counts the claim as bound: it names a volume and
    /// the controller has finished binding.
    ///
    /// Follows `volumeBinder.isPVCFullyBound` of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let mut claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"spec": {"volumeName": "pv-1"}}"#)?;
    /// assert!(!claim.is_fully_bound()); // it only asks for that volume
    /// claim.metadata.set_annotation("pv.kubernetes.io/bind-completed", "yes");
    /// assert!(claim.is_fully_bound());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn is_fully_bound(&self) -> bool {
        !self.volume_name().is_empty() && self.is_bind_completed()
    }

    /// When somebody asked for the claim's deletion; `None` if nobody did.
    ///
    /// Such a claim is still there, for as long as a finalizer holds it.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use serde_json::{from_value, json};
    /// // `kubectl delete` was called; a pod still uses the claim.
    /// let claim: PersistentVolumeClaim = from_value(json!({"metadata": {"name": "data",
    ///     "deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": ["kubernetes.io/pvc-protection"]}}))?;
    /// assert_eq!(claim.deletion_timestamp().unwrap().as_str(), "2026-01-02T03:04:05Z");
    /// assert_eq!(PersistentVolumeClaim::default().deletion_timestamp(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deletion_timestamp(&self) -> Option<&Timestamp> {
        self.metadata.deletion_timestamp.as_ref()
    }
}
