//! What a sign-up answers and whom it mails.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ACCOUNTS, Gateway, VERIFY, equip, sign_up, signup_token, verify};
use crate::{
    password::{at_once, connected, count},
    world::{Mail, PASSWORD, Verbs, World},
};

#[tokio::test]
async fn a_signup_is_accepted_and_mails_a_link_to_the_portal() {
    let world = World::new().await;
    let email = world.mailbox();
    let body = json!({"email": email.to_uppercase(), "name": "Dora", "company": "Dora AG", "locale": "en",
                      "accept_terms": true, "invite_code": "whatever", "role": "admin", "workspace_id": "x"});
    let reply = world.anonymous().post(ACCOUNTS, body).await;
    let expected = json!({"object": "account", "status": "pending_verification", "email": email,
                          "message": "Check your inbox to confirm your email address.", "expires_in": 86400});
    assert_eq!(reply.is(202).json(), expected);
    let mails = world.mails_to(&email).await;
    assert_eq!(mails.len(), 1);
    assert!(mails[0].links()[0].starts_with("https://labs.example/developers/verify?token="), "{mails:#?}");
    assert!(mails[0].text.starts_with("Hello Dora,") && mails[0].text.contains("24 hours"), "{mails:#?}");
    assert_eq!(world.db_accounts_of(&email).await, 0, "nobody is anybody before the mailbox is proved");
}

#[tokio::test]
async fn the_portal_may_stand_elsewhere() {
    let world = World::with(&[("DEVELOPER_PORTAL_URL", "https://dev.labs.example/portal/")]).await;
    let email = world.mailbox();
    sign_up(&world, &email).await.is(202);
    let mails = world.mails_to(&email).await;
    assert!(mails[0].links()[0].starts_with("https://dev.labs.example/portal/verify?token="), "{mails:#?}");
}

#[tokio::test]
async fn nobody_learns_from_the_answer_whether_an_address_is_known() {
    let world = World::new().await;
    let (new, unconfirmed, member, equipped) =
        (world.mailbox(), world.unconfirmed().await, world.member().await, world.mailbox());
    equip(&world, &equipped).await;
    let disabled = world.member().await;
    world.db_disable(&disabled).await;
    let first = sign_up(&world, &new).await;
    for email in [unconfirmed, member, equipped, disabled] {
        let reply = sign_up(&world, &email).await;
        let (mut one, mut other) = (reply.is(202).json(), first.json());
        assert_eq!(one["email"], email);
        one["email"] = Value::Null;
        other["email"] = Value::Null;
        assert_eq!(one, other);
        assert_eq!(reply.header_names(), first.header_names());
    }
}

