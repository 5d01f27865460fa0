//! How much memory the index takes beside the objects.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support {
    pub mod allocations;
    pub mod bench_data;
}

use std::sync::Arc;

use pvbind::matching::{Features, SearchOptions, VolumeIndex};
use support::allocations::{Counting, bytes_in_use};
use support::bench_data::{bench_claim, bench_volumes, host_labels};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_index_takes_at_most_400_bytes_per_volume_beside_the_objects() {
    for n in [100_000, 1_000_000] {
        let volumes: Vec<_> = bench_volumes(n).into_iter().map(Arc::new).collect();
        let before = bytes_in_use();
        let mut index: VolumeIndex = volumes.iter().cloned().collect();
        let taken = bytes_in_use() - before;
        println!(
            "bench-{n}: {} bytes per volume beside the objects",
            taken / n
        );
        assert!(taken / n <= 400, "{} bytes per volume", taken / n);

        for volume in &volumes {
            index.remove(volume.name());
        }
        let left = bytes_in_use() - before;
        println!("bench-{n}: {left} bytes left when all volumes are removed");
        assert!(index.is_empty() && left / n <= 40, "{left} bytes left");
        let claim = bench_claim("1Gi");
        assert_eq!(index.best_match(&claim, SearchOptions::default()), Ok(None));
        assert_eq!(
            index.best_match_on_node(&claim, &host_labels(1), &[], Features::default()),
            Ok(None)
        );
    }
}
