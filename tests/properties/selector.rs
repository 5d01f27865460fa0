//! What must hold of every selector: the compiled form answers as the plain
//! one, and both as the rules, which stand here once more in a few lines that
//! share nothing with the crate.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use pvbind::api::{LabelSelector, NodeSelector, TopologySelectorTerm};
use pvbind::selector::{
    CompiledLabelSelector, CompiledNodeSelector, CompiledTopology, TermOutcome, Unmet,
    check_label_key, check_label_value, label_selector_matches, node_selector_matches,
    topology_terms_match,
};
use serde_json::{Value, json};

/// Keys that labels have, keys at the limits, and some that are none.
const KEYS: [&str; 12] = [
    "rank", "rank", "zone", "zone", "disk", "a.b/c", "x_1", "A/n", "a/b/c", "/n", "n/", "-",
];

/// Values of labels and selectors: texts, numbers, and what is neither.
const VALUES: [&str; 16] = [
    "",
    "a",
    "a",
    "b",
    "b",
    "0",
    "5",
    "007",
    "7",
    "-7",
    "+8",
    "1.5",
    "a b",
    "_",
    "9223372036854775807",
    "9223372036854775808",
];

const NAMES: [&str; 3] = ["", "node-a", "node-b"];

type Map = BTreeMap<String, String>;

proptest! {
    #[test]
    fn label_selectors_answer_as_the_rules(selector in label_selector(), labels in labels()) {
        let written: LabelSelector = read(&selector);
        let want = rules::label_selector(&selector, &labels);

        let plain = label_selector_matches(&written, &labels);
        let compiled = CompiledLabelSelector::compile(&written);
        let answer = compiled.as_ref().map(|compiled| compiled.matches(&labels));
        prop_assert_eq!(plain.as_ref().ok().copied(), want);
        prop_assert_eq!(answer, plain.as_ref().copied());

        if let Ok(compiled) = &compiled {
            let unmet: Vec<_> = compiled.unmet(&labels).collect();
            let failing: Vec<_> = compiled.requirements().iter().filter(|r| !r.holds(&labels)).collect();
            prop_assert_eq!(unmet.is_empty(), answer == Ok(true));
            prop_assert_eq!(compiled.first_unmet(&labels), failing.first().copied());
            prop_assert_eq!(unmet.len(), failing.len());
            for (unmet, failing) in unmet.iter().zip(failing) {
                tells_the_truth(unmet, &labels, "")?;
                let is_failing = matches!(unmet, Unmet::Label { requirement, .. } if **requirement == *failing);
                prop_assert!(is_failing);
            }
        }
    }

    #[test]
    fn node_selectors_answer_as_the_rules(
        selector in node_selector(),
        labels in labels(),
        name in prop::option::of(select(&NAMES[..])),
    ) {
        let written: NodeSelector = read(&selector);
        let name_or_empty = name.unwrap_or_default();
        let want = rules::node_selector(&selector, &labels, name_or_empty);

        let plain = node_selector_matches(&written, &labels, name);
        let compiled = CompiledNodeSelector::compile(&written);
        let answer = compiled.matches(&labels, name);
        prop_assert_eq!(plain.as_ref().ok().copied(), want);
        prop_assert_eq!(answer, plain.as_ref().copied());

        let outcomes = compiled.explain(&labels, name);
        prop_assert_eq!(outcomes.len(), compiled.terms().len());
        let some_holds = outcomes.iter().any(TermOutcome::holds);
        let some_invalid = outcomes.iter().any(|o| matches!(o, TermOutcome::Invalid(_)));
        let told = if some_holds { Some(true) } else if some_invalid { None } else { Some(false) };
        prop_assert_eq!(told, want);
        for (outcome, term) in outcomes.iter().zip(compiled.terms()) {
            prop_assert_eq!(outcome.holds(), term.matches(&labels, name));
            prop_assert_eq!(matches!(outcome, TermOutcome::Empty), term.is_empty());
            if let TermOutcome::Unmet(reasons) = outcome {
                prop_assert!(!reasons.is_empty());
                for reason in reasons {
                    tells_the_truth(reason, &labels, name_or_empty)?;
                }
            }
        }
    }

    #[test]
    fn topologies_answer_as_the_rules(terms in topology(), labels in labels()) {
        let written: Vec<TopologySelectorTerm> = read(&terms);
        let want = rules::topology(&terms, &labels);
        prop_assert_eq!(topology_terms_match(&written, &labels), want);

        let compiled = CompiledTopology::compile(&written);
        prop_assert_eq!(compiled.matches(&labels), want);
        let outcomes = compiled.explain(&labels);
        prop_assert_eq!(want, outcomes.is_empty() || outcomes.iter().any(TermOutcome::holds));
    }

    #[test]
    fn label_syntax_is_that_of_the_rules(text in "[aZ0._/é-]{0,6}|[a0./-]{60,66}|[a.-]{250,256}/[aZ_-]{1,2}") {
        prop_assert_eq!(check_label_key(&text).is_ok(), rules::is_key(&text));
        prop_assert_eq!(check_label_value(&text).is_ok(), rules::is_value(&text));
    }
}

