//! One requirement of a selector, already checked.

use std::collections::BTreeMap;
use std::fmt;

use super::syntax::NAME_LIMIT;
use super::{Labels, Unmet};
use crate::api::names::NODE_NAME_FIELD;

/// A condition on one label.
///
/// Prints as `kubectl` and upstream's `labels.Requirement` print it:
/// `tier in (a,b)`, `!disk`, `rank>5`, `zone=a`.
///
/// ```
/// use pvbind::api::LabelSelector;
/// use pvbind::selector::{CompiledLabelSelector, Condition};
///
/// let written: LabelSelector = serde_json::from_str(
///     r#"{"matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}]}"#,
/// )?;
/// let selector = CompiledLabelSelector::compile(&written)?;
/// let requirement = &selector.requirements()[0];
/// assert_eq!(requirement.key(), "tier");
/// assert!(matches!(requirement.condition(), Condition::In(_)));
/// assert_eq!(requirement.values(), ["a", "b"]);
/// assert_eq!(requirement.to_string(), "tier in (a,b)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    /// INVARIANT (sorted): the values of `In` and `NotIn` are in byte order.
    condition: Condition,
}

/// What a [`Requirement`] asks of the label with its key.
///
/// ```
/// use pvbind::api::NodeSelector;
/// use pvbind::selector::{CompiledNodeSelector, Condition};
/// let written: NodeSelector = serde_json::from_str(
///     r#"{"nodeSelectorTerms": [{"matchExpressions": [
///         {"key": "rank", "operator": "Gt", "values": ["5"]}]}]}"#)?;
/// let selector = CompiledNodeSelector::compile(&written);
/// let requirement = &selector.terms()[0].requirements()[0];
/// let Condition::Gt { bound, .. } = requirement.condition() else { panic!() };
/// assert_eq!(*bound, 5);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// It is there and has this value (an entry of `matchLabels`).
    Equals(String),
    /// It is there and has one of these values, which are in byte order and
    /// may repeat.
    In(Vec<String>),
    /// It is not there, or has none of these values, which are in byte order
    /// and may repeat.
    NotIn(Vec<String>),
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// It is there, reads as a signed 64-bit integer, and is greater.
    Gt {
        /// The number that it must exceed.
        bound: i64,
        /// That number as written.
        text: String,
    },
    /// It is there, reads as a signed 64-bit integer, and is less.
    Lt {
        /// The number that it must stay below.
        bound: i64,
        /// That number as written.
        text: String,
    },
}

impl Requirement {
    // INVARIANT (sorted): upheld here, the only constructor.
    pub(super) fn new(key: &str, mut condition: Condition) -> Self {
        if let Condition::In(values) | Condition::NotIn(values) = &mut condition {
            values.sort_unstable();
        }
        Requirement {
            key: key.to_owned(),
            condition,
        }
    }

