//! How fast the binding controller decides.
//!
//! Data set `pairs-N`: N volumes, each bound to one of N claims in 20
//! namespaces, as a CSI driver's provisioner and the controller leave them;
//! nothing is to be done. Data set `bench-N` (see the bench `matching`) with N
//! claims, for a claim that finds a volume; it stands beside the plain form,
//! the same sync over a view that searches the slice.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a bench stops at what it does not expect"
)]

#[path = "../tests/support/bench_data.rs"]
#[allow(dead_code, reason = "other benches use the rest of it")]
mod bench_data;
#[path = "../tests/support/pairs.rs"]
mod pairs;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bench_data::{bench_claim, bench_volumes};
use criterion::{Criterion, criterion_group, criterion_main};
use pairs::pairs;
use pvbind::api::{CsiDriver, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass};
use pvbind::controller::{Config, sync_claim, sync_volume};
use pvbind::matching::{FindError, SearchOptions, find_best_match_for_claim};
use pvbind::view::{ClusterView, Held, Snapshot};

const N: usize = 100_000;

fn settled(criterion: &mut Criterion) {
    let snapshot = pairs(N);
    let config = Config::default();
    let mut group = criterion.benchmark_group(format!("pairs-{N}"));
    group.sample_size(20);
    group.measurement_time(Duration::from_secs(3));

    let claims: Vec<_> = snapshot.claims().cloned().collect();
    // Far apart, so that no claim finds its volume in the processor's cache.
    let mut apart = claims.iter().cycle().step_by(7919);
    group.bench_function("sync_claim of one claim", |bencher| {
        let claim = claims.first().unwrap();
        bencher.iter(|| sync_claim(&config, &snapshot, black_box(claim)));
    });
    group.bench_function("sync_claim of claims far apart", |bencher| {
        bencher.iter(|| sync_claim(&config, &snapshot, black_box(apart.next().unwrap())));
    });
    let volumes: Vec<_> = snapshot.volumes().iter().cloned().collect();
    let mut apart = volumes.iter().cycle().step_by(7919);
    group.bench_function("sync_volume of volumes far apart", |bencher| {
        bencher.iter(|| sync_volume(&config, &snapshot, black_box(apart.next().unwrap()), None));
    });
    group.sample_size(10);
    group.bench_function("a full pass, pair by pair", |bencher| {
        bencher.iter(|| {
            let mut steps = 0;
            for claim in snapshot.claims() {
                steps += sync_claim(&config, &snapshot, claim).steps.len();
                let volume = snapshot.volume(claim.volume_name()).unwrap();
                steps += sync_volume(&config, &snapshot, volume, None).steps.len();
            }
            assert_eq!(steps, 0);
        });
    });
    group.bench_function("a full pass, claims before volumes", |bencher| {
        bencher.iter(|| {
            let mut steps = 0;
            for claim in snapshot.claims() {
                steps += sync_claim(&config, &snapshot, claim).steps.len();
            }
            for volume in snapshot.volumes().iter() {
                steps += sync_volume(&config, &snapshot, volume, None).steps.len();
            }
            assert_eq!(steps, 0);
        });
    });
    group.finish();
}

fn unbound(criterion: &mut Criterion) {
    let mut snapshot = Snapshot::new();
    for volume in bench_volumes(N) {
        snapshot.apply(Arc::new(volume));
    }
    for i in 0..N {
        let mut claim = bench_claim("5000Gi");
        claim.metadata.name = Some(format!("claim-{i}"));
        snapshot.apply(Arc::new(claim));
    }
    let claim = Arc::new(bench_claim("500Gi"));
    let config = Config::default();
    let plain = Plain(&snapshot);
    let plan = sync_claim(&config, &snapshot, &claim);
    assert_eq!(plan.steps.len(), 4);
    assert_eq!(plan, sync_claim(&config, &plain, &claim));

    let mut group = criterion.benchmark_group(format!("bench-{N}"));
    group.sample_size(20);
    group.bench_function("sync_claim that finds a volume", |bencher| {
        bencher.iter(|| sync_claim(&config, &snapshot, black_box(&claim)));
    });
    group.bench_function(
        "sync_claim that finds a volume, over the slice",
        |bencher| {
            bencher.iter(|| sync_claim(&config, &plain, black_box(&claim)));
        },
    );
    group.finish();
}

/// A view that searches the slice.
struct Plain<'s>(&'s Snapshot);

impl ClusterView for Plain<'_> {
    fn volume(&self, name: &str) -> Option<Held<'_, PersistentVolume>> {
        self.0.volume(name)
    }

    fn claim(&self, namespace: &str, name: &str) -> Option<Held<'_, PersistentVolumeClaim>> {
        self.0.claim(namespace, name)
    }

    fn class(&self, name: &str) -> Option<Held<'_, StorageClass>> {
        self.0.class(name)
    }

    fn default_class(&self) -> Option<Held<'_, StorageClass>> {
        self.0.default_class()
    }

    fn node(&self, name: &str) -> Option<Held<'_, Node>> {
        self.0.node(name)
    }

    fn csi_driver(&self, name: &str) -> Option<Held<'_, CsiDriver>> {
        self.0.csi_driver(name)
    }

    fn visit_pods_using_claim(&self, namespace: &str, name: &str, visit: &mut dyn FnMut(&Pod)) {
        self.0.visit_pods_using_claim(namespace, name, visit);
    }

    fn best_match(
        &self,
        claim: &PersistentVolumeClaim,
        options: SearchOptions,
    ) -> Result<Option<Held<'_, PersistentVolume>>, FindError> {
        let volumes = self.0.volumes().iter().map(Arc::as_ref);
        let found = find_best_match_for_claim(claim, volumes, options)?;
        Ok(found.and_then(|volume| self.0.volume(volume.name())))
    }
}

criterion_group!(benches, settled, unbound);
criterion_main!(benches);
