//! Password hashes, bounded. Hashing takes a core and 19 MiB for tens of milliseconds, so hardly more run at once than
//! there are cores; the rest wait their turn, fairly among clients and for a bounded time, and are then told that the
//! service is busy. The turn moves into the blocking thread: a client that leaves does not free the core it still uses.

mod cost;
mod stored;
mod verify;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub use self::stored::{Stored, Unusable};
use self::verify::Memory;
use crate::{
    account::{
        CurrentPassword,
        password::{Fitting, Proof},
    },
    error::{ApiError, ErrorCode, RetryAfter},
    limit::{ClientIp, Turns},
    secret::Entropy,
};

/// Longest that a request waits for its turn.
const WAIT: Duration = Duration::from_secs(10);

/// Requests that may wait at once; beyond, a request is refused immediately.
const QUEUE: usize = 1024;

/// Hashes of one client that run at once. Its others wait their turn; nobody is refused for having many.
const OF_ONE_CLIENT: usize = 4;

/// What a client that was turned away is told to wait.
const BUSY_WAIT: Duration = Duration::from_secs(5);

/// The hashing slots of this process.
#[derive(Clone, Debug)]
pub struct Hashing {
    turns: Turns,
    memories: Arc<Memories>,
    /// The network on whose behalf it hashes, when one is known.
    client: Option<Arc<str>>,
    entropy: Entropy,
    /// What a password is compared with when there is nothing better: equal cost, never equal.
    decoy: Arc<str>,
}

/// The memory of hashes that have ended, for those that wait: to have 19 MiB from the system anew costs a tenth of a hash.
/// There are never more than slots; when nobody waits, all of it goes back.
#[derive(Default)]
struct Memories(Mutex<Vec<Memory>>);

impl Memories {
    fn take(&self) -> Memory {
        self.kept().pop().unwrap_or_default()
    }

    fn give_back(&self, memory: Memory, somebody_waits: bool) {
        let mut kept = self.kept();
        if !somebody_waits {
            kept.clear();
        } else if memory.is_usual() {
            kept.push(memory);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memories({})", self.kept().len())
    }
}

/// Whether a password fitted, and whether its hash should be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Wrong,
    Right { outdated: bool },
}

/// A password that is to be compared: its NFC form, and what was sent where that may differ.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    normal: &'a str,
    as_sent: &'a str,
}

impl<'a> Candidate<'a> {
    /// A password whose sender may have typed another form than the normal one.
    pub const fn new(normal: &'a str, as_sent: &'a str) -> Self {
        Self { normal, as_sent }
    }
}

impl<'a> From<&'a str> for Candidate<'a> {
    fn from(normal: &'a str) -> Self {
        Self { normal, as_sent: normal }
    }
}

impl<'a> From<&'a CurrentPassword> for Candidate<'a> {
    fn from(password: &'a CurrentPassword) -> Self {
        Self::new(password.as_str(), password.as_sent())
    }
}

impl fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Candidate(…)")
    }
}

impl Hashing {
    /// A pool of `slots` concurrent hashes.
    ///
    /// # Errors
    /// When the decoy is not a hash of today, which is a defect.
    pub fn new(slots: usize, entropy: Entropy) -> Result<Self, String> {
        // A tag of chance: nobody knows a password that makes it, and nothing has to be hashed for it.
        let decoy = verify::recipe_of_today(&entropy.bytes(), &entropy.bytes());
        Stored::parse(&decoy).map_err(|unusable| unusable.to_string())?;
        let turns = Turns::new(slots, OF_ONE_CLIENT, QUEUE);
        Ok(Self { turns, memories: Arc::default(), client: None, entropy, decoy: decoy.into() })
    }

    /// The same slots, taken on behalf of this client.
    #[must_use]
    pub fn on_behalf_of(&self, client: &ClientIp) -> Self {
        Self { client: Some(client.network().as_str().into()), ..self.clone() }
    }

