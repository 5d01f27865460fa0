//! What the worker takes in: news of the watches, and answers to writes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use pvbind::api::{ClaimKey, ObjectReference, PersistentVolume, PersistentVolumeClaim};
use pvbind::plan::{Event, EventReason, EventType, Written};
use pvbind::view::{Applied, Snapshot, Stored, is_older_version};
use tokio::time::Instant;
use tracing::{error, info};

use super::Worker;
use super::doubts::{Doubts, is_older};
use crate::events::Publisher;
use crate::operations::Backend;
use crate::queue::Key;
use crate::server::Answer;
use crate::watches::{Broken, Name, News, Told, Unreadable};

impl Worker {
    pub(super) fn take_in(&mut self, news: News) {
        match news {
            News::Volume(told) => self.take_in_volumes(told),
            News::Claim(told) => self.take_in_claims(told),
            News::Class(told) => self.take_in_others("classes", told),
            News::Pod(told) => self.take_in_others("pods", told),
            News::Node(told) => self.take_in_others("nodes", told),
        }
    }

    fn take_in_volumes(&mut self, told: Told<PersistentVolume>) {
        let (changed, gone) = self.take_in_kind("volumes", told, |snapshot| {
            snapshot.volumes().iter().cloned().collect()
        });
        for volume in changed {
            self.queue.add(Key::Volume(volume.name().to_owned()));
        }
        for volume in gone {
            self.volume_gone(&volume);
        }
    }

    pub(super) fn volume_gone(&mut self, volume: &PersistentVolume) {
        self.bury(volume.metadata.uid());
        self.forget(&Key::Volume(volume.name().to_owned()));
        if let Some(claim) = volume.claim_ref() {
            self.queue.add(Key::Claim(ClaimKey::referred(claim)));
        }
    }

    fn take_in_claims(&mut self, told: Told<PersistentVolumeClaim>) {
        let (changed, gone) = self.take_in_kind("claims", told, |snapshot| {
            snapshot.claims().cloned().collect()
        });
        for claim in changed {
            self.queue.add(Key::Claim(ClaimKey::of(&claim)));
        }
        for claim in gone {
            self.claim_gone(&claim);
        }
    }

    fn forget(&mut self, key: &Key) {
        self.queue.succeeded(key);
        self.told.remove(key);
    }

    pub(super) fn claim_gone(&mut self, claim: &PersistentVolumeClaim) {
        self.bury(claim.metadata.uid());
        self.forget(&Key::Claim(ClaimKey::of(claim)));
        if !claim.volume_name().is_empty() {
            self.queue.add(Key::Volume(claim.volume_name().to_owned()));
        }
    }

    fn take_in_others<T: Stored + Versioned>(&mut self, kind: &'static str, told: Told<T>) {
        self.take_in_kind(kind, told, |_| Vec::new());
    }

