//! The way there and back.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{CALLBACK, START, house, query_of};
use crate::{
    password::{at_once, count},
    world::{
        Verbs, World,
        provider::{CLIENT_ID, Route},
    },
};

const TURNED: &str = "https://labs.example/login?error=invalid_state&error_code=AUTH_013";

#[tokio::test]
async fn start_sends_the_browser_with_everything_the_protocol_wants() {
    let (world, provider) = house(&[]).await;
    let reply = world.anonymous().get(START).await;
    reply.is(302);
    let location = reply.header("location").unwrap();
    assert!(location.starts_with(&format!("{}/authorize?", provider.address)), "{location}");
    assert!(location.contains("scope=openid%20profile%20email"), "{location}");
    let query = query_of(&reply);
    assert_eq!(query["response_type"], "code");
    assert_eq!(query["client_id"], CLIENT_ID);
    assert_eq!(query["redirect_uri"], "https://auth.labs.example/api/auth/infomaniak/callback");
    assert_eq!(query["code_challenge_method"], "S256");
    assert_eq!([query["state"].len(), query["nonce"].len(), query["code_challenge"].len()], [43, 43, 43]);
    let cookie = reply.cookies()[0];
    let ends = "; HttpOnly; Secure; SameSite=Lax; Path=/api/auth/infomaniak; Max-Age=600";
    assert!(cookie.starts_with("labs_oidc=") && cookie.ends_with(ends), "{cookie}");
    assert!(!location.contains(cookie.split(['=', ';']).nth(1).unwrap()), "the cookie stays in the browser");
    assert_eq!(reply.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn a_newcomer_comes_back_with_an_account() {
    let (world, provider) = house(&[]).await;
    let email = world.mailbox();
    provider.manners().claims["email"] = json!(email);
    let reply = world.walk(&provider, "?redirect_to=/dashboard%3Fa%3Db").await;
    let token = reply.handed_off();
    assert_eq!(query_of(&reply)["redirect_to"], "/dashboard?a=b");
    let signed_in = world.redeem_token(&token).await;
    let anna = world.holder_of(signed_in.is(200));
    let body = signed_in.json();
    assert_eq!(body["redirect_to"], "/dashboard?a=b");
    assert_eq!((&body["user"]["full_name"], &body["user"]["email_verified"]), (&json!("Anna Muster"), &json!(true)));
    assert_eq!(anna.email, email);
    world.redeem_token(&token).await.is_error(400, "AUTH_006");
    // The second time it is the same account, whatever the address at the provider is by then.
    provider.manners().claims["email"] = json!(world.mailbox());
    let again = world.redeem_token(&world.walk(&provider, "").await.handed_off()).await;
    assert_eq!(again.is(200).json()["user"]["id"], body["user"]["id"]);
    assert_eq!(world.db_accounts().await, 1);
}

#[tokio::test]
async fn the_token_of_the_hand_off_lives_a_minute() {
    let (world, provider) = house(&[]).await;
    let token = world.walk(&provider, "").await.handed_off();
    world.advance(Duration::from_mins(1));
    world.redeem_token(&token).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn a_foreign_destination_is_dropped_at_the_start() {
    // case 249
    let (world, provider) = house(&[]).await;
    for evil in ["//evil.example/x", "/%5Cevil.example", "https://evil.example", "/%09/evil.example"] {
        for name in ["redirect_to", "next"] {
            let reply = world.walk(&provider, &format!("?{name}={evil}")).await;
            let token = reply.handed_off();
            assert_eq!(
                reply.header("location"),
                Some(format!("https://labs.example/magic-link?token={token}").as_str())
            );
            assert_eq!(world.redeem_token(&token).await.is(200).json()["redirect_to"], Value::Null);
        }
    }
}

#[tokio::test]
async fn a_person_who_declines_is_told_so_and_the_state_is_spent() {
    // case 239
    let (world, provider) = house(&[]).await;
    let away = world.away("").await;
    let declined = "error=access_denied&error_description=%3Cscript%3E%20serde%20error";
    world.back(&away, declined).await.turned_away("access_denied", "AUTH_014");
    let code = provider.grant(&away.query["nonce"], &away.query["code_challenge"]);
    world.back(&away, &format!("code={code}")).await.turned_away("invalid_state", "AUTH_013");
    let away = world.away("").await;
    world.back(&away, "error=server_error").await.turned_away("provider_error", "EXT_001");
}

#[tokio::test]
async fn a_state_is_good_in_the_browser_where_it_began_and_in_no_other() {
    // case 241
    let (world, provider) = house(&[]).await;
    let (hers, his) = (world.away("").await, world.away("").await);
    let code = provider.grant(&hers.query["nonce"], &hers.query["code_challenge"]);
    let path = format!("{CALLBACK}?code={code}&state={}", hers.query["state"]);
    let reply = world.anonymous().get(&path).header("cookie", &his.cookie).await;
    assert_eq!((reply.header("location"), reply.cookies().len()), (Some(TURNED), 0));
    // His own way back is none the worse for it.
    let code = provider.grant(&his.query["nonce"], &his.query["code_challenge"]);
    world.back(&his, &format!("code={code}")).await.handed_off();
    let bare = world.away("").await;
    world
        .anonymous()
        .get(&format!("{CALLBACK}?code=x&state={}", bare.query["state"]))
        .await
        .turned_away("invalid_state", "AUTH_013");
    assert_eq!(provider.asked(Route::Token), 1, "nothing was exchanged for the foreign browser");
}

#[tokio::test]
async fn a_return_without_a_live_state_lands_on_a_page_and_never_on_an_error_body() {
    let (world, _provider) = house(&[]).await;
    let anybody = world.anonymous();
    let long = "a".repeat(3000);
    let queries =
        ["", "?code=x", "?state=x&code=x", "?error=access_denied", "?state=%00&code=%00", "?state=%FF", "?&&=&"];
    for query in queries.map(str::to_owned).into_iter().chain([format!("?state={long}&code={long}")]) {
        let reply = anybody.get(&format!("{CALLBACK}{query}")).header("cookie", "labs_oidc=x").await;
        reply.turned_away("invalid_state", "AUTH_013");
    }
    let away = world.away("").await;
    world.advance(Duration::from_mins(10));
    world.back(&away, "code=x").await.turned_away("invalid_state", "AUTH_013");
}

#[tokio::test]
async fn a_return_without_a_code_or_with_another_issuer_is_the_providers_fault() {
    let (world, provider) = house(&[]).await;
    let away = world.away("").await;
    world.back(&away, "x=y").await.turned_away("provider_error", "EXT_001");
    let away = world.away("").await;
    let code = provider.grant(&away.query["nonce"], &away.query["code_challenge"]);
    let mixed = format!("code={code}&iss=https%3A%2F%2Fevil.example");
    world.back(&away, &mixed).await.turned_away("provider_error", "EXT_001");
    let away = world.away("").await;
    world.back(&away, &format!("code={}", "a".repeat(2049))).await.turned_away("provider_error", "EXT_001");
    let away = world.away("").await;
    world.back(&away, "code=unknown").await.turned_away("provider_error", "EXT_001");
}

#[tokio::test]
async fn a_head_request_spends_no_state() {
    // case 273
    let (world, provider) = house(&[]).await;
    let away = world.away("").await;
    let code = provider.grant(&away.query["nonce"], &away.query["code_challenge"]);
    let path = format!("{CALLBACK}?code={code}&state={}", away.query["state"]);
    world.anonymous().ask(Method::HEAD, &path).header("cookie", &away.cookie).await.is(405);
    world.back(&away, &format!("code={code}")).await.handed_off();
}

#[tokio::test]
async fn the_thirty_first_navigation_waits() {
    let (world, provider) = house(&[]).await;
    for path in [START, CALLBACK] {
        let anybody = world.anonymous();
        for _ in 0..30 {
            anybody.get(path).await.is(302);
        }
        anybody.get(path).await.is_rate_limited();
    }
    assert_eq!(provider.asked(Route::Discovery), 1, "the description is kept");
}

#[tokio::test]
async fn without_a_client_id_there_is_no_such_sign_in() {
    let world = World::new().await;
    let reply = world.anonymous().get(START).await;
    reply.is_error(503, "EXT_002");
    assert_eq!(reply.header("retry-after"), None);
    world.anonymous().get(CALLBACK).await.turned_away("invalid_state", "AUTH_013");
    let half = World::with(&[("INFOMANIAK_CLIENT_ID", "id")]).await;
    half.anonymous().get(START).await.is_error(503, "EXT_002");
}

#[tokio::test]
async fn the_description_is_kept_for_an_hour() {
    let (world, provider) = house(&[]).await;
    world.away("").await;
    world.advance(Duration::from_secs(3599));
    world.away("").await;
    assert_eq!((provider.asked(Route::Discovery), provider.asked(Route::Keys)), (1, 1));
    world.advance(Duration::from_secs(1));
    world.away("").await;
    assert_eq!(provider.asked(Route::Discovery), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_returns_with_one_state_make_one_hand_off() {
    let (world, provider) = house(&[]).await;
    let away = world.away("").await;
    let code = provider.grant(&away.query["nonce"], &away.query["code_challenge"]);
    let replies = at_once((0..50).map(|_| world.back(&away, &format!("code={code}")))).await;
    assert_eq!(count(&replies, 302), 50);
    let refused = replies.iter().filter(|reply| reply.header("location") == Some(TURNED)).count();
    let landed: Vec<_> = replies.iter().filter(|reply| reply.header("location") != Some(TURNED)).collect();
    assert_eq!((refused, landed.len()), (49, 1));
    world.redeem_token(&landed[0].handed_off()).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_in_twenty_tabs_gets_one_account() {
    let (world, provider) = house(&[]).await;
    let mut asks = Vec::new();
    for _ in 0..20 {
        let away = world.away("").await;
        let code = provider.grant(&away.query["nonce"], &away.query["code_challenge"]);
        asks.push(world.back(&away, &format!("code={code}")));
    }
    for reply in at_once(asks).await {
        reply.handed_off();
    }
    assert_eq!(world.db_accounts().await, 1);
}

#[tokio::test]
async fn neither_nonce_nor_verifier_rests_in_clear() {
    let (world, _provider) = house(&[]).await;
    let away = world.away("").await;
    let rows = world.db_texts("SELECT particulars FROM tickets WHERE purpose = 'oidc_state' AND $1 = $1", "").await;
    assert_eq!(rows.len(), 1);
    assert!(!rows[0].contains(&away.query["nonce"]) && !rows[0].contains("verifier"), "{rows:?}");
    assert!(!rows[0].contains(away.cookie.trim_start_matches("labs_oidc=")));
}
