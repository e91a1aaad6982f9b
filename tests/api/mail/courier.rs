//! The courier: what happens to a mail between the commit and the mail server.

use std::time::Duration;

use labs_auth::mail::{Delivery, MailState, Recipient};

use super::desk::{Desk, LINK, Place, anna, on_each_store, server_url, settings, verify_email};
use crate::world::smtp::{Manner, SmtpServer, Wire};

const MICROSECOND: Duration = Duration::from_micros(1);
const HOUR: Duration = Duration::from_hours(1);

on_each_store![
    a_mail_leaves_only_when_its_cause_is_committed,
    a_void_mail_is_composed_and_never_sent,
    a_mail_waits_out_a_server_that_is_down,
    the_wait_doubles_up_to_ten_minutes_and_ends_after_a_day,
    a_server_that_is_busy_makes_mail_failing_until_it_recovers,
    an_unknown_mailbox_is_given_up_at_once_and_a_policy_refusal_is_not,
    two_couriers_deliver_every_mail_exactly_once,
    a_mail_of_a_courier_that_vanished_is_delivered_after_its_lease,
    the_outbox_shows_neither_link_nor_token,
    a_mail_that_no_key_opens_is_given_up,
];

async fn server_and_desk(place: Place) -> (SmtpServer, Desk) {
    let server = SmtpServer::start(Wire::Clear, Manner::Obliging).await;
    let desk = Desk::at(place, &settings(&server_url(&server))).await;
    (server, desk)
}

async fn a_mail_leaves_only_when_its_cause_is_committed(place: Place) {
    let (server, desk) = server_and_desk(place).await;
    let mut tx = desk.db.begin().await.unwrap();
    desk.post.enqueue(&mut tx, anna(), &verify_email(), Delivery::Send).await.unwrap();
    drop(tx);
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 0);
    desk.enqueue_one().await;
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 1);
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 0);
    assert_eq!(server.received().len(), 1);
    assert_eq!(server.received()[0].from, "auth@labs.example");
    assert!(desk.place.outbox().await.is_empty(), "a delivered mail leaves the table");
}

async fn a_void_mail_is_composed_and_never_sent(place: Place) {
    let (server, desk) = server_and_desk(place).await;
    desk.enqueue(anna(), &verify_email(), Delivery::Void).await;
    let row = desk.place.outbox().await.remove(0);
    assert_eq!((row.state.as_str(), row.kind.as_str()), ("void", "verify_email"));
    assert!(row.sealed.len() > 2000, "it is a whole message");
    assert_eq!(desk.courier.report().await.queued, 0);
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 0);
    assert!(desk.place.outbox().await.is_empty());
    assert_eq!(server.connections(), 0);
}

// case 255
async fn a_mail_waits_out_a_server_that_is_down(place: Place) {
    let (server, desk) = server_and_desk(place).await;
    server.behave(Manner::Closed);
    desk.enqueue_one().await;
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 0);
    server.behave(Manner::Obliging);
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 0, "not before its time");
    desk.hands.advance(Duration::from_secs(1));
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 1);
    assert_eq!(server.received().len(), 1);
}

async fn the_wait_doubles_up_to_ten_minutes_and_ends_after_a_day(place: Place) {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let desk = Desk::at(place, &settings(&format!("smtp://{nobody}"))).await;
    desk.enqueue_one().await;
    desk.courier.deliver_due().await.unwrap();
    for (failures, seconds) in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600].into_iter().enumerate() {
        let wait = Duration::from_secs(seconds);
        desk.hands.advance(wait.saturating_sub(MICROSECOND));
        desk.courier.deliver_due().await.unwrap();
        assert_eq!(desk.place.outbox().await[0].attempts, i64::try_from(failures).unwrap() + 1, "before {wait:?}");
        desk.hands.advance(MICROSECOND);
        desk.courier.deliver_due().await.unwrap();
        assert_eq!(desk.place.outbox().await[0].attempts, i64::try_from(failures).unwrap() + 2, "after {wait:?}");
    }
    assert_eq!(desk.courier.report().await.dead, 0);
    desk.hands.advance(24 * HOUR);
    desk.courier.deliver_due().await.unwrap();
    let report = desk.courier.report().await;
    assert_eq!((report.queued, report.dead, report.state), (0, 1, MailState::Failing));
    let row = desk.place.outbox().await.remove(0);
    assert_eq!(row.state, "dead");
    assert!(row.last_error.unwrap().starts_with("connection: "));
    assert_eq!(desk.courier.sweep().await.unwrap(), 0, "an operator can still see it");
    desk.hands.advance(30 * 24 * HOUR);
    assert_eq!(desk.courier.sweep().await.unwrap(), 1);
}

