use std::fmt::{self, Write};

use super::decimal::{DigitBuffer, View};
use super::{Format, Quantity, Repr};

impl Quantity {
    /// The text that Kubernetes writes; the same as `to_string()`.
    ///
    /// The text that was parsed, if it is one that Kubernetes keeps; otherwise
    /// the amount with the largest suffix that needs no fraction. A
    /// [`Format::BinarySi`] amount below 1024 or with a fraction prints as
    /// [`Format::DecimalSi`], and one beyond ±(2^63−1) as plain digits. It
    /// always parses to an equal quantity.
    ///
    /// Follows `Quantity.String`, Kubernetes 1.36; linear in what was parsed
    /// or added.
    ///
    /// # Differences from upstream
    ///
    /// Upstream prints a multiple of 10^21 in `DecimalSI` without its suffix,
    /// and `BinarySI` beyond 64 bits with one that its own parser then caps.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    ///
    /// let canonical = |text: &str| Quantity::parse(text).unwrap().canonical();
    /// assert_eq!(canonical("78000k"), "78M");
    /// assert_eq!(canonical(".5"), "500m");
    /// assert_eq!(canonical("1000Ki"), "1000Ki");
    /// assert_eq!(canonical("0100Mi"), "0100Mi"); // kept
    /// assert_eq!(canonical("1000E"), "1000E");
    ///
    /// let cap = Quantity::parse("-8Ei").unwrap(); // -(2^63-1)
    /// let beyond = cap.checked_sub(&Quantity::parse("1").unwrap()).unwrap();
    /// assert_eq!(beyond.canonical(), "-9223372036854775808");
    /// ```
    #[must_use]
    pub fn canonical(&self) -> String {
        self.to_string()
    }

    /// Whether both print the same text; equal amounts need not.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    ///
    /// let [a, b] = ["1Gi", "1073741824"].map(|text| Quantity::parse(text).unwrap());
    /// assert!(a == b && !a.same_text(&b));
    /// ```
    #[must_use]
    pub fn same_text(&self, other: &Self) -> bool {
        self == other && self.canonical() == other.canonical()
    }

    /// Writes the canonical text without allocating.
    fn write(&self, out: &mut impl Write) -> fmt::Result {
        if let Repr::Scaled {
            text: Some(text), ..
        } = &self.repr
        {
            return out.write_str(text);
        }
        match self.format() {
            Format::DecimalExponent => {
                self.write_decimal(out, i64::MAX, |out, exponent| write!(out, "e{exponent}"))
            }
            Format::BinarySi if self.write_binary(out)? => Ok(()),
            Format::BinarySi | Format::DecimalSi => self.write_decimal(out, 18, |out, exponent| {
                out.write_str(decimal_suffix(exponent))
            }),
        }
    }

    /// Writes the digits and the largest exponent that is a multiple of three,
    /// needs no fraction and is at most `limit`.
    fn write_decimal<W: Write>(
        &self,
        out: &mut W,
        limit: i64,
        suffix: impl FnOnce(&mut W, i64) -> fmt::Result,
    ) -> fmt::Result {
        let mut buffer = DigitBuffer::new();
        let view = self.view(&mut buffer);
        if view.is_zero() {
            return out.write_char('0');
        }
        let exponent = view.exponent.div_euclid(3).saturating_mul(3).min(limit);
        write_digits(out, &view, exponent)?;
        if exponent == 0 {
            return Ok(());
        }
        suffix(out, exponent)
    }

    /// Writes the amount as binary multiples or plain digits, unless it is one
    /// that prints in decimal; says whether it wrote.
    fn write_binary(&self, out: &mut impl Write) -> Result<bool, fmt::Error> {
        // -2^63 is beyond the cap too: `-8Ei` reads as -(2^63-1).
        let amount = self.to_exact_i64().filter(|amount| *amount != i64::MIN);
        let Some(mut amount) = amount else {
            let mut buffer = DigitBuffer::new();
            let view = self.view(&mut buffer);
            let is_whole = view.exponent >= 0;
            if is_whole {
                // Beyond 64 bits, where a binary suffix would not parse back.
                write_digits(out, &view, 0)?;
            }
            return Ok(is_whole);
        };
        if amount.unsigned_abs() < 1024 {
            return Ok(false);
        }
        let mut suffix = "";
        for larger in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
            if amount % 1024 != 0 {
                break;
            }
            amount /= 1024;
            suffix = larger;
        }
        write!(out, "{amount}{suffix}")?;
        Ok(true)
    }
}

