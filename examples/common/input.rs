//! Files with objects in them: JSON as `kubectl get … -o json` prints it, and
//! YAML manifests.

#[path = "file.rs"]
mod file;
#[path = "keys.rs"]
mod keys;

use pvbind::api::{Object, Place, ReadError, read_objects};
use serde_json::Value;
use serde_saphyr::Error as YamlError;

/// A file's objects, and the name of the file in messages.
pub fn read_file(file: &str) -> Result<(String, Vec<Object>), String> {
    let (place, text) = file::read_file(file, "JSON or YAML")?;
    let objects = match text.trim_start().starts_with('{') {
        true => read_json(&text),
        false => read_yaml(&text),
    };
    let objects = objects.map_err(|error| format!("{place}: {error}"))?;
    Ok((place, objects))
}

/// The objects of a JSON text, as `kubectl` prints it.
pub fn read_json(text: &str) -> Result<Vec<Object>, String> {
    keys::stand_once(text)?;
    read_objects(text).map_err(|error| hinted(error.to_string()))
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
        let template = match text.contains("{{") {
            true => " (it looks like a template, which must be rendered first: `helm template`)",
            false => "",
        };
        format!("{place}not YAML: {}{template}", cause(&error))
    })?;
    let mut objects = Vec::new();
    let mut is_empty = true;
    for (place, document) in documents.into_iter().enumerate() {
        let document = without_nulls(document);
        if document.is_null() {
            continue;
        }
        is_empty = false;
        // From here on YAML is what JSON is: lists, and lists in lists.
        let read = read_objects(&document.to_string());
        objects.extend(read.map_err(|error| hinted(in_document(place + 1, error)))?);
    }
    match is_empty {
        true => Err("holds nothing, or nothing but comments".to_owned()),
        false => Ok(objects),
    }
}

/// An error with the place as people count in YAML.
fn in_document(number: usize, error: ReadError) -> String {
    let place = |place: Place| {
        let items = place.items.iter();
        let items: String = items.map(|item| format!(", item {}", item + 1)).collect();
        format!("document {number}{items}")
    };
    match error {
        ReadError::Object { place: at, error } => format!("{}: {error}", place(at)),
        ReadError::NotAnObject { place: at, found } => {
            format!("{}: not a Kubernetes object: {found}", place(at))
        }
        ReadError::Syntax { message, .. } => format!("document {number}: {message}"),
        other => format!("document {number}: {other}"),
    }
}

/// Says what to do about a number or `true` where a text must stand.
fn hinted(error: String) -> String {
    let found = ["integer", "floating point", "boolean"];
    let is_unquoted = error.contains(", expected a string")
        && found
            .iter()
            .any(|found| error.contains(&format!("invalid type: {found} ")));
    match is_unquoted {
        true => error + " (quote it)",
        false => error,
    }
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

/// What is wrong, in words that need no knowledge of the reader.
fn cause(error: &YamlError) -> String {
    match error.without_snippet() {
        YamlError::DuplicateMappingKey { key: Some(key), .. } => {
            format!("key `{key}` stands twice in one mapping")
        }
        YamlError::DuplicateMappingKey { .. } => "a key stands twice in one mapping".to_owned(),
        YamlError::NonFiniteFloat { .. } => "a number that is too large".to_owned(),
        other => {
            // A piece of the text may follow, and the position, which is told before.
            let text = other.to_string();
            let text = text.lines().next().unwrap_or_default();
            let text = text.split(" at line ").next().unwrap_or_default();
            match text.contains("budget") || text.contains("limit") {
                true => {
                    "it is nested too deeply, or its aliases make far more of it than is written"
                        .to_owned()
                }
                false => text.to_owned(),
            }
        }
    }
}
