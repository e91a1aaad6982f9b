//! Argon2id, bounded. Hashing takes a core and 19 MiB for tens of milliseconds, so only as many run at once as there are
//! cores; the rest wait their turn for a bounded time and are then told that the service is busy. The permit moves into
//! the blocking thread: a client that leaves does not free the core it still uses.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use tokio::sync::Semaphore;

use crate::{
    account::password::{Fitting, Proof},
    error::{ApiError, ErrorCode, RetryAfter},
    secret::Entropy,
};

/// Memory of one hash in KiB: 19 MiB, the first recommendation of the OWASP password storage sheet for Argon2id.
const MEMORY_KIB: u32 = 19 * 1024;

/// Passes over the memory, from the same recommendation.
const PASSES: u32 = 2;

/// Lanes, from the same recommendation.
const LANES: u32 = 1;

/// Bytes of salt.
const SALT: usize = 16;

/// Longest that a request waits for its turn.
const WAIT: Duration = Duration::from_secs(10);

/// Requests that may wait at once; beyond, a request is refused immediately.
const QUEUE: usize = 1024;

/// What a client that was turned away is told to wait.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// The hashing slots of this process.
#[derive(Clone, Debug)]
pub struct Hashing {
    slots: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    entropy: Entropy,
    /// What a password is compared with when there is no account or no password: equal cost, never equal.
    decoy: Arc<str>,
}

/// Whether a password fitted, and whether its hash should be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Wrong,
    Right { outdated: bool },
}

impl Hashing {
    /// A pool of `slots` concurrent hashes.
    ///
    /// # Errors
    /// When Argon2 refuses its own parameters, which is a defect.
    pub fn new(slots: usize, entropy: Entropy) -> Result<Self, String> {
        let unguessable: [u8; 32] = entropy.bytes();
        let decoy = hash(&unguessable, &entropy.bytes())?;
        Ok(Self {
            slots: Arc::new(Semaphore::new(slots.max(1))),
            waiting: Arc::new(AtomicUsize::new(0)),
            entropy,
            decoy: decoy.into(),
        })
    }

    /// Hashes a password under a fresh salt.
    ///
    /// # Errors
    /// 503 when the queue is full or the turn does not come in time.
    pub async fn hash(&self, password: &str) -> Result<String, ApiError> {
        let salt: [u8; SALT] = self.entropy.bytes();
        let password = password.to_owned();
        self.in_turn(move || hash(password.as_bytes(), &salt)).await?.map_err(ApiError::internal)
    }

    /// Compares a password with a stored hash, or does the same work for nothing when there is none.
    ///
    /// # Errors
    /// 503 when the queue is full or the turn does not come in time.
    pub async fn check(&self, password: &str, stored: Option<&str>) -> Result<Check, ApiError> {
        let known = stored.is_some();
        let stored: Arc<str> = stored.map_or_else(|| Arc::clone(&self.decoy), Arc::from);
        let password = password.to_owned();
        let check = self.in_turn(move || check(password.as_bytes(), &stored)).await?.map_err(ApiError::internal)?;
        Ok(if known { check } else { Check::Wrong })
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
        let busy = |cause: &str| {
            ApiError::new(ErrorCode::Unavailable).because(cause).retry_after(RetryAfter::from_wait(BUSY_WAIT))
        };
        let queued = Waiting::enter(&self.waiting).ok_or_else(|| busy("the hashing queue is full"))?;
        let slot = tokio::time::timeout(WAIT, Arc::clone(&self.slots).acquire_owned())
            .await
            .map_err(|_| busy("no hashing slot became free in time"))?
            .map_err(ApiError::internal)?;
        drop(queued);
        let run = move || {
            let _slot = slot;
            work()
        };
        tokio::task::spawn_blocking(run).await.map_err(ApiError::internal)
    }
}

impl Proof for Hashing {
    fn fits<'a>(&'a self, password: &'a str, stored: &'a str) -> Fitting<'a> {
        Box::pin(async move { Ok(self.check(password, Some(stored)).await? != Check::Wrong) })
    }
}

/// A place in the queue; leaving it, by turn or by giving up, frees it.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn enter(count: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(Arc::clone(count));
        (count.fetch_add(1, Ordering::Relaxed) < QUEUE).then_some(place)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn argon2() -> Result<Argon2<'static>, String> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|error| error.to_string())?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &[u8], salt: &[u8; SALT]) -> Result<String, String> {
    let hash: PasswordHash = argon2()?.hash_password_with_salt(password, salt).map_err(|error| error.to_string())?;
    Ok(hash.to_string())
}

fn check(password: &[u8], stored: &str) -> Result<Check, String> {
    let parsed =
        PasswordHash::new(stored).map_err(|error| format!("a stored password hash is not readable: {error}"))?;
    match argon2()?.verify_password(password, &parsed) {
        Ok(()) => Ok(Check::Right { outdated: !is_current(&parsed) }),
        Err(_) => Ok(Check::Wrong),
    }
}

/// Whether a hash was made with today's parameters.
fn is_current(hash: &PasswordHash) -> bool {
    let stored = Params::try_from(hash);
    hash.algorithm.as_str() == "argon2id"
        && stored.is_ok_and(|it| (it.m_cost(), it.t_cost(), it.p_cost()) == (MEMORY_KIB, PASSES, LANES))
}
