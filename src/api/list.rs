//! Objects of any kind, and the lists that `kubectl` prints.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::object::Field;
use super::{
    CsiDriver, CsiNode, CsiStorageCapacity, Node, ObjectMeta, PersistentVolume,
    PersistentVolumeClaim, Pod, StatefulSet, StorageClass,
};

macro_rules! objects {
    ($( $Kind:ident = $group:literal / $kind:literal, )*) => {
        /// An object of any kind.
        ///
        /// The kinds of this crate are told by `kind` and the group of
        /// `apiVersion`, in any version of the group; all others are kept as
        /// they are.
        ///
        /// ```
        /// use pvbind::api::{Object, read_objects};
        /// let objects = read_objects(r#"
        ///     {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "pv-1"}}
        ///     {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "token"}}"#)?;
        /// for object in &objects {
        ///     match object {
        ///         Object::PersistentVolume(volume) => assert_eq!(volume.name(), "pv-1"),
        ///         other => assert_eq!(other.kind(), Some("Secret")),
        ///     }
        /// }
        /// # Ok::<(), pvbind::api::ReadError>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Object {
            $(
                #[doc = concat!("A ", $kind, ".")]
                $Kind(Box<$Kind>),
            )*
            /// An object of a kind that this crate does not know.
            Other(Value),
        }

        const KINDS: &[&str] = &[$($kind),*];

        impl Object {
            fn of_kind(kind: &str, group: Option<&str>, value: Value) -> serde_json::Result<Self> {
                match kind {
                    $( $kind if group.is_none_or(|group| group == $group) => {
                        Deserialize::deserialize(value).map(|object| Object::$Kind(Box::new(object)))
                    } )*
                    _ => Ok(Object::Other(value)),
                }
            }

            /// The object's metadata; `None` for an object of unknown kind.
            ///
            /// ```
            /// use pvbind::api::read_objects;
            /// let objects = read_objects(r#"{"kind": "Node", "metadata": {"name": "a"}} {"kind": "Secret"}"#)?;
            /// assert_eq!(objects[0].metadata().unwrap().name(), "a");
            /// assert!(objects[1].metadata().is_none());
            /// # Ok::<(), pvbind::api::ReadError>(())
            /// ```
            pub fn metadata(&self) -> Option<&ObjectMeta> {
                match self {
                    $( Object::$Kind(object) => Some(&object.metadata), )*
                    Object::Other(_) => None,
                }
            }

            /// The metadata to change; `None` for an object of unknown kind.
            ///
            /// ```
            /// use pvbind::api::read_objects;
            /// let mut objects = read_objects(r#"{"kind": "Node", "metadata": {"name": "a"}}"#)?;
            /// if let Some(metadata) = objects[0].metadata_mut() {
            ///     metadata.name = Some("node-a".to_owned());
            /// }
            /// assert_eq!(objects[0].metadata().unwrap().name(), "node-a");
            /// # Ok::<(), pvbind::api::ReadError>(())
            /// ```
            pub fn metadata_mut(&mut self) -> Option<&mut ObjectMeta> {
                match self {
                    $( Object::$Kind(object) => Some(&mut object.metadata), )*
                    Object::Other(_) => None,
                }
            }

            /// The object's kind; `None` if an object of unknown kind does not
            /// say.
            ///
            /// ```
            /// use pvbind::api::{CsiDriver, Object};
            /// use serde_json::{from_value, json};
            /// assert_eq!(Object::from(CsiDriver::default()).kind(), Some("CSIDriver")); // as Kubernetes spells it
            /// let secret: Object = from_value(json!({"kind": "Secret", "apiVersion": "v1"}))?;
            /// assert_eq!(secret.kind(), Some("Secret"));
            /// let nameless: Object = from_value(json!({"data": {}}))?;
            /// assert_eq!(nameless.kind(), None);
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn kind(&self) -> Option<&str> {
                match self {
                    $( Object::$Kind(_) => Some($kind), )*
                    Object::Other(value) => value.get("kind")?.as_str(),
                }
            }
        }

        impl Serialize for Object {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Object::$Kind(object) => object.serialize(serializer), )*
                    Object::Other(value) => value.serialize(serializer),
                }
            }
        }

        $(
            impl From<$Kind> for Object {
                fn from(object: $Kind) -> Self {
                    Object::$Kind(Box::new(object))
                }
            }
        )*
    };
}

objects! {
    PersistentVolume = "" / "PersistentVolume",
    PersistentVolumeClaim = "" / "PersistentVolumeClaim",
    StorageClass = "storage.k8s.io" / "StorageClass",
    Node = "" / "Node",
    Pod = "" / "Pod",
    CsiDriver = "storage.k8s.io" / "CSIDriver",
    CsiNode = "storage.k8s.io" / "CSINode",
    CsiStorageCapacity = "storage.k8s.io" / "CSIStorageCapacity",
    StatefulSet = "apps" / "StatefulSet",
}

