use std::fmt;

/// Which family of suffixes a quantity was written with, and prints with.
///
/// Complete: Kubernetes has exactly these three.
///
/// ```
/// use pvbind::quantity::{Format, Quantity};
/// assert_eq!("1Gi".parse::<Quantity>()?.format(), Format::BinarySi);
/// assert_eq!("1G".parse::<Quantity>()?.format(), Format::DecimalSi);
/// assert_eq!("1e9".parse::<Quantity>()?.format(), Format::DecimalExponent);
/// # Ok::<(), pvbind::quantity::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Powers of ten with a letter: `n u m` (none) `k M G T P E`.
    DecimalSi,
    /// Powers of 1024: `Ki Mi Gi Ti Pi Ei`.
    BinarySi,
    /// A power of ten as an exponent: `e3`, `E-6`.
    DecimalExponent,
}

impl Format {
    /// The name that Kubernetes gives it.
    ///
    /// ```
    /// use pvbind::quantity::Format;
    /// assert_eq!(Format::BinarySi.as_str(), "BinarySI");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DecimalSi => "DecimalSI",
            Self::BinarySi => "BinarySI",
            Self::DecimalExponent => "DecimalExponent",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
