//! Exact Kubernetes quantities: `10Gi`, `1.5`, `500m`, `5e3`.
//!
//! A [`Quantity`] is an exact decimal number with the [`Format`] that it was
//! written in. It is parsed, compared, added and printed without floating
//! point and without ever writing out a huge exponent: `1e2000000000` is as
//! cheap as `1`.
//!
//! ```
//! use pvbind::quantity::Quantity;
//!
//! let asked: Quantity = "10Gi".parse()?;
//! let has: Quantity = "10737418240".parse()?;
//! assert_eq!(asked, has);
//! assert_eq!(has.checked_sub(&asked)?, Quantity::ZERO);
//! assert_eq!("3072Gi".parse::<Quantity>()?.to_string(), "3Ti");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Grammar
//!
//! ```text
//! quantity = [ "+" | "-" ] number suffix
//! number   = digits [ "." [ digits ] ] | "." digits
//! suffix   = "n" | "u" | "m" | "" | "k" | "M" | "G" | "T" | "P" | "E"
//!          | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei"
//!          | ( "e" | "E" ) [ "+" | "-" ] digits
//! ```
//!
//! That is what [`Quantity::parse_strict`] reads. [`Quantity::parse`], like
//! Kubernetes itself, also takes a sign, a point and a suffix without any
//! digits for zero.
//!
//! # Differences from upstream
//!
//! Followed: `resource.Quantity` of `k8s.io/apimachinery`, Kubernetes 1.36.
//!
//! - [`Quantity::value`] and [`Quantity::milli_value`] saturate at 64 bits and
//!   round away from zero; upstream wraps around, and rounds negative amounts
//!   in big form wrongly.
//! - Upstream prints `1000E` as `1` and a [`Format::BinarySi`] amount beyond
//!   64 bits with a suffix that does not parse back. Here the first prints as
//!   `1000E` and the second as plain digits: what is printed always parses to
//!   the same amount.
//! - Upstream expands huge exponents (`1e2147483647` hangs it) and wraps
//!   exponents beyond 32 bits. Here an exponent outside 32 bits is a bad
//!   suffix, every operation takes time linear in the texts it began from, and
//!   addition refuses a result of more than a million digits.
//! - `==`, `Ord` and `Hash` go by amount; comparing texts is
//!   [`Quantity::same_text`].

mod arith;
mod cmp;
mod decimal;
mod digits;
mod display;
mod error;
mod format;
mod json;
mod parse;
mod suffix;
mod value;

pub use arith::ArithmeticError;
pub use error::{ParseError, ParseErrorKind};
pub use format::Format;

use decimal::Decimal;

/// An exact amount, as Kubernetes writes it.
///
/// Equality, order and hash go by **amount**: `1Gi`, `1024Mi` and
/// `1073741824` are equal. The format and the text do not count; they decide
/// how the quantity prints ([`canonical`](Self::canonical),
/// [`same_text`](Self::same_text)). The default is zero.
///
/// A quantity is in one of two *forms*, which Kubernetes lets shine through in
/// [`as_i64`](Self::as_i64) alone: the *integer form*, a 64-bit mantissa with
/// a decimal scale, or the *big form* for what does not fit there. See
/// [`is_integer_form`](Self::is_integer_form).
///
/// ```
/// use pvbind::quantity::Quantity;
///
/// let small: Quantity = "1.5Gi".parse()?;
/// let large: Quantity = "2G".parse()?;
/// assert!(small < large);
/// assert_eq!(small, "1536Mi".parse()?);
/// assert!(!small.same_text(&"1610612736".parse()?));
/// # Ok::<(), pvbind::quantity::ParseError>(())
/// ```
#[derive(Clone)]
pub struct Quantity {
    repr: Repr,
}

