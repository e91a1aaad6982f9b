//! `POST /api/auth/change-password`.

use serde_json::json;

use crate::{
    password::{at_once, count},
    world::{PASSWORD, Verbs, World},
};

const CHANGE: &str = "/api/auth/change-password";
const CHOSEN: &str = "Chosen-Horse-3!";

#[tokio::test]
async fn a_change_ends_every_other_session_and_keeps_this_one() {
    // case 095
    let world = World::new().await;
    let anna = world.signed_in().await;
    let other = world.sign_in(&anna.email, PASSWORD).await;
    let body = json!({"current_password": PASSWORD, "new_password": CHOSEN});
    assert_eq!(anna.post(CHANGE, body).await.is(200).json(), json!({"message": "Password changed."}));
    other.refresh_with(&other.refresh).await.is_error(401, "AUTH_005");
    assert!(!other.is_signed_in().await && anna.is_signed_in().await);
    anna.refresh_with(&anna.refresh).await.is(200);
    world.anonymous().login(&anna.email, PASSWORD).await.is_error(401, "AUTH_001");
    world.sign_in(&anna.email, CHOSEN).await;
    let mails = world.mails_to(&anna.email).await;
    assert_eq!(mails.iter().filter(|mail| mail.subject == "Ihr Passwort für Labs wurde geändert").count(), 1);
}

#[tokio::test]
async fn links_to_a_new_password_or_address_die_with_the_old_password() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": anna.email})).await.is(202);
    let reset = world.mailed_token(&anna.email, "/reset-password").await;
    let new = world.mailbox();
    anna.post("/api/auth/change-email", json!({"new_email": new, "current_password": PASSWORD})).await.is(202);
    let confirm = world.mailed_token(&new, "/confirm-email").await;
    anna.post(CHANGE, json!({"current_password": PASSWORD, "new_password": CHOSEN})).await.is(200);
    let body = json!({"token": reset, "new_password": "Another-Horse-7!"});
    world.anonymous().post("/api/auth/reset-password", body).await.is_error(400, "AUTH_006");
    world.anonymous().post("/api/auth/confirm-email", json!({"token": confirm})).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_wrong_current_password_changes_nothing_and_signs_nobody_out() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let reply = anna.post(CHANGE, json!({"current_password": "x", "new_password": CHOSEN})).await;
    reply.is_error(400, "AUTH_009");
    assert_eq!(reply.field("error"), "The current password is incorrect.");
    assert!(anna.is_signed_in().await);
    world.sign_in(&anna.email, PASSWORD).await;
}

#[tokio::test]
async fn an_account_without_a_password_has_none_to_change() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.db_forget_password(&anna.email).await;
    let reply = anna.post(CHANGE, json!({"current_password": PASSWORD, "new_password": CHOSEN})).await;
    reply.is_error(400, "AUTH_010");
}

#[tokio::test]
async fn the_policy_holds_for_a_change_too() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    for (new, reason) in [("password1", "common"), (anna.email.as_str(), "contains_email"), (PASSWORD, "unchanged")] {
        let reply = anna.post(CHANGE, json!({"current_password": PASSWORD, "new_password": new})).await;
        reply.is_error(422, "VAL_002");
        assert_eq!(reply.json()["details"]["reasons"], json!([reason]));
    }
}

#[tokio::test]
async fn every_fault_of_the_body_is_named_and_none_is_echoed() {
    // case 065
    let world = World::new().await;
    let anna = world.signed_in().await;
    let reply = anna.post(CHANGE, json!({})).await;
    reply.has_fault("missing", "body.current_password").has_fault("missing", "body.new_password");
    let reply = anna.post(CHANGE, json!({"current_password": "", "new_password": "S3cret7"})).await;
    reply.has_fault("string_too_short", "body.current_password").has_fault("string_too_short", "body.new_password");
    assert!(!String::from_utf8_lossy(&reply.body).contains("S3cret7"));
    // case 061
    let long = "a".repeat(1025);
    let reply = anna.post(CHANGE, json!({"current_password": long, "new_password": CHOSEN})).await;
    reply.has_fault("string_too_long", "body.current_password");
    world.anonymous().post(CHANGE, json!({})).await.is_error(401, "AUTH_002");
}

#[tokio::test]
async fn a_password_typed_on_another_keyboard_is_the_same_one() {
    // case 057
    let world = World::new().await;
    let anna = world.signed_in().await;
    let body = json!({"current_password": PASSWORD, "new_password": "P\u{e4}sswort-2026!"});
    anna.post(CHANGE, body).await.is(200);
    let body = json!({"current_password": "Pa\u{308}sswort-2026!", "new_password": CHOSEN});
    anna.post(CHANGE, body).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_changes_of_one_password_have_one_winner() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let replies = at_once((0..50).map(|number| {
        let new = format!("Chosen-Horse-{number}!");
        anna.post(CHANGE, json!({"current_password": PASSWORD, "new_password": new}))
    }))
    .await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    let winner = replies.iter().position(|reply| reply.status == 200).unwrap();
    world.sign_in(&anna.email, &format!("Chosen-Horse-{winner}!")).await;
    assert!(anna.is_signed_in().await);
    let mails = world.mails_to(&anna.email).await;
    assert_eq!(mails.iter().filter(|mail| mail.subject == "Ihr Passwort für Labs wurde geändert").count(), 1);
}
