//! Two processes on one database: what one begins, the other completes.

use serde_json::json;

use super::{
    LABS, REGISTER_COMPLETE, begin_discoverable, begin_enrolment, begin_login, complete_body, complete_discoverable,
    complete_login, sites, sites_with,
};
use crate::world::{Verbs, soft_passkey::Maker};

#[tokio::test]
async fn what_one_house_begins_another_completes() {
    let one = sites().await;
    let two = sites_with(&[("DATABASE_URL", one.database_url())]).await;
    let person = one.signed_in().await;
    let same_person_at_two = {
        let reply = two.anonymous().login(&person.email, crate::world::PASSWORD).await;
        two.holder_of(reply.is(200))
    };
    let begun = begin_enrolment(&person, LABS).await;
    let (mut passkey, credential) = Maker::on(LABS).make(&begun["options"]);
    let reply = same_person_at_two.post(REGISTER_COMPLETE, complete_body(&begun, &credential)).await;
    reply.is(201);
    person.post(REGISTER_COMPLETE, complete_body(&begun, &credential)).await.is_error(400, "WEBAUTHN_001");

    let begun = begin_login(&one, &person.email, LABS).await;
    let credential = passkey.get(&begun["options"]);
    complete_login(&two, &begun, &credential).await.is(200);
    complete_login(&one, &begun, &credential).await.is_error(400, "WEBAUTHN_001");

    let begun = begin_discoverable(&two, LABS).await;
    let credential = passkey.get(&begun["options"]);
    complete_discoverable(&one, &begun, &credential).await.is(200);
    assert_eq!(
        begin_login(&two, &person.email, LABS).await["options"]["allowCredentials"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_ceremony_of_a_site_that_left_the_configuration_has_expired() {
    let one = sites().await;
    let person = one.signed_in().await;
    let mut passkey = super::enrol(&person, LABS).await;
    let begun = begin_login(&one, &person.email, LABS).await;
    let prima = json!([{"rp_id": "prima.example", "rp_name": "Prima", "origins": [super::PRIMA]}]).to_string();
    let two = sites_with(&[("DATABASE_URL", one.database_url()), ("WEBAUTHN_RPS", &prima)]).await;
    let credential = passkey.get(&begun["options"]);
    complete_login(&two, &begun, &credential).await.is_error(400, "WEBAUTHN_001");
}

#[tokio::test]
async fn ceremonies_that_nobody_completed_are_swept_away() {
    let world = sites().await;
    let email = world.mailbox();
    begin_login(&world, &email, LABS).await;
    begin_discoverable(&world, LABS).await;
    let db = &world.app().db;
    assert_eq!(labs_auth::passkey::sweep(db, world.now()).await.unwrap(), 0);
    world.advance(std::time::Duration::from_mins(5));
    assert_eq!(labs_auth::passkey::sweep(db, world.now()).await.unwrap(), 2);
}
