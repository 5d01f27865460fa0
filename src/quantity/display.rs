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
        let mut buffer = DigitBuffer::new();
        let view = self.view(&mut buffer);
        if view.exponent < 0 {
            return Ok(false);
        }
        let Some(mut amount) = self.to_exact_i64() else {
            // Beyond 64 bits, where a binary suffix would not parse back.
            write_digits(out, &view, 0)?;
            return Ok(true);
        };
        if amount.unsigned_abs() < 1024 {
            return Ok(false);
        }
        let mut suffix = "";
        for larger in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
            // -2^63 is beyond the cap too: `-8Ei` reads as -(2^63-1).
            if amount % 1024 != 0 || amount == i64::MIN {
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
