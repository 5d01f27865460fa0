//! The sync of a volume.

use std::sync::Arc;

use super::Config;
use super::bind::unbind;
use super::draft::Draft;
use super::finalizers::migrate_volume;
use super::migration::volume_provisioner;
use super::reclaim::release_and_reclaim;
use crate::api::{
    ClaimKey, ObjectReference, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeReclaimPolicy as Policy,
};
use crate::binding::{VolumeState, mark_volume_available, mark_volume_bound};
use crate::plan::{Event, EventReason, OnFailure, Plan, Step, SyncError, Verdict, WriteContext};
use crate::view::{ClusterView, Held};

/// What the API server said about a claim when it was asked.
///
/// Only an answer is evidence. A read that failed, or timed out, says nothing
/// about the claim: taking it for "there is none" would release the volume.
///
/// ```
/// use pvbind::api::{ClaimKey, PersistentVolume};
/// use pvbind::controller::{ClaimEvidence, Config, sync_volume};
/// use pvbind::plan::Verdict;
/// use pvbind::view::Snapshot;
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
///     "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}))?;
/// let asked = ClaimKey::new("shop", "data");
/// let sync = |key: ClaimKey| {
///     let evidence = ClaimEvidence { key, claim: None };
///     sync_volume(&Config::default(), &Snapshot::new(), &volume, Some(&evidence))
/// };
/// assert!(sync(asked.clone()).has_writes());
/// // That another claim is gone proves nothing.
/// let plan = sync(ClaimKey::new("shop", "other"));
/// assert!(plan.is_empty());
/// assert_eq!(plan.verdict, Verdict::AskApiServer(asked));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimEvidence {
    /// The claim that was asked about.
    pub key: ClaimKey,
    /// The claim; `None` only if the API server answered that there is none
    /// (404 with the reason `NotFound`: see
    /// [`ApiErrorKind::of_status`](crate::plan::ApiErrorKind::of_status)). A claim of another name makes the evidence count for
    /// nothing.
    pub claim: Option<Arc<PersistentVolumeClaim>>,
}

/// Decides what to do about a volume: call it available or bound, release and
/// reclaim it, take it from a claim that has another, or have its claim synced.
///
/// Call it when the volume was added or changed, when the claim that its
/// claimRef names was deleted, and for every volume from time to time (upstream:
/// every 15 seconds by default).
///
/// **Evidence.** A cache may be out of date, and a release loses data. So as
/// long as the claim that the volume names is missing in the view, or is another
/// one of the same name, the answer is an empty plan with
/// [`Verdict::AskApiServer`]; read the claim from the API server, and call again
/// with what it said. Only a volume that is Released or Failed already is
/// believed to be without its claim. Evidence about any claim but the one that
/// is asked about counts for nothing.
///
/// Follows `syncVolume` of Kubernetes 1.36.
///
/// # Differences
/// Upstream writes migration annotation and finalizers before it asks the API
/// server about the claim; here nothing is written before.
///
/// # Cost
/// A settled volume costs a look-up of its claim, and no allocation.
///
/// ```
/// use pvbind::api::{ClaimKey, PersistentVolume};
/// use pvbind::controller::{ClaimEvidence, Config, sync_volume};
/// use pvbind::plan::Verdict;
/// use pvbind::view::Snapshot;
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"metadata": {"name": "pv-1"}, "status": {"phase": "Bound"}, "spec": {
///         "persistentVolumeReclaimPolicy": "Retain",
///         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#,
/// )?;
/// let (config, view) = (Config::default(), Snapshot::new());
/// let plan = sync_volume(&config, &view, &volume, None);
/// let key = ClaimKey::new("shop", "data");
/// assert_eq!(plan.verdict, Verdict::AskApiServer(key.clone()));
/// assert!(plan.is_empty());
///
/// let gone = ClaimEvidence { key, claim: None };
/// let plan = sync_volume(&config, &view, &volume, Some(&gone));
/// assert_eq!(plan.verdict, Verdict::Settled);
/// assert_eq!(plan.steps.len(), 1); // status: phase Released
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn sync_volume<'a, V: ClusterView + ?Sized>(
    config: &'a Config,
    view: &'a V,
    volume: impl Into<Held<'a, PersistentVolume>>,
    evidence: Option<&'a ClaimEvidence>,
) -> Plan {
    let volume = volume.into();
    let holder = match holder(view, &volume, evidence) {
        Ok(holder) => holder,
        Err(Unsure(key)) => return Plan::empty(Verdict::AskApiServer(key)),
    };
    let mut draft = Draft::of_sync();
    let edit = migrate_volume(config, &volume);
    let on_failure = OnFailure::Stop(WriteContext::VolumeMigration);
    let volume = draft.volume_or(on_failure, volume, edit);
    let result = match holder {
        Holder::Nobody => be_available(&mut draft, volume),
        Holder::Gone => release_and_reclaim(&mut draft, volume),
        Holder::Claim(claim) => follow_claim(&mut draft, volume, &claim),
    };
    draft.end(result)
}