    /// Whether the labels satisfy this requirement.
    ///
    /// Costs one look-up, and a search that is logarithmic in the number of
    /// values.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_str(
    ///     r#"{"nodeSelectorTerms": [{"matchExpressions": [
    ///         {"key": "rank", "operator": "Lt", "values": ["5"]}]}]}"#)?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let requirement = &selector.terms()[0].requirements()[0];
    /// assert!(requirement.holds(&BTreeMap::from([("rank", "-3")])));
    /// // What is no number is neither less nor greater.
    /// assert!(!requirement.holds(&BTreeMap::from([("rank", "low")])));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn holds(&self, labels: &(impl Labels + ?Sized)) -> bool {
        self.holds_for(labels.label(&self.key), &mut NumberMemo::default())
    }

    /// The key of the label.
    ///
    /// ```
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
    ///     {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "Exists"}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// // With its prefix.
    /// assert_eq!(selector.terms()[0].requirements()[0].key(), "topology.kubernetes.io/zone");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is asked of the label.
    ///
    /// ```
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::{CompiledLabelSelector, Condition};
    /// let written: LabelSelector = serde_json::from_value(serde_json::json!({
    ///     "matchLabels": {"disk": "ssd"},
    ///     "matchExpressions": [{"key": "tier", "operator": "In", "values": ["1"]}]}))?;
    /// let selector = CompiledLabelSelector::compile(&written)?;
    /// let [disk, tier] = selector.requirements() else { panic!() };
    /// // One value of `matchLabels` and a list of one mean the same, and stay apart.
    /// assert_eq!(disk.condition(), &Condition::Equals("ssd".to_owned()));
    /// assert_eq!(tier.condition(), &Condition::In(vec!["1".to_owned()]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// The values as far as the condition has any: for `In` and `NotIn` in
    /// byte order, for the others the one value or none.
    ///
    /// ```
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [{"matchExpressions": [
    ///     {"key": "disk", "operator": "Exists"}, {"key": "rank", "operator": "Gt", "values": ["007"]},
    ///     {"key": "zone", "operator": "NotIn", "values": ["b", "a"]}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let [disk, rank, zone] = selector.terms()[0].requirements() else { panic!() };
    /// assert!(disk.values().is_empty());
    /// assert_eq!(rank.values(), ["007"]); // as written
    /// assert_eq!(zone.values(), ["a", "b"]); // sorted
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values(&self) -> &[String] {
        match &self.condition {
            Condition::In(values) | Condition::NotIn(values) => values,
            Condition::Equals(value)
            | Condition::Gt { text: value, .. }
            | Condition::Lt { text: value, .. } => std::slice::from_ref(value),
            Condition::Exists | Condition::DoesNotExist => &[],
        }
    }

    /// The values of which the label must have one, in byte order, if the
    /// condition lists such values (`Equals` and `In`). This is what an index
    /// can look up.
    ///
    /// ```
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::CompiledLabelSelector;
    /// let written: LabelSelector = serde_json::from_str(
    ///     r#"{"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]},
    ///                              {"key": "b", "operator": "NotIn", "values": ["z"]}]}"#)?;
    /// let selector = CompiledLabelSelector::compile(&written)?;
    /// let [a, b] = selector.requirements() else { panic!() };
    /// assert_eq!(a.required_values().unwrap(), ["x", "y"]);
    /// assert_eq!(b.required_values(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn required_values(&self) -> Option<&[String]> {
        match &self.condition {
            Condition::Equals(_) | Condition::In(_) => Some(self.values()),
            _ => None,
        }
    }

    /// Why the labels do not satisfy this requirement, if they do not.
    pub(super) fn unmet<'a>(
        &'a self,
        labels: &'a (impl Labels + ?Sized),
        numbers: &mut NumberMemo<'a>,
    ) -> Option<Unmet<'a>> {
        let found = labels.label(&self.key);
        (!self.holds_for(found, numbers)).then(|| Unmet::label(self, found))
    }

    /// Whether a label with this value, or its absence, satisfies the
    /// condition.
    pub(super) fn holds_for<'a>(
        &'a self,
        found: Option<&str>,
        numbers: &mut NumberMemo<'a>,
    ) -> bool {
        match (&self.condition, found) {
            (Condition::Equals(value), Some(found)) => value == found,
            (Condition::In(values), Some(found)) => is_listed(values, found),
            (Condition::NotIn(values), Some(found)) => !is_listed(values, found),
            (Condition::Gt { bound, .. }, Some(found)) => {
                let number = numbers.number(&self.key, found);
                number.is_some_and(|number| number > *bound)
            }
            (Condition::Lt { bound, .. }, Some(found)) => {
                let number = numbers.number(&self.key, found);
                number.is_some_and(|number| number < *bound)
            }
            (Condition::Exists, found) => found.is_some(),
            (Condition::DoesNotExist, found) => found.is_none(),
            (Condition::NotIn(_), None) => true,
            (_, None) => false,
        }
    }
}

/// As upstream's `labels.Requirement` prints it; repeated values stay.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.condition {
            Condition::Equals(value) => write!(f, "{key}={value}"),
            Condition::In(values) => write!(f, "{key} in {}", Parenthesized(values)),
            Condition::NotIn(values) => write!(f, "{key} notin {}", Parenthesized(values)),
            Condition::Exists => f.write_str(key),
            Condition::DoesNotExist => write!(f, "!{key}"),
            Condition::Gt { text, .. } => write!(f, "{key}>{text}"),
            Condition::Lt { text, .. } => write!(f, "{key}<{text}"),
        }
    }
}

/// A condition on a field of the node (`matchFields`).
///
/// The one field that a node has is `metadata.name`; any other compares as an
/// empty text.
///
/// ```
/// use pvbind::api::NodeSelector;
/// use pvbind::selector::CompiledNodeSelector;
///
/// let written: NodeSelector = serde_json::from_str(
///     r#"{"nodeSelectorTerms": [{"matchFields": [
///         {"key": "metadata.name", "operator": "NotIn", "values": ["node-a"]}]}]}"#,
/// )?;
/// let selector = CompiledNodeSelector::compile(&written);
/// let field = &selector.terms()[0].fields()[0];
/// assert_eq!(field.to_string(), "metadata.name!=node-a");
/// assert!(field.holds("node-b"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    key: String,
    value: String,
    equal: bool,
}

