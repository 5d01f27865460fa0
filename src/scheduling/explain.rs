//! Why a node does not fit, found out when somebody asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::batch::Batch;
use super::pools::{Pool, PoolTopology};
use super::provision::has_provisioner;
use super::search::{BoundClaim, ToProvision};
use super::{Obstacle, PodSearch, PoolOutcome, PoolReport, ProvisionRefusal};
use crate::api::{ClaimKey, Node};
use crate::selector::TermOutcome;
use crate::view::SchedulingView;

impl<'a, V: SchedulingView + ?Sized> PodSearch<'a, V> {
    /// What stands in the way of the pod on a node: every bound claim whose
    /// volume is missing or out of reach; then every claim for which another
    /// node was selected or, if there is none, every claim that can be neither
    /// matched nor provisioned. Nothing if the node fits, or has no answer.
    ///
    /// The [`reasons`](super::PodVolumes::reasons) of the node are those of its
    /// first obstacle among bound claims and of its first other one: upstream
    /// stops there.
    ///
    /// # Cost
    /// Above that of the search: linear in the number of capacity pools for each
    /// claim without room; and once in the number of volumes for each class.
    ///
    /// ```
    /// use pvbind::api::{Node, Pod, read_objects};
    /// use pvbind::matching::Features;
    /// use pvbind::scheduling::{PodClaims, PodSearch};
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    ///      "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [
    ///          {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
    ///      "spec": {"storageClassName": "fast"}}"#)?
    /// .into_iter()
    /// .collect();
    /// let pod: Pod = serde_json::from_str(r#"{"metadata": {"namespace": "shop"},
    ///     "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
    /// let node: Node = serde_json::from_str(r#"{"metadata": {"labels": {"zone": "b"}}}"#)?;
    /// let claims = PodClaims::of(&pod, &snapshot)?;
    /// let obstacles = PodSearch::new(&claims, &snapshot, Features::default()).explain(&node);
    /// assert_eq!(
    ///     obstacles[0].to_string(),
    ///     "claim shop/data finds no volume of its class, and class `fast` does not allow the \
    ///      node: term 0: `zone in (a)` fails: the label is `b`",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, node: &Node) -> Vec<Obstacle> {
        if self.on_node(node).map_or(true, |volumes| volumes.fits()) {
            return Vec::new();
        }
        let labels = node.metadata.labels();
        let bound = self.bound.iter();
        let mut obstacles: Vec<_> = bound.filter_map(|bound| bound.obstacle(labels)).collect();
        let elsewhere: Vec<_> = self
            .selected_elsewhere(node)
            .map(|selected| Obstacle::OtherNodeSelected {
                claim: ClaimKey::of(selected.claim),
                selected: selected.node.to_owned(),
            })
            .collect();
        if !elsewhere.is_empty() {
            obstacles.extend(elsewhere);
            return obstacles;
        }
        let chosen = Batch::alone(self, node);
        obstacles.extend(self.missed(&chosen).filter_map(|missed| {
            Some(Obstacle::NoVolume {
                claim: ClaimKey::of(missed.claim),
                candidates: missed
                    .was_searched
                    .then(|| missed.class.candidates(&self.layers)),
                refusal: self.refusal(&missed, labels)?,
            })
        }));
        obstacles
    }

    fn refusal(
        &self,
        missed: &ToProvision<'_, 'a>,
        labels: &BTreeMap<String, String>,
    ) -> Option<ProvisionRefusal> {
        let prepared = missed.class.prepared(self.view)?;
        let class = missed.class.name.clone();
        let provisioner = prepared.class.provisioner().to_owned();
        if !has_provisioner(&prepared.class) {
            return Some(ProvisionRefusal::NoProvisioner { class, provisioner });
        }
        if !prepared.topology.matches(labels) {
            return Some(ProvisionRefusal::TopologyNotAllowed {
                class,
                terms: owned(prepared.topology.explain(labels)),
            });
        }
        let (pools, request) = (prepared.pools.as_ref()?, missed.claim.storage_request()?);
        let asked = request.value();
        if pools.first(labels, asked).is_some() {
            return None;
        }
        let reports = pools.iter().map(|pool| PoolReport {
            pool: Arc::clone(&pool.capacity),
            outcome: pool.outcome(labels, asked),
        });
        Some(ProvisionRefusal::NotEnoughCapacity {
            class,
            driver: provisioner,
            asked,
            pools: reports.collect(),
        })
    }
}

impl BoundClaim<'_> {
    fn obstacle(&self, labels: &BTreeMap<String, String>) -> Option<Obstacle> {
        let claim = ClaimKey::of(self.claim);
        let volume = self.claim.volume_name().to_owned();
        if self.volume.is_none() {
            return Some(Obstacle::VolumeMissing { claim, volume });
        }
        let affinity = self.affinity.as_ref()?;
        if affinity.matches(labels, None) == Ok(true) {
            return None;
        }
        Some(Obstacle::VolumeUnreachable {
            claim,
            volume,
            terms: owned(affinity.explain(labels, None)),
        })
    }
}

impl Pool {
    fn outcome(&self, labels: &BTreeMap<String, String>, asked: i64) -> PoolOutcome {
        let Some(limit) = self.limit else {
            return PoolOutcome::NoLimit;
        };
        if limit < asked {
            return PoolOutcome::TooSmall { limit };
        }
        match &self.topology {
            PoolTopology::Absent => PoolOutcome::NoTopology,
            PoolTopology::Invalid(error) => PoolOutcome::InvalidTopology(error.clone()),
            PoolTopology::Selector(selector) => {
                let unmet: Vec<_> = selector
                    .unmet(labels)
                    .map(|unmet| unmet.into_owned())
                    .collect();
                if unmet.is_empty() {
                    PoolOutcome::Suitable
                } else {
                    PoolOutcome::OtherNodes(unmet)
                }
            }
        }
    }
}

fn owned(terms: Vec<TermOutcome<'_>>) -> Vec<TermOutcome<'static>> {
    terms.into_iter().map(TermOutcome::into_owned).collect()
}

#[cfg(test)]
mod tests;
