//! Files with objects in them: JSON as `kubectl get … -o json` prints it, and
//! YAML manifests.

#[path = "../common/file.rs"]
mod file;

use pvbind::api::{Object, read_objects};
use serde_json::Value;

/// A file's objects, and the name of the file in messages.
pub fn read_file(file: &str) -> Result<(String, Vec<Object>), String> {
    let (place, text) = file::read_file(file, "JSON or YAML")?;
    let objects = if text.trim_start().starts_with('{') {
        read_objects(&text).map_err(|error| format!("{place}: {error}"))?
    } else {
        read_yaml(&text).map_err(|error| format!("{place}: {error}"))?
    };
    Ok((place, objects))
}

/// The objects of a YAML text: several documents, and the items of lists.
pub fn read_yaml(text: &str) -> Result<Vec<Object>, String> {
    // A large cluster is no attack: what the text itself can hold is allowed. What
    // aliases make of it stays limited.
    let length = text.len();
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: length.max(1),
            max_nodes: length.saturating_add(250_000),
            max_events: length.saturating_mul(4).saturating_add(1_000_000),
            max_total_scalar_bytes: length.saturating_add(64 << 20),
        },
    };
    let documents = serde_saphyr::from_multiple_with_options(text, options);
    let documents: Vec<Value> = documents.map_err(|error| {
        let place = error.location().map_or_else(String::new, |location| {
            format!("line {}, column {}: ", location.line(), location.column())
        });
        format!("{place}not YAML: {}", cause(&error))
    })?;
    let mut objects = Vec::new();
    for (place, document) in documents.into_iter().enumerate() {
        let number = place + 1;
        let document = without_nulls(document);
        match document {
            Value::Null => {}
            Value::Object(mut fields) if fields.contains_key("items") => {
                let items = fields.remove("items").unwrap_or_default();
                let Value::Array(items) = items else {
                    return Err(format!("document {number}: .items is not a list"));
                };
                for (item, value) in items.into_iter().enumerate() {
                    let object = read_object(value);
                    objects.push(object.map_err(|error| {
                        format!("document {number}, item {}: {error}", item + 1)
                    })?);
                }
            }
            document => {
                let object = read_object(document);
                objects.push(object.map_err(|error| format!("document {number}: {error}"))?);
            }
        }
    }
    Ok(objects)
}

fn read_object(value: Value) -> Result<Object, String> {
    if !value.is_object() {
        let text = value.to_string();
        let start: String = text.chars().take(40).collect();
        return Err(format!("not a Kubernetes object: `{start}`"));
    }
    Object::from_value(value).map_err(|error| error.to_string())
}

/// What YAML leaves empty (`storageClassName:`) is not set.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                fields
                    .map(|(name, value)| (name, without_nulls(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// The first line of an error, which may show a piece of the text below.
fn cause(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
