//! From written requirements to checked ones.

use std::fmt;

use super::requirement::read_integer;
use super::{
    Condition, FieldRequirement, InvalidRequirement, Requirement, SelectorProblem, check_label_key,
    check_label_value,
};
use crate::api::{
    LabelSelectorRequirement, NodeSelectorRequirement, TopologySelectorLabelRequirement,
};

/// The operators of a label selector.
pub(super) const LABEL_OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist"];

/// The operators of a node selector's `matchExpressions`.
pub(super) const NODE_OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

/// The operators of a node selector's `matchFields`.
pub(super) const FIELD_OPERATORS: &[&str] = &["In", "NotIn"];

/// A requirement as it is written, in whichever of its forms. What is missing
/// is empty.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) key: &'a str,
    pub(super) operator: &'a str,
    pub(super) values: &'a [String],
}

impl<'a> From<&'a LabelSelectorRequirement> for Written<'a> {
    fn from(written: &'a LabelSelectorRequirement) -> Self {
        Written {
            key: written.key.as_deref().unwrap_or_default(),
            operator: written.operator.as_ref().map_or("", |o| o.as_str()),
            values: written.values.as_deref().unwrap_or_default(),
        }
    }
}

impl<'a> From<&'a NodeSelectorRequirement> for Written<'a> {
    fn from(written: &'a NodeSelectorRequirement) -> Self {
        Written {
            key: written.key.as_deref().unwrap_or_default(),
            operator: written.operator.as_ref().map_or("", |o| o.as_str()),
            values: written.values.as_deref().unwrap_or_default(),
        }
    }
}

/// A topology requirement is an `In` without saying so.
impl<'a> From<&'a TopologySelectorLabelRequirement> for Written<'a> {
    fn from(written: &'a TopologySelectorLabelRequirement) -> Self {
        Written {
            key: written.key.as_deref().unwrap_or_default(),
            operator: "In",
            values: written.values.as_deref().unwrap_or_default(),
        }
    }
}

/// Collects the mistakes in a selector while its requirements are read.
#[derive(Default)]
pub(super) struct Parser {
    pub(super) mistakes: Vec<InvalidRequirement>,
}

impl Parser {
    /// Reads an entry of `matchLabels`. The answer only counts if there are no
    /// mistakes in the end.
    pub(super) fn match_label(&mut self, key: &str, value: &str) -> Requirement {
        self.check_key("matchLabels", key);
        self.check_value(format_args!("matchLabels[{key}]"), value);
        Requirement::new(key, Condition::Equals(value.to_owned()))
    }

    /// Reads a requirement on a label, if its operator is one of the `known`.
    /// `None` leaves a mistake behind; and `Some` only counts if there are no
    /// mistakes in the end.
    pub(super) fn requirement(
        &mut self,
        place: fmt::Arguments<'_>,
        written: Written<'_>,
        known: &'static [&'static str],
    ) -> Option<Requirement> {
        let Written { key, values, .. } = written;
        let operator = self.operator(place, written, known)?;
        self.check_key(format_args!("{place}.key"), key);
        let condition = match operator {
            "In" | "NotIn" if values.is_empty() => {
                self.mistake(
                    format_args!("{place}.values"),
                    SelectorProblem::NoValues { operator },
                );
                None
            }
            "In" => Some(Condition::In(values.to_vec())),
            "NotIn" => Some(Condition::NotIn(values.to_vec())),
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let values = values.to_vec();
                let problem = SelectorProblem::UnexpectedValues { operator, values };
                self.mistake(format_args!("{place}.values"), problem);
                None
            }
            "Exists" => Some(Condition::Exists),
            "DoesNotExist" => Some(Condition::DoesNotExist),
            _ => self.comparison(place, operator, values),
        };
        for (index, value) in values.iter().enumerate() {
            self.check_value(format_args!("{place}.values[{index}]"), value);
        }
        Some(Requirement::new(key, condition?))
    }

    /// Reads a requirement on a field. Keys and values may be any text.
    pub(super) fn field(
        &mut self,
        place: fmt::Arguments<'_>,
        written: Written<'_>,
    ) -> Option<FieldRequirement> {
        let operator = self.operator(place, written, FIELD_OPERATORS)?;
        let value = self.one_value(place, operator, written.values)?;
        Some(FieldRequirement::new(written.key, value, operator == "In"))
    }

    /// The condition of `Gt` and `Lt`.
    fn comparison(
        &mut self,
        place: fmt::Arguments<'_>,
        operator: &'static str,
        values: &[String],
    ) -> Option<Condition> {
        let value = self.one_value(place, operator, values);
        for (index, value) in values.iter().enumerate() {
            if read_integer(value).is_none() {
                let value = value.clone();
                let problem = SelectorProblem::NotAnInteger { value };
                self.mistake(format_args!("{place}.values[{index}]"), problem);
            }
        }
        let text = value?.to_owned();
        let bound = read_integer(&text)?;
        Some(match operator {
            "Gt" => Condition::Gt { bound, text },
            _ => Condition::Lt { bound, text },
        })
    }

    fn one_value<'a>(
        &mut self,
        place: fmt::Arguments<'_>,
        operator: &'static str,
        values: &'a [String],
    ) -> Option<&'a str> {
        if let [value] = values {
            return Some(value);
        }
        let values = values.to_vec();
        self.mistake(
            format_args!("{place}.values"),
            SelectorProblem::NotOneValue { operator, values },
        );
        None
    }

    fn operator(
        &mut self,
        place: fmt::Arguments<'_>,
        written: Written<'_>,
        known: &'static [&'static str],
    ) -> Option<&'static str> {
        let found = known.iter().find(|&&known| known == written.operator);
        if found.is_none() {
            let operator = written.operator.to_owned();
            self.mistake(
                format_args!("{place}.operator"),
                SelectorProblem::Operator { operator, known },
            );
        }
        found.copied()
    }

    fn check_key(&mut self, place: impl fmt::Display, key: &str) {
        if let Err(reason) = check_label_key(key) {
            let key = key.to_owned();
            self.mistake(place, SelectorProblem::Key { key, reason });
        }
    }

    fn check_value(&mut self, place: impl fmt::Display, value: &str) {
        if let Err(reason) = check_label_value(value) {
            let value = value.to_owned();
            self.mistake(place, SelectorProblem::Value { value, reason });
        }
    }

    fn mistake(&mut self, place: impl fmt::Display, problem: SelectorProblem) {
        self.mistakes.push(InvalidRequirement {
            place: place.to_string(),
            problem,
        });
    }
}
