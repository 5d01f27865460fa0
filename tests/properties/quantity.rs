//! What must hold of every quantity.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseResult;
use pvbind::quantity::{Format, ParseErrorKind, Quantity};

use crate::exact::{Exact, fits_i64, power_of_ten};

const SUFFIXES: [&str; 16] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];

/// Digits as people and machines write them: few, many, zeros at either end.
fn digits() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{0,3}",
        2 => "[1-9][0-9]{0,20}",
        1 => "0{0,3}[0-9]{0,12}0{0,9}",
        1 => "[0-9]{0,45}",
        1 => select(&["9223372036854775807", "9223372036854775808", "999999999999999999", "1024"][..])
            .prop_map(str::to_owned),
    ]
}

fn number() -> impl Strategy<Value = String> {
    let frac = prop::option::weighted(0.4, digits());
    (select(&["", "", "", "+", "-"][..]), digits(), frac).prop_map(|(sign, whole, frac)| {
        let point = if frac.is_some() { "." } else { "" };
        format!("{sign}{whole}{point}{}", frac.unwrap_or_default())
    })
}

/// Texts that are quantities, with exponents that can be written out; now and
/// then one that is an error for lack of digits.
fn text() -> impl Strategy<Value = String> {
    let exponent = (select(&["e", "E", "e+", "E-0", "e-"][..]), 0..40_u32)
        .prop_map(|(sign, exponent)| format!("{sign}{exponent}"));
    let suffix = prop_oneof![
        4 => select(&SUFFIXES[..]).prop_map(str::to_owned),
        1 => exponent,
    ];
    (number(), suffix).prop_map(|(number, suffix)| format!("{number}{suffix}"))
}

/// A quantity, with the text that it was read from.
fn quantity() -> impl Strategy<Value = (String, Quantity)> {
    text().prop_filter_map("not a quantity", |text| {
        let quantity = Quantity::parse(&text).ok()?;
        Some((text, quantity))
    })
}

/// Any exponent that fits 32 bits, most of them too large to be written out.
fn any_quantity() -> impl Strategy<Value = Quantity> {
    let huge = ("[+-]?[0-9]{1,20}", any::<i32>())
        .prop_map(|(number, exponent)| format!("{number}e{exponent}").parse().unwrap());
    prop_oneof![quantity().prop_map(|(_, quantity)| quantity), huge]
}

/// The same amount as another text, where that is easily made.
fn respelled(quantity: &Quantity) -> Quantity {
    let nothing = Quantity::from_i64(0, Format::DecimalExponent);
    nothing.checked_add(quantity).unwrap()
}

fn hash_of(quantity: &Quantity) -> u64 {
    let mut hasher = DefaultHasher::new();
    quantity.hash(&mut hasher);
    hasher.finish()
}

/// What a quantity must show if this is what it amounts to.
fn check_amount(quantity: &Quantity, exact: &Exact) -> TestCaseResult {
    prop_assert_eq!(quantity.to_nanos(), i128::try_from(&exact.nanos).ok());
    prop_assert_eq!(quantity.is_integer_form(), exact.integer.is_some());
    prop_assert_eq!(quantity.as_i64(), exact.as_i64());
    prop_assert_eq!(quantity.sign(), exact.nanos.cmp(&BigInt::ZERO));
    prop_assert_eq!(quantity.is_zero(), exact.nanos == BigInt::ZERO);
    let limit = |number: BigInt| match i64::try_from(&number) {
        Ok(number) => number,
        Err(_) if number < BigInt::ZERO => i64::MIN,
        Err(_) => i64::MAX,
    };
    prop_assert_eq!(quantity.value(), limit(exact.rounded(0)));
    prop_assert_eq!(quantity.milli_value(), limit(exact.rounded(-3)));
    Ok(())
}

/// The text that is printed where none was kept, by trying every suffix.
fn computed_text(nanos: &BigInt, format: Format) -> String {
    let zero = BigInt::ZERO;
    let unit = power_of_ten(9);
    if *nanos == zero {
        return "0".to_owned();
    }
    let whole = nanos / &unit;
    let is_whole = nanos % &unit == zero;
    match format {
        Format::BinarySi if is_whole && is_beyond_cap(&whole) => whole.to_string(),
        Format::BinarySi if is_whole && (whole >= 1024.into() || whole <= (-1024).into()) => {
            let (mut number, mut suffix) = (whole, "");
            for larger in &SUFFIXES[10..] {
                if &number % 1024 == zero {
                    (number, suffix) = (number / 1024, larger);
                } else {
                    break;
                }
            }
            format!("{number}{suffix}")
        }
        Format::BinarySi | Format::DecimalSi => {
            let powers = [-9, -6, -3, 0, 3, 6, 9, 12, 15, 18];
            let names = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
            let fits = |exponent: &i64| nanos % power_of_ten(exponent + 9) == zero;
            let last = powers.iter().rposition(fits).unwrap();
            format!("{}{}", nanos / power_of_ten(powers[last] + 9), names[last])
        }
        Format::DecimalExponent => {
            let mut exponent = -9;
            while nanos % power_of_ten(exponent + 3 + 9) == zero {
                exponent += 3;
            }
            let number = nanos / power_of_ten(exponent + 9);
            match exponent {
                0 => number.to_string(),
                _ => format!("{number}e{exponent}"),
            }
        }
    }
}

