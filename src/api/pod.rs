//! Pod.

use std::collections::BTreeMap;

use super::{NodeSelector, ObjectMeta, PersistentVolumeClaim, PersistentVolumeClaimTemplate};
use serde_json::Value;

object! {
    /// A Pod (core/v1), of which decisions about storage need the volumes and
    /// the node.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// let pod: Pod = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"namespace": "shop", "name": "web"}, "status": {"phase": "Running"},
    ///     "spec": {"nodeName": "a", "volumes": [
    ///         {"name": "data", "persistentVolumeClaim": {"claimName": "shop-data"}}]}}))?;
    /// assert_eq!(pod.node_name(), "a");
    /// assert!(pod.uses_claim("shop-data"));
    /// assert!(!pod.is_finished());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Pod("a Pod") {
        /// `v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `Pod`, where written.
        kind: Option<String> = "kind",
        /// Name, namespace, owners and the rest of the metadata.
        metadata: ObjectMeta = "metadata",
        /// What the pod is to run, with which volumes, on which nodes.
        spec: PodSpec = "spec",
        /// How far the pod has come.
        status: PodStatus = "status",
    }
}

object! {
    /// What a pod is to run, with which volumes, on which nodes.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// let pod: Pod = serde_json::from_value(serde_json::json!({"spec": {
    ///     "nodeSelector": {"disk": "ssd"},
    ///     "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
    ///         {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}},
    ///     "containers": [{"name": "web"}]}}))?;
    /// assert_eq!(pod.spec.node_selector.as_ref().unwrap()["disk"], "ssd");
    /// let affinity = pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    /// let required = &affinity.unwrap().required_during_scheduling_ignored_during_execution;
    /// assert_eq!(required.as_ref().unwrap().node_selector_terms.as_ref().unwrap().len(), 1);
    /// // What has nothing to do with storage is kept.
    /// assert_eq!(pod.spec.unknown.get("containers").unwrap()[0]["name"], "web");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct PodSpec("a Pod's spec") {
        /// The volumes of the pod.
        volumes: Option<Vec<PodVolume>> = "volumes",
        /// The node that the pod was assigned to.
        node_name: Option<String> = "nodeName",
        /// Labels that the node must have.
        node_selector: Option<BTreeMap<String, String>> = "nodeSelector",
        /// Further wishes about nodes and neighbours.
        affinity: Option<Affinity> = "affinity",
    }
}

object! {
    /// Wishes about nodes and neighbours.
    ///
    /// ```
    /// use pvbind::api::Affinity;
    /// let affinity: Affinity = serde_json::from_value(serde_json::json!({
    ///     "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}))?;
    /// assert!(affinity.node_affinity.is_none()); // no wish about nodes
    /// assert!(affinity.unknown.get("podAntiAffinity").is_some()); // neighbours: kept, not looked at
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Affinity("a pod's affinity") {
        /// Wishes about nodes.
        node_affinity: Option<PodNodeAffinity> = "nodeAffinity",
    }
}

object! {
    /// Wishes of a pod about nodes.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::PodNodeAffinity;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let affinity: PodNodeAffinity = serde_json::from_value(serde_json::json!({
    ///     "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    ///         {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}))?;
    /// let required = affinity.required_during_scheduling_ignored_during_execution.unwrap();
    /// let selector = CompiledNodeSelector::compile(&required);
    /// assert_eq!(selector.matches(&BTreeMap::from([("zone", "b")]), Some("node-b")), Ok(false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PodNodeAffinity("a pod's node affinity") {
        /// What a node must satisfy for the pod to be scheduled there.
        required_during_scheduling_ignored_during_execution: Option<NodeSelector> = "requiredDuringSchedulingIgnoredDuringExecution",
        /// What a node should satisfy.
        preferred_during_scheduling_ignored_during_execution: Option<Vec<Value>> = "preferredDuringSchedulingIgnoredDuringExecution",
    }
}

object! {
    /// A volume of a pod. Kinds other than claims stand among the unknown
    /// fields.
    ///
    /// ```
    /// use pvbind::api::PodVolume;
    /// let volume: PodVolume =
    ///     serde_json::from_str(r#"{"name": "data", "persistentVolumeClaim": {"claimName": "shop-data"}}"#)?;
    /// assert_eq!(volume.persistent_volume_claim.unwrap().claim_name.as_deref(), Some("shop-data"));
    /// let config: PodVolume = serde_json::from_str(r#"{"name": "config", "configMap": {"name": "web"}}"#)?;
    /// assert!(config.persistent_volume_claim.is_none() && config.ephemeral.is_none());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct PodVolume("a volume of a Pod") {
        /// The name by which containers mount it.
        name: Option<String> = "name",
        /// A claim of the pod's namespace.
        persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource> = "persistentVolumeClaim",
        /// A claim that is made for the pod and goes with it.
        ephemeral: Option<EphemeralVolumeSource> = "ephemeral",
    }
}

