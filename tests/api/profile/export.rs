//! `GET /api/auth/me/export`.

use serde_json::json;

use crate::world::{PASSWORD, Verbs, World};

const EXPORT: &str = "/api/auth/me/export";

#[tokio::test]
async fn an_export_holds_everything_about_the_caller_and_nobody_else() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let new = world.mailbox();
    let body = json!({"new_email": new, "current_password": PASSWORD});
    anna.post("/api/auth/change-email", body).await.is(202);
    world.anonymous().login(&anna.email, "Wrong-Horse-1!").await.is(401);
    let reply = anna.get(EXPORT).await;
    let export = reply.is(200).json();
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("content-disposition"), Some("attachment; filename=\"labs-account.json\""));
    assert_eq!(export["account"]["email"], anna.email.as_str());
    assert_eq!(export["workspaces"].as_array().unwrap().len(), 1);
    assert_eq!(export["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(export["passkeys"], json!([]));
    assert_eq!(export["sessions"][0]["signed_in_by"], "password");
    assert!(export["email_changes"].as_array().unwrap().iter().any(|it| it["address"] == new.as_str()), "{export}");
    let acts: Vec<&str> =
        export["security_events"].as_array().unwrap().iter().map(|it| it["act"].as_str().unwrap()).collect();
    assert_eq!(acts, ["register", "verify_email", "sign_in", "email_change_asked", "sign_in", "export"]);
    let text = String::from_utf8(reply.body.clone()).unwrap();
    for secret in ["argon2", "hash", &ben.email, &anna.refresh] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[tokio::test]
async fn nobody_exports_without_a_session_and_nobody_exports_somebody_else() {
    let world = World::new().await;
    world.anonymous().get(EXPORT).await.is_error(401, "AUTH_002");
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let id = ben.get("/api/auth/me").await.field("id");
    for path in [format!("/api/auth/users/{id}/export"), format!("/api/auth/me/{id}/export"), format!("{EXPORT}/{id}")]
    {
        anna.get(&path).await.is_error(404, "RES_001");
    }
}
