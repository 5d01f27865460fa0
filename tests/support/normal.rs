//! Objects as the vectors' README compares them.

use serde_json::Value;

/// A JSON object read and written by this crate, so that quantities have their
/// canonical text, and then without what means the same as absent: nulls, empty
/// objects and empty lists, from the inside out, but for an empty object in a
/// list, and a volume's empty status.message.
pub(crate) fn normal<T: serde::de::DeserializeOwned + serde::Serialize>(value: &Value) -> Value {
    let object: T = serde_json::from_value(value.clone()).unwrap();
    let mut value = serde_json::to_value(&object).unwrap();
    for field in ["/status/message", "/status/reason"] {
        if let Some(text) = value.pointer_mut(field)
            && text == ""
        {
            *text = Value::Null;
        }
    }
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(strip);
            fields.retain(|_, value| !is_empty(value));
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
