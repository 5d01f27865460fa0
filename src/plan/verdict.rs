//! Plans, and where things stand after one.

use std::fmt;

use super::{Step, WriteFailure};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use crate::binding::{ClaimLifeRefusal, ClaimStatusError, VolumeLifeRefusal};
use crate::matching::FindError;

/// What a decision wants done: steps in order, and where things stand after
/// them.
///
/// An empty plan costs no allocation.
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, read_objects};
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::{Plan, Verdict};
/// use pvbind::view::{ClusterView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "uid": "u-1"},
///      "spec": {"volumeName": "pv-1"}}"#)?
/// .into_iter()
/// .collect();
/// let claim = snapshot.claim("", "data").unwrap();
/// let plan: Plan = sync_claim(&Config::default(), &snapshot, claim);
/// // The volume says no capacity, which a bound claim's status must take over:
/// // all that can be written before is in the plan, and the verdict says the rest.
/// assert_eq!(plan.steps.len(), 3);
/// assert!(plan.has_writes());
/// let Verdict::Retry(error) = &plan.verdict else { panic!() };
/// assert_eq!(error.to_string(), r#"PersistentVolume "pv-1" is without a storage capacity"#);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a plan does nothing until it is carried out"]
pub struct Plan<V = Verdict> {
    /// What to do, in this order.
    pub steps: Vec<Step>,
    /// Where things stand once all is done.
    pub verdict: V,
}

impl<V> Plan<V> {
    /// Nothing to do.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// use pvbind::controller::{Config, sync_claim};
    /// use pvbind::plan::{Plan, Verdict};
    /// use pvbind::view::{ClusterView, Snapshot};
    /// /// The sync of a controller that leaves one namespace to another controller.
    /// fn sync(view: &Snapshot, claim: &PersistentVolumeClaim) -> Plan {
    ///     match claim.metadata.namespace() {
    ///         "other" => Plan::empty(Verdict::Settled),
    ///         _ => sync_claim(&Config::default(), view, claim),
    ///     }
    /// }
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "other", "name": "data"}}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"}}"#)?
    /// .into_iter()
    /// .collect();
    /// let plan_for = |namespace| sync(&snapshot, &snapshot.claim(namespace, "data").unwrap());
    /// assert!(plan_for("other").is_empty());
    /// assert!(plan_for("shop").has_writes()); // the phase becomes Pending
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    pub fn empty(verdict: V) -> Self {
        Plan {
            steps: Vec::new(),
            verdict,
        }
    }

    /// Whether there is nothing to do. That says nothing about how things stand: the
    /// verdict does.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::controller::{Config, sync_volume};
    /// use pvbind::plan::Verdict;
    /// use pvbind::view::Snapshot;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
    /// #     "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}))?;
    /// // A bound volume, whose claim is not in the view:
    /// let plan = sync_volume(&Config::default(), &Snapshot::new(), &volume, None);
    /// assert!(plan.is_empty());
    /// assert_ne!(plan.verdict, Verdict::Settled); // the API server is to be asked
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether anything is to be written; events and the like are not.
    ///
    /// ```
    /// use pvbind::api::ClaimKey;
    /// use pvbind::plan::{Plan, Step, Verdict};
    /// let steps = vec![Step::EnqueueClaim(ClaimKey::new("shop", "data"))];
    /// let plan = Plan { steps, verdict: Verdict::Settled };
    /// assert!(!plan.is_empty() && !plan.has_writes());
    /// ```
    pub fn has_writes(&self) -> bool {
        self.steps.iter().any(Step::is_write)
    }
}

/// Where things stand after a sync.
///
/// ```
/// use std::time::Duration;
/// use pvbind::api::ClaimKey;
/// use pvbind::plan::Verdict;
/// /// When a controller looks at the object again by itself.
/// fn again(verdict: &Verdict, failures: u32) -> Option<Duration> {
///     match verdict {
///         Verdict::Settled => None,
///         Verdict::Retry(_) => Some(Duration::from_secs(1 << failures.min(9))),
///         // Not later but now, with the answer as evidence.
///         Verdict::AskApiServer(_) => Some(Duration::ZERO),
///         _ => Some(Duration::from_secs(15)),
///     }
/// }
/// assert_eq!(again(&Verdict::Settled, 0), None);
/// let ask = Verdict::AskApiServer(ClaimKey::new("shop", "data"));
/// assert_eq!(again(&ask, 0), Some(Duration::ZERO));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing more until the object or something that it depends on changes,
    /// or until the periodic sync of all objects.
    Settled,
    /// The sync ends with this error; try again after a while.
    Retry(SyncError),
    /// Nothing is decided yet, and nothing is to be done: read this claim from
    /// the API server, and decide again with what it says.
    AskApiServer(ClaimKey),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Settled => f.write_str("settled"),
            Verdict::Retry(error) => write!(f, "to be tried again: {error}"),
            Verdict::AskApiServer(claim) => {
                write!(
                    f,
                    "undecided until claim {claim} was read from the API server"
                )
            }
        }
    }
}

