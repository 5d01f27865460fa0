//! A part of a cluster.

use std::cmp::Ordering;
use std::fmt;

use crate::provisioner::csi::Topology;

/// A part of a cluster, such as a zone, or a rack of a zone: labels that a node
/// in it has.
///
/// Sorted by key. The order of segments is that of requisite: fewer labels
/// first, then label by label, by key and value. Prints as upstream prints it
/// in errors.
///
/// ```
/// use pvbind::provisioner::Segment;
/// let segment = Segment::new([("zone", "a"), ("rack", "r1")]);
/// assert_eq!(segment.to_string(), "[{rack r1} {zone a}]");
/// assert!(Segment::new([("zone", "a")]).is_contained_in(&segment));
/// assert!(Segment::new([("zone", "b")]) < segment);
/// ```
// INVARIANT (order): the pairs are sorted, and none stands twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Segment(Box<[(Box<str>, Box<str>)]>);

impl Segment {
    /// The segment of these labels. A key with two values, as only a hostile
    /// class asks for, keeps both, and no node is in such a segment.
    ///
    /// ```
    /// use pvbind::provisioner::Segment;
    /// // The order of the labels does not matter.
    /// let segment = Segment::new([("topology.kubernetes.io/zone", "a"), ("example.com/rack", "r1")]);
    /// assert_eq!(
    ///     segment,
    ///     Segment::new([("example.com/rack", "r1"), ("topology.kubernetes.io/zone", "a")])
    /// );
    /// ```
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut pairs: Vec<(Box<str>, Box<str>)> = pairs
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        Segment(pairs.into())
    }

    /// Whether every label of this segment is one of the other.
    ///
    /// Costs time in proportion to this one's size and the logarithm of the
    /// other's.
    ///
    /// ```
    /// use pvbind::provisioner::Segment;
    /// let zone = Segment::new([("zone", "a")]);
    /// let rack = Segment::new([("zone", "a"), ("rack", "r1")]);
    /// // A rack is in its zone; it has the more labels.
    /// assert!(zone.is_contained_in(&rack) && !rack.is_contained_in(&zone));
    /// ```
    pub fn is_contained_in(&self, other: &Segment) -> bool {
        let has = |pair| other.0.binary_search(pair).is_ok();
        self.0.len() <= other.0.len() && self.0.iter().all(has)
    }

    /// The labels, sorted by key.
    ///
    /// ```
    /// use pvbind::provisioner::Segment;
    /// let segment = Segment::new([("zone", "a"), ("rack", "r1")]);
    /// let labels: Vec<String> = segment.pairs().map(|(key, value)| format!("{key}={value}")).collect();
    /// assert_eq!(labels.join(","), "rack=r1,zone=a"); // as a label selector
    /// ```
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The segment as a driver is told of it. Of a key with two values it is
    /// told the last.
    pub(super) fn to_topology(&self) -> Topology {
        let segments = self
            .pairs()
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        Topology {
            segments: segments.collect(),
        }
    }
}

impl Ord for Segment {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Segment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, (key, value)) in self.pairs().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{{{key} {value}}}")?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_labels_come_first_and_then_keys_and_values_decide() {
        let mut segments = [
            Segment::new([("zone", "a"), ("rack", "r2")]),
            Segment::new([("zone", "b")]),
            Segment::new([("zone", "a"), ("rack", "r1")]),
            Segment::new([]),
            Segment::new([("rack", "r9")]),
        ];
        segments.sort();
        let texts = segments.map(|segment| segment.to_string());
        assert_eq!(
            texts,
            [
                "[]",
                "[{rack r9}]",
                "[{zone b}]",
                "[{rack r1} {zone a}]",
                "[{rack r2} {zone a}]"
            ]
        );
    }

    #[test]
    fn a_segment_is_contained_when_all_its_labels_are_there() {
        let small = Segment::new([("rack", "r1")]);
        let large = Segment::new([("zone", "a"), ("rack", "r1")]);
        assert!(small.is_contained_in(&large));
        assert!(!large.is_contained_in(&small));
        assert!(Segment::new([]).is_contained_in(&small));
        assert!(!Segment::new([("rack", "r2")]).is_contained_in(&large));
    }
}
