//! Signing in by passkey.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    DISCOVERABLE_BEGIN, DISCOVERABLE_COMPLETE, LABS, LOGIN_BEGIN, LOGIN_COMPLETE, begin_discoverable, begin_enrolment,
    begin_login, complete_body, complete_discoverable, complete_login, enrol, ids, memory_of, sign_in_with, sites,
};
use crate::world::{
    Verbs,
    soft_passkey::{PRESENT, client_data, decode, encode},
};

#[tokio::test]
async fn a_passkey_signs_its_owner_in_by_address() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    let options = &begun["options"];
    assert_eq!(options["rpId"], "labs.example");
    assert_eq!(options["timeout"], 300_000);
    assert_eq!(options["userVerification"], "required");
    let allowed = json!([{"type": "public-key", "id": passkey.name(), "transports": ["hybrid", "internal"]}]);
    assert_eq!(options["allowCredentials"], allowed);
    assert_eq!(options.as_object().unwrap().len(), 5, "no wrapper, no mediation, no extensions: {options}");

    let credential = passkey.get(options);
    let reply = complete_login(&world, &begun, &credential).await;
    assert_eq!(reply.is(200).json()["user"]["email"], person.email.as_str());
    assert_eq!(reply.field("token_type"), "bearer");
    assert!(reply.cookies().iter().any(|line| line.starts_with("labs_refresh=")));
    memory_of(&reply);
    assert!(world.holder_of(&reply).is_signed_in().await);
    let listed = person.get(super::CREDENTIALS).await.json();
    assert_eq!(listed["credentials"][0]["last_used_at"], "2026-01-02T03:04:05Z");
}

#[tokio::test]
async fn a_passkey_signs_its_owner_in_without_an_address() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_discoverable(&world, LABS).await;
    assert_eq!(begun["options"]["allowCredentials"], json!([]));
    assert_eq!(begun["options"].as_object().unwrap().len(), 5);
    let credential = passkey.get(&begun["options"]);
    let reply = complete_discoverable(&world, &begun, &credential).await;
    assert_eq!(reply.is(200).json()["user"]["email"], person.email.as_str());
    assert!(world.holder_of(&reply).is_signed_in().await);
}

#[tokio::test]
async fn beginning_without_an_address_reads_no_body() {
    let world = sites().await;
    for body in ["", "{", "null", "[1]", "not JSON at all"] {
        let reply = world.anonymous().raw(DISCOVERABLE_BEGIN, Some("text/plain"), body).origin(LABS).await;
        super::begun(&reply);
    }
}

// case 209
#[tokio::test]
async fn a_named_person_needs_no_user_handle() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let forms: [fn(&mut Value); 3] = [
        |credential| credential["response"]["userHandle"] = Value::Null,
        |credential| drop(credential["response"].as_object_mut().unwrap().remove("userHandle")),
        |credential| credential["response"]["userHandle"] = json!(""),
    ];
    for form in forms {
        let begun = begin_login(&world, &person.email, LABS).await;
        let mut credential = passkey.get(&begun["options"]);
        form(&mut credential);
        complete_login(&world, &begun, &credential).await.is(200);

        let begun = begin_discoverable(&world, LABS).await;
        let mut credential = passkey.get(&begun["options"]);
        form(&mut credential);
        let reply = complete_discoverable(&world, &begun, &credential).await;
        assert!(
            reply
                .is_error(422, "VAL_001")
                .faults()
                .iter()
                .any(|(_, place)| place == "body.credential.response.userHandle")
        );
    }
}

// case 211
#[tokio::test]
async fn a_passkey_of_another_person_opens_nothing() {
    let world = sites().await;
    let (one, two) = (world.signed_in().await, world.signed_in().await);
    let mut passkey = enrol(&one, LABS).await;
    enrol(&two, LABS).await;
    for handle in [true, false] {
        let begun = begin_login(&world, &two.email, LABS).await;
        let mut credential = passkey.get(&begun["options"]);
        if !handle {
            credential["response"]["userHandle"] = Value::Null;
        }
        complete_login(&world, &begun, &credential).await.is_error(401, "WEBAUTHN_002");
    }
    // The handle of another person on a passkey of one's own.
    let handle = decode(&begin_enrolment(&two, LABS).await["options"]["user"]["id"]);
    let begun = begin_discoverable(&world, LABS).await;
    let mut credential = passkey.get(&begun["options"]);
    credential["response"]["userHandle"] = json!(encode(&handle));
    complete_discoverable(&world, &begun, &credential).await.is_error(401, "WEBAUTHN_002");
    credential["response"]["userHandle"] = json!(encode("nobody"));
    let begun = begin_discoverable(&world, LABS).await;
    complete_discoverable(&world, &begun, &credential).await.is_error(401, "WEBAUTHN_002");
    for person in [&one, &two] {
        assert_eq!(world.db_open_sessions_of(&person.email).await, 1);
    }
}

