//! Counters: authenticators that count must go on counting, those that do not say zero for ever.

use serde_json::json;

use super::{CREDENTIALS, LABS, begin_login, complete_login, enrol_by, sign_in_with, sites};
use crate::world::{
    Verbs,
    soft_passkey::{BACKED_UP, BACKUP_ELIGIBLE, Maker, PRESENT, VERIFIED},
};

// case 213
#[tokio::test]
async fn an_authenticator_that_never_counts_is_welcome_again_and_again() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (mut passkey, reply) = enrol_by(&person, &Maker::on(LABS)).await;
    reply.is(201);
    assert_eq!((passkey.counter, passkey.step), (0, 0));
    for _ in 0..3 {
        sign_in_with(&world, &mut passkey, &person.email).await.is(200);
    }
}

#[tokio::test]
async fn a_counter_that_does_not_grow_is_refused() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (mut passkey, reply) = enrol_by(&person, &Maker { counter: 41, ..Maker::on(LABS) }).await;
    reply.is(201);
    let mut copy = passkey.clone();
    sign_in_with(&world, &mut passkey, &person.email).await.is(200);
    assert_eq!(passkey.counter, 42);
    // A copy counts on from where it was taken.
    sign_in_with(&world, &mut copy, &person.email).await.is_error(401, "WEBAUTHN_002");
    for counter in [0, 1, 41, 42] {
        let mut stuck = passkey.clone();
        (stuck.counter, stuck.step) = (counter, 0);
        sign_in_with(&world, &mut stuck, &person.email).await.is_error(401, "WEBAUTHN_002");
    }
    sign_in_with(&world, &mut passkey, &person.email).await.is(200);
    (passkey.counter, passkey.step) = (u32::MAX, 0);
    sign_in_with(&world, &mut passkey, &person.email).await.is(200);
    sign_in_with(&world, &mut passkey, &person.email).await.is_error(401, "WEBAUTHN_002");
}

#[tokio::test]
async fn an_authenticator_may_begin_to_count() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (mut passkey, _) = enrol_by(&person, &Maker::on(LABS)).await;
    passkey.step = 1;
    sign_in_with(&world, &mut passkey, &person.email).await.is(200);
    (passkey.counter, passkey.step) = (0, 0);
    sign_in_with(&world, &mut passkey, &person.email).await.is_error(401, "WEBAUTHN_002");
}

#[tokio::test]
async fn the_counter_of_begin_does_not_count() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (mut passkey, _) = enrol_by(&person, &Maker { counter: 1, ..Maker::on(LABS) }).await;
    let early = begin_login(&world, &person.email, LABS).await;
    passkey.counter = 9;
    sign_in_with(&world, &mut passkey, &person.email).await.is(200);
    let mut copy = passkey.clone();
    copy.counter = 4;
    let credential = copy.get(&early["options"]);
    complete_login(&world, &early, &credential).await.is_error(401, "WEBAUTHN_002");
}

#[tokio::test]
async fn what_is_known_of_copies_follows_the_authenticator() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (mut passkey, _) = enrol_by(&person, &Maker { flags: PRESENT | VERIFIED, ..Maker::on(LABS) }).await;
    let shown = async || person.get(CREDENTIALS).await.json()["credentials"][0].clone();
    let eligible = passkey.flags | BACKUP_ELIGIBLE;
    for (flags, state) in [(eligible, false), (eligible | BACKED_UP, true), (eligible, false)] {
        passkey.flags = flags;
        sign_in_with(&world, &mut passkey, &person.email).await.is(200);
        let shown = shown().await;
        assert_eq!((&shown["backup_eligible"], &shown["backup_state"]), (&json!(true), &json!(state)));
    }
    // A key that could be copied once cannot become one that never could.
    passkey.flags = PRESENT | VERIFIED;
    sign_in_with(&world, &mut passkey, &person.email).await.is_error(401, "WEBAUTHN_002");
}
