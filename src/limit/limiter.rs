//! The limiter: one decision over all buckets that a request meets at one place, on whichever store answers.
//! It never errors and never waits longer than the request's allowance; what goes wrong in here admits.

use std::{
    fmt,
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, Guard};
use tokio_util::sync::CancellationToken;

use super::{
    Backend, Charge, ClientIp, Quotas, RedisAddress, RedisState, Refusal,
    backend::{Lease, Switch},
    decision::Ask,
    memory::Memory,
    metrics::{Metrics, Standing},
    policy::{Policies, Policy, PolicySource, Profile},
    probe,
    refused::Refused,
};
use crate::clock::Clock;

/// Between two sweeps of the memory.
const SWEEP: Duration = Duration::from_mins(1);

/// Mebibytes of the memory, when nobody says otherwise.
const MEMORY_MB: usize = 16;

/// Who asks the buckets. Clones share everything.
#[derive(Clone)]
pub struct Limiter(pub(super) Arc<Parts>);

pub(super) struct Parts {
    pub(super) source: PolicySource,
    pub(super) policies: ArcSwap<Policies>,
    pub(super) memory: Memory,
    pub(super) refused: Refused,
    pub(super) switch: Switch,
    pub(super) clock: Clock,
    pub(super) key: Option<[u8; 32]>,
    pub(super) taken_over: AtomicU64,
    pub(super) panics: AtomicU64,
    pub(super) metrics: Metrics,
}

/// What a limiter is made of.
#[derive(Debug)]
pub struct Setup {
    pub source: PolicySource,
    /// As read from the source.
    pub policies: Policies,
    pub redis: Option<RedisAddress>,
    pub memory_mb: usize,
    /// With which keys are digested, when they are (`RATE_LIMIT_HASH_KEYS`).
    pub key: Option<[u8; 32]>,
}

impl Setup {
    /// The reference's profile, with these quotas.
    pub fn reference(quotas: Quotas, redis: Option<RedisAddress>) -> Self {
        let source = PolicySource { quotas, ..PolicySource::default() };
        let policies = Policies::of_profile(Profile::Reference, &quotas);
        Self { source, policies, redis, memory_mb: MEMORY_MB, key: None }
    }
}

impl Limiter {
    /// A limiter of the reference's profile on memory; [`Limiter::begin`] and [`Limiter::run`] bring it to Redis.
    pub fn new(quotas: Quotas, redis: Option<RedisAddress>, clock: Clock) -> Self {
        Self::with(Setup::reference(quotas, redis), clock)
    }

    /// A limiter on memory.
    pub fn with(setup: Setup, clock: Clock) -> Self {
        Self(Arc::new(Parts {
            memory: Memory::new(clock.clone(), setup.memory_mb, setup.source.profile.journal_percent()),
            source: setup.source,
            policies: ArcSwap::from_pointee(setup.policies),
            refused: Refused::new(),
            switch: Switch::new(setup.redis, clock.clone()),
            clock,
            key: setup.key,
            taken_over: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            metrics: Metrics::new(),
        }))
    }

    /// Tries once to begin on Redis, for a quarter of a second at most. Without it the process begins on memory.
    pub async fn begin(&self) {
        if let Some(address) = &self.0.switch.address {
            probe::begin(&self.0.switch, address).await;
        } else {
            tracing::info!("No Redis is configured, rate limits are kept in memory");
        }
    }

    /// The key under which a charge is counted now; `None` when its policy is off.
    pub fn stored_key(&self, charge: &Charge<'_>) -> Option<String> {
        self.counted_as(charge).map(|(_, key)| key)
    }

    /// The policy and the key of a charge; `None` when its policy is off.
    pub(super) fn counted_as(&self, charge: &Charge<'_>) -> Option<(Arc<Policy>, String)> {
        let policies = self.current();
        let ask = Ask::of(charge, &policies)?;
        Some((Arc::clone(ask.policy), self.redis_key(&ask)))
    }

    /// The policies that hold now.
    pub fn policies(&self) -> Arc<Policies> {
        self.0.policies.load_full()
    }

