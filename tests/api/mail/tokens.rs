//! What stands behind `?token=`: letters that no mail program, no line break and no form changes.

use std::collections::BTreeMap;

use serde_json::json;

use crate::world::{PASSWORD, Verbs, World, token_of};

// case 081
#[tokio::test]
async fn two_hundred_mailed_tokens_of_every_kind_need_no_escaping() {
    let world = World::with(&[("PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR", "100")]).await;
    let mut tokens: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for _ in 0..10 {
        let anna = world.signed_in().await;
        let moved = world.mailbox();
        let ask = async |path: &str| {
            for _ in 0..5 {
                world.anonymous().post(path, json!({"email": anna.email})).await.is(202);
            }
        };
        ask("/api/auth/request-magic-link").await;
        ask("/api/prima/v1/accounts").await;
        ask("/api/auth/forgot-password").await;
        let change = json!({"new_email": moved, "current_password": PASSWORD});
        anna.post("/api/auth/change-email", change).await.is(202);
        world.db_forget_password(&anna.email).await;
        ask("/api/auth/forgot-password").await;
        for mailbox in [&anna.email, &moved] {
            for link in world.mails_to(mailbox).await.iter().flat_map(crate::world::Mail::links) {
                let page = link.split('?').next().unwrap().to_owned();
                tokens.entry(page).or_default().push(token_of(&link));
            }
        }
    }
    assert_eq!(tokens.len(), 7, "{:?}", tokens.keys());
    let all: Vec<&String> = tokens.values().flatten().collect();
    assert!(all.len() >= 200, "{}", all.len());
    let plain =
        |token: &str| token.len() >= 32 && token.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
    assert!(all.iter().all(|token| plain(token)), "{all:?}");
}
