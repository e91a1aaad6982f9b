//! Which of the two stores decides: Redis while it answers, memory otherwise. The breaker and its log lines.
//! After a switch to memory no request touches Redis; only `probe` may bring it back.

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Attempt,
    attempt::ALLOWANCE,
    fault::Fault,
    memory::Seen,
    redis::{Hit, IN_FLIGHT, RedisAddress, Wire},
};
use crate::clock::{Clock, Timestamp};

/// Faults in a row, with no decision between, that switch the process to memory.
const FAULTS_IN_A_ROW: u32 = 3;

/// Turns given to the runtime after a timeout: one to read the socket, one to hand the answer over, one in reserve.
const LAST_LOOKS: u32 = 3;

/// The store that decides now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Redis,
    Memory,
}

impl Backend {
    /// Its name in `/health/detailed`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Memory => "memory",
        }
    }
}

/// How Redis does, for `/health/detailed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedisState {
    Healthy {
        /// Of the last PING.
        latency: Duration,
        since: Timestamp,
    },
    Unreachable {
        since: Timestamp,
    },
    /// None is configured.
    Disabled,
}

/// The switch between the stores.
pub(super) struct Switch {
    pub(super) address: Option<RedisAddress>,
    clock: Clock,
    standing: RwLock<Standing>,
}

struct Standing {
    link: Option<Arc<Link>>,
    since: Timestamp,
    /// Whether the log knows that Redis is away.
    announced: bool,
}

/// One step with a lease of a concurrency limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease<'a> {
    pub(super) key: &'a str,
    /// `take`, `renew` or `release`.
    pub(super) step: &'static str,
    pub(super) token: &'a str,
    pub(super) limit: u32,
    /// Milliseconds.
    pub(super) ttl: u64,
}

/// Redis while it is in use.
pub(super) struct Link {
    pub(super) wire: Wire,
    /// Cancelled by the switch to memory, so that calls in flight stop waiting at once.
    pub(super) gone: CancellationToken,
    permits: Semaphore,
    faults: AtomicU32,
    latency_micros: AtomicU64,
}

impl Link {
    /// Notes how long a PING took.
    pub(super) fn note_latency(&self, latency: Duration) {
        self.latency_micros.store(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }
}

impl Switch {
    /// On memory until somebody reaches Redis.
    pub(super) fn new(address: Option<RedisAddress>, clock: Clock) -> Self {
        let standing = RwLock::new(Standing { link: None, since: clock.now(), announced: false });
        Self { address, clock, standing }
    }

    /// Redis, when it decides now.
    pub(super) fn link(&self) -> Option<Arc<Link>> {
        self.standing.read().unwrap_or_else(PoisonError::into_inner).link.clone()
    }

    pub(super) fn state(&self) -> RedisState {
        let standing = self.standing.read().unwrap_or_else(PoisonError::into_inner);
        let since = standing.since;
        match &standing.link {
            _ if self.address.is_none() => RedisState::Disabled,
            Some(link) => {
                RedisState::Healthy { latency: Duration::from_micros(link.latency_micros.load(Relaxed)), since }
            }
            None => RedisState::Unreachable { since },
        }
    }

    /// Takes, renews or gives back a lease. `None`: Redis is away.
    pub(super) async fn lease(&self, lease: &Lease<'_>) -> Option<bool> {
        let link = self.link()?;
        let answer = tokio::select! {
            answer = within(ALLOWANCE, link.wire.lease(lease)) => answer,
            () = link.gone.cancelled() => return None,
        };
        match answer {
            Ok(done) => {
                link.faults.store(0, Relaxed);
                Some(done)
            }
            Err(fault) => {
                self.blame(&link, fault);
                None
            }
        }
    }

    /// Counts a fault, and switches to memory when it was one too many.
    fn blame(&self, link: &Arc<Link>, fault: Fault) {
        let in_a_row = link.faults.fetch_add(1, Relaxed).saturating_add(1);
        if fault.ends_connection() || in_a_row >= FAULTS_IN_A_ROW {
            self.fall_back(link, fault);
        }
    }

    /// Lets Redis decide, within the request's allowance. `None`: memory decides.
    pub(super) async fn ask(&self, hits: &[Hit<'_>], attempt: &Attempt) -> Option<Vec<Seen>> {
        let allowance = attempt.allowance()?;
        let link = self.link()?;
        let Ok(_permit) = link.permits.try_acquire() else {
            attempt.stay_on_memory();
            return None;
        };
        let asked = self.clock.monotonic();
        let answer = tokio::select! {
            answer = within(allowance, link.wire.decide(hits)) => Some(answer),
            () = link.gone.cancelled() => None,
        };
        attempt.spend(self.clock.monotonic().saturating_sub(asked));
        match answer {
            Some(Ok(seen)) => {
                link.faults.store(0, Relaxed);
                return Some(seen);
            }
            Some(Err(fault)) => self.blame(&link, fault),
            None => {}
        }
        attempt.stay_on_memory();
        None
    }

    /// Switches to memory, if `link` is still the one in use.
    pub(super) fn fall_back(&self, link: &Arc<Link>, fault: Fault) {
        let since = self.clock.now();
        let mut standing = self.standing.write().unwrap_or_else(PoisonError::into_inner);
        if !standing.link.as_ref().is_some_and(|current| Arc::ptr_eq(current, link)) {
            return;
        }
        *standing = Standing { link: None, since, announced: true };
        drop(standing);
        link.gone.cancel();
        log_absence(fault);
    }

    /// Says once that Redis does not answer, when it never did since the start.
    pub(super) fn announce_absence(&self, fault: Fault) {
        let mut standing = self.standing.write().unwrap_or_else(PoisonError::into_inner);
        let first = !standing.announced;
        standing.announced = true;
        drop(standing);
        if first {
            log_absence(fault);
        }
    }

    /// Switches to Redis.
    pub(super) fn return_to(&self, wire: Wire, latency: Duration) {
        let link = Link {
            wire,
            gone: CancellationToken::new(),
            permits: Semaphore::new(IN_FLIGHT),
            faults: AtomicU32::new(0),
            latency_micros: AtomicU64::new(0),
        };
        link.note_latency(latency);
        let since = self.clock.now();
        let mut standing = self.standing.write().unwrap_or_else(PoisonError::into_inner);
        let was_away = standing.announced;
        *standing = Standing { link: Some(Arc::new(link)), since, announced: false };
        drop(standing);
        if was_away {
            tracing::info!("Redis available again");
        }
    }

    /// The time a sign of life took, on the handed-in clock.
    pub(super) fn stopwatch(&self) -> impl FnOnce() -> Duration {
        let clock = self.clock.clone();
        let started = clock.monotonic();
        move || clock.monotonic().saturating_sub(started)
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Switch(…)")
    }
}

/// Waits for Redis, and then looks once more without waiting: on a machine that stalls, the answer lies in the socket
/// already, and Redis is not to blame.
async fn within<T>(allowance: Duration, call: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let mut call = pin!(call);
    if let Ok(answer) = timeout(allowance, &mut call).await {
        return answer;
    }
    for _ in 0..LAST_LOOKS {
        tokio::task::yield_now().await;
        if let Some(answer) = call.as_mut().now_or_never() {
            return answer;
        }
    }
    Err(Fault::Timeout)
}

fn log_absence(fault: Fault) {
    tracing::warn!("Redis unavailable ({}), using in-memory fallback", fault.class());
}
