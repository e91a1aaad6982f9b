//! `POST /api/auth/login`.

use futures_util::future::join_all;
use serde_json::json;

use crate::world::{PASSWORD, Verbs, World, somewhere};

const LOGIN: &str = "/api/auth/login";

#[tokio::test]
async fn a_member_gets_tokens_in_the_body_and_the_refresh_token_as_a_cookie() {
    let world = World::new().await;
    let email = world.member().await;
    let reply = world.anonymous().login(&email, PASSWORD).await;
    let body = reply.is(200).json();
    assert_eq!(body["token_type"], "bearer");
    assert_eq!(body["expires_in"], 1800);
    assert_eq!(body["user"]["email"], email.as_str());
    assert_eq!(body["user"]["role"], "user");
    assert_eq!(body["user"]["email_verified"], true);
    assert_eq!(body["user"]["has_password"], true);
    assert_eq!(body["user"]["last_login_at"], "2026-01-02T03:04:05Z");
    let refresh = reply.field("refresh_token");
    assert!(refresh.len() == 43, "{refresh}");
    let cookie = format!("labs_refresh={refresh}; HttpOnly; Secure; SameSite=Lax; Path=/api/auth; Max-Age=2592000");
    assert_eq!(reply.cookies()[0], cookie);
    assert!(reply.cookies().len() == 2 && reply.cookies()[1].starts_with("labs_device="), "{reply:?}");
    let mut names: Vec<String> = body["user"].as_object().unwrap().keys().cloned().collect();
    names.sort();
    let expected = [
        "avatar_url",
        "created_at",
        "default_workspace_id",
        "email",
        "email_verified",
        "full_name",
        "has_password",
        "id",
        "is_active",
        "last_login_at",
        "locale",
        "role",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn unknown_address_wrong_password_and_no_password_are_one_answer() {
    // cases 063, 107
    let world = World::new().await;
    let member = world.member().await;
    let without = world.member().await;
    world.db_forget_password(&without).await;
    let wrong = world.anonymous().login(&member, "Wrong-Horse-1!").await;
    wrong.is_error(401, "AUTH_001");
    assert_eq!(wrong.field("error"), "Invalid email or password.");
    assert!(wrong.header("www-authenticate").is_none());
    for email in [world.mailbox(), without] {
        world.anonymous().login(&email, "Wrong-Horse-1!").await.tells_no_more_than(&wrong);
    }
    // A password of one character is a valid body.
    world.anonymous().login(&member, "x").await.tells_no_more_than(&wrong);
}

#[tokio::test]
async fn what_is_wrong_with_an_account_is_told_only_to_whoever_knows_its_password() {
    let world = World::new().await;
    let waiting = world.unconfirmed().await;
    world.anonymous().login(&waiting, PASSWORD).await.is_error(403, "AUTH_007");
    world.anonymous().login(&waiting, "Wrong-Horse-1!").await.is_error(401, "AUTH_001");
    let disabled = world.member().await;
    world.db_disable(&disabled).await;
    world.anonymous().login(&disabled, PASSWORD).await.is_error(403, "AUTH_008");
    world.anonymous().login(&disabled, "Wrong-Horse-1!").await.is_error(401, "AUTH_001");
}

#[tokio::test]
async fn the_fields_are_checked_before_any_hash_runs() {
    // cases 001, 009, 061
    let world = World::new().await;
    let email = world.member().await;
    let somebody = world.anonymous();
    somebody.post(LOGIN, json!({})).await.has_fault("missing", "body.email").has_fault("missing", "body.password");
    somebody.login(&email, "").await.has_fault("string_too_short", "body.password");
    somebody.login(&email, &"p".repeat(1025)).await.has_fault("string_too_long", "body.password");
    somebody.login(&email, &"p".repeat(60_000)).await.has_fault("string_too_long", "body.password");
    somebody.login("a\0@x.example", PASSWORD).await.has_fault("value_error", "body.email");
    let huge = r#"{"email":18446744073709551616,"password":"p"}"#;
    somebody.raw(LOGIN, Some("application/json"), huge).await.has_fault("string_type", "body.email");
    somebody
        .post(LOGIN, json!({"email": email, "password": PASSWORD, "tenant": "x\0y"}))
        .await
        .is_error(422, "VAL_001");
    somebody.post(LOGIN, json!({"email": email, "password": null})).await.has_fault("string_type", "body.password");
    // A current password of 1024 characters is a valid body.
    somebody.login(&email, &"p".repeat(1024)).await.is_error(401, "AUTH_001");
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let world = World::new().await;
    let email = world.member().await;
    let body = json!({"email": email, "password": PASSWORD, "remember_me": true, "nested": {"a": [1, null]}});
    world.anonymous().post(LOGIN, body).await.is(200);
}

#[tokio::test]
async fn a_session_remembers_the_client_and_never_the_proxy() {
    // cases 149, 161
    let world = World::on_memory().await;
    let email = world.member().await;
    let somebody = world.anonymous();
    somebody.login(&email, PASSWORD).forwarded("198.51.100.9, 203.0.113.7").await.is(200);
    assert_eq!(world.db_session_addresses(&email).await, ["203.0.113.7"]);
    let direct = World::plan().on_memory().set("TRUSTED_PROXY_COUNT", "0").build().await;
    let email = direct.member().await;
    direct.anonymous().login(&email, PASSWORD).peer([10, 0, 0, 5]).forwarded("203.0.113.7").await.is(200);
    assert_eq!(direct.db_session_addresses(&email).await, ["10.0.0.5"]);
}

#[tokio::test]
async fn development_alone_sends_the_cookie_in_clear() {
    let world = World::with(&[("ENVIRONMENT", "development")]).await;
    let email = world.member().await;
    let reply = world.anonymous().login(&email, PASSWORD).await;
    let cookies = reply.cookies();
    assert_eq!(cookies.len(), 2);
    assert!(cookies.iter().all(|cookie| cookie.contains("; HttpOnly; SameSite=Lax;")), "{cookies:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_parallel_logins_of_one_office_are_thirty_times_200() {
    let world = World::on_memory().await;
    let (email, office) = (world.member().await, somewhere());
    let logins = (0..30).map(|_| {
        let (world, email) = (world.clone(), email.clone());
        tokio::spawn(async move { world.anonymous_at(office).login(&email, PASSWORD).await })
    });
    for reply in join_all(logins).await {
        reply.unwrap().is(200);
    }
}
