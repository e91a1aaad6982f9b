//! The hardening tutorial's 29 tests by name, on `bucket` and `gcra`, and its client of step 5. Its application is this
//! service; its problem document is the middleware's shape.

use std::{net::IpAddr, time::Duration};

use http::{HeaderMap, Request, StatusCode};
use labs_auth::{
    error::RetryAfter,
    limit::{
        Charge, ClientIp, Limiter, Prefixes, Setup,
        algorithm::{Algorithm, Rule},
        memory::Memory,
        policy::PolicySource,
    },
    middleware::client_ip::{Peer, TrustedProxies},
};
use proptest::prelude::{Strategy, any, prop, proptest};
use tempfile::NamedTempFile;
use tower::ServiceExt;

use super::{
    properties::Counter,
    world::{Hand, admitted, host, run},
};
use crate::world::{PAGE, Verbs, World};

/// One token every two seconds, at most five saved up.
const fn rule(algorithm: Algorithm) -> Rule {
    Rule { burst: 5, ..Rule::new(algorithm, 1, 2_000_000) }
}

fn gaps() -> impl Strategy<Value = Vec<u64>> {
    let millis = prop::sample::select(vec![0_u64, 0, 1, 7, 100, 999, 1000, 2000, 4000, 12000]);
    prop::collection::vec(millis, 1..60)
}

/// Gap in milliseconds, which client, whether to purge first.
fn steps() -> impl Strategy<Value = Vec<(u64, &'static str, bool)>> {
    let gap = prop::sample::select(vec![0_u64, 1, 500, 3000, 20000]);
    prop::collection::vec((gap, prop::sample::select(vec!["a", "b", "c"]), any::<bool>()), 1..60)
}

fn moments(gaps: &[u64]) -> Vec<u64> {
    let mut now = 0;
    gaps.iter()
        .map(|gap| {
            now += gap * 1000;
            now
        })
        .collect()
}

fn retry_after_is_neither_too_short_nor_too_long(algorithm: Algorithm, gaps: &[u64]) {
    let mut limiter = Counter::new(rule(algorithm));
    for now in moments(gaps) {
        let decision = limiter.hit(now, 1);
        if !decision.admitted {
            assert!(decision.rest > 0);
            assert!(!limiter.would(now + decision.rest - 1, 1).admitted, "too optimistic");
            assert!(limiter.would(now + decision.rest + 1, 1).admitted, "too pessimistic");
        }
    }
}

fn remaining_is_exactly_how_many_more_fit_right_now(algorithm: Algorithm, gaps: &[u64]) {
    let mut limiter = Counter::new(rule(algorithm));
    for now in moments(gaps) {
        let decision = limiter.hit(now, 1);
        let mut twin = limiter.clone();
        assert!(decision.admitted || decision.remaining == 0);
        assert!((0..decision.remaining).all(|_| twin.hit(now, 1).admitted));
        assert!(!twin.hit(now, 1).admitted);
    }
}

fn never_more_than_burst_plus_rate_times_time(algorithm: Algorithm, gaps: &[u64]) {
    let mut limiter = Counter::new(rule(algorithm));
    let accepted: Vec<u64> = moments(gaps).into_iter().filter(|now| limiter.hit(*now, 1).admitted).collect();
    for (first, start) in accepted.iter().enumerate() {
        for (last, end) in accepted.iter().enumerate().skip(first) {
            assert!((last - first + 1) as u64 * 2_000_000 <= 5 * 2_000_000 + (end - start));
        }
    }
}

fn memory(hand: &Hand) -> Memory {
    Memory::with_size(hand.clock(), 1024, 0)
}

fn purging_never_changes_a_decision(algorithm: Algorithm, steps: &[(u64, &str, bool)]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let hand = Hand::default();
    let (with_purge, without) = (memory(&hand), memory(&hand));
    for (gap, key, purge_first) in steps {
        hand.advance(Duration::from_millis(*gap));
        if *purge_first {
            runtime.block_on(with_purge.sweep());
        }
        assert_eq!(with_purge.hit(key, rule(algorithm), 1), without.hit(key, rule(algorithm), 1));
    }
}

async fn purge_empties_a_limiter_whose_clients_have_gone_quiet(algorithm: Algorithm) {
    let hand = Hand::default();
    let limiter = memory(&hand);
    for key in ["a", "b", "c", "d", "e"] {
        limiter.hit(key, rule(algorithm), 1);
    }
    assert_eq!(limiter.len(), 5);
    hand.advance(Duration::from_secs(1000));
    limiter.sweep().await;
    assert!(limiter.is_empty());
}

