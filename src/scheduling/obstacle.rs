//! Why a node does not fit: the facts.

use std::fmt;
use std::sync::Arc;

use super::UnfitReason;
use crate::api::{ClaimKey, CsiStorageCapacity};
use crate::quantity::{Format, Quantity};
use crate::selector::{SelectorError, TermOutcome, Unmet};

/// What stands in the way of a pod on a node, with the facts behind it: see
/// [`PodSearch::explain`](super::PodSearch::explain).
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{Obstacle, PodClaims, PodSearch, UnfitReason};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {
///          "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
///              {"key": "zone", "operator": "In", "values": ["a"]}]}]}}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data",
///          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv-1"}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(r#"{"metadata": {"namespace": "shop"},
///     "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let node: Node = serde_json::from_str(r#"{"metadata": {"labels": {"zone": "b"}}}"#)?;
/// let obstacles = PodSearch::new(&claims, &snapshot, Features::default()).explain(&node);
/// let [Obstacle::VolumeUnreachable { volume, terms, .. }] = obstacles.as_slice() else { panic!() };
/// assert_eq!(volume, "pv-1");
/// assert_eq!(terms[0].to_string(), "`zone in (a)` fails: the label is `b`");
/// assert_eq!(obstacles[0].code(), "volume-unreachable");
/// // What upstream says of it:
/// assert_eq!(obstacles[0].reason(), UnfitReason::NodeAffinity);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Obstacle {
    /// The volume of a bound claim does not exist.
    VolumeMissing {
        /// The claim.
        claim: ClaimKey,
        /// The volume that it names.
        volume: String,
    },
    /// The node cannot reach the volume of a bound claim.
    VolumeUnreachable {
        /// The claim.
        claim: ClaimKey,
        /// The volume.
        volume: String,
        /// What became of each term of the volume's node affinity, in order:
        /// which requirement failed with which label. Without terms no node
        /// reaches the volume.
        terms: Vec<TermOutcome<'static>>,
    },
    /// Another node was selected for a claim.
    OtherNodeSelected {
        /// The claim.
        claim: ClaimKey,
        /// The node that was selected.
        selected: String,
    },
    /// No volume fits a claim, and none can be provisioned.
    NoVolume {
        /// The claim.
        claim: ClaimKey,
        /// How many volumes of the claim's class there are, none of which
        /// fits; `None` if this node was selected for the claim before, so that
        /// its volume must be provisioned.
        candidates: Option<usize>,
        /// Why none can be provisioned.
        refusal: ProvisionRefusal,
    },
}

/// Why no volume can be provisioned for a claim on a node.
///
/// ```
/// use pvbind::scheduling::{ProvisionRefusal, UnfitReason};
/// let refusal = ProvisionRefusal::NoProvisioner {
///     class: "local".to_owned(),
///     provisioner: "kubernetes.io/no-provisioner".to_owned(),
/// };
/// assert_eq!(refusal.to_string(), "class `local` has no provisioner");
/// assert_eq!((refusal.code(), refusal.reason()), ("no-provisioner", UnfitReason::NoVolume));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ProvisionRefusal {
    /// Volumes of the class are made by hand.
    NoProvisioner {
        /// The class.
        class: String,
        /// What it names as provisioner: nothing, or
        /// `kubernetes.io/no-provisioner`.
        provisioner: String,
    },
    /// The class does not allow the node.
    TopologyNotAllowed {
        /// The class.
        class: String,
        /// What became of each term of its allowed topologies, in order.
        terms: Vec<TermOutcome<'static>>,
    },
    /// No capacity pool that the node reaches has room.
    NotEnoughCapacity {
        /// The class.
        class: String,
        /// The driver, which asks that its pools be looked at.
        driver: String,
        /// What is asked for, in whole bytes.
        asked: i64,
        /// Every pool of the class, in the order in which they were
        /// considered.
        pools: Vec<PoolReport>,
    },
}

