//! The table of security events: what is written, and that nothing is taken back.

use std::process::{Command, Output};

use labs_auth::{cli::audit::since, clock::Timestamp, secret::fingerprint};
use serde_json::json;

use crate::world::{PASSWORD, Verbs, World};

/// The events about one mailbox's account, as `act outcome detail`.
async fn events(world: &World, email: &str) -> Vec<String> {
    let sql = "SELECT a.act || ' ' || a.outcome || ' ' || coalesce(a.detail, '-')
               FROM audit_events a JOIN users u ON u.id = a.user_id WHERE u.email = $1 ORDER BY a.id";
    world.db_texts(sql, email).await
}

#[tokio::test]
async fn each_act_of_an_account_leaves_one_event() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.anonymous().login(&anna.email, "Wrong-Horse-1!").await.is(401);
    let other = world.sign_in(&anna.email, PASSWORD).await;
    let renewed = world.holder_of(&other.refresh_with(&other.refresh).await);
    renewed.refresh_with(&renewed.refresh).await.is(200);
    other.refresh_with(&other.refresh).await.is(401);
    let body = json!({"current_password": "x", "new_password": "Chosen-Horse-3!"});
    anna.post("/api/auth/change-password", body).await.is(400);
    let body = json!({"current_password": PASSWORD, "new_password": "Chosen-Horse-3!"});
    anna.post("/api/auth/change-password", body).await.is(200);
    anna.delete("/api/auth/sessions").await.is(200);
    anna.post("/api/auth/logout", json!(null)).await.is(200);
    world.anonymous().post("/api/auth/forgot-password", json!({"email": anna.email})).await.is(202);
    let token = world.mailed_token(&anna.email, "/reset-password").await;
    let body = json!({"token": token, "new_password": "Another-Horse-7!"});
    world.anonymous().post("/api/auth/reset-password", body).await.is(200);
    world.register(&anna.email, PASSWORD).await.is(201);
    let expected = [
        "register ok -",
        "verify_email ok -",
        "sign_in ok password",
        "sign_in refused wrong credentials",
        "sign_in ok password",
        "refresh_reused refused session ended",
        "password_change refused wrong password",
        "password_change ok -",
        "sessions_revoked ok -",
        "sign_out ok local",
        "password_forgotten ok -",
        "password_reset ok -",
        "register refused address known",
    ];
    assert_eq!(events(&world, &anna.email).await, expected);
}

#[tokio::test]
async fn an_unknown_address_leaves_its_fingerprint_and_nothing_else() {
    let world = World::new().await;
    let email = world.mailbox();
    world.anonymous().login(&email, "Wrong-Horse-1!").await.is(401);
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    let sql = "SELECT act FROM audit_events WHERE mailbox = $1 AND user_id IS NULL ORDER BY id";
    assert_eq!(world.db_texts(sql, &fingerprint(&email)).await, ["sign_in", "password_forgotten"]);
}

#[tokio::test]
async fn whoever_has_a_link_mailed_is_written_down_whether_or_not_one_goes_out() {
    let world = World::new().await;
    let (waiting, member, nobody) = (world.unconfirmed().await, world.member().await, world.mailbox());
    for email in [&waiting, &member, &nobody] {
        for path in ["/api/auth/resend-verification", "/api/auth/request-magic-link"] {
            world.anonymous().post(path, json!({"email": email})).await.is(202);
        }
    }
    let asked = ["verification_resent ok -", "link_asked ok -"];
    assert_eq!(events(&world, &waiting).await[1..], asked);
    assert_eq!(events(&world, &member).await[2..], asked);
    let sql = "SELECT act FROM audit_events WHERE mailbox = $1 AND user_id IS NULL ORDER BY id";
    assert_eq!(world.db_texts(sql, &fingerprint(&nobody)).await, ["verification_resent", "link_asked"]);
}

#[tokio::test]
async fn an_event_names_the_counted_network_and_the_session() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let sql = "SELECT a.network FROM audit_events a JOIN users u ON u.id = a.user_id
               JOIN sessions s ON s.id = a.session_id WHERE u.email = $1 AND a.act = 'sign_in'";
    let networks = world.db_texts(sql, &anna.email).await;
    assert!(networks.len() == 1 && networks[0].ends_with("::/64"), "{networks:?}");
}

#[tokio::test]
async fn nobody_changes_or_removes_an_event() {
    let world = World::new().await;
    world.unconfirmed().await;
    for sql in ["UPDATE audit_events SET act = $1", "DELETE FROM audit_events WHERE $1 <> ''"] {
        let refused = tokio::spawn({
            let world = world.clone();
            async move { world.db_execute(sql, "x").await }
        });
        let panic = refused.await.unwrap_err().into_panic();
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains("append-only"), "{said}");
    }
    assert_eq!(world.db_number("SELECT count(*) FROM audit_events WHERE act <> $1", "x").await, 1);
}

#[test]
fn a_span_a_date_and_a_moment_are_understood_and_nothing_else() {
    let now = Timestamp::from_micros(1_767_323_045_000_000);
    let shown = |text: &str| since(text, now).map(Timestamp::to_rfc3339);
    assert_eq!(shown("90m").as_deref(), Some("2026-01-02T01:34:05Z"));
    assert_eq!(shown("24h").as_deref(), Some("2026-01-01T03:04:05Z"));
    assert_eq!(shown("7d").as_deref(), Some("2025-12-26T03:04:05Z"));
    assert_eq!(shown("2026-01-01").as_deref(), Some("2026-01-01T00:00:00Z"));
    assert_eq!(shown("2026-01-01T08:00:00+01:00").as_deref(), Some("2026-01-01T07:00:00Z"));
    for bad in [
        "",
        "h",
        "24",
        "24w",
        "-1h",
        "yesterday",
        "2026-13-01",
        "99999999999999999999h",
        "18446744073709551615d",
        "\u{e9}",
    ] {
        assert_eq!(shown(bad), None, "{bad}");
    }
}

fn audit(url: &str, arguments: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_labs-auth");
    Command::new(binary).arg("audit").args(arguments).env_clear().env("DATABASE_URL", url).output().unwrap()
}

#[tokio::test]
async fn the_command_shows_a_persons_events_without_the_address() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let id = anna.get("/api/auth/me").await.field("id");
    let run = |arguments: &'static [&'static str], user: Option<String>| {
        let url = world.db_url();
        tokio::task::spawn_blocking(move || {
            let mut all: Vec<&str> = arguments.to_vec();
            if let Some(user) = &user {
                all.extend(["--user", user]);
            }
            audit(&url, &all)
        })
    };
    for user in [id.clone(), anna.email.clone(), anna.email.to_uppercase()] {
        let output = run(&[], Some(user)).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains(&id) && !text.contains(&anna.email) && text.contains("sign_in"), "{text}");
    }
    let everybody = run(&[], None).await.unwrap();
    assert_eq!(String::from_utf8(everybody.stdout).unwrap().lines().count(), 6);
    let later = run(&["--since", "2026-01-03"], Some(ben.email.clone())).await.unwrap();
    assert!(later.status.success() && later.stdout.is_empty());
    for bad in [&["--since", "soon"] as &[_], &["--user", "nobody"]] {
        let output =
            run(if bad[0] == "--since" { &["--since", "soon"] } else { &["--user", "nobody"] }, None).await.unwrap();
        assert!(!output.status.success() && !output.stderr.is_empty());
    }
}
