//! What is known of a cluster.

use std::collections::BTreeSet;

/// Of which kinds a view holds everything there is.
///
/// By default of all. What was read from a file need not hold, say, pods; then
/// that no pod uses a claim means nothing. Of claims and pods it may hold those of
/// some namespaces only. What depends on kinds that are not
/// known is said to be so.
///
/// ```
/// use pvbind::diagnosis::Known;
/// let mut known = Known::default();
/// known.nodes = false;
/// assert!(known.classes && !known.nodes);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each kind")]
#[non_exhaustive]
pub struct Known {
    /// PersistentVolumes.
    pub volumes: bool,
    /// PersistentVolumeClaims.
    pub claims: bool,
    /// StorageClasses.
    pub classes: bool,
    /// Nodes.
    pub nodes: bool,
    /// Pods.
    pub pods: bool,
    /// CSIDrivers.
    pub csi_drivers: bool,
    /// CSINodes.
    pub csi_nodes: bool,
    /// CSIStorageCapacities.
    pub csi_storage_capacities: bool,
    /// The namespaces of which all claims are there; `None` if of every one.
    pub claims_in: Option<BTreeSet<String>>,
    /// The namespaces of which all pods are there; `None` if of every one.
    pub pods_in: Option<BTreeSet<String>>,
}

impl Known {
    /// Whether all claims of a namespace are there.
    ///
    /// ```
    /// use pvbind::diagnosis::Known;
    /// let mut known = Known::default();
    /// known.claims_in = Some(["shop".to_owned()].into());
    /// assert!(known.has_claims_of("shop") && !known.has_claims_of("prod"));
    /// ```
    pub fn has_claims_of(&self, namespace: &str) -> bool {
        let is_in = |namespaces: &BTreeSet<String>| namespaces.contains(namespace);
        self.claims && self.claims_in.as_ref().is_none_or(is_in)
    }

    /// Whether all pods of a namespace are there.
    ///
    /// ```
    /// use pvbind::diagnosis::Known;
    /// let mut known = Known::default();
    /// known.pods_in = Some(["shop".to_owned()].into());
    /// assert!(known.has_pods_of("shop") && !known.has_pods_of("prod"));
    /// ```
    pub fn has_pods_of(&self, namespace: &str) -> bool {
        let is_in = |namespaces: &BTreeSet<String>| namespaces.contains(namespace);
        self.pods && self.pods_in.as_ref().is_none_or(is_in)
    }
}

impl Default for Known {
    /// Everything.
    fn default() -> Self {
        Known {
            volumes: true,
            claims: true,
            classes: true,
            nodes: true,
            pods: true,
            csi_drivers: true,
            csi_nodes: true,
            csi_storage_capacities: true,
            claims_in: None,
            pods_in: None,
        }
    }
}
