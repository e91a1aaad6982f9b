//! What browsers, libraries and the next version of either send beside the contract.

use serde_json::{Value, json};

use super::{LABS, REGISTER_COMPLETE, begin_enrolment, begin_login, complete_body, complete_login, enrol, sites};
use crate::world::{Verbs, soft_passkey::Maker};

// case 217
#[tokio::test]
async fn padded_base64url_is_read_like_any_other() {
    let world = sites().await;
    let person = world.signed_in().await;
    let begun = begin_enrolment(&person, LABS).await;
    let (mut passkey, mut credential) = Maker::on(LABS).make(&begun["options"]);
    pad(&mut credential);
    person.post(REGISTER_COMPLETE, complete_body(&begun, &credential)).await.is(201);
    let begun = begin_login(&world, &person.email, LABS).await;
    let mut credential = passkey.get(&begun["options"]);
    pad(&mut credential);
    assert!(credential["id"].as_str().unwrap().ends_with('='));
    complete_login(&world, &begun, &credential).await.is(200);
}

fn pad(credential: &mut Value) {
    let padded = |text: &str| format!("{text}{}", "=".repeat((4 - text.len() % 4) % 4));
    for name in ["id", "rawId"] {
        credential[name] = json!(padded(credential[name].as_str().unwrap()));
    }
    for (_, value) in credential["response"].as_object_mut().unwrap() {
        if let Some(text) = value.as_str() {
            *value = json!(padded(text));
        }
    }
}

#[tokio::test]
async fn what_is_no_base64url_is_named_and_uses_nothing_up() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    let good = passkey.get(&begun["options"]);
    for stray in ["+/+/", "a b", "=", "abc=d", "ü", "A"] {
        for name in ["authenticatorData", "clientDataJSON", "signature", "userHandle"] {
            let mut bad = good.clone();
            bad["response"][name] = json!(stray);
            let reply = complete_login(&world, &begun, &bad).await;
            reply.has_fault("value_error", &format!("body.credential.response.{name}"));
        }
    }
    complete_login(&world, &begun, &good).await.is(200);
}

// case 231
#[tokio::test]
async fn members_that_a_future_browser_adds_are_ignored() {
    let world = sites().await;
    let person = world.signed_in().await;
    let begun = begin_enrolment(&person, LABS).await;
    let (mut passkey, mut credential) = Maker::on(LABS).make(&begun["options"]);
    add(&mut credential);
    person.post(REGISTER_COMPLETE, complete_body(&begun, &credential)).await.is(201);
    let begun = begin_login(&world, &person.email, LABS).await;
    let mut credential = passkey.get(&begun["options"]);
    add(&mut credential);
    complete_login(&world, &begun, &credential).await.is(200);
}

fn add(credential: &mut Value) {
    credential["authenticatorAttachment"] = json!("cross-platform");
    credential["futureMember"] = json!({"a": 1});
    credential["response"]["publicKeyAlgorithm"] = json!(-7);
    credential["response"]["futureMember"] = json!([{"b": null}]);
}

#[tokio::test]
async fn nobody_asked_for_extensions_and_none_is_believed() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    for results in [json!({"appid": true}), json!({"appid": "x"}), json!(7), Value::Null] {
        let begun = begin_login(&world, &person.email, LABS).await;
        let mut credential = passkey.get(&begun["options"]);
        credential["clientExtensionResults"] = results;
        complete_login(&world, &begun, &credential).await.is(200);
    }
}
