//! How a bucket counts, as pure functions of (state, now, cost) → (state, outcome) in whole microseconds. They refuse to
//! know keys, stores and clocks. Each has a twin in `decide.lua`; the tests hold the two against each other.
//!
//! Rates are kept exact without fractions: a *tick* is 1/quota of a microsecond, so one hit is worth `window` ticks and
//! a microsecond gives `quota` ticks back.

mod bucket;
mod fixed;
mod gcra;
mod log;
mod sliding;

use std::{num::NonZero, time::Duration};

pub use self::{
    bucket::{Bucket, bucket},
    fixed::{Fixed, fixed},
    gcra::{Gcra, gcra},
    log::{Times, log},
    sliding::{Anchor, Sliding, sliding},
};

/// Largest product of capacity and window: what a double, the number of Redis's scripts, holds exactly.
const EXACT: u128 = 1 << 53;

/// Most hits that `log` remembers for one client. It keeps every one of them.
pub const LOG_QUOTA_MAX: u32 = 1000;

/// Longest window of `log`, in microseconds: its times are kept as 32-bit offsets.
pub const LOG_WINDOW_MAX: u64 = u32::MAX as u64;

/// Longest window of all, in microseconds: 400 days.
const WINDOW_MAX: u64 = 400 * 24 * 3600 * 1_000_000;

/// Ways to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// A window that starts with its first hit: the reference's.
    Fixed,
    /// The times of the admitted hits: never more than the quota in any trailing window.
    Log,
    /// Two counters, anchored at the first hit.
    Sliding,
    /// Two counters in windows that are multiples of the window's length since the epoch.
    SlidingEpoch,
    /// One time: burst and rate.
    Gcra,
    /// Tokens and a stamp: capacity and rate.
    Bucket,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 6] = [Self::Fixed, Self::Log, Self::Sliding, Self::SlidingEpoch, Self::Gcra, Self::Bucket];

    /// The name in a policy, and the script's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Log => "log",
            Self::Sliding => "sliding",
            Self::SlidingEpoch => "sliding-epoch",
            Self::Gcra => "gcra",
            Self::Bucket => "bucket",
        }
    }

    /// What is appended to a key. Plain keys hold integers and belong to `fixed` alone.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Fixed => "",
            Self::Log => "#log",
            Self::Sliding => "#sliding",
            Self::SlidingEpoch => "#sliding-epoch",
            Self::Gcra => "#gcra",
            Self::Bucket => "#bucket",
        }
    }

    /// The algorithm of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether a burst apart from the quota means anything to it.
    pub const fn has_burst(self) -> bool {
        matches!(self, Self::Gcra | Self::Bucket)
    }
}

/// The rule of one bucket: at most `quota` in a window, counted by `algorithm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub algorithm: Algorithm,
    pub quota: u32,
    /// Microseconds.
    pub window: u64,
    /// How much may come at once, with `gcra` and `bucket`; the quota for the others.
    pub burst: u32,
}

impl Rule {
    /// A rule whose burst is its quota.
    pub const fn new(algorithm: Algorithm, quota: u32, window: u64) -> Self {
        Self { algorithm, quota, window, burst: quota }
    }

    /// The most that a fresh client may spend at once.
    pub const fn capacity(self) -> u32 {
        if self.algorithm.has_burst() { self.burst } else { self.quota }
    }

    /// The window as a span of time.
    pub const fn span(self) -> Duration {
        Duration::from_micros(self.window)
    }

    /// Why the rule is impossible, when it is: the field and a sentence.
    pub fn fault(self) -> Option<(&'static str, String)> {
        if self.quota == 0 {
            return Some(("quota", String::from("must be at least 1")));
        }
        if self.burst == 0 {
            return Some(("burst", String::from("must be at least 1")));
        }
        if self.window < 1000 || !self.window.is_multiple_of(1000) {
            return Some(("window", String::from("must be at least one whole millisecond")));
        }
        if self.window > WINDOW_MAX {
            return Some(("window", String::from("must be at most 400 days")));
        }
        match self.algorithm {
            Algorithm::Log if self.quota > LOG_QUOTA_MAX => {
                Some(("quota", format!("must be at most {LOG_QUOTA_MAX} with log, which keeps every hit")))
            }
            Algorithm::Log if self.window > LOG_WINDOW_MAX => {
                Some(("window", String::from("must be at most 4294s with log")))
            }
            Algorithm::Fixed | Algorithm::Log => None,
            _ if u128::from(self.quota.max(self.burst)) * u128::from(self.window) > EXACT => {
                Some(("quota", String::from("times the window is too large to be counted exactly")))
            }
            _ => None,
        }
    }

    /// The ticks that are worth `hits` hits.
    const fn ticks(self, hits: u64) -> u64 {
        hits.saturating_mul(self.window)
    }

    /// The whole hits in some ticks.
    fn hits(self, ticks: u64) -> u32 {
        u32::try_from(ticks / self.window.max(1)).unwrap_or(u32::MAX)
    }

    /// The microseconds in which so many ticks come back, rounded up.
    fn wait(self, ticks: u64) -> u64 {
        ticks.div_ceil(self.rate().get())
    }

    /// Ticks that a microsecond gives back.
    fn rate(self) -> NonZero<u64> {
        NonZero::new(u64::from(self.quota)).unwrap_or(NonZero::<u64>::MIN)
    }
}

/// What one hit met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub admitted: bool,
    /// How many more would be admitted at this moment.
    pub remaining: u32,
    /// Microseconds. Refused: until this very hit is admitted, never zero. Admitted: until the window ends (`fixed`), the
    /// oldest hit leaves it (`log`), the whole burst is back, or (`sliding`) until the window ends and, where nothing
    /// remains, until one more fits.
    pub rest: u64,
    /// Microseconds until the state says no more than no state.
    pub fresh: u64,
}

/// The state of any algorithm but `log`, as the stores keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// A moment in microseconds.
    pub at: u64,
    /// What was counted, in the algorithm's own packing.
    pub counted: u64,
}

/// One hit by whatever the rule counts with. `None` for a state that stays as it is: the hit was refused.
/// `log` keeps more than a [`State`] and has its own function.
pub fn step(state: Option<State>, now: u64, rule: Rule, cost: u32) -> (Option<State>, Outcome) {
    match rule.algorithm {
        Algorithm::Fixed | Algorithm::Log => packed(fixed(state.map(Fixed::from), now, rule, cost)),
        Algorithm::Sliding => packed(sliding(Anchor::FirstHit, state.map(Sliding::from), now, rule, cost)),
        Algorithm::SlidingEpoch => packed(sliding(Anchor::Epoch, state.map(Sliding::from), now, rule, cost)),
        Algorithm::Gcra => packed(gcra(state.map(Gcra::from), now, rule, cost)),
        Algorithm::Bucket => packed(bucket(state.map(Bucket::from), now, rule, cost)),
    }
}

fn packed<T: Into<State>>((next, outcome): (Option<T>, Outcome)) -> (Option<State>, Outcome) {
    (next.map(Into::into), outcome)
}
