//! Events: what a controller tells people about an object.

use std::fmt;

use crate::api::{ObjectReference, PersistentVolume, PersistentVolumeClaim};

/// An event to be recorded. Reason and message are upstream's, to the letter:
/// people and tools read them.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::{EventReason, Step};
/// use pvbind::view::Snapshot;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?;
/// let plan = sync_claim(&Config::default(), &Snapshot::new(), &claim);
/// let Some(Step::Event(event)) = plan.steps.first() else { panic!() };
/// assert_eq!(event.reason, EventReason::FailedBinding);
/// assert_eq!(event.regarding.uid(), "u-1");
/// assert_eq!(
///     event.to_string(),
///     "Normal FailedBinding on PersistentVolumeClaim shop/data: \
///      no persistent volumes available for this claim and no storage class is set",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The object that it is about.
    pub regarding: ObjectReference,
    /// Whether it is a warning.
    pub event_type: EventType,
    /// Why it was recorded, for programs.
    pub reason: EventReason,
    /// What happened, for people.
    pub message: String,
}

impl Event {
    /// An event about a claim.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::plan::{Event, EventReason};
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "data"}}"#)?;
    /// let event = Event::on_claim(&claim, EventReason::ClaimLost, "gone");
    /// assert_eq!(
    ///     event.to_string(),
    ///     "Warning ClaimLost on PersistentVolumeClaim shop/data: gone"
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn on_claim(
        claim: &PersistentVolumeClaim,
        reason: EventReason,
        message: impl Into<String>,
    ) -> Self {
        let metadata = &claim.metadata;
        Event::new("PersistentVolumeClaim", metadata, reason, message.into())
    }

    /// An event about a volume.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::{Event, EventReason};
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// let event = Event::on_volume(&volume, EventReason::VolumeRecycled, "Volume recycled");
    /// assert_eq!(
    ///     event.to_string(),
    ///     "Normal VolumeRecycled on PersistentVolume pv-1: Volume recycled"
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn on_volume(
        volume: &PersistentVolume,
        reason: EventReason,
        message: impl Into<String>,
    ) -> Self {
        Event::new("PersistentVolume", &volume.metadata, reason, message.into())
    }

    /// The same event with another type than its reason usually has.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::plan::{Event, EventReason, EventType};
    /// let claim = PersistentVolumeClaim::default();
    /// // Upstream writes this one reason with either type.
    /// let event = Event::on_claim(&claim, EventReason::FailedBinding, "volume is another's");
    /// assert_eq!(event.event_type, EventType::Normal);
    /// assert_eq!(event.with_type(EventType::Warning).event_type, EventType::Warning);
    /// ```
    pub fn with_type(self, event_type: EventType) -> Self {
        Event { event_type, ..self }
    }

    fn new(
        kind: &str,
        metadata: &crate::api::ObjectMeta,
        reason: EventReason,
        message: String,
    ) -> Self {
        Event {
            regarding: ObjectReference {
                kind: Some(kind.to_owned()),
                api_version: Some("v1".to_owned()),
                namespace: metadata.namespace.clone(),
                name: metadata.name.clone(),
                uid: metadata.uid.clone(),
                ..ObjectReference::default()
            },
            event_type: reason.usual_type(),
            reason,
            message,
        }
    }

    /// `NAMESPACE/NAME` of the object, or just the name of a volume.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::{Event, EventReason};
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// assert_eq!(Event::on_volume(&volume, EventReason::VolumeDelete, "in use").key(), "pv-1");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn key(&self) -> String {
        self.regarding.key()
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.regarding.kind.as_deref().unwrap_or_default();
        let (event_type, reason) = (self.event_type, self.reason);
        let (key, message) = (self.key(), &self.message);
        write!(f, "{event_type} {reason} on {kind} {key}: {message}")
    }
}

/// Whether an event is a warning. There are only these two.
///
/// The text is what Kubernetes writes into an Event's `type`.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::{EventType, Step};
/// use pvbind::view::Snapshot;
/// # use serde_json::json;
/// let event_type = |claim: &PersistentVolumeClaim| {
///     let plan = sync_claim(&Config::default(), &Snapshot::new(), claim);
///     plan.steps.iter().find_map(|step| match step {
///         Step::Event(event) => Some(event.event_type),
///         _ => None,
///     })
/// };
/// // No volume fits yet: the claim waits.
/// let mut claim: PersistentVolumeClaim =
///     serde_json::from_value(json!({"metadata": {"namespace": "shop", "name": "data"}}))?;
/// assert_eq!(event_type(&claim), Some(EventType::Normal));
/// // It was bound, and its volume is gone.
/// claim.metadata.set_annotation("pv.kubernetes.io/bind-completed", "yes");
/// claim.spec.volume_name = Some("pv-1".to_owned());
/// assert_eq!(event_type(&claim), Some(EventType::Warning));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventType {
    /// Things go their way.
    Normal,
    /// Somebody should look.
    Warning,
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        })
    }
}

