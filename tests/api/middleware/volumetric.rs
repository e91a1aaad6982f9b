//! The ceilings over `/api`, and who stands outside them.

use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::{
    password::{at_once, count},
    world::{PAGE, Verbs, World},
};

const LOGIN: &str = "/api/auth/login";

#[tokio::test]
async fn a_flood_of_public_requests_leaves_the_login_its_thirty() {
    let world = World::new().await;
    let somebody = world.anonymous();
    for sent in 0..240 {
        let reply = somebody.get(&format!("/api/scribe/{sent}")).origin(PAGE).await;
        assert_eq!(reply.is_error(404, "RES_001").remaining(), 239 - sent);
    }
    let refused = somebody.get("/api/scribe/x").origin(PAGE).await;
    refused.is_flooded();
    assert_eq!(refused.header("ratelimit-policy"), Some("\"ip\";q=1000;w=60, \"public-ip\";q=240;w=60"));
    assert!(refused.header("ratelimit").unwrap().starts_with("\"public-ip\";r=0;t="));
    for public in ["tracking", "f/x", "public", "waitlist", "feedback", "commerce/self-service", "scribe"] {
        somebody.post(&format!("/api/{public}"), json!({})).await.is_flooded();
    }
    // Other paths have the larger ceiling, and sign-in has none but its own.
    somebody.get("/api/other").await.is_error(404, "RES_001");
    for left in (0..30).rev() {
        assert_eq!(somebody.post(LOGIN, json!({})).await.is(422).remaining(), left);
    }
    somebody.post(LOGIN, json!({})).await.is_rate_limited();
    world.anonymous().get("/api/scribe/x").await.is(404);
}

#[tokio::test]
async fn unknown_paths_are_counted_and_the_thousand_and_first_is_refused() {
    let world = World::new().await;
    let somebody = world.anonymous();
    for _ in 0..1000 {
        somebody.get("/api/forms/templates").await.is(404);
    }
    somebody.get("/api/forms/templates").await.is_flooded();
    // One shape under every prefix: the refusal is the middleware's.
    somebody.get("/api/prima/v1/models").await.is_flooded();
    // case 289: the exemption of the health routes is exact.
    somebody.get("/api/health/../x").await.is_flooded();
    somebody.get("/api/healthX").await.is_flooded();
    somebody.get("/api/health").await.is(200);
    somebody.get("/health").await.is(200);
    somebody.get("/nope").await.is(404);
}

#[tokio::test]
async fn exactly_the_listed_paths_stand_outside_the_ceilings() {
    // cases 285, 289
    let world = World::new().await;
    let counted = async |path: &str| {
        let reply = world.anonymous().ask(Method::POST, path).await;
        let policy = reply.header("ratelimit-policy").unwrap_or("").to_owned();
        (reply.status.as_u16(), policy.contains("\"ip\""), policy.contains("\"public-ip\""))
    };
    for path in [
        "/api/authx",
        "/api/auth-x/login",
        "/api/healthX",
        "/api/health/x",
        "/api/health/detailed/x",
        "/api//auth/login",
        "/api/auth//login",
        "/api/auth/login;x",
        "/api/auth;x/login",
        "/api/auth/../scribe",
        "/api/auth/./login",
        "/api/auth/%2e%2e/scribe",
        "/api/auth/%6cogin",
        "/api/health/../auth/login",
        "/api/auth/webauthn/%2e%2e/login",
        "/api",
        "/api/",
        "/api/x",
        "/api/prima/v1/accounts/x",
    ] {
        assert_eq!(counted(path).await, (404, true, false), "{path}");
    }
    for path in ["/api/scribe", "/api/scribe/", "/api/scribe/..", "/api/scribe/%2e", "/api/scribe//x", "/api/f/x"] {
        assert_eq!(counted(path).await, (404, true, true), "{path}");
    }
    for path in ["/api/scribed", "/api/SCRIBE", "/api/f", "/api/commerce"] {
        assert_eq!(counted(path).await, (404, true, false), "{path}");
    }
    for path in ["/api/auth", "/api/auth/nope", "/nope", "//api/auth/login", "/API/auth/login", "/apix"] {
        assert_eq!(counted(path).await, (404, false, false), "{path}");
    }
}

