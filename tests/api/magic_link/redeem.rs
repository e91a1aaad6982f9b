//! `POST /api/auth/verify-magic-link` with a token.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{ASK, REDEEM};
use crate::world::{PASSWORD, SignedIn, Verbs, World, token_of};

const MINUTES_15: Duration = Duration::from_mins(15);

#[tokio::test]
async fn a_link_signs_in_once() {
    let world = World::new().await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    let reply = world.redeem_token(&asked.token).await;
    let anna = world.holder_of(reply.is(200));
    assert_eq!(anna.email, email);
    assert_eq!(reply.json()["redirect_to"], Value::Null);
    assert!(reply.json().as_object().unwrap().contains_key("redirect_to"));
    assert!(reply.cookies()[0].starts_with(&format!("labs_refresh={};", anna.refresh)));
    assert!(anna.is_signed_in().await);
    world.redeem_token(&asked.token).await.is_error(400, "AUTH_006");
    // The password is still the person's own.
    world.sign_in(&email, PASSWORD).await;
}

#[tokio::test]
async fn a_scanner_that_opens_the_link_changes_nothing() {
    // case 069
    let world = World::new().await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    let reply = world.anonymous().get(&format!("{REDEEM}?token={}", asked.token)).await;
    reply.is_error(405, "RES_003");
    assert_eq!((reply.header("allow"), reply.cookies().len()), (Some("POST"), 0));
    world.anonymous().ask(Method::HEAD, REDEEM).await.is(405);
    world.redeem_token(&asked.token).await.is(200);
}

#[tokio::test]
async fn unknown_expired_used_foreign_and_malformed_tokens_are_refused_alike() {
    // case 075
    let world = World::new().await;
    let email = world.member().await;
    let used = world.asked(&email).await.token;
    world.redeem_token(&used).await.is(200);
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    let foreign = world.mailed_token(&email, "/reset-password").await;
    let expired = world.asked(&email).await;
    world.advance(MINUTES_15);
    let first = world.redeem_token("x").await;
    first.is_error(400, "AUTH_006");
    let unknown = "A".repeat(43);
    let tokens = [used, foreign.clone(), expired.token, unknown, "\u{1f512}".repeat(512), "../x".into(), "null".into()];
    for token in tokens {
        world.redeem_token(&token).await.tells_no_more_than(&first);
    }
    world.redeem(json!({"handle": expired.handle, "code": expired.code})).await.tells_no_more_than(&first);
    // The other link is none the worse for having been tried here.
    let body = json!({"token": foreign, "new_password": "Chosen-Horse-3!"});
    world.anonymous().post("/api/auth/reset-password", body).await.is(200);
}

#[tokio::test]
async fn a_sign_in_link_opens_nothing_else() {
    // case 077
    let world = World::new().await;
    let email = world.member().await;
    let token = world.asked(&email).await.token;
    let anybody = world.anonymous();
    for (path, field) in [("/api/auth/reset-password", "new_password"), ("/api/auth/set-password", "password")] {
        anybody.post(path, json!({"token": token, field: "Chosen-Horse-3!"})).await.is_error(400, "AUTH_006");
    }
    anybody.post("/api/auth/verify-email", json!({"token": token})).await.is_error(400, "AUTH_006");
    world.redeem_token(&token).await.is(200);
}

#[tokio::test]
async fn a_body_without_a_token_of_the_right_size_is_invalid() {
    // case 087
    let world = World::new().await;
    let anybody = world.anonymous();
    anybody.post(REDEEM, json!({})).await.has_fault("missing", "body.token");
    anybody.post(REDEEM, json!({"token": ""})).await.has_fault("string_too_short", "body.token");
    anybody.post(REDEEM, json!({"token": "a".repeat(513)})).await.has_fault("string_too_long", "body.token");
    anybody.post(REDEEM, json!({"token": "\0"})).await.has_fault("value_error", "body.token");
    anybody.post(REDEEM, json!({"token": 7})).await.has_fault("string_type", "body.token");
    anybody.post(REDEEM, json!({"handle": "x"})).await.has_fault("missing", "body.code");
    anybody.post(REDEEM, json!({"code": "x"})).await.has_fault("missing", "body.handle");
    anybody.post(REDEEM, json!({"token": "x", "code": "x"})).await.is_error(400, "AUTH_006");
    let reply = anybody.post(REDEEM, json!({"token": "x", "code_verifier": "short"})).await;
    reply.has_fault("string_too_short", "body.code_verifier");
    assert_eq!(reply.remaining(), 21);
}

#[tokio::test]
async fn thirty_bad_tokens_are_answered_and_the_next_waits() {
    // the end of acceptance check 8
    let world = World::new().await;
    let anybody = world.anonymous();
    for _ in 0..30 {
        anybody.post(REDEEM, json!({"token": "x"})).await.is_error(400, "AUTH_006");
    }
    anybody.post(REDEEM, json!({"token": "x"})).await.is_rate_limited();
}

