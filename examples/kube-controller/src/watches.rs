//! The watches: five streams of news, from objects of k8s-openapi to those of
//! `pvbind`.
//!
//! The snapshot that the [worker](crate::worker) keeps is the store of these
//! reflectors: a store of kube's own would hold every object a second time.

mod read;
pub(crate) use read::{Lean, Read};

use std::fmt::{Debug, Display};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::{core::v1 as core, storage::v1 as storage};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource};
use pvbind::api::{Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::debug;

use crate::failures::{Failures, with_causes};
use crate::health::Health;
use crate::queue::delay_after;

/// What a watch says.
#[derive(Debug)]
pub enum News {
    /// Of volumes.
    Volume(Told<PersistentVolume>),
    /// Of claims.
    Claim(Told<PersistentVolumeClaim>),
    /// Of classes.
    Class(Told<StorageClass>),
    /// Of pods.
    Pod(Told<Pod>),
    /// Of nodes.
    Node(Told<Node>),
}

/// What a watch says of objects of one kind.
#[derive(Debug)]
pub enum Told<T> {
    /// These are all that there are.
    All(Vec<Arc<T>>, Vec<Unreadable>),
    /// This one was added or changed.
    Changed(Arc<T>),
    /// This one was added or changed, and is not understood.
    Unreadable(Unreadable),
    /// This one is gone.
    Gone(Arc<T>),
    /// This one is gone, and was not understood to the last.
    UnreadableGone(Unreadable),
}

/// Namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The namespace; empty for what has none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// An object that is there, but not understood: to go on as if it were not would
/// be to take it for deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which object.
    pub name: Name,
    /// Its uid.
    pub uid: String,
    /// Its version.
    pub version: String,
    /// The claim that it says it is for, of a volume.
    pub claim: Option<Name>,
    /// What is not understood.
    pub message: String,
}

/// How many kinds are watched.
pub const KINDS: usize = 5;

/// The shortest delay before a watch is tried again.
const SHORTEST: Duration = Duration::from_millis(200);

/// The longest delay before everything is listed again.
const BETWEEN_LISTS: Duration = Duration::from_secs(30);

/// How long a watch goes on after its list if all is well.
const STEADY: Duration = Duration::from_secs(60);

/// How long a list may take from one page to the next.
const LISTING: Duration = Duration::from_secs(60);

/// Why the work cannot go on from what is known.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// A watch ended, which it never does.
    #[error("a watch ended: {0}")]
    WatchEnded(String),
    /// The API server has an object in an older version than it had: it was
    /// restored from a backup. The text names the object.
    #[error(
        "the API server has an older version of {0} than it had, as after a restore from a backup"
    )]
    WentBack(String),
    /// It says that an object changed or is gone, and no watch tells of it: they
    /// wait for what will never come. The text names the object.
    #[error("no watch tells what became of {0}, as after a restore from a backup")]
    Untold(String),
}

/// Starts the watches. They end when the receiver is gone or the tasks are
/// dropped.
pub fn start(client: &Client, news: &UnboundedSender<News>, health: &Health) -> JoinSet<()> {
    let mut watches = JoinSet::new();
    let (client, news) = (client.clone(), news.clone());
    let all = |tell_health: &Health| (news.clone(), tell_health.clone());
    watches.spawn(follow(
        Api::<Read<core::PersistentVolume>>::all(client.clone()),
        all(health),
        News::Volume,
    ));
    watches.spawn(follow(
        Api::<Read<core::PersistentVolumeClaim>>::all(client.clone()),
        all(health),
        News::Claim,
    ));
    watches.spawn(follow(
        Api::<Read<storage::StorageClass>>::all(client.clone()),
        all(health),
        News::Class,
    ));
    watches.spawn(follow(
        Api::<Read<core::Pod>>::all(client.clone()),
        all(health),
        News::Pod,
    ));
    watches.spawn(follow(
        Api::<Read<core::Node>>::all(client.clone()),
        all(health),
        News::Node,
    ));
    watches
}