#[tokio::test]
async fn no_spelling_of_a_path_opens_a_second_budget() {
    let world = World::new().await;
    let somebody = world.anonymous();
    for _ in 0..30 {
        somebody.post(LOGIN, json!({})).await.is(422);
    }
    for path in ["/api/auth/login?x=1", "/api/auth/login?", "http://auth.labs.example/api/auth/login"] {
        somebody.post(path, json!({})).await.is_rate_limited();
    }
    for path in ["/api/auth/login;x", "/api/auth//login", "//api/auth/login", "/api/auth/%6cogin", "/api/auth/LOGIN"] {
        somebody.post(path, json!({})).await.is_error(404, "RES_001");
    }
    somebody.post("/api/auth/login/", json!({})).await.is(307);
}

#[tokio::test]
async fn forty_bodies_that_are_not_json_leave_the_office_its_thirty() {
    // case 177
    let world = World::new().await;
    let email = world.member().await;
    let office = world.anonymous();
    for _ in 0..40 {
        office.raw(LOGIN, Some("application/json"), "not json").await.is_error(422, "VAL_001");
    }
    assert_eq!(office.login(&email, crate::world::PASSWORD).await.is(200).remaining(), 29);
}

#[tokio::test]
async fn a_window_starts_at_its_first_request_and_ends_a_minute_later() {
    // cases 167, 175
    let world = World::on_memory().await;
    let somebody = world.anonymous();
    somebody.post(LOGIN, json!({})).await.is(422);
    world.advance(Duration::from_secs(30));
    for _ in 0..29 {
        somebody.post(LOGIN, json!({})).await.is(422);
    }
    let at = async |millis: u64, wait: u64| {
        world.advance(Duration::from_millis(millis));
        let refused = somebody.post(LOGIN, json!({})).await;
        assert_eq!(refused.is_rate_limited().wait(), wait);
        assert_eq!(refused.header("ratelimit"), Some(format!("\"auth\";r=0;t={wait}").as_str()));
        assert_eq!(refused.header("x-ratelimit-reset"), Some("1767323105"));
    };
    at(0, 30).await;
    at(1, 30).await;
    at(28_999, 1).await;
    at(999, 1).await;
    world.advance(Duration::from_millis(1));
    assert_eq!(somebody.post(LOGIN, json!({})).await.is(422).remaining(), 29);
}

#[tokio::test]
async fn a_counted_answer_says_what_is_left_to_admitted_and_refused_alike() {
    let world = World::on_memory().await;
    let reply = world.anonymous().post(LOGIN, json!({})).await;
    assert_eq!(reply.header("ratelimit-policy"), Some("\"auth\";q=30;w=60"));
    assert_eq!(reply.header("ratelimit"), Some("\"auth\";r=29;t=60"));
    assert_eq!(reply.header("x-ratelimit-limit"), Some("30"));
    assert_eq!(reply.header("x-ratelimit-remaining"), Some("29"));
    assert_eq!(reply.header("x-ratelimit-reset"), Some("1767323105"));
    let body = json!({"email": world.mailbox()});
    let reply = world.anonymous().post("/api/auth/forgot-password", body).await;
    assert_eq!(reply.header("ratelimit-policy"), Some("\"auth\";q=30;w=60, \"auth-email\";q=10;w=60"));
    assert_eq!(reply.header("ratelimit"), Some("\"auth\";r=29;t=60"));
}

#[tokio::test]
async fn quotas_are_settings_and_the_ceilings_can_be_taken_down_but_not_the_buckets() {
    let tight = World::with(&[("RATE_LIMIT_IP_PER_MINUTE", "3"), ("RATE_LIMIT_PUBLIC_IP_PER_MINUTE", "1")]).await;
    let somebody = tight.anonymous();
    somebody.get("/api/scribe").await.is(404);
    somebody.get("/api/scribe").await.is_flooded();
    somebody.get("/api/x").await.is(404);
    somebody.get("/api/x").await.is_flooded();
    let open = World::with(&[("RATE_LIMIT_ENABLED", "false"), ("RATE_LIMIT_IP_PER_MINUTE", "1")]).await;
    let somebody = open.anonymous();
    for _ in 0..5 {
        somebody.get("/api/scribe").await.is(404);
    }
    for _ in 0..30 {
        somebody.post(LOGIN, json!({})).await.is(422);
    }
    somebody.post(LOGIN, json!({})).await.is_rate_limited();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_public_requests_at_once_exactly_the_quota_is_admitted() {
    let world = World::on_memory().await;
    let somebody = world.anonymous();
    let replies = at_once((0..300).map(|_| somebody.get("/api/scribe/x"))).await;
    assert_eq!((count(&replies, 404), count(&replies, 429)), (240, 60));
}
