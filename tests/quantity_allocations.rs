//! What reading and comparing quantities allocates: nothing, for usual ones.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support {
    pub mod allocations;
}

use pvbind::quantity::Quantity;
use support::allocations::{Counting, allocations_of};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn read(text: &str) -> Quantity {
    text.parse().unwrap()
}

#[test]
fn reading_a_usual_text_allocates_nothing() {
    for text in [
        "10Gi", "0", "5", "1.5Gi", "500m", "0.5", "5e9", "1e40", "8Ei",
    ] {
        assert_eq!(allocations_of(|| Quantity::parse(text)), 0, "{text}");
        assert_eq!(allocations_of(|| Quantity::parse_strict(text)), 0, "{text}");
    }
    // These must print again as they are.
    for text in ["0100Mi", "+1Gi", "5E3"] {
        assert_eq!(allocations_of(|| Quantity::parse(text)), 1, "{text}");
    }
}

#[test]
fn comparing_allocates_nothing_in_any_form() {
    let texts = [
        "10Gi",
        "5Gi",
        "10G",
        "500m",
        "0100Mi",
        "1e2147483647",
        "1.5Gi",
        "1e-9",
        "123456789012345678901234567890123456789012345678901234567890",
    ];
    for left in texts.map(read) {
        for right in texts.map(read) {
            assert_eq!(
                allocations_of(|| left.cmp(&right)),
                0,
                "{left} with {right}"
            );
            assert_eq!(allocations_of(|| left == right), 0);
        }
    }
}

#[test]
fn adding_usual_amounts_allocates_nothing() {
    for (left, right) in [
        ("10Gi", "5Gi"),
        ("10Gi", "500m"),
        ("1.5Gi", "0100Mi"),
        ("7Ei", "7Ei"),
    ] {
        let (left, right) = (read(left), read(right));
        assert_eq!(
            allocations_of(|| left.checked_add(&right)),
            0,
            "{left} + {right}"
        );
        assert_eq!(
            allocations_of(|| left.checked_sub(&right)),
            0,
            "{left} - {right}"
        );
    }
}
