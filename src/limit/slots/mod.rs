//! At most so many at a time, shared by all processes: leases that are taken, renewed and given back. A process that
//! dies gives its leases back by letting them run out. It refuses to hold anybody for longer than the wait it was given.

mod held;

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    sync::{Mutex as Line, Notify},
    time::{sleep, timeout},
};

pub use self::held::{Held, Slot};
use super::{Limiter, backend::Lease};
use crate::error::{ApiError, ErrorCode, RetryAfter};

/// Most that may be held at once.
const LIMIT_MAX: u32 = 10_000;

/// Longest that the head of a line waits before it asks again: another process may have given a slot back.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Waiters of one process; beyond, nobody waits.
const LINE_MAX: usize = 1024;

/// What a client hears that has too much running.
const SENTENCE: &str = "Too many requests at once. Please try again later.";

/// How a concurrency limit behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotPolicy {
    /// Its part of the key.
    pub name: &'static str,
    /// At most this many at once, 1 to 10,000.
    pub limit: u32,
    /// How long to wait for a slot; zero tries once.
    pub wait: Duration,
    /// After this long the slot of a dead process is free.
    pub ttl: Duration,
    /// What a refused client is told.
    pub retry_after: Duration,
    /// Whether Redis's absence refuses; otherwise each process counts its own.
    pub closed: bool,
    /// Whether each key has slots of its own, and is refused with 429 instead of 503.
    pub per_client: bool,
}

impl SlotPolicy {
    /// So many at once, shared by everybody, nobody waits, leases of a minute.
    pub const fn new(name: &'static str, limit: u32) -> Self {
        let (ttl, retry_after) = (Duration::from_mins(1), Duration::from_secs(1));
        Self { name, limit, wait: Duration::ZERO, ttl, retry_after, closed: false, per_client: false }
    }
}

/// A concurrency limit. Clones share it.
#[derive(Clone)]
pub struct Slots(Arc<Parts>);

pub(super) struct Parts {
    policy: SlotPolicy,
    limiter: Limiter,
    /// What this process holds, and who waits here, by key.
    local: Mutex<HashMap<Box<str>, Arc<Place>>>,
    waiting: AtomicUsize,
}

/// One key in this process.
#[derive(Default)]
struct Place {
    held: AtomicUsize,
    /// First come, first served: only the head of the line asks.
    line: Line<()>,
    given_back: Notify,
}

impl Slots {
    /// A limit.
    ///
    /// # Errors
    /// A sentence for impossible numbers.
    pub fn new(policy: SlotPolicy, limiter: Limiter) -> Result<Self, String> {
        if policy.limit == 0 || policy.limit > LIMIT_MAX {
            return Err(format!("{}: the limit must be from 1 to {LIMIT_MAX}", policy.name));
        }
        if policy.ttl < Duration::from_secs(1) {
            return Err(format!("{}: the ttl must be at least a second", policy.name));
        }
        let (local, waiting) = (Mutex::default(), AtomicUsize::new(0));
        Ok(Self(Arc::new(Parts { policy, limiter, local, waiting })))
    }

    /// Holds a slot of `key`, which is empty for a limit that everybody shares.
    ///
    /// # Errors
    /// 429 for a client that has too much running, 503 when the shared slots are taken or nothing can be counted.
    pub async fn take(&self, key: &str) -> Result<Slot, ApiError> {
        let (parts, place) = (&self.0, self.0.place(key));
        // Whoever does not wait does not line up either.
        if parts.policy.wait.is_zero() {
            return self.once(key, &place).await;
        }
        let waiting = Waiting(&parts.waiting);
        if parts.waiting.fetch_add(1, Relaxed) >= LINE_MAX {
            return Err(self.refusal());
        }
        let mut patience = pin!(sleep(parts.policy.wait));
        let _head = tokio::select! {
            head = place.line.lock() => head,
            () = &mut patience => return Err(self.refusal()),
        };
        loop {
            match self.once(key, &place).await {
                Err(refused) if patience.is_elapsed() => return Err(refused),
                Err(_) => tokio::select! {
                    _ = timeout(ASK_AGAIN, place.given_back.notified()) => {}
                    () = &mut patience => {}
                },
                Ok(slot) => {
                    drop(waiting);
                    return Ok(slot);
                }
            }
        }
    }

    /// One try.
    async fn once(&self, key: &str, place: &Arc<Place>) -> Result<Slot, ApiError> {
        let parts = &self.0;
        // What this process holds counts in any case, so that a fall from Redis doubles nothing here.
        let Some(own) = Own::take(place, parts.policy.limit) else { return Err(self.refusal()) };
        let token = token();
        let stored = parts.key(key);
        match parts.limiter.lease(&parts.lease(&stored, "take", &token)).await {
            Some(true) => Ok(Slot::new(Arc::clone(parts), own, Some((stored, token)))),
            Some(false) => Err(self.refusal()),
            None if parts.policy.closed && parts.limiter.has_redis() => Err(ApiError::new(ErrorCode::Unavailable)
                .because(format!("Redis is away and the slots of {} are closed", parts.policy.name))
                .retry_after(RetryAfter::from_wait(parts.policy.retry_after))),
            None => Ok(Slot::new(Arc::clone(parts), own, None)),
        }
    }

    fn refusal(&self) -> ApiError {
        let policy = &self.0.policy;
        let wait = RetryAfter::from_wait(policy.retry_after);
        if policy.per_client {
            ApiError::rate_limited(SENTENCE, wait)
        } else {
            ApiError::new(ErrorCode::Unavailable)
                .because(format!("every slot of {} is taken", policy.name))
                .retry_after(wait)
        }
    }
}

impl Parts {
    fn key(&self, key: &str) -> String {
        match (key, self.limiter.key()) {
            ("", _) => format!("rate_limit:slots:{}", self.policy.name),
            (key, None) => format!("rate_limit:slots:{}:{key}", self.policy.name),
            (key, Some(secret)) => {
                let digest = blake3::keyed_hash(secret, key.as_bytes()).to_hex();
                format!("rate_limit:slots:{}:{}", self.policy.name, &digest[..32])
            }
        }
    }

    fn lease<'a>(&self, key: &'a str, step: &'static str, token: &'a str) -> Lease<'a> {
        let ttl = u64::try_from(self.policy.ttl.as_millis()).unwrap_or(u64::MAX);
        Lease { key, step, token, limit: self.policy.limit, ttl }
    }

    fn place(&self, key: &str) -> Arc<Place> {
        let mut local = self.local();
        // Places that nobody uses any more go when new ones come.
        if local.len() >= LINE_MAX && !local.contains_key(key) {
            local.retain(|_, place| Arc::strong_count(place) > 1);
        }
        Arc::clone(local.entry(key.into()).or_default())
    }

    fn local(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Place>>> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of this process's own; dropping it calls the head of the line.
pub(super) struct Own(Arc<Place>);

impl Own {
    fn take(place: &Arc<Place>, limit: u32) -> Option<Self> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let room = place.held.fetch_update(Relaxed, Relaxed, |held| (held < limit).then_some(held + 1));
        room.ok().map(|_| Self(Arc::clone(place)))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Relaxed);
        self.0.given_back.notify_one();
    }
}

/// A name that no other lease has. It guards nothing: whoever may write to Redis needs no token.
fn token() -> String {
    let half = || RandomState::new().hash_one(0_u8);
    format!("{:016x}{:016x}", half(), half())
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slots({})", self.0.policy.name)
    }
}