    /// Takes news into the snapshot; which objects are to be synced for it, and
    /// which are gone.
    fn take_in_kind<T: Stored + Versioned>(
        &mut self,
        kind: &'static str,
        told: Told<T>,
        held: impl FnOnce(&Snapshot) -> Vec<Arc<T>>,
    ) -> (Vec<Arc<T>>, Vec<Arc<T>>) {
        let mut snapshot = self.backend.snapshot.lock();
        let unreadable = self.unreadable.entry(kind).or_default();
        let events = (!self.dry_run).then_some(&self.hands.events);
        self.doubts.heard(kind, &told);
        match told {
            Told::All(objects, not_understood) => {
                unreadable.clear();
                for object in not_understood {
                    note_unreadable(unreadable, kind, object, events);
                }
                let uids: HashSet<&str> = objects.iter().map(|object| object.uid()).collect();
                let mut gone = held(&snapshot);
                gone.retain(|object| !uids.contains(object.uid()));
                snapshot.replace_all(objects.iter().cloned());
                // What stays because another one of the name is older is not gone.
                gone.retain(|object| {
                    let Name { namespace, name } = object.name();
                    let held = snapshot.find::<T>(&namespace, &name);
                    held.is_none_or(|held| held.uid() != object.uid())
                });
                let newest = objects.iter().map(|object| object.version());
                let newest = newest.reduce(|a, b| if is_older_version(a, b) { b } else { a });
                let is_newer = |object: &Arc<T>| {
                    newest.is_none_or(|newest| is_older_version(newest, object.version()))
                };
                // Of what this controller writes, a list may be older.
                for object in &objects {
                    match (is_older(&snapshot, &**object), object.sync_key()) {
                        (true, Some(key)) => self.doubts.add(key),
                        (true, None) => {
                            let object = format!("{kind} {}", object.name().name);
                            self.went_back = Some(Broken::WentBack(object));
                        }
                        (false, Some(key)) => self.doubts.told(&key, object.version()),
                        (false, None) => {}
                    }
                }
                let (kept, gone): (Vec<_>, Vec<_>) = gone
                    .into_iter()
                    .partition(|object| unreadable.contains_key(&object.name()));
                for object in kept {
                    snapshot.apply(object);
                }
                let (doubtful, gone): (Vec<_>, _) = gone.into_iter().partition(is_newer);
                for object in doubtful {
                    object
                        .sync_key()
                        .into_iter()
                        .for_each(|key| self.doubts.add(key));
                    snapshot.apply(object);
                }
                for key in gone.iter().filter_map(|object| object.sync_key()) {
                    self.doubts.told(&key, newest.unwrap_or_default());
                }
                drop(snapshot);
                if self.listed.insert(kind) && self.is_ready() {
                    info!("everything is listed, the work begins");
                    self.health.ready();
                    self.next_resync = Some(Instant::now() + self.resync);
                }
                (objects, gone)
            }
            Told::Changed(object) => {
                match snapshot.apply(Arc::clone(&object)) {
                    Applied::Done => {
                        // A later one may have been read by itself.
                        let name = object.name();
                        let known = unreadable.get(&name);
                        if known.is_some_and(|known| {
                            !is_older_version(object.version(), &known.version)
                        }) {
                            unreadable.remove(&name);
                        }
                        self.doubts.told_of(&*object);
                        (vec![object], Vec::new())
                    }
                    _ => (Vec::new(), Vec::new()),
                }
            }
            Told::Gone(object) => {
                let name = object.name();
                let known = unreadable.get(&name);
                if known.is_some_and(|known| known.uid == object.uid()) {
                    unreadable.remove(&name);
                }
                match snapshot.delete(&*object) {
                    Applied::Done => {
                        self.doubts.told_of(&*object);
                        (Vec::new(), vec![object])
                    }
                    _ => (Vec::new(), Vec::new()),
                }
            }
            Told::Unreadable(object) => {
                note_unreadable(unreadable, kind, object, events);
                (Vec::new(), Vec::new())
            }
            Told::UnreadableGone(object) => {
                let Unreadable { name, uid, .. } = object;
                if unreadable.get(&name).is_some_and(|now| now.uid == uid) {
                    unreadable.remove(&name);
                }
                // Another of its name may have been made since.
                let held = snapshot.find::<T>(&name.namespace, &name.name);
                let held = held.filter(|held| held.uid() == uid).cloned();
                if let Some(object) = &held {
                    snapshot.delete(&**object);
                }
                (Vec::new(), held.into_iter().collect())
            }
        }
    }

    /// What is gone stays gone, whatever the answer to an earlier write says.
    fn bury(&mut self, uid: &str) {
        self.gone.insert(uid.to_owned(), Instant::now());
    }

