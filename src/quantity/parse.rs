use std::str::FromStr;

use super::decimal::Decimal;
use super::error::What;
use super::{Format, NANOS_PER_UNIT, ParseError, Quantity, Repr};

impl Quantity {
    /// Reads a quantity as Kubernetes does.
    ///
    /// Follows `resource.ParseQuantity`, Kubernetes 1.36. More than the
    /// [grammar](crate::quantity#grammar) is taken: a sign, a point and a suffix may stand
    /// without digits and mean zero (`+`, `.`, `m`, `Ki`, `e3`), except with
    /// `Pi` and `Ei`. Blanks are not taken.
    ///
    /// What lies below 10^-9 is rounded away from zero, so that no amount
    /// becomes zero. A [`Format::BinarySi`] amount is capped at ±(2^63−1), and
    /// one between 0 and 1 becomes [`Format::DecimalSi`].
    ///
    /// Linear in the text. No allocation for the usual short texts, unless the
    /// text is one that Kubernetes keeps although it would print the amount
    /// differently (`0100Mi`, `+1Gi`, `5E3`).
    ///
    /// # Errors
    ///
    /// [`ParseError`] says what is wrong and where.
    ///
    /// # Differences from upstream
    ///
    /// An exponent outside 32 bits is a bad suffix; upstream wraps it around.
    ///
    /// ```
    /// use pvbind::quantity::{ParseErrorKind, Quantity};
    ///
    /// assert_eq!(Quantity::parse("0.0000000001")?, Quantity::parse("1n")?);
    /// assert_eq!(Quantity::parse("Ki")?, Quantity::ZERO);
    /// assert_eq!(Quantity::parse("1K").unwrap_err().kind(), ParseErrorKind::BadSuffix);
    /// # Ok::<(), pvbind::quantity::ParseError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let parts = Parts::split(text)?;
        match parts.suffix {
            Suffix::Decimal { format, exponent } => Ok(parts.decimal(text, format, exponent)),
            Suffix::Binary { shift } => parts.binary(text, shift),
        }
    }

    /// Reads a quantity by the documented grammar.
    ///
    /// Gives the same as [`parse`](Self::parse) for what both take.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and [`BadNumber`] for a text without any
    /// digit before the suffix.
    ///
    /// [`BadNumber`]: super::ParseErrorKind::BadNumber
    ///
    /// # Differences from [`parse`](Self::parse)
    ///
    /// - At least one digit before the suffix: `+`, `.`, `m`, `-.Ki` and `e3`
    ///   are errors, not zero.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    ///
    /// assert_eq!(Quantity::parse_strict("10Gi"), Quantity::parse("10Gi"));
    /// assert_eq!(
    ///     Quantity::parse_strict("m").unwrap_err().to_string(),
    ///     "quantity `m` has no digits at offset 0",
    /// );
    /// ```
    pub fn parse_strict(text: &str) -> Result<Self, ParseError> {
        let parts = Parts::split(text)?;
        if !parts.has_digits {
            return Err(parts.no_digits(text));
        }
        Self::parse(text)
    }
}

/// As [`Quantity::parse`].
impl FromStr for Quantity {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// A text taken apart.
struct Parts<'a> {
    negative: bool,
    /// The digits before the point, without leading zeros.
    whole: &'a [u8],
    /// The digits after the point.
    frac: &'a [u8],
    has_digits: bool,
    /// Whether nothing but the suffix could differ from a computed text: no
    /// plus sign, no leading zero, no point.
    plain: bool,
    suffix: Suffix,
    suffix_text: &'a [u8],
}

#[derive(Clone, Copy)]
enum Suffix {
    Decimal { format: Format, exponent: i32 },
    Binary { shift: u32 },
}

/// The most digits that the integer form takes in decimal formats.
const MAX_SCALED_DIGITS: usize = 18;

/// The most digits before the point that can stay below the cap of 2^63−1.
const MAX_CAPPED_DIGITS: usize = 19;

