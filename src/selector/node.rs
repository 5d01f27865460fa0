//! Node selectors, compiled.

use super::parse::{NODE_OPERATORS, Parser};
use super::requirement::NumberMemo;
use super::{CompiledTerm, Labels, SelectorError, TermOutcome};
use crate::api::{NodeSelector, NodeSelectorTerm};

/// A node selector, checked once and matched often.
///
/// It matches a node if one of its terms does: one whose `matchExpressions`
/// hold for the node's labels and whose `matchFields` hold for its name. A
/// term without either matches nothing, and so does a selector without terms.
///
/// Mistakes do not make the selector unusable. A term with a mistake is
/// skipped, even if another of its requirements fails anyhow; the mistakes of
/// all such terms are the answer if no other term matches. So there are three
/// answers, see [`matches`](Self::matches).
///
/// A **volume's** affinity is matched against a node's labels alone: give no
/// name, and `matchFields` reject nothing.
///
/// Follows `NewNodeSelector` and `NodeSelector.Match` (component-helpers,
/// scheduling/corev1/nodeaffinity) of Kubernetes 1.36.
///
/// # Differences
/// None in the answers. Error texts are this crate's own.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::NodeSelector;
/// use pvbind::selector::CompiledNodeSelector;
///
/// let written: NodeSelector = serde_json::from_str(
///     r#"{"nodeSelectorTerms": [
///         {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
///         {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["many"]}]}]}"#,
/// )?;
/// let selector = CompiledNodeSelector::compile(&written);
/// assert_eq!(selector.matches(&BTreeMap::from([("zone", "a")]), None), Ok(true));
/// assert_eq!(
///     selector.matches(&BTreeMap::from([("zone", "b")]), None).unwrap_err().to_string(),
///     "nodeSelectorTerms[1].matchExpressions[0].values[0]: `many` is not a 64-bit integer",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompiledNodeSelector {
    terms: Box<[CompiledTerm]>,
    /// The mistakes of all terms together.
    error: Option<SelectorError>,
}

impl CompiledNodeSelector {
    /// Checks a selector and makes it ready for matching. Mistakes are kept
    /// with their terms.
    ///
    /// Costs time in proportion to the selector's size, and its logarithm for
    /// sorting.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// // It cannot fail, and what has no terms matches no node.
    /// let none = CompiledNodeSelector::compile(&NodeSelector::default());
    /// assert_eq!(none.matches(&BTreeMap::from([("zone", "a")]), None), Ok(false));
    /// let written: NodeSelector = serde_json::from_value(serde_json::json!({
    ///     "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Equals"}]}]}))?;
    /// assert!(CompiledNodeSelector::compile(&written).error().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile(selector: &NodeSelector) -> Self {
        let terms: Box<[_]> = selector
            .node_selector_terms
            .iter()
            .flatten()
            .enumerate()
            .map(|(index, term)| compile_term(index, term))
            .collect();
        let mistakes = terms
            .iter()
            .filter_map(CompiledTerm::error)
            .flat_map(SelectorError::mistakes)
            .cloned()
            .collect();
        CompiledNodeSelector {
            terms,
            error: SelectorError::from_mistakes(mistakes),
        }
    }

    /// Whether a node with these labels matches. `matchFields` are compared
    /// only if a name is given that is not empty.
    ///
    /// Allocates nothing, not even for an error, as long as the labels are no
    /// longer than Kubernetes admits. Costs one look-up for each requirement, up
    /// to the term that matches.
    ///
    /// # Errors
    /// No term matches, and some term has a mistake. The error lists the
    /// mistakes of all terms.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_str(
    ///     r#"{"nodeSelectorTerms": [{"matchFields": [
    ///         {"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}]}"#)?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let labels = BTreeMap::<&str, &str>::new();
    /// assert_eq!(selector.matches(&labels, Some("node-a")), Ok(true));
    /// assert_eq!(selector.matches(&labels, Some("node-b")), Ok(false));
    /// // For a volume no name is given, and then the field is not compared.
    /// assert_eq!(selector.matches(&labels, None), Ok(true));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn matches(
        &self,
        labels: &(impl Labels + ?Sized),
        node_name: Option<&str>,
    ) -> Result<bool, &SelectorError> {
        let mut numbers = NumberMemo::default();
        let mut terms = self.terms.iter();
        if terms.any(|term| term.matches_with(labels, node_name, &mut numbers)) {
            return Ok(true);
        }
        self.error.as_ref().map_or(Ok(false), Err)
    }

    /// What becomes of each term on a node, in the order of the terms: which
    /// requirement failed with which label value, or which mistakes it has.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_str(
    ///     r#"{"nodeSelectorTerms": [
    ///         {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
    ///         {"matchExpressions": [{"key": "zone", "operator": "Within", "values": ["a"]}]}]}"#)?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// let labels = BTreeMap::from([("zone", "b")]);
    /// let told: Vec<_> = selector.explain(&labels, None).iter().map(ToString::to_string).collect();
    /// assert_eq!(told[0], "`zone in (a)` fails: the label is `b`");
    /// assert!(told[1].starts_with("is invalid: nodeSelectorTerms[1].matchExpressions[0].operator: "));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn explain<'a>(
        &'a self,
        labels: &'a (impl Labels + ?Sized),
        node_name: Option<&'a str>,
    ) -> Vec<TermOutcome<'a>> {
        let mut numbers = NumberMemo::default();
        self.terms
            .iter()
            .map(|term| term.explain_with(labels, node_name, &mut numbers))
            .collect()
    }

    /// The terms in the order in which they are written, those that match
    /// nothing included.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({"spec": {"nodeAffinity": {
    ///     "required": {"nodeSelectorTerms": [{"matchExpressions": [
    ///         {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a"]}]}]}}}}))?;
    /// let selector = CompiledNodeSelector::compile(volume.required_node_affinity().unwrap());
    /// // A local volume: pinned to one host.
    /// let [term] = selector.terms() else { panic!() };
    /// assert_eq!(term.requirements()[0].to_string(), "kubernetes.io/hostname in (node-a)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn terms(&self) -> &[CompiledTerm] {
        &self.terms
    }

    /// The mistakes of all terms. They are the answer wherever no term
    /// matches.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::CompiledNodeSelector;
    /// let written: NodeSelector = serde_json::from_str(
    ///     r#"{"nodeSelectorTerms": [
    ///         {"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
    ///         {"matchExpressions": [{"key": "zone", "operator": "In"}]}]}"#)?;
    /// let selector = CompiledNodeSelector::compile(&written);
    /// assert_eq!(selector.error().unwrap().mistakes().len(), 1);
    /// // Where the other term matches nobody hears of it.
    /// assert_eq!(selector.matches(&BTreeMap::from([("zone", "a")]), None), Ok(true));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn error(&self) -> Option<&SelectorError> {
        self.error.as_ref()
    }
}

