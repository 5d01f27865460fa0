//! Volumes in the order in which a search takes them: by capacity, then by
//! name.

use std::cmp::Ordering;
use std::collections::{BTreeSet, btree_set};
use std::ops::Bound;
use std::sync::Arc;

use super::affinity::AffinityId;
use super::names::NameStart;
use crate::api::PersistentVolume;
use crate::quantity::Quantity;

/// A capacity as a number that compares fast: whole units rounded down, and
/// whether that is all of it. Where it is not, or is beyond 64 bits, the
/// quantities themselves must be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    units: i64,
    is_exact: bool,
}

impl Size {
    fn of(quantity: &Quantity) -> Self {
        const NANOS: i128 = 1_000_000_000;
        let nanos = quantity.to_nanos();
        let units = nanos.map(|nanos| nanos.div_euclid(NANOS));
        match units.map(i64::try_from) {
            Some(Ok(units)) => Size {
                units,
                is_exact: nanos == Some(i128::from(units).saturating_mul(NANOS)),
            },
            _ => Size {
                units: match quantity < &Quantity::ZERO {
                    true => i64::MIN,
                    false => i64::MAX,
                },
                is_exact: false,
            },
        }
    }
}

/// A volume in an ordered set. What most comparisons need stands here, so that
/// they need not look for the volume.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    size: Size,
    /// The volume's node affinity.
    affinity: AffinityId,
    /// The start of the volume's name.
    start: NameStart,
    /// `None` only in a probe, which stands before all volumes of its size.
    volume: Option<Arc<PersistentVolume>>,
}

impl Slot {
    pub(super) fn new(volume: Arc<PersistentVolume>, affinity: AffinityId) -> Self {
        Slot {
            size: Size::of(volume.storage()),
            affinity,
            start: NameStart::of(volume.name()),
            volume: Some(volume),
        }
    }

    fn probe(size: Size) -> Self {
        Slot {
            size,
            affinity: AffinityId::ANYWHERE,
            start: NameStart::default(),
            volume: None,
        }
    }

    pub(super) fn affinity(&self) -> AffinityId {
        self.affinity
    }

    pub(super) fn volume(&self) -> Option<&Arc<PersistentVolume>> {
        self.volume.as_ref()
    }

    /// Compares two of which at least one is not exactly its whole units.
    fn cmp_exactly(&self, other: &Self) -> Ordering {
        let storages = self.volume().zip(other.volume());
        storages.map_or(Ordering::Equal, |(a, b)| a.storage().cmp(b.storage()))
    }

    fn cmp_names(&self, other: &Self) -> Ordering {
        let volumes = self.volume().zip(other.volume());
        volumes.map_or(Ordering::Equal, |(a, b)| a.name().cmp(b.name()))
    }
}

impl Ord for Slot {
    fn cmp(&self, other: &Self) -> Ordering {
        self.size
            .units
            .cmp(&other.size.units)
            .then_with(|| self.volume.is_some().cmp(&other.volume.is_some()))
            .then_with(|| match self.size.is_exact && other.size.is_exact {
                true => Ordering::Equal,
                false => self.cmp_exactly(other),
            })
            .then_with(|| self.start.cmp(&other.start))
            .then_with(|| self.cmp_names(other))
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
#[derive(Clone, Debug)]
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
    const MOST_OF_FEW: usize = 64;

    /// The volumes that are at least as large as the request and come after
    /// this one, in order.
    pub(super) fn at_least_after<'a, 'r>(
        &'a self,
        request: Request<'r>,
        after: &Slot,
    ) -> AtLeast<'a, 'r> {
        let slots = match self {
            Ordered::Few(slots) => {
                let is_before = |slot: &Slot| slot.size.units < request.size.units || slot <= after;
                let start = slots.partition_point(is_before);
                Slots::Few(slots.get(start..).unwrap_or_default().iter())
            }
            Ordered::Many(slots) => {
                let probe = Slot::probe(request.size);
                Slots::Many(match *after < probe {
                    true => slots.range(probe..),
                    false => slots.range((Bound::Excluded(after), Bound::Unbounded)),
                })
            }
        };
        AtLeast { slots, request }
    }

    /// The volumes that are at least as large as the request, in order.
    pub(super) fn at_least<'a, 'r>(&'a self, request: Request<'r>) -> AtLeast<'a, 'r> {
        let slots = match self {
            Ordered::Few(slots) => {
                let units = request.size.units;
                // Halving would wait for memory at each step; the processor
                // fetches all that a count needs at once.
                let start = slots.iter().filter(|slot| slot.size.units < units);
                let start = start.count();
                Slots::Few(slots.get(start..).unwrap_or_default().iter())
            }
            Ordered::Many(slots) => Slots::Many(slots.range(Slot::probe(request.size)..)),
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
        let is_whole = self.size.is_exact && slot.size.is_exact;
        is_whole
            || slot.size.units != self.size.units
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
