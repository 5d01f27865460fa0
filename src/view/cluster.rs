//! What the binding controller may ask of a cluster.

use std::cmp::Reverse;
use std::sync::Arc;

use super::Held;
use crate::api::{
    CsiDriver, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, Timestamp,
};
use crate::matching::{FindError, SearchOptions};

/// What the binding controller may ask of a cluster.
///
/// The answers come from caches and may be out of date; decisions that cannot
/// live with that say so and ask for more. A view need not be consistent
/// between kinds, but while one decision runs, the same question should have
/// the same answer.
///
/// Objects are expected to have uids, as all have that an API server keeps: a
/// bind goes by them, and without them an earlier claim of the same name cannot
/// be told from a later one. Give manifests one each before you ask.
///
/// No answer costs a copy of an object: see [`Held`]. [`Snapshot`] is the
/// ready-made view; over an embedder's own store each method is a line or two:
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::{Arc, RwLock};
/// use pvbind::api::{CsiDriver, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::matching::{FindError, SearchOptions, find_best_match_for_claim};
/// use pvbind::view::{ClusterView, Held, default_class_among};
///
/// type Shared<T> = RwLock<HashMap<String, Arc<T>>>;
/// #[derive(Default)]
/// struct Store {
///     volumes: Shared<PersistentVolume>,
///     claims: Shared<PersistentVolumeClaim>,
///     classes: Shared<StorageClass>,
///     pods: Shared<Pod>,
/// }
/// fn get<T>(store: &Shared<T>, key: &str) -> Option<Held<'static, T>> {
///     store.read().ok()?.get(key).cloned().map(Held::Shared)
/// }
///
/// impl ClusterView for Store {
///     fn volume(&self, name: &str) -> Option<Held<'_, PersistentVolume>> {
///         get(&self.volumes, name)
///     }
///     fn claim(&self, namespace: &str, name: &str) -> Option<Held<'_, PersistentVolumeClaim>> {
///         get(&self.claims, &format!("{namespace}/{name}"))
///     }
///     fn class(&self, name: &str) -> Option<Held<'_, StorageClass>> {
///         get(&self.classes, name)
///     }
///     fn default_class(&self) -> Option<Held<'_, StorageClass>> {
///         let classes = self.classes.read().ok()?;
///         let name = default_class_among(classes.values().map(Arc::as_ref))?.name();
///         classes.get(name).cloned().map(Held::Shared)
///     }
///     // For in-tree plugins, the scheduler and diagnosis; this controller needs neither.
///     fn node(&self, _name: &str) -> Option<Held<'_, Node>> {
///         None
///     }
///     fn csi_driver(&self, _name: &str) -> Option<Held<'_, CsiDriver>> {
///         None
///     }
///     fn visit_pods_using_claim(&self, namespace: &str, name: &str, visit: &mut dyn FnMut(&Pod)) {
///         let Ok(pods) = self.pods.read() else { return };
///         let pods = pods.values().filter(|pod| pod.metadata.namespace() == namespace);
///         pods.filter(|pod| pod.uses_claim(name)).for_each(|pod| visit(pod));
///     }
///     // Linear; a large cluster keeps a `VolumeIndex` instead.
///     fn best_match(
///         &self,
///         claim: &PersistentVolumeClaim,
///         options: SearchOptions,
///     ) -> Result<Option<Held<'_, PersistentVolume>>, FindError> {
///         let Ok(volumes) = self.volumes.read() else { return Ok(None) };
///         let found = find_best_match_for_claim(claim, volumes.values().map(Arc::as_ref), options)?;
///         let found = found.and_then(|found| volumes.get(found.name()).cloned());
///         Ok(found.map(Held::Shared))
///     }
/// }
///
/// let store = Store::default();
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
///         "spec": {"capacity": {"storage": "5Gi"}}}"#)?;
/// store.volumes.write().unwrap().insert("pv-1".to_owned(), Arc::new(volume));
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"metadata": {"name": "data", "uid": "u-1"}}"#)?;
/// assert_eq!(sync_claim(&Config::default(), &store, &claim).steps.len(), 4); // a bind
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// [`Snapshot`]: super::Snapshot
pub trait ClusterView {
    /// The volume of this name.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// assert_eq!(snapshot.volume("pv-1").unwrap().name(), "pv-1");
    /// // A bound claim whose volume is not there is lost.
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_value(serde_json::json!({"spec": {"volumeName": "pv-2"}}))?;
    /// assert!(snapshot.volume(claim.volume_name()).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn volume(&self, name: &str) -> Option<Held<'_, PersistentVolume>>;

