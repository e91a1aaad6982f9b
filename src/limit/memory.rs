//! The embedded store: the same algorithms per process, bounded, on a clock that never runs backwards. It refuses nobody
//! for lack of a slot, and never forgets a running refusal while a fresher entry is there.

use std::{fmt, hash::Hash, time::Duration};

use super::{
    algorithm::{self, Algorithm, Fixed, Outcome, Rule, State, log},
    journal::{Journal, Page},
    table::{Entry, SLOT_BYTES, Share, Table, seconds_down, seconds_up},
};
use crate::clock::Clock;

/// How far apart (µs) two reports of one window may lie: they travelled for up to a request's whole allowance.
const SAME_WINDOW: u64 = 100_000;

/// Bytes of a mebibyte, in which operators size the memory.
const MIB: usize = 1024 * 1024;

/// How a bucket stands after one hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    pub admitted: bool,
    /// How many more would be admitted at this moment.
    pub remaining: u32,
    /// Refused: until this hit is admitted. Admitted: until the budget, or the oldest part of it, is back.
    pub rest: Duration,
    /// Whether this is the first refusal of this key and window: the one that is logged.
    pub first_refusal: bool,
}

/// What Redis answered for one bucket: its outcome, and the state it holds now, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub outcome: Outcome,
    /// The state's moment and its two numbers, as `decide.lua` answers them.
    pub state: [u64; 3],
    /// The server's time in microseconds; 0 when the decision needed none.
    pub now: u64,
}

/// The running budgets of this process.
pub struct Memory {
    clock: Clock,
    /// What the calendar said when the monotonic clock stood at `started`: windows of the epoch are reckoned from it.
    epoch: u64,
    started: u64,
    table: Table,
    journal: Journal,
}

impl Memory {
    /// An empty memory of so many mebibytes in all, `journal_percent` of them for `log`.
    pub fn new(clock: Clock, mebibytes: usize, journal_percent: usize) -> Self {
        let bytes = mebibytes.max(1) * MIB;
        let journal = bytes / 100 * journal_percent.min(90);
        Self::with_size(clock, (bytes - journal) / SLOT_BYTES, journal)
    }

    /// An empty memory of so many slots, and so many bytes for `log`.
    pub fn with_size(clock: Clock, slots: usize, journal_bytes: usize) -> Self {
        let epoch = u64::try_from(clock.now().micros()).unwrap_or(0);
        let started = clock.monotonic_micros();
        Self { clock, epoch, started, table: Table::new(slots), journal: Journal::new(journal_bytes) }
    }

    /// Charges one hit.
    pub fn hit(&self, key: &(impl Hash + ?Sized), rule: Rule, cost: u32) -> Reading {
        if rule.algorithm == Algorithm::Log {
            return self.journal.visit(
                key,
                rule.quota,
                || seconds_down(self.age()),
                |page| self.hit_page(page, rule, cost),
            );
        }
        self.table.visit(
            key,
            || seconds_down(self.age()),
            |held| {
                let age = self.age();
                let now = self.epoch.saturating_add(age);
                let (next, outcome) = algorithm::step(held.map(|entry| entry.state), now, rule, cost);
                self.note(rule, held, next, outcome, age)
            },
        )
    }

    /// Writes down what Redis answered, so that falling over to this memory gives nobody a fresh budget.
    pub fn keep_warm(&self, key: &(impl Hash + ?Sized), rule: Rule, seen: &Seen) -> Reading {
        if rule.algorithm == Algorithm::Log {
            return self.journal.visit(
                key,
                rule.quota,
                || seconds_down(self.age()),
                |page| self.warm_page(page, rule, &seen.outcome),
            );
        }
        self.table.visit(
            key,
            || seconds_down(self.age()),
            |held| {
                let age = self.age();
                let now = self.epoch.saturating_add(age);
                let told = warmed(held.map(|entry| entry.state), rule, now, seen);
                // A window that Redis began anew has refused nobody yet.
                let same = held.filter(|entry| is_same_window(entry.state, told, rule, now));
                self.note(rule, same, Some(told), seen.outcome, age)
            },
        )
    }

    fn hit_page(&self, mut page: Page<'_>, rule: Rule, cost: u32) -> Reading {
        let age = self.age();
        let outcome = log(&mut page.times, age, rule, cost);
        note_page(&mut page, rule, outcome, age)
    }

    /// Redis knows hits that this process does not: what is missing is entered as late as the answer allows.
    fn warm_page(&self, mut page: Page<'_>, rule: Rule, seen: &Outcome) -> Reading {
        let age = self.age();
        let probe = log(&mut page.times, age, Rule { quota: u32::MAX, ..rule }, 0);
        let running = u32::MAX - probe.remaining;
        let spent = rule.quota.saturating_sub(seen.remaining);
        let missing = usize::try_from(spent.saturating_sub(running)).unwrap_or(0);
        let at = if seen.admitted { age } else { (age + seen.rest).saturating_sub(rule.window) };
        page.times.push(at.max(page.times.newest().unwrap_or(0)), missing);
        note_page(&mut page, rule, *seen, age)
    }

