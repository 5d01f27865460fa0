use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::iter::{repeat, repeat_n};

use super::digits::{length, value};

/// `±digits × 10^exponent`, for amounts beyond 128 bits.
///
/// One ASCII digit per byte: such amounts are rare, and everything that is
/// done to them here (compare, add, round, print) is one pass over the digits,
/// while a binary big number would need quadratic conversions.
///
// INVARIANT (normal): `digits` neither begins nor ends with a zero; zero has
// no digits, exponent 0 and is not negative. So equal amounts are equal field
// by field.
#[derive(Clone)]
pub(super) struct Decimal {
    negative: bool,
    digits: Box<[u8]>,
    exponent: i64,
}

impl Decimal {
    /// `±digits × 10^exponent` in normal form. `digits` are ASCII digits.
    pub(super) fn new(negative: bool, mut digits: Vec<u8>, mut exponent: i64) -> Self {
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent = exponent.saturating_add(1);
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        if digits.is_empty() {
            return Self {
                negative: false,
                digits: Box::default(),
                exponent: 0,
            };
        }
        Self {
            negative,
            digits: digits.into_boxed_slice(),
            exponent,
        }
    }

    /// The same, with what lies below `10^floor` rounded away from zero.
    pub(super) fn rounded(negative: bool, mut digits: Vec<u8>, exponent: i64, floor: i64) -> Self {
        let below = usize::try_from(floor.saturating_sub(exponent)).unwrap_or(0);
        if below == 0 {
            return Self::new(negative, digits, exponent);
        }
        let kept = digits.len().saturating_sub(below);
        let inexact = digits.iter().skip(kept).any(|digit| *digit != b'0');
        digits.truncate(kept);
        if inexact {
            increment(&mut digits);
        }
        Self::new(negative, digits, floor)
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            negative: self.negative,
            digits: &self.digits,
            exponent: self.exponent,
        }
    }

    /// The amount in units of 10^-9, if it fits and is not `i128::MIN`.
    pub(super) fn to_nanos(&self) -> Option<i128> {
        let view = self.view();
        if view.is_zero() {
            return Some(0);
        }
        if view.top() > 30 || view.exponent < -9 {
            return None;
        }
        let zeros = usize::try_from(view.exponent.saturating_add(9)).ok()?;
        let digits = view.digits.iter().map(|digit| value(*digit));
        digits
            .chain(repeat_n(0, zeros))
            .try_fold(0_i128, |nanos, digit| {
                nanos.checked_mul(10)?.checked_add(i128::from(digit))
            })
            .map(|nanos| if self.negative { -nanos } else { nanos })
    }
}

/// Adds one to a row of ASCII digits.
fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit == b'9' {
            *digit = b'0';
        } else {
            *digit = digit.saturating_add(1);
            return;
        }
    }
    digits.insert(0, b'1');
}

/// A [`Decimal`] borrowed from somewhere, in the same normal form.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct View<'a> {
    pub(super) negative: bool,
    pub(super) digits: &'a [u8],
    pub(super) exponent: i64,
}

impl<'a> View<'a> {
    /// A view of `±magnitude × 10^exponent`, its digits written to `buffer`.
    pub(super) fn of(
        negative: bool,
        magnitude: u128,
        exponent: i64,
        buffer: &'a mut DigitBuffer,
    ) -> Self {
        buffer.fill(magnitude);
        let mut digits = buffer.digits();
        let mut exponent = exponent;
        while let [rest @ .., b'0'] = digits {
            digits = rest;
            exponent = exponent.saturating_add(1);
        }
        if digits.is_empty() {
            exponent = 0;
        }
        Self {
            negative: negative && !digits.is_empty(),
            digits,
            exponent,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// The digits as text.
    pub(super) fn digits_text(&self) -> &'a str {
        // Only ASCII digits ever get here, so this never falls back.
        std::str::from_utf8(self.digits).unwrap_or_default()
    }

    /// The power of ten just above the highest digit.
    fn top(&self) -> i64 {
        self.exponent.saturating_add(length(self.digits))
    }

    /// An owned copy, with what lies below `10^floor` rounded away from zero.
    pub(super) fn rounded(&self, floor: i64) -> Decimal {
        Decimal::rounded(self.negative, self.digits.to_vec(), self.exponent, floor)
    }

    /// Exact order; reads no more than the digits of the shorter.
    pub(super) fn compare(&self, other: &View<'_>) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
        }
    }

