//! Volumes by name.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::PersistentVolume;

/// Volumes in the order of their names.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumesByName {
    volumes: BTreeSet<ByName>,
}

impl VolumesByName {
    /// Puts a volume in, and returns the one of the same name that it replaces.
    pub(super) fn insert(
        &mut self,
        volume: Arc<PersistentVolume>,
    ) -> Option<Arc<PersistentVolume>> {
        let entry = ByName {
            start: NameStart::of(volume.name()),
            volume,
        };
        self.volumes.replace(entry).map(|entry| entry.volume)
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<PersistentVolume>> {
        let name = Name {
            start: NameStart::of(name),
            name,
        };
        let entry = self.volumes.take(&name as &dyn Named)?;
        Some(entry.volume)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<PersistentVolume>> {
        let name = Name {
            start: NameStart::of(name),
            name,
        };
        let entry = self.volumes.get(&name as &dyn Named)?;
        Some(&entry.volume)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<PersistentVolume>> {
        self.volumes.iter().map(|entry| &entry.volume)
    }

    pub(super) fn len(&self) -> usize {
        self.volumes.len()
    }
}

/// The first 16 bytes of a name as numbers that order as they do: enough for
/// most comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NameStart([u64; 2]);

impl NameStart {
    pub(super) fn of(name: &str) -> Self {
        let mut bytes = [0; 16];
        for (byte, &from) in bytes.iter_mut().zip(name.as_bytes()) {
            *byte = from;
        }
        let number = u128::from_be_bytes(bytes);
        // The casts keep the upper and the lower half.
        #[expect(clippy::cast_possible_truncation, reason = "halves are wanted")]
        NameStart([(number >> 64) as u64, number as u64])
    }
}

/// A volume that orders by its name.
#[derive(Clone, Debug)]
struct ByName {
    start: NameStart,
    volume: Arc<PersistentVolume>,
}

/// What has a name: a volume in the set, or the name that is asked for.
trait Named {
    fn start(&self) -> NameStart;
    fn name(&self) -> &str;
}

struct Name<'a> {
    start: NameStart,
    name: &'a str,
}

impl Named for Name<'_> {
    fn start(&self) -> NameStart {
        self.start
    }

    fn name(&self) -> &str {
        self.name
    }
}

impl Named for ByName {
    fn start(&self) -> NameStart {
        self.start
    }

    fn name(&self) -> &str {
        self.volume.name()
    }
}

impl<'a> Borrow<dyn Named + 'a> for ByName {
    fn borrow(&self) -> &(dyn Named + 'a) {
        self
    }
}

impl Ord for dyn Named + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.start()
            .cmp(&other.start())
            .then_with(|| self.name().cmp(other.name()))
    }
}

impl PartialOrd for dyn Named + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Named + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn Named + '_ {}

impl Ord for ByName {
    fn cmp(&self, other: &Self) -> Ordering {
        (self as &dyn Named).cmp(other as &dyn Named)
    }
}

impl PartialOrd for ByName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByName {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByName {}
