//! A second, naive implementation of quantities, to compare the real one with.
//!
//! Exact numbers are big integers in units of 10^-9. It follows the rules as
//! they are written down, without regard to speed, and must not be given huge
//! exponents.

use num_bigint::BigInt;

/// What a quantity amounts to.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    /// The amount in units of 10^-9.
    pub(crate) nanos: BigInt,
    /// The mantissa and decimal scale, if it is in integer form.
    pub(crate) integer: Option<(BigInt, i64)>,
}

const SUFFIXES: [(&str, u32, i64); 16] = [
    ("n", 0, -9),
    ("u", 0, -6),
    ("m", 0, -3),
    ("", 0, 0),
    ("k", 0, 3),
    ("M", 0, 6),
    ("G", 0, 9),
    ("T", 0, 12),
    ("P", 0, 15),
    ("E", 0, 18),
    ("Ki", 10, 0),
    ("Mi", 20, 0),
    ("Gi", 30, 0),
    ("Ti", 40, 0),
    ("Pi", 50, 0),
    ("Ei", 60, 0),
];

pub(crate) fn power_of_ten(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).expect("no huge exponents here"))
}

impl Exact {
    /// Reads a text that is known to be a quantity.
    pub(crate) fn parse(text: &str) -> Self {
        let unsigned = text.trim_start_matches(['+', '-']);
        let end = unsigned
            .find(|character: char| character != '.' && !character.is_ascii_digit())
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, frac) = number.split_once('.').unwrap_or((number, ""));
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            whole => whole,
        };
        let (bits, exponent) = SUFFIXES.iter().find(|known| known.0 == suffix).map_or_else(
            || (0, suffix[1..].parse().expect("an exponent")),
            |known| (known.1, known.2),
        );
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let digits: BigInt = format!("{whole}{frac}").parse().expect("digits");
        let mantissa = (digits << bits) * sign;
        let scale = exponent - frac.len() as i64;
        let nanos = if scale >= -9 {
            &mantissa * power_of_ten(scale + 9)
        } else {
            divide_away(&mantissa, &power_of_ten(-9 - scale))
        };
        let integer = if bits == 0 {
            whole.len() + frac.len() <= 18 && scale >= -9
        } else {
            let longest = [11, 8, 5, 2, 0, 0][bits as usize / 10 - 1];
            frac.is_empty() && whole.len() <= longest
        };
        let cap = BigInt::from(i64::MAX) * power_of_ten(9);
        Self {
            nanos: match bits {
                0 => nanos,
                _ => nanos.clamp(-&cap, cap),
            },
            integer: integer.then_some((mantissa, scale)),
        }
    }

    /// The sum, with the other side multiplied by `sign`, 1 or -1.
    pub(crate) fn add(&self, other: &Self, sign: i32) -> Self {
        let zero = BigInt::ZERO;
        let integer = match (&self.integer, &other.integer) {
            (Some(left), Some((right, _))) if *right == zero => Some(left.clone()),
            (Some((left, _)), Some((right, scale))) if *left == zero => {
                Some((right * sign, *scale))
            }
            (Some((left, left_scale)), Some((right, right_scale))) => {
                let scale = *left_scale.min(right_scale);
                let left = left * power_of_ten(left_scale - scale);
                let right = right * power_of_ten(right_scale - scale) * sign;
                let sum = &left + &right;
                let fits = |number: &BigInt| fits_i64(number) && *number != i64::MIN.into();
                (fits(&left) && fits(&right) && fits(&sum)).then_some((sum, scale))
            }
            _ => None,
        };
        Self {
            nanos: &self.nanos + &other.nanos * sign,
            integer,
        }
    }

    /// The amount in units of `10^exponent`, rounded away from zero.
    pub(crate) fn rounded(&self, exponent: i64) -> BigInt {
        divide_away(&self.nanos, &power_of_ten(exponent + 9))
    }

    /// What `as_i64` must give.
    pub(crate) fn as_i64(&self) -> Option<i64> {
        let (mantissa, scale) = self.integer.as_ref()?;
        if *scale < 0 {
            return None;
        }
        i64::try_from(mantissa * power_of_ten(*scale)).ok()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.nanos < BigInt::ZERO
    }
}

pub(crate) fn fits_i64(number: &BigInt) -> bool {
    i64::try_from(number.clone()).is_ok()
}

fn divide_away(amount: &BigInt, by: &BigInt) -> BigInt {
    let (quotient, rest) = (amount / by, amount % by);
    match rest.sign() {
        num_bigint::Sign::Minus => quotient - 1,
        num_bigint::Sign::NoSign => quotient,
        num_bigint::Sign::Plus => quotient + 1,
    }
}
