use thiserror::Error;

use super::decimal::{DigitBuffer, View};
use super::{Format, Quantity, Repr};

/// Why a sum or difference was not made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArithmeticError {
    /// The exact result has more than [`MAX_DIGITS`](Self::MAX_DIGITS) digits
    /// from its first to its last that is not zero.
    #[error("the exact result has more than {} digits", Self::MAX_DIGITS)]
    TooManyDigits,
}

impl ArithmeticError {
    /// The most digits that a result may have.
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
    /// No allocation unless an amount is beyond 128 bits of 10^-9.
    ///
    /// # Errors
    ///
    /// [`ArithmeticError::TooManyDigits`] for a result such as
    /// `1e2000000000 + 1`.
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
    let factor = 10_i64.checked_pow(u32::try_from(places).ok()?)?;
    mantissa.checked_mul(factor)
}
