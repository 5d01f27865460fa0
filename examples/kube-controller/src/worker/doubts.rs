//! Doubts about what is known of single objects: the API server is asked, and
//! until it answers nothing is decided.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use pvbind::plan::{ApiError, ApiErrorKind, Report, Step, Write, Written};
use pvbind::view::{Snapshot, Stored, is_older_version};
use tokio::time::Instant;
use tracing::warn;

use super::Worker;
use super::intake::apply_written;
use crate::queue::Key;

/// How long to wait before the API server is asked about a doubt again.
const DOUBT: Duration = Duration::from_secs(1);
/// About how many it is asked at once.
const DOUBTS_AT_ONCE: usize = 16;
/// How long the watch may take to tell why a write was refused.
const UNTOLD: Duration = Duration::from_secs(5);

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
            match self.refused.get(&key) {
                Some((version, since)) if *version == held => {
                    if since.elapsed() > UNTOLD {
                        self.refused.remove(&key);
                        self.doubts.push(key);
                    }
                }
                _ => {
                    self.refused.insert(key, (held, Instant::now()));
                }
            }
        }
    }

    fn held_version(&self, key: &Key) -> Option<String> {
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
    /// decided.
    pub(super) async fn settle_doubts(&mut self) {
        while !self.doubts.is_empty() && self.went_back.is_none() {
            let begin = self.doubts.len().saturating_sub(DOUBTS_AT_ONCE);
            let asked = self.doubts.get(begin..).unwrap_or_default().to_vec();
            let server = &self.backend.hands.server;
            let answers = asked.iter().map(|key| async move {
                Ok(match key {
                    Key::Volume(name) => server
                        .read_volume(name)
                        .await?
                        .map(|volume| Written::Volume(Arc::new(volume))),
                    Key::Claim(name) => server
                        .read_claim(name)
                        .await?
                        .map(|claim| Written::Claim(Arc::new(claim))),
                })
            });
            let answers: Vec<Result<_, ApiError>> = join_all(answers).await;
            self.doubts.truncate(begin);
            self.health.beat();
            for (key, answer) in asked.into_iter().zip(answers) {
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
                            self.went_back = Some(key.to_string());
                        }
                        apply_written(&self.backend, &self.gone, &there);
                    }
                    Ok(None) => self.is_gone(&key),
                    Err(error) => {
                        warn!(object = %key, %error, "cannot tell whether it is gone");
                        self.doubts.push(key);
                    }
                }
            }
            if self.doubts.len() > begin {
                tokio::time::sleep(DOUBT).await;
                return;
            }
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
fn is_older<T: Stored>(snapshot: &Snapshot, there: &T) -> bool {
    let (namespace, name) = there.key();
    snapshot.find::<T>(namespace, name).is_some_and(|held| {
        let (held, there) = (held.metadata(), there.metadata());
        is_older_version(there.resource_version(), held.resource_version())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
