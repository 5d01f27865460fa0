//! Whom a volume is for.

use super::Edit;
use crate::api::{ObjectReference, PersistentVolume, PersistentVolumeClaim, names};

/// Binds a volume to a claim: the first edit of a bind.
///
/// If the claimRef is missing or differs from the claim in name, namespace or
/// uid, it becomes a full reference of the claim; so a reservation that lacked
/// only the uid gains the rest too. A volume that was not reserved for the
/// claim is also marked with `pv.kubernetes.io/bound-by-controller`, so that
/// unbinding it can clear the claimRef again. Everything else stays.
///
/// Whether the volume fits the claim, or belongs to another, is not looked at.
///
/// Follows `GetBindVolumeToClaim` of Kubernetes 1.36.
///
/// Cost: at most one copy of the volume.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim, names};
/// use pvbind::binding::{Edit, bind_volume_to_claim};
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#,
/// )?;
/// let open: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// let bound = bind_volume_to_claim(&open, &claim).changed().unwrap();
/// assert!(bound.is_bound_to(&claim));
/// assert!(bound.metadata.has_annotation(names::BOUND_BY_CONTROLLER));
/// assert_eq!(bind_volume_to_claim(&bound, &claim), Edit::Unchanged);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn bind_volume_to_claim(
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Edit<PersistentVolume> {
    let refers = volume.claim_ref().is_some_and(|reference| {
        reference.name() == claim.metadata.name()
            && reference.namespace() == claim.metadata.namespace()
            && reference.uid() == claim.metadata.uid()
    });
    let was_reserved = volume.is_bound_to(claim);
    let marked = was_reserved || volume.metadata.has_annotation(names::BOUND_BY_CONTROLLER);
    if refers && marked {
        return Edit::Unchanged;
    }
    let mut volume = volume.clone();
    if !refers {
        volume.spec.claim_ref = Some(claim_reference(claim));
    }
    if !marked {
        let metadata = &mut volume.metadata;
        metadata.set_annotation(names::BOUND_BY_CONTROLLER, names::YES);
    }
    Edit::Changed(volume)
}

/// Takes a volume from the claim that its claimRef names.
///
/// A claimRef that the controller made goes, and the mark
/// `pv.kubernetes.io/bound-by-controller` with it; of a claimRef that a user
/// made only the uid goes, so that the volume stays reserved.
///
/// Follows `unbindVolume` of Kubernetes 1.36.
///
/// Cost: at most one copy of the volume.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::binding::unbind_volume;
/// let reserved: PersistentVolume = serde_json::from_str(
///     r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#,
/// )?;
/// let unbound = unbind_volume(&reserved).changed().unwrap();
/// assert_eq!(unbound.claim_ref().unwrap().key(), "shop/data");
/// assert_eq!(unbound.claim_ref().unwrap().uid(), "");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn unbind_volume(volume: &PersistentVolume) -> Edit<PersistentVolume> {
    if volume.metadata.has_annotation(names::BOUND_BY_CONTROLLER) {
        let mut volume = volume.clone();
        volume.spec.claim_ref = None;
        let metadata = &mut volume.metadata;
        metadata.remove_annotation(names::BOUND_BY_CONTROLLER);
        return Edit::Changed(volume);
    }
    match volume.claim_ref() {
        Some(reference) if !reference.uid().is_empty() => {
            let mut volume = volume.clone();
            if let Some(reference) = &mut volume.spec.claim_ref {
                reference.uid = None;
            }
            Edit::Changed(volume)
        }
        _ => Edit::Unchanged,
    }
}

/// The volume without a finalizer.
///
/// Cost: at most one copy of the volume.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::binding::{Edit, without_finalizer};
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"metadata": {"finalizers": ["example.com/keep"]}}"#)?;
/// let freed = without_finalizer(&volume, "example.com/keep").changed().unwrap();
/// assert_eq!(without_finalizer(&freed, "example.com/keep"), Edit::Unchanged);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn without_finalizer(volume: &PersistentVolume, finalizer: &str) -> Edit<PersistentVolume> {
    if !volume.metadata.has_finalizer(finalizer) {
        return Edit::Unchanged;
    }
    let mut volume = volume.clone();
    volume.metadata.remove_finalizer(finalizer);
    Edit::Changed(volume)
}

/// The full reference of a claim, as a claimRef holds it.
///
/// Follows `GetReference` of client-go for Kubernetes 1.36.
///
/// Cost: constant.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::binding::claim_reference;
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-1", "resourceVersion": "7"}}"#)?;
/// assert_eq!(
///     serde_json::to_value(claim_reference(&claim))?,
///     serde_json::json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
///         "namespace": "shop", "name": "data", "uid": "u-1", "resourceVersion": "7"}),
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn claim_reference(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference {
        kind: Some("PersistentVolumeClaim".to_owned()),
        api_version: Some("v1".to_owned()),
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        uid: claim.metadata.uid.clone(),
        resource_version: claim.metadata.resource_version.clone(),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn claim() -> PersistentVolumeClaim {
        serde_json::from_value(json!({"metadata": {
            "namespace": "shop", "name": "data", "uid": "u-1", "resourceVersion": "7"}}))
        .unwrap()
    }

    fn volume(value: Value) -> PersistentVolume {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_reservation_gains_the_whole_reference_and_stays_the_users() {
        let reserved = volume(json!({"spec": {"claimRef": {
            "namespace": "shop", "name": "data", "resourceVersion": "1", "fieldPath": "x"}}}));
        let bound = bind_volume_to_claim(&reserved, &claim()).changed().unwrap();
        assert_eq!(bound.claim_ref(), Some(&claim_reference(&claim())));
        assert!(!bound.metadata.has_annotation(names::BOUND_BY_CONTROLLER));
    }

    #[test]
    fn a_claim_ref_that_points_to_the_claim_keeps_its_resource_version() {
        let bound = volume(json!({"spec": {"claimRef": {
            "namespace": "shop", "name": "data", "uid": "u-1", "resourceVersion": "1"}}}));
        assert_eq!(bind_volume_to_claim(&bound, &claim()), Edit::Unchanged);
    }

    #[test]
    fn an_affinity_with_no_terms_stays_and_so_does_what_has_no_name() {
        let affinity = json!({"required": {"nodeSelectorTerms": []}});
        let open = volume(json!({"spec": {"nodeAffinity": affinity, "nfs": {"path": "/x"}}}));
        let bound = bind_volume_to_claim(&open, &claim()).changed().unwrap();
        let written = serde_json::to_value(&bound).unwrap();
        assert_eq!(written["spec"]["nodeAffinity"], affinity);
        assert_eq!(written["spec"]["nfs"], json!({"path": "/x"}));
        assert!(bound.required_node_affinity().is_some());
    }

    #[test]
    fn unbinding_clears_what_the_controller_made_and_only_that() {
        let bound =
            bind_volume_to_claim(&volume(json!({"metadata": {"name": "pv"}})), &claim()).changed();
        let unbound = unbind_volume(&bound.unwrap()).changed().unwrap();
        assert_eq!(unbound.claim_ref(), None);
        assert!(!unbound.metadata.has_annotation(names::BOUND_BY_CONTROLLER));
        assert_eq!(unbind_volume(&unbound), Edit::Unchanged);
    }
}
