//! How fast the volume for a claim is found.
//!
//! Data set `bench-N`, from a fixed seed: N volumes, half of them bound to
//! other claims, 8 classes, sizes 1Gi to 1000Gi, ReadWriteOnce, each pinned to
//! one of 1000 hosts by `kubernetes.io/hostname In`. The claim asks for
//! ReadWriteOnce, 500Gi, one of the classes. Each fast form stands beside the
//! plain form, the slice search, in the same run.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench stops at what it does not expect"
)]

#[path = "../tests/support/bench_data.rs"]
mod bench_data;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bench_data::{bench_claim, bench_volumes, host_labels};
use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, criterion_group, criterion_main};
use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
use pvbind::matching::{
    Features, FindOptions, SearchOptions, VolumeIndex, find_best_match_for_claim,
    find_matching_volume,
};

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];

struct Cluster {
    volumes: Vec<Arc<PersistentVolume>>,
    index: VolumeIndex,
}

impl Cluster {
    fn of(n: usize) -> Self {
        let volumes: Vec<_> = bench_volumes(n).into_iter().map(Arc::new).collect();
        let index = volumes.iter().cloned().collect();
        Cluster { volumes, index }
    }

    /// The volumes in the order of their names.
    fn plain(&self) -> impl Iterator<Item = &PersistentVolume> {
        self.volumes.iter().map(Arc::as_ref)
    }
}

fn group_of<'a>(criterion: &'a mut Criterion, name: String) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    group
}

/// Claims that find nothing: what they ask for, and the claim.
fn misses(claim: &PersistentVolumeClaim) -> [(&'static str, PersistentVolumeClaim); 2] {
    let mut selecting = claim.clone();
    let nobody = serde_json::json!({"matchLabels": {"tier": "nobody"}});
    selecting.spec.selector = serde_json::from_value(nobody).unwrap();
    [
        ("nothing satisfies the selector", selecting),
        ("too large for all", bench_claim("2000Gi")),
    ]
}

fn controller(criterion: &mut Criterion) {
    for n in SIZES {
        let cluster = Cluster::of(n);
        let claim = bench_claim("500Gi");
        let by_slice =
            find_best_match_for_claim(&claim, cluster.plain(), SearchOptions::default()).unwrap();
        let by_index = cluster
            .index
            .best_match(&claim, SearchOptions::default())
            .unwrap();
        assert_eq!(by_slice.unwrap().name(), by_index.unwrap().name());

        let mut group = group_of(criterion, format!("controller/bench-{n}"));
        group.bench_function("find_matching_volume over the slice", |bencher| {
            let options = FindOptions::default();
            bencher.iter(|| find_matching_volume(black_box(&claim), cluster.plain(), &options));
        });
        group.bench_function("find_best_match_for_claim over the slice", |bencher| {
            bencher.iter(|| {
                find_best_match_for_claim(
                    black_box(&claim),
                    cluster.plain(),
                    SearchOptions::default(),
                )
            });
        });
        group.bench_function("index.best_match", |bencher| {
            bencher.iter(|| {
                cluster
                    .index
                    .best_match(black_box(&claim), SearchOptions::default())
            });
        });
        for (name, claim) in &misses(&claim) {
            assert_eq!(
                cluster
                    .index
                    .best_match(claim, SearchOptions::default())
                    .unwrap(),
                None
            );
            group.bench_function(format!("index.best_match, {name}"), |bencher| {
                bencher.iter(|| {
                    cluster
                        .index
                        .best_match(black_box(claim), SearchOptions::default())
                });
            });
        }
        group.finish();
    }
}

fn scheduler(criterion: &mut Criterion) {
    for n in SIZES {
        let cluster = Cluster::of(n);
        let claim = bench_claim("500Gi");
        let labels = node_with_a_match(&cluster, &claim);
        let options = FindOptions {
            node_labels: Some(&labels),
            delay_binding: true,
            ..FindOptions::default()
        };
        let by_slice = find_matching_volume(&claim, cluster.plain(), &options).unwrap();
        let on_node = |claim| {
            cluster
                .index
                .best_match_on_node(claim, &labels, &[], Features::default())
                .unwrap()
        };
        assert_eq!(by_slice.unwrap().name(), on_node(&claim).unwrap().name());

        let mut group = group_of(criterion, format!("scheduler/bench-{n}"));
        group.bench_function(
            "find_matching_volume over the slice, on a node",
            |bencher| {
                bencher.iter(|| find_matching_volume(black_box(&claim), cluster.plain(), &options));
            },
        );
        group.bench_function("index.best_match_on_node", |bencher| {
            bencher.iter(|| on_node(black_box(&claim)));
        });
        for (name, claim) in &misses(&claim) {
            assert_eq!(on_node(claim), None);
            group.bench_function(format!("index.best_match_on_node, {name}"), |bencher| {
                bencher.iter(|| on_node(black_box(claim)));
            });
        }
        group.finish();
    }
}

/// The labels of the first host that has a volume for the claim.
fn node_with_a_match(cluster: &Cluster, claim: &PersistentVolumeClaim) -> BTreeMap<String, String> {
    let mut hosts = (0..1000).map(host_labels);
    let has_a_match = |labels: &BTreeMap<String, String>| {
        let found = cluster
            .index
            .best_match_on_node(claim, labels, &[], Features::default());
        found.unwrap().is_some()
    };
    hosts.find(has_a_match).unwrap()
}

fn changes(criterion: &mut Criterion) {
    for n in [10_000, 100_000] {
        let mut cluster = Cluster::of(n);
        let mut group = group_of(criterion, format!("changes/bench-{n}"));
        // Neighbours in memory would flatter the figure.
        let step = 7919;
        let mut place = 0;
        group.bench_function("remove, then insert", |bencher| {
            bencher.iter(|| {
                place = (place + step) % n;
                let volume = cluster.index.remove(cluster.volumes[place].name());
                cluster.index.insert(volume.unwrap())
            });
        });
        group.finish();
    }
}

/// Building from nothing. The test `index_memory` prints the memory.
fn building(criterion: &mut Criterion) {
    for n in SIZES {
        let volumes: Vec<_> = bench_volumes(n).into_iter().map(Arc::new).collect();
        let mut group = group_of(criterion, format!("building/bench-{n}"));
        group.sample_size(10);
        group.bench_function("collect", |bencher| {
            bencher.iter_batched(
                || volumes.clone(),
                |volumes| volumes.into_iter().collect::<VolumeIndex>(),
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, controller, scheduler, changes, building);
criterion_main!(benches);