async fn follow<Theirs, Ours>(
    api: Api<Read<Theirs>>,
    (news, health): (UnboundedSender<News>, Health),
    tell: fn(Told<Ours>) -> News,
) where
    Theirs: Resource<DynamicType = ()> + Lean + Clone + Debug + DeserializeOwned + Send + 'static,
    Ours: TryFrom<Theirs, Error: Display>,
{
    let kind = Theirs::plural(&()).into_owned();
    let read = |object: Read<Theirs>| object.understood().map(Arc::new);
    let mut failures = Failures::default();
    let broken = format!("the watch of {kind} broke off and is started again");
    let mut restarts = 0_u32;
    loop {
        // A connection that is dead without a word is noticed five seconds later.
        let config = watcher::Config::default().timeout(60);
        let events = watcher(api.clone(), config).backoff(Delays::default());
        let mut events = pin!(events);
        let (mut listed, mut unreadable) = (Vec::new(), Vec::new());
        let mut is_listed = false;
        let mut listed_at = None;
        loop {
            let event = match is_listed {
                true => events.next().await,
                false => match tokio::time::timeout(LISTING, events.next()).await {
                    Ok(event) => event,
                    Err(_) => {
                        health.watch_failed(&kind, true);
                        failures.tell(&broken, &format!("no answer in {LISTING:?}"));
                        break;
                    }
                },
            };
            let Some(event) = event else {
                return;
            };
            let told = match event {
                Ok(watcher::Event::Init) => {
                    // The answer is what counts.
                    is_listed = false;
                    listed.clear();
                    unreadable.clear();
                    continue;
                }
                Ok(watcher::Event::InitApply(object)) => {
                    match read(object) {
                        Ok(object) => listed.push(object),
                        Err(object) => unreadable.push(*object),
                    }
                    continue;
                }
                Ok(watcher::Event::InitDone) => {
                    debug!(kind, objects = listed.len(), "listed");
                    is_listed = true;
                    listed_at = Some(Instant::now());
                    let (listed, unreadable) = (&mut listed, &mut unreadable);
                    Told::All(std::mem::take(listed), std::mem::take(unreadable))
                }
                Ok(watcher::Event::Apply(object)) => match read(object) {
                    Ok(object) => Told::Changed(object),
                    Err(object) => Told::Unreadable(*object),
                },
                Ok(watcher::Event::Delete(object)) => match read(object) {
                    Ok(object) => Told::Gone(object),
                    Err(object) => Told::UnreadableGone(*object),
                },
                Err(error) => {
                    let lists = needs_list(&error);
                    health.watch_failed(&kind, lists || !is_listed);
                    failures.tell(&broken, &with_causes(&error));
                    if lists {
                        break;
                    }
                    continue;
                }
            };
            health.watch_speaks(&kind);
            if news.send(tell(told)).is_err() {
                return;
            }
        }
        // A list may take long, and costs the API server most: how long it took is
        // no sign of calm.
        let was_steady = listed_at.is_some_and(|at: Instant| at.elapsed() > STEADY);
        restarts = match was_steady {
            true => 1,
            false => restarts.saturating_add(1),
        };
        tokio::time::sleep(delay_after(restarts, SHORTEST, BETWEEN_LISTS)).await;
    }
}

/// Whether everything is to be listed again after a watch failed; kube would go
/// on where it broke off. An API server that was away may be another one when it
/// is back, of a backup: it has nothing to say until its versions come up to
/// where the watch was. And one that says 410 at once will say it again.
fn needs_list(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => {
            status.code == 410 || status.code >= 500
        }
        watcher::Error::WatchStartFailed(_) => true,
        _ => false,
    }
}

/// The delays between attempts to watch: short, because all work waits for the
/// watches after the API server was away. They begin anew after a while without
/// failure, not at the next event: the beginning of a list is an event, too, and
/// comes before the API server was asked.
#[derive(Default)]
struct Delays {
    attempts: u32,
    last: Option<Instant>,
}

impl Iterator for Delays {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        const LONGEST: Duration = Duration::from_secs(5);
        const CALM: Duration = Duration::from_secs(30);
        if self.last.is_none_or(|last| last.elapsed() > CALM) {
            self.attempts = 0;
        }
        self.last = Some(Instant::now());
        self.attempts = self.attempts.saturating_add(1);
        Some(delay_after(self.attempts, SHORTEST, LONGEST))
    }
}

impl Backoff for Delays {
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delays_grow_whatever_is_said_in_between_and_begin_anew_after_a_calm() {
        let mut delays = Delays::default();
        let mut next = || {
            delays.reset();
            delays.next().unwrap().as_millis()
        };
        let grown: Vec<_> = (0..7).map(|_| next()).collect();
        assert_eq!(grown, [200, 400, 800, 1600, 3200, 5000, 5000]);
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(next(), 200);
    }
}
