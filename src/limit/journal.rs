//! The table for `log`, which keeps the time of every admitted hit: 24 bytes and 4 more per hit of the quota beyond the
//! first, within a size that is given once. Records of one quota stand together. It gives up the record nearest to fresh.

use std::{
    fmt,
    hash::{BuildHasher, Hash, RandomState},
    ops::Range,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use bytes::{Buf, BytesMut};
use smallvec::SmallVec;
use zerocopy::FromBytes;

use super::algorithm::{LOG_QUOTA_MAX, Times};

/// Words of 32 bits in front of a record's times: fingerprint (2), base and length (2), told until, ends.
const HEAD: usize = 6;

/// Where a record says until when its refusal has been told, and when it is fresh.
const TOLD_UNTIL: usize = 4;
const ENDS: usize = 5;

/// Words behind one lock: two records of the largest quota, and whole ones of quotas as round as 5, 10, 20, 30 and 100.
const SHARD_WORDS: usize = 2100;

/// The same in bytes.
const SHARD_BYTES: usize = SHARD_WORDS * size_of::<u32>();

/// Of the word that holds base and length: 48 bits of microseconds are nine years, 16 bits hold any length.
const LENGTH_BITS: u32 = 16;

/// What a visitor sees of a record.
#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) times: Times<'a>,
    /// Whole seconds since the journal's start.
    pub(super) told_until: &'a mut u32,
    pub(super) ends: &'a mut u32,
}

pub(super) struct Journal {
    hashers: [RandomState; 2],
    shards: Box<[Mutex<Shard>]>,
    evicted: AtomicU64,
}

/// What stands behind one lock.
#[derive(Debug)]
struct Shard {
    /// In the order in which their records lie.
    classes: Classes,
    /// A part of the one allocation that all shards have, which the system fills in page by page as clients come. Many
    /// that grow would leave behind what they grew out of.
    bytes: BytesMut,
}

/// Few operators have more quotas than these, which need no memory beside their shard's.
type Classes = SmallVec<[Class; 4]>;

/// The records of one quota, one after another.
#[derive(Clone, Copy, Debug)]
struct Class {
    quota: u16,
    records: u16,
}

/// A shard at work.
struct Records<'a> {
    classes: &'a mut Classes,
    words: &'a mut [u32],
}

/// A record: its class, and its number there.
type Place = (usize, usize);

impl Journal {
    /// A journal of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let shards = (bytes / SHARD_BYTES).max(1);
        // Bytes may begin anywhere, words may not.
        let mut whole = BytesMut::zeroed(shards * SHARD_BYTES + align_of::<u32>());
        whole.advance(whole.as_ptr().align_offset(align_of::<u32>()));
        let shard = |_| Mutex::new(Shard { classes: Classes::new(), bytes: whole.split_to(SHARD_BYTES) });
        Self {
            hashers: [RandomState::new(), RandomState::new()],
            shards: (0..shards).map(shard).collect(),
            evicted: AtomicU64::new(0),
        }
    }

    /// Shows the key's record, made if need be, to `change`. `seconds` is read under the lock.
    pub(super) fn visit<R>(
        &self,
        key: &(impl Hash + ?Sized),
        quota: u32,
        seconds: impl FnOnce() -> u32,
        change: impl FnOnce(Page<'_>) -> R,
    ) -> R {
        // No rule has more, and none has no quota.
        let quota = u16::try_from(quota.clamp(1, LOG_QUOTA_MAX)).unwrap_or(1);
        let mut shard = self.shard(key);
        let mut records = shard.records();
        let fingerprint = self.fingerprint(key);
        let place = match records.find(fingerprint) {
            Some(place) if records.classes[place.0].quota == quota => place,
            other => {
                let old = other.map(|place| records.take(place));
                let (place, evicted) = records.make_room(quota, seconds());
                self.evicted.fetch_add(evicted, Relaxed);
                fill(records.at(place), fingerprint, old.as_deref());
                place
            }
        };
        show(records.at(place), change)
    }

    /// Drops the record of a key.
    pub(super) fn forget(&self, key: &(impl Hash + ?Sized)) {
        let mut shard = self.shard(key);
        let mut records = shard.records();
        if let Some(place) = records.find(self.fingerprint(key)) {
            records.drop(place);
        }
    }

    /// Drops what has ended, one shard at a time.
    pub(super) async fn sweep(&self, seconds: impl Fn() -> u32) {
        for shard in &self.shards {
            lock(shard).records().drop_ended(seconds());
            tokio::task::yield_now().await;
        }
    }

    /// How many records are held, ended ones included until they are swept.
    pub(super) fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| lock(shard).classes.iter().map(|class| usize::from(class.records)).sum::<usize>())
            .sum()
    }

    /// The bytes that records take now.
    pub(super) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| words(&lock(shard).classes)).sum::<usize>() * size_of::<u32>()
    }

    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    fn shard(&self, key: &(impl Hash + ?Sized)) -> MutexGuard<'_, Shard> {
        let chosen = self.hashers[0].hash_one(key) % (self.shards.len() as u64);
        lock(&self.shards[usize::try_from(chosen).unwrap_or(0)])
    }

    fn fingerprint(&self, key: &(impl Hash + ?Sized)) -> u64 {
        self.hashers[1].hash_one(key)
    }
}

impl Shard {
    fn records(&mut self) -> Records<'_> {
        // They begin at a word's edge and end at one.
        let words = <[u32]>::mut_from_bytes(&mut self.bytes).unwrap_or_default();
        Records { classes: &mut self.classes, words }
    }
}

impl Class {
    /// Words of a record.
    fn stride(self) -> usize {
        // The oldest hit is the base.
        HEAD + usize::from(self.quota) - 1
    }

