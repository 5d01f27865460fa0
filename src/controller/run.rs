//! Operations carried out: the synchronous driver.

use std::sync::Arc;

use super::{Backend, ClaimEvidence, Config, DeleteError, Next, begin, sync_volume};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use crate::plan::{
    ApiError, ApiErrorKind, ApiServer, Done, End, Operation, Plan, Report, SyncError, Verdict,
    WriteFailure, carry_out,
};
use crate::view::ClusterView;

/// What was done in an operation.
///
/// ```
/// # use std::sync::Arc;
/// # use pvbind::api::{PersistentVolume, StorageClass};
/// # use pvbind::controller::{Backend, Config, DeleteError, InTreePlugin, MemoryServer, ProvisionRequest};
/// use pvbind::controller::{OperationEnd, OperationReport, run_operation};
/// use pvbind::plan::Operation;
/// # use pvbind::view::Snapshot;
/// # let (mut config, mut view) = (Config::default(), Snapshot::new());
/// # config.plugins.push(InTreePlugin { can_delete: true, ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"]) });
/// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
/// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"},
/// #     "spec": {"persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/exports/1"},
/// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
/// # let volume = Arc::new(volume);
/// # view.apply(Arc::clone(&volume));
/// # let mut server = MemoryServer::new(view.clone());
/// # struct Nfs;
/// impl Backend for Nfs {
///     fn delete(&mut self, _plugin: &str, _: &PersistentVolume) -> Result<(), DeleteError> {
///         Err(DeleteError::Failed("the server is down".to_owned()))
///     }
/// #     fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> { panic!() }
/// #     fn provision(&mut self, _: &ProvisionRequest) -> Result<PersistentVolume, String> { panic!() }
/// #     fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> { panic!() }
/// }
/// let delete = Operation::Delete { volume };
/// let report: OperationReport = run_operation(&config, &view, &mut server, &mut Nfs, delete);
/// // The operation itself came to its end: it has told what the backend could not do.
/// assert_eq!(report.end, OperationEnd::Finished);
/// let steps: Vec<_> = report.done.iter().map(|done| done.step.to_string()).collect();
/// assert_eq!(steps, [
///     "update persistentvolumes/status pv-1", // its phase is Failed
///     "event Warning VolumeFailedDelete on PersistentVolume pv-1: the server is down",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct OperationReport {
    /// The steps that were tried, in order.
    pub done: Vec<Done>,
    /// How it ended.
    pub end: OperationEnd,
}

/// How an operation ended.
///
/// ```
/// use pvbind::controller::{OperationEnd, OperationReport};
/// let report = OperationReport { done: Vec::new(), end: OperationEnd::Finished };
/// assert_eq!(report.error(), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OperationEnd {
    /// It went to its end. A backend that failed is no error here: the
    /// operation told about it in an event, which stands in
    /// [`OperationReport::done`].
    Finished,
    /// A write failed; the next sync starts the operation again.
    WriteFailed(WriteFailure),
    /// The API server could not be asked; the next sync starts the operation
    /// again.
    ReadFailed(ApiError),
    /// A plan was cut off; the next sync starts the operation again.
    CutOff,
}

impl OperationReport {
    /// What ended the operation early, for the log; `None` if it went to its end,
    /// also where the backend failed: that is told in an event.
    ///
    /// ```
    /// use pvbind::controller::{OperationEnd, OperationReport};
    /// # use pvbind::plan::{WriteContext, WriteFailure};
    /// # let conflict = WriteFailure {
    /// #     context: WriteContext::Plain,
    /// #     object: "shop/data".to_owned(),
    /// #     message: "the object has been modified".to_owned(),
    /// # };
    /// let error = |end| OperationReport { done: Vec::new(), end }.error();
    /// assert_eq!(error(OperationEnd::Finished), None);
    /// // Upstream ends an operation without a word when a write fails.
    /// let end = OperationEnd::WriteFailed(conflict);
    /// assert_eq!(error(end).as_deref(), Some("the object has been modified"));
    /// assert_eq!(error(OperationEnd::CutOff).as_deref(), Some("the plan was cut off"));
    /// ```
    pub fn error(&self) -> Option<String> {
        match &self.end {
            OperationEnd::Finished => None,
            OperationEnd::WriteFailed(failure) => Some(failure.to_string()),
            OperationEnd::ReadFailed(error) => Some(error.to_string()),
            OperationEnd::CutOff => Some(SyncError::CutOff.to_string()),
        }
    }
}

