//! Why a selector does not match.

use std::borrow::Cow;
use std::fmt;

use super::{Condition, FieldRequirement, Requirement, SelectorError};

/// A requirement that does not hold, and what was found instead.
///
/// Borrows from the selector and the labels; [`into_owned`](Unmet::into_owned)
/// makes it last.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::NodeSelector;
/// use pvbind::selector::{CompiledNodeSelector, TermOutcome, Unmet};
///
/// let written: NodeSelector = serde_json::from_str(
///     r#"{"nodeSelectorTerms": [{"matchExpressions": [
///         {"key": "zone", "operator": "In", "values": ["a", "b"]}]}]}"#,
/// )?;
/// let selector = CompiledNodeSelector::compile(&written);
/// let labels = BTreeMap::from([("zone", "c")]);
/// let outcomes = selector.explain(&labels, None);
/// let [TermOutcome::Unmet(reasons)] = outcomes.as_slice() else { panic!() };
/// let Unmet::Label { requirement, found } = &reasons[0] else { panic!() };
/// assert_eq!(requirement.key(), "zone");
/// assert_eq!(found.as_deref(), Some("c"));
/// assert_eq!(reasons[0].to_string(), "`zone in (a,b)` fails: the label is `c`");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unmet<'a> {
    /// A requirement on a label.
    Label {
        /// What was asked.
        requirement: Cow<'a, Requirement>,
        /// The label's value; `None` if there is no such label.
        found: Option<Cow<'a, str>>,
    },
    /// A requirement on a field of the node.
    Field {
        /// What was asked.
        requirement: Cow<'a, FieldRequirement>,
        /// The field's value; empty for a field that a node does not have.
        found: Cow<'a, str>,
    },
}

impl<'a> Unmet<'a> {
    pub(super) fn label(requirement: &'a Requirement, found: Option<&'a str>) -> Self {
        Unmet::Label {
            requirement: Cow::Borrowed(requirement),
            found: found.map(Cow::Borrowed),
        }
    }

    pub(super) fn field(requirement: &'a FieldRequirement, found: &'a str) -> Self {
        Unmet::Field {
            requirement: Cow::Borrowed(requirement),
            found: Cow::Borrowed(found),
        }
    }

    /// The same reason, borrowing nothing.
    ///
    /// Copies the requirement and the value found, so that many reasons about
    /// one label hold as many copies of its value.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::{CompiledLabelSelector, Unmet};
    /// /// The reason outlives the selector.
    /// fn why(written: &LabelSelector, labels: &BTreeMap<&str, &str>) -> Option<Unmet<'static>> {
    ///     let selector = CompiledLabelSelector::compile(written).ok()?;
    ///     selector.unmet(labels).next().map(Unmet::into_owned)
    /// }
    /// let written: LabelSelector = serde_json::from_str(r#"{"matchLabels": {"disk": "ssd"}}"#)?;
    /// let reason = why(&written, &BTreeMap::new()).unwrap();
    /// assert_eq!(reason.to_string(), "`disk=ssd` fails: there is no such label");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn into_owned(self) -> Unmet<'static> {
        match self {
            Unmet::Label { requirement, found } => Unmet::Label {
                requirement: Cow::Owned(requirement.into_owned()),
                found: found.map(|found| Cow::Owned(found.into_owned())),
            },
            Unmet::Field { requirement, found } => Unmet::Field {
                requirement: Cow::Owned(requirement.into_owned()),
                found: Cow::Owned(found.into_owned()),
            },
        }
    }
}

/// A value found that is longer than any that Kubernetes admits is cut, so that
/// many reasons about one label stay readable.
impl fmt::Display for Unmet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmet::Label {
                requirement,
                found: Some(found),
            } => write!(
                f,
                "`{}` fails: the label is `{}`",
                Few(requirement),
                Short(found)
            ),
            Unmet::Label {
                requirement,
                found: None,
            } => write!(f, "`{}` fails: there is no such label", Few(requirement)),
            Unmet::Field { requirement, found } => {
                write!(f, "`{requirement}` fails: the field is `{}`", Short(found))
            }
        }
    }
}

