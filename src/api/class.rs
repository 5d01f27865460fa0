//! StorageClass.

use std::collections::BTreeMap;

use super::{ObjectMeta, PersistentVolumeReclaimPolicy, TopologySelectorTerm, names};

object! {
    /// A StorageClass (storage.k8s.io/v1).
    ///
    /// ```
    /// use pvbind::api::{StorageClass, VolumeBindingMode};
    /// let class: StorageClass = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"name": "fast",
    ///         "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    ///     "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"}))?;
    /// assert_eq!((class.name(), class.provisioner()), ("fast", "csi.example.com"));
    /// assert!(class.is_marked_default());
    /// assert_eq!(class.volume_binding_mode, Some(VolumeBindingMode::WaitForFirstConsumer));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct StorageClass("a StorageClass") {
        /// `storage.k8s.io/v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `StorageClass`, where written.
        kind: Option<String> = "kind",
        /// Name, annotations and the rest of the metadata.
        metadata: ObjectMeta = "metadata",
        /// Who makes volumes of this class.
        provisioner: Option<String> = "provisioner",
        /// What the provisioner is to know.
        parameters: Option<BTreeMap<String, String>> = "parameters",
        /// The policy that volumes of this class get.
        reclaim_policy: Option<PersistentVolumeReclaimPolicy> = "reclaimPolicy",
        /// The mount options that volumes of this class get.
        mount_options: Option<Vec<String>> = "mountOptions",
        /// Whether claims of this class may grow.
        allow_volume_expansion: Option<bool> = "allowVolumeExpansion",
        /// When claims of this class are bound.
        volume_binding_mode: Option<VolumeBindingMode> = "volumeBindingMode",
        /// The nodes for which volumes of this class can be made; without terms,
        /// all.
        allowed_topologies: Option<Vec<TopologySelectorTerm>> = "allowedTopologies",
    }
}

open_enum! {
    /// When a claim is bound.
    ///
    /// An API server fills it in. A class without one is an error for every claim
    /// of it that has no volume yet, and does not count as `Immediate`.
    ///
    /// ```
    /// use pvbind::api::{StorageClass, VolumeBindingMode};
    /// let local: StorageClass = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}))?;
    /// assert_eq!(local.volume_binding_mode, Some(VolumeBindingMode::WaitForFirstConsumer));
    /// // A manifest may leave it to the API server, which writes `Immediate`.
    /// assert_eq!(StorageClass::default().volume_binding_mode, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum VolumeBindingMode {
        /// As soon as it is there.
        Immediate = "Immediate",
        /// When a pod that uses it is scheduled.
        WaitForFirstConsumer = "WaitForFirstConsumer",
    }
}

impl StorageClass {
    /// The class's name, "" if absent: what claims and volumes name as
    /// `storageClassName`.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolumeClaim, StorageClass};
    /// use serde_json::{from_value, json};
    /// let class: StorageClass = from_value(json!({"metadata": {"name": "fast"}}))?;
    /// let claim: PersistentVolumeClaim = from_value(json!({"spec": {"storageClassName": "fast"}}))?;
    /// assert_eq!(claim.class_name(), class.name());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    /// The provisioner's name, "" if absent: a CSI driver, an in-tree plugin
    /// (`kubernetes.io/…`), or [`NO_PROVISIONER`](names::NO_PROVISIONER).
    ///
    /// ```
    /// use pvbind::api::{StorageClass, names};
    /// use serde_json::{from_value, json};
    /// let local: StorageClass = from_value(json!({
    ///     "metadata": {"name": "local"}, "provisioner": "kubernetes.io/no-provisioner"}))?;
    /// assert_eq!(local.provisioner(), names::NO_PROVISIONER); // volumes are made by hand
    /// assert_eq!(StorageClass::default().provisioner(), "");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn provisioner(&self) -> &str {
        self.provisioner.as_deref().unwrap_or_default()
    }

    /// The terms that say for which nodes volumes of this class can be made; none
    /// if absent, which means all nodes.
    ///
    /// ```
    /// use pvbind::api::StorageClass;
    /// use serde_json::{from_value, json};
    /// let zonal: StorageClass = from_value(json!({"allowedTopologies": [
    ///     {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]}))?;
    /// assert_eq!(zonal.allowed_topologies().len(), 1);
    /// assert!(StorageClass::default().allowed_topologies().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allowed_topologies(&self) -> &[TopologySelectorTerm] {
        self.allowed_topologies.as_deref().unwrap_or_default()
    }

    /// Whether the class is marked as the default class, by the annotation
    /// under its new or its old key.
    ///
    /// Follows `IsDefaultAnnotation` of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::StorageClass;
    /// let class = |key: &str, value: &str| -> StorageClass {
    ///     serde_json::from_value(serde_json::json!({"metadata": {"annotations": {key: value}}})).unwrap()
    /// };
    /// assert!(class("storageclass.kubernetes.io/is-default-class", "true").is_marked_default());
    /// assert!(class("storageclass.beta.kubernetes.io/is-default-class", "true").is_marked_default());
    /// assert!(!class("storageclass.kubernetes.io/is-default-class", "yes").is_marked_default());
    /// ```
    pub fn is_marked_default(&self) -> bool {
        [names::IS_DEFAULT_CLASS, names::BETA_IS_DEFAULT_CLASS]
            .into_iter()
            .any(|key| self.metadata.annotation(key) == Some("true"))
    }
}
