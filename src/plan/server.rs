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
///
/// An API server in memory, for tests and simulations:
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim, read_objects};
/// use pvbind::controller::{Config, run_volume_sync};
/// use pvbind::plan::{ApiError, ApiServer, Change, Event};
/// use pvbind::view::{ClusterView, Snapshot};
///
/// struct Memory(Snapshot);
///
/// impl Memory {
///     fn keep_volume(&mut self, volume: PersistentVolume) -> Result<PersistentVolume, ApiError> {
///         self.0.apply(Arc::new(volume.clone()));
///         Ok(volume)
///     }
///     fn keep_claim(
///         &mut self,
///         claim: PersistentVolumeClaim,
///     ) -> Result<PersistentVolumeClaim, ApiError> {
///         self.0.apply(Arc::new(claim.clone()));
///         Ok(claim)
///     }
/// }
///
/// impl ApiServer for Memory {
///     fn update_volume(
///         &mut self,
///         change: &Change<PersistentVolume>,
///     ) -> Result<PersistentVolume, ApiError> {
///         self.keep_volume(PersistentVolume::clone(&change.to))
///     }
///     fn update_claim(
///         &mut self,
///         change: &Change<PersistentVolumeClaim>,
///     ) -> Result<PersistentVolumeClaim, ApiError> {
///         self.keep_claim(PersistentVolumeClaim::clone(&change.to))
///     }
///     // A real one writes nothing but the status here, and nothing of it above.
///     fn update_volume_status(
///         &mut self,
///         change: &Change<PersistentVolume>,
///     ) -> Result<PersistentVolume, ApiError> {
///         self.update_volume(change)
///     }
///     fn update_claim_status(
///         &mut self,
///         change: &Change<PersistentVolumeClaim>,
///     ) -> Result<PersistentVolumeClaim, ApiError> {
///         self.update_claim(change)
///     }
///     fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> {
///         self.keep_volume(volume.clone())
///     }
///     fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError> {
///         self.0.delete(volume);
///         Ok(())
///     }
///     fn record_event(&mut self, event: &Event) {
///         println!("{event}");
///     }
///     fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
///         Ok(self.0.claim(&key.namespace, &key.name).map(|claim| PersistentVolumeClaim::clone(&claim)))
///     }
///     fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError> {
///         Ok(self.0.volume(name).map(|volume| PersistentVolume::clone(&volume)))
///     }
/// }
///
/// // A bound volume whose claim nobody has: it is released.
/// let cluster: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
///      "spec": {"persistentVolumeReclaimPolicy": "Retain",
///               "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#)?
/// .into_iter()
/// .collect();
/// let volume = cluster.find::<PersistentVolume>("", "pv-1").cloned().unwrap();
/// let mut server = Memory(cluster);
/// let report = run_volume_sync(&Config::default(), &Snapshot::new(), &mut server, &volume)?;
/// assert_eq!(report.writes(), 1);
/// let phase = server.read_volume("pv-1")?.unwrap().status.phase;
/// assert_eq!(phase.unwrap().as_str(), "Released");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// ```
/// use pvbind::plan::{ApiError, ApiErrorKind};
/// let error = ApiError::new(ApiErrorKind::Other, "timed out");
/// assert_eq!(error.to_string(), "timed out");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What kind of error it is.
    pub kind: ApiErrorKind,
    /// What the API server said; it reaches events and errors as it is.
    pub message: String,
}

impl ApiError {
    /// The error of this kind, with what the API server said.
    pub fn new(kind: ApiErrorKind, message: impl Into<String>) -> Self {
        ApiError {
            kind,
            message: message.into(),
        }
    }
}

