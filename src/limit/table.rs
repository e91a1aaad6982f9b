//! A set-associative table: 32 bytes per client, key included, within a size that is given once. It knows keys only by
//! their hash, never outgrows that size, never refuses for lack of a slot, and gives up the entry nearest to fresh. Never
//! the one longest unseen: a flood of new keys must not flush a running refusal.
//!
//! Few clients stand close together, where a core finds them fast: a shard begins with one set and doubles when one of its
//! sets is full, until it has all that are its own.

use std::{
    fmt,
    hash::{BuildHasher, Hash, RandomState},
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

/// Fewest independent locks of a table that has so many sets.
const SHARDS: usize = 128;

/// Most sets behind one lock, as a power of two: few enough that a sweep holds it for microseconds. Larger tables have
/// more locks.
const OWN_MAX: u32 = 7;

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
    /// The first set of every shard, then the second of every shard, and so on.
    places: Box<[Place]>,
    shards: Box<[Mutex<Open>]>,
    /// Sets of a shard, a power of two.
    own: usize,
    evicted: AtomicU64,
}

/// How many sets of a shard are in use, a power of two.
type Open = usize;

impl Table {
    /// A table of so many slots, one set at least.
    pub(super) fn new(slots: usize) -> Self {
        let sets = (slots / WAYS).max(1);
        let own = (sets / SHARDS).checked_ilog2().map_or(1, |power| 1 << power.min(OWN_MAX));
        let shards = sets / own;
        let count = shards * own * WAYS;
        let untouched = <[Place]>::new_box_zeroed_with_elems(count);
        Self {
            hasher: RandomState::new(),
            // Where there is no memory, the second attempt ends the process as every other would.
            places: untouched.unwrap_or_else(|_| (0..count).map(|_| Place::default()).collect()),
            shards: (0..shards).map(|_| Mutex::new(1)).collect(),
            own,
            evicted: AtomicU64::new(0),
        }
    }

    /// Shows the key's entry to `change` and keeps what it answers. `now` is read under the lock, so that two hits on one
    /// key see times in the order in which they count; seconds are whole ones since the table's start.
    pub(super) fn visit<R>(
        &self,
        key: &(impl Hash + ?Sized),
        seconds: impl FnOnce() -> u32,
        change: impl FnOnce(Option<Entry>) -> (Option<(Entry, Share)>, R),
    ) -> R {
        let (fingerprint, shard) = self.find(key);
        let mut open = self.lock(shard);
        let mut ways = self.set(shard, fingerprint, *open).iter();
        let found = ways.find(|[known, ..]| known.load(Relaxed) == fingerprint);
        let (next, answer) = change(found.map(|place| Slot::at(place).entry()));
        if let Some((next, share)) = next {
            let place = found.unwrap_or_else(|| self.make_room(shard, fingerprint, &mut open, seconds()));
            Slot::of(fingerprint, next, share).put(place);
        }
        answer
    }

    /// What a key is known by, and its shard. Two keys are taken for one when all 64 bits agree.
    fn find(&self, key: &(impl Hash + ?Sized)) -> (u64, usize) {
        let fingerprint = self.hasher.hash_one(key).max(1);
        // The high bits choose the shard and the low ones the set.
        let shard = (u128::from(fingerprint) * self.shards.len() as u128) >> u64::BITS;
        (fingerprint, usize::try_from(shard).unwrap_or(0))
    }

    /// The lock of a shard. No slot depends on another, and nothing that moves them can panic.
    fn lock(&self, shard: usize) -> MutexGuard<'_, Open> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slots in which a key may stand while so many sets of its shard are in use.
    fn set(&self, shard: usize, fingerprint: u64, open: Open) -> &[Place] {
        self.ways(shard, usize::try_from(fingerprint & (open as u64 - 1)).unwrap_or(0))
    }

    /// The slots of a shard's so many-th set.
    fn ways(&self, shard: usize, index: usize) -> &[Place] {
        let set = index * self.shards.len() + shard;
        &self.places[set * WAYS..(set + 1) * WAYS]
    }

    /// An empty slot, an ended one, or the one nearest to fresh: lowest share used, then soonest ended. That one makes way
    /// only when its shard has all its sets in use.
    fn make_room(&self, shard: usize, fingerprint: u64, open: &mut Open, seconds: u32) -> &Place {
        loop {
            let set = self.set(shard, fingerprint, *open);
            let order = |place: &&Place| Slot::at(place).order(seconds);
            if let Some(place) = set.iter().find(|place| order(place) == 0) {
                return place;
            }
            if *open == self.own {
                self.evicted.fetch_add(1, Relaxed);
                return set.iter().min_by_key(order).unwrap_or(&set[0]);
            }
            self.double(shard, open);
        }
    }

    /// Takes as many sets into use again as were, and moves to them what belongs there.
    fn double(&self, shard: usize, open: &mut Open) {
        for index in 0..*open {
            for (place, new) in self.ways(shard, index).iter().zip(self.ways(shard, index + *open)) {
                let slot = Slot::at(place);
                if slot.fingerprint & (*open as u64) != 0 {
                    slot.put(new);
                    Slot::default().put(place);
                }
            }
        }
        *open *= 2;
    }

    /// Empties the slot of a key.
    pub(super) fn forget(&self, key: &(impl Hash + ?Sized)) {
        let (fingerprint, shard) = self.find(key);
        let open = self.lock(shard);
        for place in
            self.set(shard, fingerprint, *open).iter().filter(|place| Slot::at(place).fingerprint == fingerprint)
        {
            Slot::default().put(place);
        }
    }

    /// Empties what has ended, one shard at a time; requests go on in all the others, and other tasks in between.
    pub(super) async fn sweep(&self, seconds: impl Fn() -> u32) {
        for shard in 0..self.shards.len() {
            self.sweep_shard(shard, &seconds);
            tokio::task::yield_now().await;
        }
    }

    fn sweep_shard(&self, shard: usize, seconds: impl Fn() -> u32) {
        let open = self.lock(shard);
        let now = seconds();
        let ended = |slot: Slot| slot.fingerprint != 0 && slot.entry().ends <= now;
        for place in self.in_use(shard, *open).filter(|place| ended(Slot::at(place))) {
            Slot::default().put(place);
        }
    }

    /// Every slot of a shard that anybody may stand in.
    fn in_use(&self, shard: usize, open: Open) -> impl Iterator<Item = &Place> {
        (0..open).flat_map(move |index| self.ways(shard, index))
    }

    /// How many slots are taken, by ended entries too until they are swept.
    pub(super) fn len(&self) -> usize {
        let taken =
            |shard| self.in_use(shard, *self.lock(shard)).filter(|place| Slot::at(place).fingerprint != 0).count();
        (0..self.shards.len()).map(taken).sum()
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

    /// The order in which slots make way: 0 for one that nothing is lost with, then by share used and by end.
    const fn order(&self, seconds: u32) -> u64 {
        let ends = self.notes & SECONDS;
        if self.fingerprint == 0 || ends <= seconds as u64 { 0 } else { self.notes & SHARE | ends }
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
