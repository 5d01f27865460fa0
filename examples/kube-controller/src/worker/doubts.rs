//! Doubts about what is known of single objects: the API server is asked, and
//! until it answers nothing is synced.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use pvbind::plan::{ApiErrorKind, Report, Step, Write, Written};
use pvbind::view::{Snapshot, Stored, is_older_version};
use tokio::time::Instant;

use super::intake::{apply_written, note_unreadable};
use super::{MEMORY, Worker};
use crate::failures::Failures;
use crate::queue::{Key, Queue};
use crate::server::ReadError;
use crate::watches::Broken;

/// About how many the API server is asked at once, beside what the operations ask.
pub(super) const AT_ONCE: usize = 16;
/// How long the watch may take to tell why a write was refused.
const UNTOLD: Duration = Duration::from_secs(5);
/// How long it may take to tell what the API server says by itself. Each watch ends
/// after a minute, and begins again where it was.
const NEVER: Duration = Duration::from_secs(75);

/// What is doubted: asked about again as the work queue would.
#[derive(Default)]
pub(super) struct Doubts {
    queue: Queue,
    /// What was asked about in vain, and why.
    failing: BTreeMap<Key, String>,
    log: Failures,
    /// Of which objects a write was refused, in which version they were held, and
    /// since when.
    refused: HashMap<Key, (String, Instant)>,
    /// Of what is doubted though the watch may have told of this version long ago.
    beyond: HashMap<Key, String>,
    /// What the API server said when it was asked about a refused write, and no
    /// watch told yet: the version, or that the object is gone; and since when.
    pub(super) untold: HashMap<Key, (Option<String>, Instant)>,
}

impl Doubts {
    /// A list lacks the object, or has it as it was before: it was made before the
    /// version that is held. A watch that begins at the list tells of that version,
    /// if there ever was one.
    pub(super) fn add(&mut self, key: Key) {
        self.queue.add(key);
    }

    /// The API server has another version of the object than this, which is held:
    /// only a newer one that a watch tells of shows that it is merely ahead.
    pub(super) fn add_beyond(&mut self, version: String, key: Key) {
        self.beyond.insert(key.clone(), version);
        self.queue.add(key);
    }

    /// A list or a watch has this version of the object, or of its end, and it is
    /// not older than the one that is held. Nobody need ask any more, unless the
    /// version says nothing about the matter.
    pub(super) fn told(&mut self, key: &Key, version: &str) {
        let before = self.beyond.get(key);
        if before.is_some_and(|before| !is_older_version(before, version)) {
            return;
        }
        if self.queue.remove(key) {
            self.settled(key);
        }
    }

    /// An object of which the watches will not tell any more what became of it.
    fn never_told(&self) -> Option<&Key> {
        let untold = self.untold.iter();
        let untold = untold.filter(|(_, (_, since))| since.elapsed() > NEVER);
        untold.map(|(key, _)| key).min()
    }

    /// Forgets refusals that nothing came of.
    pub(super) fn forget_old(&mut self, now: Instant) {
        self.refused.retain(|_, (_, since)| *since + MEMORY > now);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// When to ask again; at once, if some wait for their turn.
    pub(super) fn next_at(&self, now: Instant) -> Option<Instant> {
        match self.queue.has_ready() {
            true => Some(now),
            false => self.queue.next_at(),
        }
    }

    fn stands(&mut self, key: Key, error: String) {
        self.queue.failed(Instant::now(), key.clone());
        self.failing.insert(key, error);
    }

    fn settled(&mut self, key: &Key) {
        self.queue.succeeded(key);
        self.beyond.remove(key);
        self.failing.remove(key);
        if self.failing.is_empty() {
            self.log.over();
        }
    }
}

impl Worker {
    /// Notes the writes that were refused because the object is not as it is held.
    /// As a rule the watch is about to tell what it is like, and nobody need ask.
    /// After a restore from a backup it may never tell, and each write of the
    /// object is refused alike: then it is to be asked about.
    pub(super) fn note_refused(&mut self, report: &Report) {
        for done in &report.done {
            let (Step::Write { write, .. }, Some(error)) = (&done.step, done.error()) else {
                continue;
            };
            let is_otherwise =
                [ApiErrorKind::Conflict, ApiErrorKind::NotFound].contains(&error.kind);
            let Some(key) = key_of(write).filter(|_| is_otherwise) else {
                continue;
            };
            let Some(held) = self.held_version(&key) else {
                continue;
            };
            match self.doubts.refused.get(&key) {
                Some((version, since)) if *version == held => {
                    if since.elapsed() > UNTOLD {
                        self.doubts.refused.remove(&key);
                        self.doubts.add_beyond(held, key);
                    }
                }
                _ => {
                    let refused = (held, Instant::now());
                    self.doubts.refused.insert(key, refused);
                }
            }
        }
    }

