//! Volumes in the order in which a search takes them: by capacity, then by
//! name.

use std::cmp::Ordering;
use std::collections::{BTreeSet, btree_set};
use std::sync::Arc;

use crate::api::PersistentVolume;
use crate::quantity::Quantity;

/// A capacity as a number that compares fast: units of 10^-9, exact unless it
/// is one of the two ends, where the quantities themselves must be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size(i128);

impl Size {
    pub(super) fn of(quantity: &Quantity) -> Self {
        Size(quantity.to_nanos().unwrap_or_else(|| {
            if quantity < &Quantity::ZERO {
                i128::MIN
            } else {
                i128::MAX
            }
        }))
    }

    fn is_exact(self) -> bool {
        self.0 != i128::MIN && self.0 != i128::MAX
    }
}

/// A volume in an ordered set.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    size: Size,
    /// `None` only in a probe, which stands before all volumes of its size.
    volume: Option<Arc<PersistentVolume>>,
    /// The volume's node affinity.
    affinity: super::affinity::AffinityId,
}

impl Slot {
    pub(super) fn new(
        volume: Arc<PersistentVolume>,
        affinity: super::affinity::AffinityId,
    ) -> Self {
        Slot {
            size: Size::of(volume.storage()),
            volume: Some(volume),
            affinity,
        }
    }

    fn probe(size: Size) -> Self {
        Slot {
            size,
            volume: None,
            affinity: super::affinity::AffinityId::ANYWHERE,
        }
    }

    pub(super) fn affinity(&self) -> super::affinity::AffinityId {
        self.affinity
    }

    pub(super) fn volume(&self) -> Option<&Arc<PersistentVolume>> {
        self.volume.as_ref()
    }
}

impl Ord for Slot {
    fn cmp(&self, other: &Self) -> Ordering {
        self.size
            .cmp(&other.size)
            .then_with(|| match (&self.volume, &other.volume) {
                (Some(a), Some(b)) => {
                    let by_size = if self.size.is_exact() {
                        Ordering::Equal
                    } else {
                        a.storage().cmp(b.storage())
                    };
                    by_size.then_with(|| a.name().cmp(b.name()))
                }
                (a, b) => a.is_some().cmp(&b.is_some()),
            })
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Slot {}

/// A set of volumes in the order of the search.
///
/// Most sets are tiny (the volumes of one class on one host), so a short one is
/// a sorted vector.
#[derive(Debug)]
pub(super) enum Ordered {
    Few(Vec<Slot>),
    Many(BTreeSet<Slot>),
}

impl Default for Ordered {
    fn default() -> Self {
        Ordered::Few(Vec::new())
    }
}

impl Ordered {
    const MOST_OF_FEW: usize = 16;

    /// The volumes that are at least as large as the request, in order.
    pub(super) fn at_least<'a, 'r>(&'a self, request: Request<'r>) -> AtLeast<'a, 'r> {
        let probe = Slot::probe(request.size);
        let slots = match self {
            Ordered::Few(slots) => {
                let start = slots.partition_point(|slot| *slot < probe);
                Slots::Few(slots.get(start..).unwrap_or_default().iter())
            }
            Ordered::Many(slots) => Slots::Many(slots.range(probe..)),
        };
        AtLeast { slots, request }
    }

    pub(super) fn insert(&mut self, slot: Slot) {
        match self {
            Ordered::Few(slots) => {
                let place = slots.partition_point(|other| *other < slot);
                if slots.len() < Self::MOST_OF_FEW {
                    if slots.is_empty() {
                        slots.reserve_exact(1);
                    }
                    slots.insert(place, slot);
                } else {
                    let mut many: BTreeSet<Slot> = std::mem::take(slots).into_iter().collect();
                    many.insert(slot);
                    *self = Ordered::Many(many);
                }
            }
            Ordered::Many(slots) => {
                slots.insert(slot);
            }
        }
    }

    pub(super) fn remove(&mut self, slot: &Slot) {
        match self {
            Ordered::Few(slots) => {
                if let Ok(place) = slots.binary_search(slot) {
                    slots.remove(place);
                }
            }
            Ordered::Many(slots) => {
                slots.remove(slot);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Ordered::Few(slots) => slots.len(),
            Ordered::Many(slots) => slots.len(),
        }
    }
}

/// How large a volume must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    size: Size,
    quantity: &'a Quantity,
}

impl<'a> Request<'a> {
    pub(super) fn of(quantity: &'a Quantity) -> Self {
        Request {
            size: Size::of(quantity),
            quantity,
        }
    }

    fn is_met_by(&self, slot: &Slot) -> bool {
        self.size.is_exact()
            || slot.size != self.size
            || slot
                .volume()
                .is_some_and(|volume| volume.storage() >= self.quantity)
    }
}

/// Iterates over the volumes that are large enough.
pub(super) struct AtLeast<'a, 'r> {
    slots: Slots<'a>,
    request: Request<'r>,
}

enum Slots<'a> {
    Few(std::slice::Iter<'a, Slot>),
    Many(btree_set::Range<'a, Slot>),
}

impl<'a> Iterator for AtLeast<'a, '_> {
    type Item = &'a Slot;

    fn next(&mut self) -> Option<&'a Slot> {
        loop {
            let slot = match &mut self.slots {
                Slots::Few(slots) => slots.next(),
                Slots::Many(slots) => slots.next(),
            }?;
            if self.request.is_met_by(slot) {
                return Some(slot);
            }
        }
    }
}
