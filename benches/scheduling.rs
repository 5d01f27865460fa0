//! How fast the nodes for a pod are found.
//!
//! One pod with three claims of one class, 100Gi, 200Gi and 300Gi, and nodes
//! that differ in their host names. Two data sets, each from a fixed seed and
//! with N volumes pinned to the hosts by `kubernetes.io/hostname In`:
//!
//! - `bench-N`: that of the bench `matching`; half of the volumes are bound to
//!   other claims, and one in eight is of the claims' class;
//! - `open-N`: every volume is open and of the claims' class.
//!
//! The plain form, which visits every volume for every node and claim, stands
//! beside the fast ones on 10 nodes and 10,000 volumes; there the ratios are
//! printed too.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench stops at what it does not expect"
)]

#[path = "../tests/support/bench_data.rs"]
#[allow(dead_code, reason = "other benches use the rest of it")]
mod bench_data;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_data::{bench_claim, bench_volumes_on, host_labels};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pvbind::api::{Node, ObjectMeta, PersistentVolume, StorageClass, VolumePhase};
use pvbind::matching::Features;
use pvbind::scheduling::{
    PodClaims, PodSearch, find_pod_volumes, find_pod_volumes_on_nodes, find_pod_volumes_plain,
};
use pvbind::view::Snapshot;

struct Cluster {
    snapshot: Snapshot,
    nodes: Vec<Node>,
    claims: PodClaims,
}

impl Cluster {
    fn new(volumes: Vec<PersistentVolume>, hosts: u64) -> Self {
        let mut snapshot = Snapshot::new();
        for volume in volumes {
            snapshot.apply(Arc::new(volume));
        }
        let class: StorageClass = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "class-3"}, "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer"}))
        .unwrap();
        snapshot.apply(Arc::new(class));
        let delayed = ["300Gi", "100Gi", "200Gi"].map(|size| {
            let mut claim = bench_claim(size);
            claim.metadata.name = Some(format!("claim-{size}"));
            Arc::new(claim)
        });
        Cluster {
            snapshot,
            nodes: (0..hosts).map(node).collect(),
            claims: PodClaims {
                delayed: delayed.into(),
                ..PodClaims::default()
            },
        }
    }

    fn bench(n: usize, hosts: u64) -> Self {
        Cluster::new(bench_volumes_on(n, hosts), hosts)
    }

    fn open(n: usize, hosts: u64) -> Self {
        let mut volumes = bench_volumes_on(n, hosts);
        for volume in &mut volumes {
            volume.spec.claim_ref = None;
            volume.spec.storage_class_name = Some("class-3".into());
            volume.status.phase = Some(VolumePhase::Available);
        }
        Cluster::new(volumes, hosts)
    }
}

fn node(host: u64) -> Node {
    let mut labels = host_labels(host);
    for (key, value) in [
        ("kubernetes.io/arch", "amd64".to_owned()),
        ("kubernetes.io/os", "linux".to_owned()),
        ("topology.kubernetes.io/zone", format!("zone-{}", host % 3)),
    ] {
        labels.insert(key.to_owned(), value);
    }
    Node {
        metadata: ObjectMeta {
            name: Some(format!("host-{host}")),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        ..Node::default()
    }
}

fn many_nodes(criterion: &mut Criterion) {
    let clusters = [
        ("bench-10000, 1000 nodes", Cluster::bench(10_000, 1000)),
        ("open-10000, 1000 nodes", Cluster::open(10_000, 1000)),
        ("bench-100000, 5000 nodes", Cluster::bench(100_000, 5000)),
        ("open-100000, 5000 nodes", Cluster::open(100_000, 5000)),
    ];
    for (name, cluster) in clusters {
        let Cluster {
            snapshot,
            nodes,
            claims,
        } = &cluster;
        let answers = find_pod_volumes_on_nodes(claims, nodes, snapshot, Features::default());
        for (node, answer) in nodes.iter().zip(&answers).step_by(nodes.len() / 5) {
            assert_eq!(
                answer,
                &find_pod_volumes_plain(claims, node, snapshot, Features::default())
            );
        }
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20);
        group.warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(2));
        group.throughput(Throughput::Elements(nodes.len() as u64));
        group.bench_function("find_pod_volumes_on_nodes", |bencher| {
            bencher.iter(|| {
                find_pod_volumes_on_nodes(black_box(claims), nodes, snapshot, Features::default())
            });
        });
        group.throughput(Throughput::Elements(1));
        let mut place = 0;
        group.bench_function("find_pod_volumes, a node", |bencher| {
            bencher.iter(|| {
                place = (place + 479) % nodes.len();
                find_pod_volumes(
                    black_box(claims),
                    &nodes[place],
                    snapshot,
                    Features::default(),
                )
            });
        });
        let many =
            || find_pod_volumes_on_nodes(black_box(claims), nodes, snapshot, Features::default());
        println!("{name}: the fastest of 50 calls {:?}", fastest(50, many));
        let search = PodSearch::new(claims, snapshot, Features::default());
        group.bench_function("PodSearch::on_node, a node", |bencher| {
            bencher.iter(|| {
                place = (place + 479) % nodes.len();
                search.on_node(black_box(&nodes[place]))
            });
        });
        group.finish();
    }
}

/// Each fast form beside the plain one where that ends, and how much faster it
/// is in the same run.
fn beside_the_plain_form(criterion: &mut Criterion) {
    let clusters = [
        ("bench-10000", Cluster::bench(10_000, 1000)),
        ("open-10000", Cluster::open(10_000, 1000)),
    ];
    for (name, cluster) in clusters {
        let Cluster {
            snapshot,
            nodes,
            claims,
        } = &cluster;
        let nodes = &nodes[..10];
        let plain = || -> Vec<_> {
            let plain = |node| {
                find_pod_volumes_plain(black_box(claims), node, snapshot, Features::default())
            };
            nodes.iter().map(plain).collect()
        };
        let many =
            || find_pod_volumes_on_nodes(black_box(claims), nodes, snapshot, Features::default());
        let one = || -> Vec<_> {
            let one =
                |node| find_pod_volumes(black_box(claims), node, snapshot, Features::default());
            nodes.iter().map(one).collect()
        };
        let mut group = criterion.benchmark_group(format!("{name}, 10 nodes"));
        group.sample_size(10);
        group.warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(2));
        group.throughput(Throughput::Elements(nodes.len() as u64));
        group.bench_function("find_pod_volumes_plain", |bencher| bencher.iter(plain));
        group.bench_function("find_pod_volumes_on_nodes", |bencher| bencher.iter(many));
        group.bench_function("find_pod_volumes", |bencher| bencher.iter(one));
        group.finish();
        let slow = fastest(5, plain);
        for (form, time) in [
            ("on_nodes", fastest(200, many)),
            ("one node", fastest(200, one)),
        ] {
            let ratio = slow.as_secs_f64() / time.as_secs_f64();
            println!("{name}, 10 nodes, {form}: {time:?}; plain: {slow:?}; ratio {ratio:.0}");
        }
    }
}

/// The fastest of several runs: what a busy machine disturbs least.
fn fastest<T>(runs: usize, mut run: impl FnMut() -> T) -> Duration {
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    });
    times.min().unwrap()
}

criterion_group!(benches, many_nodes, beside_the_plain_form);
criterion_main!(benches);
