//! The log: the time of every admitted hit. The only algorithm that never admits more than the quota in any trailing
//! window, and the only one whose state grows with it.

use super::{Outcome, Rule};

/// The newest admitted hits, oldest first: one more than the slice has places are kept.
#[derive(Debug)]
pub struct Times<'a> {
    /// The time of the oldest, in microseconds.
    pub base: &'a mut u64,
    pub len: &'a mut u32,
    /// How much later each of the others was.
    pub offsets: &'a mut [u32],
}

impl Times<'_> {
    fn len(&self) -> usize {
        usize::try_from(*self.len).unwrap_or(usize::MAX).min(self.room())
    }

    /// How many are kept at most.
    fn room(&self) -> usize {
        self.offsets.len() + 1
    }

    fn at(&self, index: usize) -> u64 {
        let offset = index.checked_sub(1).and_then(|later| self.offsets.get(later));
        self.base.saturating_add(offset.copied().unwrap_or(0).into())
    }

    /// The time of the newest.
    pub fn newest(&self) -> Option<u64> {
        self.len().checked_sub(1).map(|last| self.at(last))
    }

    /// Drops the `count` oldest.
    fn drop_oldest(&mut self, count: usize) {
        let (len, count) = (self.len(), count.min(self.len()));
        if count == 0 {
            return;
        }
        if count < len {
            let shift = self.offsets[count - 1];
            self.offsets.copy_within(count..len - 1, 0);
            for offset in &mut self.offsets[..len - 1 - count] {
                *offset = offset.saturating_sub(shift);
            }
            *self.base = self.base.saturating_add(shift.into());
        }
        *self.len = u32::try_from(len - count).unwrap_or(0);
    }

    /// Appends `count` hits at `now`, which no hit is later than. Without room the oldest make way.
    pub fn push(&mut self, now: u64, count: usize) {
        let count = count.min(self.room());
        self.drop_oldest((self.len() + count).saturating_sub(self.room()));
        let len = self.len();
        if len == 0 {
            *self.base = now;
        }
        // What is further away than an offset reaches has left every window that `log` takes.
        let offset = u32::try_from(now.saturating_sub(*self.base)).unwrap_or(u32::MAX);
        self.offsets[len.saturating_sub(1)..(len + count).saturating_sub(1)].fill(offset);
        *self.len = u32::try_from(len + count).unwrap_or(u32::MAX);
    }

    /// How many have left the window that ends now.
    fn left(&self, now: u64, window: u64) -> usize {
        let gone = |offset: &u32| self.base.saturating_add(u64::from(*offset)) + window <= now;
        match self.len().checked_sub(1) {
            Some(later) if gone(&0) => 1 + self.offsets[..later].partition_point(gone),
            _ => 0,
        }
    }
}

/// One hit. A refused one changes nothing.
pub fn log(times: &mut Times<'_>, now: u64, rule: Rule, cost: u32) -> Outcome {
    let window = rule.window;
    // A clock that stepped back a little stands still until it has caught up; a time from beyond the window is foreign.
    let now = match times.newest() {
        Some(newest) if newest > now.saturating_add(window) => {
            times.drop_oldest(usize::MAX);
            now
        }
        Some(newest) => now.max(newest),
        None => now,
    };
    let (quota, cost) = (u64::from(rule.quota), u64::from(cost));
    let left = times.left(now, window);
    let running = u64::try_from(times.len() - left).unwrap_or(u64::MAX);
    let until_fresh = |times: &Times<'_>| times.newest().map_or(0, |newest| (newest + window).saturating_sub(now));
    if running + cost <= quota {
        times.drop_oldest(left);
        times.push(now, usize::try_from(cost).unwrap_or(usize::MAX));
        let remaining = u32::try_from(quota - running - cost).unwrap_or(u32::MAX);
        let rest = times.at(0) + window - now;
        return Outcome { admitted: true, remaining, rest, fresh: until_fresh(times) };
    }
    let remaining = u32::try_from(quota.saturating_sub(running)).unwrap_or(0);
    // The hit whose leaving makes room for this one.
    let decisive = usize::try_from((running + cost - quota).saturating_sub(1)).unwrap_or(usize::MAX);
    let rest = if cost > quota { window } else { times.at(left.saturating_add(decisive)) + window - now };
    Outcome { admitted: false, remaining, rest, fresh: until_fresh(times) }
}