/// A capacity pool, and why it does not serve.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::CsiStorageCapacity;
/// use pvbind::scheduling::{PoolOutcome, PoolReport};
/// let pool: CsiStorageCapacity =
///     serde_json::from_str(r#"{"metadata": {"namespace": "csi", "name": "zone-a"}}"#)?;
/// let report = PoolReport { pool: Arc::new(pool), outcome: PoolOutcome::TooSmall { limit: 1024 } };
/// assert_eq!(report.to_string(), "pool csi/zone-a has room for 1Ki");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PoolReport {
    /// The pool.
    pub pool: Arc<CsiStorageCapacity>,
    /// Why it does not serve.
    pub outcome: PoolOutcome,
}

/// What became of a capacity pool.
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{Obstacle, PodClaims, PodSearch, PoolOutcome, ProvisionRefusal};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
///      "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": true}}
///     {"kind": "CSIStorageCapacity", "metadata": {"namespace": "csi", "name": "full"},
///      "storageClassName": "fast", "capacity": "1k", "nodeTopology": {}}
///     {"kind": "CSIStorageCapacity", "metadata": {"namespace": "csi", "name": "nowhere"},
///      "storageClassName": "fast", "capacity": "1G"}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
///      "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1M"}}}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let obstacles = PodSearch::new(&claims, &snapshot, Features::default()).explain(&Node::default());
/// let Obstacle::NoVolume { refusal: ProvisionRefusal::NotEnoughCapacity { pools, .. }, .. } =
///     &obstacles[0] else { panic!() };
/// assert_eq!(pools[0].outcome, PoolOutcome::TooSmall { limit: 1000 });
/// assert_eq!(pools[1].outcome, PoolOutcome::NoTopology);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PoolOutcome {
    /// It has room, and the node reaches it.
    Suitable,
    /// It says neither how much there is nor how large a volume can be.
    NoLimit,
    /// Its limit, in whole bytes, is below what is asked for.
    TooSmall {
        /// The limit.
        limit: i64,
    },
    /// It has room, and no node reaches it, as it has no topology.
    NoTopology,
    /// It has room, and its topology has mistakes, so that no node reaches it.
    InvalidTopology(SelectorError),
    /// It has room, and the node does not reach it: these requirements fail.
    OtherNodes(Vec<Unmet<'static>>),
}

impl Obstacle {
    /// The reason of the node that this obstacle is behind: upstream has four words
    /// for more kinds of obstacles.
    ///
    /// ```
    /// use pvbind::api::ClaimKey;
    /// use pvbind::scheduling::{Obstacle, UnfitReason};
    /// let obstacle = Obstacle::OtherNodeSelected {
    ///     claim: ClaimKey::new("shop", "data"),
    ///     selected: "node-b".to_owned(),
    /// };
    /// // Upstream: "node(s) didn't find available persistent volumes to bind". In truth:
    /// assert_eq!(obstacle.reason(), UnfitReason::NoVolume);
    /// assert_eq!(obstacle.to_string(), "claim shop/data is being provisioned for node `node-b`");
    /// ```
    pub fn reason(&self) -> UnfitReason {
        match self {
            Obstacle::VolumeMissing { .. } => UnfitReason::VolumeMissing,
            Obstacle::VolumeUnreachable { .. } => UnfitReason::NodeAffinity,
            Obstacle::OtherNodeSelected { .. } => UnfitReason::NoVolume,
            Obstacle::NoVolume { refusal, .. } => refusal.reason(),
        }
    }

