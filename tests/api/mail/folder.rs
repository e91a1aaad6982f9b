//! Mails as files, for development.

use std::{fs, os::unix::fs::PermissionsExt};

use labs_auth::mail::{Delivery, MailState};
use mail_parser::MessageParser;

use super::desk::{Desk, LINK, Place, anna, settings, verify_email};

#[tokio::test]
async fn every_mail_becomes_one_whole_file_that_only_its_owner_reads() {
    let place = Place::sqlite();
    let folder = place.folder().join("data/mail");
    let desk = Desk::at(place, &settings(&format!("file://{}", folder.display()))).await;
    desk.enqueue_one().await;
    desk.enqueue(anna(), &verify_email(), Delivery::Send).await;
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 2);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(files.len(), 2);
    for file in files {
        let name = file.file_name().into_string().unwrap();
        assert!(name.starts_with("2026-01-02T03-04-05.000Z-verify_email-"), "{name}");
        assert_eq!(file.path().extension(), Some("eml".as_ref()), "no draft is left");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let bytes = fs::read(file.path()).unwrap();
        let message = MessageParser::default().parse(&bytes).unwrap();
        assert!(message.body_text(0).unwrap().lines().any(|line| line == LINK));
    }
    assert_eq!(desk.courier.report().await.transport, "file");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_puts_the_mail_off() {
    let place = Place::sqlite();
    let blocked = place.folder().join("blocked");
    fs::write(&blocked, "a file where the folder should be").unwrap();
    let desk = Desk::at(place, &settings(&format!("file://{}", blocked.display()))).await;
    desk.enqueue_one().await;
    assert_eq!(desk.courier.deliver_due().await.unwrap(), 0);
    let report = desk.courier.report().await;
    assert_eq!((report.state, report.queued), (MailState::Failing, 1));
}
