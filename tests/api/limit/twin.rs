//! The script in Redis against the functions in here: one schedule, one answer. The script is handed the time.

use labs_auth::limit::algorithm::{Algorithm, Rule};
use proptest::{
    prelude::{Strategy, any, prop},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use redis::{Script, cmd, pipe};
use uuid::Uuid;

use super::{
    fake::{ask, unpack},
    properties::{Counter, gaps, moments, rules},
    world::{connection, shared_url},
};

/// Schedules that are tried at least; `PROPTEST_CASES` asks for more.
const SCHEDULES: u32 = 300;

#[tokio::test]
async fn memory_and_redis_answer_the_same_schedule_identically() {
    let Some(url) = shared_url() else { return };
    let mut redis = connection(&url).await;
    let script = Script::new(include_str!("../../../src/limit/decide.lua"));
    script.prepare_invoke().load_async(&mut redis).await.unwrap();
    let mut runner = TestRunner::deterministic();
    // Keys expire in real time, so windows are far longer than the test. `fixed` has no other clock than that.
    let schedules = (rules(), gaps(), prop::collection::vec(1_u32..4, 60), any::<bool>());
    let mut decided = 0;
    for _ in 0..runner.config().cases.max(SCHEDULES) {
        let (mut rule, gaps, costs, changes) = schedules.new_tree(&mut runner).unwrap().current();
        rule.window = rule.window.max(60_000_000);
        if rule.algorithm == Algorithm::Fixed {
            continue;
        }
        let (key, mut counter, mut calls, mut expected) =
            (format!("rate_limit:test:{}", Uuid::new_v4()), Counter::new(rule), pipe(), Vec::new());
        for (index, (now, cost)) in moments(rule, &gaps).into_iter().zip(costs).enumerate() {
            // Sometimes the operator changes the quota on the way.
            if changes && index == 20 && rule.algorithm != Algorithm::Log {
                rule.quota += 3;
                counter.set_rule(rule);
            }
            let cost = cost.min(rule.capacity());
            let outcome = counter.hit(now, cost);
            expected.push([i64::from(outcome.admitted), outcome.remaining.into(), outcome.rest.try_into().unwrap()]);
            let call = cmd("EVALSHA").arg(script.get_hash()).arg(1).arg(&key).arg(ask(rule, cost)).arg(now).to_owned();
            calls.add_command(call);
        }
        let answers: Vec<Vec<u8>> = calls.query_async(&mut redis).await.unwrap();
        for (index, (answer, expected)) in answers.iter().zip(&expected).enumerate() {
            assert_eq!(&unpack(answer)[..3], expected, "{rule:?}, hit {index} of {gaps:?}");
            decided += 1;
        }
    }
    assert!(decided > 2000, "{decided}");
}

#[tokio::test]
async fn a_refusal_leaves_redis_as_it_was() {
    let Some(url) = shared_url() else { return };
    let mut redis = connection(&url).await;
    let script = Script::new(include_str!("../../../src/limit/decide.lua"));
    for algorithm in Algorithm::ALL {
        let key = format!("rate_limit:test:{}", Uuid::new_v4());
        let mut hit = async || {
            let mut call = script.key(&key);
            call.arg(ask(Rule::new(algorithm, 2, 600_000_000), 1));
            let answer: Vec<u8> = call.invoke_async(&mut redis).await.unwrap();
            let answer = unpack(&answer);
            let dump: Vec<u8> = cmd("DUMP").arg(&key).query_async(&mut redis).await.unwrap();
            let expires: i64 = cmd("PEXPIRETIME").arg(&key).query_async(&mut redis).await.unwrap();
            (answer[0], dump, expires)
        };
        assert_eq!((hit().await.0, hit().await.0), (1, 1));
        let first = hit().await;
        assert_eq!((first.0, &first), (0, &hit().await), "{algorithm:?}");
    }
}

#[tokio::test]
async fn what_no_counter_wrote_is_counted_as_nothing() {
    const WINDOW: u64 = 60_000_000;
    let Some(url) = shared_url() else { return };
    let mut redis = connection(&url).await;
    let script = Script::new(include_str!("../../../src/limit/decide.lua"));
    // The value that is found, the cost of a hit on a quota of ten, and what it meets: admitted, how many remain, and the
    // value that is left.
    for (found, cost, admitted, remaining, left) in [
        (None, 3, 1, 7, Some("3")),
        (Some("0"), 3, 1, 7, Some("3")),
        (Some("7"), 3, 1, 0, Some("10")),
        (Some("8"), 3, 0, 2, Some("8")),
        (Some("5000000000"), 1, 0, 0, Some("5000000000")),
        (Some("many"), 3, 1, 7, Some("3")),
        (Some(""), 3, 1, 7, Some("3")),
        (Some("-5"), 3, 1, 7, Some("3")),
        (Some("07"), 3, 1, 7, Some("3")),
        (Some("1.5"), 3, 1, 7, Some("3")),
        (Some("9223372036854775807"), 3, 1, 7, Some("3")),
        (Some("3:4:5"), 3, 1, 7, Some("3")),
        // What can never fit leaves what it found, and begins no window.
        (None, 11, 0, 10, None),
        (Some("4"), 11, 0, 6, Some("4")),
    ] {
        let key = format!("rate_limit:test:{}", Uuid::new_v4());
        if let Some(found) = found {
            cmd("SET").arg(&key).arg(found).arg("PX").arg(50_000).exec_async(&mut redis).await.unwrap();
        }
        let mut call = script.key(&key);
        call.arg(ask(Rule::new(Algorithm::Fixed, 10, WINDOW), cost));
        let answer: Vec<u8> = call.invoke_async(&mut redis).await.unwrap();
        let value: Option<String> = cmd("GET").arg(&key).query_async(&mut redis).await.unwrap();
        let told = unpack(&answer);
        assert_eq!((&told[..2], value.as_deref()), (&[admitted, remaining][..], left), "{found:?}, {cost}");
        assert!((1..=WINDOW).contains(&told[2].try_into().unwrap()), "{told:?}");
        let ttl: i64 = cmd("PTTL").arg(&key).query_async(&mut redis).await.unwrap();
        assert_eq!(ttl > 0, left.is_some(), "{found:?}, {cost}");
    }
}
