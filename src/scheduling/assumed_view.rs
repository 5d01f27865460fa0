//! A view with assumed objects in front.

use super::Assumptions;
use crate::api::{
    ClaimKey, CsiDriver, CsiStorageCapacity, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    StorageClass,
};
use crate::matching::{FindError, SearchOptions, VolumeLayers, find_best_match_for_claim};
use crate::view::{ClusterView, Held, SchedulingView};

/// A view with assumed objects in front of those of the same name: see
/// [`Assumptions::over`].
///
/// It is a view itself, and so stands wherever one is asked for, also behind
/// other assumptions. It copies nothing.
///
/// ```
/// # use pvbind::api::{ClaimKey, Node, Pod, read_objects};
/// # use pvbind::matching::Features;
/// # use pvbind::scheduling::{Assumption, Assumptions, PodClaims, find_pod_volumes};
/// # use pvbind::view::{ClusterView, SchedulingView, Snapshot};
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
/// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
/// #      "volumeBindingMode": "WaitForFirstConsumer"}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
/// #      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}}}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
/// #      "spec": {"storageClassName": "local", "capacity": {"storage": "20Gi"}}}
/// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
/// #      "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "5Gi"}}}}
/// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
/// #      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}
/// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "uid": "u-3"}, "spec": {"volumes": [
/// #         {"persistentVolumeClaim": {"claimName": "data"}}, {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?
/// # .into_iter()
/// # .collect();
/// # let pod = snapshot.pod("shop", "web").unwrap();
/// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
/// # let claims = PodClaims::of(&pod, &snapshot)?;
/// # let volumes = find_pod_volumes(&claims, &node, &snapshot, Features::default())?;
/// use pvbind::scheduling::AssumedView;
/// let mut assumptions = Assumptions::new();
/// let (_assumption, _plan) = assumptions.assume(&pod, &claims, "node-a", &volumes);
/// let view: AssumedView<'_, Snapshot> = assumptions.over(&snapshot);
/// // The volume that was chosen is bound; the other one is as the snapshot has it.
/// assert_eq!(view.volume("pv-1").unwrap().claim_ref().unwrap().key(), "shop/data");
/// assert_eq!(view.volume("pv-2").unwrap().claim_ref(), None);
/// // What if more pods came? Assume further, and leave the real assumptions alone.
/// let what_if = Assumptions::new();
/// assert!(what_if.over(&view).volume("pv-1").unwrap().claim_ref().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AssumedView<'a, V: ?Sized> {
    assumed: &'a Assumptions,
    behind: &'a V,
}

impl<'a, V: ?Sized> AssumedView<'a, V> {
    pub(super) fn new(assumed: &'a Assumptions, behind: &'a V) -> Self {
        AssumedView { assumed, behind }
    }
}

impl<V: SchedulingView + ?Sized> ClusterView for AssumedView<'_, V> {
    fn volume(&self, name: &str) -> Option<Held<'_, PersistentVolume>> {
        let assumed = self.assumed.volumes().get(name).map(Held::Lent);
        assumed.or_else(|| self.behind.volume(name))
    }

    fn claim(&self, namespace: &str, name: &str) -> Option<Held<'_, PersistentVolumeClaim>> {
        let assumed = if self.assumed.is_empty() {
            None
        } else {
            self.assumed.claim(&ClaimKey::new(namespace, name))
        };
        let assumed = assumed.map(Held::Lent);
        assumed.or_else(|| self.behind.claim(namespace, name))
    }

    fn class(&self, name: &str) -> Option<Held<'_, StorageClass>> {
        self.behind.class(name)
    }

    fn default_class(&self) -> Option<Held<'_, StorageClass>> {
        self.behind.default_class()
    }

    fn node(&self, name: &str) -> Option<Held<'_, Node>> {
        self.behind.node(name)
    }

    fn csi_driver(&self, name: &str) -> Option<Held<'_, CsiDriver>> {
        self.behind.csi_driver(name)
    }

    fn visit_pods_using_claim(&self, namespace: &str, name: &str, visit: &mut dyn FnMut(&Pod)) {
        self.behind.visit_pods_using_claim(namespace, name, visit);
    }

    /// Linear in the number of volumes while any is assumed: it is the
    /// controller's question, and the controller assumes nothing.
    fn best_match(
        &self,
        claim: &PersistentVolumeClaim,
        options: SearchOptions,
    ) -> Result<Option<Held<'_, PersistentVolume>>, FindError> {
        if self.assumed.volumes().is_empty() {
            return self.behind.best_match(claim, options);
        }
        let volumes = self.volume_layers().all();
        let volumes = volumes.into_iter().map(|volume| &**volume);
        let found = find_best_match_for_claim(claim, volumes, options)?;
        Ok(found.map(Held::Borrowed))
    }
}

impl<V: SchedulingView + ?Sized> SchedulingView for AssumedView<'_, V> {
    fn pod(&self, namespace: &str, name: &str) -> Option<Held<'_, Pod>> {
        self.behind.pod(namespace, name)
    }

    fn volume_layers(&self) -> VolumeLayers<'_> {
        self.behind.volume_layers().behind(self.assumed.volumes())
    }

    fn capacities_of_class(&self, class: &str) -> Vec<Held<'_, CsiStorageCapacity>> {
        self.behind.capacities_of_class(class)
    }
}
