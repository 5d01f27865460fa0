//! Who may use a claim beside the pods that use it already.

use std::fmt;

use crate::api::{AccessMode, ClaimKey, PersistentVolumeClaim, Pod};

/// How far the access modes of a claim let it be shared.
///
/// Of several modes the widest decides: a claim that may be read by many nodes
/// or written by one pod may be used by many. This enum is complete.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::scheduling::Sharing;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"accessModes": ["ReadWriteOncePod"]}}"#)?;
/// assert_eq!(Sharing::of(&claim), Sharing::OnePod);
/// // Of all of these a scheduler refuses pods for one only.
/// assert!(Sharing::OnePod.is_enforced() && !Sharing::OneNode.is_enforced());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// ReadWriteOncePod alone: one pod in the cluster. The scheduler and the
    /// kubelet enforce it.
    OnePod,
    /// ReadWriteOnce: the pods of one node. **Advice**: the scheduler of
    /// Kubernetes 1.36 places a second pod on another node without a word. It
    /// does not start if the volume is attached to nodes: the attach/detach
    /// controller refuses (Multi-Attach error). A volume that is only mounted,
    /// such as NFS, nobody guards.
    OneNode,
    /// ReadOnlyMany or ReadWriteMany: any pods.
    Any,
    /// No mode that is known: nothing can be said, and nothing is refused.
    Unknown,
}

impl Sharing {
    /// How far a claim may be shared. Linear in the number of its modes.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::scheduling::Sharing;
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"spec": {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}}"#)?;
    /// assert_eq!(Sharing::of(&claim), Sharing::Any);
    /// assert_eq!(Sharing::of(&PersistentVolumeClaim::default()), Sharing::Unknown);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of(claim: &PersistentVolumeClaim) -> Self {
        let has = |mode| claim.access_modes().contains(&mode);
        if has(AccessMode::ReadOnlyMany) || has(AccessMode::ReadWriteMany) {
            Sharing::Any
        } else if has(AccessMode::ReadWriteOnce) {
            Sharing::OneNode
        } else if has(AccessMode::ReadWriteOncePod) {
            Sharing::OnePod
        } else {
            Sharing::Unknown
        }
    }

    /// Whether Kubernetes' scheduler refuses a pod that goes beyond it.
    ///
    /// ```
    /// use pvbind::scheduling::Sharing;
    /// assert!(Sharing::OnePod.is_enforced());
    /// // ReadWriteOnce says one node, and no scheduler holds a pod to it.
    /// assert!(!Sharing::OneNode.is_enforced());
    /// ```
    pub fn is_enforced(self) -> bool {
        self == Sharing::OnePod
    }
}

/// Why another pod should not use a claim, with the pods in the way.
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, Pod};
/// use pvbind::scheduling::{AccessConflict, Sharing, check_access};
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOncePod"]}}"#)?;
/// let db: Pod = serde_json::from_str(
///     r#"{"metadata": {"name": "db"}, "spec": {"nodeName": "a",
///         "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let conflict: AccessConflict = check_access(&claim, "a", [&db]).unwrap_err();
/// assert_eq!(conflict.sharing, Sharing::OnePod);
/// assert!(conflict.is_enforced());
/// assert_eq!((conflict.pods[0].name.as_str(), conflict.pods[0].node.as_str()), ("db", "a"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessConflict {
    /// The claim.
    pub claim: ClaimKey,
    /// How far it may be shared: [`Sharing::OnePod`], which is enforced, or
    /// [`Sharing::OneNode`], which is advice.
    pub sharing: Sharing,
    /// The node that was asked about.
    pub node: String,
    /// The pods that are in the way, in the order in which they were given; at
    /// least one.
    pub pods: Vec<PodInTheWay>,
}

/// A pod that uses a claim.
///
/// ```
/// use pvbind::scheduling::{PodInTheWay, check_access};
/// # use pvbind::api::{PersistentVolumeClaim, Pod};
/// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
/// #     "metadata": {"namespace": "shop", "name": "data"}, "spec": {"accessModes": ["ReadWriteOncePod"]}}))?;
/// # let pod = |name: &str, phase: &str| serde_json::from_value::<Pod>(serde_json::json!({
/// #     "metadata": {"namespace": "shop", "name": name}, "status": {"phase": phase}, "spec": {
/// #         "nodeName": "node-a", "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}));
/// # let (db, job) = (pod("db", "Running")?, pod("job", "Succeeded")?);
/// // `db` and `job` both name the claim, which is for one pod; `job` has finished.
/// let conflict = check_access(&claim, "node-b", [&db, &job]).unwrap_err();
/// // Whoever wants the claim must evict these:
/// let db = PodInTheWay { name: "db".to_owned(), node: "node-a".to_owned() };
/// assert_eq!(conflict.pods, [db]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodInTheWay {
    /// The pod's name; its namespace is the claim's.
    pub name: String,
    /// Where it runs.
    pub node: String,
}

