//! What to sync next, and when.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt;
use std::time::Duration;

use pvbind::api::ClaimKey;
use tokio::time::Instant;

/// An object to be synced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A claim.
    Claim(ClaimKey),
    /// A volume, by name.
    Volume(String),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Claim(key) => write!(f, "claim {key}"),
            Key::Volume(name) => write!(f, "volume {name}"),
        }
    }
}

/// The delay before the attempt that follows so many failed ones.
pub fn delay_after(failures: u32, shortest: Duration, longest: Duration) -> Duration {
    let doubled = failures.saturating_sub(1).min(20);
    shortest.saturating_mul(1 << doubled).min(longest)
}

/// The work queue: each object stands in it once at most, and one whose sync
/// failed comes back after a delay that doubles each time.
#[derive(Debug, Default)]
pub struct Queue {
    ready: VecDeque<Key>,
    queued: HashSet<Key>,
    later: BTreeSet<(Instant, Key)>,
    failures: HashMap<Key, u32>,
}

impl Queue {
    const SHORTEST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(30);

    /// Puts an object behind those that are ready.
    pub fn add(&mut self, key: Key) {
        if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Adds the object at that time.
    pub fn add_at(&mut self, at: Instant, key: Key) {
        self.later.insert((at, key));
    }

    /// The next object that is ready.
    pub fn next(&mut self, now: Instant) -> Option<Key> {
        while let Some((at, _)) = self.later.first() {
            if *at > now {
                break;
            }
            if let Some((_, key)) = self.later.pop_first() {
                self.add(key);
            }
        }
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        Some(key)
    }

    /// When the next object will be ready, if none is.
    pub fn next_at(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// The sync succeeded: its failures are forgotten.
    pub fn succeeded(&mut self, key: &Key) {
        self.failures.remove(key);
    }

    /// The sync failed: the object comes back after a while.
    pub fn failed(&mut self, now: Instant, key: Key) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures = failures.saturating_add(1);
        let delay = delay_after(*failures, Queue::SHORTEST, Queue::LONGEST);
        self.add_at(now + delay, key);
        delay
    }

    /// How many objects are ready.
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether no object is ready.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(name: &str) -> Key {
        Key::Volume(name.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_stands_in_the_queue_once() {
        let mut queue = Queue::default();
        queue.add(volume("a"));
        queue.add(volume("b"));
        queue.add(volume("a"));
        let now = Instant::now();
        assert_eq!(queue.next(now), Some(volume("a")));
        queue.add(volume("a"));
        assert_eq!(queue.next(now), Some(volume("b")));
        assert_eq!(queue.next(now), Some(volume("a")));
        assert_eq!(queue.next(now), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_whose_sync_fails_comes_back_later_each_time() {
        let mut queue = Queue::default();
        let now = Instant::now();
        let delays: Vec<_> = (0..12).map(|_| queue.failed(now, volume("a"))).collect();
        assert_eq!(delays[0], Duration::from_millis(50));
        assert_eq!(delays[1], Duration::from_millis(100));
        assert_eq!(delays[11], Duration::from_secs(30));
        assert_eq!(queue.next(now), None);
        assert_eq!(queue.next(now + delays[0]), Some(volume("a")));
        queue.succeeded(&volume("a"));
        assert_eq!(queue.failed(now, volume("a")), Duration::from_millis(50));
    }
}
