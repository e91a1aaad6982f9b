//! The bucket on the four sign-in routes and on the check.

use serde_json::{Value, json};

use super::{
    CHECK, CORS, CREDENTIALS, DISCOVERABLE_BEGIN, DISCOVERABLE_COMPLETE, LABS, LOGIN_BEGIN, LOGIN_COMPLETE,
    REGISTER_BEGIN, relying_parties,
};
use crate::world::{Ask, Verbs, World};

/// A house that counts in memory, so that no other test spends its budgets.
async fn house() -> World {
    let rps = relying_parties();
    World::plan().set("WEBAUTHN_RPS", &rps).set("CORS_ORIGINS", CORS).on_memory().build().await
}

#[tokio::test]
async fn the_bucket_stands_on_the_four_login_routes_and_on_check() {
    let world = house().await;
    let body = |path: &str| if path == LOGIN_BEGIN { json!({"email": "a@b.example"}) } else { json!({}) };
    for path in [LOGIN_BEGIN, DISCOVERABLE_BEGIN, LOGIN_COMPLETE, DISCOVERABLE_COMPLETE] {
        let somebody = world.anonymous();
        for left in (0..30).rev() {
            let reply = somebody.post(path, body(path)).origin(LABS).await;
            assert!(matches!(reply.status.as_u16(), 200 | 422), "{reply:?}");
            assert_eq!(reply.remaining(), left);
        }
        somebody.post(path, body(path)).origin(LABS).await.is_rate_limited();
        let elsewhere = world.anonymous().post(path, body(path)).origin(LABS).await;
        assert_ne!(elsewhere.status, 429, "another client has a budget of its own");
    }
    let somebody = world.anonymous();
    for _ in 0..30 {
        somebody.get(CHECK).await.is(200);
    }
    somebody.get(CHECK).await.is_rate_limited();
    somebody.get(&format!("{CHECK}?email=nobody")).await.is_rate_limited();
}

#[tokio::test]
async fn thirty_invalid_bodies_from_a_cross_origin_caller_are_422_and_the_next_is_429() {
    let world = house().await;
    for path in [LOGIN_BEGIN, LOGIN_COMPLETE, DISCOVERABLE_COMPLETE] {
        let somebody = world.anonymous();
        let ask = |body: Value| -> Ask { somebody.post(path, body).origin(super::PARTNER) };
        for _ in 0..30 {
            let reply = ask(json!({})).await;
            reply.is_error(422, "VAL_001");
            assert_eq!(reply.header("access-control-allow-origin"), Some(super::PARTNER));
        }
        let reply = ask(json!({})).await;
        reply.is_rate_limited();
        assert_eq!(reply.header("access-control-allow-origin"), Some(super::PARTNER));
    }
}

#[tokio::test]
async fn a_malformed_question_is_counted_before_it_is_looked_at() {
    let world = house().await;
    let somebody = world.anonymous();
    for left in (0..30).rev() {
        let reply = somebody.get(&format!("{CHECK}?email=nobody")).await;
        assert_eq!(reply.is_error(422, "VAL_001").remaining(), left);
    }
    somebody.get(CHECK).await.is_rate_limited();
}

#[tokio::test]
async fn what_is_not_json_spends_nothing_except_where_no_body_is_read() {
    let world = house().await;
    let somebody = world.anonymous();
    for _ in 0..31 {
        somebody.raw(LOGIN_BEGIN, Some("application/json"), "{").await.has_fault("json_invalid", "body.0");
    }
    for _ in 0..30 {
        somebody.raw(DISCOVERABLE_BEGIN, Some("application/json"), "{").origin(LABS).await.is(200);
    }
    somebody.raw(DISCOVERABLE_BEGIN, Some("application/json"), "{").origin(LABS).await.is_rate_limited();
}

#[tokio::test]
async fn the_routes_of_a_session_are_not_counted() {
    let world = house().await;
    let person = world.signed_in().await;
    for _ in 0..31 {
        person.get(CREDENTIALS).await.is(200);
        person.post(REGISTER_BEGIN, json!({})).await.is(200);
    }
}
