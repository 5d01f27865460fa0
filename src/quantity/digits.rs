//! Rows of ASCII digits.

/// The number that at most 18 ASCII digits make.
pub(super) fn number<'a>(digits: impl IntoIterator<Item = &'a u8>) -> i64 {
    digits
        .into_iter()
        .fold(0, |number, digit| number * 10 + i64::from(value(*digit)))
}

/// What an ASCII digit stands for.
pub(super) fn value(digit: u8) -> u8 {
    digit.wrapping_sub(b'0')
}

/// The digits at the front, and the rest.
pub(super) fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    bytes.split_at_checked(digits.count()).unwrap_or_default()
}

pub(super) fn without_leading_zeros(mut digits: &[u8]) -> &[u8] {
    while let [b'0', rest @ ..] = digits {
        digits = rest;
    }
    digits
}

/// How many there are, as places are counted.
pub(super) fn length(digits: &[u8]) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}