#[tokio::test]
async fn whoever_has_a_key_is_pointed_to_the_portal_by_a_mail_without_a_token() {
    let world = World::new().await;
    let email = world.mailbox();
    equip(&world, &email).await;
    sign_up(&world, &email).await.is(202);
    let mails = world.mails_to(&email).await;
    let Mail { text, raw, .. } = mails.last().unwrap();
    assert_eq!(mails.len(), 2);
    assert!(text.lines().any(|line| line == "https://labs.example/developers"), "{text}");
    assert!(!raw.contains("token=") && !text.contains("token="), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_signups_of_one_mailbox_leave_it_five_links() {
    let world = World::with(&[("PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR", "100")]).await;
    let other =
        World::with(&[("PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR", "100"), ("DATABASE_URL", world.database_url())]).await;
    let bad = |place: &World| place.anonymous().post(VERIFY, json!({"token": "x"}));
    connected(|| (0..10).flat_map(|_| [&world, &other]).map(bad).collect()).await;
    let email = world.mailbox();
    // Twelve: nobody waits for a connection, all wait for the mailbox.
    let asks = (0..12).map(|number| {
        let place = if number % 2 == 0 { &world } else { &other };
        place.anonymous().post(ACCOUNTS, json!({"email": email}))
    });
    let replies = at_once(asks).await;
    assert_eq!(count(&replies, 202), 12, "{replies:?}");
    let live = "SELECT count(*) FROM developer_signups s JOIN tickets t ON t.hash = s.ticket
                WHERE s.email = $1 AND t.purpose = 'prima_signup' AND t.used_at IS NULL";
    assert_eq!(world.db_number(live, &email).await, 5);
}

#[tokio::test]
async fn while_five_links_of_a_mailbox_work_another_signup_mails_nothing() {
    let world = World::plan().set("PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR", "100").on_memory().build().await;
    let email = world.mailbox();
    for _ in 0..7 {
        sign_up(&world, &email).await.is(202);
    }
    let mails = world.mails_to(&email).await;
    assert_eq!(mails.len(), 5);
    let oldest = mails[0].links()[0].split_once("?token=").unwrap().1.to_owned();
    verify(&world, &oldest).await.is(201);
    world.advance(Duration::from_hours(25));
    assert_eq!(world.mails_to(&email).await.len(), 5);
}

#[tokio::test]
async fn terms_must_be_accepted_where_the_operator_says_so() {
    let world = World::with(&[("PRIMA_SIGNUP_REQUIRE_TERMS", "true"), ("PRIMA_SIGNUP_TERMS_VERSION", "2026-01")]).await;
    let email = world.mailbox();
    sign_up(&world, &email).await.is_error(422, "VAL_001").names(Some("accept_terms"));
    let ask =
        async |terms: Value| world.anonymous().post(ACCOUNTS, json!({"email": email, "accept_terms": terms})).await;
    ask(json!(false)).await.is_error(422, "VAL_001").names(Some("accept_terms"));
    ask(json!(true)).await.is(202);
    let token = signup_token(&world, &email).await;
    verify(&world, &token).await.is(201);
    let sql = "SELECT d.terms_version FROM developers d JOIN users u ON u.id = d.user_id
               WHERE u.email = $1 AND d.terms_accepted_at IS NOT NULL";
    assert_eq!(world.db_texts(sql, &email).await, ["2026-01"]);
}

#[tokio::test]
async fn a_faulty_body_is_refused_in_the_gateway_shape_and_names_the_first_field() {
    let world =
        World::with(&[("PRIMA_SIGNUP_MAX_PER_IP_PER_HOUR", "100"), ("PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR", "100")])
            .await;
    let anonymous = world.anonymous();
    for (body, param) in [
        (json!({}), Some("email")),
        (json!({"email": null}), Some("email")),
        (json!({"email": "nobody"}), Some("email")),
        (json!({"email": 5}), Some("email")),
        (json!({"email": "a@b"}), Some("email")),
        (json!({"email": "Dora <d@labs.example>"}), Some("email")),
        (json!({"email": "d@labs.example", "name": ""}), Some("name")),
        (json!({"email": "d@labs.example", "name": "x".repeat(121)}), Some("name")),
        (json!({"email": "d@labs.example", "company": "x".repeat(161)}), Some("company")),
        (json!({"email": "d@labs.example", "invite_code": "x".repeat(65)}), Some("invite_code")),
        (json!({"email": "d@labs.example", "accept_terms": "yes"}), Some("accept_terms")),
        (json!({"email": "d@labs.example", "locale": "es"}), Some("locale")),
        (json!({"email": "x", "name": ""}), Some("email")),
        (json!([]), None),
        (json!("d@labs.example"), None),
        (json!(null), None),
    ] {
        anonymous.post(ACCOUNTS, body).await.is_error(422, "VAL_001").names(param);
    }
    for body in [json!({}), json!({"token": ""}), json!({"token": "x".repeat(513)}), json!({"token": 1})] {
        anonymous.post(VERIFY, body).await.is_error(422, "VAL_001").names(Some("token"));
    }
}

#[tokio::test]
async fn every_error_of_the_prefix_has_the_gateway_shape() {
    let world = World::new().await;
    let anonymous = world.anonymous();
    anonymous.get("/api/prima/v1").await.is_error(404, "RES_001");
    anonymous.get("/api/prima/v1/nothing").await.is_error(404, "RES_001").names(None);
    assert_eq!(anonymous.get(ACCOUNTS).await.is_error(405, "RES_003").header("allow"), Some("POST"));
    anonymous.raw(ACCOUNTS, None, vec![b'x'; 70_000]).await.is_error(413, "VAL_003");
    anonymous.post(ACCOUNTS, json!({})).header("content-encoding", "gzip").await.is_error(415, "VAL_004");
    anonymous.raw(ACCOUNTS, None, "not json").await.is_error(422, "VAL_001").names(None);
    anonymous.get("/api/prima/v1/keys").await.is_error(401, "AUTH_002");
    anonymous.get("/api/prima/v1x").await.is_error(404, "RES_001");
}

#[tokio::test]
async fn a_signup_opens_no_session() {
    let world = World::new().await;
    let email = world.mailbox();
    equip(&world, &email).await;
    assert_eq!(world.db_open_sessions_of(&email).await, 0);
    world.anonymous().login(&email, PASSWORD).await.is_error(401, "AUTH_001");
}
