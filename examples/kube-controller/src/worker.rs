//! The worker: one at a time, each object from the queue to the end of its
//! plan.
//!
//! The worker alone changes the snapshot, between two syncs, so what a write
//! returned is never overtaken by what the watch says about it.

mod doubts;
mod intake;
pub(crate) use doubts::is_from_before;
use doubts::{AT_ONCE, Doubts};
use intake::apply_written;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use pvbind::controller::{ClaimEvidence, sync_claim, sync_volume};
use pvbind::plan::{Plan, Step, Verdict, Write};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::failures::Failures;
use crate::finalizers::without_vain_finalizers;
use crate::health::Health;
use crate::operations::{Backend, Hands, Operations};
use crate::queue::{Key, Queue};
use crate::server::{Answer, ApiServer};
use crate::watches::{Broken, KINDS, Name, News, Unreadable};

/// How long the snapshot remembers the identity of what is gone.
const MEMORY: Duration = Duration::from_secs(600);
/// How long running operations may take to end when the worker stops.
const GRACE: Duration = Duration::from_secs(20);
/// How often the worker shows that it is alive.
const BEAT: Duration = Duration::from_secs(10);

/// What reaches the worker.
pub struct Inputs {
    /// From the watches.
    pub news: UnboundedReceiver<News>,
    /// What the API server answered to operations.
    pub answers: UnboundedReceiver<Answer>,
    /// The watches themselves.
    pub watches: JoinSet<()>,
    /// Becomes true when it is time to stop.
    pub stop: watch::Receiver<bool>,
}

/// Syncs claims and volumes.
pub struct Worker {
    backend: Arc<Backend>,
    hands: Hands,
    operations: Operations,
    queue: Queue,
    health: Health,
    resync: Duration,
    next_resync: Option<Instant>,
    /// Instead of carrying plans out, tell them.
    dry_run: bool,
    /// What was told of each object's plan, in a dry run.
    told: HashMap<Key, Vec<String>>,
    /// Which kinds were listed.
    listed: HashSet<&'static str>,
    /// What is there and not understood, by kind.
    unreadable: HashMap<&'static str, BTreeMap<Name, Unreadable>>,
    reminder: Failures,
    /// The uids of what is gone, and since when.
    gone: HashMap<String, Instant>,
    /// What is asked about by itself.
    doubts: Doubts,
    /// Who is asked.
    asked: ApiServer,
    /// Why everything is to begin anew.
    went_back: Option<Broken>,
}

impl Worker {
    /// A worker that has nothing to do yet. `hands` carry out its own plans,
    /// those of the backend the operations'.
    pub fn new(
        backend: Arc<Backend>,
        hands: Hands,
        health: Health,
        resync: Duration,
        dry_run: bool,
    ) -> Self {
        Worker {
            operations: Operations::new(Arc::clone(&backend)),
            backend,
            asked: hands.server.beside(AT_ONCE),
            hands,
            queue: Queue::default(),
            health,
            resync,
            next_resync: None,
            dry_run,
            told: HashMap::new(),
            listed: HashSet::new(),
            unreadable: HashMap::new(),
            reminder: Failures::default(),
            gone: HashMap::new(),
            doubts: Doubts::default(),
            went_back: None,
        }
    }

