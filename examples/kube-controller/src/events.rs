//! Events, published in the background.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as Published, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use pvbind::plan::Event;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::failures::with_causes;
use crate::server::{MANAGER, post};

/// The name that events of this controller carry, upstream's own.
const CONTROLLER: &str = "persistentvolume-controller";
/// The longest note that the API server takes, in bytes.
const LONGEST_NOTE: usize = 1024;
/// The longest name of an instance that the API server takes, in bytes.
const LONGEST_INSTANCE: usize = 128;
/// How long the same event counts as one of a series after it was said last.
const SERIES: Duration = Duration::from_secs(360);
/// How often the count of a series is written: soon at first, then seldom. An
/// object that waits for days is told about every few seconds.
const SOON: Duration = Duration::from_secs(60);
const SELDOM: Duration = Duration::from_secs(300);
/// How many writes of a count are soon.
const SOON_WRITES: u32 = 2;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a first occurrence is tried, and how long it rests in between.
const TRIES: u32 = 12;
const REST: Duration = Duration::from_secs(10);
/// How many series are remembered; the others are published, but not counted.
const REMEMBERED: usize = 200_000;

/// Publishes events, in order, without making anybody wait. An event that was
/// said before raises the count of its series, in memory; the count is written
/// from time to time. First occurrences go before counts.
#[derive(Clone)]
pub struct Publisher {
    book: Arc<Mutex<Book>>,
    wake: mpsc::Sender<()>,
}

impl Publisher {
    /// A publisher that lives as long as one of its clones; the task ends when
    /// the last event is out. `instance` says which of several controllers it
    /// is.
    pub fn start(client: Client, instance: &str) -> (Self, JoinHandle<()>) {
        let (wake, woken) = mpsc::channel(1);
        let book = Arc::new(Mutex::new(Book::default()));
        let press = Press {
            client,
            instance: cut(instance, LONGEST_INSTANCE).to_owned(),
            book: Arc::clone(&book),
        };
        let published = tokio::spawn(press.run(woken));
        (Publisher { book, wake }, published)
    }

    /// Publishes an event some time soon.
    pub fn publish(&self, event: &Event) {
        let is_first = lock(&self.book).note(event, Instant::now());
        let kind = event.regarding.kind.as_deref();
        let reason = event.reason.as_str();
        let (object, message) = (event.key(), &event.message);
        if is_first {
            info!(kind, object, reason, message, "event");
            let _is_awake = self.wake.try_send(());
        } else {
            debug!(kind, object, reason, message, "event, again");
        }
    }
}

/// What was said of late.
#[derive(Default)]
struct Book {
    series: HashMap<String, Series>,
    /// The series of which nothing is published yet.
    first: VecDeque<String>,
    /// When each of the others is looked at again: to write its count, or to
    /// forget it.
    due: BTreeSet<(Instant, String)>,
    /// How many were not remembered.
    unremembered: u64,
}

/// The same event, said once or more often.
struct Series {
    event: Event,
    /// Where it is published, once it is.
    at: Option<Place>,
    count: i32,
    written_count: i32,
    writes: u32,
    failures: u32,
    last_said: Instant,
    first_time: Timestamp,
    last_time: Timestamp,
}

/// Namespace and name of a published event.
#[derive(Clone)]
struct Place {
    namespace: String,
    name: String,
}

impl Book {
    /// Notes that an event is said; whether it is the first of its series.
    fn note(&mut self, event: &Event, now: Instant) -> bool {
        let mut key = format!("{} {event}", event.regarding.uid());
        if let Some(series) = self.series.get_mut(&key) {
            series.count = series.count.saturating_add(1);
            series.last_said = now;
            series.last_time = Timestamp::now();
            return false;
        }
        if self.series.len() >= REMEMBERED {
            self.unremembered = self.unremembered.wrapping_add(1);
            key = self.unremembered.to_string();
        }
        let time = Timestamp::now();
        let series = Series {
            event: event.clone(),
            at: None,
            count: 1,
            written_count: 0,
            writes: 0,
            failures: 0,
            last_said: now,
            first_time: time,
            last_time: time,
        };
        self.series.insert(key.clone(), series);
        self.first.push_back(key);
        true
    }

    /// What to do now, or when to look again.
    fn next(&mut self, now: Instant) -> Result<(String, Job), Option<Instant>> {
        while let Some(key) = self.first.pop_front() {
            if let Some(series) = self.series.get(&key) {
                let job = Job::First(series.event.clone(), series.first_time);
                return Ok((key, job));
            }
        }
        while let Some((at, _)) = self.due.first() {
            if *at > now {
                return Err(Some(*at));
            }
            let Some((_, key)) = self.due.pop_first() else {
                break;
            };
            let Some(series) = self.series.get(&key) else {
                continue;
            };
            match &series.at {
                // It could not be published, and has rested.
                None => {
                    let job = Job::First(series.event.clone(), series.first_time);
                    return Ok((key, job));
                }
                Some(place) if series.count > series.written_count => {
                    let series = EventSeries {
                        count: series.count,
                        last_observed_time: MicroTime(series.last_time),
                    };
                    return Ok((key, Job::Count(place.clone(), series)));
                }
                Some(_) => {
                    let end = series.last_said + SERIES;
                    if end <= now {
                        self.series.remove(&key);
                    } else {
                        self.due.insert((end.min(now + SELDOM), key));
                    }
                }
            }
        }
        Err(None)
    }

