//! What must hold of every search.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use pvbind::api::{PersistentVolume, PersistentVolumeClaim, VolumePhase};
use pvbind::matching::{
    AccessModeSet, Bucket, Features, FindOptions, MatchReport, SearchOptions, VolumeIndex,
    find_best_match_for_claim, find_matching_volume,
};

use crate::generators::{claim, features, node_labels, open_volume, volume, volume_among};

/// A few volumes or a few hundred; of equal names the last counts.
fn volumes() -> impl Strategy<Value = BTreeMap<String, Arc<PersistentVolume>>> {
    let named = |volume: PersistentVolume| (volume.name().to_owned(), Arc::new(volume));
    prop_oneof![
        4 => prop::collection::vec(volume_among(1000), 0..40),
        1 => prop::collection::vec(volume_among(1000), 200..400),
    ]
    .prop_map(move |volumes| volumes.into_iter().map(named).collect())
}

fn by_name(
    volumes: &BTreeMap<String, Arc<PersistentVolume>>,
) -> impl Iterator<Item = &PersistentVolume> + Clone {
    volumes.values().map(Arc::as_ref)
}

/// A change of the cluster, or a question.
#[derive(Clone, Debug)]
enum Operation {
    Insert(Box<PersistentVolume>),
    Remove(u8),
    Query(Box<Query>),
}

#[derive(Clone, Debug)]
struct Query {
    claim: PersistentVolumeClaim,
    labels: BTreeMap<String, String>,
    excluded: Vec<u8>,
    delay_binding: bool,
    features: Features,
}

impl Query {
    /// The controller's search, with VolumeAttributesClass on.
    fn search(&self) -> SearchOptions {
        SearchOptions {
            delay_binding: self.delay_binding,
            ..SearchOptions::default()
        }
    }
}

