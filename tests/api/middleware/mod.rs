//! The corridor, walked from outside.

mod access_log;
mod client_ip;
mod cors;
mod host;
mod panic;
mod volumetric;

use serde_json::json;

use crate::world::{Verbs, World};

#[tokio::test]
async fn the_request_id_is_ours_whatever_the_client_sends() {
    // case 157
    let world = World::new().await;
    let somebody = world.anonymous();
    for sent in
        ["a".repeat(4096), String::from("tab\tand\"quotes"), String::from("0f3c9b1e-5f0e-4e0a-9b6a-1d1c7a3c2b10")]
    {
        let reply = somebody.get("/health").header("x-request-id", &sent).await;
        assert_ne!(reply.is(200).header("x-request-id"), Some(sent.as_str()));
    }
    let (one, other) = (somebody.get("/health").await, somebody.get("/health").await);
    assert_ne!(one.header("x-request-id"), other.header("x-request-id"));
}

#[tokio::test]
async fn line_breaks_and_escapes_in_what_is_logged_are_refused_or_harmless() {
    // case 159
    let world = World::new().await;
    let somebody = world.anonymous();
    let forged = "x@x.example\n2026-01-01 INFO login ok user=admin";
    somebody.login(forged, "p").await.has_fault("value_error", "body.email");
    let email = world.member().await;
    let agent = b"\xff\xfe curl \xe2\x80\xae".as_slice();
    somebody.login(&email, crate::world::PASSWORD).header("user-agent", agent).await.is(200);
    somebody.post("/api/auth/login", json!({})).header("user-agent", "u".repeat(9000)).await.is_error(422, "VAL_001");
}

#[tokio::test]
async fn development_does_not_pin_browsers_to_tls() {
    // That the header is there in production is a rule for every answer.
    let world = World::with(&[("ENVIRONMENT", "development")]).await;
    assert!(world.anonymous().get("/health").await.header("strict-transport-security").is_none());
}