fn one_clients_traffic_never_changes_another_clients_answers(algorithm: Algorithm, steps: &[(u64, &str, bool)]) {
    let hand = Hand::default();
    let (both, alone) = (memory(&hand), memory(&hand));
    for (gap, key, _) in steps {
        hand.advance(Duration::from_millis(*gap));
        let decision = both.hit(key, rule(algorithm), 1);
        if *key == "a" {
            assert_eq!(decision, alone.hit("a", rule(algorithm), 1));
        }
    }
}

macro_rules! on_both_limiters {
    ($($module:ident = $algorithm:expr;)*) => {$(
        mod $module {
            use super::*;

            proptest! {
                #[test]
                fn test_retry_after_is_neither_too_short_nor_too_long(gaps in gaps()) {
                    retry_after_is_neither_too_short_nor_too_long($algorithm, &gaps);
                }

                #[test]
                fn test_remaining_is_exactly_how_many_more_fit_right_now(gaps in gaps()) {
                    remaining_is_exactly_how_many_more_fit_right_now($algorithm, &gaps);
                }

                #[test]
                fn test_never_more_than_burst_plus_rate_times_time(gaps in gaps()) {
                    never_more_than_burst_plus_rate_times_time($algorithm, &gaps);
                }

                #[test]
                fn test_purging_never_changes_a_decision(steps in steps()) {
                    purging_never_changes_a_decision($algorithm, &steps);
                }

                #[test]
                fn test_one_clients_traffic_never_changes_another_clients_answers(steps in steps()) {
                    one_clients_traffic_never_changes_another_clients_answers($algorithm, &steps);
                }
            }

            #[tokio::test]
            async fn test_purge_empties_a_limiter_whose_clients_have_gone_quiet() {
                purge_empties_a_limiter_whose_clients_have_gone_quiet($algorithm).await;
            }
        }
    )*};
}

on_both_limiters! {
    bucket = Algorithm::Bucket;
    gcra = Algorithm::Gcra;
}

proptest! {
    #[test]
    fn test_gcra_makes_exactly_the_decisions_of_the_token_bucket(gaps in gaps()) {
        let (mut bucket, mut gcra) = (Counter::new(rule(Algorithm::Bucket)), Counter::new(rule(Algorithm::Gcra)));
        for now in moments(&gaps) {
            assert_eq!(bucket.hit(now, 1), gcra.hit(now, 1));
        }
    }
}

#[test]
fn test_retry_after_header_rounds_up_and_never_says_zero() {
    let header = |millis| RetryAfter::from_wait(Duration::from_millis(millis)).seconds();
    assert_eq!([200, 1200, 3000, 59_010, 0].map(header), [1, 2, 3, 60, 1]);
}

/// 0.8 tokens a second, so many saved up.
fn policies(burst: u32, algorithm: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let text = format!("[buckets.ip]\nquota = 4\nwindow = \"5s\"\nburst = {burst}\nalgorithm = \"{algorithm}\"\n");
    std::fs::write(file.path(), text).unwrap();
    file
}

async fn build(burst: u32) -> World {
    let file = policies(burst, "bucket");
    let path = file.path().to_str().unwrap();
    World::plan().on_memory().set("RATE_LIMIT_POLICIES", path).build().await
}

/// A path that is counted and costs nothing else.
const HELLO: &str = "/api/v1/hello";

