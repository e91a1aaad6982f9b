//! What every algorithm promises, on schedules that nobody thought of: honest waits, exact remainders, bounds over any
//! interval. Each is a pure function here, with the microsecond as its grain. `PROPTEST_CASES` sets how many.

use labs_auth::limit::algorithm::{Algorithm, Outcome, Rule, State, Times, log, step};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_assume, prop_oneof, proptest};

/// An algorithm's state, copied to look ahead without disturbing the present.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counter {
    rule: Rule,
    state: Option<State>,
    base: u64,
    len: u32,
    offsets: Vec<u32>,
}

impl Counter {
    pub(crate) fn new(rule: Rule) -> Self {
        let offsets = if rule.algorithm == Algorithm::Log { vec![0; rule.quota as usize - 1] } else { Vec::new() };
        Self { rule, state: None, base: 0, len: 0, offsets }
    }

    pub(crate) fn hit(&mut self, now: u64, cost: u32) -> Outcome {
        if self.rule.algorithm == Algorithm::Log {
            let mut times = Times { base: &mut self.base, len: &mut self.len, offsets: &mut self.offsets };
            return log(&mut times, now, self.rule, cost);
        }
        let (next, outcome) = step(self.state, now, self.rule, cost);
        self.state = next.or(self.state);
        outcome
    }

    pub(crate) const fn set_rule(&mut self, rule: Rule) {
        self.rule = rule;
    }

    pub(crate) fn would(&self, now: u64, cost: u32) -> Outcome {
        self.clone().hit(now, cost)
    }
}

/// Where schedules begin: a time of the calendar.
const START: u64 = 1_700_000_000_000_000;

pub(crate) fn rules() -> impl Strategy<Value = Rule> {
    let window =
        prop_oneof![Just(1000_u64), Just(7_000_000), Just(60_000_000), (1_u64..100_000).prop_map(|ms| ms * 1000)];
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    (algorithm, 1_u32..12, window, 1_u32..12).prop_map(|(algorithm, quota, window, burst)| {
        let burst = if algorithm.has_burst() { burst } else { quota };
        Rule { burst, ..Rule::new(algorithm, quota, window) }
    })
}

/// Gaps in thousandths of a window, with many ties, and single microseconds on top.
pub(crate) fn gaps() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![Just(0_u64), Just(0), Just(1), Just(100), Just(500), Just(1000), Just(2500), 0_u64..1500];
    prop::collection::vec((gap, 0_u64..3), 1..60)
}

pub(crate) fn moments(rule: Rule, gaps: &[(u64, u64)]) -> Vec<u64> {
    let mut now = START;
    gaps.iter()
        .map(|(gap, more)| {
            now += rule.window / 1000 * gap + more;
            now
        })
        .collect()
}

