//! The operator's desk and the numbers for Prometheus.

use std::time::{Duration, Instant};

use labs_auth::{
    clock::Clock,
    limit::{
        Backend, Charge, Limiter, MailScope, Quotas, RedisAddress, Setup, Verdict,
        algorithm::Algorithm,
        desk::Desk,
        policy::{Policies, PolicySource, Profile},
    },
};

use redis::cmd;
use tempfile::NamedTempFile;

use super::{
    server::Server,
    world::{LOGIN, admitted, connection, hit, host, mailbox, on_redis, until},
};

async fn strict(server: &Server) -> Limiter {
    let source = PolicySource { profile: Profile::Strict, ..PolicySource::default() };
    let policies = Policies::of_profile(Profile::Strict, &Quotas::default());
    let redis = Some(RedisAddress::from_url(&server.url()).unwrap());
    let limiter = Limiter::with(Setup { source, policies, redis, memory_mb: 1, key: None }, Clock::system());
    for _ in 0..20 {
        limiter.begin().await;
    }
    limiter
}

#[tokio::test]
async fn what_is_explained_is_what_the_next_request_meets() {
    let Some(server) = Server::start(&[]).await else { return };
    let desk = Desk::open(&RedisAddress::from_url(&server.url()).unwrap()).await.unwrap();
    for limiter in [on_redis(&server.url()).await, strict(&server).await] {
        let charges = [Charge::ip(&host(7)), Charge::auth(LOGIN, &host(7))];
        for _ in 0..32 {
            let forecasts = desk.explain(&limiter, &charges).await.unwrap();
            let again = desk.explain(&limiter, &charges).await.unwrap();
            assert_eq!(forecasts[1].outcome.remaining, again[1].outcome.remaining, "looking spent something");
            let expected = forecasts.iter().all(|forecast| forecast.outcome.admitted);
            assert_eq!(hit(&limiter, &charges, &host(7)).await == Verdict::Admitted, expected);
        }
        assert_eq!(admitted(&limiter, &charges[1], &host(7), 1).await, 0);
    }
}

#[tokio::test]
async fn what_is_explained_is_exact_for_every_algorithm() {
    let Some(server) = Server::start(&[]).await else { return };
    let address = || RedisAddress::from_url(&server.url()).unwrap();
    let desk = Desk::open(&address()).await.unwrap();
    let mut redis = connection(&server.url()).await;
    for algorithm in Algorithm::ALL {
        let file = NamedTempFile::new().unwrap();
        let text = format!("[buckets.auth]\nquota = 5\nwindow = \"60s\"\nalgorithm = {:?}", algorithm.name());
        std::fs::write(file.path(), text).unwrap();
        let source = PolicySource { path: Some(file.path().to_owned()), ..PolicySource::default() };
        let policies = source.load().unwrap();
        let setup = Setup { source, policies, redis: Some(address()), memory_mb: 1, key: None };
        let limiter = Limiter::with(setup, Clock::system());
        until("redis", async || {
            limiter.begin().await;
            limiter.backend() == Backend::Redis
        })
        .await;
        let (charge, client) = (Charge::auth(LOGIN, &host(7)), host(7));
        for remaining in (0..5).rev() {
            let forecast = &desk.explain(&limiter, std::slice::from_ref(&charge)).await.unwrap()[0];
            assert_eq!((forecast.outcome.admitted, forecast.outcome.remaining), (true, remaining), "{algorithm:?}");
            assert_eq!(admitted(&limiter, &charge, &client, 1).await, 1);
        }
        if algorithm == Algorithm::Log {
            // The last hits lie half a window back, so that the moment of asking tells.
            let key = limiter.stored_key(&charge).unwrap();
            let (seconds, micros): (u64, u64) = cmd("TIME").query_async(&mut redis).await.unwrap();
            let back = seconds * 1_000_000 + micros - 30_000_000;
            cmd("DEL").arg(&key).exec_async(&mut redis).await.unwrap();
            cmd("RPUSH").arg(&key).arg(&[back; 5]).exec_async(&mut redis).await.unwrap();
        }
        let asked = Instant::now();
        let forecast = &desk.explain(&limiter, std::slice::from_ref(&charge)).await.unwrap()[0];
        let Verdict::Refused(refusal) = hit(&limiter, std::slice::from_ref(&charge), &client).await else {
            panic!("{algorithm:?} admitted a sixth hit")
        };
        // Redis's clock counts the lives of keys in milliseconds.
        let apart = Duration::from_micros(forecast.outcome.rest).abs_diff(refusal.wait());
        assert!(apart <= asked.elapsed() + Duration::from_millis(2), "{algorithm:?}: {apart:?}");
    }
}

