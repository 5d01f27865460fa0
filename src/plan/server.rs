//! The API server as a plan sees it, and the synchronous driver.

use std::sync::Arc;

use super::{ApiError, Change, Event, Execution, FollowUp, Plan, Report, Step, Write};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};

/// The calls to the API server that plans need.
///
/// An update is sent either as a whole ([`Change::to`]) or as a merge patch
/// ([`Change::merge_patch`]); both hold the resourceVersion, so that the API
/// server refuses what is based on an old version. Each update and creation
/// returns the object as the API server then has it.
///
/// For tests and simulations there is one in memory,
/// [`MemoryServer`](crate::controller::MemoryServer). A client of a real one, over
/// anything that sends a request and returns the answer's status and body:
///
/// ```
/// use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
/// use pvbind::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event};
/// use serde::de::DeserializeOwned;
/// use serde_json::{Value, json};
///
/// struct Client<F>(F);
///
/// impl<F: FnMut(&str, &str, Value) -> (u16, Value)> Client<F> {
///     fn ask<T: DeserializeOwned>(&mut self, verb: &str, path: &str, body: Value) -> Result<T, ApiError> {
///         let (code, answer) = (self.0)(verb, path, body);
///         if code >= 300 {
///             let text = |field: &str| answer[field].as_str().unwrap_or_default();
///             let kind = ApiErrorKind::of_status(code, text("reason"));
///             return Err(ApiError::new(kind, text("message")));
///         }
///         serde_json::from_value(answer)
///             .map_err(|error| ApiError::new(ApiErrorKind::Other, error.to_string()))
///     }
///     fn read<T: DeserializeOwned>(&mut self, path: &str) -> Result<Option<T>, ApiError> {
///         match self.ask("GET", path, Value::Null) {
///             Err(error) if error.kind == ApiErrorKind::NotFound => Ok(None),
///             answer => answer.map(Some),
///         }
///     }
/// }
///
/// fn volume_path(name: &str) -> String {
///     format!("/api/v1/persistentvolumes/{name}")
/// }
/// fn claim_path(key: &ClaimKey) -> String {
///     format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", key.namespace, key.name)
/// }
///
/// impl<F: FnMut(&str, &str, Value) -> (u16, Value)> ApiServer for Client<F> {
///     fn update_volume(&mut self, change: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> {
///         self.ask("PATCH", &volume_path(change.to.name()), change.merge_patch())
///     }
///     fn update_volume_status(&mut self, change: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> {
///         self.ask("PATCH", &(volume_path(change.to.name()) + "/status"), change.merge_patch())
///     }
///     fn update_claim(&mut self, change: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> {
///         self.ask("PATCH", &claim_path(&change.to.key()), change.merge_patch())
///     }
///     fn update_claim_status(&mut self, change: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> {
///         self.ask("PATCH", &(claim_path(&change.to.key()) + "/status"), change.merge_patch())
///     }
///     fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> {
///         self.ask("POST", "/api/v1/persistentvolumes", json!(volume))
///     }
///     fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError> {
///         let metadata = &volume.metadata;
///         let conditions = json!({"uid": metadata.uid, "resourceVersion": metadata.resource_version});
///         let options = json!({"preconditions": conditions});
///         self.ask("DELETE", &volume_path(volume.name()), options).map(|_: Value| ())
///     }
///     fn record_event(&mut self, event: &Event) {
///         println!("{event}");
///     }
///     fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
///         self.read(&claim_path(key))
///     }
///     fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError> {
///         self.read(&volume_path(name))
///     }
/// }
///
/// let mut log = Vec::new();
/// let mut client = Client(|verb: &str, path: &str, body: Value| {
///     log.push(format!("{verb} {path} {body}"));
///     (404, json!({"reason": "NotFound", "message": r#"persistentvolumes "pv-1" not found"#}))
/// });
/// let volume: PersistentVolume = serde_json::from_value(json!({
///     "metadata": {"name": "pv-1", "uid": "u-1", "resourceVersion": "7"}}))?;
/// assert_eq!(client.read_volume("pv-1")?, None);
/// assert_eq!(client.delete_volume(&volume).unwrap_err().kind, ApiErrorKind::NotFound);
/// assert_eq!(log, [
///     "GET /api/v1/persistentvolumes/pv-1 null",
///     "DELETE /api/v1/persistentvolumes/pv-1 \
///      {\"preconditions\":{\"resourceVersion\":\"7\",\"uid\":\"u-1\"}}",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ApiServer {
    /// Updates a volume's metadata and spec. An API server takes nothing of the
    /// status here, and says nothing about that.
    ///
    /// # Errors
    /// What the API server answers instead: [`Conflict`](super::ApiErrorKind::Conflict)
    /// if the volume was written since. The plan ends with it, as its step says.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, VolumePhase};
    /// # use pvbind::controller::MemoryServer;
    /// # use pvbind::plan::{ApiErrorKind, ApiServer, Change};
    /// # let (mut server, mut to) = (MemoryServer::default(), PersistentVolume::default());
    /// # to.metadata.name = Some("pv-1".to_owned());
    /// let from = Arc::new(server.create_volume(&to)?);
    /// to.metadata.resource_version.clone_from(&from.metadata.resource_version);
    /// to.spec.storage_class_name = Some("fast".to_owned());
    /// to.status.phase = Some(VolumePhase::Available);
    /// let change = Change { from, to: Arc::new(to) };
    /// let written = server.update_volume(&change)?;
    /// assert_eq!(written.class_name(), "fast");
    /// assert_eq!(written.status.phase, Some(VolumePhase::Pending)); // as created
    /// // That was the version of the creation; by now it is an old one.
    /// assert_eq!(server.update_volume(&change).unwrap_err().kind, ApiErrorKind::Conflict);
    /// # Ok::<(), pvbind::plan::ApiError>(())
    /// ```
    fn update_volume(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError>;

    /// Updates a volume's status, of which alone an API server takes anything here.
    ///
    /// # Errors
    /// As of [`update_volume`](Self::update_volume).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, VolumePhase};
    /// # use pvbind::controller::MemoryServer;
    /// # use pvbind::plan::{ApiServer, Change};
    /// # let (mut server, mut to) = (MemoryServer::default(), PersistentVolume::default());
    /// # to.metadata.name = Some("pv-1".to_owned());
    /// let from = Arc::new(server.create_volume(&to)?);
    /// to.spec.storage_class_name = Some("fast".to_owned());
    /// to.status.phase = Some(VolumePhase::Available);
    /// let written = server.update_volume_status(&Change { from, to: Arc::new(to) })?;
    /// assert_eq!(written.class_name(), "");
    /// assert_eq!(written.status.phase, Some(VolumePhase::Available));
    /// # Ok::<(), pvbind::plan::ApiError>(())
    /// ```
    fn update_volume_status(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError>;

    /// Updates a claim's metadata and spec; as with a volume, nothing of its status.
    ///
    /// # Errors
    /// As of [`update_volume`](Self::update_volume).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{ClaimPhase, PersistentVolumeClaim};
    /// # use pvbind::controller::MemoryServer;
    /// # use pvbind::plan::{ApiServer, Change};
    /// # let (mut server, mut to) = (MemoryServer::default(), PersistentVolumeClaim::default());
    /// let from = Arc::new(server.create_claim(&to)?);
    /// to.spec.volume_name = Some("pv-1".to_owned());
    /// to.status.phase = Some(ClaimPhase::Bound);
    /// let written = server.update_claim(&Change { from, to: Arc::new(to) })?;
    /// assert_eq!(written.volume_name(), "pv-1");
    /// assert_eq!(written.status.phase, Some(ClaimPhase::Pending)); // as created
    /// # Ok::<(), pvbind::plan::ApiError>(())
    /// ```
    fn update_claim(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError>;

    /// Updates a claim's status, and nothing else of it.
    ///
    /// # Errors
    /// As of [`update_volume`](Self::update_volume).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{ClaimPhase, PersistentVolumeClaim};
    /// # use pvbind::controller::MemoryServer;
    /// # use pvbind::plan::{ApiServer, Change};
    /// # let (mut server, mut to) = (MemoryServer::default(), PersistentVolumeClaim::default());
    /// let from = Arc::new(server.create_claim(&to)?);
    /// to.spec.volume_name = Some("pv-1".to_owned());
    /// to.status.phase = Some(ClaimPhase::Bound);
    /// let written = server.update_claim_status(&Change { from, to: Arc::new(to) })?;
    /// assert_eq!(written.volume_name(), "");
    /// assert_eq!(written.status.phase, Some(ClaimPhase::Bound));
    /// # Ok::<(), pvbind::plan::ApiError>(())
    /// ```
    fn update_claim_status(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError>;

    /// Creates a volume. It is called again, at once, as often as the step says; say
    /// [`AlreadyExists`](super::ApiErrorKind::AlreadyExists) where that is so, which counts
    /// as success.
    ///
    /// # Errors
    /// What the API server answers instead.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # use pvbind::controller::MemoryServer;
    /// # use pvbind::plan::*;
    /// # let (mut server, volume) = (MemoryServer::default(), PersistentVolume::default());
    /// # let write = Write::CreateVolume { volume: Box::new(volume.clone()), attempts: 5 };
    /// # let step = Step::Write { write, on_failure: OnFailure::Stop(WriteContext::Plain) };
    /// # let plan = Plan { steps: vec![step], verdict: Verdict::Settled };
    /// // A controller that ended before it heard the answer:
    /// server.create_volume(&volume)?;
    /// assert_eq!(server.create_volume(&volume).unwrap_err().kind, ApiErrorKind::AlreadyExists);
    /// // The next one's plan to create it goes on, after one attempt.
    /// let report = carry_out(&mut server, plan);
    /// assert_eq!((report.done.len(), report.error()), (1, None));
    /// # Ok::<(), ApiError>(())
    /// ```
    fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError>;

    /// Deletes a volume, with its uid and resourceVersion as preconditions: what was
    /// decided holds for this object, and not for one that has taken its name or was
    /// written since.
    ///
    /// # Errors
    /// What the API server answers instead. An operation ignores it: the next sync
    /// of the volume starts it again.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # use pvbind::controller::MemoryServer;
    /// # use pvbind::plan::{ApiErrorKind, ApiServer};
    /// # let (mut server, named) = (MemoryServer::default(), PersistentVolume::default());
    /// let first = server.create_volume(&named)?;
    /// server.delete_volume(&first)?;
    /// let second = server.create_volume(&named)?;
    /// // It has the same name, and is another one.
    /// assert_eq!(server.delete_volume(&first).unwrap_err().kind, ApiErrorKind::Conflict);
    /// assert_eq!(server.delete_volume(&second), Ok(()));
    /// # Ok::<(), pvbind::plan::ApiError>(())
    /// ```
    fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError>;

    /// Records an event. Nothing depends on whether that succeeds.
    ///
    /// A claim that waits is told about at every sync, so count what repeats, as
    /// Kubernetes' own recorder does:
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use pvbind::api::PersistentVolumeClaim;
    /// # use pvbind::controller::{Config, MemoryServer, sync_claim};
    /// # use pvbind::plan::carry_out;
    /// # let claim = serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "data"}}"#)?;
    /// # let (config, mut server) = (Config::default(), MemoryServer::default());
    /// # let claim = server.create_claim(&claim)?;
    /// for _ in 0..2 {
    ///     let plan = sync_claim(&config, server.snapshot(), &claim);
    ///     let _report = carry_out(&mut server, plan);
    /// }
    /// let mut counts = BTreeMap::new();
    /// for event in server.events() {
    ///     *counts.entry(format!("{} {}", event.reason, event.key())).or_insert(0) += 1;
    /// }
    /// assert_eq!(counts["FailedBinding shop/data"], 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn record_event(&mut self, event: &Event);

    /// Reads a claim, from the API server itself and not from a cache; `None` if it
    /// answers that there is none, and only then: a 404 without the reason
    /// `NotFound`, from a proxy that knows no such path, says nothing about the claim.
    ///
    /// # Errors
    /// Any other answer, or none: the sync of the volume ends then, and nothing is
    /// written.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolumeClaim;
    /// # use pvbind::plan::{ApiError, ApiErrorKind};
    /// /// What an answer other than 200 comes to.
    /// fn not_read(code: u16, reason: &str) -> Result<Option<PersistentVolumeClaim>, ApiError> {
    ///     match ApiErrorKind::of_status(code, reason) {
    ///         ApiErrorKind::NotFound => Ok(None),
    ///         kind => Err(ApiError::new(kind, "the claim cannot be read")),
    ///     }
    /// }
    /// assert_eq!(not_read(404, "NotFound"), Ok(None));
    /// assert!(not_read(404, "").is_err());
    /// ```
    fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError>;

    /// Reads a volume, from the API server itself and not from a cache; `None` if it
    /// answers that there is none. An operation asks so, right before it has data
    /// deleted.
    ///
    /// # Errors
    /// Any other answer, or none: the operation ends then, and the next sync of the
    /// object starts it again.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolume;
    /// # use pvbind::controller::MemoryServer;
    /// # use pvbind::plan::ApiServer;
    /// # let (mut server, mut volume) = (MemoryServer::default(), PersistentVolume::default());
    /// # volume.metadata.name = Some("pv-1".to_owned());
    /// let volume = server.create_volume(&volume)?;
    /// let cache = server.snapshot().clone();
    /// server.delete_volume(&volume)?;
    /// // A cache may not have heard of it yet.
    /// assert!(cache.find::<PersistentVolume>("", "pv-1").is_some());
    /// assert_eq!(server.read_volume("pv-1")?, None);
    /// # Ok::<(), pvbind::plan::ApiError>(())
    /// ```
    fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError>;
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
/// use pvbind::api::{ClaimPhase, PersistentVolume, PersistentVolumeClaim};
/// use pvbind::controller::{Config, MemoryServer, sync_claim};
/// use pvbind::plan::{End, Verdict, Written, carry_out};
/// let mut server = MemoryServer::default();
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"name": "pv-1"}, "spec": {"capacity": {"storage": "5Gi"}},
///     "status": {"phase": "Available"}}))?;
/// server.put(volume);
/// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
///     "metadata": {"namespace": "shop", "name": "data"}, "spec": {"volumeName": "pv-1"}}))?;
/// let claim = server.create_claim(&claim)?;
/// let plan = sync_claim(&Config::default(), server.snapshot(), &claim);
/// let report = carry_out(&mut server, plan);
/// // The volume, its status, the claim, its status.
/// assert_eq!(report.writes(), 4);
/// let Ok(Written::Claim(claim)) = &report.done[3].result else { panic!() };
/// assert_eq!(claim.status.phase, Some(ClaimPhase::Bound));
/// assert_eq!(report.end, End::Finished(Verdict::Settled));
/// # Ok::<(), Box<dyn std::error::Error>>(())
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
