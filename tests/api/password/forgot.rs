//! `POST /api/auth/forgot-password`.

use serde_json::json;

use crate::world::{Verbs, World};

const FORGOT: &str = "/api/auth/forgot-password";

#[tokio::test]
async fn every_address_gets_the_same_answer_and_only_active_members_a_mail() {
    // case 111
    let world = World::new().await;
    let (member, without, disabled) = (world.member().await, world.member().await, world.member().await);
    let waiting = world.unconfirmed().await;
    world.db_forget_password(&without).await;
    world.db_disable(&disabled).await;
    let before = world.mails().await.len();
    let nobody = world.anonymous().post(FORGOT, json!({"email": world.mailbox()})).await;
    let expected = json!({"message": "If an account exists for this address, we have sent a link."});
    assert_eq!(nobody.is(202).json(), expected);
    for email in [&member, &without, &disabled, &waiting] {
        let reply = world.anonymous().post(FORGOT, json!({"email": email})).await;
        reply.tells_no_more_than(&nobody);
        assert_eq!(reply.header("content-length"), nobody.header("content-length"));
    }
    assert_eq!(world.mails().await.len(), before + 3);
    world.mailed_token(&member, "/reset-password").await;
    world.mailed_token(&waiting, "/reset-password").await;
    // An account without a password is asked to choose its first one.
    world.mailed_token(&without, "/set-password").await;
}

#[tokio::test]
async fn the_link_is_built_from_the_settings_and_never_from_the_request() {
    // case 155
    let world = World::new().await;
    let email = world.member().await;
    let ask = world.anonymous().post(FORGOT, json!({"email": email})).only("host", "evil.example");
    ask.header("x-forwarded-host", "evil.example").header("forwarded", "host=evil.example").await.is(202);
    let mails = world.mails_to(&email).await;
    let mail = mails.last().unwrap();
    assert!(mail.links().iter().any(|link| link.starts_with("https://labs.example/reset-password?token=")), "{mail:?}");
    assert!(!mail.raw.contains("evil.example"), "{mail:?}");
}

#[tokio::test]
async fn the_budget_of_a_mailbox_is_spent_whether_or_not_it_is_known() {
    // case 119
    let world = World::new().await;
    let (member, unknown) = (world.member().await, world.mailbox());
    for email in [&member, &unknown] {
        for _ in 0..10 {
            world.anonymous().post(FORGOT, json!({"email": email})).await.is(202);
        }
        world.anonymous().post(FORGOT, json!({"email": email})).await.is_mailbox_limited();
        // In any spelling, and by scope: another kind of mail has a budget of its own.
        world.anonymous().post(FORGOT, json!({"email": email.to_uppercase()})).await.is_mailbox_limited();
        world.anonymous().post("/api/auth/resend-verification", json!({"email": email})).await.is(202);
    }
    world.anonymous().post(FORGOT, json!({"email": world.mailbox()})).await.is(202);
    // Five live links are enough, however often somebody asks.
    assert_eq!(world.mails_to(&member).await.len(), 1 + 5);
}

#[tokio::test]
async fn a_body_without_an_address_spends_the_path_and_no_mailbox() {
    let world = World::new().await;
    let email = world.member().await;
    for body in [json!({}), json!({"email": 1}), json!({"email": format!("{email}.")})] {
        for _ in 0..10 {
            let reply = world.anonymous().post(FORGOT, body.clone()).await;
            assert_eq!(reply.is_error(422, "VAL_001").remaining(), 29);
        }
    }
    world.anonymous().post(FORGOT, json!({"email": email})).await.is(202);
}
