//! An API server in memory, for simulations and tests.

use std::sync::Arc;

use crate::api::{ClaimKey, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Timestamp};
use crate::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event};
use crate::view::{ClusterView as _, Snapshot, Stored, is_older_version};

/// An API server in memory: a cluster to play on, for simulations and for the
/// tests of an embedding controller.
///
/// It does what binding relies on: a write that is based on an old
/// resourceVersion is a conflict; spec and status are written apart; each write
/// that changes something raises the resourceVersion; what is deleted stays
/// while a finalizer holds it, and goes with the last one. A controller sees it
/// through its [`snapshot`](Self::snapshot), always up to date, and events are
/// kept.
///
/// # Differences from an API server
/// Nothing is validated or admitted: no class is filled in, no finalizer set, no
/// change of an immutable field refused. A write without resourceVersion is
/// taken as it is, and so is a deletion. Uids are numbers in the form of one,
/// and no object has a creationTimestamp.
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, read_objects};
/// use pvbind::controller::{Config, MemoryServer, sync_claim};
/// use pvbind::plan::carry_out;
/// use pvbind::view::{ClusterView, Snapshot};
/// let cluster: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
///      "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}}"#)?
/// .into_iter()
/// .collect();
/// let mut server = MemoryServer::new(cluster);
/// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
///     "metadata": {"namespace": "shop", "name": "data"},
///     "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))?;
/// let claim = server.create_claim(&claim)?;
///
/// let plan = sync_claim(&Config::default(), server.snapshot(), &claim);
/// let report = carry_out(&mut server, plan);
/// assert_eq!((report.error(), report.writes()), (None, 4));
/// let claim = server.snapshot().claim("shop", "data").unwrap();
/// assert_eq!(claim.volume_name(), "pv-1");
/// assert_eq!(claim.metadata.resource_version(), "5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryServer {
    snapshot: Snapshot,
    events: Vec<Event>,
    now: Timestamp,
    /// The resourceVersion that was given last.
    version: String,
    created: u64,
}

impl Default for MemoryServer {
    /// An empty cluster.
    fn default() -> Self {
        MemoryServer::new(Snapshot::new())
    }
}