    /// Takes the answer to an own write into the snapshot, ahead of the watch.
    pub(super) fn hear(&mut self, answer: &Answer) {
        match answer {
            Answer::Written(written) => apply_written(&self.backend, &self.gone, written),
            Answer::Deleted {
                left: Some(left), ..
            } => {
                let written = Written::Volume(Arc::clone(left));
                apply_written(&self.backend, &self.gone, &written);
            }
            Answer::Deleted { volume, left: None } => {
                let mut snapshot = self.backend.snapshot.lock();
                let held = snapshot.find::<PersistentVolume>("", volume.name());
                let held = held.filter(|held| held.metadata.uid() == volume.metadata.uid());
                if let Some(held) = held.cloned() {
                    snapshot.delete(&*held);
                }
                drop(snapshot);
                self.volume_gone(volume);
            }
            Answer::Older { volume } => {
                let key = Key::Volume(volume.clone());
                if let Some(held) = self.held_version(&key) {
                    self.doubts.add_beyond(held, key);
                }
            }
        }
    }

    /// Why nothing can be decided about an object: what it goes by is there, but
    /// not understood.
    pub(super) fn not_understood(&self, key: &Key) -> Option<String> {
        let look = |kind: &str, namespace: &str, name: &str| {
            let name = Name {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            };
            let message = &self.unreadable.get(kind)?.get(&name)?.message;
            Some(format!("cannot read {} of {kind}: {message}", name.name))
        };
        // A volume that is kept for a claim, with the data that it waits for.
        let reserved = |key: &ClaimKey| {
            let mut volumes = self.unreadable.get("volumes")?.values();
            let volume = volumes.find(|volume| {
                let claim = volume.claim.as_ref();
                claim
                    .is_some_and(|claim| claim.namespace == key.namespace && claim.name == key.name)
            })?;
            look("volumes", "", &volume.name.name)
        };
        if self.unreadable.values().all(BTreeMap::is_empty) {
            return None;
        }
        let snapshot = self.backend.snapshot.lock();
        match key {
            Key::Claim(key) => {
                let claim = snapshot.find::<PersistentVolumeClaim>(&key.namespace, &key.name)?;
                look("claims", &key.namespace, &key.name)
                    .or_else(|| look("volumes", "", claim.volume_name()))
                    .or_else(|| reserved(key))
                    .or_else(|| look("classes", "", claim.class_name()))
            }
            Key::Volume(name) => {
                let volume = snapshot.find::<PersistentVolume>("", name)?;
                let claim = volume.claim_ref();
                let of_claim = claim.and_then(|claim| {
                    // A pod that is not understood may use the claim.
                    let pod = || {
                        let before_all = Name {
                            namespace: claim.namespace().to_owned(),
                            name: String::new(),
                        };
                        let mut pods = self.unreadable.get("pods")?.range(before_all..);
                        let (pod, _) = pods.next()?;
                        (pod.namespace == claim.namespace()).then_some(&pod.name)
                    };
                    look("claims", claim.namespace(), claim.name())
                        .or_else(|| look("pods", claim.namespace(), pod()?))
                });
                look("volumes", "", name).or(of_claim)
            }
        }
    }
}

/// Takes an object that was written into the snapshot, unless it is gone since.
pub(super) fn apply_written(backend: &Backend, gone: &HashMap<String, Instant>, written: &Written) {
    match written {
        Written::Volume(volume) if !gone.contains_key(volume.metadata.uid()) => {
            backend.snapshot.lock().apply(Arc::clone(volume));
        }
        Written::Claim(claim) if !gone.contains_key(claim.metadata.uid()) => {
            backend.snapshot.lock().apply(Arc::clone(claim));
        }
        _ => {}
    }
}