/// Syncs a volume to its end: decides with [`sync_volume`], reads the claim from
/// the API server if the decision asks for it, decides again, and carries the
/// plan out. This is all of `syncVolume` of Kubernetes 1.36, which reads the
/// claim in its midst.
///
/// # Errors
/// The claim could not be read, or another one was read in its place. Nothing
/// was written then; try again later.
///
/// # Cost
/// That of [`sync_volume`], at most twice, of one read, and of carrying the plan
/// out.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, MemoryServer, run_volume_sync};
/// use pvbind::view::Snapshot;
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
///     "spec": {"persistentVolumeReclaimPolicy": "Delete",
///         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}))?;
/// let volume = Arc::new(volume);
/// let mut server = MemoryServer::default();
/// server.put(PersistentVolume::clone(&volume));
/// // The view has no such claim; that alone is not believed, and the server is asked.
/// let report = run_volume_sync(&Config::default(), &Snapshot::new(), &mut server, &volume)?;
/// assert_eq!(report.writes(), 1);
/// let names: Vec<_> = report.operations().map(|operation| operation.name()).collect();
/// assert_eq!(names, ["delete-pv-1[]"]); // to be run next: see `run_operation`
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run_volume_sync<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    server: &mut (impl ApiServer + ?Sized),
    volume: &Arc<PersistentVolume>,
) -> Result<Report, ApiError> {
    let read = |key: &ClaimKey| Ok(server.read_claim(key)?.map(Arc::new));
    let plan = decide_volume(config, view, volume, read)?;
    Ok(carry_out(server, plan))
}

/// Decides about a volume, with the claim that `read` gives as evidence if the
/// decision asks for it.
pub(super) fn decide_volume<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    volume: &Arc<PersistentVolume>,
    read: impl FnOnce(&ClaimKey) -> Result<Option<Arc<PersistentVolumeClaim>>, ApiError>,
) -> Result<Plan, ApiError> {
    let plan = sync_volume(config, view, volume, None);
    let Verdict::AskApiServer(key) = plan.verdict else {
        return Ok(plan);
    };
    let claim = read(&key)?;
    let evidence = ClaimEvidence { key, claim };
    let plan = sync_volume(config, view, volume, Some(&evidence));
    match (&plan.verdict, evidence.claim) {
        (Verdict::AskApiServer(key), Some(claim)) => Err(ApiError {
            kind: ApiErrorKind::Other,
            message: format!(
                "asked for claim {key}, the API server returned {}",
                ClaimKey::of(&claim)
            ),
        }),
        _ => Ok(plan),
    }
}

