//! The sliding window of two counters: what the previous window admitted counts in proportion to how much of it still
//! lies less than a window ago. It refuses the doubling at the border between two windows, at the price of an estimate.

use super::{Outcome, Rule, State};

/// Where a client's first window begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At the hit that opens it.
    FirstHit,
    /// At the last multiple of the window's length since the epoch.
    Epoch,
}

/// Two neighbouring windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliding {
    /// Where the current window began, in microseconds.
    pub start: u64,
    pub current: u32,
    pub previous: u32,
}

impl From<Sliding> for State {
    fn from(it: Sliding) -> Self {
        Self { at: it.start, counted: u64::from(it.current) << 32 | u64::from(it.previous) }
    }
}

impl From<State> for Sliding {
    fn from(it: State) -> Self {
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        Self { start: it.at, current: half(it.counted >> 32), previous: half(it.counted) }
    }
}

/// One hit. A refused one changes nothing.
pub fn sliding(anchor: Anchor, state: Option<Sliding>, now: u64, rule: Rule, cost: u32) -> (Option<Sliding>, Outcome) {
    let window = rule.window;
    let held = rolled(anchor, state, now, window);
    // A clock that stepped back a little stands still until it has caught up.
    let behind = held.start.saturating_sub(now);
    let elapsed = now.saturating_sub(held.start);
    let (current, previous) = (u64::from(held.current), u64::from(held.previous));
    let budget = rule.ticks(rule.quota.into());
    let fading = previous.saturating_mul(window - elapsed);
    let used = fading.saturating_add(rule.ticks(current));
    let left = budget.saturating_sub(used);
    let wanted = rule.ticks(cost.into());
    let fresh = behind + 2 * window - elapsed;
    if wanted <= left {
        let next = Sliding { current: held.current.saturating_add(cost), ..held };
        let remaining = rule.hits(left - wanted);
        // Where nothing remains, the end of the window brings nothing back by itself: it only begins to fade then.
        let rest = if remaining == 0 { room_for(1, next, elapsed, rule) } else { window - elapsed };
        return (Some(next), Outcome { admitted: true, remaining, rest: behind + rest, fresh });
    }
    let rest = if cost > rule.quota { window } else { room_for(cost, held, elapsed, rule) };
    (None, Outcome { admitted: false, remaining: rule.hits(left), rest: behind + rest, fresh })
}

/// Until a cost fits that does not fit now, if nothing else comes.
fn room_for(cost: u32, held: Sliding, elapsed: u64, rule: Rule) -> u64 {
    let (current, previous) = (u64::from(held.current), u64::from(held.previous));
    let (budget, wanted) = (rule.ticks(rule.quota.into()), rule.ticks(cost.into()));
    let left = rule.window - elapsed;
    if rule.ticks(current).saturating_add(wanted) <= budget {
        // Enough of the previous window fades while this one runs.
        let used = previous.saturating_mul(left).saturating_add(rule.ticks(current));
        (used + wanted).saturating_sub(budget).div_ceil(previous.max(1))
    } else {
        // Only when this window has become the previous one, and has faded enough itself.
        let over = rule.ticks((current + u64::from(cost)).saturating_sub(rule.quota.into()));
        left + over.div_ceil(current.max(1))
    }
}

/// The two windows as they stand now.
fn rolled(anchor: Anchor, state: Option<Sliding>, now: u64, window: u64) -> Sliding {
    match state {
        Some(held) if now < held.start.saturating_add(window) && held.start <= now.saturating_add(window) => held,
        Some(held) if now >= held.start && now < held.start.saturating_add(2 * window) => {
            Sliding { start: held.start + window, current: 0, previous: held.current }
        }
        _ => {
            let start = match anchor {
                Anchor::FirstHit => now,
                Anchor::Epoch => now - now % window.max(1),
            };
            Sliding { start, current: 0, previous: 0 }
        }
    }
}
