//! Objects by namespace and name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::ObjectMeta;

/// Objects of one kind by namespace and name, in that order. Objects without a
/// namespace stand under "".
///
/// Two levels, so that a look-up needs no owned key.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    namespaces: BTreeMap<Box<str>, BTreeMap<Box<str>, Arc<T>>>,
}

impl<T> Table<T> {
    pub(super) fn insert(&mut self, metadata: &ObjectMeta, object: Arc<T>) {
        let (namespace, name) = (metadata.namespace(), metadata.name());
        match self.namespaces.get_mut(namespace) {
            Some(objects) => {
                objects.insert(name.into(), object);
            }
            None => {
                let objects = BTreeMap::from([(name.into(), object)]);
                self.namespaces.insert(namespace.into(), objects);
            }
        }
    }

    pub(super) fn remove(&mut self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let objects = self.namespaces.get_mut(namespace)?;
        let removed = objects.remove(name);
        if objects.is_empty() {
            self.namespaces.remove(namespace);
        }
        removed
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.namespaces.get(namespace)?.get(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.namespaces.values().flat_map(BTreeMap::values)
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            namespaces: BTreeMap::new(),
        }
    }
}