impl FieldRequirement {
    pub(super) fn new(key: &str, value: &str, equal: bool) -> Self {
        FieldRequirement {
            key: key.to_owned(),
            value: value.to_owned(),
            equal,
        }
    }

    /// Whether a node of this name satisfies the requirement.
    ///
    /// ```
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [{"matchFields": [
    ///     {"key": "metadata.name", "operator": "In", "values": ["node-a"]},
    ///     {"key": "spec.unschedulable", "operator": "NotIn", "values": ["true"]}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let [name, other] = selector.terms()[0].fields() else { panic!() };
    /// assert!(name.holds("node-a") && !name.holds("node-b"));
    /// // A field that is not the name compares as "", whatever the node says there.
    /// assert!(other.holds("node-a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn holds(&self, node_name: &str) -> bool {
        (self.value == self.found(node_name)) == self.equal
    }

    /// The field's key, which may be any text: only `metadata.name` is a field
    /// that a node has, but no other is a mistake.
    ///
    /// ```
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
    ///     {"matchFields": [{"key": "metadata/name", "operator": "In", "values": ["node-a"]}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// assert_eq!(selector.error(), None);
    /// let field = &selector.terms()[0].fields()[0];
    /// assert_eq!(field.key(), "metadata/name"); // misspelled, so it
    /// assert!(!field.holds("node-a")); // never holds
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value that the field is compared with.
    ///
    /// ```
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
    ///     {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]},
    ///     {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-b"]}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// // One value each, so a pod for either of two nodes has two terms.
    /// let nodes = selector.terms().iter().flat_map(|term| term.fields()).map(|field| field.value());
    /// assert_eq!(nodes.collect::<Vec<_>>(), ["node-a", "node-b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether the field must have the value (`In`), or must not (`NotIn`).
    ///
    /// ```
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
    ///     {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["node-a"]}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let field = &selector.terms()[0].fields()[0];
    /// assert!(!field.is_equality()); // any node but this one
    /// assert_eq!(field.to_string(), "metadata.name!=node-a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_equality(&self) -> bool {
        self.equal
    }

    /// Why a node of this name does not satisfy the requirement, if it does
    /// not.
    pub(super) fn unmet<'a>(&'a self, node_name: &'a str) -> Option<Unmet<'a>> {
        (!self.holds(node_name)).then(|| Unmet::field(self, self.found(node_name)))
    }

    fn found<'a>(&self, node_name: &'a str) -> &'a str {
        if self.key == NODE_NAME_FIELD {
            node_name
        } else {
            ""
        }
    }
}

/// As upstream's `fields` selectors print, without their escapes.
impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.equal { "=" } else { "!=" };
        write!(f, "{}{operator}{}", self.key, self.value)
    }
}

/// Reads a label's value as upstream's `strconv.ParseInt` with base 10 does:
/// an optional sign, digits, nothing else.
pub(super) fn read_integer(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// Remembers what labels read as that are longer than a label may be.
///
/// A hostile label is an endless run of zeros before its number. Without this,
/// many requirements on it would cost their number times its length. A label
/// within the limits is read each time, and nothing is allocated.
#[derive(Default)]
pub(super) struct NumberMemo<'a> {
    long: BTreeMap<&'a str, Option<i64>>,
}

impl<'a> NumberMemo<'a> {
    /// What the value `text` of the label `key` reads as.
    pub(super) fn number(&mut self, key: &'a str, text: &str) -> Option<i64> {
        if text.len() <= NAME_LIMIT {
            return read_integer(text);
        }
        *self.long.entry(key).or_insert_with(|| read_integer(text))
    }
}

/// Whether a value is one of the sorted values.
fn is_listed(values: &[String], value: &str) -> bool {
    values
        .binary_search_by(|listed| listed.as_str().cmp(value))
        .is_ok()
}

/// Values as upstream prints them, `(a,b)`.
struct Parenthesized<'a>(&'a [String]);

impl fmt::Display for Parenthesized<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "(" } else { "," })?;
            f.write_str(value)?;
        }
        f.write_str(")")
    }
}
