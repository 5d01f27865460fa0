//! The watches: five streams of news, from objects of k8s-openapi to those of
//! `pvbind`.
//!
//! The snapshot that the [worker](crate::worker) keeps is the store of these
//! reflectors: a store of kube's own would hold every object a second time.

use std::fmt::{Debug, Display};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::{core::v1 as core, storage::v1 as storage};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use pvbind::api::{Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tracing::{debug, warn};

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
    All(Vec<Arc<T>>),
    /// This one was added or changed.
    Changed(Arc<T>),
    /// This one is gone.
    Gone(Arc<T>),
}

/// How many kinds are watched.
pub const KINDS: usize = 5;

/// A watch that ended: only when an object cannot be read. To go on without it
/// would be to take it for deleted.
#[derive(Debug, thiserror::Error)]
#[error("cannot follow {kind}: {message}")]
pub struct WatchEnded {
    kind: String,
    message: String,
}

/// Starts the watches. They end when the receiver is gone or the tasks are
/// dropped.
pub fn start(client: &Client, news: &UnboundedSender<News>) -> JoinSet<Result<(), WatchEnded>> {
    let mut watches = JoinSet::new();
    // A connection that is dead without a word is noticed five seconds later.
    let all = || watcher::Config::default().timeout(60);
    watches.spawn(follow(
        Api::<core::PersistentVolume>::all(client.clone()),
        all(),
        news.clone(),
        News::Volume,
    ));
    watches.spawn(follow(
        Api::<core::PersistentVolumeClaim>::all(client.clone()),
        all(),
        news.clone(),
        News::Claim,
    ));
    watches.spawn(follow(
        Api::<storage::StorageClass>::all(client.clone()),
        all(),
        news.clone(),
        News::Class,
    ));
    watches.spawn(follow(
        Api::<core::Pod>::all(client.clone()),
        all(),
        news.clone(),
        News::Pod,
    ));
    watches.spawn(follow(
        Api::<core::Node>::all(client.clone()),
        all(),
        news.clone(),
        News::Node,
    ));
    watches
}

async fn follow<Theirs, Ours>(
    api: Api<Theirs>,
    config: watcher::Config,
    news: UnboundedSender<News>,
    tell: fn(Told<Ours>) -> News,
) -> Result<(), WatchEnded>
where
    Theirs: Resource<DynamicType = ()> + Lean + Clone + Debug + DeserializeOwned + Send + 'static,
    Ours: TryFrom<Theirs, Error: Display>,
{
    let kind = Theirs::plural(&()).into_owned();
    let read = |object: Theirs| {
        Ours::try_from(object)
            .map(Arc::new)
            .map_err(|error| WatchEnded {
                kind: kind.clone(),
                message: error.to_string(),
            })
    };
    let events = watcher(api, config).backoff(Delays::default());
    let mut events = pin!(events.modify(|object| {
        object.managed_fields_mut().clear();
        object.make_lean();
    }));
    let mut listed = Vec::new();
    while let Some(event) = events.next().await {
        let told = match event {
            Ok(watcher::Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.push(read(object)?);
                continue;
            }
            Ok(watcher::Event::InitDone) => {
                debug!(kind, objects = listed.len(), "listed");
                Told::All(std::mem::take(&mut listed))
            }
            Ok(watcher::Event::Apply(object)) => Told::Changed(read(object)?),
            Ok(watcher::Event::Delete(object)) => Told::Gone(read(object)?),
            Err(error) => {
                warn!(kind, %error, "a watch broke off and is started again");
                continue;
            }
        };
        if news.send(tell(told)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Objects lose what no decision about storage looks at, before they are held
/// in memory.
trait Lean {
    fn make_lean(&mut self) {}
}

impl Lean for core::PersistentVolume {}
impl Lean for core::PersistentVolumeClaim {}
impl Lean for storage::StorageClass {}

impl Lean for core::Pod {
    fn make_lean(&mut self) {
        if let Some(spec) = &mut self.spec {
            spec.containers.clear();
            spec.init_containers = None;
            spec.ephemeral_containers = None;
        }
        if let Some(status) = &mut self.status {
            *status = core::PodStatus {
                phase: status.phase.take(),
                ..core::PodStatus::default()
            };
        }
    }
}

impl Lean for core::Node {
    fn make_lean(&mut self) {
        self.status = None;
    }
}

/// The delays between attempts to watch: short, because all work waits for the
/// watches after the API server was away.
#[derive(Default)]
struct Delays {
    attempts: u32,
}

impl Iterator for Delays {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        const SHORTEST: Duration = Duration::from_millis(200);
        const LONGEST: Duration = Duration::from_secs(5);
        let delay = SHORTEST.saturating_mul(1 << self.attempts.min(10));
        self.attempts = self.attempts.saturating_add(1);
        Some(delay.min(LONGEST))
    }
}

impl Backoff for Delays {
    fn reset(&mut self) {
        self.attempts = 0;
    }
}