/// The finest decimal place.
const NANO: i64 = -9;

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, ParseError> {
        let bytes = text.as_bytes();
        let (sign, rest) = match bytes {
            [] => return Err(ParseError::new(text, What::Empty, 0)),
            [sign @ (b'+' | b'-'), rest @ ..] => (Some(*sign), rest),
            rest => (None, rest),
        };
        let (written, rest) = split_digits(rest);
        let whole = without_leading_zeros(written);
        let (point, (frac, suffix_text)) = match rest {
            [b'.', rest @ ..] => (true, split_digits(rest)),
            rest => (false, (&[][..], rest)),
        };
        let suffix = match Suffix::known(suffix_text) {
            Some(suffix) => suffix,
            None => Suffix::other(text, suffix_text)?,
        };
        Ok(Self {
            negative: sign == Some(b'-'),
            whole,
            frac,
            has_digits: !written.is_empty() || !frac.is_empty(),
            plain: sign != Some(b'+') && whole.len() == written.len() && !point,
            suffix,
            suffix_text,
        })
    }

    fn decimal(&self, text: &str, format: Format, exponent: i32) -> Quantity {
        let scale = i64::from(exponent).saturating_sub(length(self.frac));
        let digits = self.whole_length().saturating_add(self.frac.len());
        if digits <= MAX_SCALED_DIGITS && scale >= NANO {
            let mantissa = number(self.whole.iter().chain(self.frac));
            let kept = scale % 3 == 0 && mantissa % 1000 != 0 && !self.whole.is_empty();
            let computed = self.plain && self.suffix_is_canonical();
            return Quantity {
                repr: Repr::Scaled {
                    mantissa: self.signed(mantissa),
                    // At most the exponent, which is 32 bits, and at least -9.
                    scale: i32::try_from(scale).unwrap_or(exponent),
                    format,
                    text: (kept && !computed).then(|| text.into()),
                },
            };
        }
        let digits = [self.whole, self.frac].concat();
        Quantity::big(Decimal::rounded(self.negative, digits, scale, NANO), format)
    }

    fn binary(&self, text: &str, shift: u32) -> Result<Quantity, ParseError> {
        let longest = match shift {
            10 => 11,
            20 => 8,
            30 => 5,
            40 => 2,
            _ if !self.has_digits => return Err(self.no_digits(text)),
            _ => 0,
        };
        if self.frac.is_empty() && self.whole_length() <= longest {
            let number = number(self.whole);
            let kept = number % 8 != 0;
            return Ok(Quantity {
                repr: Repr::Scaled {
                    // The lengths above keep this within 64 bits.
                    mantissa: self.signed(number << shift),
                    scale: 0,
                    format: Format::BinarySi,
                    text: (kept && !self.plain).then(|| text.into()),
                },
            });
        }
        let nanos = self.binary_nanos(shift);
        let format = if nanos > 0 && nanos < NANOS_PER_UNIT {
            Format::DecimalSi
        } else {
            Format::BinarySi
        };
        let nanos = if self.negative { -nanos } else { nanos };
        Ok(Quantity::nanos(nanos, format))
    }

    /// The magnitude times `2^shift`, in units of 10^-9, rounded away from
    /// zero and capped at 2^63−1. One pass over the digits.
    fn binary_nanos(&self, shift: u32) -> i128 {
        const CAP: i128 = i64::MAX as i128 * NANOS_PER_UNIT;
        if self.whole.len() > MAX_CAPPED_DIGITS {
            return CAP;
        }
        let whole = self.whole.iter().fold(0_i128, |number, digit| {
            number * 10 + i128::from(value(*digit))
        });
        // Multiplies the fraction from its end, so that what is carried out of
        // the front is the whole part of the product. A carry is below
        // 2^shift, at most 2^60, and so is a tenth of what it is made from.
        let mut carry = 0_u64;
        let mut nanos = 0_i128;
        let mut place = 1_i128;
        let mut inexact = false;
        let places = self.frac.iter().enumerate().rev();
        for (index, digit) in places {
            let product = (u64::from(value(*digit)) << shift).saturating_add(carry);
            carry = product / 10;
            let digit = product % 10;
            if index >= 9 {
                inexact |= digit != 0;
            } else {
                nanos += i128::from(digit) * place;
                place *= 10;
            }
        }
        // Fewer than nine places: bring them to nine.
        nanos *= NANOS_PER_UNIT / place;
        let units = (whole << shift) + i128::from(carry);
        if units >= i128::from(i64::MAX) {
            return CAP;
        }
        units * NANOS_PER_UNIT + nanos + i128::from(inexact)
    }

    /// Whether a computed text would spell the suffix the same way, given
    /// that the scale stays as it is.
    fn suffix_is_canonical(&self) -> bool {
        match self.suffix {
            Suffix::Decimal {
                format: Format::DecimalExponent,
                ..
            } => matches!(
                self.suffix_text,
                [b'e', b'1'..=b'9', ..] | [b'e', b'-', b'1'..=b'9', ..]
            ),
            Suffix::Decimal { .. } | Suffix::Binary { .. } => true,
        }
    }

    /// The length before the point, where none counts as the one digit `0`.
    fn whole_length(&self) -> usize {
        self.whole.len().max(1)
    }

    fn signed(&self, magnitude: i64) -> i64 {
        if self.negative { -magnitude } else { magnitude }
    }

    fn no_digits(&self, text: &str) -> ParseError {
        let offset = text.len().saturating_sub(self.suffix_text.len());
        ParseError::new(text, What::NoDigits, offset)
    }
}

