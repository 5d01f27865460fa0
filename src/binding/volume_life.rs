//! The life of a volume.

use std::fmt;

use super::Edit;
use crate::api::{PersistentVolume, PersistentVolumeReclaimPolicy, VolumePhase};

/// Where a volume is in its life.
///
/// ```text
/// New → Pending → Available ⇄ Bound → Released → Available
///                                         │    ↘ Gone
///                                         ↓    ↗
///                                       Failed (tried again)
/// ```
///
/// That is the usual way. Phases are words on paper, though: a user can edit
/// claimRef, or a controller can miss a step, so that the facts lead from any
/// phase to Available (nobody has it) or Bound (a claim has it). What is never
/// allowed is what loses data: see [`after`](Self::after).
///
/// ```
/// use pvbind::binding::{VolumeLifeEvent, VolumeState};
/// let released = VolumeState::Bound.after(VolumeLifeEvent::ClaimGone)?;
/// assert_eq!(released, VolumeState::Released);
/// let refused = VolumeState::Bound.after(VolumeLifeEvent::Reclaimed).unwrap_err();
/// assert_eq!(refused.to_string(), "a volume that is bound cannot be deleted: it was not released");
/// # Ok::<(), pvbind::binding::VolumeLifeRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum VolumeState {
    /// Without a phase, or in one that Kubernetes 1.36 does not know.
    New,
    /// Not seen by the controller yet.
    Pending,
    /// Free, or reserved for a claim that has not taken it yet.
    Available,
    /// Held by a claim.
    Bound,
    /// Its claim is gone; not reclaimed yet.
    Released,
    /// Its claim is gone, and reclaiming it failed; it is tried again.
    Failed,
    /// The object is deleted.
    Gone,
}

/// What happens to a volume.
///
/// ```
/// use pvbind::binding::{VolumeLifeEvent, VolumeState};
/// // What loses data is refused: no volume is deleted that was not released.
/// let refused = |state: VolumeState| state.after(VolumeLifeEvent::Reclaimed).is_err();
/// let all = VolumeState::ALL.into_iter();
/// let allowed: Vec<_> = all.filter(|&state| !refused(state)).collect();
/// assert_eq!(allowed, [VolumeState::Released, VolumeState::Failed]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum VolumeLifeEvent {
    /// No claim holds it: there is no claimRef, or one without uid.
    Freed,
    /// A claim holds it: its claimRef names a claim that is there.
    Claimed,
    /// The claim that it was held by is gone.
    ClaimGone,
    /// It could not be reclaimed.
    ReclaimFailed,
    /// The backend has deleted it.
    Reclaimed,
}

/// A step in a volume's life that must not happen.
///
/// ```
/// use pvbind::binding::{VolumeLifeEvent, VolumeLifeRefusal, VolumeLifeRefusalReason, VolumeState};
/// let refusal: VolumeLifeRefusal =
///     VolumeState::Available.after(VolumeLifeEvent::ReclaimFailed).unwrap_err();
/// assert_eq!(refusal.reason, VolumeLifeRefusalReason::NotReleased);
/// assert_eq!(
///     refusal.to_string(),
///     "a volume that is available cannot fail to be reclaimed: it was not released"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("a volume that is {state} cannot {event}: {reason}")]
pub struct VolumeLifeRefusal {
    /// Where the volume is in its life.
    pub state: VolumeState,
    /// What was to happen.
    pub event: VolumeLifeEvent,
    /// Why it must not.
    pub reason: VolumeLifeRefusalReason,
}

/// Why a step in a volume's life must not happen.
///
/// ```
/// use pvbind::binding::VolumeLifeRefusalReason;
/// let reason = VolumeLifeRefusalReason::StillClaimed;
/// assert_eq!(reason.to_string(), "its claimRef has a uid");
/// assert_eq!(reason.code(), "still-claimed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeLifeRefusalReason {
    /// It is still some claim's, or free for one.
    #[error("it was not released")]
    NotReleased,
    /// It has a claimRef with uid, so it is held by a claim.
    #[error("its claimRef has a uid")]
    StillClaimed,
    /// It has no claimRef, so no claim can hold it.
    #[error("it has no claimRef")]
    NoClaimRef,
    /// Its reclaim policy is not Delete.
    #[error("its reclaim policy is not Delete")]
    NotToBeDeleted,
    /// The object is deleted already.
    #[error("it is gone")]
    Gone,
}

