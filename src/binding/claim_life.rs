//! The life of a claim.

use std::fmt;

use super::Edit;
use crate::api::{ClaimPhase, PersistentVolume, PersistentVolumeClaim, ResourceList, names};
use crate::matching::Features;
use crate::quantity::Quantity;

/// Where a claim is in its life.
///
/// ```text
/// New → Pending → Binding → Bound ⇄ Lost
/// ```
///
/// What the controller goes by is the mark `pv.kubernetes.io/bind-completed`:
/// before it the claim may wait for any volume, after it the claim has the one
/// volume that it names, or has lost it. A user who removes the mark begins the
/// claim's life again ([`Reopened`](ClaimState::Reopened)).
///
/// ```
/// use pvbind::binding::{ClaimLifeEvent, ClaimState};
/// assert_eq!(ClaimState::Bound.after(ClaimLifeEvent::VolumeLost)?, ClaimState::Lost);
/// let refused = ClaimState::Bound.after(ClaimLifeEvent::Waits).unwrap_err();
/// assert_eq!(refused.to_string(), "a claim that is bound cannot wait: its binding is completed");
/// # Ok::<(), pvbind::binding::ClaimLifeRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ClaimState {
    /// Without a phase, or in one that Kubernetes 1.36 does not know.
    New,
    /// It waits for a volume.
    Pending,
    /// It was bound once, and then the mark was removed.
    Reopened,
    /// It is marked as bound, and its status does not say so yet.
    Binding,
    /// It has its volume.
    Bound,
    /// It had a volume, and that is gone or another's.
    Lost,
}

/// What happens to a claim.
///
/// ```
/// use pvbind::binding::{ClaimLifeEvent, ClaimState};
/// // A claim without volume waits; one that is bound never does again.
/// assert_eq!(ClaimState::New.after(ClaimLifeEvent::Waits), Ok(ClaimState::Pending));
/// assert!(ClaimState::Bound.after(ClaimLifeEvent::Waits).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ClaimLifeEvent {
    /// There is no volume for it yet.
    Waits,
    /// The volume that it names is bound to it.
    VolumeBound,
    /// The volume that it names is gone, or another's.
    VolumeLost,
}

/// A step in a claim's life that must not happen.
///
/// ```
/// use pvbind::binding::{ClaimLifeEvent, ClaimLifeRefusal, ClaimLifeRefusalReason, ClaimState};
/// let refusal: ClaimLifeRefusal = ClaimState::Pending.after(ClaimLifeEvent::VolumeLost).unwrap_err();
/// assert_eq!(refusal.reason, ClaimLifeRefusalReason::BindNotCompleted);
/// assert_eq!(
///     refusal.to_string(),
///     "a claim that is pending cannot become lost: its binding is not completed"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("a claim that is {state} cannot {event}: {reason}")]
pub struct ClaimLifeRefusal {
    /// Where the claim is in its life.
    pub state: ClaimState,
    /// What was to happen.
    pub event: ClaimLifeEvent,
    /// Why it must not.
    pub reason: ClaimLifeRefusalReason,
}

/// Why a step in a claim's life must not happen.
///
/// ```
/// use pvbind::binding::ClaimLifeRefusalReason;
/// let reason = ClaimLifeRefusalReason::VolumeNotBound;
/// assert_eq!(reason.to_string(), "the volume is not bound to it");
/// assert_eq!(reason.code(), "volume-not-bound");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimLifeRefusalReason {
    /// It has its volume, or has lost it: no other can take its place.
    #[error("its binding is completed")]
    BindCompleted,
    /// The mark goes before the status.
    #[error("its binding is not completed")]
    BindNotCompleted,
    /// The volume must be bound to the claim before the claim is bound to it.
    #[error("the volume is not bound to it")]
    VolumeNotBound,
}

impl ClaimLifeRefusalReason {
    /// A stable code for programs, such as the label of a metric: the text may be
    /// worded anew, the code stays.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::binding::mark_claim_pending;
    /// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    ///     "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}}))?;
    /// let refusal = mark_claim_pending(&claim).unwrap_err();
    /// assert_eq!(refusal.reason.code(), "bind-completed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            ClaimLifeRefusalReason::BindCompleted => "bind-completed",
            ClaimLifeRefusalReason::BindNotCompleted => "bind-not-completed",
            ClaimLifeRefusalReason::VolumeNotBound => "volume-not-bound",
        }
    }
}

