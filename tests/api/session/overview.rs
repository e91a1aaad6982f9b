//! A person's sessions, seen and ended.

use serde_json::Value;
use uuid::Uuid;

use crate::{
    password::{at_once, count},
    world::{PASSWORD, SignedIn, Verbs, World},
};

const SESSIONS: &str = "/api/auth/sessions";

async fn sessions_of(person: &SignedIn) -> Vec<Value> {
    person.get(SESSIONS).await.is(200).json()["sessions"].as_array().unwrap().clone()
}

async fn own_id(person: &SignedIn) -> String {
    let sessions = sessions_of(person).await;
    sessions.iter().find(|it| it["current"] == true).unwrap()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_person_sees_where_it_is_signed_in_and_which_session_this_is() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let phone = world.anonymous();
    let agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1";
    let reply = phone.login(&anna.email, PASSWORD).header("user-agent", agent).await;
    let on_phone = world.holder_of(reply.is(200));
    let reply = anna.get(SESSIONS).await;
    assert_eq!(reply.is(200).header("cache-control"), Some("no-store"));
    let sessions = sessions_of(&on_phone).await;
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0]["current"], true);
    assert_eq!(sessions[0]["user_agent"], "Safari on iPhone");
    assert_eq!(sessions[0]["ip_address"], phone.address.to_string());
    assert_eq!(sessions[0]["signed_in_by"], "password");
    assert_eq!(sessions[0]["created_at"], "2026-01-02T03:04:05Z");
    assert_eq!(sessions[0]["last_seen_at"], "2026-01-02T03:04:05Z");
    assert_eq!(sessions[1]["current"], false);
    assert_eq!(sessions[1]["user_agent"], "An unknown device");
    assert!(sessions.iter().all(|session| session["label"].is_null()), "only a hand-off has a label: {sessions:?}");
    let mut names: Vec<&String> = sessions[0].as_object().unwrap().keys().collect();
    names.sort();
    let expected = [
        "created_at",
        "current",
        "expires_at",
        "id",
        "ip_address",
        "label",
        "last_seen_at",
        "signed_in_by",
        "user_agent",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn ended_sessions_and_other_peoples_sessions_are_not_shown() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let other = world.sign_in(&anna.email, PASSWORD).await;
    other.post("/api/auth/logout", Value::Null).await.is(200);
    assert_eq!(sessions_of(&anna).await.len(), 1);
    assert_eq!(sessions_of(&ben).await.len(), 1);
}

#[tokio::test]
async fn a_person_ends_one_session_and_its_tokens_die_at_once() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let other = world.sign_in(&anna.email, PASSWORD).await;
    let id = own_id(&other).await;
    let reply = anna.delete(&format!("{SESSIONS}/{id}")).await;
    assert!(reply.is(200).cookies().is_empty());
    assert!(!other.is_signed_in().await && anna.is_signed_in().await);
    other.refresh_with(&other.refresh).await.is_error(401, "AUTH_005");
    // It is gone now, like any that never was.
    anna.delete(&format!("{SESSIONS}/{id}")).await.is_error(404, "RES_001");
}

#[tokio::test]
async fn a_foreign_and_an_unknown_session_are_the_same_404() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let foreign = anna.delete(&format!("{SESSIONS}/{}", own_id(&ben).await)).await;
    foreign.is_error(404, "RES_001");
    anna.delete(&format!("{SESSIONS}/{}", Uuid::from_u128(7))).await.tells_no_more_than(&foreign);
    assert!(ben.is_signed_in().await);
}

#[tokio::test]
async fn an_id_that_is_none_is_422_and_only_for_somebody_signed_in() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    for id in ["x", "1", "%F0%9F%98%80", "%FF", "..%2f", "00000000-0000-0000-0000-00000000000g"] {
        anna.delete(&format!("{SESSIONS}/{id}")).await.has_fault("uuid_parsing", "path.id");
        world.anonymous().delete(&format!("{SESSIONS}/{id}")).await.is_error(401, "AUTH_002");
    }
}

#[tokio::test]
async fn ending_this_session_is_signing_out() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let reply = anna.delete(&format!("{SESSIONS}/{}", own_id(&anna).await)).await;
    assert!(reply.is(200).cookies()[0].starts_with("labs_refresh=;"), "{reply:?}");
    assert!(!anna.is_signed_in().await);
}

#[tokio::test]
async fn a_person_ends_all_sessions_but_this() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let others = [world.sign_in(&anna.email, PASSWORD).await, world.sign_in(&anna.email, PASSWORD).await];
    assert_eq!(anna.delete(SESSIONS).await.is(200).json()["ended"], 2);
    for other in others {
        assert!(!other.is_signed_in().await);
        other.refresh_with(&other.refresh).await.is_error(401, "AUTH_005");
    }
    assert!(anna.is_signed_in().await && ben.is_signed_in().await);
    anna.refresh_with(&anna.refresh).await.is(200);
    assert_eq!(anna.delete(SESSIONS).await.is(200).json()["ended"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_attempts_to_end_one_session_end_it_once() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let id = own_id(&world.sign_in(&anna.email, PASSWORD).await).await;
    let replies = at_once((0..50).map(|_| anna.delete(&format!("{SESSIONS}/{id}")))).await;
    assert_eq!((count(&replies, 200), count(&replies, 404)), (1, 49), "{replies:?}");
}

#[tokio::test]
async fn nobody_sees_or_ends_sessions_without_one() {
    let world = World::new().await;
    world.anonymous().get(SESSIONS).await.is_error(401, "AUTH_002");
    world.anonymous().delete(SESSIONS).await.is_error(401, "AUTH_002");
}