object! {
    /// A claim as a volume of a pod.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaimVolumeSource;
    /// let source: PersistentVolumeClaimVolumeSource =
    ///     serde_json::from_value(serde_json::json!({"claimName": "shop-data", "readOnly": true}))?;
    /// // A name without namespace: the claim is in the pod's own.
    /// assert_eq!(source.claim_name.as_deref(), Some("shop-data"));
    /// // It mounts read-only; which access modes the claim asks for is another matter.
    /// assert_eq!(source.read_only, Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PersistentVolumeClaimVolumeSource("a claim as a volume of a Pod") {
        /// The claim's name.
        claim_name: Option<String> = "claimName",
        /// Whether the pod only reads.
        read_only: Option<bool> = "readOnly",
    }
}

object! {
    /// A claim that is made for a pod and goes with it.
    ///
    /// ```
    /// use pvbind::api::{EphemeralVolumeSource, ephemeral_claim_name};
    /// let scratch: EphemeralVolumeSource = serde_json::from_value(serde_json::json!({
    ///     "volumeClaimTemplate": {"metadata": {"labels": {"app": "web"}},
    ///         "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}}))?;
    /// let template = scratch.volume_claim_template.unwrap();
    /// assert_eq!(template.spec.storage_class_name.as_deref(), Some("fast"));
    /// // The template gives the claim no name: pod and volume do.
    /// assert_eq!(template.metadata.name(), "");
    /// assert_eq!(ephemeral_claim_name("web", "scratch"), "web-scratch");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct EphemeralVolumeSource("an ephemeral volume") {
        /// The claim to be made.
        volume_claim_template: Option<PersistentVolumeClaimTemplate> = "volumeClaimTemplate",
    }
}

object! {
    /// How far a pod has come.
    ///
    /// ```
    /// use pvbind::api::{PodPhase, PodStatus};
    /// let status: PodStatus =
    ///     serde_json::from_value(serde_json::json!({"phase": "Running", "podIP": "10.0.0.7"}))?;
    /// assert_eq!(status.phase, Some(PodPhase::Running));
    /// // Absent in a manifest, and then the pod is not finished.
    /// assert_eq!(PodStatus::default().phase, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PodStatus("a Pod's status") {
        /// The phase.
        phase: Option<PodPhase> = "phase",
    }
}

open_enum! {
    /// The phase of a pod.
    ///
    /// ```
    /// use pvbind::api::{Pod, PodPhase};
    /// let pod: Pod = serde_json::from_str(r#"{"status": {"phase": "Succeeded"}}"#)?;
    /// assert_eq!(pod.status.phase, Some(PodPhase::Succeeded));
    /// assert!(pod.is_finished());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub enum PodPhase {
        /// Not running yet.
        Pending = "Pending",
        /// Running.
        Running = "Running",
        /// Finished well.
        Succeeded = "Succeeded",
        /// Finished badly.
        Failed = "Failed",
        /// Nothing is heard from its node.
        Unknown = "Unknown",
    }
}

/// A claim that a pod uses: see [`Pod::claims`].
///
/// ```
/// use pvbind::api::Pod;
/// let pod: Pod = serde_json::from_str(
///     r#"{"metadata": {"name": "web"}, "spec": {"volumes": [{"name": "scratch", "ephemeral": {}}]}}"#)?;
/// let used = pod.claims().next().unwrap();
/// assert_eq!((used.volume, used.claim.as_ref()), ("scratch", "web-scratch"));
/// assert!(used.is_ephemeral);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodVolumeClaim<'a> {
    /// The name of the pod's volume.
    pub volume: &'a str,
    /// The name of the claim, in the pod's namespace.
    pub claim: std::borrow::Cow<'a, str>,
    /// Whether the claim is made for the pod, and so must be owned by it.
    pub is_ephemeral: bool,
}

/// The name of the claim for an ephemeral volume: `POD-VOLUME`.
///
/// Two different pairs can give the same name (`a-b` with `c`, `a` with
/// `b-c`); the claim's owner tells whose it is, see [`Pod::owns`].
///
/// Follows `ephemeral.VolumeClaimName` of Kubernetes 1.36.
///
/// ```
/// use pvbind::api::ephemeral_claim_name;
/// assert_eq!(ephemeral_claim_name("web", "scratch"), "web-scratch");
/// // So two pods can mean one claim, and only one of them can own it.
/// assert_eq!(ephemeral_claim_name("web-a", "b"), ephemeral_claim_name("web", "a-b"));
/// ```
pub fn ephemeral_claim_name(pod: &str, volume: &str) -> String {
    format!("{pod}-{volume}")
}

