//! Events, published in the background.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as Published, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use pvbind::plan::Event;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::{info, warn};

/// The name that events of this controller carry, upstream's own.
const CONTROLLER: &str = "persistentvolume-controller";
/// The longest note that the API server takes.
const LONGEST_NOTE: usize = 1024;
/// How long the same event counts as one of a series.
const SERIES: SignedDuration = SignedDuration::from_mins(6);
/// How many events may wait; nothing depends on one that is left out.
const WAITING: usize = 1000;

/// Publishes events, in order, without making anybody wait.
#[derive(Clone)]
pub struct Publisher {
    waiting: mpsc::Sender<Event>,
}

impl Publisher {
    /// A publisher that lives as long as one of its clones; the task ends when
    /// the last event is out. `instance` says
    /// which of several controllers it is.
    pub fn start(client: Client, instance: String) -> (Self, JoinHandle<()>) {
        let (waiting, mut events) = mpsc::channel::<Event>(WAITING);
        let published = tokio::spawn(async move {
            let mut book = Book {
                client,
                instance: instance.chars().take(128).collect(),
                recent: HashMap::new(),
            };
            while let Some(event) = events.recv().await {
                if let Err(error) = book.publish(&event).await {
                    warn!(event = %event, %error, "an event was not published");
                }
            }
        });
        (Publisher { waiting }, published)
    }

    /// Publishes an event some time soon.
    pub fn publish(&self, event: &Event) {
        info!(
            kind = event.regarding.kind.as_deref(),
            object = event.key(),
            reason = event.reason.as_str(),
            message = event.message,
            "event"
        );
        if self.waiting.try_send(event.clone()).is_err() {
            warn!(%event, "too many events wait: one is left out");
        }
    }
}

/// What was published of late: the same again raises a count.
struct Book {
    client: Client,
    instance: String,
    recent: HashMap<String, Published>,
}

impl Book {
    async fn publish(&mut self, event: &Event) -> kube::Result<()> {
        let now = Timestamp::now();
        self.recent
            .retain(|_, event| last_seen(event) + SERIES > now);
        let key = format!("{} {event}", event.regarding.uid());
        let namespace = match event.regarding.namespace() {
            "" => "default",
            namespace => namespace,
        };
        let api: Api<Published> = Api::namespaced(self.client.clone(), namespace);
        if let Some(before) = self.recent.get(&key) {
            let mut again = before.clone();
            let count = before.series.as_ref().map_or(1, |series| series.count);
            again.series = Some(EventSeries {
                count: count.saturating_add(1),
                last_observed_time: MicroTime(now),
            });
            let patch = Patch::Merge(serde_json::json!({"series": again.series}));
            let name = again.name_any();
            match api.patch(&name, &PatchParams::default(), &patch).await {
                // It was too old, and is gone.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(error),
                Ok(_) => {
                    self.recent.insert(key, again);
                    return Ok(());
                }
            }
        }
        let first = self.first(event, namespace, now);
        api.create(&PostParams::default(), &first).await?;
        self.recent.insert(key, first);
        Ok(())
    }

    fn first(&self, event: &Event, namespace: &str, now: Timestamp) -> Published {
        let regarding = ObjectReference::try_from(&event.regarding).unwrap_or_default();
        // Room for the point in time behind it.
        let name: String = event.regarding.name().chars().take(220).collect();
        let note = event.message.chars().scan(0, |length, letter| {
            *length += letter.len_utf8();
            (*length <= LONGEST_NOTE).then_some(letter)
        });
        Published {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some(event.event_type.to_string()),
            reason: Some(event.reason.as_str().to_owned()),
            note: Some(note.collect()),
            action: Some("Sync".to_owned()),
            regarding: Some(regarding),
            event_time: Some(MicroTime(now)),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            ..Published::default()
        }
    }
}

fn last_seen(event: &Published) -> Timestamp {
    let series = event.series.as_ref();
    let last = series.map(|series| &series.last_observed_time);
    last.or(event.event_time.as_ref())
        .map_or(Timestamp::MIN, |time| time.0)
}
