//! CSIDriver, CSINode and CSIStorageCapacity.

use super::{LabelSelector, ObjectMeta};
use crate::quantity::Quantity;

object! {
    /// A CSIDriver (storage.k8s.io/v1): what Kubernetes is to know of a driver.
    ///
    /// ```
    /// use pvbind::api::CsiDriver;
    /// let driver: CsiDriver = serde_json::from_str(
    ///     r#"{"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": true}}"#)?;
    /// assert_eq!(driver.name(), "csi.example.com");
    /// assert_eq!(driver.spec.storage_capacity, Some(true));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct CsiDriver("a CSIDriver") {
        /// `storage.k8s.io/v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `CSIDriver`, where written.
        kind: Option<String> = "kind",
        /// The metadata; the name is the driver's.
        metadata: ObjectMeta = "metadata",
        /// What Kubernetes is to know of the driver.
        spec: CsiDriverSpec = "spec",
    }
}

object! {
    /// What Kubernetes is to know of a driver.
    ///
    /// ```
    /// use pvbind::api::CsiDriverSpec;
    /// let spec: CsiDriverSpec =
    ///     serde_json::from_value(serde_json::json!({"attachRequired": false, "storageCapacity": true}))?;
    /// assert_eq!(spec.storage_capacity, Some(true));
    /// // Absent counts as false: the scheduler asks no CSIStorageCapacity.
    /// assert_eq!(CsiDriverSpec::default().storage_capacity, None);
    /// // What does not decide about volumes is kept.
    /// assert_eq!(spec.unknown.get("attachRequired"), Some(&false.into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct CsiDriverSpec("a CSIDriver's spec") {
        /// Whether the driver publishes CSIStorageCapacity objects, and the
        /// scheduler is to look at them.
        storage_capacity: Option<bool> = "storageCapacity",
    }
}

impl CsiDriver {
    /// The driver's name, "" if absent: what a class names as its provisioner and
    /// a volume as its `csi.driver`.
    ///
    /// ```
    /// use pvbind::api::{CsiDriver, StorageClass};
    /// use serde_json::{from_value, json};
    /// let driver: CsiDriver = from_value(json!({"metadata": {"name": "csi.example.com"}}))?;
    /// let class: StorageClass = from_value(json!({"provisioner": "csi.example.com"}))?;
    /// assert_eq!(class.provisioner(), driver.name());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.metadata.name()
    }
}

object! {
    /// A CSINode (storage.k8s.io/v1): the drivers on a node.
    ///
    /// ```
    /// use pvbind::api::CsiNode;
    /// let node: CsiNode = serde_json::from_str(
    ///     r#"{"metadata": {"name": "node-a"}, "spec": {"drivers": [
    ///         {"name": "csi.example.com", "nodeID": "i-7", "topologyKeys": ["topology.example.com/zone"]}]}}"#)?;
    /// let drivers = node.spec.drivers.unwrap();
    /// assert_eq!(drivers[0].node_id.as_deref(), Some("i-7"));
    /// assert_eq!(drivers[0].topology_keys.as_deref().unwrap(), ["topology.example.com/zone"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct CsiNode("a CSINode") {
        /// `storage.k8s.io/v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `CSINode`, where written.
        kind: Option<String> = "kind",
        /// The metadata; the name is the node's.
        metadata: ObjectMeta = "metadata",
        /// The drivers on the node.
        spec: CsiNodeSpec = "spec",
    }
}

object! {
    /// The drivers on a node.
    ///
    /// ```
    /// use pvbind::api::CsiNodeSpec;
    /// let spec: CsiNodeSpec = serde_json::from_value(serde_json::json!({"drivers": [
    ///     {"name": "nfs.example.com", "nodeID": "a"},
    ///     {"name": "csi.example.com", "nodeID": "i-7", "topologyKeys": ["topology.example.com/zone"]}]}))?;
    /// let with_places: Vec<_> = spec.drivers.iter().flatten()
    ///     .filter(|driver| driver.topology_keys.is_some())
    ///     .filter_map(|driver| driver.name.as_deref())
    ///     .collect();
    /// assert_eq!(with_places, ["csi.example.com"]); // the other knows no places
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct CsiNodeSpec("a CSINode's spec") {
        /// The drivers, in the order in which they registered.
        drivers: Option<Vec<CsiNodeDriver>> = "drivers",
    }
}