/// Runs an operation to its end: carries out its plans, and answers what it
/// waits for from the API server and the backend.
///
/// Upstream (Kubernetes 1.36) does this in a goroutine that `scheduleOperation`
/// starts, unless one of the same name is going on. That no two of a name go on at
/// once is left to the caller.
///
/// Cost: that of carrying out its plans, and of what server and backend do.
///
/// ```
/// # use std::sync::Arc;
/// # use pvbind::api::{PersistentVolume, StorageClass};
/// # use pvbind::controller::{Backend, Config, DeleteError, InTreePlugin, MemoryServer, ProvisionRequest, run_operation};
/// # use pvbind::plan::Operation;
/// # use pvbind::view::Snapshot;
/// # let (mut config, view, mut server) = (Config::default(), Snapshot::new(), MemoryServer::default());
/// # config.plugins.push(InTreePlugin { can_delete: true, ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"]) });
/// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
/// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"},
/// #     "spec": {"persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/exports/1"},
/// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
/// # let volume = Arc::new(volume);
/// # server.put(PersistentVolume::clone(&volume));
/// # #[derive(Default)]
/// # struct Nfs { deleted: Vec<String> }
/// # impl Backend for Nfs {
/// #     fn delete(&mut self, _: &str, volume: &PersistentVolume) -> Result<(), DeleteError> {
/// #         self.deleted.push(volume.name().to_owned());
/// #         Ok(())
/// #     }
/// #     fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> { panic!() }
/// #     fn provision(&mut self, _: &ProvisionRequest) -> Result<PersistentVolume, String> { panic!() }
/// #     fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> { panic!() }
/// # }
/// # let mut nfs = Nfs::default();
/// // `server` is a `MemoryServer` that has the volume, `nfs` a `Backend`.
/// let delete = Operation::Delete { volume };
/// let report = run_operation(&config, &view, &mut server, &mut nfs, delete);
/// assert_eq!(report.error(), None);
/// // First the data went, then the object.
/// assert_eq!(nfs.deleted, ["pv-1"]);
/// let steps: Vec<_> = report.done.iter().map(|done| done.step.to_string()).collect();
/// assert_eq!(steps, ["delete persistentvolumes pv-1"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is synchronous and waits nowhere. An embedder that wants to wait between
/// attempts, or that is asynchronous, writes the same loop with `.await`:
///
/// ```
/// # use pvbind::api::PersistentVolume;
/// # use pvbind::controller::*;
/// # use pvbind::plan::{ApiError, End, Operation, Plan, Report};
/// # use pvbind::view::Snapshot;
/// # struct Client;
/// # impl Client {
/// #     async fn carry_out(&self, _: Plan<Next>) -> Report<Next> { unimplemented!() }
/// #     async fn read_volume(&self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { Ok(None) }
/// # }
/// # struct Backend;
/// # impl Backend {
/// #     async fn delete(&self, _: &PersistentVolume) -> Result<(), String> { Ok(()) }
/// # }
/// async fn delete(
///     config: &Config, view: &Snapshot, client: &Client, backend: &Backend, operation: Operation,
/// ) -> Result<(), ApiError> {
///     let mut plan = begin(config, operation);
///     // A plan that is cut off ends the operation; the next sync starts it again.
///     while let End::Finished(next) = client.carry_out(plan).await.end {
///         plan = match next {
///             Next::AfterWrite(next) => next.proceed(),
///             Next::ReadVolume(next) => {
///                 let volume = client.read_volume(next.name()).await?;
///                 next.answer(config, view, volume)
///             }
///             Next::Delete(next) => match backend.delete(next.volume()).await {
///                 Ok(()) => next.deleted(),
///                 Err(message) => next.failed(&message),
///             },
///             // `Provision` and `Recycle` are answered in the same way.
///             _ => break,
///         };
///     }
///     Ok(())
/// }
/// ```
pub fn run_operation<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    server: &mut (impl ApiServer + ?Sized),
    backend: &mut (impl Backend + ?Sized),
    operation: Operation,
) -> OperationReport {
    let mut done = Vec::new();
    let mut plan = begin(config, operation);
    let end = loop {
        let report = carry_out(server, plan);
        done.extend(report.done);
        let next = match report.end {
            End::Finished(next) => next,
            End::Stopped(failure) | End::StoppedSilently(failure) => {
                break OperationEnd::WriteFailed(failure);
            }
            End::CutOff => break OperationEnd::CutOff,
        };
        plan = match next {
            Next::Finished => break OperationEnd::Finished,
            Next::AfterWrite(next) => next.proceed(),
            Next::ReadVolume(next) => match server.read_volume(next.name()) {
                Ok(volume) => next.answer(config, view, volume),
                Err(error) => break OperationEnd::ReadFailed(error),
            },
            next => ask_backend(view, backend, next),
        };
    };
    OperationReport { done, end }
}

