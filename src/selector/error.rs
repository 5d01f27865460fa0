//! What is wrong with a selector, and where.

use std::fmt;

use super::LabelSyntaxError;

/// A selector that cannot be read: every mistake in it, in the order in which
/// the selector is written. There is at least one.
///
/// ```
/// use pvbind::api::LabelSelector;
/// use pvbind::selector::CompiledLabelSelector;
///
/// let written: LabelSelector = serde_json::from_str(
///     r#"{"matchExpressions": [{"key": "disk", "operator": "Exists"},
///                              {"key": "bad key!", "operator": "In"}]}"#,
/// )?;
/// let error = CompiledLabelSelector::compile(&written).unwrap_err();
/// assert_eq!(error.mistakes().len(), 2);
/// assert_eq!(
///     error.to_string(),
///     "matchExpressions[1].key: `bad key!` is not a label key: the name has ` ` at byte 3, \
///      which is not a letter, digit, `-`, `_` or `.`; \
///      matchExpressions[1].values: `In` needs at least one value",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SelectorError {
    /// INVARIANT (some mistake): never empty.
    mistakes: Vec<InvalidRequirement>,
}

impl SelectorError {
    /// The error made of these mistakes, or `None` without any.
    // INVARIANT (some mistake): upheld here, the only constructor.
    pub(super) fn from_mistakes(mistakes: Vec<InvalidRequirement>) -> Option<Self> {
        (!mistakes.is_empty()).then_some(SelectorError { mistakes })
    }

    /// The mistakes, in the order in which the selector is written.
    ///
    /// ```
    /// use pvbind::api::LabelSelector;
    /// use pvbind::selector::CompiledLabelSelector;
    /// let written: LabelSelector = serde_json::from_value(serde_json::json!({
    ///     "matchLabels": {"disk": "very fast"},
    ///     "matchExpressions": [{"key": "tier", "operator": "Equals", "values": ["1"]}]}))?;
    /// let error = CompiledLabelSelector::compile(&written).unwrap_err();
    /// // All of them at once, so that nobody mends one only to meet the next.
    /// let places: Vec<_> = error.mistakes().iter().map(|mistake| mistake.place.as_str()).collect();
    /// assert_eq!(places, ["matchLabels[disk]", "matchExpressions[0].operator"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mistakes(&self) -> &[InvalidRequirement] {
        &self.mistakes
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            mistake.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for SelectorError {}

/// One mistake in a selector.
///
/// ```
/// use pvbind::api::LabelSelector;
/// use pvbind::selector::{CompiledLabelSelector, SelectorProblem};
/// let written: LabelSelector = serde_json::from_str(r#"{"matchLabels": {"disk": "-ssd"}}"#)?;
/// let error = CompiledLabelSelector::compile(&written).unwrap_err();
/// let mistake = &error.mistakes()[0];
/// assert_eq!(mistake.place, "matchLabels[disk]");
/// assert!(matches!(&mistake.problem, SelectorProblem::Value { value, .. } if value == "-ssd"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{place}: {problem}")]
#[non_exhaustive]
pub struct InvalidRequirement {
    /// The path of the field from the selector down, such as
    /// `matchExpressions[1].key`, `matchLabels[disk]` (the value of that
    /// label), `nodeSelectorTerms[0].matchFields[0].operator` or
    /// `allowedTopologies[2].matchLabelExpressions[0].values[1]`.
    pub place: String,
    /// What is wrong there.
    pub problem: SelectorProblem,
}

/// What can be wrong with a requirement.
///
/// ```
/// use pvbind::selector::SelectorProblem;
/// let problem = SelectorProblem::NotOneValue { operator: "Gt", values: vec!["1".into(), "2".into()] };
/// assert_eq!(problem.to_string(), "`Gt` takes exactly one value, found `1`, `2`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorProblem {
    /// The operator is missing, or none of those that may stand here.
    #[error("`{operator}` is not one of the operators {}", Quoted(known))]
    Operator {
        /// The operator as written; empty if it is missing.
        operator: String,
        /// The operators that may stand here.
        known: &'static [&'static str],
    },
    /// The key is not a label key.
    #[error("`{key}` is not a label key: {reason}")]
    Key {
        /// The key as written; empty if it is missing.
        key: String,
        /// The rule that it breaks.
        reason: LabelSyntaxError,
    },
    /// A value is not a label value.
    #[error("`{value}` is not a label value: {reason}")]
    Value {
        /// The value as written.
        value: String,
        /// The rule that it breaks.
        reason: LabelSyntaxError,
    },
    /// The value to compare with is not a decimal 64-bit integer.
    #[error("`{value}` is not a 64-bit integer")]
    NotAnInteger {
        /// The value as written.
        value: String,
    },
    /// The operator needs values and there are none.
    #[error("`{operator}` needs at least one value")]
    NoValues {
        /// The operator.
        operator: &'static str,
    },
    /// The operator takes one value and there are more or none.
    #[error("`{operator}` takes exactly one value, found {}", Listed(values))]
    NotOneValue {
        /// The operator.
        operator: &'static str,
        /// The values as written.
        values: Vec<String>,
    },
    /// The operator takes no values and there are some.
    #[error("`{operator}` takes no values, found {}", Listed(values))]
    UnexpectedValues {
        /// The operator.
        operator: &'static str,
        /// The values as written.
        values: Vec<String>,
    },
}

/// Texts in backticks, with commas between them.
struct Quoted<'a, T>(&'a [T]);

impl<T: AsRef<str>> fmt::Display for Quoted<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, text) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}`{}`", text.as_ref())?;
        }
        Ok(())
    }
}

/// Values as an error lists them.
struct Listed<'a>(&'a [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        Quoted(self.0).fmt(f)
    }
}
