//! The courier as a task: woken by the bell, bounded by its own deadlines, stopped without losing a mail.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use labs_auth::mail::{MailSettings, Patience};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::desk::{Desk, Place, SECRET, patience, server_url, settings};
use crate::world::smtp::{Manner, SmtpServer, Wire};

fn spawn(desk: &Desk, cancel: &CancellationToken) -> JoinHandle<()> {
    let (courier, cancel) = (Arc::clone(&desk.courier), cancel.clone());
    tokio::spawn(async move { courier.run(cancel).await })
}

// case 295
#[tokio::test]
async fn a_mail_that_was_just_enqueued_still_leaves_when_the_process_ends() {
    let server = SmtpServer::start(Wire::Clear, Manner::Slow(Duration::from_millis(30))).await;
    let desk = Desk::at(Place::sqlite(), &settings(&server_url(&server))).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    desk.enqueue_one().await;
    desk.courier.run(cancel).await;
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn the_bell_wakes_the_courier() {
    let server = SmtpServer::start(Wire::Clear, Manner::Obliging).await;
    let desk = Desk::at(Place::sqlite(), &settings(&server_url(&server))).await;
    let cancel = CancellationToken::new();
    let task = spawn(&desk, &cancel);
    for count in 1..=3 {
        desk.enqueue_one().await;
        desk.post.wake();
        let rung = Instant::now();
        while server.received().len() < count {
            tokio::task::yield_now().await;
        }
        assert!(rung.elapsed() < Duration::from_millis(1500), "sooner than the next round of its own");
    }
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn one_ring_is_enough_for_many_mails() {
    let server = SmtpServer::start(Wire::Clear, Manner::Obliging).await;
    let desk = Desk::at(Place::sqlite(), &settings(&server_url(&server))).await;
    let cancel = CancellationToken::new();
    let task = spawn(&desk, &cancel);
    for _ in 0..30 {
        desk.enqueue_one().await;
    }
    desk.post.wake();
    let rung = Instant::now();
    while server.received().len() < 30 {
        tokio::task::yield_now().await;
    }
    assert!(rung.elapsed() < Duration::from_secs(4), "sooner than the next round of its own");
    cancel.cancel();
    task.await.unwrap();
    assert!(desk.place.outbox().await.is_empty());
}

// case 257
#[tokio::test]
async fn a_server_that_stays_silent_holds_nobody_but_the_mail_itself() {
    for manner in [Manner::Silent, Manner::SilentAfterMessage] {
        let server = SmtpServer::start(Wire::Clear, manner).await;
        let settings =
            MailSettings { patience: patience(Duration::from_millis(300)), ..settings(&server_url(&server)) };
        let desk = Desk::at(Place::sqlite(), &settings).await;
        let cancel = CancellationToken::new();
        let task = spawn(&desk, &cancel);
        desk.enqueue_one().await;
        desk.post.wake();
        while server.connections() == 0 {
            tokio::task::yield_now().await;
        }
        let start = Instant::now();
        for _ in 0..7 {
            desk.enqueue_one().await;
        }
        assert!(start.elapsed() < Duration::from_secs(1), "enqueueing waits for no mail server");
        cancel.cancel();
        task.await.unwrap();
        let rows = desk.place.outbox().await;
        assert_eq!(rows.len(), 8, "nothing is lost");
        for row in rows {
            assert_eq!(row.attempts, 1);
            assert!(row.last_error.unwrap().contains("in time") || manner == Manner::SilentAfterMessage);
        }
    }
}

#[tokio::test]
async fn mails_that_hang_at_the_end_are_given_back_for_the_next_process() {
    let server = SmtpServer::start(Wire::Clear, Manner::Silent).await;
    let parting = Duration::from_millis(100);
    let usual = settings(&server_url(&server));
    let settings = MailSettings { patience: Patience { parting, ..usual.patience }, ..usual };
    let desk = Desk::at(Place::sqlite(), &settings).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    for _ in 0..6 {
        desk.enqueue_one().await;
    }
    desk.courier.run(cancel).await;
    assert_eq!(server.connections(), 4);
    server.behave(Manner::Obliging);
    let next = desk.beside(&settings, SECRET).await;
    assert_eq!(next.courier.deliver_due().await.unwrap(), 6, "at once, without waiting for a lease to end");
}

// One mail that hangs must not hold up those behind it.
#[tokio::test]
async fn a_mail_that_hangs_leaves_the_other_lanes_free() {
    let server = SmtpServer::start(Wire::Clear, Manner::Silent).await;
    let settings = MailSettings { patience: patience(Duration::from_secs(2)), ..settings(&server_url(&server)) };
    let desk = Desk::at(Place::sqlite(), &settings).await;
    let cancel = CancellationToken::new();
    let task = spawn(&desk, &cancel);
    desk.enqueue_one().await;
    desk.post.wake();
    while server.connections() == 0 {
        tokio::task::yield_now().await;
    }
    server.behave(Manner::Obliging);
    let hung = Instant::now();
    for _ in 0..5 {
        desk.enqueue_one().await;
    }
    desk.post.wake();
    while server.received().len() < 5 {
        tokio::task::yield_now().await;
    }
    assert!(hung.elapsed() < Duration::from_millis(1800), "sooner than the first mail's deadline");
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn a_slow_server_gets_its_mail() {
    let server = SmtpServer::start(Wire::Clear, Manner::Slow(Duration::from_millis(50))).await;
    let desk = Desk::at(Place::sqlite(), &settings(&server_url(&server))).await;
    desk.enqueue_one().await;
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 1);
}
