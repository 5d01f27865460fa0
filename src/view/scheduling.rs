//! What scheduling asks of a cluster beyond what the binding controller asks.

use std::sync::Arc;

use super::{ClusterView, Held, Snapshot};
use crate::api::{CsiStorageCapacity, Pod};
use crate::matching::VolumeLayers;

/// What scheduling asks of a cluster beyond what the binding controller asks.
///
/// [`Snapshot`] answers at once. An embedder with a store of its own keeps a
/// [`VolumeIndex`](crate::matching::VolumeIndex) up to date beside it.
///
/// The searches borrow from the volumes that [`volume_layers`](Self::volume_layers)
/// lends. So a store behind a lock is locked for reading as long as a decision
/// runs; or it keeps each state in an `Arc`, and a decision keeps that `Arc`:
///
/// ```
/// use std::sync::{Arc, RwLock};
/// use pvbind::api::{Node, PersistentVolumeClaim};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodClaims, find_pod_volumes};
/// use pvbind::view::{SchedulingView, Snapshot};
/// let cluster = RwLock::new(Snapshot::new());
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"storageClassName": "local"}}"#)?;
/// let claims = PodClaims { delayed: vec![Arc::new(claim)], ..PodClaims::default() };
///
/// let view = cluster.read().unwrap();
/// assert_eq!(view.volume_layers().all().len(), 0);
/// let error = find_pod_volumes(&claims, &Node::default(), &*view, Features::default()).unwrap_err();
/// assert_eq!(error.to_string(), r#"failed to find storage class "local""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait SchedulingView: ClusterView {
    /// The pod of this namespace and name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{SchedulingView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0"}, "spec": {"nodeName": "node-a"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// assert_eq!(snapshot.pod("shop", "web-0").unwrap().node_name(), "node-a");
    /// // While its claims were being bound this one was deleted: then its bind fails.
    /// assert!(snapshot.pod("shop", "web-1").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn pod(&self, namespace: &str, name: &str) -> Option<Held<'_, Pod>>;

    /// The volumes, with the searches among them. What was decided and is not
    /// written yet can be laid in front of them.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolume, read_objects};
    /// use pvbind::matching::VolumeIndex;
    /// use pvbind::view::{SchedulingView, Snapshot};
    /// let snapshot: Snapshot = read_objects(
    ///     r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let mut taken = PersistentVolume::clone(snapshot.volume_layers().get("pv-1").unwrap());
    /// taken.spec.claim_ref = serde_json::from_str(r#"{"namespace": "shop", "name": "data"}"#)?;
    /// let assumed: VolumeIndex = [Arc::new(taken)].into_iter().collect();
    /// let layers = snapshot.volume_layers().behind(&assumed);
    /// assert_eq!(layers.get("pv-1").unwrap().claim_ref().unwrap().key(), "shop/data");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn volume_layers(&self) -> VolumeLayers<'_>;

    /// The CSIStorageCapacities of a class, in the order in which they are to
    /// be considered; a snapshot orders them by namespace and name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{SchedulingView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "CSIStorageCapacity", "metadata": {"name": "b"}, "storageClassName": "fast"}
    ///     {"kind": "CSIStorageCapacity", "metadata": {"name": "a"}, "storageClassName": "fast"}
    ///     {"kind": "CSIStorageCapacity", "metadata": {"name": "c"}, "storageClassName": "slow"}"#)?
    /// .into_iter()
    /// .collect();
    /// let pools = snapshot.capacities_of_class("fast");
    /// let names: Vec<_> = pools.iter().map(|pool| pool.metadata.name()).collect();
    /// assert_eq!(names, ["a", "b"]);
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    fn capacities_of_class(&self, class: &str) -> Vec<Held<'_, CsiStorageCapacity>>;
}

impl SchedulingView for Snapshot {
    fn pod(&self, namespace: &str, name: &str) -> Option<Held<'_, Pod>> {
        self.pods.get(namespace, name).map(Held::Lent)
    }

    fn volume_layers(&self) -> VolumeLayers<'_> {
        VolumeLayers::new(&self.volumes)
    }

    fn capacities_of_class(&self, class: &str) -> Vec<Held<'_, CsiStorageCapacity>> {
        self.capacities_by_class
            .of_class(class)
            .map(Held::Lent)
            .collect()
    }
}

/// A reference to a view, or a shared or boxed one, is a view.
macro_rules! views_behind {
    ($($Pointer:ty),*) => {$(
        impl<V: SchedulingView + ?Sized> SchedulingView for $Pointer {
            fn pod(&self, namespace: &str, name: &str) -> Option<Held<'_, Pod>> {
                (**self).pod(namespace, name)
            }

            fn volume_layers(&self) -> VolumeLayers<'_> {
                (**self).volume_layers()
            }

            fn capacities_of_class(&self, class: &str) -> Vec<Held<'_, CsiStorageCapacity>> {
                (**self).capacities_of_class(class)
            }
        }
    )*};
}

views_behind!(&V, Box<V>, Arc<V>);
