//! A memory that was told what Redis answered goes on from there: the same decisions, on a clock of its own.

use std::time::Duration;

use labs_auth::limit::{
    algorithm::{Algorithm, Outcome, Rule, State, step},
    memory::{Memory, Reading, Seen},
};

use super::world::Hand;

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;

/// Redis's clock is ahead of ours by whole windows, so that windows of the epoch begin at the same moments.
const AHEAD: u64 = 1_000_000 * MINUTE;

const STATEFUL: [Algorithm; 4] = [Algorithm::Sliding, Algorithm::SlidingEpoch, Algorithm::Gcra, Algorithm::Bucket];

/// Redis, as far as one key is concerned.
struct Far {
    rule: Rule,
    state: Option<State>,
}

impl Far {
    /// Decides at a moment of our clock.
    fn decide(&mut self, now: u64) -> Outcome {
        let (next, outcome) = step(self.state, now + AHEAD, self.rule, 1);
        self.state = next.or(self.state);
        outcome
    }

    /// What `decide.lua` answers.
    fn hit(&mut self, now: u64) -> Seen {
        let outcome = self.decide(now);
        let State { at, counted } = self.state.unwrap_or_default();
        let state = match self.rule.algorithm {
            Algorithm::Sliding | Algorithm::SlidingEpoch => [at, counted >> 32, counted & 0xffff_ffff],
            _ => [at, counted, 0],
        };
        Seen { outcome, state, now: now + AHEAD }
    }
}

struct Pair {
    hand: Hand,
    near: Memory,
    far: Far,
}

impl Pair {
    fn new(algorithm: Algorithm, quota: u32) -> Self {
        let hand = Hand::default();
        let near = Memory::with_size(hand.clock(), 16, 0);
        Self { hand, near, far: Far { rule: Rule::new(algorithm, quota, MINUTE), state: None } }
    }

    fn pass(&self, micros: u64) {
        self.hand.advance(Duration::from_micros(micros));
    }

    fn now(&self) -> u64 {
        u64::try_from(self.hand.clock().now().micros()).unwrap()
    }

    fn seen(&mut self) -> Seen {
        let now = self.now();
        self.far.hit(now)
    }

    fn tell(&self, seen: &Seen) -> Reading {
        self.near.keep_warm("k", self.far.rule, seen)
    }

    /// Both decide about one more hit, and agree.
    fn agree(&mut self) -> bool {
        let (now, near) = (self.now(), self.near.hit("k", self.far.rule, 1));
        let far = self.far.decide(now);
        let rest = Duration::from_micros(far.rest);
        assert_eq!(
            (near.admitted, near.remaining, near.rest),
            (far.admitted, far.remaining, rest),
            "{:?}",
            self.far.rule
        );
        near.admitted
    }
}

/// A report of a fixed window.
const fn fixed(remaining: u32, rest: u64) -> Seen {
    Seen { outcome: Outcome { admitted: remaining > 0, remaining, rest, fresh: rest }, state: [0; 3], now: 0 }
}

#[test]
fn memory_goes_on_from_what_redis_answered() {
    for algorithm in STATEFUL.into_iter().chain([Algorithm::Fixed]) {
        let mut pair = Pair::new(algorithm, 5);
        pair.pass(7 * SECOND + 123);
        // Through a whole window and into the next, so that the previous one counts too.
        for wait in [0, 11 * SECOND, SECOND, 51 * SECOND, 3] {
            pair.pass(wait);
            let seen = pair.seen();
            let told = pair.tell(&seen);
            assert_eq!((told.admitted, told.remaining), (seen.outcome.admitted, seen.outcome.remaining));
        }
        let mut refused = 0;
        for _ in 0..24 {
            refused += u32::from(!pair.agree());
            pair.pass(5 * SECOND + 1);
        }
        assert!((1..24).contains(&refused), "{algorithm:?}");
    }
}

#[test]
fn an_answer_that_was_overtaken_takes_nothing_back() {
    for algorithm in STATEFUL {
        // A hit is worth 60 ms, and the two are 1 ms apart.
        let mut pair = Pair::new(algorithm, 1000);
        pair.pass(30 * SECOND);
        let first = pair.seen();
        pair.pass(1000);
        let second = pair.seen();
        pair.tell(&second);
        pair.tell(&first);
        assert!(pair.agree(), "{algorithm:?}");
    }
    let memory = Pair::new(Algorithm::Fixed, 5);
    memory.tell(&fixed(2, MINUTE));
    memory.tell(&fixed(3, MINUTE));
    assert_eq!(memory.near.hit("k", memory.far.rule, 1).remaining, 1);
}