/// Why a sync ends with an error. `Display` is upstream's text.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::{SyncError, Verdict};
/// use pvbind::view::{ClusterView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com"}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
///      "spec": {"storageClassName": "fast"}}"#)?
/// .into_iter()
/// .collect();
/// let plan = sync_claim(&Config::default(), &snapshot, snapshot.claim("shop", "data").unwrap());
/// let Verdict::Retry(error) = plan.verdict else { panic!() };
/// assert_eq!(error, SyncError::NoBindingMode { class: "fast".to_owned() });
/// assert_eq!(error.to_string(), r#"VolumeBindingMode not set for StorageClass "fast""#);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// A write failed.
    #[error(transparent)]
    Write(#[from] WriteFailure),
    /// A class does not say when its claims are bound.
    #[error("VolumeBindingMode not set for StorageClass {class:?}")]
    NoBindingMode {
        /// The class.
        class: String,
    },
    /// The search for a volume could not be made.
    #[error("error finding PV for claim {:?}: {error}", claim.to_string())]
    Find {
        /// The claim.
        claim: ClaimKey,
        /// Why not.
        error: FindError,
    },
    /// The controller once chose a volume for the claim that is another's now.
    #[error(
        "invalid binding of claim {:?} to volume {volume:?}: volume already claimed by {:?}",
        claim.to_string(), holder.to_string()
    )]
    ClaimedByAnother {
        /// The claim.
        claim: ClaimKey,
        /// The volume that it names.
        volume: String,
        /// The claim that the volume names.
        holder: ClaimKey,
    },
    /// The plan was not carried out to its end.
    #[error("the plan was cut off")]
    CutOff,
    /// The claim's status cannot be that of a bound claim.
    #[error(transparent)]
    ClaimStatus(#[from] ClaimStatusError),
    /// The claim's life does not allow what the facts ask for. It has no
    /// counterpart upstream, and no view leads to it; it stands for a mistake in
    /// this crate.
    #[error(transparent)]
    Claim(#[from] ClaimLifeRefusal),
    /// The volume's life does not allow what the facts ask for; see
    /// [`SyncError::Claim`].
    #[error(transparent)]
    Volume(#[from] VolumeLifeRefusal),
}

impl SyncError {
    /// One of few stable texts for the kind of error, as labels of metrics are.
    ///
    /// ```
    /// use pvbind::plan::SyncError;
    /// let error = SyncError::NoBindingMode { class: "fast".to_owned() };
    /// assert_eq!(error.code(), "no-binding-mode");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            SyncError::Write(_) => "write-failed",
            SyncError::NoBindingMode { .. } => "no-binding-mode",
            SyncError::Find { .. } => "find-failed",
            SyncError::ClaimedByAnother { .. } => "claimed-by-another",
            SyncError::CutOff => "cut-off",
            SyncError::ClaimStatus(_) => "claim-status",
            SyncError::Claim(_) => "claim-life",
            SyncError::Volume(_) => "volume-life",
        }
    }
}

