//! The plain forms: the definition of what selectors mean.
//!
//! Each follows the rule from top to bottom, on the selector as it is written.
//! The compiled forms are tested against them.

use super::parse::Written;
use super::requirement::{NumberMemo, read_integer};
use super::{CompiledLabelSelector, CompiledNodeSelector, CompiledTopology, Labels, SelectorError};
use crate::api::names::NODE_NAME_FIELD;
use crate::api::{LabelSelector, NodeSelector, TopologySelectorTerm, VolumeNodeAffinity};

/// Whether labels satisfy a label selector: every entry of `matchLabels` and
/// of `matchExpressions`. The empty selector matches everything.
///
/// The definition of [`CompiledLabelSelector`], for one match. Follows
/// `LabelSelectorAsSelector` (apimachinery) of Kubernetes 1.36, and the match of
/// what it gives.
///
/// # Cost
/// The selector is checked on every call: linear in its size. For more than one
/// match compile it.
///
/// # Errors
/// Lists every mistake in the selector, as [`CompiledLabelSelector::compile`]
/// does.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::LabelSelector;
/// use pvbind::selector::label_selector_matches;
///
/// let selector: LabelSelector = serde_json::from_str(r#"{"matchLabels": {"disk": "ssd"}}"#)?;
/// assert!(label_selector_matches(&selector, &BTreeMap::from([("disk", "ssd")]))?);
/// assert!(!label_selector_matches(&selector, &BTreeMap::from([("disk", "hdd")]))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn label_selector_matches(
    selector: &LabelSelector,
    labels: &(impl Labels + ?Sized),
) -> Result<bool, SelectorError> {
    CompiledLabelSelector::compile(selector)?;
    let mut match_labels = selector.match_labels.iter().flatten();
    let mut match_expressions = selector.match_expressions.iter().flatten();
    Ok(
        match_labels.all(|(key, value)| labels.label(key) == Some(value))
            && match_expressions.all(|written| expression_holds(written.into(), labels)),
    )
}

/// Whether a node matches a node selector: some term must hold, with all its
/// `matchExpressions` on the labels and, if the node has a name, all its
/// `matchFields`.
///
/// The definition of [`CompiledNodeSelector`], for one match. Follows
/// `NewNodeSelector` and `NodeSelector.Match` (component-helpers) of Kubernetes
/// 1.36.
///
/// # Cost
/// The selector is checked on every call: linear in its size, with a logarithm
/// for sorting. For more than one match compile it.
///
/// # Errors
/// No term matches, and some term has a mistake. The error lists the mistakes
/// of all terms.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::NodeSelector;
/// use pvbind::selector::node_selector_matches;
///
/// let selector: NodeSelector = serde_json::from_str(
///     r#"{"nodeSelectorTerms": [{"matchExpressions": [
///         {"key": "rank", "operator": "Gt", "values": ["5"]}]}]}"#,
/// )?;
/// assert!(node_selector_matches(&selector, &BTreeMap::from([("rank", "6")]), None)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn node_selector_matches(
    selector: &NodeSelector,
    labels: &(impl Labels + ?Sized),
    node_name: Option<&str>,
) -> Result<bool, SelectorError> {
    let node_name = node_name.unwrap_or_default();
    let compiled = CompiledNodeSelector::compile(selector);
    let terms = selector.node_selector_terms.iter().flatten();
    let mut numbers = NumberMemo::default();
    for (term, checked) in terms.zip(compiled.terms()) {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        if checked.error().is_some() || (expressions.is_empty() && fields.is_empty()) {
            continue;
        }
        let labels_hold = expressions
            .iter()
            .all(|written| node_expression_holds(written.into(), labels, &mut numbers));
        let fields_hold = node_name.is_empty()
            || fields
                .iter()
                .all(|written| field_holds(written.into(), node_name));
        if labels_hold && fields_hold {
            return Ok(true);
        }
    }
    match compiled.error() {
        None => Ok(false),
        Some(error) => Err(error.clone()),
    }
}