    pub(super) fn held_version(&self, key: &Key) -> Option<String> {
        let snapshot = self.backend.snapshot.lock();
        let version = match key {
            Key::Volume(name) => {
                let held = snapshot.find::<PersistentVolume>("", name)?;
                held.metadata.resource_version()
            }
            Key::Claim(key) => {
                let held = snapshot.find::<PersistentVolumeClaim>(&key.namespace, &key.name)?;
                held.metadata.resource_version()
            }
        };
        Some(version.to_owned())
    }

    /// A list may have been made before what this controller wrote since. An
    /// object that is newer than the whole list and not in it was deleted, or it
    /// was created after the list was made; taking a volume for deleted would
    /// lose a claim, so the API server is asked. Until it answers, nothing is
    /// synced.
    ///
    /// It asks about a few, so that the worker hears of everything else in
    /// between, however many and slow the answers are.
    pub(super) async fn settle_doubts(&mut self, now: Instant) {
        if self.went_back.is_some() {
            return;
        }
        let next = std::iter::from_fn(|| self.doubts.queue.next(now));
        let asked: Vec<Key> = next.take(AT_ONCE).collect();
        let answers = asked.iter().map(|key| self.ask_about(key));
        let answers = join_all(answers).await;
        for (key, answer) in asked.into_iter().zip(answers) {
            self.settle(key, answer);
        }
        if self.went_back.is_none() {
            let never_told = self.doubts.never_told();
            self.went_back = never_told.map(|key| Broken::Untold(key.to_string()));
        }
        match self.doubts.failing.first_key_value() {
            None => self.health.doubts_nothing(),
            Some((key, error)) => {
                let what = "cannot tell whether an object is as it was, and nothing is synced";
                self.doubts.log.tell(what, &format!("{key}: {error}"));
                self.health.doubts(key);
            }
        }
    }

    async fn ask_about(&self, key: &Key) -> Result<Option<Written>, ReadError> {
        let server = &self.asked;
        Ok(match key {
            Key::Volume(name) => {
                let volume = server.read_volume(name).await?;
                volume.map(Arc::new).map(Written::Volume)
            }
            Key::Claim(name) => {
                let claim = server.read_claim(name).await?;
                claim.map(Arc::new).map(Written::Claim)
            }
        })
    }

    fn settle(&mut self, key: Key, answer: Result<Option<Written>, ReadError>) {
        self.note_untold(&key, &answer);
        match answer {
            Ok(Some(there)) => {
                let snapshot = self.backend.snapshot.lock();
                let went_back = match &there {
                    Written::Volume(volume) => is_older(&snapshot, &**volume),
                    Written::Claim(claim) => is_older(&snapshot, &**claim),
                    _ => false,
                };
                drop(snapshot);
                if went_back {
                    self.went_back = Some(Broken::WentBack(key.to_string()));
                }
                apply_written(&self.backend, &self.gone, &there);
            }
            Ok(None) => self.is_gone(&key),
            Err(ReadError::NotUnderstood(object)) => {
                let kind = key.kind();
                let events = (!self.dry_run).then_some(&self.hands.events);
                let unreadable = self.unreadable.entry(kind).or_default();
                note_unreadable(unreadable, kind, *object, events);
            }
            Err(ReadError::Api(error)) => return self.doubts.stands(key, error.to_string()),
        }
        self.doubts.settled(&key);
    }