pub(super) fn note_unreadable(
    unreadable: &mut BTreeMap<Name, Unreadable>,
    kind: &'static str,
    object: Unreadable,
    events: Option<&Publisher>,
) {
    if let Some(known) = unreadable.get_mut(&object.name)
        && (&known.uid, &known.claim, &known.message)
            == (&object.uid, &object.claim, &object.message)
    {
        if is_older_version(&known.version, &object.version) {
            known.version = object.version;
        }
        return;
    }
    let (namespace, name) = (&object.name.namespace, &object.name.name);
    let error = &object.message;
    error!(
        kind,
        namespace, name, error, "is not understood; what depends on it must wait"
    );
    if let (Some(events), Some(regarding)) = (events, reference(kind, &object)) {
        events.publish(&Event {
            regarding,
            event_type: EventType::Warning,
            reason: EventReason::FailedBinding,
            message: format!("The controller cannot read this object: {error}"),
        });
    }
    unreadable.insert(object.name.clone(), object);
}

/// What an event about an object refers to, for the kinds that are synced.
fn reference(kind: &str, object: &Unreadable) -> Option<ObjectReference> {
    let kind = match kind {
        "volumes" => "PersistentVolume",
        "claims" => "PersistentVolumeClaim",
        _ => return None,
    };
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Some(ObjectReference {
        kind: text(kind),
        api_version: text("v1"),
        namespace: text(&object.name.namespace),
        name: text(&object.name.name),
        uid: text(&object.uid),
        ..ObjectReference::default()
    })
}

impl Doubts {
    /// What a watch tells, whether it is news or not: it is not one that waits for
    /// what will never come. After a list it begins anew.
    fn heard<T: Versioned>(&mut self, kind: &str, told: &Told<T>) {
        let (key, version) = match told {
            _ if self.untold.is_empty() => return,
            Told::All(..) => {
                return self.untold.retain(|key, _| key.kind() != kind);
            }
            Told::Changed(object) => (object.sync_key(), Some(object.version())),
            Told::Gone(object) => (object.sync_key(), None),
            Told::Unreadable(_) => return,
            Told::UnreadableGone(object) => (Key::of(kind, &object.name), None),
        };
        let Some(key) = key else { return };
        let untold = self.untold.get(&key);
        if untold.is_some_and(|(untold, _)| untold.as_deref() == version) {
            self.untold.remove(&key);
        }
    }

    fn told_of<T: Versioned>(&mut self, object: &T) {
        if let Some(key) = object.sync_key() {
            self.told(&key, object.version());
        }
    }
}

impl Key {
    fn of(kind: &str, name: &Name) -> Option<Self> {
        let Name { namespace, name } = name;
        match kind {
            "volumes" => Some(Key::Volume(name.clone())),
            "claims" => Some(Key::Claim(ClaimKey::new(namespace.as_str(), name.as_str()))),
            _ => None,
        }
    }

    /// The kind, as the watches call it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Key::Claim(_) => "claims",
            Key::Volume(_) => "volumes",
        }
    }
}

/// What the worker looks at in objects of every kind.
trait Versioned {
    fn name(&self) -> Name;
    fn uid(&self) -> &str;
    fn version(&self) -> &str;
    /// The key by which it is synced, if it is.
    fn sync_key(&self) -> Option<Key>;
}

macro_rules! versioned {
    ($($Kind:ident: $key:expr;)*) => {$(
        impl Versioned for pvbind::api::$Kind {
            fn name(&self) -> Name {
                Name {
                    namespace: self.metadata.namespace().to_owned(),
                    name: self.metadata.name().to_owned(),
                }
            }

            fn uid(&self) -> &str {
                self.metadata.uid()
            }

            fn version(&self) -> &str {
                self.metadata.resource_version()
            }

            fn sync_key(&self) -> Option<Key> {
                let key: fn(&Self) -> Option<Key> = $key;
                key(self)
            }
        }
    )*};
}
versioned! {
    PersistentVolume: |volume| Some(Key::Volume(volume.name().to_owned()));
    PersistentVolumeClaim: |claim| Some(Key::Claim(ClaimKey::of(claim)));
    StorageClass: |_| None;
    Pod: |_| None;
    Node: |_| None;
}
