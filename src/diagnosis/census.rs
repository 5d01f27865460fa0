//! All volumes, counted by what the rules look at.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::api::{PersistentVolume, PersistentVolumeClaim, VolumePhase};
use crate::matching::{AccessModeSet, FindOptions, MatchReport, Summary};
use crate::selector::CompiledLabelSelector;

/// The volumes in groups of one *shape*: what all rules but those on size,
/// labels and this one claim look at. So one volume of a group speaks for all
/// that are on the same side of the request, and a report on few volumes counts
/// like one on all of them.
///
/// The volumes whose claimRef has the claim's own namespace and name are each
/// looked at.
pub(super) struct Census<'a> {
    classes: BTreeMap<&'a str, BTreeMap<Shape<'a>, Vec<&'a PersistentVolume>>>,
    by_claim: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a PersistentVolume>>>,
    /// Those whose claimRef has a uid, and lacks namespace or name.
    incomplete: BTreeMap<&'a str, Vec<&'a PersistentVolume>>,
    classless: usize,
    total: usize,
    shapes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape<'a> {
    volume_mode: &'a str,
    attributes_class: &'a str,
    modes: AccessModeSet,
    /// Of the other phases only their number is told.
    is_available: bool,
    is_deleted: bool,
    holder: Holder,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Nobody,
    Reserved,
    Bound,
}

/// How many of the nearest misses are told.
pub(super) const NEAREST: usize = 3;

/// In so many groups of other classes near misses are looked for. More are only
/// met in clusters that are made up; there, volumes of the claim's own class are
/// all looked at, and those of other classes only counted.
const FOREIGN_SHAPES: usize = 256;

impl<'a> Census<'a> {
    pub(super) fn new(volumes: impl IntoIterator<Item = &'a PersistentVolume>) -> Self {
        let mut census = Census {
            classes: BTreeMap::new(),
            by_claim: BTreeMap::new(),
            incomplete: BTreeMap::new(),
            classless: 0,
            total: 0,
            shapes: 0,
        };
        for volume in volumes {
            if let Some(reference) = volume.claim_ref() {
                let names = census.by_claim.entry(reference.namespace()).or_default();
                names.entry(reference.name()).or_default().push(volume);
                let lacks_a_name = reference.namespace().is_empty() || reference.name().is_empty();
                if lacks_a_name && !reference.uid().is_empty() {
                    let of_uid = census.incomplete.entry(reference.uid()).or_default();
                    of_uid.push(volume);
                }
            }
            let shapes = census.classes.entry(volume.class_name()).or_default();
            shapes.entry(Shape::of(volume)).or_default().push(volume);
        }
        for volumes in census.classes.values_mut().flat_map(BTreeMap::values_mut) {
            volumes.sort_by(|a, b| by_size(a, b));
        }
        let of_class = |shapes: &BTreeMap<_, Vec<_>>| shapes.values().map(Vec::len).sum();
        census.classless = census.classes.get("").map_or(0, of_class);
        census.total = census.classes.values().map(of_class).sum();
        census.shapes = census.classes.values().map(BTreeMap::len).sum();
        census
    }

    /// How many volumes have no class.
    pub(super) fn classless(&self) -> usize {
        self.classless
    }

    /// The volumes whose claimRef has this namespace and name, whatever its
    /// uid.
    pub(super) fn claimed_by(&self, namespace: &str, name: &str) -> &[&'a PersistentVolume] {
        let volumes = self
            .by_claim
            .get(namespace)
            .and_then(|names| names.get(name));
        volumes.map(Vec::as_slice).unwrap_or_default()
    }

    /// The volumes whose claimRef has this uid, and lacks namespace or name.
    pub(super) fn incomplete_of(&self, uid: &str) -> &[&'a PersistentVolume] {
        let volumes = self.incomplete.get(uid);
        volumes.map(Vec::as_slice).unwrap_or_default()
    }

