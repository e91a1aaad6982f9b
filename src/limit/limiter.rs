//! The limiter: one decision over all buckets that a request meets at one place, on whichever store answers.
//! It never errors and never waits longer than the request's allowance; what goes wrong in here admits.

use std::{
    fmt,
    future::pending,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{
    Attempt, Backend, Charge, ClientIp, Quotas, RedisAddress, RedisState, Refusal, Verdict,
    algorithm::Rule,
    backend::Switch,
    memory::{Memory, Reading},
    probe,
    redis::Hit,
    report,
};
use crate::clock::Clock;

/// Between two sweeps of the memory.
const SWEEP: Duration = Duration::from_mins(1);

/// Who asks the buckets. Clones share everything.
#[derive(Clone)]
pub struct Limiter(Arc<Parts>);

struct Parts {
    quotas: Quotas,
    memory: Memory,
    switch: Switch,
    by_memory: AtomicU64,
    panics: AtomicU64,
}

impl Limiter {
    /// A limiter on memory; [`Limiter::begin`] and [`Limiter::run`] bring it to Redis.
    pub fn new(quotas: Quotas, redis: Option<RedisAddress>, clock: Clock) -> Self {
        let memory = Memory::new(clock.clone());
        Self(Arc::new(Parts {
            quotas,
            memory,
            switch: Switch::new(redis, clock),
            by_memory: AtomicU64::new(0),
            panics: AtomicU64::new(0),
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

    /// Charges in order until one is refused: what stands before the refusal is spent, what stands behind it is not.
    /// `route` is the matched template, for the log.
    pub async fn decide(&self, charges: &[Charge], client: &ClientIp, route: &str, attempt: &Attempt) -> Verdict {
        let judged = AssertUnwindSafe(self.judge(charges, client, route, attempt)).catch_unwind().await;
        judged.unwrap_or_else(|_| {
            self.0.panics.fetch_add(1, Relaxed);
            tracing::error!(request_id = %attempt.request_id(), "Rate limiter error, request admitted");
            Verdict::Admitted
        })
    }

    async fn judge(&self, charges: &[Charge], client: &ClientIp, route: &str, attempt: &Attempt) -> Verdict {
        for (charge, reading) in charges.iter().zip(self.ask(charges, attempt).await) {
            attempt.record(charge.bucket(), &reading);
            if !reading.admitted {
                if reading.first_refusal {
                    report::refusal(charge, reading.rest, client, route, attempt);
                }
                return Verdict::Refused(Refusal::new(charge.bucket(), reading.rest));
            }
        }
        Verdict::Admitted
    }

    /// One reading per bucket that was asked: all of them, or up to the first refusal.
    async fn ask(&self, charges: &[Charge], attempt: &Attempt) -> Vec<Reading> {
        let hits: Vec<Hit<'_>> = charges.iter().map(|charge| (charge.key(), self.rule(charge))).collect();
        if hits.is_empty() {
            return Vec::new();
        }
        let memory = &self.0.memory;
        if let Some(outcomes) = self.0.switch.ask(&hits, attempt).await {
            return hits.iter().zip(&outcomes).map(|((key, rule), seen)| memory.keep_warm(key, *rule, seen)).collect();
        }
        self.0.by_memory.fetch_add(1, Relaxed);
        let mut readings = Vec::with_capacity(hits.len());
        for (key, rule) in hits {
            let reading = memory.hit(key, rule);
            readings.push(reading);
            if !reading.admitted {
                break;
            }
        }
        readings
    }

    fn rule(&self, charge: &Charge) -> Rule {
        let bucket = charge.bucket();
        let window = u64::try_from(bucket.window().as_micros()).unwrap_or(u64::MAX);
        Rule { quota: bucket.quota(&self.0.quotas), window }
    }

    /// The quotas it decides by.
    pub fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    /// The store that decides now.
    pub fn backend(&self) -> Backend {
        if self.0.switch.link().is_some() { Backend::Redis } else { Backend::Memory }
    }

    /// How Redis does.
    pub fn redis_state(&self) -> RedisState {
        self.0.switch.state()
    }

    /// How many decisions memory took.
    pub fn decided_by_memory(&self) -> u64 {
        self.0.by_memory.load(Relaxed)
    }

    /// How many decisions broke and admitted.
    pub fn panics(&self) -> u64 {
        self.0.panics.load(Relaxed)
    }

    /// How many running windows the memory had to give up for lack of room.
    pub fn evicted(&self) -> u64 {
        self.0.memory.evicted()
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
