//! What all objects have in common.

use std::collections::BTreeMap;

use super::Timestamp;

object! {
    /// An object's metadata (`ObjectMeta` of meta/v1).
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let mut meta: ObjectMeta = serde_json::from_str(
    ///     r#"{"name": "data", "namespace": "shop", "uid": "u-1", "generation": 3}"#)?;
    /// assert_eq!(meta.key(), "shop/data");
    /// assert_eq!(meta.resource_version(), ""); // absent
    /// assert!(!meta.is_being_deleted());
    /// meta.set_annotation("pv.kubernetes.io/bind-completed", "yes");
    /// assert_eq!(
    ///     serde_json::to_string(&meta)?,
    ///     r#"{"name":"data","namespace":"shop","uid":"u-1","annotations":{"pv.kubernetes.io/bind-completed":"yes"},"generation":3}"#,
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct ObjectMeta("an object's metadata") {
        /// The name, unique in the namespace (or in the cluster, for volumes,
        /// classes and nodes).
        name: Option<String> = "name",
        /// The prefix from which the API server makes a name.
        generate_name: Option<String> = "generateName",
        /// The namespace; absent for volumes, classes and nodes.
        namespace: Option<String> = "namespace",
        /// The identity of this one object: a new object of the same name has
        /// another.
        uid: Option<String> = "uid",
        /// The version of the object, set by the API server on each change.
        resource_version: Option<String> = "resourceVersion",
        /// When the object was created.
        creation_timestamp: Option<Timestamp> = "creationTimestamp",
        /// Set when somebody asked for the object's deletion; it is gone once
        /// its finalizers are.
        deletion_timestamp: Option<Timestamp> = "deletionTimestamp",
        /// Labels, which selectors look at.
        labels: Option<BTreeMap<String, String>> = "labels",
        /// Annotations, in which controllers keep their notes.
        annotations: Option<BTreeMap<String, String>> = "annotations",
        /// Who has to agree before the object goes.
        finalizers: Option<Vec<String>> = "finalizers",
        /// The objects that this one belongs to.
        owner_references: Option<Vec<OwnerReference>> = "ownerReferences",
    }
}

impl ObjectMeta {
    /// The name, empty if absent.
    ///
    /// ```
    /// use pvbind::api::{ObjectMeta, StorageClass};
    /// use serde_json::{from_value, json};
    /// let class: StorageClass = from_value(json!({"metadata": {"name": "fast"}}))?;
    /// assert_eq!(class.metadata.name(), "fast");
    /// // The field tells absent from empty, this does not.
    /// assert_eq!(ObjectMeta::default().name, None);
    /// assert_eq!(ObjectMeta::default().name(), "");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The namespace, empty if absent.
    ///
    /// ```
    /// use pvbind::api::{Pod, PersistentVolume};
    /// use serde_json::{from_value, json};
    /// let pod: Pod = from_value(json!({"metadata": {"namespace": "shop", "name": "web"}}))?;
    /// assert_eq!(pod.metadata.namespace(), "shop");
    /// // Volumes, classes and nodes have none.
    /// let volume: PersistentVolume = from_value(json!({"metadata": {"name": "pv-1"}}))?;
    /// assert_eq!(volume.metadata.namespace(), "");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    /// The uid, empty if absent, as in a manifest that no API server has seen.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim = from_value(json!({"metadata": {"name": "data", "uid": "u-2"}}))?;
    /// assert_eq!(claim.metadata.uid(), "u-2");
    /// // Provisioners name the volume of a claim after it.
    /// assert_eq!(format!("pvc-{}", claim.metadata.uid()), "pvc-u-2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn uid(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }

    /// The resource version, empty if absent.
    /// [`is_older_version`](crate::view::is_older_version) compares two.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// use pvbind::view::is_older_version;
    /// use serde_json::{from_value, json};
    /// let read: ObjectMeta = from_value(json!({"name": "pv-1", "resourceVersion": "99"}))?;
    /// let written: ObjectMeta = from_value(json!({"name": "pv-1", "resourceVersion": "101"}))?;
    /// // As texts they would compare the other way round.
    /// assert!(is_older_version(read.resource_version(), written.resource_version()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resource_version(&self) -> &str {
        self.resource_version.as_deref().unwrap_or_default()
    }

