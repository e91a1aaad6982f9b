//! Proving the mailbox: what is answered, once, and what becomes of the account.

use std::time::Duration;

use labs_auth::developer::api_key::Key;
use serde_json::json;

use super::{ACCOUNTS, Gateway, KEYS, equip, make, me, sign_up, signup_token, verify};
use crate::world::{PASSWORD, Verbs, World};

const KEYS_OF: &str = "SELECT count(*) FROM api_keys k JOIN users u ON u.id = k.user_id WHERE u.email = $1";

#[tokio::test]
async fn a_proved_mailbox_gets_account_workspace_and_key() {
    let world = World::new().await;
    let email = world.mailbox();
    world.anonymous().post(ACCOUNTS, json!({"email": email, "name": "Dora", "company": "Dora & Söhne"})).await.is(202);
    let reply = verify(&world, &signup_token(&world, &email).await).await;
    let body = reply.is(201).json();
    let key = &body["api_key"];
    let names = |object: &serde_json::Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&body), ["api_key", "email", "id", "message", "object", "status", "workspace_id"]);
    assert_eq!(names(key), ["created_at", "id", "key", "name", "object", "prefix"]);
    assert_eq!(
        (&body["object"], &body["status"], &body["email"]),
        (&json!("account"), &json!("active"), &json!(email))
    );
    assert_eq!(body["message"], "Store this key now. It is shown only once.");
    assert_eq!((&key["object"], &key["name"]), (&json!("api_key"), &json!("Default")));
    let text = key["key"].as_str().unwrap();
    assert!(Key::parse(text).is_some() && text.starts_with(key["prefix"].as_str().unwrap()));
    assert!(reply.cookies().is_empty());

    let me = me(&world, text).await;
    let me = me.is(200).json();
    assert_eq!((&me["id"], &me["email"], &me["full_name"]), (&body["id"], &json!(email), &json!("Dora")));
    assert_eq!(
        (&me["auth_method"], &me["role"], &me["email_verified"]),
        (&json!("api_key"), &json!("user"), &json!(true))
    );
    assert_eq!((&me["workspace"]["id"], &me["workspace"]["name"]), (&body["workspace_id"], &json!("Dora & Söhne")));
}

// case 311
#[tokio::test]
async fn of_ten_parallel_verifications_of_one_token_exactly_one_answers_with_a_key() {
    let world = World::new().await;
    for known in [false, true] {
        let email = if known { world.member().await } else { world.mailbox() };
        sign_up(&world, &email).await.is(202);
        let token = signup_token(&world, &email).await;
        let attempts: Vec<_> = (0..10)
            .map(|_| {
                let (world, token) = (world.clone(), token.clone());
                tokio::spawn(async move { verify(&world, &token).await })
            })
            .collect();
        let mut keys = 0;
        for attempt in attempts {
            let reply = attempt.await.unwrap();
            if reply.status == 201 {
                keys += 1;
            } else {
                reply.is_error(400, "AUTH_006").names(None);
            }
        }
        assert_eq!(keys, 1);
        assert_eq!(world.db_number(KEYS_OF, &email).await, 1);
        verify(&world, &token).await.is_error(400, "AUTH_006");
    }
}

