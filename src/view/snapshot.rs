//! A cluster held in memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::capacities::CapacitiesByClass;
use super::pods::PodsByClaim;
use super::table::{Hashed, Table};
use super::{ClusterView, Held, Stored, is_older_version};
use crate::api::{
    CsiDriver, CsiNode, CsiStorageCapacity, Node, Object, PersistentVolume, PersistentVolumeClaim,
    Pod, StorageClass,
};
use crate::matching::{FindError, SearchOptions, VolumeIndex};

/// A cluster held in memory: filled from lists, kept up to date from watch
/// events, and asked through [`ClusterView`].
///
/// Objects are shared, never copied. An older version of an object never
/// overwrites a newer one ([`is_older_version`]), so that the answer to one's
/// own write can be applied at once, and what the watch still says of the time
/// before does no harm. A snapshot keeps no memory of deleted objects: an event
/// from before a deletion that comes after it brings the object back, until the
/// next [`replace_all`](Snapshot::replace_all).
///
/// Objects need uids, as all have that an API server keeps: see
/// [`ClusterView`].
///
/// # Cost
/// Every look-up and change is logarithmic in the number of objects of the
/// kind. The pods of a claim and the default class are found without a scan.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::view::{ClusterView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}}
///     {"kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"volumes": [
///         {"name": "data", "persistentVolumeClaim": {"claimName": "shop-data"}}]}}"#)?
/// .into_iter()
/// .collect();
/// assert!(snapshot.volume("pv-1").is_some());
/// let mut users = Vec::new();
/// snapshot.visit_pods_using_claim("shop", "shop-data", &mut |pod| {
///     users.push(pod.name().to_owned());
/// });
/// assert_eq!(users, ["web"]);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(super) volumes: VolumeIndex,
    /// The same volumes, for look-ups.
    pub(super) volumes_by_name: Hashed<PersistentVolume>,
    pub(super) claims: Table<PersistentVolumeClaim>,
    pub(super) classes: Table<StorageClass>,
    /// The classes that are marked as default, the one that counts first.
    pub(super) default_classes: BTreeMap<DefaultClassOrder, Arc<StorageClass>>,
    pub(super) nodes: Table<Node>,
    pub(super) pods: Table<Pod>,
    pub(super) pods_by_claim: PodsByClaim,
    pub(super) csi_drivers: Table<CsiDriver>,
    pub(super) csi_nodes: Table<CsiNode>,
    pub(super) capacities: Table<CsiStorageCapacity>,
    pub(super) capacities_by_class: CapacitiesByClass,
}

/// Where a class stands among the default classes: the newest first, then by
/// name.
type DefaultClassOrder = (Reverse<Option<i128>>, Box<str>);

/// What became of an event.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{Object, PersistentVolume};
/// use pvbind::view::{Applied, Snapshot};
/// let mut snapshot = Snapshot::new();
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// assert_eq!(snapshot.delete(&volume), Applied::NotHeld);
/// assert_eq!(snapshot.apply(Arc::new(volume)), Applied::Done);
/// let secret: Object = serde_json::from_str(r#"{"kind": "Secret"}"#)?;
/// assert_eq!(snapshot.apply_object(secret), Applied::OtherKind);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Applied {
    /// The snapshot follows it.
    Done,
    /// The snapshot holds a newer version of the object.
    Stale,
    /// The snapshot does not hold the object that was deleted.
    NotHeld,
    /// The snapshot does not hold objects of this kind.
    OtherKind,
}

