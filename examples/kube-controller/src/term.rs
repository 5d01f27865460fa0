//! How long this controller may act.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// A term as leader, and until when it is surely held. Its clones speak of the
/// same term.
///
/// Whoever was stopped in the middle, with its whole process or machine, does
/// not know it when it goes on. So before each write, and before each call of a
/// plugin, the clock is asked.
#[derive(Clone, Debug)]
pub struct Term(Arc<Mutex<Until>>);

#[derive(Clone, Copy, Debug)]
enum Until {
    /// It is not led by a Lease.
    Forever,
    Time(Instant),
    Over,
}

/// The term is over: nothing may be done any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lead is not held any more")]
pub struct TermOver;

impl Term {
    /// A term that ends only when it is [ended](Self::end).
    pub fn endless() -> Self {
        Term(Arc::new(Mutex::new(Until::Forever)))
    }

    /// A term that ends at this time, unless it is renewed before.
    pub fn until(end: Instant) -> Self {
        Term(Arc::new(Mutex::new(Until::Time(end))))
    }

    /// Whether it goes on.
    ///
    /// # Errors
    /// It is over.
    pub fn check(&self) -> Result<(), TermOver> {
        match *self.held() {
            Until::Forever => Ok(()),
            Until::Time(end) if Instant::now() < end => Ok(()),
            Until::Time(_) | Until::Over => Err(TermOver),
        }
    }

    /// It ends later. A term that is over stays over.
    pub fn renew(&self, end: Instant) {
        let mut held = self.held();
        *held = match *held {
            Until::Time(before) if Instant::now() < before => Until::Time(end),
            Until::Forever => Until::Forever,
            Until::Time(_) | Until::Over => Until::Over,
        };
    }

    /// It ends now.
    pub fn end(&self) {
        *self.held() = Until::Over;
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Until> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_term_that_ran_out_is_over_for_good() {
        let second = Duration::from_secs(1);
        let term = Term::until(Instant::now() + second);
        let held_elsewhere = term.clone();
        assert_eq!(held_elsewhere.check(), Ok(()));
        tokio::time::advance(second / 2).await;
        term.renew(Instant::now() + second);
        tokio::time::advance(second * 3 / 4).await;
        assert_eq!(held_elsewhere.check(), Ok(()));
        tokio::time::advance(second).await;
        assert_eq!(held_elsewhere.check(), Err(TermOver));
        term.renew(Instant::now() + second);
        assert_eq!(held_elsewhere.check(), Err(TermOver));
    }

    #[test]
    fn a_term_without_lease_ends_when_it_is_ended() {
        let term = Term::endless();
        term.renew(Instant::now());
        assert_eq!(term.check(), Ok(()));
        term.end();
        assert_eq!(term.check(), Err(TermOver));
    }
}
