//! Node.

use super::ObjectMeta;

object! {
    /// A Node (core/v1), of which decisions about storage need the name and the
    /// labels.
    ///
    /// ```
    /// use pvbind::api::Node;
    /// let node: Node = serde_json::from_str(
    ///     r#"{"metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "a"}}}"#)?;
    /// assert_eq!(node.name(), "a");
    /// assert_eq!(node.metadata.labels()["kubernetes.io/hostname"], "a");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Node("a Node") {
        /// `v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `Node`, where written.
        kind: Option<String> = "kind",
        /// Name, labels and the rest of the metadata.
        metadata: ObjectMeta = "metadata",
    }
}

impl Node {
    /// The node's name, "" if absent: what a pod's `nodeName` and the annotation
    /// `volume.kubernetes.io/selected-node` say. The label
    /// `kubernetes.io/hostname`, which node affinities look at, may differ.
    ///
    /// ```
    /// use pvbind::api::{Node, names};
    /// use serde_json::{from_value, json};
    /// let node: Node = from_value(json!({"metadata": {"name": "ip-10-0-0-7.example.com",
    ///     "labels": {"kubernetes.io/hostname": "ip-10-0-0-7"}}}))?;
    /// assert_eq!(node.name(), "ip-10-0-0-7.example.com");
    /// assert_ne!(node.name(), node.metadata.labels()[names::HOSTNAME_LABEL]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.metadata.name()
    }
}
