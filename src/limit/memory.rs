//! The embedded store: the same windows per process, bounded, on a clock that never runs backwards.
//! It refuses nobody for lack of a slot, and never forgets a running refusal while a fresher entry is there.

use std::{
    cmp::Ordering,
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use super::algorithm::{Fixed, Outcome, Rule, fixed};
use crate::clock::Clock;

/// Independent locks. Many small shards keep the search for a victim short, and a sweep's pauses too.
const SHARDS: usize = 1024;

/// Most entries of a shard: 262,144 in all, some 40 MiB when full.
const SLOTS_PER_SHARD: usize = 256;

/// Shards swept before other tasks get their turn.
const SWEPT_AT_ONCE: usize = 32;

/// How far apart (µs) two reports of one window's end may lie: they travelled for up to a request's whole allowance.
const SAME_WINDOW: u64 = 100_000;

/// How a bucket stands after one hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub admitted: bool,
    /// How many more the window admits.
    pub remaining: u32,
    /// The rest of the window.
    pub rest: Duration,
    /// Whether this is the first refusal of this key and window: the one that is logged.
    pub first_refusal: bool,
}

/// The table of running windows.
pub struct Memory {
    clock: Clock,
    /// Seeded by chance, so that nobody can choose keys that meet in one shard.
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
    slots_per_shard: usize,
    evicted: AtomicU64,
}

type Shard = HashMap<Box<str>, Slot>;

#[derive(Clone, Copy)]
struct Slot {
    window: Fixed,
    quota: u32,
    /// Whether a refusal of this window has been logged.
    told: bool,
}

impl Memory {
    /// An empty table of the usual size.
    pub fn new(clock: Clock) -> Self {
        Self::with_size(clock, SHARDS, SLOTS_PER_SHARD)
    }

    /// An empty table of at least one shard with at least one slot.
    pub fn with_size(clock: Clock, shards: usize, slots_per_shard: usize) -> Self {
        Self {
            clock,
            hasher: RandomState::new(),
            shards: (0..shards.max(1)).map(|_| Mutex::default()).collect(),
            slots_per_shard: slots_per_shard.max(1),
            evicted: AtomicU64::new(0),
        }
    }

    /// Charges one hit.
    pub fn hit(&self, key: &str, rule: Rule) -> Reading {
        let mut shard = self.shard(key);
        // Read under the lock: two hits on one key see times in the order in which they count.
        let now = self.now();
        let held = shard.get(key).copied();
        let (window, outcome) = fixed(held.map(|slot| slot.window), now, rule);
        let told = held.is_some_and(|slot| slot.told && slot.window.end > now);
        self.put(&mut shard, key, Slot { window, quota: rule.quota, told: told || !outcome.admitted }, now);
        Reading::of(&outcome, !outcome.admitted && !told)
    }

    /// Writes down what Redis answered, so that falling over to this table gives nobody a fresh budget.
    pub fn keep_warm(&self, key: &str, rule: Rule, outcome: &Outcome) -> Reading {
        let mut shard = self.shard(key);
        let now = self.now();
        let mut window = Fixed {
            count: u64::from(rule.quota.saturating_sub(outcome.remaining)),
            end: now.saturating_add(outcome.rest),
        };
        let mut told = false;
        // Answers overtake each other, and single hits may have been counted here alone: within one window the
        // higher count stands. Another window is Redis's to tell.
        if let Some(held) = shard.get(key)
            && held.window.end > now
            && held.window.end.abs_diff(window.end) <= SAME_WINDOW
        {
            window = Fixed { count: window.count.max(held.window.count), end: window.end.max(held.window.end) };
            told = held.told;
        }
        self.put(&mut shard, key, Slot { window, quota: rule.quota, told: told || !outcome.admitted }, now);
        Reading::of(outcome, !outcome.admitted && !told)
    }

    /// Drops what has ended, one shard at a time; requests go on in all the others.
    pub async fn sweep(&self) {
        for some in self.shards.chunks(SWEPT_AT_ONCE) {
            for shard in some {
                let mut shard = lock(shard);
                let now = self.now();
                shard.retain(|_, slot| slot.window.end > now);
                if shard.capacity() > shard.len().saturating_mul(4) {
                    shard.shrink_to_fit();
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// How many entries are held, ended ones included until they are swept.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many running windows had to make room.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.monotonic().as_micros()).unwrap_or(u64::MAX)
    }

    fn shard(&self, key: &str) -> MutexGuard<'_, Shard> {
        let chosen = self.hasher.hash_one(key) % (self.shards.len() as u64);
        lock(&self.shards[usize::try_from(chosen).unwrap_or(0)])
    }

    fn put(&self, shard: &mut Shard, key: &str, slot: Slot, now: u64) {
        if let Some(held) = shard.get_mut(key) {
            *held = slot;
            return;
        }
        if shard.len() >= self.slots_per_shard {
            shard.retain(|_, slot| slot.window.end > now);
        }
        if shard.len() >= self.slots_per_shard
            && let Some(victim) = shard.iter().min_by(|one, other| nearest_to_fresh(one.1, other.1))
        {
            let victim = victim.0.clone();
            shard.remove(&victim);
            self.evicted.fetch_add(1, Relaxed);
        }
        shard.insert(key.into(), slot);
    }
}

impl Reading {
    fn of(outcome: &Outcome, first_refusal: bool) -> Self {
        Self {
            admitted: outcome.admitted,
            remaining: outcome.remaining,
            rest: Duration::from_micros(outcome.rest),
            first_refusal,
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory(…)")
    }
}

/// Lowest share of its quota used, then soonest ended. Never by age: a flood of new keys must not flush a refusal.
fn nearest_to_fresh(one: &Slot, other: &Slot) -> Ordering {
    let share = |slot: &Slot, by: &Slot| u128::from(slot.window.count) * u128::from(by.quota);
    share(one, other).cmp(&share(other, one)).then(one.window.end.cmp(&other.window.end))
}

/// A panic under the lock leaves a whole entry or none: nothing in a shard depends on another entry.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
