//! Plans as JSON: what a dry run prints and a log keeps. It is written, never
//! read again.

use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::Value;

use super::{Event, Operation, Plan, Provisioner, Step, Verdict, Write};
use crate::api::{ClaimKey, ObjectMeta, ObjectReference, PersistentVolume};

/// The steps in order, and where things stand after them, to be read: in a dry
/// run, in a log, in a test.
///
/// It is not to be carried out from: later writes of an object are based on what
/// the API server answers to the earlier ones, which is what
/// [`Execution`](super::Execution) is for; and of an operation only the names
/// stand here.
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, read_objects};
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(
///     r#"{"kind": "StorageClass", "metadata": {"name": "fast"},
///         "provisioner": "csi.example.com", "volumeBindingMode": "Immediate"}"#)?
/// .into_iter()
/// .collect();
/// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
///     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1", "resourceVersion": "7"},
///     "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}))?;
/// let plan = sync_claim(&Config::default(), &snapshot, &claim);
/// let json = serde_json::to_value(&plan)?;
/// assert_eq!(json["verdict"], serde_json::json!({"verdict": "settled"}));
/// assert_eq!(json["steps"][0], serde_json::json!({
///     "step": "start",
///     "operation": "provision-shop/data[u-1]",
///     "kind": "provision",
///     "namespace": "shop",
///     "name": "data",
///     "provisioner": "csi.example.com",
///     "external": true,
/// }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<V: Serialize> Serialize for Plan<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Plan", 2)?;
        fields.serialize_field("steps", &self.steps)?;
        fields.serialize_field("verdict", &self.verdict)?;
        fields.end()
    }
}

/// The field `verdict` is `settled`, `retry` or `askApiServer`, with the `error`
/// and its [`code`](super::SyncError::code), or the `claim`, beside it. A claim
/// that waits for its volume to be made is settled, too: see
/// [`Verdict::Settled`].
///
/// ```
/// use pvbind::api::ClaimKey;
/// use pvbind::plan::{SyncError, Verdict};
/// let verdict = Verdict::AskApiServer(ClaimKey::new("shop", "data"));
/// assert_eq!(
///     serde_json::to_string(&verdict)?,
///     r#"{"verdict":"askApiServer","claim":{"namespace":"shop","name":"data"}}"#,
/// );
/// let verdict = Verdict::Retry(SyncError::CutOff);
/// assert_eq!(
///     serde_json::to_string(&verdict)?,
///     r#"{"verdict":"retry","code":"cut-off","error":"the plan was cut off"}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        #[serde(tag = "verdict", rename_all = "camelCase")]
        enum Form<'a> {
            Settled,
            Retry { code: &'static str, error: String },
            AskApiServer { claim: &'a ClaimKey },
        }
        match self {
            Verdict::Settled => Form::Settled,
            Verdict::Retry(error) => Form::Retry {
                code: error.code(),
                error: error.to_string(),
            },
            Verdict::AskApiServer(claim) => Form::AskApiServer { claim },
        }
        .serialize(serializer)
    }
}

