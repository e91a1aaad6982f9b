//! `POST /api/auth/change-email`.

use serde_json::json;

use super::{CHANGE, CONFIRM, ask, redeem};
use crate::world::{PASSWORD, Verbs, World};

#[tokio::test]
async fn asking_mails_both_mailboxes_and_changes_nothing() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = world.mailbox();
    ask(&anna, &new).await.is(202);
    let to_new = world.mails_to(&new).await;
    assert_eq!(to_new.len(), 1);
    assert!(to_new[0].links()[0].starts_with("https://labs.example/confirm-email?token="));
    let notice = world.mails_to(&anna.email).await.pop().unwrap();
    assert!(notice.links()[0].starts_with("https://labs.example/undo-email?token="));
    assert!(notice.text.contains("3 Tage"), "{}", notice.text);
    assert_eq!(anna.get("/api/auth/me").await.json()["email"], anna.email.as_str());
    world.sign_in(&anna.email, PASSWORD).await;
    world.anonymous().login(&new, PASSWORD).await.is_error(401, "AUTH_001");
}

#[tokio::test]
async fn a_taken_and_a_free_address_are_one_answer_and_one_notice() {
    let world = World::new().await;
    let (anna, ben, carl) = (world.signed_in().await, world.signed_in().await, world.signed_in().await);
    let free = ask(&anna, &world.mailbox()).await;
    let before = world.mails_to(&ben.email).await.len();
    ask(&carl, &ben.email).await.tells_no_more_than(&free);
    assert_eq!(world.mails_to(&ben.email).await.len(), before, "the taken mailbox gets nothing");
    let subject = |mails: Vec<crate::world::Mail>| mails.last().unwrap().subject.clone();
    assert_eq!(subject(world.mails_to(&anna.email).await), subject(world.mails_to(&carl.email).await));
}

#[tokio::test]
async fn the_password_must_be_given_and_right_when_there_is_one() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = world.mailbox();
    anna.post(CHANGE, json!({"new_email": new})).await.has_fault("missing", "body.current_password");
    let wrong = json!({"new_email": new, "current_password": "x"});
    anna.post(CHANGE, wrong).await.is_error(400, "AUTH_009");
    assert!(world.mails_to(&new).await.is_empty());
    world.db_forget_password(&anna.email).await;
    anna.post(CHANGE, json!({"new_email": new})).await.is(202);
    assert_eq!(world.mails_to(&new).await.len(), 1);
}

#[tokio::test]
async fn a_bad_body_is_422_and_nobody_signed_in_is_401_first() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    anna.post(CHANGE, json!({})).await.has_fault("missing", "body.new_email");
    // cases 031, 045, 039
    for bad in ["m\u{131}ke@x.example", "u1@x.example\r\nBcc: evil@x.example", "\"a..b\"@x.example", "x"] {
        let body = json!({"new_email": bad, "current_password": PASSWORD});
        anna.post(CHANGE, body).await.has_fault("value_error", "body.new_email");
    }
    anna.raw(CHANGE, Some("application/json"), "{").await.is_error(422, "VAL_001");
    ask(&anna, &anna.email).await.has_fault("value_error", "body.new_email");
    world.anonymous().raw(CHANGE, Some("application/json"), "{").await.is_error(401, "AUTH_002");
}

#[tokio::test]
async fn the_new_mailbox_bears_ten_requests_a_minute_and_no_path_bucket_applies() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let new = world.mailbox();
    let wrong = json!({"new_email": new, "current_password": "x"});
    for _ in 0..10 {
        let reply = anna.post(CHANGE, wrong.clone()).await;
        reply.is_error(400, "AUTH_009");
        assert_eq!(reply.header("ratelimit-policy"), Some("\"auth-email\";q=10;w=60"));
    }
    anna.post(CHANGE, wrong).await.is_mailbox_limited();
    ask(&anna, &world.mailbox()).await.is(202);
}

#[tokio::test]
async fn a_second_wish_drops_the_first() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let (slip, meant) = (world.mailbox(), world.mailbox());
    ask(&anna, &slip).await.is(202);
    let first = world.mailed_token(&slip, "/confirm-email").await;
    ask(&anna, &meant).await.is(202);
    redeem(&world, CONFIRM, &first).await.is_error(400, "AUTH_006");
    let second = world.mailed_token(&meant, "/confirm-email").await;
    redeem(&world, CONFIRM, &second).await.is(200);
}

#[tokio::test]
async fn the_sixth_wish_within_the_days_of_undoing_is_answered_and_not_mailed() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    for _ in 0..5 {
        let new = world.mailbox();
        ask(&anna, &new).await.is(202);
        assert_eq!(world.mails_to(&new).await.len(), 1);
    }
    let notices = world.mails_to(&anna.email).await.len();
    let new = world.mailbox();
    ask(&anna, &new).await.is(202);
    assert!(world.mails_to(&new).await.is_empty(), "no confirmation without a way back");
    assert_eq!(world.mails_to(&anna.email).await.len(), notices);
}