    /// A write was refused, and no watch told why. If none tells later on what the
    /// API server says now, they are of a time that never was: one that was restored
    /// and has got so far again tells of no version before that.
    fn note_untold(&mut self, key: &Key, answer: &Result<Option<Written>, ReadError>) {
        let version = match answer {
            Ok(None) => None,
            Ok(Some(Written::Volume(volume))) => Some(volume.metadata.resource_version()),
            Ok(Some(Written::Claim(claim))) => Some(claim.metadata.resource_version()),
            _ => return,
        };
        let held = self.held_version(key);
        if held.is_some() && held.as_deref() != version && self.doubts.beyond.contains_key(key) {
            let untold = (version.map(str::to_owned), Instant::now());
            self.doubts.untold.insert(key.clone(), untold);
        }
    }

    /// The API server says that the object is gone.
    fn is_gone(&mut self, key: &Key) {
        let mut snapshot = self.backend.snapshot.lock();
        match key {
            Key::Volume(name) => {
                let held = snapshot.find::<PersistentVolume>("", name).cloned();
                if let Some(volume) = held {
                    snapshot.delete(&*volume);
                    drop(snapshot);
                    self.volume_gone(&volume);
                }
            }
            Key::Claim(name) => {
                let (namespace, name) = (&name.namespace, &name.name);
                let held = snapshot.find::<PersistentVolumeClaim>(namespace, name);
                if let Some(claim) = held.cloned() {
                    snapshot.delete(&*claim);
                    drop(snapshot);
                    self.claim_gone(&claim);
                }
            }
        }
    }
}

/// The object that a write changes.
fn key_of(write: &Write) -> Option<Key> {
    match write {
        Write::Volume(change) | Write::VolumeStatus(change) => {
            Some(Key::Volume(change.to.name().to_owned()))
        }
        Write::Claim(change) | Write::ClaimStatus(change) => {
            Some(Key::Claim(ClaimKey::of(&change.to)))
        }
        _ => None,
    }
}

/// Whether the API server has an older version of an object than the one that is
/// held: a list may have been made before a write of this controller, and whoever
/// was restored from a backup says so when it is asked.
pub(crate) fn is_from_before<T: Stored>(snapshot: &Snapshot, there: &T) -> bool {
    let (namespace, name) = there.key();
    let held = snapshot.find::<T>(namespace, name);
    held.is_some_and(|held| held.metadata().uid() == there.metadata().uid())
        && is_older(snapshot, there)
}

/// That, or an older one of the name: it was made again after the restore.
pub(super) fn is_older<T: Stored>(snapshot: &Snapshot, there: &T) -> bool {
    let (namespace, name) = there.key();
    snapshot.find::<T>(namespace, name).is_some_and(|held| {
        let (held, there) = (held.metadata(), there.metadata());
        is_older_version(there.resource_version(), held.resource_version())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_refused_write_is_told_about_only_by_a_version_newer_than_the_one_held() {
        let key = Key::Volume("pv-1".to_owned());
        let mut doubts = Doubts::default();
        doubts.add(key.clone());
        doubts.told(&key, "10");
        assert!(doubts.is_empty(), "a list that is older than the version");
        doubts.add_beyond("10".to_owned(), key.clone());
        doubts.told(&key, "9");
        doubts.told(&key, "10");
        // Nor does it matter that a list is older, too.
        doubts.add(key.clone());
        doubts.told(&key, "10");
        doubts.stands(key.clone(), "no answer".to_owned());
        assert!(!doubts.is_empty());
        doubts.told(&key, "11");
        assert!(doubts.is_empty() && doubts.failing.is_empty());
        doubts.add(key.clone());
        doubts.told(&key, "10");
        assert!(doubts.is_empty(), "that is over");
    }

    #[test]
    fn only_the_same_volume_in_an_older_version_is_from_before() {
        let volume = |uid: &str, version: &str| -> PersistentVolume {
            let metadata =
                serde_json::json!({"name": "pv-1", "uid": uid, "resourceVersion": version});
            serde_json::from_value(serde_json::json!({"metadata": metadata})).unwrap()
        };
        let mut snapshot = Snapshot::new();
        assert!(!is_from_before(&snapshot, &volume("u-1", "7")));
        snapshot.apply(Arc::new(volume("u-1", "100")));
        assert!(is_from_before(&snapshot, &volume("u-1", "99")));
        assert!(!is_from_before(&snapshot, &volume("u-1", "100")));
        assert!(!is_from_before(&snapshot, &volume("u-1", "101")));
        assert!(!is_from_before(&snapshot, &volume("u-2", "99")));
    }
}
