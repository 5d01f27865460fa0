use super::digits::{number, split_digits, without_leading_zeros};
use super::error::What;
use super::{Format, ParseError};

/// What the digits are multiplied with.
#[derive(Clone, Copy)]
pub(super) enum Suffix {
    Decimal { format: Format, exponent: i32 },
    Binary { shift: u32 },
}

impl Suffix {
    /// One of the suffixes that have a name; an exponent is none of them.
    #[inline]
    pub(super) fn known(text: &[u8]) -> Option<Self> {
        let exponent = match text {
            [] => 0,
            [letter, b'i'] => {
                let shift = match letter {
                    b'K' => 10,
                    b'M' => 20,
                    b'G' => 30,
                    b'T' => 40,
                    b'P' => 50,
                    b'E' => 60,
                    _ => return None,
                };
                return Some(Self::Binary { shift });
            }
            b"n" => -9,
            b"u" => -6,
            b"m" => -3,
            b"k" => 3,
            b"M" => 6,
            b"G" => 9,
            b"T" => 12,
            b"P" => 15,
            b"E" => 18,
            _ => return None,
        };
        Some(Self::Decimal {
            format: Format::DecimalSi,
            exponent,
        })
    }

    /// An exponent, or the reason why `suffix`, the end of `text`, is none.
    pub(super) fn other(text: &str, suffix: &[u8]) -> Result<Self, ParseError> {
        let offset = text.len().saturating_sub(suffix.len());
        let letters = suffix
            .iter()
            .take_while(|byte| b"eEinumkKMGTP".contains(byte))
            .count();
        let after = suffix.get(letters..).unwrap_or_default();
        let (sign, after) = match after {
            [sign @ (b'+' | b'-'), after @ ..] => (Some(*sign), after),
            after => (None, after),
        };
        let (digits, after) = split_digits(after);
        if !after.is_empty() {
            let offset = text.len().saturating_sub(after.len());
            let unexpected = text.get(offset..).and_then(|rest| rest.chars().next());
            let unexpected = unexpected.unwrap_or(char::REPLACEMENT_CHARACTER);
            return Err(ParseError::new(text, What::Unexpected(unexpected), offset));
        }
        if letters != 1 || !matches!(suffix, [b'e' | b'E', ..]) || digits.is_empty() {
            return Err(ParseError::unknown_suffix(text, offset));
        }
        match exponent(sign == Some(b'-'), digits) {
            Some(exponent) => Ok(Self::Decimal {
                format: Format::DecimalExponent,
                exponent,
            }),
            None => Err(ParseError::new(text, What::ExponentOutOfRange, offset)),
        }
    }
}

fn exponent(negative: bool, digits: &[u8]) -> Option<i32> {
    let digits = without_leading_zeros(digits);
    if digits.len() > 10 {
        return None;
    }
    let magnitude = number(digits);
    i32::try_from(if negative { -magnitude } else { magnitude }).ok()
}