fn compile_term(index: usize, term: &NodeSelectorTerm) -> CompiledTerm {
    let mut parser = Parser::default();
    let requirements = term
        .match_expressions
        .iter()
        .flatten()
        .enumerate()
        .filter_map(|(at, written)| {
            parser.requirement(
                format_args!("nodeSelectorTerms[{index}].matchExpressions[{at}]"),
                written.into(),
                NODE_OPERATORS,
            )
        })
        .collect();
    let fields = term
        .match_fields
        .iter()
        .flatten()
        .enumerate()
        .filter_map(|(at, written)| {
            parser.field(
                format_args!("nodeSelectorTerms[{index}].matchFields[{at}]"),
                written.into(),
            )
        })
        .collect();
    CompiledTerm::new(parser, requirements, fields)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;

    fn compile(terms: Value) -> CompiledNodeSelector {
        let written = serde_json::from_value(json!({"nodeSelectorTerms": terms})).unwrap();
        CompiledNodeSelector::compile(&written)
    }

    fn compare(operator: &str, bound: &str) -> CompiledNodeSelector {
        compile(json!([{"matchExpressions": [
            {"key": "rank", "operator": operator, "values": [bound]}]}]))
    }

    fn field(key: &str, operator: &str, values: &[&str]) -> CompiledNodeSelector {
        compile(json!([{"matchFields": [
            {"key": key, "operator": operator, "values": values}]}]))
    }

    type Map = BTreeMap<&'static str, &'static str>;

    #[test]
    fn no_terms_and_empty_terms_match_nothing() {
        for terms in [
            json!(null),
            json!([]),
            json!([{}]),
            json!([{}, {"matchFields": []}]),
        ] {
            assert_eq!(compile(terms).matches(&Map::new(), Some("n")), Ok(false));
        }
    }

    #[test]
    fn numbers_compare_as_signed_64_bit_integers() {
        let max = "9223372036854775807";
        for (rank, operator, bound, want) in [
            ("6", "Gt", "5", true),
            ("5", "Gt", "5", false),
            ("4", "Lt", "5", true),
            ("5", "Lt", "5", false),
            ("-3", "Lt", "0", true),
            ("+4", "Gt", "3", true),
            ("007", "Gt", "6", true),
            ("8", "Gt", "007", true),
            (max, "Gt", "1", true),
            ("9223372036854775808", "Gt", "1", false),
            ("1.5", "Gt", "1", false),
            ("abc", "Lt", max, false),
            ("", "Lt", max, false),
            ("1_0", "Gt", "1", false),
            (" 6", "Gt", "1", false),
        ] {
            let labels = Map::from([("rank", rank)]);
            let selector = compare(operator, bound);
            assert_eq!(
                selector.matches(&labels, None),
                Ok(want),
                "{rank} {operator} {bound}"
            );
        }
        assert_eq!(compare("Gt", "5").matches(&Map::new(), None), Ok(false));
    }

    #[test]
    fn a_number_longer_than_a_label_may_be_is_still_read() {
        let (seven, eight) = ("0".repeat(100) + "7", "0".repeat(100) + "8");
        let selector = compile(json!([
            {"matchExpressions": [
                {"key": "a", "operator": "Gt", "values": ["7"]},
                {"key": "a", "operator": "Lt", "values": ["9"]}]},
            {"matchExpressions": [
                {"key": "a", "operator": "Lt", "values": ["8"]},
                {"key": "b", "operator": "Gt", "values": ["7"]},
                {"key": "b", "operator": "Gt", "values": ["8"]}]},
        ]));
        let labels = BTreeMap::from([("a", seven.as_str()), ("b", eight.as_str())]);
        assert_eq!(selector.matches(&labels, None), Ok(false));
        let outcomes = selector.explain(&labels, None);
        assert!(outcomes[0].to_string().starts_with("`a>7` fails"));
        assert!(outcomes[1].to_string().starts_with("`b>8` fails"));
        let labels = BTreeMap::from([("a", eight.as_str())]);
        assert_eq!(selector.matches(&labels, None), Ok(true));
    }

    #[test]
    fn a_bound_must_be_an_integer_and_a_label_value() {
        for (bound, mistakes) in [
            ("1.5", 1),
            ("-5", 1),
            ("+5", 1),
            ("", 1),
            ("9223372036854775808", 1),
            ("bad value!", 2),
        ] {
            let selector = compare("Gt", bound);
            let error = selector.error().unwrap();
            assert_eq!(error.mistakes().len(), mistakes, "{bound}: {error}");
        }
        let two = compile(json!([{"matchExpressions": [
            {"key": "rank", "operator": "Lt", "values": ["7", "8"]}]}]));
        assert_eq!(
            two.error().unwrap().to_string(),
            "nodeSelectorTerms[0].matchExpressions[0].values: `Lt` takes exactly one value, \
             found `7`, `8`"
        );
    }

    #[test]
    fn fields_are_compared_only_with_a_node_name() {
        let other = field("metadata.name", "In", &["node-a"]);
        assert_eq!(other.matches(&Map::new(), Some("node-a")), Ok(true));
        assert_eq!(other.matches(&Map::new(), Some("node-b")), Ok(false));
        assert_eq!(other.matches(&Map::new(), Some("")), Ok(true));
        assert_eq!(other.matches(&Map::new(), None), Ok(true));
    }

    #[test]
    fn an_unknown_field_compares_as_empty() {
        assert_eq!(
            field("spec.x", "In", &[""]).matches(&Map::new(), Some("n")),
            Ok(true)
        );
        assert_eq!(
            field("spec.x", "In", &["n"]).matches(&Map::new(), Some("n")),
            Ok(false)
        );
        assert_eq!(
            field("", "NotIn", &["n"]).matches(&Map::new(), Some("n")),
            Ok(true)
        );
    }

    #[test]
    fn mistakes_in_fields_count_even_without_a_node_name() {
        for (operator, values) in [("In", &[][..]), ("In", &["a", "b"]), ("Exists", &[])] {
            let selector = field("metadata.name", operator, values);
            assert!(selector.matches(&Map::new(), None).is_err());
        }
    }

    #[test]
    fn a_mistake_shows_only_if_no_other_term_matches() {
        let selector = compile(json!([
            {"matchExpressions": [
                {"key": "zone", "operator": "In", "values": ["never"]},
                {"key": "bad key!", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
        ]));
        let (zone, none) = (Map::from([("zone", "a")]), Map::new());
        assert_eq!(selector.matches(&zone, None), Ok(true));
        assert_eq!(
            selector.matches(&none, None).unwrap_err().mistakes().len(),
            1
        );
        let outcomes = selector.explain(&none, None);
        assert!(matches!(outcomes[0], TermOutcome::Invalid(_)));
        assert_eq!(
            outcomes[1].to_string(),
            "`zone` fails: there is no such label"
        );
        assert!(selector.explain(&zone, None)[1].holds());
    }

    #[test]
    fn an_explanation_names_all_that_fails() {
        let selector = compile(json!([{
            "matchExpressions": [
                {"key": "zone", "operator": "In", "values": ["b", "a"]},
                {"key": "rank", "operator": "Gt", "values": ["5"]},
                {"key": "disk", "operator": "DoesNotExist"}],
            "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}],
        }, {}]));
        let labels = Map::from([("zone", "c"), ("rank", "5"), ("disk", "")]);
        let outcomes = selector.explain(&labels, Some("n"));
        assert_eq!(
            outcomes[0].to_string(),
            "`!disk` fails: the label is ``, `rank>5` fails: the label is `5`, \
             `zone in (a,b)` fails: the label is `c`, \
             `metadata.name!=n` fails: the field is `n`"
        );
        assert_eq!(outcomes[1], TermOutcome::Empty);
        assert_eq!(outcomes[0].clone().into_owned(), outcomes[0]);
    }
}
