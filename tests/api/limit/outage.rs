//! Redis goes away in every way it can: nobody is refused for it, nobody waits for it, and nobody gains by it.

use std::time::{Duration, Instant};

use labs_auth::{
    clock::Clock,
    limit::{Attempt, Backend, Charge, Limiter, Quotas, RedisAddress, RedisState, Verdict},
};
use redis::cmd;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use uuid::Uuid;

use super::{
    server::Server,
    world::{LOGIN, Log, admitted, connection, hit, on_redis, run, somebody, until},
};

const FALLBACK: &str = "using in-memory fallback";

fn limiter(url: &str) -> Limiter {
    Limiter::new(Quotas::default(), Some(RedisAddress::from_url(url).unwrap()), Clock::system())
}

#[tokio::test]
async fn a_closed_port_at_the_start_means_memory_and_one_line() {
    // case 181
    let (log, _listening) = Log::listen();
    let closed = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let limiter = limiter(&format!("redis://127.0.0.1:{closed}"));
    limiter.begin().await;
    let _running = run(&limiter);
    let client = somebody();
    assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, &client), &client, 31).await, 30);
    assert_eq!(limiter.backend(), Backend::Memory);
    assert!(matches!(limiter.redis_state(), RedisState::Unreachable { .. }));
    tokio::time::sleep(Duration::from_millis(600)).await;
    let lines = log.lines_with(FALLBACK);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("Redis unavailable (connection refused)"), "{}", lines[0]);
}

#[tokio::test]
async fn a_stopped_server_holds_no_request_beyond_its_allowance() {
    // case 183
    let Some(server) = Server::start(&[]).await else { return };
    let (log, _listening) = Log::listen();
    let limiter = on_redis(&server.url()).await;
    let client = somebody();
    let charge = Charge::auth(LOGIN, &client);
    assert_eq!(admitted(&limiter, &charge, &client, 25).await, 25);
    server.signal("STOP");

    let mut slow = 0;
    let mut passed = 0;
    for _ in 0..12 {
        let asked = Instant::now();
        passed += usize::from(hit(&limiter, std::slice::from_ref(&charge), &client).await == Verdict::Admitted);
        let waited = asked.elapsed();
        slow += usize::from(waited > Duration::from_millis(20));
        assert!(waited < Duration::from_millis(200), "{waited:?}");
    }
    // The memory was warm: 25 were spent, 5 were left.
    assert_eq!(passed, 5);
    assert!((1..=3).contains(&slow), "{slow} requests waited for Redis; three faults switch");
    assert_eq!(limiter.backend(), Backend::Memory);
    assert_eq!(log.lines_with("Redis unavailable (timeout), using in-memory fallback").len(), 1);
    server.signal("CONT");
}

#[tokio::test]
async fn an_idle_process_notices_a_stopped_server_and_its_return() {
    let Some(server) = Server::start(&[]).await else { return };
    let (log, _listening) = Log::listen();
    let limiter = on_redis(&server.url()).await;
    let _running = run(&limiter);
    server.signal("STOP");
    let stopped = Instant::now();
    until("memory", async || limiter.backend() == Backend::Memory).await;
    assert!(stopped.elapsed() < Duration::from_secs(5));
    server.signal("CONT");
    until("redis", async || limiter.backend() == Backend::Redis).await;
    assert_eq!(log.lines_with(FALLBACK).len(), 1);
    assert_eq!(log.lines_with("Redis available again").len(), 1);
}

#[tokio::test]
async fn a_killed_server_is_left_at_once_and_found_again() {
    let Some(mut server) = Server::start(&[]).await else { return };
    let (log, _listening) = Log::listen();
    let limiter = on_redis(&server.url()).await;
    let _running = run(&limiter);
    let client = somebody();
    let charge = Charge::auth(LOGIN, &client);
    assert_eq!(admitted(&limiter, &charge, &client, 28).await, 28);
    server.kill();
    assert_eq!(admitted(&limiter, &charge, &client, 5).await, 2);
    assert_eq!(limiter.backend(), Backend::Memory);
    server.restart().await;
    until("redis", async || limiter.backend() == Backend::Redis).await;
    assert!(matches!(limiter.redis_state(), RedisState::Healthy { .. }));
    let another = somebody();
    assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, &another), &another, 31).await, 30);
    let written: Option<u32> = cmd("GET")
        .arg(Charge::auth(LOGIN, &another).key())
        .query_async(&mut connection(&server.url()).await)
        .await
        .unwrap();
    assert_eq!(written, Some(30));
    assert_eq!(log.lines_with("Redis unavailable (connection lost), using in-memory fallback").len(), 1);
    assert_eq!(log.lines_with("Redis available again").len(), 1);
}

