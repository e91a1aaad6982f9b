//! Passkeys, asked from outside by a virtual authenticator: two sites, a related one, an app, and everything that can go
//! wrong between a browser and them.

mod check;
mod configuration;
mod counter;
mod enrol;
mod enumeration;
mod houses;
mod limits;
mod manage;
mod mutations;
mod races;
mod related;
mod sign_in;
mod sites;
mod tolerance;

use serde_json::{Value, json};

use crate::world::{
    Ask, PAGE, Reply, SignedIn, Verbs, World,
    soft_passkey::{Maker, SoftPasskey},
};

/// A page of the relying party `labs.example`, the default.
const LABS: &str = PAGE;
/// A page of another domain that shares the passkeys of `labs.example`.
const PARTNER: &str = "https://partner.example";
/// An app that shares them too.
const APP: &str = "android:apk-key-hash:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
/// A page of the relying party `prima.example`.
const PRIMA: &str = "https://prima.example";

const CORS: &str = "https://app.labs.example,https://partner.example,https://prima.example";

fn relying_parties() -> String {
    json!([
        {"rp_id": "labs.example", "rp_name": "Labs", "origins": [LABS, APP], "related_origins": [PARTNER]},
        {"rp_id": "prima.example", "rp_name": "Prima", "origins": [PRIMA]},
    ])
    .to_string()
}

/// A house with both sites.
async fn sites() -> World {
    sites_with(&[]).await
}

/// The same, with more variables.
async fn sites_with(variables: &[(&str, &str)]) -> World {
    let rps = relying_parties();
    let all = [("WEBAUTHN_RPS", rps.as_str()), ("CORS_ORIGINS", CORS)];
    World::with(&[&all, variables].concat()).await
}

const REGISTER_BEGIN: &str = "/api/auth/webauthn/register/begin";
const REGISTER_COMPLETE: &str = "/api/auth/webauthn/register/complete";
const LOGIN_BEGIN: &str = "/api/auth/webauthn/login/begin";
const LOGIN_COMPLETE: &str = "/api/auth/webauthn/login/complete";
const DISCOVERABLE_BEGIN: &str = "/api/auth/webauthn/login/begin-discoverable";
const DISCOVERABLE_COMPLETE: &str = "/api/auth/webauthn/login/complete-discoverable";
const CREDENTIALS: &str = "/api/auth/webauthn/credentials";
const CHECK: &str = "/api/auth/webauthn/check";

/// The answer of a `begin`, whose form is checked.
#[track_caller]
fn begun(reply: &Reply) -> Value {
    let body = reply.is(200).json();
    assert_eq!(body["expires_in"], 300, "{reply:?}");
    assert!(body["options"]["challenge"].as_str().unwrap().len() >= 43, "{reply:?}");
    assert_eq!(body.as_object().unwrap().len(), 3, "{reply:?}");
    body
}

fn complete_body(begun: &Value, credential: &Value) -> Value {
    json!({"challenge_id": begun["challenge_id"], "credential": credential})
}

/// Begins an enrolment from a page.
async fn begin_enrolment(person: &SignedIn, origin: &str) -> Value {
    begun(&person.post(REGISTER_BEGIN, json!({})).origin(origin).await)
}

/// Makes a passkey and sends it in.
async fn enrol_by(person: &SignedIn, maker: &Maker) -> (SoftPasskey, Reply) {
    let begun = begin_enrolment(person, &maker.origin).await;
    let (passkey, credential) = maker.make(&begun["options"]);
    let reply = person.post(REGISTER_COMPLETE, complete_body(&begun, &credential)).origin(&maker.origin).await;
    (passkey, reply)
}

/// A passkey of a person on the site of this page.
async fn enrol(person: &SignedIn, origin: &str) -> SoftPasskey {
    let (passkey, reply) = enrol_by(person, &Maker::on(origin)).await;
    reply.is(201);
    passkey
}

/// Begins a sign-in for an address.
async fn begin_login(world: &World, email: &str, origin: &str) -> Value {
    begun(&world.anonymous().post(LOGIN_BEGIN, json!({"email": email})).origin(origin).await)
}

/// Begins a sign-in for nobody in particular.
async fn begin_discoverable(world: &World, origin: &str) -> Value {
    begun(&world.anonymous().post(DISCOVERABLE_BEGIN, json!({})).origin(origin).await)
}

/// Ends a sign-in for an address.
fn complete_login(world: &World, begun: &Value, credential: &Value) -> Ask {
    world.anonymous().post(LOGIN_COMPLETE, complete_body(begun, credential))
}

/// Ends a sign-in for nobody in particular.
fn complete_discoverable(world: &World, begun: &Value, credential: &Value) -> Ask {
    world.anonymous().post(DISCOVERABLE_COMPLETE, complete_body(begun, credential))
}

/// Signs in by address, from the passkey's own page.
async fn sign_in_with(world: &World, passkey: &mut SoftPasskey, email: &str) -> Reply {
    let begun = begin_login(world, email, &passkey.origin).await;
    let credential = passkey.get(&begun["options"]);
    complete_login(world, &begun, &credential).await
}

/// The ids in an allow or exclude list.
fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

/// How many passkeys this mailbox's account has.
async fn db_passkeys_of(world: &World, email: &str) -> i64 {
    let sql = "SELECT count(*) FROM webauthn_credentials c JOIN users u ON u.id = c.user_id WHERE u.email = $1";
    world.db_number(sql, email).await
}

/// The value of `labs_pk` in an answer, whose attributes are checked.
#[track_caller]
fn memory_of(reply: &Reply) -> String {
    let cookies = reply.cookies();
    let line = cookies.iter().find(|line| line.starts_with("labs_pk=")).unwrap_or_else(|| panic!("{reply:?}"));
    let (pair, attributes) = line.split_once("; ").unwrap();
    assert_eq!(attributes, "HttpOnly; Secure; SameSite=Lax; Path=/api/auth/webauthn; Max-Age=31536000", "{reply:?}");
    pair.trim_start_matches("labs_pk=").to_owned()
}