impl Pod {
    /// The pod's name.
    ///
    /// ```
    /// use pvbind::api::{Pod, ephemeral_claim_name};
    /// let pod: Pod = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"namespace": "shop", "name": "web-0"}}))?;
    /// assert_eq!(pod.name(), "web-0");
    /// assert_eq!(ephemeral_claim_name(pod.name(), "scratch"), "web-0-scratch");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    /// The pod's namespace, "" if absent. The claims that it names are there too.
    ///
    /// ```
    /// use pvbind::api::{ClaimKey, Pod};
    /// let pod: Pod = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"namespace": "shop", "name": "web-0"}}))?;
    /// assert_eq!(ClaimKey::new(pod.namespace(), "data").to_string(), "shop/data");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn namespace(&self) -> &str {
        self.metadata.namespace()
    }

    /// `NAMESPACE/NAME`, for messages; just the name if there is no namespace.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// let pod: Pod = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"namespace": "shop", "name": "web-0"}}))?;
    /// assert_eq!(pod.key(), "shop/web-0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(&self) -> String {
        self.metadata.key()
    }

    /// The node that the pod was assigned to, "" if none yet.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// use serde_json::{from_value, json};
    /// let running: Pod = from_value(json!({"spec": {"nodeName": "node-a"}}))?;
    /// assert_eq!(running.node_name(), "node-a");
    /// // A wish for a node is no node yet.
    /// let waiting: Pod = from_value(json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": "node-a"}}}))?;
    /// assert_eq!(waiting.node_name(), "");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn node_name(&self) -> &str {
        self.spec.node_name.as_deref().unwrap_or_default()
    }

    /// The claims that the pod uses, in the order of its volumes, ephemeral
    /// volumes included. A claim that two volumes name comes twice.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// let pod: Pod = serde_json::from_str(
    ///     r#"{"metadata": {"name": "web"}, "spec": {"volumes": [
    ///         {"name": "data", "persistentVolumeClaim": {"claimName": "shop-data"}},
    ///         {"name": "config", "configMap": {"name": "web"}},
    ///         {"name": "scratch", "ephemeral": {}}]}}"#,
    /// )?;
    /// let names: Vec<_> = pod.claims().map(|used| used.claim).collect();
    /// assert_eq!(names, ["shop-data", "web-scratch"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn claims(&self) -> impl Iterator<Item = PodVolumeClaim<'_>> {
        self.spec.volumes.iter().flatten().filter_map(|volume| {
            let name = volume.name.as_deref().unwrap_or_default();
            if let Some(source) = &volume.persistent_volume_claim {
                Some(PodVolumeClaim {
                    volume: name,
                    claim: source.claim_name.as_deref().unwrap_or_default().into(),
                    is_ephemeral: false,
                })
            } else {
                volume.ephemeral.as_ref().map(|_| PodVolumeClaim {
                    volume: name,
                    claim: ephemeral_claim_name(self.name(), name).into(),
                    is_ephemeral: true,
                })
            }
        })
    }

    /// Whether the pod uses a claim of its namespace.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// let pod: Pod = serde_json::from_str(
    ///     r#"{"metadata": {"name": "web"}, "spec": {"volumes": [{"name": "scratch", "ephemeral": {}}]}}"#)?;
    /// assert!(pod.uses_claim("web-scratch"));
    /// assert!(!pod.uses_claim("scratch"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn uses_claim(&self, claim: &str) -> bool {
        self.claims().any(|used| used.claim == claim)
    }

    /// Whether the pod owns the claim: the claim's controller reference has the
    /// pod's uid, and both are in one namespace.
    ///
    /// Follows `ephemeral.VolumeIsForPod` of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolumeClaim, Pod};
    /// let pod = |uid: &str| -> Pod {
    ///     serde_json::from_value(serde_json::json!({"metadata": {"name": "web", "uid": uid}})).unwrap()
    /// };
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"name": "web-scratch", "ownerReferences": [
    ///         {"kind": "Pod", "name": "web", "uid": "u-1", "controller": true}]}}"#)?;
    /// assert!(pod("u-1").owns(&claim));
    /// // A pod made anew under the name gets a claim of its own.
    /// assert!(!pod("u-2").owns(&claim));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn owns(&self, claim: &PersistentVolumeClaim) -> bool {
        self.metadata.namespace() == claim.metadata.namespace()
            && claim
                .metadata
                .controller()
                .is_some_and(|owner| owner.uid() == self.metadata.uid())
    }

    /// Whether the pod has finished, well or badly.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// let pod = |phase: &str| -> Pod {
    ///     serde_json::from_value(serde_json::json!({"status": {"phase": phase}})).unwrap()
    /// };
    /// assert!(pod("Failed").is_finished());
    /// assert!(!pod("Unknown").is_finished());
    /// ```
    pub fn is_finished(&self) -> bool {
        matches!(
            self.status.phase,
            Some(PodPhase::Succeeded | PodPhase::Failed)
        )
    }
}
