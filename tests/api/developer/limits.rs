//! The hourly budgets of a sign-up, through the whole application.

use std::time::Duration;

use serde_json::json;

use super::{ACCOUNTS, Gateway, INTROSPECT, SIBLING, VERIFY, make, me, sign_up, text};
use crate::world::{Reply, Verbs, World};

// case 179
#[tokio::test]
async fn the_sixth_signup_of_an_hour_from_one_client_is_refused() {
    let world = World::new().await;
    let client = world.anonymous();
    for left in (0..5_u64).rev() {
        let reply = client.post(ACCOUNTS, json!({"email": world.mailbox()})).await;
        assert!(
            reply.is(202).header("ratelimit").unwrap().starts_with(&format!("\"signup-ip\";r={left};t=")),
            "{reply:?}"
        );
        assert_eq!(reply.header("x-ratelimit-limit"), Some("5"));
    }
    let email = world.mailbox();
    let reply = client.post(ACCOUNTS, json!({"email": email})).await;
    reply.is_signup_limited();
    assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() > 3500, "{reply:?}");
    assert!(reply.header("ratelimit-policy").unwrap().contains("\"signup-ip\";q=5;w=3600"), "{reply:?}");
    assert!(world.mails_to(&email).await.is_empty());
    // What the address refused did not charge the mailbox.
    for _ in 0..3 {
        sign_up(&world, &email).await.is(202);
    }
}

// case 179
#[tokio::test]
async fn the_fourth_signup_of_an_hour_for_one_mailbox_is_refused_however_it_is_spelled() {
    let world = World::new().await;
    let email = world.mailbox();
    for spelling in [email.clone(), email.to_uppercase(), format!(" {email} ")] {
        sign_up(&world, &spelling).await.is(202);
    }
    let reply = sign_up(&world, &email).await;
    reply.is_signup_limited();
    assert!(reply.wait() > 3500, "{reply:?}");
    for numbers in ["ratelimit", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
        assert!(reply.header(numbers).is_none(), "{numbers} tells of another person's traffic: {reply:?}");
    }
    assert!(reply.header("ratelimit-policy").unwrap().contains("\"signup-email\";q=3;w=3600"), "{reply:?}");
    assert_eq!(world.mails_to(&email).await.len(), 3);
    sign_up(&world, &world.mailbox()).await.is(202);
}

#[tokio::test]
async fn the_hour_ends() {
    let world = World::on_memory().await;
    let client = world.anonymous();
    for _ in 0..5 {
        client.post(ACCOUNTS, json!({"email": world.mailbox()})).await.is(202);
    }
    let wait = client.post(ACCOUNTS, json!({"email": world.mailbox()})).await.wait();
    world.advance(Duration::from_millis(wait * 1000 - 1));
    client.post(ACCOUNTS, json!({"email": world.mailbox()})).await.is_signup_limited();
    world.advance(Duration::from_millis(1));
    client.post(ACCOUNTS, json!({"email": world.mailbox()})).await.is(202);
}

#[tokio::test]
async fn a_body_without_an_address_spends_the_clients_hour_alone() {
    let world = World::new().await;
    let client = world.anonymous();
    for body in [json!({}), json!([]), json!({"email": 1}), json!({"email": "nobody"}), json!(null)] {
        let reply = client.post(ACCOUNTS, body).await;
        reply.is_error(422, "VAL_001");
        assert!(!reply.header("ratelimit-policy").unwrap().contains("signup-email"), "{reply:?}");
    }
    client.post(ACCOUNTS, json!({})).await.is_signup_limited();
}

#[tokio::test]
async fn an_address_that_is_none_charges_no_mailbox_and_a_faulty_field_does() {
    let world = World::new().await;
    let email = world.mailbox();
    let reply = world.anonymous().post(ACCOUNTS, json!({"email": "a b@labs.example"})).await;
    assert!(!reply.header("ratelimit-policy").unwrap().contains("signup-email"), "{reply:?}");
    for _ in 0..3 {
        world.anonymous().post(ACCOUNTS, json!({"email": email, "name": ""})).await.is_error(422, "VAL_001");
    }
    sign_up(&world, &email).await.is_signup_limited();
}