    /// A stable code for programs. Where no volume fits and none can be provisioned
    /// it is that of the [refusal](ProvisionRefusal::code).
    ///
    /// ```
    /// # use pvbind::api::ClaimKey;
    /// use pvbind::scheduling::{Obstacle, ProvisionRefusal};
    /// # let claim = ClaimKey::new("shop", "data");
    /// # let missing = Obstacle::VolumeMissing { claim: claim.clone(), volume: "pv-9".to_owned() };
    /// assert_eq!(missing.code(), "volume-missing"); // an `Obstacle::VolumeMissing`
    /// let refusal = ProvisionRefusal::NoProvisioner {
    ///     class: "local".to_owned(),
    ///     provisioner: "kubernetes.io/no-provisioner".to_owned(),
    /// };
    /// let obstacle = Obstacle::NoVolume { claim, candidates: Some(3), refusal };
    /// assert_eq!(obstacle.code(), "no-provisioner");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Obstacle::VolumeMissing { .. } => "volume-missing",
            Obstacle::VolumeUnreachable { .. } => "volume-unreachable",
            Obstacle::OtherNodeSelected { .. } => "other-node-selected",
            Obstacle::NoVolume { refusal, .. } => refusal.code(),
        }
    }

    /// The claim that it is about.
    ///
    /// ```
    /// # use pvbind::api::{Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// # use pvbind::scheduling::{PodClaims, PodSearch};
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data",
    /// #          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv-9"}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs",
    /// #          "annotations": {"volume.kubernetes.io/selected-node": "node-b"}},
    /// #      "spec": {"storageClassName": "fast"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata": {"namespace": "shop"}, "spec": {"volumes": [
    /// #     {"persistentVolumeClaim": {"claimName": "data"}},
    /// #     {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?;
    /// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-a"}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// let obstacles = PodSearch::new(&claims, &snapshot, Features::default()).explain(&node);
    /// let told: Vec<_> = obstacles.iter()
    ///     .map(|obstacle| format!("{}: {}", obstacle.claim(), obstacle.code()))
    ///     .collect();
    /// assert_eq!(told, ["shop/data: volume-missing", "shop/logs: other-node-selected"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim(&self) -> &ClaimKey {
        match self {
            Obstacle::VolumeMissing { claim, .. }
            | Obstacle::VolumeUnreachable { claim, .. }
            | Obstacle::OtherNodeSelected { claim, .. }
            | Obstacle::NoVolume { claim, .. } => claim,
        }
    }
}

impl ProvisionRefusal {
    /// The reason of the node that this refusal is behind.
    ///
    /// ```
    /// use pvbind::scheduling::{ProvisionRefusal, UnfitReason};
    /// let full = ProvisionRefusal::NotEnoughCapacity {
    ///     class: "fast".to_owned(),
    ///     driver: "csi.example.com".to_owned(),
    ///     asked: 5 << 30, // bytes
    ///     pools: Vec::new(),
    /// };
    /// // Only this one has a word of its own; the others are told as if volumes were missing.
    /// assert_eq!(full.reason(), UnfitReason::NotEnoughSpace);
    /// let elsewhere = ProvisionRefusal::TopologyNotAllowed { class: "fast".to_owned(), terms: Vec::new() };
    /// assert_eq!(elsewhere.reason(), UnfitReason::NoVolume);
    /// ```
    pub fn reason(&self) -> UnfitReason {
        match self {
            ProvisionRefusal::NoProvisioner { .. }
            | ProvisionRefusal::TopologyNotAllowed { .. } => UnfitReason::NoVolume,
            ProvisionRefusal::NotEnoughCapacity { .. } => UnfitReason::NotEnoughSpace,
        }
    }

