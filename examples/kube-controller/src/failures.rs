//! Failures in the log: with their causes, and the same one once in a while.

use std::error::Error;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, warn};

/// An error with what caused it: that the connection failed is in the last
/// part of it.
///
/// ```
/// # use kube_controller::failures::with_causes;
/// let cause = std::io::Error::other("connection refused");
/// let error = std::io::Error::new(std::io::ErrorKind::Other, cause);
/// // An error that says what its cause says says it once.
/// assert_eq!(with_causes(&error), "connection refused");
/// ```
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// The failures of one thing, of which the same one is a warning once a minute.
#[derive(Debug, Default)]
pub struct Failures {
    told: Option<(String, Instant)>,
}

impl Failures {
    /// Tells of a failure.
    pub fn tell(&mut self, what: &str, error: &str) {
        const OFTEN: Duration = Duration::from_secs(60);
        match &self.told {
            Some((told, at)) if told == error && at.elapsed() < OFTEN => debug!(error, "{what}"),
            _ => {
                warn!(error, "{what}");
                self.told = Some((error.to_owned(), Instant::now()));
            }
        }
    }

    /// It went well: the next failure is told.
    pub fn over(&mut self) {
        self.told = None;
    }
}
