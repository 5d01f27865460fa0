//! Selectors.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use crate::api::{
    LabelSelector, LabelSelectorRequirement, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, TopologySelectorLabelRequirement, TopologySelectorTerm,
};

part! { total LabelSelector = meta::LabelSelector {
    match_labels = "matchLabels": optional,
    match_expressions = "matchExpressions": optional,
} }
public_part!(LabelSelector = meta::LabelSelector);

part! { total LabelSelectorRequirement = meta::LabelSelectorRequirement {
    key = "key": required,
    operator = "operator": required,
    values = "values": optional,
} }

part! { total NodeSelector = core::NodeSelector {
    node_selector_terms = "nodeSelectorTerms": required,
} }
public_part!(NodeSelector = core::NodeSelector);

part! { total NodeSelectorTerm = core::NodeSelectorTerm {
    match_expressions = "matchExpressions": optional,
    match_fields = "matchFields": optional,
} }
public_part!(NodeSelectorTerm = core::NodeSelectorTerm);

part! { total NodeSelectorRequirement = core::NodeSelectorRequirement {
    key = "key": required,
    operator = "operator": required,
    values = "values": optional,
} }

part! { total TopologySelectorTerm = core::TopologySelectorTerm {
    match_label_expressions = "matchLabelExpressions": optional,
} }
public_part!(TopologySelectorTerm = core::TopologySelectorTerm);

part! { total TopologySelectorLabelRequirement = core::TopologySelectorLabelRequirement {
    key = "key": required,
    values = "values": required,
} }
