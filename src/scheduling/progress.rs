//! How far the binding of a pod's claims has come.

use std::sync::Arc;

use crate::api::{ClaimKey, Node, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod, names};
use crate::plan::FollowUp;
use crate::selector::{CompiledNodeSelector, TermOutcome};
use crate::view::{SchedulingView, is_older_version};

/// What was written for a pod and must now come true.
///
/// It hears from the plan's execution what the API server made of the writes
/// ([`FollowUp`]), so that older objects are told from newer ones.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolumeClaim, Pod};
/// use pvbind::plan::{Execution, Step, Write, Written};
/// use pvbind::scheduling::{Assumptions, DynamicProvision, PendingBind, PodClaims, PodVolumes};
/// let claim: Arc<PersistentVolumeClaim> = serde_json::from_str(
///     r#"{"metadata": {"name": "data", "resourceVersion": "7"}}"#).map(Arc::new)?;
/// let claims = PodClaims { delayed: vec![Arc::clone(&claim)], ..PodClaims::default() };
/// let mut volumes = PodVolumes::default();
/// volumes.dynamic_provisions.push(DynamicProvision { claim, capacity: None });
/// let (_, plan) = Assumptions::new().assume(&Pod::default(), &claims, "node-a", &volumes);
///
/// let mut execution = Execution::new(plan);
/// let Some(Step::Write { write: Write::Claim(change), .. }) = execution.step() else { panic!() };
/// let mut returned = PersistentVolumeClaim::clone(&change.to); // by the API server
/// returned.metadata.resource_version = Some("8".to_owned());
/// execution.answer(Ok(Written::Claim(Arc::new(returned))));
/// // It has heard which version was written, and waits for that one or a later.
/// let pending: PendingBind = execution.finish().end.finished()?;
/// assert_eq!(pending.provisions[0].metadata.resource_version(), "8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PendingBind {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The pod's uid.
    pub uid: String,
    /// The node chosen.
    pub node: String,
    /// The volumes as written, each with the claim that it is bound to.
    pub bindings: Vec<(Arc<PersistentVolume>, ClaimKey)>,
    /// The claims as written, which are to be provisioned.
    pub provisions: Vec<Arc<PersistentVolumeClaim>>,
}

/// How far a bind has come.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{Node, PersistentVolumeClaim, Pod};
/// use pvbind::scheduling::{Assumptions, BindProgress, DynamicProvision, PodClaims, PodVolumes, bind_progress};
/// use pvbind::view::Snapshot;
/// let claim = |text: &str| serde_json::from_str::<PersistentVolumeClaim>(text).map(Arc::new);
/// let data = claim(r#"{"metadata": {"name": "data"}}"#)?;
/// let claims = PodClaims { delayed: vec![Arc::clone(&data)], ..PodClaims::default() };
/// let mut volumes = PodVolumes::default();
/// volumes.dynamic_provisions.push(DynamicProvision { claim: data, capacity: None });
/// let (_assumption, plan) = Assumptions::new().assume(&Pod::default(), &claims, "", &volumes);
/// let pending = plan.verdict; // that of an execution, in truth: see `PendingBind`
///
/// let mut snapshot = Snapshot::new();
/// snapshot.apply(Arc::new(Pod::default()));
/// snapshot.apply(Arc::new(Node::default()));
/// snapshot.apply(claim(r#"{"metadata": {"name": "data",
///     "annotations": {"volume.kubernetes.io/selected-node": ""}}}"#)?);
/// assert_eq!(bind_progress(&pending, &snapshot), BindProgress::Wait);
/// // The provisioner gives up, and takes its node from the claim.
/// snapshot.apply(claim(r#"{"metadata": {"name": "data"}}"#)?);
/// let BindProgress::ScheduleAgain(reason) = bind_progress(&pending, &snapshot) else { panic!() };
/// assert_eq!(reason.to_string(), r#"provisioning failed for PVC "data""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub enum BindProgress {
    /// Every claim is bound: the pod can be bound to its node.
    Bound,
    /// Look again when one of the objects changes.
    Wait,
    /// It will not come true: revert the assumption, and schedule the pod again.
    ScheduleAgain(RescheduleReason),
}

