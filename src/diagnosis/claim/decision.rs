//! What the controller decides about a claim, read off its plan.

use std::sync::Arc;

use crate::api::{ClaimPhase, PersistentVolumeClaim};
use crate::controller::{Config, sync_claim};
use crate::plan::{Event, EventReason, EventType, Operation, Step, SyncError, Verdict, Write};
use crate::view::ClusterView;

/// What the controller decides about a claim.
pub(super) enum Decision {
    /// It has this volume.
    Bound(String),
    /// It gets this volume.
    Binds(String),
    /// It gets the default class, and is looked at again as this.
    DefaultClass(Arc<PersistentVolumeClaim>),
    /// It waits for a pod.
    WaitsForConsumer,
    /// It waits for its pods to be scheduled.
    WaitsForPods,
    /// No volume fits, and none is made.
    NoMatch,
    /// The volume that it names is another's.
    Taken {
        /// Whether the controller chose it once.
        was_chosen: bool,
    },
    /// The volume that it names does not fit: the controller's text.
    Mismatch(String),
    /// The volume that it names does not exist.
    WishMissing,
    /// A volume is to be made.
    Provision(Operation),
    /// None can be made: the controller's text.
    ProvisioningFails(String),
    /// None is made, as that is switched off.
    ProvisioningOff,
    /// It is lost.
    Lost,
    /// The sync ends with an error.
    Error(SyncError),
}

/// Syncs the claim, and reads the decision off the plan: no rule is known here.
pub(super) fn decide<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    claim: &PersistentVolumeClaim,
) -> Decision {
    let plan = sync_claim(config, view, claim);
    let mut after: Option<Arc<PersistentVolumeClaim>> = None;
    let mut event: Option<Event> = None;
    for step in plan.steps {
        match step {
            Step::Write {
                write: Write::Claim(change) | Write::ClaimStatus(change),
                ..
            } => {
                after = Some(change.to);
            }
            Step::Event(told) => event = Some(told),
            Step::Start(operation @ Operation::Provision { .. }) => {
                return Decision::Provision(operation);
            }
            _ => {}
        }
    }
    match plan.verdict {
        Verdict::Retry(SyncError::ClaimedByAnother { .. }) => {
            return Decision::Taken { was_chosen: true };
        }
        Verdict::Retry(error) => return Decision::Error(error),
        _ => {}
    }
    if let Some(event) = event {
        match event.reason {
            EventReason::WaitForFirstConsumer => return Decision::WaitsForConsumer,
            EventReason::WaitForPodScheduled => return Decision::WaitsForPods,
            EventReason::FailedBinding if event.event_type == EventType::Warning => {
                return Decision::Taken { was_chosen: false };
            }
            EventReason::FailedBinding => return Decision::NoMatch,
            EventReason::VolumeMismatch => return Decision::Mismatch(event.message),
            EventReason::ProvisioningFailed => return Decision::ProvisioningFails(event.message),
            _ => {}
        }
    }
    let after_sync = after.as_deref().unwrap_or(claim);
    if after_sync.is_bind_completed() {
        let volume = after_sync.volume_name().to_owned();
        let phase = |claim: &PersistentVolumeClaim| claim.status.phase.clone();
        return if phase(after_sync) == Some(ClaimPhase::Lost) {
            Decision::Lost
        } else if claim.is_bind_completed() && phase(claim) == Some(ClaimPhase::Bound) {
            Decision::Bound(volume)
        } else {
            Decision::Binds(volume)
        };
    }
    match after {
        Some(after) if after.has_class() && !claim.has_class() => Decision::DefaultClass(after),
        _ if claim.volume_name().is_empty() => Decision::ProvisioningOff,
        _ => Decision::WishMissing,
    }
}
