//! What is checked once for a pod, before any node is looked at.

use super::{PodClaims, SplitError};
use crate::api::{ClaimKey, ClaimPhase, PersistentVolumeClaim, Pod, PodVolumeClaim};
use crate::view::ClusterView;

/// Why a claim keeps its pod from being scheduled anywhere. `Display` is
/// upstream's text.
///
/// ```
/// use pvbind::api::{Pod, read_objects};
/// use pvbind::scheduling::{ClaimNotReady, check_pod_claims};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(
///     r#"{"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "status": {"phase": "Lost"},
///         "spec": {"volumeName": "pv-1"}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let error = check_pod_claims(&pod, &snapshot).unwrap_err();
/// assert!(matches!(error, ClaimNotReady::Lost { .. }));
/// assert_eq!(
///     error.to_string(),
///     r#"persistentvolumeclaim "data" bound to non-existent persistentvolume "pv-1""#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimNotReady {
    /// The claim does not exist.
    #[error("persistentvolumeclaim {claim:?} not found")]
    Missing {
        /// The claim's name.
        claim: String,
    },
    /// The claim of an ephemeral volume does not exist yet.
    #[error(
        "waiting for ephemeral volume controller to create the persistentvolumeclaim {claim:?}"
    )]
    NotCreatedYet {
        /// The claim's name.
        claim: String,
    },
    /// The claim has lost its volume.
    #[error("persistentvolumeclaim {claim:?} bound to non-existent persistentvolume {volume:?}")]
    Lost {
        /// The claim's name.
        claim: String,
        /// The volume that it names, possibly empty.
        volume: String,
    },
    /// Somebody asked for the claim's deletion.
    #[error("persistentvolumeclaim {claim:?} is being deleted")]
    BeingDeleted {
        /// The claim's name.
        claim: String,
    },
    /// The claim of an ephemeral volume belongs to somebody else.
    #[error("PVC {claim} was not created for pod {pod} (pod is not owner)")]
    NotOwned {
        /// The claim.
        claim: ClaimKey,
        /// The pod, `NAMESPACE/NAME`.
        pod: String,
    },
}

/// Why a pod cannot be scheduled on any node. `Display` is upstream's text.
///
/// ```
/// use pvbind::api::{Pod, read_objects};
/// use pvbind::scheduling::{PreFilterRefusal, pre_filter};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot =
///     read_objects(r#"{"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}"#)?
///         .into_iter()
///         .collect();
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let refusal = pre_filter(&pod, &snapshot).unwrap_err();
/// assert_eq!(refusal.to_string(), "pod has unbound immediate PersistentVolumeClaims");
/// // Upstream does not say which; here the refusal knows.
/// let PreFilterRefusal::UnboundImmediate { claims } = refusal else { panic!() };
/// assert_eq!(claims[0].name, "data");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PreFilterRefusal {
    /// A claim is missing, lost, being deleted or another pod's.
    #[error(transparent)]
    NotReady(#[from] ClaimNotReady),
    /// The claims cannot be split.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// Some claims must be bound first.
    #[error("pod has unbound immediate PersistentVolumeClaims")]
    UnboundImmediate {
        /// Those claims, in the order of the pod's volumes.
        claims: Vec<ClaimKey>,
    },
}

/// All that is checked before any node is looked at, and the pod's claims.
/// Without claims the pod needs no search.
///
/// Follows `PreFilter` of the volume binding plug-in of Kubernetes 1.36.
///
/// # Errors
/// The pod cannot be scheduled now, on whatever node.
///
/// Cost: look-ups of each claim of the pod, and of its class.
///
/// ```
/// use pvbind::api::Pod;
/// use pvbind::scheduling::pre_filter;
/// use pvbind::view::Snapshot;
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#,
/// )?;
/// assert_eq!(
///     pre_filter(&pod, &Snapshot::new()).unwrap_err().to_string(),
///     r#"persistentvolumeclaim "data" not found"#,
/// );
/// assert!(pre_filter(&Pod::default(), &Snapshot::new()).unwrap().is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn pre_filter(
    pod: &Pod,
    view: &(impl ClusterView + ?Sized),
) -> Result<PodClaims, PreFilterRefusal> {
    check_pod_claims(pod, view)?;
    let claims = PodClaims::of(pod, view)?;
    if !claims.immediate.is_empty() {
        let immediate = claims.immediate.iter();
        return Err(PreFilterRefusal::UnboundImmediate {
            claims: immediate.map(|claim| ClaimKey::of(claim)).collect(),
        });
    }
    Ok(claims)
}

