//! Objects by namespace and name.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::stored::sealed::Stored;

/// Objects of one kind by namespace and name. Objects without a namespace stand
/// under "".
///
/// Twice: hashed for look-ups, which are most of what a settled sync costs in a
/// large cluster, and in order for iteration. No order of the hashed side
/// reaches a caller.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    hashed: Hashed<T>,
    in_order: BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<T>>>,
}

impl<T: Stored> Table<T> {
    pub(super) fn insert(&mut self, object: Arc<T>) {
        let (namespace, name) = object.key();
        match self.in_order.get_mut(namespace) {
            Some(objects) => {
                objects.insert(name.into(), Arc::clone(&object));
            }
            None => {
                let objects = BTreeMap::from([(name.into(), Arc::clone(&object))]);
                self.in_order.insert(namespace.into(), objects);
            }
        }
        self.hashed.insert(object);
    }

    pub(super) fn remove(&mut self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let removed = self.hashed.remove(namespace, name)?;
        if let Some(objects) = self.in_order.get_mut(namespace) {
            objects.remove(name);
            if objects.is_empty() {
                self.in_order.remove(namespace);
            }
        }
        Some(removed)
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.hashed.get(namespace, name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.in_order.values().flat_map(BTreeMap::values)
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            hashed: Hashed::default(),
            in_order: BTreeMap::new(),
        }
    }
}

/// Objects of one kind, hashed by namespace and name.
#[derive(Clone, Debug)]
pub(super) struct Hashed<T> {
    objects: HashSet<ByKey<T>>,
}

impl<T: Stored> Hashed<T> {
    pub(super) fn insert(&mut self, object: Arc<T>) {
        self.objects.replace(ByKey(object));
    }

    pub(super) fn remove(&mut self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let key = Key { namespace, name };
        let removed = self.objects.take(&key as &dyn Keyed)?;
        Some(removed.0)
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        let key = Key { namespace, name };
        let found = self.objects.get(&key as &dyn Keyed)?;
        Some(&found.0)
    }
}

impl<T> Default for Hashed<T> {
    fn default() -> Self {
        Hashed {
            objects: HashSet::new(),
        }
    }
}

/// An object that hashes and compares by its namespace and name.
#[derive(Clone, Debug)]
struct ByKey<T>(Arc<T>);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Key<'a> {
    namespace: &'a str,
    name: &'a str,
}

/// What has a key: an object in the set, or the key that is asked for, which
/// so need not be owned.
trait Keyed {
    fn key(&self) -> Key<'_>;
}

impl Keyed for Key<'_> {
    fn key(&self) -> Key<'_> {
        *self
    }
}

impl<T: Stored> Keyed for ByKey<T> {
    fn key(&self) -> Key<'_> {
        let (namespace, name) = self.0.key();
        Key { namespace, name }
    }
}

impl<'a, T: Stored + 'a> Borrow<dyn Keyed + 'a> for ByKey<T> {
    fn borrow(&self) -> &(dyn Keyed + 'a) {
        self
    }
}

impl Hash for dyn Keyed + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let key = self.key();
        key.name.hash(state);
        key.namespace.hash(state);
    }
}

impl PartialEq for dyn Keyed + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for dyn Keyed + '_ {}

impl<T: Stored> Hash for ByKey<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self as &dyn Keyed).hash(state);
    }
}

impl<T: Stored> PartialEq for ByKey<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T: Stored> Eq for ByKey<T> {}
