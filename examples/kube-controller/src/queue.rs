//! What to sync next, and when.

use std::collections::{BTreeSet, HashMap, VecDeque};
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
/// failed comes back after a delay that doubles each time. News go before what
/// is only looked at again.
#[derive(Debug, Default)]
pub struct Queue {
    news: VecDeque<Key>,
    again: VecDeque<Key>,
    /// What stands in `news` (true) or in `again`.
    ready: HashMap<Key, bool>,
    /// How many were taken from `news` since one was taken from `again`.
    in_a_row: u32,
    later: BTreeSet<(Instant, Key)>,
    waiting: HashMap<Key, Instant>,
    failures: HashMap<Key, u32>,
}

impl Queue {
    const SHORTEST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(30);
    /// After so many news it is another's turn.
    const IN_A_ROW: u32 = 8;

    /// Puts an object behind the news that are ready.
    pub fn add(&mut self, key: Key) {
        if self.ready.get(&key) != Some(&true) {
            self.ready.insert(key.clone(), true);
            self.news.push_back(key);
        }
    }

    /// Puts an object behind all that are ready, to be looked at again; one
    /// that failed is left to its delay.
    pub fn add_again(&mut self, key: Key) {
        let comes_back = self.failures.contains_key(&key) && self.waiting.contains_key(&key);
        if !comes_back && !self.ready.contains_key(&key) {
            self.ready.insert(key.clone(), false);
            self.again.push_back(key);
        }
    }

    /// Adds the object at that time, unless it comes before.
    pub fn add_at(&mut self, at: Instant, key: Key) {
        match self.waiting.get(&key) {
            Some(before) if *before <= at => return,
            Some(before) => {
                self.later.remove(&(*before, key.clone()));
            }
            None => {}
        }
        self.waiting.insert(key.clone(), at);
        self.later.insert((at, key));
    }

    /// The next object that is ready.
    pub fn next(&mut self, now: Instant) -> Option<Key> {
        while let Some((at, _)) = self.later.first() {
            if *at > now {
                break;
            }
            if let Some((_, key)) = self.later.pop_first() {
                self.waiting.remove(&key);
                self.add(key);
            }
        }
        let key = self.take()?;
        self.ready.remove(&key);
        // This sync stands for the one that waits.
        if let Some(at) = self.waiting.remove(&key) {
            self.later.remove(&(at, key.clone()));
        }
        Some(key)
    }

    fn take(&mut self) -> Option<Key> {
        loop {
            let is_news = self.in_a_row < Queue::IN_A_ROW || self.again.is_empty();
            if is_news && let Some(key) = self.news.pop_front() {
                // It was taken out since.
                if self.ready.get(&key) != Some(&true) {
                    continue;
                }
                self.in_a_row = self.in_a_row.saturating_add(1);
                return Some(key);
            }
            self.in_a_row = 0;
            match self.again.pop_front() {
                // It became news since, or was taken out.
                Some(key) if self.ready.get(&key) != Some(&false) => {}
                Some(key) => return Some(key),
                None if self.news.is_empty() => return None,
                None => {}
            }
        }
    }

    /// Takes an object out, wherever it stands, and forgets its failures; whether
    /// it was there.
    pub fn remove(&mut self, key: &Key) -> bool {
        // In the line it is passed over.
        let was_ready = self.ready.remove(key).is_some();
        let waited = self.waiting.remove(key);
        if let Some(at) = waited {
            self.later.remove(&(at, key.clone()));
        }
        self.failures.remove(key);
        was_ready || waited.is_some()
    }

    /// When the next object will be ready, if none is.
    pub fn next_at(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// Whether some are ready.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
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

    /// Whether nothing is ready, and nothing waits for its time.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.later.is_empty()
    }

    /// How many objects wait for their time.
    pub fn waiting(&self) -> usize {
        self.later.len()
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
        assert_eq!(queue.waiting(), 1, "it comes back once");
        assert_eq!(delays[0], Duration::from_millis(50));
        assert_eq!(delays[1], Duration::from_millis(100));
        assert_eq!(delays[11], Duration::from_secs(30));
        assert_eq!(queue.next(now), None);
        assert_eq!(queue.next(now + delays[0]), Some(volume("a")));
        queue.succeeded(&volume("a"));
        assert_eq!(queue.failed(now, volume("a")), Duration::from_millis(50));
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_fails_at_each_resync_comes_back_once() {
        let mut queue = Queue::default();
        let begin = Instant::now();
        let mut syncs = 0;
        for seconds in 0..3600 {
            let now = begin + Duration::from_secs(seconds);
            if seconds % 15 == 0 {
                queue.add_again(volume("a"));
            }
            while let Some(key) = queue.next(now) {
                syncs += 1;
                queue.failed(now, key);
            }
            assert_eq!(queue.waiting(), 1);
        }
        assert!(syncs < 150, "{syncs} syncs in an hour");
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_its_time_keeps_the_earlier_one_and_a_sync_stands_for_it() {
        let mut queue = Queue::default();
        let now = Instant::now();
        let second = Duration::from_secs(1);
        queue.add_at(now + second * 2, volume("a"));
        queue.add_at(now + second, volume("a"));
        queue.add_at(now + second * 3, volume("a"));
        assert_eq!(queue.next_at(), Some(now + second));
        queue.add(volume("a"));
        assert_eq!(queue.next(now), Some(volume("a")));
        assert_eq!(queue.next(now + second * 4), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_taken_out_comes_only_when_it_is_added_again() {
        let mut queue = Queue::default();
        let now = Instant::now();
        queue.add(volume("a"));
        queue.add(volume("b"));
        queue.add_again(volume("c"));
        queue.failed(now, volume("d"));
        assert!(
            ["a", "c", "d"]
                .map(volume)
                .iter()
                .all(|key| queue.remove(key))
        );
        assert!(!queue.remove(&volume("a")));
        assert!(queue.has_ready());
        queue.add(volume("a"));
        let later = now + Queue::LONGEST;
        let order: Vec<_> = std::iter::from_fn(|| queue.next(later)).collect();
        assert_eq!(order.len(), 2, "{order:?}");
        assert!(["a", "b"].map(volume).iter().all(|key| order.contains(key)));
        assert!(queue.is_empty() && !queue.has_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn news_go_before_a_resync_and_do_not_starve_it() {
        let mut queue = Queue::default();
        let now = Instant::now();
        for number in 0..3 {
            queue.add_again(volume(&number.to_string()));
        }
        queue.add(volume("new"));
        queue.add(volume("2"));
        let order: Vec<_> = std::iter::from_fn(|| queue.next(now)).collect();
        assert_eq!(order, ["new", "2", "0", "1"].map(volume));
        queue.add_again(volume("again"));
        let mut before = 0;
        for number in 0..100 {
            queue.add(volume(&number.to_string()));
            if queue.next(now) == Some(volume("again")) {
                before = number;
            }
        }
        assert!(before > 0 && before < 10, "after {before} news");
    }
}