impl ClaimState {
    /// Every state.
    pub const ALL: [ClaimState; 6] = [
        ClaimState::New,
        ClaimState::Pending,
        ClaimState::Reopened,
        ClaimState::Binding,
        ClaimState::Bound,
        ClaimState::Lost,
    ];

    /// The state that a claim is in, by its phase and its mark.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::binding::ClaimState;
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    ///         "status": {"phase": "Pending"}}"#)?;
    /// // A controller was stopped between two writes.
    /// assert_eq!(ClaimState::of(&claim), ClaimState::Binding);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of(claim: &PersistentVolumeClaim) -> Self {
        match (claim.is_bind_completed(), &claim.status.phase) {
            (true, Some(ClaimPhase::Bound)) => ClaimState::Bound,
            (true, Some(ClaimPhase::Lost)) => ClaimState::Lost,
            (true, _) => ClaimState::Binding,
            (false, Some(ClaimPhase::Bound | ClaimPhase::Lost)) => ClaimState::Reopened,
            (false, Some(ClaimPhase::Pending)) => ClaimState::Pending,
            (false, _) => ClaimState::New,
        }
    }

    /// The state after an event.
    ///
    /// | | Waits | VolumeBound | VolumeLost |
    /// | --- | --- | --- | --- |
    /// | New, Pending, Reopened | Pending | – | – |
    /// | Binding, Bound, Lost | – | Bound | Lost |
    ///
    /// # Errors
    /// Where the table has a dash.
    ///
    /// ```
    /// use pvbind::binding::{ClaimLifeEvent, ClaimState};
    /// // A claim that was lost has its volume again when that comes back.
    /// assert_eq!(ClaimState::Lost.after(ClaimLifeEvent::VolumeBound), Ok(ClaimState::Bound));
    /// ```
    pub fn after(self, event: ClaimLifeEvent) -> Result<ClaimState, ClaimLifeRefusal> {
        let refused = |reason| ClaimLifeRefusal {
            state: self,
            event,
            reason,
        };
        let completed = matches!(
            self,
            ClaimState::Binding | ClaimState::Bound | ClaimState::Lost
        );
        match (event, completed) {
            (ClaimLifeEvent::Waits, false) => Ok(ClaimState::Pending),
            (ClaimLifeEvent::Waits, true) => Err(refused(ClaimLifeRefusalReason::BindCompleted)),
            (ClaimLifeEvent::VolumeBound, true) => Ok(ClaimState::Bound),
            (ClaimLifeEvent::VolumeLost, true) => Ok(ClaimState::Lost),
            (ClaimLifeEvent::VolumeBound | ClaimLifeEvent::VolumeLost, false) => {
                Err(refused(ClaimLifeRefusalReason::BindNotCompleted))
            }
        }
    }

    /// The phase that is written for the state; `None` for
    /// [`New`](ClaimState::New), which nothing leads to.
    ///
    /// ```
    /// use pvbind::api::ClaimPhase;
    /// use pvbind::binding::ClaimState;
    /// assert_eq!(ClaimState::Binding.phase(), Some(ClaimPhase::Pending));
    /// assert_eq!(ClaimState::New.phase(), None);
    /// ```
    pub fn phase(self) -> Option<ClaimPhase> {
        match self {
            ClaimState::New => None,
            ClaimState::Pending | ClaimState::Binding => Some(ClaimPhase::Pending),
            ClaimState::Bound | ClaimState::Reopened => Some(ClaimPhase::Bound),
            ClaimState::Lost => Some(ClaimPhase::Lost),
        }
    }
}

impl fmt::Display for ClaimState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClaimState::New => "new",
            ClaimState::Pending => "pending",
            ClaimState::Reopened => "reopened",
            ClaimState::Binding => "being bound",
            ClaimState::Bound => "bound",
            ClaimState::Lost => "lost",
        })
    }
}

impl ClaimLifeEvent {
    /// Every event.
    pub const ALL: [ClaimLifeEvent; 3] = [
        ClaimLifeEvent::Waits,
        ClaimLifeEvent::VolumeBound,
        ClaimLifeEvent::VolumeLost,
    ];
}