fn ask_backend<V: ClusterView + ?Sized>(
    view: &V,
    backend: &mut (impl Backend + ?Sized),
    next: Next,
) -> Plan<Next> {
    match next {
        Next::StartProvisioner(next) => {
            match backend.start_provisioner(next.plugin(), next.class()) {
                Ok(()) => next.started(view),
                Err(message) => next.cannot_start(&message),
            }
        }
        Next::Provision(next) => match backend.provision(&next.request()) {
            Ok(volume) => next.provisioned(volume),
            Err(message) => next.failed(&message),
        },
        Next::CleanUp(next) => match backend.delete(next.plugin(), next.volume()) {
            Ok(()) => next.deleted(),
            Err(DeleteError::CannotStart(message)) => next.cannot_start(&message),
            Err(DeleteError::InUse(message) | DeleteError::Failed(message)) => {
                next.failed(&message)
            }
        },
        Next::Delete(next) => match backend.delete(next.plugin(), next.volume()) {
            Ok(()) => next.deleted(),
            Err(DeleteError::CannotStart(message)) => next.cannot_start(&message),
            Err(DeleteError::InUse(message)) => next.in_use(&message),
            Err(DeleteError::Failed(message)) => next.failed(&message),
        },
        Next::Recycle(next) => match backend.recycle(next.plugin(), next.volume()) {
            Ok(()) => next.recycled(),
            Err(message) => next.failed(&message),
        },
        Next::Finished | Next::AfterWrite(_) | Next::ReadVolume(_) => Plan::empty(Next::Finished),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::PersistentVolumeClaim;
    use crate::plan::{Change, Event, Step, Write, Written};
    use crate::view::Snapshot;

    /// An API server with one answer about claims.
    struct Server(Result<Option<PersistentVolumeClaim>, ApiError>);

    impl ApiServer for Server {
        fn update_volume(
            &mut self,
            change: &Change<PersistentVolume>,
        ) -> Result<PersistentVolume, ApiError> {
            Ok((*change.to).clone())
        }

        fn update_volume_status(
            &mut self,
            change: &Change<PersistentVolume>,
        ) -> Result<PersistentVolume, ApiError> {
            Ok((*change.to).clone())
        }

        fn update_claim(
            &mut self,
            change: &Change<PersistentVolumeClaim>,
        ) -> Result<PersistentVolumeClaim, ApiError> {
            Ok((*change.to).clone())
        }

        fn update_claim_status(
            &mut self,
            change: &Change<PersistentVolumeClaim>,
        ) -> Result<PersistentVolumeClaim, ApiError> {
            Ok((*change.to).clone())
        }

        fn create_volume(
            &mut self,
            volume: &PersistentVolume,
        ) -> Result<PersistentVolume, ApiError> {
            Ok(volume.clone())
        }

        fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> {
            Ok(())
        }

        fn record_event(&mut self, _: &Event) {}

        fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
            self.0.clone()
        }

        fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> {
            Ok(None)
        }
    }

    /// Retained, and bound to a claim that the view does not have.
    fn bound_volume() -> Arc<PersistentVolume> {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "pv", "uid": "u-1"}, "status": {"phase": "Bound"},
            "spec": {"persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "shop", "name": "data", "uid": "u-claim"}}}))
        .map(Arc::new)
        .unwrap()
    }

    fn run(server: &mut Server) -> Result<Report, ApiError> {
        run_volume_sync(
            &Config::default(),
            &Snapshot::new(),
            server,
            &bound_volume(),
        )
    }

    #[test]
    fn a_volume_is_released_once_the_api_server_says_that_its_claim_is_gone() {
        let report = run(&mut Server(Ok(None))).unwrap();
        let [done] = report.done.as_slice() else {
            panic!("more than one step: {report:?}");
        };
        let Step::Write {
            write: Write::VolumeStatus(change),
            ..
        } = &done.step
        else {
            panic!("not a status: {done:?}");
        };
        assert_eq!(
            change.to.status.phase.as_ref().unwrap().as_str(),
            "Released"
        );
        // The caller learns what the API server made of it.
        assert_eq!(done.result, Ok(Written::Volume(Arc::clone(&change.to))));
    }

    #[test]
    fn a_volume_whose_claim_the_api_server_still_has_is_left_alone() {
        let claim = serde_json::from_value(serde_json::json!({"metadata": {
            "namespace": "shop", "name": "data", "uid": "u-claim"},
            "spec": {"volumeName": "pv"}}));
        let report = run(&mut Server(Ok(claim.unwrap()))).unwrap();
        assert_eq!(report.writes(), 0);
    }

    #[test]
    fn another_claim_than_the_one_asked_for_releases_nothing() {
        let claim = serde_json::from_value(serde_json::json!({"metadata": {
            "namespace": "shop", "name": "other", "uid": "u-other"}}));
        let error = run(&mut Server(Ok(claim.unwrap()))).unwrap_err();
        assert_eq!(
            error.message,
            "asked for claim shop/data, the API server returned shop/other"
        );
    }

    #[test]
    fn a_claim_that_cannot_be_read_releases_nothing() {
        let error = ApiError {
            kind: ApiErrorKind::Other,
            message: "timed out".to_owned(),
        };
        assert_eq!(run(&mut Server(Err(error.clone()))), Err(error));
    }
}