#[tokio::test]
async fn a_place_of_ours_is_carried_and_any_other_is_dropped() {
    // case 249, for links
    let world = World::new().await;
    let evil = [
        json!("//evil.example"),
        json!("/\\evil.example"),
        json!("\\\\evil.example"),
        json!("https://evil.example/"),
        json!("javascript:alert(1)"),
        json!("/\t/evil.example"),
        json!("\t//evil.example"),
        json!("path"),
        json!(""),
        json!(format!("/{}", "a".repeat(512))),
        json!(7),
        Value::Null,
    ];
    let good = ["/", "/a?b=c#d", "/ä/ö", "/x//y"];
    let cases = evil.into_iter().map(|it| (it, Value::Null)).chain(good.map(|it| (json!(it), json!(it))));
    for (sent, wanted) in cases {
        let email = world.member().await;
        world.anonymous().post(ASK, json!({"email": email, "redirect_to": sent})).await.is(202);
        let token = token_of(&world.link_to(&email, "/magic-link").await);
        assert_eq!(world.redeem_token(&token).await.is(200).json()["redirect_to"], wanted, "{sent}");
    }
}

#[tokio::test]
async fn a_planted_password_and_its_sessions_do_not_survive_the_owners_link() {
    // case 253, for links
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let asked = world.asked(&email).await;
    let reply = world.redeem_token(&asked.token).await;
    let owner = world.holder_of(reply.is(200));
    let user = &reply.json()["user"];
    assert_eq!((&user["email_verified"], &user["has_password"]), (&json!(true), &json!(false)));
    assert!(user["default_workspace_id"].is_string());
    world.anonymous().login(&email, PASSWORD).await.is_error(401, "AUTH_001");
    assert_eq!(world.db_open_sessions_of(&owner.email).await, 1);
}

#[tokio::test]
async fn a_disabled_account_is_told_so_only_after_its_link() {
    let world = World::new().await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    world.db_disable(&email).await;
    world.redeem_token(&asked.token).await.is_error(403, "AUTH_008");
    assert_eq!(world.db_open_sessions_of(&email).await, 0);
}

#[tokio::test]
async fn a_link_from_before_a_password_reset_is_dead_after_it() {
    // case 085
    let world = World::new().await;
    let email = world.member().await;
    let asked = world.asked(&email).await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    let token = world.mailed_token(&email, "/reset-password").await;
    let body = json!({"token": token, "new_password": "Chosen-Horse-3!"});
    world.anonymous().post("/api/auth/reset-password", body).await.is(200);
    world.redeem_token(&asked.token).await.is_error(400, "AUTH_006");
    world.redeem(json!({"handle": asked.handle, "code": asked.code})).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn an_unknown_mailbox_gets_an_account_by_its_link_where_that_is_allowed() {
    let world = World::with(&[("MAGIC_LINK_ALLOW_SIGNUP", "true")]).await;
    let email = world.mailbox();
    let (first, second) = (world.asked(&email).await, world.asked(&email).await);
    assert_eq!(world.db_accounts_of(&email).await, 0, "asking makes no account");
    let newcomer: SignedIn = world.holder_of(world.redeem_token(&first.token).await.is(200));
    assert_eq!((newcomer.email.clone(), world.db_accounts_of(&email).await), (email, 1));
    assert!(newcomer.is_signed_in().await);
    world.redeem_token(&second.token).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_newcomers_mailbox_holds_five_links_at_most() {
    let world = World::with(&[("MAGIC_LINK_ALLOW_SIGNUP", "true")]).await;
    let email = world.mailbox();
    for _ in 0..7 {
        world.wish(&email).await.is(202);
    }
    assert_eq!(world.mails_to(&email).await.len(), 5);
}

#[tokio::test]
async fn a_mailbox_that_was_registered_since_its_link_was_mailed_keeps_no_planted_password() {
    let world = World::with(&[("MAGIC_LINK_ALLOW_SIGNUP", "true")]).await;
    let email = world.mailbox();
    let asked = world.asked(&email).await;
    world.register(&email, PASSWORD).await.is(201);
    world.redeem_token(&asked.token).await.is(200);
    world.anonymous().login(&email, PASSWORD).await.is_error(401, "AUTH_001");
    assert_eq!(world.db_accounts_of(&email).await, 1);
}

#[tokio::test]
async fn the_tokens_of_a_link_behave_like_any_others() {
    // cases 093 and 099
    let world = World::new().await;
    let email = world.member().await;
    let anna = world.holder_of(world.redeem_token(&world.asked(&email).await.token).await.is(200));
    let by_refresh = anna.get("/api/auth/me").only("authorization", format!("Bearer {}", anna.refresh));
    by_refresh.await.is_error(401, "AUTH_004");
    anna.post("/api/auth/logout", json!({})).await.is(200);
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
}

#[tokio::test]
async fn thirty_guesses_a_minute_are_heard_and_the_next_is_not() {
    // case 171
    let world = World::new().await;
    let somebody = world.anonymous();
    for _ in 0..30 {
        somebody.post(REDEEM, json!({"token": "x"})).await.is_error(400, "AUTH_006");
    }
    somebody.post(REDEEM, json!({"token": "x"})).await.is_rate_limited();
}
