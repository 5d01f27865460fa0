//! The objects that were read, as a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pvbind::api::{
    ClaimKey, Object, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod, PodStatus,
};
use pvbind::controller::{Config, sync_volume};
use pvbind::diagnosis::{Known, Survey};
use pvbind::plan::{Step, Write};
use pvbind::view::{ClusterView as _, Snapshot};

use crate::events::Events;
use crate::input::read_file;
use crate::manifest;

#[derive(Default)]
pub struct Cluster {
    pub snapshot: Snapshot,
    pub known: Known,
    /// How many objects have no status, and were taken as just created.
    pub without_status: usize,
    /// What API servers refuse of objects that are just created, as whole
    /// sentences.
    pub refusals: Vec<String>,
    /// Kinds that say nothing about claims, and how many objects of each.
    pub skipped: BTreeMap<String, usize>,
    /// What was recorded about objects.
    pub events: Events,
    seen: BTreeSet<(String, String, String)>,
}

/// The kinds that are diagnosed or asked for.
const KINDS: [&str; 8] = [
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "Node",
    "Pod",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
];
const NAMESPACED: [&str; 3] = ["PersistentVolumeClaim", "Pod", "CSIStorageCapacity"];

impl Cluster {
    /// Reads files that together hold one cluster. Kinds of which there is no
    /// object are not known, unless the input is said to be complete.
    pub fn read(files: &[String], is_complete: bool, config: &Config) -> Result<Cluster, String> {
        let mut cluster = Cluster::default();
        if files.iter().filter(|file| *file == "-").count() > 1 {
            return Err("standard input (`-`) is named twice".to_owned());
        }
        for file in files {
            let (place, objects) = read_file(file)?;
            for object in objects {
                cluster
                    .add(object)
                    .map_err(|error| format!("{place}: {error}"))?;
            }
        }
        cluster.must_hold_something(is_complete)?;
        Ok(cluster.admitted(is_complete, config))
    }

    /// "No faults" of an input that was not understood would be no answer.
    pub fn must_hold_something(&self, is_complete: bool) -> Result<(), String> {
        const GIVE: &str = "give what `kubectl get pv,pvc,sc,nodes,pods -A -o json` prints";
        if !self.seen.is_empty() {
            return Ok(());
        }
        match self.skipped() {
            Some(skipped) => Err(format!(
                "nothing in the input is a claim, a volume or what belongs to them; skipped: {skipped}; {GIVE}"
            )),
            None if is_complete => Ok(()),
            None => Err(format!(
                "the input holds no objects; did kubectl print an error? {GIVE}; if there really are none, add --complete"
            )),
        }
    }

    /// The kinds that were skipped, with how many of each.
    pub fn skipped(&self) -> Option<String> {
        let skipped = self.skipped.iter();
        let skipped: Vec<_> = skipped
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let skipped: String = skipped.join(", ").chars().take(1000).collect();
        (!skipped.is_empty()).then_some(skipped)
    }

    /// What becomes of the objects that are just created, and what is known when
    /// all have been taken in.
    pub fn admitted(mut self, is_complete: bool, config: &Config) -> Cluster {
        self.admit();
        self.create(config);
        let has = |kind: &str| is_complete || self.seen.iter().any(|(seen, ..)| seen == kind);
        let mut known = Known::default();
        known.volumes = has("PersistentVolume");
        known.claims = has("PersistentVolumeClaim");
        known.classes = has("StorageClass");
        known.nodes = has("Node");
        known.pods = has("Pod");
        known.csi_drivers = has("CSIDriver");
        known.csi_nodes = has("CSINode");
        known.csi_storage_capacities = has("CSIStorageCapacity");
        if !is_complete {
            known.claims_in = self.only_namespace("PersistentVolumeClaim");
            known.pods_in = self.only_namespace("Pod");
        }
        self.known = known;
        self
    }

    /// The cluster looked over, with what provisioners said last.
    pub fn survey<'c>(&'c self, config: &'c Config) -> Survey<'c, Snapshot> {
        let mut survey = Survey::knowing(config, &self.snapshot, self.known.clone());
        for claim in self.snapshot.claims() {
            if let Some(said) = self.events.provisioner_said(claim) {
                survey = survey.hearing(ClaimKey::of(claim), said);
            }
        }
        survey
    }

    /// If all objects of a kind are of one namespace, that one: those of others
    /// may be left out.
    fn only_namespace(&self, kind: &str) -> Option<BTreeSet<String>> {
        let objects = self.seen.iter().filter(|(seen, ..)| seen == kind);
        let namespaces: BTreeSet<_> = objects.map(|(_, namespace, _)| namespace.clone()).collect();
        (namespaces.len() == 1).then_some(namespaces)
    }

    /// Gives claims that are just created the default class, as admission does.
    fn admit(&mut self) {
        let Some(class) = self.snapshot.default_class() else {
            return;
        };
        let class = class.name().to_owned();
        let claims = self.snapshot.claims();
        let new = claims.filter(|claim| {
            let is_new =
                claim.status == Default::default() && claim.metadata.creation_timestamp.is_none();
            is_new && !claim.has_class()
        });
        let new: Vec<PersistentVolumeClaim> = new.map(|claim| (**claim).clone()).collect();
        for mut claim in new {
            claim.spec.storage_class_name = Some(class.clone());
            self.snapshot.apply(Arc::new(claim));
        }
    }

