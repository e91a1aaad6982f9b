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

use zerocopy::FromZeros;

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

/// Where a slot lies: all of them in one allocation, which the system fills in page by page as clients come. Many small
/// ones would each be rounded up. A slot is read and written under its shard's lock alone, so that nothing is ordered here.
type Place = [AtomicU64; 4];

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
    pub(super) told_until: u32,
    pub(super) ends: u32,
}

/// How much of its budget an entry has used, 0 fresh to 255 spent: what makes room asks for it, and nobody else.
pub(super) type Share = u8;

/// The table.
pub(super) struct Table {
    /// Seeded by chance, so that nobody can choose keys that meet in one set.
    hasher: RandomState,
    places: Box<[Place]>,
    sets: usize,
    /// Each for every so many-th set.
    shards: Box<[Mutex<()>]>,
    evicted: AtomicU64,
}

impl Table {
    /// A table of so many slots, one set at least.
    pub(super) fn new(slots: usize) -> Self {
        let sets = (slots / WAYS).max(1);
        let (count, shards) = (sets * WAYS, SHARDS.min(sets));
        let untouched = <[Place]>::new_box_zeroed_with_elems(count);
        Self {
            hasher: RandomState::new(),
            // Where there is no memory, the second attempt ends the process as every other would.
            places: untouched.unwrap_or_else(|_| (0..count).map(|_| Place::default()).collect()),
            sets,
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            evicted: AtomicU64::new(0),
        }
    }

    /// Shows the key's entry to `change` and keeps what it answers. `now` is read under the lock, so that two hits on one
    /// key see times in the order in which they count; seconds are whole ones since the table's start.
    pub(super) fn visit<R>(
        &self,
        key: &str,
        seconds: impl FnOnce() -> u32,
        change: impl FnOnce(Option<Entry>) -> (Option<(Entry, Share)>, R),
    ) -> R {
        let (fingerprint, set) = self.place(key);
        let _alone = self.lock(set);
        let ways = self.ways(set);
        let found = ways.iter().position(|[known, ..]| known.load(Relaxed) == fingerprint);
        let (next, answer) = change(found.map(|index| Slot::at(&ways[index]).entry()));
        if let Some((next, share)) = next {
            let index = found.unwrap_or_else(|| self.make_room(ways, seconds()));
            Slot::of(fingerprint, next, share).put(&ways[index]);
        }
        answer
    }

    /// What a key is known by, and its set. Two keys are taken for one when all 64 bits agree.
    fn place(&self, key: &str) -> (u64, usize) {
        let hash = self.hasher.hash_one(key);
        (hash.max(1), usize::try_from(hash % (self.sets as u64)).unwrap_or(0))
    }

    /// The lock of a set. A panic under it leaves a whole slot or none, and no slot depends on another.
    fn lock(&self, set: usize) -> MutexGuard<'_, ()> {
        self.shards[set % self.shards.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ways(&self, set: usize) -> &[Place] {
        &self.places[set * WAYS..(set + 1) * WAYS]
    }

    /// An empty slot, an ended one, or the one nearest to fresh: lowest share used, then soonest ended.
    fn make_room(&self, ways: &[Place], seconds: u32) -> usize {
        // Share and end of each, in the order in which they make way.
        let (mut victim, mut nearest) = (0, u64::MAX);
        for (index, slot) in ways.iter().map(Slot::at).enumerate() {
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
        let _alone = self.lock(set);
        for place in self.ways(set).iter().filter(|place| Slot::at(place).fingerprint == fingerprint) {
            Slot::default().put(place);
        }
    }

    /// Empties what has ended, one shard at a time; requests go on in all the others.
    pub(super) async fn sweep(&self, seconds: impl Fn() -> u32) {
        for shard in 0..self.shards.len() {
            self.sweep_shard(shard, &seconds);
            if shard % SWEPT_AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    fn sweep_shard(&self, shard: usize, seconds: impl Fn() -> u32) {
        let _alone = self.lock(shard);
        let now = seconds();
        for set in (shard..self.sets).step_by(self.shards.len()) {
            let ended = |slot: Slot| slot.fingerprint != 0 && slot.entry().ends <= now;
            for place in self.ways(set).iter().filter(|place| ended(Slot::at(place))) {
                Slot::default().put(place);
            }
        }
    }

    /// How many slots are taken, by ended entries too until they are swept.
    pub(super) fn len(&self) -> usize {
        self.places.iter().filter(|place| Slot::at(place).fingerprint != 0).count()
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
    fn at([fingerprint, at, counted, notes]: &Place) -> Self {
        let read = |part: &AtomicU64| part.load(Relaxed);
        Self { fingerprint: read(fingerprint), at: read(at), counted: read(counted), notes: read(notes) }
    }

    fn put(self, place: &Place) {
        for (part, value) in place.iter().zip([self.fingerprint, self.at, self.counted, self.notes]) {
            part.store(value, Relaxed);
        }
    }

    fn of(fingerprint: u64, entry: Entry, share: Share) -> Self {
        let notes =
            u64::from(share) << (2 * SECOND_BITS) | u64::from(entry.told_until) << SECOND_BITS | u64::from(entry.ends);
        Self { fingerprint, at: entry.state.at, counted: entry.state.counted, notes }
    }

    fn entry(self) -> Entry {
        let seconds = |shift: u32| u32::try_from(self.notes >> shift & SECONDS).unwrap_or(u32::MAX);
        let state = State { at: self.at, counted: self.counted };
        Entry { state, told_until: seconds(SECOND_BITS), ends: seconds(0) }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Table(…)")
    }
}
