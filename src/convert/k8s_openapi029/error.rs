//! What cannot be converted.

use std::convert::Infallible;

use serde_json::Value;

use crate::api::ObjectMeta;

/// An object that cannot be converted: which one, which field, and why.
///
/// ```
/// use k8s_openapi::api::storage::v1::CSIStorageCapacity as Theirs;
/// use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
/// use pvbind::api::CsiStorageCapacity;
///
/// let mut theirs = Theirs::default();
/// theirs.metadata.name = Some("zone-a".to_owned());
/// theirs.metadata.namespace = Some("csi".to_owned());
/// theirs.capacity = Some(Quantity("10GB".to_owned()));
/// let error = CsiStorageCapacity::try_from(theirs).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "CSIStorageCapacity `csi/zone-a`: .capacity: quantity `10GB` has an unexpected `B` at offset 3"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{field}: {message}", about(kind, key))]
pub struct ConversionError {
    /// The object's kind; empty for a part of an object.
    pub kind: &'static str,
    /// `NAMESPACE/NAME`, or `NAME` without a namespace; empty for a part of an
    /// object.
    pub key: String,
    /// The field, as a path that begins with a dot; empty for the whole.
    pub field: String,
    /// What is wrong with it, with its value.
    pub message: String,
}

fn about(kind: &str, key: &str) -> String {
    match (kind, key) {
        ("", _) => String::new(),
        (kind, "") => format!("{kind} without a name: "),
        (kind, key) => format!("{kind} `{key}`: "),
    }
}

/// What is wrong with a field, on its way up to the object. Small, because
/// every conversion's result makes room for it.
#[derive(Debug)]
pub(super) struct Fault(Box<Parts>);

#[derive(Debug)]
struct Parts {
    /// The steps of the path, the last first.
    path: Vec<String>,
    message: String,
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Fault(Box::new(Parts {
            path: Vec::new(),
            message: message.into(),
        }))
    }

    /// A value that is not what it should be.
    pub(super) fn of_value(value: &Value, error: &serde_json::Error) -> Self {
        const LONGEST: usize = 80;
        let text = value.to_string();
        let shown = match text.char_indices().nth(LONGEST) {
            None => text,
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        };
        Fault::new(format!("{error}, in `{shown}`"))
    }

    #[cold]
    pub(super) fn in_field(mut self, name: &str) -> Self {
        self.0.path.push(format!(".{name}"));
        self
    }

    #[cold]
    pub(super) fn in_item(mut self, index: usize) -> Self {
        self.0.path.push(format!("[{index}]"));
        self
    }

    pub(super) fn in_object(self, kind: &'static str, key: String) -> ConversionError {
        let Parts { path, message } = *self.0;
        ConversionError {
            kind,
            key,
            field: path.iter().rev().map(String::as_str).collect(),
            message,
        }
    }

    pub(super) fn in_part(self) -> ConversionError {
        self.in_object("", String::new())
    }
}

impl From<Infallible> for Fault {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The names of an object, taken before it is converted and so gone.
pub(super) struct Named {
    namespace: Option<String>,
    name: Option<String>,
}

impl Named {
    pub(super) fn key(self) -> String {
        let metadata = ObjectMeta {
            namespace: self.namespace,
            name: self.name,
            ..ObjectMeta::default()
        };
        metadata.key()
    }
}

/// Who has names.
pub(super) trait HasNames {
    fn named(&self) -> Named;
}

impl HasNames for ObjectMeta {
    fn named(&self) -> Named {
        Named {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl HasNames for k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
    fn named(&self) -> Named {
        Named {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}
