//! Where a volume is to be reachable from.

mod segment;
pub use segment::Segment;

mod error;
pub use error::TopologyError;

mod spread;

mod allowed;
use allowed::allowed_segments;

mod cluster;
use cluster::{cluster_segments, cluster_segments_plain};

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::csi::TopologyRequirement;
use crate::api::{CsiNode, TopologySelectorTerm};
use crate::view::ProvisioningView;

/// What decides where a volume is to be reachable from, besides the cluster.
///
/// ```
/// use pvbind::provisioner::TopologyQuery;
/// let query = TopologyQuery {
///     is_immediate: true,
///     ..TopologyQuery::new("disk.csi", "data-mysql-0")
/// };
/// assert_eq!(query.selected_node, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopologyQuery<'a> {
    /// The driver's name, as CSINodes have it.
    pub driver: &'a str,
    /// The claim's name, which decides where it begins if no node is selected.
    pub claim_name: &'a str,
    /// The class's `allowedTopologies`.
    pub allowed: &'a [TopologySelectorTerm],
    /// The node that the claim's first consumer was scheduled to; "" is none.
    pub selected_node: Option<&'a str>,
    /// Ask for nothing but the selected node's place (`--strict-topology`).
    pub is_strict: bool,
    /// Ask for a place although no node is selected (`--immediate-topology`).
    pub is_immediate: bool,
}

impl<'a> TopologyQuery<'a> {
    /// For a claim of this name: no node selected, nothing disallowed, neither
    /// strict nor immediate.
    ///
    /// ```
    /// use pvbind::provisioner::{TopologyQuery, topology_requirement};
    /// use pvbind::view::Snapshot;
    /// let query = TopologyQuery::new("csi.example.com", "data-mysql-0");
    /// // It asks for nothing: the driver may put the volume anywhere.
    /// assert_eq!(topology_requirement(&query, &Snapshot::new())?, None);
    /// let immediate = TopologyQuery { is_immediate: true, ..query };
    /// let refused = topology_requirement(&immediate, &Snapshot::new());
    /// assert_eq!(refused.map_err(|e| e.to_string()), Err("no available topology found".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(driver: &'a str, claim_name: &'a str) -> Self {
        TopologyQuery {
            driver,
            claim_name,
            allowed: &[],
            selected_node: None,
            is_strict: false,
            is_immediate: false,
        }
    }
}

/// Where the volume of a claim must and should be reachable from; `None` leaves
/// it to the driver.
///
/// Everything in `preferred` is in `requisite`. The same query on the same
/// cluster has the same answer, and the claims of one StatefulSet replica have
/// the same first segment.
///
/// Follows `GenerateAccessibilityRequirements` of external-provisioner 6.
///
/// # Differences
/// - Without a selected node, the keys are those of the first CSINode of the
///   view that has some; upstream takes any.
/// - A class whose terms multiply out to more than 262,144 labels, or 128 MiB of
///   them, beyond what stands in it, is refused; upstream would go on until its
///   memory is full.
///
/// # Errors
/// A [`TopologyError`], if the selected node does not fit the driver or the
/// class, or if the cluster has no topology.
///
/// # Cost
/// For *N* nodes with *S* different segments *N* log *S*; of nodes in few
/// segments only those are copied. [`topology_requirement_plain`] is the definition.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::provisioner::{TopologyQuery, topology_requirement};
/// use pvbind::view::Snapshot;
/// let cluster: Snapshot = read_objects(r#"
///     {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [
///         {"name": "disk.csi", "nodeID": "1", "topologyKeys": ["zone"]}]}}
///     {"kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}}
///     {"kind": "Node", "metadata": {"name": "n2", "labels": {"zone": "b"}}}"#)?
/// .into_iter()
/// .collect();
/// let selected = TopologyQuery {
///     selected_node: Some("n1"),
///     ..TopologyQuery::new("disk.csi", "data")
/// };
/// let requirement = topology_requirement(&selected, &cluster)?.unwrap();
/// assert_eq!(requirement.requisite.len(), 2);
/// assert_eq!(requirement.preferred[0].segments["zone"], "a");
///
/// let gone = TopologyQuery { selected_node: Some("n2"), ..selected };
/// assert_eq!(
///     topology_requirement(&gone, &cluster).unwrap_err().to_string(),
///     r#"failed to get selected CSINode n2: csinode.storage.k8s.io "n2" not found"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn topology_requirement<V: ProvisioningView + ?Sized>(
    query: &TopologyQuery<'_>,
    view: &V,
) -> Result<Option<TopologyRequirement>, TopologyError> {
    decide(query, view, cluster_segments)
}

/// [`topology_requirement`], written as it is defined: every node that has all
/// the keys gives a segment, and then they are sorted and repeats dropped.
///
/// # Errors
/// As there.
///
/// # Cost
/// For *N* nodes *N* log *N*, with a copy of each node's labels.
///
/// ```
/// use pvbind::provisioner::{
///     TopologyQuery, topology_requirement, topology_requirement_plain,
/// };
/// use pvbind::view::Snapshot;
/// let (query, view) = (TopologyQuery::new("disk.csi", "data"), Snapshot::new());
/// assert_eq!(
///     topology_requirement_plain(&query, &view),
///     topology_requirement(&query, &view)
/// );
/// ```
pub fn topology_requirement_plain<V: ProvisioningView + ?Sized>(
    query: &TopologyQuery<'_>,
    view: &V,
) -> Result<Option<TopologyRequirement>, TopologyError> {
    decide(query, view, cluster_segments_plain)
}

