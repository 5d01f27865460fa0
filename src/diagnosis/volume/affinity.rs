//! Volumes that no node can reach.

use serde_json::json;

use super::Examination;
use crate::api::{
    NodeSelector, NodeSelectorOperator, PersistentVolumeReclaimPolicy as Policy, VolumePhase,
};
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

const HOST_LABEL: &str = "kubernetes.io/hostname";

/// So many values of nodes are told.
const THERE_ARE: usize = 10;

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
        let mut keys: Vec<_> = asked(required).map(|(key, _)| key).collect();
        keys.dedup();
        let there_are = match keys.as_slice() {
            [key] if nodes.len() > 1 => {
                let values = nodes.values(key).take(THERE_ARE).map(str::to_owned);
                Some(((*key).to_owned(), values.collect()))
            }
            _ => None,
        };
        let facts = VolumeFacts::Unreachable {
            there_are,
            nodes: nodes.len(),
            example: example.unwrap_or_default(),
            lost_node: self.lost_node(required),
        };
        if let VolumeFacts::Unreachable {
            lost_node: Some(lost),
            ..
        } = &facts
        {
            let remedies = without_node(lost);
            return vec![Finding::from(facts).with_all(remedies)];
        }
        let own = keys.iter().find(|key| !is_of_cluster(key));
        let label = own.map(|key| {
            Remedy::new(
                format!("if the nodes lack label `{key}` by mistake, set it"),
                "pods and other volumes go by the label as well",
            )
        });
        let finding = Finding::from(facts).with(self.again("an affinity that some node satisfies"));
        let mut findings = vec![finding.with_all(label)];
        findings.extend(self.node_name(required));
        findings.extend(self.old_label(required));
        findings
    }

    /// The node that the volume's data is on, if it is gone: a volume that lies
    /// on a node, and asks for one that there is not.
    fn lost_node(&self, required: &NodeSelector) -> Option<String> {
        if !matches!(self.volume.source(), Some("local" | "hostPath")) {
            return None;
        }
        let nodes = &self.survey.nodes;
        let mut hosts = asked(required).filter(|(key, _)| *key == HOST_LABEL);
        let is_there =
            |name: &str| nodes.get(name).is_some() || nodes.with_label(HOST_LABEL, name) > 0;
        let (_, first) = hosts.next()?;
        let are_gone = !is_there(first) && hosts.all(|(_, host)| !is_there(host));
        are_gone.then(|| first.to_owned())
    }

    /// An affinity cannot be changed in general: the object is to be made anew, and its data
    /// is not to go with it.
    fn again(&self, right: &str) -> Remedy {
        let policy = self.volume.reclaim_policy();
        let first = match policy {
            Some(Policy::Retain) | None => "",
            Some(_) => "set the policy to Retain, then ",
        };
        let is_bound = self.is_phase(&VolumePhase::Bound);
        Remedy::new(
            format!("{first}delete the volume's object and create it again with {right}"),
            match is_bound {
                true => {
                    "with policy Retain the data stays in the backend; the object goes only after \
                     its claim, which is to be created again too"
                }
                false => "with policy Retain the data stays in the backend",
            },
        )
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
            Some(Finding::from(facts).with(self.again(&right)))
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
            let remedy = Remedy::new(
                "write the new labels into the volume's node affinity",
                "nothing else of a node affinity can be changed",
            );
            let renewed = renewed(required);
            // What else it asks for may be nowhere.
            let is_enough = self.survey.nodes.any_reaches(&renewed);
            let patch = self.patch(json!({"spec": {"nodeAffinity": {"required": renewed}}}));
            let remedy = match is_enough {
                true => remedy.patching(patch),
                false => remedy,
            };
            Some(Finding::from(facts).with(remedy))
        })
    }
}

/// What is left of a volume whose node is gone.
fn without_node(node: &str) -> [Remedy; 2] {
    [
        Remedy::new(
            format!("bring node `{node}` back under that name"),
            "the volume works again, if the node's disk has been kept",
        ),
        Remedy::new(
            "if the node does not come back, delete the claim and the volume's object, and restore \
             the data from a copy",
            "the data was on that node alone; an object with another affinity would pass an empty \
             directory off as it",
        ),
    ]
}

/// The affinity with the new labels in place of the old ones: an update that API
/// servers admit.
///
/// Follows `validatePvNodeAffinity` of Kubernetes 1.36.
fn renewed(required: &NodeSelector) -> NodeSelector {
    let mut renewed = required.clone();
    let terms = renewed.node_selector_terms.iter_mut().flatten();
    for expression in terms.flat_map(|term| term.match_expressions.iter_mut().flatten()) {
        let key = expression.key.as_deref().unwrap_or_default();
        if let Some((_, new)) = OLD_LABELS.into_iter().find(|(old, _)| *old == key) {
            expression.key = Some(new.to_owned());
        }
    }
    renewed
}

/// Whether a label is the cluster's own, which nobody should set by hand: the
/// node or the cloud provider would set it back.
fn is_of_cluster(label: &str) -> bool {
    let domain = label.split('/').next().unwrap_or_default();
    ["kubernetes.io", "k8s.io"]
        .iter()
        .any(|own| domain == *own || domain.ends_with(&format!(".{own}")))
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
