//! The objects that were read.

use std::collections::BTreeMap;
use std::sync::Arc;

use pvbind::api::{
    Object, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, VolumeBindingMode,
    read_objects,
};
use pvbind::matching::VolumeIndex;
use serde_json::Value;

#[path = "../common/input.rs"]
mod input;

/// Namespace and name.
type Key = (String, String);

#[derive(Default)]
pub struct Cluster {
    pub volumes: VolumeIndex,
    pub claims: BTreeMap<Key, PersistentVolumeClaim>,
    pub classes: BTreeMap<String, StorageClass>,
    /// The pods that have not finished, by the claims that they use.
    pods_by_claim: BTreeMap<Key, Vec<Arc<Pod>>>,
    /// What was recorded about an object, by its kind, namespace and name.
    events: BTreeMap<(String, String, String), Vec<String>>,
    /// Kinds that say nothing about claims, and how many objects of each.
    pub skipped: BTreeMap<String, usize>,
}

impl Cluster {
    /// Reads files that together hold one cluster.
    pub fn read(files: &[String]) -> Result<Cluster, String> {
        let mut cluster = Cluster::default();
        if files.iter().filter(|file| *file == "-").count() > 1 {
            return Err("standard input (`-`) is named twice".to_owned());
        }
        for file in files {
            let (place, text) = input::read_text(file)?;
            let in_file = |error: &dyn std::fmt::Display| format!("{place}: {error}");
            for object in read_objects(&text).map_err(|error| in_file(&error))? {
                cluster.add(object).map_err(|error| in_file(&error))?;
            }
        }
        Ok(cluster)
    }

    fn add(&mut self, object: Object) -> Result<(), String> {
        let metadata = object.metadata();
        let key = metadata.map(|metadata| metadata.key()).unwrap_or_default();
        let names =
            metadata.map(|metadata| (metadata.namespace().to_owned(), metadata.name().to_owned()));
        let names = names.unwrap_or_default();
        let kind = object.kind().unwrap_or("(no kind)").to_owned();
        if names.1.is_empty() && metadata.is_some() {
            return Err(format!("{kind} without a name: .metadata.name is missing"));
        }
        let is_new = match object {
            Object::PersistentVolume(volume) => self.volumes.insert(Arc::from(volume)).is_none(),
            Object::PersistentVolumeClaim(claim) => self.claims.insert(names, *claim).is_none(),
            Object::StorageClass(class) => self.classes.insert(names.1, *class).is_none(),
            Object::Pod(pod) => {
                self.add_pod(Arc::from(pod));
                true
            }
            other => {
                if let Object::Other(event) = &other
                    && kind == "Event"
                {
                    self.add_event(event);
                }
                *self.skipped.entry(kind.clone()).or_default() += 1;
                true
            }
        };
        if is_new {
            Ok(())
        } else {
            Err(format!(
                "{kind} `{key}` was given twice (all input is taken for one cluster)"
            ))
        }
    }

    fn add_pod(&mut self, pod: Arc<Pod>) {
        if pod.is_finished() {
            return;
        }
        for used in pod.claims() {
            let key = (pod.metadata.namespace().to_owned(), used.claim.into_owned());
            let pods = self.pods_by_claim.entry(key).or_default();
            if !pods.last().is_some_and(|last| Arc::ptr_eq(last, &pod)) {
                pods.push(Arc::clone(&pod));
            }
        }
    }

    fn add_event(&mut self, event: &Value) {
        let text = |path: &str| {
            event
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let key = (
            text("/involvedObject/kind"),
            text("/involvedObject/namespace"),
            text("/involvedObject/name"),
        );
        let told = format!("{}: {}", text("/reason"), text("/message"));
        let events = self.events.entry(key).or_default();
        if !events.contains(&told) && events.len() < 20 {
            events.push(told);
        }
    }

    pub fn volumes(&self) -> impl Iterator<Item = &PersistentVolume> {
        self.volumes.iter().map(Arc::as_ref)
    }

    pub fn claim(&self, key: &str) -> Result<&PersistentVolumeClaim, String> {
        let found = key.split_once('/').and_then(|(namespace, name)| {
            self.claims.get(&(namespace.to_owned(), name.to_owned()))
        });
        found.ok_or_else(|| format!("there is no claim `{key}` (claims are named NAMESPACE/NAME)"))
    }

    /// The class that a claim without class is given: the newest of those that
    /// are marked, of equally old ones the one with the lowest name.
    pub fn default_class(&self) -> Option<&StorageClass> {
        let age = |class: &StorageClass| {
            let created = class.metadata.creation_timestamp.as_ref();
            created.and_then(|time| time.unix_nanos())
        };
        let marked = self
            .classes
            .values()
            .filter(|class| class.is_marked_default());
        marked.max_by(|a, b| age(a).cmp(&age(b)).then_with(|| b.name().cmp(a.name())))
    }

    /// Whether claims of a class wait for their first consumer.
    pub fn is_delayed(&self, class: &str) -> bool {
        self.classes.get(class).is_some_and(|class| {
            class.volume_binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer)
        })
    }

    /// The pods that use a claim and have not finished.
    pub fn pods_of(&self, claim: &PersistentVolumeClaim) -> &[Arc<Pod>] {
        let key = (
            claim.metadata.namespace().to_owned(),
            claim.metadata.name().to_owned(),
        );
        self.pods_by_claim
            .get(&key)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// What the cluster itself said about an object.
    pub fn events_of(&self, kind: &str, namespace: &str, name: &str) -> &[String] {
        let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.events.get(&key).map(Vec::as_slice).unwrap_or_default()
    }
}