proptest! {
    #[test]
    fn a_wait_is_honest_and_tight(rule in rules(), gaps in gaps(), cost in 1_u32..4) {
        prop_assume!(cost <= rule.capacity());
        let mut counter = Counter::new(rule);
        for now in moments(rule, &gaps) {
            let outcome = counter.hit(now, cost);
            if outcome.admitted {
                continue;
            }
            prop_assert!(outcome.rest > 0);
            prop_assert!(!counter.would(now + outcome.rest - 1, cost).admitted, "one microsecond early");
            prop_assert!(counter.would(now + outcome.rest, cost).admitted, "in time");
            prop_assert!(counter.would(now + outcome.rest + 1, cost).admitted, "one microsecond late");
            if rule.algorithm == Algorithm::Log {
                prop_assert!(outcome.rest <= rule.window);
            }
        }
    }

    #[test]
    fn a_sliding_window_with_nothing_left_tells_when_one_more_fits(rule in rules(), gaps in gaps(), cost in 1_u32..4) {
        prop_assume!(matches!(rule.algorithm, Algorithm::Sliding | Algorithm::SlidingEpoch));
        let mut counter = Counter::new(rule);
        for now in moments(rule, &gaps) {
            let outcome = counter.hit(now, cost);
            if outcome.admitted && outcome.remaining == 0 {
                prop_assert!(!counter.would(now + outcome.rest - 1, 1).admitted, "one microsecond early");
                prop_assert!(counter.would(now + outcome.rest, 1).admitted, "in time");
            }
        }
    }

    #[test]
    fn what_remains_is_exactly_what_still_fits(rule in rules(), gaps in gaps(), cost in 1_u32..4) {
        let mut counter = Counter::new(rule);
        for now in moments(rule, &gaps) {
            let outcome = counter.hit(now, cost);
            let mut twin = counter.clone();
            for _ in 0..outcome.remaining {
                prop_assert!(twin.hit(now, 1).admitted);
            }
            prop_assert!(!twin.hit(now, 1).admitted);
        }
    }

    #[test]
    fn a_refusal_changes_nothing(rule in rules(), gaps in gaps(), cost in 1_u32..4) {
        let mut counter = Counter::new(rule);
        for now in moments(rule, &gaps) {
            let before = counter.clone();
            if !counter.hit(now, cost).admitted {
                prop_assert_eq!(&counter, &before);
            }
        }
    }

    #[test]
    fn no_interval_sees_more_than_the_bound(rule in rules(), gaps in gaps()) {
        let mut counter = Counter::new(rule);
        let admitted: Vec<u64> = moments(rule, &gaps).into_iter().filter(|now| counter.hit(*now, 1).admitted).collect();
        for (first, start) in admitted.iter().enumerate() {
            for (last, end) in admitted.iter().enumerate().skip(first) {
                let (count, span) = ((last - first + 1) as u64, end - start);
                let (quota, window) = (u64::from(rule.quota), rule.window);
                let refilled = |capacity: u32| u64::from(capacity) + quota * span / window;
                let bound = match rule.algorithm {
                    // Every window that the interval touches.
                    Algorithm::Fixed => quota * (span / window + 2),
                    Algorithm::Log => quota * (span / window + 1),
                    Algorithm::Sliding | Algorithm::SlidingEpoch => refilled(rule.quota),
                    Algorithm::Gcra | Algorithm::Bucket => refilled(rule.burst),
                };
                prop_assert!(count <= bound, "{count} in {span} µs, at most {bound}");
            }
        }
    }

    #[test]
    fn gcra_decides_as_the_token_bucket(rule in rules(), gaps in gaps(), costs in prop::collection::vec(1_u32..4, 60)) {
        let (mut gcra, mut bucket) =
            (Counter::new(Rule { algorithm: Algorithm::Gcra, ..rule }), Counter::new(Rule { algorithm: Algorithm::Bucket, ..rule }));
        for (now, cost) in moments(rule, &gaps).into_iter().zip(costs) {
            prop_assert_eq!(gcra.hit(now, cost), bucket.hit(now, cost));
        }
    }

    #[test]
    fn a_state_that_is_fresh_may_be_forgotten(rule in rules(), gaps in gaps(), forgetful in prop::collection::vec(any::<bool>(), 60)) {
        let (mut kept, mut swept) = (Counter::new(rule), Counter::new(rule));
        let mut fresh_at = 0;
        for (now, forget) in moments(rule, &gaps).into_iter().zip(forgetful) {
            if forget && now >= fresh_at {
                swept = Counter::new(rule);
            }
            let outcome = kept.hit(now, 1);
            prop_assert_eq!(outcome, swept.hit(now, 1));
            fresh_at = now + outcome.fresh;
        }
    }

    #[test]
    fn a_clock_that_steps_back_gives_nobody_more(rule in rules(), back in 1_u64..500) {
        prop_assume!(rule.algorithm != Algorithm::Fixed);
        let mut counter = Counter::new(rule);
        while counter.hit(START, 1).admitted {}
        let outcome = counter.hit(START - rule.window / u64::from(rule.quota) / 1000 * back, 1);
        prop_assert!(!outcome.admitted);
        prop_assert_eq!(outcome.remaining, 0);
    }
}

#[test]
fn sliding_admits_no_second_quota_at_the_border() {
    for algorithm in [Algorithm::Sliding, Algorithm::SlidingEpoch] {
        let rule = Rule::new(algorithm, 100, 60_000_000);
        let start = START - START % 60_000_000;
        let mut counter = Counter::new(rule);
        counter.hit(start, 1);
        let late = (0..200).filter(|_| counter.hit(start + 59_999_999, 1).admitted).count();
        let early = (0..200).filter(|_| counter.hit(start + 60_000_000, 1).admitted).count();
        assert_eq!((late, early), (99, 0), "{algorithm:?}");
        // Half a window later half of the old one still counts.
        assert_eq!((0..200).filter(|_| counter.hit(start + 90_000_000, 1).admitted).count(), 50);
    }
}

#[test]
fn a_changed_quota_acts_at_once_and_keeps_the_count() {
    for algorithm in [Algorithm::Fixed, Algorithm::Sliding, Algorithm::Bucket] {
        let mut counter = Counter::new(Rule::new(algorithm, 30, 60_000_000));
        (0..30).for_each(|_| assert!(counter.hit(START, 1).admitted));
        counter.rule = Rule::new(algorithm, 40, 60_000_000);
        assert_eq!(counter.hit(START, 1).remaining, 9, "{algorithm:?}");
        counter.rule = Rule::new(algorithm, 10, 60_000_000);
        assert!(!counter.hit(START, 1).admitted, "{algorithm:?}");
    }
}

#[test]
fn impossible_rules_are_told() {
    let fault = |rule: Rule| rule.fault().map(|(field, _)| field);
    let gcra = |quota, window, burst| fault(Rule { burst, ..Rule::new(Algorithm::Gcra, quota, window) });
    assert_eq!(gcra(1, 1000, 1), None);
    assert_eq!(gcra(0, 1000, 1), Some("quota"));
    assert_eq!(gcra(1, 0, 1), Some("window"));
    assert_eq!(gcra(1, 1500, 1), Some("window"));
    assert_eq!(gcra(1, 1000, 0), Some("burst"));
    assert_eq!(gcra(u32::MAX, 60_000_000, 1), Some("quota"));
    assert_eq!(fault(Rule::new(Algorithm::Log, 1001, 60_000_000)), Some("quota"));
    assert_eq!(fault(Rule::new(Algorithm::Log, 10, 7_200_000_000)), Some("window"));
    assert_eq!(fault(Rule::new(Algorithm::Fixed, u32::MAX, 60_000_000)), None);
}