/// What the claim would do: `wait` …
impl fmt::Display for ClaimLifeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClaimLifeEvent::Waits => "wait",
            ClaimLifeEvent::VolumeBound => "become bound",
            ClaimLifeEvent::VolumeLost => "become lost",
        })
    }
}

/// Why a claim's status cannot be that of a bound claim.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::binding::{ClaimStatusError, mark_claim_bound};
/// use pvbind::matching::Features;
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"metadata": {"name": "pv-1"}, "spec": {"claimRef": {"name": "data"}}}"#)?;
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"name": "data", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}"#)?;
/// let error: ClaimStatusError =
///     mark_claim_bound(&claim, &volume, Features::default()).unwrap_err();
/// assert_eq!(error.to_string(), r#"PersistentVolume "pv-1" is without a storage capacity"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimStatusError {
    /// The volume does not say how large it is.
    #[error("PersistentVolume \"{volume}\" is without a storage capacity")]
    NoStorageCapacity {
        /// The volume's name.
        volume: String,
    },
    /// The claim's life does not allow it.
    #[error(transparent)]
    Refused(#[from] ClaimLifeRefusal),
}

/// The claim has no volume yet: phase Pending, and nothing of a volume in the
/// status.
///
/// # Errors
/// The claim's binding is completed.
///
/// Follows `updateClaimStatus` of Kubernetes 1.36 with the phase Pending. Cost: at
/// most one copy of the claim.
///
/// ```
/// use pvbind::api::{ClaimPhase, PersistentVolumeClaim};
/// use pvbind::binding::mark_claim_pending;
/// let new: PersistentVolumeClaim = serde_json::from_str(r#"{"metadata": {"name": "data"}}"#)?;
/// let waits = mark_claim_pending(&new)?.changed().unwrap();
/// assert_eq!(waits.status.phase, Some(ClaimPhase::Pending));
/// assert!(!mark_claim_pending(&waits)?.is_changed());
///
/// // Who once had a volume waits for no other.
/// let bound: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}"#)?;
/// assert!(mark_claim_pending(&bound).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mark_claim_pending(
    claim: &PersistentVolumeClaim,
) -> Result<Edit<PersistentVolumeClaim>, ClaimLifeRefusal> {
    without_volume(claim, ClaimLifeEvent::Waits)
}

/// The claim has lost its volume: phase Lost, and nothing of a volume in the
/// status.
///
/// # Errors
/// The claim never had one: its binding is not completed.
///
/// Follows `updateClaimStatusWithEvent` of Kubernetes 1.36 with the phase Lost.
/// Cost: at most one copy of the claim.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::binding::mark_claim_lost;
/// let bound: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
///     "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
///     "status": {"phase": "Bound", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}}))?;
/// let lost = mark_claim_lost(&bound)?.changed().unwrap();
/// // What it had of the volume goes with it.
/// assert_eq!(serde_json::to_string(&lost.status)?, r#"{"phase":"Lost"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mark_claim_lost(
    claim: &PersistentVolumeClaim,
) -> Result<Edit<PersistentVolumeClaim>, ClaimLifeRefusal> {
    without_volume(claim, ClaimLifeEvent::VolumeLost)
}

