//! Refusals that this process remembers for a moment, so that a flood of refused requests costs Redis one command per
//! client and second. It holds nothing but refusals with nothing remaining, and none longer than a second: a reset made
//! anywhere is seen within it. Whoever comes first after that second asks Redis; the others are refused until he knows better.

use std::{
    fmt,
    hash::{BuildHasher, Hash, RandomState},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use super::memory::Reading;

/// Longest that a refusal is believed, in microseconds.
const KEPT: u64 = 1_000_000;

/// How long it is believed on while one request asks Redis again: twice as long as Redis may take to answer.
const ASKED: u64 = 100_000;

/// Places in which one key may stand.
const WAYS: usize = 8;

/// Sets of places: 32,768 refusals at once, 768 KiB.
const SETS: usize = 4096;

/// The memory of refusals.
pub(super) struct Refused {
    hasher: RandomState,
    sets: Box<[Mutex<[Entry; WAYS]>]>,
    /// When the last of them will have ended, in microseconds: mostly nobody is refused, and nothing need be looked for.
    last: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    fingerprint: u64,
    /// Microseconds: until when the client is refused, and until when that is believed.
    until: u64,
    kept: u64,
}

impl Refused {
    pub(super) fn new() -> Self {
        let sets = (0..SETS).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), sets, last: AtomicU64::new(0) }
    }

    /// The refusal of a key, with what is left of its wait. What costs otherwise waits otherwise, and is another refusal.
    /// Of a refusal that goes on but is no longer believed, the first to come is told nothing, so that he asks.
    pub(super) fn find(&self, key: &(impl Hash + ?Sized), cost: u32, now: u64) -> Option<Reading> {
        if self.is_over(now) {
            return None;
        }
        let (fingerprint, mut set) = self.place(key, cost);
        let entry = set.iter_mut().find(|entry| entry.fingerprint == fingerprint && entry.until > now)?;
        if entry.kept <= now {
            entry.kept = entry.until.min(now.saturating_add(ASKED));
            return None;
        }
        let rest = Duration::from_micros(entry.until - now);
        Some(Reading { admitted: false, remaining: 0, rest, first_refusal: false })
    }

    /// Remembers a refusal with nothing remaining.
    pub(super) fn keep(&self, key: &(impl Hash + ?Sized), cost: u32, rest: Duration, now: u64) {
        let until = now.saturating_add(u64::try_from(rest.as_micros()).unwrap_or(u64::MAX));
        self.last.fetch_max(until, Relaxed);
        let (fingerprint, mut set) = self.place(key, cost);
        let same = set.iter().position(|entry| entry.fingerprint == fingerprint);
        let index = same.or_else(|| (0..WAYS).min_by_key(|index| set[*index].kept)).unwrap_or(0);
        set[index] = Entry { fingerprint, until, kept: until.min(now.saturating_add(KEPT)) };
    }

    /// Forgets the refusal of a key that was admitted.
    pub(super) fn lift(&self, key: &(impl Hash + ?Sized), cost: u32, now: u64) {
        if self.is_over(now) {
            return;
        }
        let (fingerprint, mut set) = self.place(key, cost);
        if let Some(entry) = set.iter_mut().find(|entry| entry.fingerprint == fingerprint) {
            *entry = Entry::default();
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        for set in &self.sets {
            *set.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
        }
    }

    /// Whether nobody is refused any more.
    fn is_over(&self, now: u64) -> bool {
        self.last.load(Relaxed) <= now
    }

    fn place(&self, key: &(impl Hash + ?Sized), cost: u32) -> (u64, MutexGuard<'_, [Entry; WAYS]>) {
        // Two keys are taken for one when 64 bits agree; that some of them also choose the set changes nothing about it.
        let fingerprint = self.hasher.hash_one((key, cost)).max(1);
        let set = usize::try_from(fingerprint % (SETS as u64)).unwrap_or(0);
        (fingerprint, self.sets[set].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refused(…)")
    }
}
