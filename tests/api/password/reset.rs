//! `POST /api/auth/reset-password`.

use std::time::Duration;

use labs_auth::{
    account,
    clock::Timestamp,
    secret::Plain,
    store::{Database, Tx},
    ticket::{self, Purpose},
};
use serde_json::json;

use crate::world::{PASSWORD, Verbs, World};

const RESET: &str = "/api/auth/reset-password";
const CHOSEN: &str = "Chosen-Horse-3!";

async fn reset_token(world: &World, email: &str) -> String {
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    world.mailed_token(email, "/reset-password").await
}

#[tokio::test]
async fn a_reset_replaces_the_password_ends_every_session_and_says_so_by_mail() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let elsewhere = world.sign_in(&anna.email, PASSWORD).await;
    let token = reset_token(&world, &anna.email).await;
    let reply = world.anonymous().post(RESET, json!({"token": token, "new_password": CHOSEN})).await;
    assert_eq!(reply.is(200).json(), json!({"message": "Password changed. You can now sign in."}));
    assert!(reply.cookies().is_empty());
    for session in [&anna, &elsewhere] {
        assert!(!session.is_signed_in().await);
        session.refresh_with(&session.refresh).await.is_error(401, "AUTH_005");
    }
    world.anonymous().login(&anna.email, PASSWORD).await.is_error(401, "AUTH_001");
    world.sign_in(&anna.email, CHOSEN).await;
    let mails = world.mails_to(&anna.email).await;
    let last = mails.last().unwrap();
    assert!(last.raw.contains("password") || last.subject.contains("Passwort"), "{last:?}");
    assert!(!last.raw.contains("token="), "{last:?}");
}

#[tokio::test]
async fn a_reset_ends_every_other_link_of_the_account() {
    // cases 079, 085
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let verify = world.mailed_token(&email, "/verify-email").await;
    let first = reset_token(&world, &email).await;
    let second = reset_token(&world, &email).await;
    assert_ne!(first, second);
    world.anonymous().post(RESET, json!({"token": first, "new_password": CHOSEN})).await.is(200);
    let refused = world.anonymous().post(RESET, json!({"token": second, "new_password": PASSWORD})).await;
    refused.is_error(400, "AUTH_006");
    world.anonymous().post("/api/auth/verify-email", json!({"token": verify})).await.is_error(400, "AUTH_006");
    // The link proved the mailbox, so the account is confirmed.
    world.sign_in(&email, CHOSEN).await;
}

#[tokio::test]
async fn a_refused_password_does_not_consume_the_link() {
    let world = World::new().await;
    let email = world.member().await;
    let token = reset_token(&world, &email).await;
    let try_with =
        async |password: &str| world.anonymous().post(RESET, json!({"token": token, "new_password": password})).await;
    let reasons = |reply: &crate::world::Reply| reply.is_error(422, "VAL_002").json()["details"]["reasons"].clone();
    assert_eq!(reasons(&try_with(PASSWORD).await), json!(["unchanged"]));
    assert_eq!(reasons(&try_with("password123").await), json!(["common"]));
    assert_eq!(reasons(&try_with(&email).await), json!(["contains_email"]));
    try_with("short").await.has_fault("string_too_short", "body.new_password");
    try_with(&"p".repeat(129)).await.has_fault("string_too_long", "body.new_password");
    try_with("nul\0in-the-middle").await.has_fault("value_error", "body.new_password");
    try_with(CHOSEN).await.is(200);
    try_with("Another-Horse-7!").await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn both_names_of_the_field_are_read() {
    let world = World::new().await;
    let email = world.member().await;
    let token = reset_token(&world, &email).await;
    world.anonymous().post(RESET, json!({"token": token, "password": CHOSEN})).await.is(200);
    world.anonymous().post(RESET, json!({"token": "x"})).await.has_fault("missing", "body.new_password");
    world.sign_in(&email, CHOSEN).await;
}

#[tokio::test]
async fn a_link_lives_for_an_hour() {
    let world = World::new().await;
    let email = world.member().await;
    let token = reset_token(&world, &email).await;
    world.advance(Duration::from_secs(59 * 60 + 59));
    world.anonymous().post(RESET, json!({"token": token, "new_password": PASSWORD})).await.is_error(422, "VAL_002");
    world.advance(Duration::from_secs(1));
    let late = world.anonymous().post(RESET, json!({"token": token, "new_password": CHOSEN})).await;
    late.is_error(400, "AUTH_006");
    world.sign_in(&email, PASSWORD).await;
}

async fn claims(tx: &mut Tx, token: String, now: Timestamp) -> bool {
    let hash = Plain::presented(token).hash();
    ticket::claim(tx, &hash, Purpose::PasswordReset, now).await.unwrap().is_some()
}

#[tokio::test]
async fn two_links_of_one_person_are_claimed_one_after_the_other() {
    let world = World::new().await;
    let email = world.member().await;
    let [first, second] = [reset_token(&world, &email).await, reset_token(&world, &email).await];
    let db = Database::open(world.database_url()).await.unwrap();
    let person = account::find_by_email(&db, &email).await.unwrap().unwrap();
    let now = world.now();
    let mut winner = db.begin().await.unwrap();
    assert!(claims(&mut winner, first, now).await);
    let loser = tokio::spawn({
        let db = db.clone();
        async move { claims(&mut db.begin().await.unwrap(), second, now).await }
    });
    // It must not hold its link while it waits for the person: whoever won ends all of them.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!loser.is_finished());
    ticket::delete_all(&mut winner, person.id).await.unwrap();
    winner.commit().await.unwrap();
    assert!(!loser.await.unwrap(), "the link has ended");
}