impl VolumeLifeRefusalReason {
    /// A stable code for programs, such as the label of a metric: the text may be
    /// worded anew, the code stays.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::binding::check_may_be_deleted;
    /// # let volume = |phase: &str| serde_json::from_value::<PersistentVolume>(serde_json::json!({
    /// #     "metadata": {"name": "pv-1"}, "status": {"phase": phase},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Retain"}}));
    /// // A volume with the policy Retain is never deleted; while it is bound that is
    /// // the better reason.
    /// let refusal = |phase| -> Result<_, serde_json::Error> {
    ///     Ok(check_may_be_deleted(&volume(phase)?).unwrap_err().reason.code())
    /// };
    /// assert_eq!(refusal("Released")?, "not-to-be-deleted");
    /// assert_eq!(refusal("Bound")?, "not-released");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            VolumeLifeRefusalReason::NotReleased => "not-released",
            VolumeLifeRefusalReason::StillClaimed => "still-claimed",
            VolumeLifeRefusalReason::NoClaimRef => "no-claim-ref",
            VolumeLifeRefusalReason::NotToBeDeleted => "not-to-be-deleted",
            VolumeLifeRefusalReason::Gone => "gone",
        }
    }
}

impl VolumeState {
    /// Every state.
    pub const ALL: [VolumeState; 7] = [
        VolumeState::New,
        VolumeState::Pending,
        VolumeState::Available,
        VolumeState::Bound,
        VolumeState::Released,
        VolumeState::Failed,
        VolumeState::Gone,
    ];

    /// The state that a volume is in, by its phase.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::binding::VolumeState;
    /// let volume = |phase: &str| -> PersistentVolume {
    ///     serde_json::from_value(serde_json::json!({"status": {"phase": phase}})).unwrap()
    /// };
    /// assert_eq!(VolumeState::of(&volume("Released")), VolumeState::Released);
    /// // A phase that Kubernetes does not know is none.
    /// assert_eq!(VolumeState::of(&volume("Resting")), VolumeState::New);
    /// ```
    pub fn of(volume: &PersistentVolume) -> Self {
        match &volume.status.phase {
            Some(VolumePhase::Pending) => VolumeState::Pending,
            Some(VolumePhase::Available) => VolumeState::Available,
            Some(VolumePhase::Bound) => VolumeState::Bound,
            Some(VolumePhase::Released) => VolumeState::Released,
            Some(VolumePhase::Failed) => VolumeState::Failed,
            _ => VolumeState::New,
        }
    }

    /// The state after an event.
    ///
    /// | | Freed | Claimed | ClaimGone | ReclaimFailed | Reclaimed |
    /// | --- | --- | --- | --- | --- | --- |
    /// | New, Pending, Available, Bound | Available | Bound | Released | – | – |
    /// | Released | Available | Bound | Released | Failed | Gone |
    /// | Failed | Available | Bound | Failed | Failed | Gone |
    /// | Gone | – | – | – | – | – |
    ///
    /// # Errors
    /// Where the table has a dash: only a volume that was released can fail to
    /// be reclaimed or be deleted, and nothing happens to one that is gone.
    ///
    /// ```
    /// use pvbind::binding::{VolumeLifeEvent, VolumeState};
    /// // Recycled, or its claimRef was cleared by hand:
    /// assert_eq!(VolumeState::Released.after(VolumeLifeEvent::Freed), Ok(VolumeState::Available));
    /// assert!(VolumeState::Gone.after(VolumeLifeEvent::Freed).is_err());
    /// ```
    pub fn after(self, event: VolumeLifeEvent) -> Result<VolumeState, VolumeLifeRefusal> {
        use VolumeState::{Available, Bound, Failed, Gone, Released};
        let refused = |reason| VolumeLifeRefusal {
            state: self,
            event,
            reason,
        };
        match (self, event) {
            (Gone, _) => Err(refused(VolumeLifeRefusalReason::Gone)),
            (_, VolumeLifeEvent::Freed) => Ok(Available),
            (_, VolumeLifeEvent::Claimed) => Ok(Bound),
            (Failed, VolumeLifeEvent::ClaimGone) => Ok(Failed),
            (_, VolumeLifeEvent::ClaimGone) => Ok(Released),
            (Released | Failed, VolumeLifeEvent::ReclaimFailed) => Ok(Failed),
            (Released | Failed, VolumeLifeEvent::Reclaimed) => Ok(Gone),
            (_, VolumeLifeEvent::ReclaimFailed | VolumeLifeEvent::Reclaimed) => {
                Err(refused(VolumeLifeRefusalReason::NotReleased))
            }
        }
    }