impl MemoryServer {
    /// A server that has these objects, as they are.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::controller::MemoryServer;
    /// use pvbind::plan::ApiServer;
    /// let cluster = read_objects(r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}}"#)?;
    /// let mut server = MemoryServer::new(cluster.into_iter().collect());
    /// assert!(server.read_volume("pv-1")?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(snapshot: Snapshot) -> Self {
        MemoryServer {
            snapshot,
            events: Vec::new(),
            now: "1970-01-01T00:00:00Z".into(),
            version: "0".to_owned(),
            created: 0,
        }
    }

    /// The cluster as it is now.
    ///
    /// Where a function takes a view and the server, give it a
    /// [`Clone`] of the view, which shares the objects.
    ///
    /// ```
    /// use pvbind::controller::MemoryServer;
    /// assert_eq!(MemoryServer::default().snapshot().claims().count(), 0);
    /// ```
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The cluster, to change what plans do not write: classes, nodes, pods, or
    /// a volume or claim as somebody else would.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::StorageClass;
    /// use pvbind::controller::MemoryServer;
    /// let mut server = MemoryServer::default();
    /// let class: StorageClass = serde_json::from_str(r#"{"metadata": {"name": "fast"}}"#)?;
    /// server.snapshot_mut().apply(Arc::new(class));
    /// assert_eq!(server.snapshot().classes().count(), 1);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn snapshot_mut(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }

    /// The events that were recorded, in order.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::controller::{Config, MemoryServer, sync_claim};
    /// use pvbind::plan::carry_out;
    /// let mut server = MemoryServer::default();
    /// let claim = server.create_claim(&PersistentVolumeClaim::default())?;
    /// let plan = sync_claim(&Config::default(), server.snapshot(), &claim);
    /// carry_out(&mut server, plan).error();
    /// assert_eq!(
    ///     server.events()[0].message,
    ///     "no persistent volumes available for this claim and no storage class is set",
    /// );
    /// # Ok::<(), pvbind::plan::ApiError>(())
    /// ```
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Says what time it is: what is deleted from now on is deleted at that
    /// time. The beginning of 1970 if nobody says.
    ///
    /// ```
    /// use pvbind::controller::MemoryServer;
    /// use pvbind::plan::ApiServer;
    /// # let volume = serde_json::from_str(
    /// #     r#"{"metadata": {"name": "pv-1", "finalizers": ["kubernetes.io/pv-protection"]}}"#)?;
    /// let mut server = MemoryServer::default();
    /// let volume = server.create_volume(&volume)?;
    /// server.set_time("2026-11-30T00:00:00Z".into());
    /// server.delete_volume(&volume)?;
    /// // A finalizer holds it.
    /// let volume = server.read_volume("pv-1")?.unwrap();
    /// let deleted = volume.metadata.deletion_timestamp.unwrap();
    /// assert_eq!(deleted.as_str(), "2026-11-30T00:00:00Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_time(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Creates a claim, as a user does. It returns what the server then has:
    /// with uid and resourceVersion.
    ///
    /// # Errors
    /// [`AlreadyExists`](ApiErrorKind::AlreadyExists).
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::controller::MemoryServer;
    /// use pvbind::plan::ApiErrorKind;
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "data"}}"#)?;
    /// let mut server = MemoryServer::default();
    /// let created = server.create_claim(&claim)?;
    /// assert_eq!(created.metadata.uid(), "00000000-0000-0000-0000-000000000001");
    /// let again = server.create_claim(&claim).unwrap_err();
    /// assert_eq!(again.kind, ApiErrorKind::AlreadyExists);
    /// assert_eq!(again.message, r#"persistentvolumeclaims "data" already exists"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_claim(
        &mut self,
        claim: &PersistentVolumeClaim,
    ) -> Result<PersistentVolumeClaim, ApiError> {
        self.create(claim)
    }

    /// Deletes a claim, as a user does: at once, or as soon as no finalizer
    /// holds it any more.
    ///
    /// # Errors
    /// [`NotFound`](ApiErrorKind::NotFound).
    ///
    /// ```
    /// use pvbind::api::{ClaimKey, PersistentVolumeClaim};
    /// use pvbind::controller::MemoryServer;
    /// use pvbind::plan::ApiServer;
    /// # let claim: PersistentVolumeClaim =
    /// #     serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "data"}}"#)?;
    /// let mut server = MemoryServer::default();
    /// server.create_claim(&claim)?;
    /// let key = ClaimKey::new("shop", "data");
    /// server.delete_claim(&key)?;
    /// assert_eq!(server.read_claim(&key)?, None);
    /// assert!(server.delete_claim(&key).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_claim(&mut self, key: &ClaimKey) -> Result<(), ApiError> {
        let named = PersistentVolumeClaim {
            metadata: ObjectMeta {
                namespace: Some(key.namespace.clone()),
                name: Some(key.name.clone()),
                ..ObjectMeta::default()
            },
            ..PersistentVolumeClaim::default()
        };
        self.delete(&named)
    }

    fn create<T: Kept>(&mut self, object: &T) -> Result<T, ApiError> {
        if self.stored(object).is_some() {
            return Err(failure::<T>(object, ApiErrorKind::AlreadyExists));
        }
        let mut object = object.clone();
        let version = self.next_version("");
        self.created = self.created.saturating_add(1);
        let metadata = object.metadata_mut();
        metadata.uid = Some(format!("00000000-0000-0000-0000-{:012x}", self.created));
        metadata.resource_version = Some(version);
        metadata.deletion_timestamp = None;
        self.snapshot.apply(Arc::new(object.clone()));
        Ok(object)
    }

    /// Writes all but the status.
    fn update<T: Kept>(&mut self, sent: &T) -> Result<T, ApiError> {
        let stored = self.based_on(sent)?;
        let mut new = sent.clone();
        new.take_status(&stored);
        let (metadata, kept) = (new.metadata_mut(), Kept::metadata(&*stored));
        metadata.uid.clone_from(&kept.uid);
        metadata
            .creation_timestamp
            .clone_from(&kept.creation_timestamp);
        metadata
            .deletion_timestamp
            .clone_from(&kept.deletion_timestamp);
        Ok(self.keep(&stored, new))
    }

    fn update_status<T: Kept>(&mut self, sent: &T) -> Result<T, ApiError> {
        let stored = self.based_on(sent)?;
        let mut new = T::clone(&stored);
        new.take_status(sent);
        Ok(self.keep(&stored, new))
    }

    fn delete<T: Kept>(&mut self, sent: &T) -> Result<(), ApiError> {
        let stored = self.based_on(sent)?;
        let mut new = T::clone(&stored);
        let metadata = new.metadata_mut();
        if !metadata.is_being_deleted() {
            metadata.deletion_timestamp = Some(self.now.clone());
        }
        self.keep(&*stored, new);
        Ok(())
    }

    /// Stores what an object has become, or lets it go.
    fn keep<T: Kept>(&mut self, stored: &T, mut new: T) -> T {
        let version = Kept::metadata(stored).resource_version.clone();
        new.metadata_mut().resource_version = version;
        let metadata = Kept::metadata(&new);
        let is_held = metadata.finalizers.as_ref().is_some_and(|f| !f.is_empty());
        if metadata.is_being_deleted() && !is_held {
            self.snapshot.delete(stored);
        } else if new != *stored {
            let version = self.next_version(metadata.resource_version());
            new.metadata_mut().resource_version = Some(version);
            self.snapshot.apply(Arc::new(new.clone()));
        }
        new
    }

    fn stored<T: Kept>(&self, named: &T) -> Option<&Arc<T>> {
        let metadata = Kept::metadata(named);
        self.snapshot.find(metadata.namespace(), metadata.name())
    }

    /// What is stored, if a write may be based on this.
    fn based_on<T: Kept>(&self, sent: &T) -> Result<Arc<T>, ApiError> {
        let Some(stored) = self.stored(sent) else {
            return Err(failure::<T>(sent, ApiErrorKind::NotFound));
        };
        let (has, sent_has) = (Kept::metadata(&**stored), Kept::metadata(sent));
        let differs = |has: &str, sent: &str| !sent.is_empty() && sent != has;
        if differs(has.resource_version(), sent_has.resource_version())
            || differs(has.uid(), sent_has.uid())
        {
            return Err(failure::<T>(sent, ApiErrorKind::Conflict));
        }
        Ok(Arc::clone(stored))
    }

    /// A version after the last one and after this.
    fn next_version(&mut self, after: &str) -> String {
        let last = match is_older_version(&self.version, after) {
            true => after,
            false => &self.version,
        };
        self.version = successor(last);
        self.version.clone()
    }
}

