//! What the letters say and how they are built.

use std::time::Duration;

use labs_auth::mail::{Delivery, Language, Letter, Recipient, Request};
use mail_parser::{MimeHeaders, PartType};

use super::desk::{Arrived, Correspondence, Desk, LINK, Place, anna, letter_as_received, settings, verify_email};

const LABS: &str = "Labs <auth@labs.example>";

fn every_letter() -> Vec<(Letter, Vec<&'static str>)> {
    let link = || LINK.to_owned();
    vec![
        (verify_email(), vec![LINK]),
        (Letter::SetPassword { link: link(), valid_for: Duration::from_hours(7 * 24) }, vec![LINK]),
        (Letter::ResetPassword { link: link() }, vec![LINK]),
        (
            Letter::MagicLink {
                link: link(),
                code: "4K7M-Q2XD".to_owned(),
                request: Request { address: "2001:db8::7".to_owned(), device: "Firefox on Linux".to_owned() },
            },
            vec![LINK],
        ),
        (
            Letter::AccountExists { sign_in: "https://app.labs.example/".to_owned(), reset: link() },
            vec!["https://app.labs.example/", LINK],
        ),
        (Letter::PasswordChanged, vec![]),
        (Letter::PasskeyAdded { site: "labs.example".to_owned() }, vec![]),
        (Letter::PasskeyRemoved { site: "labs.example".to_owned() }, vec![]),
        (Letter::NewDevice { device: "Firefox on Windows".to_owned(), address: "203.0.113.7".to_owned() }, vec![]),
        (Letter::ConfirmEmail { link: link() }, vec![LINK]),
        (Letter::EmailChangeAsked { new: "new@labs.example".to_owned(), link: link() }, vec![LINK]),
        (Letter::EmailChanged { new: "new@labs.example".to_owned(), link: link() }, vec![LINK]),
        (Letter::EmailRestored { link: link() }, vec![LINK]),
        (Letter::LeaveCode { code: "1234 5678".to_owned() }, vec![]),
        (Letter::AccountDeleted, vec![]),
        (Letter::PrimaSignup { link: link() }, vec![LINK]),
        (Letter::PrimaKeyExists { portal: "https://app.labs.example/".to_owned() }, vec!["https://app.labs.example/"]),
    ]
}

async fn every_letter_as_received() -> Vec<(Arrived, Vec<&'static str>, Language)> {
    let labs = Correspondence::from(LABS).await;
    let mut arrived = Vec::new();
    for language in [Language::German, Language::English] {
        for (letter, links) in every_letter() {
            let mail = labs.send(Recipient { language, ..anna() }, &letter).await;
            arrived.push((mail, links, language));
        }
    }
    arrived
}

// case 267
#[tokio::test]
async fn every_letter_has_a_text_part_and_then_an_html_part_with_the_same_links() {
    for (mail, links, _) in every_letter_as_received().await {
        let parsed = mail.parsed();
        let kind = parsed.content_type().unwrap();
        assert_eq!((kind.ctype(), kind.subtype()), ("multipart", Some("alternative")));
        let parts: Vec<_> = parsed.parts.iter().filter(|part| !matches!(part.body, PartType::Multipart(_))).collect();
        let kinds: Vec<_> = parts.iter().map(|part| part.content_type().unwrap()).collect();
        assert_eq!(kinds.iter().map(|kind| kind.subtype().unwrap()).collect::<Vec<_>>(), ["plain", "html"]);
        for kind in kinds {
            assert_eq!(kind.attribute("charset").unwrap().to_lowercase(), "utf-8");
        }
        for link in links {
            assert!(mail.html().contains(&format!("href=\"{}\"", link.replace('&', "&amp;"))));
        }
    }
}

// case 265
#[tokio::test]
async fn every_link_stands_alone_on_one_line_after_decoding() {
    for (mail, links, _) in every_letter_as_received().await {
        let text = mail.text();
        for link in links {
            assert_eq!(text.lines().filter(|line| *line == link).count(), 1, "{text}");
        }
        assert!(mail.raw.split(|byte| *byte == b'\n').all(|line| line.len() <= 78), "no long lines on the wire");
    }
}

// case 271
#[tokio::test]
async fn every_letter_has_each_header_once_with_our_clock_and_our_domain() {
    let mut ids = std::collections::BTreeSet::new();
    let mails = every_letter_as_received().await;
    for (mail, _, _) in &mails {
        for header in ["Date", "Message-ID", "MIME-Version", "From", "To", "Subject", "Content-Type", "Auto-Submitted"]
        {
            assert_eq!(mail.count(header), 1, "{header}");
        }
        let parsed = mail.parsed();
        assert_eq!(parsed.date().unwrap().to_rfc3339(), "2026-01-02T03:04:05Z");
        let id = parsed.message_id().unwrap().to_owned();
        assert!(id.ends_with("@labs.example"), "{id}");
        ids.insert(id);
    }
    assert_eq!(ids.len(), mails.len(), "every Message-ID is its own");
}