/// Whether a binary suffix would be capped when it is read.
fn is_beyond_cap(whole: &BigInt) -> bool {
    !fits_i64(whole) || *whole == i64::MIN.into()
}

/// Whether a text is printed as it was read.
fn is_kept(text: &str, exact: &Exact, format: Format) -> bool {
    let Some((_, scale)) = exact.integer else {
        return false;
    };
    let number = text.trim_start_matches(['+', '-']);
    let end = number.find(|c: char| c != '.' && !c.is_ascii_digit());
    let number = &number[..end.unwrap_or(number.len())];
    let digits = match number.trim_start_matches('0') {
        trimmed if trimmed.is_empty() || trimmed.starts_with('.') => format!("0{trimmed}"),
        trimmed => trimmed.to_owned(),
    }
    .replace('.', "");
    match format {
        Format::BinarySi => digits.parse::<u64>().unwrap() % 8 != 0,
        _ => scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0'),
    }
}

/// Which error a text is, if any, by the rules of the text form alone.
fn error_of(text: &str) -> Option<ParseErrorKind> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match rest.strip_prefix('.') {
        Some(frac) => frac.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let digits = unsigned.strip_suffix(rest).unwrap();
    let letters = rest.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let exponent = letters.strip_prefix(['+', '-']).unwrap_or(letters);
    if text.is_empty() || exponent.contains(|c: char| !c.is_ascii_digit()) {
        return Some(ParseErrorKind::WrongFormat);
    }
    let is_exponent = rest.len() > 1
        && rest.starts_with(['e', 'E'])
        && rest[1..]
            .parse::<i128>()
            .is_ok_and(|exponent| i32::try_from(exponent).is_ok());
    if !SUFFIXES.contains(&rest) && !is_exponent {
        return Some(ParseErrorKind::BadSuffix);
    }
    let lacks_digits = digits.trim_matches('.').is_empty();
    (lacks_digits && ["Pi", "Ei"].contains(&rest)).then_some(ParseErrorKind::BadNumber)
}