#[test]
fn the_newer_answer_counts_where_both_say_how_much_was_spent() {
    for algorithm in STATEFUL {
        let mut pair = Pair::new(algorithm, 1000);
        pair.pass(30 * SECOND);
        for _ in 0..3 {
            let seen = pair.seen();
            pair.tell(&seen);
            pair.pass(1000);
        }
        assert!(pair.agree(), "{algorithm:?}");
    }
}

#[test]
fn a_budget_that_redis_gave_back_is_given_back_here() {
    for algorithm in STATEFUL {
        let mut pair = Pair::new(algorithm, 5);
        for _ in 0..5 {
            let seen = pair.seen();
            pair.tell(&seen);
        }
        // Somebody resets the key in Redis.
        pair.far.state = None;
        pair.pass(MINUTE + SECOND);
        let seen = pair.seen();
        pair.tell(&seen);
        assert!(pair.agree(), "{algorithm:?}");
    }
}

#[test]
fn reports_of_one_fixed_window_lie_a_tenth_of_a_second_apart_at_most() {
    for (apart, remaining) in [(100_000, 1), (100_001, 3)] {
        let pair = Pair::new(Algorithm::Fixed, 5);
        pair.tell(&fixed(2, MINUTE));
        pair.tell(&fixed(4, MINUTE - apart));
        let reading = pair.near.hit("k", pair.far.rule, 1);
        assert_eq!(reading.remaining, remaining, "{apart}");
        // Of one window the later end stands.
        let rest = if apart > 100_000 { MINUTE - apart } else { MINUTE };
        assert_eq!(reading.rest, Duration::from_micros(rest), "{apart}");
    }
}

#[test]
fn of_one_fixed_window_the_larger_count_and_the_later_end_stand() {
    let pair = Pair::new(Algorithm::Fixed, 5);
    pair.tell(&fixed(4, MINUTE));
    pair.tell(&fixed(2, MINUTE - 100_000));
    let reading = pair.near.hit("k", pair.far.rule, 1);
    assert_eq!((reading.remaining, reading.rest), (1, Duration::from_micros(MINUTE)));
}

#[test]
fn of_two_buckets_with_the_same_lack_the_later_one_stands() {
    let pair = Pair::new(Algorithm::Bucket, 6000);
    let lack = |stamp| {
        let outcome = Outcome { admitted: true, remaining: 5900, rest: SECOND, fresh: SECOND };
        Seen { outcome, state: [stamp, 100 * MINUTE, 0], now: stamp }
    };
    pair.tell(&lack(AHEAD));
    pair.pass(50_000);
    pair.tell(&lack(AHEAD + 50_000));
    assert_eq!(pair.near.hit("k", pair.far.rule, 1).remaining, 5899);
}

#[test]
fn states_of_two_counters_lie_a_tenth_of_a_second_apart_at_most() {
    for (apart, remaining) in [(100_000, 1), (100_001, 2)] {
        let pair = Pair::new(Algorithm::Sliding, 5);
        let seen = |start, current: u64| {
            let outcome = Outcome { admitted: true, remaining: 0, rest: MINUTE, fresh: 2 * MINUTE };
            Seen { outcome, state: [start, current, 0], now: AHEAD }
        };
        pair.tell(&seen(AHEAD, 3));
        pair.tell(&seen(AHEAD + apart, 2));
        assert_eq!(pair.near.hit("k", pair.far.rule, 1).remaining, remaining, "{apart}");
    }
}

#[test]
fn a_fixed_window_that_has_ended_here_says_nothing_about_the_next() {
    let pair = Pair::new(Algorithm::Fixed, 5);
    pair.tell(&fixed(0, SECOND));
    pair.pass(SECOND);
    // Our window ends at this moment; the next one, almost over, is another.
    pair.tell(&fixed(4, 50_000));
    assert_eq!(pair.near.hit("k", pair.far.rule, 1).remaining, 3);
}

#[test]
fn a_window_that_redis_began_anew_has_refused_nobody_yet() {
    let pair = Pair::new(Algorithm::Fixed, 5);
    let told = |rest| pair.tell(&fixed(0, rest)).first_refusal;
    assert_eq!([told(MINUTE), told(MINUTE)], [true, false]);
    pair.pass(10 * SECOND);
    assert_eq!([told(50 * SECOND), told(MINUTE), told(MINUTE)], [false, true, false]);
}
