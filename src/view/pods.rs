//! Pods by the claims that they use.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::Pod;

type ByName<V> = BTreeMap<Box<str>, V>;

/// The pods of each namespace by the name of a claim, then by their own name.
#[derive(Clone, Debug, Default)]
pub(super) struct PodsByClaim {
    namespaces: ByName<ByName<ByName<Arc<Pod>>>>,
}

impl PodsByClaim {
    pub(super) fn insert(&mut self, pod: &Arc<Pod>) {
        let namespace = pod.namespace();
        for used in pod.claims() {
            let claims = self.namespaces.entry(namespace.into()).or_default();
            let pods = claims.entry(used.claim.into()).or_default();
            pods.insert(pod.name().into(), Arc::clone(pod));
        }
    }

    pub(super) fn remove(&mut self, pod: &Pod) {
        let namespace = pod.namespace();
        let Some(claims) = self.namespaces.get_mut(namespace) else {
            return;
        };
        for used in pod.claims() {
            if let Some(pods) = claims.get_mut(&*used.claim) {
                pods.remove(pod.name());
                if pods.is_empty() {
                    claims.remove(&*used.claim);
                }
            }
        }
        if claims.is_empty() {
            self.namespaces.remove(namespace);
        }
    }

    /// The pods that use a claim, by name, each once.
    pub(super) fn using(&self, namespace: &str, claim: &str) -> impl Iterator<Item = &Arc<Pod>> {
        let claims = self.namespaces.get(namespace);
        let pods = claims.and_then(|claims| claims.get(claim));
        pods.into_iter().flat_map(BTreeMap::values)
    }
}
