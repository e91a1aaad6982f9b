//! `POST /api/auth/confirm-email`.

use std::time::Duration;

use serde_json::json;

use super::{CONFIRM, UNDO, ask, moved, redeem};
use crate::{
    password::{at_once, count},
    world::{PASSWORD, Verbs, World},
};

#[tokio::test]
async fn a_confirmed_address_is_the_one_to_sign_in_with_and_sessions_stay() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = world.mailbox();
    ask(&anna, &new).await.is(202);
    let token = world.mailed_token(&new, "/confirm-email").await;
    let reply = redeem(&world, CONFIRM, &token).await;
    assert_eq!(reply.is(200).json(), json!({"message": "Email address changed.", "email": new}));
    assert_eq!(anna.get("/api/auth/me").await.is(200).json()["email"], new.as_str());
    world.anonymous().login(&anna.email, PASSWORD).await.is_error(401, "AUTH_001");
    world.sign_in(&new, PASSWORD).await;
    let last = world.mails_to(&anna.email).await.pop().unwrap();
    assert!(last.links()[0].starts_with("https://labs.example/undo-email?token="), "{last:#?}");
    redeem(&world, CONFIRM, &token).await.is_error(400, "AUTH_006");
    // The former address is free for somebody else.
    world.member_at(&anna.email, PASSWORD).await;
}

#[tokio::test]
async fn a_bad_an_old_and_a_foreign_link_are_one_answer() {
    let world = World::on_memory().await;
    let anna = world.signed_in().await;
    let unknown = redeem(&world, CONFIRM, "x").await;
    unknown.is_error(400, "AUTH_006");
    let new = world.mailbox();
    ask(&anna, &new).await.is(202);
    let undo = world.mailed_token(&anna.email, "/undo-email").await;
    redeem(&world, CONFIRM, &undo).await.tells_no_more_than(&unknown);
    let token = world.mailed_token(&new, "/confirm-email").await;
    redeem(&world, UNDO, &token).await.tells_no_more_than(&unknown);
    world.advance(Duration::from_hours(24));
    redeem(&world, CONFIRM, &token).await.tells_no_more_than(&unknown);
}

#[tokio::test]
async fn links_that_lie_in_the_former_mailbox_die() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": anna.email})).await.is(202);
    let reset = world.mailed_token(&anna.email, "/reset-password").await;
    moved(&world, &anna).await;
    let body = json!({"token": reset, "new_password": "Another-Horse-7!"});
    world.anonymous().post("/api/auth/reset-password", body).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn whoever_registered_an_address_without_proving_it_does_not_keep_it_from_its_owner() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let squatted = world.unconfirmed().await;
    let confirmation = world.mailed_token(&squatted, "/verify-email").await;
    ask(&anna, &squatted).await.is(202);
    let token = world.mailed_token(&squatted, "/confirm-email").await;
    redeem(&world, CONFIRM, &token).await.is(200);
    assert_eq!(world.db_accounts_of(&squatted).await, 1);
    assert_eq!(anna.get("/api/auth/me").await.json()["email"], squatted.as_str());
    redeem(&world, "/api/auth/verify-email", &confirmation).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn an_address_that_was_taken_meanwhile_stays_where_it_is() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = world.mailbox();
    ask(&anna, &new).await.is(202);
    let token = world.mailed_token(&new, "/confirm-email").await;
    world.member_at(&new, PASSWORD).await;
    redeem(&world, CONFIRM, &token).await.is_error(400, "AUTH_006");
    assert_eq!(anna.get("/api/auth/me").await.json()["email"], anna.email.as_str());
}

#[tokio::test]
async fn a_disabled_account_moves_nowhere() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = world.mailbox();
    ask(&anna, &new).await.is(202);
    let token = world.mailed_token(&new, "/confirm-email").await;
    world.db_disable(&anna.email).await;
    redeem(&world, CONFIRM, &token).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn confirming_is_an_anonymous_route_with_a_bucket_of_its_own() {
    let world = World::new().await;
    let somebody = world.anonymous();
    somebody.post(CONFIRM, json!({})).await.has_fault("missing", "body.token");
    somebody.post(CONFIRM, json!({"token": ""})).await.has_fault("string_too_short", "body.token");
    for _ in 0..28 {
        somebody.post(CONFIRM, json!({"token": "x"})).await.is_error(400, "AUTH_006");
    }
    somebody.post(CONFIRM, json!({"token": "x"})).await.is_rate_limited();
    somebody.post(UNDO, json!({"token": "x"})).await.is_error(400, "AUTH_006");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_confirmations_of_one_address_by_two_accounts_have_one_winner() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let new = world.mailbox();
    let mut tokens = Vec::new();
    for person in [&anna, &ben] {
        ask(person, &new).await.is(202);
        tokens.push(world.mailed_token(&new, "/confirm-email").await);
    }
    assert_ne!(tokens[0], tokens[1]);
    let asks = (0..50).map(|number| world.anonymous().post(CONFIRM, json!({"token": tokens[number % 2]})));
    let replies = at_once(asks).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    assert_eq!(world.db_accounts_of(&new).await, 1);
    let held = [&anna, &ben].map(|person| person.get("/api/auth/me"));
    let mut holders = 0;
    for ask in held {
        holders += usize::from(ask.await.is(200).json()["email"] == new.as_str());
    }
    assert_eq!(holders, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_and_a_confirmation_of_one_address_leave_one_account() {
    let world = World::new().await;
    for _ in 0..5 {
        let anna = world.signed_in().await;
        let new = world.mailbox();
        ask(&anna, &new).await.is(202);
        let token = world.mailed_token(&new, "/confirm-email").await;
        let register = json!({"email": new, "password": PASSWORD});
        let asks = (0..8).map(|number| match number {
            4 => world.anonymous().post(CONFIRM, json!({"token": token})),
            _ => world.anonymous().post("/api/auth/register", register.clone()),
        });
        let replies = at_once(asks).await;
        assert_eq!((count(&replies, 201), count(&replies, 200)), (7, 1), "{replies:?}");
        assert_eq!(world.db_accounts_of(&new).await, 1);
    }
}