    /// The phase that is written for the state; `None` for the first and the
    /// last.
    ///
    /// ```
    /// use pvbind::api::VolumePhase;
    /// use pvbind::binding::VolumeState;
    /// assert_eq!(VolumeState::Released.phase(), Some(VolumePhase::Released));
    /// assert_eq!(VolumeState::Gone.phase(), None);
    /// ```
    pub fn phase(self) -> Option<VolumePhase> {
        match self {
            VolumeState::New | VolumeState::Gone => None,
            VolumeState::Pending => Some(VolumePhase::Pending),
            VolumeState::Available => Some(VolumePhase::Available),
            VolumeState::Bound => Some(VolumePhase::Bound),
            VolumeState::Released => Some(VolumePhase::Released),
            VolumeState::Failed => Some(VolumePhase::Failed),
        }
    }
}

impl fmt::Display for VolumeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VolumeState::New => "new",
            VolumeState::Pending => "pending",
            VolumeState::Available => "available",
            VolumeState::Bound => "bound",
            VolumeState::Released => "released",
            VolumeState::Failed => "failed",
            VolumeState::Gone => "gone",
        })
    }
}

impl VolumeLifeEvent {
    /// Every event.
    pub const ALL: [VolumeLifeEvent; 5] = [
        VolumeLifeEvent::Freed,
        VolumeLifeEvent::Claimed,
        VolumeLifeEvent::ClaimGone,
        VolumeLifeEvent::ReclaimFailed,
        VolumeLifeEvent::Reclaimed,
    ];
}

/// What the volume would do: `become available` …
impl fmt::Display for VolumeLifeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VolumeLifeEvent::Freed => "become available",
            VolumeLifeEvent::Claimed => "become bound",
            VolumeLifeEvent::ClaimGone => "be released",
            VolumeLifeEvent::ReclaimFailed => "fail to be reclaimed",
            VolumeLifeEvent::Reclaimed => "be deleted",
        })
    }
}

/// No claim holds the volume: phase Available.
///
/// # Errors
/// A claimRef with uid stands in the way.
///
/// Follows `updateVolumePhase` of Kubernetes 1.36, as `unbindVolume` and
/// `syncVolume` call it. Cost: at most one copy of the volume.
///
/// ```
/// use pvbind::api::{PersistentVolume, VolumePhase};
/// use pvbind::binding::mark_volume_available;
/// // Reserved by hand, for a claim that may come: the claimRef has no uid.
/// let reserved: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data"}}}"#)?;
/// let available = mark_volume_available(&reserved)?.changed().unwrap();
/// assert_eq!(available.status.phase, Some(VolumePhase::Available));
///
/// let held: PersistentVolume = serde_json::from_str(
///     r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#)?;
/// assert_eq!(
///     mark_volume_available(&held).unwrap_err().to_string(),
///     "a volume that is new cannot become available: its claimRef has a uid",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mark_volume_available(
    volume: &PersistentVolume,
) -> Result<Edit<PersistentVolume>, VolumeLifeRefusal> {
    let held = volume
        .claim_ref()
        .is_some_and(|reference| !reference.uid().is_empty());
    require(
        volume,
        VolumeLifeEvent::Freed,
        !held,
        VolumeLifeRefusalReason::StillClaimed,
    )?;
    in_phase_after(volume, VolumeLifeEvent::Freed, "")
}

