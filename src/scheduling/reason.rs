//! Why a node does not fit, as upstream says it.

use std::array;
use std::fmt;
use std::iter::Flatten;

/// Why a node does not fit. `Display` is upstream's text.
///
/// The order is the one in which reasons are told.
///
/// ```
/// use pvbind::scheduling::UnfitReason;
/// let reason = UnfitReason::NotEnoughSpace;
/// assert_eq!(reason.to_string(), "node(s) did not have enough free storage");
/// assert_eq!(reason.code(), "not-enough-space");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum UnfitReason {
    /// The node cannot reach the volume of a bound claim.
    NodeAffinity,
    /// No volume fits a claim, and none can be provisioned on the node; or
    /// another node was selected for a claim.
    NoVolume,
    /// A volume could be provisioned, but there is not enough room for it.
    NotEnoughSpace,
    /// The volume of a bound claim does not exist.
    VolumeMissing,
}

impl UnfitReason {
    /// Every reason, in order.
    pub const ALL: [UnfitReason; 4] = [
        UnfitReason::NodeAffinity,
        UnfitReason::NoVolume,
        UnfitReason::NotEnoughSpace,
        UnfitReason::VolumeMissing,
    ];

    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::scheduling::UnfitReason;
    /// /// The reason behind the code in an answer that was kept.
    /// fn parse(code: &str) -> Option<UnfitReason> {
    ///     UnfitReason::ALL.into_iter().find(|reason| reason.code() == code)
    /// }
    /// assert_eq!(parse("no-volume"), Some(UnfitReason::NoVolume));
    /// assert_eq!(parse("node(s) didn't find available persistent volumes to bind"), None);
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            UnfitReason::NodeAffinity => "node-affinity",
            UnfitReason::NoVolume => "no-volume",
            UnfitReason::NotEnoughSpace => "not-enough-space",
            UnfitReason::VolumeMissing => "volume-missing",
        }
    }

    /// Upstream's text, for a message about several nodes.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::scheduling::UnfitReason::{self, NoVolume, NotEnoughSpace};
    /// let mut counts: BTreeMap<UnfitReason, u32> = BTreeMap::new();
    /// for reason in [NotEnoughSpace, NoVolume, NotEnoughSpace] {
    ///     *counts.entry(reason).or_default() += 1;
    /// }
    /// let parts: Vec<_> = counts.iter().map(|(reason, count)| format!("{count} {}", reason.text())).collect();
    /// assert_eq!(parts, [
    ///     "1 node(s) didn't find available persistent volumes to bind",
    ///     "2 node(s) did not have enough free storage",
    /// ]);
    /// ```
    pub fn text(self) -> &'static str {
        match self {
            UnfitReason::NodeAffinity => "node(s) didn't match PersistentVolume's node affinity",
            UnfitReason::NoVolume => "node(s) didn't find available persistent volumes to bind",
            UnfitReason::NotEnoughSpace => "node(s) did not have enough free storage",
            UnfitReason::VolumeMissing => {
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            }
        }
    }

    fn bit(self) -> u8 {
        match self {
            UnfitReason::NodeAffinity => 1,
            UnfitReason::NoVolume => 2,
            UnfitReason::NotEnoughSpace => 4,
            UnfitReason::VolumeMissing => 8,
        }
    }
}

impl fmt::Display for UnfitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A set of reasons.
///
/// ```
/// use pvbind::scheduling::{UnfitReason, UnfitReasons};
/// let reasons = UnfitReasons::from_iter([UnfitReason::VolumeMissing, UnfitReason::NoVolume]);
/// let codes: Vec<_> = reasons.iter().map(UnfitReason::code).collect();
/// assert_eq!(codes, ["no-volume", "volume-missing"]);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct UnfitReasons(u8);

impl UnfitReasons {
    /// Adds a reason; one that is there already is not there twice.
    ///
    /// ```
    /// use pvbind::scheduling::{UnfitReason, UnfitReasons};
    /// let mut reasons = UnfitReasons::default();
    /// // Two claims that no volume fits:
    /// reasons.insert(UnfitReason::NoVolume);
    /// reasons.insert(UnfitReason::NoVolume);
    /// assert_eq!(reasons.iter().count(), 1);
    /// ```
    pub fn insert(&mut self, reason: UnfitReason) {
        self.0 |= reason.bit();
    }

