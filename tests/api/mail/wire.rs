//! The connection: TLS where it is required, and nothing said without it.

use labs_auth::mail::{MailSettings, MailState};

use super::desk::{Desk, Place, settings};
use crate::world::smtp::{Manner, SmtpServer, Wire};

/// One attempt at one mail; what was delivered, and why it was not.
async fn attempt(settings: &MailSettings) -> (usize, Option<String>, MailState) {
    let desk = Desk::at(Place::sqlite(), settings).await;
    desk.enqueue_one().await;
    let delivered = desk.courier.deliver_due().await.unwrap();
    let reason = desk.place.outbox().await.pop().and_then(|row| row.last_error);
    (delivered, reason, desk.courier.report().await.state)
}

fn required(server: &SmtpServer) -> MailSettings {
    settings(&format!("smtp://user:p%40ss@{}?tls=required", server.address()))
}

fn trusting(server: &SmtpServer, settings: MailSettings) -> MailSettings {
    MailSettings { authorities: Some(server.certificate()), ..settings }
}

fn assert_nothing_said(server: &SmtpServer) {
    for command in ["AUTH", "MAIL", "RCPT", "DATA"] {
        assert_eq!(server.heard(command), 0, "{command}");
    }
}

// case 259
#[tokio::test]
async fn a_server_without_starttls_hears_neither_password_nor_mail() {
    let server = SmtpServer::start(Wire::Clear, Manner::Obliging).await;
    let (delivered, reason, state) = attempt(&trusting(&server, required(&server))).await;
    assert_eq!((delivered, state), (0, MailState::Failing));
    assert!(reason.unwrap().starts_with("STARTTLS: "));
    assert_nothing_said(&server);
}

#[tokio::test]
async fn a_server_with_starttls_gets_the_password_and_the_mail_encrypted() {
    let server = SmtpServer::start(Wire::StartTls, Manner::Obliging).await;
    let (delivered, reason, state) = attempt(&trusting(&server, required(&server))).await;
    assert_eq!((delivered, reason, state), (1, None, MailState::Healthy));
    assert_eq!((server.heard("AUTH"), server.heard("EHLO")), (1, 2));
    assert!(server.received()[0].encrypted);
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_ends_the_attempt() {
    let server = SmtpServer::start(Wire::StartTls, Manner::Obliging).await;
    let (delivered, reason, state) = attempt(&required(&server)).await;
    assert_eq!((delivered, state), (0, MailState::Failing));
    assert!(reason.unwrap().starts_with("STARTTLS: "));
    assert_nothing_said(&server);
}

#[tokio::test]
async fn a_certificate_for_another_name_ends_the_attempt() {
    let server = SmtpServer::start_as("elsewhere.example", Wire::StartTls, Manner::Obliging).await;
    let (delivered, reason, _) = attempt(&trusting(&server, required(&server))).await;
    assert_eq!(delivered, 0);
    assert!(reason.unwrap().starts_with("STARTTLS: "));
    assert_nothing_said(&server);
}

#[tokio::test]
async fn smtps_is_encrypted_from_the_first_byte() {
    let server = SmtpServer::start(Wire::Tls, Manner::Obliging).await;
    let settings = settings(&format!("smtps://user:secret@{}", server.address()));
    let (delivered, reason, _) = attempt(&trusting(&server, settings)).await;
    assert_eq!((delivered, reason), (1, None));
    assert!(server.received()[0].encrypted);
}

#[tokio::test]
async fn a_server_on_this_machine_needs_no_tls() {
    let server = SmtpServer::start(Wire::Clear, Manner::Obliging).await;
    let (delivered, _, _) = attempt(&settings(&format!("smtp://{}", server.address()))).await;
    assert_eq!(delivered, 1);
}
