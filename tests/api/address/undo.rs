//! `POST /api/auth/undo-email`.

use std::time::Duration;

use serde_json::json;

use super::{CONFIRM, UNDO, ask, moved, redeem};
use crate::{
    password::{at_once, count},
    world::{PASSWORD, Verbs, World},
};

#[tokio::test]
async fn undoing_restores_the_address_ends_every_session_and_mails_a_link_to_a_new_password() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = moved(&world, &anna).await;
    let thief = world.sign_in(&new, PASSWORD).await;
    let token = world.mailed_token(&anna.email, "/undo-email").await;
    assert_eq!(redeem(&world, UNDO, &token).await.is(200).json()["email"], anna.email.as_str());
    assert!(!anna.is_signed_in().await && !thief.is_signed_in().await);
    world.anonymous().login(&new, PASSWORD).await.is_error(401, "AUTH_001");
    let reset = world.mailed_token(&anna.email, "/reset-password").await;
    let body = json!({"token": reset, "new_password": "Another-Horse-7!"});
    world.anonymous().post("/api/auth/reset-password", body).await.is(200);
    world.sign_in(&anna.email, "Another-Horse-7!").await;
    redeem(&world, UNDO, &token).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn undoing_before_the_confirmation_stops_the_change() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = world.mailbox();
    ask(&anna, &new).await.is(202);
    let confirm = world.mailed_token(&new, "/confirm-email").await;
    let undo = world.mailed_token(&anna.email, "/undo-email").await;
    redeem(&world, UNDO, &undo).await.is(200);
    redeem(&world, CONFIRM, &confirm).await.is_error(400, "AUTH_006");
    assert!(!anna.is_signed_in().await);
    assert_eq!(world.db_accounts_of(&anna.email).await, 1);
}

#[tokio::test]
async fn the_first_notice_undoes_the_change_as_well_as_the_second() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = world.mailbox();
    ask(&anna, &new).await.is(202);
    let first = world.mailed_token(&anna.email, "/undo-email").await;
    let confirm = world.mailed_token(&new, "/confirm-email").await;
    redeem(&world, CONFIRM, &confirm).await.is(200);
    let second = world.mailed_token(&anna.email, "/undo-email").await;
    redeem(&world, UNDO, &first).await.is(200);
    redeem(&world, UNDO, &second).await.is_error(400, "AUTH_006");
    assert_eq!(world.db_accounts_of(&anna.email).await, 1);
}

#[tokio::test]
async fn a_reset_by_the_new_mailbox_does_not_take_the_way_back() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = moved(&world, &anna).await;
    let undo = world.mailed_token(&anna.email, "/undo-email").await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": new})).await.is(202);
    let reset = world.mailed_token(&new, "/reset-password").await;
    let body = json!({"token": reset, "new_password": "Thieves-Horse-7!"});
    world.anonymous().post("/api/auth/reset-password", body).await.is(200);
    redeem(&world, UNDO, &undo).await.is(200);
    assert_eq!(world.db_accounts_of(&anna.email).await, 1);
}

#[tokio::test]
async fn after_two_changes_the_first_mailbox_takes_the_account_back_from_both() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let second = moved(&world, &anna).await;
    let third = moved(&world, &anna).await;
    let of_first = world.mailed_token(&anna.email, "/undo-email").await;
    let of_second = world.mailed_token(&second, "/undo-email").await;
    redeem(&world, UNDO, &of_first).await.is(200);
    redeem(&world, UNDO, &of_second).await.is_error(400, "AUTH_006");
    assert_eq!(world.db_accounts_of(&anna.email).await, 1);
    assert_eq!(world.db_accounts_of(&third).await, 0);
}

#[tokio::test]
async fn a_link_works_for_seventy_two_hours() {
    let world = World::on_memory().await;
    let anna = world.signed_in().await;
    let ben = world.signed_in().await;
    moved(&world, &anna).await;
    moved(&world, &ben).await;
    let (of_anna, of_ben) =
        (world.mailed_token(&anna.email, "/undo-email").await, world.mailed_token(&ben.email, "/undo-email").await);
    world.advance(Duration::from_secs(259_199));
    redeem(&world, UNDO, &of_anna).await.is(200);
    world.advance(Duration::from_secs(1));
    redeem(&world, UNDO, &of_ben).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_former_address_that_somebody_else_proved_stays_theirs() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = moved(&world, &anna).await;
    let undo = world.mailed_token(&anna.email, "/undo-email").await;
    world.member_at(&anna.email, "Another-Horse-7!").await;
    redeem(&world, UNDO, &undo).await.is_error(400, "AUTH_006");
    world.sign_in(&anna.email, "Another-Horse-7!").await;
    world.sign_in(&new, PASSWORD).await;
}

#[tokio::test]
async fn a_bad_body_is_422() {
    let world = World::new().await;
    world.anonymous().post(UNDO, json!({})).await.has_fault("missing", "body.token");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_attempts_to_undo_undo_once() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    moved(&world, &anna).await;
    let token = world.mailed_token(&anna.email, "/undo-email").await;
    let replies = at_once((0..50).map(|_| world.anonymous().post(UNDO, json!({"token": token})))).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
}