#[tokio::test]
async fn what_is_not_json_spends_nothing() {
    let world = World::new().await;
    let client = world.anonymous();
    for _ in 0..40 {
        let reply = client.raw(ACCOUNTS, Some("application/json"), "{\"email\":").await;
        assert!(!reply.is_error(422, "VAL_001").header("ratelimit-policy").unwrap().contains("auth"), "{reply:?}");
    }
    client.post(ACCOUNTS, json!({"email": world.mailbox()})).await.is(202);
}

#[tokio::test]
async fn both_routes_carry_the_path_bucket_in_the_gateway_shape() {
    let world = World::plan().set("PRIMA_SIGNUP_MAX_PER_IP_PER_HOUR", "1000").build().await;
    for path in [ACCOUNTS, VERIFY] {
        let client = world.anonymous();
        for _ in 0..30 {
            client.post(path, json!({})).await.is_error(422, "VAL_001");
        }
        let reply = client.post(path, json!({})).await;
        let error = reply.is_error(429, "RATE_001").json()["error"].clone();
        assert_eq!(error["message"], "Too many authentication attempts. Please try again later.");
        assert!(reply.wait() <= 60);
    }
}

#[tokio::test]
async fn a_flood_is_refused_in_the_middlewares_shape_even_here() {
    let world = World::plan().set("RATE_LIMIT_IP_PER_MINUTE", "3").build().await;
    let client = world.anonymous();
    for _ in 0..3 {
        client.post(VERIFY, json!({})).await.is_error(422, "VAL_001");
    }
    client.post(VERIFY, json!({})).await.is_flooded();
    client.get("/api/prima/v1/nothing").await.is_flooded();
}

#[tokio::test]
async fn parallel_signups_of_one_client_are_admitted_exactly_five_times() {
    let world = World::new().await;
    let client = world.anonymous();
    let asks = (0..20).map(|_| {
        let (client, email) = (client.clone(), world.mailbox());
        tokio::spawn(async move { client.post(ACCOUNTS, json!({"email": email})).await.status })
    });
    let mut admitted = 0;
    for ask in asks.collect::<Vec<_>>() {
        admitted += u32::from(ask.await.unwrap() == 202);
    }
    assert_eq!(admitted, 5);
}

/// Three requests a minute for each key, shared by what it asks itself and what a sibling asks about it.
async fn world_with_a_budget_for_each_key() -> World {
    let file = tempfile::NamedTempFile::new().unwrap();
    let policy = "[[policy]]\nname = \"key\"\nroutes = [\"GET /api/auth/me\", \"POST /api/prima/v1/keys/introspect\"]\n\
                  quota = 3\nwindow = \"60s\"\nalgorithm = \"fixed\"\nkey = \"api_key\"\n";
    std::fs::write(file.path(), policy).unwrap();
    let path = file.path().to_str().unwrap();
    World::plan().on_memory().set("RATE_LIMIT_POLICIES", path).set("SERVICE_KEYS", SIBLING).build().await
}

async fn asked_about(world: &World, key: &str) -> Reply {
    let ask = world.anonymous().post(INTROSPECT, json!({"key": key}));
    ask.header("authorization", format!("Bearer {SIBLING}")).await
}

#[tokio::test]
async fn a_policy_counts_each_api_key_wherever_it_asks_from_and_whoever_asks_about_it() {
    let world = world_with_a_budget_for_each_key().await;
    let owner = world.signed_in().await;
    let made = [make(&owner, json!({"name": "a"})).await, make(&owner, json!({"name": "b"})).await];
    let [first, second] = made.each_ref().map(|key| text(key, "key"));
    let reply = me(&world, first).await;
    assert!(reply.is(200).header("ratelimit").unwrap().starts_with("\"key\";r=2"), "{reply:?}");
    asked_about(&world, first).await.is(200);
    me(&world, first).await.is(200);
    for reply in [me(&world, first).await, asked_about(&world, first).await] {
        assert_eq!(reply.is(429).header("ratelimit-policy").map(|it| it.contains("\"key\";q=3;w=60")), Some(true));
        assert!(reply.wait() <= 60, "{reply:?}");
    }
    // The owner's other key, and the owner by session, are others.
    me(&world, second).await.is(200);
    for _ in 0..4 {
        owner.get("/api/auth/me").await.is(200);
        // What is no live key has no budget to spend.
        assert_eq!(asked_about(&world, "sk-prima-x").await.is(200).json(), json!({"active": false}));
    }
    world.advance(Duration::from_secs(61));
    me(&world, first).await.is(200);
}
