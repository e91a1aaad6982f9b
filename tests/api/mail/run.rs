//! The courier as a task: woken by the bell, bounded by its own deadlines, stopped without losing a mail.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::desk::{Desk, Place, server_url, settings};
use crate::world::smtp::{Manner, SmtpServer, Wire};

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
    let courier = Arc::clone(&desk.courier);
    let task = tokio::spawn({
        let cancel = cancel.clone();
        async move { courier.run(cancel).await }
    });
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

// case 257
#[tokio::test]
async fn a_server_that_stays_silent_holds_nobody_but_the_mail_itself() {
    for manner in [Manner::Silent, Manner::SilentAfterMessage] {
        let server = SmtpServer::start(Wire::Clear, manner).await;
        let desk = Desk::at(Place::sqlite(), &settings(&server_url(&server))).await;
        desk.enqueue_one().await;
        let courier = Arc::clone(&desk.courier);
        let round = tokio::spawn(async move { courier.deliver_due().await.unwrap() });
        while server.connections() == 0 {
            tokio::task::yield_now().await;
        }
        let start = Instant::now();
        for _ in 0..20 {
            desk.enqueue_one().await;
        }
        assert!(start.elapsed() < Duration::from_secs(2), "enqueueing waits for no mail server");
        assert_eq!(round.await.unwrap(), 0);
        let rows = desk.place.outbox().await;
        assert_eq!(rows.len(), 21);
        assert!(rows.iter().all(|row| row.last_error.as_deref().is_none_or(|why| why.contains("no answer in time"))));
    }
}

#[tokio::test]
async fn a_slow_server_gets_its_mail() {
    let server = SmtpServer::start(Wire::Clear, Manner::Slow(Duration::from_millis(50))).await;
    let desk = Desk::at(Place::sqlite(), &settings(&server_url(&server))).await;
    desk.enqueue_one().await;
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 1);
}