#[tokio::test]
async fn a_demoted_server_refuses_nobody() {
    // case 185
    let Some(server) = Server::start(&[]).await else { return };
    let (log, _listening) = Log::listen();
    let limiter = on_redis(&server.url()).await;
    let _running = run(&limiter);
    let mut redis = connection(&server.url()).await;
    cmd("REPLICAOF").arg("127.0.0.1").arg(1).exec_async(&mut redis).await.unwrap();
    let client = somebody();
    assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, &client), &client, 5).await, 5);
    assert_eq!(limiter.backend(), Backend::Memory);
    // It answers PINGs all the while; only the canary write keeps the process away.
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(limiter.backend(), Backend::Memory);
    cmd("REPLICAOF").arg("NO").arg("ONE").exec_async(&mut redis).await.unwrap();
    until("redis", async || limiter.backend() == Backend::Redis).await;
    assert_eq!(log.lines_with("Redis unavailable (READONLY), using in-memory fallback").len(), 1);
    assert_eq!(log.lines_with(FALLBACK).len(), 1);
}

#[tokio::test]
async fn a_full_server_switches_after_three_faults() {
    let Some(server) = Server::start(&[]).await else { return };
    let (log, _listening) = Log::listen();
    let limiter = on_redis(&server.url()).await;
    let mut redis = connection(&server.url()).await;
    cmd("CONFIG").arg(&["SET", "maxmemory", "1"]).exec_async(&mut redis).await.unwrap();
    let client = somebody();
    let charge = Charge::auth(LOGIN, &client);
    assert_eq!(admitted(&limiter, &charge, &client, 2).await, 2);
    assert_eq!(limiter.backend(), Backend::Redis);
    assert_eq!(admitted(&limiter, &charge, &client, 1).await, 1);
    assert_eq!(limiter.backend(), Backend::Memory);
    assert_eq!(log.lines_with("Redis unavailable (OOM), using in-memory fallback").len(), 1);
}

#[tokio::test]
async fn a_missing_password_is_named_once_and_not_told() {
    // case 187
    let Some(server) = Server::start(&["--requirepass", "hunter2"]).await else { return };
    let (log, _listening) = Log::listen();
    let without = limiter(&server.url());
    without.begin().await;
    let _running = run(&without);
    let client = somebody();
    assert_eq!(admitted(&without, &Charge::auth(LOGIN, &client), &client, 31).await, 30);
    assert_eq!(without.backend(), Backend::Memory);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(log.lines_with("Redis unavailable (NOAUTH), using in-memory fallback").len(), 1);
    assert_eq!(log.lines_with("WARN").len(), 2, "one for Redis, one for the refused client");

    let elsewhere = limiter(&format!("redis://127.0.0.1:{}/3", server.port()));
    elsewhere.begin().await;
    assert_eq!(log.lines_with("(NOAUTH)").len(), 2);
    let wrong = limiter(&format!("redis://:hunter3@127.0.0.1:{}", server.port()));
    wrong.begin().await;
    assert_eq!(log.lines_with("(WRONGPASS)").len(), 1);
    assert_eq!(log.lines_with("hunter").len(), 0);
    let right = on_redis(&format!("redis://:hunter2@127.0.0.1:{}", server.port())).await;
    assert_eq!(right.backend(), Backend::Redis);
}

#[tokio::test]
async fn many_requests_at_once_on_a_stopped_server_wait_together_not_in_turn() {
    let Some(server) = Server::start(&[]).await else { return };
    let limiter = on_redis(&server.url()).await;
    server.signal("STOP");
    let asked = Instant::now();
    let requests = (0..2000).map(|_| {
        let limiter = limiter.clone();
        tokio::spawn(async move {
            let client = somebody();
            hit(&limiter, &[Charge::auth(LOGIN, &client)], &client).await
        })
    });
    for request in requests.collect::<Vec<_>>() {
        assert_eq!(request.await.unwrap(), Verdict::Admitted);
    }
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    server.signal("CONT");
}

