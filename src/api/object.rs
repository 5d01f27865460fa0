//! How objects are read and written without losing anything.
//!
//! Every object of this crate is declared through [`object!`]: fields that the
//! crate knows become typed fields, all others are kept in [`UnknownFields`]
//! and written back. A field that is `null` counts as absent.
//!
//! Read errors carry the path of the field in the form that `jq` takes, such
//! as `.spec.accessModes[1]: invalid type: integer …`.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::quantity::Quantity;

/// The fields of an object that this crate has no name for, in the order in
/// which they were read.
///
/// They are written back unchanged, so that a controller may PUT what it got.
/// A later version of this crate may give a name to a field that stands here
/// now: then the field moves. What the crate offers an accessor for, such as
/// [`PersistentVolume::source`](crate::api::PersistentVolume::source), stays.
/// Numbers are kept as far as `serde_json::Value` keeps them: 64-bit integers
/// exactly, anything else as a double.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// let text = r#"{"spec":{"fc":{"lun":2}}}"#;
/// let volume: PersistentVolume = serde_json::from_str(text)?;
/// assert_eq!(volume.spec.unknown.get("fc").unwrap()["lun"], 2);
/// assert_eq!(serde_json::to_string(&volume)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct UnknownFields {
    fields: Option<Box<IndexMap<String, Value>>>,
    /// The object stood in the text, if only as `{}`. An object that is absent
    /// and one that is empty mean the same to Kubernetes, so this takes no part
    /// in comparisons; it only decides whether `{}` is written back.
    written: bool,
}

impl UnknownFields {
    /// The value of an unknown field.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"spec": {"iscsi": {"lun": 3}}}"#)?;
    /// assert_eq!(volume.spec.unknown.get("iscsi").unwrap()["lun"], 3);
    /// assert_eq!(volume.spec.unknown.get("capacity"), None); // that has a field of its own
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.as_ref()?.get(name)
    }

    /// All unknown fields in the order in which they were read.
    ///
    /// ```
    /// use pvbind::api::Node;
    /// let node: Node = serde_json::from_str(r#"{"status": {}, "spec": {"taints": []}}"#)?;
    /// let names: Vec<_> = node.unknown.iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["status", "spec"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields
            .iter()
            .flat_map(|fields| fields.iter().map(|(key, value)| (key.as_str(), value)))
    }

    /// Sets an unknown field. Where the object has a typed field of that name,
    /// use that: if both are set, the typed one is written.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let mut claim = PersistentVolumeClaim::default();
    /// claim.spec.unknown.insert("priority", 3.into());
    /// claim.spec.unknown.insert("volumeName", "pv-1".into());
    /// claim.spec.volume_name = Some("pv-2".to_owned());
    /// let text = r#"{"spec":{"volumeName":"pv-2","priority":3}}"#;
    /// assert_eq!(serde_json::to_string(&claim)?, text);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn insert(&mut self, name: impl Into<String>, value: Value) {
        self.fields
            .get_or_insert_with(Box::default)
            .insert(name.into(), value);
    }

    /// Takes an unknown field out.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// let mut volume: PersistentVolume = serde_json::from_str(r#"{"spec": {"nfs": {"path": "/"}}}"#)?;
    /// assert_eq!(volume.spec.unknown.remove("nfs").unwrap()["path"], "/");
    /// assert_eq!(volume.source(), None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.fields.as_mut()?.shift_remove(name)
    }

    /// How many unknown fields there are at this level.
    ///
    /// ```
    /// use pvbind::api::Pod;
    /// use serde_json::{from_value, json};
    /// let pod: Pod = from_value(json!({"spec": {
    ///     "nodeName": "node-a", "containers": [{"name": "web"}], "tolerations": []}}))?;
    /// assert_eq!(pod.spec.unknown.len(), 2); // `nodeName` has a field of its own
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.fields.as_ref().map_or(0, |fields| fields.len())
    }

    /// Whether there is no unknown field at this level.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"spec": {"nfs": {"server": "files"}}}))?;
    /// assert!(volume.unknown.is_empty()); // `spec` is known ...
    /// assert!(!volume.spec.unknown.is_empty()); // ... what stands in it is not
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn mark_written(&mut self) {
        self.written = true;
    }

    pub(crate) fn is_written(&self) -> bool {
        self.written
    }
}

