//! Two texts, one per line: read, compared, added, printed, and read again.
//!
//! Nothing may panic or take long, and what holds of amounts must hold.
#![no_main]

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use libfuzzer_sys::fuzz_target;
use pvbind::quantity::Quantity;

fuzz_target!(|text: &str| {
    let (left, right) = text.split_once('\n').unwrap_or((text, "1"));
    let (Some(left), Some(right)) = (read(left), read(right)) else {
        return;
    };
    compare(&left, &right);
    add(&left, &right);
});

/// Reads a text in every way there is.
fn read(text: &str) -> Option<Quantity> {
    let strict = Quantity::parse_strict(text);
    let quantity = match Quantity::parse(text) {
        Ok(quantity) => quantity,
        Err(error) => {
            assert!(text.is_char_boundary(error.offset()));
            assert!(error.to_string().contains(error.text()));
            assert_eq!(strict, Err(error), "strict takes no more");
            return None;
        }
    };
    match strict {
        Ok(strict) => assert_same(&strict, &quantity),
        Err(error) => assert!(quantity.is_zero(), "{error}"),
    }
    check(&quantity);
    Some(quantity)
}

/// What must hold of a single quantity.
fn check(quantity: &Quantity) {
    let printed = quantity.canonical();
    let again = Quantity::parse_strict(&printed).expect("what is printed is a quantity");
    assert_eq!(again, *quantity);
    // Plain digits of a binary amount (`8000`) read as decimal, `8k`.
    if again.format() == quantity.format() {
        assert_eq!(again.canonical(), printed);
    }

    assert_eq!(quantity.is_zero(), quantity.sign() == Ordering::Equal);
    assert_eq!(quantity.sign(), quantity.cmp(&Quantity::ZERO));
    let (value, milli) = (quantity.value(), quantity.milli_value());
    assert_eq!(quantity.sign(), value.cmp(&0), "nothing becomes zero");
    assert_eq!(quantity.sign(), milli.cmp(&0), "nothing becomes zero");
    if let Some(number) = quantity.as_i64() {
        assert!(quantity.is_integer_form());
        assert_eq!(number, value);
        assert_eq!(Quantity::from_i64(number, quantity.format()), *quantity);
    }
}

fn compare(left: &Quantity, right: &Quantity) {
    let order = left.cmp(right);
    assert_eq!(order.reverse(), right.cmp(left));
    assert_eq!(left == right, order.is_eq());
    if order.is_eq() {
        assert_eq!(hash(left), hash(right));
        assert_eq!(left.to_nanos(), right.to_nanos());
    } else {
        assert!(!left.same_text(right));
    }
    if let (Some(left), Some(right)) = (left.to_nanos(), right.to_nanos()) {
        assert_eq!(left.cmp(&right), order);
    }
    // Rounding keeps the order, but for what it makes equal.
    let rounded = left.cmp_rounded_up(right);
    assert!(rounded.is_eq() || rounded == order);
    assert!(left.value().cmp(&right.value()).is_eq() || left.value().cmp(&right.value()) == order);
}

fn add(left: &Quantity, right: &Quantity) {
    let (sum, swapped) = (left.checked_add(right), right.checked_add(left));
    assert_eq!(sum, swapped);
    if let Ok(sum) = sum {
        check(&sum);
        assert_eq!(sum.cmp(left), right.sign());
        if let Ok(back) = sum.checked_sub(right) {
            assert_eq!(back, *left);
        }
    }
    if let Ok(difference) = left.checked_sub(right) {
        check(&difference);
        assert_eq!(difference.sign(), left.cmp(right));
        if let Ok(back) = difference.checked_add(right) {
            assert_eq!(back, *left);
        }
    }
}

/// More than equal: nothing tells them apart.
fn assert_same(left: &Quantity, right: &Quantity) {
    assert_eq!(left, right);
    assert!(left.same_text(right));
    assert_eq!(left.format(), right.format());
    assert_eq!(left.is_integer_form(), right.is_integer_form());
    assert_eq!(left.as_i64(), right.as_i64());
}

fn hash(quantity: &Quantity) -> u64 {
    let mut hasher = DefaultHasher::new();
    quantity.hash(&mut hasher);
    hasher.finish()
}
