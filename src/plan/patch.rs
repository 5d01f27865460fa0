//! JSON merge patches (RFC 7386).

use serde_json::{Map, Value};

/// The merge patch that leads from one JSON value to another.
///
/// A patch cannot set a field to `null`, nor change a part of a list; objects
/// of this crate have no fields that are `null`, and a list that changed stands
/// in the patch whole.
///
/// Cost: linear in the two values.
///
/// ```
/// use pvbind::plan::merge_patch;
/// use serde_json::json;
/// let patch = merge_patch(
///     &json!({"a": 1, "b": {"c": [1], "d": 2}, "e": 0}),
///     &json!({"a": 1, "b": {"c": [1, 2], "d": 2}}),
/// );
/// assert_eq!(patch, json!({"b": {"c": [1, 2]}, "e": null}));
/// ```
pub fn merge_patch(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return to.clone();
    };
    let mut patch = Map::new();
    for (name, value) in to {
        match from.get(name) {
            Some(old) if old == value => {}
            Some(old @ Value::Object(_)) => {
                patch.insert(name.clone(), merge_patch(old, value));
            }
            _ => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    for name in from.keys() {
        if !to.contains_key(name) {
            patch.insert(name.clone(), Value::Null);
        }
    }
    Value::Object(patch)
}

/// Applies a merge patch. What it does not name stays as it is.
///
/// Cost: linear in the patch.
///
/// ```
/// use pvbind::plan::apply_merge_patch;
/// use serde_json::json;
/// let mut value = json!({"a": 1, "b": {"c": 2}});
/// apply_merge_patch(&mut value, &json!({"a": null, "b": {"d": 3}}));
/// assert_eq!(value, json!({"b": {"c": 2, "d": 3}}));
/// ```
pub fn apply_merge_patch(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(fields) = value else {
        return;
    };
    for (name, change) in patch {
        if change.is_null() {
            fields.remove(name);
        } else {
            let field = fields.entry(name.as_str()).or_insert(Value::Null);
            apply_merge_patch(field, change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_leads_to_the_target() {
        let values = [
            json!({}),
            json!({"a": {"b": 1}}),
            json!({"a": {"b": 1, "c": [1, {"d": 2}]}}),
            json!({"a": [1, {"d": 3}], "e": ""}),
            json!({"a": {}, "e": "x"}),
        ];
        for from in &values {
            for to in &values {
                let mut value = from.clone();
                apply_merge_patch(&mut value, &merge_patch(from, to));
                assert_eq!(&value, to, "from {from}");
            }
        }
    }

    /// Examples of RFC 7386, appendix A.
    #[test]
    fn patches_apply_as_the_rfc_says() {
        for (mut value, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": [{"b": "c"}]}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"a": "foo"}), json!("bar"), json!("bar")),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            apply_merge_patch(&mut value, &patch);
            assert_eq!(value, result);
        }
    }
}
