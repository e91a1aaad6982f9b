//! Which account a person of the provider gets.

use serde_json::{Value, json};

use super::house;
use crate::world::{PASSWORD, Verbs};

#[tokio::test]
async fn a_verified_address_finds_the_account_that_has_it() {
    let (world, provider) = house(&[]).await;
    let email = world.member().await;
    provider.manners().claims["email"] = json!(email.to_uppercase());
    let token = world.walk(&provider, "").await.handed_off();
    let reply = world.redeem_token(&token).await;
    assert_eq!(world.holder_of(reply.is(200)).email, email);
    // The password is the owner's own and stays.
    world.sign_in(&email, PASSWORD).await;
    assert_eq!(world.db_accounts().await, 1);
}

#[tokio::test]
async fn an_address_that_is_not_verified_opens_nothing() {
    // case 237
    let (world, provider) = house(&[]).await;
    let email = world.member().await;
    for verified in [json!(false), Value::Null, json!("true"), json!(1), json!("yes")] {
        provider.manners().claims["email"] = json!(email);
        provider.manners().claims["email_verified"] = verified.clone();
        let reply = world.walk(&provider, "").await;
        // What is no truth value may also count as a broken token: it opens nothing either way.
        let broken = "https://labs.example/login?error=provider_error&error_code=EXT_001";
        if verified.is_boolean() || verified.is_null() || reply.header("location") != Some(broken) {
            reply.turned_away("email_not_verified", "AUTH_014");
        }
    }
    let links = world.db_number("SELECT count(*) FROM oidc_identities WHERE $1 = $1", "").await;
    assert_eq!((links, world.db_accounts().await), (0, 1));
}

#[tokio::test]
async fn an_absent_verification_counts_where_the_operator_says_so_and_a_denied_one_never() {
    let (world, provider) = house(&[("INFOMANIAK_TRUST_EMAIL", "true")]).await;
    provider.manners().claims["email_verified"] = json!(false);
    world.walk(&provider, "").await.turned_away("email_not_verified", "AUTH_014");
    provider.manners().claims["email_verified"] = Value::Null;
    world.walk(&provider, "").await.handed_off();
}

#[tokio::test]
async fn a_person_without_an_address_gets_no_account() {
    // case 247
    let (world, provider) = house(&[]).await;
    for email in [Value::Null, json!(""), json!("no address"), json!("a@b")] {
        provider.manners().claims["email"] = email;
        world.walk(&provider, "").await.turned_away("email_not_verified", "AUTH_014");
    }
    assert_eq!(world.db_accounts().await, 0);
}

#[tokio::test]
async fn what_the_token_leaves_out_userinfo_adds() {
    let (world, provider) = house(&[]).await;
    let email = world.mailbox();
    provider.manners().claims = json!({"sub": "7"});
    provider.manners().userinfo =
        json!({"sub": "7", "email": email, "email_verified": true, "name": "Beat", "locale": "fr-CH"});
    let reply = world.redeem_token(&world.walk(&provider, "").await.handed_off()).await;
    let user = &reply.is(200).json()["user"];
    assert_eq!([&user["email"], &user["full_name"], &user["locale"]], [&json!(email), &json!("Beat"), &json!("fr")]);
}

#[tokio::test]
async fn userinfo_of_another_person_is_not_believed() {
    let (world, provider) = house(&[]).await;
    provider.manners().claims = json!({"sub": "7"});
    provider.manners().userinfo = json!({"sub": "8", "email": world.mailbox(), "email_verified": true});
    world.walk(&provider, "").await.turned_away("provider_error", "EXT_001");
    // The address of the one and the verification of the other make no verified address.
    let email = world.member().await;
    provider.manners().claims = json!({"sub": "7", "email": email});
    provider.manners().userinfo = json!({"sub": "7", "email": "other@x.example", "email_verified": true});
    world.walk(&provider, "").await.turned_away("email_not_verified", "AUTH_014");
}

#[tokio::test]
async fn a_planted_password_and_its_sessions_do_not_survive_the_owner() {
    // case 253
    let (world, provider) = house(&[]).await;
    let email = world.unconfirmed().await;
    provider.manners().claims["email"] = json!(email);
    let reply = world.redeem_token(&world.walk(&provider, "").await.handed_off()).await;
    let body = reply.is(200).json();
    assert_eq!((&body["user"]["email"], &body["user"]["has_password"]), (&json!(email), &json!(false)));
    world.anonymous().login(&email, PASSWORD).await.is_error(401, "AUTH_001");
    assert_eq!(world.db_open_sessions_of(&email).await, 1);
}

#[tokio::test]
async fn a_disabled_account_is_told_so() {
    let (world, provider) = house(&[]).await;
    let email = world.member().await;
    provider.manners().claims["email"] = json!(email);
    let token = world.walk(&provider, "").await.handed_off();
    world.db_disable(&email).await;
    world.redeem_token(&token).await.is_error(403, "AUTH_008");
    world.walk(&provider, "").await.turned_away("account_disabled", "AUTH_008");
    provider.manners().claims["sub"] = json!("another");
    world.walk(&provider, "").await.turned_away("account_disabled", "AUTH_008");
}

#[tokio::test]
async fn closed_registration_lets_known_people_in_and_nobody_else() {
    let (world, provider) = house(&[("REGISTRATION_ENABLED", "false")]).await;
    world.walk(&provider, "").await.turned_away("signup_closed", "AUTH_011");
    assert_eq!(world.db_accounts().await, 0);
}
