//! One decision, step by step: which policies a request meets, who counts for each, and what ends the request.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use futures_util::FutureExt;

use super::{
    Attempt, Backend, Charge, ClientIp, Limiter, Refusal, Verdict,
    charge::Key,
    memory::{Reading, Seen},
    metrics::{Ended, Store},
    policy::{Fail, Mode, Over, Policies, Policy},
    redis::Hit,
    report,
};

/// One question of a decision.
pub(super) struct Ask<'a> {
    charge: &'a Charge<'a>,
    pub(super) policy: &'a Arc<Policy>,
}

impl<'a> Ask<'a> {
    /// What a charge asks; `None` when its policy is off.
    pub(super) fn of(charge: &'a Charge<'a>, policies: &'a Policies) -> Option<Self> {
        let policy = charge.policy().or_else(|| policies.of(charge.bucket()))?;
        (policy.mode != Mode::Off).then_some(Self { charge, policy })
    }

    /// What memory counts under.
    fn key(&self) -> Key<'a> {
        Key { charge: self.charge, algorithm: self.policy.rule.algorithm }
    }

    /// What Redis is asked, under this key.
    fn hit<'k>(&self, key: &'k str) -> Hit<'k> {
        let Policy { rule, cost, mode, .. } = **self.policy;
        Hit { key, rule, cost, goes_on: mode == Mode::Shadow }
    }
}

/// What one ask met.
enum Met {
    /// The reading, and who counted.
    Counted(Reading, Store),
    /// Nothing counted it, on purpose.
    Open,
    Closed,
}

