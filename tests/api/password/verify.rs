//! `POST /api/auth/verify-email` and `POST /api/auth/resend-verification`.

use std::time::Duration;

use serde_json::json;

use crate::world::{PASSWORD, Verbs, World};

const VERIFY: &str = "/api/auth/verify-email";
const RESEND: &str = "/api/auth/resend-verification";
const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn the_link_confirms_the_address_and_signs_nobody_in() {
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let token = world.mailed_token(&email, "/verify-email").await;
    let reply = world.anonymous().post(VERIFY, json!({"token": token})).await;
    let expected =
        json!({"message": "Email address confirmed. You can now sign in.", "email": email, "email_verified": true});
    assert_eq!(reply.is(200).json(), expected);
    assert!(reply.cookies().is_empty());
    assert_eq!(world.db_open_sessions_of(&email).await, 0);
    world.sign_in(&email, PASSWORD).await;
}

#[tokio::test]
async fn a_second_click_says_the_same_and_issues_nothing() {
    // case 071
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let token = world.mailed_token(&email, "/verify-email").await;
    let first = world.anonymous().post(VERIFY, json!({"token": token})).await;
    let second = world.anonymous().post(VERIFY, json!({"token": token})).await;
    second.is(200).tells_no_more_than(&first);
    world.advance(24 * HOUR);
    world.anonymous().post(VERIFY, json!({"token": token})).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_link_lives_for_a_day() {
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let token = world.mailed_token(&email, "/verify-email").await;
    world.advance(24 * HOUR);
    world.anonymous().post(VERIFY, json!({"token": token})).await.is_error(400, "AUTH_006");
    world.anonymous().post(RESEND, json!({"email": email})).await.is(202);
    let token = world.mailed_token(&email, "/verify-email").await;
    world.advance(Duration::from_secs(24 * 60 * 60 - 1));
    world.anonymous().post(VERIFY, json!({"token": token})).await.is(200);
}

#[tokio::test]
async fn opening_a_link_as_a_page_changes_nothing() {
    // case 069
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let token = world.mailed_token(&email, "/verify-email").await;
    let reply = world.anonymous().get(&format!("{VERIFY}?token={token}")).await;
    assert_eq!(reply.is_error(405, "RES_003").header("allow"), Some("POST"));
    world.anonymous().post(VERIFY, json!({"token": token})).await.is(200);
}

#[tokio::test]
async fn a_new_link_does_not_kill_an_older_one() {
    // case 079
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let older = world.mailed_token(&email, "/verify-email").await;
    world.anonymous().post(RESEND, json!({"email": email})).await.is(202);
    let newer = world.mailed_token(&email, "/verify-email").await;
    assert_ne!(older, newer);
    world.anonymous().post(VERIFY, json!({"token": older})).await.is(200);
    world.anonymous().post(VERIFY, json!({"token": newer})).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn unknown_expired_used_and_foreign_tokens_are_one_answer() {
    // cases 075, 077
    let world = World::new().await;
    let email = world.member().await;
    let ask = async |path: &str, token: &str| {
        world.anonymous().post(path, json!({"token": token, "password": "Chosen-Horse-3!"})).await
    };
    let forgot = async || {
        world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
        world.mailed_token(&email, "/reset-password").await
    };
    let unknown = ask("/api/auth/reset-password", &"A".repeat(43)).await;
    unknown.is_error(400, "AUTH_006");
    assert_eq!(unknown.field("error"), "The link is invalid or has expired.");
    ask("/api/auth/reset-password", "x").await.tells_no_more_than(&unknown);
    let token = forgot().await;
    ask(VERIFY, &token).await.tells_no_more_than(&unknown);
    ask("/api/auth/set-password", &token).await.tells_no_more_than(&unknown);
    ask("/api/auth/reset-password", &token).await.is(200);
    ask("/api/auth/reset-password", &token).await.tells_no_more_than(&unknown);
    let token = forgot().await;
    world.advance(HOUR);
    ask("/api/auth/reset-password", &token).await.tells_no_more_than(&unknown);
    let waiting = world.unconfirmed().await;
    let token = world.mailed_token(&waiting, "/verify-email").await;
    ask("/api/auth/reset-password", &token).await.tells_no_more_than(&unknown);
    ask(VERIFY, &token).await.is(200);
    world.sign_in(&waiting, PASSWORD).await;
}

#[tokio::test]
async fn strange_tokens_are_refused_and_spend_one_unit_each() {
    // case 087
    let world = World::new().await;
    for path in [VERIFY, "/api/auth/reset-password", "/api/auth/set-password"] {
        let somebody = world.anonymous();
        for (spent, (token, status)) in
            [("", 422), ("null", 400), (&"a".repeat(10_000), 422), ("\0", 422), ("../x", 400), (&"b".repeat(512), 400)]
                .into_iter()
                .enumerate()
        {
            let reply = somebody.post(path, json!({"token": token, "password": PASSWORD})).await;
            assert_eq!(reply.is(status).remaining(), 29 - spent as u64);
        }
        somebody.post(path, json!({"token": 7, "password": PASSWORD})).await.has_fault("string_type", "body.token");
        somebody.post(path, json!({})).await.has_fault("missing", "body.token");
    }
}

#[tokio::test]
async fn only_a_waiting_active_account_is_mailed_again() {
    // case 109
    let world = World::new().await;
    let (member, waiting, disabled) = (world.member().await, world.unconfirmed().await, world.unconfirmed().await);
    world.db_disable(&disabled).await;
    let before = world.mails().await.len();
    let nobody = world.anonymous().post(RESEND, json!({"email": world.mailbox()})).await;
    let expected = json!({"message": "If the address still needs confirming, we have sent a link."});
    assert_eq!(nobody.is(202).json(), expected);
    for email in [&member, &waiting, &disabled] {
        world.anonymous().post(RESEND, json!({"email": email})).await.tells_no_more_than(&nobody);
    }
    assert_eq!(world.mails().await.len(), before + 1);
    assert_eq!(world.mails_to(&waiting).await.len(), 2);
    world.anonymous().post(RESEND, json!({})).await.has_fault("missing", "body.email");
}

#[tokio::test]
async fn five_live_links_are_enough_and_the_five_work() {
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let first = world.mailed_token(&email, "/verify-email").await;
    for _ in 0..9 {
        world.anonymous().post(RESEND, json!({"email": email})).await.is(202);
    }
    assert_eq!(world.mails_to(&email).await.len(), 5);
    // case 173: the mailbox has a budget of its own.
    world.anonymous().post(RESEND, json!({"email": email})).await.is(202);
    world.anonymous().post(RESEND, json!({"email": email})).await.is_mailbox_limited();
    world.anonymous().post(VERIFY, json!({"token": first})).await.is(200);
}