impl Snapshot {
    /// An empty cluster.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::view::Snapshot;
    /// let mut snapshot = Snapshot::new();
    /// // Nothing is known yet, so nothing should be decided yet.
    /// assert_eq!(snapshot.volumes().len(), 0);
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// snapshot.apply(Arc::new(volume));
    /// assert_eq!(snapshot.volumes().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> Self {
        Snapshot::default()
    }

    /// Takes in an object that was added or changed.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::view::{Applied, Snapshot};
    /// let volume = |version: &str| -> Arc<PersistentVolume> {
    ///     let metadata = serde_json::json!({"name": "pv-1", "resourceVersion": version});
    ///     serde_json::from_value(serde_json::json!({"metadata": metadata})).map(Arc::new).unwrap()
    /// };
    /// let mut snapshot = Snapshot::new();
    /// assert_eq!(snapshot.apply(volume("10")), Applied::Done);
    /// assert_eq!(snapshot.apply(volume("9")), Applied::Stale);
    /// ```
    pub fn apply<T: Stored>(&mut self, object: Arc<T>) -> Applied {
        let (namespace, name) = object.key();
        if let Some(held) = T::find(self, namespace, name) {
            if is_older(&*object, held) {
                return Applied::Stale;
            }
            T::take(self, namespace, name);
        }
        T::put(self, object);
        Applied::Done
    }

    /// Lets go of an object that was deleted, given its last state.
    ///
    /// A newer object of the same name, created since, stays.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::Pod;
    /// use pvbind::view::{Applied, Snapshot};
    /// let pod = |version: &str| -> Arc<Pod> {
    ///     let metadata = serde_json::json!({"name": "web", "resourceVersion": version});
    ///     serde_json::from_value(serde_json::json!({"metadata": metadata})).map(Arc::new).unwrap()
    /// };
    /// let mut snapshot = Snapshot::new();
    /// snapshot.apply(pod("7"));
    /// // This deletion is of the pod that had the name before.
    /// assert_eq!(snapshot.delete(&*pod("5")), Applied::Stale);
    /// assert_eq!(snapshot.delete(&*pod("8")), Applied::Done);
    /// assert_eq!(snapshot.pods().count(), 0);
    /// ```
    pub fn delete<T: Stored>(&mut self, object: &T) -> Applied {
        let (namespace, name) = object.key();
        match T::find(self, namespace, name) {
            None => Applied::NotHeld,
            Some(held) if is_older(object, held) => Applied::Stale,
            Some(_) => {
                T::take(self, namespace, name);
                Applied::Done
            }
        }
    }

    /// Takes in a complete list of the objects of one kind, as a watch that was
    /// broken off begins again: what is not in the list goes. What the snapshot
    /// holds in a newer version than the list stays.
    ///
    /// Cost: linear in both lists, with a logarithm for each object.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::Node;
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let node = |name: &str| -> Arc<Node> {
    ///     serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).map(Arc::new).unwrap()
    /// };
    /// let mut snapshot = Snapshot::new();
    /// snapshot.apply(node("a"));
    /// snapshot.replace_all([node("b")]);
    /// assert!(snapshot.node("a").is_none());
    /// assert!(snapshot.node("b").is_some());
    /// ```
    pub fn replace_all<T: Stored>(&mut self, objects: impl IntoIterator<Item = Arc<T>>) {
        let objects: Vec<Arc<T>> = objects.into_iter().collect();
        let key = |object: &T| {
            let (namespace, name) = object.key();
            (namespace.to_owned(), name.to_owned())
        };
        let listed: BTreeSet<_> = objects.iter().map(|object| key(object)).collect();
        for held in T::all(self) {
            let (namespace, name) = key(&held);
            if !listed.contains(&(namespace.clone(), name.clone())) {
                T::take(self, &namespace, &name);
            }
        }
        for object in objects {
            self.apply(object);
        }
    }

    /// Takes in an object of any kind that was added or changed.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::Snapshot;
    /// let mut snapshot = Snapshot::new();
    /// for object in read_objects(r#"
    ///     {"kind": "Node", "metadata": {"name": "a"}}
    ///     {"kind": "StorageClass", "metadata": {"name": "fast"}}"#)?
    /// {
    ///     snapshot.apply_object(object);
    /// }
    /// assert_eq!((snapshot.nodes().count(), snapshot.classes().count()), (1, 1));
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    pub fn apply_object(&mut self, object: Object) -> Applied {
        match object {
            Object::PersistentVolume(object) => self.apply::<PersistentVolume>(Arc::from(object)),
            Object::PersistentVolumeClaim(object) => {
                self.apply::<PersistentVolumeClaim>(Arc::from(object))
            }
            Object::StorageClass(object) => self.apply::<StorageClass>(Arc::from(object)),
            Object::Node(object) => self.apply::<Node>(Arc::from(object)),
            Object::Pod(object) => self.apply::<Pod>(Arc::from(object)),
            Object::CsiDriver(object) => self.apply::<CsiDriver>(Arc::from(object)),
            Object::CsiNode(object) => self.apply::<CsiNode>(Arc::from(object)),
            Object::CsiStorageCapacity(object) => {
                self.apply::<CsiStorageCapacity>(Arc::from(object))
            }
            _ => Applied::OtherKind,
        }
    }

    /// Lets go of an object of any kind that was deleted, given its last state.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::{Applied, Snapshot};
    /// let objects = read_objects(r#"{"kind": "Node", "metadata": {"name": "a"}}"#)?;
    /// let mut snapshot: Snapshot = objects.iter().cloned().collect();
    /// assert_eq!(snapshot.delete_object(&objects[0]), Applied::Done);
    /// assert_eq!(snapshot.delete_object(&objects[0]), Applied::NotHeld);
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    pub fn delete_object(&mut self, object: &Object) -> Applied {
        match object {
            Object::PersistentVolume(object) => self.delete(&**object),
            Object::PersistentVolumeClaim(object) => self.delete(&**object),
            Object::StorageClass(object) => self.delete(&**object),
            Object::Node(object) => self.delete(&**object),
            Object::Pod(object) => self.delete(&**object),
            Object::CsiDriver(object) => self.delete(&**object),
            Object::CsiNode(object) => self.delete(&**object),
            Object::CsiStorageCapacity(object) => self.delete(&**object),
            _ => Applied::OtherKind,
        }
    }

    /// The volumes, with the searches among them.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// use pvbind::matching::SearchOptions;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(
    ///     r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"}}"#,
    /// )?
    /// .into_iter()
    /// .collect();
    /// let found = snapshot.volumes().best_match(&PersistentVolumeClaim::default(), SearchOptions::default())?;
    /// assert_eq!(found.unwrap().name(), "pv-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volumes(&self) -> &VolumeIndex {
        &self.volumes
    }

    /// The claims, by namespace and name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"}}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "cache"}}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "bank", "name": "data"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let keys: Vec<_> = snapshot.claims().map(|claim| claim.key().to_string()).collect();
    /// assert_eq!(keys, ["bank/data", "shop/cache", "shop/data"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claims(&self) -> impl Iterator<Item = &Arc<PersistentVolumeClaim>> {
        self.claims.iter()
    }

    /// The classes, by name.
    ///
    /// ```
    /// use pvbind::api::{VolumeBindingMode, read_objects};
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "volumeBindingMode": "Immediate"}
    ///     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let waits = Some(VolumeBindingMode::WaitForFirstConsumer);
    /// let waiting = snapshot.classes().filter(|class| class.volume_binding_mode == waits);
    /// assert_eq!(waiting.map(|class| class.name()).collect::<Vec<_>>(), ["local"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn classes(&self) -> impl Iterator<Item = &Arc<StorageClass>> {
        self.classes.iter()
    }

    /// The nodes, by name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Node", "metadata": {"name": "node-10"}}
    ///     {"kind": "Node", "metadata": {"name": "node-9"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// // Names order as text.
    /// let names: Vec<_> = snapshot.nodes().map(|node| node.name()).collect();
    /// assert_eq!(names, ["node-10", "node-9"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.iter()
    }

    /// The pods, by namespace and name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web"}, "spec": {"nodeName": "node-a"}}
    ///     {"kind": "Pod", "metadata": {"namespace": "bank", "name": "web"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// // Those that no node was found for yet.
    /// let unscheduled = snapshot.pods().filter(|pod| pod.node_name().is_empty());
    /// assert_eq!(unscheduled.map(|pod| pod.metadata.key()).collect::<Vec<_>>(), ["bank/web"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.iter()
    }

    /// The pods that use a claim, by name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web"}, "spec": {"volumes": [
    ///         {"name": "scratch", "ephemeral": {}}]}}"#)?
    /// .into_iter()
    /// .collect();
    /// // Through an ephemeral volume too, whose claim is named after both.
    /// let pods: Vec<_> = snapshot.pods_using_claim("shop", "web-scratch").map(|pod| pod.name()).collect();
    /// assert_eq!(pods, ["web"]);
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    pub fn pods_using_claim(&self, namespace: &str, name: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods_by_claim.using(namespace, name)
    }

    /// The CSIDrivers, by name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "CSIDriver", "metadata": {"name": "nfs.example.com"}}
    ///     {"kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": true}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// // The drivers whose capacity the scheduler looks at.
    /// let tell = snapshot.csi_drivers().filter(|driver| driver.spec.storage_capacity == Some(true));
    /// assert_eq!(tell.map(|driver| driver.name()).collect::<Vec<_>>(), ["csi.example.com"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn csi_drivers(&self) -> impl Iterator<Item = &Arc<CsiDriver>> {
        self.csi_drivers.iter()
    }

    /// The CSINodes, by name.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "CSINode", "metadata": {"name": "node-a"}, "spec": {"drivers": [{"name": "csi.example.com"}]}}
    ///     {"kind": "CSINode", "metadata": {"name": "node-b"}, "spec": {"drivers": null}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let count = |name: &str| {
    ///     let drivers = snapshot.csi_nodes().flat_map(|csi_node| csi_node.spec.drivers.iter().flatten());
    ///     drivers.filter(|driver| driver.name.as_deref() == Some(name)).count()
    /// };
    /// assert_eq!(count("csi.example.com"), 1); // on so many nodes the driver runs
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn csi_nodes(&self) -> impl Iterator<Item = &Arc<CsiNode>> {
        self.csi_nodes.iter()
    }

    /// The CSIStorageCapacities, by namespace and name: that of the driver's own
    /// pods, which has nothing to do with claims.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "CSIStorageCapacity", "metadata": {"namespace": "kube-system", "name": "csisc-b"},
    ///      "storageClassName": "fast", "capacity": "20Gi"}
    ///     {"kind": "CSIStorageCapacity", "metadata": {"namespace": "kube-system", "name": "csisc-a"},
    ///      "storageClassName": "fast"}"#)?
    ///     .into_iter()
    ///     .collect();
    /// let limits: Vec<_> = snapshot.capacities().map(|pool| pool.limit().map(ToString::to_string)).collect();
    /// assert_eq!(limits, [None, Some("20Gi".to_owned())]); // one that does not say has no room
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capacities(&self) -> impl Iterator<Item = &Arc<CsiStorageCapacity>> {
        self.capacities.iter()
    }

    /// The object of this kind, namespace and name. The namespace of a kind
    /// that has none does not count.
    ///
    /// ```
    /// use pvbind::api::{CsiNode, Pod, read_objects};
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "CSINode", "metadata": {"name": "node-a"}}
    ///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web"}}"#)?
    ///     .into_iter()
    ///     .collect();
    /// assert!(snapshot.find::<CsiNode>("", "node-a").is_some());
    /// assert!(snapshot.find::<Pod>("shop", "web").is_some());
    /// assert!(snapshot.find::<Pod>("", "web").is_none()); // none is not any
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find<T: Stored>(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        T::find(self, namespace, name)
    }
}

