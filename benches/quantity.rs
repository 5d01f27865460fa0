//! How fast quantities are read, compared, added and printed.
//!
//! Each group holds the crate's form and the plain one, big integers in units
//! of 10^-9 (`tests/support/exact.rs`), on the same texts in the same run.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a bench stops at what it does not expect"
)]

#[path = "../tests/support/exact.rs"]
#[allow(dead_code, reason = "it holds more than a bench needs")]
mod exact;

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use exact::Exact;
use pvbind::quantity::Quantity;

/// Texts of every kind: the most usual first.
const TEXTS: [&str; 6] = ["10Gi", "107374182400", "1.5Gi", "500m", "5e9", "0100Mi"];

/// Pairs of equal form and scale, of different scales, and beyond 64 bits.
const PAIRS: [(&str, &str); 4] = [
    ("10Gi", "5Gi"),
    ("10Gi", "10G"),
    ("1.5Gi", "10Gi"),
    ("1e40", "1e39"),
];

fn group_of<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(format!("quantity/{name}"));
    group.warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(1));
    group
}

fn read(text: &str) -> Quantity {
    text.parse().unwrap()
}

fn parse(criterion: &mut Criterion) {
    let mut group = group_of(criterion, "parse");
    for text in TEXTS {
        group.bench_function(text, |bencher| {
            bencher.iter(|| Quantity::parse(black_box(text)));
        });
    }
    group.bench_function("10Gi, big integers", |bencher| {
        bencher.iter(|| Exact::parse(black_box("10Gi")));
    });
    // What any parser of a number must do at least.
    group.bench_function("10, standard library", |bencher| {
        bencher.iter(|| black_box("10").parse::<i64>());
    });
}

fn compare(criterion: &mut Criterion) {
    let mut group = group_of(criterion, "compare");
    for (left, right) in PAIRS {
        let name = format!("{left} with {right}");
        let (a, b) = (read(left), read(right));
        group.bench_function(&name, |bencher| {
            bencher.iter(|| black_box(&a).cmp(black_box(&b)));
        });
        let (a, b) = (Exact::parse(left).nanos, Exact::parse(right).nanos);
        group.bench_function(format!("{name}, big integers"), |bencher| {
            bencher.iter(|| black_box(&a).cmp(black_box(&b)));
        });
    }
}

fn add(criterion: &mut Criterion) {
    let mut group = group_of(criterion, "add");
    for (left, right) in PAIRS {
        let name = format!("{left} to {right}");
        let (a, b) = (read(left), read(right));
        group.bench_function(&name, |bencher| {
            bencher.iter(|| black_box(&a).checked_add(black_box(&b)));
        });
        let (a, b) = (Exact::parse(left).nanos, Exact::parse(right).nanos);
        group.bench_function(format!("{name}, big integers"), |bencher| {
            bencher.iter(|| black_box(&a) + black_box(&b));
        });
    }
}

fn print(criterion: &mut Criterion) {
    let mut group = group_of(criterion, "print");
    for text in TEXTS {
        let quantity = read(text);
        group.bench_function(text, |bencher| {
            bencher.iter(|| black_box(&quantity).to_string());
        });
    }
    let nanos = Exact::parse("10Gi").nanos;
    group.bench_function("10Gi, big integers", |bencher| {
        bencher.iter(|| black_box(&nanos).to_string());
    });
}

criterion_group!(benches, parse, compare, add, print);
criterion_main!(benches);