/// How the amount is held.
///
/// No amount is finer than 10^-9: parsing rounds there, and sums of such
/// amounts stay such amounts.
#[derive(Clone)]
enum Repr {
    /// Integer form.
    ///
    // INVARIANT (mantissa): never `i64::MIN`, so that negation stays inside.
    // INVARIANT (scale): at least -9.
    // INVARIANT (text): present only if it was kept by the rules of the
    // canonical text and differs from what would be computed.
    Scaled {
        mantissa: i64,
        scale: i32,
        format: Format,
        text: Option<Box<str>>,
    },
    /// Big form, when the amount in units of 10^-9 fits 128 bits.
    ///
    // INVARIANT (nanos): never `i128::MIN`.
    Nanos { nanos: i128, format: Format },
    /// Big form, for everything beyond.
    ///
    // INVARIANT (huge): never an amount that `Nanos` could hold, so that the
    // form follows from the amount.
    Huge(Box<Huge>),
}

#[derive(Clone)]
struct Huge {
    decimal: Decimal,
    format: Format,
}

// Objects hold several quantities and lists hold many objects.
const _: () = assert!(size_of::<Quantity>() <= 32, "a quantity stays small");

impl Quantity {
    /// Zero, in decimal format.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::quantity::Quantity;
    /// // A claim that asks for no size asks for zero bytes.
    /// assert_eq!(*PersistentVolumeClaim::default().requested_storage(), Quantity::ZERO);
    /// assert_eq!(Quantity::ZERO.to_string(), "0");
    /// ```
    pub const ZERO: Self = Self::scaled(0, 0, Format::DecimalSi);

    /// The amount `value`, to be printed in `format`.
    ///
    /// ```
    /// use pvbind::quantity::{Format, Quantity};
    /// assert_eq!(Quantity::from_i64(5_000_000, Format::DecimalSi).to_string(), "5M");
    /// assert_eq!(Quantity::from_i64(5_000_000, Format::DecimalExponent).to_string(), "5e6");
    /// ```
    #[must_use]
    pub const fn from_i64(value: i64, format: Format) -> Self {
        if value == i64::MIN {
            return Self::nanos(value as i128 * NANOS_PER_UNIT, format);
        }
        Self::scaled(value, 0, format)
    }

    /// That many bytes, to be printed with a binary suffix.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    /// assert_eq!(Quantity::from_bytes(10 << 30).to_string(), "10Gi");
    /// // What is round in tens is not in powers of two.
    /// assert_eq!(Quantity::from_bytes(10_000_000_000).to_string(), "9765625Ki");
    /// ```
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        if bytes > i64::MAX as u64 {
            return Self::nanos(bytes as i128 * NANOS_PER_UNIT, Format::BinarySi);
        }
        Self::scaled(bytes as i64, 0, Format::BinarySi)
    }

    const fn scaled(mantissa: i64, scale: i32, format: Format) -> Self {
        Self {
            repr: Repr::Scaled {
                mantissa,
                scale,
                format,
                text: None,
            },
        }
    }

    const fn nanos(nanos: i128, format: Format) -> Self {
        Self {
            repr: Repr::Nanos { nanos, format },
        }
    }

    /// The big form of `decimal`, which must be a multiple of 10^-9.
    fn big(decimal: Decimal, format: Format) -> Self {
        // INVARIANT (huge): upheld here, the only place that makes one.
        match decimal.to_nanos() {
            Some(nanos) => Self::nanos(nanos, format),
            None => Self {
                repr: Repr::Huge(Box::new(Huge { decimal, format })),
            },
        }
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

const NANOS_PER_UNIT: i128 = 1_000_000_000;

/// `10^exponent`, if it is whole and within 64 bits.
#[inline]
fn power_of_ten(exponent: i64) -> Option<i64> {
    POWERS_OF_TEN.get(usize::try_from(exponent).ok()?).copied()
}

#[expect(
    clippy::indexing_slicing,
    reason = "indices below the length, at compile time"
)]
const POWERS_OF_TEN: [i64; 19] = {
    let mut powers = [1; 19];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};