fn is_older<T: Stored>(object: &T, held: &T) -> bool {
    let (object, held) = (object.metadata(), held.metadata());
    is_older_version(object.resource_version(), held.resource_version())
}

/// Objects of other kinds are left out.
impl Extend<Object> for Snapshot {
    fn extend<I: IntoIterator<Item = Object>>(&mut self, objects: I) {
        for object in objects {
            self.apply_object(object);
        }
    }
}

/// Objects of other kinds are left out.
impl FromIterator<Object> for Snapshot {
    fn from_iter<I: IntoIterator<Item = Object>>(objects: I) -> Self {
        let mut snapshot = Snapshot::new();
        snapshot.extend(objects);
        snapshot
    }
}

impl ClusterView for Snapshot {
    fn volume(&self, name: &str) -> Option<Held<'_, PersistentVolume>> {
        self.volumes_by_name.get("", name).map(Held::Lent)
    }

    fn claim(&self, namespace: &str, name: &str) -> Option<Held<'_, PersistentVolumeClaim>> {
        self.claims.get(namespace, name).map(Held::Lent)
    }

    fn class(&self, name: &str) -> Option<Held<'_, StorageClass>> {
        self.classes.get("", name).map(Held::Lent)
    }

    fn default_class(&self) -> Option<Held<'_, StorageClass>> {
        let (_, class) = self.default_classes.first_key_value()?;
        Some(Held::Lent(class))
    }

    fn node(&self, name: &str) -> Option<Held<'_, Node>> {
        self.nodes.get("", name).map(Held::Lent)
    }

    fn csi_driver(&self, name: &str) -> Option<Held<'_, CsiDriver>> {
        self.csi_drivers.get("", name).map(Held::Lent)
    }

    fn visit_pods_using_claim(&self, namespace: &str, name: &str, visit: &mut dyn FnMut(&Pod)) {
        for pod in self.pods_by_claim.using(namespace, name) {
            visit(pod);
        }
    }

    fn best_match(
        &self,
        claim: &PersistentVolumeClaim,
        options: SearchOptions,
    ) -> Result<Option<Held<'_, PersistentVolume>>, FindError> {
        let found = self.volumes.best_match(claim, options)?;
        Ok(found.map(Held::Lent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::default_class_among;
    use serde_json::json;

    fn class(name: &str, created: &str, default: bool) -> Arc<StorageClass> {
        let annotations =
            json!({"storageclass.kubernetes.io/is-default-class": default.to_string()});
        serde_json::from_value(json!({"metadata": {
            "name": name, "creationTimestamp": created, "annotations": annotations}}))
        .map(Arc::new)
        .unwrap()
    }

    fn pod(name: &str, version: &str, claims: &[&str]) -> Arc<Pod> {
        let volumes: Vec<_> = claims
            .iter()
            .map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}}))
            .collect();
        serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": name, "resourceVersion": version},
            "spec": {"volumes": volumes}}))
        .map(Arc::new)
        .unwrap()
    }

    fn users(snapshot: &Snapshot, claim: &str) -> Vec<String> {
        let pods = snapshot.pods_using_claim("shop", claim);
        pods.map(|pod| pod.name().to_owned()).collect()
    }

    #[test]
    fn the_default_class_is_the_one_of_the_plain_form_after_every_change() {
        let mut snapshot = Snapshot::new();
        let changes = [
            class("b", "2026-01-01T00:00:00Z", true),
            class("a", "2026-01-01T00:00:00Z", true),
            class("c", "2026-02-01T00:00:00Z", true),
            class("d", "junk", true),
            class("c", "2026-02-01T00:00:00Z", false),
            class("a", "2026-01-01T00:00:00Z", false),
            class("b", "2026-01-01T00:00:00Z", false),
            class("d", "junk", false),
        ];
        for change in changes {
            snapshot.apply(change);
            let plain = default_class_among(snapshot.classes().map(|class| &**class));
            let default = snapshot.default_class();
            assert_eq!(default.as_deref(), plain);
        }
        assert!(snapshot.default_class().is_none());
    }

    #[test]
    fn pods_are_found_by_the_claims_of_their_newest_version_only() {
        let mut snapshot = Snapshot::new();
        snapshot.apply(pod("web", "1", &["data", "logs", "data"]));
        snapshot.apply(pod("db", "1", &["data"]));
        assert_eq!(users(&snapshot, "data"), ["db", "web"]);
        snapshot.apply(pod("web", "2", &["logs"]));
        assert_eq!(snapshot.apply(pod("web", "1", &["data"])), Applied::Stale);
        assert_eq!(users(&snapshot, "data"), ["db"]);
        assert_eq!(users(&snapshot, "logs"), ["web"]);
        assert_eq!(snapshot.delete(&*pod("web", "3", &[])), Applied::Done);
        assert_eq!(users(&snapshot, "logs"), [] as [&str; 0]);
    }

    #[test]
    fn the_namespace_of_a_kind_that_has_none_does_not_count() {
        let mut snapshot = Snapshot::new();
        let metadata = json!({"metadata": {"namespace": "shop", "name": "a"}});
        snapshot.apply::<Node>(
            serde_json::from_value(metadata.clone())
                .map(Arc::new)
                .unwrap(),
        );
        snapshot.apply::<PersistentVolume>(serde_json::from_value(metadata).map(Arc::new).unwrap());
        for namespace in ["", "shop", "bank"] {
            assert!(snapshot.find::<Node>(namespace, "a").is_some());
            assert!(snapshot.find::<PersistentVolume>(namespace, "a").is_some());
        }
    }

    #[test]
    fn a_late_deletion_leaves_the_object_that_was_created_since() {
        let mut snapshot = Snapshot::new();
        snapshot.apply(pod("web", "7", &[]));
        assert_eq!(snapshot.delete(&*pod("web", "5", &[])), Applied::Stale);
        assert_eq!(snapshot.delete(&*pod("db", "5", &[])), Applied::NotHeld);
        assert_eq!(snapshot.pods().count(), 1);
    }

    #[test]
    fn a_list_replaces_all_of_its_kind_but_not_what_is_newer() {
        let mut snapshot = Snapshot::new();
        snapshot.apply(pod("gone", "1", &["data"]));
        snapshot.apply(pod("ahead", "9", &["data"]));
        snapshot.apply(class("kept", "", true));
        snapshot.replace_all([pod("ahead", "8", &[]), pod("new", "8", &[])]);
        assert_eq!(users(&snapshot, "data"), ["ahead"]);
        let names: Vec<_> = snapshot.pods().map(|pod| pod.name()).collect();
        assert_eq!(names, ["ahead", "new"]);
        assert_eq!(snapshot.classes().count(), 1);
    }

    #[test]
    fn objects_of_other_kinds_are_left_out() {
        let mut snapshot = Snapshot::new();
        let other = Object::from_value(json!({"kind": "Secret"})).unwrap();
        assert_eq!(snapshot.delete_object(&other), Applied::OtherKind);
        assert_eq!(snapshot.apply_object(other), Applied::OtherKind);
    }
}
