//! Beginning a sign-in tells nobody who is here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{LABS, PRIMA, begin_login, complete_login, enrol, ids, sites, sites_with};
use crate::world::{
    World,
    soft_passkey::{Maker, decode},
};

// case 115
#[tokio::test]
async fn an_unknown_address_gets_the_same_plausible_list_every_time() {
    let world = sites().await;
    let person = world.signed_in_with_passkey().await;
    let stranger = world.mailbox();
    let known = begin_login(&world, &person, LABS).await;
    let first = begin_login(&world, &stranger, LABS).await;
    let second = begin_login(&world, &stranger.to_uppercase(), LABS).await;
    assert_eq!(keys(&known["options"]), keys(&first["options"]));
    assert_eq!(first["options"]["allowCredentials"], second["options"]["allowCredentials"]);
    assert_ne!(first["options"]["challenge"], second["options"]["challenge"]);
    assert_ne!(first["challenge_id"], second["challenge_id"]);
    let elsewhere = begin_login(&world, &stranger, PRIMA).await;
    assert_ne!(first["options"]["allowCredentials"], elsewhere["options"]["allowCredentials"]);
    let again = sites().await;
    let moved = begin_login(&again, &stranger, LABS).await;
    assert_eq!(first["options"]["allowCredentials"], moved["options"]["allowCredentials"], "every process agrees");
    let rekeyed = sites_with(&[("SECRET_KEY", "another secret key of more than thirty-two bytes")]).await;
    let other = begin_login(&rekeyed, &stranger, LABS).await;
    assert_ne!(
        first["options"]["allowCredentials"], other["options"]["allowCredentials"],
        "nobody else can compute it"
    );
}

#[tokio::test]
async fn made_up_lists_vary_as_real_ones_do() {
    let world = sites().await;
    let (mut counts, mut lengths, mut transports, mut all) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for number in 0..60 {
        let email = world.mailbox_of(&format!("stranger{number}"));
        let begun = begin_login(&world, &email, LABS).await;
        let list = begun["options"]["allowCredentials"].as_array().unwrap().clone();
        counts.insert(list.len());
        for entry in list {
            let id = decode(&entry["id"]);
            assert!((16..=64).contains(&id.len()), "{entry}");
            assert_eq!(entry["type"], "public-key");
            lengths.insert(id.len());
            transports.insert(entry["transports"].to_string());
            assert!(all.insert(id), "two made-up passkeys are the same");
        }
    }
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
    assert!(lengths.len() >= 4 && transports.len() >= 3, "{lengths:?} {transports:?}");
}

#[tokio::test]
async fn nobody_without_a_passkey_here_is_told_apart() {
    let world = sites().await;
    let elsewhere = world.signed_in().await;
    let own = enrol(&elsewhere, PRIMA).await;
    let bare = world.member().await;
    let unconfirmed = world.unconfirmed().await;
    for email in [&elsewhere.email, &bare, &unconfirmed, &world.mailbox()] {
        let one = begin_login(&world, email, LABS).await;
        let two = begin_login(&world, email, LABS).await;
        let list = ids(&one["options"]["allowCredentials"]);
        assert!((1..=3).contains(&list.len()) && !list.contains(&own.name()));
        assert_eq!(list, ids(&two["options"]["allowCredentials"]));
    }
}

#[tokio::test]
async fn a_made_up_passkey_never_signs_anybody_in() {
    let world = sites().await;
    let person = world.signed_in().await;
    let stranger = world.mailbox();
    let begun = begin_login(&world, &stranger, LABS).await;
    let id = decode(&begun["options"]["allowCredentials"][0]["id"]);
    // Somebody who registers the made-up id gets a passkey of their own, and no more.
    let (mut passkey, reply) = super::enrol_by(&person, &Maker { id, ..Maker::on(LABS) }).await;
    reply.is(201);
    let credential = passkey.get(&begun["options"]);
    complete_login(&world, &begun, &credential).await.is_error(401, "WEBAUTHN_002");
    assert_eq!(world.db_open_sessions_of(&person.email).await, 1);
    assert_eq!(world.db_accounts_of(&stranger).await, 0);
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().unwrap().keys().collect()
}

impl World {
    async fn signed_in_with_passkey(&self) -> String {
        let person = self.signed_in().await;
        enrol(&person, LABS).await;
        person.email
    }
}
