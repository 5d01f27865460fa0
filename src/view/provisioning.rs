//! What an external provisioner asks of a cluster beyond what the binding
//! controller asks.

use std::sync::Arc;

use super::{ClusterView, Held, Snapshot};
use crate::api::{CsiNode, Node};

/// What an external provisioner asks of a cluster beyond what the binding
/// controller asks: nodes and CSINodes, from which it learns the topology.
///
/// [`Snapshot`] answers at once. Where a decision takes the first that will do,
/// it is the first in the order of the visit; a snapshot visits by name.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::view::{ProvisioningView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "CSINode", "metadata": {"name": "b"}}
///     {"kind": "CSINode", "metadata": {"name": "a"}, "spec": {"drivers": [
///         {"name": "csi.example.com", "nodeID": "a", "topologyKeys": ["zone"]}]}}"#)?
/// .into_iter()
/// .collect();
/// let mut seen = Vec::new();
/// snapshot.visit_csi_nodes(&mut |csi_node| {
///     seen.push(csi_node.name().to_owned());
///     csi_node.spec.drivers.is_none() // go on until one has drivers
/// });
/// assert_eq!(seen, ["a"]);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
pub trait ProvisioningView: ClusterView {
    /// The CSINode of this name, which is that of its node.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{ClusterView, ProvisioningView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Node", "metadata": {"name": "node-a"}}
    ///     {"kind": "Node", "metadata": {"name": "node-b"}}
    ///     {"kind": "CSINode", "metadata": {"name": "node-a"}, "spec": {"drivers": [{"name": "csi.example.com"}]}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// assert!(snapshot.csi_node("node-a").unwrap().spec.drivers.is_some());
    /// // A node on which no driver has registered yet.
    /// assert!(snapshot.node("node-b").is_some() && snapshot.csi_node("node-b").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn csi_node(&self, name: &str) -> Option<Held<'_, CsiNode>>;

    /// Shows every CSINode once, until `visit` answers `false`.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{ProvisioningView, Snapshot};
    /// fn is_installed(view: &impl ProvisioningView, driver: &str) -> bool {
    ///     let mut found = false;
    ///     view.visit_csi_nodes(&mut |csi_node| {
    ///         found = csi_node.spec.drivers.iter().flatten().any(|one| one.name.as_deref() == Some(driver));
    ///         !found // one node will do
    ///     });
    ///     found
    /// }
    /// let snapshot: Snapshot = read_objects(
    ///     r#"{"kind": "CSINode", "metadata": {"name": "node-a"}, "spec": {"drivers": [{"name": "csi.example.com"}]}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// assert!(is_installed(&snapshot, "csi.example.com") && !is_installed(&snapshot, "nfs.example.com"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn visit_csi_nodes(&self, visit: &mut dyn FnMut(&CsiNode) -> bool);

    /// Shows every node once. A snapshot visits by name.
    ///
    /// ```
    /// use std::collections::BTreeSet;
    /// use pvbind::api::{names, read_objects};
    /// use pvbind::view::{ProvisioningView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Node", "metadata": {"name": "node-a", "labels": {"topology.kubernetes.io/zone": "a"}}}
    ///     {"kind": "Node", "metadata": {"name": "node-b", "labels": {"topology.kubernetes.io/zone": "a"}}}
    ///     {"kind": "Node", "metadata": {"name": "node-c"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let mut zones = BTreeSet::new();
    /// snapshot.visit_nodes(&mut |node| zones.extend(node.metadata.labels().get(names::ZONE_LABEL).cloned()));
    /// assert_eq!(zones, BTreeSet::from(["a".to_owned()]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn visit_nodes(&self, visit: &mut dyn FnMut(&Node));
}

impl ProvisioningView for Snapshot {
    fn csi_node(&self, name: &str) -> Option<Held<'_, CsiNode>> {
        self.csi_nodes.get("", name).map(Held::Lent)
    }

    fn visit_csi_nodes(&self, visit: &mut dyn FnMut(&CsiNode) -> bool) {
        for csi_node in self.csi_nodes.iter() {
            if !visit(csi_node) {
                return;
            }
        }
    }

    fn visit_nodes(&self, visit: &mut dyn FnMut(&Node)) {
        for node in self.nodes.iter() {
            visit(node);
        }
    }
}

/// A reference to a view, or a shared or boxed one, is a view.
macro_rules! views_behind {
    ($($Pointer:ty),*) => {$(
        impl<V: ProvisioningView + ?Sized> ProvisioningView for $Pointer {
            fn csi_node(&self, name: &str) -> Option<Held<'_, CsiNode>> {
                (**self).csi_node(name)
            }

            fn visit_csi_nodes(&self, visit: &mut dyn FnMut(&CsiNode) -> bool) {
                (**self).visit_csi_nodes(visit);
            }

            fn visit_nodes(&self, visit: &mut dyn FnMut(&Node)) {
                (**self).visit_nodes(visit);
            }
        }
    )*};
}

views_behind!(&V, Box<V>, Arc<V>);
