use thiserror::Error;

use super::decimal::{DigitBuffer, View};
use super::{Format, Quantity, Repr, power_of_ten};

/// Why a sum or difference was not made.
///
/// ```
/// use pvbind::quantity::{ArithmeticError, Quantity};
///
/// let huge = Quantity::parse("1e2000000000")?;
/// let error = huge.checked_add(&Quantity::parse("1")?).unwrap_err();
/// assert_eq!(error, ArithmeticError::TooManyDigits);
/// assert_eq!(error.to_string(), "the exact result has more than 1000000 digits");
/// # Ok::<(), pvbind::quantity::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArithmeticError {
    /// The exact result has more than [`MAX_DIGITS`](Self::MAX_DIGITS) digits
    /// from its first to its last that is not zero.
    #[error("the exact result has more than {} digits", Self::MAX_DIGITS)]
    TooManyDigits,
}

impl ArithmeticError {
    /// The most digits that a result may have, zeros at its end not counted.
    ///
    /// ```
    /// use pvbind::quantity::{ArithmeticError, Quantity};
    /// let sum = |exponent: usize| {
    ///     let huge = Quantity::parse(&format!("1e{exponent}")).unwrap();
    ///     huge.checked_add(&Quantity::parse("1").unwrap())
    /// };
    /// assert!(sum(ArithmeticError::MAX_DIGITS - 1).is_ok());
    /// assert_eq!(sum(ArithmeticError::MAX_DIGITS), Err(ArithmeticError::TooManyDigits));
    /// ```
    pub const MAX_DIGITS: usize = 1_000_000;
}

impl Quantity {
    /// The exact sum.
    ///
    /// Follows `Quantity.Add`, Kubernetes 1.36. The result is never capped, and
    /// never keeps a parsed text, not even when zero is added. It takes this
    /// side's format, or the other's if this side is zero. It is in integer
    /// form if both are and the sum fits, at the smaller of their scales.
    ///
    /// No allocation unless an amount is beyond 128 bits of 10^-9; then linear
    /// in the digits of both sides and of the largest result.
    ///
    /// # Errors
    ///
    /// [`ArithmeticError::TooManyDigits`] for a result such as
    /// `1e2000000000 + 1`.
    ///
    /// # Differences from upstream
    ///
    /// Upstream has no such limit, and writes the exponent out.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    ///
    /// let [a, b] = ["1Gi", "500m"].map(|text| Quantity::parse(text).unwrap());
    /// assert_eq!(a.checked_add(&b)?.to_string(), "1073741824500m");
    /// # Ok::<(), pvbind::quantity::ArithmeticError>(())
    /// ```
    pub fn checked_add(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(other, false)
    }

    /// The exact difference.
    ///
    /// Follows `Quantity.Sub`, Kubernetes 1.36; format, form, cost and errors
    /// as for [`checked_add`](Self::checked_add).
    ///
    /// # Errors
    ///
    /// As for [`checked_add`](Self::checked_add).
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    ///
    /// let [has, asked] = ["2Gi", "50Gi"].map(|text| Quantity::parse(text).unwrap());
    /// assert_eq!(asked.checked_sub(&has)?.to_string(), "48Gi");
    /// # Ok::<(), pvbind::quantity::ArithmeticError>(())
    /// ```
    pub fn checked_sub(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(other, true)
    }

    fn combine(&self, other: &Self, negate: bool) -> Result<Self, ArithmeticError> {
        let format = if self.is_zero() {
            other.format()
        } else {
            self.format()
        };
        if let Some(sum) = self.combine_scaled(other, negate, format) {
            return Ok(sum);
        }
        if let (Some(left), Some(right)) = (self.to_nanos(), other.to_nanos()) {
            let right = if negate { -right } else { right };
            if let Some(nanos) = left.checked_add(right).filter(|sum| *sum != i128::MIN) {
                return Ok(Self::nanos(nanos, format));
            }
        }
        let (mut left_buffer, mut right_buffer) = (DigitBuffer::new(), DigitBuffer::new());
        let left = self.view(&mut left_buffer);
        let right = other.view(&mut right_buffer);
        let right = View {
            negative: right.negative != negate,
            ..right
        };
        match left.add(&right, ArithmeticError::MAX_DIGITS) {
            Some(sum) => Ok(Self::big(sum, format)),
            None => Err(ArithmeticError::TooManyDigits),
        }
    }

    /// The result in integer form, if both sides are and it fits.
    fn combine_scaled(&self, other: &Self, negate: bool, format: Format) -> Option<Self> {
        let (
            &Repr::Scaled {
                mantissa: left,
                scale: left_scale,
                ..
            },
            &Repr::Scaled {
                mantissa: right,
                scale: right_scale,
                ..
            },
        ) = (&self.repr, &other.repr)
        else {
            return None;
        };
        let right = if negate { -right } else { right };
        if right == 0 {
            return Some(Self::scaled(left, left_scale, format));
        }
        if left == 0 {
            return Some(Self::scaled(right, right_scale, format));
        }
        let scale = left_scale.min(right_scale);
        let left = rescale(left, left_scale.checked_sub(scale)?)?;
        let right = rescale(right, right_scale.checked_sub(scale)?)?;
        // INVARIANT (mantissa): the smallest number belongs to the big form.
        let sum = left.checked_add(right).filter(|sum| *sum != i64::MIN)?;
        Some(Self::scaled(sum, scale, format))
    }
}