    /// Words of all.
    fn len(self) -> usize {
        usize::from(self.records) * self.stride()
    }
}

impl Records<'_> {
    /// Where the records of a class lie.
    fn span(&self, class: usize) -> Range<usize> {
        let start = words(&self.classes[..class]);
        start..start + self.classes[class].len()
    }

    fn at(&mut self, (class, record): Place) -> &mut [u32] {
        let (start, stride) = (self.span(class).start, self.classes[class].stride());
        &mut self.words[start + record * stride..][..stride]
    }

    /// The records of a class.
    fn of(&self, class: usize) -> impl Iterator<Item = &[u32]> {
        self.words[self.span(class)].chunks_exact(self.classes[class].stride())
    }

    fn find(&self, fingerprint: u64) -> Option<Place> {
        let is_it = |record: &[u32]| pair(record, 0) == fingerprint;
        (0..self.classes.len()).find_map(|class| Some((class, self.of(class).position(is_it)?)))
    }

    fn ended(&self, class: usize, seconds: u32) -> Option<Place> {
        Some((class, self.of(class).position(|record| record[ENDS] <= seconds)?))
    }

    fn nearest_to_fresh(&self, class: usize) -> Option<Place> {
        let order = |record: &[u32]| (base_and_len(record).1, record[ENDS]);
        Some((class, self.of(class).enumerate().min_by_key(|(_, record)| order(record))?.0))
    }

    /// A record of this quota that may be overwritten, and how many that still said something made way.
    fn make_room(&mut self, quota: u16, seconds: u32) -> (Place, u64) {
        let class = self.classes.iter().position(|class| class.quota == quota).unwrap_or_else(|| {
            self.classes.push(Class { quota, records: 0 });
            self.classes.len() - 1
        });
        if let Some(ended) = self.ended(class, seconds) {
            return (ended, 0);
        }
        let mut evicted = 0;
        while words(self.classes) + self.classes[class].stride() > self.words.len() {
            evicted += 1;
            // Its own kind gives way first; a quota that is new here takes from the kind that holds most.
            if let Some(victim) = self.nearest_to_fresh(class) {
                return (victim, evicted);
            }
            let largest = (0..self.classes.len()).max_by_key(|class| self.classes[*class].len());
            let Some(victim) = largest.and_then(|class| self.nearest_to_fresh(class)) else { break };
            self.drop(victim);
        }
        (self.grow(class), evicted)
    }

    /// One more record, whose words are not yet its own. What lies behind its class moves on.
    fn grow(&mut self, class: usize) -> Place {
        let (end, taken) = (self.span(class).end, words(self.classes));
        let kind = &mut self.classes[class];
        self.words.copy_within(end..taken, end + kind.stride());
        kind.records += 1;
        (class, usize::from(kind.records) - 1)
    }

    /// Removes a record. The last of its class takes its place, and what lies behind the class moves up.
    fn drop(&mut self, (class, record): Place) {
        let (Range { start, end }, taken) = (self.span(class), words(self.classes));
        let kind = &mut self.classes[class];
        let last = end - kind.stride();
        self.words.copy_within(last..end, start + record * kind.stride());
        self.words.copy_within(end..taken, last);
        kind.records -= 1;
    }

    /// Removes a record and answers with its words.
    fn take(&mut self, place: Place) -> Vec<u32> {
        let taken = self.at(place).to_vec();
        self.drop(place);
        taken
    }

    fn drop_ended(&mut self, seconds: u32) {
        for class in 0..self.classes.len() {
            while let Some(ended) = self.ended(class, seconds) {
                self.drop(ended);
            }
        }
        self.classes.retain(|class| class.records > 0);
    }
}

/// Words that these classes take.
fn words(classes: &[Class]) -> usize {
    classes.iter().map(|class| class.len()).sum()
}

/// Two words as one number.
fn pair(record: &[u32], at: usize) -> u64 {
    u64::from(record[at]) | u64::from(record[at + 1]) << 32
}

fn base_and_len(record: &[u32]) -> (u64, u64) {
    let both = pair(record, 2);
    (both >> LENGTH_BITS, both & ((1 << LENGTH_BITS) - 1))
}

/// Overwrites a record with an empty one, or with what stood in another class: the newest hits that fit.
fn fill(record: &mut [u32], fingerprint: u64, old: Option<&[u32]>) {
    record.fill(0);
    record[..2].copy_from_slice(&halves(fingerprint));
    let Some(old) = old else { return };
    let (base, len) = base_and_len(old);
    let offsets = [0].iter().chain(&old[HEAD..]).take(usize::try_from(len).unwrap_or(0));
    show(record, |mut page| {
        for offset in offsets {
            page.times.push(base + u64::from(*offset), 1);
        }
        (*page.told_until, *page.ends) = (old[TOLD_UNTIL], old[ENDS]);
    });
}

fn show<R>(record: &mut [u32], change: impl FnOnce(Page<'_>) -> R) -> R {
    let (mut base, len) = base_and_len(record);
    let mut len = u32::try_from(len).unwrap_or(0);
    let (head, offsets) = record.split_at_mut(HEAD);
    let (mut told_until, mut ends) = (head[TOLD_UNTIL], head[ENDS]);
    let times = Times { base: &mut base, len: &mut len, offsets };
    let answer = change(Page { times, told_until: &mut told_until, ends: &mut ends });
    let [low, high] = halves(base << LENGTH_BITS | u64::from(len));
    head[2..].copy_from_slice(&[low, high, told_until, ends]);
    answer
}

fn halves(whole: u64) -> [u32; 2] {
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    [half(whole), half(whole >> 32)]
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Journal(…)")
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
