//! CSIStorageCapacities by the class that they speak of.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::table::Table;
use crate::api::CsiStorageCapacity;

/// The CSIStorageCapacities of each class, by namespace and name. Those without
/// a class stand under "".
#[derive(Clone, Debug, Default)]
pub(super) struct CapacitiesByClass {
    classes: BTreeMap<Box<str>, Table<CsiStorageCapacity>>,
}

impl CapacitiesByClass {
    pub(super) fn insert(&mut self, capacity: &Arc<CsiStorageCapacity>) {
        let class = capacity.storage_class_name.as_deref().unwrap_or_default();
        let table = self.classes.entry(class.into()).or_default();
        table.insert(Arc::clone(capacity));
    }

    pub(super) fn remove(&mut self, capacity: &CsiStorageCapacity) {
        let class = capacity.storage_class_name.as_deref().unwrap_or_default();
        let Some(table) = self.classes.get_mut(class) else {
            return;
        };
        let metadata = &capacity.metadata;
        table.remove(metadata.namespace(), metadata.name());
        if table.is_empty() {
            self.classes.remove(class);
        }
    }

    pub(super) fn of_class(&self, class: &str) -> impl Iterator<Item = &Arc<CsiStorageCapacity>> {
        self.classes.get(class).into_iter().flat_map(Table::iter)
    }
}