#[tokio::test]
async fn keys_are_listed_shown_and_reset() {
    let Some(server) = Server::start(&[]).await else { return };
    let desk = Desk::open(&RedisAddress::from_url(&server.url()).unwrap()).await.unwrap();
    let (fixed, strict, mail) = (on_redis(&server.url()).await, strict(&server).await, mailbox());
    admitted(&fixed, &Charge::auth(LOGIN, &host(7)), &host(7), 31).await;
    admitted(&fixed, &Charge::auth_email(MailScope::Leave, mail), &host(7), 2).await;
    admitted(&strict, &Charge::auth(LOGIN, &host(7)), &host(7), 3).await;
    let key = "rate_limit:auth:/api/auth/login:203.0.113.7";
    assert_eq!(desk.list("auth:*").await.unwrap(), [key.to_owned(), format!("{key}#log")]);
    let held = desk.show(key).await.unwrap().unwrap();
    assert_eq!(held.value, "30");
    assert!((50_000..=60_000).contains(&held.ttl));
    assert_eq!(desk.show(&format!("{key}{}", Algorithm::Log.suffix())).await.unwrap().unwrap().value, "3 hits");
    assert_eq!(desk.show("rate_limit:nothing").await.unwrap(), None);
    assert_eq!(desk.reset(&[key.to_owned(), String::from("somebody:else")]).await.unwrap(), 0);
    assert_eq!(desk.reset(&[key.to_owned()]).await.unwrap(), 1);
    fixed.forget();
    assert_eq!(admitted(&fixed, &Charge::auth(LOGIN, &host(7)), &host(7), 1).await, 1);
}

#[tokio::test]
async fn the_desk_says_what_ails_redis() {
    let nowhere = RedisAddress::from_parts("127.0.0.1", 1, 0, None).unwrap();
    assert_eq!(Desk::open(&nowhere).await.err(), Some("connection refused"));
}

#[tokio::test]
async fn the_numbers_name_policy_outcome_and_store_and_no_client() {
    let limiter = Limiter::new(Quotas::default(), None, Clock::system());
    let mail = mailbox();
    admitted(&limiter, &Charge::auth(LOGIN, &host(7)), &host(7), 33).await;
    admitted(&limiter, &Charge::auth_email(MailScope::Leave, mail), &host(7), 2).await;
    let text = limiter.metrics(&[("too_long", 4)]);
    for line in [
        "labs_auth_rate_limit_decisions_total{policy=\"auth\",outcome=\"admitted\",store=\"memory\"} 30",
        "labs_auth_rate_limit_decisions_total{policy=\"auth\",outcome=\"refused\",store=\"memory\"} 3",
        "labs_auth_rate_limit_decisions_total{policy=\"auth-email\",outcome=\"admitted\",store=\"memory\"} 2",
        "labs_auth_rate_limit_on_redis 0",
        "labs_auth_rate_limit_entries 2",
        "labs_auth_rate_limit_live_evictions 0",
        "labs_auth_rate_limit_forwarded_rejected{reason=\"too_long\"} 4",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\nnot in\n{text}");
    }
    assert!(!text.contains("203.0.113") && !text.contains(mail));
}