impl AccessConflict {
    /// Whether Kubernetes' scheduler refuses the pod; if not, this is advice.
    ///
    /// ```
    /// use pvbind::scheduling::check_access;
    /// # use pvbind::api::{PersistentVolumeClaim, Pod};
    /// # let claim = |mode: &str| serde_json::from_value::<PersistentVolumeClaim>(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data"}, "spec": {"accessModes": [mode]}}));
    /// # let db: Pod = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "db"}, "spec": {
    /// #         "nodeName": "node-a", "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}))?;
    /// // A second pod on another node:
    /// let decide = |claim: &_| match check_access(claim, "node-b", [&db]) {
    ///     Ok(()) => "place",
    ///     Err(conflict) if conflict.is_enforced() => "refuse",
    ///     Err(_) => "place, and warn",
    /// };
    /// assert_eq!(decide(&claim("ReadWriteOncePod")?), "refuse");
    /// assert_eq!(decide(&claim("ReadWriteOnce")?), "place, and warn");
    /// assert_eq!(decide(&claim("ReadWriteMany")?), "place");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_enforced(&self) -> bool {
        self.sharing.is_enforced()
    }
}

impl fmt::Display for AccessConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = match self.sharing {
            Sharing::OnePod => "may be used by one pod",
            _ => "should be used on one node",
        };
        write!(f, "claim `{}` {limit} and is used by ", self.claim)?;
        // A text for people stays short, however many pods there are.
        for (place, pod) in self.pods.iter().take(SHOWN).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}pod `{}` on node `{}`", pod.name, pod.node)?;
        }
        match self.pods.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// How many pods a text names.
const SHOWN: usize = 3;

impl std::error::Error for AccessConflict {}

/// Whether one more pod may use a claim on a node, beside these pods. The pod
/// that asks must not be among them, unless it has no node yet.
///
/// A pod uses the claim if it is of the claim's namespace, names the claim in
/// one of its volumes (through an ephemeral volume too), was given a node and
/// has not finished. How far the claim may be shared says [`Sharing::of`].
///
/// Follows, for ReadWriteOncePod, the check of the volume restrictions plug-in
/// of Kubernetes 1.36.
///
/// # Differences
/// - The answer for ReadWriteOnce is advice; upstream has none.
/// - Upstream asks whether ReadWriteOncePod is among the modes. The API server
///   lets it stand alone only, so that no wider mode can be beside it.
///
/// # Errors
/// The pods in the way. [`AccessConflict::is_enforced`] says whether a
/// scheduler refuses the pod, or this is advice.
///
/// # Cost
/// Linear in the number of pods and their volumes.
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, Pod};
/// use pvbind::scheduling::check_access;
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"namespace": "shop", "name": "data"},
///         "spec": {"accessModes": ["ReadWriteOnce"]}}"#)?;
/// let db: Pod = serde_json::from_str(
///     r#"{"metadata": {"namespace": "shop", "name": "db"},
///         "spec": {"nodeName": "a",
///                  "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// assert_eq!(check_access(&claim, "a", [&db]), Ok(()));
/// let conflict = check_access(&claim, "b", [&db]).unwrap_err();
/// assert!(!conflict.is_enforced());
/// assert_eq!(
///     conflict.to_string(),
///     "claim `shop/data` should be used on one node and is used by pod `db` on node `a`",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_access<'p>(
    claim: &PersistentVolumeClaim,
    node: &str,
    pods: impl IntoIterator<Item = &'p Pod>,
) -> Result<(), AccessConflict> {
    let sharing = Sharing::of(claim);
    let is_in_the_way = |pod: &Pod| match sharing {
        Sharing::OnePod => true,
        Sharing::OneNode => pod.node_name() != node,
        Sharing::Any | Sharing::Unknown => false,
    };
    let pods: Vec<_> = pods
        .into_iter()
        .filter(|pod| is_in_the_way(pod) && uses(pod, claim))
        .map(|pod| PodInTheWay {
            name: pod.name().to_owned(),
            node: pod.node_name().to_owned(),
        })
        .collect();
    if pods.is_empty() {
        return Ok(());
    }
    Err(AccessConflict {
        claim: ClaimKey::of(claim),
        sharing,
        node: node.to_owned(),
        pods,
    })
}

