//! Selectors as they are written. The module [`selector`](crate::selector)
//! says what they mean.

use std::collections::BTreeMap;

object! {
    /// A label selector (meta/v1): every entry of both lists must hold.
    ///
    /// A missing selector and an empty one (`{}`) both match everything, and
    /// yet are different objects: an external provisioner refuses a claim
    /// whose selector is set at all. So fields of this type are `Option`s.
    ///
    /// ```
    /// use pvbind::api::{LabelSelector, LabelSelectorOperator};
    /// let selector: LabelSelector = serde_json::from_str(
    ///     r#"{"matchLabels": {"disk": "ssd"},
    ///         "matchExpressions": [{"key": "tier", "operator": "In", "values": ["1", "2"]}]}"#)?;
    /// let expressions = selector.match_expressions.as_deref().unwrap();
    /// assert_eq!(expressions[0].operator, Some(LabelSelectorOperator::In));
    /// // What it means is another module's matter.
    /// let compiled = pvbind::selector::CompiledLabelSelector::compile(&selector)?;
    /// assert_eq!(compiled.to_string(), "disk=ssd,tier in (1,2)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct LabelSelector("a label selector") {
        /// Labels that must be there with these values.
        match_labels: Option<BTreeMap<String, String>> = "matchLabels",
        /// Requirements that must hold.
        match_expressions: Option<Vec<LabelSelectorRequirement>> = "matchExpressions",
    }
}

object! {
    /// One requirement of a label selector.
    ///
    /// ```
    /// use pvbind::api::{LabelSelectorOperator, LabelSelectorRequirement};
    /// let requirement = LabelSelectorRequirement {
    ///     key: Some("disk".to_owned()),
    ///     operator: Some(LabelSelectorOperator::NotIn),
    ///     values: Some(vec!["hdd".to_owned()]),
    ///     ..LabelSelectorRequirement::default()
    /// };
    /// assert_eq!(
    ///     serde_json::to_string(&requirement)?,
    ///     r#"{"key":"disk","operator":"NotIn","values":["hdd"]}"#,
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct LabelSelectorRequirement("a label selector requirement") {
        /// The key of the label.
        key: Option<String> = "key",
        /// How the label compares with the values.
        operator: Option<LabelSelectorOperator> = "operator",
        /// The values, for `In` and `NotIn`.
        values: Option<Vec<String>> = "values",
    }
}

open_enum! {
    /// The operator of a label selector requirement.
    ///
    /// ```
    /// use pvbind::api::LabelSelectorOperator;
    /// assert_eq!(LabelSelectorOperator::from("In"), LabelSelectorOperator::In);
    /// // Case counts.
    /// assert!(LabelSelectorOperator::from("in").is_unknown());
    /// ```
    pub enum LabelSelectorOperator {
        /// The label is there and has one of the values.
        In = "In",
        /// The label is not there, or has none of the values.
        NotIn = "NotIn",
        /// The label is there.
        Exists = "Exists",
        /// The label is not there.
        DoesNotExist = "DoesNotExist",
    }
}

object! {
    /// A node selector (core/v1): some term must hold. Without terms it
    /// matches no node.
    ///
    /// ```
    /// use pvbind::api::{NodeSelector, NodeSelectorOperator};
    /// let selector: NodeSelector = serde_json::from_str(
    ///     r#"{"nodeSelectorTerms": [{"matchExpressions": [
    ///         {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}]}]}"#)?;
    /// let terms = selector.node_selector_terms.unwrap();
    /// let requirements = terms[0].match_expressions.as_deref().unwrap();
    /// assert_eq!(requirements[0].operator, Some(NodeSelectorOperator::In));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct NodeSelector("a node selector") {
        /// The terms, of which one must hold.
        node_selector_terms: Option<Vec<NodeSelectorTerm>> = "nodeSelectorTerms",
    }
}

object! {
    /// A term of a node selector: every requirement must hold. A term without
    /// requirements matches no node.
    ///
    /// ```
    /// use pvbind::api::NodeSelectorTerm;
    /// let term: NodeSelectorTerm = serde_json::from_str(
    ///     r#"{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}"#)?;
    /// assert!(term.match_expressions.is_none());
    /// assert_eq!(term.match_fields.unwrap()[0].key.as_deref(), Some("metadata.name"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct NodeSelectorTerm("a node selector term") {
        /// Requirements on the node's labels.
        match_expressions: Option<Vec<NodeSelectorRequirement>> = "matchExpressions",
        /// Requirements on the node's fields; the one known is `metadata.name`.
        match_fields: Option<Vec<NodeSelectorRequirement>> = "matchFields",
    }
}

