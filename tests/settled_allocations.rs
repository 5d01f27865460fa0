//! A settled cluster costs no allocation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/allocations.rs"]
mod allocations;
#[path = "support/pairs.rs"]
mod pairs;

use allocations::{Counting, allocations_of};
use pvbind::controller::{Config, sync_claim, sync_volume};
use pvbind::plan::{Plan, Verdict};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_sync_of_a_settled_pair_allocates_nothing() {
    let snapshot = pairs::pairs(100);
    let mut config = Config::default();
    let (plugin, driver) = ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io");
    config.migrated_plugins.insert(plugin.into(), driver.into());
    let settled = Plan::empty(Verdict::Settled);
    let mut all_settled = true;
    let allocations = allocations_of(|| {
        for claim in snapshot.claims() {
            all_settled &= sync_claim(&config, &snapshot, claim) == settled;
        }
        for volume in snapshot.volumes().iter() {
            all_settled &= sync_volume(&config, &snapshot, volume, None) == settled;
        }
    });
    assert!(all_settled);
    assert_eq!(allocations, 0);
}