    /// Takes in an object.
    pub fn add(&mut self, mut object: Object) -> Result<(), String> {
        let kind = object.kind().unwrap_or("(no kind)").to_owned();
        if !KINDS.contains(&kind.as_str()) || matches!(object, Object::Other(_)) {
            if let Object::Other(event) = &object
                && kind == "Event"
            {
                self.events.add(event);
                return Ok(());
            }
            *self
                .skipped
                .entry(skipped_kind(&kind, &object))
                .or_default() += 1;
            return Ok(());
        }
        if NAMESPACED.contains(&kind.as_str())
            && let Some(metadata) = metadata_mut(&mut object)
            && metadata.namespace().is_empty()
        {
            metadata.namespace = Some("default".to_owned());
        }
        let metadata = object.metadata().cloned().unwrap_or_default();
        if metadata.name().is_empty() {
            return Err(format!("{kind} without a name: .metadata.name is missing"));
        }
        let key = (
            kind.clone(),
            metadata.namespace().to_owned(),
            metadata.name().to_owned(),
        );
        if !self.seen.insert(key) {
            return Err(format!(
                "{kind} `{}` was given twice (all input is taken for one cluster)",
                metadata.key()
            ));
        }
        let is_made = metadata.creation_timestamp.is_some();
        let name = metadata.key();
        let has_status = match &object {
            Object::StorageClass(_) => true,
            Object::PersistentVolume(volume) => volume.status != Default::default(),
            Object::PersistentVolumeClaim(claim) => claim.status != Default::default(),
            Object::Pod(pod) => pod.status != PodStatus::default(),
            _ => true,
        };
        let mut reasons = manifest::times(&metadata);
        let is_new = !has_status || matches!(object, Object::StorageClass(_));
        if is_new && !is_made {
            reasons.extend(manifest::refusals(&object));
            fill_in(&mut object);
        }
        let reasons = reasons.into_iter();
        let sentences = reasons.map(|reason| format!("{kind} {name}: {reason}"));
        self.refusals.extend(sentences);
        if !has_status {
            self.without_status += 1;
            fill_in(&mut object);
        }
        self.snapshot.apply_object(object);
        Ok(())
    }

    /// Does for volumes without a phase what the controller does first.
    fn create(&mut self, config: &Config) {
        let volumes = self.snapshot.volumes().iter();
        let new = volumes.filter(|volume| volume.status.phase.is_none());
        let new: Vec<Arc<PersistentVolume>> = new.cloned().collect();
        for volume in new {
            let plan = sync_volume(config, &self.snapshot, &volume, None);
            let written = plan.steps.into_iter().find_map(|step| match step {
                Step::Write {
                    write: Write::VolumeStatus(change),
                    ..
                } => Some(change.to),
                _ => None,
            });
            if let Some(written) = written {
                self.snapshot.apply(written);
            }
        }
    }

    pub fn claim(&self, key: &str) -> Result<&PersistentVolumeClaim, String> {
        let found = key
            .split_once('/')
            .and_then(|(namespace, name)| self.snapshot.find(namespace, name));
        let found = found.map(|claim: &Arc<_>| &**claim);
        found.ok_or_else(|| format!("there is no claim `{key}` (claims are named NAMESPACE/NAME)"))
    }

    pub fn pod(&self, key: &str) -> Result<&Pod, String> {
        let found = key
            .split_once('/')
            .and_then(|(namespace, name)| self.snapshot.find(namespace, name));
        let found = found.map(|pod: &Arc<_>| &**pod);
        found.ok_or_else(|| format!("there is no pod `{key}` (pods are named NAMESPACE/NAME)"))
    }

    pub fn volume(&self, name: &str) -> Result<&PersistentVolume, String> {
        let found = self.snapshot.volumes().get(name);
        let found = found.map(|volume| &**volume);
        found.ok_or_else(|| format!("there is no volume `{name}`"))
    }
}

/// A kind as it is skipped; what looks like one that is not skipped says why.
fn skipped_kind(kind: &str, object: &Object) -> String {
    if KINDS.contains(&kind)
        && let Object::Other(value) = object
    {
        let version = value.get("apiVersion").and_then(|version| version.as_str());
        return format!("{kind} of apiVersion {}", version.unwrap_or_default());
    }
    let meant = KINDS.iter().find(|one| one.eq_ignore_ascii_case(kind));
    match meant {
        Some(meant) => format!("{kind} (is {meant} meant?)"),
        None => kind.to_owned(),
    }
}

/// What the API server fills in when an object is created.
fn fill_in(object: &mut Object) {
    match object {
        Object::PersistentVolume(volume) => {
            let policy = &mut volume.spec.persistent_volume_reclaim_policy;
            policy.get_or_insert("Retain".into());
        }
        Object::StorageClass(class) => {
            class.reclaim_policy.get_or_insert("Delete".into());
            class.volume_binding_mode.get_or_insert("Immediate".into());
        }
        _ => {}
    }
}

fn metadata_mut(object: &mut Object) -> Option<&mut ObjectMeta> {
    match object {
        Object::PersistentVolumeClaim(claim) => Some(&mut claim.metadata),
        Object::Pod(pod) => Some(&mut pod.metadata),
        Object::CsiStorageCapacity(capacity) => Some(&mut capacity.metadata),
        _ => None,
    }
}