    fn compare_magnitude(&self, other: &View<'_>) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // Without zeros at either end, the order of equally high numbers
            // is that of their digits as text.
            (false, false) => self
                .top()
                .cmp(&other.top())
                .then_with(|| self.digits.cmp(other.digits)),
        }
    }

    /// The exact sum, or `None` if it has more than `limit` digits.
    ///
    /// Linear in the digits of both and `limit`.
    pub(super) fn add(&self, other: &View<'_>, limit: usize) -> Option<Decimal> {
        let sum = if self.is_zero() {
            Decimal::new(other.negative, other.digits.to_vec(), other.exponent)
        } else if other.is_zero() {
            Decimal::new(self.negative, self.digits.to_vec(), self.exponent)
        } else {
            let low = self.exponent.min(other.exponent);
            let span = usize::try_from(self.top().max(other.top()).saturating_sub(low)).ok()?;
            // A wider span than this has a gap of more than `limit` places
            // between the two. The result reaches across it: its lowest digit
            // is that of the lower number, and its highest is at most one
            // place below that of the higher number.
            let digits = self.digits.len().saturating_add(other.digits.len());
            if span > digits.saturating_add(limit) {
                return None;
            }
            if self.negative == other.negative {
                let digits = add_digits(self.ascending(low), other.ascending(low), span);
                Decimal::new(self.negative, digits, low)
            } else {
                let (larger, smaller) = match self.compare_magnitude(other) {
                    Ordering::Less => (other, self),
                    Ordering::Equal | Ordering::Greater => (self, other),
                };
                let digits = subtract_digits(larger.ascending(low), smaller.ascending(low), span);
                Decimal::new(larger.negative, digits, low)
            }
        };
        (sum.digits.len() <= limit).then_some(sum)
    }

    /// The digits as numbers, from the place `10^low` upwards, without end.
    fn ascending(&self, low: i64) -> impl Iterator<Item = u8> {
        let zeros = usize::try_from(self.exponent.saturating_sub(low)).unwrap_or(0);
        let digits = self.digits.iter().rev().map(|digit| value(*digit));
        repeat_n(0, zeros).chain(digits).chain(repeat(0))
    }
}

fn add_digits(
    left: impl Iterator<Item = u8>,
    right: impl Iterator<Item = u8>,
    span: usize,
) -> Vec<u8> {
    let mut carry = 0;
    let mut sum: Vec<u8> = left
        .zip(right)
        .take(span.saturating_add(1))
        .map(|(left, right)| {
            let digit = left.wrapping_add(right).wrapping_add(carry);
            carry = u8::from(digit >= 10);
            (digit % 10).wrapping_add(b'0')
        })
        .collect();
    sum.reverse();
    sum
}

fn subtract_digits(
    larger: impl Iterator<Item = u8>,
    smaller: impl Iterator<Item = u8>,
    span: usize,
) -> Vec<u8> {
    let mut borrow = 0;
    let mut difference: Vec<u8> = larger
        .zip(smaller)
        .take(span)
        .map(|(larger, smaller)| {
            let digit = larger
                .wrapping_add(10)
                .wrapping_sub(smaller)
                .wrapping_sub(borrow);
            borrow = u8::from(digit < 10);
            (digit % 10).wrapping_add(b'0')
        })
        .collect();
    difference.reverse();
    difference
}

/// Room for the digits of a `u128`, on the stack.
pub(super) struct DigitBuffer {
    bytes: [u8; 39],
    used: usize,
}

impl DigitBuffer {
    pub(super) const fn new() -> Self {
        Self {
            bytes: [b'0'; 39],
            used: 0,
        }
    }

    fn fill(&mut self, number: u128) {
        self.used = 0;
        // 39 digits are enough for any `u128`, so this never fails.
        let _ = match u64::try_from(number) {
            Ok(number) => write!(self, "{number}"),
            Err(_) => write!(self, "{number}"),
        };
    }

    fn digits(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}

impl Write for DigitBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.used.checked_add(text.len()).ok_or(fmt::Error)?;
        let room = self.bytes.get_mut(self.used..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}
