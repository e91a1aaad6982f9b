//! The table for `log`, which keeps the time of every admitted hit: 24 bytes and 4 more per hit of the quota, within a
//! size that is given once. Records of one quota stand together. It gives up the record nearest to fresh.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::algorithm::Times;

/// Words of 32 bits in front of a record's times: fingerprint (2), base and length (2), told until, ends.
const HEAD: usize = 6;

/// Bytes behind one lock: two records of the largest quota, and a size that allocators do not round up.
const SHARD_BYTES: usize = 8 * 1024;

/// The same in words.
const SHARD_WORDS: usize = SHARD_BYTES / 4;

/// Of the word that holds base and length: 48 bits of microseconds are nine years, 16 bits hold any length.
const LENGTH_BITS: u32 = 16;

/// Records by which a class grows, so that growing copies seldom and wastes little.
const STEP: usize = 4;

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

#[derive(Debug, Default)]
struct Shard {
    classes: Vec<Class>,
}

/// The records of one quota.
#[derive(Debug)]
struct Class {
    quota: usize,
    words: Vec<u32>,
}

impl Journal {
    /// A journal of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let shards = (bytes / SHARD_BYTES).max(1);
        Self {
            hashers: [RandomState::new(), RandomState::new()],
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            evicted: AtomicU64::new(0),
        }
    }

    /// Shows the key's record, made if need be, to `change`. `seconds` is read under the lock.
    pub(super) fn visit<R>(
        &self,
        key: &str,
        quota: u32,
        seconds: impl FnOnce() -> u32,
        change: impl FnOnce(Page<'_>) -> R,
    ) -> R {
        let quota = usize::try_from(quota).unwrap_or(usize::MAX);
        let mut shard = self.shard(key);
        let fingerprint = self.hashers[1].hash_one(key).max(1);
        let found = shard.find(fingerprint);
        let (class, at) = match found {
            Some((class, at)) if shard.classes[class].quota == quota => (class, at),
            other => {
                let old = other.map(|(class, at)| shard.classes[class].take(at));
                let (class, at) = self.make_room(&mut shard, quota, seconds());
                shard.classes[class].fill(at, fingerprint, old.as_deref());
                (class, at)
            }
        };
        shard.classes[class].show(at, change)
    }

    /// A record of this quota that may be overwritten.
    fn make_room(&self, shard: &mut Shard, quota: usize, seconds: u32) -> (usize, usize) {
        let class = shard.classes.iter().position(|class| class.quota == quota).unwrap_or_else(|| {
            shard.classes.push(Class { quota, words: Vec::new() });
            shard.classes.len() - 1
        });
        if let Some(ended) = shard.classes[class].position(|class, at| class.ends(at) <= seconds) {
            return (class, ended);
        }
        let need = HEAD + quota;
        loop {
            let taken: usize = shard.classes.iter().map(|class| class.words.len()).sum();
            if taken + need <= SHARD_WORDS {
                return (class, shard.classes[class].grow());
            }
            // Its own kind gives way first; a quota that is new here takes from the kind that holds most.
            if let Some(victim) = shard.classes[class].nearest_to_fresh() {
                self.evicted.fetch_add(1, Relaxed);
                return (class, victim);
            }
            let largest = (0..shard.classes.len()).max_by_key(|index| shard.classes[*index].words.len());
            let victim = largest.and_then(|index| Some((index, shard.classes[index].nearest_to_fresh()?)));
            let Some((index, victim)) = victim else { return (class, shard.classes[class].grow()) };
            self.evicted.fetch_add(1, Relaxed);
            shard.classes[index].take(victim);
            shard.classes[index].words.shrink_to_fit();
        }
    }

    /// Drops the record of a key.
    pub(super) fn forget(&self, key: &str) {
        let mut shard = self.shard(key);
        let fingerprint = self.hashers[1].hash_one(key).max(1);
        if let Some((class, at)) = shard.find(fingerprint) {
            shard.classes[class].take(at);
        }
    }

    /// Drops what has ended, one shard at a time.
    pub(super) async fn sweep(&self, seconds: impl Fn() -> u32) {
        for shard in &self.shards {
            {
                let mut shard = lock(shard);
                let now = seconds();
                for class in &mut shard.classes {
                    while let Some(ended) = class.position(|class, at| class.ends(at) <= now) {
                        class.take(ended);
                    }
                    class.words.shrink_to_fit();
                }
                shard.classes.retain(|class| !class.words.is_empty());
            }
            tokio::task::yield_now().await;
        }
    }

    /// How many records are held, ended ones included until they are swept.
    pub(super) fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| lock(shard).classes.iter().map(|class| class.starts().count()).sum::<usize>())
            .sum()
    }

    /// The bytes that records take now.
    pub(super) fn bytes(&self) -> usize {
        let words = |shard: &Mutex<Shard>| lock(shard).classes.iter().map(|class| class.words.len()).sum::<usize>();
        self.shards.iter().map(words).sum::<usize>() * 4
    }

    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    fn shard(&self, key: &str) -> MutexGuard<'_, Shard> {
        let chosen = self.hashers[0].hash_one(key) % (self.shards.len() as u64);
        lock(&self.shards[usize::try_from(chosen).unwrap_or(0)])
    }
}