/// What an explanation says was found is what is there, and does not satisfy
/// the requirement that it names.
fn tells_the_truth(unmet: &Unmet<'_>, labels: &Map, name: &str) -> Result<(), TestCaseError> {
    match unmet {
        Unmet::Label { requirement, found } => {
            prop_assert_eq!(
                found.as_deref(),
                labels.get(requirement.key()).map(String::as_str)
            );
            prop_assert!(!requirement.holds(labels));
        }
        Unmet::Field { requirement, found } => {
            let is_name = requirement.key() == "metadata.name";
            prop_assert_eq!(found, if is_name { name } else { "" });
            prop_assert!(!requirement.holds(name));
        }
        _ => prop_assert!(false, "a reason of an unknown kind"),
    }
    Ok(())
}

fn labels() -> impl Strategy<Value = Map> {
    let entry = (select(&KEYS[..7]), select(&VALUES[..]));
    let entry = entry.prop_map(|(key, value)| (key.to_owned(), value.to_owned()));
    prop::collection::vec(entry, 0..5).prop_map(BTreeMap::from_iter)
}

/// Mostly valid, so that the rules behind validity come into play.
fn key() -> impl Strategy<Value = &'static str> {
    prop_oneof![30 => select(&KEYS[..7]), 1 => select(&KEYS[..])]
}

fn value() -> impl Strategy<Value = &'static str> {
    prop_oneof![20 => select(&VALUES[..9]), 1 => select(&VALUES[..])]
}

fn expression(operators: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let operator =
        prop_oneof![30 => select(operators), 1 => select(&["", "in", "Gt", "Exists"][..])];
    let few = prop::collection::vec(value(), 1..4);
    let any = prop::collection::vec(value(), 0..3);
    (key(), operator, few, any, prop::bool::weighted(0.05)).prop_map(
        |(key, operator, few, any, is_odd)| {
            let values = match operator {
                _ if is_odd => any,
                "Exists" | "DoesNotExist" => Vec::new(),
                "Gt" | "Lt" => vec![few[0]],
                _ => few,
            };
            json!({"key": key, "operator": operator, "values": values})
        },
    )
}

fn label_selector() -> impl Strategy<Value = Value> {
    let match_labels = prop::collection::btree_map(key(), value(), 0..3);
    let expression = expression(&["In", "NotIn", "Exists", "DoesNotExist"]);
    let expressions = prop::collection::vec(expression, 0..4);
    (match_labels, expressions)
        .prop_map(|(labels, list)| json!({"matchLabels": labels, "matchExpressions": list}))
}

fn node_selector() -> impl Strategy<Value = Value> {
    let expression = expression(&[
        "In",
        "NotIn",
        "Exists",
        "DoesNotExist",
        "Gt",
        "Lt",
        "Gt",
        "Lt",
    ]);
    let values = prop_oneof![
        20 => select(&NAMES[..]).prop_map(|name| vec![name]),
        1 => prop::collection::vec(select(&NAMES[..]), 0..3),
    ];
    let field = (
        select(&["metadata.name", "metadata.name", "spec.x", "bad key!", ""][..]),
        prop_oneof![20 => select(&["In", "NotIn"][..]), 1 => select(&["Exists", "in"][..])],
        values,
    );
    let field = field.prop_map(
        |(key, operator, values)| json!({"key": key, "operator": operator, "values": values}),
    );
    let term = (
        prop::collection::vec(expression, 0..3),
        prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(field, 0..3)],
    );
    let term = term
        .prop_map(|(labels, fields)| json!({"matchExpressions": labels, "matchFields": fields}));
    prop::collection::vec(term, 0..4).prop_map(|terms| json!({"nodeSelectorTerms": terms}))
}

fn topology() -> impl Strategy<Value = Value> {
    let values = prop_oneof![
        20 => prop::collection::vec(value(), 1..4),
        1 => Just(Vec::new()),
    ];
    let entry = (key(), values).prop_map(|(key, values)| json!({"key": key, "values": values}));
    let term = prop::collection::vec(entry, 0..3)
        .prop_map(|entries| json!({"matchLabelExpressions": entries}));
    prop::collection::vec(term, 0..4).prop_map(Value::from)
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    T::deserialize(value).unwrap()
}

/// The rules once more, on the JSON as it stands. `None` is an error.
mod rules {
    use super::{Map, Value};

