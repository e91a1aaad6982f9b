//! People whose hashes were made elsewhere: they sign in as before, and their hash becomes one of ours.

use labs_auth::{
    account::{self, Email},
    people::{
        People,
        bring::{Keep, Newcomer, Role},
    },
    secret::Entropy,
};
use serde_json::json;

use super::{
    at_once, count,
    hashes::{BCRYPT_72, BCRYPT_APART, GREETING, GREETING_APART, KNOWN},
    races::FLOOD,
};
use crate::world::{PASSWORD, Verbs, World};

pub(crate) fn people(world: &World) -> People {
    People { db: world.app().db.clone(), clock: world.clock(), entropy: Entropy::system() }
}

pub(crate) fn newcomer(email: &str, hash: Option<&str>) -> Newcomer {
    Newcomer {
        email: Email::parse(email).unwrap(),
        full_name: None,
        locale: account::Locale::En,
        role: Role::User,
        password_hash: hash.map(str::to_owned),
        workspace_name: None,
        email_verified: true,
        is_active: true,
        created_at: None,
    }
}

async fn bring(world: &World, hash: &str) -> String {
    let email = world.mailbox();
    assert_eq!(people(world).bring(&[newcomer(&email, Some(hash))], Keep::Yes).await.unwrap(), 1);
    email
}

async fn db_hash_of(world: &World, email: &str) -> String {
    world.db_texts("SELECT password_hash FROM users WHERE email = $1", email).await.remove(0)
}

#[tokio::test]
async fn whoever_was_brought_along_signs_in_and_has_a_hash_of_ours_from_then_on() {
    let world = World::new().await;
    for (name, hash) in KNOWN {
        let email = bring(&world, hash).await;
        world.anonymous().login(&email, "Wrong-Horse-1!").await.is_error(401, "AUTH_001");
        assert_eq!(db_hash_of(&world, &email).await, hash);
        world.sign_in(&email, GREETING).await;
        let renewed = db_hash_of(&world, &email).await;
        assert!(renewed.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{name}: {renewed}");
        // The next one is checked by the new hash, in whatever form it is typed.
        world.sign_in(&email, GREETING_APART).await;
        assert_eq!(db_hash_of(&world, &email).await, renewed);
    }
}

#[tokio::test]
async fn a_backend_that_never_normalised_loses_nobody() {
    // case 057
    let world = World::new().await;
    let email = bring(&world, BCRYPT_APART).await;
    world.anonymous().login(&email, GREETING).await.is_error(401, "AUTH_001");
    world.sign_in(&email, GREETING_APART).await;
    world.sign_in(&email, GREETING).await;
}

#[tokio::test]
async fn only_what_bcrypt_saw_counts_until_there_is_a_new_password() {
    // case 053
    let world = World::new().await;
    let email = bring(&world, BCRYPT_72).await;
    let head = "a".repeat(72);
    // The tail was never proved, so it is not pinned: a slip in it must not lock anybody out later.
    let anna = world.sign_in(&email, &format!("{head}X1!")).await;
    assert_eq!(db_hash_of(&world, &email).await, BCRYPT_72);
    let change = |current: String, new: String| {
        anna.post("/api/auth/change-password", json!({"current_password": current, "new_password": new}))
    };
    let chosen = format!("{}X1!", "b".repeat(72));
    change(format!("{head}Y2?"), chosen.clone()).await.is(200);
    // A new one counts to its last sign.
    world.anonymous().login(&email, &format!("{}Y2?", "b".repeat(72))).await.is_error(401, "AUTH_001");
    world.sign_in(&email, &chosen).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twelve_first_sign_ins_at_once_all_succeed() {
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let email = bring(&world, KNOWN[5].1).await;
    let replies = at_once((0..12).map(|_| world.anonymous().login(&email, GREETING))).await;
    assert_eq!(count(&replies, 200), 12, "{replies:?}");
}

#[tokio::test]
async fn the_same_password_is_recognised_as_unchanged_under_a_foreign_hash() {
    let world = World::new().await;
    let email = bring(&world, KNOWN[10].1).await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    let token = world.mailed_token(&email, "/reset-password").await;
    let reset = |password: &str| {
        world.anonymous().post("/api/auth/reset-password", json!({"token": token, "new_password": password}))
    };
    let refused = reset(GREETING).await;
    assert_eq!(refused.is_error(422, "VAL_002").json()["details"], json!({"reasons": ["unchanged"]}));
    reset("Another-Horse-2!").await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_accounts_sign_ins_leaves_everybody_else_a_connection() {
    // SQLite has one writer, for which everybody waits anyway.
    if std::env::var_os("TEST_DATABASE_URL").is_none() {
        return;
    }
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let anna = bring(&world, KNOWN[5].1).await;
    let ben = world.member().await;
    // Somebody holds the account's row, as the first of many sign-ins does on a slow day.
    let mut tx = world.app().db.begin().await.unwrap();
    account::find_for_update(&mut tx, &anna).await.unwrap().unwrap();
    let flood: Vec<_> = (0..20)
        .map(|_| {
            let ask = world.anonymous().login(&anna, GREETING);
            tokio::spawn(async move { ask.await })
        })
        .collect();
    // Passwords are checked in the order in which they come: by then the twenty stand before the row.
    world.anonymous().login(&ben, PASSWORD).await.is(200);
    drop(tx);
    for login in flood {
        let reply = login.await.unwrap();
        // Whoever waited at the row for longer than a statement may is told to come back.
        assert!(reply.status == 200 || reply.status == 503, "{reply:?}");
    }
}