    /// The same, to look at and let go: every request does, on every core.
    pub(super) fn current(&self) -> Guard<Arc<Policies>> {
        self.0.policies.load()
    }

    /// Whether the policies put budgets on any route.
    pub fn has_routes(&self) -> bool {
        self.current().has_routes()
    }

    /// Whether a client's network is never admitted.
    pub fn shuts_out(&self, client: &ClientIp) -> Option<Refusal> {
        self.current().networks.never(client).then(Refusal::network)
    }

    /// Reads the policies again, and keeps the old ones when there is a fault or `check` finds one. Counts go on.
    pub fn reload(&self, check: impl FnOnce(&Policies) -> Vec<String>) {
        let Some(path) = &self.0.source.path else { return };
        let sound = |policies: Policies| {
            let faults = check(&policies);
            if faults.is_empty() { Ok(policies) } else { Err(faults) }
        };
        match self.0.source.load().and_then(sound) {
            Ok(policies) => {
                self.0.policies.store(Arc::new(policies));
                // What the old ones refused may be admitted now.
                self.forget();
                tracing::info!(path = %path.display(), "Rate limit policies read again");
            }
            Err(faults) => {
                for fault in faults {
                    tracing::error!(path = %path.display(), "Rate limit policies refused, the old ones stay: {fault}");
                }
            }
        }
    }

    /// One step with a lease; `None` while Redis is away.
    pub(super) async fn lease(&self, lease: &Lease<'_>) -> Option<bool> {
        self.0.switch.lease(lease).await
    }

    /// Whether a Redis is configured.
    pub fn has_redis(&self) -> bool {
        self.0.switch.address.is_some()
    }

    /// With which keys are digested.
    pub(super) fn key(&self) -> Option<&[u8; 32]> {
        self.0.key.as_ref()
    }

    /// Forgets the refusals that this process answers by itself. Counts stay.
    pub fn forget(&self) {
        self.0.refused.forget();
    }

    pub(super) fn now(&self) -> u64 {
        self.0.clock.monotonic_micros()
    }

    /// The quotas that variables set.
    pub fn quotas(&self) -> &Quotas {
        &self.0.source.quotas
    }

    /// The store that decides now.
    pub fn backend(&self) -> Backend {
        if self.0.switch.link().is_some() { Backend::Redis } else { Backend::Memory }
    }

    /// How Redis does.
    pub fn redis_state(&self) -> RedisState {
        self.0.switch.state()
    }

    /// How many decisions memory took because Redis, which is configured, did not.
    pub fn decided_by_memory(&self) -> u64 {
        self.0.taken_over.load(Relaxed)
    }

    /// How many decisions broke and admitted.
    pub fn panics(&self) -> u64 {
        self.0.panics.load(Relaxed)
    }

    /// How many entries that still said something the memory had to give up for lack of room.
    pub fn evicted(&self) -> u64 {
        self.0.memory.evicted()
    }

    /// How many entries the memory holds, ended ones included until they are swept.
    pub fn held(&self) -> usize {
        self.0.memory.len()
    }

    /// The limiter's numbers as Prometheus reads them; `forwarded` counts headers that were not believed.
    pub fn metrics(&self, forwarded: &[(&'static str, u64)]) -> String {
        let standing = Standing {
            backend: self.backend(),
            redis: self.redis_state(),
            evicted: self.evicted(),
            held: self.held(),
            panics: self.panics(),
        };
        self.0.metrics.render(&standing, forwarded)
    }

    /// Watches Redis and sweeps the memory until cancelled.
    pub async fn run(&self, cancel: CancellationToken) {
        let watch = async {
            match &self.0.switch.address {
                Some(address) => probe::watch(&self.0.switch, address).await,
                None => pending().await,
            }
        };
        let sweep = async {
            loop {
                tokio::time::sleep(SWEEP).await;
                self.0.memory.sweep().await;
            }
        };
        tokio::select! {
            () = cancel.cancelled() => {}
            () = watch => {}
            () = sweep => {}
        }
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Limiter({})", self.backend().name())
    }
}
