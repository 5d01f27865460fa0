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
    /// The node's name.
    pub fn name(&self) -> &str {
        self.metadata.name()
    }
}