    /// Whether there is none, as of a node that fits.
    ///
    /// ```
    /// # use pvbind::api::{Node, Pod, read_objects};
    /// # use pvbind::matching::Features;
    /// use pvbind::scheduling::{PodClaims, UnfitReasons, find_pod_volumes_on_nodes};
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {
    /// #          "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
    /// #              {"key": "zone", "operator": "In", "values": ["a"]}]}]}}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data",
    /// #          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "pv-1"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let pod: Pod = serde_json::from_str(
    /// #     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
    /// # let node = |zone: &str| serde_json::from_value::<Node>(serde_json::json!({"metadata": {"labels": {"zone": zone}}}));
    /// // A pod whose claim is bound to a volume in zone a, on nodes in zones a and b:
    /// let claims = PodClaims::of(&pod, &snapshot)?;
    /// let nodes = [node("a")?, node("b")?];
    /// let answers = find_pod_volumes_on_nodes(&claims, &nodes, &snapshot, Features::default());
    /// let reasons: Vec<UnfitReasons> =
    ///     answers.into_iter().map(|answer| answer.map(|found| found.reasons)).collect::<Result<_, _>>()?;
    /// assert!(reasons[0].is_empty());
    /// assert!(!reasons[1].is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a reason is among them.
    ///
    /// ```
    /// use pvbind::scheduling::{UnfitReason, UnfitReasons};
    /// let mut reasons = UnfitReasons::default();
    /// reasons.insert(UnfitReason::NodeAffinity);
    /// // No other volume would help: a claim has one already, which this node does not reach.
    /// assert!(reasons.contains(UnfitReason::NodeAffinity));
    /// assert!(!reasons.contains(UnfitReason::NoVolume));
    /// ```
    pub fn contains(self, reason: UnfitReason) -> bool {
        self.0 & reason.bit() != 0
    }

    /// The reasons, in upstream's order, not in that in which they were inserted.
    ///
    /// ```
    /// use pvbind::scheduling::{UnfitReason, UnfitReasons};
    /// let reasons = UnfitReasons::from_iter([UnfitReason::NotEnoughSpace, UnfitReason::NodeAffinity]);
    /// let in_order: Vec<_> = reasons.iter().collect();
    /// assert_eq!(in_order, [UnfitReason::NodeAffinity, UnfitReason::NotEnoughSpace]);
    /// ```
    pub fn iter(self) -> impl Iterator<Item = UnfitReason> {
        self.into_iter()
    }
}

/// ```
/// use pvbind::scheduling::{UnfitReason, UnfitReasons};
/// let reasons = UnfitReasons::from_iter([UnfitReason::NoVolume]);
/// assert!(reasons.contains(UnfitReason::NoVolume));
/// ```
impl FromIterator<UnfitReason> for UnfitReasons {
    fn from_iter<I: IntoIterator<Item = UnfitReason>>(reasons: I) -> Self {
        let mut set = UnfitReasons::default();
        for reason in reasons {
            set.insert(reason);
        }
        set
    }
}

/// In upstream's order, as [`iter`](UnfitReasons::iter).
///
/// ```
/// use pvbind::scheduling::{UnfitReason, UnfitReasons};
/// let reasons: UnfitReasons = [UnfitReason::NotEnoughSpace, UnfitReason::NoVolume].into_iter().collect();
/// for (place, reason) in reasons.into_iter().enumerate() {
///     assert_eq!(reason.code(), ["no-volume", "not-enough-space"][place]);
/// }
/// ```
impl IntoIterator for UnfitReasons {
    type Item = UnfitReason;
    type IntoIter = Flatten<array::IntoIter<Option<UnfitReason>, { UnfitReason::ALL.len() }>>;

    fn into_iter(self) -> Self::IntoIter {
        let all = UnfitReason::ALL.map(|reason| self.contains(reason).then_some(reason));
        all.into_iter().flatten()
    }
}

impl fmt::Debug for UnfitReasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
