//! The steps of a plan.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{Change, Event, Operation};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Write to the API server.
    Write {
        /// What to write.
        write: Write,
        /// What follows if that fails.
        on_failure: OnFailure,
    },
    /// Record an event.
    Event(Event),
    /// Sync this claim soon.
    EnqueueClaim(ClaimKey),
    /// Start an operation, unless one of the same name is still going on.
    Start(Operation),
}

impl Step {
    /// Whether the step writes to the API server.
    pub fn is_write(&self) -> bool {
        matches!(self, Step::Write { .. })
    }
}

/// A write to the API server. Spec and metadata are one write, the status is
/// another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Write {
    /// Update a volume.
    Volume(Change<PersistentVolume>),
    /// Update a volume's status.
    VolumeStatus(Change<PersistentVolume>),
    /// Update a claim.
    Claim(Change<PersistentVolumeClaim>),
    /// Update a claim's status.
    ClaimStatus(Change<PersistentVolumeClaim>),
    /// Create a volume. One that exists already is as good.
    CreateVolume {
        /// The volume.
        volume: Box<PersistentVolume>,
        /// How often to try before it counts as failed.
        attempts: u32,
    },
    /// Delete a volume's object, with its uid and resourceVersion as
    /// preconditions.
    DeleteVolume(Arc<PersistentVolume>),
}

impl Write {
    /// The resource: `persistentvolumes` or `persistentvolumeclaims`.
    pub fn resource(&self) -> &'static str {
        match self {
            Write::Volume(_)
            | Write::VolumeStatus(_)
            | Write::CreateVolume { .. }
            | Write::DeleteVolume(_) => "persistentvolumes",
            Write::Claim(_) | Write::ClaimStatus(_) => "persistentvolumeclaims",
        }
    }

    /// The subresource: `status` or "".
    pub fn subresource(&self) -> &'static str {
        match self {
            Write::VolumeStatus(_) | Write::ClaimStatus(_) => "status",
            _ => "",
        }
    }

    /// `NAMESPACE/NAME` of the object, or just the name of a volume.
    pub fn key(&self) -> String {
        match self {
            Write::Volume(change) | Write::VolumeStatus(change) => change.to.metadata.key(),
            Write::Claim(change) | Write::ClaimStatus(change) => change.to.metadata.key(),
            Write::CreateVolume { volume, .. } => volume.metadata.key(),
            Write::DeleteVolume(volume) => volume.metadata.key(),
        }
    }

    /// The JSON merge patch (RFC 7386) that an update amounts to, with the
    /// resourceVersion as precondition; `None` for creation and deletion. See
    /// [`Change::merge_patch`].
    pub fn merge_patch(&self) -> Option<Value> {
        match self {
            Write::Volume(change) | Write::VolumeStatus(change) => Some(change.merge_patch()),
            Write::Claim(change) | Write::ClaimStatus(change) => Some(change.merge_patch()),
            Write::CreateVolume { .. } | Write::DeleteVolume(_) => None,
        }
    }
}

/// What follows if a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFailure {
    /// Nothing after it is done; the sync ends with an error in this context.
    Stop(WriteContext),
    /// Nothing after it is done, and nobody is told: an operation ends so, and
    /// the next sync starts it again.
    StopSilently,
    /// The plan goes on.
    Ignore,
    /// Nothing after it is done, but what follows the plan goes on, and hears
    /// of it: see [`FollowUp`](super::FollowUp).
    Tell,
}

/// What a write was for, where its failure is told with that in front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteContext {
    /// Nothing stands in front.
    #[default]
    Plain,
    /// The migration annotation of a claim.
    ClaimMigration,
    /// The migration annotation or finalizers of a volume.
    VolumeMigration,
    /// The default class of a claim.
    DefaultClass,
}

/// A write that failed. `Display` is upstream's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", Prefix(self))]
pub struct WriteFailure {
    /// What the write was for.
    pub context: WriteContext,
    /// `NAMESPACE/NAME` of the object, or just the name of a volume.
    pub object: String,
    /// What the API server said.
    pub message: String,
}

struct Prefix<'a>(&'a WriteFailure);

impl fmt::Display for Prefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.context {
            WriteContext::Plain => Ok(()),
            WriteContext::ClaimMigration => {
                f.write_str("persistent Volume Controller can't anneal migration annotations: ")
            }
            WriteContext::VolumeMigration => f.write_str(
                "persistent Volume Controller can't anneal migration annotations or finalizer: ",
            ),
            WriteContext::DefaultClass => {
                write!(
                    f,
                    "can't update PersistentVolumeClaim[{:?}]: ",
                    self.0.object
                )
            }
        }
    }
}
