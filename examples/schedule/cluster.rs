//! The cluster that was given.

use std::collections::BTreeSet;
use std::sync::Arc;

use pvbind::api::Pod;
use pvbind::view::{Applied, Snapshot};
use serde_json::Value;

use crate::input;

pub struct Cluster {
    pub snapshot: Snapshot,
    /// How many nodes are cordoned, and how many have a taint that keeps pods
    /// away: what is not looked at.
    pub cordoned: usize,
    pub tainted: usize,
}

impl Cluster {
    pub fn read(files: &[String]) -> Result<Self, String> {
        if files.iter().filter(|file| *file == "-").count() > 1 {
            return Err("standard input (`-`) is named twice".to_owned());
        }
        let mut cluster = Cluster {
            snapshot: Snapshot::new(),
            cordoned: 0,
            tainted: 0,
        };
        let mut seen = BTreeSet::new();
        for file in files {
            let (place, objects) = input::read_file(file)?;
            for object in objects {
                let kind = object.kind().unwrap_or_default().to_owned();
                let key = object.metadata().map(|metadata| metadata.key());
                let key = key.unwrap_or_default();
                if cluster.snapshot.apply_object(object) == Applied::OtherKind {
                    continue;
                }
                if !seen.insert((kind.clone(), key.clone())) {
                    return Err(format!("{place}: {kind} `{key}` was given twice"));
                }
            }
        }
        cluster.count_what_keeps_pods_away();
        Ok(cluster)
    }

    pub fn pod(&self, key: &str) -> Result<Arc<Pod>, String> {
        let found = self.snapshot.pods().find(|pod| pod.metadata.key() == key);
        found
            .cloned()
            .ok_or_else(|| format!("there is no pod `{key}` (pods are named NAMESPACE/NAME)"))
    }

    /// The pods that no node was found for, by namespace and name.
    pub fn pending(&self) -> Vec<Arc<Pod>> {
        let pods = self.snapshot.pods();
        let is_pending = |pod: &&Arc<Pod>| pod.node_name().is_empty() && !pod.is_finished();
        pods.filter(is_pending).cloned().collect()
    }

    fn count_what_keeps_pods_away(&mut self) {
        for node in self.snapshot.nodes() {
            // The crate keeps what it does not know of a node as it stands.
            let node = serde_json::to_value(&**node).unwrap_or_default();
            let keeps_away = |taint: &Value| taint["effect"] != "PreferNoSchedule";
            if node["spec"]["unschedulable"] == true {
                self.cordoned += 1;
            } else if node["spec"]["taints"]
                .as_array()
                .into_iter()
                .flatten()
                .any(keeps_away)
            {
                self.tainted += 1;
            }
        }
    }
}
