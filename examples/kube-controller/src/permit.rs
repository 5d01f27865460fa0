//! At most one operation of a name at a time, whatever becomes of the lead.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::term::{Term, TermOver};

/// The names of what is going on in this process. They outlive a term: what
/// cannot be cut off, such as a thread that deletes files, keeps its name until
/// it ends, so that nobody begins the same beside it.
#[derive(Clone, Debug, Default)]
pub struct Names(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    taken: Mutex<HashSet<String>>,
    freed: Notify,
}

/// The right to work under a name in a term. The name is free again when the
/// last clone is gone.
#[derive(Clone, Debug)]
pub struct Permit {
    term: Term,
    _hold: Arc<Hold>,
}

#[derive(Debug)]
struct Hold {
    names: Names,
    name: String,
}

impl Names {
    /// Takes a name, unless it is taken.
    pub fn take(&self, name: &str, term: &Term) -> Option<Permit> {
        self.taken().insert(name.to_owned()).then(|| Permit {
            term: term.clone(),
            _hold: Arc::new(Hold {
                names: self.clone(),
                name: name.to_owned(),
            }),
        })
    }

    /// Waits until no name is taken.
    pub async fn all_free(&self) {
        loop {
            let freed = self.0.freed.notified();
            if self.taken().is_empty() {
                return;
            }
            freed.await;
        }
    }

    fn taken(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Whether the work may go on. Ask before each step that cannot be undone.
    ///
    /// # Errors
    /// The lead is lost: stop where you are.
    pub fn check(&self) -> Result<(), TermOver> {
        self.term.check()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.names.taken().remove(&self.name);
        self.names.0.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_name_is_free_when_the_last_who_works_under_it_is_gone() {
        let (names, term) = (Names::default(), Term::endless());
        let permit = names.take("delete-pv", &term).unwrap();
        let in_a_thread = permit.clone();
        drop(permit);
        term.end();
        assert!(names.take("delete-pv", &Term::endless()).is_none());
        assert_eq!(in_a_thread.check(), Err(TermOver));
        let waits = tokio::spawn({
            let names = names.clone();
            async move { names.all_free().await }
        });
        tokio::task::yield_now().await;
        drop(in_a_thread);
        waits.await.unwrap();
        assert!(names.take("delete-pv", &Term::endless()).is_some());
    }
}