fn query() -> impl Strategy<Value = Query> {
    let excluded = prop::collection::vec(0..20_u8, 0..3);
    let features = features();
    (claim(), node_labels(), excluded, any::<bool>(), features).prop_map(
        |(claim, labels, excluded, delay_binding, features)| Query {
            claim,
            labels,
            excluded,
            delay_binding,
            features,
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        5 => volume().prop_map(|volume| Operation::Insert(Box::new(volume))),
        2 => (0..20_u8).prop_map(Operation::Remove),
        4 => query().prop_map(|query| Operation::Query(Box::new(query))),
    ]
}

/// The index and the slice search answer the same, and so does the report.
fn ask_both(
    index: &VolumeIndex,
    volumes: &BTreeMap<String, Arc<PersistentVolume>>,
    query: &Query,
) -> TestCaseResult {
    let Query {
        claim,
        labels,
        delay_binding,
        features,
        ..
    } = query;
    let search = SearchOptions {
        delay_binding: *delay_binding,
        features: *features,
    };
    let slice = find_best_match_for_claim(claim, by_name(volumes), search);
    let found = index.best_match(claim, search);
    prop_assert_eq!(found.map(|found| found.map(Arc::as_ref)), slice.clone());
    let options = FindOptions::from(search);
    let report = MatchReport::new(claim, by_name(volumes), &options);
    check_report(&report, slice.unwrap_or_default(), volumes.len())?;

    let excluded: Vec<_> = query
        .excluded
        .iter()
        .map(|i| format!("pv-{i:02}"))
        .collect();
    let excluded: Vec<_> = excluded.iter().map(String::as_str).collect();
    let options = FindOptions {
        node_labels: Some(labels),
        excluded: &excluded,
        ..options
    };
    let slice = find_matching_volume(claim, by_name(volumes), &options);
    let found = index.best_match_on_node(claim, labels, &excluded, *features);
    prop_assert_eq!(found.map(|found| found.map(Arc::as_ref)), slice.clone());
    let report = MatchReport::new(claim, by_name(volumes), &options);
    check_report(&report, slice.unwrap_or_default(), volumes.len())?;

    // The scheduler only looks at volumes of the claim's class.
    let of_class = by_name(volumes).filter(|volume| volume.class_name() == claim.class_name());
    let slice = find_matching_volume(claim, of_class, &options).unwrap_or_default();
    let search = index
        .search(claim, *features)
        .map(|search| search.within_class());
    let found = search
        .ok()
        .and_then(|search| search.on_node(&index.node(labels), &excluded));
    prop_assert_eq!(found.map(Arc::as_ref), slice);
    Ok(())
}

/// Every volume is in one bucket, and the chosen one is the one that was found.
fn check_report(
    report: &MatchReport<'_>,
    found: Option<&PersistentVolume>,
    total: usize,
) -> TestCaseResult {
    prop_assert_eq!(report.chosen(), found);
    prop_assert_eq!(report.volumes.len(), total);
    let chosen = report.bucket(Bucket::Chosen).count();
    prop_assert_eq!(chosen, usize::from(found.is_some()));
    for volume in &report.volumes {
        let fits = matches!(
            volume.bucket,
            Bucket::Chosen | Bucket::FitsLarger | Bucket::FitsSearchedLater
        );
        prop_assert_eq!(fits, volume.refusals.is_empty(), "{:?}", volume);
    }
    let summary = report.summary();
    let refused: usize = summary.refused.iter().map(|refused| refused.count).sum();
    prop_assert_eq!(summary.fitting + refused, total);
    Ok(())
}

proptest! {
    #[test]
    fn index_equals_slice_search_whatever_happened_before(
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        let mut index = VolumeIndex::new();
        let mut volumes = BTreeMap::new();
        for operation in operations {
            match operation {
                Operation::Insert(volume) => {
                    let volume = Arc::<PersistentVolume>::from(volume);
                    let replaced = volumes.insert(volume.name().to_owned(), Arc::clone(&volume));
                    prop_assert_eq!(index.insert(volume), replaced);
                }
                Operation::Remove(name) => {
                    let name = format!("pv-{name:02}");
                    prop_assert_eq!(index.remove(&name), volumes.remove(&name));
                    prop_assert_eq!(index.get(&name), None);
                }
                Operation::Query(query) => ask_both(&index, &volumes, &query)?,
            }
            prop_assert!(index.iter().eq(volumes.values()));
        }
    }

    #[test]
    fn index_equals_slice_search_over_many_volumes(
        volumes in volumes(),
        queries in prop::collection::vec(query(), 1..6),
    ) {
        let index = volumes.values().cloned().collect();
        for query in queries {
            ask_both(&index, &volumes, &query)?;
        }
    }

    /// Documented ties: the search over a slice takes the first of equal ones,
    /// and stops at the first that is bound to the claim.
    #[test]
    fn the_controllers_answer_does_not_depend_on_the_order_of_the_volumes(
        volumes in volumes(),
        query in query(),
        seed in any::<prop::sample::Selector>(),
    ) {
        let mut shuffled: Vec<_> = by_name(&volumes).collect();
        let len = shuffled.len();
        for i in 0..len {
            let other = seed.select(0..len);
            shuffled.swap(i, other);
        }
        let answer = |volumes: &[&PersistentVolume]| {
            find_best_match_for_claim(&query.claim, volumes.iter().copied(), query.search())
                .map(|found| found.map(|found| found.name().to_owned()))
        };
        let sorted: Vec<_> = by_name(&volumes).collect();
        prop_assert_eq!(answer(&sorted), answer(&shuffled));

        let options = FindOptions { node_labels: Some(&query.labels), ..FindOptions::default() };
        let size = |volumes: &[&PersistentVolume]| {
            let found = find_matching_volume(&query.claim, volumes.iter().copied(), &options);
            found.map(|found| found.map(|found| found.storage().clone()))
        };
        let is_reserved = by_name(&volumes).any(|volume| volume.is_bound_to(&query.claim));
        if !is_reserved {
            prop_assert_eq!(size(&sorted), size(&shuffled));
        }
    }

    #[test]
    fn what_is_chosen_satisfies_every_rule_and_no_open_match_is_smaller_in_its_group(
        volumes in volumes(),
        query in query(),
    ) {
        let claim = &query.claim;
        let Ok(Some(chosen)) = find_best_match_for_claim(claim, by_name(&volumes), SearchOptions::default()) else {
            return Ok(());
        };
        prop_assert!(chosen.storage() >= claim.requested_storage());
        prop_assert_eq!(chosen.volume_mode(), claim.volume_mode());
        prop_assert_eq!(chosen.attributes_class_name(), claim.attributes_class_name());
        prop_assert!(!chosen.metadata.is_being_deleted());
        let set = |volume: &PersistentVolume| AccessModeSet::of(volume.access_modes());
        prop_assert!(set(chosen).contains(AccessModeSet::of(claim.access_modes())));
        if chosen.is_bound_to(claim) {
            return Ok(());
        }
        prop_assert_eq!(chosen.claim_ref(), None);
        prop_assert_eq!(&chosen.status.phase, &Some(VolumePhase::Available));
        prop_assert_eq!(chosen.class_name(), claim.class_name());
        let report = MatchReport::new(claim, by_name(&volumes), &FindOptions::default());
        for other in report.volumes.iter().filter(|other| other.refusals.is_empty()) {
            let is_open = other.volume.claim_ref().is_none();
            if is_open && set(other.volume) == set(chosen) {
                prop_assert!(other.volume.storage() >= chosen.storage());
            }
        }
    }

    #[test]
    fn another_open_volume_never_turns_a_match_into_none(
        volumes in volumes(),
        query in query(),
        added in open_volume(),
    ) {
        let more = || by_name(&volumes).chain([&added]);
        let before = find_best_match_for_claim(&query.claim, by_name(&volumes), query.search());
        if let Ok(Some(_)) = before {
            let after = find_best_match_for_claim(&query.claim, more(), query.search());
            prop_assert!(matches!(after, Ok(Some(_))), "{:?}", after);
        }
        let options = FindOptions { node_labels: Some(&query.labels), ..FindOptions::default() };
        if let Ok(Some(_)) = find_matching_volume(&query.claim, by_name(&volumes), &options) {
            let after = find_matching_volume(&query.claim, more(), &options);
            prop_assert!(matches!(after, Ok(Some(_))), "{:?}", after);
        }
    }
}