/// Whether a pod uses a claim on some node right now.
fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    !pod.node_name().is_empty()
        && !pod.is_finished()
        && pod.namespace() == claim.metadata.namespace()
        && pod.uses_claim(claim.metadata.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn claim(modes: &[&str]) -> PersistentVolumeClaim {
        serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": "web-data"},
            "spec": {"accessModes": modes}}))
        .unwrap()
    }

    fn pod(namespace: &str, name: &str, node: &str, phase: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"nodeName": node,
                     "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "web-data"}}]},
            "status": {"phase": phase}}))
        .unwrap()
    }

    fn in_the_way(modes: &[&str], node: &str, pods: &[Pod]) -> Vec<String> {
        match check_access(&claim(modes), node, pods) {
            Ok(()) => Vec::new(),
            Err(conflict) => conflict.pods.into_iter().map(|pod| pod.name).collect(),
        }
    }

    #[test]
    fn one_pod_keeps_all_others_out_even_on_its_own_node() {
        let pods = [pod("shop", "db", "a", "Running")];
        assert_eq!(in_the_way(&["ReadWriteOncePod"], "a", &pods), ["db"]);
        let conflict = check_access(&claim(&["ReadWriteOncePod"]), "b", &pods).unwrap_err();
        assert!(conflict.is_enforced());
    }

    #[test]
    fn one_node_is_advice_and_names_only_the_pods_elsewhere() {
        let pods = [
            pod("shop", "db", "a", "Running"),
            pod("shop", "web", "b", "Pending"),
        ];
        assert_eq!(in_the_way(&["ReadWriteOnce"], "a", &pods), ["web"]);
        assert_eq!(in_the_way(&["ReadWriteOnce"], "c", &pods), ["db", "web"]);
        let conflict = check_access(&claim(&["ReadWriteOnce"]), "a", &pods).unwrap_err();
        assert!(!conflict.is_enforced());
    }

    #[test]
    fn the_widest_of_several_modes_decides_and_unknown_ones_do_not() {
        let pods = [pod("shop", "db", "a", "Running")];
        for open in [
            &["ReadOnlyMany"][..],
            &["ReadWriteMany"],
            &["ReadWriteOncePod", "ReadWriteOnce", "ReadWriteMany"],
            &["ReadWriteTape"],
            &[],
        ] {
            assert_eq!(in_the_way(open, "b", &pods), [] as [&str; 0], "{open:?}");
        }
        assert_eq!(
            in_the_way(&["ReadWriteOncePod", "ReadWriteOnce"], "a", &pods),
            [] as [&str; 0]
        );
        assert_eq!(
            in_the_way(&["ReadWriteTape", "ReadWriteOncePod"], "a", &pods),
            ["db"]
        );
    }

    #[test]
    fn finished_pods_pods_without_node_and_other_namespaces_do_not_count() {
        let pods = [
            pod("shop", "done", "a", "Succeeded"),
            pod("shop", "failed", "a", "Failed"),
            pod("shop", "waiting", "", "Pending"),
            pod("bank", "other", "a", "Running"),
        ];
        assert_eq!(
            in_the_way(&["ReadWriteOncePod"], "a", &pods),
            [] as [&str; 0]
        );
    }

    #[test]
    fn an_ephemeral_volume_uses_its_claim() {
        let web: Pod = serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {"nodeName": "a", "volumes": [{"name": "data", "ephemeral": {}}]}}))
        .unwrap();
        assert_eq!(in_the_way(&["ReadWriteOncePod"], "a", &[web]), ["web"]);
    }

    #[test]
    fn a_text_names_few_pods_however_many_there_are() {
        let pods: Vec<_> = (0..9)
            .map(|n| pod("shop", &format!("p{n}"), "a", ""))
            .collect();
        let conflict = check_access(&claim(&["ReadWriteOncePod"]), "a", &pods).unwrap_err();
        assert_eq!(conflict.pods.len(), 9);
        assert!(
            conflict
                .to_string()
                .ends_with("pod `p2` on node `a` and 6 more")
        );
    }
}