// case 221
#[tokio::test]
async fn a_challenge_is_used_up_by_its_first_completion_whatever_comes_of_it() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    let good = passkey.get(&begun["options"]);
    let mut bad = good.clone();
    bad["response"]["signature"] = json!(encode([0x30, 0x06, 2, 1, 1, 2, 1, 1]));
    complete_login(&world, &begun, &bad).await.is_error(401, "WEBAUTHN_002");
    complete_login(&world, &begun, &good).await.is_error(400, "WEBAUTHN_001");
    sign_in_with(&world, &mut passkey, &person.email).await.is(200);

    let begun = begin_login(&world, &person.email, LABS).await;
    let good = passkey.get(&begun["options"]);
    complete_login(&world, &begun, &good).await.is(200);
    complete_login(&world, &begun, &good).await.is_error(400, "WEBAUTHN_001");
}

#[tokio::test]
async fn a_body_that_is_no_completion_uses_nothing_up() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    let good = passkey.get(&begun["options"]);
    let mut bad = good.clone();
    bad["response"].as_object_mut().unwrap().remove("signature");
    let reply = complete_login(&world, &begun, &bad).await;
    reply.has_fault("missing", "body.credential.response.signature");
    complete_login(&world, &begun, &good).await.is(200);
}

// case 223
#[tokio::test]
async fn a_challenge_of_another_ceremony_proves_nothing() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let one = begin_login(&world, &person.email, LABS).await;
    let two = begin_login(&world, &person.email, LABS).await;
    let over_one = passkey.get(&one["options"]);
    complete_login(&world, &two, &over_one).await.is_error(401, "WEBAUTHN_002");
    assert_eq!(world.db_open_sessions_of(&person.email).await, 1);
}

#[tokio::test]
async fn a_challenge_serves_its_own_kind_of_ceremony_only() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let login = begin_login(&world, &person.email, LABS).await;
    let discoverable = begin_discoverable(&world, LABS).await;
    let enrolment = begin_enrolment(&person, LABS).await;
    let by_login = passkey.get(&login["options"]);
    complete_discoverable(&world, &login, &by_login).await.is_error(400, "WEBAUTHN_001");
    let by_discoverable = passkey.get(&discoverable["options"]);
    complete_login(&world, &discoverable, &by_discoverable).await.is_error(400, "WEBAUTHN_001");
    complete_login(&world, &enrolment, &by_login).await.is_error(400, "WEBAUTHN_001");
    complete_login(&world, &json!({"challenge_id": uuid::Uuid::nil()}), &by_login).await.is_error(400, "WEBAUTHN_001");
}

#[tokio::test]
async fn a_challenge_lives_five_minutes() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    world.advance(Duration::from_secs(299));
    let credential = passkey.get(&begun["options"]);
    complete_login(&world, &begun, &credential).await.is(200);
    let begun = begin_login(&world, &person.email, LABS).await;
    world.advance(Duration::from_mins(5));
    let credential = passkey.get(&begun["options"]);
    complete_login(&world, &begun, &credential).await.is_error(400, "WEBAUTHN_001");
}

// case 227
#[tokio::test]
async fn a_person_who_is_gone_meanwhile_is_refused_like_a_wrong_passkey() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let by_address = begin_login(&world, &person.email, LABS).await;
    let by_device = begin_discoverable(&world, LABS).await;
    assert_eq!(1, world.db_execute("DELETE FROM users WHERE email = $1", &person.email).await);
    let credential = passkey.get(&by_address["options"]);
    complete_login(&world, &by_address, &credential).await.is_error(401, "WEBAUTHN_002");
    let credential = passkey.get(&by_device["options"]);
    complete_discoverable(&world, &by_device, &credential).await.is_error(401, "WEBAUTHN_002");
}

#[tokio::test]
async fn a_passkey_that_is_removed_meanwhile_opens_nothing() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    let listed = person.get(super::CREDENTIALS).await.json();
    let path = format!("{}/{}", super::CREDENTIALS, listed["credentials"][0]["id"].as_str().unwrap());
    person.delete(&path).await.is(204);
    let credential = passkey.get(&begun["options"]);
    complete_login(&world, &begun, &credential).await.is_error(401, "WEBAUTHN_002");
}

