//! The claims of a pod, split by how they are bound.

use std::sync::Arc;

use crate::api::{ClaimKey, PersistentVolumeClaim, Pod, PodVolumeClaim, VolumeBindingMode};
use crate::view::ClusterView;

/// The claims of a pod, each list in the order of the pod's volumes.
///
/// A claim that two of the pod's volumes name stands twice, as it does
/// upstream.
///
/// ```
/// use pvbind::api::{Pod, read_objects};
/// use pvbind::scheduling::PodClaims;
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "old",
///          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv-1"}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "new"}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(r#"{"spec": {"volumes": [
///     {"persistentVolumeClaim": {"claimName": "new"}},
///     {"persistentVolumeClaim": {"claimName": "old"}}]}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// assert_eq!(claims.bound[0].name(), "old");
/// // Without a class nobody waits for the pod: the controller must bind it first.
/// assert_eq!(claims.immediate[0].name(), "new");
/// assert!(!claims.all_bound());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodClaims {
    /// Those that have a volume, and are marked as bound.
    pub bound: Vec<Arc<PersistentVolumeClaim>>,
    /// Those that wait for the pod to be scheduled.
    pub delayed: Vec<Arc<PersistentVolumeClaim>>,
    /// Those that must be bound before the pod can be scheduled.
    pub immediate: Vec<Arc<PersistentVolumeClaim>>,
}

/// Why the claims of a pod cannot be split. `Display` is upstream's text.
///
/// ```
/// use pvbind::api::Pod;
/// use pvbind::scheduling::{PodClaims, SplitError};
/// use pvbind::view::Snapshot;
/// let pod: Pod = serde_json::from_str(
///     r#"{"metadata": {"namespace": "shop"}, "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let error = PodClaims::of(&pod, &Snapshot::new()).unwrap_err();
/// let SplitError::ClaimMissing { claim } = error else { panic!() };
/// assert_eq!(claim.to_string(), "shop/data");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// A claim does not exist.
    #[error("error getting PVC {0:?}: persistentvolumeclaims {0:?} not found", claim.to_string())]
    ClaimMissing {
        /// The claim.
        claim: ClaimKey,
    },
    /// The claim of an ephemeral volume belongs to somebody else.
    #[error("PVC {claim} was not created for pod {pod} (pod is not owner)")]
    NotOwned {
        /// The claim.
        claim: ClaimKey,
        /// The pod, `NAMESPACE/NAME`.
        pod: String,
    },
    /// A class does not say when its claims are bound.
    #[error("VolumeBindingMode not set for StorageClass {class:?}")]
    NoBindingMode {
        /// The class.
        class: String,
    },
}

impl PodClaims {
    /// Splits the claims of a pod. The claim of an ephemeral volume must be
    /// owned by the pod.
    ///
    /// A claim is *bound* if it names a volume and is marked with
    /// `pv.kubernetes.io/bind-completed`. Else it is *delayed* if it names no
    /// volume and its class is WaitForFirstConsumer, and *immediate* if not: so
    /// also if its class is "" or does not exist.
    ///
    /// Follows `GetPodVolumeClaims` of Kubernetes 1.36.
    ///
    /// # Errors
    /// The first that is met in the order of the pod's volumes.
    ///
    /// ```
    /// use pvbind::api::{Pod, read_objects};
    /// use pvbind::scheduling::PodClaims;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "StorageClass", "metadata": {"name": "local"},
    ///      "volumeBindingMode": "WaitForFirstConsumer"}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
    ///      "spec": {"storageClassName": "local"}}"#)?
    /// .into_iter()
    /// .collect();
    /// let mut pod: Pod = serde_json::from_str(r#"{"metadata": {"namespace": "shop"},
    ///     "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
    /// assert_eq!(PodClaims::of(&pod, &snapshot)?.delayed.len(), 1);
    /// pod.metadata.namespace = Some("other".to_owned());
    /// assert_eq!(
    ///     PodClaims::of(&pod, &snapshot).unwrap_err().to_string(),
    ///     r#"error getting PVC "other/data": persistentvolumeclaims "other/data" not found"#,
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(pod: &Pod, view: &(impl ClusterView + ?Sized)) -> Result<Self, SplitError> {
        let mut claims = PodClaims::default();
        for used in pod.claims() {
            let claim = claim_of(pod, &used, view)?;
            if claim.is_fully_bound() {
                claims.bound.push(claim);
            } else if is_delayed(&claim, view)? {
                claims.delayed.push(claim);
            } else {
                claims.immediate.push(claim);
            }
        }
        Ok(claims)
    }

    /// Whether every claim is bound, so that nothing is to be decided.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::scheduling::PodClaims;
    /// let mut claims = PodClaims { bound: vec![Arc::default()], ..PodClaims::default() };
    /// assert!(claims.all_bound());
    /// claims.delayed.push(Arc::default());
    /// assert!(!claims.all_bound());
    /// ```
    pub fn all_bound(&self) -> bool {
        self.delayed.is_empty() && self.immediate.is_empty()
    }

    /// Whether the pod uses no claims. [`all_bound`](Self::all_bound) holds then too.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// use pvbind::scheduling::PodClaims;
    /// use pvbind::view::Snapshot;
    /// let pod: Pod = serde_json::from_value(serde_json::json!({"spec": {"volumes": [
    ///     {"name": "settings", "configMap": {"name": "web"}}, {"name": "scratch", "emptyDir": {}}]}}))?;
    /// let claims = PodClaims::of(&pod, &Snapshot::new())?;
    /// assert!(claims.is_empty() && claims.all_bound());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.bound.is_empty() && self.all_bound()
    }
}

fn claim_of(
    pod: &Pod,
    used: &PodVolumeClaim<'_>,
    view: &(impl ClusterView + ?Sized),
) -> Result<Arc<PersistentVolumeClaim>, SplitError> {
    let namespace = pod.namespace();
    let Some(claim) = view.claim(namespace, &used.claim) else {
        return Err(SplitError::ClaimMissing {
            claim: ClaimKey::new(namespace, &*used.claim),
        });
    };
    if used.is_ephemeral && !pod.owns(&claim) {
        return Err(SplitError::NotOwned {
            claim: ClaimKey::of(&claim),
            pod: pod.key(),
        });
    }
    Ok(claim.into_arc())
}

/// Whether a claim that is not bound waits for its pod.
fn is_delayed(
    claim: &PersistentVolumeClaim,
    view: &(impl ClusterView + ?Sized),
) -> Result<bool, SplitError> {
    let class = match claim.class_name() {
        "" => None,
        name => view.class(name),
    };
    let Some(class) = class else {
        return Ok(false);
    };
    match &class.volume_binding_mode {
        None => Err(SplitError::NoBindingMode {
            class: class.name().to_owned(),
        }),
        Some(mode) => {
            let waits = *mode == VolumeBindingMode::WaitForFirstConsumer;
            Ok(waits && claim.volume_name().is_empty())
        }
    }
}
