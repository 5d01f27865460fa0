//! A settled cluster costs no allocation.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "an allocator that counts cannot be written without unsafe code"
)]

#[path = "support/pairs.rs"]
mod pairs;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use pvbind::controller::{Config, sync_claim, sync_volume};
use pvbind::plan::{Plan, Verdict};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_sync_of_a_settled_pair_allocates_nothing() {
    let snapshot = pairs::pairs(100);
    let mut config = Config::default();
    let (plugin, driver) = ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io");
    config.migrated_plugins.insert(plugin.into(), driver.into());
    let settled = Plan::empty(Verdict::Settled);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut all_settled = true;
    for claim in snapshot.claims() {
        all_settled &= sync_claim(&config, &snapshot, claim) == settled;
    }
    for volume in snapshot.volumes().iter() {
        all_settled &= sync_volume(&config, &snapshot, volume, None) == settled;
    }
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(all_settled);
    assert_eq!(allocations, 0);
}
