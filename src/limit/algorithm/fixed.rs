//! The fixed window of the reference: it starts with its first hit, lasts its length and admits exactly the quota.

use super::{Outcome, Rule, State};

/// How much was spent in the window, and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    pub count: u64,
    /// Microseconds on the clock of `now`.
    pub end: u64,
}

impl From<Fixed> for State {
    fn from(it: Fixed) -> Self {
        Self { at: it.end, counted: it.count }
    }
}

impl From<State> for Fixed {
    fn from(it: State) -> Self {
        Self { count: it.counted, end: it.at }
    }
}

/// One hit. A refused one changes nothing, but for a window that had no sane end.
pub fn fixed(state: Option<Fixed>, now: u64, rule: Rule, cost: u32) -> (Option<Fixed>, Outcome) {
    // An end further away than a whole window can only come from a foreign clock: it is re-armed, like a key without TTL.
    let latest = now.saturating_add(rule.window);
    let Fixed { count, end } = match state {
        Some(running) if running.end > now => Fixed { count: running.count, end: running.end.min(latest) },
        _ => Fixed { count: 0, end: latest },
    };
    let quota = u64::from(rule.quota);
    let admitted = count.saturating_add(cost.into()) <= quota;
    let count = if admitted { count + u64::from(cost) } else { count };
    let remaining = u32::try_from(quota.saturating_sub(count)).unwrap_or(u32::MAX);
    let rest = end - now;
    let re_armed = state.is_some_and(|running| running.end > latest);
    let next = (admitted || re_armed).then_some(Fixed { count, end });
    (next, Outcome { admitted, remaining, rest, fresh: rest })
}
