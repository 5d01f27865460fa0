//! The topologies that a class allows, compiled.

use super::parse::{LABEL_OPERATORS, Parser};
use super::{CompiledTerm, Labels, TermOutcome};
use crate::api::TopologySelectorTerm;

/// A class's `allowedTopologies`, checked once and matched often.
///
/// A node is allowed if one term holds: its labels have, for every expression,
/// one of the values. Without terms every node is allowed. A term without
/// expressions, and one with a mistake, match nothing.
///
/// Follows `MatchTopologySelectorTerms` (component-helpers,
/// scheduling/corev1) of Kubernetes 1.36.
///
/// # Differences
/// Upstream drops the mistakes; here [`explain`](Self::explain) and the terms
/// tell them.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::TopologySelectorTerm;
/// use pvbind::selector::CompiledTopology;
///
/// let terms: Vec<TopologySelectorTerm> = serde_json::from_str(
///     r#"[{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]"#,
/// )?;
/// let topology = CompiledTopology::compile(&terms);
/// assert!(topology.matches(&BTreeMap::from([("zone", "b")])));
/// let c = BTreeMap::from([("zone", "c")]);
/// assert!(!topology.matches(&c));
/// assert_eq!(
///     topology.explain(&c)[0].to_string(),
///     "`zone in (a,b)` fails: the label is `c`",
/// );
/// assert!(CompiledTopology::compile(&[]).matches(&c));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompiledTopology {
    terms: Box<[CompiledTerm]>,
}

impl CompiledTopology {
    /// Checks the terms and makes them ready for matching. Mistakes are kept
    /// with their terms.
    ///
    /// Costs time in proportion to the size of the terms, and its logarithm
    /// for sorting.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::StorageClass;
    /// use pvbind::selector::CompiledTopology;
    /// let class: StorageClass = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"name": "fast"}, "allowedTopologies": [{}]}))?;
    /// let labels = BTreeMap::from([("zone", "a")]);
    /// let allowed = |terms: Option<&[_]>| CompiledTopology::compile(terms.unwrap_or_default()).matches(&labels);
    /// assert!(allowed(None)); // a class that says nothing allows every node
    /// assert!(!allowed(class.allowed_topologies.as_deref())); // an empty term allows none
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile(terms: &[TopologySelectorTerm]) -> Self {
        let terms = terms
            .iter()
            .enumerate()
            .map(|(index, term)| compile_term(index, term))
            .collect();
        CompiledTopology { terms }
    }

    /// Whether a node with these labels is allowed.
    ///
    /// Allocates nothing. Costs one look-up for each expression, up to the
    /// term that holds.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::TopologySelectorTerm;
    /// use pvbind::selector::CompiledTopology;
    /// let terms: Vec<TopologySelectorTerm> = serde_json::from_str(
    ///     r#"[{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}, {"key": "rack", "values": ["1"]}]}]"#)?;
    /// let topology = CompiledTopology::compile(&terms);
    /// // Every expression of a term must hold.
    /// assert!(topology.matches(&BTreeMap::from([("zone", "a"), ("rack", "1")])));
    /// assert!(!topology.matches(&BTreeMap::from([("zone", "a"), ("rack", "2")])));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        self.terms.is_empty() || self.terms.iter().any(|term| term.matches(labels, None))
    }

    /// What becomes of each term on a node with these labels, in the order of
    /// the terms. Without terms nothing, although every node is allowed.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::TopologySelectorTerm;
    /// use pvbind::selector::CompiledTopology;
    /// let terms: Vec<TopologySelectorTerm> = serde_json::from_str(
    ///     r#"[{}, {"matchLabelExpressions": [{"key": "zone", "values": []}]}]"#)?;
    /// let labels = BTreeMap::from([("zone", "a")]);
    /// let topology = CompiledTopology::compile(&terms);
    /// let told: Vec<_> = topology.explain(&labels).iter().map(ToString::to_string).collect();
    /// assert_eq!(told[0], "has no requirements, so it matches nothing");
    /// assert!(told[1].ends_with("`In` needs at least one value"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn explain<'a>(&'a self, labels: &'a (impl Labels + ?Sized)) -> Vec<TermOutcome<'a>> {
        self.terms
            .iter()
            .map(|term| term.explain(labels, None))
            .collect()
    }

    /// The terms in the order in which they are written, those that match
    /// nothing included.
    ///
    /// ```
    /// use pvbind::api::TopologySelectorTerm;
    /// use pvbind::selector::CompiledTopology;
    /// let terms: Vec<TopologySelectorTerm> = serde_json::from_value(serde_json::json!([
    ///     {"matchLabelExpressions": [{"key": "zone", "values": ["b", "a"]}]}]))?;
    /// let topology = CompiledTopology::compile(&terms);
    /// let zone = &topology.terms()[0].requirements()[0];
    /// assert_eq!(zone.to_string(), "zone in (a,b)"); // an `In`, without saying so
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn terms(&self) -> &[CompiledTerm] {
        &self.terms
    }
}

fn compile_term(index: usize, term: &TopologySelectorTerm) -> CompiledTerm {
    let mut parser = Parser::default();
    let requirements = term
        .match_label_expressions
        .iter()
        .flatten()
        .enumerate()
        .filter_map(|(at, written)| {
            parser.requirement(
                format_args!("allowedTopologies[{index}].matchLabelExpressions[{at}]"),
                written.into(),
                LABEL_OPERATORS,
            )
        })
        .collect();
    CompiledTerm::new(parser, requirements, Vec::new())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;

    fn compile(terms: Value) -> CompiledTopology {
        let written: Vec<TopologySelectorTerm> = serde_json::from_value(terms).unwrap();
        CompiledTopology::compile(&written)
    }

    #[test]
    fn an_empty_term_matches_nothing_but_no_terms_match_all() {
        let none = BTreeMap::<&str, &str>::new();
        assert!(compile(json!([])).matches(&none));
        assert!(!compile(json!([{}])).matches(&none));
        assert!(!compile(json!([{"matchLabelExpressions": []}])).matches(&none));
    }

    #[test]
    fn every_expression_of_one_term_must_hold() {
        let topology = compile(json!([
            {"matchLabelExpressions": [
                {"key": "zone", "values": ["a"]}, {"key": "disk", "values": ["ssd", ""]}]},
            {"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]},
        ]));
        assert!(topology.matches(&BTreeMap::from([("zone", "a"), ("disk", "")])));
        assert!(!topology.matches(&BTreeMap::from([("zone", "a")])));
        assert!(topology.matches(&BTreeMap::from([("zone", "b")])));
    }

    #[test]
    fn a_term_with_a_mistake_matches_nothing_and_keeps_it() {
        let topology = compile(json!([{"matchLabelExpressions": [
            {"key": "zone", "values": ["a"]}, {"key": "zone", "values": []}]}]));
        assert!(!topology.matches(&BTreeMap::from([("zone", "a")])));
        assert_eq!(
            topology.terms()[0].error().unwrap().to_string(),
            "allowedTopologies[0].matchLabelExpressions[1].values: `In` needs at least one value"
        );
    }
}
