use std::str::FromStr;

use super::decimal::Decimal;
use super::digits::{length, number, split_digits, value, without_leading_zeros};
use super::error::What;
use super::suffix::Suffix;
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
        match Self::plain(text.as_bytes()) {
            Some(quantity) => Ok(quantity),
            None => Parts::split(text)?.read(text),
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
        parts.read(text)
    }

    /// The usual texts, read as the general way does at a third of its cost: a
    /// whole number without sign, point or leading zero, in integer form, with a
    /// suffix that is no exponent. Where such a text is kept, what is computed
    /// spells it the same, so none needs to be stored.
    #[inline]
    fn plain(bytes: &[u8]) -> Option<Self> {
        let mut number = 0_i64;
        let mut length = 0;
        let mut suffix = bytes;
        while let [digit @ b'0'..=b'9', rest @ ..] = suffix {
            if number == 0 && length > 0 || length == MAX_SCALED_DIGITS {
                return None;
            }
            // At most 18 digits, so this does not wrap.
            number = number
                .wrapping_mul(10)
                .wrapping_add(i64::from(value(*digit)));
            length += 1;
            suffix = rest;
        }
        if number == 0 {
            return None;
        }
        match Suffix::known(suffix)? {
            Suffix::Decimal { format, exponent } => Some(Self::scaled(number, exponent, format)),
            Suffix::Binary { shift } if length <= max_scaled_digits(shift) => {
                Some(Self::scaled(number << shift, 0, Format::BinarySi))
            }
            Suffix::Binary { .. } => None,
        }
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

/// The most digits that the integer form takes in decimal formats.
const MAX_SCALED_DIGITS: usize = 18;

/// The most digits that the integer form takes with a binary suffix.
fn max_scaled_digits(shift: u32) -> usize {
    match shift {
        10 => 11,
        20 => 8,
        30 => 5,
        40 => 2,
        _ => 0,
    }
}

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

    fn read(&self, text: &str) -> Result<Quantity, ParseError> {
        match self.suffix {
            Suffix::Decimal { format, exponent } => Ok(self.decimal(text, format, exponent)),
            Suffix::Binary { shift } => self.binary(text, shift),
        }
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
        if shift >= 50 && !self.has_digits {
            return Err(self.no_digits(text));
        }
        if self.frac.is_empty() && self.whole_length() <= max_scaled_digits(shift) {
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

#[cfg(test)]
mod tests {
    use super::super::ParseErrorKind::{self, BadNumber, BadSuffix, WrongFormat};
    use super::*;

    fn read(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    /// Everything that can be seen of a quantity.
    fn all_of(quantity: &Quantity) -> (String, Format, bool, Option<i128>, Option<i64>) {
        (
            quantity.canonical(),
            quantity.format(),
            quantity.is_integer_form(),
            quantity.to_nanos(),
            quantity.as_i64(),
        )
    }

    #[test]
    fn a_plain_text_reads_as_the_general_way_does() {
        let mut plain = 0;
        for digits in [
            "",
            "0",
            "7",
            "8",
            "10",
            "08",
            "1000",
            "78000",
            "999999999999999999",
        ] {
            for length in 0..=digits.len() {
                for suffix in [
                    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi",
                    "Ei", "e3", "i", "K", "Gib",
                ] {
                    let text = format!("{}{suffix}", digits.get(..length).unwrap());
                    if let Some(quantity) = Quantity::plain(text.as_bytes()) {
                        let general = Parts::split(&text).unwrap().read(&text).unwrap();
                        assert_eq!(all_of(&quantity), all_of(&general), "{text}");
                        plain += 1;
                    }
                }
            }
        }
        assert!(plain > 200, "only {plain} texts were plain");
        assert!(Quantity::plain("9".repeat(19).as_bytes()).is_none());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, kind, offset, message) in [
            ("", WrongFormat, 0, "quantity `` is empty at offset 0"),
            ("1.5.5", WrongFormat, 3, "has an unexpected `.`"),
            ("1KI", WrongFormat, 2, "has an unexpected `I`"),
            ("1gi", WrongFormat, 1, "has an unexpected `g`"),
            ("1e3Ki", WrongFormat, 3, "has an unexpected `K`"),
            ("1e1.5", WrongFormat, 3, "has an unexpected `.`"),
            ("inf", WrongFormat, 2, "has an unexpected `f`"),
            (" 1", WrongFormat, 0, "has an unexpected ` `"),
            ("0x10", WrongFormat, 1, "has an unexpected `x`"),
            ("5٣", WrongFormat, 1, "has an unexpected `٣`"),
            ("1é", WrongFormat, 1, "has an unexpected `é`"),
            ("1K", BadSuffix, 1, "has the unknown suffix `K`"),
            ("1i", BadSuffix, 1, "has the unknown suffix `i`"),
            ("5e", BadSuffix, 1, "has the unknown suffix `e`"),
            ("1e+", BadSuffix, 1, "has the unknown suffix `e+`"),
            ("1ei", BadSuffix, 1, "has the unknown suffix `ei`"),
            ("1Mi1", BadSuffix, 1, "has the unknown suffix `Mi1`"),
            ("--1", BadSuffix, 1, "has the unknown suffix `-1`"),
            ("+-1", BadSuffix, 1, "has the unknown suffix `-1`"),
            ("1e2147483648", BadSuffix, 1, "has an exponent outside"),
            ("1E-2147483649", BadSuffix, 1, "has an exponent outside"),
            (
                "Pi",
                BadNumber,
                0,
                "quantity `Pi` has no digits at offset 0",
            ),
            ("-.Ei", BadNumber, 2, "has no digits"),
        ] {
            let error = Quantity::parse(text).unwrap_err();
            assert_eq!((error.kind(), error.offset()), (kind, offset), "{text}");
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(Quantity::parse_strict(text), Err(error));
        }
    }

    #[test]
    fn an_error_repeats_only_the_beginning_of_a_long_text() {
        let error = Quantity::parse(&"1é".repeat(1_000_000)).unwrap_err();
        assert!(error.text().ends_with('…') && error.to_string().len() < 200);
        let error = Quantity::parse(&"E".repeat(1_000_000)).unwrap_err();
        assert!(error.to_string().len() < 250, "{error}");
    }

    #[test]
    fn what_stands_without_digits_is_zero_unless_read_strictly() {
        for text in ["+", "-", ".", "-.", "m", "E", "Ki", ".Ti", "e3", "+E-3"] {
            assert!(read(text).is_zero(), "{text}");
            let error = Quantity::parse_strict(text).unwrap_err();
            assert_eq!(error.kind(), ParseErrorKind::BadNumber, "{text}");
        }
        for text in ["0", "-0", ".0", "0.", "0Ei", ".0Pi", "0e-99"] {
            assert!(Quantity::parse_strict(text).unwrap().is_zero(), "{text}");
        }
    }

    #[test]
    fn zero_has_no_sign() {
        for text in ["-0", "-0.00", "-0Ki", "-0e5", "-", "-0Ei"] {
            assert_eq!(read(text), Quantity::ZERO, "{text}");
            assert_eq!(read(text).canonical(), "0", "{text}");
        }
    }

    #[test]
    fn the_integer_form_ends_where_its_digits_do() {
        for (text, is_integer) in [
            ("999999999999999999", true),
            ("1000000000000000000", false),
            ("000999999999999999999", true),
            ("99999999999999999.0", true),
            ("999999999999999999.0", false),
            (".99999999999999999n", false),
            ("0.000000001", true),
            ("0.0000000010", false),
            ("1e2147483647", true),
            ("1.0e2147483647", true),
            ("99999999999Ki", true),
            ("100000000000Ki", false),
            ("99999999Mi", true),
            ("100000000Mi", false),
            ("99999Gi", true),
            ("100000Gi", false),
            ("99Ti", true),
            ("100Ti", false),
            ("0Pi", false),
            ("1Ei", false),
            ("1.0Gi", false),
            ("1.Gi", true),
        ] {
            assert_eq!(read(text).is_integer_form(), is_integer, "{text}");
        }
    }

    #[test]
    fn what_lies_below_a_billionth_is_rounded_away_from_zero() {
        for (text, nanos) in [
            ("1n", 1),
            ("0.1n", 1),
            ("-0.0000000001", -1),
            ("1e-2147483648", 1),
            ("-1.0000000001", -1_000_000_001),
            ("0.9999999999", 1_000_000_000),
            ("0.0000000010000", 1),
            ("0.000000001Ki", 1024),
            ("0.0000000001Ki", 103),
            ("-0.00000000000000000000000000001Ei", -1),
        ] {
            assert_eq!(read(text).to_nanos(), Some(nanos), "{text}");
        }
    }

    #[test]
    fn binary_amounts_are_capped_and_decimal_ones_are_not() {
        let cap = i64::MAX;
        for text in [
            "8Ei",
            "9999999999999Pi",
            "7.99999999999999999999999Ei",
            "9007199254740992Ki",
        ] {
            assert_eq!(read(text).canonical(), cap.to_string(), "{text}");
            assert_eq!(read(&format!("-{text}")).canonical(), format!("-{cap}"));
        }
        assert_eq!(read("7Ei").canonical(), "7Ei");
        assert_eq!(read("100E").value(), i64::MAX);
        assert!(read("100E") > read("8Ei"));
    }

    #[test]
    fn a_binary_amount_between_zero_and_one_turns_decimal() {
        for (text, format) in [
            ("0.0009Ki", Format::DecimalSi),
            ("-0.0009Ki", Format::DecimalSi),
            ("0.0010Ki", Format::BinarySi),
            ("0.00Ki", Format::BinarySi),
        ] {
            assert_eq!(read(text).format(), format, "{text}");
        }
    }

    #[test]
    fn an_exponent_may_have_any_number_of_leading_zeros() {
        let text = format!("1e-{}3", "0".repeat(100));
        assert_eq!(read(&text), read("1m"));
    }

    #[test]
    fn long_texts_are_read_compared_added_and_printed() {
        const LENGTH: usize = 1_000_000;
        let nines = "9".repeat(LENGTH);
        let [whole, negative, fraction, both] =
            ["", "-", ".", "0."].map(|start| format!("{start}{nines}"));
        assert_eq!(read(&whole).canonical(), whole);
        assert_eq!(read(&negative).canonical(), negative);
        assert_eq!(read(&fraction), read("1"));
        assert_eq!(read(&both), read("1"));
        assert!(read(&whole) < read("1e2147483647") && read(&negative) < Quantity::ZERO);
        assert_eq!(read(&format!("{nines}Gi")).value(), i64::MAX);
        assert_eq!(read(&format!("0.{nines}Gi")), read("1Gi"));
        assert_eq!(read(&format!("{nines}e-{LENGTH}")), read("1"));

        let zeros = "0".repeat(LENGTH);
        assert_eq!(read(&format!("1{zeros}")), read(&format!("1e{LENGTH}")));
        assert_eq!(read(&format!("{zeros}.{zeros}1")), read("1n"));
        let kept = format!("{zeros}7Gi");
        assert_eq!(read(&kept).canonical(), kept);
        let sum = read(&whole).checked_sub(&read(&whole)).unwrap();
        assert_eq!(sum, Quantity::ZERO);
        // One digit more than a result may have.
        assert!(read(&whole).checked_add(&read("1e1000000")).is_err());
    }
}
