//! One term of a node or topology selector, compiled.

use std::borrow::Cow;

use super::parse::Parser;
use super::requirement::NumberMemo;
use super::{FieldRequirement, Labels, Requirement, SelectorError, TermOutcome};

/// A term of a [`CompiledNodeSelector`] or [`CompiledTopology`]: requirements
/// that must all hold.
///
/// A term is in one of three states: it has a mistake ([`error`]), and then no
/// requirements are kept; it is empty ([`is_empty`]); or it has requirements.
/// Only in the last can it match.
///
/// ```
/// use pvbind::api::NodeSelector;
/// use pvbind::selector::CompiledNodeSelector;
///
/// let written: NodeSelector = serde_json::from_str(
///     r#"{"nodeSelectorTerms": [
///         {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
///         {"matchExpressions": [{"key": "zone", "operator": "in", "values": ["a"]}]},
///         {}]}"#,
/// )?;
/// let selector = CompiledNodeSelector::compile(&written);
/// let [good, bad, empty] = selector.terms() else { panic!() };
/// assert_eq!(good.requirements()[0].required_values().unwrap(), ["a"]);
/// assert!(bad.error().is_some() && bad.requirements().is_empty() && !bad.is_empty());
/// assert!(empty.is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// [`CompiledNodeSelector`]: super::CompiledNodeSelector
/// [`CompiledTopology`]: super::CompiledTopology
/// [`error`]: CompiledTerm::error
/// [`is_empty`]: CompiledTerm::is_empty
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompiledTerm {
    /// INVARIANT (by key): in order of their keys, equal keys as written.
    /// INVARIANT (error alone): empty if there is an error.
    requirements: Box<[Requirement]>,
    /// INVARIANT (error alone): empty if there is an error.
    fields: Box<[FieldRequirement]>,
    error: Option<SelectorError>,
}

impl CompiledTerm {
    /// The term of these requirements, or the mistakes found in them.
    // INVARIANT (by key), (error alone): upheld here, the only constructor.
    pub(super) fn new(
        parser: Parser,
        mut requirements: Vec<Requirement>,
        mut fields: Vec<FieldRequirement>,
    ) -> Self {
        let error = SelectorError::from_mistakes(parser.mistakes);
        if error.is_some() {
            requirements = Vec::new();
            fields = Vec::new();
        }
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        CompiledTerm {
            requirements: requirements.into(),
            fields: fields.into(),
            error,
        }
    }

