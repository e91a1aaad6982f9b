//! Listing, naming and removing one's own passkeys.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CREDENTIALS, LABS, PRIMA, db_passkeys_of, enrol, enrol_by, sign_in_with, sites};
use crate::world::{SignedIn, Verbs, soft_passkey::Maker};

async fn listed(person: &SignedIn) -> Vec<Value> {
    person.get(CREDENTIALS).await.is(200).json()["credentials"].as_array().unwrap().clone()
}

fn path_of(passkey: &Value) -> String {
    format!("{CREDENTIALS}/{}", passkey["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_person_sees_the_own_passkeys_of_every_site_newest_first() {
    let world = sites().await;
    let (person, other) = (world.signed_in().await, world.signed_in().await);
    assert_eq!(listed(&person).await, Vec::<Value>::new());
    enrol(&other, LABS).await;
    for origin in [LABS, PRIMA, LABS] {
        world.advance(Duration::from_secs(1));
        enrol(&person, origin).await;
    }
    let list = listed(&person).await;
    let sites: Vec<&str> = list.iter().map(|it| it["rp_id"].as_str().unwrap()).collect();
    assert_eq!(sites, ["labs.example", "prima.example", "labs.example"]);
    let times: Vec<&str> = list.iter().map(|it| it["created_at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|newer, older| newer > older), "{times:?}");
    world.anonymous().get(CREDENTIALS).await.is_error(401, "AUTH_002");
}

#[tokio::test]
async fn a_passkey_is_renamed() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (_, reply) = enrol_by(&person, &Maker::on(LABS)).await;
    let path = path_of(&reply.json());
    let renamed = person.patch(&path, json!({"name": "  Schlüssel 🔑 "})).await.is(200).json();
    assert_eq!(renamed["name"], "Schlüssel 🔑");
    assert_eq!(listed(&person).await, [renamed]);
    person.patch(&path, json!({})).await.has_fault("missing", "body.name");
    person.patch(&path, json!({"name": null})).await.has_fault("string_type", "body.name");
    person.patch(&path, json!({"name": " "})).await.has_fault("string_too_short", "body.name");
    person.patch(&path, json!({"name": "x".repeat(65)})).await.has_fault("string_too_long", "body.name");
}

// case 225
#[tokio::test]
async fn a_foreign_passkey_is_as_unknown_as_none() {
    let world = sites().await;
    let (owner, stranger) = (world.signed_in().await, world.signed_in().await);
    let (mut passkey, reply) = enrol_by(&owner, &Maker::on(LABS)).await;
    let foreign = path_of(&reply.json());
    let unknown = format!("{CREDENTIALS}/{}", uuid::Uuid::from_u128(7));
    for path in [&foreign, &unknown] {
        stranger.delete(path).await.is_error(404, "RES_001");
        stranger.patch(path, json!({"name": "mine"})).await.is_error(404, "RES_001");
    }
    sign_in_with(&world, &mut passkey, &owner.email).await.is(200);
    assert_eq!(listed(&owner).await[0]["name"], "Passkey");
}

#[tokio::test]
async fn an_id_that_is_none_is_named() {
    let world = sites().await;
    let person = world.signed_in().await;
    for id in ["1", "%ff", "not-a-uuid", "0b9d"] {
        let path = format!("{CREDENTIALS}/{id}");
        person.delete(&path).await.has_fault("uuid_parsing", "path.id");
        person.patch(&path, json!({"name": "x"})).await.has_fault("uuid_parsing", "path.id");
        world.anonymous().delete(&path).await.is_error(401, "AUTH_002");
    }
}

#[tokio::test]
async fn the_last_passkey_may_be_removed_and_its_owner_hears_by_mail() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (mut passkey, reply) = enrol_by(&person, &Maker::on(PRIMA)).await;
    let path = path_of(&reply.json());
    let gone = person.delete(&path).await;
    assert!(gone.is(204).body.is_empty());
    person.delete(&path).await.is_error(404, "RES_001");
    assert_eq!(listed(&person).await, Vec::<Value>::new());
    sign_in_with(&world, &mut passkey, &person.email).await.is_error(401, "WEBAUTHN_002");
    let mails = world.mails_to(&person.email).await;
    let removed: Vec<_> = mails.iter().filter(|mail| mail.subject.contains("entfernt")).collect();
    assert_eq!(removed.len(), 1);
    assert!(removed[0].text.contains("prima.example") && removed[0].html.contains("prima.example"));
    let (_, reply) = enrol_by(&person, &Maker { id: passkey.id.clone(), ..Maker::on(PRIMA) }).await;
    reply.is(201);
    assert_eq!(db_passkeys_of(&world, &person.email).await, 1);
}
