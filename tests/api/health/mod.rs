//! Whether the service lives, as probes ask.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use http::Method;
use serde_json::{Value, json};

use crate::{
    password::races::FLOOD,
    world::{PASSWORD, Verbs, World},
};

#[tokio::test]
async fn liveness_is_one_word_on_both_paths() {
    let world = World::new().await;
    for path in ["/health", "/api/health"] {
        assert_eq!(world.anonymous().get(path).await.is(200).json(), json!({"status": "healthy"}));
    }
}

#[tokio::test]
async fn the_detailed_answer_names_the_parts_and_nothing_of_where_they_are() {
    let world = World::on_memory().await;
    world.advance(Duration::from_secs(12));
    let reply = world.anonymous().get("/api/health/detailed").await;
    let body = reply.is(200).json();
    let mut names: Vec<&String> = body.as_object().unwrap().keys().collect();
    names.sort();
    let expected = [
        "database",
        "details",
        "environment",
        "mail",
        "rate_limit_backend",
        "redis",
        "status",
        "timestamp",
        "uptime_seconds",
        "version",
    ];
    assert_eq!(names, expected);
    for (name, value) in [
        ("status", json!("healthy")),
        ("environment", json!("production")),
        ("uptime_seconds", json!(12)),
        ("rate_limit_backend", json!("memory")),
        ("database", json!("healthy")),
        ("redis", json!("disabled")),
        ("mail", json!("healthy")),
        ("timestamp", json!("2026-01-02T03:04:17Z")),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    assert_eq!(body["details"]["redis"], json!({"latency_ms": null, "since": null}));
    assert_eq!(body["details"]["mail"]["transport"], "file");
    assert!(body["details"]["database"]["latency_ms"].is_number());
}

#[tokio::test]
async fn all_four_paths_answer_head_and_no_other_method() {
    let world = World::new().await;
    for path in ["/health", "/health/detailed", "/api/health", "/api/health/detailed"] {
        world.anonymous().ask(Method::HEAD, path).await.is(200);
        let refused = world.anonymous().ask(Method::POST, path).await;
        assert_eq!(refused.is_error(405, "RES_003").header("allow"), Some("GET, HEAD"));
    }
}

#[tokio::test]
async fn an_absent_database_is_a_503_that_says_when_to_come_back_and_never_why() {
    // case 297
    let world = World::new().await;
    let email = world.member().await;
    let anna = world.sign_in(&email, PASSWORD).await;
    world.app().db.close().await;
    world.anonymous().get("/health").await.is(200);
    let reply = world.anonymous().get("/health/detailed").await;
    let body = reply.is(503).json();
    assert_eq!((&body["status"], &body["database"]), (&json!("unhealthy"), &json!("unreachable")));
    assert_eq!(body["details"]["database"]["latency_ms"], Value::Null);
    for inside in ["pool", "Pool", "closed", "sqlite:", "postgres:", ".db", "127.0.0.1", "error"] {
        assert!(!String::from_utf8_lossy(&reply.body).contains(inside), "{inside}: {reply:?}");
    }
    for reply in [
        anna.get("/api/auth/me").await,
        anna.refresh_with(&anna.refresh).await,
        world.anonymous().login(&email, PASSWORD).await,
        world.register(&world.mailbox(), PASSWORD).await,
        world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await,
        world.anonymous().post("/api/auth/verify-email", json!({"token": "x"})).await,
        world.anonymous().post("/api/auth/reset-password", json!({"token": "x", "new_password": PASSWORD})).await,
    ] {
        reply.is_error(503, "SYS_002");
    }
}

#[tokio::test]
async fn an_answer_is_shared_for_a_second_and_no_longer() {
    let world = World::new().await;
    let ask = async || world.anonymous().get("/health/detailed").await.json()["timestamp"].clone();
    let first = ask().await;
    world.advance(Duration::from_millis(999));
    assert_eq!(ask().await, first);
    world.advance(Duration::from_millis(1));
    assert_ne!(ask().await, first);
}

#[tokio::test]
async fn mail_that_cannot_leave_is_a_degraded_service() {
    use crate::world::{smtp, wire::Wire};
    let server = smtp::SmtpServer::start(smtp::Wire::Clear, smtp::Manner::Obliging).await;
    let wire = Wire::to(server.address()).await;
    wire.cut();
    let world = World::plan().on_memory().set("MAIL_URL", &format!("smtp://{}", wire.address)).build().await;
    world.register(&world.mailbox(), PASSWORD).await.is(201);
    world.deliver().await;
    let body = world.anonymous().get("/health/detailed").await.is(200).json();
    assert_eq!((&body["status"], &body["mail"]), (&json!("degraded"), &json!("failing")));
    assert_eq!(body["details"]["mail"]["queued"], 1);
    wire.restore();
    world.advance(Duration::from_hours(1));
    world.deliver().await;
    let body = world.anonymous().get("/health/detailed").await.is(200).json();
    assert_eq!((&body["status"], &body["mail"]), (&json!("healthy"), &json!("healthy")));
}

#[tokio::test]
async fn a_cut_wire_to_redis_refuses_nobody_and_shows() {
    // cases 181, 299
    use crate::world::wire::Wire;
    let Ok(url) = std::env::var("TEST_REDIS_URL") else { return };
    let url: url::Url = url.parse().unwrap();
    let upstream = tokio::net::lookup_host((url.host_str().unwrap(), url.port().unwrap_or(6379))).await.unwrap().next();
    let wire = Wire::to(upstream.unwrap()).await;
    let world = World::with(&[("REDIS_URL", &format!("redis://{}{}", wire.address, url.path()))]).await;
    let somebody = world.anonymous();
    let health = async || world.anonymous().get("/health/detailed").await.is(200).json();
    assert_eq!(health().await["rate_limit_backend"], "redis");
    for _ in 0..10 {
        somebody.post("/api/auth/login", json!({})).await.is(422);
    }
    wire.stall();
    for _ in 0..10 {
        somebody.post("/api/auth/login", json!({})).await.is(422);
    }
    wire.cut();
    for _ in 0..10 {
        somebody.post("/api/auth/login", json!({})).await.is(422);
    }
    // Memory was kept warm: falling over gives nobody a fresh budget.
    somebody.post("/api/auth/login", json!({})).await.is_rate_limited();
    world.advance(Duration::from_secs(2));
    let body = health().await;
    assert_eq!((&body["status"], &body["rate_limit_backend"]), (&json!("degraded"), &json!("memory")));
    assert_eq!(body["redis"], "unreachable");
}

#[tokio::test]
async fn a_silent_database_is_told_from_a_slow_one_and_comes_back() {
    // cases 195, 199, 301
    use crate::world::wire::Wire;
    let Ok(base) = std::env::var("TEST_DATABASE_URL") else { return };
    let first = World::new().await;
    let email = first.member().await;
    let mut url: url::Url = first.database_url().parse().unwrap();
    assert!(base.contains(url.host_str().unwrap()));
    let upstream = tokio::net::lookup_host((url.host_str().unwrap(), url.port().unwrap_or(5432))).await.unwrap().next();
    let wire = Wire::to(upstream.unwrap()).await;
    url.set_host(Some("127.0.0.1")).unwrap();
    url.set_port(Some(wire.address.port())).unwrap();
    let world = World::with(&[("DATABASE_URL", url.as_str())]).await;
    world.sign_in(&email, PASSWORD).await;
    wire.stall();
    let asked = std::time::Instant::now();
    world.anonymous().get("/health").await.is(200);
    let body = world.anonymous().get("/health/detailed").await.is(503).json();
    assert_eq!(body["database"], "unreachable");
    assert!(asked.elapsed() < Duration::from_millis(1500), "{:?}", asked.elapsed());
    let asked = std::time::Instant::now();
    world.anonymous().login(&email, PASSWORD).await.is_error(503, "SYS_002");
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    wire.cut();
    world.anonymous().login(&email, PASSWORD).await.is_error(503, "SYS_002");
    wire.restore();
    world.sign_in(&email, PASSWORD).await;
}

/// The middle of some durations.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn liveness_waits_behind_none_of_fifty_hashes() {
    // case 067
    const LOGINS: usize = 50;
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let email = world.member().await;
    let wrong = || world.anonymous().login(&email, "Wrong-Horse-1!");
    // What one login takes when nobody else is there, measured now and here.
    let mut alone = Vec::new();
    for _ in 0..5 {
        let (ask, begun) = (wrong(), Instant::now());
        ask.await.is(401);
        alone.push(begun.elapsed());
    }
    let answered = Arc::new(AtomicUsize::new(0));
    let logins: Vec<_> = (0..LOGINS)
        .map(|_| {
            let (ask, answered) = (wrong(), Arc::clone(&answered));
            tokio::spawn(async move {
                let reply = ask.await;
                answered.fetch_add(1, SeqCst);
                reply
            })
        })
        .collect();
    let (mut times, mut passed_by) = (Vec::new(), Vec::new());
    loop {
        let before = answered.load(SeqCst);
        if before == LOGINS {
            break;
        }
        let (ask, begun) = (world.anonymous().get("/health"), Instant::now());
        tokio::spawn(async move {
            ask.await.is(200);
        })
        .await
        .unwrap();
        times.push(begun.elapsed());
        passed_by.push(answered.load(SeqCst) - before);
    }
    let mut refused = 0;
    for login in logins {
        let reply = login.await.unwrap();
        // On a machine that is busy with something else, whoever waits for ten seconds is told to come back.
        assert!(reply.status == 401 || reply.status == 503, "{reply:?}");
        refused += usize::from(reply.status == 401);
    }
    assert!(refused > 0, "no password was checked");
    // Behind the queue, the first question would have been answered after the last login and there would be few others.
    assert!(times.len() > LOGINS, "{} questions were answered while {LOGINS} logins hashed", times.len());
    // While the middle question was answered, hardly any login was.
    passed_by.sort_unstable();
    let middle = passed_by[passed_by.len() / 2];
    assert!(middle <= LOGINS / 10, "{middle} logins were answered during one question: {passed_by:?}");
    // Were the hashes made where requests are served, a question would wait for one to end.
    let (health, alone) = (median(times), median(alone));
    assert!(health * 2 < alone, "/health took {health:?}, a login by itself {alone:?}");
}
