//! `POST /api/auth/ws-ticket` and `/redeem`: tickets for sockets, between a page and a sibling service.

use std::time::Duration;

use serde_json::json;

use crate::{
    password::{at_once, count},
    world::{Ask, Verbs, World},
};

const ISSUE: &str = "/api/auth/ws-ticket";
const REDEEM: &str = "/api/auth/ws-ticket/redeem";
const KEYS: [&str; 2] = ["the first service key of the siblings", "the second service key of the siblings"];

async fn house() -> World {
    World::with(&[("SERVICE_KEYS", &KEYS.join(", "))]).await
}

fn redeem(world: &World, key: &str, ticket: &str) -> Ask {
    world.anonymous().post(REDEEM, json!({"ticket": ticket})).only("authorization", format!("Bearer {key}"))
}

#[tokio::test]
async fn a_ticket_tells_the_socket_server_once_who_is_there() {
    // case 083
    let world = house().await;
    let anna = world.signed_in().await;
    let reply = anna.raw(ISSUE, Some("text/plain"), "anything").await;
    assert_eq!(
        (reply.is(200).json()["expires_in"].as_u64(), reply.header("cache-control")),
        (Some(60), Some("no-store"))
    );
    let ticket = reply.field("ticket");
    assert_eq!(ticket.len(), 43);
    let told = redeem(&world, KEYS[0], &ticket).await;
    let me = anna.get("/api/auth/me").await.json();
    assert_eq!(told.is(200).json()["sub"], me["id"]);
    assert_eq!(
        (told.field("email"), told.json()["wid"].clone()),
        (anna.email.clone(), me["default_workspace_id"].clone())
    );
    assert!(told.json()["sid"].is_string());
    assert_eq!(told.field("expires_at"), "2026-02-01T03:04:05Z");
    redeem(&world, KEYS[1], &ticket).await.is_error(400, "AUTH_006");
    redeem(&world, KEYS[1], &anna.access[..512.min(anna.access.len())]).await.is_error(400, "AUTH_006");
    redeem(&world, KEYS[1], &anna.refresh).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_ticket_ends_with_its_minute_its_session_and_its_account() {
    let world = house().await;
    let anna = world.signed_in().await;
    let late = anna.post(ISSUE, json!({})).await.field("ticket");
    world.advance(Duration::from_mins(1));
    redeem(&world, KEYS[0], &late).await.is_error(400, "AUTH_006");
    let orphan = anna.post(ISSUE, json!({})).await.field("ticket");
    anna.post("/api/auth/logout", json!({})).await.is(200);
    redeem(&world, KEYS[0], &orphan).await.is_error(400, "AUTH_006");
    let beat = world.signed_in().await;
    let disabled = beat.post(ISSUE, json!({})).await.field("ticket");
    world.db_disable(&beat.email).await;
    redeem(&world, KEYS[0], &disabled).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_ticket_signs_nobody_in_and_a_link_opens_no_socket() {
    let world = house().await;
    let anna = world.signed_in().await;
    let ticket = anna.post(ISSUE, json!({})).await.field("ticket");
    world.redeem_token(&ticket).await.is_error(400, "AUTH_006");
    let link = world.asked(&anna.email).await.token;
    redeem(&world, KEYS[0], &link).await.is_error(400, "AUTH_006");
    redeem(&world, KEYS[0], &ticket).await.is(200);
}

#[tokio::test]
async fn only_sibling_services_redeem_and_a_wrong_key_is_counted() {
    let world = house().await;
    let anna = world.signed_in().await;
    let ticket = anna.post(ISSUE, json!({})).await.field("ticket");
    let stranger = world.anonymous();
    for number in 0..30 {
        let ask = stranger.post(REDEEM, json!({"ticket": ticket}));
        let reply = match number % 3 {
            0 => ask.await,
            1 => ask.only("authorization", format!("Bearer {}", anna.access)).await,
            _ => ask.only("authorization", "Bearer the first service key of the sibling").await,
        };
        reply.is_error(401, "AUTH_002");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    stranger.post(REDEEM, json!({"ticket": ticket})).await.is_rate_limited();
    // A valid key is counted nowhere, from an exhausted network too.
    for _ in 0..40 {
        let ask = stranger.post(REDEEM, json!({"ticket": "x"})).only("authorization", format!("Bearer {}", KEYS[0]));
        ask.await.is_error(400, "AUTH_006");
    }
    redeem(&world, KEYS[0], &ticket).await.is(200);
}

#[tokio::test]
async fn without_service_keys_there_is_nothing_to_redeem() {
    let world = World::new().await;
    redeem(&world, KEYS[0], "x").await.is_error(404, "RES_001");
}

#[tokio::test]
async fn bad_bodies_of_siblings_are_invalid_and_strangers_get_no_ticket() {
    let world = house().await;
    let ask = |body| world.anonymous().post(REDEEM, body).only("authorization", format!("Bearer {}", KEYS[0]));
    ask(json!({})).await.has_fault("missing", "body.ticket");
    ask(json!({"ticket": "a".repeat(513)})).await.has_fault("string_too_long", "body.ticket");
    world.anonymous().post(ISSUE, json!({})).await.is_error(401, "AUTH_002");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_redemptions_of_one_ticket_have_one_winner() {
    let world = house().await;
    let anna = world.signed_in().await;
    let ticket = anna.post(ISSUE, json!({})).await.field("ticket");
    let replies = at_once((0..50).map(|_| redeem(&world, KEYS[0], &ticket))).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
}
