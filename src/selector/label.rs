//! Label selectors, compiled.

use std::fmt;

use super::parse::{LABEL_OPERATORS, Parser};
use super::requirement::NumberMemo;
use super::{Labels, Requirement, SelectorError, Unmet};
use crate::api::LabelSelector;

/// A label selector, checked once and matched often.
///
/// It matches labels that satisfy all its requirements; without requirements
/// (`{}`) it matches everything. A missing selector also matches everything,
/// but is another thing: keep an `Option` of this type for it.
///
/// Prints as upstream's `labels.Selector` does: requirements in order of their
/// keys, joined by commas.
///
/// Follows `LabelSelectorAsSelector` (apimachinery) of Kubernetes 1.36.
///
/// # Differences
/// - All mistakes are reported; upstream stops at the first bad requirement.
/// - Requirements with one key print in the order written, `matchLabels`
///   before `matchExpressions`; upstream's order is undefined among them when
///   there are many.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::LabelSelector;
/// use pvbind::selector::CompiledLabelSelector;
///
/// let written: LabelSelector = serde_json::from_str(
///     r#"{"matchLabels": {"tier": "1"},
///         "matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]}"#,
/// )?;
/// let selector = CompiledLabelSelector::compile(&written)?;
/// assert_eq!(selector.to_string(), "!disk,tier=1");
/// assert!(selector.matches(&BTreeMap::from([("tier", "1")])));
/// assert!(!selector.matches(&BTreeMap::from([("tier", "1"), ("disk", "")])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompiledLabelSelector {
    /// INVARIANT (by key): in order of their keys, equal keys as written.
    requirements: Box<[Requirement]>,
}

impl CompiledLabelSelector {
    /// Checks a selector and makes it ready for matching.
    ///
    /// # Errors
    /// Lists every mistake with its place: an operator that is not known, a
    /// key or value that breaks the label syntax, `In` or `NotIn` without
    /// values, `Exists` or `DoesNotExist` with values.
    ///
    /// Costs time in proportion to the selector's size, and its logarithm for
    /// sorting.
    ///
    /// ```
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::CompiledLabelSelector;
    /// // Empty is not a mistake: it matches everything.
    /// assert!(CompiledLabelSelector::compile(&LabelSelector::default())?.is_empty());
    /// let written: LabelSelector =
    ///     serde_json::from_str(r#"{"matchExpressions": [{"key": "disk", "operator": "In"}]}"#)?;
    /// assert_eq!(
    ///     CompiledLabelSelector::compile(&written).unwrap_err().to_string(),
    ///     "matchExpressions[0].values: `In` needs at least one value",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    // INVARIANT (by key): upheld here, the only constructor beside the empty one.
    pub fn compile(selector: &LabelSelector) -> Result<Self, SelectorError> {
        let mut parser = Parser::default();
        let mut requirements = Vec::new();
        for (key, value) in selector.match_labels.iter().flatten() {
            requirements.push(parser.match_label(key, value));
        }
        for (index, written) in selector.match_expressions.iter().flatten().enumerate() {
            requirements.extend(parser.requirement(
                format_args!("matchExpressions[{index}]"),
                written.into(),
                LABEL_OPERATORS,
            ));
        }
        if let Some(error) = SelectorError::from_mistakes(parser.mistakes) {
            return Err(error);
        }
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        Ok(CompiledLabelSelector {
            requirements: requirements.into(),
        })
    }

