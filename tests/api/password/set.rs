//! `POST /api/auth/set-password`.

use std::time::Duration;

use serde_json::json;

use crate::world::{PASSWORD, Verbs, World};

const SET: &str = "/api/auth/set-password";
const CHOSEN: &str = "Chosen-Horse-3!";

/// A link for an account that has a proved mailbox and no password.
async fn invited(world: &World) -> (String, String) {
    let email = world.member().await;
    world.db_forget_password(&email).await;
    (email.clone(), set_token(world, &email).await)
}

async fn set_token(world: &World, email: &str) -> String {
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    world.mailed_token(email, "/set-password").await
}

#[tokio::test]
async fn whoever_proves_the_mailbox_lands_signed_in() {
    let world = World::new().await;
    let (email, token) = invited(&world).await;
    let body = json!({"token": token, "password": CHOSEN, "full_name": "Anna Muster"});
    let reply = world.anonymous().post(SET, body).await;
    let anna = world.holder_of(reply.is(200));
    assert_eq!(reply.cookies().len(), 2);
    let me = anna.get("/api/auth/me").await;
    assert_eq!(me.json()["email"], email.as_str());
    assert_eq!(me.json()["full_name"], "Anna Muster");
    assert_eq!(me.json()["has_password"], true);
    world.sign_in(&email, CHOSEN).await;
    let again = world.anonymous().post(SET, json!({"token": token, "password": "Another-Horse-7!"})).await;
    again.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn earlier_sessions_end_and_a_new_one_begins() {
    // case 105
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.db_forget_password(&anna.email).await;
    let token = set_token(&world, &anna.email).await;
    let reply = world.anonymous().post(SET, json!({"token": token, "new_password": CHOSEN})).await;
    let now = world.holder_of(reply.is(200));
    assert!(now.is_signed_in().await);
    assert!(!anna.is_signed_in().await);
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
}

#[tokio::test]
async fn a_name_that_is_there_already_stays() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    anna.patch("/api/auth/me", json!({"full_name": "First"})).await.is(200);
    world.db_forget_password(&anna.email).await;
    let token = set_token(&world, &anna.email).await;
    let reply = world.anonymous().post(SET, json!({"token": token, "password": CHOSEN, "full_name": "Second"})).await;
    assert_eq!(reply.is(200).json()["user"]["full_name"], "First");
}

#[tokio::test]
async fn the_link_cannot_replace_a_password_that_is_there() {
    let world = World::new().await;
    let (email, token) = invited(&world).await;
    let other = world.member().await;
    assert_ne!(email, other);
    let sql =
        "UPDATE users SET password_hash = (SELECT o.password_hash FROM users o WHERE o.email <> $1) WHERE email = $1";
    world.db_execute(sql, &email).await;
    let refused = world.anonymous().post(SET, json!({"token": token, "password": CHOSEN})).await;
    refused.is_error(400, "AUTH_006");
    world.sign_in(&email, PASSWORD).await;
}

#[tokio::test]
async fn a_refused_password_does_not_consume_the_link() {
    let world = World::new().await;
    let (email, token) = invited(&world).await;
    let try_with =
        async |password: &str| world.anonymous().post(SET, json!({"token": token, "password": password})).await;
    try_with("password123").await.is_error(422, "VAL_002");
    try_with(&email).await.is_error(422, "VAL_002");
    try_with("short").await.has_fault("string_too_short", "body.password");
    try_with(CHOSEN).await.is(200);
}

#[tokio::test]
async fn a_disabled_account_is_told_so_once_the_link_proved_the_mailbox() {
    let world = World::new().await;
    let (email, token) = invited(&world).await;
    world.db_disable(&email).await;
    world.anonymous().post(SET, json!({"token": token, "password": CHOSEN})).await.is_error(403, "AUTH_008");
    assert_eq!(world.db_open_sessions_of(&email).await, 0);
}

#[tokio::test]
async fn a_redeemed_link_takes_its_siblings_along_and_a_link_lives_for_a_day() {
    let world = World::new().await;
    let (email, first) = invited(&world).await;
    let second = set_token(&world, &email).await;
    world.anonymous().post(SET, json!({"token": second, "password": CHOSEN})).await.is(200);
    world.anonymous().post(SET, json!({"token": first, "password": PASSWORD})).await.is_error(400, "AUTH_006");
    let (_, token) = invited(&world).await;
    world.advance(Duration::from_hours(24));
    world.anonymous().post(SET, json!({"token": token, "password": CHOSEN})).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn an_address_registered_twice_gets_its_workspace_with_its_password() {
    let world = World::new().await;
    let email = world.unconfirmed().await;
    world.register(&email, PASSWORD).await.is(201);
    let token = world.mailed_token(&email, "/set-password").await;
    let reply = world.anonymous().post(SET, json!({"token": token, "password": CHOSEN})).await;
    let me = world.holder_of(reply.is(200)).get("/api/auth/me").await.json();
    assert_eq!(me["email_verified"], true);
    assert_eq!(me["workspace"]["role"], "owner");
    assert_eq!(me["workspace"]["is_default"], true);
}