    /// Hashes a password under a fresh salt.
    ///
    /// # Errors
    /// 503 when the queue is full or the turn does not come in time.
    pub async fn hash(&self, password: &str) -> Result<String, ApiError> {
        let salt: [u8; verify::SALT] = self.entropy.bytes();
        let password = password.to_owned();
        self.in_turn(move |memory| verify::hash(password.as_bytes(), &salt, memory)).await?.map_err(ApiError::internal)
    }

    /// Compares a password with a stored hash, or does the same work for nothing when there is none.
    ///
    /// # Errors
    /// 503 when the queue is full or the turn does not come in time.
    pub async fn check<'a>(&self, password: impl Into<Candidate<'a>>, stored: Option<&str>) -> Result<Check, ApiError> {
        self.check_beside(password, stored, None).await
    }

    /// Compares as [`Hashing::check`] does. Without a stored hash the work is that of `neighbour`, somebody else's hash:
    /// where hashes of different costs rest side by side, an unknown address must not be told by its cost.
    ///
    /// # Errors
    /// 503 when the queue is full or the turn does not come in time.
    pub async fn check_beside<'a>(
        &self,
        password: impl Into<Candidate<'a>>,
        stored: Option<&str>,
        neighbour: Option<&str>,
    ) -> Result<Check, ApiError> {
        let password = password.into();
        let (normal, as_sent) = (password.normal.to_owned(), password.as_sent.to_owned());
        let known = stored.is_some();
        let against: Arc<str> = stored.or(neighbour).map_or_else(|| Arc::clone(&self.decoy), Arc::from);
        let decoy = Arc::clone(&self.decoy);
        let check = self
            .in_turn(move |memory| {
                check(&normal, &as_sent, &against, memory).or_else(|cause| {
                    // Nobody signs in by it, and the answer takes its time: a 500 would tell that the address is known.
                    tracing::error!(cause, "A stored password hash cannot be used");
                    check(&normal, &as_sent, &decoy, memory).map(|_| Check::Wrong)
                })
            })
            .await?
            .map_err(ApiError::internal)?;
        Ok(if known { check } else { Check::Wrong })
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let busy = |cause: &str| {
            ApiError::new(ErrorCode::Unavailable).because(cause).retry_after(RetryAfter::from_wait(BUSY_WAIT))
        };
        let client = self.client.as_deref().unwrap_or_default();
        let turn = tokio::time::timeout(WAIT, self.turns.wait(client))
            .await
            .map_err(|_| busy("no hashing slot became free in time"))?
            .ok_or_else(|| busy("the hashing queue is full"))?;
        let (turns, memories) = (self.turns.clone(), Arc::clone(&self.memories));
        let run = move || {
            let _turn = turn;
            let mut memory = memories.take();
            let done = work(&mut memory);
            memories.give_back(memory, turns.waiting() > 0);
            done
        };
        tokio::task::spawn_blocking(run).await.map_err(ApiError::internal)
    }
}

impl Proof for Hashing {
    fn fits<'a>(&'a self, password: &'a CurrentPassword, stored: &'a str) -> Fitting<'a> {
        Box::pin(async move { Ok(self.check(password, Some(stored)).await? != Check::Wrong) })
    }
}

/// The NFC form first. What was sent counts only for a hash from elsewhere, where nobody may have normalised.
fn check(normal: &str, as_sent: &str, stored: &str, memory: &mut Memory) -> Result<Check, String> {
    let stored = Stored::parse(stored).map_err(|unusable| unusable.to_string())?;
    let outdated = !stored.is_current();
    if stored.fits(normal.as_bytes(), memory)? {
        return Ok(Check::Right { outdated: outdated && stored.saw_all_of(normal.as_bytes()) });
    }
    if outdated && as_sent != normal && stored.fits(as_sent.as_bytes(), memory)? {
        return Ok(Check::Right { outdated: stored.saw_all_of(as_sent.as_bytes()) });
    }
    Ok(Check::Wrong)
}