/// The kinds of errors that plans tell apart.
///
/// [`of_status`](ApiErrorKind::of_status) makes one of an HTTP answer.
///
/// ```
/// use pvbind::plan::ApiErrorKind;
/// // Of these a plan takes one for success: the volume that it wanted created is there.
/// assert_eq!(ApiErrorKind::of_status(409, "AlreadyExists"), ApiErrorKind::AlreadyExists);
/// assert_eq!(ApiErrorKind::of_status(409, "Conflict"), ApiErrorKind::Conflict);
/// assert_eq!(ApiErrorKind::of_status(429, "TooManyRequests"), ApiErrorKind::Other);
/// ```
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

impl ApiErrorKind {
    /// The kind of what an API server answered: the HTTP status code and the
    /// field `reason` of the `Status` in the body ("" if there was none).
    ///
    /// A 404 without the reason `NotFound` says that the path is wrong, not that
    /// the object is gone, and is [`Other`](ApiErrorKind::Other): volumes are
    /// released on the answer that a claim is gone.
    ///
    /// ```
    /// use pvbind::plan::ApiErrorKind;
    /// assert_eq!(ApiErrorKind::of_status(404, "NotFound"), ApiErrorKind::NotFound);
    /// assert_eq!(ApiErrorKind::of_status(404, ""), ApiErrorKind::Other);
    /// ```
    pub fn of_status(code: u16, reason: &str) -> Self {
        match (code, reason) {
            (409, "AlreadyExists") => ApiErrorKind::AlreadyExists,
            (409, _) => ApiErrorKind::Conflict,
            (404, "NotFound") => ApiErrorKind::NotFound,
            _ => ApiErrorKind::Other,
        }
    }
}

/// What a step returned.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::plan::{Write, Written};
/// /// What a client that changes nothing answers, as in a dry run.
/// fn pretend(write: &Write) -> Written {
///     match write {
///         Write::Volume(change) | Write::VolumeStatus(change) => Written::Volume(Arc::clone(&change.to)),
///         Write::Claim(change) | Write::ClaimStatus(change) => Written::Claim(Arc::clone(&change.to)),
///         Write::CreateVolume { volume, .. } => Written::Volume(Arc::new((**volume).clone())),
///         _ => Written::Nothing,
///     }
/// }
/// # let volume = Arc::new(pvbind::api::PersistentVolume::default());
/// # assert_eq!(pretend(&Write::DeleteVolume(volume)), Written::Nothing);
/// ```
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
///
/// ```
/// use pvbind::api::*;
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::*;
/// use pvbind::view::Snapshot;
/// #[derive(Default)]
/// struct Server { events: Vec<String> }
/// # macro_rules! echo { ($($name:ident($T:ty)),*) => {$(
/// #     fn $name(&mut self, change: &Change<$T>) -> Result<$T, ApiError> { Ok((*change.to).clone()) }
/// # )*} }
/// # impl ApiServer for Server {
/// #     echo!(update_volume(PersistentVolume), update_volume_status(PersistentVolume));
/// #     echo!(update_claim(PersistentVolumeClaim), update_claim_status(PersistentVolumeClaim));
/// #     fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> { Ok(volume.clone()) }
/// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { Ok(()) }
/// #     fn record_event(&mut self, event: &Event) { self.events.push(event.to_string()); }
/// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { Ok(None) }
/// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { Ok(None) }
/// # }
/// // `impl ApiServer for Server`: see `ApiServer`.
/// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
///     "metadata": {"namespace": "shop", "name": "data"}, "spec": {"volumeName": "pv-1"}}))?;
/// let mut server = Server::default();
/// let plan = sync_claim(&Config::default(), &Snapshot::new(), &claim);
/// let report = carry_out(&mut server, plan);
/// // The volume that the claim names is not there yet: it waits, without a word.
/// assert_eq!(report.writes(), 1);
/// assert_eq!(server.events, [] as [&str; 0]);
/// let Ok(Written::Claim(claim)) = &report.done[0].result else { panic!() };
/// assert_eq!(claim.status.phase, Some(ClaimPhase::Pending));
/// assert_eq!(report.end, End::Finished(Verdict::Settled));
/// # Ok::<(), serde_json::Error>(())
/// ```
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