/// Why a pod must be scheduled again. `Display` is upstream's text for
/// [`ClaimRefReset`](RescheduleReason::ClaimRefReset) and
/// [`ProvisioningFailed`](RescheduleReason::ProvisioningFailed).
///
/// ```
/// use pvbind::scheduling::RescheduleReason;
/// let reason = RescheduleReason::NodeGone { node: "node-a".to_owned() };
/// assert_eq!(reason.to_string(), r#"node "node-a" does not exist any more"#);
/// assert_eq!(reason.code(), "node-gone");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RescheduleReason {
    /// The pod is gone, or another of its name has taken its place.
    #[error("pod {pod} does not exist any more")]
    PodGone {
        /// The pod, `NAMESPACE/NAME`.
        pod: String,
    },
    /// The node is gone.
    #[error("node {node:?} does not exist any more")]
    NodeGone {
        /// The node.
        node: String,
    },
    /// A volume is gone.
    #[error("pv {volume:?} does not exist any more")]
    VolumeGone {
        /// The volume.
        volume: String,
    },
    /// A claim is gone.
    #[error("pvc {:?} does not exist any more", claim.to_string())]
    ClaimGone {
        /// The claim.
        claim: ClaimKey,
    },
    /// The node no longer reaches a volume.
    #[error("pv {volume:?} node affinity doesn't match node {node:?}")]
    NodeAffinity {
        /// The volume.
        volume: String,
        /// The node.
        node: String,
        /// What became of each term of the volume's node affinity.
        terms: Vec<TermOutcome<'static>>,
    },
    /// The volume was taken from its claim again.
    #[error("ClaimRef got reset for pv {volume:?}")]
    ClaimRefReset {
        /// The volume.
        volume: String,
    },
    /// The provisioner gave up on the node: it removed the claim's
    /// `selected-node`, or another node stands there.
    #[error("provisioning failed for PVC {:?}", claim.name)]
    ProvisioningFailed {
        /// The claim.
        claim: ClaimKey,
        /// The node that stands there now.
        selected: Option<String>,
    },
}

impl RescheduleReason {
    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::scheduling::RescheduleReason;
    /// /// How long the pod waits before it is scheduled again, in seconds.
    /// fn wait(reason: &RescheduleReason) -> u32 {
    ///     match reason.code() {
    ///         "provisioning-failed" => 60, // the backend may be full for a while
    ///         _ => 0,
    ///     }
    /// }
    /// let reason = RescheduleReason::ClaimRefReset { volume: "pv-1".to_owned() };
    /// assert_eq!((reason.code(), wait(&reason)), ("claim-ref-reset", 0));
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            RescheduleReason::PodGone { .. } => "pod-gone",
            RescheduleReason::NodeGone { .. } => "node-gone",
            RescheduleReason::VolumeGone { .. } => "volume-gone",
            RescheduleReason::ClaimGone { .. } => "claim-gone",
            RescheduleReason::NodeAffinity { .. } => "node-affinity",
            RescheduleReason::ClaimRefReset { .. } => "claim-ref-reset",
            RescheduleReason::ProvisioningFailed { .. } => "provisioning-failed",
        }
    }
}

impl PendingBind {
    pub(super) fn new(pod: &Pod, node: &str) -> Self {
        PendingBind {
            namespace: pod.namespace().to_owned(),
            pod: pod.name().to_owned(),
            uid: pod.metadata.uid().to_owned(),
            node: node.to_owned(),
            bindings: Vec::new(),
            provisions: Vec::new(),
        }
    }

    pub(super) fn add_binding(
        &mut self,
        volume: &Arc<PersistentVolume>,
        claim: &PersistentVolumeClaim,
    ) {
        let binding = (Arc::clone(volume), ClaimKey::of(claim));
        self.bindings.push(binding);
    }

    pub(super) fn add_provision(&mut self, claim: &Arc<PersistentVolumeClaim>) {
        self.provisions.push(Arc::clone(claim));
    }

    /// Whether nothing has to come true: the pod can be bound to its node at once.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::Pod;
    /// use pvbind::scheduling::{Assumptions, DynamicProvision, PodClaims, PodVolumes};
    /// # let pod = Pod::default();
    /// # let mut assumptions = Assumptions::new();
    /// let mut pending = |claims: &PodClaims, found: &PodVolumes| {
    ///     let (_assumption, plan) = assumptions.assume(&pod, claims, "node-a", found);
    ///     plan.verdict
    /// };
    /// // Every claim has its volume:
    /// let claims = PodClaims { bound: vec![Arc::default()], ..PodClaims::default() };
    /// assert!(pending(&claims, &PodVolumes::default()).is_empty());
    /// // One is to be provisioned:
    /// let claims = PodClaims { delayed: vec![Arc::default()], ..claims };
    /// let mut found = PodVolumes::default();
    /// found.dynamic_provisions.push(DynamicProvision { claim: Arc::default(), capacity: None });
    /// assert!(!pending(&claims, &found).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty() && self.provisions.is_empty()
    }
}

impl FollowUp for PendingBind {
    fn claim_written(&mut self, claim: &PersistentVolumeClaim) {
        for written in &mut self.provisions {
            if ClaimKey::of(written) == ClaimKey::of(claim) {
                *written = Arc::new(claim.clone());
            }
        }
    }

    fn volume_written(&mut self, volume: &PersistentVolume) {
        for (written, _) in &mut self.bindings {
            if written.name() == volume.name() {
                *written = Arc::new(volume.clone());
            }
        }
    }
}

