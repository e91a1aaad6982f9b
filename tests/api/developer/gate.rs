//! Who may sign up, and what a refusal costs.

use std::time::Duration;

use labs_auth::{
    developer::invite::{self, Invite, Wanted},
    secret::{Entropy, Plain},
};
use serde_json::json;

use super::{ACCOUNTS, Gateway, sign_up, signup_token, verify};
use crate::world::{Hands, Reply, Verbs, World};

async fn with_code(world: &World, email: &str, code: &str) -> Reply {
    world.anonymous().post(ACCOUNTS, json!({"email": email, "invite_code": code})).await
}

async fn invitation(world: &World, max_uses: u32) -> Plain {
    let wanted = Wanted { note: None, max_uses, lifetime: Duration::from_hours(48) };
    invite::create(&world.app().db, &Hands::new().clock(), &Entropy::system(), &wanted).await.unwrap()
}

async fn the_invitation(world: &World) -> Invite {
    invite::list(&world.app().db).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_listed_address_and_a_listed_domain_pass_and_nobody_else() {
    let list = "Anna@Labs.example, @friends.example, @bücher.example";
    let world = World::with(&[("PRIMA_SIGNUP_ALLOWLIST", list)]).await;
    for email in
        ["anna@labs.example", " ANNA@labs.example", "x@friends.example", "x@xn--bcher-kva.example", "x@bücher.example"]
    {
        sign_up(&world, email).await.is(202);
    }
    for email in
        ["bob@labs.example", "x@sub.friends.example", "x@notfriends.example", "anna@labs.example@friends.example"]
    {
        sign_up(&world, email).await.is_error(403, "SIGNUP_001").names(None);
    }
}

#[tokio::test]
async fn a_code_of_the_settings_passes_and_a_wrong_one_does_not() {
    let world = World::with(&[("PRIMA_SIGNUP_INVITE_CODES", "spring-2026, autumn-2026")]).await;
    let email = world.mailbox();
    sign_up(&world, &email).await.is_error(403, "SIGNUP_001");
    for code in ["spring-2025", "spring-202", "spring-20266", "", "SPRING-2026", "spring-2026, autumn-2026"] {
        with_code(&world, &email, code).await.is_error(403, "SIGNUP_001");
    }
    with_code(&world, &email, "autumn-2026").await.is(202);
}

#[tokio::test]
async fn a_refusal_at_the_gate_spends_neither_hour() {
    let world = World::with(&[("PRIMA_SIGNUP_INVITE_CODES", "spring-2026")]).await;
    let (client, email) = (world.anonymous(), world.mailbox());
    for _ in 0..10 {
        let reply = client.post(ACCOUNTS, json!({"email": email})).await;
        let policies = reply.is_error(403, "SIGNUP_001").header("ratelimit-policy").unwrap();
        assert!(policies.contains("auth") && !policies.contains("signup"), "{reply:?}");
    }
    for _ in 0..3 {
        client.post(ACCOUNTS, json!({"email": email, "invite_code": "spring-2026"})).await.is(202);
    }
    client.post(ACCOUNTS, json!({"email": email, "invite_code": "spring-2026"})).await.is_signup_limited();
}

#[tokio::test]
async fn the_gate_stands_before_the_fields_and_lets_a_body_without_an_address_through_to_them() {
    let world = World::with(&[("PRIMA_SIGNUP_INVITE_CODES", "spring-2026")]).await;
    world.anonymous().post(ACCOUNTS, json!({"email": "a@b", "name": ""})).await.is_error(403, "SIGNUP_001");
    world.anonymous().post(ACCOUNTS, json!({"email": "nobody"})).await.is_error(422, "VAL_001").names(Some("email"));
    world.anonymous().post(ACCOUNTS, json!({})).await.is_error(422, "VAL_001").names(Some("email"));
}

#[tokio::test]
async fn the_gate_does_not_know_who_has_an_account() {
    let world = World::with(&[("PRIMA_SIGNUP_INVITE_CODES", "spring-2026")]).await;
    let member = world.member().await;
    let known = sign_up(&world, &member).await;
    let unknown = sign_up(&world, &world.mailbox()).await;
    assert_eq!(known.is(403).json()["error"]["message"], unknown.is(403).json()["error"]["message"]);
    assert_eq!(known.header_names(), unknown.header_names());
}

#[tokio::test]
async fn an_invitation_shuts_the_gate_opens_it_and_is_counted_when_the_mailbox_is_proved() {
    let world = World::new().await;
    let (first, second) = (world.mailbox(), world.mailbox());
    sign_up(&world, &world.mailbox()).await.is(202);
    let code = invitation(&world, 1).await;
    sign_up(&world, &first).await.is_error(403, "SIGNUP_001");
    with_code(&world, &first, code.reveal()).await.is(202);
    with_code(&world, &second, code.reveal()).await.is(202);
    assert_eq!(the_invitation(&world).await.uses, 0, "signing up only reads");
    let (one, other) = (signup_token(&world, &first).await, signup_token(&world, &second).await);
    verify(&world, &one).await.is(201);
    assert_eq!(the_invitation(&world).await.uses, 1);
    verify(&world, &other).await.is_error(403, "SIGNUP_001");
    assert_eq!(world.db_accounts_of(&second).await, 0, "a refused redemption leaves nothing behind");
    // A used-up invitation opens nothing, and does not open the gate to everybody either.
    with_code(&world, &world.mailbox(), code.reveal()).await.is_error(403, "SIGNUP_001");
    sign_up(&world, &world.mailbox()).await.is_error(403, "SIGNUP_001");
}

#[tokio::test]
async fn a_revoked_invitation_opens_nothing_and_its_expiry_ends_the_gate() {
    let world = World::on_memory().await;
    let (email, code) = (world.mailbox(), invitation(&world, 5).await);
    with_code(&world, &email, code.reveal()).await.is(202);
    let token = signup_token(&world, &email).await;
    let id = the_invitation(&world).await.id;
    assert!(invite::revoke(&world.app().db, id, Hands::new().clock().now()).await.unwrap());
    assert!(!invite::revoke(&world.app().db, id, Hands::new().clock().now()).await.unwrap());
    with_code(&world, &email, code.reveal()).await.is_error(403, "SIGNUP_001");
    verify(&world, &token).await.is_error(403, "SIGNUP_001");
    sign_up(&world, &email).await.is_error(403, "SIGNUP_001");
    world.advance(Duration::from_hours(49));
    sign_up(&world, &email).await.is(202);
}

#[tokio::test]
async fn of_parallel_redemptions_no_more_get_in_than_the_invitation_allows() {
    let world = World::new().await;
    let code = invitation(&world, 3).await;
    let mut tokens = Vec::new();
    for _ in 0..8 {
        let email = world.mailbox();
        with_code(&world, &email, code.reveal()).await.is(202);
        tokens.push(signup_token(&world, &email).await);
    }
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
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 201, 201, 403, 403, 403, 403, 403]);
    assert_eq!(the_invitation(&world).await.uses, 3);
}
