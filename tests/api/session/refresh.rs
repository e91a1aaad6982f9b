//! `POST /api/auth/refresh`: rotation, two tabs, and stolen copies.

use std::time::Duration;

use serde_json::json;

use crate::{
    password::{at_once, count},
    world::{PAGE, PASSWORD, Verbs, World},
};

const REFRESH: &str = "/api/auth/refresh";
const DAY: Duration = Duration::from_hours(24);

#[tokio::test]
async fn each_refresh_gives_new_tokens_of_the_same_session() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let reply = anna.refresh_with(&anna.refresh).await;
    let renewed = world.holder_of(reply.is(200));
    assert_ne!(renewed.refresh, anna.refresh);
    assert_eq!(reply.json()["expires_in"], 1800);
    assert!(reply.cookies()[0].starts_with(&format!("labs_refresh={};", renewed.refresh)), "{reply:?}");
    assert!(renewed.is_signed_in().await);
    // The older access token is of the same session.
    assert!(anna.is_signed_in().await);
    assert_eq!(world.db_open_sessions_of(&anna.email).await, 1);
}

#[tokio::test]
async fn two_tabs_each_get_a_successor() {
    // case 089
    let world = World::new().await;
    let anna = world.signed_in().await;
    let first = anna.refresh_with(&anna.refresh).await.is(200).field("refresh_token");
    world.advance(Duration::from_secs(10));
    let second = anna.refresh_with(&anna.refresh).await.is(200).field("refresh_token");
    assert_ne!(first, second);
    anna.refresh_with(&first).await.is(200);
    anna.refresh_with(&second).await.is(200);
    assert!(anna.is_signed_in().await);
}

#[tokio::test]
async fn a_tab_whose_process_is_a_little_behind_is_no_thief() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let ahead = World::with(&[("DATABASE_URL", world.database_url())]).await;
    ahead.advance(Duration::from_secs(10));
    let body = json!({"refresh_token": anna.refresh});
    ahead.anonymous().post(REFRESH, body.clone()).await.is(200);
    world.anonymous().post(REFRESH, body).await.is(200);
    assert!(anna.is_signed_in().await);
    // Beyond the grace no clock is believed.
    let ben = world.signed_in().await;
    ahead.advance(Duration::from_micros(1));
    let body = json!({"refresh_token": ben.refresh});
    ahead.anonymous().post(REFRESH, body.clone()).await.is(200);
    world.anonymous().post(REFRESH, body).await.is_error(401, "AUTH_005");
}

#[tokio::test]
async fn a_used_token_that_comes_back_late_ends_the_session() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let next = anna.refresh_with(&anna.refresh).await.is(200).field("refresh_token");
    world.advance(Duration::from_micros(10_000_001));
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
    anna.refresh_with(&next).await.is_error(401, "AUTH_005");
    assert!(!anna.is_signed_in().await);
}

#[tokio::test]
async fn a_token_comes_back_in_vain_once_its_successor_was_used() {
    // case 091
    let world = World::new().await;
    let anna = world.signed_in().await;
    let second = anna.refresh_with(&anna.refresh).await.is(200).field("refresh_token");
    let third = anna.refresh_with(&second).await.is(200).field("refresh_token");
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
    anna.refresh_with(&third).await.is_error(401, "AUTH_005");
    assert!(!anna.is_signed_in().await);
}

#[tokio::test]
async fn a_stolen_copy_ends_one_session_and_no_other() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let elsewhere = world.sign_in(&anna.email, PASSWORD).await;
    anna.refresh_with(&anna.refresh).await.is(200);
    world.advance(Duration::from_secs(11));
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
    assert!(elsewhere.is_signed_in().await);
    elsewhere.refresh_with(&elsewhere.refresh).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_refreshes_at_once_each_get_a_successor_that_works() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let body = json!({"refresh_token": anna.refresh});
    let asks: Vec<_> = (0..50).map(|_| world.anonymous().post(REFRESH, body.clone())).collect();
    let replies = at_once(asks).await;
    assert_eq!(count(&replies, 200), 50, "{replies:?}");
    let mut successors: Vec<String> = replies.iter().map(|reply| reply.field("refresh_token")).collect();
    successors.sort();
    successors.dedup();
    assert_eq!(successors.len(), 50);
    anna.refresh_with(&successors[0]).await.is(200);
    anna.refresh_with(&successors[49]).await.is(200);
    assert_eq!(world.db_open_sessions_of(&anna.email).await, 1);
}