/// Whether a class's `allowedTopologies` allow a node: some term must hold,
/// with the node's label among the values of every expression; or there are no
/// terms.
///
/// The definition of [`CompiledTopology`], for one match. Follows
/// `MatchTopologySelectorTerms` (component-helpers) of Kubernetes 1.36.
///
/// # Cost
/// The terms are checked on every call: linear in their size, with a logarithm
/// for sorting. For more than one match compile them.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::TopologySelectorTerm;
/// use pvbind::selector::topology_terms_match;
///
/// let node = BTreeMap::from([("zone", "a")]);
/// assert!(topology_terms_match(&[], &node));
/// assert!(!topology_terms_match(&[TopologySelectorTerm::default()], &node));
/// ```
pub fn topology_terms_match(
    terms: &[TopologySelectorTerm],
    labels: &(impl Labels + ?Sized),
) -> bool {
    if terms.is_empty() {
        return true;
    }
    let compiled = CompiledTopology::compile(terms);
    terms.iter().zip(compiled.terms()).any(|(term, checked)| {
        let expressions = term.match_label_expressions.as_deref().unwrap_or_default();
        checked.error().is_none()
            && !expressions.is_empty()
            && expressions
                .iter()
                .all(|written| expression_holds(written.into(), labels))
    })
}

/// Whether a volume's node affinity accepts a node with these labels.
///
/// Without an affinity, or with one that has no `required`, every node is
/// accepted; with a `required` that has no terms, none. The node's name takes
/// no part, so `matchFields` reject nothing.
///
/// Follows `CheckNodeAffinity` (component-helpers, storage/volume) of
/// Kubernetes 1.36.
///
/// # Errors
/// As for [`node_selector_matches`].
///
/// # Cost
/// As for [`node_selector_matches`].
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::VolumeNodeAffinity;
/// use pvbind::selector::volume_affinity_accepts;
///
/// let labels = BTreeMap::from([("zone", "a")]);
/// assert!(volume_affinity_accepts(None, &labels)?);
/// let pinned: VolumeNodeAffinity = serde_json::from_str(
///     r#"{"required": {"nodeSelectorTerms": [{"matchExpressions": [
///         {"key": "zone", "operator": "In", "values": ["b"]}]}]}}"#,
/// )?;
/// assert!(!volume_affinity_accepts(Some(&pinned), &labels)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn volume_affinity_accepts(
    affinity: Option<&VolumeNodeAffinity>,
    labels: &(impl Labels + ?Sized),
) -> Result<bool, SelectorError> {
    match affinity.and_then(|affinity| affinity.required.as_ref()) {
        None => Ok(true),
        Some(required) => node_selector_matches(required, labels, None),
    }
}

/// Whether a label satisfies one of the four operators that every selector
/// knows.
fn expression_holds(written: Written<'_>, labels: &(impl Labels + ?Sized)) -> bool {
    let found = labels.label(written.key);
    let is_listed = found.is_some_and(|found| written.values.iter().any(|value| value == found));
    match written.operator {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        _ => false,
    }
}

/// Whether a label satisfies an expression of a node selector.
fn node_expression_holds<'a>(
    written: Written<'a>,
    labels: &(impl Labels + ?Sized),
    numbers: &mut NumberMemo<'a>,
) -> bool {
    if !matches!(written.operator, "Gt" | "Lt") {
        return expression_holds(written, labels);
    }
    let found = labels.label(written.key);
    let number = found.and_then(|found| numbers.number(written.key, found));
    let bound = written.values.first().and_then(|value| read_integer(value));
    match (number, bound) {
        (Some(number), Some(bound)) if written.operator == "Gt" => number > bound,
        (Some(number), Some(bound)) => number < bound,
        _ => false,
    }
}

/// Whether a node of this name satisfies a requirement of `matchFields`.
fn field_holds(written: Written<'_>, node_name: &str) -> bool {
    let found = if written.key == NODE_NAME_FIELD {
        node_name
    } else {
        ""
    };
    let is_value = written.values.first().is_some_and(|value| value == found);
    match written.operator {
        "In" => is_value,
        _ => !is_value,
    }
}
