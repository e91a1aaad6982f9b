//! One decision, step by step: which policies a request meets, who counts for each, and what ends the request.

use std::{
    borrow::Cow,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use super::{
    Attempt, Backend, Charge, ClientIp, Limiter, Refusal, Verdict,
    memory::{Reading, Seen},
    policy::{Fail, Mode, Over, Policies, Policy},
    redis::Hit,
    report,
};

/// One question of a decision.
pub(super) struct Ask<'a> {
    charge: &'a Charge,
    pub(super) policy: Arc<Policy>,
    pub(super) key: Cow<'a, str>,
}

impl Ask<'_> {
    fn hit(&self) -> Hit<'_> {
        let Policy { rule, cost, mode, .. } = *self.policy;
        Hit { key: &self.key, rule, cost, goes_on: mode == Mode::Shadow }
    }
}

/// What one ask met.
enum Met {
    /// The reading, and who counted.
    Counted(Reading, &'static str),
    /// Nothing counted it, on purpose.
    Open,
    Closed,
}

impl Limiter {
    pub(super) async fn judge(&self, charges: &[Charge], client: &ClientIp, route: &str, attempt: &Attempt) -> Verdict {
        let Some(asks) = self.questions(charges, client) else { return Verdict::Admitted };
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

    /// What is asked; `None` when the client's network is always admitted.
    fn questions<'a>(&self, charges: &'a [Charge], client: &ClientIp) -> Option<Vec<Ask<'a>>> {
        let policies = self.current();
        let asked = !policies.networks.always(client);
        asked.then(|| charges.iter().filter_map(|charge| self.question(charge, &policies)).collect())
    }

    pub(super) fn question<'a>(&self, charge: &'a Charge, policies: &Policies) -> Option<Ask<'a>> {
        let policy = charge.policy().or_else(|| policies.of(charge.bucket()))?;
        if policy.mode == Mode::Off {
            return None;
        }
        let suffix = policy.rule.algorithm.suffix();
        let key = match (&self.0.key, suffix) {
            (None, "") => Cow::Borrowed(charge.key()),
            (None, _) => Cow::Owned([charge.key(), suffix].concat()),
            (Some(key), _) => Cow::Owned(charge.digested(key) + suffix),
        };
        Some(Ask { charge, policy: Arc::clone(policy), key })
    }

    /// Notes what was met, and tells whether it ends the request.
    fn weigh(&self, ask: &Ask<'_>, met: &Met, client: &ClientIp, route: &str, attempt: &Attempt) -> Option<Refusal> {
        let policy = &ask.policy;
        let (reading, store) = match met {
            Met::Counted(reading, store) => (reading, *store),
            Met::Open => {
                self.0.metrics.decided(&policy.name, "admitted", "none");
                return None;
            }
            Met::Closed => {
                self.0.metrics.decided(&policy.name, "unavailable", "none");
                return Some(Refusal::unavailable(policy.bucket));
            }
        };
        let mut refused = !reading.admitted && policy.mode == Mode::Enforce;
        if refused && let Some(hook) = &policy.on_limit {
            let (request_id, wait) = (attempt.request_id(), reading.rest);
            refused = !hook.admits(&Over { policy, client, route, request_id, wait });
        }
        let outcome = match (refused, reading.admitted, policy.mode) {
            (true, ..) => "refused",
            (false, false, Mode::Shadow) => "shadowed",
            (false, ..) => "admitted",
        };
        self.0.metrics.decided(&policy.name, outcome, store);
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
        if asks.is_empty() {
            return Vec::new();
        }
        if self.0.switch.address.is_none() {
            return self.ask_memory(asks, false);
        }
        // What this process knows to be refused is not asked again; what stands before it is.
        let now = self.now();
        let mut known = asks.iter().enumerate().filter(|(_, ask)| ask.policy.mode == Mode::Enforce);
        let known = known.find_map(|(index, ask)| Some((index, self.0.refused.find(&ask.key, ask.policy.cost, now)?)));
        let (open, known) = match known {
            Some((index, reading)) if self.backend() == Backend::Redis => (&asks[..index], Some(reading)),
            _ => (asks, None),
        };
        let mut met = match self.ask_redis(open, attempt).await {
            Some(met) => met,
            None => self.ask_memory(open, true),
        };
        if met.len() == open.len()
            && let Some(reading) = known
        {
            met.push(Met::Counted(reading, "process"));
        }
        met
    }

    async fn ask_redis(&self, asks: &[Ask<'_>], attempt: &Attempt) -> Option<Vec<Met>> {
        if asks.is_empty() {
            return Some(Vec::new());
        }
        let hits: Vec<Hit<'_>> = asks.iter().map(Ask::hit).collect();
        let asked = self.now();
        // Boxed, so that a request that memory decides does not carry it along.
        let seen = Box::pin(self.0.switch.ask(&hits, attempt)).await?;
        let now = self.now();
        self.0.metrics.waited(Duration::from_micros(now.saturating_sub(asked)));
        let note = |(hit, seen): (&Hit<'_>, &Seen)| {
            let reading = self.0.memory.keep_warm(hit.key, hit.rule, hit.cost, seen);
            if reading.admitted {
                self.0.refused.lift(hit.key, hit.cost);
            } else if reading.remaining == 0 {
                self.0.refused.keep(hit.key, hit.cost, reading.rest, now);
            }
            Met::Counted(reading, "redis")
        };
        Some(hits.iter().zip(&seen).map(note).collect())
    }

    /// Lets memory decide. `instead` of Redis, each policy has its own idea of that.
    fn ask_memory(&self, asks: &[Ask<'_>], instead: bool) -> Vec<Met> {
        if !asks.is_empty() {
            self.0.by_memory.fetch_add(1, Relaxed);
        }
        let mut all = Vec::with_capacity(asks.len());
        for ask in asks {
            let policy = &ask.policy;
            let met = match policy.fail {
                Fail::Open if instead => Met::Open,
                Fail::Closed if instead && policy.mode == Mode::Enforce => Met::Closed,
                _ => Met::Counted(self.0.memory.hit(&ask.key, policy.rule, policy.cost), "memory"),
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
}