    /// The entry to keep, and the reading: a refusal is told once per window.
    fn note(
        &self,
        rule: Rule,
        held: Option<Entry>,
        next: Option<State>,
        outcome: Outcome,
        age: u64,
    ) -> (Option<(Entry, Share)>, Reading) {
        let told_until = held.map_or(0, |entry| entry.told_until);
        let told = match rule.algorithm {
            // Exactly as long as the window that refused.
            Algorithm::Fixed => told_until > 0 && held.is_some_and(|entry| entry.state.at > self.epoch + age),
            _ => told_until > seconds_down(age),
        };
        let first_refusal = !outcome.admitted && !told;
        let told_until = match (first_refusal, told) {
            (true, _) => seconds_up(age.saturating_add(rule.window)),
            (false, true) => told_until,
            (false, false) => 0,
        };
        let state = next.or(held.map(|entry| entry.state));
        let ends = seconds_up(age.saturating_add(outcome.fresh));
        let share = share(outcome.remaining, rule.capacity());
        let entry = state.map(|state| (Entry { state, told_until, ends }, share));
        (entry, Reading::of(&outcome, first_refusal))
    }

    /// Forgets one key.
    pub fn forget(&self, key: &(impl Hash + ?Sized)) {
        self.table.forget(key);
        self.journal.forget(key);
    }

    /// Drops what has ended; requests go on meanwhile.
    pub async fn sweep(&self) {
        self.table.sweep(|| seconds_down(self.age())).await;
        self.journal.sweep(|| seconds_down(self.age())).await;
    }

    /// How many entries are held, ended ones included until they are swept.
    pub fn len(&self) -> usize {
        self.table.len() + self.journal.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the records of `log` take now. The table's size is fixed.
    pub fn journal_bytes(&self) -> usize {
        self.journal.bytes()
    }

    /// How many entries that still said something had to make room.
    pub fn evicted(&self) -> u64 {
        self.table.evicted() + self.journal.evicted()
    }

    /// Microseconds since this memory began.
    fn age(&self) -> u64 {
        self.clock.monotonic_micros().saturating_sub(self.started)
    }
}

impl Reading {
    /// How an outcome reads.
    pub(super) fn of(outcome: &Outcome, first_refusal: bool) -> Self {
        Self {
            admitted: outcome.admitted,
            remaining: outcome.remaining,
            rest: Duration::from_micros(outcome.rest),
            first_refusal,
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory(…)")
    }
}

fn note_page(page: &mut Page<'_>, rule: Rule, outcome: Outcome, age: u64) -> Reading {
    let told = *page.told_until > seconds_down(age);
    let first_refusal = !outcome.admitted && !told;
    if first_refusal {
        *page.told_until = seconds_up(age.saturating_add(rule.window));
    }
    *page.ends = seconds_up(age.saturating_add(outcome.fresh.max(outcome.rest)));
    Reading::of(&outcome, first_refusal)
}

/// How much of a budget is used: 255 only when nothing remains, so that no refusal is taken for something fresher.
fn share(remaining: u32, capacity: u32) -> Share {
    let used = u64::from(capacity.saturating_sub(remaining));
    if remaining == 0 { u8::MAX } else { u8::try_from(used * 254 / u64::from(capacity.max(1))).unwrap_or(254) }
}

/// Redis's state on this process's clock. Answers overtake each other, and single hits may have been counted here alone:
/// of two reports of one window the one that spends more stands. Another window is Redis's to tell.
fn warmed(held: Option<State>, rule: Rule, now: u64, seen: &Seen) -> State {
    let [at, one, two] = seen.state;
    let here = at.saturating_add(now).saturating_sub(seen.now);
    let told = match rule.algorithm {
        Algorithm::Fixed | Algorithm::Log => {
            let count = rule.quota.saturating_sub(seen.outcome.remaining).into();
            State { at: now.saturating_add(seen.outcome.rest), counted: count }
        }
        Algorithm::Sliding | Algorithm::SlidingEpoch => State { at: here, counted: one << 32 | (two & 0xffff_ffff) },
        Algorithm::Gcra | Algorithm::Bucket => State { at: here, counted: one },
    };
    // The whole state of `gcra` is a moment, and the later one has spent more.
    let spent = |it: State| (if rule.algorithm == Algorithm::Gcra { it.at } else { 0 }, it.counted);
    match held {
        Some(held) if is_same_window(held, told, rule, now) => match rule.algorithm {
            Algorithm::Fixed => {
                let held = Fixed::from(held);
                State { at: told.at.max(held.end), counted: told.counted.max(held.count) }
            }
            _ if told.at.abs_diff(held.at) <= SAME_WINDOW && spent(held) > spent(told) => held,
            _ => told,
        },
        _ => told,
    }
}

/// Whether two states speak of one window: for algorithms without windows, always.
fn is_same_window(held: State, told: State, rule: Rule, now: u64) -> bool {
    rule.algorithm != Algorithm::Fixed || (held.at > now && held.at.abs_diff(told.at) <= SAME_WINDOW)
}