    /// The claim of this namespace and name, whatever its uid: it may be a later
    /// one than somebody means.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, read_objects};
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(
    ///     r#"{"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-2"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    ///     "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}))?;
    /// let by = volume.claim_ref().unwrap();
    /// let claim = snapshot.claim(by.namespace(), by.name()).unwrap();
    /// assert!(!volume.is_bound_to(&claim)); // the claim of that name, not the one it was bound to
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn claim(&self, namespace: &str, name: &str) -> Option<Held<'_, PersistentVolumeClaim>>;

    /// The class of this name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com"}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
    ///      "spec": {"storageClassName": "manual"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let claim = snapshot.claim("shop", "data").unwrap();
    /// // No fault: volumes may have a class that exists only as a name.
    /// assert!(snapshot.class(claim.class_name()).is_none());
    /// assert_eq!(snapshot.class("fast").unwrap().provisioner(), "csi.example.com");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn class(&self, name: &str) -> Option<Held<'_, StorageClass>>;

    /// The default class: see [`default_class_among`].
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(
    ///     r#"{"kind": "StorageClass", "metadata": {"name": "fast", "annotations": {
    ///         "storageclass.kubernetes.io/is-default-class": "true"}}}"#)?
    /// .into_iter()
    /// .collect();
    /// assert_eq!(snapshot.default_class().unwrap().name(), "fast");
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    fn default_class(&self) -> Option<Held<'_, StorageClass>>;

    /// The node of this name (not of this host name: see
    /// [`Node::name`]).
    ///
    /// ```
    /// use pvbind::api::{names, read_objects};
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Node", "metadata": {"name": "node-a"}}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data",
    ///      "annotations": {"volume.kubernetes.io/selected-node": "node-b"}}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let claim = snapshot.claim("shop", "data").unwrap();
    /// let selected = claim.metadata.annotation(names::SELECTED_NODE).unwrap();
    /// assert!(snapshot.node(selected).is_none()); // it went away since
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn node(&self, name: &str) -> Option<Held<'_, Node>>;

    /// The CSIDriver of this name, which is there once the driver is installed.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(
    ///     r#"{"kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": true}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let tells_capacity = |provisioner: &str| {
    ///     snapshot.csi_driver(provisioner).is_some_and(|driver| driver.spec.storage_capacity == Some(true))
    /// };
    /// assert!(tells_capacity("csi.example.com"));
    /// assert!(!tells_capacity("kubernetes.io/no-provisioner")); // no driver, no object
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn csi_driver(&self, name: &str) -> Option<Held<'_, CsiDriver>>;

    /// Shows every pod of a namespace that uses a claim of this name, through
    /// an ephemeral volume too, once and in any order; finished pods included.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{ClusterView, Snapshot};
    /// fn is_in_use(view: &dyn ClusterView, namespace: &str, claim: &str) -> bool {
    ///     let mut in_use = false;
    ///     view.visit_pods_using_claim(namespace, claim, &mut |pod| in_use |= !pod.is_finished());
    ///     in_use
    /// }
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "import"}, "status": {"phase": "Succeeded"},
    ///      "spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// assert!(!is_in_use(&snapshot, "shop", "data")); // there is a pod, which is done
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn visit_pods_using_claim(&self, namespace: &str, name: &str, visit: &mut dyn FnMut(&Pod));

    /// The volume that the binding controller takes for a claim: the answer of
    /// [`find_best_match_for_claim`](crate::matching::find_best_match_for_claim)
    /// over all volumes.
    ///
    /// # Errors
    /// Those of that function.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::matching::SearchOptions;
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    ///      "spec": {"capacity": {"storage": "9Gi"}}}
    ///     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"}, "status": {"phase": "Released"},
    ///      "spec": {"capacity": {"storage": "5Gi"}}}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
    ///      "spec": {"resources": {"requests": {"storage": "5Gi"}}}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let claim = snapshot.claim("shop", "data").unwrap();
    /// let found = snapshot.best_match(&claim, SearchOptions::default())?;
    /// assert_eq!(found.unwrap().name(), "pv-1"); // the other is not open
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn best_match(
        &self,
        claim: &PersistentVolumeClaim,
        options: SearchOptions,
    ) -> Result<Option<Held<'_, PersistentVolume>>, FindError>;
}

/// The default class among these: of those that are marked as default the
/// newest, then the one with the lowest name. A class without a readable
/// creation time counts as the oldest.
///
/// Follows `GetDefaultClass` of Kubernetes 1.36.
///
/// Cost: linear in the number of classes.
///
/// ```
/// use pvbind::api::StorageClass;
/// use pvbind::view::default_class_among;
/// let class = |name: &str, created: &str, default: &str| -> StorageClass {
///     serde_json::from_value(serde_json::json!({"metadata": {
///         "name": name, "creationTimestamp": created,
///         "annotations": {"storageclass.kubernetes.io/is-default-class": default}}}))
///     .unwrap()
/// };
/// let classes = [
///     class("old", "2025-01-01T00:00:00Z", "true"),
///     class("b", "2026-01-01T00:00:00Z", "true"),
///     class("a", "2026-01-01T00:00:00Z", "true"),
///     class("newest", "2026-02-01T00:00:00Z", "false"),
/// ];
/// assert_eq!(default_class_among(&classes).unwrap().name(), "a");
/// ```
pub fn default_class_among<'c>(
    classes: impl IntoIterator<Item = &'c StorageClass>,
) -> Option<&'c StorageClass> {
    let marked = classes
        .into_iter()
        .filter(|class| class.is_marked_default());
    marked.min_by(|a, b| (created(a), a.name()).cmp(&(created(b), b.name())))
}