    /// Whether somebody asked for the object's deletion: `deletionTimestamp` is
    /// set, whatever it says.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// use serde_json::{from_value, json};
    /// let held: ObjectMeta = from_value(json!({"name": "pv-1",
    ///     "deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": ["kubernetes.io/pv-protection"]}))?;
    /// assert!(held.is_being_deleted());
    /// // A finalizer alone only says what happens once somebody asks.
    /// let kept: ObjectMeta = from_value(json!({"finalizers": ["kubernetes.io/pv-protection"]}))?;
    /// assert!(!kept.is_being_deleted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// The labels; an empty map if absent.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let meta: ObjectMeta = serde_json::from_str(r#"{"labels": {"zone": "a"}}"#)?;
    /// assert_eq!(meta.labels()["zone"], "a");
    /// assert!(ObjectMeta::default().labels().is_empty());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn labels(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.labels.as_ref().unwrap_or(&NONE)
    }

    /// The value of an annotation, if its key is present.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let meta: ObjectMeta = serde_json::from_str(r#"{"annotations": {"example.com/note": ""}}"#)?;
    /// assert_eq!(meta.annotation("example.com/note"), Some("")); // present, and empty
    /// assert_eq!(meta.annotation("example.com/other"), None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn annotation(&self, key: &str) -> Option<&str> {
        const FEW: usize = 16;
        let annotations = self.annotations.as_ref()?;
        let value = if annotations.len() <= FEW {
            // Comparing for equality looks at the lengths first, which stand in
            // the map; comparing for order would fetch every key passed by.
            let found = annotations.iter().find(|(has, _)| has.as_str() == key);
            found.map(|(_, value)| value)
        } else {
            annotations.get(key)
        };
        value.map(String::as_str)
    }

    /// Whether the key of an annotation is present, whatever its value.
    ///
    /// ```
    /// use pvbind::api::{ObjectMeta, names};
    /// use serde_json::{from_value, json};
    /// let meta: ObjectMeta = from_value(json!({"annotations": {"pv.kubernetes.io/bind-completed": "no"}}))?;
    /// // Presence is what counts, so this claim's bind is complete.
    /// assert!(meta.has_annotation(names::BIND_COMPLETED));
    /// assert!(!meta.has_annotation(names::SELECTED_NODE));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_annotation(&self, key: &str) -> bool {
        self.annotation(key).is_some()
    }

    /// Sets an annotation; tells whether that changed anything.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let mut meta = ObjectMeta::default();
    /// assert!(meta.set_annotation("example.com/note", "x"));
    /// assert!(!meta.set_annotation("example.com/note", "x")); // nothing to write
    /// assert_eq!(meta.annotation("example.com/note"), Some("x"));
    /// assert!(meta.remove_annotation("example.com/note"));
    /// assert!(!meta.has_annotation("example.com/note"));
    /// ```
    pub fn set_annotation(&mut self, key: &str, value: &str) -> bool {
        if self.annotation(key) == Some(value) {
            return false;
        }
        self.annotations
            .get_or_insert_default()
            .insert(key.to_owned(), value.to_owned());
        true
    }

    /// Removes an annotation; tells whether it was there. The last one leaves an
    /// empty map, which means the same as none.
    ///
    /// ```
    /// use pvbind::api::{ObjectMeta, names};
    /// use serde_json::{from_value, json};
    /// let mut meta: ObjectMeta =
    ///     from_value(json!({"annotations": {"volume.kubernetes.io/selected-node": "node-a"}}))?;
    /// assert!(meta.remove_annotation(names::SELECTED_NODE));
    /// assert!(!meta.remove_annotation(names::SELECTED_NODE)); // nothing to write
    /// assert_eq!(serde_json::to_string(&meta)?, r#"{"annotations":{}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_annotation(&mut self, key: &str) -> bool {
        self.annotations
            .as_mut()
            .is_some_and(|annotations| annotations.remove(key).is_some())
    }

    /// Whether a finalizer is present.
    ///
    /// ```
    /// use pvbind::api::{ObjectMeta, names};
    /// use serde_json::{from_value, json};
    /// let meta: ObjectMeta = from_value(json!({"finalizers": ["kubernetes.io/pv-protection"]}))?;
    /// assert!(meta.has_finalizer(names::PV_PROTECTION_FINALIZER));
    /// assert!(!meta.has_finalizer(names::PV_CONTROLLER_FINALIZER));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers
            .as_ref()
            .is_some_and(|finalizers| finalizers.iter().any(|finalizer| finalizer == name))
    }

    /// Adds a finalizer as the last; tells whether it was missing.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let mut meta = ObjectMeta::default();
    /// assert!(meta.add_finalizer("example.com/keep"));
    /// assert!(!meta.add_finalizer("example.com/keep"));
    /// assert_eq!(meta.finalizers.unwrap(), ["example.com/keep"]);
    /// ```
    pub fn add_finalizer(&mut self, name: &str) -> bool {
        if self.has_finalizer(name) {
            return false;
        }
        self.finalizers
            .get_or_insert_default()
            .push(name.to_owned());
        true
    }

    /// Removes a finalizer, as often as it stands there; tells whether it did.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let mut meta = ObjectMeta::default();
    /// assert!(meta.add_finalizer("example.com/keep"));
    /// assert!(meta.remove_finalizer("example.com/keep"));
    /// assert!(!meta.remove_finalizer("example.com/keep"));
    /// ```
    pub fn remove_finalizer(&mut self, name: &str) -> bool {
        let had = self.has_finalizer(name);
        if had && let Some(finalizers) = &mut self.finalizers {
            finalizers.retain(|finalizer| finalizer != name);
        }
        had
    }

    /// The owner reference that is marked as controller, if any; the first
    /// one if a hostile object marks several.
    ///
    /// Follows `GetControllerOf` (apimachinery) of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let meta: ObjectMeta = serde_json::from_str(
    ///     r#"{"ownerReferences": [{"kind": "App", "name": "shop"},
    ///                             {"kind": "Pod", "name": "web", "uid": "u-1", "controller": true}]}"#)?;
    /// assert_eq!(meta.controller().unwrap().name.as_deref(), Some("web"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references
            .iter()
            .flatten()
            .find(|owner| owner.controller == Some(true))
    }

    /// Whether two states are of one object: namespace, name and uid are equal.
    /// An object that was deleted and created again under its name is another.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let meta = |uid: &str| ObjectMeta { uid: Some(uid.into()), ..ObjectMeta::default() };
    /// assert!(meta("u-1").is_same_object(&meta("u-1")));
    /// assert!(!meta("u-1").is_same_object(&meta("u-2")));
    /// ```
    pub fn is_same_object(&self, other: &ObjectMeta) -> bool {
        self.name() == other.name()
            && self.namespace() == other.namespace()
            && self.uid() == other.uid()
    }

    /// `NAMESPACE/NAME`, or just the name if there is no namespace.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// let meta = ObjectMeta {
    ///     name: Some("data".into()),
    ///     namespace: Some("shop".into()),
    ///     ..ObjectMeta::default()
    /// };
    /// assert_eq!(meta.key(), "shop/data");
    /// ```
    pub fn key(&self) -> String {
        key(self.namespace(), self.name())
    }
}

