//! The script in Redis against the functions in here: one schedule, one answer. The script is handed the time.

use labs_auth::limit::algorithm::Algorithm;
use proptest::{
    prelude::{Strategy, any, prop},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use redis::{Script, cmd, pipe};
use uuid::Uuid;

use super::{
    properties::{Counter, gaps, moments, rules},
    world::{connection, shared_url},
};

const SCHEDULES: usize = 300;

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
    for _ in 0..SCHEDULES {
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
            let call = cmd("EVALSHA")
                .arg(script.get_hash())
                .arg(1)
                .arg(&key)
                .arg(rule.algorithm.name())
                .arg(rule.quota)
                .arg(rule.window)
                .arg(rule.burst)
                .arg(cost)
                .arg(0)
                .arg(now)
                .to_owned();
            calls.add_command(call);
        }
        let answers: Vec<Vec<i64>> = calls.query_async(&mut redis).await.unwrap();
        for (index, (answer, expected)) in answers.iter().zip(&expected).enumerate() {
            assert_eq!(&answer[..3], expected, "{rule:?}, hit {index} of {gaps:?}");
            decided += 1;
        }
    }
    assert!(decided > 2000, "{decided}");
}

#[tokio::test]
async fn a_refusal_writes_nothing_to_redis() {
    let Some(url) = shared_url() else { return };
    let mut redis = connection(&url).await;
    let script = Script::new(include_str!("../../../src/limit/decide.lua"));
    for algorithm in Algorithm::ALL {
        let key = format!("rate_limit:test:{}", Uuid::new_v4());
        let mut hit = async || {
            let mut call = script.key(&key);
            call.arg(algorithm.name()).arg(2).arg(600_000_000_u64).arg(2).arg(1).arg(0);
            let answer: Vec<i64> = call.invoke_async(&mut redis).await.unwrap();
            let dump: Vec<u8> = cmd("DUMP").arg(&key).query_async(&mut redis).await.unwrap();
            let expires: i64 = cmd("PEXPIRETIME").arg(&key).query_async(&mut redis).await.unwrap();
            (answer[0], dump, expires)
        };
        assert_eq!((hit().await.0, hit().await.0), (1, 1));
        let first = hit().await;
        assert_eq!((first.0, &first), (0, &hit().await), "{algorithm:?}");
    }
}
