//! What was done of a plan, and how that ended.

use super::{ApiError, Operation, Step, SyncError, Verdict, WriteFailure, Written};
use crate::api::ClaimKey;

/// A step that was tried.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, sync_volume};
/// use pvbind::plan::{Done, Execution, Step, Write, Written};
/// use pvbind::view::{ClusterView, Snapshot};
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// let mut snapshot = Snapshot::new();
/// let mut execution = Execution::new(sync_volume(&Config::default(), &snapshot, &volume, None));
/// let Some(Step::Write { write: Write::VolumeStatus(change), .. }) = execution.step() else { panic!() };
/// let returned = Arc::clone(&change.to); // by the API server
/// execution.answer(Ok(Written::Volume(returned)));
///
/// // What came back goes into the view at once.
/// for Done { step, result } in execution.finish().done {
///     assert_eq!(step.to_string(), "update persistentvolumes/status pv-1");
///     if let Ok(Written::Volume(volume)) = result {
///         snapshot.apply(volume);
///     }
/// }
/// let phase = snapshot.volume("pv-1").unwrap().status.phase.clone().unwrap();
/// assert_eq!(phase.as_str(), "Available");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The step, as it was sent.
    pub step: Step,
    /// What came back: the object as the API server has it since, or why the
    /// step failed. An embedder that puts these objects into its view at once
    /// does not decide on what it knows to be old.
    pub result: Result<Written, ApiError>,
}

impl Done {
    /// Whether it wrote, and the API server took it.
    pub(crate) fn is_written(&self) -> bool {
        self.step.is_write() && self.result.is_ok()
    }

    /// Why the step failed, if it did. That is not always why the plan ended: some
    /// failures are as good as success, or do not matter.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::{ApiError, ApiErrorKind, Execution, OnFailure, Plan, Step, Verdict, Write, WriteContext};
    /// # let volume = Box::new(PersistentVolume::default());
    /// # let create = Step::Write {
    /// #     write: Write::CreateVolume { volume, attempts: 5 },
    /// #     on_failure: OnFailure::Stop(WriteContext::Plain),
    /// # };
    /// let mut execution = Execution::new(Plan { steps: vec![create], verdict: Verdict::Settled });
    /// let exists = r#"persistentvolumes "pvc-u-1" already exists"#;
    /// execution.answer(Err(ApiError::new(ApiErrorKind::AlreadyExists, exists)));
    /// let report = execution.finish();
    /// // The log has it, and nothing is wrong: the volume is there.
    /// assert_eq!(report.done[0].error().unwrap().to_string(), exists);
    /// assert_eq!(report.error(), None);
    /// ```
    pub fn error(&self) -> Option<&ApiError> {
        self.result.as_ref().err()
    }
}

/// What was done of a plan.
///
/// ```
/// use pvbind::api::ClaimKey;
/// use pvbind::plan::{Execution, Plan, Report, Step, Verdict, Written};
/// let mut plan = Plan::empty(Verdict::Settled);
/// plan.steps.push(Step::EnqueueClaim(ClaimKey::new("shop", "data")));
/// let mut execution = Execution::new(plan);
/// execution.answer(Ok(Written::Nothing));
/// let report: Report = execution.finish();
/// assert_eq!(report.error(), None);
/// assert_eq!(report.writes(), 0);
/// // What the caller has still to do:
/// let claims: Vec<_> = report.enqueued_claims().map(ClaimKey::to_string).collect();
/// assert_eq!(claims, ["shop/data"]);
/// assert_eq!(report.operations().count(), 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Report<V = Verdict> {
    /// The steps that were tried, in order; a creation that was tried again,
    /// once for each try.
    pub done: Vec<Done>,
    /// How it ended.
    pub end: End<V>,
}

/// How carrying out a plan ended.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, sync_volume};
/// use pvbind::plan::{ApiError, ApiErrorKind, End, Execution};
/// use pvbind::view::Snapshot;
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// let plan = sync_volume(&Config::default(), &Snapshot::new(), &volume, None);
///
/// let mut execution = Execution::new(plan.clone());
/// execution.answer(Err(ApiError {
///     kind: ApiErrorKind::Conflict,
///     message: "the object has been modified".to_owned(),
/// }));
/// let End::Stopped(failure) = execution.finish().end else { panic!() };
/// assert_eq!(failure.to_string(), "the object has been modified");
///
/// // A controller that is told to stop drops what is left.
/// assert_eq!(Execution::new(plan).finish().end, End::CutOff);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum End<V = Verdict> {
    /// There was nothing left to do.
    Finished(V),
    /// A write failed, and the sync with it.
    Stopped(WriteFailure),
    /// A write failed, and the operation ended without a word; the failure is
    /// for the log.
    StoppedSilently(WriteFailure),
    /// [`Execution::finish`](super::Execution::finish) was called while steps were left. What follows the
    /// plan does not hold; decide again.
    CutOff,
}

