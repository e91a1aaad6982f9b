//! Mailed tokens, whichever room issues them.

use std::collections::HashSet;

use labs_auth::people::bring::Keep;
use serde_json::json;

use crate::{
    password::imported::{newcomer, people},
    world::{Mail, PASSWORD, Verbs, World},
};

/// So many tokens are collected at least, of every kind of link that a stranger or a person may ask for.
const WANTED: usize = 200;

#[tokio::test]
async fn mailed_tokens_of_every_kind_are_long_plain_and_never_the_same() {
    // case 081
    let world = World::new().await;
    let ask = async |path: &'static str, email: &str| {
        world.anonymous().post(path, json!({"email": email})).await.is(202);
    };
    let unconfirmed = world.unconfirmed().await;
    ask("/api/auth/resend-verification", &unconfirmed).await;
    let anna = world.signed_in().await;
    ask("/api/auth/forgot-password", &anna.email).await;
    let moved = json!({"new_email": world.mailbox(), "current_password": PASSWORD});
    anna.post("/api/auth/change-email", moved).await.is(202);
    let without = world.member().await;
    world.db_forget_password(&without).await;
    ask("/api/auth/forgot-password", &without).await;
    ask("/api/prima/v1/accounts", &world.mailbox()).await;
    // Five links of a person live at once.
    let everybody: Vec<_> = (0..WANTED / 5).map(|_| newcomer(&world.mailbox(), None)).collect();
    people(&world).bring(&everybody, Keep::Yes).await.unwrap();
    for somebody in &everybody {
        for _ in 0..5 {
            ask("/api/auth/request-magic-link", somebody.email.as_str()).await;
        }
    }
    // One delivery takes so many at most; the last one finds nothing new.
    let mut mails = world.mails().await;
    loop {
        let more = world.mails().await;
        if more.len() == mails.len() {
            break;
        }
        mails = more;
    }
    let mut tokens = HashSet::new();
    let mut pages = HashSet::new();
    for link in mails.iter().flat_map(Mail::links) {
        let Some((page, token)) = link.split_once("?token=") else { continue };
        assert!(token.len() >= 32, "{link}");
        assert!(token.bytes().all(|sign| sign.is_ascii_alphanumeric() || b"-_".contains(&sign)), "{link}");
        assert!(tokens.insert(token.to_owned()), "{link} came twice");
        pages.insert(page.to_owned());
    }
    assert!(tokens.len() > WANTED, "{}", tokens.len());
    for page in [
        "verify-email",
        "reset-password",
        "set-password",
        "confirm-email",
        "undo-email",
        "magic-link",
        "developers/verify",
    ] {
        assert!(pages.iter().any(|known| known.ends_with(page)), "{page} is not among {pages:?}");
    }
}
