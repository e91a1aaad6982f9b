//! The generic cell rate algorithm: one moment per client, the one at which its whole burst would be back.
//! It decides as the token bucket does, from half the state.

use super::{Outcome, Rule, State};

/// The moment at which nothing is spent any more: microseconds, and ticks on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    pub tat: u64,
    /// Below the quota.
    pub ticks: u64,
}

impl From<Gcra> for State {
    fn from(it: Gcra) -> Self {
        Self { at: it.tat, counted: it.ticks }
    }
}

impl From<State> for Gcra {
    fn from(it: State) -> Self {
        Self { tat: it.at, ticks: it.counted }
    }
}

/// One hit. A refused one changes nothing.
pub fn gcra(state: Option<Gcra>, now: u64, rule: Rule, cost: u32) -> (Option<Gcra>, Outcome) {
    let rate = rule.rate();
    let full = rule.ticks(rule.burst.into());
    // A schedule in the past says nothing; one beyond the burst comes from a foreign clock or a larger burst.
    let spent = match state {
        Some(held) if held.tat >= now => {
            let ahead = (held.tat - now).saturating_mul(rate.get());
            ahead.saturating_add(held.ticks.min(rate.get() - 1)).min(full)
        }
        _ => 0,
    };
    let wanted = spent.saturating_add(rule.ticks(cost.into()));
    if wanted > full {
        let outcome = Outcome {
            admitted: false,
            remaining: rule.hits(full - spent),
            rest: rule.wait(wanted - full),
            fresh: rule.wait(spent),
        };
        return (None, outcome);
    }
    let next = Gcra { tat: now.saturating_add(wanted / rate), ticks: wanted % rate };
    let back = rule.wait(wanted);
    (Some(next), Outcome { admitted: true, remaining: rule.hits(full - wanted), rest: back, fresh: back })
}
