//! A fixed set-associative table: 32 bytes per client, key included, sized once. It knows keys only by their hash, never
//! grows, never refuses for lack of a slot, and gives up the entry nearest to fresh. Never the one longest unseen: a
//! flood of new keys must not flush a running refusal.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::algorithm::State;

/// Slots in which one key may stand.
pub(super) const WAYS: usize = 16;

/// Bytes of a slot.
pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

/// Independent locks. Sets behind one lock are few enough that a sweep holds it for microseconds.
const SHARDS: usize = 1024;

/// Shards swept before other tasks get their turn.
const SWEPT_AT_ONCE: usize = 32;

/// Bits of a whole second since the table's start: eight years.
const SECOND_BITS: u32 = 28;

const SECOND: u64 = 1_000_000;

/// Where a slot's notes say when it ends.
const SECONDS: u64 = (1 << SECOND_BITS) - 1;

/// Where they say how much of the budget is used.
const SHARE: u64 = 0xff << (2 * SECOND_BITS);

/// One client of one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    /// Of the key; 0 for an empty slot.
    fingerprint: u64,
    at: u64,
    counted: u64,
    /// How much of its budget is used (8 bits), until when its refusal has been told, and when it is fresh.
    notes: u64,
}

/// What stands in a slot, unpacked. Seconds count from the table's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) state: State,
    /// 0 fresh to 255 spent.
    pub(super) share: u8,
    pub(super) told_until: u32,
    pub(super) ends: u32,
}

/// The table.
pub(super) struct Table {
    /// Seeded by chance, so that nobody can choose keys that meet in one set.
    hasher: RandomState,
    /// Each is empty until its first entry: a table that nobody uses costs next to nothing.
    shards: Box<[Mutex<Box<[Slot]>>]>,
    sets: usize,
    evicted: AtomicU64,
}

impl Table {
    /// A table of so many slots, one set at least.
    pub(super) fn new(slots: usize) -> Self {
        let sets = (slots / WAYS).max(1);
        let shards = SHARDS.min(sets);
        Self {
            hasher: RandomState::new(),
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            sets,
            evicted: AtomicU64::new(0),
        }
    }

    /// Shows the key's entry to `change` and keeps what it answers. `now` is read under the lock, so that two hits on one
    /// key see times in the order in which they count; seconds are whole ones since the table's start.
    pub(super) fn visit<R>(
        &self,
        key: &str,
        seconds: impl FnOnce() -> u32,
        change: impl FnOnce(Option<Entry>) -> (Option<Entry>, R),
    ) -> R {
        let (fingerprint, set) = self.place(key);
        let mut shard = self.opened(set % self.shards.len());
        let first = set / self.shards.len() * WAYS;
        let ways = &mut shard[first..first + WAYS];
        let found = ways.iter().position(|slot| slot.fingerprint == fingerprint);
        let (next, answer) = change(found.map(|index| ways[index].entry()));
        if let Some(next) = next {
            let index = found.unwrap_or_else(|| self.make_room(ways, seconds()));
            ways[index] = Slot::of(fingerprint, next);
        }
        answer
    }

    /// What a key is known by, and its set. Two keys are taken for one when all 64 bits agree.
    fn place(&self, key: &str) -> (u64, usize) {
        let hash = self.hasher.hash_one(key);
        (hash.max(1), usize::try_from(hash % (self.sets as u64)).unwrap_or(0))
    }

    /// A shard under its lock, with its slots.
    fn opened(&self, index: usize) -> MutexGuard<'_, Box<[Slot]>> {
        let mut shard = lock(&self.shards[index]);
        if shard.is_empty() {
            let shards = self.shards.len();
            let sets = self.sets / shards + usize::from(index < self.sets % shards);
            *shard = vec![Slot::default(); sets * WAYS].into();
        }
        shard
    }

    /// An empty slot, an ended one, or the one nearest to fresh: lowest share used, then soonest ended.
    fn make_room(&self, ways: &[Slot], seconds: u32) -> usize {
        // Share and end of each, in the order in which they make way.
        let (mut victim, mut nearest) = (0, u64::MAX);
        for (index, slot) in ways.iter().enumerate() {
            let ends = slot.notes & SECONDS;
            if slot.fingerprint == 0 || ends <= u64::from(seconds) {
                return index;
            }
            let order = slot.notes & SHARE | ends;
            if order < nearest {
                (victim, nearest) = (index, order);
            }
        }
        self.evicted.fetch_add(1, Relaxed);
        victim
    }

    /// Empties the slot of a key.
    pub(super) fn forget(&self, key: &str) {
        let (fingerprint, set) = self.place(key);
        let mut shard = self.opened(set % self.shards.len());
        let first = set / self.shards.len() * WAYS;
        for slot in shard[first..first + WAYS].iter_mut().filter(|slot| slot.fingerprint == fingerprint) {
            *slot = Slot::default();
        }
    }

    /// Empties what has ended, one shard at a time; requests go on in all the others.
    pub(super) async fn sweep(&self, seconds: impl Fn() -> u32) {
        for some in self.shards.chunks(SWEPT_AT_ONCE) {
            for shard in some {
                let mut shard = lock(shard);
                let now = seconds();
                for slot in shard.iter_mut().filter(|slot| slot.fingerprint != 0 && slot.entry().ends <= now) {
                    *slot = Slot::default();
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// How many slots are taken, by ended entries too until they are swept.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).iter().filter(|slot| slot.fingerprint != 0).count()).sum()
    }

    /// How many entries that still said something had to make room.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }
}

/// Microseconds as whole seconds, rounded up, within what a slot can hold.
pub(super) fn seconds_up(micros: u64) -> u32 {
    u32::try_from(micros.div_ceil(SECOND)).unwrap_or(u32::MAX).min((1 << SECOND_BITS) - 1)
}

/// Microseconds as whole seconds, rounded down.
pub(super) fn seconds_down(micros: u64) -> u32 {
    u32::try_from(micros / SECOND).unwrap_or(u32::MAX)
}

impl Slot {
    fn of(fingerprint: u64, entry: Entry) -> Self {
        let notes = u64::from(entry.share) << (2 * SECOND_BITS)
            | u64::from(entry.told_until) << SECOND_BITS
            | u64::from(entry.ends);
        Self { fingerprint, at: entry.state.at, counted: entry.state.counted, notes }
    }

    fn entry(self) -> Entry {
        let field = |shift: u32, bits: u32| u32::try_from(self.notes >> shift & ((1 << bits) - 1)).unwrap_or(u32::MAX);
        Entry {
            state: State { at: self.at, counted: self.counted },
            share: u8::try_from(field(2 * SECOND_BITS, 8)).unwrap_or(u8::MAX),
            told_until: field(SECOND_BITS, SECOND_BITS),
            ends: field(0, SECOND_BITS),
        }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Table(…)")
    }
}

/// A panic under the lock leaves a whole entry or none: nothing in a shard depends on another entry.
fn lock(shard: &Mutex<Box<[Slot]>>) -> MutexGuard<'_, Box<[Slot]>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
