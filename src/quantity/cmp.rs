use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::decimal::DigitBuffer;
use super::value::divide_away;
use super::{NANOS_PER_UNIT, Quantity, Repr, power_of_ten};

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

    /// Compares where at least one is in big form.
    fn cmp_big(&self, other: &Self) -> Ordering {
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

/// Compares `left × 10^left_scale` with `right × 10^right_scale`.
fn cmp_scaled(left: i64, left_scale: i32, right: i64, right_scale: i32) -> Ordering {
    if left_scale < right_scale {
        return cmp_scaled(right, right_scale, left, left_scale).reverse();
    }
    // At the smaller scale the right side stays as it is, and a left side that
    // is not zero and leaves 64 bits is beyond it.
    let scaled = power_of_ten(i64::from(left_scale) - i64::from(right_scale))
        .and_then(|factor| left.checked_mul(factor));
    match scaled {
        Some(left) => left.cmp(&right),
        None if left == 0 => 0.cmp(&right),
        None => left.cmp(&0),
    }
}

/// By amount, exactly, whatever the formats and forms: follows `Quantity.Cmp`,
/// Kubernetes 1.36. No allocation; linear in the digits, whatever the exponents,
/// and constant for two in integer form.
///
/// ```
/// use pvbind::quantity::Quantity;
///
/// let mut sizes = ["2G", "1e2000000001", "1.5Gi", "-1n"].map(|text| Quantity::parse(text).unwrap());
/// sizes.sort();
/// assert_eq!(sizes.map(|size| size.to_string()), ["-1n", "1536Mi", "2G", "1e2000000001"]);
/// ```
impl Ord for Quantity {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.repr, &other.repr) {
            (
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
            ) => {
                if left_scale == right_scale {
                    left.cmp(&right)
                } else {
                    cmp_scaled(left, left_scale, right, right_scale)
                }
            }
            _ => self.cmp_big(other),
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

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hash, Hasher};

    use super::*;

    fn read(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    fn hash_of(quantity: &Quantity) -> u64 {
        let mut hasher = DefaultHasher::new();
        quantity.hash(&mut hasher);
        hasher.finish()
    }

    /// In ascending order, equal amounts beside each other.
    const ORDERED: [&[&str]; 16] = [
        &["-1e2147483647"],
        &["-1e30", "-1000000000000000000000000000000"],
        &["-8Ei", "-9223372036854775807"],
        &["-1Gi", "-1024Mi", "-1073741824", "-1.073741824e9"],
        &["-1n", "-1e-2147483648", "-0.1n"],
        &["0", "-0", "0Gi", "0e2147483647", "0e-2147483648", "."],
        &["1n", "1e-9", "0.0000000001"],
        &["1", "1.0", "1000m", "1e0", "1000000000n"],
        &["1.0000000001"],
        &["999999999999999999"],
        &["1E", "1e18", "1000000000000000000"],
        &["9223372036854775807", "8Ei"],
        &["9223372036854775808", "9223372.036854775808e12"],
        &["170141183460469231731687303715.884105727"],
        &["170141183460469231731687303715.884105728"],
        &["1e2147483647", "10e2147483646", "100e2147483645"],
    ];

    #[test]
    fn the_order_goes_by_amount_whatever_the_form() {
        for (i, left) in ORDERED.iter().enumerate() {
            for (j, right) in ORDERED.iter().enumerate() {
                for (a, b) in left.iter().flat_map(|a| right.iter().map(move |b| (a, b))) {
                    assert_eq!(read(a).cmp(&read(b)), i.cmp(&j), "{a} with {b}");
                }
            }
        }
    }

    #[test]
    fn equal_amounts_have_equal_hashes() {
        for equals in ORDERED {
            for text in equals {
                assert_eq!(hash_of(&read(text)), hash_of(&read(equals[0])), "{text}");
            }
        }
    }

    #[test]
    fn integer_forms_compare_where_one_leaves_64_bits() {
        assert!(read("999999999999999999E") > read("999999999999999999n"));
        assert!(read("-999999999999999999E") < read("999999999999999999n"));
        assert!(read("1e2147483647") > read("999999999999999999e2147483629"));
        assert!(read("1e2147483647") > read("1n"));
        assert!(read("-1e2147483647") < read("-1n"));
    }

    #[test]
    fn rounded_up_amounts_compare_by_whole_units() {
        for (a, b, order) in [
            ("1.5", "2", Ordering::Equal),
            ("-1.5", "-2", Ordering::Equal),
            ("1n", "1", Ordering::Equal),
            ("2.1", "2", Ordering::Greater),
            ("1e30", "1000000000000000000000000000001", Ordering::Less),
            (
                "1000000000000000000000000000000.5",
                "1000000000000000000000000000001",
                Ordering::Equal,
            ),
            ("1e2147483647", "1", Ordering::Greater),
        ] {
            assert_eq!(read(a).cmp_rounded_up(&read(b)), order, "{a} with {b}");
            assert_eq!(read(b).cmp_rounded_up(&read(a)), order.reverse());
        }
    }
}