macro_rules! reasons {
    ($( $(#[$meta:meta])* $Reason:ident: $Type:ident, )*) => {
        /// Why an event was recorded. The text is the name.
        ///
        /// ```
        /// use pvbind::plan::{EventReason, EventType};
        /// let reason = EventReason::VolumeFailedDelete;
        /// assert_eq!(reason.as_str(), "VolumeFailedDelete");
        /// assert_eq!(reason.usual_type(), EventType::Warning);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum EventReason {
            $( $(#[$meta])* $Reason, )*
        }

        impl EventReason {
            /// The text that Kubernetes writes into an Event's `reason`: the variant's name.
            ///
            /// ```
            /// use pvbind::api::PersistentVolumeClaim;
            /// use pvbind::plan::{Event, EventReason};
            /// # let claim = PersistentVolumeClaim::default();
            /// let event = Event::on_claim(&claim, EventReason::WaitForFirstConsumer, "no pod yet");
            /// let body = serde_json::json!({
            ///     "apiVersion": "events.k8s.io/v1", "kind": "Event", "note": event.message,
            ///     "reason": event.reason.as_str(), "type": event.event_type.to_string()});
            /// assert_eq!(body["reason"], "WaitForFirstConsumer");
            /// ```
            pub fn as_str(self) -> &'static str {
                match self {
                    $( EventReason::$Reason => stringify!($Reason), )*
                }
            }

            /// The type of an event with this reason, but for the cases that
            /// say otherwise: two reasons are written with either type.
            ///
            /// ```
            /// use pvbind::api::PersistentVolume;
            /// use pvbind::plan::{Event, EventReason, EventType};
            /// # let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
            /// // It sounds bad, and only says that no volume fits yet.
            /// assert_eq!(EventReason::FailedBinding.usual_type(), EventType::Normal);
            /// // A volume that pods still use is not recycled yet, which is no failure either.
            /// let reason = EventReason::VolumeFailedRecycle;
            /// assert_eq!(reason.usual_type(), EventType::Warning);
            /// let event = Event::on_volume(&volume, reason, "Volume is used by pods: shop/web");
            /// assert_eq!(event.with_type(EventType::Normal).event_type, EventType::Normal);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn usual_type(self) -> EventType {
                match self {
                    $( EventReason::$Reason => EventType::$Type, )*
                }
            }
        }
    };
}

reasons! {
    /// The volume of a bound claim is gone.
    ClaimLost: Warning,
    /// The volume of a bound claim is bound to another.
    ClaimMisbound: Warning,
    /// A claim waits for an external provisioner.
    ExternalProvisioning: Normal,
    /// No volume for a claim (Normal), or the one that it names is another's
    /// (Warning).
    FailedBinding: Normal,
    /// An external provisioner begins to make a volume.
    Provisioning: Normal,
    /// A volume that was made in vain could not be deleted.
    ProvisioningCleanupFailed: Warning,
    /// No volume could be made.
    ProvisioningFailed: Warning,
    /// A volume was made.
    ProvisioningSucceeded: Normal,
    /// A volume is still in use and cannot be deleted yet.
    VolumeDelete: Normal,
    /// A volume could not be deleted.
    VolumeFailedDelete: Warning,
    /// A volume could not be recycled (Warning), or is still in use (Normal).
    VolumeFailedRecycle: Warning,
    /// A claim and the volume that it names do not fit each other.
    VolumeMismatch: Warning,
    /// A volume was recycled.
    VolumeRecycled: Normal,
    /// A volume's reclaim policy is none that there is.
    VolumeUnknownReclaimPolicy: Warning,
    /// A claim waits for a pod that uses it.
    WaitForFirstConsumer: Normal,
    /// A claim waits for its pods to be scheduled.
    WaitForPodScheduled: Normal,
}

impl fmt::Display for EventReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