/// Prints the canonical text.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_none() && f.precision().is_none() {
            return self.write(f);
        }
        let mut text = String::new();
        self.write(&mut text)?;
        f.pad(&text)
    }
}

/// `Quantity(10Gi)`.
impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quantity(")?;
        self.write(f)?;
        f.write_str(")")
    }
}

/// Writes the amount in units of `10^exponent`, which must not be above the
/// exponent of the amount itself.
fn write_digits(out: &mut impl Write, view: &View<'_>, exponent: i64) -> fmt::Result {
    if view.negative {
        out.write_char('-')?;
    }
    out.write_str(view.digits_text())?;
    for _ in exponent..view.exponent {
        out.write_char('0')?;
    }
    Ok(())
}

fn decimal_suffix(exponent: i64) -> &'static str {
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        // No amount has places below 10^-9, and the limit is E.
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[test]
    fn a_text_is_kept_only_where_the_rules_say() {
        for text in [
            "+1Gi", "0100Mi", "5e03", "1E+3", "37.040e3", "1.", "1e0", "-07", "1.50e-1", "1001Ki",
            "12E",
        ] {
            assert_eq!(read(text).canonical(), text);
        }
        for (text, printed) in [
            ("78000k", "78M"),
            ("3072Gi", "3Ti"),
            ("1998.59", "1998590m"),
            (".5", "500m"),
            ("0.5", "500m"),
            ("0Gi", "0"),
            ("+8Ki", "8Ki"),
            ("1.50", "1500m"),
            ("1E4", "10e3"),
            ("1e-1", "100e-3"),
            ("0e5", "0"),
            ("1000", "1k"),
            ("512Ki", "512Ki"),
            ("1.5Gi", "1536Mi"),
            ("1.0001Ki", "1024102400u"),
        ] {
            assert_eq!(read(text).canonical(), printed, "{text}");
        }
    }

    #[test]
    fn a_binary_amount_below_1024_or_with_a_fraction_prints_in_decimal() {
        let sum = |left: &str, right: &str| read(left).checked_add(&read(right)).unwrap();
        assert_eq!(sum("1Ki", "-1").canonical(), "1023");
        assert_eq!(sum("1Ki", "-24").canonical(), "1k");
        assert_eq!(sum("1Ki", "1m").canonical(), "1024001m");
        assert_eq!(sum("1Ki", "1").canonical(), "1025");
        assert_eq!(sum("-1Ki", "-1Ki").canonical(), "-2Ki");
    }

    #[test]
    fn what_upstream_prints_wrongly_parses_back() {
        assert_eq!(read("1000E").canonical(), "1000E");
        assert_eq!(
            read("1e30")
                .checked_add(&read("1"))
                .unwrap()
                .canonical()
                .len(),
            31
        );
        let beyond = read("7Ei").checked_add(&read("7Ei")).unwrap();
        assert_eq!(beyond.format(), Format::BinarySi);
        assert_eq!(beyond.canonical(), "16140901064495857664");
        assert_eq!(read(&beyond.canonical()), beyond);
        let least = read("-8Ei").checked_sub(&read("1")).unwrap();
        assert_eq!(least.canonical(), "-9223372036854775808");
        assert_eq!(read(&least.canonical()), least);
    }

    #[test]
    fn a_huge_exponent_prints_as_an_exponent() {
        assert_eq!(read("1e2147483647").canonical(), "10e2147483646");
        assert_eq!(read("-1e2147483646").canonical(), "-1e2147483646");
        assert_eq!(
            read("12345678901234567890e2147483647").canonical(),
            "123456789012345678900e2147483646"
        );
    }

    #[test]
    fn a_width_pads_the_whole_text() {
        assert_eq!(
            format!("{:>6}|{:<6}|", read("10Gi"), read("1.5")),
            "  10Gi|1500m |"
        );
        assert_eq!(format!("{:?}", read("+1Gi")), "Quantity(+1Gi)");
    }

    #[test]
    fn equal_amounts_may_print_differently() {
        let plus = read("+1Gi");
        assert!(plus == read("1Gi") && !plus.same_text(&read("1Gi")));
        assert!(read("1024Mi").same_text(&read("1Gi")));
    }
}
