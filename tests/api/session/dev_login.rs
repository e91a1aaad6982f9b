//! `POST /api/auth/dev-login`.

use serde_json::json;

use crate::world::{Verbs, World};

const DEV_LOGIN: &str = "/api/auth/dev-login";

#[tokio::test]
async fn production_does_not_know_the_route() {
    // case 305
    let world = World::new().await;
    let email = world.member().await;
    world.db_execute("UPDATE users SET role = 'admin' WHERE email = $1", &email).await;
    let unknown = world.anonymous().post("/api/auth/nope", json!({"email": email})).await;
    let reply = world.anonymous().post(DEV_LOGIN, json!({"email": email})).await;
    reply.is_error(404, "RES_001").tells_no_more_than(&unknown);
    assert_eq!(world.db_open_sessions_of(&email).await, 0);
}

#[tokio::test]
async fn development_signs_in_the_first_active_admin() {
    let world = World::with(&[("ENVIRONMENT", "development")]).await;
    world.anonymous().raw(DEV_LOGIN, None, "").await.is_error(404, "RES_001");
    let (first, second) = (world.member().await, world.member().await);
    world.advance(std::time::Duration::from_secs(1));
    let third = world.member().await;
    for admin in [&second, &third] {
        world.db_execute("UPDATE users SET role = 'admin' WHERE email = $1", admin).await;
    }
    assert_ne!(first, second);
    let reply = world.anonymous().raw(DEV_LOGIN, Some("application/json"), "}not json").await;
    assert_eq!(world.holder_of(reply.is(200)).email, second);
    world.db_disable(&second).await;
    let reply = world.anonymous().raw(DEV_LOGIN, None, "").await;
    assert_eq!(world.holder_of(reply.is(200)).email, third);
}

#[tokio::test]
async fn a_developer_is_never_counted() {
    let world = World::with(&[("ENVIRONMENT", "development")]).await;
    let somebody = world.anonymous();
    for _ in 0..40 {
        somebody.raw(DEV_LOGIN, None, "").await.is_error(404, "RES_001");
    }
}