    /// Works until it is told to stop, and then lets what is going on come to
    /// an end.
    ///
    /// # Errors
    /// A watch ended, or the API server went back in time.
    pub async fn work(mut self, mut inputs: Inputs) -> Result<(), Broken> {
        loop {
            self.health.beat();
            while let Ok(news) = inputs.news.try_recv() {
                self.take_in(news);
            }
            while let Ok(answer) = inputs.answers.try_recv() {
                self.hear(&answer);
            }
            if *inputs.stop.borrow() {
                break;
            }
            let now = Instant::now();
            if self.next_resync.is_some_and(|at| at <= now) {
                self.queue_all(now);
            }
            tokio::select! {
                () = self.settle_doubts(now) => {}
                _ = inputs.stop.changed() => continue,
            }
            if let Some(broken) = self.went_back.take() {
                // What is known of other objects may be of that future, too.
                return Err(broken);
            }
            if self.is_ready()
                && self.doubts.is_empty()
                && let Some(key) = self.queue.next(now)
            {
                self.sync(key).await;
                // Operations and the watches are heard in a long queue, too.
                tokio::task::yield_now().await;
                if let Some(Some((key, at))) = now_or_never(self.operations.ended()) {
                    self.queue.add_at(at, key);
                }
                continue;
            }
            let wake = self.wake_at(now);
            tokio::select! {
                news = inputs.news.recv() => match news {
                    Some(news) => self.take_in(news),
                    None => break,
                },
                Some(answer) = inputs.answers.recv() => self.hear(&answer),
                ended = self.operations.ended() => if let Some((key, at)) = ended {
                    self.queue.add_at(at, key);
                },
                Some(ended) = inputs.watches.join_next() => {
                    // Without it, what is gone would stay.
                    let why = ended.err().map(|error| error.to_string());
                    return Err(Broken::WatchEnded(why.unwrap_or_default()));
                }
                _ = inputs.stop.changed() => {}
                () = tokio::time::sleep_until(wake) => {}
            }
        }
        self.finish().await;
        Ok(())
    }

