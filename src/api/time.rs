//! Points in time, kept as text.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::object::Field;

/// A point in time as Kubernetes writes it (RFC 3339), kept as text.
///
/// No time type of another crate stands in this crate's interface. Where a
/// decision needs an order (the newest default class), it goes by
/// [`Timestamp::unix_nanos`].
///
/// ```
/// use pvbind::api::Timestamp;
/// let written = Timestamp::from("2026-01-02T03:04:05Z");
/// assert_eq!(written.unix_nanos(), Some(1_767_323_045_000_000_000));
/// let same = Timestamp::from("2026-01-02T04:04:05.000+01:00");
/// assert_eq!(same.unix_nanos(), written.unix_nanos());
/// assert_eq!(Timestamp::from(String::from("yesterday")).unix_nanos(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// The text as written. Equality of times goes by it: for the point in time
    /// take [`unix_nanos`](Self::unix_nanos).
    ///
    /// ```
    /// use pvbind::api::Timestamp;
    /// let local = Timestamp::from("2026-01-02T04:04:05+01:00");
    /// assert_eq!(local.as_str(), "2026-01-02T04:04:05+01:00"); // not turned into UTC
    /// assert_ne!(local, Timestamp::from("2026-01-02T03:04:05Z")); // and yet the same moment
    /// ```
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z, or `None` if the text is not an
    /// RFC 3339 time. Digits below a nanosecond are cut off; a leap second
    /// counts as the first second of the next minute.
    ///
    /// ```
    /// use pvbind::api::Timestamp;
    /// assert_eq!(Timestamp::from("1970-01-01T00:00:01.5Z").unix_nanos(), Some(1_500_000_000));
    /// assert_eq!(Timestamp::from("1970-13-01T00:00:00Z").unix_nanos(), None);
    /// ```
    pub fn unix_nanos(&self) -> Option<i128> {
        let mut text = Cursor(self.0.as_bytes());
        let year = text.digits(4)?;
        text.one_of(b"-")?;
        let month = text.digits(2)?;
        text.one_of(b"-")?;
        let day = text.digits(2)?;
        text.one_of(b"Tt ")?;
        let hour = text.digits(2)?;
        text.one_of(b":")?;
        let minute = text.digits(2)?;
        text.one_of(b":")?;
        let second = text.digits(2)?;
        let fraction = if text.one_of(b".").is_some() {
            text.fraction()?
        } else {
            0
        };
        let offset_minutes = match text.one_of(b"Zz+-")? {
            b'Z' | b'z' => 0,
            sign => {
                let hours = text.digits(2)?;
                text.one_of(b":")?;
                let minutes = text.digits(2)?;
                if hours > 23 || minutes > 59 {
                    return None;
                }
                let offset = hours * 60 + minutes;
                if sign == b'-' { -offset } else { offset }
            }
        };
        let in_range = text.0.is_empty()
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour <= 23
            && minute <= 59
            && second <= 60;
        if !in_range {
            return None;
        }
        let minutes = (days_since_epoch(year, month, day) * 24 + hour) * 60 + minute;
        let seconds = (minutes - offset_minutes) * 60 + second;
        Some(i128::from(seconds) * 1_000_000_000 + i128::from(fraction))
    }
}

impl From<&str> for Timestamp {
    fn from(text: &str) -> Self {
        Timestamp(text.to_owned())
    }
}

impl From<String> for Timestamp {
    fn from(text: String) -> Self {
        Timestamp(text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Field for Timestamp {
    fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer)
    }
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn one_of(&mut self, accepted: &[u8]) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        accepted.contains(&first).then(|| {
            self.0 = rest;
            first
        })
    }

    fn digit(&mut self) -> Option<i64> {
        self.one_of(b"0123456789").map(|d| i64::from(d - b'0'))
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        (0..count).try_fold(0, |number, _| Some(number * 10 + self.digit()?))
    }

    /// One or more digits after the point, in nanoseconds.
    fn fraction(&mut self) -> Option<i64> {
        let mut unit = 100_000_000;
        let mut nanos = self.digit()? * unit;
        while let Some(digit) = self.digit() {
            unit /= 10;
            nanos += digit * unit;
        }
        Some(nanos)
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, counting years from March so that the leap day is the
/// last day of a year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Option<i128> {
        Timestamp::from(text).unix_nanos()
    }

    #[test]
    fn the_epoch_is_zero_and_days_count_over_leap_years() {
        assert_eq!(nanos("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(nanos("2000-03-01T00:00:00Z"), Some(951_868_800_000_000_000));
        assert_eq!(
            nanos("2024-02-29T00:00:00Z"),
            Some(1_709_164_800_000_000_000)
        );
        assert_eq!(nanos("1969-12-31T23:59:59Z"), Some(-1_000_000_000));
    }

    #[test]
    fn fractions_and_offsets_are_understood() {
        assert_eq!(nanos("1970-01-01T00:00:00.123456789Z"), Some(123_456_789));
        assert_eq!(nanos("1970-01-01T01:30:00.5+01:30"), Some(500_000_000));
    }

    #[test]
    fn what_is_no_time_gives_none() {
        for text in [
            "",
            "2026",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00Zx",
            "2026-01-01T00:00:00.Z",
            "２026-01-01T00:00:00Z",
            "2026-01-01T00:00:00+24:00",
        ] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