/// A claim holds the volume: phase Bound. The second edit of a bind.
///
/// # Errors
/// The volume has no claimRef.
///
/// Follows `updateVolumePhase` of Kubernetes 1.36, as `bind` calls it. Cost: at
/// most one copy of the volume.
///
/// ```
/// use pvbind::api::{PersistentVolume, VolumePhase};
/// use pvbind::binding::mark_volume_bound;
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#,
/// )?;
/// let bound = mark_volume_bound(&volume)?.changed().unwrap();
/// assert_eq!(bound.status.phase, Some(VolumePhase::Bound));
///
/// let refused = mark_volume_bound(&PersistentVolume::default()).unwrap_err();
/// assert_eq!(refused.to_string(), "a volume that is new cannot become bound: it has no claimRef");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mark_volume_bound(
    volume: &PersistentVolume,
) -> Result<Edit<PersistentVolume>, VolumeLifeRefusal> {
    let event = VolumeLifeEvent::Claimed;
    let has_reference = volume.claim_ref().is_some();
    require(
        volume,
        event,
        has_reference,
        VolumeLifeRefusalReason::NoClaimRef,
    )?;
    in_phase_after(volume, event, "")
}

/// The claim that held the volume is gone: phase Released, but a volume that is
/// Failed already stays so.
///
/// Whether the claim really is gone is the caller's to know, and not from a
/// cache alone.
///
/// # Errors
/// The volume has no claimRef.
///
/// Follows `updateVolumePhase` of Kubernetes 1.36, as `syncVolume` calls it.
/// Cost: at most one copy of the volume.
///
/// ```
/// use pvbind::api::{PersistentVolume, VolumePhase};
/// use pvbind::binding::mark_volume_released;
/// let volume = |phase: &str| -> PersistentVolume {
///     serde_json::from_value(serde_json::json!({"status": {"phase": phase},
///         "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}})).unwrap()
/// };
/// let released = mark_volume_released(&volume("Bound"))?.changed().unwrap();
/// assert_eq!(released.status.phase, Some(VolumePhase::Released));
/// // One that failed before keeps saying so.
/// assert!(!mark_volume_released(&volume("Failed"))?.is_changed());
/// # Ok::<(), pvbind::binding::VolumeLifeRefusal>(())
/// ```
pub fn mark_volume_released(
    volume: &PersistentVolume,
) -> Result<Edit<PersistentVolume>, VolumeLifeRefusal> {
    let event = VolumeLifeEvent::ClaimGone;
    let has_reference = volume.claim_ref().is_some();
    require(
        volume,
        event,
        has_reference,
        VolumeLifeRefusalReason::NoClaimRef,
    )?;
    in_phase_after(volume, event, "")
}

/// The volume could not be reclaimed: phase Failed, with the message. A volume
/// that is Failed already keeps its message.
///
/// # Errors
/// The volume was not released.
///
/// Follows `updateVolumePhaseWithEvent` of Kubernetes 1.36. Cost: at most one copy
/// of the volume.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::binding::mark_volume_failed;
/// let released: PersistentVolume = serde_json::from_str(r#"{"status": {"phase": "Released"}}"#)?;
/// let failed = mark_volume_failed(&released, "disk is attached")?.changed().unwrap();
/// assert_eq!(
///     serde_json::to_string(&failed.status)?,
///     r#"{"phase":"Failed","message":"disk is attached"}"#,
/// );
/// let bound: PersistentVolume = serde_json::from_str(r#"{"status": {"phase": "Bound"}}"#)?;
/// assert!(mark_volume_failed(&bound, "disk is attached").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mark_volume_failed(
    volume: &PersistentVolume,
    message: &str,
) -> Result<Edit<PersistentVolume>, VolumeLifeRefusal> {
    in_phase_after(volume, VolumeLifeEvent::ReclaimFailed, message)
}

/// Whether the volume's object may be deleted: it was released, and its policy
/// is Delete.
///
/// # Errors
/// The first of the two that does not hold.
///
/// A guard of this crate, without a counterpart upstream: no way may lead to
/// the deletion of what was not released. Constant cost.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::binding::check_may_be_deleted;
/// let volume = |phase: &str, policy: &str| -> PersistentVolume {
///     serde_json::from_value(serde_json::json!({
///         "status": {"phase": phase}, "spec": {"persistentVolumeReclaimPolicy": policy}})).unwrap()
/// };
/// assert!(check_may_be_deleted(&volume("Released", "Delete")).is_ok());
/// assert_eq!(
///     check_may_be_deleted(&volume("Released", "Retain")).unwrap_err().to_string(),
///     "a volume that is released cannot be deleted: its reclaim policy is not Delete",
/// );
/// assert_eq!(
///     check_may_be_deleted(&volume("Bound", "Delete")).unwrap_err().reason.code(),
///     "not-released",
/// );
/// ```
pub fn check_may_be_deleted(volume: &PersistentVolume) -> Result<(), VolumeLifeRefusal> {
    let event = VolumeLifeEvent::Reclaimed;
    let policy = volume.reclaim_policy();
    let is_delete = policy == Some(&PersistentVolumeReclaimPolicy::Delete);
    VolumeState::of(volume).after(event)?;
    require(
        volume,
        event,
        is_delete,
        VolumeLifeRefusalReason::NotToBeDeleted,
    )
}