    /// A report on the few volumes that speak for all, and the summary of that
    /// on all of them.
    ///
    /// Its [`near_misses`](MatchReport::near_misses) begin as those of the
    /// report on all do, for [`NEAREST`] volumes, but for those of other
    /// classes where the claim has a selector or there are very many shapes.
    pub(super) fn report<'c>(
        &self,
        claim: &'c PersistentVolumeClaim,
        options: &FindOptions<'_>,
    ) -> (MatchReport<'c>, Summary<'c>)
    where
        'a: 'c,
    {
        let mut sample = Sample::default();
        let own = self.claimed_by(claim.metadata.namespace(), claim.metadata.name());
        let not_own = |volume: &&PersistentVolume| !is_claimed_by(volume, claim);
        for volume in own {
            sample.add(volume, 1);
        }
        let selector = claim.spec.selector.as_ref();
        let selector = selector.and_then(|selector| CompiledLabelSelector::compile(selector).ok());
        let own_class = self.classes.get(claim.class_name());
        for volumes in own_class.into_iter().flat_map(BTreeMap::values) {
            if let Some(selector) = &selector {
                let (yes, no): (Vec<_>, Vec<_>) = volumes
                    .iter()
                    .partition(|volume| selector.matches(volume.metadata.labels()));
                sample.add_sides(&yes, claim, own);
                sample.add_sides(&no, claim, own);
            } else {
                sample.add_sides(volumes, claim, own);
            }
        }
        // Those of other classes all have that for their main reason.
        let others = self.classes.iter();
        let others = others.filter(|(class, _)| **class != claim.class_name());
        let mut rest = others.flat_map(|(_, shapes)| shapes.values());
        for volumes in rest.by_ref().take(FOREIGN_SHAPES) {
            sample.add_sides(volumes, claim, own);
        }
        let one_more = rest.find_map(|volumes| volumes.iter().copied().find(not_own));
        if let Some(volume) = one_more {
            let counted: usize = sample.weights.values().sum();
            sample.add(volume, self.total.saturating_sub(counted));
        }
        let report = MatchReport::new(claim, sample.volumes, options);
        let weight = |volume: &PersistentVolume| {
            let weight = sample.weights.get(volume.name());
            weight.copied().unwrap_or_default()
        };
        let summary = Summary::weighted(&report, weight);
        (report, summary)
    }
}

impl<'a> Shape<'a> {
    fn of(volume: &'a PersistentVolume) -> Self {
        Shape {
            volume_mode: volume.volume_mode().as_str(),
            attributes_class: volume.attributes_class_name(),
            modes: AccessModeSet::of(volume.access_modes()),
            is_available: volume.status.phase == Some(VolumePhase::Available),
            is_deleted: volume.metadata.is_being_deleted(),
            holder: match volume.claim_ref() {
                None => Holder::Nobody,
                Some(reference) if reference.uid().is_empty() => Holder::Reserved,
                Some(_) => Holder::Bound,
            },
        }
    }
}

/// Whether the claimRef has the claim's namespace and name, whatever its uid.
fn is_claimed_by(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let metadata = &claim.metadata;
    volume.claim_ref().is_some_and(|reference| {
        reference.name() == metadata.name() && reference.namespace() == metadata.namespace()
    })
}

fn by_size(a: &PersistentVolume, b: &PersistentVolume) -> Ordering {
    let by_size = a.storage().cmp(b.storage());
    by_size.then_with(|| a.name().cmp(b.name()))
}

#[derive(Default)]
struct Sample<'a> {
    volumes: Vec<&'a PersistentVolume>,
    /// For how many volumes each one stands, by its name; none for the others.
    weights: BTreeMap<&'a str, usize>,
}

impl<'a> Sample<'a> {
    fn add(&mut self, volume: &'a PersistentVolume, weight: usize) {
        self.volumes.push(volume);
        if weight > 0 {
            self.weights.insert(volume.name(), weight);
        }
    }