impl Shard {
    fn find(&self, fingerprint: u64) -> Option<(usize, usize)> {
        let of = |class: &Class| class.position(|class, at| class.fingerprint(at) == fingerprint);
        self.classes.iter().enumerate().find_map(|(index, class)| Some((index, of(class)?)))
    }
}

impl Class {
    fn stride(&self) -> usize {
        HEAD + self.quota
    }

    /// Where each record begins.
    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.words.len()).step_by(self.stride())
    }

    fn position(&self, is_it: impl Fn(&Self, usize) -> bool) -> Option<usize> {
        self.starts().find(|at| is_it(self, *at))
    }

    fn pair(&self, at: usize) -> u64 {
        u64::from(self.words[at]) | u64::from(self.words[at + 1]) << 32
    }

    fn fingerprint(&self, at: usize) -> u64 {
        self.pair(at)
    }

    fn len(&self, at: usize) -> u64 {
        self.pair(at + 2) & ((1 << LENGTH_BITS) - 1)
    }

    fn ends(&self, at: usize) -> u32 {
        self.words[at + 5]
    }

    fn nearest_to_fresh(&self) -> Option<usize> {
        self.starts().min_by_key(|at| (self.len(*at), self.ends(*at)))
    }

    fn grow(&mut self) -> usize {
        let (at, stride) = (self.words.len(), self.stride());
        if self.words.capacity() < at + stride {
            // A class that is alone in its shard ends with the shard's size.
            self.words.reserve_exact((stride * STEP).min(SHARD_WORDS.saturating_sub(at)).max(stride));
        }
        self.words.resize(at + stride, 0);
        at
    }

    /// Removes a record and answers with its words.
    fn take(&mut self, at: usize) -> Vec<u32> {
        let (stride, last) = (self.stride(), self.words.len() - self.stride());
        let taken = self.words[at..at + stride].to_vec();
        self.words.copy_within(last.., at);
        self.words.truncate(last);
        taken
    }

    /// Overwrites a record with an empty one, or with what stood in another class: the newest hits that fit.
    fn fill(&mut self, at: usize, fingerprint: u64, old: Option<&[u32]>) {
        let stride = self.stride();
        self.words[at..at + stride].fill(0);
        let (low, high) = halves(fingerprint);
        (self.words[at], self.words[at + 1]) = (low, high);
        let Some(old) = old else { return };
        let old = Self { quota: old.len() - HEAD, words: old.to_vec() };
        let (base, len) = (old.pair(2) >> LENGTH_BITS, usize::try_from(old.len(0)).unwrap_or(0));
        let (told, ends) = (old.words[4], old.words[5]);
        self.show(at, |mut page| {
            for offset in &old.words[HEAD..HEAD + len.min(old.quota)] {
                page.times.push(base + u64::from(*offset), 1);
            }
            (*page.told_until, *page.ends) = (told, ends);
        });
    }

    fn show<R>(&mut self, at: usize, change: impl FnOnce(Page<'_>) -> R) -> R {
        let mut base = self.pair(at + 2) >> LENGTH_BITS;
        let mut len = u32::try_from(self.len(at)).unwrap_or(0);
        let stride = self.stride();
        let (head, offsets) = self.words[at..at + stride].split_at_mut(HEAD);
        let (mut told_until, mut ends) = (head[4], head[5]);
        let times = Times { base: &mut base, len: &mut len, offsets };
        let answer = change(Page { times, told_until: &mut told_until, ends: &mut ends });
        let (low, high) = halves(base << LENGTH_BITS | u64::from(len));
        head[2..].copy_from_slice(&[low, high, told_until, ends]);
        answer
    }
}

fn halves(whole: u64) -> (u32, u32) {
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    (half(whole), half(whole >> 32))
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Journal(…)")
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
