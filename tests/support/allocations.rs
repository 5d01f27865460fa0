//! An allocator that counts. A test that uses it says
//! `#[global_allocator] static ALLOCATOR: Counting = Counting;`.
#![allow(
    unsafe_code,
    dead_code,
    reason = "an allocator cannot be written without unsafe code, and no test needs all of it"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The bytes that are in use, by all threads.
pub(crate) fn bytes_in_use() -> usize {
    BYTES.load(Ordering::Relaxed)
}

/// The most bytes that were in use while it did something, by all threads and
/// beyond those in use before. Its result counts.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = bytes_in_use();
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    (result, PEAK.load(Ordering::Relaxed) - before)
}

/// How often this thread allocates while it does something.
pub(crate) fn allocations_of<T>(work: impl FnOnce() -> T) -> usize {
    let before = COUNT.get();
    let result = work();
    let after = COUNT.get();
    drop(result);
    after - before
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let before = BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        PEAK.fetch_max(before + layout.size(), Ordering::Relaxed);
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}
