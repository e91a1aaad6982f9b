//! Adding a passkey.

use serde_json::{Value, json};

use super::{
    CREDENTIALS, LABS, PRIMA, REGISTER_BEGIN, REGISTER_COMPLETE, begin_enrolment, begin_login, begun, complete_body,
    db_passkeys_of, enrol, enrol_by, memory_of, sites,
};
use crate::world::{
    PASSWORD, Verbs,
    soft_passkey::{AAGUID, BACKED_UP, BACKUP_ELIGIBLE, Maker, PRESENT, VERIFIED, client_data, decode, encode},
};

/// Spoils a credential, given the options and another credential.
type Spoil = fn(&Value, &mut Value, &Value);

#[tokio::test]
async fn the_options_of_an_enrolment_are_the_bare_w3c_form() {
    let world = sites().await;
    let person = world.signed_in().await;
    let options = begin_enrolment(&person, LABS).await["options"].clone();
    let mut names: Vec<&String> = options.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(
        names,
        [
            "attestation",
            "authenticatorSelection",
            "challenge",
            "excludeCredentials",
            "pubKeyCredParams",
            "rp",
            "timeout",
            "user"
        ]
    );
    assert_eq!(options["rp"], json!({"id": "labs.example", "name": "Labs"}));
    assert_eq!(options["user"]["name"], person.email.as_str());
    assert_eq!(options["user"]["displayName"], person.email.as_str());
    assert_eq!(decode(&options["user"]["id"]).len(), 16, "the handle is the bytes of a UUID");
    assert_eq!(options["timeout"], 300_000);
    assert_eq!(options["attestation"], "none");
    assert_eq!(options["excludeCredentials"], json!([]));
    let selection = json!({"residentKey": "required", "requireResidentKey": true, "userVerification": "required"});
    assert_eq!(options["authenticatorSelection"], selection);
    let algorithms: Vec<i64> =
        options["pubKeyCredParams"].as_array().unwrap().iter().map(|it| it["alg"].as_i64().unwrap()).collect();
    assert!(algorithms.contains(&-7) && algorithms.contains(&-257), "{algorithms:?}");
}

#[tokio::test]
async fn a_new_passkey_is_shown_with_what_is_known_of_it_and_its_owner_hears_by_mail() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (_, reply) = enrol_by(&person, &Maker::on(LABS)).await;
    let shown = reply.is(201).json();
    assert_eq!(shown["name"], "Passkey");
    assert_eq!(shown["rp_id"], "labs.example");
    assert_eq!(shown["transports"], json!(["hybrid", "internal"]));
    assert_eq!(shown["aaguid"], AAGUID);
    assert_eq!((&shown["backup_eligible"], &shown["backup_state"]), (&json!(true), &json!(true)));
    assert_eq!(shown["created_at"], "2026-01-02T03:04:05Z");
    assert_eq!(shown["last_used_at"], Value::Null);
    assert_eq!(shown.as_object().unwrap().len(), 9, "no key and no counter: {shown}");
    assert_eq!(memory_of(&reply).len(), 43);
    let mails = world.mails_to(&person.email).await;
    let mail = mails.iter().find(|mail| mail.subject.contains("Passkey")).unwrap();
    assert!(mail.text.contains("labs.example") && mail.text.contains("hinzugefügt"), "{}", mail.text);
}

#[tokio::test]
async fn a_name_may_come_with_either_request_and_the_later_one_wins() {
    let world = sites().await;
    let person = world.signed_in().await;
    for (first, second, expected) in [
        (json!({"name": " MacBook "}), None, "MacBook"),
        (json!({"name": "one"}), Some("two"), "two"),
        (json!({}), Some("  three "), "three"),
        (Value::Null, None, "Passkey"),
    ] {
        let begun = begun(&person.post(REGISTER_BEGIN, first).origin(LABS).await);
        let (_, credential) = Maker::on(LABS).make(&begun["options"]);
        let mut body = complete_body(&begun, &credential);
        if let Some(name) = second {
            body["name"] = json!(name);
        }
        let reply = person.post(REGISTER_COMPLETE, body).origin(LABS).await;
        assert_eq!(reply.is(201).field("name"), expected);
    }
}