    /// Whether the labels satisfy every requirement.
    ///
    /// Allocates nothing. Costs one look-up for each requirement, up to the
    /// first that fails.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::CompiledLabelSelector;
    /// let written: LabelSelector = serde_json::from_value(serde_json::json!({
    ///     "matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}]}))?;
    /// let selector = CompiledLabelSelector::compile(&written)?;
    /// assert!(!selector.matches(&BTreeMap::from([("disk", "hdd")])));
    /// assert!(selector.matches(&BTreeMap::from([("disk", "ssd")])));
    /// // A volume without the label is not in the list either.
    /// assert!(selector.matches(&BTreeMap::from([("zone", "a")])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        self.first_unmet(labels).is_none()
    }

    /// The first requirement that the labels do not satisfy, in order of the
    /// keys; `None` if the selector matches.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::CompiledLabelSelector;
    /// let written: LabelSelector = serde_json::from_str(r#"{"matchLabels": {"zone": "a", "disk": "ssd"}}"#)?;
    /// let selector = CompiledLabelSelector::compile(&written)?;
    /// let labels = BTreeMap::from([("disk", "hdd")]);
    /// assert_eq!(selector.first_unmet(&labels).unwrap().key(), "disk");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first_unmet(&self, labels: &(impl Labels + ?Sized)) -> Option<&Requirement> {
        self.requirements
            .iter()
            .find(|requirement| !requirement.holds(labels))
    }

    /// Every requirement that the labels do not satisfy, in order of the keys,
    /// with the value found instead; nothing if the selector matches.
    ///
    /// Costs what [`matches`](Self::matches) costs for every requirement.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::CompiledLabelSelector;
    /// let written: LabelSelector = serde_json::from_str(r#"{"matchLabels": {"zone": "a", "disk": "ssd"}}"#)?;
    /// let selector = CompiledLabelSelector::compile(&written)?;
    /// let labels = BTreeMap::from([("disk", "hdd")]);
    /// let reasons: Vec<_> = selector.unmet(&labels).map(|unmet| unmet.to_string()).collect();
    /// assert_eq!(
    ///     reasons,
    ///     ["`disk=ssd` fails: the label is `hdd`", "`zone=a` fails: there is no such label"],
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unmet<'a>(
        &'a self,
        labels: &'a (impl Labels + ?Sized),
    ) -> impl Iterator<Item = Unmet<'a>> {
        let mut numbers = NumberMemo::default();
        self.requirements
            .iter()
            .filter_map(move |requirement| requirement.unmet(labels, &mut numbers))
    }

    /// The requirements in order of their keys.
    ///
    /// ```
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::CompiledLabelSelector;
    /// let written: LabelSelector = serde_json::from_value(serde_json::json!({
    ///     "matchLabels": {"zone": "a"},
    ///     "matchExpressions": [{"key": "disk", "operator": "Exists"}]}))?;
    /// let selector = CompiledLabelSelector::compile(&written)?;
    /// // The labels that a volume made for this claim would need.
    /// let keys: Vec<_> = selector.requirements().iter().map(|one| one.key()).collect();
    /// assert_eq!(keys, ["disk", "zone"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether there are no requirements, so that everything matches.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::selector::CompiledLabelSelector;
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_value(serde_json::json!({"spec": {"selector": {"matchLabels": {}}}}))?;
    /// let selector = claim.spec.selector.as_ref().map(CompiledLabelSelector::compile).transpose()?;
    /// // It asks for nothing, but it is there: an external provisioner refuses the claim.
    /// assert!(selector.unwrap().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl fmt::Display for CompiledLabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn compile(selector: serde_json::Value) -> Result<CompiledLabelSelector, SelectorError> {
        CompiledLabelSelector::compile(&serde_json::from_value(selector).unwrap())
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> serde_json::Value {
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
    }

    #[test]
    fn an_empty_selector_matches_everything() {
        for empty in [
            json!({}),
            json!({"matchLabels": {}, "matchExpressions": []}),
        ] {
            let selector = compile(empty).unwrap();
            assert!(selector.is_empty());
            assert!(selector.matches(&BTreeMap::from([("a", "b")])));
            assert!(selector.matches(&None::<BTreeMap<String, String>>));
            assert_eq!(selector.to_string(), "");
        }
    }

    #[test]
    fn each_operator_holds_as_its_table_says() {
        let one = BTreeMap::from([("disk", "ssd")]);
        let none = BTreeMap::<&str, &str>::new();
        for (operator, values, with_ssd, without) in [
            ("In", &["hdd", "ssd"][..], true, false),
            ("In", &["hdd"], false, false),
            ("NotIn", &["hdd", "ssd"], false, true),
            ("NotIn", &["hdd"], true, true),
            ("Exists", &[], true, false),
            ("DoesNotExist", &[], false, true),
        ] {
            let selector = compile(expression("disk", operator, values)).unwrap();
            assert_eq!(selector.matches(&one), with_ssd, "{selector}");
            assert_eq!(selector.matches(&none), without, "{selector}");
        }
    }

    #[test]
    fn an_empty_value_is_a_value() {
        let selector = compile(json!({"matchLabels": {"disk": ""}})).unwrap();
        assert!(selector.matches(&BTreeMap::from([("disk", "")])));
        assert!(!selector.matches(&BTreeMap::<&str, &str>::new()));
        assert_eq!(selector.to_string(), "disk=");
    }

    #[test]
    fn it_prints_as_upstream_does() {
        let selector = compile(json!({
            "matchLabels": {"tier": "c", "rank": ""},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["c", "1", "", "1"]},
                {"key": "zone", "operator": "NotIn", "values": ["a"]},
                {"key": "disk", "operator": "Exists"},
                {"key": "rank", "operator": "DoesNotExist"},
            ],
        }));
        assert_eq!(
            selector.unwrap().to_string(),
            "disk,rank=,!rank,tier=c,tier in (,1,1,c),zone notin (a)"
        );
    }

    #[test]
    fn the_first_unmet_requirement_is_the_first_by_key() {
        let selector = compile(json!({"matchLabels": {"b": "1", "a": "1", "c": "1"}})).unwrap();
        let labels = BTreeMap::from([("c", "2"), ("a", "1")]);
        assert_eq!(selector.first_unmet(&labels).unwrap().key(), "b");
        let unmet: Vec<_> = selector.unmet(&labels).map(|u| u.to_string()).collect();
        assert_eq!(
            unmet,
            [
                "`b=1` fails: there is no such label",
                "`c=1` fails: the label is `2`"
            ]
        );
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let error = compile(json!({
            "matchLabels": {"a/b/c": "x", "ok": "-x"},
            "matchExpressions": [
                {"key": "ok", "operator": "in"},
                {"key": "ok"},
                {"operator": "Exists", "values": ["a", "b"]},
                {"key": "ok", "operator": "NotIn", "values": []},
                {"key": "ok", "operator": "In", "values": ["a", "bad value!"]},
                {"key": "ok", "operator": "Gt", "values": ["5"]},
            ],
        }))
        .unwrap_err();
        let mistakes: Vec<_> = error.mistakes().iter().map(|m| m.to_string()).collect();
        assert_eq!(
            mistakes,
            [
                "matchLabels: `a/b/c` is not a label key: the key has more than one `/`",
                "matchLabels[ok]: `-x` is not a label value: the value does not begin and end with \
                 a letter or digit",
                "matchExpressions[0].operator: `in` is not one of the operators `In`, `NotIn`, \
                 `Exists`, `DoesNotExist`",
                "matchExpressions[1].operator: `` is not one of the operators `In`, `NotIn`, \
                 `Exists`, `DoesNotExist`",
                "matchExpressions[2].key: `` is not a label key: the name is empty",
                "matchExpressions[2].values: `Exists` takes no values, found `a`, `b`",
                "matchExpressions[3].values: `NotIn` needs at least one value",
                "matchExpressions[4].values[1]: `bad value!` is not a label value: the value has \
                 ` ` at byte 3, which is not a letter, digit, `-`, `_` or `.`",
                "matchExpressions[5].operator: `Gt` is not one of the operators `In`, `NotIn`, \
                 `Exists`, `DoesNotExist`",
            ]
        );
    }
}
