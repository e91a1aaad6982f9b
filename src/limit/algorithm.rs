//! How a bucket counts, as pure functions of (state, now, policy) → (state, outcome) in whole microseconds.
//! It refuses to know keys, stores and clocks. Its twin in Redis is `fixed.lua`.

/// The rule of one bucket: at most `quota` in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub quota: u32,
    /// Microseconds.
    pub window: u64,
}

/// A fixed window: how many were admitted in it, and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    pub count: u64,
    /// Microseconds on the clock of `now`.
    pub end: u64,
}

/// What one hit met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub admitted: bool,
    /// How many more the window admits.
    pub remaining: u32,
    /// Microseconds until the window ends; never zero for a refusal.
    pub rest: u64,
}

/// One hit on a fixed window. The window starts with its first hit; a refused hit changes nothing.
pub fn fixed(state: Option<Fixed>, now: u64, rule: Rule) -> (Fixed, Outcome) {
    // An end further away than a whole window can only come from a foreign clock: it is re-armed, like a key without TTL.
    let latest = now.saturating_add(rule.window);
    let Fixed { count, end } = match state {
        Some(running) if running.end > now => Fixed { count: running.count, end: running.end.min(latest) },
        _ => Fixed { count: 0, end: latest },
    };
    let quota = u64::from(rule.quota);
    let admitted = count < quota;
    let count = if admitted { count + 1 } else { count };
    let remaining = u32::try_from(quota.saturating_sub(count)).unwrap_or(u32::MAX);
    (Fixed { count, end }, Outcome { admitted, remaining, rest: end - now })
}
