//! The kinds that a snapshot holds, and where it keeps each.

use std::sync::Arc;

use super::Snapshot;
use super::cluster::created;
use crate::api::{
    CsiDriver, CsiNode, CsiStorageCapacity, Node, ObjectMeta, PersistentVolume,
    PersistentVolumeClaim, Pod, StorageClass,
};

/// A kind of object that a [`Snapshot`] holds.
///
/// The kinds are those of this crate; the trait cannot be implemented for
/// others.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{Node, Pod};
/// use pvbind::view::{Applied, Snapshot, Stored};
/// /// What one function does for the watches of all kinds.
/// fn follow<T: Stored>(snapshot: &mut Snapshot, event: &str, object: T) -> Applied {
///     match event {
///         "DELETED" => snapshot.delete(&object),
///         _ => snapshot.apply(Arc::new(object)),
///     }
/// }
/// let node: Node = serde_json::from_str(r#"{"metadata": {"name": "a"}}"#)?;
/// let pod: Pod = serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "web"}}"#)?;
/// let mut snapshot = Snapshot::new();
/// follow(&mut snapshot, "ADDED", node);
/// follow(&mut snapshot, "ADDED", pod.clone());
/// follow(&mut snapshot, "DELETED", pod);
/// assert_eq!((snapshot.nodes().count(), snapshot.pods().count()), (1, 0));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait Stored: sealed::Stored {}

impl<T: sealed::Stored> Stored for T {}

pub(super) mod sealed {
    use super::{Arc, ObjectMeta, Snapshot};

    pub trait Stored: Sized {
        const IS_NAMESPACED: bool;
        fn metadata(&self) -> &ObjectMeta;
        /// Puts an object where none of its key is.
        fn put(snapshot: &mut Snapshot, object: Arc<Self>);
        fn take(snapshot: &mut Snapshot, namespace: &str, name: &str) -> Option<Arc<Self>>;
        fn find<'s>(snapshot: &'s Snapshot, namespace: &str, name: &str) -> Option<&'s Arc<Self>>;
        fn all(snapshot: &Snapshot) -> Vec<Arc<Self>>;

        /// Namespace and name; the namespace of a kind that has none counts as
        /// "", whatever a hostile object says.
        fn key(&self) -> (&str, &str) {
            let metadata = self.metadata();
            match Self::IS_NAMESPACED {
                true => (metadata.namespace(), metadata.name()),
                false => ("", metadata.name()),
            }
        }
    }
}

/// A kind that stands in a table; `put` and `take` say what else changes.
macro_rules! in_table {
    ($Kind:ty, $table:ident, namespaced: $namespaced:literal, put: $put:expr, take: $take:expr) => {
        impl sealed::Stored for $Kind {
            const IS_NAMESPACED: bool = $namespaced;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn put(snapshot: &mut Snapshot, object: Arc<Self>) {
                let put: fn(&mut Snapshot, &Arc<Self>) = $put;
                put(snapshot, &object);
                snapshot.$table.insert(object);
            }

            fn take(snapshot: &mut Snapshot, namespace: &str, name: &str) -> Option<Arc<Self>> {
                let object = snapshot.$table.remove(namespace, name)?;
                let take: fn(&mut Snapshot, &Arc<Self>) = $take;
                take(snapshot, &object);
                Some(object)
            }

            fn find<'s>(
                snapshot: &'s Snapshot,
                namespace: &str,
                name: &str,
            ) -> Option<&'s Arc<Self>> {
                let namespace = if $namespaced { namespace } else { "" };
                snapshot.$table.get(namespace, name)
            }

            fn all(snapshot: &Snapshot) -> Vec<Arc<Self>> {
                snapshot.$table.iter().cloned().collect()
            }
        }
    };
    ($Kind:ty, $table:ident, namespaced: $namespaced:literal) => {
        in_table!($Kind, $table, namespaced: $namespaced, put: |_, _| (), take: |_, _| ());
    };
}

in_table!(PersistentVolumeClaim, claims, namespaced: true);
in_table!(Node, nodes, namespaced: false);
in_table!(CsiDriver, csi_drivers, namespaced: false);
in_table!(CsiNode, csi_nodes, namespaced: false);
in_table!(
    CsiStorageCapacity,
    capacities,
    namespaced: true,
    put: |snapshot, capacity| snapshot.capacities_by_class.insert(capacity),
    take: |snapshot, capacity| snapshot.capacities_by_class.remove(capacity)
);
in_table!(
    Pod,
    pods,
    namespaced: true,
    put: |snapshot, pod| snapshot.pods_by_claim.insert(pod),
    take: |snapshot, pod| snapshot.pods_by_claim.remove(pod)
);
in_table!(
    StorageClass,
    classes,
    namespaced: false,
    put: |snapshot, class| if class.is_marked_default() {
        let key = (created(class), class.name().into());
        snapshot.default_classes.insert(key, Arc::clone(class));
    },
    take: |snapshot, class| {
        let key = (created(class), class.name().into());
        snapshot.default_classes.remove(&key);
    }
);

impl sealed::Stored for PersistentVolume {
    const IS_NAMESPACED: bool = false;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn put(snapshot: &mut Snapshot, object: Arc<Self>) {
        snapshot.volumes_by_name.insert(Arc::clone(&object));
        snapshot.volumes.insert(object);
    }

    fn take(snapshot: &mut Snapshot, _namespace: &str, name: &str) -> Option<Arc<Self>> {
        snapshot.volumes_by_name.remove("", name);
        snapshot.volumes.remove(name)
    }

    fn find<'s>(snapshot: &'s Snapshot, _namespace: &str, name: &str) -> Option<&'s Arc<Self>> {
        snapshot.volumes_by_name.get("", name)
    }

    fn all(snapshot: &Snapshot) -> Vec<Arc<Self>> {
        snapshot.volumes.iter().cloned().collect()
    }
}
