//! Sets of known access modes, and the order in which they are searched.

use std::fmt;

use crate::api::AccessMode;

/// A set of the four known access modes; unknown modes are ignored.
///
/// The binding controller groups volumes by this set. Sets order as they are
/// searched: fewer modes first; of two sets of equal size the one that has the
/// first mode, in the order RWO, ROX, RWX, RWOP, in which they differ.
///
/// ```
/// use pvbind::api::AccessMode::{ReadOnlyMany, ReadWriteMany, ReadWriteOnce};
/// use pvbind::matching::AccessModeSet;
/// let narrow = AccessModeSet::of(&[ReadOnlyMany]);
/// let wide = AccessModeSet::of(&[ReadWriteMany, ReadOnlyMany, ReadOnlyMany]);
/// assert!(narrow < wide && wide.contains(narrow));
/// assert!(AccessModeSet::of(&[ReadWriteOnce, ReadWriteMany]) < wide);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessModeSet(u8);

impl AccessModeSet {
    /// How many sets there are.
    pub(crate) const COUNT: usize = 16;

    /// The set of the known modes in a list; repeats and unknown modes do not
    /// matter.
    ///
    /// ```
    /// use pvbind::api::AccessMode;
    /// use pvbind::matching::AccessModeSet;
    /// let modes = ["ReadWriteOnce", "ReadWriteOnce", "ReadWriteSometimes"].map(AccessMode::from);
    /// let set = AccessModeSet::of(&modes);
    /// assert_eq!((set.to_string().as_str(), set.len()), ("RWO", 1));
    /// ```
    pub fn of(modes: &[AccessMode]) -> Self {
        AccessModeSet(modes.iter().fold(0, |bits, mode| {
            bits | match mode {
                AccessMode::ReadWriteOnce => 0b1000,
                AccessMode::ReadOnlyMany => 0b0100,
                AccessMode::ReadWriteMany => 0b0010,
                AccessMode::ReadWriteOncePod => 0b0001,
                _ => 0,
            }
        }))
    }

    /// All sets in the order of the search.
    ///
    /// ```
    /// use pvbind::matching::AccessModeSet;
    /// let names: Vec<_> = AccessModeSet::all().map(|set| set.to_string()).collect();
    /// assert_eq!(names[..7], ["", "RWO", "ROX", "RWX", "RWOP", "RWO,ROX", "RWO,RWX"]);
    /// ```
    pub fn all() -> impl Iterator<Item = AccessModeSet> {
        // INVARIANT (search order): sorted by `Ord`; a test compares.
        [0, 8, 4, 2, 1, 12, 10, 9, 6, 5, 3, 14, 13, 11, 7, 15]
            .into_iter()
            .map(AccessModeSet)
    }

    /// Whether every mode of the other set is in this one.
    ///
    /// ```
    /// use pvbind::api::AccessMode::{ReadOnlyMany, ReadWriteOnce};
    /// use pvbind::matching::AccessModeSet;
    /// let both = AccessModeSet::of(&[ReadWriteOnce, ReadOnlyMany]);
    /// assert!(both.contains(AccessModeSet::of(&[ReadOnlyMany])));
    /// assert!(both.contains(AccessModeSet::of(&[]))); // who asks for nothing is served by all
    /// ```
    pub fn contains(self, other: AccessModeSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// The number of modes, each counted once.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::matching::AccessModeSet;
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume =
    ///     from_value(json!({"spec": {"accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteOnce"]}}))?;
    /// // A volume of one mode is taken before this one, however much larger it is.
    /// assert_eq!(AccessModeSet::of(volume.access_modes()).len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is no known mode.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::matching::AccessModeSet;
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim =
    ///     from_value(json!({"spec": {"accessModes": ["ReadWriteSometimes"]}}))?;
    /// // Yet it asks for something, for which the controller has no volume: look at
    /// // the list itself, too.
    /// assert!(AccessModeSet::of(claim.access_modes()).is_empty());
    /// assert!(claim.access_modes()[0].is_unknown());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set as a number below [`AccessModeSet::COUNT`].
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl Ord for AccessModeSet {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.len().cmp(&other.len()).then(other.0.cmp(&self.0))
    }
}

impl PartialOrd for AccessModeSet {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for AccessModeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes = AccessMode::KNOWN.iter();
        let names: Vec<_> = modes
            .filter(|mode| self.contains(AccessModeSet::of(std::slice::from_ref(mode))))
            .map(AccessMode::abbreviation)
            .collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sets_are_listed_once_in_search_order() {
        let all: Vec<_> = AccessModeSet::all().collect();
        assert_eq!(all.len(), AccessModeSet::COUNT);
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(all[5].to_string(), "RWO,ROX");
    }
}
