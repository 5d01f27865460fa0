//! How much memory the index takes beside the objects.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "an allocator that counts cannot be written without unsafe code"
)]

mod support {
    pub mod bench_data;
}

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pvbind::matching::VolumeIndex;
use support::bench_data::{bench_claim, bench_volumes, host_labels};

struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_index_takes_at_most_400_bytes_per_volume_beside_the_objects() {
    for n in [100_000, 1_000_000] {
        let volumes: Vec<_> = bench_volumes(n).into_iter().map(Arc::new).collect();
        let before = IN_USE.load(Ordering::Relaxed);
        let mut index: VolumeIndex = volumes.iter().cloned().collect();
        let taken = IN_USE.load(Ordering::Relaxed) - before;
        println!(
            "bench-{n}: {} bytes per volume beside the objects",
            taken / n
        );
        assert!(taken / n <= 400, "{} bytes per volume", taken / n);

        for volume in &volumes {
            index.remove(volume.name());
        }
        let left = IN_USE.load(Ordering::Relaxed) - before;
        println!("bench-{n}: {left} bytes left when all volumes are removed");
        assert!(index.is_empty() && left / n <= 40, "{left} bytes left");
        let claim = bench_claim("1Gi");
        assert_eq!(index.best_match(&claim, false, true), Ok(None));
        assert_eq!(
            index.best_match_on_node(&claim, &host_labels(1), &[], true),
            Ok(None)
        );
    }
}
