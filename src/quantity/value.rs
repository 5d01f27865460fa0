use std::cmp::Ordering;

use super::decimal::{DigitBuffer, View};
use super::{Format, NANOS_PER_UNIT, Quantity, Repr, power_of_ten};

impl Quantity {
    /// The format it was written in, or was made with. A text keeps it, but for a
    /// BinarySI one below 1 (and not zero), which takes DecimalSI as upstream does.
    ///
    /// ```
    /// use pvbind::quantity::{Format, Quantity};
    /// let format = |text: &str| Quantity::parse(text).map(|quantity| quantity.format());
    /// assert_eq!(format("10Gi")?, Format::BinarySi);
    /// assert_eq!(format("10737418240")?, Format::DecimalSi); // the same amount
    /// assert_eq!(format("0.5Ki")?, Format::BinarySi);
    /// assert_eq!(format("0.0005Ki")?, Format::DecimalSi); // half a byte
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn format(&self) -> Format {
        match &self.repr {
            Repr::Scaled { format, .. } | Repr::Nanos { format, .. } => *format,
            Repr::Huge(huge) => huge.format,
        }
    }

    /// Whole units, rounded away from zero, saturated to 64 bits.
    ///
    /// Follows `Quantity.Value`, Kubernetes 1.36.
    ///
    /// # Differences from upstream
    ///
    /// Upstream wraps around outside 64 bits, and rounds negative amounts in
    /// big form wrongly.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    ///
    /// let value = |text: &str| Quantity::parse(text).unwrap().value();
    /// assert_eq!(value("1Ki"), 1024);
    /// assert_eq!(value("1.1"), 2);
    /// assert_eq!(value("-1.1"), -2);
    /// assert_eq!(value("1000E"), i64::MAX);
    /// ```
    #[must_use]
    pub fn value(&self) -> i64 {
        self.in_units_of(NANOS_PER_UNIT)
    }

    /// Thousandths, rounded away from zero, saturated to 64 bits.
    ///
    /// Follows `Quantity.MilliValue`, Kubernetes 1.36; differences as for
    /// [`value`](Self::value).
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    /// assert_eq!(Quantity::parse("1.5")?.milli_value(), 1500);
    /// assert_eq!(Quantity::parse("1n")?.milli_value(), 1);
    /// # Ok::<(), pvbind::quantity::ParseError>(())
    /// ```
    #[must_use]
    pub fn milli_value(&self) -> i64 {
        self.in_units_of(NANOS_PER_UNIT / 1000)
    }

    /// The whole number, if the quantity is held as one.
    ///
    /// That is: in [integer form](Self::is_integer_form) and, as written,
    /// without decimal places, and within 64 bits. Equal amounts can differ
    /// here, as they do upstream (`Quantity.AsInt64`, Kubernetes 1.36).
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    ///
    /// let number = |text: &str| Quantity::parse(text).unwrap().as_i64();
    /// assert_eq!(number("37.040e3"), Some(37040));
    /// assert_eq!(number("99"), Some(99));
    /// assert_eq!(number("99000m"), None);
    /// assert_eq!(number("4140Pi"), None);
    /// ```
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self.repr {
            Repr::Scaled {
                mantissa, scale, ..
            } => scaled_up(mantissa, scale),
            Repr::Nanos { .. } | Repr::Huge(_) => None,
        }
    }

    /// `Less`, `Equal` or `Greater`, as the amount is to zero.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    /// let [has, asked] = ["5G", "5Gi"].map(|text| Quantity::parse(text).unwrap());
    /// assert!(has.checked_sub(&asked)?.sign().is_lt()); // less than nothing is left
    /// # Ok::<(), pvbind::quantity::ArithmeticError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn sign(&self) -> Ordering {
        match &self.repr {
            Repr::Scaled { mantissa, .. } => mantissa.cmp(&0),
            Repr::Nanos { nanos, .. } => nanos.cmp(&0),
            Repr::Huge(huge) if huge.decimal.view().negative => Ordering::Less,
            Repr::Huge(_) => Ordering::Greater,
        }
    }

    /// Whether the amount is zero.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    /// assert!(Quantity::parse("0Gi")?.is_zero());
    /// assert!(Quantity::parse("-0.0")?.is_zero());
    /// // Rounding never makes a zero of what is none.
    /// assert!(!Quantity::parse("0.0000000000001")?.is_zero());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.sign() == Ordering::Equal
    }

    /// Whether it is held as a 64-bit mantissa with a decimal scale.
    ///
    /// Follows what `Quantity` of Kubernetes 1.36 does. Parsing gives this
    /// form for
    ///
    /// - decimal formats: up to 18 digits (without leading zeros, but with the
    ///   trailing ones) that do not reach below 10^-9;
    /// - binary suffixes: whole numbers without decimal places, of up to 11
    ///   digits for `Ki`, 8 for `Mi`, 5 for `Gi` and 2 for `Ti`.
    ///
    /// Everything else is in big form. A sum is in integer form if both sides
    /// are and it fits.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    /// assert!(Quantity::parse("99Ti")?.is_integer_form());
    /// assert!(!Quantity::parse("100Ti")?.is_integer_form());
    /// # Ok::<(), pvbind::quantity::ParseError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn is_integer_form(&self) -> bool {
        matches!(self.repr, Repr::Scaled { .. })
    }

    /// The exact amount in units of 10^-9, if it is less than 2^127 of them.
    ///
    /// Equal amounts give equal numbers, and greater amounts greater numbers;
    /// an amount that gives none is beyond, in the direction of its
    /// [`sign`](Self::sign), all that give one. Constant time, no allocation.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    ///
    /// let nanos = |text: &str| Quantity::parse(text).unwrap().to_nanos();
    /// assert_eq!(nanos("1.5"), Some(1_500_000_000));
    /// assert_eq!(nanos("1e29"), Some(10_i128.pow(38)));
    /// assert_eq!(nanos("1e30"), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn to_nanos(&self) -> Option<i128> {
        match &self.repr {
            &Repr::Scaled {
                mantissa, scale, ..
            } => {
                if mantissa == 0 {
                    return Some(0);
                }
                // INVARIANT (nanos): this cannot be -2^127, which is no multiple
                // of ten and no 64-bit number.
                let places = i64::from(scale) + 9;
                match power_of_ten(places) {
                    Some(factor) => Some(i128::from(mantissa) * i128::from(factor)),
                    None => {
                        let factor = 10_i128.checked_pow(u32::try_from(places).ok()?)?;
                        i128::from(mantissa).checked_mul(factor)
                    }
                }
            }
            Repr::Nanos { nanos, .. } => Some(*nanos),
            Repr::Huge(_) => None,
        }
    }

    /// The amount, if it is whole and within 64 bits, whatever the form.
    pub(super) fn to_exact_i64(&self) -> Option<i64> {
        match self.repr {
            Repr::Scaled {
                mantissa, scale, ..
            } if scale < 0 => {
                let unit = power_of_ten(-i64::from(scale))?;
                (mantissa % unit == 0).then_some(mantissa / unit)
            }
            Repr::Scaled { .. } => self.as_i64(),
            Repr::Nanos { nanos, .. } => {
                let (units, rest) = (nanos / NANOS_PER_UNIT, nanos % NANOS_PER_UNIT);
                i64::try_from(units).ok().filter(|_| rest == 0)
            }
            Repr::Huge(_) => None,
        }
    }

    /// The digits of the amount, in normal form.
    pub(super) fn view<'a>(&'a self, buffer: &'a mut DigitBuffer) -> View<'a> {
        match &self.repr {
            &Repr::Scaled {
                mantissa, scale, ..
            } => {
                let magnitude = u128::from(mantissa.unsigned_abs());
                View::of(mantissa < 0, magnitude, i64::from(scale), buffer)
            }
            &Repr::Nanos { nanos, .. } => View::of(nanos < 0, nanos.unsigned_abs(), -9, buffer),
            Repr::Huge(huge) => huge.decimal.view(),
        }
    }

    fn in_units_of(&self, nanos: i128) -> i64 {
        let units = self.to_nanos().map(|amount| divide_away(amount, nanos));
        match units.map(i64::try_from) {
            Some(Ok(units)) => units,
            Some(Err(_)) | None if self.sign().is_lt() => i64::MIN,
            Some(Err(_)) | None => i64::MAX,
        }
    }
}

