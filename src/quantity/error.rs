use thiserror::Error;

/// Why a text is not a quantity, and where.
///
/// ```
/// use pvbind::quantity::{ParseErrorKind, Quantity};
///
/// let error = Quantity::parse("1 Gi").unwrap_err();
/// assert_eq!(error.kind(), ParseErrorKind::WrongFormat);
/// assert_eq!(error.offset(), 1);
/// assert_eq!(error.to_string(), "quantity `1 Gi` has an unexpected ` ` at offset 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("quantity `{text}` {what} at offset {offset}")]
pub struct ParseError {
    text: Box<str>,
    what: What,
    offset: usize,
}

/// The three ways in which Kubernetes refuses a quantity.
///
/// ```
/// use pvbind::quantity::{ParseErrorKind, Quantity};
///
/// let kind = |text: &str| Quantity::parse(text).unwrap_err().kind();
/// assert_eq!(kind("10 Gi"), ParseErrorKind::WrongFormat);
/// assert_eq!(kind("10K"), ParseErrorKind::BadSuffix);
/// assert_eq!(kind("Pi"), ParseErrorKind::BadNumber);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Not of the form sign, digits, point, digits, suffix: `1.5.5`, `1 Gi`.
    WrongFormat,
    /// Of that form, but the suffix is unknown or its exponent is outside 32
    /// bits: `1K`, `5e`, `1e2147483648`.
    BadSuffix,
    /// No digits where some are needed: `Pi`; with
    /// [`Quantity::parse_strict`](super::Quantity::parse_strict) also `Ki`.
    BadNumber,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum What {
    #[error("is empty")]
    Empty,
    #[error("has an unexpected `{0}`")]
    Unexpected(char),
    #[error("has the unknown suffix `{0}`")]
    UnknownSuffix(Box<str>),
    #[error("has an exponent outside -2147483648 to 2147483647")]
    ExponentOutOfRange,
    #[error("has no digits")]
    NoDigits,
}

/// How much of a text an error repeats.
const SHOWN: usize = 80;

impl ParseError {
    pub(super) fn new(text: &str, what: What, offset: usize) -> Self {
        Self {
            text: shortened(text),
            what,
            offset,
        }
    }

    pub(super) fn unknown_suffix(text: &str, offset: usize) -> Self {
        let suffix = text.get(offset..).unwrap_or_default();
        Self::new(text, What::UnknownSuffix(shortened(suffix)), offset)
    }

    /// Which of the three refusals it is.
    ///
    /// ```
    /// use pvbind::quantity::{ParseErrorKind, Quantity};
    /// let error = Quantity::parse("512MB").unwrap_err();
    /// assert_eq!(error.kind(), ParseErrorKind::WrongFormat); // no suffix has a `B`
    /// let error = Quantity::parse("512K").unwrap_err();
    /// assert_eq!(error.kind(), ParseErrorKind::BadSuffix); // it is `k` or `Ki`
    /// ```
    #[must_use]
    pub const fn kind(&self) -> ParseErrorKind {
        match self.what {
            What::Empty | What::Unexpected(_) => ParseErrorKind::WrongFormat,
            What::UnknownSuffix(_) | What::ExponentOutOfRange => ParseErrorKind::BadSuffix,
            What::NoDigits => ParseErrorKind::BadNumber,
        }
    }

    /// Where the fault is, in bytes from the beginning of the text.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    /// let text = "1.5.5Gi";
    /// let error = Quantity::parse(text).unwrap_err();
    /// assert_eq!(error.offset(), 3);
    /// // For a mark under the place, as long as the text is ASCII.
    /// assert_eq!(format!("{text}\n{:>1$}", '^', error.offset() + 1), "1.5.5Gi\n   ^");
    /// ```
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The text that was refused; a very long one is cut off with `…`.
    ///
    /// ```
    /// use pvbind::quantity::Quantity;
    /// assert_eq!(Quantity::parse("10GB").unwrap_err().text(), "10GB");
    /// // A hostile text does not fill the log.
    /// let error = Quantity::parse(&"x".repeat(1_000_000)).unwrap_err();
    /// assert_eq!(error.text().chars().count(), 81);
    /// assert!(error.text().ends_with('…'));
    /// ```
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn shortened(text: &str) -> Box<str> {
    match text.char_indices().nth(SHOWN) {
        None => text.into(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
    }
}
