//! What an owner does with keys, and what a key opens.

use std::time::Duration;

use http::Method;
use labs_auth::extract::Rule;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Gateway, KEYS, equip, make, me, text};
use crate::world::{PASSWORD, SignedIn, Verbs, World};

async fn list(owner: &SignedIn) -> Vec<Value> {
    owner.get(KEYS).await.is(200).json()["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_key_is_made_shown_once_listed_without_itself_changed_and_revoked() {
    let world = World::new().await;
    let owner = world.signed_in().await;
    let body = json!({"name": " CI ", "scopes": ["read", "write", "read"], "expires_at": "2026-02-01T12:00:00+01:00"});
    let made = make(&owner, body).await;
    assert_eq!((&made["name"], &made["scopes"]), (&json!("CI"), &json!(["read", "write"])));
    assert_eq!((&made["expires_at"], &made["last_used_at"]), (&json!("2026-02-01T11:00:00Z"), &Value::Null));
    let (id, key) = (text(&made, "id"), text(&made, "key"));

    let listed = owner.get(KEYS).await;
    assert_eq!(listed.json()["object"], "list");
    assert!(!String::from_utf8_lossy(&listed.body).contains(key));
    let mut shown = made.clone();
    shown.as_object_mut().unwrap().retain(|name, _| name != "key" && name != "message");
    assert_eq!(listed.json()["data"], json!([shown]));

    let path = format!("{KEYS}/{id}");
    let changed = owner.patch(&path, json!({"name": "Build", "scopes": [], "expires_at": null})).await.is(200).json();
    assert_eq!(
        (&changed["name"], &changed["scopes"], &changed["expires_at"]),
        (&json!("Build"), &json!([]), &Value::Null)
    );
    assert_eq!(owner.patch(&path, json!({})).await.is(200).json(), changed);

    me(&world, key).await.is(200);
    assert_eq!(owner.delete(&path).await.is(204).body, b"");
    me(&world, key).await.is_error(401, "AUTH_004");
    owner.delete(&path).await.is_error(404, "RES_001");
    owner.patch(&path, json!({"name": "x"})).await.is_error(404, "RES_001");
    assert!(list(&owner).await.is_empty());
}

#[tokio::test]
async fn a_foreign_and_an_unknown_key_are_the_same_404() {
    let world = World::new().await;
    let (owner, stranger) = (world.signed_in().await, world.signed_in().await);
    let made = make(&owner, json!({"name": "mine"})).await;
    for id in [text(&made, "id").to_owned(), Uuid::nil().to_string()] {
        let path = format!("{KEYS}/{id}");
        stranger.patch(&path, json!({"name": "x"})).await.is_error(404, "RES_001");
        stranger.delete(&path).await.is_error(404, "RES_001");
        stranger.post(&format!("{path}/rotate"), json!({})).await.is_error(404, "RES_001");
    }
    assert!(list(&stranger).await.is_empty());
    me(&world, text(&made, "key")).await.is(200);
}

#[tokio::test]
async fn faults_are_named() {
    let world = World::new().await;
    let owner = world.signed_in().await;
    for (body, param) in [
        (json!({}), "name"),
        (json!({"name": ""}), "name"),
        (json!({"name": "x".repeat(121)}), "name"),
        (json!({"name": "x", "scopes": "read"}), "scopes"),
        (json!({"name": "x", "scopes": [1]}), "scopes"),
        (json!({"name": "x", "scopes": [""]}), "scopes"),
        (json!({"name": "x", "scopes": ["a b"]}), "scopes"),
        (json!({"name": "x", "scopes": ["é"]}), "scopes"),
        (json!({"name": "x", "scopes": vec!["s"; 33]}), "scopes"),
        (json!({"name": "x", "expires_at": "tomorrow"}), "expires_at"),
        (json!({"name": "x", "expires_at": 1}), "expires_at"),
        (json!({"name": "x", "expires_at": "2026-01-02T03:04:05Z"}), "expires_at"),
    ] {
        owner.post(KEYS, body).await.is_error(422, "VAL_001").names(Some(param));
    }
    let made = make(&owner, json!({"name": "x"})).await;
    let path = format!("{KEYS}/{}", text(&made, "id"));
    owner
        .patch(&path, json!({"expires_at": "2020-01-01T00:00:00Z"}))
        .await
        .is_error(422, "VAL_001")
        .names(Some("expires_at"));
    for days in [json!(8), json!(-1), json!(1.5), json!("1")] {
        owner
            .post(&format!("{path}/rotate"), json!({"grace_days": days}))
            .await
            .is_error(422, "VAL_001")
            .names(Some("grace_days"));
    }
    owner.delete(&format!("{KEYS}/not-an-id")).await.is_error(422, "VAL_001").names(Some("id"));
    owner.delete(&format!("{KEYS}/%ff")).await.is_error(422, "VAL_001").names(Some("id"));
}

#[tokio::test]
async fn a_key_belongs_to_the_workspace_that_is_asked_for_if_it_is_the_owners() {
    let world = World::new().await;
    let (owner, stranger) = (world.signed_in().await, world.signed_in().await);
    let workspace =
        async |person: &SignedIn| text(&person.get("/api/auth/me").await.json()["workspace"], "id").to_owned();
    let (mine, theirs) = (workspace(&owner).await, workspace(&stranger).await);
    let ask = |id: &str| owner.post(KEYS, json!({"name": "x"})).header("x-workspace-id", id);
    assert_eq!(ask(&mine).await.is(201).json()["workspace_id"], mine);
    ask(&theirs).await.is_error(404, "RES_001");
    ask("nonsense").await.is_error(422, "VAL_001");
    assert_eq!(make(&owner, json!({"name": "y"})).await["workspace_id"], mine);
}

#[tokio::test]
async fn nobody_holds_more_than_twenty_live_keys_however_parallel_they_are_made() {
    let world = World::new().await;
    let owner = world.signed_in().await;
    let asks: Vec<_> = (0..50)
        .map(|n| {
            let owner = owner.clone();
            tokio::spawn(async move { owner.post(KEYS, json!({"name": format!("key {n}")})).await })
        })
        .collect();
    let mut made = 0;
    for ask in asks {
        let reply = ask.await.unwrap();
        if reply.status == 201 {
            made += 1;
        } else {
            let error = reply.is_error(409, "RES_002").json()["error"].clone();
            assert_eq!(error["message"], "The maximum number of API keys is reached.");
        }
    }
    assert_eq!((made, list(&owner).await.len()), (20, 20));
    let id = list(&owner).await[0]["id"].as_str().unwrap().to_owned();
    let rotate = |days: u32| owner.post(&format!("{KEYS}/{id}/rotate"), json!({"grace_days": days}));
    rotate(1).await.is_error(409, "RES_002");
    rotate(0).await.is(201);
    let id = list(&owner).await[0]["id"].as_str().unwrap().to_owned();
    owner.delete(&format!("{KEYS}/{id}")).await.is(204);
    make(&owner, json!({"name": "again"})).await;
}

#[tokio::test]
async fn a_rotated_key_lives_on_for_its_grace_and_no_longer() {
    let world = World::on_memory().await;
    let email = world.member().await;
    let owner = world.sign_in(&email, PASSWORD).await;
    let old = make(&owner, json!({"name": "CI", "scopes": ["deploy"], "expires_at": "2026-03-01T00:00:00Z"})).await;
    let path = format!("{KEYS}/{}", text(&old, "id"));
    let new = owner.post(&format!("{path}/rotate"), json!({"grace_days": 2})).await.is(201).json();
    for same in ["name", "scopes", "workspace_id", "expires_at"] {
        assert_eq!(new[same], old[same], "{same}");
    }
    let listed = list(&owner).await;
    let waiting = listed.iter().find(|key| key["id"] == old["id"]).unwrap();
    assert_eq!((&waiting["expires_at"], &waiting["replaced_by"]), (&json!("2026-01-04T03:04:05Z"), &new["id"]));
    // It only waits for its end: it can neither be renewed nor given more time.
    owner.patch(&path, json!({"expires_at": null})).await.is_error(409, "RES_002");
    owner.post(&format!("{path}/rotate"), json!({})).await.is_error(409, "RES_002");
    me(&world, text(&old, "key")).await.is(200);
    world.advance(Duration::from_hours(48));
    me(&world, text(&old, "key")).await.is_error(401, "AUTH_004");
    me(&world, text(&new, "key")).await.is(200);
}

#[tokio::test]
async fn without_a_grace_the_old_key_ends_at_once_and_the_body_may_be_absent() {
    let world = World::new().await;
    let owner = world.signed_in().await;
    let old = make(&owner, json!({"name": "CI"})).await;
    let new = owner.ask(Method::POST, &format!("{KEYS}/{}/rotate", text(&old, "id"))).await.is(201).json();
    me(&world, text(&old, "key")).await.is_error(401, "AUTH_004");
    me(&world, text(&new, "key")).await.is(200);
}

#[tokio::test]
async fn of_parallel_rotations_of_one_key_one_succeeds() {
    let world = World::new().await;
    let owner = world.signed_in().await;
    let old = make(&owner, json!({"name": "CI"})).await;
    let path = format!("{KEYS}/{}/rotate", text(&old, "id"));
    let asks: Vec<_> = (0..10)
        .map(|_| {
            let (owner, path) = (owner.clone(), path.clone());
            tokio::spawn(async move { owner.post(&path, json!({"grace_days": 1})).await.status.as_u16() })
        })
        .collect();
    let mut made = 0;
    for ask in asks {
        let status = ask.await.unwrap();
        assert!(matches!(status, 201 | 409), "{status}");
        made += u32::from(status == 201);
    }
    assert_eq!((made, list(&owner).await.len()), (1, 2));
}

#[tokio::test]
async fn a_mistyped_unknown_revoked_or_expired_key_is_one_answer_to_its_bearer() {
    let world = World::on_memory().await;
    let owner = world.signed_in().await;
    let unknown = labs_auth::developer::api_key::Key::mint(&labs_auth::secret::Entropy::system());
    let revoked = make(&owner, json!({"name": "revoked"})).await;
    owner.delete(&format!("{KEYS}/{}", text(&revoked, "id"))).await.is(204);
    let expired = make(&owner, json!({"name": "expired", "expires_at": "2026-01-02T03:05:00Z"})).await;
    me(&world, text(&expired, "key")).await.is(200);
    world.advance(Duration::from_mins(1));
    let mistyped = format!("{}0", &unknown.reveal()[..57]);
    let first = me(&world, "sk-prima-x").await;
    assert_eq!(first.is_error(401, "AUTH_004").header("www-authenticate"), Some("Bearer"));
    for key in [&mistyped, unknown.reveal(), text(&revoked, "key"), text(&expired, "key"), "sk-prima-"] {
        me(&world, key).await.tells_no_more_than(&first);
    }
}

#[tokio::test]
async fn a_disabled_owners_key_opens_nothing() {
    let world = World::new().await;
    let email = world.mailbox();
    let key = equip(&world, &email).await;
    world.db_disable(&email).await;
    me(&world, &key).await.is_error(403, "AUTH_008");
}

#[tokio::test]
async fn no_other_bearer_route_takes_a_key() {
    let world = World::new().await;
    let key = equip(&world, &world.mailbox()).await;
    let mut asked = 0;
    for route in world.routes() {
        if !route.rules.contains(&Rule::Bearer) || (route.path == "/api/auth/me" && route.verb.name() == "GET") {
            continue;
        }
        let path = route.path.replace("{id}", &Uuid::nil().to_string());
        let method = Method::from_bytes(route.verb.name().as_bytes()).unwrap();
        let reply = world.anonymous().ask(method, &path).header("authorization", format!("Bearer {key}")).await;
        reply.is_error(401, "AUTH_004");
        asked += 1;
    }
    assert!(asked >= 7, "{asked}");
}
