//! What the cluster itself said about its objects: Events, of core/v1 and of
//! events.k8s.io/v1.

use std::collections::BTreeMap;

use pvbind::api::{ObjectMeta, PersistentVolumeClaim, Timestamp};
use pvbind::provisioner::ProvisionError;
use serde_json::Value;

/// So many events of an object are told, the newest.
const TOLD: usize = 20;
/// Warnings about storage that pods and resizes stop at.
const STORAGE: [&str; 8] = [
    "FailedAttachVolume",
    "FailedMapVolume",
    "FailedMount",
    "FailedScheduling",
    "FileSystemResizeFailed",
    "ProvisioningFailed",
    "VolumeFailedDelete",
    "VolumeResizeFailed",
];
/// What the controller says of provisioning is what is diagnosed anyway.
const CONTROLLER: &str = "persistentvolume-controller";

#[derive(Default)]
pub struct Events(BTreeMap<Key, Vec<Event>>);

/// Kind, namespace and name.
type Key = (String, String, String);

struct Event {
    uid: String,
    reason: String,
    message: String,
    by: String,
    /// When it was seen last, as it is written and in order.
    time: String,
    at: Option<i128>,
    /// It warns of nothing.
    is_normal: bool,
}

impl Event {
    /// Whether it is about this very object, not an earlier one of its name.
    fn is_of(&self, metadata: &ObjectMeta) -> bool {
        let is_same = [self.uid.as_str(), metadata.uid()];
        is_same.contains(&"") || self.uid == metadata.uid()
    }
}

impl Events {
    pub fn add(&mut self, event: &Value) {
        let text = |paths: &[&str]| {
            let values = paths
                .iter()
                .filter_map(|path| event.pointer(path)?.as_str());
            let mut values = values.filter(|value| !value.is_empty());
            values.next().unwrap_or_default().to_owned()
        };
        let object = |field: &str| {
            text(&[
                &format!("/involvedObject/{field}"),
                &format!("/regarding/{field}"),
            ])
        };
        let at = text(&[
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/deprecatedLastTimestamp",
            "/eventTime",
            "/firstTimestamp",
            "/metadata/creationTimestamp",
        ]);
        let key = (object("kind"), object("namespace"), object("name"));
        self.0.entry(key).or_default().push(Event {
            uid: object("uid"),
            reason: text(&["/reason"]),
            message: text(&["/message", "/note"]),
            by: text(&[
                "/reportingComponent",
                "/reportingController",
                "/source/component",
                "/deprecatedSource/component",
            ]),
            at: Timestamp::from(at.as_str()).unix_nanos(),
            time: at,
            is_normal: text(&["/type"]) == "Normal",
        });
    }

    /// What was said about an object, the newest last.
    pub fn of(&self, kind: &str, namespace: &str, name: &str) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for event in self.sorted(kind, namespace, name).into_iter().rev() {
            let line = format!("{}: {}", event.reason, event.message);
            if !told.contains(&line) {
                told.push(line);
            }
            if told.len() >= TOLD {
                break;
            }
        }
        told.reverse();
        told
    }

    /// The newest warning about an object's storage with its time, if one was recorded.
    pub fn last_warning(&self, kind: &str, metadata: &ObjectMeta) -> Option<String> {
        let last = self.last(kind, metadata, |event| {
            STORAGE.contains(&event.reason.as_str()) && !event.is_normal
        })?;
        let time = match last.time.as_str() {
            "" => String::new(),
            time => format!(" ({time})"),
        };
        Some(format!("{}: {}{time}", last.reason, last.message))
    }

    /// Why the scheduler found no node for a pod, the last time.
    pub fn scheduler_said(&self, metadata: &ObjectMeta) -> Option<&str> {
        let last = self.last("Pod", metadata, |event| event.reason == "FailedScheduling")?;
        // What follows is of preemption, which moves no volumes.
        let ends = [" no new claims to deallocate", " preemption: "];
        let message = ends.iter().fold(last.message.as_str(), |message, end| {
            message.split(end).next().unwrap_or_default()
        });
        Some(message)
    }

    /// The newest event about this very object that is such a one.
    fn last(
        &self,
        kind: &str,
        metadata: &ObjectMeta,
        is_such: impl Fn(&Event) -> bool,
    ) -> Option<&Event> {
        let events = self.sorted(kind, metadata.namespace(), metadata.name());
        let mut events = events.into_iter().rev();
        events.find(|event| event.is_of(metadata) && is_such(event))
    }

    /// What its provisioner said last of this very claim, if that is a failure.
    pub fn provisioner_said(&self, claim: &PersistentVolumeClaim) -> Option<ProvisionError> {
        let metadata = &claim.metadata;
        let events = self.sorted(
            "PersistentVolumeClaim",
            metadata.namespace(),
            metadata.name(),
        );
        let is_own = |event: &&&Event| event.is_of(metadata);
        let is_outcome = |event: &&&Event| {
            let outcomes = ["ProvisioningFailed", "ProvisioningSucceeded"];
            event.by != CONTROLLER && outcomes.contains(&event.reason.as_str())
        };
        let mut outcomes = events.iter().rev().filter(is_own);
        let last = outcomes.find(is_outcome)?;
        (last.reason == "ProvisioningFailed").then(|| ProvisionError::of_event(&last.message))
    }

    /// Oldest first; of one time as they were read.
    fn sorted(&self, kind: &str, namespace: &str, name: &str) -> Vec<&Event> {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        let mut events: Vec<_> = self.0.get(&key).into_iter().flatten().collect();
        events.sort_by_key(|event| event.at);
        events
    }
}
