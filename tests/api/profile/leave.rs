//! `DELETE /api/auth/me`, and the code for it.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::{
    password::{at_once, count},
    world::{Ask, PASSWORD, SignedIn, Verbs, World},
};

const ME: &str = "/api/auth/me";
const CODE: &str = "/api/auth/me/leave-code";

fn leave(person: &SignedIn, proof: &Value) -> Ask {
    person.ask(Method::DELETE, ME).json(proof)
}

/// Asks for a code and reads it from the mailbox.
async fn code(world: &World, person: &SignedIn) -> String {
    person.ask(Method::POST, CODE).await.is(202);
    let mail = world.mails_to(&person.email).await.pop().unwrap();
    let is_code = |line: &&str| line.len() == 9 && line.bytes().all(|it| it.is_ascii_digit() || it == b' ');
    mail.text.lines().find(is_code).unwrap_or_else(|| panic!("{mail:#?}")).to_owned()
}

const ROWS: [&str; 5] = [
    "SELECT count(*) FROM users WHERE $1 <> ''",
    "SELECT count(*) FROM sessions WHERE $1 <> ''",
    "SELECT count(*) FROM refresh_tokens WHERE $1 <> ''",
    "SELECT count(*) FROM workspaces WHERE $1 <> ''",
    "SELECT count(*) FROM tickets WHERE purpose <> 'decoy' AND $1 <> ''",
];

#[tokio::test]
async fn whoever_leaves_by_password_leaves_no_row_and_no_address() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": anna.email})).await.is(202);
    let reply = leave(&anna, &json!({"current_password": PASSWORD})).await;
    assert_eq!(reply.is(200).json(), json!({"message": "Your account has been deleted."}));
    assert!(reply.cookies()[0].starts_with("labs_refresh=;"), "{reply:?}");
    for rows in ROWS {
        assert_eq!(world.db_number(rows, "any").await, 0, "{rows}");
    }
    assert!(!anna.is_signed_in().await);
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
    world.anonymous().login(&anna.email, PASSWORD).await.is_error(401, "AUTH_001");
    let mails = world.mails_to(&anna.email).await;
    assert_eq!(mails.last().unwrap().subject, "Ihr Konto bei Labs wurde gelöscht");
    let kept = "SELECT act FROM audit_events WHERE $1 <> '' AND user_id IS NOT NULL ORDER BY id";
    let acts = world.db_texts(kept, "any").await;
    assert_eq!(acts, ["register", "verify_email", "sign_in", "password_forgotten", "leave"]);
    assert_eq!(world.db_number("SELECT count(*) FROM mail_outbox WHERE recipient = $1", &anna.email).await, 0);
    // The address is as new as any.
    world.member_at(&anna.email, PASSWORD).await;
}

#[tokio::test]
async fn a_code_from_the_mailbox_is_as_good_as_the_password_and_may_be_typed_without_its_blank() {
    let world = World::new().await;
    for typed in [|it: String| it, |it: String| it.replace(' ', ""), |it: String| it.replace(' ', "-")] {
        let anna = world.signed_in().await;
        let code = typed(code(&world, &anna).await);
        leave(&anna, &json!({"code": code})).await.is(200);
        assert_eq!(world.db_accounts_of(&anna.email).await, 0);
    }
}

#[tokio::test]
async fn a_wrong_password_or_none_on_the_account_is_400_and_deletes_nothing() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    leave(&anna, &json!({"current_password": "x"})).await.is_error(400, "AUTH_009");
    world.db_forget_password(&anna.email).await;
    leave(&anna, &json!({"current_password": PASSWORD})).await.is_error(400, "AUTH_010");
    assert_eq!(world.db_accounts_of(&anna.email).await, 1);
}

#[tokio::test]
async fn five_wrong_codes_end_the_right_one() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let right = code(&world, &anna).await;
    let wrong = if right == "0000 0000" { "1111 1111" } else { "0000 0000" };
    for _ in 0..5 {
        let reply = leave(&anna, &json!({"code": wrong})).await;
        reply.is_error(400, "AUTH_006");
        assert_eq!(reply.field("error"), "The code is invalid or has expired.");
    }
    leave(&anna, &json!({"code": right})).await.is_error(400, "AUTH_006");
    // A new one works again, the old one does not.
    let next = code(&world, &anna).await;
    if next != right {
        leave(&anna, &json!({"code": right})).await.is_error(400, "AUTH_006");
    }
    leave(&anna, &json!({"code": next})).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_wrong_codes_at_once_count_and_fifty_right_ones_leave_once() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let right = code(&world, &anna).await;
    let wrong = json!({"code": if right == "0000 0000" { "1111 1111" } else { "0000 0000" }});
    let replies = at_once((0..50).map(|_| leave(&anna, &wrong))).await;
    assert_eq!(count(&replies, 400), 50, "{replies:?}");
    leave(&anna, &json!({"code": right})).await.is_error(400, "AUTH_006");
    let right = json!({"code": code(&world, &anna).await});
    let replies = at_once((0..50).map(|_| leave(&anna, &right))).await;
    assert_eq!((count(&replies, 200), count(&replies, 401)), (1, 49), "{replies:?}");
}

#[tokio::test]
async fn a_code_lives_fifteen_minutes_and_opens_no_other_account() {
    let world = World::on_memory().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let of_anna = json!({"code": code(&world, &anna).await});
    let of_ben = code(&world, &ben).await;
    if of_anna["code"] != of_ben.as_str() {
        leave(&ben, &of_anna).await.is_error(400, "AUTH_006");
    }
    world.advance(Duration::from_mins(15));
    leave(&anna, &of_anna).await.is_error(400, "AUTH_006");
}

#[tokio::test]
async fn asking_for_codes_is_held_back_by_the_mailbox_alone() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    for _ in 0..10 {
        // It reads no body, not even one that is not JSON.
        anna.raw(CODE, Some("application/json"), "{").await.is(202);
    }
    anna.ask(Method::POST, CODE).await.is_mailbox_limited();
    world.anonymous().ask(Method::POST, CODE).await.is_error(401, "AUTH_002");
}

#[tokio::test]
async fn without_a_proof_nothing_is_deleted() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    anna.delete(ME).await.has_fault("missing", "body");
    leave(&anna, &json!({})).await.has_fault("missing", "body.current_password");
    leave(&anna, &json!({"code": 7})).await.has_fault("string_type", "body.code");
    leave(&anna, &json!({"code": "", "current_password": PASSWORD})).await.has_fault("string_too_short", "body.code");
    leave(&anna, &json!({"code": "0000 0000"})).await.is_error(400, "AUTH_006");
    world.anonymous().delete(ME).await.is_error(401, "AUTH_002");
    assert!(anna.is_signed_in().await);
}

#[tokio::test]
async fn a_shared_workspace_stays_and_gets_an_owner() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let sql = "INSERT INTO workspace_members (workspace_id, user_id, role, created_at)
               SELECT h.default_workspace_id, g.id, 'member', h.created_at FROM users h, users g
               WHERE h.email || ' ' || g.email = $1";
    assert_eq!(world.db_execute(sql, &format!("{} {}", anna.email, ben.email)).await, 1);
    leave(&anna, &json!({"current_password": PASSWORD})).await.is(200);
    let workspaces = ben.get("/api/auth/workspaces").await.json()["workspaces"].as_array().unwrap().clone();
    assert_eq!(workspaces.iter().map(|it| &it["role"]).collect::<Vec<_>>(), ["owner", "owner"]);
}