fn rescale(mantissa: i64, places: i32) -> Option<i64> {
    mantissa.checked_mul(power_of_ten(i64::from(places))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[test]
    fn the_format_is_the_left_sides_unless_that_is_zero() {
        for (left, right, sum) in [
            ("1Gi", "1e9", "2073741824"),
            ("1e9", "1Gi", "2073741824"),
            ("0", "1Gi", "1Gi"),
            ("0Gi", "1e9", "1e9"),
            ("1Gi", "0e9", "1Gi"),
        ] {
            let (left, right) = (read(left), read(right));
            let format = if left.is_zero() {
                right.format()
            } else {
                left.format()
            };
            let ours = left.checked_add(&right).unwrap();
            assert_eq!(ours.format(), format);
            assert_eq!(ours.canonical(), sum);
        }
        let nothing = read("1Gi").checked_sub(&read("1073741824")).unwrap();
        assert!(nothing.is_zero() && nothing.format() == Format::BinarySi);
    }

    #[test]
    fn a_sum_never_keeps_the_text() {
        for (left, right) in [("+1Gi", "0"), ("0", "+1Gi")] {
            assert_eq!(
                read(left).checked_add(&read(right)).unwrap().canonical(),
                "1Gi"
            );
        }
        assert_eq!(
            read("0").checked_sub(&read("+1Gi")).unwrap().canonical(),
            "-1Gi"
        );
    }

    #[test]
    fn the_form_is_big_if_a_side_is_or_the_sum_does_not_fit() {
        let max = "9223372036854775807";
        let limit = read("999999999999999999");
        let mut nearly = limit.clone();
        for _ in 0..8 {
            nearly = nearly.checked_add(&limit).unwrap();
        }
        assert!(nearly.is_integer_form());
        let exact = nearly.checked_add(&read("223372036854775816")).unwrap();
        assert_eq!(
            (exact.as_i64(), exact.is_integer_form()),
            (Some(i64::MAX), true)
        );
        let beyond = exact.checked_add(&read("1")).unwrap();
        assert_eq!(
            (beyond.canonical().as_str(), beyond.is_integer_form()),
            ("9223372036854775808", false)
        );
        // The smallest 64-bit number is one too many for the integer form.
        let least = Quantity::ZERO
            .checked_sub(&exact)
            .unwrap()
            .checked_sub(&read("1"))
            .unwrap();
        assert_eq!((least.value(), least.is_integer_form()), (i64::MIN, false));
        assert!(!read(max).checked_sub(&read(max)).unwrap().is_integer_form());
        assert!(
            !read("1")
                .checked_add(&read("1e20"))
                .unwrap()
                .is_integer_form()
        );
        assert!(
            read("1e20")
                .checked_add(&read("0n"))
                .unwrap()
                .is_integer_form()
        );
    }

    #[test]
    fn whole_numbers_are_held_at_the_smaller_scale() {
        assert_eq!(
            read("1").checked_add(&read("0m")).unwrap().as_i64(),
            Some(1)
        );
        assert_eq!(
            read("1").checked_add(&read("1000m")).unwrap().as_i64(),
            None
        );
        assert_eq!(
            read("1k").checked_add(&read("1")).unwrap().as_i64(),
            Some(1001)
        );
    }

    #[test]
    fn a_result_of_a_million_digits_is_the_last() {
        let one = read("1");
        let digits = |exponent: &str| {
            let sum = read(exponent).checked_add(&one);
            sum.map(|sum| sum.canonical().len())
        };
        assert_eq!(digits("1e999999"), Ok(1_000_000));
        for huge in ["1e1000000", "1e2147483647", "-1e2000000000"] {
            assert_eq!(digits(huge), Err(ArithmeticError::TooManyDigits), "{huge}");
        }
        // A difference may lose its first digit: 999…9 with a million nines.
        let less = read("1e1000000").checked_sub(&one).unwrap();
        assert_eq!(less.canonical().len(), 1_000_000);
        assert!(read("1e1000001").checked_sub(&one).is_err());
        assert!(one.checked_sub(&read("1e1000001")).is_err());
    }

    #[test]
    fn exponents_do_not_count_but_digits_do() {
        let huge = read("1e2147483647");
        let twice = huge.checked_add(&huge).unwrap();
        assert_eq!(twice.canonical(), "20e2147483646");
        assert_eq!(twice.checked_sub(&huge).unwrap(), huge);
        assert!(huge.checked_sub(&huge).unwrap().is_zero());
        assert_eq!(huge.checked_add(&read("0e-2147483648")).unwrap(), huge);
        let sum = read("1e2147483646")
            .checked_add(&read("-1e2147483640"))
            .unwrap();
        assert_eq!(sum.canonical(), "999999e2147483640");
    }

    #[test]
    fn amounts_beyond_128_bits_carry_and_borrow() {
        let (a, b) = (read("999999999999999999999999999999999999999"), read("1n"));
        let sum = a.checked_add(&b).unwrap();
        assert!(sum > a);
        assert_eq!(sum.checked_sub(&a).unwrap(), b);
        assert_eq!(a.checked_add(&read("1")).unwrap(), read("1e39"));
        assert_eq!(read("1e39").checked_sub(&read("1")).unwrap(), a);
        // The form follows from the amount: what fits again compares by value.
        assert_eq!(sum.checked_sub(&a).unwrap().to_nanos(), Some(1));
    }
}
