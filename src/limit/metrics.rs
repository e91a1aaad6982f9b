//! What the limiter did, in numbers for Prometheus. No label names a client, a mailbox or a path as it was sent.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use super::{Backend, Bucket, RedisState, policy::Policy, striped::Striped};

/// How a hit ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    Admitted,
    Refused,
    Shadowed,
    Unavailable,
}

impl Ended {
    const COUNT: usize = 4;

    const fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::Shadowed => "shadowed",
            Self::Unavailable => "unavailable",
        }
    }
}

/// Who decided about it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Store {
    Redis,
    Memory,
    /// The process, which remembers its refusals for a moment.
    Process,
    /// Nobody: what happens while Redis is away is settled.
    None,
}

impl Store {
    const COUNT: usize = 4;

    const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Memory => "memory",
            Self::Process => "process",
            Self::None => "none",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Decision {
    policy: Arc<str>,
    outcome: &'static str,
    store: &'static str,
}

type Decisions = Counter<u64, Striped>;

/// The counters of one bucket, by end and store.
type Tally = [OnceLock<Decisions>; Ended::COUNT * Store::COUNT];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// The numbers. Gauges are read when somebody asks.
pub(super) struct Metrics {
    registry: Registry,
    decisions: Family<Decision, Decisions>,
    /// Those of the buckets in [`Bucket::ALL`] that were used: the family is asked by its labels, under a lock that
    /// every core takes.
    known: Box<[Tally]>,
    redis_seconds: Histogram,
    on_redis: Gauge,
    redis_ping_micros: Gauge,
    evictions: Gauge,
    entries: Gauge,
    panics: Gauge,
    forwarded: Family<Reason, Gauge>,
}

/// What is read from the limiter when somebody asks.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) backend: Backend,
    pub(super) redis: RedisState,
    pub(super) evicted: u64,
    pub(super) held: usize,
    pub(super) panics: u64,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("labs_auth_rate_limit");
        let decisions = Family::<Decision, Decisions>::default();
        // From 50 µs, a fast loopback, to beyond the budget of a request.
        let redis_seconds = Histogram::new(exponential_buckets(0.000_05, 2.0, 11));
        let (on_redis, redis_ping_micros, evictions) = (Gauge::default(), Gauge::default(), Gauge::default());
        let (entries, panics, forwarded) = (Gauge::default(), Gauge::default(), Family::default());
        registry.register("decisions", "Hits by policy, outcome and store", Family::clone(&decisions));
        registry.register("redis_seconds", "How long decisions waited for Redis", redis_seconds.clone());
        registry.register("on_redis", "1 while Redis decides, 0 while memory does", on_redis.clone());
        registry.register("redis_ping_micros", "The last PING, 0 while Redis is away", redis_ping_micros.clone());
        registry.register(
            "live_evictions",
            "Entries that still said something and had to make room",
            evictions.clone(),
        );
        registry.register("entries", "Entries in memory", entries.clone());
        registry.register("panics", "Decisions that broke and admitted", panics.clone());
        registry.register(
            "forwarded_rejected",
            "X-Forwarded-For headers that were not believed, by reason",
            Family::clone(&forwarded),
        );
        let known = Bucket::ALL.iter().map(|_| Tally::default()).collect();
        Self {
            registry,
            decisions,
            known,
            redis_seconds,
            on_redis,
            redis_ping_micros,
            evictions,
            entries,
            panics,
            forwarded,
        }
    }

    pub(super) fn decided(&self, policy: &Policy, ended: Ended, store: Store) {
        let counter = || {
            let labels = Decision { policy: Arc::clone(&policy.name), outcome: ended.name(), store: store.name() };
            self.decisions.get_or_create_owned(&labels)
        };
        match Bucket::ALL.iter().position(|bucket| *bucket == policy.bucket) {
            Some(place) => self.known[place][ended as usize * Store::COUNT + store as usize].get_or_init(counter).inc(),
            None => counter().inc(),
        };
    }

    pub(super) fn waited(&self, span: Duration) {
        self.redis_seconds.observe(span.as_secs_f64());
    }

    /// The text that Prometheus reads.
    pub(super) fn render(&self, standing: &Standing, forwarded: &[(&'static str, u64)]) -> String {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.on_redis.set(i64::from(standing.backend == Backend::Redis));
        let ping = match standing.redis {
            RedisState::Healthy { latency, .. } => u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
            RedisState::Unreachable { .. } | RedisState::Disabled => 0,
        };
        self.redis_ping_micros.set(whole(ping));
        self.evictions.set(whole(standing.evicted));
        self.entries.set(i64::try_from(standing.held).unwrap_or(i64::MAX));
        self.panics.set(whole(standing.panics));
        for (reason, count) in forwarded {
            self.forwarded.get_or_create(&Reason { reason }).set(whole(*count));
        }
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}