#[tokio::test]
async fn parallel_verifications_of_all_links_of_a_mailbox_give_one_key() {
    let world = World::plan().set("PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR", "9").build().await;
    let email = world.mailbox();
    for _ in 0..5 {
        sign_up(&world, &email).await.is(202);
    }
    let tokens: Vec<String> = world
        .mails_to(&email)
        .await
        .iter()
        .map(|mail| mail.links()[0].split_once("?token=").unwrap().1.to_owned())
        .collect();
    let attempts: Vec<_> = tokens
        .into_iter()
        .map(|token| {
            let world = world.clone();
            tokio::spawn(async move { verify(&world, &token).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 201 | 400 | 409)), "{statuses:?}");
    assert_eq!(world.db_number(KEYS_OF, &email).await, 1);
}

#[tokio::test]
async fn a_link_that_is_unknown_used_expired_or_of_another_kind_is_one_answer() {
    let world = World::on_memory().await;
    let email = world.mailbox();
    sign_up(&world, &email).await.is(202);
    let expired = signup_token(&world, &email).await;
    world.advance(Duration::from_hours(24));
    sign_up(&world, &email).await.is(202);
    let used = signup_token(&world, &email).await;
    verify(&world, &used).await.is(201);
    let foreign = world.mailed_token(&world.unconfirmed().await, "/verify-email").await;
    for token in ["x", &expired, &used, &foreign] {
        let error = verify(&world, token).await.is_error(400, "AUTH_006").json()["error"].clone();
        assert_eq!(
            (&error["type"], &error["message"]),
            (&json!("invalid_request_error"), &json!("The link is invalid or has expired."))
        );
    }
    // And the link of a sign-up opens nothing else.
    let other = world.mailbox();
    sign_up(&world, &other).await.is(202);
    let token = signup_token(&world, &other).await;
    world.anonymous().post("/api/auth/verify-email", json!({"token": token})).await.is_error(400, "AUTH_006");
    verify(&world, &token).await.is(201);
}

#[tokio::test]
async fn whoever_registered_the_address_before_without_proving_it_keeps_no_password() {
    let world = World::new().await;
    let email = world.unconfirmed().await;
    equip(&world, &email).await;
    world.anonymous().login(&email, PASSWORD).await.is_error(401, "AUTH_001");
    let sql = "SELECT count(*) FROM users WHERE email = $1 AND password_hash IS NULL AND email_verified_at IS NOT NULL";
    assert_eq!(world.db_number(sql, &email).await, 1);
}

#[tokio::test]
async fn a_member_keeps_password_session_name_and_workspace() {
    let world = World::new().await;
    let member = world.signed_in().await;
    let before = member.get("/api/auth/me").await.json();
    let key = equip(&world, &member.email).await;
    assert!(member.is_signed_in().await);
    world.sign_in(&member.email, PASSWORD).await;
    let after = me(&world, &key).await.json();
    assert_eq!((&after["id"], &after["workspace"]), (&before["id"], &before["workspace"]));
    assert_eq!((&before["auth_method"], &after["auth_method"]), (&json!("session"), &json!("api_key")));
}

#[tokio::test]
async fn a_disabled_account_gets_no_key() {
    let world = World::new().await;
    let email = world.member().await;
    world.db_disable(&email).await;
    sign_up(&world, &email).await.is(202);
    verify(&world, &signup_token(&world, &email).await).await.is_error(403, "AUTH_008");
    assert_eq!(world.db_number(KEYS_OF, &email).await, 0);
}

#[tokio::test]
async fn a_key_that_came_by_another_way_meanwhile_is_a_conflict_that_uses_the_link_up() {
    let world = World::new().await;
    let member = world.signed_in().await;
    sign_up(&world, &member.email).await.is(202);
    let token = signup_token(&world, &member.email).await;
    let made = make(&member, json!({"name": "mine"})).await;
    verify(&world, &token).await.is_error(409, "RES_002").names(None);
    member.delete(&format!("{KEYS}/{}", made["id"].as_str().unwrap())).await.is(204);
    verify(&world, &token).await.is_error(400, "AUTH_006");
    assert_eq!(world.db_number(KEYS_OF, &member.email).await, 1);
}

#[tokio::test]
async fn whoever_has_revoked_every_key_may_sign_up_again() {
    let world = World::new().await;
    let email = world.member().await;
    equip(&world, &email).await;
    let owner = world.sign_in(&email, PASSWORD).await;
    let id = owner.get(KEYS).await.json()["data"][0]["id"].as_str().unwrap().to_owned();
    owner.delete(&format!("{KEYS}/{id}")).await.is(204);
    equip(&world, &email).await;
}