/// The claim has its volume: phase Bound, and the volume's access modes. The
/// last edit of a bind.
///
/// Capacity and VolumeAttributesClass are taken over only when the phase
/// changes, because later they may differ on purpose: the file system can be
/// smaller than the device. The volume's annotation
/// `volume.alpha.kubernetes.io/pre-resize-capacity` goes before its capacity.
/// The VolumeAttributesClass is taken over only from the phase Pending, and
/// with the feature on.
///
/// Follows `updateClaimStatus` of Kubernetes 1.36.
///
/// # Errors
/// The volume does not name the claim, the claim's binding is not completed, or
/// the phase would change and the volume is without a storage capacity.
///
/// Cost: at most one copy of the claim.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::binding::{bind_claim_to_volume, bind_volume_to_claim, mark_claim_bound};
/// use pvbind::matching::Features;
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#,
/// )?;
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"metadata": {"name": "pv-1"}, "spec": {"capacity": {"storage": "5Gi"}}}"#,
/// )?;
/// let volume = bind_volume_to_claim(&volume, &claim).applied_to(&volume);
/// let claim = bind_claim_to_volume(&claim, &volume).applied_to(&claim);
/// let bound = mark_claim_bound(&claim, &volume, Features::default())?.changed().unwrap();
/// assert_eq!(serde_json::to_string(&bound.status)?, r#"{"phase":"Bound","capacity":{"storage":"5Gi"}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mark_claim_bound(
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
    features: Features,
) -> Result<Edit<PersistentVolumeClaim>, ClaimStatusError> {
    let (state, event) = (ClaimState::of(claim), ClaimLifeEvent::VolumeBound);
    let phase = state.after(event)?.phase();
    if !volume.is_bound_to(claim) {
        let reason = ClaimLifeRefusalReason::VolumeNotBound;
        return Err(ClaimLifeRefusal {
            state,
            event,
            reason,
        }
        .into());
    }
    let phase_changes = claim.status.phase != phase;
    let modes = volume.access_modes();
    if !phase_changes && claim.status.access_modes.as_deref().unwrap_or_default() == modes {
        return Ok(Edit::Unchanged);
    }
    let storage = (volume.spec.capacity.as_ref()).and_then(|capacity| capacity.storage.as_ref());
    let mut bound = claim.clone();
    bound.status.access_modes = volume.spec.access_modes.clone();
    if phase_changes {
        let Some(storage) = storage else {
            return Err(ClaimStatusError::NoStorageCapacity {
                volume: volume.name().to_owned(),
            });
        };
        take_capacity(&mut bound, volume, storage);
        if features.volume_attributes_class && claim.status.phase == Some(ClaimPhase::Pending) {
            bound.status.current_volume_attributes_class_name =
                volume.spec.volume_attributes_class_name.clone();
        }
        bound.status.phase = phase;
    }
    Ok(Edit::Changed(bound))
}

fn take_capacity(claim: &mut PersistentVolumeClaim, volume: &PersistentVolume, storage: &Quantity) {
    let before_resize = volume.metadata.annotation(names::PRE_RESIZE_CAPACITY);
    let capacity = &mut claim.status.capacity;
    if let Some(text) = before_resize {
        let storage = text.parse().unwrap_or_else(|_| storage.clone());
        capacity.get_or_insert_with(ResourceList::default).storage = Some(storage);
    } else if capacity.as_ref().and_then(|has| has.storage.as_ref()) != Some(storage) {
        *capacity = volume.spec.capacity.clone();
    }
}