impl ApiServer for MemoryServer {
    fn update_volume(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError> {
        self.update(&*change.to)
    }

    fn update_volume_status(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError> {
        self.update_status(&*change.to)
    }

    fn update_claim(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError> {
        self.update(&*change.to)
    }

    fn update_claim_status(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError> {
        self.update_status(&*change.to)
    }

    fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> {
        self.create(volume)
    }

    fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError> {
        self.delete(volume)
    }

    fn record_event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }

    fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
        let claim = self.snapshot.claim(&key.namespace, &key.name);
        Ok(claim.map(|claim| PersistentVolumeClaim::clone(&claim)))
    }

    fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError> {
        let volume = self.snapshot.volume(name);
        Ok(volume.map(|volume| PersistentVolume::clone(&volume)))
    }
}

/// A kind that plans write.
trait Kept: Stored + Clone + PartialEq {
    const RESOURCE: &'static str;
    fn metadata(&self) -> &ObjectMeta;
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
    fn take_status(&mut self, from: &Self);
}

macro_rules! kept {
    ($Kind:ty, $resource:literal) => {
        impl Kept for $Kind {
            const RESOURCE: &'static str = $resource;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }

            fn take_status(&mut self, from: &Self) {
                self.status.clone_from(&from.status);
            }
        }
    };
}

kept!(PersistentVolume, "persistentvolumes");
kept!(PersistentVolumeClaim, "persistentvolumeclaims");

/// The answer, in the words of an API server.
fn failure<T: Kept>(object: &T, kind: ApiErrorKind) -> ApiError {
    let (resource, name) = (T::RESOURCE, Kept::metadata(object).name());
    let message = match kind {
        ApiErrorKind::AlreadyExists => format!("{resource} {name:?} already exists"),
        ApiErrorKind::NotFound => format!("{resource} {name:?} not found"),
        _ => format!(
            "Operation cannot be fulfilled on {resource} {name:?}: the object has been \
             modified; please apply your changes to the latest version and try again"
        ),
    };
    ApiError::new(kind, message)
}

/// The number after this one, however long it is; "1" after what is no number.
fn successor(version: &str) -> String {
    if version.is_empty() || !version.bytes().all(|byte| byte.is_ascii_digit()) {
        return "1".to_owned();
    }
    let kept = version.trim_end_matches('9');
    let zeros = "0".repeat(version.len().saturating_sub(kept.len()));
    let mut head = kept.to_owned();
    let last = head.pop().and_then(|digit| digit.to_digit(10));
    format!("{head}{}{zeros}", last.unwrap_or(0).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn volume(json: serde_json::Value) -> PersistentVolume {
        serde_json::from_value(json).unwrap()
    }

    fn change(from: &PersistentVolume, to: PersistentVolume) -> Change<PersistentVolume> {
        Change {
            from: Arc::new(from.clone()),
            to: Arc::new(to),
        }
    }

    #[test]
    fn a_write_that_is_based_on_an_old_version_is_a_conflict() {
        let mut server = MemoryServer::default();
        let first = server
            .create_volume(&volume(json!({"metadata": {"name": "pv-1"}})))
            .unwrap();
        let mut labelled = first.clone();
        labelled.metadata.labels = Some([("disk".to_owned(), "ssd".to_owned())].into());
        let second = server
            .update_volume(&change(&first, labelled.clone()))
            .unwrap();
        assert_eq!(second.metadata.resource_version(), "2");
        let error = server.update_volume(&change(&first, labelled)).unwrap_err();
        assert_eq!(error.kind, ApiErrorKind::Conflict);
        assert_eq!(
            error.message,
            "Operation cannot be fulfilled on persistentvolumes \"pv-1\": the object has been \
             modified; please apply your changes to the latest version and try again"
        );
        assert!(server.delete_volume(&first).is_err());
        assert_eq!(server.delete_volume(&second), Ok(()));
        assert_eq!(
            server.delete_volume(&second).unwrap_err().kind,
            ApiErrorKind::NotFound
        );
    }

    #[test]
    fn an_object_of_the_same_name_that_was_made_again_is_another() {
        let mut server = MemoryServer::default();
        let named = volume(json!({"metadata": {"name": "pv-1"}}));
        let mut first = server.create_volume(&named).unwrap();
        server.delete_volume(&first).unwrap();
        let second = server.create_volume(&named).unwrap();
        assert_ne!(first.metadata.uid(), second.metadata.uid());
        first.metadata.resource_version = None;
        let error = server
            .update_volume(&change(&first, first.clone()))
            .unwrap_err();
        assert_eq!(error.kind, ApiErrorKind::Conflict);
    }

    #[test]
    fn spec_and_status_are_written_apart() {
        let mut server = MemoryServer::default();
        let stored = server
            .create_volume(&volume(json!({"metadata": {"name": "pv-1"}})))
            .unwrap();
        let mut both = stored.clone();
        both.spec.storage_class_name = Some("fast".to_owned());
        both.status.phase = Some("Available".into());
        let written = server
            .update_volume(&change(&stored, both.clone()))
            .unwrap();
        assert_eq!(written.status.phase, None);
        assert_eq!(written.spec, both.spec);
        both.metadata = written.metadata.clone();
        both.spec.storage_class_name = Some("slow".to_owned());
        let written = server
            .update_volume_status(&change(&written, both))
            .unwrap();
        assert_eq!(written.spec.storage_class_name.as_deref(), Some("fast"));
        assert_eq!(written.status.phase, Some("Available".into()));
        assert_eq!(written.metadata.resource_version(), "3");
    }

    #[test]
    fn a_write_that_changes_nothing_keeps_the_version() {
        let mut server = MemoryServer::default();
        let stored = server
            .create_volume(&volume(json!({"metadata": {"name": "pv-1"}})))
            .unwrap();
        let written = server.update_volume(&change(&stored, stored.clone()));
        assert_eq!(written, Ok(stored));
    }

    #[test]
    fn what_is_deleted_goes_with_its_last_finalizer() {
        let mut server = MemoryServer::default();
        let stored = server
            .create_volume(&volume(json!({"metadata": {"name": "pv-1",
                "finalizers": ["kubernetes.io/pv-protection"]}})))
            .unwrap();
        server.delete_volume(&stored).unwrap();
        let held = server.read_volume("pv-1").unwrap().unwrap();
        assert!(held.metadata.is_being_deleted());
        // Nobody can take a deletion back.
        let mut free = held.clone();
        free.metadata.deletion_timestamp = None;
        free.metadata.finalizers = None;
        server.update_volume(&change(&held, free)).unwrap();
        assert_eq!(server.read_volume("pv-1").unwrap(), None);
    }

    #[test]
    fn versions_rise_above_what_the_cluster_came_with() {
        let nines = "9".repeat(30);
        for (had, next) in [("41", "42"), ("199", "200"), ("", "1"), ("x", "1")] {
            let mut snapshot = Snapshot::new();
            let metadata = json!({"name": "pv-1", "resourceVersion": had});
            let loaded = volume(json!({"metadata": metadata}));
            snapshot.apply(Arc::new(loaded.clone()));
            let mut server = MemoryServer::new(snapshot);
            let mut available = loaded.clone();
            available.status.phase = Some("Available".into());
            let written = server
                .update_volume_status(&change(&loaded, available))
                .unwrap();
            assert_eq!(written.metadata.resource_version(), next, "after `{had}`");
            assert_eq!(server.read_volume("pv-1"), Ok(Some(written)));
        }
        assert_eq!(successor(&nines), format!("1{}", "0".repeat(30)));
    }
}