impl Object {
    /// Makes a typed object of a JSON value, by its `kind` and `apiVersion`.
    /// An object without `apiVersion` is told by its kind alone.
    ///
    /// # Errors
    /// A kind that this crate knows, with a field that cannot be read: the error
    /// names the object and the path of the field. An object of another kind is never
    /// an error.
    ///
    /// Cost: linear in the value.
    ///
    /// ```
    /// use pvbind::api::Object;
    /// use serde_json::json;
    /// let object = Object::from_value(json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}))?;
    /// assert!(matches!(object, Object::Node(_)));
    /// // The group tells the kinds of one name apart.
    /// let other = Object::from_value(json!({"kind": "Node", "apiVersion": "example.com/v1"}))?;
    /// assert!(matches!(other, Object::Other(_)));
    /// let error = Object::from_value(json!({"kind": "Node", "metadata": {"name": 7}})).unwrap_err();
    /// assert!(error.message.starts_with(".metadata.name: "));
    /// # Ok::<(), pvbind::api::ObjectError>(())
    /// ```
    pub fn from_value(value: Value) -> Result<Self, ObjectError> {
        Object::from_item(value, "", "")
    }

    /// The same for an item of a list, which takes what it does not say from
    /// the list.
    fn from_item(value: Value, kind: &str, api_version: &str) -> Result<Self, ObjectError> {
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let kind = text("kind").unwrap_or(kind).to_owned();
        let api_version = text("apiVersion").unwrap_or(api_version);
        let group = (!api_version.is_empty()).then(|| group_of(api_version).to_owned());
        let key = key_of(&value);
        Object::of_kind(&kind, group.as_deref(), value).map_err(|error| ObjectError {
            kind,
            key,
            message: shortened(&error.to_string()),
        })
    }
}

/// A message that quotes a long value, without its middle.
fn shortened(message: &str) -> String {
    const START: usize = 300;
    const END: usize = 100;
    let length = message.chars().count();
    if length <= START.saturating_add(END) {
        return message.to_owned();
    }
    let start = message.chars().take(START);
    let end = message.chars().skip(length.saturating_sub(END));
    start.chain(['…']).chain(end).collect()
}

/// The group of an `apiVersion`: what stands before the slash, nothing for `v1`.
fn group_of(api_version: &str) -> &str {
    api_version
        .split_once('/')
        .map_or("", |(group, _version)| group)
}

fn key_of(value: &Value) -> String {
    let text = |field: &str| match value.get("metadata")?.get(field)? {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        // A name without its quotes is a name still, for whoever looks for it.
        other @ (Value::Number(_) | Value::Bool(_)) => Some(other.to_string()),
        _ => None,
    };
    match (text("namespace"), text("name")) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name,
        (_, None) => "without a name".to_owned(),
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Object::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Field for Object {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer)
    }
}

object! {
    /// A list of objects, as `kubectl get … -o json` prints it (`v1` `List`).
    ///
    /// ```
    /// use pvbind::api::{List, Object};
    /// let list: List = serde_json::from_str(
    ///     r#"{"kind": "List", "apiVersion": "v1", "items": [
    ///         {"kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "pv-1"}},
    ///         {"kind": "Event", "apiVersion": "v1", "reason": "ClaimLost"}]}"#,
    /// )?;
    /// let items = list.items.unwrap();
    /// assert!(matches!(&items[0], Object::PersistentVolume(volume) if volume.name() == "pv-1"));
    /// assert_eq!(items[1].kind(), Some("Event"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct List("a list of objects") {
        /// `v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `List`, where written.
        kind: Option<String> = "kind",
        /// The list's own metadata.
        metadata: Option<Value> = "metadata",
        /// The objects.
        items: Option<Vec<Object>> = "items",
    }
}

/// An object that cannot be read.
///
/// ```
/// use pvbind::api::Object;
/// let error = Object::from_value(serde_json::json!({
///     "kind": "PersistentVolume", "metadata": {"name": "pv-1"},
///     "spec": {"capacity": {"storage": "lots"}}})).unwrap_err();
/// assert_eq!((error.kind.as_str(), error.key.as_str()), ("PersistentVolume", "pv-1"));
/// assert!(error.to_string().starts_with("PersistentVolume `pv-1`: .spec.capacity.storage: "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} `{key}`: {message}", if kind.is_empty() { "object" } else { kind })]
pub struct ObjectError {
    /// The object's kind, empty if it does not say.
    pub kind: String,
    /// `NAMESPACE/NAME`, or `NAME` without a namespace.
    pub key: String,
    /// The path of the field and what is wrong with it.
    pub message: String,
}

/// A text that cannot be read as objects.
///
/// ```
/// use pvbind::api::{ReadError, read_objects};
/// let error = read_objects("{\"kind\": \"Pod\"}\n{").unwrap_err();
/// assert!(matches!(error, ReadError::Syntax { line: 2, .. }));
/// let error = read_objects(r#"{"kind": "List", "items": [{"kind": "Pod"}, 7]}"#).unwrap_err();
/// assert_eq!(error.to_string(), ".items[1]: not a Kubernetes object: `7`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not JSON.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1 (from 0 on an empty line).
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A value is not what it should be.
    #[error("{place}{error}")]
    Object {
        /// Which value of the text, which item of the list.
        place: Place,
        /// The object, the field and what is wrong.
        error: ObjectError,
    },
    /// A value is neither an object nor a list of objects.
    #[error("{place}not a Kubernetes object: {found}")]
    NotAnObject {
        /// Which value of the text, which item of the list.
        place: Place,
        /// What stands there.
        found: String,
    },
}

