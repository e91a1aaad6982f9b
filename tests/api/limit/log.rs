//! The log as a pure function, against a model that forgets nothing, for longer than its offsets reach.

use std::collections::VecDeque;

use labs_auth::limit::algorithm::{Algorithm, Outcome, Rule, Times, log};

const SECOND: u64 = 1_000_000;
const WINDOW: u64 = 60 * SECOND;

const fn rule(quota: u32) -> Rule {
    Rule::new(Algorithm::Log, quota, WINDOW)
}

struct Record {
    base: u64,
    len: u32,
    offsets: Vec<u32>,
}

impl Record {
    fn new(room: usize) -> Self {
        Self { base: 0, len: 0, offsets: vec![0; room - 1] }
    }

    /// One whose only hit was at `moment`.
    fn at(moment: u64) -> Self {
        Self { base: moment, len: 1, offsets: vec![0; 1] }
    }

    fn hit(&mut self, now: u64, rule: Rule, cost: u32) -> Outcome {
        log(&mut Times { base: &mut self.base, len: &mut self.len, offsets: &mut self.offsets }, now, rule, cost)
    }
}

#[test]
fn an_admitted_hit_is_told_when_the_oldest_leaves() {
    let mut record = Record::new(3);
    let start = 7 * SECOND;
    for (after, remaining, rest) in [(0, 2, 60), (10, 1, 50), (59, 0, 1), (60, 0, 10)] {
        let outcome = record.hit(start + after * SECOND, rule(3), 1);
        assert_eq!((outcome.admitted, outcome.remaining, outcome.rest), (true, remaining, rest * SECOND), "{after}");
        assert_eq!(outcome.fresh, WINDOW);
    }
}

#[test]
fn several_hits_of_a_full_record_leave_at_once() {
    let mut record = Record::new(4);
    let start = 7 * SECOND;
    for after in [0, 1, 2, 50] {
        assert!(record.hit(start + after * SECOND, rule(4), 1).admitted);
    }
    let outcome = record.hit(start + 62 * SECOND, rule(4), 1);
    assert_eq!((outcome.admitted, outcome.remaining, outcome.rest), (true, 2, 48 * SECOND));
    let outcome = record.hit(start + 100 * SECOND, rule(4), 3);
    assert_eq!((outcome.admitted, outcome.remaining, outcome.rest), (false, 2, 10 * SECOND));
    assert_eq!(record.hit(start + 110 * SECOND, rule(4), 3).rest, 12 * SECOND);
}

#[test]
fn a_refused_cost_waits_for_as_many_hits_as_it_needs() {
    let mut record = Record::new(5);
    let start = 7 * SECOND;
    assert!(record.hit(start, rule(5), 2).admitted);
    assert!(record.hit(start + 10 * SECOND, rule(5), 2).admitted);
    for (after, cost, remaining, rest) in
        [(20, 2, 1, 40), (20, 3, 1, 40), (20, 4, 1, 50), (61, 4, 3, 9), (20, 6, 1, 60)]
    {
        let outcome = record.hit(start + after * SECOND, rule(5), cost);
        assert_eq!((outcome.admitted, outcome.remaining, outcome.rest), (false, remaining, rest * SECOND), "{cost}");
    }
}

#[test]
fn a_time_from_beyond_the_window_is_foreign_and_one_within_it_is_waited_for() {
    let now = 1000 * SECOND;
    let outcome = Record::at(now + WINDOW + 1).hit(now, rule(2), 1);
    assert_eq!((outcome.admitted, outcome.remaining, outcome.rest), (true, 1, WINDOW));
    // A clock that stepped back stands still until it has caught up.
    let outcome = Record::at(now + WINDOW).hit(now, rule(2), 1);
    assert_eq!((outcome.admitted, outcome.remaining), (true, 0));
}

#[test]
fn it_decides_for_hours_as_a_model_that_remembers_every_hit() {
    for quota in [1, 3, 10] {
        let (mut record, mut model) = (Record::new(quota as usize), VecDeque::<u64>::new());
        let (mut now, mut chance) = (5 * SECOND, 1_u64);
        // Never a pause as long as the window, so that the record is never empty.
        while now < 10_000 * SECOND {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            now += (chance >> 33) % (WINDOW / 4);
            let cost = u32::try_from((chance >> 20) % 3).unwrap().clamp(1, quota);
            while model.front().is_some_and(|first| first + WINDOW <= now) {
                model.pop_front();
            }
            let outcome = record.hit(now, rule(quota), cost);
            let room = quota as usize - model.len();
            let admitted = cost as usize <= room;
            let decisive = if admitted { None } else { model.get(cost as usize - room - 1).copied() };
            if admitted {
                model.extend(std::iter::repeat_n(now, cost as usize));
            }
            assert_eq!(
                (outcome.admitted, outcome.remaining as usize),
                (admitted, quota as usize - model.len()),
                "{now}"
            );
            let leaves = decisive.or_else(|| model.front().copied()).unwrap();
            assert_eq!(outcome.rest, leaves + WINDOW - now, "{now}");
        }
    }
}