/// What follows a plan, as far as it holds objects that the plan writes: it
/// hears what the API server returned, so that later writes are based on it.
///
/// All methods do nothing unless overridden.
///
/// An embedder implements it for a verdict of its own, to know what came of a
/// plan that it wrote:
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::plan::{Change, Execution, FollowUp, OnFailure, Plan, Step, Write, WriteContext, Written};
/// #[derive(Default)]
/// struct Newest(Option<String>);
/// impl FollowUp for Newest {
///     fn volume_written(&mut self, volume: &PersistentVolume) {
///         self.0 = Some(volume.metadata.resource_version().to_owned());
///     }
/// }
/// let volume = |version: &str| -> Arc<PersistentVolume> {
///     let metadata = serde_json::json!({"name": "pv-1", "resourceVersion": version});
///     serde_json::from_value(serde_json::json!({"metadata": metadata})).map(Arc::new).unwrap()
/// };
/// let write = Write::Volume(Change { from: volume("7"), to: volume("7") });
/// let step = Step::Write { write, on_failure: OnFailure::Stop(WriteContext::Plain) };
/// let mut execution = Execution::new(Plan { steps: vec![step], verdict: Newest::default() });
/// execution.answer(Ok(Written::Volume(volume("8"))));
/// let newest = execution.finish().end.finished().unwrap();
/// assert_eq!(newest.0.as_deref(), Some("8"));
/// ```
pub trait FollowUp {
    /// The plan wrote a claim, or its status: this is what the API server returned.
    /// It need not be the claim that the verdict is about.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, Change, Execution, FollowUp, OnFailure, Plan, Step, Write, WriteContext, Written};
    /// # use serde_json::{Value, json};
    /// # let step = |write, on_failure| Step::Write { write, on_failure };
    /// # let stop = OnFailure::Stop(WriteContext::Plain);
    /// # let volume = |value: Value| serde_json::from_value::<PersistentVolume>(value).map(Arc::new);
    /// # let claim = |value: Value| serde_json::from_value::<PersistentVolumeClaim>(value).map(Arc::new);
    /// struct About(Arc<PersistentVolumeClaim>);
    /// impl FollowUp for About {
    ///     fn claim_written(&mut self, claim: &PersistentVolumeClaim) {
    ///         if claim.metadata.is_same_object(&self.0.metadata) {
    ///             self.0 = Arc::new(claim.clone());
    ///         }
    ///     }
    /// }
    /// # let data = |version: &str| claim(json!({"metadata": {"name": "data", "uid": "u-1", "resourceVersion": version}}));
    /// # let logs = |version: &str| claim(json!({"metadata": {"name": "logs", "uid": "u-2", "resourceVersion": version}}));
    /// # let write = |claim: &Arc<PersistentVolumeClaim>| step(Write::Claim(
    /// #     Change { from: Arc::clone(claim), to: Arc::clone(claim) }), stop);
    /// # let steps = vec![write(&data("7")?), write(&logs("7")?)];
    /// let mut execution = Execution::new(Plan { steps, verdict: About(data("7")?) });
    /// execution.answer(Ok(Written::Claim(data("8")?)));
    /// execution.answer(Ok(Written::Claim(logs("9")?)));
    /// let About(claim) = execution.finish().end.finished()?;
    /// assert_eq!(claim.metadata.resource_version(), "8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn claim_written(&mut self, claim: &PersistentVolumeClaim) {
        let _ = claim;
    }

    /// The plan wrote a volume, or its status: this is what the API server returned,
    /// which may hold more than was sent.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, Change, Execution, FollowUp, OnFailure, Plan, Step, Write, WriteContext, Written};
    /// # use serde_json::{Value, json};
    /// # let step = |write, on_failure| Step::Write { write, on_failure };
    /// # let stop = OnFailure::Stop(WriteContext::Plain);
    /// # let volume = |value: Value| serde_json::from_value::<PersistentVolume>(value).map(Arc::new);
    /// # let claim = |value: Value| serde_json::from_value::<PersistentVolumeClaim>(value).map(Arc::new);
    /// # #[derive(Default)]
    /// struct Labels(Vec<String>);
    /// impl FollowUp for Labels {
    ///     fn volume_written(&mut self, volume: &PersistentVolume) {
    ///         self.0 = volume.metadata.labels().keys().cloned().collect();
    ///     }
    /// }
    /// # let sent = volume(json!({"metadata": {"name": "pv-1"}}))?;
    /// # let steps = vec![step(Write::Volume(Change { from: Arc::clone(&sent), to: sent }), stop)];
    /// let mut execution = Execution::new(Plan { steps, verdict: Labels::default() });
    /// // A webhook in the API server has labelled the volume.
    /// let returned = volume(json!({"metadata": {"name": "pv-1", "labels": {"team": "shop"}}}))?;
    /// execution.answer(Ok(Written::Volume(returned)));
    /// assert_eq!(execution.finish().end.finished()?.0, ["team"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn volume_written(&mut self, volume: &PersistentVolume) {
        let _ = volume;
    }

    /// A volume that was to be created exists already: this one, as it was to
    /// be, not as it is. [`write_done`](Self::write_done) is called too,
    /// [`volume_written`](Self::volume_written) is not.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, Change, Execution, FollowUp, OnFailure, Plan, Step, Write, WriteContext, Written};
    /// # use serde_json::{Value, json};
    /// # let step = |write, on_failure| Step::Write { write, on_failure };
    /// # let stop = OnFailure::Stop(WriteContext::Plain);
    /// # let volume = |value: Value| serde_json::from_value::<PersistentVolume>(value).map(Arc::new);
    /// # let claim = |value: Value| serde_json::from_value::<PersistentVolumeClaim>(value).map(Arc::new);
    /// # #[derive(Default)]
    /// struct Unknown(Vec<String>);
    /// impl FollowUp for Unknown {
    ///     fn already_exists(&mut self, volume: &PersistentVolume) {
    ///         self.0.push(volume.name().to_owned()); // to be read, if its content matters
    ///     }
    /// }
    /// # let volume: PersistentVolume = serde_json::from_value(json!({"metadata": {"name": "pvc-u-1"}}))?;
    /// # let steps = vec![step(Write::CreateVolume { volume: Box::new(volume), attempts: 5 }, stop)];
    /// let mut execution = Execution::new(Plan { steps, verdict: Unknown::default() });
    /// execution.answer(Err(ApiError::new(ApiErrorKind::AlreadyExists, "it exists")));
    /// assert_eq!(execution.finish().end.finished()?.0, ["pvc-u-1"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn already_exists(&mut self, volume: &PersistentVolume) {
        let _ = volume;
    }

    /// A write was done, whatever came back of it; a volume that was to be
    /// created and exists already included.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, Change, Execution, FollowUp, OnFailure, Plan, Step, Write, WriteContext, Written};
    /// # use serde_json::{Value, json};
    /// # let step = |write, on_failure| Step::Write { write, on_failure };
    /// # let stop = OnFailure::Stop(WriteContext::Plain);
    /// # let volume = |value: Value| serde_json::from_value::<PersistentVolume>(value).map(Arc::new);
    /// # let claim = |value: Value| serde_json::from_value::<PersistentVolumeClaim>(value).map(Arc::new);
    /// # #[derive(Default)]
    /// struct Done(u32);
    /// impl FollowUp for Done {
    ///     fn write_done(&mut self) {
    ///         self.0 += 1;
    ///     }
    /// }
    /// # let volume: PersistentVolume = serde_json::from_value(json!({"metadata": {"name": "pvc-u-1"}}))?;
    /// # let create = Write::CreateVolume { volume: Box::new(volume.clone()), attempts: 5 };
    /// # let delete = Write::DeleteVolume(Arc::new(volume));
    /// let steps = vec![step(create, stop), step(delete, stop)];
    /// let mut execution = Execution::new(Plan { steps, verdict: Done::default() });
    /// execution.answer(Err(ApiError::new(ApiErrorKind::AlreadyExists, "it exists")));
    /// execution.answer(Ok(Written::Nothing)); // a deletion returns no object
    /// assert_eq!(execution.finish().end.finished()?.0, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn write_done(&mut self) {}

    /// A write with [`OnFailure::Tell`](super::OnFailure::Tell) failed with
    /// this text. A write that fails otherwise ends the plan without its verdict:
    /// nobody hears of it here.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, Change, Execution, FollowUp, OnFailure, Plan, Step, Write, WriteContext, Written};
    /// # use serde_json::{Value, json};
    /// # let step = |write, on_failure| Step::Write { write, on_failure };
    /// # let stop = OnFailure::Stop(WriteContext::Plain);
    /// # let volume = |value: Value| serde_json::from_value::<PersistentVolume>(value).map(Arc::new);
    /// # let claim = |value: Value| serde_json::from_value::<PersistentVolumeClaim>(value).map(Arc::new);
    /// # #[derive(Debug, Default, PartialEq)]
    /// struct Failure(Option<String>);
    /// impl FollowUp for Failure {
    ///     fn write_failed(&mut self, message: &str) {
    ///         self.0 = Some(message.to_owned());
    ///     }
    /// }
    /// # let volume = volume(json!({"metadata": {"name": "pv-1"}}))?;
    /// let end = |on_failure| {
    ///     let steps = vec![step(Write::DeleteVolume(Arc::clone(&volume)), on_failure)];
    ///     let mut execution = Execution::new(Plan { steps, verdict: Failure::default() });
    ///     execution.answer(Err(ApiError::new(ApiErrorKind::Other, "timed out")));
    ///     execution.finish().end.finished()
    /// };
    /// assert_eq!(end(OnFailure::Tell)?.0.as_deref(), Some("timed out"));
    /// assert_eq!(end(OnFailure::StopSilently).unwrap_err().to_string(), "timed out");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn write_failed(&mut self, message: &str) {
        let _ = message;
    }
}

impl FollowUp for Verdict {}
