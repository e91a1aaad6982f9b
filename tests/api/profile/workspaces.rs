//! `GET /api/auth/workspaces`.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{SignedIn, Verbs, World};

const WORKSPACES: &str = "/api/auth/workspaces";

async fn own(person: &SignedIn) -> Value {
    person.get(WORKSPACES).await.is(200).json()
}

/// Makes the person a member of somebody else's workspace as well.
async fn join(world: &World, person: &SignedIn, host: &SignedIn) {
    let sql = "INSERT INTO workspace_members (workspace_id, user_id, role, created_at)
               SELECT h.default_workspace_id, g.id, 'member', h.created_at FROM users h, users g
               WHERE h.email || ' ' || g.email = $1";
    assert_eq!(world.db_execute(sql, &format!("{} {}", host.email, person.email)).await, 1);
}

#[tokio::test]
async fn a_person_sees_its_workspaces_the_default_first_and_then_by_name() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let body = own(&anna).await;
    assert_eq!(body["workspaces"].as_array().unwrap().len(), 1);
    let mine = &body["workspaces"][0];
    assert_eq!(body["current_workspace_id"], mine["id"]);
    assert_eq!((&mine["role"], &mine["is_default"]), (&json!("owner"), &json!(true)));
    let mut hosts = Vec::new();
    for name in ["Zoo", "Aare"] {
        let host = world.signed_in().await;
        let sql =
            "UPDATE workspaces SET name = 'Zoo' WHERE id = (SELECT default_workspace_id FROM users WHERE email = $1)";
        let other =
            "UPDATE workspaces SET name = 'Aare' WHERE id = (SELECT default_workspace_id FROM users WHERE email = $1)";
        world.db_execute(if name == "Zoo" { sql } else { other }, &host.email).await;
        join(&world, &anna, &host).await;
        hosts.push(host);
    }
    let body = own(&anna).await;
    let names: Vec<&str> =
        body["workspaces"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names[1..], ["Aare", "Zoo"]);
    assert_eq!(body["workspaces"][0]["id"], mine["id"]);
    assert_eq!(body["workspaces"][1]["role"], "member");
    // Chosen by the header, for this request alone.
    let chosen = body["workspaces"][2]["id"].as_str().unwrap();
    let asked = anna.get(WORKSPACES).header("x-workspace-id", chosen).await.is(200).json();
    assert_eq!(asked["current_workspace_id"], chosen);
    assert_eq!(own(&anna).await["current_workspace_id"], mine["id"]);
    // Those hosts see nothing of hers.
    assert_eq!(own(&hosts[0]).await["workspaces"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_new_default_is_first_and_the_token_keeps_the_workspace_it_was_made_for() {
    let world = World::new().await;
    let (anna, host) = (world.signed_in().await, world.signed_in().await);
    join(&world, &anna, &host).await;
    let before = own(&anna).await;
    let theirs = before["workspaces"][1]["id"].clone();
    anna.patch("/api/auth/me", json!({"default_workspace_id": theirs})).await.is(200);
    let after = own(&anna).await;
    assert_eq!(after["workspaces"][0]["id"], theirs);
    assert_eq!(after["current_workspace_id"], before["current_workspace_id"]);
    // Who is shown out falls back to the default.
    let sql =
        "DELETE FROM workspace_members WHERE role = 'owner' AND user_id = (SELECT id FROM users WHERE email = $1)";
    world.db_execute(sql, &anna.email).await;
    assert_eq!(own(&anna).await["current_workspace_id"], theirs);
}

#[tokio::test]
async fn a_foreign_and_an_unknown_workspace_are_the_same_404_and_no_id_is_422() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let theirs = own(&ben).await["current_workspace_id"].as_str().unwrap().to_owned();
    let foreign = anna.get(WORKSPACES).header("x-workspace-id", theirs).await;
    foreign.is_error(404, "RES_001");
    let unknown = Uuid::from_u128(7).to_string();
    anna.get(WORKSPACES).header("x-workspace-id", unknown).await.tells_no_more_than(&foreign);
    anna.get(WORKSPACES).header("x-workspace-id", "\u{e9}").await.has_fault("uuid_parsing", "header.X-Workspace-ID");
    world.anonymous().get(WORKSPACES).await.is_error(401, "AUTH_002");
}
