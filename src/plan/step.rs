//! The steps of a plan.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{Change, Event, Operation};
use crate::api::{ClaimKey, ObjectMeta, PersistentVolume, PersistentVolumeClaim};

/// One step of a plan.
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, read_objects};
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::Step;
/// use pvbind::view::{ClusterView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
///      "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
///      "spec": {"storageClassName": "fast"}}"#)?
/// .into_iter()
/// .collect();
/// let plan = sync_claim(&Config::default(), &snapshot, snapshot.claim("shop", "data").unwrap());
/// let told: Vec<_> = plan.steps.iter().map(|step| match step {
///     Step::Write { write, .. } => format!("write {} {}", write.key(), write.subresource()),
///     Step::Event(event) => format!("event {}", event.reason),
///     Step::EnqueueClaim(key) => format!("sync claim {key}"),
///     Step::Start(operation) => format!("start {operation}"),
///     _ => "a step of a later version".to_owned(),
/// })
/// .collect();
/// assert_eq!(told, ["event WaitForFirstConsumer", "write shop/data status"]);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
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
    /// Whether the step writes to the API server. Recording an event is no write: no
    /// sync fails with it.
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
    /// use pvbind::plan::Step;
    /// # let snapshot = Snapshot::new();
    /// // A claim that nothing fits is told about, and becomes Pending:
    /// let plan = sync_claim(&Config::default(), &snapshot, &*claim);
    /// let steps: Vec<_> = plan.steps.iter().map(Step::is_write).collect();
    /// assert_eq!(steps, [false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_write(&self) -> bool {
        matches!(self, Step::Write { .. })
    }
}

/// A write to the API server. Spec and metadata are one write, the status is
/// another.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, sync_volume};
/// use pvbind::plan::{Step, Write};
/// use pvbind::view::Snapshot;
/// /// The HTTP request of a write.
/// fn request(write: &Write) -> String {
///     let verb = match write {
///         Write::CreateVolume { .. } => "POST",
///         Write::DeleteVolume(_) => "DELETE",
///         _ => "PATCH",
///     };
///     let place = [write.resource(), &write.key(), write.subresource()].join("/");
///     let body = write.merge_patch().unwrap_or_default();
///     format!("{verb} {} {body}", place.trim_end_matches('/'))
/// }
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// let plan = sync_volume(&Config::default(), &Snapshot::new(), &volume, None);
/// let Some(Step::Write { write, .. }) = plan.steps.first() else { panic!() };
/// assert_eq!(
///     request(write),
///     r#"PATCH persistentvolumes/pv-1/status {"status":{"phase":"Available"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
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
    /// The resource: `persistentvolumes` or `persistentvolumeclaims`. Only the
    /// second has namespaces.
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
    /// use std::collections::BTreeSet;
    /// use pvbind::plan::Step;
    /// // What a service account needs to be allowed to update, so that it can bind:
    /// let plan = sync_claim(&Config::default(), &snapshot, &*claim);
    /// let rules: BTreeSet<_> = plan.steps.iter().filter_map(|step| match step {
    ///     Step::Write { write, .. } => Some((write.resource(), write.subresource())),
    ///     _ => None,
    /// }).collect();
    /// assert!(rules.contains(&("persistentvolumes", "status")));
    /// assert!(rules.contains(&("persistentvolumeclaims", "")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resource(&self) -> &'static str {
        match self {
            Write::Volume(_)
            | Write::VolumeStatus(_)
            | Write::CreateVolume { .. }
            | Write::DeleteVolume(_) => "persistentvolumes",
            Write::Claim(_) | Write::ClaimStatus(_) => "persistentvolumeclaims",
        }
    }

    /// The verb, as in a rule of RBAC: `create`, `update` or `delete`. Whoever
    /// sends an update as a patch needs `patch` instead.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::Write;
    /// let volume = Box::new(PersistentVolume::default());
    /// assert_eq!(Write::CreateVolume { volume, attempts: 5 }.verb(), "create");
    /// ```
    pub fn verb(&self) -> &'static str {
        match self {
            Write::CreateVolume { .. } => "create",
            Write::DeleteVolume(_) => "delete",
            _ => "update",
        }
    }

    /// The subresource: `status` or "". What is written to the one does not reach the
    /// other.
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
    /// use pvbind::plan::Step;
    /// let plan = sync_claim(&Config::default(), &snapshot, &*claim);
    /// let subresources: Vec<_> = plan.steps.iter().map(|step| match step {
    ///     Step::Write { write, .. } => write.subresource(),
    ///     _ => "no write",
    /// }).collect();
    /// // So a bind takes four writes: twice of the volume, twice of the claim.
    /// assert_eq!(subresources, ["", "status", "", "status"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn subresource(&self) -> &'static str {
        match self {
            Write::VolumeStatus(_) | Write::ClaimStatus(_) => "status",
            _ => "",
        }
    }

    /// `NAMESPACE/NAME` of the object, or just the name of a volume.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::plan::{Change, Write};
    /// # let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// # let claim: Arc<PersistentVolumeClaim> = serde_json::from_str(
    /// #     r#"{"metadata": {"namespace": "shop", "name": "data"}}"#).map(Arc::new)?;
    /// let delete = Write::DeleteVolume(Arc::new(volume));
    /// assert_eq!(delete.key(), "pv-1");
    /// let update = Write::Claim(Change { from: Arc::clone(&claim), to: claim });
    /// assert_eq!(update.key().split_once('/'), Some(("shop", "data")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(&self) -> String {
        match self {
            // A volume has no namespace, whatever a hostile object says.
            Write::CreateVolume { .. }
            | Write::DeleteVolume(_)
            | Write::Volume(_)
            | Write::VolumeStatus(_) => self.metadata().name().to_owned(),
            Write::Claim(_) | Write::ClaimStatus(_) => self.metadata().key(),
        }
    }

    /// The metadata of the object, as it is to be.
    pub(super) fn metadata(&self) -> &ObjectMeta {
        match self {
            Write::Volume(change) | Write::VolumeStatus(change) => &change.to.metadata,
            Write::Claim(change) | Write::ClaimStatus(change) => &change.to.metadata,
            Write::CreateVolume { volume, .. } => &volume.metadata,
            Write::DeleteVolume(volume) => &volume.metadata,
        }
    }

    /// The JSON merge patch (RFC 7386) that an update amounts to, with the
    /// resourceVersion as precondition; `None` for creation and deletion. See
    /// [`Change::merge_patch`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::{Change, Write};
    /// let volume: PersistentVolume =
    ///     serde_json::from_str(r#"{"metadata": {"name": "pv-1", "resourceVersion": "7"}}"#)?;
    /// let volume = Arc::new(volume);
    /// let nothing = Write::Volume(Change { from: Arc::clone(&volume), to: Arc::clone(&volume) });
    /// // It writes nothing, and yet fails if somebody else has written meanwhile.
    /// assert_eq!(
    ///     nothing.merge_patch().unwrap().to_string(),
    ///     r#"{"metadata":{"resourceVersion":"7"}}"#,
    /// );
    /// assert_eq!(Write::DeleteVolume(volume).merge_patch(), None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn merge_patch(&self) -> Option<Value> {
        match self {
            Write::Volume(change) | Write::VolumeStatus(change) => Some(change.merge_patch()),
            Write::Claim(change) | Write::ClaimStatus(change) => Some(change.merge_patch()),
            Write::CreateVolume { .. } | Write::DeleteVolume(_) => None,
        }
    }
}

