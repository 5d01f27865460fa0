//! Why no topology can be asked for.

use std::collections::BTreeMap;
use std::fmt;

use super::Segment;

/// Why no topology can be asked for. `Display` is upstream's text.
///
/// ```
/// use pvbind::provisioner::TopologyError;
/// let keys = vec!["zone".to_owned(), "rack".to_owned()];
/// assert_eq!(
///     TopologyError::KeysOnNoNode { keys }.to_string(),
///     "topologyKeys [zone rack] were not found on any nodes"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// The selected node has no CSINode: no driver runs on it, or it is gone.
    #[error("failed to get selected CSINode {node}: csinode.storage.k8s.io {node:?} not found")]
    SelectedCsiNodeNotFound {
        /// The node.
        node: String,
    },
    /// The CSINode of the selected node has no topology keys for the driver,
    /// so the driver does not run there.
    #[error("no topology key found for node {node}")]
    NoTopologyKeys {
        /// The node.
        node: String,
    },
    /// The selected node lacks a label that the driver's topology is made of.
    #[error(
        "topology labels from selected node {} does not match topology keys from CSINode {}",
        Map(labels),
        Spaced(keys)
    )]
    SelectedNodeLacksLabels {
        /// The node.
        node: String,
        /// All its labels; none if the node is not known.
        labels: BTreeMap<String, String>,
        /// The keys, in the order of the CSINode.
        keys: Vec<String>,
    },
    /// The class does not allow the place of the selected node.
    #[error(
        "selected node '{node:?}' topology '{segment}' is not in allowed topologies: {}",
        Spaced(allowed)
    )]
    SelectedNodeNotAllowed {
        /// The node.
        node: String,
        /// Its place.
        segment: Segment,
        /// What the class allows, in the order of its terms.
        allowed: Vec<Segment>,
    },
    /// The place of the selected node is none of those that would be asked for.
    #[error(
        "topology {segment} from selected node {node:?} is not in requisite: {}",
        Spaced(requisite)
    )]
    SelectedNodeNotInRequisite {
        /// The node.
        node: String,
        /// Its place.
        segment: Segment,
        /// What would be asked for.
        requisite: Vec<Segment>,
    },
    /// No CSINode has topology keys for the driver.
    #[error("no available topology found")]
    NoTopology,
    /// No node has all labels that the driver's topology is made of.
    #[error("topologyKeys {} were not found on any nodes", Spaced(keys))]
    KeysOnNoNode {
        /// The keys, in the order of the CSINode that they were taken from.
        keys: Vec<String>,
    },
    /// The class's terms multiply out to more than can be asked for. Upstream
    /// has no such bound.
    #[error("allowedTopologies multiply out to more than {limit} labels")]
    TooManyAllowed {
        /// How many labels all segments may have together.
        limit: usize,
    },
    /// The class's terms multiply out to longer labels than can be asked for.
    /// Upstream has no such bound.
    #[error("allowedTopologies multiply out to more than {limit} bytes of labels")]
    AllowedTooLong {
        /// How many bytes the labels of all segments may have together.
        limit: usize,
    },
}

impl TopologyError {
    /// Whether the selected node, or what is known of its drivers, is not there.
    pub(in crate::provisioner) fn is_node_gone(&self) -> bool {
        match self {
            TopologyError::SelectedCsiNodeNotFound { .. } => true,
            // Every node that there is has labels, its own name among them.
            TopologyError::SelectedNodeLacksLabels { labels, .. } => labels.is_empty(),
            _ => false,
        }
    }
}

/// A list as upstream prints it: in brackets, with spaces between.
struct Spaced<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Spaced<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, item) in self.0.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{item}")?;
        }
        f.write_str("]")
    }
}

/// A map as upstream prints it.
struct Map<'a>(&'a BTreeMap<String, String>);

impl fmt::Display for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("map[")?;
        for (at, (key, value)) in self.0.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{key}:{value}")?;
        }
        f.write_str("]")
    }
}
