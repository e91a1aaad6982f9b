//! `POST /api/auth/logout`.

use http::Method;
use serde_json::json;

use crate::world::{PASSWORD, Verbs, World};

const LOGOUT: &str = "/api/auth/logout";

#[tokio::test]
async fn signing_out_ends_this_session_at_once_and_no_other() {
    // case 093
    let world = World::new().await;
    let anna = world.signed_in().await;
    let elsewhere = world.sign_in(&anna.email, PASSWORD).await;
    let reply = anna.ask(Method::POST, LOGOUT).await;
    assert_eq!(reply.is(200).json(), json!({"message": "Signed out."}));
    assert_eq!(reply.cookies(), ["labs_refresh=; HttpOnly; Secure; SameSite=Lax; Path=/api/auth; Max-Age=0"]);
    assert!(!anna.is_signed_in().await);
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
    assert!(elsewhere.is_signed_in().await);
    anna.ask(Method::POST, LOGOUT).await.is_error(401, "AUTH_004");
}

#[tokio::test]
async fn signing_out_everywhere_ends_every_session_of_one_person() {
    let world = World::new().await;
    let (anna, other) = (world.signed_in().await, world.signed_in().await);
    let elsewhere = world.sign_in(&anna.email, PASSWORD).await;
    anna.ask(Method::POST, &format!("{LOGOUT}?scope=global")).await.is(200);
    assert!(!anna.is_signed_in().await && !elsewhere.is_signed_in().await);
    elsewhere.refresh_with(&elsewhere.refresh).await.is_error(401, "AUTH_005");
    assert!(other.is_signed_in().await);
}

#[tokio::test]
async fn the_body_is_ignored_and_the_query_is_not() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let nonsense = anna.ask(Method::POST, &format!("{LOGOUT}?scope=sideways")).await;
    nonsense.has_fault("enum", "query.scope");
    anna.ask(Method::POST, &format!("{LOGOUT}?scope=%00")).await.has_fault("value_error", "query.scope");
    assert!(anna.is_signed_in().await);
    let reply = anna.raw(&format!("{LOGOUT}?scope=global&scope=local"), Some("application/json"), "}not json").await;
    reply.is(200);
    assert!(!anna.is_signed_in().await);
}