// case 117
async fn a_server_that_is_busy_makes_mail_failing_until_it_recovers(place: Place) {
    let (server, desk) = server_and_desk(place).await;
    server.behave(Manner::Busy);
    desk.enqueue_one().await;
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 0);
    desk.hands.advance(Duration::from_secs(90));
    let report = desk.courier.report().await;
    assert_eq!((report.transport, report.state.as_str()), ("smtp", "failing"));
    assert_eq!((report.queued, report.dead, report.oldest_seconds), (1, 0, 90));
    server.behave(Manner::Obliging);
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 1);
    let report = desk.courier.report().await;
    assert_eq!((report.state, report.queued, report.oldest_seconds), (MailState::Healthy, 0, 0));
}

async fn an_unknown_mailbox_is_given_up_at_once_and_a_policy_refusal_is_not(place: Place) {
    let (server, desk) = server_and_desk(place).await;
    for (line, state) in [
        ("550 5.1.1 <anna@x.example> unknown, see https://x.example/?token=abc", "dead"),
        ("550 no such user", "dead"),
        ("550 5.7.1 relaying denied", "queued"),
        ("530 5.7.0 sign in first", "queued"),
        ("452 4.2.2 mailbox full", "queued"),
    ] {
        server.behave(Manner::Refusing(line));
        desk.enqueue_one().await;
        desk.courier.deliver_due().await.unwrap();
        let row = desk.place.outbox().await.pop().unwrap();
        assert_eq!(row.state, state, "{line}");
        let reason = row.last_error.unwrap();
        assert!(reason.starts_with("RCPT TO: "), "{reason}");
        assert!(!reason.contains("anna") && !reason.contains("token"), "{reason}");
        server.behave(Manner::Obliging);
        desk.hands.advance(HOUR);
        desk.courier.deliver_due().await.unwrap();
        desk.hands.advance(31 * 24 * HOUR);
        desk.courier.sweep().await.unwrap();
    }
    assert_eq!(server.received().len(), 3);
}

async fn two_couriers_deliver_every_mail_exactly_once(place: Place) {
    let (server, desk) = server_and_desk(place).await;
    let other = desk.beside(&settings(&server_url(&server)), super::desk::SECRET).await;
    for number in 0..40 {
        let email = format!("u{number}@x.example");
        desk.enqueue(Recipient { email: &email, ..anna() }, &verify_email(), Delivery::Send).await;
    }
    let mut delivered = 0;
    while delivered < 40 {
        let (ours, theirs) = tokio::join!(desk.courier.deliver_due(), other.courier.deliver_due());
        delivered += ours.unwrap() + theirs.unwrap();
    }
    let mut recipients: Vec<_> = server.received().into_iter().flat_map(|mail| mail.to).collect();
    recipients.sort();
    recipients.dedup();
    assert_eq!((recipients.len(), server.received().len(), delivered), (40, 40, 40));
    assert!(server.connections() <= 16, "connections are used again: {}", server.connections());
    assert!(desk.place.outbox().await.is_empty());
}

async fn a_mail_of_a_courier_that_vanished_is_delivered_after_its_lease(place: Place) {
    let (server, desk) = server_and_desk(place).await;
    server.behave(Manner::Silent);
    desk.enqueue_one().await;
    let doomed = desk.beside(&settings(&server_url(&server)), super::desk::SECRET).await;
    let round = tokio::spawn(async move { doomed.courier.deliver_due().await.map(|_| ()) });
    while server.connections() == 0 {
        tokio::task::yield_now().await;
    }
    round.abort();
    assert!(round.await.unwrap_err().is_cancelled());
    server.behave(Manner::Obliging);
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 0, "the lease still holds");
    desk.hands.advance(Duration::from_secs(81));
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 1);
}

async fn the_outbox_shows_neither_link_nor_token(place: Place) {
    let desk = Desk::at(place, &settings("file://unused")).await;
    desk.enqueue_one().await;
    let row = desk.place.outbox().await.remove(0);
    let token = LINK.split(['=', '&']).nth(1).unwrap();
    assert!(!row.sealed.windows(token.len()).any(|window| window == token.as_bytes()));
    assert!(!row.sealed.windows(5).any(|window| window == b"https"));
    assert_eq!(row.recipient, "anna@x.example");
}

async fn a_mail_that_no_key_opens_is_given_up(place: Place) {
    let (server, desk) = server_and_desk(place).await;
    desk.enqueue_one().await;
    let stranger = desk.beside(&settings(&server_url(&server)), "another key, which is also long enough").await;
    assert_eq!(stranger.courier.deliver_due().await.unwrap(), 0);
    assert_eq!(stranger.courier.report().await.dead, 1);
    assert_eq!(server.connections(), 0);
}
