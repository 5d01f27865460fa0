//! Conversions from k8s-openapi's types: all volumes of a cluster into a
//! snapshot, directly and, as the plain form, through JSON.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench fails by panicking"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use k8s_openapi::api::core::v1 as core;
use pvbind::api::PersistentVolume;
use pvbind::view::Snapshot;

#[path = "../tests/support/bench_data.rs"]
#[allow(dead_code, reason = "this bench uses a part of it")]
mod bench_data;

const VOLUMES: usize = 100_000;

/// The data set `bench-100000`, as a reflector holds it, half of the volumes of
/// a CSI driver and half in a path of their host.
fn volumes() -> Vec<Arc<core::PersistentVolume>> {
    let volumes = bench_data::bench_volumes(VOLUMES).into_iter().enumerate();
    let with_source = volumes.map(|(i, mut volume)| {
        let source = match i % 2 {
            0 => serde_json::json!({"csi": {"driver": "csi.example.com", "volumeHandle": format!("h-{i}"),
                "fsType": "ext4", "volumeAttributes": {"pool": "a"}}}),
            _ => serde_json::json!({"hostPath": {"path": format!("/data/{i}")}}),
        };
        let mut value = serde_json::to_value(&volume).unwrap();
        value["spec"].as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
        volume = serde_json::from_value(value).unwrap();
        Arc::new(core::PersistentVolume::try_from(volume).unwrap())
    });
    with_source.collect()
}

fn convert(criterion: &mut Criterion) {
    let theirs = volumes();
    let mut group = criterion.benchmark_group("100000 volumes from k8s-openapi into a snapshot");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(10));
    group.bench_function("by reference", |bencher| {
        bencher.iter_with_large_drop(|| {
            let mut snapshot = Snapshot::new();
            for volume in &theirs {
                let volume = PersistentVolume::try_from(&**volume).unwrap();
                snapshot.apply(Arc::new(volume));
            }
            black_box(snapshot)
        });
    });
    group.bench_function("by value", |bencher| {
        bencher.iter_batched(
            || {
                theirs
                    .iter()
                    .map(|volume| (**volume).clone())
                    .collect::<Vec<_>>()
            },
            |theirs| {
                let mut snapshot = Snapshot::new();
                for volume in theirs {
                    let volume = PersistentVolume::try_from(volume).unwrap();
                    snapshot.apply(Arc::new(volume));
                }
                snapshot
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("through JSON", |bencher| {
        bencher.iter_with_large_drop(|| {
            let mut snapshot = Snapshot::new();
            for volume in &theirs {
                let volume = serde_json::to_value(&**volume).unwrap();
                let volume: PersistentVolume = serde_json::from_value(volume).unwrap();
                snapshot.apply(Arc::new(volume));
            }
            black_box(snapshot)
        });
    });
    group.finish();
}

criterion_group!(benches, convert);
criterion_main!(benches);
