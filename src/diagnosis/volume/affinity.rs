//! Volumes that no node can reach.

use super::Examination;
use crate::api::{NodeSelector, NodeSelectorOperator};
use crate::diagnosis::{Finding, Remedy, VolumeFacts};
use crate::selector::CompiledNodeSelector;
use crate::view::DiagnosticView;

/// Labels that nodes carried before Kubernetes 1.17, and what took their place.
const OLD_LABELS: [(&str, &str); 5] = [
    (
        "failure-domain.beta.kubernetes.io/zone",
        crate::api::names::ZONE_LABEL,
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        crate::api::names::REGION_LABEL,
    ),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    (
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
    ),
];

/// So many values are looked up for hints.
const VALUES: usize = 100;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// That no node can reach the volume, and what may have been meant.
    pub(super) fn unreachable(&self) -> Vec<Finding> {
        let nodes = &self.survey.nodes;
        let Some(required) = self.volume.required_node_affinity() else {
            return Vec::new();
        };
        if !self.survey.known.nodes || nodes.is_empty() || nodes.any_reaches(required) {
            return Vec::new();
        }
        let compiled = CompiledNodeSelector::compile(required);
        let example = nodes.first().map(|node| {
            let terms = compiled.explain(node.metadata.labels(), None);
            terms.iter().map(ToString::to_string).collect()
        });
        let facts = VolumeFacts::Unreachable {
            nodes: nodes.len(),
            example: example.unwrap_or_default(),
        };
        let mut findings = vec![Finding::from(facts).with(again())];
        findings.extend(self.node_name(required));
        findings.extend(self.old_label(required));
        findings
    }

    /// A value that is the name of a node, whose label is another.
    fn node_name(&self, required: &NodeSelector) -> Option<Finding> {
        asked(required).find_map(|(key, value)| {
            let node = self.survey.nodes.get(value)?;
            let has = node.metadata.labels().get(key);
            if has.map(String::as_str) == Some(value) {
                return None;
            }
            let facts = VolumeFacts::AffinityNodeName {
                label: key.to_owned(),
                node: value.to_owned(),
                has: has.cloned(),
            };
            let right = match has {
                Some(has) => format!("the value `{has}`"),
                None => "an affinity that holds".to_owned(),
            };
            Some(Finding::from(facts).with(Remedy::new(
                format!("delete the volume's object and create it again with {right}"),
                "with policy Retain the data stays; while the volume is bound, its object goes \
                 only after its claim",
            )))
        })
    }

    /// An old label where nodes carry the new one.
    fn old_label(&self, required: &NodeSelector) -> Option<Finding> {
        asked(required).find_map(|(key, value)| {
            let (old, new) = OLD_LABELS.into_iter().find(|(old, _)| *old == key)?;
            let nodes = self.survey.nodes.with_label(new, value);
            if nodes == 0 {
                return None;
            }
            let facts = VolumeFacts::AffinityOldLabel {
                old: old.to_owned(),
                new: new.to_owned(),
                nodes,
            };
            Some(Finding::from(facts).with(again()))
        })
    }
}

/// The labels and values that the affinity asks for.
fn asked(required: &NodeSelector) -> impl Iterator<Item = (&str, &str)> {
    let terms = required.node_selector_terms.iter().flatten();
    let expressions = terms.flat_map(|term| term.match_expressions.iter().flatten());
    let listing = expressions
        .filter(|expression| expression.operator == Some(NodeSelectorOperator::In))
        .flat_map(|expression| {
            let key = expression.key.as_deref().unwrap_or_default();
            let values = expression.values.iter().flatten();
            values.map(move |value| (key, value.as_str()))
        });
    listing.take(VALUES)
}

fn again() -> Remedy {
    Remedy::new(
        "label the nodes, or delete the volume's object and create it again with an affinity that \
         holds",
        "with policy Retain the data stays; a bound claim is lost until the volume is back",
    )
}