#[tokio::test]
async fn a_name_that_cannot_be_one_is_refused_before_anything_is_used_up() {
    let world = sites().await;
    let person = world.signed_in().await;
    let long = "ü".repeat(65);
    for (name, kind) in [
        (json!(""), "string_too_short"),
        (json!("   "), "string_too_short"),
        (json!(long), "string_too_long"),
        (json!("a\u{7}b"), "value_error"),
        (json!(7), "string_type"),
    ] {
        let reply = person.post(REGISTER_BEGIN, json!({"name": name})).origin(LABS).await;
        reply.has_fault(kind, "body.name");
        let begun = begin_enrolment(&person, LABS).await;
        let (_, credential) = Maker::on(LABS).make(&begun["options"]);
        let mut body = complete_body(&begun, &credential);
        body["name"] = name;
        person.post(REGISTER_COMPLETE, body.clone()).origin(LABS).await.has_fault(kind, "body.name");
        body["name"] = json!("ü".repeat(64));
        person.post(REGISTER_COMPLETE, body).origin(LABS).await.is(201);
    }
}

// case 219
#[tokio::test]
async fn a_second_enrolment_excludes_the_passkeys_of_this_site() {
    let world = sites().await;
    let person = world.signed_in().await;
    let passkey = enrol(&person, LABS).await;
    enrol(&person, PRIMA).await;
    let excluded = begin_enrolment(&person, LABS).await["options"]["excludeCredentials"].clone();
    let expected = json!([{"type": "public-key", "id": passkey.name(), "transports": ["hybrid", "internal"]}]);
    assert_eq!(excluded, expected);
}

// case 215
#[tokio::test]
async fn a_passkey_whose_owner_was_not_verified_is_not_kept() {
    let world = sites().await;
    let person = world.signed_in().await;
    for flags in [PRESENT, VERIFIED, 0] {
        let (_, reply) = enrol_by(&person, &Maker { flags, ..Maker::on(LABS) }).await;
        reply.is_error(400, "WEBAUTHN_006");
    }
    assert_eq!(db_passkeys_of(&world, &person.email).await, 0);
}

// case 229
#[tokio::test]
async fn transports_may_be_absent_empty_or_unknown() {
    let world = sites().await;
    for (sent, shown, offered) in [
        (None, json!([]), None),
        (Some(json!(null)), json!([]), None),
        (Some(json!([])), json!([]), Some(json!([]))),
        (Some(json!(["hybrid", "future-kind"])), json!(["hybrid"]), Some(json!(["hybrid"]))),
        (
            Some(json!(["smart-card", 7, "usb", "usb"])),
            json!(["smart-card", "usb"]),
            Some(json!(["smart-card", "usb"])),
        ),
    ] {
        let person = world.signed_in().await;
        let (_, reply) = enrol_by(&person, &Maker { transports: sent, ..Maker::on(LABS) }).await;
        assert_eq!(reply.is(201).json()["transports"], shown);
        let allowed = begin_login(&world, &person.email, LABS).await["options"]["allowCredentials"][0].clone();
        assert_eq!(allowed.get("transports").cloned(), offered);
    }
}

// case 235
#[tokio::test]
async fn the_browsers_own_extension_results_are_taken_in_every_form() {
    let world = sites().await;
    let person = world.signed_in().await;
    for extensions in [
        Some(json!({"credProps": {"rk": true}})),
        Some(json!({})),
        None,
        Some(json!({"credProps": {"rk": "maybe"}, "future": [1]})),
    ] {
        let (_, reply) = enrol_by(&person, &Maker { extensions, ..Maker::on(LABS) }).await;
        reply.is(201);
    }
}