impl<V> End<V> {
    /// What follows the plan, if it was carried out.
    ///
    /// # Errors
    /// What ended it before.
    ///
    /// ```
    /// use pvbind::plan::{End, Verdict};
    /// assert_eq!(End::Finished(Verdict::Settled).finished(), Ok(Verdict::Settled));
    /// let error = End::<Verdict>::CutOff.finished().unwrap_err();
    /// assert_eq!(error.to_string(), "the plan was cut off");
    /// ```
    pub fn finished(self) -> Result<V, SyncError> {
        match self {
            End::Finished(verdict) => Ok(verdict),
            End::Stopped(failure) | End::StoppedSilently(failure) => Err(SyncError::Write(failure)),
            End::CutOff => Err(SyncError::CutOff),
        }
    }
}

impl<V> Report<V> {
    /// The claims to sync soon, in order: those whose volume waits for them to finish
    /// a bind. Put them into the queue; nothing else does.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// # use pvbind::controller::{Config, sync_volume};
    /// # use pvbind::plan::{Execution, Written};
    /// # use pvbind::view::{ClusterView, Snapshot};
    /// // A bind that was cut off: the volume names the claim, the claim no volume yet.
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {
    ///          "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?
    /// .into_iter()
    /// .collect();
    /// # let volume = snapshot.volume("pv-1").unwrap();
    /// # let mut execution = Execution::new(sync_volume(&Config::default(), &snapshot, volume, None));
    /// # execution.answer(Ok(Written::Nothing));
    /// let report = execution.finish(); // of `sync_volume` for pv-1
    /// let claims: Vec<_> = report.enqueued_claims().map(|claim| claim.to_string()).collect();
    /// assert_eq!(claims, ["shop/data"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enqueued_claims(&self) -> impl Iterator<Item = &ClaimKey> {
        self.done.iter().filter_map(|done| match &done.step {
            Step::EnqueueClaim(claim) => Some(claim),
            _ => None,
        })
    }

    /// The operations to start, in order, each unless one of its name is still
    /// going on.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::controller::{Config, sync_volume};
    /// use pvbind::plan::{Execution, Written};
    /// use pvbind::view::Snapshot;
    /// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"}, "spec": {
    ///         "persistentVolumeReclaimPolicy": "Recycle",
    ///         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// let mut execution = Execution::new(sync_volume(&Config::default(), &Snapshot::new(), &volume, None));
    /// while execution.step().is_some() {
    ///     execution.answer(Ok(Written::Nothing)); // a start is left to the caller
    /// }
    /// let report = execution.finish();
    /// let names: Vec<_> = report.operations().map(|operation| operation.name()).collect();
    /// assert_eq!(names, ["recycle-pv-1[u-1]"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.done.iter().filter_map(|done| match &done.step {
            Step::Start(operation) => Some(operation),
            _ => None,
        })
    }

    /// How many writes were made, failed ones left out. Linear in the number of
    /// steps.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::{Config, sync_claim};
    /// # use pvbind::view::{ClusterView, Snapshot};
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1", "resourceVersion": "7"},
    /// #      "spec": {"capacity": {"storage": "5Gi"}}, "status": {"phase": "Available"}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let claim = snapshot.claim("shop", "data").unwrap();
    /// # use std::sync::Arc;
    /// # use pvbind::plan::{ApiError, ApiErrorKind, Execution, Step, Write, Written};
    /// # let mut execution = Execution::new(sync_claim(&Config::default(), &snapshot, &*claim));
    /// // A bind, of which the second write is refused:
    /// let Some(Step::Write { write: Write::Volume(change), .. }) = execution.step() else { panic!() };
    /// let written = Written::Volume(Arc::clone(&change.to));
    /// execution.answer(Ok(written));
    /// execution.answer(Err(ApiError::new(ApiErrorKind::Conflict, "the object has been modified")));
    /// let report = execution.finish();
    /// assert_eq!((report.done.len(), report.writes()), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn writes(&self) -> usize {
        self.done.iter().filter(|done| done.is_written()).count()
    }
}

impl Report {
    /// The error that the sync ended with, if any.
    ///
    /// ```
    /// use pvbind::plan::{End, Report, SyncError, Verdict};
    /// let error = SyncError::NoBindingMode { class: "fast".to_owned() };
    /// let report = Report { done: Vec::new(), end: End::Finished(Verdict::Retry(error)) };
    /// assert_eq!(
    ///     report.error().unwrap().to_string(),
    ///     r#"VolumeBindingMode not set for StorageClass "fast""#,
    /// );
    /// ```
    pub fn error(&self) -> Option<SyncError> {
        match &self.end {
            End::Finished(Verdict::Retry(error)) => Some(error.clone()),
            End::Finished(_) => None,
            End::CutOff => Some(SyncError::CutOff),
            End::Stopped(failure) | End::StoppedSilently(failure) => {
                Some(SyncError::Write(failure.clone()))
            }
        }
    }
}
