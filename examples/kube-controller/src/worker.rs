//! The worker: one at a time, each object from the queue to the end of its
//! plan.
//!
//! The worker alone changes the snapshot, between two syncs, so what a write
//! returned is never overtaken by what the watch says about it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use pvbind::controller::{ClaimEvidence, sync_claim, sync_volume};
use pvbind::plan::{ApiError, Plan, Step, Verdict, Write, Written};
use pvbind::view::{Applied, Snapshot, Stored, is_older_version};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use crate::finalizers::without_vain_finalizers;
use crate::health::Health;
use crate::operations::{Backend, Hands, Operations};
use crate::queue::{Key, Queue};
use crate::server::Answer;
use crate::watches::{KINDS, Name, News, Told, Unreadable, WatchEnded};

/// How long the snapshot remembers the identity of what is gone.
const MEMORY: Duration = Duration::from_secs(600);
/// How long running operations may take to end when the worker stops.
const GRACE: Duration = Duration::from_secs(20);
/// How long to wait before the API server is asked about a doubt again.
const DOUBT: Duration = Duration::from_secs(1);
/// About how many it is asked at once.
const DOUBTS_AT_ONCE: usize = 16;
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
    unreadable: HashMap<&'static str, HashMap<Name, String>>,
    /// The uids of what is gone, and since when.
    gone: HashMap<String, Instant>,
    /// What a list lacked that may be older than the object: see
    /// [`Worker::settle_doubts`].
    doubts: Vec<Key>,
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
            hands,
            queue: Queue::default(),
            health,
            resync,
            next_resync: None,
            dry_run,
            told: HashMap::new(),
            listed: HashSet::new(),
            unreadable: HashMap::new(),
            gone: HashMap::new(),
            doubts: Vec::new(),
        }
    }

    /// Works until it is told to stop, and then lets what is going on come to
    /// an end.
    ///
    /// # Errors
    /// A watch ended.
    pub async fn work(mut self, mut inputs: Inputs) -> Result<(), WatchEnded> {
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
                () = self.settle_doubts() => {}
                _ = inputs.stop.changed() => continue,
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
                    return Err(WatchEnded(why.unwrap_or_default()));
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
        if !self.doubts.is_empty() {
            return now;
        }
        let beat = now + BEAT;
        let queue = self.queue.next_at().filter(|_| self.is_ready());
        let times = [queue, self.next_resync];
        times.into_iter().flatten().fold(beat, Instant::min)
    }

    fn queue_all(&mut self, now: Instant) {
        self.next_resync = Some(now + self.resync);
        self.gone.retain(|_, since| *since + MEMORY > now);
        let snapshot = self.backend.snapshot.lock();
        for volume in snapshot.volumes().iter() {
            self.queue.add_again(Key::Volume(volume.name().to_owned()));
        }
        for claim in snapshot.claims() {
            self.queue.add_again(Key::Claim(ClaimKey::of(claim)));
        }
    }

    fn take_in(&mut self, news: News) {
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

    fn volume_gone(&mut self, volume: &PersistentVolume) {
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

    fn claim_gone(&mut self, claim: &PersistentVolumeClaim) {
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
        match told {
            Told::All(objects, not_understood) => {
                unreadable.clear();
                for object in not_understood {
                    note_unreadable(unreadable, kind, object);
                }
                let uids: HashSet<&str> = objects.iter().map(|object| object.uid()).collect();
                let mut gone = held(&snapshot);
                gone.retain(|object| !uids.contains(object.uid()));
                snapshot.replace_all(objects.iter().cloned());
                let newest = objects.iter().map(|object| object.version());
                let newest = newest.reduce(|a, b| if is_older_version(a, b) { b } else { a });
                let is_newer = |object: &Arc<T>| {
                    newest.is_none_or(|newest| is_older_version(newest, object.version()))
                };
                let (kept, gone): (Vec<_>, Vec<_>) = gone
                    .into_iter()
                    .partition(|object| unreadable.contains_key(&object.name()));
                for object in kept {
                    snapshot.apply(object);
                }
                let (doubtful, gone): (Vec<_>, _) = gone.into_iter().partition(is_newer);
                for object in doubtful {
                    self.doubts.extend(object.sync_key());
                    snapshot.apply(object);
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
                unreadable.remove(&object.name());
                match snapshot.apply(Arc::clone(&object)) {
                    Applied::Done => (vec![object], Vec::new()),
                    _ => (Vec::new(), Vec::new()),
                }
            }
            Told::Gone(object) => {
                unreadable.remove(&object.name());
                match snapshot.delete(&*object) {
                    Applied::Done => (Vec::new(), vec![object]),
                    _ => (Vec::new(), Vec::new()),
                }
            }
            Told::Unreadable(object) => {
                note_unreadable(unreadable, kind, object);
                (Vec::new(), Vec::new())
            }
            Told::UnreadableGone(name) => {
                unreadable.remove(&name);
                let held = snapshot.find::<T>(&name.namespace, &name.name).cloned();
                if let Some(object) = &held {
                    snapshot.delete(&**object);
                }
                (Vec::new(), held.into_iter().collect())
            }
        }
    }

    /// A list may have been made before what this controller wrote since. An
    /// object that is newer than the whole list and not in it was deleted, or it
    /// was created after the list was made; taking a volume for deleted would
    /// lose a claim, so the API server is asked. Until it answers, nothing is
    /// decided.
    async fn settle_doubts(&mut self) {
        while !self.doubts.is_empty() {
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
                    Ok(Some(there)) => apply_written(&self.backend, &self.gone, &there),
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

    /// What is gone stays gone, whatever the answer to an earlier write says.
    fn bury(&mut self, uid: &str) {
        self.gone.insert(uid.to_owned(), Instant::now());
    }

    /// Takes the answer to an own write into the snapshot, ahead of the watch.
    fn hear(&mut self, answer: &Answer) {
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
        }
    }

    /// Why nothing can be decided about an object: what it goes by is there, but
    /// not understood.
    fn not_understood(&self, key: &Key) -> Option<String> {
        let look = |kind: &str, namespace: &str, name: &str| {
            let name = Name {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            };
            let message = self.unreadable.get(kind)?.get(&name)?;
            Some(format!("cannot read {} of {kind}: {message}", name.name))
        };
        if self.unreadable.values().all(HashMap::is_empty) {
            return None;
        }
        let snapshot = self.backend.snapshot.lock();
        match key {
            Key::Claim(key) => {
                let claim = snapshot.find::<PersistentVolumeClaim>(&key.namespace, &key.name)?;
                look("claims", &key.namespace, &key.name)
                    .or_else(|| look("volumes", "", claim.volume_name()))
                    .or_else(|| look("classes", "", claim.class_name()))
            }
            Key::Volume(name) => {
                let volume = snapshot.find::<PersistentVolume>("", name)?;
                let claim = volume.claim_ref();
                let of_claim = claim.and_then(|claim| {
                    // A pod that is not understood may use the claim.
                    let pods = self.unreadable.get("pods").into_iter().flatten();
                    let mut pods = pods.filter(|(pod, _)| pod.namespace == claim.namespace());
                    look("claims", claim.namespace(), claim.name())
                        .or_else(|| look("pods", claim.namespace(), &pods.next()?.0.name))
                });
                look("volumes", "", name).or(of_claim)
            }
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

fn apply_written(backend: &Backend, gone: &HashMap<String, Instant>, written: &Written) {
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

fn note_unreadable(unreadable: &mut HashMap<Name, String>, kind: &'static str, object: Unreadable) {
    let (namespace, name) = (&object.name.namespace, &object.name.name);
    let error = &object.message;
    error!(
        kind,
        namespace, name, error, "is not understood; what depends on it must wait"
    );
    unreadable.insert(object.name, object.message);
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

/// What a future gives at once, if it does.
fn now_or_never<T>(future: impl Future<Output = T>) -> Option<T> {
    futures::FutureExt::now_or_never(future)
}
