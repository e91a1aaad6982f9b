//! Several sites: the page's origin chooses, and nothing made on one is offered or accepted on another.

use serde_json::json;

use super::{
    APP, DISCOVERABLE_BEGIN, LABS, LOGIN_BEGIN, PARTNER, PRIMA, REGISTER_BEGIN, begin_discoverable, begin_enrolment,
    begin_login, begun, complete_discoverable, complete_login, enrol, enrol_by, ids, sign_in_with, sites,
};
use crate::world::{HOST, Verbs, World, soft_passkey::Maker};

// case 205
#[tokio::test]
async fn a_passkey_of_one_site_is_never_offered_or_accepted_on_another() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut on_labs = enrol(&person, LABS).await;
    let mut on_prima = enrol(&person, PRIMA).await;
    let labs = begin_login(&world, &person.email, LABS).await;
    let prima = begin_login(&world, &person.email, PRIMA).await;
    assert_eq!(labs["options"]["rpId"], "labs.example");
    assert_eq!(prima["options"]["rpId"], "prima.example");
    assert_eq!(ids(&labs["options"]["allowCredentials"]), [on_labs.name()]);
    assert_eq!(ids(&prima["options"]["allowCredentials"]), [on_prima.name()]);

    // As it is, and with everything in it moved to the other site.
    let stray = on_labs.get(&prima["options"]);
    complete_login(&world, &prima, &stray).origin(PRIMA).await.is_error(401, "WEBAUTHN_002");
    let mut moved = on_labs.at(PRIMA);
    moved.rp_id = "prima.example".to_owned();
    sign_in_with(&world, &mut moved, &person.email).await.is_error(401, "WEBAUTHN_002");
    let begun = begin_discoverable(&world, PRIMA).await;
    let credential = moved.get(&begun["options"]);
    complete_discoverable(&world, &begun, &credential).origin(PRIMA).await.is_error(401, "WEBAUTHN_002");

    sign_in_with(&world, &mut on_labs, &person.email).await.is(200);
    sign_in_with(&world, &mut on_prima, &person.email).await.is(200);
}

// case 203
#[tokio::test]
async fn only_the_listed_origins_below_a_domain_are_accepted() {
    let world = sites().await;
    let person = world.signed_in().await;
    let passkey = enrol(&person, LABS).await;
    for (origin, accepted) in [
        (LABS, true),
        ("https://other.labs.example", false),
        ("https://labs.example", false),
        ("https://app.labs.example:8443", false),
        ("http://app.labs.example", false),
        ("https://app.labs.example/", false),
        ("https://APP.labs.example", false),
        ("https://user@app.labs.example", false),
        ("https://app.labs.example.evil.example", false),
        ("https://evilapp.labs.example", false),
        ("null", false),
        ("", false),
    ] {
        let begun = begin_login(&world, &person.email, LABS).await;
        let credential = passkey.at(origin).get(&begun["options"]);
        let reply = complete_login(&world, &begun, &credential).await;
        if accepted {
            reply.is(200);
        } else {
            assert_eq!((reply.status.as_u16(), reply.code().as_str()), (401, "WEBAUTHN_002"), "{origin}");
        }
    }
}

// case 207
#[tokio::test]
async fn the_origin_chooses_the_site_and_the_host_never_does() {
    let world = sites().await;
    let anonymous = world.anonymous();
    let reply = anonymous.post(DISCOVERABLE_BEGIN, json!({})).await;
    assert_eq!(begun(&reply)["options"]["rpId"], "labs.example", "without an origin: the default");
    for host in ["evil.example", "prima.example", HOST] {
        let reply = anonymous.post(DISCOVERABLE_BEGIN, json!({})).origin(PRIMA).only("host", host).await;
        assert_eq!(begun(&reply)["options"]["rpId"], "prima.example");
    }
    for origin in [
        "https://203.0.113.7",
        "https://evil.example",
        "https://labs.example",
        "http://prima.example",
        "https://prima.example:444",
        "https://prima.example/",
        "HTTPS://PRIMA.EXAMPLE",
        "null",
        "",
    ] {
        anonymous.post(DISCOVERABLE_BEGIN, json!({})).origin(origin).await.is_error(403, "WEBAUTHN_003");
    }
    let twice = anonymous.post(DISCOVERABLE_BEGIN, json!({})).header("origin", LABS).header("origin", PRIMA);
    twice.await.is_error(403, "WEBAUTHN_003");
}

#[tokio::test]
async fn an_unknown_site_is_told_so_after_its_body_was_read() {
    let world = sites().await;
    let person = world.signed_in().await;
    let evil = "https://evil.example";
    world.anonymous().post(LOGIN_BEGIN, json!({})).origin(evil).await.is_error(422, "VAL_001");
    let email = json!({"email": person.email});
    world.anonymous().post(LOGIN_BEGIN, email).origin(evil).await.is_error(403, "WEBAUTHN_003");
    person.post(REGISTER_BEGIN, json!({"name": ""})).origin(evil).await.is_error(422, "VAL_001");
    person.post(REGISTER_BEGIN, json!({})).origin(evil).await.is_error(403, "WEBAUTHN_003");
}

#[tokio::test]
async fn a_house_without_sites_has_no_passkeys() {
    let world = World::new().await;
    let email = json!({"email": world.mailbox()});
    world.anonymous().post(LOGIN_BEGIN, email.clone()).await.is_error(403, "WEBAUTHN_003");
    world.anonymous().post(LOGIN_BEGIN, email).origin(LABS).await.is_error(403, "WEBAUTHN_003");
    world.anonymous().post(DISCOVERABLE_BEGIN, json!({})).await.is_error(403, "WEBAUTHN_003");
}

#[tokio::test]
async fn a_completion_belongs_to_the_site_of_its_challenge_whatever_its_own_origin_says() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    for origin in [PRIMA, "https://evil.example"] {
        let begun = begin_login(&world, &person.email, LABS).await;
        let credential = passkey.get(&begun["options"]);
        complete_login(&world, &begun, &credential).origin(origin).await.is(200);
    }
}

// case 233
#[tokio::test]
async fn an_app_is_accepted_by_its_exact_name_and_no_other_is() {
    let world = sites().await;
    let person = world.signed_in().await;
    let passkey = enrol(&person, LABS).await;
    let mut on_app = passkey.at(APP);
    let begun = begin_login(&world, &person.email, LABS).await;
    let credential = on_app.get(&begun["options"]);
    complete_login(&world, &begun, &credential).await.is(200);
    let (_, reply) = enrol_by(&person, &Maker::on(APP)).await;
    reply.is(201);
    for origin in [
        "android:apk-key-hash:RRdEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
        "android:apk-key-hash:",
        "android:apk-key-hash-sha256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
        "ios:bundle-id:example.labs",
    ] {
        let begun = begin_login(&world, &person.email, LABS).await;
        let credential = passkey.at(origin).get(&begun["options"]);
        complete_login(&world, &begun, &credential).await.is_error(401, "WEBAUTHN_002");
    }
    assert_eq!(world.db_open_sessions_of(&person.email).await, 2);
}

#[tokio::test]
async fn a_related_site_shares_the_passkeys_of_its_relying_party() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, PARTNER).await;
    assert_eq!(passkey.rp_id, "labs.example");
    sign_in_with(&world, &mut passkey, &person.email).await.is(200);
    passkey.origin = LABS.to_owned();
    sign_in_with(&world, &mut passkey, &person.email).await.is(200);
    let excluded = begin_enrolment(&person, LABS).await["options"]["excludeCredentials"].clone();
    assert_eq!(ids(&excluded), [passkey.name()]);
}
