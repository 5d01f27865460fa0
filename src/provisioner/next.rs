//! What a claim's sync waits for, and how it ends.

use super::{AnswerError, CallState, CreateVolume, NotNow, ProvisionError};
use crate::plan::{FollowUp, Plan};

/// What a claim's sync waits for, once its plan is carried out. Each value takes
/// its answer, and gives the next plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "a sync goes on only when it is answered"]
pub enum ClaimNext {
    /// Nothing: the sync is over.
    Over(ClaimEnd),
    /// A volume from the driver.
    CreateVolume(CreateVolume),
    /// That the driver deletes a volume that it should not have made.
    CleanUp(CleanUp),
}

impl FollowUp for ClaimNext {
    fn write_failed(&mut self, message: &str) {
        let ClaimNext::Over(end) = self else {
            return;
        };
        // A volume that the driver made and the API server does not know of
        // must not be forgotten.
        if matches!(end.outcome, Ok(ClaimOutcome::Provisioned { .. })) {
            end.progress = Progress::InBackground;
        }
        let message = message.to_owned();
        end.outcome = Err(ProvisionError::Write { message });
    }
}

/// How a claim's sync ended.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ClaimEnd {
    /// What came of it. An error means that the claim is to be tried again, how
    /// much later says the [`Ledger`](super::Ledger); anything else, that it is
    /// not, until it or its class changes.
    pub outcome: Result<ClaimOutcome, ProvisionError>,
    /// Whether the claim is in progress now.
    pub progress: Progress,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimOutcome {
    /// It is not to be provisioned, or not now.
    NotNow(NotNow),
    /// Its volume is known already.
    VolumeKnown {
        /// The volume.
        volume: String,
    },
    /// It asks for a raw device, and the driver cannot make one.
    NoBlockSupport,
    /// The provisioner of its class is somebody else, although the claim names
    /// us.
    ClassOfAnother {
        /// Who.
        provisioner: String,
    },
    /// The driver, or a populator in its stead, left it alone.
    Ignored {
        /// Why.
        reason: String,
    },
    /// The scheduler is to choose another node.
    Rescheduled,
    /// Its volume was made.
    Provisioned {
        /// The volume.
        volume: String,
    },
}

impl ClaimOutcome {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            ClaimOutcome::NotNow(refusal) => refusal.code(),
            ClaimOutcome::VolumeKnown { .. } => "volume-known",
            ClaimOutcome::NoBlockSupport => "no-block-support",
            ClaimOutcome::ClassOfAnother { .. } => "class-of-another",
            ClaimOutcome::Ignored { .. } => "ignored",
            ClaimOutcome::Rescheduled => "rescheduled",
            ClaimOutcome::Provisioned { .. } => "provisioned",
        }
    }
}

/// Whether a claim is in progress after a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Progress {
    /// No: nothing of it is left with the driver.
    Finished,
    /// Yes: it must be continued, even if it is deleted.
    InBackground,
    /// As before.
    Unchanged,
}

/// A volume that the driver made and that does not serve: it is to be deleted
/// in the backend. See [`ClaimNext::CleanUp`].
#[derive(Clone, Debug, PartialEq)]
pub struct CleanUp {
    operation: CreateVolume,
    volume_id: String,
    error: AnswerError,
}

impl CleanUp {
    pub(super) fn new(operation: CreateVolume, volume_id: String, error: AnswerError) -> Self {
        CleanUp {
            operation,
            volume_id,
            error,
        }
    }

    /// The driver's name for the volume.
    pub fn volume_id(&self) -> &str {
        &self.volume_id
    }

    /// The operation that made it: for its secret.
    pub fn operation(&self) -> &CreateVolume {
        &self.operation
    }

    /// Why it does not serve.
    pub fn error(&self) -> &AnswerError {
        &self.error
    }

    /// The driver deleted it.
    pub fn deleted(self) -> Plan<ClaimNext> {
        let message = self.error.to_string();
        self.operation.failed(&message, CallState::Finished)
    }

    /// The driver could not delete it. The claim stays in progress: the next
    /// sync is given the same volume, and asks again.
    pub fn failed(self, message: &str) -> Plan<ClaimNext> {
        let (error, volume) = (&self.error, &self.volume_id);
        let message =
            format!("{error}. Cleanup of volume {volume} failed, volume is orphaned: {message}");
        self.operation.failed(&message, CallState::InBackground)
    }
}