/// What became of one term of a node or topology selector.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::NodeSelector;
/// use pvbind::selector::{CompiledNodeSelector, TermOutcome};
/// let written: NodeSelector = serde_json::from_str(
///     r#"{"nodeSelectorTerms": [
///         {},
///         {"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
///         {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["7"]}]}]}"#)?;
/// let selector = CompiledNodeSelector::compile(&written);
/// let labels = BTreeMap::from([("zone", "a")]);
/// let outcomes = selector.explain(&labels, None);
/// assert_eq!(outcomes[0], TermOutcome::Empty);
/// assert!(outcomes[1].holds());
/// assert_eq!(outcomes[2].to_string(), "`rank>7` fails: there is no such label");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TermOutcome<'a> {
    /// The term holds, and so does the selector.
    Holds,
    /// The term has no requirements, so it matches nothing.
    Empty,
    /// The term has a mistake and was not compared.
    Invalid(Cow<'a, SelectorError>),
    /// These requirements do not hold: all of them, those on labels first, each
    /// kind in the order in which the term keeps them. At least one.
    Unmet(Vec<Unmet<'a>>),
}

impl TermOutcome<'_> {
    /// Whether the term holds. Neither an empty term nor one with a mistake does.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::TopologySelectorTerm;
    /// use pvbind::selector::CompiledTopology;
    /// let terms: Vec<TopologySelectorTerm> = serde_json::from_value(serde_json::json!([
    ///     {}, {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]))?;
    /// let topology = CompiledTopology::compile(&terms);
    /// let labels = BTreeMap::from([("zone", "a")]);
    /// // Which of the terms lets the node in?
    /// let by = topology.explain(&labels).iter().position(|outcome| outcome.holds());
    /// assert_eq!(by, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn holds(&self) -> bool {
        matches!(self, TermOutcome::Holds)
    }

    /// The same outcome, borrowing nothing. Copies what
    /// [`Unmet::into_owned`] copies, for each reason.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::{CompiledNodeSelector, TermOutcome};
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
    ///     {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let mut last: Option<TermOutcome<'static>> = None;
    /// for zone in ["b", "c"] {
    ///     let labels = BTreeMap::from([("zone", zone)]); // gone at the end of each round
    ///     last = selector.explain(&labels, None).pop().map(TermOutcome::into_owned);
    /// }
    /// assert_eq!(last.unwrap().to_string(), "`zone in (a)` fails: the label is `c`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> TermOutcome<'static> {
        match self {
            TermOutcome::Holds => TermOutcome::Holds,
            TermOutcome::Empty => TermOutcome::Empty,
            TermOutcome::Invalid(error) => TermOutcome::Invalid(Cow::Owned(error.into_owned())),
            TermOutcome::Unmet(reasons) => {
                TermOutcome::Unmet(reasons.into_iter().map(Unmet::into_owned).collect())
            }
        }
    }
}

impl fmt::Display for TermOutcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TermOutcome::Holds => f.write_str("holds"),
            TermOutcome::Empty => f.write_str("has no requirements, so it matches nothing"),
            TermOutcome::Invalid(error) => write!(f, "is invalid: {error}"),
            TermOutcome::Unmet(reasons) => {
                for (index, reason) in reasons.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{reason}")?;
                }
                Ok(())
            }
        }
    }
}

/// A text of which at most about [`SHOWN`] bytes are shown.
struct Short<'a>(&'a str);

/// A requirement, of whose many values the first few are told.
struct Few<'a>(&'a Requirement);

/// So many values are told.
const TOLD: usize = 10;

impl fmt::Display for Few<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Few(requirement) = self;
        let operator = match requirement.condition() {
            Condition::In(_) => "in",
            Condition::NotIn(_) => "notin",
            _ => return requirement.fmt(f),
        };
        let values = requirement.values();
        let more = values.len().saturating_sub(TOLD);
        if more == 0 {
            return requirement.fmt(f);
        }
        write!(f, "{} {operator} (", requirement.key())?;
        for value in values.iter().take(TOLD) {
            write!(f, "{},", Short(value))?;
        }
        write!(f, " and {more} more)")
    }
}

/// The length of the longest name that Kubernetes admits.
const SHOWN: usize = 253;

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ends = SHOWN..SHOWN + 4;
        let end = ends.find(|&end| self.0.is_char_boundary(end));
        match end.and_then(|end| self.0.get(..end)) {
            Some(start) if start.len() < self.0.len() => write!(f, "{start}…"),
            _ => f.write_str(self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::selector::CompiledNodeSelector;

    #[test]
    fn a_value_longer_than_any_name_is_cut_in_the_text_alone() {
        let written = serde_json::from_str(
            r#"{"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "zone", "operator": "DoesNotExist"}]}]}"#,
        );
        let selector = CompiledNodeSelector::compile(&written.unwrap());
        let name = "n".repeat(253);
        let labels = BTreeMap::from([("zone", name.as_str())]);
        assert_eq!(
            selector.explain(&labels, None)[0].to_string(),
            format!("`!zone` fails: the label is `{name}`")
        );
        let long = "é".repeat(1000);
        let labels = BTreeMap::from([("zone", long.as_str())]);
        let outcomes = selector.explain(&labels, None);
        assert_eq!(
            outcomes[0].to_string(),
            format!("`!zone` fails: the label is `{}…`", "é".repeat(127))
        );
    }

    #[test]
    fn of_many_values_the_first_few_are_told() {
        let of = |count: usize| {
            let values: Vec<String> = (0..count).map(|value| value.to_string()).collect();
            let written = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": values}]}]}));
            let selector = CompiledNodeSelector::compile(&written.unwrap());
            let labels = BTreeMap::from([("zone", "x")]);
            selector.explain(&labels, None)[0].to_string()
        };
        assert_eq!(
            of(10),
            "`zone in (0,1,2,3,4,5,6,7,8,9)` fails: the label is `x`"
        );
        assert_eq!(
            of(2_000),
            "`zone in (0,1,10,100,1000,1001,1002,1003,1004,1005, and 1990 more)` fails: the label is `x`"
        );
    }
}