object! {
    /// A driver on a node.
    ///
    /// ```
    /// use pvbind::api::CsiNodeDriver;
    /// let driver: CsiNodeDriver = serde_json::from_str(
    ///     r#"{"name": "csi.example.com", "nodeID": "i-7", "topologyKeys": ["zone"], "allocatable": {"count": 24}}"#)?;
    /// assert_eq!(driver.topology_keys.as_deref().unwrap(), ["zone"]);
    /// assert_eq!(driver.unknown.get("allocatable").unwrap()["count"], 24);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct CsiNodeDriver("a driver of a CSINode") {
        /// The driver's name.
        name: Option<String> = "name",
        /// The driver's name for the node.
        node_id: Option<String> = "nodeID",
        /// The labels of the node that make up its place for this driver.
        topology_keys: Option<Vec<String>> = "topologyKeys",
    }
}

impl CsiNode {
    /// The node's name, "" if absent: a CSINode has the name of its Node, and says
    /// nothing of labels.
    ///
    /// ```
    /// use pvbind::api::{CsiNode, Node};
    /// use serde_json::{from_value, json};
    /// let csi_node: CsiNode = from_value(json!({"metadata": {"name": "node-a"}}))?;
    /// let nodes: Vec<Node> = from_value(json!([
    ///     {"metadata": {"name": "node-a", "labels": {"zone": "a"}}}, {"metadata": {"name": "node-b"}}]))?;
    /// let node = nodes.iter().find(|node| node.name() == csi_node.name()).unwrap();
    /// assert_eq!(node.metadata.labels()["zone"], "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.metadata.name()
    }

    /// A driver on the node, by its name; `None` if it does not run there.
    ///
    /// ```
    /// use pvbind::api::CsiNode;
    /// let node: CsiNode = serde_json::from_str(
    ///     r#"{"spec": {"drivers": [{"name": "csi.example.com", "nodeID": "i-7"}]}}"#)?;
    /// let driver = node.driver("csi.example.com").unwrap();
    /// assert_eq!(driver.node_id.as_deref(), Some("i-7"));
    /// assert_eq!(node.driver("nfs.example.com"), None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn driver(&self, name: &str) -> Option<&CsiNodeDriver> {
        let mut drivers = self.spec.drivers.iter().flatten();
        drivers.find(|driver| driver.name.as_deref() == Some(name))
    }
}

object! {
    /// A CSIStorageCapacity (storage.k8s.io/v1): how much a driver can still
    /// provision for a class in a part of the cluster.
    ///
    /// ```
    /// use pvbind::api::CsiStorageCapacity;
    /// let pool: CsiStorageCapacity = serde_json::from_str(
    ///     r#"{"storageClassName": "fast", "capacity": "100Gi", "maximumVolumeSize": "16Gi",
    ///         "nodeTopology": {"matchLabels": {"zone": "a"}}}"#)?;
    /// assert_eq!(pool.limit().unwrap().to_string(), "16Gi");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct CsiStorageCapacity("a CSIStorageCapacity") {
        /// `storage.k8s.io/v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `CSIStorageCapacity`, where written.
        kind: Option<String> = "kind",
        /// Name, namespace and the rest of the metadata.
        metadata: ObjectMeta = "metadata",
        /// The nodes it speaks of: none if absent, all if empty.
        node_topology: Option<LabelSelector> = "nodeTopology",
        /// The class it speaks of.
        storage_class_name: Option<String> = "storageClassName",
        /// How much is left, in bytes.
        capacity: Option<Quantity> = "capacity",
        /// The largest single volume, in bytes.
        maximum_volume_size: Option<Quantity> = "maximumVolumeSize",
    }
}

impl CsiStorageCapacity {
    /// The largest volume that can be asked for, in bytes:
    /// `maximumVolumeSize` if set, else `capacity`. `None` if neither is: then
    /// there is room for nothing, not for anything.
    ///
    /// Follows `volumeLimit` (scheduler, volumebinding) of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::CsiStorageCapacity;
    /// let pool: CsiStorageCapacity = serde_json::from_str(r#"{"capacity": "100Gi"}"#)?;
    /// assert_eq!(pool.limit().unwrap().to_string(), "100Gi");
    /// assert_eq!(CsiStorageCapacity::default().limit(), None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn limit(&self) -> Option<&Quantity> {
        self.maximum_volume_size.as_ref().or(self.capacity.as_ref())
    }
}
