//! An API server in memory, for simulations and tests.

mod kinds;

use std::sync::Arc;

use self::kinds::{Kept, fill_in};
use super::run::decide_volume;
use super::{Backend, Config, run_operation, sync_claim};
use crate::api::{
    ClaimKey, Object, ObjectMeta, PersistentVolume, PersistentVolumeClaim, StorageClass, Timestamp,
};
use crate::plan::{
    ApiError, ApiErrorKind, ApiServer, Change, Event, Operation, Plan, Report, carry_out,
};
use crate::view::{ClusterView as _, Snapshot, Stored, is_older_version};

/// The longest resourceVersion that counts as a number here. Etcd's have 19
/// digits at most.
const LONGEST_VERSION: usize = 40;

/// An API server in memory: a cluster to play on, for simulations and for the
/// tests of an embedding controller.
///
/// It does what binding relies on: a write that is based on an old
/// resourceVersion, or on an object that was made again since, is a
/// [`Conflict`](ApiErrorKind::Conflict); one to an object that is not there is
/// [`NotFound`](ApiErrorKind::NotFound), both in the words of an API server. Spec
/// and status are written apart; each write that changes something raises the
/// resourceVersion; what is deleted stays while a finalizer holds it, and goes
/// with the last one. Uid, times, the phase *Pending*, a volume's policy *Retain*
/// and the like are filled in. A controller sees the cluster through its
/// [`snapshot`](Self::snapshot), always up to date, and events are kept.
///
/// The controller itself is played by [`resync`](Self::resync); the scheduler, who
/// chooses volumes and nodes for claims that wait for a pod, by
/// [`scheduling`](crate::scheduling).
///
/// # Differences from an API server
/// Nothing else is admitted or validated: no default class and no protection
/// finalizer is set, and no change of an immutable field is refused. A write
/// without resourceVersion is taken whatever there was before, as by an API
/// server for volumes and claims. Uids are resourceVersions in the form of a uid.
///
/// # Cost
/// A write is logarithmic in the number of objects, and copies the object. A
/// [`Clone`] shares the objects and is linear in their number, about a
/// microsecond each, and in the number of events.
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
/// // The volume was there first; then came the claim, and four writes.
/// assert_eq!(claim.metadata.resource_version(), "6");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryServer {
    snapshot: Snapshot,
    events: Vec<Event>,
    now: Timestamp,
    /// The highest resourceVersion so far.
    version: String,
}

impl Default for MemoryServer {
    /// An empty cluster.
    fn default() -> Self {
        MemoryServer::new(Snapshot::new())
    }
}