/// When a class was created, the newest first.
pub(super) fn created(class: &StorageClass) -> Reverse<Option<i128>> {
    let timestamp = class.metadata.creation_timestamp.as_ref();
    Reverse(timestamp.and_then(Timestamp::unix_nanos))
}

/// A reference to a view, or a shared or boxed one, is a view.
macro_rules! views_behind {
    ($($Pointer:ty),*) => {$(
        impl<V: ClusterView + ?Sized> ClusterView for $Pointer {
            fn volume(&self, name: &str) -> Option<Held<'_, PersistentVolume>> {
                (**self).volume(name)
            }

            fn claim(&self, namespace: &str, name: &str) -> Option<Held<'_, PersistentVolumeClaim>> {
                (**self).claim(namespace, name)
            }

            fn class(&self, name: &str) -> Option<Held<'_, StorageClass>> {
                (**self).class(name)
            }

            fn default_class(&self) -> Option<Held<'_, StorageClass>> {
                (**self).default_class()
            }

            fn node(&self, name: &str) -> Option<Held<'_, Node>> {
                (**self).node(name)
            }

            fn csi_driver(&self, name: &str) -> Option<Held<'_, CsiDriver>> {
                (**self).csi_driver(name)
            }

            fn visit_pods_using_claim(&self, namespace: &str, name: &str, visit: &mut dyn FnMut(&Pod)) {
                (**self).visit_pods_using_claim(namespace, name, visit);
            }

            fn best_match(
                &self,
                claim: &PersistentVolumeClaim,
                options: SearchOptions,
            ) -> Result<Option<Held<'_, PersistentVolume>>, FindError> {
                (**self).best_match(claim, options)
            }
        }
    )*};
}

views_behind!(&V, Box<V>, Arc<V>);