#[tokio::test]
async fn a_letter_says_how_long_its_link_lives() {
    let lives = [
        [
            "24 Stunden",
            "7 Tage",
            "60 Minuten",
            "15 Minuten",
            "",
            "",
            "",
            "",
            "",
            "24 Stunden",
            "3 Tage",
            "3 Tage",
            "60 Minuten",
            "15 Minuten",
            "",
            "24 Stunden",
            "",
        ],
        [
            "24 hours",
            "7 days",
            "60 minutes",
            "15 minutes",
            "",
            "",
            "",
            "",
            "",
            "24 hours",
            "3 days",
            "3 days",
            "60 minutes",
            "15 minutes",
            "",
            "24 hours",
            "",
        ],
    ]
    .concat();
    for ((mail, _, _), lifetime) in every_letter_as_received().await.iter().zip(lives) {
        assert!(mail.text().contains(lifetime) && mail.html().contains(lifetime), "{lifetime}\n{}", mail.text());
    }
}

#[tokio::test]
async fn a_letter_speaks_the_language_of_its_reader_and_greets_by_name() {
    for (mail, _, language) in every_letter_as_received().await {
        let (greeting, tongue) = match language {
            Language::German => ("Guten Tag Anna,", "lang=\"de\""),
            Language::English => ("Hello Anna,", "lang=\"en\""),
        };
        assert_eq!(mail.text().lines().next(), Some(greeting));
        assert!(mail.html().contains(greeting) && mail.html().contains(tongue));
    }
}

#[tokio::test]
async fn a_letter_greets_without_a_name_when_there_is_none() {
    for name in [None, Some(""), Some(" \r\n\u{202e} ")] {
        let mail = letter_as_received(LABS, Recipient { name, ..anna() }, &verify_email()).await;
        assert_eq!(mail.text().lines().next(), Some("Guten Tag,"));
    }
}

// case 263
#[tokio::test]
async fn a_long_cyrillic_subject_is_encoded_in_short_words_and_decodes_to_itself() {
    let name = "Лаборатория".repeat(6).chars().take(60).collect::<String>();
    let mail = letter_as_received(&format!("\"{name}\" <auth@labs.example>"), anna(), &verify_email()).await;
    let wanted = format!("Bitte bestätigen Sie Ihre E-Mail-Adresse für {name}");
    assert_eq!(mail.parsed().subject(), Some(wanted.as_str()));
    assert_eq!(mail.parsed().from().unwrap().first().unwrap().name(), Some(name.as_str()));
    for line in mail.header_lines() {
        assert!(line.len() <= 78, "{line}");
        assert!(line.split(' ').filter(|word| word.starts_with("=?")).all(|word| word.len() <= 75), "{line}");
    }
}

// case 261
#[tokio::test]
async fn lines_that_start_with_a_dot_arrive_as_they_were_written() {
    for name in [".", "..", ".x"] {
        let mail = letter_as_received(&format!("\"{name}\" <auth@labs.example>"), anna(), &verify_email()).await;
        assert!(mail.text().lines().any(|line| line == name), "{}", mail.text());
        assert!(mail.text().contains("automatisch"), "what follows the dot is there");
    }
}

// case 033
#[tokio::test]
async fn an_international_domain_goes_out_in_ascii() {
    let to = Recipient { email: "user@b\u{fc}cher.example", ..anna() };
    let mail = letter_as_received(LABS, to, &verify_email()).await;
    assert_eq!(mail.to, ["user@xn--bcher-kva.example"]);
    assert_eq!(mail.parsed().to().unwrap().first().unwrap().address(), Some("user@xn--bcher-kva.example"));
}

#[tokio::test]
async fn a_broken_link_or_recipient_never_becomes_a_mail() {
    let desk = Desk::at(Place::sqlite(), &settings("file://unused")).await;
    let split = Letter::ResetPassword { link: "https://app.labs.example/\r\nBcc: x@evil.example".to_owned() };
    let mut tx = desk.db.begin().await.unwrap();
    assert!(desk.post.enqueue(&mut tx, anna(), &split, Delivery::Send).await.is_err());
    for email in ["", "anna", "anna@", "a b@x.example", "u1@x.example\r\nBcc: evil@x.example", "\u{fc}@x.example"] {
        let to = Recipient { email, ..anna() };
        assert!(desk.post.enqueue(&mut tx, to, &verify_email(), Delivery::Send).await.is_err(), "{email:?}");
    }
    tx.commit().await.unwrap();
    assert!(desk.place.outbox().await.is_empty());
}
