//! What a sibling service learns about a key, and who is one.

use std::time::Duration;

use labs_auth::developer::api_key::Key;
use serde_json::{Value, json};

use super::{INTROSPECT, KEYS, SIBLING, equip, make, text};
use crate::world::{Ask, Reply, Verbs, World};

async fn world_with_a_sibling() -> World {
    World::plan()
        .set("SERVICE_KEYS", &format!("another service key of more than 32 bytes,{SIBLING}"))
        .on_memory()
        .build()
        .await
}

fn ask(world: &World, key: &str) -> Ask {
    world.anonymous().post(INTROSPECT, json!({"key": key})).header("authorization", format!("Bearer {SIBLING}"))
}

async fn is_dead(world: &World, key: &str) {
    assert_eq!(ask(world, key).await.is(200).json(), json!({"active": false}));
}

async fn last_used(world: &World, email: &str) -> i64 {
    let sql = "SELECT count(*) FROM api_keys k JOIN users u ON u.id = k.user_id WHERE u.email = $1 AND k.last_used_at IS NOT NULL";
    world.db_number(sql, email).await
}

#[tokio::test]
async fn a_live_key_is_described_and_a_dead_one_is_not() {
    let world = world_with_a_sibling().await;
    let owner = world.signed_in().await;
    let made = make(&owner, json!({"name": "x", "scopes": ["a", "b"], "expires_at": "2026-01-02T03:10:00Z"})).await;
    let (id, key) = (text(&made, "id"), text(&made, "key"));
    let person = owner.get("/api/auth/me").await.json();
    let reply = ask(&world, key).await;
    assert_eq!(
        reply.is(200).json(),
        json!({"active": true, "account_id": person["id"], "workspace_id": person["workspace"]["id"],
               "scopes": ["a", "b"], "key_id": id, "expires_at": "2026-01-02T03:10:00Z"})
    );
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    for dead in [
        "x",
        "sk-prima-",
        &key[..57],
        &format!("{}!", &key[..57]),
        Key::mint(&labs_auth::secret::Entropy::system()).reveal(),
    ] {
        is_dead(&world, dead).await;
    }
    world.advance(Duration::from_mins(6));
    is_dead(&world, key).await;
}

#[tokio::test]
async fn a_key_dies_with_its_revocation_its_owner_and_its_owners_membership() {
    let world = world_with_a_sibling().await;
    let owner = world.signed_in().await;
    let made = make(&owner, json!({"name": "x"})).await;
    owner.delete(&format!("{KEYS}/{}", text(&made, "id"))).await.is(204);
    is_dead(&world, text(&made, "key")).await;

    let (disabled, left) = (world.mailbox(), world.mailbox());
    let (first, second) = (equip(&world, &disabled).await, equip(&world, &left).await);
    world.db_disable(&disabled).await;
    is_dead(&world, &first).await;
    let sql = "DELETE FROM workspace_members WHERE user_id = (SELECT id FROM users WHERE email = $1)";
    assert_eq!(world.db_execute(sql, &left).await, 1);
    is_dead(&world, &second).await;
}

#[tokio::test]
async fn without_a_valid_service_key_it_is_401_and_spends_the_path_bucket() {
    let world = world_with_a_sibling().await;
    let client = world.anonymous();
    let key = equip(&world, &world.mailbox()).await;
    let wrong = |n: usize| -> Ask {
        let ask = client.post(INTROSPECT, json!({"key": key}));
        match n % 5 {
            0 => ask,
            1 => ask.header("authorization", "Bearer "),
            2 => ask.header("authorization", format!("Bearer {SIBLING}x")),
            3 => ask.header("authorization", format!("Basic {SIBLING}")),
            _ => ask.header("authorization", format!("Bearer {key}")),
        }
    };
    for n in 0..30 {
        let reply: Reply = wrong(n).await;
        assert_eq!(reply.is_error(401, "AUTH_002").header("www-authenticate"), Some("Bearer"));
    }
    wrong(0).await.is_error(429, "RATE_001");
    // The sibling at the same address is not held back by it.
    client.post(INTROSPECT, json!({"key": key})).header("authorization", format!("Bearer {SIBLING}")).await.is(200);
}

#[tokio::test]
async fn where_no_sibling_is_configured_there_is_no_such_route() {
    let world = World::new().await;
    let reply = world
        .anonymous()
        .post(INTROSPECT, json!({"key": "x"}))
        .header("authorization", format!("Bearer {SIBLING}"))
        .await;
    reply.is_error(404, "RES_001");
}

#[tokio::test]
async fn two_thousand_introspections_of_one_sibling_within_a_minute_are_all_answered() {
    let world = World::plan().set("SERVICE_KEYS", SIBLING).build().await;
    let key = equip(&world, &world.mailbox()).await;
    let sibling = world.anonymous();
    for _ in 0..2000 {
        let reply =
            sibling.post(INTROSPECT, json!({"key": key})).header("authorization", format!("Bearer {SIBLING}")).await;
        assert_eq!(reply.is(200).json()["active"], true);
        assert!(reply.header("ratelimit-policy").is_none());
    }
    // The exemption is the route's: everything else from the same address counts.
    let other = sibling.get("/api/prima/v1/nothing").header("authorization", format!("Bearer {SIBLING}")).await;
    assert!(other.is(404).header("ratelimit").unwrap().starts_with("\"ip\";r=999;"), "{other:?}");
}

#[tokio::test]
async fn a_faulty_body_names_its_field_and_a_sibling_is_told_so_only_after_its_key() {
    let world = world_with_a_sibling().await;
    let sibling =
        |body: Value| world.anonymous().post(INTROSPECT, body).header("authorization", format!("Bearer {SIBLING}"));
    for body in [json!({}), json!({"key": ""}), json!({"key": "x".repeat(513)}), json!({"key": 1})] {
        let reply = sibling(body.clone()).await;
        assert_eq!(reply.is_error(422, "VAL_001").json()["error"]["param"], "key");
        world.anonymous().post(INTROSPECT, body).await.is_error(401, "AUTH_002");
    }
}

#[tokio::test]
async fn a_use_is_noted_once_a_minute_at_most() {
    let world = world_with_a_sibling().await;
    let email = world.mailbox();
    let key = equip(&world, &email).await;
    assert_eq!(last_used(&world, &email).await, 0);
    ask(&world, &key).await.is(200);
    assert_eq!(last_used(&world, &email).await, 1);
    let forget = "UPDATE api_keys SET name = 'touched' WHERE last_used_at = (SELECT k.last_used_at FROM api_keys k
                  JOIN users u ON u.id = k.user_id WHERE u.email = $1)";
    let mark = "SELECT count(*) FROM api_keys k JOIN users u ON u.id = k.user_id
                WHERE u.email = $1 AND k.last_used_at = k.created_at";
    assert_eq!(world.db_execute(forget, &email).await, 1);
    // The clock stood still since the key was made, so an untouched note equals the time of making.
    assert_eq!(world.db_number(mark, &email).await, 1);
    world.advance(Duration::from_secs(59));
    ask(&world, &key).await.is(200);
    assert_eq!(world.db_number(mark, &email).await, 1);
    world.advance(Duration::from_secs(1));
    ask(&world, &key).await.is(200);
    assert_eq!(world.db_number(mark, &email).await, 0);
}
