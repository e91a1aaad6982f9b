//! How long a session lives unused, and at most.

use std::time::Duration;

use crate::world::{SignedIn, Verbs, World};

const DAY: Duration = Duration::from_hours(24);

async fn renew(world: &World, person: &SignedIn) -> SignedIn {
    world.holder_of(person.refresh_with(&person.refresh).await.is(200))
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends_after_the_idle_days() {
    let world = World::plan().set("SESSION_IDLE_DAYS", "2").on_memory().build().await;
    let anna = world.signed_in().await;
    world.advance(DAY);
    let anna = renew(&world, &anna).await;
    world.advance(2 * DAY);
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
}

#[tokio::test]
async fn a_request_with_the_access_token_counts_as_use() {
    let world = World::plan()
        .set("SESSION_IDLE_DAYS", "1")
        .set("ACCESS_TOKEN_EXPIRE_MINUTES", "1440")
        .on_memory()
        .build()
        .await;
    let anna = world.signed_in().await;
    world.advance(Duration::from_hours(23));
    assert!(anna.is_signed_in().await);
    world.advance(Duration::from_hours(23));
    renew(&world, &anna).await;
}

#[tokio::test]
async fn even_a_busy_session_ends_after_the_absolute_days() {
    let world = World::plan().set("SESSION_ABSOLUTE_DAYS", "3").on_memory().build().await;
    let mut anna = world.signed_in().await;
    for _ in 0..2 {
        world.advance(DAY);
        anna = renew(&world, &anna).await;
    }
    world.advance(DAY.checked_sub(Duration::from_secs(1)).unwrap());
    anna = renew(&world, &anna).await;
    assert!(anna.is_signed_in().await);
    world.advance(Duration::from_secs(1));
    assert!(!anna.is_signed_in().await);
    anna.refresh_with(&anna.refresh).await.is_error(401, "AUTH_005");
}

#[tokio::test]
async fn the_note_of_a_sessions_use_is_written_at_most_once_a_minute() {
    let world = World::on_memory().await;
    let anna = world.signed_in().await;
    let seen = async || {
        let sessions = anna.get("/api/auth/sessions").await.is(200).json();
        sessions["sessions"][0]["last_seen_at"].as_str().unwrap().to_owned()
    };
    let first = seen().await;
    world.advance(Duration::from_secs(59));
    assert_eq!(seen().await, first);
    world.advance(Duration::from_secs(1));
    assert_eq!(seen().await, "2026-01-02T03:05:05Z");
}

#[test]
fn idle_days_beyond_the_refresh_token_refuse_the_start() {
    let mut variables = labs_auth::config::Variables::default();
    variables.set("REFRESH_TOKEN_EXPIRE_DAYS", "10");
    variables.set("SESSION_IDLE_DAYS", "11");
    let faults = labs_auth::config::Settings::read(&variables).unwrap_err();
    assert!(faults.iter().any(|fault| fault.name == "SESSION_IDLE_DAYS"), "{faults:?}");
}