    /// Of volumes of one shape, by size and name: the smallest that are large
    /// enough, and the largest that are not. The claim's own, which are few, are
    /// passed over, and not looked for one by one.
    fn add_sides(
        &mut self,
        volumes: &[&'a PersistentVolume],
        claim: &PersistentVolumeClaim,
        own: &[&'a PersistentVolume],
    ) {
        let asked = claim.requested_storage();
        let split = volumes.partition_point(|volume| volume.storage() < asked);
        let (small, large) = volumes.split_at_checked(split).unwrap_or_default();
        let not_own = |volume: &&&PersistentVolume| !is_claimed_by(volume, claim);
        let count = |side: &[&PersistentVolume]| {
            let own = own.iter().filter(|own| {
                let found = side.binary_search_by(|volume| by_size(volume, own));
                found.is_ok()
            });
            side.len().saturating_sub(own.count())
        };
        let others = large.iter().filter(not_own);
        for (place, volume) in others.take(NEAREST).enumerate() {
            self.add(volume, if place == 0 { count(large) } else { 0 });
        }
        let (mut rest, mut taken) = (small, 0_usize);
        while let Some(last) = rest.last() {
            // Of equally large ones those with the lowest names.
            let start = rest.partition_point(|volume| volume.storage() < last.storage());
            let (smaller, run) = rest.split_at_checked(start).unwrap_or_default();
            let others = run.iter().filter(not_own);
            for volume in others.take(NEAREST.saturating_sub(taken)) {
                self.add(volume, if taken == 0 { count(small) } else { 0 });
                taken = taken.saturating_add(1);
            }
            if taken >= NEAREST {
                break;
            }
            rest = smaller;
        }
    }
}

impl std::fmt::Debug for Census<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Census")
            .field("shapes", &self.shapes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A few hundred volumes of every odd form.
    fn volumes() -> Vec<PersistentVolume> {
        let mut state = 7_u64;
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from((state >> 33) % limit).unwrap()
        };
        let mut volume = |i: usize| {
            let class = ["", "fast", "slow"][below(3)];
            let size = ["1Gi", "2Gi", "2G", "8Gi"][below(4)];
            let modes = [
                json!(["ReadWriteOnce"]),
                json!(["ReadWriteOnce", "ReadOnlyMany"]),
                json!([]),
            ];
            let phase = ["Available", "Available", "Available", "Bound", "Released"][below(5)];
            let reference = [
                json!(null),
                json!(null),
                json!(null),
                json!({"namespace": "shop", "name": "data"}),
                json!({"namespace": "shop", "name": "data", "uid": "old"}),
                json!({"namespace": "shop", "name": "data", "uid": "u-1"}),
                json!({"namespace": "shop", "name": "other", "uid": "x"}),
                json!({"namespace": "shop", "name": "other"}),
            ];
            let mode = ["Filesystem", "Filesystem", "Filesystem", "Block"][below(4)];
            let deleted = [
                json!(null),
                json!(null),
                json!(null),
                json!("2026-01-01T00:00:00Z"),
            ];
            let disk = ["a", "b"][below(2)];
            serde_json::from_value(json!({
                "metadata": {"name": format!("pv-{i:03}"), "labels": {"disk": disk},
                    "deletionTimestamp": deleted[below(4)]},
                "spec": {"storageClassName": class, "capacity": {"storage": size}, "volumeMode": mode,
                    "accessModes": modes[below(3)], "claimRef": reference[below(8)]},
                "status": {"phase": phase}}))
            .unwrap()
        };
        (0..300).map(&mut volume).collect()
    }

    #[test]
    fn the_few_count_like_all_and_begin_with_the_same_near_misses() {
        let all = volumes();
        for taken in [0, 1, 5, 40, 300] {
            let volumes = || all.iter().take(taken);
            let census = Census::new(volumes());
            for class in [json!(null), json!("fast"), json!("gone")] {
                for size in ["1", "2Gi", "100Gi"] {
                    for selector in [json!(null), json!({"matchLabels": {"disk": "a"}})] {
                        let has_selector = !selector.is_null();
                        let claim = serde_json::from_value(json!({
                            "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
                            "spec": {"storageClassName": class, "selector": selector,
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": size}}}}))
                        .unwrap();
                        let options = FindOptions::default();
                        let plain = MatchReport::new(&claim, volumes(), &options);
                        let (few, summary) = census.report(&claim, &options);
                        assert_eq!(summary.to_string(), plain.summary().to_string());
                        assert_eq!(few.chosen(), plain.chosen());
                        let nearest = |report: &MatchReport<'_>| -> Vec<String> {
                            let nearest = report.near_misses().into_iter().take(NEAREST);
                            nearest.map(|miss| miss.volume.name().to_owned()).collect()
                        };
                        if !has_selector {
                            assert_eq!(nearest(&few), nearest(&plain));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn volumes_of_very_many_classes_are_counted_all_the_same() {
        let mut all = volumes();
        for (place, volume) in all.iter_mut().enumerate().skip(50) {
            volume.spec.storage_class_name = Some(format!("class-{place}"));
        }
        let census = Census::new(&all);
        let claim = serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
            "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "2Gi"}}}}))
        .unwrap();
        let options = FindOptions::default();
        let plain = MatchReport::new(&claim, &all, &options);
        let (few, summary) = census.report(&claim, &options);
        assert_eq!(summary.to_string(), plain.summary().to_string());
        assert!(few.volumes.len() < all.len());
    }
}
