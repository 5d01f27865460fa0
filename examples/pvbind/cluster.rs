//! The objects that were read.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::sync::Arc;

use pvbind::api::{
    Object, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, VolumeBindingMode,
    read_objects,
};
use pvbind::matching::VolumeIndex;

#[derive(Default)]
pub struct Cluster {
    pub volumes: VolumeIndex,
    pub claims: Vec<PersistentVolumeClaim>,
    pub classes: BTreeMap<String, StorageClass>,
    pub pods: Vec<Pod>,
    /// Kinds that say nothing about claims, and how many objects of each.
    pub skipped: BTreeMap<String, usize>,
}

impl Cluster {
    pub fn read(files: &[String]) -> Result<Cluster, String> {
        let mut cluster = Cluster::default();
        for file in files {
            let (place, text) = read_text(file)?;
            let objects = read_objects(&text).map_err(|error| format!("{place}: {error}"))?;
            for object in objects {
                cluster
                    .add(object)
                    .map_err(|error| format!("{place}: {error}"))?;
            }
        }
        cluster.claims.sort_by_cached_key(|claim| {
            (
                claim.metadata.namespace().to_owned(),
                claim.metadata.name().to_owned(),
            )
        });
        let keys: BTreeSet<_> = cluster
            .claims
            .iter()
            .map(|claim| claim.metadata.key())
            .collect();
        if keys.len() < cluster.claims.len() {
            let twice = cluster
                .claims
                .windows(2)
                .find(|pair| pair[0].metadata.key() == pair[1].metadata.key());
            let key = twice.map(|pair| pair[0].metadata.key()).unwrap_or_default();
            return Err(format!("PersistentVolumeClaim `{key}` was given twice"));
        }
        Ok(cluster)
    }

    fn add(&mut self, object: Object) -> Result<(), String> {
        let key = object
            .metadata()
            .map(|metadata| metadata.key())
            .unwrap_or_default();
        match object {
            Object::PersistentVolume(volume) => {
                if self.volumes.insert(Arc::from(volume)).is_some() {
                    return Err(format!("PersistentVolume `{key}` was given twice"));
                }
            }
            Object::PersistentVolumeClaim(claim) => self.claims.push(*claim),
            Object::StorageClass(class) => {
                if self.classes.insert(key.clone(), *class).is_some() {
                    return Err(format!("StorageClass `{key}` was given twice"));
                }
            }
            Object::Pod(pod) => self.pods.push(*pod),
            other => {
                let kind = other.kind().unwrap_or("(no kind)").to_owned();
                *self.skipped.entry(kind).or_default() += 1;
            }
        }
        Ok(())
    }

    pub fn volumes(&self) -> impl Iterator<Item = &PersistentVolume> {
        self.volumes.iter().map(Arc::as_ref)
    }

    pub fn claim(&self, key: &str) -> Result<&PersistentVolumeClaim, String> {
        self.claims
            .iter()
            .find(|claim| claim.metadata.key() == key)
            .ok_or_else(|| format!("there is no claim `{key}` (claims are named NAMESPACE/NAME)"))
    }

    /// The class that a claim without class is given: the newest of those that
    /// are marked, of equally old ones the one with the lowest name.
    pub fn default_class(&self) -> Option<&StorageClass> {
        let age = |class: &StorageClass| {
            class
                .metadata
                .creation_timestamp
                .as_ref()
                .and_then(|time| time.unix_nanos())
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
    pub fn pods_of(&self, claim: &PersistentVolumeClaim) -> impl Iterator<Item = &Pod> {
        let metadata = &claim.metadata;
        self.pods.iter().filter(move |pod| {
            pod.metadata.namespace() == metadata.namespace()
                && pod.uses_claim(metadata.name())
                && !pod.is_finished()
        })
    }
}

/// The text of a file and how errors name it.
fn read_text(file: &str) -> Result<(String, String), String> {
    let (place, bytes) = if file == "-" {
        let mut bytes = Vec::new();
        let result = std::io::stdin().lock().read_to_end(&mut bytes);
        ("standard input".to_owned(), result.map(|_| bytes))
    } else {
        (file.to_owned(), std::fs::read(file))
    };
    let bytes = bytes.map_err(|error| format!("{place}: {error}"))?;
    match String::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => Err(format!("{place}: is empty, expected JSON")),
        Ok(text) => Ok((place, text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(format!("{place}: byte {at}: not UTF-8, expected JSON"))
        }
    }
}