impl Limiter {
    /// Charges in order until one is refused: what stands before the refusal is spent, what stands behind it is not.
    /// `route` is the matched template, for the log.
    pub async fn decide(&self, charges: &[Charge<'_>], client: &ClientIp, route: &str, attempt: &Attempt) -> Verdict {
        if let Some(verdict) = self.decide_now(charges, client, route, attempt) {
            return verdict;
        }
        let judged = AssertUnwindSafe(self.judge(charges, client, route, attempt)).catch_unwind().await;
        judged.unwrap_or_else(|_| self.admit_broken(attempt))
    }

    /// The same for whoever cannot wait; `None` where a Redis is configured, which has to be asked.
    pub fn decide_now(
        &self,
        charges: &[Charge<'_>],
        client: &ClientIp,
        route: &str,
        attempt: &Attempt,
    ) -> Option<Verdict> {
        if self.has_redis() {
            return None;
        }
        let judged = catch_unwind(AssertUnwindSafe(|| self.judge_on_memory(charges, client, route, attempt)));
        Some(judged.unwrap_or_else(|_| self.admit_broken(attempt)))
    }

    fn admit_broken(&self, attempt: &Attempt) -> Verdict {
        self.0.panics.fetch_add(1, Relaxed);
        tracing::error!(request_id = %attempt.request_id(), "Rate limiter error, request admitted");
        Verdict::Admitted
    }

    fn judge_on_memory(&self, charges: &[Charge<'_>], client: &ClientIp, route: &str, attempt: &Attempt) -> Verdict {
        let policies = self.current();
        if policies.networks.always(client) {
            return Verdict::Admitted;
        }
        for ask in charges.iter().filter_map(|charge| Ask::of(charge, &policies)) {
            let met = self.count_on_memory(&ask);
            if let Some(refusal) = self.weigh(&ask, &met, client, route, attempt) {
                return Verdict::Refused(refusal);
            }
        }
        Verdict::Admitted
    }

    async fn judge(&self, charges: &[Charge<'_>], client: &ClientIp, route: &str, attempt: &Attempt) -> Verdict {
        let policies = self.policies();
        if policies.networks.always(client) {
            return Verdict::Admitted;
        }
        let asks: Vec<Ask<'_>> = charges.iter().filter_map(|charge| Ask::of(charge, &policies)).collect();
        let mut asked = 0;
        while asked < asks.len() {
            let open = &asks[asked..];
            let met = self.ask(open, attempt).await;
            if met.is_empty() {
                break;
            }
            asked += met.len();
            for (ask, met) in open.iter().zip(met) {
                if let Some(refusal) = self.weigh(ask, &met, client, route, attempt) {
                    return Verdict::Refused(refusal);
                }
            }
        }
        Verdict::Admitted
    }

    /// The key under which Redis counts what is asked.
    pub(super) fn redis_key(&self, ask: &Ask<'_>) -> String {
        let key = self.0.key.as_ref().map_or_else(|| ask.charge.key(), |secret| ask.charge.digested(secret));
        key + ask.policy.rule.algorithm.suffix()
    }

    /// Notes what was met, and tells whether it ends the request.
    fn weigh(&self, ask: &Ask<'_>, met: &Met, client: &ClientIp, route: &str, attempt: &Attempt) -> Option<Refusal> {
        let policy = ask.policy;
        let (reading, store) = match met {
            Met::Counted(reading, store) => (reading, *store),
            Met::Open => {
                self.0.metrics.decided(policy, Ended::Admitted, Store::None);
                return None;
            }
            Met::Closed => {
                self.0.metrics.decided(policy, Ended::Unavailable, Store::None);
                return Some(Refusal::unavailable(policy.bucket));
            }
        };
        let mut refused = !reading.admitted && policy.mode == Mode::Enforce;
        if refused && let Some(hook) = &policy.on_limit {
            let (request_id, wait) = (attempt.request_id(), reading.rest);
            refused = !hook.admits(&Over { policy, client, route, request_id, wait });
        }
        let ended = match (refused, reading.admitted, policy.mode) {
            (true, ..) => Ended::Refused,
            (false, false, Mode::Shadow) => Ended::Shadowed,
            (false, ..) => Ended::Admitted,
        };
        self.0.metrics.decided(policy, ended, store);
        if policy.headers {
            attempt.record(policy, reading, refused);
        }
        if reading.first_refusal {
            report::refusal(ask.charge, policy, reading.rest, client, route, attempt);
        }
        refused.then(|| Refusal::new(policy.bucket, reading.rest))
    }

    /// What each ask met: all of them, or up to the first that refuses.
    async fn ask(&self, asks: &[Ask<'_>], attempt: &Attempt) -> Vec<Met> {
        // What this process knows to be refused is not asked again; what stands before it is.
        let now = self.now();
        let mut known = asks.iter().enumerate().filter(|(_, ask)| ask.policy.mode == Mode::Enforce);
        let known =
            known.find_map(|(index, ask)| Some((index, self.0.refused.find(&ask.key(), ask.policy.cost, now)?)));
        let (open, known) = match known {
            Some((index, reading)) if self.backend() == Backend::Redis => (&asks[..index], Some(reading)),
            _ => (asks, None),
        };
        let mut met = match self.ask_redis(open, attempt).await {
            Some(met) => met,
            None => self.ask_memory_instead(open),
        };
        if met.len() == open.len()
            && let Some(reading) = known
        {
            met.push(Met::Counted(reading, Store::Process));
        }
        met
    }

    async fn ask_redis(&self, asks: &[Ask<'_>], attempt: &Attempt) -> Option<Vec<Met>> {
        if asks.is_empty() {
            return Some(Vec::new());
        }
        let keys: Vec<String> = asks.iter().map(|ask| self.redis_key(ask)).collect();
        let hits: Vec<Hit<'_>> = asks.iter().zip(&keys).map(|(ask, key)| ask.hit(key)).collect();
        let asked = self.now();
        // Boxed, so that a request that memory decides does not carry it along.
        let seen = Box::pin(self.0.switch.ask(&hits, attempt)).await?;
        let now = self.now();
        self.0.metrics.waited(Duration::from_micros(now.saturating_sub(asked)));
        let note = |(ask, seen): (&Ask<'_>, &Seen)| {
            let (key, cost) = (ask.key(), ask.policy.cost);
            let reading = self.0.memory.keep_warm(&key, ask.policy.rule, seen);
            if reading.admitted {
                self.0.refused.lift(&key, cost, now);
            } else if reading.remaining == 0 {
                self.0.refused.keep(&key, cost, reading.rest, now);
            }
            Met::Counted(reading, Store::Redis)
        };
        Some(asks.iter().zip(&seen).map(note).collect())
    }

    /// Lets memory decide instead of Redis, of which each policy has its own idea.
    fn ask_memory_instead(&self, asks: &[Ask<'_>]) -> Vec<Met> {
        self.0.taken_over.fetch_add(1, Relaxed);
        let mut all = Vec::with_capacity(asks.len());
        for ask in asks {
            let policy = ask.policy;
            let met = match policy.fail {
                Fail::Open => Met::Open,
                Fail::Closed if policy.mode == Mode::Enforce => Met::Closed,
                Fail::Closed | Fail::Memory => self.count_on_memory(ask),
            };
            let ends = match &met {
                Met::Open => false,
                Met::Closed => true,
                Met::Counted(reading, _) => !reading.admitted && policy.mode != Mode::Shadow,
            };
            all.push(met);
            if ends {
                break;
            }
        }
        all
    }

    fn count_on_memory(&self, ask: &Ask<'_>) -> Met {
        Met::Counted(self.0.memory.hit(&ask.key(), ask.policy.rule, ask.policy.cost), Store::Memory)
    }
}
