//! What a selector asks of an object's labels.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use indexmap::IndexMap;

/// Labels that a selector can look into: one value, or none, for a key.
///
/// Implemented for the usual maps, for references to labels, and for
/// `Option`s of labels, of which `None` has no label at all. Whoever keeps
/// labels in another form, such as interned, implements it for that form; one
/// match asks once for each requirement.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::selector::Labels;
///
/// let labels = BTreeMap::from([("zone".to_owned(), "a".to_owned())]);
/// assert_eq!(labels.label("zone"), Some("a"));
/// assert_eq!(labels.label("disk"), None);
/// assert_eq!(None::<&BTreeMap<String, String>>.label("zone"), None);
/// ```
pub trait Labels {
    /// The value of the label with this key, if there is such a label. A label
    /// whose value is empty is one: `Some("")`.
    ///
    /// ```
    /// use pvbind::selector::{CompiledLabelSelector, Labels};
    /// /// Labels as a program keeps them that has few for each object.
    /// struct Pairs(Vec<(&'static str, &'static str)>);
    /// impl Labels for Pairs {
    ///     fn label(&self, key: &str) -> Option<&str> {
    ///         self.0.iter().find(|(has, _)| *has == key).map(|(_, value)| *value)
    ///     }
    /// }
    /// let labels = Pairs(vec![("disk", "ssd"), ("spare", "")]);
    /// assert_eq!(labels.label("spare"), Some(""));
    /// let written = serde_json::from_value(serde_json::json!({"matchLabels": {"disk": "ssd"}}))?;
    /// assert!(CompiledLabelSelector::compile(&written)?.matches(&labels));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn label(&self, key: &str) -> Option<&str>;
}

impl Labels for BTreeMap<String, String> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl Labels for BTreeMap<&str, &str> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).copied()
    }
}

impl<S: BuildHasher> Labels for HashMap<String, String, S> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl<S: BuildHasher> Labels for IndexMap<String, String, S> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl<L: Labels + ?Sized> Labels for &L {
    fn label(&self, key: &str) -> Option<&str> {
        (**self).label(key)
    }
}

impl<L: Labels> Labels for Option<L> {
    fn label(&self, key: &str) -> Option<&str> {
        self.as_ref()?.label(key)
    }
}