/// Who holds a volume.
enum Holder<'a> {
    /// No claim; at most it is reserved for one.
    Nobody,
    /// A claim that is no more.
    Gone,
    /// This claim.
    Claim(Held<'a, PersistentVolumeClaim>),
}

/// The view alone is not enough to say who holds a volume.
struct Unsure(ClaimKey);

fn holder<'a, V: ClusterView + ?Sized>(
    view: &'a V,
    volume: &PersistentVolume,
    evidence: Option<&'a ClaimEvidence>,
) -> Result<Holder<'a>, Unsure> {
    let Some(reference) = volume.claim_ref() else {
        return Ok(Holder::Nobody);
    };
    if reference.uid().is_empty() {
        return Ok(Holder::Nobody);
    }
    let is_meant = |claim: &PersistentVolumeClaim| claim.metadata.uid() == reference.uid();
    match view.claim(reference.namespace(), reference.name()) {
        Some(claim) if is_meant(&claim) => return Ok(Holder::Claim(claim)),
        None if was_released(volume) => return Ok(Holder::Gone),
        _ => {}
    }
    let evidence = evidence
        .filter(|evidence| speaks_of(evidence, reference))
        .ok_or_else(|| Unsure(ClaimKey::referred(reference)))?;
    Ok(match &evidence.claim {
        Some(claim) if is_meant(claim) => Holder::Claim(Held::Lent(claim)),
        _ => Holder::Gone,
    })
}

fn was_released(volume: &PersistentVolume) -> bool {
    matches!(
        VolumeState::of(volume),
        VolumeState::Released | VolumeState::Failed
    )
}

fn speaks_of(evidence: &ClaimEvidence, reference: &ObjectReference) -> bool {
    let names = |namespace: &str, name: &str| {
        namespace == reference.namespace() && name == reference.name()
    };
    names(&evidence.key.namespace, &evidence.key.name)
        && (evidence.claim.as_ref())
            .is_none_or(|claim| names(claim.metadata.namespace(), claim.metadata.name()))
}

fn be_available(draft: &mut Draft, volume: Held<'_, PersistentVolume>) -> Result<(), SyncError> {
    let edit = mark_volume_available(&volume)?;
    draft.volume_status(volume, edit);
    Ok(())
}

/// The volume's claim is there; what becomes of the volume is the claim's to
/// say.
fn follow_claim(
    draft: &mut Draft,
    volume: Held<'_, PersistentVolume>,
    claim: &PersistentVolumeClaim,
) -> Result<(), SyncError> {
    let wanted = claim.volume_name();
    if wanted.is_empty() {
        await_claim(draft, &volume, claim);
        return Ok(());
    }
    if wanted == volume.name() {
        let edit = mark_volume_bound(&volume)?;
        draft.volume_status(volume, edit);
        return Ok(());
    }
    let was_made_for_it = volume_provisioner(&volume).is_some()
        && volume.spec.persistent_volume_reclaim_policy == Some(Policy::Delete);
    if was_made_for_it {
        release_and_reclaim(draft, volume)
    } else {
        unbind(draft, volume)
    }
}

