//! What the table of security events says about developers and their keys, and what it does not.

use std::{process::Command, time::Duration};

use labs_auth::{
    developer::{
        api_key,
        invite::{self, Wanted},
    },
    secret::{Entropy, fingerprint},
};
use serde_json::json;
use uuid::Uuid;

use super::{KEYS, equip, make, sign_up, signup_token, text, verify};
use crate::world::{Verbs, World};

/// The events about one mailbox's account, as `act outcome detail`.
async fn events(world: &World, email: &str) -> Vec<String> {
    let sql = "SELECT a.act || ' ' || a.outcome || ' ' || coalesce(a.detail, '-')
               FROM audit_events a JOIN users u ON u.id = a.user_id WHERE u.email = $1 ORDER BY a.id";
    world.db_texts(sql, email).await
}

/// The events of the command line that concern nobody in particular.
async fn of_the_operator(world: &World) -> Vec<String> {
    let sql = "SELECT act || ' ' || detail FROM audit_events
               WHERE network = $1 AND user_id IS NULL AND session_id IS NULL ORDER BY id";
    world.db_texts(sql, "cli").await
}

#[tokio::test]
async fn a_signup_leaves_a_fingerprint_and_its_confirmation_the_account_and_the_first_key() {
    let world = World::new().await;
    let email = world.mailbox();
    sign_up(&world, &email).await.is(202);
    let sql = "SELECT act FROM audit_events WHERE mailbox = $1 AND user_id IS NULL";
    assert_eq!(world.db_texts(sql, &fingerprint(&email)).await, ["developer_signup"]);
    assert!(events(&world, &email).await.is_empty());
    let (first, second) = (signup_token(&world, &email).await, {
        sign_up(&world, &email).await.is(202);
        signup_token(&world, &email).await
    });
    assert_ne!(first, second);
    let reply = verify(&world, &second).await;
    let key = reply.is(201).json()["api_key"]["id"].as_str().unwrap().to_owned();
    verify(&world, &second).await.is_error(400, "AUTH_006");
    let issued = format!("api_key_issued ok {key}");
    assert_eq!(events(&world, &email).await, ["developer_verified ok -", issued.as_str()]);
    sign_up(&world, &email).await.is(202);
    assert_eq!(events(&world, &email).await.last().unwrap(), "developer_signup ok -");
}

#[tokio::test]
async fn each_change_of_a_key_leaves_one_event_with_its_id_and_session_and_a_refused_one_leaves_none() {
    let world = World::new().await;
    let owner = world.signed_in().await;
    let stranger = world.signed_in().await;
    let made = make(&owner, json!({"name": "CI"})).await;
    let id = text(&made, "id");
    let path = format!("{KEYS}/{id}");
    owner.patch(&path, json!({"name": "Build"})).await.is(200);
    let rotated = owner.post(&format!("{path}/rotate"), json!({"grace_days": 1})).await.is(201).json();
    owner.patch(&path, json!({"name": "late"})).await.is_error(409, "RES_002");
    let next = text(&rotated, "id");
    let next_path = format!("{KEYS}/{next}");
    stranger.delete(&next_path).await.is_error(404, "RES_001");
    owner.delete(&next_path).await.is(204);
    owner.delete(&next_path).await.is_error(404, "RES_001");
    let all = events(&world, &owner.email).await;
    let expected = [
        format!("api_key_issued ok {id}"),
        format!("api_key_changed ok {id}"),
        format!("api_key_rotated ok {id} by {next}"),
        format!("api_key_revoked ok {next}"),
    ];
    assert_eq!(all[all.len() - 4..], expected, "{all:?}");
    let sql = "SELECT count(*) FROM audit_events a JOIN users u ON u.id = a.user_id
               JOIN sessions s ON s.id = a.session_id AND s.user_id = u.id
               WHERE u.email = $1 AND a.act LIKE 'api_key_%' AND a.network <> 'cli'";
    assert_eq!(world.db_number(sql, &owner.email).await, 4);
    assert!(events(&world, &stranger.email).await.iter().all(|event| !event.starts_with("api_key")));
}

#[tokio::test]
async fn what_an_operator_does_with_keys_and_invitations_is_written_too() {
    let world = World::new().await;
    let email = world.mailbox();
    equip(&world, &email).await;
    let db = &world.app().db;
    let key = api_key::list_all(db, Some(&email)).await.unwrap().remove(0).id;
    assert!(api_key::revoke_any(db, key, world.now()).await.unwrap());
    assert!(!api_key::revoke_any(db, key, world.now()).await.unwrap());
    assert!(!api_key::revoke_any(db, Uuid::nil(), world.now()).await.unwrap());
    let all = events(&world, &email).await;
    assert_eq!(all.last().unwrap(), &format!("api_key_revoked ok {key}"));
    assert_eq!(all.iter().filter(|event| event.starts_with("api_key_revoked")).count(), 1);
    let wanted = Wanted { note: Some("for the marker"), max_uses: 1, lifetime: Duration::from_hours(1) };
    let code = invite::create(db, &world.clock(), &Entropy::system(), &wanted).await.unwrap();
    let invitation = invite::list(db).await.unwrap().remove(0).id;
    assert!(invite::revoke(db, invitation, world.now()).await.unwrap());
    assert!(!invite::revoke(db, invitation, world.now()).await.unwrap());
    let told = of_the_operator(&world).await;
    assert_eq!(told, [format!("invite_made {invitation}"), format!("invite_revoked {invitation}")]);
    assert!(told.iter().all(|event| !event.contains(code.reveal())));
}

#[tokio::test]
async fn the_command_shows_a_developers_events() {
    let world = World::new().await;
    let email = world.mailbox();
    let key = equip(&world, &email).await;
    let url = world.db_url();
    let address = email.clone();
    let run = move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_labs-auth"));
        command.args(["audit", "--user", &address]).env_clear().env("DATABASE_URL", url).output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let acts: Vec<&str> = shown.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(acts, ["developer_signup", "developer_verified", "api_key_issued"], "{shown}");
    assert!(!shown.contains(&key) && !shown.contains(&email), "{shown}");
}
