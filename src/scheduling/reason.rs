//! Why a node does not fit, as upstream says it.

use std::fmt;

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
    pub fn code(self) -> &'static str {
        match self {
            UnfitReason::NodeAffinity => "node-affinity",
            UnfitReason::NoVolume => "no-volume",
            UnfitReason::NotEnoughSpace => "not-enough-space",
            UnfitReason::VolumeMissing => "volume-missing",
        }
    }

    /// Upstream's text.
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
/// let mut reasons = UnfitReasons::default();
/// reasons.insert(UnfitReason::VolumeMissing);
/// reasons.insert(UnfitReason::NoVolume);
/// let codes: Vec<_> = reasons.iter().map(UnfitReason::code).collect();
/// assert_eq!(codes, ["no-volume", "volume-missing"]);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct UnfitReasons(u8);

impl UnfitReasons {
    /// Adds a reason.
    pub fn insert(&mut self, reason: UnfitReason) {
        self.0 |= reason.bit();
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a reason is among them.
    pub fn contains(self, reason: UnfitReason) -> bool {
        self.0 & reason.bit() != 0
    }

    /// The reasons, in upstream's order.
    pub fn iter(self) -> impl Iterator<Item = UnfitReason> {
        let all = UnfitReason::ALL.into_iter();
        all.filter(move |&reason| self.contains(reason))
    }
}

impl fmt::Debug for UnfitReasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