/// The claim names no volume yet: its own sync finishes the binding, unless the
/// two can never fit.
fn await_claim(draft: &mut Draft, volume: &PersistentVolume, claim: &PersistentVolumeClaim) {
    if volume.volume_mode() == claim.volume_mode() {
        draft.step(Step::EnqueueClaim(ClaimKey::of(claim)));
        return;
    }
    let reason = EventReason::VolumeMismatch;
    let message = format!(
        "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"{}\" due to \
         incompatible volumeMode.",
        claim.metadata.name()
    );
    draft.event(Event::on_volume(volume, reason, message));
    let message = format!(
        "Cannot bind PersistentVolume \"{}\" to requested PersistentVolumeClaim due to \
         incompatible volumeMode.",
        volume.name()
    );
    draft.event(Event::on_claim(claim, reason, message));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Operation, Write};
    use crate::view::Snapshot;
    use serde_json::{Value, json};

    fn volume(phase: &str, policy: &str) -> PersistentVolume {
        serde_json::from_value(json!({
            "metadata": {"name": "pv"}, "status": {"phase": phase},
            "spec": {"persistentVolumeReclaimPolicy": policy,
                "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}))
        .unwrap()
    }

    fn claim(value: Value) -> Arc<PersistentVolumeClaim> {
        let mut value = value;
        value["metadata"]["namespace"] = json!("shop");
        value["metadata"]["name"] = json!("data");
        serde_json::from_value(value).map(Arc::new).unwrap()
    }

    fn key() -> ClaimKey {
        ClaimKey::new("shop", "data")
    }

    fn sync(view: &Snapshot, volume: &PersistentVolume, evidence: Option<&ClaimEvidence>) -> Plan {
        sync_volume(&Config::default(), view, volume, evidence)
    }

    #[test]
    fn a_claim_that_is_missing_or_another_is_not_believed_without_evidence() {
        let another = claim(json!({"metadata": {"uid": "u-2"}}));
        for cached in [None, Some(another)] {
            let mut view = Snapshot::new();
            if let Some(claim) = cached {
                view.apply(claim);
            }
            for phase in ["", "Pending", "Available", "Bound"] {
                let plan = sync(&view, &volume(phase, "Delete"), None);
                assert_eq!(plan, Plan::empty(Verdict::AskApiServer(key())));
            }
        }
    }

    #[test]
    fn another_claim_is_not_believed_even_of_a_released_volume() {
        let mut view = Snapshot::new();
        view.apply(claim(json!({"metadata": {"uid": "u-2"}})));
        let plan = sync(&view, &volume("Released", "Delete"), None);
        assert_eq!(plan, Plan::empty(Verdict::AskApiServer(key())));
    }

    #[test]
    fn a_released_volume_without_claim_goes_on_without_evidence() {
        let plan = sync(&Snapshot::new(), &volume("Released", "Delete"), None);
        let [Step::Start(Operation::Delete { .. })] = plan.steps.as_slice() else {
            panic!("{plan:?}");
        };
    }

    #[test]
    fn evidence_about_another_claim_counts_for_nothing() {
        let evidence = ClaimEvidence {
            key: ClaimKey::new("shop", "other"),
            claim: None,
        };
        let plan = sync(
            &Snapshot::new(),
            &volume("Bound", "Delete"),
            Some(&evidence),
        );
        assert_eq!(plan, Plan::empty(Verdict::AskApiServer(key())));
    }

    #[test]
    fn a_claim_that_only_the_api_server_has_is_followed() {
        let claim = claim(json!({"metadata": {"uid": "u-1"}, "spec": {"volumeName": "pv"}}));
        let evidence = ClaimEvidence {
            key: key(),
            claim: Some(claim),
        };
        let plan = sync(
            &Snapshot::new(),
            &volume("Bound", "Delete"),
            Some(&evidence),
        );
        assert_eq!(plan, Plan::empty(Verdict::Settled));
    }

    #[test]
    fn a_gone_claim_releases_the_volume_and_only_then_reclaims_it() {
        let gone = ClaimEvidence {
            key: key(),
            claim: None,
        };
        let plan = sync(&Snapshot::new(), &volume("Bound", "Delete"), Some(&gone));
        let [
            Step::Write {
                write: Write::VolumeStatus(change),
                ..
            },
            Step::Start(Operation::Delete { volume }),
        ] = plan.steps.as_slice()
        else {
            panic!("{plan:?}");
        };
        assert_eq!(change.to, *volume);
        assert_eq!(VolumeState::of(volume), VolumeState::Released);
    }

    #[test]
    fn a_claim_with_another_volume_never_makes_a_retained_volume_go() {
        let claim = claim(json!({"metadata": {"uid": "u-1"}, "spec": {"volumeName": "other"}}));
        let mut view = Snapshot::new();
        view.apply(claim);
        let mut provisioned = volume("Bound", "Retain");
        provisioned
            .metadata
            .set_annotation(crate::api::names::PROVISIONED_BY, "");
        let plan = sync(&view, &provisioned, None);
        let [
            Step::Write {
                write: Write::Volume(change),
                ..
            },
            Step::Write {
                write: Write::VolumeStatus(_),
                ..
            },
        ] = plan.steps.as_slice()
        else {
            panic!("{plan:?}");
        };
        assert_eq!(change.to.claim_ref().unwrap().uid(), "");
    }
}