#[tokio::test]
async fn a_passkey_that_is_known_is_refused_whoever_brings_it() {
    let world = sites().await;
    let (owner, stranger) = (world.signed_in().await, world.signed_in().await);
    let passkey = enrol(&owner, LABS).await;
    for (person, origin) in [(&owner, LABS), (&stranger, LABS), (&stranger, PRIMA)] {
        let (_, reply) = enrol_by(person, &Maker { id: passkey.id.clone(), ..Maker::on(origin) }).await;
        reply.is_error(409, "WEBAUTHN_004");
    }
    assert_eq!(db_passkeys_of(&world, &stranger.email).await, 0);
}

#[tokio::test]
async fn ten_passkeys_are_the_most_on_all_sites_together() {
    let world = sites().await;
    let person = world.signed_in().await;
    let spare = begin_enrolment(&person, LABS).await;
    for number in 0..10 {
        enrol(&person, if number % 2 == 0 { LABS } else { PRIMA }).await;
    }
    person.post(REGISTER_BEGIN, json!({})).origin(LABS).await.is_error(409, "WEBAUTHN_005");
    let (_, credential) = Maker::on(LABS).make(&spare["options"]);
    let late = person.post(REGISTER_COMPLETE, complete_body(&spare, &credential)).origin(LABS).await;
    late.is_error(409, "WEBAUTHN_005");
    assert_eq!(db_passkeys_of(&world, &person.email).await, 10);
}

#[tokio::test]
async fn an_enrolment_ends_once_for_its_own_person_and_within_its_time() {
    let world = sites().await;
    let (person, other) = (world.signed_in().await, world.signed_in().await);
    let (_, reply) = enrol_by(&person, &Maker::on(LABS)).await;
    reply.is(201);

    let begun = begin_enrolment(&person, LABS).await;
    let (_, credential) = Maker::on(LABS).make(&begun["options"]);
    let body = complete_body(&begun, &credential);
    other.post(REGISTER_COMPLETE, body.clone()).origin(LABS).await.is_error(400, "WEBAUTHN_001");
    person.post(REGISTER_COMPLETE, body).origin(LABS).await.is_error(400, "WEBAUTHN_001");

    let begun = begin_enrolment(&person, LABS).await;
    let (_, credential) = Maker::on(LABS).make(&begun["options"]);
    world.advance(std::time::Duration::from_mins(5));
    let late = person.post(REGISTER_COMPLETE, complete_body(&begun, &credential)).origin(LABS).await;
    late.is_error(400, "WEBAUTHN_001");
    assert_eq!(db_passkeys_of(&world, &other.email).await, 0);
    assert_eq!(db_passkeys_of(&world, &person.email).await, 1);
}

#[tokio::test]
async fn an_enrolment_that_failed_once_is_used_up() {
    let world = sites().await;
    let person = world.signed_in().await;
    let begun = begin_enrolment(&person, LABS).await;
    let (_, good) = Maker::on(LABS).make(&begun["options"]);
    let (_, bad) = Maker { flags: PRESENT, ..Maker::on(LABS) }.make(&begun["options"]);
    person.post(REGISTER_COMPLETE, complete_body(&begun, &bad)).await.is_error(400, "WEBAUTHN_006");
    person.post(REGISTER_COMPLETE, complete_body(&begun, &good)).await.is_error(400, "WEBAUTHN_001");
}