    async fn finish(mut self) {
        // What they write is written to its end; nothing new begins.
        let going_on = self.operations.len();
        if going_on > 0 {
            info!(going_on, "waiting for operations to end");
        }
        let ended = async {
            while !self.operations.is_empty() {
                let _ = self.operations.ended().await;
            }
        };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            warn!("operations are cut off; the next controller starts them again");
        }
    }

    /// Whether all kinds were listed: before that, what is not in the snapshot
    /// says nothing.
    fn is_ready(&self) -> bool {
        self.listed.len() == KINDS
    }

    fn wake_at(&self, now: Instant) -> Instant {
        let beat = now + BEAT;
        // What may not be synced yet wakes nobody.
        let may_sync = self.is_ready() && self.doubts.is_empty();
        let queue = self.queue.next_at().filter(|_| may_sync);
        let times = [queue, self.next_resync, self.doubts.next_at(now)];
        times.into_iter().flatten().fold(beat, Instant::min)
    }

    fn queue_all(&mut self, now: Instant) {
        self.next_resync = Some(now + self.resync);
        self.gone.retain(|_, since| *since + MEMORY > now);
        self.doubts.forget_old(now);
        self.remind_of_unreadable();
        let snapshot = self.backend.snapshot.lock();
        for volume in snapshot.volumes().iter() {
            self.queue.add_again(Key::Volume(volume.name().to_owned()));
        }
        for claim in snapshot.claims() {
            self.queue.add_again(Key::Claim(ClaimKey::of(claim)));
        }
    }

    /// Who looks at the log hours later sees it, too.
    fn remind_of_unreadable(&mut self) {
        let count: usize = self.unreadable.values().map(BTreeMap::len).sum();
        let first = self.unreadable.iter().flat_map(|(kind, objects)| {
            let names = objects.keys();
            names.map(move |name| format!("{kind} {} {}", name.namespace, name.name))
        });
        match first.min() {
            None => self.reminder.over(),
            Some(first) => self.reminder.tell(
                "objects are not understood, and what depends on them waits",
                &format!("{count}, such as {first}"),
            ),
        }
    }

    async fn sync(&mut self, key: Key) {
        // An operation takes a volume's finalizer away before it deletes the
        // object; a sync in between would put it back. The volume is synced
        // when the operation ends.
        if matches!(key, Key::Volume(_)) && self.operations.put_off(&key) {
            return;
        }
        if let Some(message) = self.not_understood(&key) {
            self.failed(key, &message);
            return;
        }
        let plan = match &key {
            Key::Claim(claim) => self.plan_for_claim(claim),
            Key::Volume(name) => self.plan_for_volume(name).await,
        };
        let plan = plan.map(|plan| {
            plan.map(|mut plan| {
                without_vain_finalizers(&mut plan);
                plan
            })
        });
        match plan {
            Ok(None) => {
                self.queue.succeeded(&key);
                self.told.remove(&key);
            }
            Ok(Some(plan)) if self.dry_run => self.tell(key, &plan),
            Ok(Some(plan)) => self.carry_out(key, plan).await,
            Err(message) => self.failed(key, &message),
        }
    }

    fn plan_for_claim(&self, key: &ClaimKey) -> Result<Option<Plan>, String> {
        let snapshot = self.backend.snapshot.lock();
        let claim = snapshot.find::<PersistentVolumeClaim>(&key.namespace, &key.name);
        Ok(claim.map(|claim| sync_claim(&self.backend.config, &*snapshot, claim)))
    }

    async fn plan_for_volume(&self, name: &str) -> Result<Option<Plan>, String> {
        let decide = |evidence: Option<&ClaimEvidence>| {
            let snapshot = self.backend.snapshot.lock();
            let volume = snapshot.find::<PersistentVolume>("", name);
            volume.map(|volume| {
                let volume = Arc::clone(volume);
                sync_volume(&self.backend.config, &*snapshot, volume, evidence)
            })
        };
        let plan = decide(None);
        let Some(Plan {
            verdict: Verdict::AskApiServer(key),
            ..
        }) = plan
        else {
            return Ok(plan);
        };
        let claim = self.hands.server.read_claim(&key).await;
        let claim = claim.map_err(|error| format!("cannot read claim {key}: {error}"))?;
        let evidence = ClaimEvidence {
            claim: claim.map(Arc::new),
            key,
        };
        Ok(decide(Some(&evidence)))
    }

    async fn carry_out(&mut self, key: Key, plan: Plan) {
        let (backend, gone) = (&self.backend, &self.gone);
        let report = self.hands.carry_out(plan, |answer| {
            self.health.beat();
            // Plans of syncs delete nothing.
            if let Answer::Written(written) = answer {
                apply_written(backend, gone, written);
            }
        });
        let report = report.await;
        for claim in report.enqueued_claims() {
            self.queue.add(Key::Claim(claim.clone()));
        }
        for operation in report.operations() {
            self.operations.start(operation.clone());
        }
        self.note_refused(&report);
        match report.error() {
            Some(error) => self.failed(key, &error.to_string()),
            None => self.queue.succeeded(&key),
        }
    }

    fn failed(&mut self, key: Key, message: &str) {
        let delay = self.queue.failed(Instant::now(), key.clone());
        warn!(object = %key, error = message, again_in = ?delay, "a sync failed");
    }

    /// Tells a plan instead of carrying it out, unless it was told before.
    fn tell(&mut self, key: Key, plan: &Plan) {
        let steps: Vec<_> = plan.steps.iter().map(step_in_words).collect();
        if steps.is_empty() {
            self.told.remove(&key);
            debug!(object = %key, verdict = ?plan.verdict, "nothing to do");
            return;
        }
        if self.told.get(&key) == Some(&steps) {
            return;
        }
        for step in &steps {
            info!(object = %key, step, "would do");
        }
        self.told.insert(key, steps);
    }
}

fn step_in_words(step: &Step) -> String {
    match step {
        Step::Write { write, .. } => match write.merge_patch() {
            Some(patch) => {
                let part = match write.subresource() {
                    "" => String::new(),
                    part => format!("/{part}"),
                };
                format!("patch {} {}{part}: {patch}", write.resource(), write.key())
            }
            None => {
                let verb = match write {
                    Write::DeleteVolume(_) => "delete",
                    _ => "create",
                };
                format!("{verb} {} {}", write.resource(), write.key())
            }
        },
        Step::Event(event) => format!("event: {event}"),
        Step::EnqueueClaim(key) => format!("sync claim {key}"),
        Step::Start(operation) => format!("start {operation}"),
        other => format!("{other:?}"),
    }
}

/// What a future gives at once, if it does.
fn now_or_never<T>(future: impl Future<Output = T>) -> Option<T> {
    futures::FutureExt::now_or_never(future)
}
