//! The token bucket: a burst that refills at a steady rate, looked at only when somebody asks.

use super::{Outcome, Rule, State};

/// What is missing in the bucket, and when that was so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Ticks.
    pub missing: u64,
    /// Microseconds.
    pub stamp: u64,
}

impl From<Bucket> for State {
    fn from(it: Bucket) -> Self {
        Self { at: it.stamp, counted: it.missing }
    }
}

impl From<State> for Bucket {
    fn from(it: State) -> Self {
        Self { missing: it.counted, stamp: it.at }
    }
}

/// One hit. A refused one changes nothing: the refill is reckoned anew from the old stamp.
pub fn bucket(state: Option<Bucket>, now: u64, rule: Rule, cost: u32) -> (Option<Bucket>, Outcome) {
    let full = rule.ticks(rule.burst.into());
    // A clock that stepped back a little stands still until it has caught up; a stamp from further away is foreign.
    let held = state.filter(|held| held.stamp <= now.saturating_add(rule.wait(full)));
    let now = held.map_or(now, |held| now.max(held.stamp));
    let missing = held.map_or(0, |held| {
        let refilled = (now - held.stamp).saturating_mul(rule.rate().get());
        held.missing.saturating_sub(refilled).min(full)
    });
    let tokens = full - missing;
    let price = rule.ticks(cost.into());
    if tokens < price {
        let (remaining, rest, fresh) = (rule.hits(tokens), rule.wait(price - tokens), rule.wait(missing));
        return (None, Outcome { admitted: false, remaining, rest, fresh });
    }
    let next = Bucket { missing: missing + price, stamp: now };
    let back = rule.wait(next.missing);
    (Some(next), Outcome { admitted: true, remaining: rule.hits(tokens - price), rest: back, fresh: back })
}
