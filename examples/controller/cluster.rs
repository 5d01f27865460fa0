//! The objects: as the API server has them, and as the controller sees them.

use std::sync::Arc;

use pvbind::api::{ClaimKey, Node, Object, PersistentVolume, PersistentVolumeClaim, names};
use pvbind::plan::{ApiServer as _, Done, Step, Write};
use pvbind::view::Snapshot;
use serde_json::json;

use crate::arguments::Selection;
use crate::input::read_file;
use crate::server::Server;

#[derive(Default)]
pub struct Cluster {
    pub server: Server,
    pub snapshot: Snapshot,
    /// How many volumes and claims had no uid, as in a manifest, and were given
    /// one as the API server does: a bind goes by it.
    pub without_uid: usize,
}

/// What is said of objects without uid; empty if there are none.
pub fn uid_note(cluster: &Cluster) -> String {
    match cluster.without_uid {
        0 => String::new(),
        count => format!("Objects that had no uid and were given one: {count}\n\n"),
    }
}

impl Cluster {
    pub fn read(files: &[String]) -> Result<Cluster, String> {
        let mut cluster = Cluster::default();
        if files.iter().filter(|file| *file == "-").count() > 1 {
            return Err("standard input (`-`) is named twice".to_owned());
        }
        for file in files {
            let (place, objects) = read_file(file)?;
            for object in objects {
                let added = cluster.add(object);
                added.map_err(|error| format!("{place}: {error}"))?;
            }
        }
        Ok(cluster)
    }

    fn add(&mut self, mut object: Object) -> Result<(), String> {
        self.identify(&mut object);
        let server = &mut self.server;
        let twice =
            |kind, key: &dyn std::fmt::Display| Err(format!("{kind} `{key}` was given twice"));
        match &object {
            Object::PersistentVolume(volume) => {
                let name = volume.name().to_owned();
                if server.volumes.insert(name, (**volume).clone()).is_some() {
                    return twice("PersistentVolume", &volume.name());
                }
            }
            Object::PersistentVolumeClaim(claim) => {
                let key = ClaimKey::of(claim);
                if server
                    .claims
                    .insert(key.clone(), (**claim).clone())
                    .is_some()
                {
                    return twice("PersistentVolumeClaim", &key);
                }
            }
            _ => {}
        }
        self.snapshot.apply_object(object);
        Ok(())
    }

    /// Fills in what a manifest may leave out, and an object of a cluster has.
    fn identify(&mut self, object: &mut Object) {
        let namespaced = match object {
            Object::PersistentVolumeClaim(claim) => Some(&mut claim.metadata),
            Object::Pod(pod) => Some(&mut pod.metadata),
            _ => None,
        };
        if let Some(metadata) = namespaced.filter(|metadata| metadata.namespace().is_empty()) {
            metadata.namespace = Some("default".to_owned());
        }
        let (kind, metadata) = match object {
            Object::PersistentVolume(volume) => ("volume", &mut volume.metadata),
            Object::PersistentVolumeClaim(claim) => ("claim", &mut claim.metadata),
            _ => return,
        };
        if metadata.uid().is_empty() {
            // The name of a volume may be made of it, and holds no slash.
            let key = metadata.key().replace('/', ".");
            metadata.uid = Some(format!("uid-of-{kind}-{key}"));
            self.without_uid += 1;
        }
    }

    /// The scheduler chose a node for a claim.
    pub fn select_node(&mut self, selection: &Selection) -> Result<(), String> {
        let Selection { claim: key, node } = selection;
        if self.snapshot.find::<Node>("", node).is_none() {
            return Err(format!("--select-node: there is no node `{node}`"));
        }
        let claim = self.server.claims.get_mut(key);
        let claim = claim.ok_or_else(|| format!("--select-node: there is no claim `{key}`"))?;
        claim.metadata.set_annotation(names::SELECTED_NODE, node);
        self.snapshot.apply(Arc::new(claim.clone()));
        Ok(())
    }

    /// Lets the view follow what was written.
    pub fn follow(&mut self, done: &Done) {
        let Step::Write { write, .. } = &done.step else {
            return;
        };
        match write {
            Write::Claim(change) | Write::ClaimStatus(change) => {
                if let Some(claim) = self.server.claims.get(&ClaimKey::of(&change.to)) {
                    self.snapshot.apply(Arc::new(claim.clone()));
                }
            }
            Write::Volume(change) | Write::VolumeStatus(change) => self.follow_volume(&change.to),
            Write::CreateVolume { volume, .. } => self.follow_volume(volume),
            Write::DeleteVolume(volume) => self.follow_volume(volume),
            _ => {}
        }
    }

    fn follow_volume(&mut self, volume: &PersistentVolume) {
        match self.server.volumes.get(volume.name()) {
            Some(volume) => self.snapshot.apply(Arc::new(volume.clone())),
            None => self.snapshot.delete(volume),
        };
    }

    /// A CSI driver's provisioner makes a volume for a claim; `None` if it did
    /// so before.
    pub fn make_volume(&mut self, driver: &str, claim: &PersistentVolumeClaim) -> Option<String> {
        let class = self
            .snapshot
            .find::<pvbind::api::StorageClass>("", claim.class_name());
        let (metadata, spec) = (&claim.metadata, &claim.spec);
        let name = format!("pvc-{}", metadata.uid());
        let storage = spec
            .resources
            .requests
            .as_ref()
            .and_then(|requests| requests.storage.as_ref());
        let volume = json!({
            "metadata": {"name": name, "annotations": {names::PROVISIONED_BY: driver},
                "finalizers": [names::EXTERNAL_PROVISIONER_FINALIZER]},
            "spec": {"capacity": {"storage": storage}, "accessModes": spec.access_modes,
                "volumeMode": spec.volume_mode, "storageClassName": claim.class_name(),
                "persistentVolumeReclaimPolicy": class.and_then(|class| class.reclaim_policy.clone()),
                "claimRef": pvbind::binding::claim_reference(claim),
                "csi": {"driver": driver, "volumeHandle": name}},
            "status": {"phase": "Pending"}});
        let volume = serde_json::from_value(volume).ok()?;
        let volume = self.server.create_volume(&volume).ok()?;
        self.snapshot.apply(Arc::new(volume));
        Some(name)
    }
}