/// Each claim of the pod exists, is not lost, is not being deleted and, for an
/// ephemeral volume, is owned by the pod.
///
/// Follows `podHasPVCs` of Kubernetes 1.36, whose other result is whether
/// [`Pod::claims`] has any.
///
/// # Errors
/// The first that is met in the order of the pod's volumes.
///
/// Cost: one look-up for each claim of the pod.
///
/// ```
/// use pvbind::api::{Pod, read_objects};
/// use pvbind::scheduling::check_pod_claims;
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(
///     r#"{"kind": "PersistentVolumeClaim", "metadata": {"name": "web-scratch"}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(
///     r#"{"metadata": {"name": "web", "uid": "u-1"}, "spec": {"volumes": [{"name": "scratch", "ephemeral": {}}]}}"#)?;
/// // Somebody's claim happens to have the name that the pod's own would have.
/// assert_eq!(
///     check_pod_claims(&pod, &snapshot).unwrap_err().to_string(),
///     "PVC /web-scratch was not created for pod web (pod is not owner)",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_pod_claims(
    pod: &Pod,
    view: &(impl ClusterView + ?Sized),
) -> Result<(), ClaimNotReady> {
    for used in pod.claims() {
        let claim = view.claim(pod.namespace(), &used.claim);
        check_claim(pod, &used, claim.as_deref())?;
    }
    Ok(())
}

fn check_claim(
    pod: &Pod,
    used: &PodVolumeClaim<'_>,
    claim: Option<&PersistentVolumeClaim>,
) -> Result<(), ClaimNotReady> {
    let name = used.claim.clone().into_owned();
    let Some(claim) = claim else {
        return Err(if used.is_ephemeral {
            ClaimNotReady::NotCreatedYet { claim: name }
        } else {
            ClaimNotReady::Missing { claim: name }
        });
    };
    if claim.status.phase == Some(ClaimPhase::Lost) {
        return Err(ClaimNotReady::Lost {
            claim: name,
            volume: claim.volume_name().to_owned(),
        });
    }
    if claim.metadata.is_being_deleted() {
        return Err(ClaimNotReady::BeingDeleted { claim: name });
    }
    if used.is_ephemeral && !pod.owns(claim) {
        return Err(ClaimNotReady::NotOwned {
            claim: ClaimKey::of(claim),
            pod: pod.key(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::read_objects;
    use crate::view::Snapshot;

    #[test]
    fn unbound_immediate_claims_come_after_what_is_wrong_with_a_claim() {
        let snapshot: Snapshot = read_objects(
            r#"
            {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "a"}}
            {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "b"}}"#,
        )
        .unwrap()
        .into_iter()
        .collect();
        let pod = |claims: &[&str]| -> Pod {
            let volumes: Vec<_> = claims
                .iter()
                .map(|claim| serde_json::json!({"persistentVolumeClaim": {"claimName": claim}}))
                .collect();
            serde_json::from_value(serde_json::json!({
                "metadata": {"namespace": "shop"}, "spec": {"volumes": volumes}}))
            .unwrap()
        };
        let refused = pre_filter(&pod(&["a", "b"]), &snapshot).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "pod has unbound immediate PersistentVolumeClaims"
        );
        let claims = ["a", "b"].map(|name| ClaimKey::new("shop", name)).to_vec();
        assert_eq!(refused, PreFilterRefusal::UnboundImmediate { claims });
        let refused = pre_filter(&pod(&["a", "gone"]), &snapshot).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "persistentvolumeclaim \"gone\" not found"
        );
    }
}
