use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::decimal::DigitBuffer;
use super::value::divide_away;
use super::{NANOS_PER_UNIT, Quantity, Repr};

impl Quantity {
    /// Compares in whole units, rounded away from zero, without saturating.
    ///
    /// This is how a volume's size is checked against the claim that names it:
    /// `1.5` and `2` are the same number of bytes, while 10^30 and 10^30 + 1
    /// are not. Linear in the digits; no allocation unless an amount is beyond
    /// 128 bits of 10^-9.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    /// use std::cmp::Ordering;
    ///
    /// let [a, b] = ["1500m", "2"].map(|text| Quantity::parse(text).unwrap());
    /// assert!(a < b);
    /// assert_eq!(a.cmp_rounded_up(&b), Ordering::Equal);
    /// ```
    #[must_use]
    pub fn cmp_rounded_up(&self, other: &Self) -> Ordering {
        if let (Some(left), Some(right)) = (self.to_nanos(), other.to_nanos()) {
            return divide_away(left, NANOS_PER_UNIT).cmp(&divide_away(right, NANOS_PER_UNIT));
        }
        let (mut left_buffer, mut right_buffer) = (DigitBuffer::new(), DigitBuffer::new());
        let left = self.view(&mut left_buffer).rounded(0);
        let right = other.view(&mut right_buffer).rounded(0);
        left.view().compare(&right.view())
    }

    fn cmp_unlike(&self, other: &Self) -> Ordering {
        match (self.to_nanos(), other.to_nanos()) {
            (Some(left), Some(right)) => left.cmp(&right),
            // An amount that does not fit lies beyond every one that does.
            (Some(_), None) => Ordering::Equal.cmp(&other.sign()),
            (None, Some(_)) => self.sign().cmp(&Ordering::Equal),
            (None, None) => {
                let (mut left, mut right) = (DigitBuffer::new(), DigitBuffer::new());
                self.view(&mut left).compare(&other.view(&mut right))
            }
        }
    }
}

/// By amount, exactly, whatever the formats and forms: follows `Quantity.Cmp`,
/// Kubernetes 1.36. No allocation; linear in the digits, whatever the exponents.
impl Ord for Quantity {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.repr, &other.repr) {
            (
                Repr::Scaled {
                    mantissa: left,
                    scale,
                    ..
                },
                Repr::Scaled {
                    mantissa: right,
                    scale: same,
                    ..
                },
            ) if scale == same => left.cmp(right),
            _ => self.cmp_unlike(other),
        }
    }
}

impl PartialOrd for Quantity {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Equal amounts either both fit or both do not, and a view is in
        // normal form.
        match self.to_nanos() {
            Some(nanos) => nanos.hash(state),
            None => self.view(&mut DigitBuffer::new()).hash(state),
        }
    }
}