#[tokio::test]
async fn test_the_third_request_gets_a_problem_document_and_a_rounded_up_wait() {
    let world = build(2).await;
    let client = world.anonymous();
    for _ in 0..2 {
        client.get(HELLO).await.is(404);
    }
    let refused = client.get(HELLO).await;
    // The real wait is 1.25 s.
    assert_eq!(refused.is_flooded().wait(), 2);
    assert_eq!(refused.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn test_waiting_for_the_advertised_time_works() {
    let world = build(2).await;
    let client = world.anonymous();
    for _ in 0..2 {
        client.get(HELLO).await.is(404);
    }
    let wait = client.get(HELLO).await.is_flooded().wait();
    world.advance(Duration::from_secs(wait));
    client.get(HELLO).await.is(404);
}

#[tokio::test]
async fn test_health_checks_are_exempt_and_cost_nothing() {
    let world = build(1).await;
    let client = world.anonymous();
    for _ in 0..10 {
        client.get("/api/health").await.is(200);
    }
    client.get(HELLO).await.is(404);
    client.get(HELLO).await.is_flooded();
    client.get("/api/health").await.is(200);
}

#[tokio::test]
async fn test_each_client_has_its_own_budget() {
    let world = build(1).await;
    let (first, second) = (world.anonymous(), world.anonymous());
    first.get(HELLO).await.is(404);
    first.get(HELLO).await.is_flooded();
    second.get(HELLO).await.is(404);
}

#[tokio::test]
async fn test_lifespan_events_pass_through_the_middleware() {
    let world = build(1).await;
    // Started and stopped around a request.
    let server = world.serve().await;
    drop(server);
    // And a request without a peer, through everything.
    let ask = || Request::get(HELLO).header("host", "localhost").body(axum::body::Body::empty()).unwrap();
    let statuses = [
        world.app().house.clone().oneshot(ask()).await.unwrap().status(),
        world.app().house.clone().oneshot(ask()).await.unwrap().status(),
    ];
    assert_eq!(statuses, [StatusCode::NOT_FOUND, StatusCode::TOO_MANY_REQUESTS]);
}

#[tokio::test(start_paused = true)]
async fn test_the_app_purges_idle_clients_in_the_background() {
    let hand = Hand::default();
    let file = policies(2, "bucket");
    let source = PolicySource { path: Some(file.path().to_owned()), ..PolicySource::default() };
    let policies = source.load().unwrap();
    let limiter = Limiter::with(Setup { source, policies, redis: None, memory_mb: 1, key: None }, hand.clock());
    let _running = run(&limiter);
    assert_eq!(admitted(&limiter, &Charge::ip(&host(7)), &host(7), 1).await, 1);
    assert_eq!(limiter.held(), 1);
    hand.advance(Duration::from_secs(1000));
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(limiter.held(), 0);
}

#[tokio::test]
async fn test_a_refusal_keeps_its_cors_headers_when_cors_wraps_the_limiter() {
    let world = build(1).await;
    let client = world.anonymous();
    client.get(HELLO).origin(PAGE).await.is(404);
    let refused = client.get(HELLO).origin(PAGE).await;
    refused.is_flooded();
    assert_eq!(refused.header("access-control-allow-origin"), Some(PAGE));
    assert!(refused.header("access-control-expose-headers").unwrap().to_lowercase().contains("retry-after"));
}

/// The key of a peer that is an IP address.
fn client_key(peer: &str) -> String {
    let address: IpAddr = peer.parse().unwrap();
    infer(&Peer::Address(address), &[]).network().to_string()
}

fn infer(peer: &Peer, forwarded: &[&str]) -> ClientIp {
    let mut headers = HeaderMap::new();
    for line in forwarded {
        headers.append("x-forwarded-for", line.parse().unwrap());
    }
    TrustedProxies::default_with(1).infer(peer, &headers, Prefixes::default())
}

macro_rules! test_client_key {
    ($($name:ident: $peer:literal => $key:literal;)*) => {
        mod test_client_key {$(
            #[test]
            fn $name() {
                assert_eq!(super::client_key($peer), $key);
            }
        )*
            /// A peer that is no IP address is used as it is: here, the other end of a Unix socket.
            #[test]
            fn no_address() {
                assert_eq!(&*super::infer(&super::Peer::Local, &[]).network(), "local");
            }
        }
    };
}

test_client_key! {
    ipv4: "203.0.113.7" => "203.0.113.7";
    mapped: "::ffff:203.0.113.7" => "203.0.113.7";
    ipv6: "2001:db8:abcd:12::1" => "2001:db8:abcd:12::/64";
    the_same_network: "2001:db8:abcd:12:ffff:ffff:ffff:ffff" => "2001:db8:abcd:12::/64";
    another_network: "2001:db8:abcd:13::1" => "2001:db8:abcd:13::/64";
}

#[test]
fn test_a_request_without_peer_information_gets_one_shared_key() {
    assert_eq!(&*infer(&Peer::None, &[]).network(), "unknown");
    assert_eq!(&*infer(&Peer::None, &["203.0.113.7"]).network(), "unknown");
}

/// The tutorial shows that its naive key is spoofed by anyone; here two forged entries on the left are one budget.
#[test]
fn test_naive_key_can_be_spoofed_by_anyone() {
    let proxy = Peer::Address([10, 0, 0, 5].into());
    let key = |forged: &str| infer(&proxy, &[&format!("{forged}, 198.51.100.9")]).network().to_string();
    assert_eq!(key("203.0.113.1"), "198.51.100.9");
    assert_eq!(key("203.0.113.1"), key("203.0.113.2"));
}

#[test]
fn a_client_that_obeys_retry_after_sends_exactly_two_requests() {
    for algorithm in [Algorithm::Bucket, Algorithm::Gcra] {
        for (wait, finished) in [(320, 1050), (1720, 2050), (59_230, 60_050)] {
            let mut limiter = Counter::new(Rule::new(algorithm, 1, wait * 1000));
            let mut now = 0;
            assert!(limiter.hit(now, 1).admitted, "takes the only token");
            let mut attempts = 0;
            loop {
                attempts += 1;
                let decision = limiter.hit(now, 1);
                if decision.admitted {
                    break;
                }
                let header = RetryAfter::from_wait(Duration::from_micros(decision.rest)).seconds();
                now += header * 1_000_000 + 50_000;
            }
            assert_eq!((attempts, now / 1000), (2, finished), "{algorithm:?}, {wait} ms");
        }
    }
}