/// What is asked of the API server, for a log or a dry run: verb, resource and
/// object. What changes is in [`merge_patch`](Write::merge_patch).
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::plan::Write;
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// let write = Write::DeleteVolume(Arc::new(volume));
/// assert_eq!(write.to_string(), "delete persistentvolumes pv-1");
/// # Ok::<(), serde_json::Error>(())
/// ```
impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = self.verb();
        let slash = if self.subresource().is_empty() {
            ""
        } else {
            "/"
        };
        let (resource, subresource) = (self.resource(), self.subresource());
        write!(f, "{verb} {resource}{slash}{subresource} {}", self.key())
    }
}

/// A line for a log or a dry run.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Write { write, .. } => write.fmt(f),
            Step::Event(event) => write!(f, "event {event}"),
            Step::EnqueueClaim(claim) => write!(f, "sync claim {claim}"),
            Step::Start(operation) => write!(f, "start {operation}"),
        }
    }
}

/// What follows if a write fails.
///
/// [`Execution`](super::Execution) does what it says; an embedder need not look
/// at it.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::plan::*;
/// let delete = |on_failure| Plan {
///     steps: vec![Step::Write { write: Write::DeleteVolume(Arc::new(PersistentVolume::default())), on_failure }],
///     verdict: Verdict::Settled,
/// };
/// let end = |plan| {
///     let mut execution = Execution::new(plan);
///     let message = "not found".to_owned();
///     execution.answer(Err(ApiError { kind: ApiErrorKind::NotFound, message }));
///     execution.finish().end
/// };
/// assert_eq!(end(delete(OnFailure::Ignore)), End::Finished(Verdict::Settled));
/// assert!(matches!(end(delete(OnFailure::Stop(WriteContext::Plain))), End::Stopped(_)));
/// ```
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
///
/// [`WriteFailure`] puts it in front of what the API server said.
///
/// ```
/// use pvbind::plan::{WriteContext, WriteFailure};
/// let failure = |context| WriteFailure {
///     context,
///     object: "pv-1".to_owned(),
///     message: "timed out".to_owned(),
/// };
/// assert_eq!(failure(WriteContext::Plain).to_string(), "timed out");
/// assert_eq!(
///     failure(WriteContext::VolumeMigration).to_string(),
///     "persistent Volume Controller can't anneal migration annotations or finalizer: timed out",
/// );
/// ```
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
///
/// ```
/// use pvbind::plan::{WriteContext, WriteFailure};
/// let failure = WriteFailure {
///     context: WriteContext::DefaultClass,
///     object: "shop/data".to_owned(),
///     message: "timed out".to_owned(),
/// };
/// assert_eq!(
///     failure.to_string(),
///     r#"can't update PersistentVolumeClaim["shop/data"]: timed out"#,
/// );
/// ```
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