impl Suffix {
    fn known(text: &[u8]) -> Option<Self> {
        let exponent = match text {
            b"" => 0,
            b"Ki" => return Some(Self::Binary { shift: 10 }),
            b"Mi" => return Some(Self::Binary { shift: 20 }),
            b"Gi" => return Some(Self::Binary { shift: 30 }),
            b"Ti" => return Some(Self::Binary { shift: 40 }),
            b"Pi" => return Some(Self::Binary { shift: 50 }),
            b"Ei" => return Some(Self::Binary { shift: 60 }),
            b"n" => -9,
            b"u" => -6,
            b"m" => -3,
            b"k" => 3,
            b"M" => 6,
            b"G" => 9,
            b"T" => 12,
            b"P" => 15,
            b"E" => 18,
            _ => return None,
        };
        Some(Self::Decimal {
            format: Format::DecimalSi,
            exponent,
        })
    }

    /// An exponent, or the reason why `suffix`, the end of `text`, is none.
    fn other(text: &str, suffix: &[u8]) -> Result<Self, ParseError> {
        let offset = text.len().saturating_sub(suffix.len());
        let letters = suffix
            .iter()
            .take_while(|byte| b"eEinumkKMGTP".contains(byte))
            .count();
        let after = suffix.get(letters..).unwrap_or_default();
        let (sign, after) = match after {
            [sign @ (b'+' | b'-'), after @ ..] => (Some(*sign), after),
            after => (None, after),
        };
        let (digits, after) = split_digits(after);
        if !after.is_empty() {
            let offset = text.len().saturating_sub(after.len());
            let unexpected = text.get(offset..).and_then(|rest| rest.chars().next());
            let unexpected = unexpected.unwrap_or(char::REPLACEMENT_CHARACTER);
            return Err(ParseError::new(text, What::Unexpected(unexpected), offset));
        }
        if letters != 1 || !matches!(suffix, [b'e' | b'E', ..]) || digits.is_empty() {
            return Err(ParseError::unknown_suffix(text, offset));
        }
        match exponent(sign == Some(b'-'), digits) {
            Some(exponent) => Ok(Self::Decimal {
                format: Format::DecimalExponent,
                exponent,
            }),
            None => Err(ParseError::new(text, What::ExponentOutOfRange, offset)),
        }
    }
}

fn exponent(negative: bool, digits: &[u8]) -> Option<i32> {
    let digits = without_leading_zeros(digits);
    if digits.len() > 10 {
        return None;
    }
    let magnitude = number(digits);
    i32::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// The number that at most 18 ASCII digits make.
fn number<'a>(digits: impl IntoIterator<Item = &'a u8>) -> i64 {
    digits
        .into_iter()
        .fold(0, |number, digit| number * 10 + i64::from(value(*digit)))
}

fn value(digit: u8) -> u8 {
    digit.wrapping_sub(b'0')
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    bytes.split_at_checked(digits.count()).unwrap_or_default()
}

fn without_leading_zeros(mut digits: &[u8]) -> &[u8] {
    while let [b'0', rest @ ..] = digits {
        digits = rest;
    }
    digits
}

fn length(digits: &[u8]) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}
