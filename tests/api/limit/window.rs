//! The fixed window as a pure function, against a model that remembers every hit.

use labs_auth::limit::algorithm::{Algorithm, Anchor, Fixed, Gcra, Outcome, Rule, fixed, gcra, sliding};
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

const WINDOW: u64 = 60_000_000;

const fn rule(quota: u32) -> Rule {
    Rule::new(Algorithm::Fixed, quota, WINDOW)
}

/// One hit, and the state after it.
fn hit(state: Option<Fixed>, now: u64, rule: Rule) -> (Fixed, Outcome) {
    let (next, outcome) = fixed(state, now, rule, 1);
    (next.or(state).unwrap(), outcome)
}

#[test]
fn a_window_starts_at_its_first_hit_and_lasts_its_length() {
    let rule = rule(2);
    let (state, first) = hit(None, 5, rule);
    assert_eq!((first.admitted, first.remaining, first.rest), (true, 1, WINDOW));
    let (state, second) = hit(Some(state), 5 + WINDOW - 1, rule);
    assert_eq!((second.admitted, second.remaining, second.rest), (true, 0, 1));
    let (state, third) = hit(Some(state), 5 + WINDOW - 1, rule);
    assert_eq!((third.admitted, third.remaining, third.rest), (false, 0, 1));
    let (_, fresh) = hit(Some(state), 5 + WINDOW, rule);
    assert_eq!((fresh.admitted, fresh.remaining, fresh.rest), (true, 1, WINDOW));
}

#[test]
fn a_changed_quota_acts_at_once_and_keeps_the_count() {
    let full = Fixed { count: 30, end: WINDOW };
    assert!(!hit(Some(full), 0, rule(30)).1.admitted);
    let (state, raised) = hit(Some(full), 0, rule(40));
    assert_eq!((state.count, raised.remaining), (31, 9));
    assert!(!hit(Some(full), 0, rule(10)).1.admitted);
}

#[test]
fn an_end_that_no_window_reaches_is_re_armed() {
    let (state, outcome) = hit(Some(Fixed { count: 500, end: u64::MAX }), 7, rule(30));
    assert_eq!((outcome.admitted, outcome.rest, state.end), (false, WINDOW, 7 + WINDOW));
}

#[test]
fn a_sliding_window_is_told_until_its_end_while_something_remains() {
    let mut state = None;
    for (anchor, window) in [(Anchor::FirstHit, [60, 50, 1]), (Anchor::Epoch, [55, 45, 56])] {
        for (now, rest) in [5, 15, 64].into_iter().zip(window) {
            let (next, outcome) = sliding(anchor, state, now * 1_000_000, Rule::new(Algorithm::Sliding, 9, WINDOW), 1);
            assert_eq!((outcome.admitted, outcome.rest), (true, rest * 1_000_000), "{anchor:?} {now}");
            // What this window admitted counts until the next one has ended too.
            assert_eq!(outcome.fresh, (rest + 60) * 1_000_000, "{anchor:?} {now}");
            state = next;
        }
        state = None;
    }
}

#[test]
fn a_sliding_window_ends_at_its_end_and_is_forgotten_a_window_later() {
    let rule = Rule::new(Algorithm::Sliding, 9, WINDOW);
    let (state, _) = sliding(Anchor::FirstHit, None, 0, rule, 3);
    for (now, remaining) in [(WINDOW, 5), (2 * WINDOW, 8)] {
        let (next, outcome) = sliding(Anchor::FirstHit, state, now, rule, 1);
        assert_eq!(
            (outcome.remaining, outcome.rest, next.map(|next| next.start)),
            (remaining, WINDOW, Some(now)),
            "{now}"
        );
    }
}

#[test]
fn a_sliding_window_waits_for_a_whole_quota_to_fade_and_for_nothing_that_never_fits() {
    let rule = Rule::new(Algorithm::Sliding, 3, WINDOW);
    let (state, _) = sliding(Anchor::FirstHit, None, 0, rule, 1);
    for (cost, rest) in [(3, 110), (4, 60)] {
        let (next, outcome) = sliding(Anchor::FirstHit, state, 10_000_000, rule, cost);
        assert_eq!((next, outcome.admitted, outcome.remaining), (None, false, 2));
        assert_eq!(outcome.rest, rest * 1_000_000, "{cost}");
    }
}

proptest! {
    #[test]
    fn it_decides_as_a_model_that_remembers_every_hit(
        quota in 1_u32..8,
        steps in prop::collection::vec(0_u64..2 * WINDOW / 3, 1..60),
    ) {
        let rule = rule(quota);
        let (mut now, mut state, mut started, mut taken) = (0, None, None::<u64>, 0_u32);
        for step in steps {
            now += step;
            if started.is_none_or(|start| now - start >= WINDOW) {
                (started, taken) = (Some(now), 0);
            }
            let expected = taken < quota;
            taken += u32::from(expected);
            let before = state;
            let (after, outcome) = hit(state, now, rule);
            prop_assert_eq!(outcome.admitted, expected);
            prop_assert_eq!(outcome.remaining, quota - taken);
            prop_assert_eq!(outcome.rest, started.unwrap_or_default() + WINDOW - now);
            prop_assert!(outcome.rest > 0 && outcome.rest <= WINDOW);
            if !outcome.admitted {
                prop_assert_eq!(Some(after), before);
            }
            state = Some(after);
        }
    }
}

#[test]
fn a_refusal_in_the_very_microsecond_in_which_a_window_began_changes_nothing() {
    let (now, rule) = (1_000_000, Rule::new(Algorithm::Fixed, 1, 60_000_000));
    let (opened, _) = fixed(None, now, rule, 1);
    let (next, outcome) = fixed(opened, now, rule, 1);
    assert_eq!((next, outcome.admitted, outcome.rest), (None, false, 60_000_000));
}

#[test]
fn ticks_that_no_rule_leaves_behind_count_for_less_than_a_microsecond() {
    // Left by a rule with a higher rate: at most one tick less than a microsecond of this one is taken over.
    for (quota, fresh) in [(1, 60_000_000), (3, 20_000_001)] {
        let rule = Rule { burst: 2, ..Rule::new(Algorithm::Gcra, quota, 60_000_000) };
        let (_, outcome) = gcra(Some(Gcra { tat: 1_000_000, ticks: 1000 }), 1_000_000, rule, 1);
        assert_eq!((outcome.admitted, outcome.fresh), (true, fresh), "at {quota}");
    }
}
