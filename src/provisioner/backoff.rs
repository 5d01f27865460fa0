//! How much later a failure is tried again.

/// How much later a failure is tried again: twice as much with each failure, up
/// to a bound. All times of this module are milliseconds, on any clock that the
/// caller likes.
///
/// Follows the flags `--retry-interval-start` and `--retry-interval-max` of
/// external-provisioner 6, and their defaults: 1 second and 5 minutes.
///
/// ```
/// use pvbind::provisioner::Backoff;
/// let backoff = Backoff::default();
/// assert_eq!([1, 2, 3, 9, 10].map(|nth| backoff.delay(nth)), [1000, 2000, 4000, 256_000, 300_000]);
/// assert_eq!(backoff.delay(0), 0);
/// assert_eq!(backoff.delay(u32::MAX), 300_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure, in milliseconds.
    pub base: u64,
    /// At most, in milliseconds.
    pub cap: u64,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            base: 1000,
            cap: 300_000,
        }
    }
}

impl Backoff {
    /// How much later to try again after so many failures in a row, in
    /// milliseconds; 0 after none.
    ///
    /// ```
    /// use pvbind::provisioner::Backoff;
    /// // As the sidecar with --retry-interval-start=5s --retry-interval-max=30s.
    /// let backoff = Backoff { base: 5_000, cap: 30_000 };
    /// let delays: Vec<u64> = (1..=4).map(|failures| backoff.delay(failures)).collect();
    /// assert_eq!(delays, [5_000, 10_000, 20_000, 30_000]);
    /// ```
    pub fn delay(&self, failures: u32) -> u64 {
        let Some(doublings) = failures.checked_sub(1) else {
            return 0;
        };
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_of_failures_overflows() {
        for base in [0, 1, 1000, u64::MAX] {
            let backoff = Backoff {
                base,
                cap: u64::MAX,
            };
            for failures in [0, 1, 63, 64, 65, 66, u32::MAX] {
                let later = backoff.delay(failures.saturating_add(1));
                assert!(backoff.delay(failures) <= later);
            }
        }
    }

    #[test]
    fn the_bound_holds_from_the_first_failure_on() {
        let backoff = Backoff { base: 10, cap: 4 };
        assert_eq!(backoff.delay(1), 4);
    }
}