#[tokio::test]
async fn a_request_that_met_a_fault_asks_redis_no_more() {
    let Some(server) = Server::start(&[]).await else { return };
    let limiter = on_redis(&server.url()).await;
    let client = somebody();
    let attempt = Attempt::new(Uuid::nil(), client);
    let mut redis = connection(&server.url()).await;
    cmd("CONFIG").arg(&["SET", "maxmemory", "1"]).exec_async(&mut redis).await.unwrap();
    // One fault, whatever the number of decisions: three would have switched the process.
    for _ in 0..5 {
        let verdict = limiter.decide(&[Charge::auth(LOGIN, &client)], &client, LOGIN, &attempt).await;
        assert_eq!(verdict, Verdict::Admitted);
    }
    assert_eq!((limiter.backend(), limiter.decided_by_memory()), (Backend::Redis, 5));
}

#[tokio::test]
async fn the_decisions_of_one_request_share_its_allowance() {
    let Some(server) = Server::start(&[]).await else { return };
    let limiter = on_redis(&server.url()).await;
    let client = somebody();
    let attempt = Attempt::new(Uuid::nil(), client);
    let mut redis = connection(&server.url()).await;
    // Each pause is shorter than the allowance, and both together are longer.
    for _ in 0..2 {
        cmd("CLIENT").arg(&["PAUSE", "35", "ALL"]).exec_async(&mut redis).await.unwrap();
        let verdict = limiter.decide(&[Charge::auth(LOGIN, &client)], &client, LOGIN, &attempt).await;
        assert_eq!(verdict, Verdict::Admitted);
    }
    assert!(limiter.decided_by_memory() >= 1);
}

#[tokio::test]
async fn what_redis_refused_is_refused_by_memory_when_it_is_gone() {
    let Some(mut server) = Server::start(&[]).await else { return };
    let (limiter, client) = (on_redis(&server.url()).await, somebody());
    let (spent, other) = (Charge::auth(LOGIN, &client), Charge::ip(&client));
    assert_eq!(admitted(&limiter, &spent, &client, 31).await, 30);
    server.kill();
    assert_eq!(hit(&limiter, std::slice::from_ref(&other), &client).await, Verdict::Admitted);
    assert_eq!(limiter.backend(), Backend::Memory, "a connection that is gone is one fault too many");
    assert_eq!(admitted(&limiter, &spent, &client, 3).await, 0);
    let stranger = somebody();
    assert_eq!(admitted(&limiter, &Charge::auth(LOGIN, &stranger), &stranger, 2).await, 2);
    // The process's own memory of refusals is Redis's word, and counts no longer.
    let told = |outcome, store| format!("{{policy=\"auth\",outcome={outcome:?},store={store:?}}}");
    let numbers = limiter.metrics(&[]);
    for line in [
        format!("{} 30", told("admitted", "redis")),
        format!("{} 1", told("refused", "redis")),
        format!("{} 2", told("admitted", "memory")),
        format!("{} 3", told("refused", "memory")),
    ] {
        assert!(numbers.contains(&line), "{line} is not in\n{numbers}");
    }
    assert!(!numbers.contains(&told("refused", "process")), "{numbers}");
    assert!(!numbers.contains("redis_seconds_count 0"), "{numbers}");
}

#[tokio::test]
async fn a_server_that_is_no_redis_is_named_as_one_that_speaks_otherwise() {
    let (log, _listening) = Log::listen();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            // It stays open: what ends is the patience of whoever asked.
            tokio::spawn(async move { stream.read_to_end(&mut Vec::new()).await });
        }
    });
    let limiter = limiter(&format!("redis://127.0.0.1:{port}"));
    limiter.begin().await;
    assert_eq!(limiter.backend(), Backend::Memory);
    assert_eq!(
        log.lines_with("Redis unavailable (protocol), using in-memory fallback").len(),
        1,
        "{:?}",
        log.lines_with("WARN")
    );
}