fn without_volume(
    claim: &PersistentVolumeClaim,
    event: ClaimLifeEvent,
) -> Result<Edit<PersistentVolumeClaim>, ClaimLifeRefusal> {
    let phase = ClaimState::of(claim).after(event)?.phase();
    let status = &claim.status;
    let is_bare = status.access_modes.as_ref().is_none_or(Vec::is_empty)
        && status.capacity.as_ref().is_none_or(ResourceList::is_empty)
        && status.current_volume_attributes_class_name.is_none();
    if is_bare && status.phase == phase {
        return Ok(Edit::Unchanged);
    }
    let mut claim = claim.clone();
    claim.status.phase = phase;
    claim.status.access_modes = None;
    claim.status.capacity = None;
    claim.status.current_volume_attributes_class_name = None;
    Ok(Edit::Changed(claim))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn claim(phase: &str, marked: bool, mut status: Value) -> PersistentVolumeClaim {
        if !phase.is_empty() {
            status["phase"] = json!(phase);
        }
        let annotations = match marked {
            true => json!({names::BIND_COMPLETED: "yes"}),
            false => json!({}),
        };
        let metadata = json!({"namespace": "shop", "name": "data", "uid": "u-1",
            "annotations": annotations});
        serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap()
    }

    fn volume(mut value: Value) -> PersistentVolume {
        value["spec"]["claimRef"] = json!({"namespace": "shop", "name": "data", "uid": "u-1"});
        serde_json::from_value(value).unwrap()
    }

    fn status_after(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> Value {
        let bound = mark_claim_bound(claim, volume, Features::default()).unwrap();
        serde_json::to_value(bound.applied_to(claim).status).unwrap()
    }

    #[test]
    fn a_claim_that_was_never_bound_cannot_be_lost() {
        for (phase, marked) in [("", false), ("Pending", false), ("Lost", false)] {
            let refused = mark_claim_lost(&claim(phase, marked, json!({}))).unwrap_err();
            assert_eq!(refused.reason, ClaimLifeRefusalReason::BindNotCompleted);
        }
    }

    #[test]
    fn a_bound_claim_cannot_wait_unless_its_mark_was_removed() {
        assert!(mark_claim_pending(&claim("Bound", true, json!({}))).is_err());
        assert!(
            mark_claim_pending(&claim("Bound", false, json!({})))
                .unwrap()
                .is_changed()
        );
    }

    #[test]
    fn a_claim_that_keeps_waiting_still_drops_what_is_not_its_own() {
        let stale = json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            "currentVolumeAttributesClassName": "gold", "conditions": []});
        let waits = mark_claim_pending(&claim("Pending", false, stale)).unwrap();
        let waits = waits.changed().unwrap();
        let status = serde_json::to_value(&waits.status).unwrap();
        assert_eq!(status, json!({"phase": "Pending", "conditions": []}));
        assert_eq!(mark_claim_pending(&waits).unwrap(), Edit::Unchanged);
    }

    #[test]
    fn a_claim_is_bound_only_to_a_volume_that_names_it() {
        let open = PersistentVolume::default();
        let error = mark_claim_bound(
            &claim("Pending", true, json!({})),
            &open,
            Features::default(),
        )
        .unwrap_err();
        let ClaimStatusError::Refused(refused) = error else {
            panic!("{error}");
        };
        assert_eq!(refused.reason, ClaimLifeRefusalReason::VolumeNotBound);
    }

    #[test]
    fn a_bound_claim_keeps_its_capacity_and_follows_the_access_modes() {
        let volume = volume(json!({"spec": {
            "accessModes": ["ReadWriteMany"], "capacity": {"storage": "5Gi"}}}));
        let bound = claim("Bound", true, json!({"capacity": {"storage": "1Gi"}}));
        assert_eq!(
            status_after(&bound, &volume),
            json!({"phase": "Bound", "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"}})
        );
    }

    #[test]
    fn the_capacity_before_a_resize_goes_first_and_junk_counts_as_none() {
        for (text, expected) in [("1Gi", "1Gi"), ("junk", "5Gi")] {
            let volume = volume(json!({
                "metadata": {"annotations": {names::PRE_RESIZE_CAPACITY: text}},
                "spec": {"capacity": {"storage": "5Gi", "iops": "100"}}}));
            let status = status_after(&claim("Pending", true, json!({})), &volume);
            assert_eq!(status["capacity"], json!({"storage": expected}));
        }
    }

    #[test]
    fn the_whole_capacity_is_taken_unless_the_storage_is_the_same() {
        let volume = volume(json!({"spec": {"capacity": {"storage": "5Gi", "iops": "100"}}}));
        let fresh = status_after(&claim("Pending", true, json!({})), &volume);
        assert_eq!(fresh["capacity"], json!({"storage": "5Gi", "iops": "100"}));
        let same = claim("Lost", true, json!({"capacity": {"storage": "5Gi"}}));
        assert_eq!(
            status_after(&same, &volume)["capacity"],
            json!({"storage": "5Gi"})
        );
    }

    #[test]
    fn a_volume_without_capacity_leaves_the_status_as_it_is() {
        let volume = volume(json!({}));
        let error = mark_claim_bound(
            &claim("Pending", true, json!({})),
            &volume,
            Features::default(),
        )
        .unwrap_err();
        assert!(matches!(error, ClaimStatusError::NoStorageCapacity { .. }));
        let bound = mark_claim_bound(
            &claim("Bound", true, json!({})),
            &volume,
            Features::default(),
        );
        assert_eq!(bound, Ok(Edit::Unchanged));
    }

    #[test]
    fn the_attributes_class_is_taken_only_from_pending_and_with_the_feature_on() {
        let volume = volume(json!({"spec": {
            "capacity": {"storage": "5Gi"}, "volumeAttributesClassName": "gold"}}));
        let class_after = |phase: &str, is_on| {
            let features = Features::default().with_volume_attributes_class(is_on);
            let claim = claim(phase, true, json!({}));
            let bound = mark_claim_bound(&claim, &volume, features).unwrap();
            bound
                .changed()
                .unwrap()
                .status
                .current_volume_attributes_class_name
        };
        assert_eq!(class_after("Pending", true).as_deref(), Some("gold"));
        assert_eq!(class_after("Pending", false), None);
        assert_eq!(class_after("", true), None);
        assert_eq!(class_after("Lost", true), None);
    }
}
