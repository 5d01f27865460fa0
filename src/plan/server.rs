//! The API server as a plan sees it, and the synchronous driver.

use std::sync::Arc;

use super::{Change, Event, Execution, FollowUp, Plan, Report, Step, Write};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};

/// The calls to the API server that plans need.
///
/// An update is sent either as a whole ([`Change::to`]) or as a merge patch
/// ([`Change::merge_patch`]); both hold the resourceVersion, so that the API
/// server refuses what is based on an old version. Each update and creation
/// returns the object as the API server then has it.
pub trait ApiServer {
    /// Updates a volume's metadata and spec.
    ///
    /// # Errors
    /// What the API server answers instead; so for all methods.
    fn update_volume(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError>;

    /// Updates a volume's status.
    fn update_volume_status(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError>;

    /// Updates a claim's metadata and spec.
    fn update_claim(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError>;

    /// Updates a claim's status.
    fn update_claim_status(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError>;

    /// Creates a volume.
    fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError>;

    /// Deletes a volume, with its uid and resourceVersion as preconditions.
    fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError>;

    /// Records an event. Nothing depends on whether that succeeds.
    fn record_event(&mut self, event: &Event);

    /// Reads a claim; `None` if there is none.
    fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError>;

    /// Reads a volume; `None` if there is none.
    fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError>;
}

/// What the API server answers instead of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What kind of error it is.
    pub kind: ApiErrorKind,
    /// What the API server said; it reaches events and errors as it is.
    pub message: String,
}

/// The kinds of errors that plans tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApiErrorKind {
    /// The object was changed since it was read.
    Conflict,
    /// An object of this name exists already.
    AlreadyExists,
    /// There is no such object, or not any more. No plan treats it as anything
    /// but a failure, as upstream does: the next sync sees what is there.
    NotFound,
    /// Anything else.
    Other,
}

/// What a step returned.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Written {
    /// Nothing, as for an event or a deletion.
    Nothing,
    /// A volume as the API server has it now.
    Volume(Arc<PersistentVolume>),
    /// A claim as the API server has it now.
    Claim(Arc<PersistentVolumeClaim>),
}

/// Carries out a plan in order, up to the first failure that stops it.
///
/// Enqueued claims and started operations are left to the caller: they stand in
/// the [`Report`].
///
/// Cost: see [`Execution`].
pub fn carry_out<V: FollowUp>(server: &mut (impl ApiServer + ?Sized), plan: Plan<V>) -> Report<V> {
    let mut execution = Execution::new(plan);
    while let Some(step) = execution.step() {
        let result = match step {
            Step::Write { write, .. } => send(server, write),
            Step::Event(event) => {
                server.record_event(event);
                Ok(Written::Nothing)
            }
            Step::EnqueueClaim(_) | Step::Start(_) => Ok(Written::Nothing),
        };
        execution.answer(result);
    }
    execution.finish()
}

fn send(server: &mut (impl ApiServer + ?Sized), write: &Write) -> Result<Written, ApiError> {
    let volume = |volume| Written::Volume(Arc::new(volume));
    let claim = |claim| Written::Claim(Arc::new(claim));
    match write {
        Write::Volume(change) => server.update_volume(change).map(volume),
        Write::VolumeStatus(change) => server.update_volume_status(change).map(volume),
        Write::Claim(change) => server.update_claim(change).map(claim),
        Write::ClaimStatus(change) => server.update_claim_status(change).map(claim),
        Write::CreateVolume {
            volume: created, ..
        } => server.create_volume(created).map(volume),
        Write::DeleteVolume(volume) => server.delete_volume(volume).map(|()| Written::Nothing),
    }
}
