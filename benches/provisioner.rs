//! How fast it is known where a volume must be reachable from.
//!
//! 5,000 nodes in 50 zones, each with a CSINode that names the zone's label and
//! with the twelve labels that a cloud gives to a node; nothing is random. Three
//! questions: for a claim without node (`immediate`), for one whose node was
//! chosen (`selected`), and for a driver whose place is zone and host, so that
//! every node is a place of its own (`hosts`). The plain form stands beside each,
//! and the ratio of the two, measured in this run, is printed at the end.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench stops at what it does not expect"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use pvbind::api::{CsiNode, Node};
use pvbind::provisioner::{TopologyQuery, topology_requirement, topology_requirement_plain};
use pvbind::view::Snapshot;
use serde_json::json;

const NODES: usize = 5000;
const ZONES: usize = 50;
const ZONE: &str = "topology.disk.csi/zone";
const HOST: &str = "kubernetes.io/hostname";

fn cluster(keys: &[&str]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for number in 0..NODES {
        let name = format!("node-{number:04}");
        let zone = format!("eu-central-1-{:02}", number % ZONES);
        let node: Node = serde_json::from_value(json!({"metadata": {"name": name, "labels": {
            "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
            "beta.kubernetes.io/instance-type": "m5.xlarge",
            "failure-domain.beta.kubernetes.io/region": "eu-central-1",
            "failure-domain.beta.kubernetes.io/zone": zone,
            "kubernetes.io/arch": "amd64", HOST: name, "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": "m5.xlarge",
            "topology.kubernetes.io/region": "eu-central-1",
            "topology.kubernetes.io/zone": zone, ZONE: zone}}}))
        .unwrap();
        snapshot.apply(Arc::new(node));
        let csi_node: CsiNode = serde_json::from_value(json!({"metadata": {"name": name},
            "spec": {"drivers": [{"name": "disk.csi", "nodeID": name, "topologyKeys": keys}]}}))
        .unwrap();
        snapshot.apply(Arc::new(csi_node));
    }
    snapshot
}

fn topology(c: &mut Criterion) {
    let (zones, hosts) = (cluster(&[ZONE]), cluster(&[ZONE, HOST]));
    let immediate = TopologyQuery {
        is_immediate: true,
        ..TopologyQuery::new("disk.csi", "data-mysql-0")
    };
    let selected = TopologyQuery {
        selected_node: Some("node-2345"),
        ..TopologyQuery::new("disk.csi", "data-mysql-0")
    };
    let mut group = c.benchmark_group("topology-5000-nodes");
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(3));
    let mut ratios = Vec::new();
    for (name, query, snapshot, places) in [
        ("immediate", immediate, &zones, ZONES),
        ("selected", selected, &zones, ZONES),
        ("hosts", immediate, &hosts, NODES),
    ] {
        let found = topology_requirement(&query, snapshot).unwrap().unwrap();
        assert_eq!(found.requisite.len(), places);
        let fast = || black_box(topology_requirement(black_box(&query), snapshot));
        let plain = || black_box(topology_requirement_plain(black_box(&query), snapshot));
        group.bench_function(name, |b| b.iter(fast));
        group.bench_function(format!("{name}, plain"), |b| b.iter(plain));
        ratios.push((name, best_of(|| drop(plain())) / best_of(|| drop(fast()))));
    }
    group.finish();
    for (name, ratio) in ratios {
        println!("{name}: {ratio:.1} times as fast as the plain form");
    }
}

/// The shortest of many runs, in seconds: what the machine can do when it is
/// left alone.
fn best_of(mut run: impl FnMut()) -> f64 {
    let times = (0..50).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    times.min().unwrap().as_secs_f64()
}

criterion_group!(benches, topology);
criterion_main!(benches);