object! {
    /// One requirement of a node selector term.
    ///
    /// ```
    /// use pvbind::api::{NodeSelectorOperator, NodeSelectorRequirement};
    /// let requirement: NodeSelectorRequirement =
    ///     serde_json::from_str(r#"{"key": "rank", "operator": "Gt", "values": ["5"]}"#)?;
    /// assert_eq!(requirement.operator, Some(NodeSelectorOperator::Gt));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct NodeSelectorRequirement("a node selector requirement") {
        /// The key of the label, or the field.
        key: Option<String> = "key",
        /// How the label or field compares with the values.
        operator: Option<NodeSelectorOperator> = "operator",
        /// The values; for `Gt` and `Lt` one integer.
        values: Option<Vec<String>> = "values",
    }
}

open_enum! {
    /// The operator of a node selector requirement.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::NodeSelector;
    /// use pvbind::selector::node_selector_matches;
    /// let matches = |operator: &str, rank: &str| {
    ///     let written: NodeSelector = serde_json::from_value(serde_json::json!({"nodeSelectorTerms": [
    ///         {"matchExpressions": [{"key": "rank", "operator": operator, "values": ["9"]}]}]})).unwrap();
    ///     node_selector_matches(&written, &BTreeMap::from([("rank", rank)]), None)
    /// };
    /// assert_eq!(matches("Gt", "10"), Ok(true)); // as numbers
    /// assert_eq!(matches("Gt", "high"), Ok(false)); // and what is none is not
    /// assert_eq!(matches("Lt", "high"), Ok(false));
    /// assert!(matches("gt", "10").is_err()); // case counts
    /// ```
    pub enum NodeSelectorOperator {
        /// The label is there and has one of the values.
        In = "In",
        /// The label is not there, or has none of the values.
        NotIn = "NotIn",
        /// The label is there.
        Exists = "Exists",
        /// The label is not there.
        DoesNotExist = "DoesNotExist",
        /// The label is an integer greater than the value.
        Gt = "Gt",
        /// The label is an integer less than the value.
        Lt = "Lt",
    }
}

object! {
    /// A term of a class's `allowedTopologies` (core/v1): every entry must hold.
    /// A term without entries matches no node.
    ///
    /// ```
    /// use pvbind::api::StorageClass;
    /// let class: StorageClass = serde_json::from_str(
    ///     r#"{"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]}"#)?;
    /// let terms = class.allowed_topologies.unwrap();
    /// let entry = &terms[0].match_label_expressions.as_deref().unwrap()[0];
    /// assert_eq!(entry.values.as_deref().unwrap(), ["a", "b"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct TopologySelectorTerm("a topology selector term") {
        /// Labels that the node must have with one of the values.
        match_label_expressions: Option<Vec<TopologySelectorLabelRequirement>> = "matchLabelExpressions",
    }
}

object! {
    /// One entry of a topology selector term.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::{TopologySelectorLabelRequirement, TopologySelectorTerm};
    /// use pvbind::selector::CompiledTopology;
    /// let in_zone_a = TopologySelectorLabelRequirement {
    ///     key: Some("topology.kubernetes.io/zone".to_owned()),
    ///     values: Some(vec!["a".to_owned()]),
    ///     ..TopologySelectorLabelRequirement::default()
    /// };
    /// let term = TopologySelectorTerm {
    ///     match_label_expressions: Some(vec![in_zone_a]),
    ///     ..TopologySelectorTerm::default()
    /// };
    /// let topology = CompiledTopology::compile(&[term]);
    /// assert!(topology.matches(&BTreeMap::from([("topology.kubernetes.io/zone", "a")])));
    /// ```
    pub struct TopologySelectorLabelRequirement("a topology selector requirement") {
        /// The key of the node's label.
        key: Option<String> = "key",
        /// The values, one of which the label must have.
        values: Option<Vec<String>> = "values",
    }
}