impl MemoryServer {
    /// A server that has these objects. What lacks a uid or a resourceVersion, as
    /// in a manifest, is given one, and what an API server fills in is filled in.
    ///
    /// Linear in the number of objects.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::controller::MemoryServer;
    /// use pvbind::plan::ApiServer;
    /// let cluster = read_objects(r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}}"#)?;
    /// let mut server = MemoryServer::new(cluster.into_iter().collect());
    /// let volume = server.read_volume("pv-1")?.unwrap();
    /// assert_eq!(volume.status.phase.unwrap().as_str(), "Pending");
    /// assert_eq!(volume.metadata.uid.unwrap(), "00000000-0000-0000-0000-000000000001");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(snapshot: Snapshot) -> Self {
        let mut server = MemoryServer {
            version: newest_version(&snapshot).to_owned(),
            snapshot,
            events: Vec::new(),
            now: "1970-01-01T00:00:00Z".into(),
        };
        let snapshot = &server.snapshot;
        let volumes = snapshot.volumes().iter();
        let volumes = volumes.map(|volume| PersistentVolume::clone(volume).into());
        let claims = snapshot.claims();
        let claims = claims.map(|claim| PersistentVolumeClaim::clone(claim).into());
        let classes = snapshot.classes();
        let classes = classes.map(|class| StorageClass::clone(class).into());
        let objects: Vec<Object> = volumes.chain(claims).chain(classes).collect();
        for mut object in objects {
            let before = object.clone();
            fill_in(&mut object);
            server.identify(&mut object);
            if object != before {
                server.snapshot.apply_object(object);
            }
        }
        server
    }

    /// The cluster as it is now.
    ///
    /// Where a function takes a view and the server, give it a [`Clone`] of the
    /// view, made once for many calls.
    ///
    /// ```
    /// use pvbind::api::StorageClass;
    /// use pvbind::controller::MemoryServer;
    /// let mut server = MemoryServer::default();
    /// let class: StorageClass = serde_json::from_str(r#"{"metadata": {"name": "fast"}}"#)?;
    /// server.put(class);
    /// let names: Vec<_> = server.snapshot().classes().map(|class| class.name()).collect();
    /// assert_eq!(names, ["fast"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Makes an object of any kind, or replaces the one of its name, status and
    /// all, as others do: users, the scheduler, kubelets. It gets a
    /// resourceVersion above all others, and keeps the uid of the one that it
    /// replaces, unless it says another. Objects of kinds that a snapshot does not
    /// hold are left out.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::controller::MemoryServer;
    /// use pvbind::plan::{ApiErrorKind, ApiServer};
    /// # let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// let mut server = MemoryServer::default();
    /// let before = server.create_volume(&volume)?;
    /// let mut annotated = before.clone();
    /// annotated.metadata.set_annotation("example.com/owner", "shop");
    /// server.put(annotated);
    /// // Whoever goes by what there was before is refused.
    /// let error = server.delete_volume(&before).unwrap_err();
    /// assert_eq!(error.kind, ApiErrorKind::Conflict);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&mut self, object: impl Into<Object>) {
        let mut object = object.into();
        fill_in(&mut object);
        let held = self.held(&object).cloned().unwrap_or_default();
        if let Some(metadata) = object.metadata_mut() {
            if metadata.uid().is_empty() {
                metadata.uid.clone_from(&held.uid);
            }
            metadata.resource_version = Some(self.next_version(held.resource_version()));
        }
        self.identify(&mut object);
        self.snapshot.apply_object(object);
    }

    /// The metadata of what the server has under the name of an object.
    fn held(&self, object: &Object) -> Option<&ObjectMeta> {
        fn held<'s, T: Stored + 's>(snapshot: &'s Snapshot, named: &T) -> Option<&'s ObjectMeta> {
            let (namespace, name) = named.key();
            snapshot
                .find::<T>(namespace, name)
                .map(|held| held.metadata())
        }
        let snapshot = &self.snapshot;
        match object {
            Object::PersistentVolume(named) => held(snapshot, &**named),
            Object::PersistentVolumeClaim(named) => held(snapshot, &**named),
            Object::StorageClass(named) => held(snapshot, &**named),
            Object::Node(named) => held(snapshot, &**named),
            Object::Pod(named) => held(snapshot, &**named),
            Object::CsiDriver(named) => held(snapshot, &**named),
            Object::CsiNode(named) => held(snapshot, &**named),
            Object::CsiStorageCapacity(named) => held(snapshot, &**named),
            _ => None,
        }
    }

    /// Takes an object away, whatever holds it; whether there was one.
    ///
    /// A user who deletes a claim or a volume waits for its finalizers:
    /// [`delete_claim`](Self::delete_claim),
    /// [`delete_volume`](ApiServer::delete_volume).
    ///
    /// ```
    /// use pvbind::api::Node;
    /// use pvbind::controller::MemoryServer;
    /// let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
    /// let mut server = MemoryServer::default();
    /// server.put(node);
    /// assert!(server.remove::<Node>("", "node-a"));
    /// assert!(!server.remove::<Node>("", "node-a"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn remove<T: Stored>(&mut self, namespace: &str, name: &str) -> bool {
        let Some(found) = self.snapshot.find::<T>(namespace, name).cloned() else {
            return false;
        };
        self.snapshot.delete(&*found);
        true
    }

    /// Plays the controller: syncs every volume and every claim once, carries the
    /// plans out, and has the backend do what they start. How much was written;
    /// where that is 0, more syncs write no more, unless the backend comes to
    /// another mind.
    ///
    /// Costs a sync for each object, and one [`Clone`] of the snapshot if anything
    /// was started.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, StorageClass, read_objects};
    /// use pvbind::controller::{Backend, Config, DeleteError, MemoryServer, ProvisionRequest};
    /// use pvbind::plan::ApiServer;
    ///
    /// /// It deletes what it is asked to.
    /// struct Disks;
    ///
    /// impl Backend for Disks {
    ///     fn delete(&mut self, _: &str, _: &PersistentVolume) -> Result<(), DeleteError> {
    ///         Ok(())
    ///     }
    /// #     fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> { Ok(()) }
    /// #     fn provision(&mut self, _: &ProvisionRequest) -> Result<PersistentVolume, String> { Err("no room".into()) }
    /// #     fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> { Ok(()) }
    /// }
    ///
    /// // A volume whose claim is gone.
    /// let cluster = read_objects(r#"
    ///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
    ///      "spec": {"persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/tmp/pv-1"},
    ///               "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#)?;
    /// let mut server = MemoryServer::new(cluster.into_iter().collect());
    /// let config = Config::kube_controller_manager();
    /// while server.resync(&config, &mut Disks) > 0 {}
    /// assert_eq!(server.read_volume("pv-1")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resync(&mut self, config: &Config, backend: &mut (impl Backend + ?Sized)) -> usize {
        let (mut writes, mut started) = (0_usize, Vec::new());
        let volumes: Vec<_> = self.snapshot.volumes().iter().cloned().collect();
        for volume in volumes {
            let snapshot = &self.snapshot;
            let read = |key: &ClaimKey| Ok(snapshot.find(&key.namespace, &key.name).cloned());
            let Ok(plan) = decide_volume(config, snapshot, &volume, read) else {
                continue;
            };
            writes = writes.saturating_add(self.carry_out(plan, &mut started));
        }
        let claims: Vec<_> = self.snapshot.claims().cloned().collect();
        for claim in claims {
            let plan = sync_claim(config, &self.snapshot, &claim);
            writes = writes.saturating_add(self.carry_out(plan, &mut started));
        }
        if started.is_empty() {
            return writes;
        }
        let view = self.snapshot.clone();
        for operation in started {
            let report = run_operation(config, &view, self, backend, operation);
            let written = report.done.iter().filter(|done| done.is_written()).count();
            writes = writes.saturating_add(written);
        }
        writes
    }

    fn carry_out(&mut self, plan: Plan, started: &mut Vec<Operation>) -> usize {
        let report: Report = carry_out(self, plan);
        started.extend(report.operations().cloned());
        report.writes()
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

    /// Takes the events that were recorded so far. A claim that waits has one in
    /// every sync; a long simulation takes them now and then.
    ///
    /// ```
    /// use pvbind::controller::MemoryServer;
    /// use pvbind::plan::{ApiServer, Event, EventReason};
    /// let mut server = MemoryServer::default();
    /// let claim = server.create_claim(&Default::default())?;
    /// server.record_event(&Event::on_claim(&claim, EventReason::ClaimLost, "gone"));
    /// assert_eq!(server.take_events().len(), 1);
    /// assert_eq!(server.events(), []);
    /// # Ok::<(), pvbind::plan::ApiError>(())
    /// ```
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Says what time it is, for what is created and deleted from now on. The
    /// beginning of 1970 if nobody says.
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
    /// with uid, resourceVersion and time of creation, and without the status that
    /// it came with, as in [`create_volume`](ApiServer::create_volume).
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
        object.take_status(&T::default());
        object.fill_in();
        let version = self.next_version("");
        let now = self.now.clone();
        let metadata = object.meta_mut();
        metadata.uid = Some(uid(&version));
        metadata.resource_version = Some(version);
        metadata.creation_timestamp = Some(now);
        metadata.deletion_timestamp = None;
        self.snapshot.apply(Arc::new(object.clone()));
        Ok(object)
    }

    /// Writes all but the status.
    fn update<T: Kept>(&mut self, sent: &T) -> Result<T, ApiError> {
        let stored = self.based_on(sent)?;
        let mut new = sent.clone();
        new.take_status(&stored);
        let (metadata, kept) = (new.meta_mut(), stored.metadata());
        if kept.is_being_deleted()
            && let Some(added) = finalizers(metadata).find(|name| !kept.has_finalizer(name))
        {
            let message = format!(
                "{} {:?} is invalid: metadata.finalizers: Forbidden: no new finalizers can be \
                 added if the object is being deleted, found new finalizers [{added:?}]",
                T::RESOURCE,
                kept.name(),
            );
            return Err(ApiError::new(ApiErrorKind::Other, message));
        }
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
        let metadata = new.meta_mut();
        if !metadata.is_being_deleted() {
            metadata.deletion_timestamp = Some(self.now.clone());
        }
        self.keep(&*stored, new);
        Ok(())
    }

    /// Stores what an object has become, or lets it go.
    fn keep<T: Kept>(&mut self, stored: &T, mut new: T) -> T {
        let version = stored.metadata().resource_version.clone();
        new.meta_mut().resource_version = version;
        let metadata = new.metadata();
        let is_held = finalizers(metadata).next().is_some();
        if metadata.is_being_deleted() && !is_held {
            self.next_version(metadata.resource_version());
            self.snapshot.delete(stored);
        } else if new != *stored {
            let version = self.next_version(metadata.resource_version());
            new.meta_mut().resource_version = Some(version);
            self.snapshot.apply(Arc::new(new.clone()));
        }
        new
    }

    fn stored<T: Kept>(&self, named: &T) -> Option<&Arc<T>> {
        let metadata = named.metadata();
        self.snapshot.find(metadata.namespace(), metadata.name())
    }

    /// What is stored, if a write may be based on this.
    fn based_on<T: Kept>(&self, sent: &T) -> Result<Arc<T>, ApiError> {
        let Some(stored) = self.stored(sent) else {
            return Err(failure::<T>(sent, ApiErrorKind::NotFound));
        };
        let (has, sent_has) = (stored.metadata(), sent.metadata());
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
        if after.len() > LONGEST_VERSION {
            // It does not become everybody's.
            return successor(after);
        }
        let last = match is_older_version(&self.version, after) {
            true => after,
            false => &self.version,
        };
        self.version = successor(last);
        self.version.clone()
    }

    /// Gives an object uid and version, if it has none.
    fn identify(&mut self, object: &mut Object) {
        let Some(metadata) = object.metadata_mut() else {
            return;
        };
        if !metadata.uid().is_empty() && !metadata.resource_version().is_empty() {
            return;
        }
        let version = self.next_version("");
        if metadata.uid().is_empty() {
            metadata.uid = Some(uid(&version));
        }
        if metadata.resource_version().is_empty() {
            metadata.resource_version = Some(version);
        }
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

fn finalizers(metadata: &ObjectMeta) -> impl Iterator<Item = &str> {
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().map(String::as_str)
}

/// A uid that no other object of the server has: what had this version is no
/// more, and what is bound to it has a later one.
fn uid(version: &str) -> String {
    format!("00000000-0000-0000-0000-{version:0>12}")
}

/// The highest resourceVersion of all objects, "0" if there is none.
fn newest_version(snapshot: &Snapshot) -> &str {
    fn versions<'s, T: Stored + 's>(
        objects: impl Iterator<Item = &'s Arc<T>>,
    ) -> impl Iterator<Item = &'s str> {
        objects.map(|object| object.metadata().resource_version())
    }
    let all = versions(snapshot.volumes().iter())
        .chain(versions(snapshot.claims()))
        .chain(versions(snapshot.classes()))
        .chain(versions(snapshot.nodes()))
        .chain(versions(snapshot.pods()))
        .chain(versions(snapshot.csi_drivers()))
        .chain(versions(snapshot.csi_nodes()))
        .chain(versions(snapshot.capacities()));
    let all = all.filter(|version| version.len() <= LONGEST_VERSION);
    all.fold("0", |newest, version| {
        match is_older_version(newest, version) {
            true => version,
            false => newest,
        }
    })
}

/// The answer, in the words of an API server.
fn failure<T: Kept>(object: &T, kind: ApiErrorKind) -> ApiError {
    let (resource, name) = (T::RESOURCE, object.metadata().name());
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
mod tests;