#[tokio::test]
async fn what_is_no_attestation_of_this_ceremony_is_refused() {
    let world = sites().await;
    let person = world.signed_in().await;
    let other = begin_enrolment(&person, LABS).await;
    let spoil: [(&str, Spoil); 6] = [
        ("another challenge", |_, credential, other| {
            let challenge = decode(&other["options"]["challenge"]);
            credential["response"]["clientDataJSON"] = json!(encode(client_data("webauthn.create", &challenge, LABS)));
        }),
        ("a sign-in", |begun, credential, _| {
            let challenge = decode(&begun["options"]["challenge"]);
            credential["response"]["clientDataJSON"] = json!(encode(client_data("webauthn.get", &challenge, LABS)));
        }),
        ("a foreign page", |begun, credential, _| {
            let challenge = decode(&begun["options"]["challenge"]);
            let noted = client_data("webauthn.create", &challenge, "https://evil.example");
            credential["response"]["clientDataJSON"] = json!(encode(noted));
        }),
        ("no JSON", |_, credential, _| credential["response"]["clientDataJSON"] = json!(encode("{"))),
        ("no CBOR", |_, credential, _| credential["response"]["attestationObject"] = json!(encode([0xff, 0x00]))),
        ("another id", |_, credential, _| {
            credential["id"] = json!(encode([7; 32]));
            credential["rawId"] = json!(encode([7; 32]));
        }),
    ];
    for (what, spoil) in spoil {
        let begun = begin_enrolment(&person, LABS).await;
        let (_, mut credential) = Maker::on(LABS).make(&begun["options"]);
        spoil(&begun, &mut credential, &other);
        let reply = person.post(REGISTER_COMPLETE, complete_body(&begun, &credential)).origin(LABS).await;
        assert_eq!((reply.status.as_u16(), reply.code().as_str()), (400, "WEBAUTHN_006"), "{what}: {reply:?}");
    }
    let foreign = begin_enrolment(&person, PRIMA).await;
    let mine = begin_enrolment(&person, LABS).await;
    let (_, credential) = Maker::on(LABS).make(&foreign["options"]);
    person.post(REGISTER_COMPLETE, complete_body(&mine, &credential)).await.is_error(400, "WEBAUTHN_006");
    assert_eq!(db_passkeys_of(&world, &person.email).await, 0);
}

#[tokio::test]
async fn every_missing_member_is_named() {
    let world = sites().await;
    let person = world.signed_in().await;
    person
        .post(REGISTER_COMPLETE, json!({}))
        .await
        .has_fault("missing", "body.challenge_id")
        .has_fault("missing", "body.credential");
    let body = json!({"challenge_id": "x", "credential": {"response": {}}});
    let reply = person.post(REGISTER_COMPLETE, body).await;
    reply.has_fault("uuid_parsing", "body.challenge_id");
    for name in ["id", "rawId", "type", "response.attestationObject", "response.clientDataJSON"] {
        reply.has_fault("missing", &format!("body.credential.{name}"));
    }
    let body = json!({"challenge_id": uuid::Uuid::nil(), "credential": {"id": "A", "rawId": "", "type": "password", "response": 1}});
    let reply = person.post(REGISTER_COMPLETE, body).await;
    reply.has_fault("value_error", "body.credential.id").has_fault("enum", "body.credential.type");
    reply.has_fault("model_attributes_type", "body.credential.response");
}

#[tokio::test]
async fn a_device_bound_passkey_is_shown_as_one() {
    let world = sites().await;
    let person = world.signed_in().await;
    for (flags, eligible, backed_up) in [
        (PRESENT | VERIFIED, false, false),
        (PRESENT | VERIFIED | BACKUP_ELIGIBLE, true, false),
        (PRESENT | VERIFIED | BACKUP_ELIGIBLE | BACKED_UP, true, true),
    ] {
        let (_, reply) = enrol_by(&person, &Maker { flags, ..Maker::on(LABS) }).await;
        let shown = reply.is(201).json();
        assert_eq!((shown["backup_eligible"] == true, shown["backup_state"] == true), (eligible, backed_up));
    }
}

#[tokio::test]
async fn enrolling_needs_a_session() {
    let world = sites().await;
    for path in [REGISTER_BEGIN, REGISTER_COMPLETE] {
        world.anonymous().post(path, json!({})).await.is_error(401, "AUTH_002");
    }
    let person = world.sign_in(&world.member().await, PASSWORD).await;
    person.get(CREDENTIALS).await.is(200);
}