/// How far the binding of a pod's claims has come, by what the cluster has now:
/// the view without assumed objects.
///
/// An object older than the one written is waited for, not judged.
///
/// Follows `checkBindings` of Kubernetes 1.36.
///
/// # Differences
/// - A claim that is not bound yet does not hide a failure of a later one, so
///   that the pod is scheduled again sooner.
/// - The node's CSI migration of in-tree volumes is not looked at.
///
/// Cost: look-ups of pod, node, and each claim and volume of the pod; a volume's
/// node affinity is compiled.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{ClaimKey, Node, PersistentVolume, Pod};
/// use pvbind::scheduling::{BindProgress, PendingBind, bind_progress};
/// use pvbind::view::Snapshot;
/// let mut snapshot = Snapshot::new();
/// snapshot.apply(Arc::new(Pod::default()));
/// snapshot.apply(Arc::new(Node::default()));
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// let volume = Arc::new(volume);
/// snapshot.apply(Arc::clone(&volume));
/// let pending = PendingBind {
///     namespace: String::new(),
///     pod: String::new(),
///     uid: String::new(),
///     node: String::new(),
///     bindings: vec![(volume, ClaimKey::new("", "data"))],
///     provisions: Vec::new(),
/// };
/// let BindProgress::ScheduleAgain(reason) = bind_progress(&pending, &snapshot) else { panic!() };
/// assert_eq!(reason.to_string(), r#"ClaimRef got reset for pv "pv-1""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn bind_progress<V: SchedulingView + ?Sized>(pending: &PendingBind, view: &V) -> BindProgress {
    match progress(pending, view) {
        Ok(true) => BindProgress::Bound,
        Ok(false) => BindProgress::Wait,
        Err(reason) => BindProgress::ScheduleAgain(reason),
    }
}

/// Whether everything is bound.
fn progress<V: SchedulingView + ?Sized>(
    pending: &PendingBind,
    view: &V,
) -> Result<bool, RescheduleReason> {
    let pod = view.pod(&pending.namespace, &pending.pod);
    if pod.is_none_or(|pod| pod.metadata.uid() != pending.uid) {
        return Err(RescheduleReason::PodGone {
            pod: format!("{}/{}", pending.namespace, pending.pod),
        });
    }
    let Some(node) = view.node(&pending.node) else {
        return Err(RescheduleReason::NodeGone {
            node: pending.node.clone(),
        });
    };
    let mut all_bound = true;
    for (written, claim) in &pending.bindings {
        all_bound &= is_volume_bound(written, claim, &node, view)?;
    }
    for written in &pending.provisions {
        all_bound &= is_provisioned(written, &node, pending, view)?;
    }
    Ok(all_bound)
}

fn is_volume_bound<V: SchedulingView + ?Sized>(
    written: &PersistentVolume,
    claim: &ClaimKey,
    node: &Node,
    view: &V,
) -> Result<bool, RescheduleReason> {
    let Some(volume) = view.volume(written.name()) else {
        return Err(RescheduleReason::VolumeGone {
            volume: written.name().to_owned(),
        });
    };
    if is_older(&volume.metadata, &written.metadata) {
        return Ok(false);
    }
    check_reachable(&volume, node)?;
    let is_reset = volume
        .claim_ref()
        .is_none_or(|reference| reference.uid().is_empty());
    if is_reset {
        return Err(RescheduleReason::ClaimRefReset {
            volume: volume.name().to_owned(),
        });
    }
    match view.claim(&claim.namespace, &claim.name) {
        Some(claim) => Ok(claim.is_fully_bound()),
        None => Err(RescheduleReason::ClaimGone {
            claim: claim.clone(),
        }),
    }
}

fn is_provisioned<V: SchedulingView + ?Sized>(
    written: &PersistentVolumeClaim,
    node: &Node,
    pending: &PendingBind,
    view: &V,
) -> Result<bool, RescheduleReason> {
    let key = ClaimKey::of(written);
    let Some(claim) = view.claim(&key.namespace, &key.name) else {
        return Err(RescheduleReason::ClaimGone { claim: key });
    };
    if is_older(&claim.metadata, &written.metadata) {
        return Ok(false);
    }
    let selected = claim.metadata.annotation(names::SELECTED_NODE);
    if selected != Some(pending.node.as_str()) {
        return Err(RescheduleReason::ProvisioningFailed {
            claim: key,
            selected: selected.map(str::to_owned),
        });
    }
    if !claim.volume_name().is_empty() {
        // The claim can be heard of before its new volume.
        let Some(volume) = view.volume(claim.volume_name()) else {
            return Ok(false);
        };
        check_reachable(&volume, node)?;
    }
    Ok(claim.is_fully_bound())
}

/// Whether the cluster's object is older than the one written.
fn is_older(seen: &ObjectMeta, written: &ObjectMeta) -> bool {
    is_older_version(seen.resource_version(), written.resource_version())
}

fn check_reachable(volume: &PersistentVolume, node: &Node) -> Result<(), RescheduleReason> {
    let Some(required) = volume.required_node_affinity() else {
        return Ok(());
    };
    let affinity = CompiledNodeSelector::compile(required);
    let labels = node.metadata.labels();
    if affinity.matches(labels, None) == Ok(true) {
        return Ok(());
    }
    let terms = affinity.explain(labels, None).into_iter();
    Err(RescheduleReason::NodeAffinity {
        volume: volume.name().to_owned(),
        node: node.name().to_owned(),
        terms: terms.map(TermOutcome::into_owned).collect(),
    })
}

#[cfg(test)]
mod tests;