    /// Whether the term matches a node. Fields are not compared without a node
    /// name. A term with a mistake, and an empty one, match nothing.
    ///
    /// Allocates nothing, as long as the labels are no longer than Kubernetes
    /// admits. Costs one look-up for each requirement, up to the first that
    /// fails.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_str(
    ///     r#"{"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, {}]}"#)?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let labels = BTreeMap::from([("zone", "a")]);
    /// let matching = selector.terms().iter().map(|term| term.matches(&labels, None));
    /// assert_eq!(matching.collect::<Vec<_>>(), [true, false]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn matches(&self, labels: &(impl Labels + ?Sized), node_name: Option<&str>) -> bool {
        self.matches_with(labels, node_name, &mut NumberMemo::default())
    }

    /// As [`matches`](Self::matches), for one of several terms on one node.
    pub(super) fn matches_with<'a>(
        &'a self,
        labels: &(impl Labels + ?Sized),
        node_name: Option<&str>,
        numbers: &mut NumberMemo<'a>,
    ) -> bool {
        self.error.is_none()
            && !self.is_empty()
            && self
                .requirements
                .iter()
                .all(|requirement| requirement.holds_for(labels.label(requirement.key()), numbers))
            && given(node_name).is_none_or(|name| self.fields.iter().all(|field| field.holds(name)))
    }

    /// What becomes of the term on a node, with everything that fails.
    ///
    /// Costs one look-up for each requirement, none left out, and a list of those
    /// that fail.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [{
    ///     "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
    ///     "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let labels = BTreeMap::from([("zone", "b")]);
    /// assert_eq!(selector.terms()[0].explain(&labels, Some("node-b")).to_string(),
    ///     "`zone in (a)` fails: the label is `b`, `metadata.name=node-a` fails: the field is `node-b`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain<'a>(
        &'a self,
        labels: &'a (impl Labels + ?Sized),
        node_name: Option<&'a str>,
    ) -> TermOutcome<'a> {
        self.explain_with(labels, node_name, &mut NumberMemo::default())
    }

    /// As [`explain`](Self::explain), for one of several terms on one node.
    pub(super) fn explain_with<'a>(
        &'a self,
        labels: &'a (impl Labels + ?Sized),
        node_name: Option<&'a str>,
        numbers: &mut NumberMemo<'a>,
    ) -> TermOutcome<'a> {
        if let Some(error) = &self.error {
            return TermOutcome::Invalid(Cow::Borrowed(error));
        }
        if self.is_empty() {
            return TermOutcome::Empty;
        }
        let mut unmet: Vec<_> = self
            .requirements
            .iter()
            .filter_map(|requirement| requirement.unmet(labels, numbers))
            .collect();
        if let Some(name) = given(node_name) {
            unmet.extend(self.fields.iter().filter_map(|field| field.unmet(name)));
        }
        if unmet.is_empty() {
            TermOutcome::Holds
        } else {
            TermOutcome::Unmet(unmet)
        }
    }

    /// The requirements on labels, in order of their keys; none if the term has a
    /// mistake.
    ///
    /// ```
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
    ///     {"matchExpressions": [{"key": "zone", "operator": "Exists"}, {"key": "disk", "operator": "DoesNotExist"}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let told: Vec<_> = selector.terms()[0].requirements().iter().map(ToString::to_string).collect();
    /// assert_eq!(told, ["!disk", "zone"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The requirements on fields, in the order in which they are written; none
    /// if the term has a mistake. A term of `allowedTopologies` never has any.
    ///
    /// ```
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// // As the DaemonSet controller pins a pod to its node.
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
    ///     {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let term = &selector.terms()[0];
    /// assert_eq!((term.requirements().len(), term.fields().len()), (0, 1));
    /// assert_eq!(term.fields()[0].value(), "node-a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fields(&self) -> &[FieldRequirement] {
        &self.fields
    }

    /// The mistakes in the term, if it has any.
    ///
    /// ```
    /// use pvbind::api::TopologySelectorTerm;
    /// use pvbind::selector::CompiledTopology;
    /// let terms: Vec<TopologySelectorTerm> = serde_json::from_value(serde_json::json!([
    ///     {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]},
    ///     {"matchLabelExpressions": [{"key": "the zone", "values": ["a"]}]}]))?;
    /// let topology = CompiledTopology::compile(&terms);
    /// assert_eq!(topology.terms()[0].error(), None);
    /// // Kubernetes says nothing of this one and just lets no node in by it.
    /// let error = topology.terms()[1].error().unwrap();
    /// assert_eq!(error.mistakes()[0].place, "allowedTopologies[1].matchLabelExpressions[0].key");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn error(&self) -> Option<&SelectorError> {
        self.error.as_ref()
    }

    /// Whether the term is written without any requirement, so that it matches
    /// nothing. A term with a mistake is not empty.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector =
    ///     serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [{"matchExpressions": []}]}))?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let term = &selector.terms()[0];
    /// assert!(term.is_empty());
    /// // No requirement fails, and yet: an empty label selector would match.
    /// assert!(!term.matches(&BTreeMap::from([("zone", "a")]), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.error.is_none() && self.requirements.is_empty() && self.fields.is_empty()
    }
}

/// An empty name is no name.
pub(super) fn given(node_name: Option<&str>) -> Option<&str> {
    node_name.filter(|name| !name.is_empty())
}