fn require(
    volume: &PersistentVolume,
    event: VolumeLifeEvent,
    holds: bool,
    reason: VolumeLifeRefusalReason,
) -> Result<(), VolumeLifeRefusal> {
    if holds {
        return Ok(());
    }
    Err(VolumeLifeRefusal {
        state: VolumeState::of(volume),
        event,
        reason,
    })
}

fn in_phase_after(
    volume: &PersistentVolume,
    event: VolumeLifeEvent,
    message: &str,
) -> Result<Edit<PersistentVolume>, VolumeLifeRefusal> {
    let phase = VolumeState::of(volume).after(event)?.phase();
    if volume.status.phase == phase {
        return Ok(Edit::Unchanged);
    }
    let mut volume = volume.clone();
    volume.status.phase = phase;
    volume.status.message = (!message.is_empty()).then(|| message.to_owned());
    Ok(Edit::Changed(volume))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_released_volume_fails_or_goes() {
        for state in VolumeState::ALL {
            let was_released = matches!(state, VolumeState::Released | VolumeState::Failed);
            for event in [VolumeLifeEvent::ReclaimFailed, VolumeLifeEvent::Reclaimed] {
                assert_eq!(
                    state.after(event).is_ok(),
                    was_released,
                    "{state:?} {event:?}"
                );
            }
        }
    }

    #[test]
    fn a_failed_volume_is_not_called_released_again() {
        let failed = VolumeState::Failed.after(VolumeLifeEvent::ClaimGone);
        assert_eq!(failed, Ok(VolumeState::Failed));
    }

    #[test]
    fn nothing_happens_to_a_volume_that_is_gone() {
        for event in VolumeLifeEvent::ALL {
            let refused = VolumeState::Gone.after(event).unwrap_err();
            assert_eq!(refused.reason, VolumeLifeRefusalReason::Gone);
        }
    }

    #[test]
    fn every_phase_is_the_phase_of_its_state() {
        for state in VolumeState::ALL {
            let mut volume = PersistentVolume::default();
            volume.status.phase = state.phase();
            let expected = match state {
                VolumeState::Gone => VolumeState::New,
                other => other,
            };
            assert_eq!(VolumeState::of(&volume), expected);
        }
    }

    #[test]
    fn a_new_phase_takes_a_new_message_and_an_old_phase_keeps_the_old_one() {
        let volume: PersistentVolume = serde_json::from_value(json!({
            "status": {"phase": "Released", "message": "old", "reason": "kept"}}))
        .unwrap();
        let failed = mark_volume_failed(&volume, "busy").unwrap().changed();
        let failed = failed.unwrap();
        assert_eq!(failed.status.message.as_deref(), Some("busy"));
        assert_eq!(failed.status.reason.as_deref(), Some("kept"));
        let again = mark_volume_failed(&failed, "still busy").unwrap();
        assert_eq!(again, Edit::Unchanged);
        let freed = mark_volume_available(&failed).unwrap().changed().unwrap();
        assert_eq!(freed.status.message, None);
    }

    #[test]
    fn a_retained_volume_may_not_be_deleted() {
        let volume = |policy: &str, phase: &str| -> PersistentVolume {
            serde_json::from_value(json!({
                "spec": {"persistentVolumeReclaimPolicy": policy}, "status": {"phase": phase}}))
            .unwrap()
        };
        assert_eq!(check_may_be_deleted(&volume("Delete", "Released")), Ok(()));
        for (policy, phase, reason) in [
            (
                "Retain",
                "Released",
                VolumeLifeRefusalReason::NotToBeDeleted,
            ),
            ("Delete", "Bound", VolumeLifeRefusalReason::NotReleased),
        ] {
            let refused = check_may_be_deleted(&volume(policy, phase)).unwrap_err();
            assert_eq!(refused.reason, reason);
        }
    }
}
