//! "Should this page offer the passkey first?"

use serde_json::{Value, json};

use super::{CHECK, CREDENTIALS, LABS, PRIMA, enrol_by, memory_of, sign_in_with, sites, sites_with};
use crate::world::{Reply, Verbs, World, soft_passkey::Maker};

async fn ask(world: &World, origin: Option<&str>, email: &str, memory: Option<&str>) -> Reply {
    let mut ask = world.anonymous().get(&format!("{CHECK}?email={email}"));
    if let Some(origin) = origin {
        ask = ask.origin(origin);
    }
    if let Some(memory) = memory {
        ask = ask.header("cookie", format!("theme=dark; labs_pk={memory}"));
    }
    ask.await
}

fn answer(rp_id: Option<&str>, has_passkeys: bool) -> Value {
    json!({"available": rp_id.is_some(), "rp_id": rp_id, "has_passkeys": has_passkeys})
}

#[tokio::test]
async fn only_a_browser_that_knows_the_person_is_told() {
    let world = sites().await;
    let (person, other) = (world.signed_in().await, world.signed_in().await);
    let (mut passkey, reply) = enrol_by(&person, &Maker::on(LABS)).await;
    let memory = memory_of(&reply);
    let yes = answer(Some("labs.example"), true);
    let no = answer(Some("labs.example"), false);
    assert_eq!(ask(&world, Some(LABS), &person.email, Some(&memory)).await.is(200).json(), yes);
    assert_eq!(ask(&world, None, &person.email, Some(&memory)).await.json(), yes, "same origin, no header");
    assert_eq!(ask(&world, Some(LABS), &person.email, None).await.json(), no);
    assert_eq!(ask(&world, Some(LABS), &person.email, Some("nonsense")).await.json(), no);
    assert_eq!(ask(&world, Some(LABS), &other.email, Some(&memory)).await.json(), no);
    assert_eq!(ask(&world, Some(LABS), &world.mailbox(), Some(&memory)).await.json(), no);
    let prima = answer(Some("prima.example"), false);
    assert_eq!(ask(&world, Some(PRIMA), &person.email, Some(&memory)).await.json(), prima);
    let again = memory_of(&sign_in_with(&world, &mut passkey, &person.email).await);
    assert_eq!(again, memory, "the tag of one person on one site is one");

    let listed = person.get(CREDENTIALS).await.json();
    let path = format!("{CREDENTIALS}/{}", listed["credentials"][0]["id"].as_str().unwrap());
    person.delete(&path).await.is(204);
    assert_eq!(ask(&world, Some(LABS), &person.email, Some(&memory)).await.json(), no, "there is none any more");
}

#[tokio::test]
async fn a_browser_remembers_several_people_and_sites() {
    let world = sites().await;
    let (one, two) = (world.signed_in().await, world.signed_in().await);
    let mut memory = String::from("not-a-tag.<script>");
    for (person, origin) in [(&one, LABS), (&one, PRIMA), (&two, LABS), (&one, LABS)] {
        let begun = super::begin_enrolment(person, origin).await;
        let (_, credential) = Maker::on(origin).make(&begun["options"]);
        let ask = person.post(super::REGISTER_COMPLETE, super::complete_body(&begun, &credential));
        memory = memory_of(ask.header("cookie", format!("labs_pk={memory}")).await.is(201));
    }
    assert_eq!(memory.split('.').count(), 3, "{memory}");
    for (email, origin, rp_id) in
        [(&one.email, LABS, "labs.example"), (&one.email, PRIMA, "prima.example"), (&two.email, LABS, "labs.example")]
    {
        let reply = ask(&world, Some(origin), email, Some(&memory)).await;
        assert_eq!(reply.json(), answer(Some(rp_id), true));
    }
    let endless = vec![memory.split('.').next().unwrap(); 40].join(".");
    let tags = (0..40).map(|number| format!("{number:043}")).collect::<Vec<_>>().join(".");
    for long in [endless, tags] {
        let (mut passkey, _) = enrol_by(&two, &Maker::on(LABS)).await;
        let begun = super::begin_login(&world, &two.email, LABS).await;
        let credential = passkey.get(&begun["options"]);
        let reply =
            super::complete_login(&world, &begun, &credential).header("cookie", format!("labs_pk={long}")).await;
        assert!(memory_of(reply.is(200)).split('.').count() <= 8);
    }
}

#[tokio::test]
async fn a_page_without_a_site_is_told_that_there_are_no_passkeys() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (_, reply) = enrol_by(&person, &Maker::on(LABS)).await;
    let memory = memory_of(&reply);
    let reply = ask(&world, Some("https://evil.example"), &person.email, Some(&memory)).await;
    assert_eq!(reply.is(200).json(), answer(None, false));
    let bare = World::new().await;
    assert_eq!(bare.anonymous().get(CHECK).await.is(200).json(), answer(None, false));
}

#[tokio::test]
async fn an_address_is_optional_but_must_be_one() {
    let world = sites().await;
    assert_eq!(world.anonymous().get(CHECK).origin(PRIMA).await.is(200).json(), answer(Some("prima.example"), false));
    world.anonymous().get(&format!("{CHECK}?email=nobody")).await.has_fault("value_error", "query.email");
    world.anonymous().get(&format!("{CHECK}?email=")).await.has_fault("value_error", "query.email");
}

#[tokio::test]
async fn an_operator_may_choose_to_tell_everybody() {
    let world = sites_with(&[("WEBAUTHN_CHECK_DISCLOSE", "true")]).await;
    let person = world.signed_in().await;
    enrol_by(&person, &Maker::on(LABS)).await.1.is(201);
    let plain = ask(&world, Some(LABS), &person.email, None).await;
    assert_eq!(plain.json(), answer(Some("labs.example"), true));
    let elsewhere = ask(&world, Some(PRIMA), &person.email, None).await;
    assert_eq!(elsewhere.json(), answer(Some("prima.example"), false));
    let stranger = ask(&world, Some(LABS), &world.mailbox(), None).await;
    assert_eq!(stranger.json(), answer(Some("labs.example"), false));
    world.db_disable(&person.email).await;
    let disabled = ask(&world, Some(LABS), &person.email, None).await;
    assert_eq!(disabled.json(), answer(Some("labs.example"), false));
}

#[tokio::test]
async fn a_browser_is_still_known_after_the_key_was_changed() {
    let old = sites().await;
    let person = old.signed_in().await;
    let memory = memory_of(&enrol_by(&person, &Maker::on(LABS)).await.1);
    let new = sites_with(&[
        ("DATABASE_URL", old.database_url()),
        ("SECRET_KEY", "a new secret key of more than thirty-two bytes"),
        ("SECRET_KEY_PREVIOUS", "a secret key of more than thirty-two bytes"),
    ])
    .await;
    let reply = ask(&new, Some(LABS), &person.email, Some(&memory)).await;
    assert_eq!(reply.json(), answer(Some("labs.example"), true));
}