/// The place of an object in a text: the number of the JSON value, then the
/// index in each list. Prints as `value 2, .items[3]: `, the first value as
/// nothing.
///
/// ```
/// use pvbind::api::Place;
/// assert_eq!(Place { value: 2, items: vec![3] }.to_string(), "value 2, .items[3]: ");
/// assert_eq!(Place { value: 1, items: Vec::new() }.to_string(), "");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Which JSON value of the text, counted from 1.
    pub value: usize,
    /// The index in the list, in a list of lists one for each, counted from 0.
    pub items: Vec<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.value > 1 {
            parts.push(format!("value {}", self.value));
        }
        if !self.items.is_empty() {
            let items: String = self.items.iter().map(|i| format!(".items[{i}]")).collect();
            parts.push(items);
        }
        if parts.is_empty() {
            Ok(())
        } else {
            write!(f, "{}: ", parts.join(", "))
        }
    }
}

/// Reads objects and lists of objects from JSON text, as `kubectl` prints it:
/// one value or several behind each other. Lists are opened, lists in lists
/// too; an item of a typed list (`PersistentVolumeList`) takes the kind from
/// the list.
///
/// # Errors
/// The first value that cannot be read ends it with an error that names the
/// place. Blank text gives no objects. Cost: linear in the text.
///
/// ```
/// use pvbind::api::read_objects;
/// let objects = read_objects(r#"
///     {"kind": "PersistentVolumeList", "apiVersion": "v1", "items": [{"metadata": {"name": "pv-1"}}]}
///     {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web"}}"#)?;
/// let kinds: Vec<_> = objects.iter().filter_map(|object| object.kind()).collect();
/// assert_eq!(kinds, ["PersistentVolume", "Pod"]);
///
/// let error = read_objects(
///     r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {"accessModes": 7}}"#,
/// )
/// .unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "PersistentVolume `pv-1`: .spec.accessModes: invalid type: integer `7`, expected a list"
/// );
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
pub fn read_objects(text: &str) -> Result<Vec<Object>, ReadError> {
    let mut objects = Vec::new();
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    for (index, value) in values.enumerate() {
        let value = value.map_err(|error| ReadError::Syntax {
            line: error.line(),
            column: error.column(),
            message: without_position(&error),
        })?;
        let mut place = Place {
            value: index.saturating_add(1),
            items: Vec::new(),
        };
        open(value, "", "", &mut place, &mut objects)?;
    }
    Ok(objects)
}

/// Puts an object, or the objects of a list, behind `objects`. Lists in lists
/// are at most as deep as the JSON reader lets any value be.
fn open(
    mut value: Value,
    kind: &str,
    api_version: &str,
    place: &mut Place,
    objects: &mut Vec<Object>,
) -> Result<(), ReadError> {
    if !value.is_object() {
        return Err(ReadError::NotAnObject {
            place: place.clone(),
            found: excerpt(&value),
        });
    }
    let own = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let own_kind = own("kind").to_owned();
    let Some(item_kind) = own_kind
        .strip_suffix("List")
        .filter(|kind| is_list(kind, &value))
    else {
        let object =
            Object::from_item(value, kind, api_version).map_err(|error| ReadError::Object {
                place: place.clone(),
                error,
            })?;
        objects.push(object);
        return Ok(());
    };
    let item_version = match item_kind {
        "" => String::new(),
        _ => own("apiVersion").to_owned(),
    };
    match value.get_mut("items").map(Value::take) {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(items)) => {
            for (index, item) in items.into_iter().enumerate() {
                place.items.push(index);
                open(item, item_kind, &item_version, place, objects)?;
                place.items.pop();
            }
            Ok(())
        }
        Some(other) => Err(ReadError::Object {
            place: place.clone(),
            error: ObjectError {
                kind: own_kind,
                key: key_of(&value),
                message: format!(".items: {}, expected a list", excerpt(&other)),
            },
        }),
    }
}

/// Whether an object whose kind ends in `List` is one: a `List`, a list of a
/// kind of this crate, or else what looks like one. Other kinds may have such
/// names too.
fn is_list(item_kind: &str, value: &Value) -> bool {
    if item_kind.is_empty() || KINDS.contains(&item_kind) {
        return true;
    }
    let name = value.pointer("/metadata/name").and_then(Value::as_str);
    let items = value.get("items").and_then(Value::as_array);
    name.unwrap_or_default().is_empty()
        && items.is_some_and(|items| items.iter().all(Value::is_object))
}

/// The message of a JSON error without the position at its end.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// The beginning of a value, for an error.
fn excerpt(value: &Value) -> String {
    const LONGEST: usize = 40;
    let text = value.to_string();
    if text.chars().count() <= LONGEST {
        format!("`{text}`")
    } else {
        let start: String = text.chars().take(LONGEST).collect();
        format!("`{start}…`")
    }
}