object! {
    /// A reference to the object that owns this one (meta/v1).
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"ownerReferences": [
    ///         {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u-1", "controller": true}]}}"#)?;
    /// let owner = claim.metadata.controller().unwrap();
    /// assert_eq!((owner.kind(), owner.uid()), ("Pod", "u-1"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct OwnerReference("an owner reference") {
        /// The owner's API group and version.
        api_version: Option<String> = "apiVersion",
        /// The owner's kind.
        kind: Option<String> = "kind",
        /// The owner's name, in the same namespace.
        name: Option<String> = "name",
        /// The owner's uid.
        uid: Option<String> = "uid",
        /// Whether this owner is the controller of the object.
        controller: Option<bool> = "controller",
        /// Whether the owner waits for this object when it is deleted.
        block_owner_deletion: Option<bool> = "blockOwnerDeletion",
    }
}

impl OwnerReference {
    /// The kind, empty if absent.
    ///
    /// ```
    /// use pvbind::api::OwnerReference;
    /// let owner: OwnerReference = serde_json::from_str(r#"{"kind": "StatefulSet", "name": "web"}"#)?;
    /// assert_eq!(owner.kind(), "StatefulSet");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or_default()
    }

    /// The name, empty if absent. The namespace is that of the object that is owned.
    ///
    /// ```
    /// use pvbind::api::OwnerReference;
    /// let owner: OwnerReference = serde_json::from_str(r#"{"kind": "StatefulSet", "name": "web"}"#)?;
    /// assert_eq!(owner.name(), "web");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The uid, empty if absent.
    ///
    /// ```
    /// use pvbind::api::OwnerReference;
    /// let owner: OwnerReference = serde_json::from_str(r#"{"kind": "Pod", "name": "web", "uid": "u-1"}"#)?;
    /// assert_eq!(owner.uid(), "u-1"); // this pod, not a later one of the name
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn uid(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }
}