    /// Notes how a job went, and whether it may be tried again.
    fn done(&mut self, key: String, job: &Job, result: Result<Place, Failure>, now: Instant) {
        let is_full = self.series.len() >= REMEMBERED;
        let Some(series) = self.series.get_mut(&key) else {
            return;
        };
        match (job, result) {
            (_, Err(Failure::Passing)) if series.failures < TRIES => {
                series.failures += 1;
                self.due.insert((now + REST, key));
            }
            // The event of the series is gone: the next one is a first.
            (_, Err(_)) => {
                self.series.remove(&key);
            }
            (Job::First(..), Ok(_)) if is_full => {
                self.series.remove(&key);
            }
            (job, Ok(place)) => {
                series.failures = 0;
                series.at = Some(place);
                series.written_count = match job {
                    Job::First(..) => 1,
                    Job::Count(_, written) => written.count,
                };
                let rest = match series.writes < SOON_WRITES {
                    true => SOON,
                    false => SELDOM,
                };
                series.writes = series.writes.saturating_add(1);
                self.due.insert((now + rest, key));
            }
        }
    }

    /// At the end: what is not written yet is due.
    fn all_due(&mut self) {
        let due = std::mem::take(&mut self.due);
        let unwritten = due.into_iter().map(|(_, key)| key).filter(|key| {
            let series = self.series.get(key);
            series.is_some_and(|series| series.count > series.written_count)
        });
        let now = Instant::now();
        self.due = unwritten.map(|key| (now, key)).collect();
    }
}

enum Job {
    First(Event, Timestamp),
    Count(Place, EventSeries),
}

enum Failure {
    /// It may go better another time.
    Passing,
    ForGood,
}

/// Writes what stands in the book.
struct Press {
    client: Client,
    instance: String,
    book: Arc<Mutex<Book>>,
}

impl Press {
    async fn run(self, mut woken: mpsc::Receiver<()>) {
        let mut is_over = false;
        loop {
            let next = lock(&self.book).next(Instant::now());
            match next {
                Ok((key, job)) => {
                    let result = self.publish(&job).await;
                    let mut book = lock(&self.book);
                    book.done(key, &job, result, Instant::now());
                }
                Err(_) if is_over => return,
                Err(at) => {
                    let end = Instant::now() + SERIES;
                    tokio::select! {
                        woken = woken.recv() => if woken.is_none() {
                            is_over = true;
                            lock(&self.book).all_due();
                        },
                        () = tokio::time::sleep_until(at.unwrap_or(end)) => {}
                    }
                }
            }
        }
    }

    async fn publish(&self, job: &Job) -> Result<Place, Failure> {
        let answer = async {
            match job {
                Job::First(event, time) => self.create(event, *time).await,
                Job::Count(place, series) => self.write_count(place, series).await,
            }
        };
        let error = match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(place)) => return Ok(place),
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => {
                debug!("an event of a series is gone");
                return Err(Failure::ForGood);
            }
            Ok(Err(error)) => error,
            Err(_) => {
                warn!("no answer about an event in {PATIENCE:?}");
                return Err(Failure::Passing);
            }
        };
        let text = with_causes(&error);
        warn!(error = text, "an event was not published");
        Err(match error {
            // What it is refused for does not go away.
            kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429 => {
                Failure::ForGood
            }
            _ => Failure::Passing,
        })
    }

    async fn create(&self, event: &Event, time: Timestamp) -> kube::Result<Place> {
        let event = self.first(event, time);
        let place = Place {
            namespace: event.metadata.namespace.clone().unwrap_or_default(),
            name: event.metadata.name.clone().unwrap_or_default(),
        };
        match self.api(&place).create(&post(), &event).await {
            // The answer to an earlier try was lost.
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(place),
            result => result.map(|_| place),
        }
    }

    async fn write_count(&self, place: &Place, series: &EventSeries) -> kube::Result<Place> {
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(serde_json::json!({"series": series}));
        let patched = self.api(place).patch(&place.name, &params, &patch).await;
        patched.map(|_| place.clone())
    }

    fn api(&self, place: &Place) -> Api<Published> {
        Api::namespaced(self.client.clone(), &place.namespace)
    }

    fn first(&self, event: &Event, time: Timestamp) -> Published {
        let regarding = ObjectReference::try_from(&event.regarding).unwrap_or_default();
        let namespace = match event.regarding.namespace() {
            "" => "default",
            namespace => namespace,
        };
        // Room for the point in time behind it, which must follow a letter or
        // digit.
        let name = cut(event.regarding.name(), 220).trim_end_matches(['-', '.']);
        Published {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", time.as_nanosecond())),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some(event.event_type.to_string()),
            reason: Some(event.reason.as_str().to_owned()),
            note: Some(cut(&event.message, LONGEST_NOTE).to_owned()),
            action: Some("Sync".to_owned()),
            regarding: Some(regarding),
            event_time: Some(MicroTime(time)),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            ..Published::default()
        }
    }
}

/// As much of a text as fits into so many bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}
