//! Amounts of resources.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::object::{Field, prefixed};
use crate::quantity::Quantity;

/// A map from resource names to quantities (`ResourceList` of core/v1), as in
/// a volume's `capacity` and a claim's `requests`.
///
/// `storage`, which every decision looks at, is a field of its own; all other
/// resources are kept beside it.
///
/// ```
/// use pvbind::api::ResourceList;
/// let list: ResourceList = serde_json::from_str(r#"{"storage": "10Gi", "iops": 500}"#)?;
/// assert_eq!(list.storage.as_ref().unwrap().value(), 10 << 30);
/// assert_eq!(list.get("iops").unwrap().value(), 500);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceList {
    /// The amount of the resource `storage`, in bytes.
    pub storage: Option<Quantity>,
    /// The amounts of all other resources.
    pub others: BTreeMap<String, Quantity>,
}

impl ResourceList {
    /// A list of just `storage`.
    ///
    /// ```
    /// use pvbind::api::ResourceList;
    /// let mut capacity = ResourceList::of_storage("5Gi".parse()?);
    /// capacity.insert("iops", "3k".parse()?);
    /// let all: Vec<_> = capacity.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    /// assert_eq!(all, ["storage=5Gi", "iops=3k"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_storage(storage: Quantity) -> Self {
        ResourceList {
            storage: Some(storage),
            others: BTreeMap::new(),
        }
    }

    /// The amount of a resource.
    ///
    /// ```
    /// use pvbind::api::ResourceList;
    /// let list: ResourceList = serde_json::from_str(r#"{"storage": "5Gi"}"#)?;
    /// assert_eq!(list.get("storage"), list.storage.as_ref());
    /// assert_eq!(list.get("iops"), None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        match name {
            STORAGE => self.storage.as_ref(),
            other => self.others.get(other),
        }
    }

    /// Sets the amount of a resource.
    ///
    /// ```
    /// use pvbind::api::ResourceList;
    /// let mut list = ResourceList::default();
    /// list.insert("storage", "5Gi".parse()?);
    /// assert_eq!(list, ResourceList::of_storage("5Gi".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(&mut self, name: &str, amount: Quantity) {
        match name {
            STORAGE => self.storage = Some(amount),
            other => {
                self.others.insert(other.to_owned(), amount);
            }
        }
    }

    /// All resources, `storage` first, then by name.
    ///
    /// ```
    /// use pvbind::api::ResourceList;
    /// let list: ResourceList =
    ///     serde_json::from_value(serde_json::json!({"iops": "3k", "cpu": 2, "storage": "5Gi"}))?;
    /// let names: Vec<_> = list.iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["storage", "cpu", "iops"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Quantity)> {
        let storage = self.storage.iter().map(|amount| (STORAGE, amount));
        let others = self.others.iter();
        storage.chain(others.map(|(name, amount)| (name.as_str(), amount)))
    }

    /// Whether no resource is listed. One that is listed with a zero counts.
    ///
    /// ```
    /// use pvbind::api::ResourceList;
    /// use pvbind::quantity::Quantity;
    /// assert!(ResourceList::default().is_empty());
    /// assert!(!ResourceList::of_storage(Quantity::ZERO).is_empty()); // asked for, if only for nothing
    /// ```
    pub fn is_empty(&self) -> bool {
        self.storage.is_none() && self.others.is_empty()
    }
}

const STORAGE: &str = "storage";

impl Serialize for ResourceList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, amount) in self.iter() {
            map.serialize_entry(name, amount)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Resources;
        impl<'de> Visitor<'de> for Resources {
            type Value = ResourceList;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of quantities")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ResourceList, A::Error> {
                let mut list = ResourceList::default();
                while let Some(name) = map.next_key::<String>()? {
                    let amount = map
                        .next_value()
                        .map_err(|error| prefixed(format_args!(".{name}"), error))?;
                    list.insert(&name, amount);
                }
                Ok(list)
            }
        }
        deserializer.deserialize_map(Resources)
    }
}

impl Field for ResourceList {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer)
    }
}