object! {
    /// A reference to any object (`ObjectReference` of core/v1); on a volume
    /// it is the `claimRef`.
    ///
    /// ```
    /// use pvbind::api::ObjectReference;
    /// let claim_ref: ObjectReference =
    ///     serde_json::from_str(r#"{"namespace": "shop", "name": "data"}"#)?;
    /// assert_eq!(claim_ref.key(), "shop/data");
    /// assert_eq!(claim_ref.uid(), ""); // so it is a reservation
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct ObjectReference("an object reference") {
        /// The kind of the object.
        kind: Option<String> = "kind",
        /// The namespace of the object.
        namespace: Option<String> = "namespace",
        /// The name of the object.
        name: Option<String> = "name",
        /// The uid of the object. A `claimRef` without uid is a reservation.
        uid: Option<String> = "uid",
        /// The API group and version of the object.
        api_version: Option<String> = "apiVersion",
        /// The version of the object at the time the reference was made.
        resource_version: Option<String> = "resourceVersion",
        /// A part of the object.
        field_path: Option<String> = "fieldPath",
    }
}

impl ObjectReference {
    /// The namespace, empty if absent.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"metadata": {"name": "pv-1"},
    ///     "spec": {"claimRef": {"namespace": "shop", "name": "data"}}}))?;
    /// // The volume has no namespace, the claim that it names has.
    /// assert_eq!(volume.claim_ref().unwrap().namespace(), "shop");
    /// assert_eq!(volume.metadata.namespace(), "");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"metadata": {"name": "pv-1"},
    ///     "spec": {"claimRef": {"namespace": "shop", "name": "data"}}}))?;
    /// let claim = volume.claim_ref().unwrap();
    /// assert_eq!(format!("kubectl -n {} get pvc {}", claim.namespace(), claim.name()),
    ///     "kubectl -n shop get pvc data");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    /// The name, empty if absent.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({"metadata": {"name": "pv-1"},
    ///     "spec": {"claimRef": {"namespace": "shop", "name": "data"}}}))?;
    /// let claim = volume.claim_ref().unwrap();
    /// let command = format!("kubectl -n {} get pvc {}", claim.namespace(), claim.name());
    /// assert_eq!(command, "kubectl -n shop get pvc data");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The uid, empty if absent. A `claimRef` without one is a reservation, for
    /// any claim of that name.
    ///
    /// ```
    /// use pvbind::api::ObjectReference;
    /// use serde_json::{from_value, json};
    /// let reserved: ObjectReference = from_value(json!({"namespace": "shop", "name": "data"}))?;
    /// assert_eq!(reserved.uid(), "");
    /// let bound: ObjectReference = from_value(json!({"namespace": "shop", "name": "data", "uid": "u-1"}))?;
    /// assert_eq!(bound.uid(), "u-1"); // this one claim, not a later one of the name
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn uid(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }

    /// `NAMESPACE/NAME`, for messages; just the name if there is no namespace.
    /// [`ClaimKey::referred`](super::ClaimKey::referred) keeps the parts apart.
    ///
    /// ```
    /// use pvbind::api::ObjectReference;
    /// use serde_json::{from_value, json};
    /// let claim: ObjectReference = from_value(json!({"namespace": "shop", "name": "data"}))?;
    /// assert_eq!(claim.key(), "shop/data");
    /// let node: ObjectReference = from_value(json!({"kind": "Node", "name": "node-a"}))?;
    /// assert_eq!(node.key(), "node-a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(&self) -> String {
        key(self.namespace(), self.name())
    }
}

fn key(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}