fn decide<V: ProvisioningView + ?Sized>(
    query: &TopologyQuery<'_>,
    view: &V,
    cluster_segments: fn(&V, &BTreeSet<&str>) -> Vec<Segment>,
) -> Result<Option<TopologyRequirement>, TopologyError> {
    let selected = query
        .selected_node
        .filter(|node| !node.is_empty())
        .map(|node| Selected::find(node, query.driver, view))
        .transpose()?;
    if let Some(selected) = &selected
        && query.is_strict
    {
        selected.check_allowed(query.allowed)?;
        let segment = || vec![selected.segment.to_topology()];
        return Ok(Some(TopologyRequirement {
            requisite: segment(),
            preferred: segment(),
        }));
    }
    // A key that a CSINode names many times is looked for once.
    let search = |keys: &[String]| {
        let different = keys.iter().map(String::as_str).collect();
        let found = cluster_segments(view, &different);
        match found.is_empty() {
            true => Err(TopologyError::KeysOnNoNode {
                keys: keys.to_vec(),
            }),
            false => Ok(found),
        }
    };
    let mut requisite = if !query.allowed.is_empty() {
        allowed_segments(query.allowed)?
    } else if let Some(selected) = &selected {
        search(&selected.keys)?
    } else if query.is_immediate {
        search(&any_keys(query.driver, view)?)?
    } else {
        Vec::new()
    };
    if requisite.is_empty() {
        return Ok(None);
    }
    requisite.sort_unstable();
    requisite.dedup();
    let first = match &selected {
        Some(selected) => selected.position_in(&requisite)?,
        None => spread::first_segment(query.claim_name, requisite.len()),
    };
    let preferred = requisite.iter().cycle().skip(first).take(requisite.len());
    Ok(Some(TopologyRequirement {
        preferred: preferred.map(Segment::to_topology).collect(),
        requisite: requisite.iter().map(Segment::to_topology).collect(),
    }))
}

/// The selected node, as the driver sees it.
struct Selected<'a> {
    node: &'a str,
    /// In the order of the CSINode.
    keys: Vec<String>,
    segment: Segment,
}

impl<'a> Selected<'a> {
    fn find<V: ProvisioningView + ?Sized>(
        name: &'a str,
        driver: &str,
        view: &V,
    ) -> Result<Self, TopologyError> {
        let node = || name.to_owned();
        let csi_node = view
            .csi_node(name)
            .ok_or_else(|| TopologyError::SelectedCsiNodeNotFound { node: node() })?;
        let keys = topology_keys(&csi_node, driver);
        if keys.is_empty() {
            return Err(TopologyError::NoTopologyKeys { node: node() });
        }
        let keys = keys.to_vec();
        let held = view.node(name);
        let labels = held.as_ref().map(|held| held.metadata.labels());
        let pair = |key: &'_ String| -> Option<(&str, &str)> {
            let (key, value) = labels?.get_key_value(key)?;
            Some((key, value))
        };
        match keys.iter().map(pair).collect::<Option<Vec<_>>>() {
            Some(pairs) => Ok(Selected {
                node: name,
                segment: Segment::new(pairs),
                keys,
            }),
            None => Err(TopologyError::SelectedNodeLacksLabels {
                node: node(),
                labels: labels.cloned().unwrap_or_default(),
                keys,
            }),
        }
    }

    /// Whether the class allows the node's place; a class without terms allows
    /// every place.
    fn check_allowed(&self, allowed: &[TopologySelectorTerm]) -> Result<(), TopologyError> {
        if allowed.is_empty() {
            return Ok(());
        }
        let segments = allowed_segments(allowed)?;
        if segments
            .iter()
            .any(|allowed| allowed.is_contained_in(&self.segment))
        {
            return Ok(());
        }
        Err(TopologyError::SelectedNodeNotAllowed {
            node: self.node.to_owned(),
            segment: self.segment.clone(),
            allowed: segments,
        })
    }

    /// Where the node's place begins in the requisite.
    fn position_in(&self, requisite: &[Segment]) -> Result<usize, TopologyError> {
        requisite
            .iter()
            .position(|segment| segment.is_contained_in(&self.segment))
            .ok_or_else(|| TopologyError::SelectedNodeNotInRequisite {
                node: self.node.to_owned(),
                segment: self.segment.clone(),
                requisite: requisite.to_vec(),
            })
    }
}

/// The labels that make up a node's place for a driver; none if the driver does
/// not run there or knows no topology.
fn topology_keys<'n>(csi_node: &'n CsiNode, driver: &str) -> &'n [String] {
    csi_node
        .driver(driver)
        .and_then(|entry| entry.topology_keys.as_deref())
        .unwrap_or_default()
}

/// The keys of the first CSINode that has some for the driver.
fn any_keys<V: ProvisioningView + ?Sized>(
    driver: &str,
    view: &V,
) -> Result<Vec<String>, TopologyError> {
    let mut found = Vec::new();
    view.visit_csi_nodes(&mut |csi_node| {
        found = topology_keys(csi_node, driver).to_vec();
        found.is_empty()
    });
    match found.is_empty() {
        true => Err(TopologyError::NoTopology),
        false => Ok(found),
    }
}
