//! The operator's desk: what stands in Redis, and what the next request would meet. It looks by the same keys and the
//! same functions that decide, charges nothing, and acts on Redis alone: what a process keeps in its memory is its own.

use redis::{Pipeline, cmd};

use super::{
    Charge, Limiter, RedisAddress,
    algorithm::{self, Algorithm, Outcome, Rule, State, Times},
    fault::Fault,
    redis::Wire,
};

/// Keys that one SCAN step looks at.
const STEP: u32 = 500;

/// All keys of the limiter.
const OURS: &str = "rate_limit:";

/// The desk, with its own connection.
#[derive(Debug)]
pub struct Desk(Wire);

/// What stands under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub key: String,
    pub value: String,
    /// Milliseconds; negative when the key has none.
    pub ttl: i64,
}

/// What the next request would meet at one bucket.
#[derive(Clone, Debug)]
pub struct Forecast {
    pub policy: String,
    pub key: String,
    pub rule: Rule,
    pub outcome: Outcome,
}

impl Desk {
    /// Connects.
    ///
    /// # Errors
    /// The class of the fault.
    pub async fn open(address: &RedisAddress) -> Result<Self, &'static str> {
        Wire::connect(address).await.map(Self).map_err(Fault::class)
    }

    /// The keys that match `pattern` after `rate_limit:`, sorted.
    ///
    /// # Errors
    /// The class of the fault.
    pub async fn list(&self, pattern: &str) -> Result<Vec<String>, &'static str> {
        let pattern = if pattern.starts_with(OURS) { pattern.to_owned() } else { format!("{OURS}{pattern}") };
        let mut keys = Vec::new();
        for mut holder in self.0.holders() {
            let mut cursor = 0_u64;
            loop {
                let scan = cmd("SCAN").arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(STEP).to_owned();
                let answer = scan.query_async(&mut holder).await;
                let (next, mut some): (u64, Vec<String>) = answer.map_err(|error| Fault::from(error).class())?;
                keys.append(&mut some);
                cursor = next;
                if cursor == 0 {
                    break;
                }
            }
        }
        keys.sort();
        keys.dedup();
        Ok(keys)
    }

    /// What stands under a key; `None` when nothing does.
    ///
    /// # Errors
    /// The class of the fault.
    pub async fn show(&self, key: &str) -> Result<Option<Standing>, &'static str> {
        let kind: String = self.0.run(key, cmd("TYPE").arg(key)).await.map_err(Fault::class)?;
        let value = match kind.as_str() {
            "none" => return Ok(None),
            "string" => {
                self.0.run::<Option<String>>(key, cmd("GET").arg(key)).await.map_err(Fault::class)?.unwrap_or_default()
            }
            "list" => {
                let hits: u64 = self.0.run(key, cmd("LLEN").arg(key)).await.map_err(Fault::class)?;
                format!("{hits} hits")
            }
            "zset" => {
                let held: u64 = self.0.run(key, cmd("ZCARD").arg(key)).await.map_err(Fault::class)?;
                format!("{held} held")
            }
            other => format!("a {other}, which is not ours"),
        };
        let ttl = self.0.run(key, cmd("PTTL").arg(key)).await.map_err(Fault::class)?;
        Ok(Some(Standing { key: key.to_owned(), value, ttl }))
    }

    /// Deletes keys; answers how many there were. Processes see it within a second.
    ///
    /// # Errors
    /// The class of the fault.
    pub async fn reset(&self, keys: &[String]) -> Result<u64, &'static str> {
        if keys.iter().any(|key| !key.starts_with(OURS)) {
            return Ok(0);
        }
        let mut count = 0;
        for key in keys {
            count += self.0.run::<u64>(key, cmd("DEL").arg(key)).await.map_err(Fault::class)?;
        }
        Ok(count)
    }

    /// What the next request would meet at each of these buckets.
    ///
    /// # Errors
    /// The class of the fault.
    pub async fn explain(&self, limiter: &Limiter, charges: &[Charge<'_>]) -> Result<Vec<Forecast>, &'static str> {
        let mut forecasts = Vec::new();
        for charge in charges {
            let Some((policy, key)) = limiter.counted_as(charge) else { continue };
            let outcome = self.forecast(&key, policy.rule, policy.cost).await.map_err(Fault::class)?;
            forecasts.push(Forecast { policy: policy.name.to_string(), key, rule: policy.rule, outcome });
        }
        Ok(forecasts)
    }

    async fn forecast(&self, key: &str, rule: Rule, cost: u32) -> Result<Outcome, Fault> {
        let mut look = Pipeline::new();
        look.cmd("TIME").cmd("PTTL").arg(key);
        if rule.algorithm == Algorithm::Log {
            look.cmd("LRANGE").arg(key).arg(0).arg(-1);
            let ((seconds, micros), _, times): ((u64, u64), i64, Vec<u64>) = self.0.pipe(key, &look).await?;
            let (mut base, mut len) = (0, 0);
            let mut offsets = vec![0; usize::try_from(rule.quota - 1).unwrap_or(0)];
            let mut log = Times { base: &mut base, len: &mut len, offsets: &mut offsets };
            for time in times {
                log.push(time, 1);
            }
            return Ok(algorithm::log(&mut log, seconds * 1_000_000 + micros, rule, cost));
        }
        look.cmd("GET").arg(key);
        let ((seconds, micros), ttl, value): ((u64, u64), i64, Option<String>) = self.0.pipe(key, &look).await?;
        let now = seconds * 1_000_000 + micros;
        let state = value.as_deref().and_then(|value| read(value, rule, now, ttl));
        Ok(algorithm::step(state, now, rule, cost).1)
    }
}

/// A stored value as a state.
fn read(value: &str, rule: Rule, now: u64, ttl: i64) -> Option<State> {
    if rule.algorithm == Algorithm::Fixed {
        let rest = u64::try_from(ttl).map_or(rule.window, |millis| millis.saturating_mul(1000));
        return Some(State { at: now.saturating_add(rest), counted: value.parse().ok()? });
    }
    let mut numbers = value.split(':').map(str::parse::<u64>);
    let (at, one, two) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    let counted = match rule.algorithm {
        Algorithm::Sliding | Algorithm::SlidingEpoch => one << 32 | two,
        _ => one,
    };
    Some(State { at, counted })
}
