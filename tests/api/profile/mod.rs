//! `GET` and `PATCH /api/auth/me`, and around them: workspaces, the export, leaving.

mod export;
mod leave;
mod workspaces;

use serde_json::{Value, json};

use crate::world::{SignedIn, Verbs, World};

const ME: &str = "/api/auth/me";

async fn workspace_of(person: &SignedIn) -> String {
    person.get(ME).await.json()["workspace"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_person_sees_itself_and_the_workspace_it_works_in() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let me = anna.get(ME).await;
    let body = me.is(200).json();
    assert_eq!(body["email"], anna.email.as_str());
    assert_eq!(body["full_name"], Value::Null);
    assert_eq!(body["locale"], "de");
    assert_eq!(body["created_at"], "2026-01-02T03:04:05Z");
    assert_eq!(me.header("cache-control"), Some("no-store"));
    let mut names: Vec<&String> = body["workspace"].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["created_at", "id", "is_default", "name", "role", "slug"]);
    assert_eq!(body["workspace"]["id"], body["default_workspace_id"]);
}

#[tokio::test]
async fn a_header_selects_a_workspace_of_the_caller_and_no_other() {
    let world = World::new().await;
    let (anna, other) = (world.signed_in().await, world.signed_in().await);
    let (own, foreign) = (workspace_of(&anna).await, workspace_of(&other).await);
    anna.get(ME).header("x-workspace-id", &own).await.is(200);
    let refused = anna.get(ME).header("x-workspace-id", &foreign).await;
    refused.is_error(404, "RES_001");
    let unknown = uuid::Uuid::new_v4().to_string();
    anna.get(ME).header("x-workspace-id", unknown).await.tells_no_more_than(&refused);
    anna.get(ME).header("x-workspace-id", "7").await.has_fault("uuid_parsing", "header.X-Workspace-ID");
    anna.get(ME).header("x-workspace-id", b"\xff").await.has_fault("uuid_parsing", "header.X-Workspace-ID");
    // On an anonymous route the header means nothing.
    world
        .anonymous()
        .post("/api/auth/login", json!({}))
        .header("x-workspace-id", "7")
        .await
        .has_fault("missing", "body.email");
}

#[tokio::test]
async fn only_what_is_mentioned_changes() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let change = json!({"full_name": " Anna Muster ", "avatar_url": "https://cdn.example/a.png", "locale": "fr"});
    let changed = anna.patch(ME, change).await.is(200).json();
    assert_eq!(changed["full_name"], "Anna Muster");
    assert_eq!(changed["avatar_url"], "https://cdn.example/a.png");
    assert_eq!(changed["locale"], "fr");
    assert_eq!(anna.patch(ME, json!({})).await.is(200).json(), changed);
    let cleared = anna.patch(ME, json!({"avatar_url": null})).await.is(200).json();
    assert_eq!((&cleared["avatar_url"], &cleared["full_name"]), (&Value::Null, &json!("Anna Muster")));
    let aliased = anna.patch(ME, json!({"name": null})).await.is(200).json();
    assert_eq!(aliased["full_name"], Value::Null);
    let me = anna.get(ME).await.json();
    assert_eq!((&me["locale"], &me["full_name"]), (&json!("fr"), &Value::Null));
}

#[tokio::test]
async fn nobody_writes_what_is_not_theirs_to_write() {
    // case 303
    let world = World::new().await;
    let anna = world.signed_in().await;
    let before = anna.get(ME).await.json();
    let body = json!({
        "name": "N", "role": "admin", "is_admin": true, "email": world.mailbox(), "is_active": false,
        "email_verified": false, "has_password": false, "id": uuid::Uuid::new_v4(),
    });
    let after = anna.patch(ME, body).await.is(200).json();
    for name in ["role", "email", "is_active", "email_verified", "has_password", "id"] {
        assert_eq!(after[name], before[name], "{name}");
    }
    assert_eq!(after["full_name"], "N");
}

#[tokio::test]
async fn faults_change_nothing() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let before = anna.get(ME).await.json();
    let bad =
        json!({"full_name": "", "avatar_url": "http://cdn.example/a.png", "locale": "es", "default_workspace_id": "7"});
    let reply = anna.patch(ME, bad).await;
    reply.has_fault("string_too_short", "body.full_name").has_fault("url_scheme", "body.avatar_url");
    reply.has_fault("enum", "body.locale").has_fault("uuid_parsing", "body.default_workspace_id");
    for url in ["javascript:alert(1)", "https://", "//cdn.example/a.png", "https://user:pw@cdn.example/"] {
        anna.patch(ME, json!({"avatar_url": url})).await.has_fault("url_scheme", "body.avatar_url");
    }
    let long = format!("https://cdn.example/{}", "a".repeat(2048));
    anna.patch(ME, json!({"avatar_url": long})).await.has_fault("string_too_long", "body.avatar_url");
    anna.patch(ME, json!({"full_name": "A", "note": "x\0y"})).await.is_error(422, "VAL_001");
    // What everybody has is not taken away by a null.
    let nulls = anna.patch(ME, json!({"full_name": "A", "locale": null, "default_workspace_id": null})).await;
    nulls.has_fault("string_type", "body.locale").has_fault("string_type", "body.default_workspace_id");
    anna.patch(ME, json!([])).await.has_fault("model_attributes_type", "body");
    anna.patch(ME, json!(null)).await.has_fault("missing", "body");
    assert_eq!(anna.get(ME).await.json(), before);
}

#[tokio::test]
async fn the_default_workspace_is_one_of_the_callers() {
    let world = World::new().await;
    let (anna, other) = (world.signed_in().await, world.signed_in().await);
    let (own, foreign) = (workspace_of(&anna).await, workspace_of(&other).await);
    let change = json!({"full_name": "A", "default_workspace_id": foreign});
    anna.patch(ME, change).await.is_error(404, "RES_001");
    assert_eq!(anna.get(ME).await.json()["full_name"], Value::Null);
    anna.patch(ME, json!({"default_workspace_id": own})).await.is(200);
    assert_eq!(workspace_of(&anna).await, own);
}