impl fmt::Debug for UnknownFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Compares the fields, whatever their order.
impl PartialEq for UnknownFields {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(key, value)| other.get(key) == Some(value))
    }
}

/// What can stand in a field of an object.
pub(crate) trait Field: Sized {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Whether nothing is to be written for this field.
    fn is_absent(&self) -> bool {
        false
    }
}

macro_rules! plain_fields {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Deserialize::deserialize(deserializer)
            }
        }
    )*};
}
plain_fields!(String, bool, i64, Value, Quantity);

impl<T: Field> Field for Option<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Optional<T>(PhantomData<T>);
        impl<'de, T: Field> Visitor<'de> for Optional<T> {
            type Value = Option<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or null")
            }
            fn visit_none<E>(self) -> Result<Self::Value, E> {
                Ok(None)
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(None)
            }
            fn visit_some<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Self::Value, D::Error> {
                T::read(deserializer).map(Some)
            }
        }
        deserializer.deserialize_option(Optional(PhantomData))
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Field> Field for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: Field> Visitor<'de> for Items<T> {
            type Value = Vec<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                loop {
                    match seq.next_element_seed(FieldSeed::new()) {
                        Ok(Some(item)) => items.push(item),
                        Ok(None) => return Ok(items),
                        Err(error) => {
                            return Err(prefixed(format_args!("[{}]", items.len()), error));
                        }
                    }
                }
            }
        }
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Field> Visitor<'de> for Entries<T> {
            type Value = BTreeMap<String, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    let value = map
                        .next_value_seed(FieldSeed::new())
                        .map_err(|error| prefixed(format_args!("[{key:?}]"), error))?;
                    entries.insert(key, value);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

pub(crate) struct FieldSeed<T>(PhantomData<T>);

impl<T> FieldSeed<T> {
    pub(crate) fn new() -> Self {
        FieldSeed(PhantomData)
    }
}

impl<'de, T: Field> DeserializeSeed<'de> for FieldSeed<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

/// Puts a step of the path in front of an error that may begin with a path.
pub(crate) fn prefixed<E: serde::de::Error>(step: fmt::Arguments<'_>, error: E) -> E {
    let text = error.to_string();
    if text.starts_with(['.', '[']) {
        E::custom(format_args!("{step}{text}"))
    } else {
        E::custom(format_args!("{step}: {text}"))
    }
}

/// The value of one entry, still unread: lets a closure read it as any type.
pub(crate) struct Entry<'a, A> {
    map: &'a mut A,
}

impl<'de, A: MapAccess<'de>> Entry<'_, A> {
    pub(crate) fn read<T: Field>(self) -> Result<T, A::Error> {
        self.map.next_value_seed(FieldSeed::new())
    }
}

/// An object whose fields are declared through [`object!`].
pub(crate) trait Fields: Default {
    const WHAT: &'static str;

    /// Reads one known field. `Ok(None)` when done, the entry back when the
    /// name is unknown.
    fn read_field<'de, 'a, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        entry: Entry<'a, A>,
    ) -> Result<Option<Entry<'a, A>>, A::Error>;

    fn unknown_mut(&mut self) -> &mut UnknownFields;
}

pub(crate) fn read_object<'de, T: Fields, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);
    impl<'de, T: Fields> Visitor<'de> for Object<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::WHAT)
        }
        fn visit_unit<E>(self) -> Result<T, E> {
            Ok(T::default())
        }
        fn visit_none<E>(self) -> Result<T, E> {
            Ok(T::default())
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let mut object = T::default();
            object.unknown_mut().mark_written();
            while let Some(name) = map.next_key::<String>()? {
                let step = |error| prefixed(format_args!(".{name}"), error);
                let entry = Entry { map: &mut map };
                if let Some(entry) = object.read_field(&name, entry).map_err(step)? {
                    let value: Value = entry.read().map_err(step)?;
                    object.unknown_mut().insert(name, value);
                }
            }
            Ok(object)
        }
    }
    deserializer.deserialize_any(Object(PhantomData))
}

/// Writes a field that is there.
pub(crate) fn write_field<M: serde::ser::SerializeMap, T: Field + Serialize>(
    map: &mut M,
    name: &'static str,
    value: &T,
) -> Result<(), M::Error> {
    if value.is_absent() {
        Ok(())
    } else {
        map.serialize_entry(name, value)
    }
}

