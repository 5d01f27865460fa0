//! How the objects of a list or a watch are read: each by itself.

use std::borrow::Cow;

use k8s_openapi::api::{core::v1 as core, storage::v1 as storage};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// An object, or why it could not be read.
///
/// kube reads the items of a list together: one that a type does not understand
/// fails the whole list, and all work stops; of a watch it leaves the change out.
/// Everybody who may change a claim could bring that about, with a time of the
/// year 9999 in `metadata.managedFields`, say.
#[derive(Clone, Debug)]
pub(super) struct Read<T> {
    /// Name, namespace, uid and version.
    metadata: ObjectMeta,
    pub(super) object: Result<T, String>,
}

impl<'de, T: Lean + DeserializeOwned> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Map::deserialize(deserializer)?;
        let mut metadata = ObjectMeta::default();
        if let Some(found) = map_in(&mut object, "metadata") {
            // Nobody here looks at it.
            found.remove("managedFields");
            let text = |field: &str| found.get(field)?.as_str().map(str::to_owned);
            metadata.name = text("name");
            metadata.namespace = text("namespace");
            metadata.uid = text("uid");
            metadata.resource_version = text("resourceVersion");
        }
        T::make_lean(&mut object);
        let object = serde_json::from_value(Value::Object(object));
        Ok(Read {
            metadata,
            object: object.map_err(|error| error.to_string()),
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
pub(super) trait Lean {
    fn make_lean(_object: &mut Map<String, Value>) {}
}

impl Lean for core::PersistentVolume {}
impl Lean for core::PersistentVolumeClaim {}
impl Lean for storage::StorageClass {}

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