proptest! {
    #[test]
    fn the_amount_and_the_form_agree_with_exact_arithmetic((text, quantity) in quantity()) {
        check_amount(&quantity, &Exact::parse(&text))?;
    }

    #[test]
    fn what_is_printed_reads_as_the_same_amount_and_prints_the_same((_, quantity) in quantity()) {
        let printed = quantity.canonical();
        let again = Quantity::parse_strict(&printed);
        prop_assert_eq!(again.as_ref(), Ok(&quantity));
        // But for a binary amount that prints without a binary suffix, which
        // reads as decimal: `62.5Ki` prints `64000`, that prints `64k`, and so
        // does everything after it.
        let again = again.unwrap();
        if again.format() == quantity.format() || quantity.format() != Format::BinarySi {
            prop_assert!(again.same_text(&quantity));
        } else {
            prop_assert_eq!(again.format(), Format::DecimalSi);
            let third = Quantity::parse_strict(&again.canonical());
            prop_assert!(third.unwrap().same_text(&again));
        }
    }

    #[test]
    fn the_text_is_kept_or_computed_as_the_rules_say((text, quantity) in quantity()) {
        let exact = Exact::parse(&text);
        let format = quantity.format();
        if is_kept(&text, &exact, format) {
            prop_assert_eq!(quantity.canonical(), text);
        } else {
            prop_assert_eq!(quantity.canonical(), computed_text(&exact.nanos, format));
        }
    }

    #[test]
    fn order_and_equality_agree_with_exact_arithmetic(
        (left, a) in quantity(),
        (right, b) in quantity(),
    ) {
        let (left, right) = (Exact::parse(&left), Exact::parse(&right));
        prop_assert_eq!(a.cmp(&b), left.nanos.cmp(&right.nanos));
        prop_assert_eq!(b.cmp(&a), right.nanos.cmp(&left.nanos));
        prop_assert_eq!(a == b, left.nanos == right.nanos);
        prop_assert_eq!(a.cmp_rounded_up(&b), left.rounded(0).cmp(&right.rounded(0)));
    }

    #[test]
    fn the_order_is_total_and_agrees_with_the_hash(
        a in any_quantity(),
        b in any_quantity(),
        c in any_quantity(),
    ) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        let mut sorted = [&a, &b, &c];
        sorted.sort();
        prop_assert!(sorted[0] <= sorted[2], "{:?}", sorted);
        for x in [&a, &b, &c] {
            let same = respelled(x);
            prop_assert_eq!(x.cmp(&same), Ordering::Equal);
            prop_assert_eq!(hash_of(x), hash_of(&same));
            for y in [&a, &b, &c] {
                prop_assert_eq!(same.cmp(y), x.cmp(y));
                prop_assert!(x != y || hash_of(x) == hash_of(y));
            }
        }
    }

    #[test]
    fn sums_and_differences_agree_with_exact_arithmetic(
        (left, a) in quantity(),
        (right, b) in quantity(),
    ) {
        let (left, right) = (Exact::parse(&left), Exact::parse(&right));
        for (ours, sign) in [(a.checked_add(&b), 1), (a.checked_sub(&b), -1)] {
            let ours = ours.unwrap();
            let exact = left.add(&right, sign);
            check_amount(&ours, &exact)?;
            let format = if a.is_zero() { b.format() } else { a.format() };
            prop_assert_eq!(ours.format(), format);
            prop_assert_eq!(ours.canonical(), computed_text(&exact.nanos, format));
            prop_assert_eq!(ours.canonical().parse(), Ok(ours));
        }
        let sum = a.checked_add(&b).unwrap();
        let back = sum.checked_sub(&b).unwrap();
        prop_assert_eq!(&back, &a);
        prop_assert_eq!(b.checked_add(&a), Ok(sum));
    }

    #[test]
    fn a_sum_that_is_refused_would_be_long(a in any_quantity(), b in any_quantity()) {
        match a.checked_add(&b) {
            Ok(sum) => prop_assert_eq!(sum.checked_sub(&b), Ok(a)),
            Err(_) => {
                let far = |x: &Quantity, y: &Quantity| {
                    // Far beyond the other, even with a thousand digits more.
                    let (x, y) = (x.canonical(), y.canonical());
                    let exponent = |text: &str| {
                        let exponent = text.split_once(['e', 'E'])?.1;
                        exponent.parse::<i64>().ok()
                    };
                    exponent(&x).unwrap_or(0) - exponent(&y).unwrap_or(0) > 999_000
                };
                prop_assert!(far(&a, &b) || far(&b, &a), "{:?} + {:?}", a, b);
            }
        }
    }

    #[test]
    fn json_changes_nothing(
        (text, quantity) in quantity(),
        before in "[ \t\n]{0,2}",
        number in any::<i64>(),
    ) {
        let json = serde_json::to_string(&quantity).unwrap();
        prop_assert_eq!(&json, &format!("\"{quantity}\""));
        let again: Quantity = serde_json::from_str(&json).unwrap();
        prop_assert!(again.same_text(&quantity));

        let value = serde_json::Value::from(format!("{before}{text} "));
        let blank: Quantity = serde_json::from_value(value).unwrap();
        prop_assert!(blank.same_text(&quantity));

        let bare: Quantity = serde_json::from_str(&number.to_string()).unwrap();
        prop_assert_eq!(bare.value(), number);
        prop_assert_eq!(bare.format(), Format::DecimalSi);
    }

    #[test]
    fn errors_are_those_of_the_rules_and_name_a_place(
        text in prop_oneof![
            "[0-9.eEinumkKMGTP+-]{0,8}",
            "[+-]{0,2}[0-9]{0,2}\\.?[0-9]?[eE]?[+-]?[0-9]{0,11}",
            "[+-]?[0-9]?\\.?[KMGTPEkmun]i?",
            "\\PC{0,6}",
        ],
    ) {
        let parsed = Quantity::parse(&text);
        let kind = parsed.as_ref().err().map(|error| error.kind());
        prop_assert_eq!(kind, error_of(&text));
        let strict = Quantity::parse_strict(&text);
        match (&parsed, &strict) {
            (Err(error), strict) => {
                prop_assert!(text.is_char_boundary(error.offset()));
                prop_assert_eq!(error.text(), text);
                prop_assert_eq!(strict.as_ref(), Err(error));
            }
            (Ok(quantity), Ok(strict)) => prop_assert!(quantity.same_text(strict)),
            (Ok(quantity), Err(error)) => {
                prop_assert!(quantity.is_zero());
                prop_assert_eq!(error.kind(), ParseErrorKind::BadNumber);
            }
        }
    }
}