/// Declares an object: a struct whose fields have Kubernetes names, that keeps
/// unknown fields, and is read and written without loss.
macro_rules! object {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident ($what:literal) {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty = $key:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $Name {
            $( $(#[$field_meta])* pub $field: $type, )*
            /// Fields that this crate has no name for; kept and written back.
            pub unknown: $crate::api::UnknownFields,
        }

        impl $crate::api::object::Fields for $Name {
            const WHAT: &'static str = $what;

            fn read_field<'de, 'a, A: serde::de::MapAccess<'de>>(
                &mut self,
                name: &str,
                entry: $crate::api::object::Entry<'a, A>,
            ) -> Result<Option<$crate::api::object::Entry<'a, A>>, A::Error> {
                match name {
                    $( $key => self.$field = entry.read()?, )*
                    _ => return Ok(Some(entry)),
                }
                Ok(None)
            }

            fn unknown_mut(&mut self) -> &mut $crate::api::UnknownFields {
                &mut self.unknown
            }
        }

        impl $crate::api::object::Field for $Name {
            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::api::object::read_object(deserializer)
            }

            fn is_absent(&self) -> bool {
                !self.unknown.is_written()
                    && self.unknown.is_empty()
                    $( && $crate::api::object::Field::is_absent(&self.$field) )*
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::api::object::read_object(deserializer)
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $( $crate::api::object::write_field(&mut map, $key, &self.$field)?; )*
                for (name, value) in self.unknown.iter() {
                    let stands_already = match name {
                        $( $key => !$crate::api::object::Field::is_absent(&self.$field), )*
                        _ => false,
                    };
                    if !stands_already {
                        map.serialize_entry(name, value)?;
                    }
                }
                map.end()
            }
        }
    };
}

/// Declares the values of a text field. Kubernetes may add values, so the
/// enumeration is open: a value without a name here is kept as it is.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident {
            $( $(#[$value_meta:meta])* $Variant:ident = $text:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $Name {
            $( $(#[$value_meta])* $Variant, )*
            /// Any other text, kept as it is. Use the conversion from `&str`,
            /// which never puts a text with a name of its own here.
            Other(Box<str>),
        }

        impl $Name {
            /// The text that Kubernetes writes for this value.
            ///
            /// ```
            #[doc = concat!("use pvbind::api::", stringify!($Name), ";")]
            $(#[doc = concat!(
                "assert_eq!(", stringify!($Name), "::", stringify!($Variant), ".as_str(), \"", $text, "\");"
            )])*
            /// // A text that Kubernetes 1.36 does not know is written as it was read.
            #[doc = concat!("assert_eq!(", stringify!($Name), "::from(\"later\").as_str(), \"later\");")]
            /// ```
            pub fn as_str(&self) -> &str {
                match self {
                    $( $Name::$Variant => $text, )*
                    $Name::Other(text) => text,
                }
            }

            /// Whether Kubernetes 1.36 does not know this value: one of a later
            /// version, a misspelled one, an empty text. An absent field is none
            /// of these: it is no value at all.
            ///
            /// ```
            #[doc = concat!("use pvbind::api::", stringify!($Name), ";")]
            #[doc = concat!("let read = [", $("\"", $text, "\", ",)* "\"later\"].map(", stringify!($Name), "::from);")]
            /// let unknown: Vec<_> = read.iter().filter(|value| value.is_unknown()).collect();
            #[doc = concat!("assert_eq!(unknown, [&", stringify!($Name), "::from(\"later\")]);")]
            /// ```
            pub fn is_unknown(&self) -> bool {
                matches!(self, $Name::Other(_))
            }
        }

        impl From<&str> for $Name {
            fn from(text: &str) -> Self {
                match text {
                    $( $text => $Name::$Variant, )*
                    other => $Name::Other(other.into()),
                }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::api::object::read_text(deserializer)
            }
        }

        impl $crate::api::object::Field for $Name {
            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::api::object::read_text(deserializer)
            }
        }
    };
}

/// Reads a text and converts it without keeping a copy where none is needed.
pub(crate) fn read_text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: for<'a> From<&'a str>,
    D: Deserializer<'de>,
{
    struct Text<T>(PhantomData<T>);
    impl<T: for<'a> From<&'a str>> Visitor<'_> for Text<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }
        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            Ok(T::from(text))
        }
    }
    deserializer.deserialize_str(Text(PhantomData))
}
