//! The capacity pools of a class, found by the labels of a node.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::api::CsiStorageCapacity;
use crate::selector::{CompiledLabelSelector, SelectorError};

/// The pools of a class, in the order in which they are considered.
#[derive(Debug)]
pub(super) struct Pools {
    pools: Vec<Pool>,
    /// The pools that can only be reached by nodes with a label, by its key and
    /// value.
    by_label: BTreeMap<Box<str>, HashMap<Box<str>, Vec<usize>>>,
    /// The pools that no label leads to.
    others: Vec<usize>,
}

/// A pool, with its topology checked.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) capacity: Arc<CsiStorageCapacity>,
    /// The largest volume in whole bytes, if the pool has a limit.
    pub(super) limit: Option<i64>,
    pub(super) topology: PoolTopology,
}

/// The nodes that a pool serves.
#[derive(Debug)]
pub(super) enum PoolTopology {
    Absent,
    Invalid(SelectorError),
    Selector(CompiledLabelSelector),
}

impl Pools {
    pub(super) fn new(capacities: impl IntoIterator<Item = Arc<CsiStorageCapacity>>) -> Self {
        let mut pools = Pools {
            pools: capacities.into_iter().map(Pool::new).collect(),
            by_label: BTreeMap::new(),
            others: Vec::new(),
        };
        for (place, pool) in pools.pools.iter().enumerate() {
            let PoolTopology::Selector(selector) = &pool.topology else {
                continue;
            };
            let requirements = selector.requirements().iter();
            let listing = requirements.filter_map(|requirement| {
                let values = requirement.required_values()?;
                Some((requirement.key(), values))
            });
            match listing.min_by_key(|(_, values)| values.len()) {
                Some((key, values)) => {
                    let by_value = pools.by_label.entry(key.into()).or_default();
                    for value in values {
                        by_value
                            .entry(value.as_str().into())
                            .or_default()
                            .push(place);
                    }
                }
                None => pools.others.push(place),
            }
        }
        pools
    }

    /// The first pool that serves a node with these labels and has room for
    /// this many bytes.
    pub(super) fn first(
        &self,
        labels: &BTreeMap<String, String>,
        bytes: i64,
    ) -> Option<&Arc<CsiStorageCapacity>> {
        let by_label = self.by_label.iter().filter_map(|(key, by_value)| {
            let value = labels.get(key.as_ref())?;
            by_value.get(value.as_str())
        });
        let is_suitable = |place: &usize| {
            let pool = self.pools.get(*place);
            pool.is_some_and(|pool| pool.has_room(bytes) && pool.serves(labels))
        };
        let first = by_label
            .chain([&self.others])
            .filter_map(|places| places.iter().copied().find(is_suitable))
            .min()?;
        self.pools.get(first).map(|pool| &pool.capacity)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pool> {
        self.pools.iter()
    }
}

impl Pool {
    fn new(capacity: Arc<CsiStorageCapacity>) -> Self {
        let topology = match &capacity.node_topology {
            None => PoolTopology::Absent,
            Some(selector) => match CompiledLabelSelector::compile(selector) {
                Ok(selector) => PoolTopology::Selector(selector),
                Err(error) => PoolTopology::Invalid(error),
            },
        };
        Pool {
            limit: capacity.limit().map(|limit| limit.value()),
            topology,
            capacity,
        }
    }

    fn has_room(&self, bytes: i64) -> bool {
        self.limit.is_some_and(|limit| limit >= bytes)
    }

    pub(super) fn serves(&self, labels: &BTreeMap<String, String>) -> bool {
        match &self.topology {
            PoolTopology::Absent | PoolTopology::Invalid(_) => false,
            PoolTopology::Selector(selector) => selector.matches(labels),
        }
    }
}
