//! A whole view of 10,000 claims and 10,000 volumes, a tenth of them in trouble,
//! diagnosed.
//!
//! Data set `view-10000`: 9,000 claims bound to 9,000 volumes; 1,000 claims that
//! pend, all of one class, and 1,000 volumes of it that are free, of which none
//! fits: they are too small. Beside it the plain form: for each pending claim the
//! full report on all volumes, and nothing else; it is measured for 10 claims,
//! and stands for a hundredth.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench fails by panicking, and its entry point is made by a macro"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
use pvbind::controller::Config;
use pvbind::diagnosis::{Kind, Severity, Survey};
use pvbind::matching::{FindOptions, MatchReport};
use pvbind::view::Snapshot;
use serde_json::json;

const OBJECTS: usize = 10_000;
const IN_TROUBLE: usize = OBJECTS / 10;
/// So many pending claims are reported on in the plain form.
const PLAIN: usize = 10;

fn view() -> Snapshot {
    let mut snapshot = Snapshot::new();
    let class: StorageClass = serde_json::from_value(json!({
        "metadata": {"name": "manual"}, "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "Immediate"}))
    .unwrap();
    snapshot.apply(Arc::new(class));
    for i in 0..OBJECTS {
        let is_bound = i >= IN_TROUBLE;
        // The requests of pending claims differ, and so do the sizes of volumes.
        let (asked, has) = match is_bound {
            true => (i % 100 + 1, i % 100 + 1),
            false => (1_000 + i, i % 500 + 1),
        };
        let reference = is_bound.then(|| {
            json!({
            "namespace": "shop", "name": format!("claim-{i:05}"), "uid": format!("u-{i}")})
        });
        let phase = if is_bound { "Bound" } else { "Available" };
        let volume: PersistentVolume = serde_json::from_value(json!({
            "metadata": {"name": format!("pv-{i:05}"), "labels": {"disk": "ssd"}},
            "spec": {"storageClassName": "manual", "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": format!("{has}Gi")}, "claimRef": reference,
                "persistentVolumeReclaimPolicy": "Retain",
                "csi": {"driver": "csi.example.com", "volumeHandle": format!("v-{i}")}},
            "status": {"phase": phase}}))
        .unwrap();
        snapshot.apply(Arc::new(volume));
        let annotations = match is_bound {
            true => json!({"pv.kubernetes.io/bind-completed": "yes"}),
            false => json!({}),
        };
        let name = is_bound.then(|| format!("pv-{i:05}"));
        let status = match is_bound {
            true => json!({"phase": "Bound", "capacity": {"storage": format!("{has}Gi")}}),
            false => json!({"phase": "Pending"}),
        };
        let claim: PersistentVolumeClaim = serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": format!("claim-{i:05}"), "uid": format!("u-{i}"),
                "annotations": annotations},
            "spec": {"storageClassName": "manual", "accessModes": ["ReadWriteOnce"],
                "volumeName": name, "resources": {"requests": {"storage": format!("{asked}Gi")}}},
            "status": status}))
        .unwrap();
        snapshot.apply(Arc::new(claim));
    }
    snapshot
}

fn whole_view(c: &mut Criterion) {
    let (config, snapshot) = (Config::default(), view());
    let diagnosis = Survey::new(&config, &snapshot).view();
    assert_eq!(diagnosis.count(Kind::Claim, Severity::Fault), IN_TROUBLE);
    assert_eq!(diagnosis.iter().count(), 2 * OBJECTS);
    let mut group = c.benchmark_group("diagnosis/view-10000");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    group.bench_function("survey", |b| {
        b.iter(|| black_box(Survey::new(&config, &snapshot).view()));
    });
    let pending: Vec<_> = snapshot.claims().take(PLAIN).collect();
    group.bench_function("plain reports of 10 of 1000 claims", |b| {
        b.iter(|| {
            for claim in &pending {
                let volumes = snapshot.volumes().iter().map(Arc::as_ref);
                black_box(MatchReport::new(claim, volumes, &FindOptions::default()));
            }
        });
    });
    group.finish();
    let start = Instant::now();
    black_box(Survey::new(&config, &snapshot).view());
    let survey = start.elapsed();
    let start = Instant::now();
    for claim in &pending {
        let volumes = snapshot.volumes().iter().map(Arc::as_ref);
        black_box(MatchReport::new(claim, volumes, &FindOptions::default()));
    }
    let plain = start.elapsed() * u32::try_from(IN_TROUBLE / PLAIN).unwrap();
    println!("whole view {survey:?}, plain reports of all pending claims {plain:?} (from {PLAIN})");
}

criterion_group!(benches, whole_view);
criterion_main!(benches);
