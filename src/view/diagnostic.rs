//! What diagnosis asks of a cluster beyond what scheduling and provisioning ask.

use std::sync::Arc;

use super::{Held, ProvisioningView, SchedulingView, Snapshot};
use crate::api::{Node, PersistentVolumeClaim, Pod, StorageClass};

/// What diagnosis asks of a cluster beyond what scheduling and provisioning ask:
/// everything there is of a kind.
///
/// Decisions look up single objects; why nothing was found is only told by all
/// of them. [`Snapshot`] answers at once; over an embedder's own store each
/// method is a loop.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::view::{DiagnosticView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"}}
///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web"}}"#)?
/// .into_iter()
/// .collect();
/// let claims: Vec<_> = snapshot.every_claim().iter().map(|claim| claim.metadata.key()).collect();
/// assert_eq!(claims, ["shop/data"]);
/// assert_eq!(snapshot.every_pod().len(), 1);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
pub trait DiagnosticView: SchedulingView + ProvisioningView {
    /// Every claim, in any order.
    ///
    /// ```
    /// use pvbind::api::{ClaimPhase, read_objects};
    /// use pvbind::view::{DiagnosticView, Snapshot};
    /// fn unbound(view: &impl DiagnosticView) -> Vec<String> {
    ///     let claims = view.every_claim().into_iter();
    ///     let unbound = claims.filter(|claim| claim.status.phase != Some(ClaimPhase::Bound));
    ///     unbound.map(|claim| claim.metadata.key()).collect()
    /// }
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"}}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "bank", "name": "data"},
    ///      "status": {"phase": "Bound"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// assert_eq!(unbound(&snapshot), ["shop/data"]); // one without a phase is not bound either
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn every_claim(&self) -> Vec<Held<'_, PersistentVolumeClaim>>;

    /// Every class, in any order.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{ClusterView, DiagnosticView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "StorageClass", "metadata": {"name": "fast"}}
    ///     {"kind": "StorageClass", "metadata": {"name": "local"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// // The claim names a class that does not exist; which one was meant?
    /// assert!(snapshot.class("Fast").is_none());
    /// let classes = snapshot.every_class();
    /// let meant = classes.iter().find(|class| class.name().eq_ignore_ascii_case("Fast"));
    /// assert_eq!(meant.unwrap().name(), "fast");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn every_class(&self) -> Vec<Held<'_, StorageClass>>;

    /// Every node, in any order.
    ///
    /// ```
    /// use pvbind::api::{VolumeNodeAffinity, read_objects};
    /// use pvbind::selector::volume_affinity_accepts;
    /// use pvbind::view::{DiagnosticView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Node", "metadata": {"name": "node-a", "labels": {"zone": "a"}}}
    ///     {"kind": "Node", "metadata": {"name": "node-b", "labels": {"zone": "b"}}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let affinity: VolumeNodeAffinity = serde_json::from_value(serde_json::json!({"required": {
    ///     "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["c"]}]}]}}))?;
    /// // The volume's zone has no node left.
    /// let nodes = snapshot.every_node();
    /// let reach = |labels| volume_affinity_accepts(Some(&affinity), labels) == Ok(true);
    /// assert!(!nodes.iter().any(|node| reach(node.metadata.labels())));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn every_node(&self) -> Vec<Held<'_, Node>>;

    /// Every pod, in any order.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{ClusterView, DiagnosticView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web"}, "spec": {"volumes": [
    ///      {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// // Pods that wait for a claim which nobody has made.
    /// let pods = snapshot.every_pod();
    /// let waiting = pods.iter().filter(|pod| pod.claims().any(|used| {
    ///     snapshot.claim(pod.metadata.namespace(), &used.claim).is_none()
    /// }));
    /// assert_eq!(waiting.map(|pod| pod.name()).collect::<Vec<_>>(), ["web"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn every_pod(&self) -> Vec<Held<'_, Pod>>;
}

impl DiagnosticView for Snapshot {
    fn every_claim(&self) -> Vec<Held<'_, PersistentVolumeClaim>> {
        self.claims().map(Held::Lent).collect()
    }

    fn every_class(&self) -> Vec<Held<'_, StorageClass>> {
        self.classes().map(Held::Lent).collect()
    }

    fn every_node(&self) -> Vec<Held<'_, Node>> {
        self.nodes().map(Held::Lent).collect()
    }

    fn every_pod(&self) -> Vec<Held<'_, Pod>> {
        self.pods().map(Held::Lent).collect()
    }
}

/// A reference to a view, or a shared or boxed one, is a view.
macro_rules! views_behind {
    ($($Pointer:ty),*) => {$(
        impl<V: DiagnosticView + ?Sized> DiagnosticView for $Pointer {
            fn every_claim(&self) -> Vec<Held<'_, PersistentVolumeClaim>> {
                (**self).every_claim()
            }

            fn every_class(&self) -> Vec<Held<'_, StorageClass>> {
                (**self).every_class()
            }

            fn every_node(&self) -> Vec<Held<'_, Node>> {
                (**self).every_node()
            }

            fn every_pod(&self) -> Vec<Held<'_, Pod>> {
                (**self).every_pod()
            }
        }
    )*};
}

views_behind!(&V, Box<V>, Arc<V>);