fn scaled_up(mantissa: i64, scale: i32) -> Option<i64> {
    if mantissa == 0 && scale >= 0 {
        return Some(0);
    }
    mantissa.checked_mul(power_of_ten(i64::from(scale))?)
}

/// Divides by a positive number, rounding away from zero.
pub(super) fn divide_away(amount: i128, by: i128) -> i128 {
    let (quotient, rest) = (amount / by, amount % by);
    quotient + rest.signum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[test]
    fn whole_units_and_thousandths_are_rounded_away_from_zero_and_saturated() {
        for (text, value, milli) in [
            ("0", 0, 0),
            ("1n", 1, 1),
            ("-1n", -1, -1),
            ("1500m", 2, 1500),
            ("-1500m", -2, -1500),
            ("-1.5Gi", -1_610_612_736, -1_610_612_736_000),
            ("9223372036854775807", i64::MAX, i64::MAX),
            ("-9223372036854775808", i64::MIN, i64::MIN),
            ("9223372036854775.807", 9_223_372_036_854_776, i64::MAX),
            ("1e2147483647", i64::MAX, i64::MAX),
            ("-1e2147483647", i64::MIN, i64::MIN),
            ("0e2147483647", 0, 0),
        ] {
            assert_eq!(
                (read(text).value(), read(text).milli_value()),
                (value, milli),
                "{text}"
            );
        }
    }

    #[test]
    fn a_whole_number_shows_only_in_integer_form_without_places() {
        for (text, number) in [
            ("37.040e3", Some(37_040)),
            ("9E", Some(9_000_000_000_000_000_000)),
            ("10E", None),
            ("0e2147483647", Some(0)),
            ("0.0", None),
            ("99000m", None),
            ("1.00", None),
            ("1.0Gi", None),
            ("4140Pi", None),
            ("-99Ti", Some(-108_851_651_149_824)),
            ("1e2147483647", None),
        ] {
            assert_eq!(read(text).as_i64(), number, "{text}");
        }
    }

    #[test]
    fn every_64_bit_number_can_be_made() {
        for number in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
            let quantity = Quantity::from_i64(number, Format::DecimalSi);
            assert_eq!(quantity.value(), number);
            assert_eq!(quantity, read(&number.to_string()));
        }
        assert_eq!(Quantity::from_bytes(u64::MAX), read("18446744073709551615"));
        assert_eq!(
            Quantity::from_bytes(u64::MAX).canonical(),
            "18446744073709551615"
        );
        assert_eq!(Quantity::default(), Quantity::ZERO);
    }
}