/// The field `step` is `write`, `event`, `enqueueClaim` or `start`; beside it
/// stand the fields of the [`Write`], [`Event`] or [`Operation`], or the
/// `claim`.
///
/// ```
/// use pvbind::api::ClaimKey;
/// use pvbind::plan::Step;
/// let step = Step::EnqueueClaim(ClaimKey::new("shop", "data"));
/// assert_eq!(
///     serde_json::to_string(&step)?,
///     r#"{"step":"enqueueClaim","claim":{"namespace":"shop","name":"data"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        #[serde(tag = "step", rename_all = "camelCase")]
        enum Form<'a> {
            Write(&'a Write),
            Event(&'a Event),
            EnqueueClaim { claim: &'a ClaimKey },
            Start(&'a Operation),
        }
        match self {
            Step::Write { write, .. } => Form::Write(write),
            Step::Event(event) => Form::Event(event),
            Step::EnqueueClaim(claim) => Form::EnqueueClaim { claim },
            Step::Start(operation) => Form::Start(operation),
        }
        .serialize(serializer)
    }
}

/// What is asked of the API server: `verb`, `resource`, `subresource` if there
/// is one, `namespace` and `name` of the object, and the `patch` of an update, the `body` of what
/// is created, or the `preconditions` of a deletion.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::plan::{Change, Write};
/// let before: PersistentVolume = serde_json::from_str(
///     r#"{"metadata": {"name": "pv-1", "uid": "u-1", "resourceVersion": "7"}}"#)?;
/// let mut after = before.clone();
/// after.status.phase = Some("Available".into());
/// let change = Change { from: Arc::new(before.clone()), to: Arc::new(after) };
/// assert_eq!(serde_json::to_value(Write::VolumeStatus(change))?, serde_json::json!({
///     "verb": "update",
///     "resource": "persistentvolumes",
///     "subresource": "status",
///     "name": "pv-1",
///     "patch": {"metadata": {"resourceVersion": "7"}, "status": {"phase": "Available"}},
/// }));
/// assert_eq!(serde_json::to_value(Write::DeleteVolume(Arc::new(before)))?, serde_json::json!({
///     "verb": "delete",
///     "resource": "persistentvolumes",
///     "name": "pv-1",
///     "preconditions": {"uid": "u-1", "resourceVersion": "7"},
/// }));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Write {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Form<'a> {
            verb: &'static str,
            resource: &'static str,
            #[serde(skip_serializing_if = "str::is_empty")]
            subresource: &'static str,
            #[serde(flatten)]
            object: Place<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            patch: Option<Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            body: Option<&'a PersistentVolume>,
            #[serde(skip_serializing_if = "Option::is_none")]
            preconditions: Option<Preconditions<'a>>,
        }
        let (body, preconditions) = match self {
            Write::CreateVolume { volume, .. } => (Some(volume.as_ref()), None),
            Write::DeleteVolume(volume) => (None, Some(Preconditions::of(&volume.metadata))),
            _ => (None, None),
        };
        Form {
            verb: self.verb(),
            resource: self.resource(),
            subresource: self.subresource(),
            object: Place::of(
                self.metadata(),
                matches!(self, Write::Claim(_) | Write::ClaimStatus(_)),
            ),
            patch: self.merge_patch(),
            body,
            preconditions,
        }
        .serialize(serializer)
    }
}

#[derive(serde::Serialize)]
struct Place<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Place<'a> {
    fn of(metadata: &'a ObjectMeta, has_namespace: bool) -> Self {
        Place {
            namespace: if has_namespace {
                metadata.namespace()
            } else {
                ""
            },
            name: metadata.name(),
        }
    }
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Preconditions<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    resource_version: &'a str,
}

impl<'a> Preconditions<'a> {
    fn of(metadata: &'a ObjectMeta) -> Self {
        Preconditions {
            uid: metadata.uid(),
            resource_version: metadata.resource_version(),
        }
    }
}

/// As the fields of an Event of `events.k8s.io/v1` that say the same: `regarding`,
/// `type`, `reason`, `note`.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::plan::{Event, EventReason};
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"metadata": {"name": "pv-1", "uid": "u-1"}}"#)?;
/// let event = Event::on_volume(&volume, EventReason::VolumeDelete, "is in use");
/// assert_eq!(serde_json::to_value(&event)?, serde_json::json!({
///     "regarding": {
///         "apiVersion": "v1", "kind": "PersistentVolume", "name": "pv-1", "uid": "u-1",
///     },
///     "type": "Normal",
///     "reason": "VolumeDelete",
///     "note": "is in use",
/// }));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Form<'a> {
            regarding: &'a ObjectReference,
            r#type: String,
            reason: &'static str,
            note: &'a str,
        }
        Form {
            regarding: &self.regarding,
            r#type: self.event_type.to_string(),
            reason: self.reason.as_str(),
            note: &self.message,
        }
        .serialize(serializer)
    }
}

/// `operation` is upstream's name for it, of which only one goes on at a time;
/// `kind` is `provision`, `delete` or `recycle`; `namespace` and `name` are of the
/// object that it is about. See the example at [`Plan`]'s.
impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Form<'a> {
            operation: String,
            kind: &'static str,
            #[serde(flatten)]
            object: Place<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            provisioner: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            external: Option<bool>,
        }
        let (provisioner, external) = match self {
            Operation::Provision { provisioner, .. } => match provisioner {
                Provisioner::Internal(name) => (Some(name.as_str()), Some(false)),
                Provisioner::External(name) => (Some(name.as_str()), Some(true)),
            },
            Operation::Delete { .. } | Operation::Recycle { .. } => (None, None),
        };
        Form {
            operation: self.name(),
            kind: self.kind(),
            object: Place::of(self.metadata(), provisioner.is_some()),
            provisioner,
            external,
        }
        .serialize(serializer)
    }
}
