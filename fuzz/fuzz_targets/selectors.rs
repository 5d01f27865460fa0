//! Selectors and labels, as JSON text or built from bytes: compiled, matched
//! and explained.
//!
//! Nothing may panic or take long; the compiled forms answer as the plain
//! ones, and explanations agree with the answers.
#![no_main]

use std::collections::BTreeMap;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use pvbind::api::{
    LabelSelector, LabelSelectorRequirement, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, TopologySelectorLabelRequirement, TopologySelectorTerm,
};
use pvbind::selector::{
    CompiledLabelSelector, CompiledNodeSelector, CompiledTopology, SelectorError, TermOutcome,
    label_selector_matches, node_selector_matches, topology_terms_match,
};
use serde_json::Value;

type Labels = BTreeMap<String, String>;

fuzz_target!(|data: &[u8]| {
    if let Ok(case) = serde_json::from_slice::<Value>(data) {
        check_json(&case);
    } else if let Ok(case) = Case::arbitrary(&mut Unstructured::new(data)) {
        case.check();
    }
});

/// An object with `labels`, `nodeName`, and any of `labelSelector`,
/// `nodeSelector`, `terms`.
fn check_json(case: &Value) {
    let labels: Labels = read(&case["labels"]).unwrap_or_default();
    if let Some(selector) = read(&case["labelSelector"]) {
        check_label(&selector, &labels);
    }
    if let Some(selector) = read(&case["nodeSelector"]) {
        check_node(&selector, &labels, case["nodeName"].as_str());
    }
    if let Some(terms) = read::<Vec<TopologySelectorTerm>>(&case["terms"]) {
        check_topology(&terms, &labels);
    }
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn check_label(selector: &LabelSelector, labels: &Labels) {
    let plain = label_selector_matches(selector, labels);
    let compiled = match CompiledLabelSelector::compile(selector) {
        Ok(compiled) => compiled,
        Err(error) => {
            check_error(&error);
            assert_eq!(plain, Err(error));
            return;
        }
    };
    let answer = compiled.matches(labels);
    assert_eq!(plain, Ok(answer));

    let unmet: Vec<_> = compiled.unmet(labels).collect();
    assert_eq!(unmet.is_empty(), answer);
    assert_eq!(compiled.first_unmet(labels).is_none(), answer);
    assert!(unmet.iter().all(|unmet| !unmet.to_string().is_empty()));
    assert_eq!(compiled.to_string().is_empty(), compiled.is_empty());
}

fn check_node(selector: &NodeSelector, labels: &Labels, name: Option<&str>) {
    let compiled = CompiledNodeSelector::compile(selector);
    let answer = compiled.matches(labels, name);
    let plain = node_selector_matches(selector, labels, name);
    assert_eq!(answer, plain.as_ref().copied());
    if let Err(error) = answer {
        check_error(error);
    }

    let outcomes = compiled.explain(labels, name);
    check_outcomes(&outcomes);
    assert_eq!(outcomes.iter().any(TermOutcome::holds), answer == Ok(true));
    for (outcome, term) in outcomes.iter().zip(compiled.terms()) {
        assert_eq!(outcome.holds(), term.matches(labels, name));
        let is_invalid = matches!(outcome, TermOutcome::Invalid(_));
        assert_eq!(is_invalid, term.error().is_some());
    }
}

fn check_topology(terms: &[TopologySelectorTerm], labels: &Labels) {
    let compiled = CompiledTopology::compile(terms);
    let answer = compiled.matches(labels);
    assert_eq!(answer, topology_terms_match(terms, labels));

    let outcomes = compiled.explain(labels);
    check_outcomes(&outcomes);
    let holds = outcomes.is_empty() || outcomes.iter().any(TermOutcome::holds);
    assert_eq!(holds, answer);
}

fn check_outcomes(outcomes: &[TermOutcome<'_>]) {
    for outcome in outcomes {
        assert!(!outcome.to_string().is_empty());
        assert_eq!(&outcome.clone().into_owned(), outcome);
    }
}

fn check_error(error: &SelectorError) {
    assert!(!error.mistakes().is_empty());
    assert!(!error.to_string().is_empty());
}

/// A case built from bytes. Most texts are from a short list, so that keys and
/// values meet.
#[derive(Arbitrary, Debug)]
struct Case {
    labels: Vec<(Text, Text)>,
    name: Option<Text>,
    selector: Selector,
}

#[derive(Arbitrary, Debug)]
enum Selector {
    Label(Vec<(Text, Text)>, Vec<Expression>),
    Node(Vec<(Vec<Expression>, Vec<Expression>)>),
    Topology(Vec<Vec<Expression>>),
}

#[derive(Arbitrary, Debug)]
struct Expression {
    key: Option<Text>,
    operator: Option<Operator>,
    values: Option<Vec<Text>>,
}

#[derive(Arbitrary, Debug)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    Other(String),
}

#[derive(Arbitrary, Debug)]
enum Text {
    Listed(u8),
    Any(String),
}

const TEXTS: [&str; 8] = [
    "zone",
    "rank",
    "metadata.name",
    "a",
    "",
    "7",
    "007",
    "bad key!",
];

impl Case {
    fn check(self) {
        let labels: Labels = pairs(self.labels);
        match self.selector {
            Selector::Label(match_labels, expressions) => {
                let selector = LabelSelector {
                    match_labels: Some(pairs(match_labels)),
                    match_expressions: Some(all(expressions, Expression::of_labels)),
                    ..Default::default()
                };
                check_label(&selector, &labels);
            }
            Selector::Node(terms) => {
                let term = |(expressions, fields)| NodeSelectorTerm {
                    match_expressions: Some(all(expressions, Expression::of_nodes)),
                    match_fields: Some(all(fields, Expression::of_nodes)),
                    ..Default::default()
                };
                let selector = NodeSelector {
                    node_selector_terms: Some(all(terms, term)),
                    ..Default::default()
                };
                let name = self.name.map(Text::into_string);
                check_node(&selector, &labels, name.as_deref());
            }
            Selector::Topology(terms) => {
                let term = |entries| TopologySelectorTerm {
                    match_label_expressions: Some(all(entries, Expression::of_topologies)),
                    ..Default::default()
                };
                check_topology(&all(terms, term), &labels);
            }
        }
    }
}

impl Expression {
    fn of_labels(self) -> LabelSelectorRequirement {
        LabelSelectorRequirement {
            key: self.key.map(Text::into_string),
            operator: self.operator.map(|operator| operator.text().into()),
            values: self.values.map(|values| all(values, Text::into_string)),
            ..Default::default()
        }
    }

    fn of_nodes(self) -> NodeSelectorRequirement {
        NodeSelectorRequirement {
            key: self.key.map(Text::into_string),
            operator: self.operator.map(|operator| operator.text().into()),
            values: self.values.map(|values| all(values, Text::into_string)),
            ..Default::default()
        }
    }

    fn of_topologies(self) -> TopologySelectorLabelRequirement {
        TopologySelectorLabelRequirement {
            key: self.key.map(Text::into_string),
            values: self.values.map(|values| all(values, Text::into_string)),
            ..Default::default()
        }
    }
}

impl Operator {
    fn text(&self) -> &str {
        match self {
            Operator::In => "In",
            Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            Operator::Gt => "Gt",
            Operator::Lt => "Lt",
            Operator::Other(text) => text,
        }
    }
}

impl Text {
    fn into_string(self) -> String {
        match self {
            Text::Listed(index) => TEXTS[usize::from(index) % TEXTS.len()].to_owned(),
            Text::Any(text) => text,
        }
    }
}

fn all<A, B>(items: Vec<A>, convert: impl Fn(A) -> B) -> Vec<B> {
    items.into_iter().map(convert).collect()
}

fn pairs(pairs: Vec<(Text, Text)>) -> Labels {
    let pairs = pairs.into_iter();
    pairs
        .map(|(key, value)| (key.into_string(), value.into_string()))
        .collect()
}
