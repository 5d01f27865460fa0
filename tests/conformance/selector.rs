//! label_selector, node_selector, topology_terms: plain and compiled forms.

use std::collections::BTreeMap;

use pvbind::api::{LabelSelector, NodeSelector, TopologySelectorTerm};
use pvbind::selector::{
    CompiledLabelSelector, CompiledNodeSelector, CompiledTopology, label_selector_matches,
    node_selector_matches, topology_terms_match,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::CaseOutcome;

pub(crate) fn label(case: &Value) -> Result<CaseOutcome, String> {
    let selector: LabelSelector = field(case, "selector")?;
    let labels: BTreeMap<String, String> = field(case, "labels")?;
    let plain = label_selector_matches(&selector, &labels);
    agree(case, plain.as_ref().ok().copied(), "plain form")?;
    let compiled = CompiledLabelSelector::compile(&selector);
    let answer = compiled.as_ref().map(|compiled| compiled.matches(&labels));
    agree(case, answer.ok(), "compiled form")?;
    // Informative in the vectors, and worth having: people know this form.
    if let (Ok(compiled), Some(want)) = (&compiled, case["string"].as_str())
        && compiled.to_string() != want
    {
        return Err(format!("prints `{compiled}`, upstream `{want}`"));
    }
    Ok(CaseOutcome::default())
}

pub(crate) fn node(case: &Value) -> Result<CaseOutcome, String> {
    let selector: NodeSelector = field(case, "selector")?;
    let labels: BTreeMap<String, String> = field(case, "labels")?;
    let name = case["nodeName"].as_str();
    let plain = node_selector_matches(&selector, &labels, name);
    agree(case, plain.ok(), "plain form")?;
    let compiled = CompiledNodeSelector::compile(&selector);
    agree(case, compiled.matches(&labels, name).ok(), "compiled form")?;
    Ok(CaseOutcome::default())
}

pub(crate) fn topology(case: &Value) -> Result<CaseOutcome, String> {
    let terms: Vec<TopologySelectorTerm> = field(case, "terms")?;
    let labels: BTreeMap<String, String> = field(case, "labels")?;
    agree(
        case,
        Some(topology_terms_match(&terms, &labels)),
        "plain form",
    )?;
    let compiled = CompiledTopology::compile(&terms);
    agree(case, Some(compiled.matches(&labels)), "compiled form")?;
    Ok(CaseOutcome::default())
}

/// The answer is upstream's; `None` stands for an error.
fn agree(case: &Value, answer: Option<bool>, form: &str) -> Result<(), String> {
    let want = case["want"].as_bool();
    if want.is_none() && !case["error"].is_string() {
        return Err("the case has neither `want` nor `error`".to_owned());
    }
    if answer == want {
        Ok(())
    } else {
        Err(format!(
            "{form}: {answer:?}, want {want:?}, error {}",
            case["error"]
        ))
    }
}

fn field<T: DeserializeOwned>(case: &Value, name: &str) -> Result<T, String> {
    match &case[name] {
        Value::Null => T::deserialize(Value::Object(Default::default())),
        value => T::deserialize(value),
    }
    .map_err(|error| format!("{name}: {error}"))
}
