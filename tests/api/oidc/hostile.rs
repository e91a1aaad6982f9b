//! A provider that lies or stalls: every lie ends on the sign-in page, in time.

use std::time::{Duration, Instant};

use labs_auth::oidc;
use serde_json::{Value, json};

use super::{START, house};
use crate::world::{
    Verbs, World,
    clock::START as NOW,
    provider::{IdentityProvider, Madness, Route, Signature},
};

#[tokio::test]
async fn a_token_that_is_not_for_this_sign_in_opens_nothing() {
    // case 243, and its kind
    let (world, provider) = house(&[]).await;
    let now = NOW / 1_000_000;
    let lies = [
        json!({"nonce": "another"}),
        json!({"nonce": Value::Null}),
        json!({"nonce": ""}),
        json!({"iss": "https://evil.example"}),
        json!({"iss": format!("{}/", provider.address)}),
        json!({"iss": Value::Null}),
        json!({"aud": "another-client"}),
        json!({"aud": ["labs-client", "another-client"]}),
        json!({"aud": Value::Null}),
        json!({"exp": now - 1}),
        json!({"exp": now}),
        json!({"exp": Value::Null}),
        json!({"exp": "tomorrow"}),
        json!({"sub": Value::Null}),
        json!({"sub": ""}),
        json!({"sub": "a".repeat(256)}),
        json!({"sub": 7}),
    ];
    for lie in lies {
        provider.manners().protocol = lie.clone();
        let reply = world.walk(&provider, "").await;
        assert_eq!(reply.status, 302, "{lie}");
        reply.turned_away("provider_error", "EXT_001");
    }
    assert_eq!(world.db_accounts().await, 0);
    provider.manners().protocol = json!({"exp": now + 1});
    world.walk(&provider, "").await.handed_off();
}

#[tokio::test]
async fn a_token_that_is_not_signed_with_the_providers_key_opens_nothing() {
    let (world, provider) = house(&[]).await;
    for signature in [Signature::Hs256, Signature::None, Signature::Spoiled] {
        provider.manners().signature = signature;
        world.walk(&provider, "").await.turned_away("provider_error", "EXT_001");
    }
    provider.manners().signature = Signature::Rs256;
    provider.manners().without_id_token = true;
    world.walk(&provider, "").await.turned_away("provider_error", "EXT_001");
    assert_eq!(world.db_accounts().await, 0);
}

#[tokio::test]
async fn a_new_key_is_fetched_and_a_forged_name_of_one_does_not_hammer_the_provider() {
    let (world, provider) = house(&[]).await;
    world.walk(&provider, "").await.handed_off();
    world.advance(Duration::from_mins(1));
    provider.manners().key_id = String::from("second");
    provider.manners().protocol = json!({"exp": NOW / 1_000_000 + 300});
    world.walk(&provider, "").await.handed_off();
    assert_eq!(provider.asked(Route::Keys), 2);
    provider.manners().key_id = String::from("third");
    world.walk(&provider, "").await.turned_away("provider_error", "EXT_001");
    assert_eq!(provider.asked(Route::Keys), 2);
}

/// A house that waits for its provider no longer than a test does.
async fn impatient() -> (World, IdentityProvider) {
    let provider = IdentityProvider::open().await;
    let variables = provider.variables();
    let plan = World::plan().patience(Duration::from_millis(300));
    let plan = variables.iter().fold(plan, |plans, (name, value)| plans.set(name, value));
    (plan.build().await, provider)
}

#[tokio::test]
async fn a_provider_that_goes_mad_on_the_way_back_ends_on_the_sign_in_page_in_time() {
    let madnesses = [Madness::Silent, Madness::Endless, Madness::Malformed, Madness::Failing, Madness::Redirecting];
    for route in [Route::Token, Route::Userinfo, Route::Discovery, Route::Keys] {
        for madness in madnesses {
            let (world, provider) = impatient().await;
            provider.manners().claims = json!({"sub": "7"});
            let away = world.away("").await;
            // The description is read anew on the way back.
            world.advance(Duration::from_secs(590));
            provider.manners().mad.insert(route, madness);
            provider.manners().protocol = json!({"exp": NOW / 1_000_000 + 3600});
            if matches!(route, Route::Discovery | Route::Keys) {
                provider.manners().key_id = String::from("second");
            }
            let code = provider.grant(&away.query["nonce"], &away.query["code_challenge"]);
            let begun = Instant::now();
            let reply = world.back(&away, &format!("code={code}")).await;
            assert!(begun.elapsed() < Duration::from_secs(3), "{route:?} {madness:?}");
            assert_eq!(reply.status, 302, "{route:?} {madness:?}");
            reply.turned_away("provider_error", "EXT_001");
            assert_eq!(world.db_accounts().await, 0, "{route:?} {madness:?}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_goes_mad_at_the_start_is_not_reachable() {
    for route in [Route::Discovery, Route::Keys] {
        for madness in [Madness::Silent, Madness::Endless, Madness::Malformed, Madness::Failing, Madness::Redirecting] {
            let (world, provider) = impatient().await;
            provider.manners().mad.insert(route, madness);
            let begun = Instant::now();
            world.anonymous().get(START).await.is_error(502, "EXT_001");
            assert!(begun.elapsed() < Duration::from_secs(3), "{route:?} {madness:?}");
            // A provider that comes to its senses is believed again.
            provider.manners().mad.clear();
            world.walk(&provider, "").await.handed_off();
        }
    }
}

#[test]
fn the_provider_has_less_than_the_ten_seconds_of_the_contract() {
    assert!(oidc::PATIENCE < Duration::from_secs(10));
}

#[tokio::test]
async fn an_issuer_that_differs_by_a_slash_is_not_the_issuer() {
    // case 245
    let (world, provider) = house(&[]).await;
    let address = provider.address.clone();
    provider.manners().issuer = format!("{address}/");
    world.anonymous().get(START).await.is_error(502, "EXT_001");
    let slashed = format!("{address}/");
    let variables = provider.variables();
    let plan = variables.iter().fold(World::plan(), |plans, (name, value)| plans.set(name, value));
    let world = plan.set("INFOMANIAK_ISSUER", &slashed).build().await;
    provider.manners().issuer = address;
    world.anonymous().get(START).await.is_error(502, "EXT_001");
    provider.manners().issuer = slashed.clone();
    provider.manners().protocol = json!({"iss": slashed});
    world.walk(&provider, "").await.handed_off();
}

#[tokio::test]
async fn an_access_token_that_is_no_header_is_the_providers_fault() {
    let (world, provider) = house(&[]).await;
    provider.manners().claims = json!({"sub": "7"});
    provider.manners().access_token = String::from("a\r\nb\u{1f4a3}");
    world.walk(&provider, "").await.turned_away("provider_error", "EXT_001");
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_not_reachable() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let provider = IdentityProvider::open().await;
    let variables = provider.variables();
    let plan = variables.iter().fold(World::plan(), |plans, (name, value)| plans.set(name, value));
    let world = plan.set("INFOMANIAK_ISSUER", &issuer).build().await;
    world.anonymous().get(START).await.is_error(502, "EXT_001");
}
