//! What must hold of every selector.

use std::collections::BTreeMap;

use proptest::prelude::*;
use pvbind::api::LabelSelector;
use pvbind::selector::{CompiledLabelSelector, label_selector_matches};

proptest! {
    #[test]
    fn compiled_label_selectors_answer_as_the_plain_form(
        wanted in prop::collection::btree_map("[ab!]", "[ab]?", 0..3),
        labels in prop::collection::btree_map("[ab!]", "[ab]?", 0..3),
    ) {
        let labels: BTreeMap<String, String> = labels;
        let selector = LabelSelector { match_labels: Some(wanted), ..LabelSelector::default() };
        let compiled = CompiledLabelSelector::compile(&selector);
        let answer = compiled.map(|compiled| compiled.matches(&labels));
        prop_assert_eq!(answer, label_selector_matches(&selector, &labels));
    }
}
