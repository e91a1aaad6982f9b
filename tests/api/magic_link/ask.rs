//! `POST /api/auth/request-magic-link`: one answer for everybody, and what the mail says.

use std::time::{Duration, Instant};

use serde_json::json;

use super::ASK;
use crate::world::{Mail, Verbs, World};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// The mail with the link.
async fn link_mail(world: &World, email: &str) -> Mail {
    let mails = world.mails_to(email).await;
    mails.into_iter().find(|mail| mail.text.contains("/magic-link?")).unwrap()
}

#[tokio::test]
async fn known_unknown_unconfirmed_and_disabled_mailboxes_get_one_answer_and_one_amount_of_work() {
    // cases 109 and 111, for links
    let world = World::new().await;
    let (known, unconfirmed, disabled) = (world.member().await, world.unconfirmed().await, world.member().await);
    world.db_disable(&disabled).await;
    let first = world.wish(&known).await;
    let mut handles = vec![first.is(202).field("handle")];
    for email in [unconfirmed.clone(), disabled.clone(), world.mailbox()] {
        let reply = world.wish(&email).await;
        reply.is(202);
        assert_eq!(reply.header_names(), first.header_names());
        assert_eq!(reply.body.len(), first.body.len());
        assert_eq!(reply.field("message"), first.field("message"));
        handles.push(reply.field("handle"));
    }
    assert!(handles.iter().all(|handle| handle.len() == 43), "{handles:?}");
    // The same rows are written for everybody: a ticket, a code and a mail.
    let written = |table: &'static str| world.db_number(table, "%");
    assert_eq!(written("SELECT count(*) FROM ticket_codes WHERE $1 = '%'").await, 4);
    assert_eq!(world.mails_to(&known).await.iter().filter(|mail| mail.text.contains("/magic-link?")).count(), 1);
    assert_eq!(world.mails_to(&unconfirmed).await.iter().filter(|mail| mail.text.contains("/magic-link?")).count(), 1);
    assert_eq!(world.mails_to(&disabled).await.iter().filter(|mail| mail.text.contains("/magic-link?")).count(), 0);
}

#[tokio::test]
async fn the_mail_says_who_asked_and_warns_of_foreign_pages() {
    let world = World::new().await;
    let email = world.member().await;
    let anybody = world.anonymous();
    anybody.post(ASK, json!({"email": email})).header("user-agent", FIREFOX).await.is(202);
    let mail = link_mail(&world, &email).await;
    assert_eq!(mail.subject, "Anmeldung bei Labs");
    for part in [&mail.text, &mail.html] {
        assert!(part.contains(&anybody.address.to_string()), "{part}");
        assert!(part.contains("Firefox on Linux"), "{part}");
        assert!(part.contains("nur auf der Seite ein, auf der Sie ihn selbst angefordert haben"), "{part}");
        assert!(part.contains("15 Minuten"), "{part}");
    }
}

#[tokio::test]
async fn nothing_that_the_asking_client_wrote_reaches_the_mailbox() {
    let world = World::new().await;
    let email = world.member().await;
    let wish = world.wish(&email).header("user-agent", "Win money at https://evil.example/ Firefox/1");
    wish.header("referer", "https://evil.example/").await.is(202);
    let mail = link_mail(&world, &email).await;
    assert!(!mail.raw.contains("evil.example") && !mail.html.contains("money"), "{}", mail.raw);
    assert!(mail.text.contains("Firefox"));
}

#[tokio::test]
async fn the_link_leads_to_the_configured_page_whatever_the_request_says() {
    let world = World::new().await;
    let email = world.member().await;
    let wish = world.wish(&email).only("host", "evil.example").origin("https://evil.example");
    wish.header("x-forwarded-host", "evil.example").await.is(202);
    let links = link_mail(&world, &email).await.links();
    assert!(links.iter().all(|link| link.starts_with("https://labs.example/magic-link?token=")), "{links:?}");
}

#[tokio::test]
async fn the_sixth_request_answers_alike_and_mails_nothing() {
    let world = World::new().await;
    let email = world.member().await;
    let mut asked = Vec::new();
    for _ in 0..5 {
        asked.push(world.asked(&email).await);
    }
    world.wish(&email).await.is(202);
    assert_eq!(world.mails_to(&email).await.len(), 6, "the confirmation and five links");
    // case 079: an older link is not ended by a newer one, but by its use.
    world.redeem_token(&asked[0].token).await.is(200);
    for later in &asked[1..] {
        world.redeem_token(&later.token).await.is_error(400, "AUTH_006");
    }
    world.redeem_token(&world.asked(&email).await.token).await.is(200);
}

#[tokio::test]
async fn the_eleventh_request_for_a_mailbox_waits_from_whatever_network() {
    // acceptance check 7
    let world = World::new().await;
    let email = world.member().await;
    for _ in 0..10 {
        world.wish(&email).await.is(202);
    }
    world.wish(&email.to_uppercase()).await.is_mailbox_limited();
    world.wish(&world.mailbox()).await.is(202);
    // Another kind of mail has a budget of its own.
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
}

#[tokio::test]
async fn an_empty_body_spends_the_path_alone() {
    let world = World::new().await;
    let anybody = world.anonymous();
    let reply = anybody.post(ASK, json!({})).await;
    reply.has_fault("missing", "body.email");
    assert_eq!(reply.remaining(), 29);
    for email in ["x", "a@b", "m\u{fc}ller@x.example"] {
        // case 031
        anybody.post(ASK, json!({"email": email})).await.has_fault("value_error", "body.email");
    }
    anybody.raw(ASK, Some("application/json"), "{").await.has_fault("json_invalid", "body.0");
}

#[tokio::test]
async fn the_last_of_two_addresses_is_charged_and_mailed() {
    // case 003
    let world = World::new().await;
    let (first, second) = (world.member().await, world.member().await);
    let body = format!(r#"{{"email": "{first}", "email": "{second}"}}"#);
    world.anonymous().raw(ASK, Some("application/json"), body).await.is(202);
    let links = |mails: Vec<Mail>| mails.iter().filter(|it| it.text.contains("/magic-link?")).count();
    assert_eq!((links(world.mails_to(&first).await), links(world.mails_to(&second).await)), (0, 1));
}

#[tokio::test]
async fn a_mail_server_that_says_nothing_delays_no_answer() {
    // cases 117 and 257
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", silent.local_addr().unwrap());
    let world = World::with(&[("MAIL_URL", &url)]).await;
    let email = world.mailbox();
    world.register(&email, crate::world::PASSWORD).await.is(201);
    let (known, unknown) = (world.wish(&email), world.wish(&world.mailbox()));
    let begun = Instant::now();
    let (known, unknown) = (known.await, unknown.await);
    assert!(begun.elapsed() < Duration::from_secs(2));
    known.is(202);
    assert_eq!(known.field("message"), unknown.is(202).field("message"));
}
