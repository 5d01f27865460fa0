//! The segments that a class allows.

use super::{Segment, TopologyError};
use crate::api::TopologySelectorTerm;

/// How many labels the segments of a class may have together, beyond those
/// that stand in the class itself.
const MOST_LABELS: usize = 1 << 18;

/// How many bytes these labels may have together, beyond those that stand in the
/// class itself: a long key is in every segment.
const MOST_BYTES: usize = 1 << 27;

/// The segments that the terms multiply out to, in the order of the terms, the
/// first expression of a term varying fastest, repeats kept. A term without
/// expressions gives none, and so does one with an expression without values.
pub(super) fn allowed_segments(
    terms: &[TopologySelectorTerm],
) -> Result<Vec<Segment>, TopologyError> {
    let written: usize = terms.iter().map(|term| values_of(term).len()).sum();
    let mut labels_left = MOST_LABELS.saturating_add(written);
    let written: usize = terms.iter().map(|term| bytes_of(&values_of(term), 1)).sum();
    let mut bytes_left = MOST_BYTES.saturating_add(written);
    let mut segments = Vec::new();
    for term in terms {
        let expressions = values_of(term);
        let count = expressions.iter().fold(1_usize, |count, (_, values)| {
            count.saturating_mul(values.len())
        });
        let labels = count.saturating_mul(expressions.len());
        if labels == 0 {
            continue;
        }
        labels_left = labels_left
            .checked_sub(labels)
            .ok_or(TopologyError::TooManyAllowed { limit: MOST_LABELS })?;
        bytes_left = bytes_left
            .checked_sub(bytes_of(&expressions, count))
            .ok_or(TopologyError::AllowedTooLong { limit: MOST_BYTES })?;
        for number in 0..count {
            let mut rest = number;
            let pairs = expressions.iter().filter_map(|&(key, values)| {
                let value = values.get(rest.checked_rem(values.len())?)?;
                rest = rest.checked_div(values.len())?;
                Some((key, value.as_str()))
            });
            segments.push(Segment::new(pairs));
        }
    }
    Ok(segments)
}

/// How many bytes the labels of so many segments have together, of which each
/// value is in as many as any other of its expression.
fn bytes_of(expressions: &[(&str, &[String])], segments: usize) -> usize {
    let of_expression = |(key, values): &(&str, &[String])| {
        let each = segments.checked_div(values.len()).unwrap_or(0).max(1);
        let values: usize = values.iter().map(String::len).sum();
        let values = values.saturating_mul(each);
        key.len().saturating_mul(segments).saturating_add(values)
    };
    let bytes = expressions.iter().map(of_expression);
    bytes.fold(0, usize::saturating_add)
}

/// Key and values of each expression of a term.
fn values_of(term: &TopologySelectorTerm) -> Vec<(&str, &[String])> {
    let expressions = term.match_label_expressions.iter().flatten();
    expressions
        .map(|expression| {
            let key = expression.key.as_deref().unwrap_or_default();
            (key, expression.values.as_deref().unwrap_or_default())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::TopologySelectorLabelRequirement;
    use serde_json::{Value, json};

    fn texts(terms: Value) -> Result<Vec<String>, TopologyError> {
        let terms: Vec<TopologySelectorTerm> = serde_json::from_value(terms).unwrap();
        let segments = allowed_segments(&terms)?;
        Ok(segments.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_first_expression_varies_fastest_and_repeats_stay() {
        let found = texts(json!([
            {"matchLabelExpressions": [
                {"key": "zone", "values": ["a", "b"]}, {"key": "rack", "values": ["1", "2"]}]},
            {},
            {"matchLabelExpressions": [{"key": "zone", "values": ["c", "c"]}]},
        ]));
        assert_eq!(
            found.unwrap(),
            [
                "[{rack 1} {zone a}]",
                "[{rack 1} {zone b}]",
                "[{rack 2} {zone a}]",
                "[{rack 2} {zone b}]",
                "[{zone c}]",
                "[{zone c}]"
            ]
        );
    }

    #[test]
    fn an_expression_without_values_leaves_nothing_of_its_term() {
        let found = texts(json!([{"matchLabelExpressions": [
            {"key": "zone", "values": ["a", "b"]}, {"key": "rack"}]}]));
        assert_eq!(found.unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn a_product_without_end_is_refused() {
        let values: Vec<_> = (0..10).map(|value| value.to_string()).collect();
        let expression = |key: usize| json!({"key": key.to_string(), "values": values});
        let expressions: Vec<_> = (0..100).map(expression).collect();
        let found = texts(json!([{"matchLabelExpressions": expressions}]));
        let error = TopologyError::TooManyAllowed { limit: 262_144 };
        assert_eq!(found, Err(error));
    }

    #[test]
    fn a_long_key_in_many_segments_is_refused() {
        let values: Vec<_> = (0..100_000).map(|value| value.to_string()).collect();
        let term = |length| {
            json!({"matchLabelExpressions": [
                {"key": "k".repeat(length), "values": values}]})
        };
        let error = TopologyError::AllowedTooLong { limit: 134_217_728 };
        assert_eq!(texts(json!([term(1_000_000)])), Err(error));
        assert_eq!(texts(json!([term(300)])).unwrap().len(), 100_000);
    }

    #[test]
    fn a_long_term_with_one_value_each_is_no_product() {
        let expression = |key: usize| TopologySelectorLabelRequirement {
            key: Some(key.to_string()),
            values: Some(vec!["x".to_owned()]),
            ..TopologySelectorLabelRequirement::default()
        };
        let term = TopologySelectorTerm {
            match_label_expressions: Some((0..300_000).map(expression).collect()),
            ..TopologySelectorTerm::default()
        };
        assert_eq!(allowed_segments(&[term]).unwrap().len(), 1);
    }
}