    pub(super) fn label_selector(selector: &Value, labels: &Map) -> Option<bool> {
        let match_labels = selector["matchLabels"].as_object().unwrap();
        let expressions = list(&selector["matchExpressions"]);
        let is_known = |e: &Value| !matches!(text(&e["operator"]), "Gt" | "Lt");
        let is_valid = match_labels
            .iter()
            .all(|(key, value)| is_key(key) && is_value(text(value)))
            && expressions
                .iter()
                .all(|e| is_known(e) && is_valid_expression(e));
        let holds = match_labels
            .iter()
            .all(|(key, value)| labels.get(key).map(String::as_str) == Some(text(value)))
            && expressions.iter().all(|e| holds(e, labels));
        is_valid.then_some(holds)
    }

    pub(super) fn node_selector(selector: &Value, labels: &Map, name: &str) -> Option<bool> {
        let mut some_error = false;
        for term in list(&selector["nodeSelectorTerms"]) {
            let (expressions, fields) =
                (list(&term["matchExpressions"]), list(&term["matchFields"]));
            if !expressions.iter().all(is_valid_expression) || !fields.iter().all(is_valid_field) {
                some_error = true;
            } else if !(expressions.is_empty() && fields.is_empty())
                && expressions.iter().all(|e| holds(e, labels))
                && (name.is_empty() || fields.iter().all(|f| field_holds(f, name)))
            {
                return Some(true);
            }
        }
        (!some_error).then_some(false)
    }

    pub(super) fn topology(terms: &Value, labels: &Map) -> bool {
        list(terms).is_empty()
            || list(terms).iter().any(|term| {
                let entries = list(&term["matchLabelExpressions"]);
                !entries.is_empty()
                    && entries.iter().all(|entry| {
                        let values = list(&entry["values"]);
                        is_key(text(&entry["key"]))
                            && values.iter().all(|value| is_value(text(value)))
                            && values.iter().any(|value| {
                                labels.get(text(&entry["key"])).map(String::as_str)
                                    == value.as_str()
                            })
                    })
            })
    }

    fn is_valid_expression(e: &Value) -> bool {
        let values = list(&e["values"]);
        let count_fits = match text(&e["operator"]) {
            "In" | "NotIn" => !values.is_empty(),
            "Exists" | "DoesNotExist" => values.is_empty(),
            "Gt" | "Lt" => values.len() == 1 && integer(text(&values[0])).is_some(),
            _ => false,
        };
        count_fits && is_key(text(&e["key"])) && values.iter().all(|value| is_value(text(value)))
    }

    fn is_valid_field(field: &Value) -> bool {
        matches!(text(&field["operator"]), "In" | "NotIn") && list(&field["values"]).len() == 1
    }

    fn holds(e: &Value, labels: &Map) -> bool {
        let label = labels.get(text(&e["key"]));
        let values: Vec<&str> = list(&e["values"]).iter().map(text).collect();
        let number = label.and_then(|label| integer(label));
        let bound = values.first().and_then(|value| integer(value));
        match text(&e["operator"]) {
            "In" => label.is_some_and(|label| values.contains(&label.as_str())),
            "NotIn" => label.is_none_or(|label| !values.contains(&label.as_str())),
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            "Gt" => number
                .zip(bound)
                .is_some_and(|(number, bound)| number > bound),
            "Lt" => number
                .zip(bound)
                .is_some_and(|(number, bound)| number < bound),
            _ => false,
        }
    }

    fn field_holds(field: &Value, name: &str) -> bool {
        let found = if field["key"] == "metadata.name" {
            name
        } else {
            ""
        };
        (field["values"][0] == found) == (field["operator"] == "In")
    }

    /// Digits after an optional sign, within 64 bits.
    fn integer(text: &str) -> Option<i128> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || digits.len() > 30 {
            return None;
        }
        let size: i128 = digits
            .bytes()
            .fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'));
        let number = if text.starts_with('-') { -size } else { size };
        (-(1 << 63)..1 << 63).contains(&number).then_some(number)
    }

    pub(super) fn is_key(key: &str) -> bool {
        match key.split('/').collect::<Vec<_>>()[..] {
            [name] => is_name(name),
            [prefix, name] => is_name(name) && is_subdomain(prefix),
            _ => false,
        }
    }

    pub(super) fn is_value(value: &str) -> bool {
        value.is_empty() || is_name(value)
    }

    fn is_name(name: &str) -> bool {
        let bytes = name.as_bytes();
        (1..=63).contains(&bytes.len())
            && bytes[0].is_ascii_alphanumeric()
            && bytes[bytes.len() - 1].is_ascii_alphanumeric()
            && bytes
                .iter()
                .all(|&b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    }

    fn is_subdomain(prefix: &str) -> bool {
        let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        prefix.len() <= 253
            && prefix.split('.').all(|part| {
                let part = part.as_bytes();
                !part.is_empty()
                    && is_inner(part[0])
                    && is_inner(part[part.len() - 1])
                    && part.iter().all(|&b| is_inner(b) || b == b'-')
            })
    }

    fn text(value: &Value) -> &str {
        value.as_str().unwrap()
    }

    fn list(value: &Value) -> &[Value] {
        value.as_array().unwrap()
    }
}