#[tokio::test]
async fn without_a_token_there_is_nothing_to_refresh() {
    // case 101
    let world = World::new().await;
    let somebody = world.anonymous();
    let refused = somebody.post(REFRESH, json!({})).await;
    refused.is_error(401, "AUTH_005");
    assert_eq!(refused.field("error"), "Your session has expired. Please sign in again.");
    assert!(refused.cookies().is_empty() && refused.header("www-authenticate").is_none(), "{refused:?}");
    for body in ["", "null", "{}", r#"{"refresh_token":null}"#, r#"{"refresh_token":"x"}"#] {
        somebody.raw(REFRESH, Some("application/json"), body).await.tells_no_more_than(&refused);
    }
    somebody.raw(REFRESH, None, "").await.tells_no_more_than(&refused);
    somebody.post(REFRESH, json!({"refresh_token": ""})).await.has_fault("string_too_short", "body.refresh_token");
    somebody.post(REFRESH, json!({"refresh_token": 1})).await.has_fault("string_type", "body.refresh_token");
    let long = "r".repeat(513);
    somebody.post(REFRESH, json!({"refresh_token": long})).await.has_fault("string_too_long", "body.refresh_token");
}

#[tokio::test]
async fn the_cookie_serves_pages_of_allowed_origins_and_no_page_at_all() {
    let world = World::new().await;
    let mut anna = world.signed_in().await;
    let with_cookie = |token: &str| {
        world.anonymous().raw(REFRESH, None, "").header("cookie", format!("theme=dark; labs_refresh={token}"))
    };
    anna = world.holder_of(with_cookie(&anna.refresh).await.is(200));
    anna = world.holder_of(with_cookie(&anna.refresh).origin(PAGE).await.is(200));
    for origin in ["https://evil.example", "null", "https://app.labs.example.evil.example", "http://app.labs.example"] {
        let refused = with_cookie(&anna.refresh).origin(origin).await;
        refused.is_error(403, "AUTH_015");
        assert!(refused.cookies().is_empty(), "{refused:?}");
    }
    // A token in the body is the page's own, wherever the page comes from.
    anna.refresh_with(&anna.refresh).origin("https://evil.example").await.is(200);
}

#[tokio::test]
async fn only_a_refused_cookie_is_cleared() {
    // case 103
    let world = World::new().await;
    let anna = world.signed_in().await;
    let cookie = |token: &str| format!("labs_refresh={token}");
    let refused = world.anonymous().raw(REFRESH, None, "").header("cookie", cookie("unknown-token")).await;
    refused.is_error(401, "AUTH_005");
    assert_eq!(refused.cookies(), ["labs_refresh=; HttpOnly; Secure; SameSite=Lax; Path=/api/auth; Max-Age=0"]);
    let by_body = anna.refresh_with("unknown-token").header("cookie", cookie(&anna.refresh)).await;
    assert!(by_body.is_error(401, "AUTH_005").cookies().is_empty());
    // The body wins over the cookie, so the good token in the cookie was not touched.
    let body_wins = anna.refresh_with(&anna.refresh).header("cookie", cookie("unknown-token")).await;
    body_wins.is(200);
}

#[tokio::test]
async fn a_session_slides_and_ends_thirty_days_after_its_last_use() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.advance(29 * DAY);
    let next = anna.refresh_with(&anna.refresh).await.is(200).field("refresh_token");
    world.advance(29 * DAY);
    let last = anna.refresh_with(&next).await.is(200).field("refresh_token");
    world.advance(30 * DAY);
    anna.refresh_with(&last).await.is_error(401, "AUTH_005");
}

#[tokio::test]
async fn a_disabled_account_refreshes_nothing() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.db_disable(&anna.email).await;
    anna.refresh_with(&anna.refresh).await.is_error(403, "AUTH_008");
}

#[tokio::test]
async fn the_database_holds_no_token_in_clear() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let sql = "SELECT count(*) FROM refresh_tokens WHERE CAST(hash AS TEXT) = $1";
    assert_eq!(world.db_number(sql, &anna.refresh).await, 0);
    assert_eq!(
        world.db_number("SELECT count(*) FROM refresh_tokens WHERE length(hash) = 32 AND $1 <> ''", "any").await,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_servers_default_isolation_is_the_strictest_parallel_refreshes_lose_nobodys_session() {
    // case 201
    let world = World::new().await;
    let email = world.member().await;
    let mut people = Vec::new();
    for _ in 0..5 {
        people.push(world.sign_in(&email, PASSWORD).await);
    }
    // SQLite knows no other isolation.
    let mut url = world.database_url().to_owned();
    if url.starts_with("postgres") {
        url.push_str("&options[default_transaction_isolation]=serializable");
    }
    let strict = World::with(&[("DATABASE_URL", &url)]).await;
    strict.warm().await;
    let asks: Vec<_> = (0..20)
        .map(|number| strict.anonymous().post(REFRESH, json!({"refresh_token": people[number % 5].refresh})))
        .collect();
    let replies = at_once(asks).await;
    assert_eq!(count(&replies, 200), 20, "{replies:?}");
    for reply in &replies[..5] {
        let renewed = strict.holder_of(reply);
        assert!(renewed.is_signed_in().await);
        renewed.refresh_with(&renewed.refresh).await.is(200);
    }
    assert_eq!(world.db_open_sessions_of(&email).await, 5);
}
