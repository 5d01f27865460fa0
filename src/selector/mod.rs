//! Label, node and topology selectors: what they mean, compiled once and
//! matched often.
//!
//! | selector | stands on | written as | compiled | plain form |
//! | --- | --- | --- | --- | --- |
//! | label | a claim | [`LabelSelector`] | [`CompiledLabelSelector`] | [`label_selector_matches`] |
//! | node | a volume's or pod's node affinity | [`NodeSelector`] | [`CompiledNodeSelector`] | [`node_selector_matches`] |
//! | topology | a class's `allowedTopologies` | [`TopologySelectorTerm`]s | [`CompiledTopology`] | [`topology_terms_match`] |
//!
//! The plain forms are the definition: each is the rule, written down once,
//! and checks the whole selector on every call. The compiled forms give the
//! same answers, are checked once, allocate nothing to match, and can say
//! *why* a selector does not match ([`Unmet`], [`TermOutcome`]).
//!
//! # Missing and empty
//! A missing selector is `None` and is not seen by this module; what it means
//! depends on where it is missing. An empty one differs from kind to kind:
//!
//! | | missing | empty |
//! | --- | --- | --- |
//! | label selector on a claim | places no condition | `{}` matches every volume, and yet counts as set: an external provisioner refuses the claim |
//! | volume's node affinity | every node is accepted, and so without `required` | `required` without terms accepts no node |
//! | a term of a node selector | | matches no node |
//! | `allowedTopologies` | every node is allowed | no terms: every node is allowed |
//! | a term of `allowedTopologies` | | matches no node |
//!
//! # Errors
//! A [`SelectorError`] lists every mistake with its place. A label selector
//! with a mistake is an error as a whole; in a node selector a term with a
//! mistake is skipped, and the error shows only if no other term matches; in
//! `allowedTopologies` such a term just matches nothing.
//!
//! ```
//! use std::collections::BTreeMap;
//! use pvbind::api::LabelSelector;
//! use pvbind::selector::CompiledLabelSelector;
//!
//! let written: LabelSelector = serde_json::from_str(
//!     r#"{"matchLabels": {"disk": "ssd"},
//!         "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["slow"]}]}"#,
//! )?;
//! let selector = CompiledLabelSelector::compile(&written)?;
//! let mut labels = BTreeMap::from([("disk".to_owned(), "ssd".to_owned())]);
//! assert!(selector.matches(&labels));
//!
//! labels.insert("tier".to_owned(), "slow".to_owned());
//! let reason = selector.unmet(&labels).next().unwrap();
//! assert_eq!(reason.to_string(), "`tier notin (slow)` fails: the label is `slow`");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`LabelSelector`]: crate::api::LabelSelector
//! [`NodeSelector`]: crate::api::NodeSelector
//! [`TopologySelectorTerm`]: crate::api::TopologySelectorTerm

mod labels;
pub use labels::Labels;

mod syntax;
pub use syntax::{LabelPart, LabelRule, LabelSyntaxError, check_label_key, check_label_value};

mod error;
pub use error::{InvalidRequirement, SelectorError, SelectorProblem};

mod requirement;
pub use requirement::{Condition, FieldRequirement, Requirement};

mod parse;

mod explain;
pub use explain::{TermOutcome, Unmet};

mod label;
pub use label::CompiledLabelSelector;

mod term;
pub use term::CompiledTerm;

mod node;
pub use node::CompiledNodeSelector;

mod topology;
pub use topology::CompiledTopology;

mod plain;
pub use plain::{
    label_selector_matches, node_selector_matches, topology_terms_match, volume_affinity_accepts,
};
