//! Where a failed call left things.

use std::fmt;

/// Where a failed call left things.
///
/// A driver without gRPC that cannot tell, as after a timeout or a broken
/// connection, says [`InBackground`](Self::InBackground): asked once too often, it
/// gives the same volume, but one that is forgotten belongs to nobody.
///
/// ```
/// use pvbind::provisioner::CallState;
/// // ABORTED: an operation on the volume is pending.
/// assert_eq!(CallState::after_status(10, false), CallState::InBackground);
/// // RESOURCE_EXHAUSTED: no room in the accessible topology.
/// assert_eq!(CallState::after_status(8, true), CallState::Reschedule);
/// assert_eq!(CallState::after_status(8, false), CallState::Finished);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallState {
    /// It is over; nothing was made.
    Finished,
    /// The driver may still be at it, or the volume may be there: it must be
    /// asked again even if the claim goes.
    InBackground,
    /// It was not made at all; what was in progress still is.
    NoChange,
    /// It is over, and there may be room elsewhere: the scheduler is to choose
    /// another node.
    Reschedule,
}

impl CallState {
    /// The state after a gRPC status of this number other than
    /// INVALID_ARGUMENT (3), by what the CSI specification says of
    /// CreateVolume. An INVALID_ARGUMENT is [infeasible](super::CreateVolume::infeasible).
    ///
    /// `may_reschedule` is [`CreateVolume::may_reschedule`](super::CreateVolume::may_reschedule).
    ///
    /// - CANCELLED (1), DEADLINE_EXCEEDED (4), UNAVAILABLE (14): nobody knows
    ///   whether the driver is still at it; ABORTED (10): it is. In background.
    /// - RESOURCE_EXHAUSTED (8): there is no room where it was asked for, and
    ///   nothing was made; the scheduler is to choose another place, or if it
    ///   cannot, the claim is tried again later: finished.
    /// - OK (0) is no failure: whoever takes it for one has lost an answer, and
    ///   there may be a volume. In background.
    /// - any other: finished.
    ///
    /// Follows external-provisioner 6, where RESOURCE_EXHAUSTED became final
    /// with version 3.1.
    ///
    /// ```
    /// use pvbind::provisioner::CallState;
    /// // INTERNAL: the driver says that it failed. DEADLINE_EXCEEDED: nobody knows.
    /// assert_eq!(CallState::after_status(13, false), CallState::Finished);
    /// assert_eq!(CallState::after_status(4, false), CallState::InBackground);
    /// // OK as a failure: an answer was lost, and with it perhaps a volume.
    /// assert_eq!(CallState::after_status(0, false), CallState::InBackground);
    /// ```
    pub fn after_status(code: u32, may_reschedule: bool) -> CallState {
        match code {
            8 if may_reschedule => CallState::Reschedule,
            0 | 1 | 4 | 10 | 14 => CallState::InBackground,
            _ => CallState::Finished,
        }
    }
}

pub(super) const INVALID_ARGUMENT: u32 = 3;

/// The name of a gRPC status, as gRPC's library for Go has it.
pub(super) struct StatusName(pub(super) u32);

impl fmt::Display for StatusName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            0 => "OK",
            1 => "Canceled",
            2 => "Unknown",
            3 => "InvalidArgument",
            4 => "DeadlineExceeded",
            5 => "NotFound",
            6 => "AlreadyExists",
            7 => "PermissionDenied",
            8 => "ResourceExhausted",
            9 => "FailedPrecondition",
            10 => "Aborted",
            11 => "OutOfRange",
            12 => "Unimplemented",
            13 => "Internal",
            14 => "Unavailable",
            15 => "DataLoss",
            16 => "Unauthenticated",
            other => return write!(f, "Code({other})"),
        })
    }
}
