//! How the objects of a list or a watch are read: each by itself.

use std::borrow::Cow;
use std::fmt::Display;

use k8s_openapi::api::{core::v1 as core, storage::v1 as storage};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{Name, Unreadable};

/// An object, or why it could not be read.
///
/// kube reads the items of a list together: one that a type does not understand
/// fails the whole list, and all work stops; of a watch it leaves the change out.
/// Everybody who may change a claim could bring that about, with a time of the
/// year 9999 in `metadata.managedFields`, say.
#[derive(Clone, Debug)]
pub(crate) struct Read<T> {
    /// Name, namespace, uid and version.
    metadata: ObjectMeta,
    /// The claim that it says it is for, of a volume.
    claim: Option<Name>,
    object: Result<T, String>,
}

/// An object before it is looked at.
#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    metadata: Metadata,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    /// Nobody here looks at it. It is skipped, not read: the fields of somebody's
    /// may be nested deeper than a reader goes.
    #[serde(default, rename = "managedFields")]
    _managed: IgnoredAny,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl<'de, T: Lean + DeserializeOwned> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Whole {
            metadata: Metadata { others: found, .. },
            others: mut object,
        } = Whole::deserialize(deserializer)?;
        let text = |map: &Map<String, Value>, field: &str| {
            let text = map.get(field)?.as_str()?;
            Some(text.to_owned())
        };
        let metadata = ObjectMeta {
            name: text(&found, "name"),
            namespace: text(&found, "namespace"),
            uid: text(&found, "uid"),
            resource_version: text(&found, "resourceVersion"),
            ..ObjectMeta::default()
        };
        object.insert("metadata".to_owned(), Value::Object(found));
        let spec = map_in(&mut object, "spec");
        let claim = spec.and_then(|spec| map_in(spec, "claimRef"));
        let claim = claim.and_then(|claim| {
            Some(Name {
                namespace: text(claim, "namespace")?,
                name: text(claim, "name")?,
            })
        });
        T::make_lean(&mut object);
        let object = serde_json::from_value(Value::Object(object));
        Ok(Read {
            metadata,
            claim,
            object: object.map_err(|error| error.to_string()),
        })
    }
}

impl<T> Read<T> {
    /// The name of the object.
    pub(crate) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The object as one of `pvbind`.
    pub(crate) fn understood<Ours>(self) -> Result<Ours, Box<Unreadable>>
    where
        Ours: TryFrom<T, Error: Display>,
    {
        let ours = self.object.and_then(|object| {
            let ours = Ours::try_from(object);
            ours.map_err(|error| error.to_string())
        });
        ours.map_err(|message| {
            Box::new(Unreadable {
                name: Name {
                    namespace: self.metadata.namespace.unwrap_or_default(),
                    name: self.metadata.name.unwrap_or_default(),
                },
                uid: self.metadata.uid.unwrap_or_default(),
                version: self.metadata.resource_version.unwrap_or_default(),
                claim: self.claim,
                message,
            })
        })
    }
}

impl<T: Resource<DynamicType = ()>> Resource for Read<T> {
    type DynamicType = ();
    type Scope = T::Scope;

    fn kind(dynamic: &()) -> Cow<'_, str> {
        T::kind(dynamic)
    }

    fn group(dynamic: &()) -> Cow<'_, str> {
        T::group(dynamic)
    }

    fn version(dynamic: &()) -> Cow<'_, str> {
        T::version(dynamic)
    }

    fn plural(dynamic: &()) -> Cow<'_, str> {
        T::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Objects lose what no decision about storage looks at, before they are read
/// and held in memory.
pub(crate) trait Lean {
    fn make_lean(_object: &mut Map<String, Value>) {}
}

impl Lean for core::PersistentVolume {}
impl Lean for core::PersistentVolumeClaim {}
impl Lean for storage::StorageClass {}
impl Lean for PersistentVolume {}
impl Lean for PersistentVolumeClaim {}

impl Lean for core::Pod {
    fn make_lean(object: &mut Map<String, Value>) {
        if let Some(spec) = map_in(object, "spec") {
            for list in ["containers", "initContainers", "ephemeralContainers"] {
                spec.remove(list);
            }
        }
        if let Some(status) = map_in(object, "status") {
            status.retain(|field, _| field == "phase");
        }
    }
}

impl Lean for core::Node {
    fn make_lean(object: &mut Map<String, Value>) {
        object.remove("status");
    }
}

fn map_in<'a>(
    object: &'a mut Map<String, Value>,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(field)?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::ResourceExt as _;
    use serde_json::json;

    fn pod(metadata: Value, status: Value) -> Read<core::Pod> {
        let spec = json!({"nodeName": "n", "containers": [{"name": 7}]});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status}))
            .unwrap()
    }

    #[test]
    fn what_nobody_looks_at_is_not_read() {
        let late = "9999-12-31T23:59:59Z";
        let metadata = json!({"name": "p", "namespace": "a", "managedFields": [{"time": late}]});
        let status = json!({"phase": "Running", "startTime": late});
        let read = pod(metadata, status).object.unwrap();
        assert_eq!(read.spec.unwrap().node_name.as_deref(), Some("n"));
        assert_eq!(read.status.unwrap().phase.as_deref(), Some("Running"));
    }

    #[test]
    fn fields_of_others_are_skipped_however_deep_they_are() {
        let deep = format!("{}0{}", r#"{"f:a":"#.repeat(200), "}".repeat(200));
        let text = format!(
            r#"{{"items": [{{"metadata": {{"name": "p", "managedFields": [{{"fieldsV1": {deep}}}]}}}}]}}"#
        );
        #[derive(Deserialize)]
        struct List {
            items: Vec<Read<core::Pod>>,
        }
        let list: List = serde_json::from_str(&text).unwrap();
        assert_eq!(list.items[0].name_any(), "p");
        assert!(list.items[0].object.is_ok());
    }

    #[test]
    fn a_volume_that_is_not_understood_says_still_which_claim_it_is_for() {
        let read: Read<core::PersistentVolume> = serde_json::from_value(json!({
            "metadata": {"name": "pv-1"},
            "spec": {"accessModes": 7, "claimRef": {"namespace": "shop", "name": "data"}}}))
        .unwrap();
        assert!(read.object.is_err());
        let claim = read.claim.unwrap();
        assert_eq!(
            (claim.namespace.as_str(), claim.name.as_str()),
            ("shop", "data")
        );
    }

    #[test]
    fn what_is_not_understood_has_its_name_still() {
        let metadata = json!({"name": "p", "namespace": "a", "uid": "u", "resourceVersion": "7",
            "deletionTimestamp": "9999-12-31T23:59:59Z"});
        let read = pod(metadata, Value::Null);
        assert_eq!(read.name_any(), "p");
        assert_eq!(
            (read.namespace(), read.uid()),
            (Some("a".to_owned()), Some("u".to_owned()))
        );
        assert_eq!(read.resource_version().as_deref(), Some("7"));
        assert!(read.object.is_err());
    }
}