    /// A stable code for programs: one for each kind of refusal, of which the
    /// [reason](Self::reason) tells only two apart.
    ///
    /// ```
    /// # use pvbind::api::{Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// use pvbind::scheduling::{Obstacle, PodClaims, PodSearch};
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #      "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [
    /// #          {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod: Pod = serde_json::from_str(
    /// #     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
    /// # let node: Node = serde_json::from_str(r#"{"metadata": {"name": "node-b", "labels": {"zone": "b"}}}"#)?;
    /// # let claims = PodClaims::of(&pod, &snapshot)?;
    /// // A class for zone a, and a node in zone b:
    /// let obstacles = PodSearch::new(&claims, &snapshot, Features::default()).explain(&node);
    /// let [Obstacle::NoVolume { refusal, .. }] = obstacles.as_slice() else { panic!() };
    /// assert_eq!((refusal.code(), refusal.reason().code()), ("topology-not-allowed", "no-volume"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            ProvisionRefusal::NoProvisioner { .. } => "no-provisioner",
            ProvisionRefusal::TopologyNotAllowed { .. } => "topology-not-allowed",
            ProvisionRefusal::NotEnoughCapacity { .. } => "not-enough-capacity",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::VolumeMissing { claim, volume } => {
                write!(
                    f,
                    "claim {claim} is bound to volume `{volume}`, which does not exist"
                )
            }
            Obstacle::VolumeUnreachable {
                claim,
                volume,
                terms,
            } => {
                write!(
                    f,
                    "claim {claim} is bound to volume `{volume}`, which the node cannot reach: "
                )?;
                write_terms(f, terms)
            }
            Obstacle::OtherNodeSelected { claim, selected } => {
                write!(
                    f,
                    "claim {claim} is being provisioned for node `{selected}`"
                )
            }
            Obstacle::NoVolume {
                claim,
                candidates,
                refusal,
            } => {
                match candidates {
                    Some(0) => write!(f, "claim {claim} finds no volume of its class, and ")?,
                    Some(1) => write!(
                        f,
                        "the only volume of its class does not fit claim {claim}, and "
                    )?,
                    Some(count) => write!(
                        f,
                        "none of the {count} volumes of its class fits claim {claim}, and "
                    )?,
                    None => write!(f, "claim {claim} is to be provisioned on this node, and ")?,
                }
                write!(f, "{refusal}")
            }
        }
    }
}

impl fmt::Display for ProvisionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProvisionRefusal::NoProvisioner { class, .. } => {
                write!(f, "class `{class}` has no provisioner")
            }
            ProvisionRefusal::TopologyNotAllowed { class, terms } => {
                write!(f, "class `{class}` does not allow the node: ")?;
                write_terms(f, terms)
            }
            ProvisionRefusal::NotEnoughCapacity {
                class,
                driver,
                asked,
                pools,
            } => {
                write!(
                    f,
                    "driver `{driver}` has no room for {} of class `{class}`",
                    Bytes(*asked)
                )?;
                for (index, report) in pools.iter().enumerate() {
                    let mark = if index == 0 { ": " } else { "; " };
                    write!(f, "{mark}{report}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for PoolReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool {} {}", self.pool.metadata.key(), self.outcome)
    }
}

impl fmt::Display for PoolOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolOutcome::Suitable => f.write_str("has room"),
            PoolOutcome::NoLimit => f.write_str("does not say how much room it has"),
            PoolOutcome::TooSmall { limit } => write!(f, "has room for {}", Bytes(*limit)),
            PoolOutcome::NoTopology => f.write_str("serves no node"),
            PoolOutcome::InvalidTopology(error) => {
                write!(f, "serves no node, as its topology is invalid: {error}")
            }
            PoolOutcome::OtherNodes(unmet) => {
                f.write_str("serves other nodes: ")?;
                for (index, unmet) in unmet.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{unmet}")?;
                }
                Ok(())
            }
        }
    }
}

/// An amount with the unit that suits it.
struct Bytes(i64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Quantity::from_i64(self.0, Format::BinarySi).fmt(f)
    }
}

fn write_terms(f: &mut fmt::Formatter<'_>, terms: &[TermOutcome<'_>]) -> fmt::Result {
    if terms.is_empty() {
        return f.write_str("there are no terms");
    }
    for (index, term) in terms.iter().enumerate() {
        let or = if index > 0 { "; " } else { "" };
        write!(f, "{or}term {index}: {term}")?;
    }
    Ok(())
}