#[tokio::test]
async fn only_a_right_passkey_hears_that_its_account_is_closed() {
    let world = sites().await;
    let (disabled, unconfirmed) = (world.signed_in().await, world.signed_in().await);
    let mut first = enrol(&disabled, LABS).await;
    let mut second = enrol(&unconfirmed, LABS).await;
    let begun = begin_login(&world, &disabled.email, LABS).await;
    world.db_disable(&disabled.email).await;
    let credential = first.get(&begun["options"]);
    complete_login(&world, &begun, &credential).await.is_error(403, "AUTH_008");
    // From now on its address looks like any other's.
    let begun = begin_login(&world, &disabled.email, LABS).await;
    assert!(!ids(&begun["options"]["allowCredentials"]).contains(&first.name()));
    let credential = first.get(&begun["options"]);
    complete_login(&world, &begun, &credential).await.is_error(401, "WEBAUTHN_002");
    let begun = begin_discoverable(&world, LABS).await;
    let mut forged = first.get(&begun["options"]);
    forged["response"]["signature"] = json!(encode([1; 70]));
    complete_discoverable(&world, &begun, &forged).await.is_error(401, "WEBAUTHN_002");
    let begun = begin_discoverable(&world, LABS).await;
    let credential = first.get(&begun["options"]);
    complete_discoverable(&world, &begun, &credential).await.is_error(403, "AUTH_008");

    let sql = "UPDATE users SET email_verified_at = NULL WHERE email = $1";
    assert_eq!(1, world.db_execute(sql, &unconfirmed.email).await);
    sign_in_with(&world, &mut second, &unconfirmed.email).await.is_error(403, "AUTH_007");
}

#[tokio::test]
async fn whoever_was_not_verified_is_refused() {
    let world = sites().await;
    let person = world.signed_in().await;
    let passkey = enrol(&person, LABS).await;
    for flags in [passkey.flags & !crate::world::soft_passkey::VERIFIED, passkey.flags & !PRESENT] {
        let mut careless = passkey.clone();
        careless.flags = flags;
        sign_in_with(&world, &mut careless, &person.email).await.is_error(401, "WEBAUTHN_002");
    }
}

#[tokio::test]
async fn a_page_inside_a_foreign_page_is_refused() {
    let world = sites().await;
    let person = world.signed_in().await;
    let passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    let challenge = decode(&begun["options"]["challenge"]);
    let noted = String::from_utf8(client_data("webauthn.get", &challenge, LABS)).unwrap();
    let framed = noted.replace("\"crossOrigin\":false", "\"crossOrigin\":true");
    assert_ne!(noted, framed);
    complete_login(&world, &begun, &passkey.answer(framed.as_bytes())).await.is_error(401, "WEBAUTHN_002");
}

#[tokio::test]
async fn the_other_common_spelling_of_a_completion_is_taken() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    let body = json!({"challenge_id": begun["challenge_id"], "response": passkey.get(&begun["options"])});
    world.anonymous().post(LOGIN_COMPLETE, body).await.is(200);
}

#[tokio::test]
async fn an_address_is_needed_and_every_missing_member_is_named() {
    let world = sites().await;
    world.anonymous().post(LOGIN_BEGIN, json!({})).await.has_fault("missing", "body.email");
    world.anonymous().post(LOGIN_BEGIN, json!({"email": "nobody"})).await.has_fault("value_error", "body.email");
    for (path, handle) in [(LOGIN_COMPLETE, false), (DISCOVERABLE_COMPLETE, true)] {
        let reply = world.anonymous().post(path, json!({"credential": {"response": {}}})).await;
        reply.has_fault("missing", "body.challenge_id");
        for name in ["id", "rawId", "type"] {
            reply.has_fault("missing", &format!("body.credential.{name}"));
        }
        for name in ["authenticatorData", "clientDataJSON", "signature"] {
            reply.has_fault("missing", &format!("body.credential.response.{name}"));
        }
        let named = ("missing".to_owned(), "body.credential.response.userHandle".to_owned());
        assert_eq!(reply.faults().contains(&named), handle);
        world.anonymous().post(path, json!({})).await.has_fault("missing", "body.credential");
        world
            .anonymous()
            .post(path, complete_body(&json!({"challenge_id": 7}), &json!([])))
            .await
            .has_fault("model_attributes_type", "body.credential");
    }
}
