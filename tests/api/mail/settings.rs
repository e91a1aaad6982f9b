//! `MAIL_URL` and `MAIL_FROM`, good and bad.

use labs_auth::mail::{Language, Sender, TransportAddress};

#[test]
fn mail_urls_that_can_work_are_taken() {
    for (text, name) in [
        ("file://data/mail", "file"),
        ("file:///var/spool/labs", "file"),
        ("smtp://localhost:1025", "smtp"),
        ("smtp://127.0.0.1", "smtp"),
        ("smtp://[::1]:2525", "smtp"),
        ("smtp://mail.example", "smtp"),
        ("smtp://user:p%40ss@mail.example:587?tls=required", "smtp"),
        ("smtp://mailpit:1025?tls=none", "smtp"),
        ("smtps://user:secret@mail.example/", "smtp"),
    ] {
        assert_eq!(TransportAddress::parse(text).map(|address| address.name()), Ok(name), "{text}");
    }
}

#[test]
fn mail_urls_that_cannot_work_are_refused_without_repeating_their_secrets() {
    for text in [
        "",
        "data/mail",
        "http://mail.example",
        "file://",
        "smtp://",
        "smtps://",
        "smtp://user@mail.example",
        "smtp://:hunter2@mail.example",
        "smtp://mail.example/hunter2",
        "smtp://mail.example?tls=opportunistic",
        "smtps://mail.example?tls=none",
        "smtp://mail.example?hunter2=1",
        "smtp://user:hunter2@mail.example?tls=none",
        "smtp://user:%ff@mail.example",
        "smtp://mail.example:99999",
    ] {
        let sentence = TransportAddress::parse(text).unwrap_err();
        assert!(!sentence.is_empty() && !sentence.contains("hunter2"), "{text}: {sentence}");
    }
}

#[test]
fn a_parsed_mail_url_prints_no_secret() {
    let address = TransportAddress::parse("smtps://user:hunter2@mail.example").unwrap();
    assert_eq!(format!("{address:?}"), "TransportAddress(smtp)");
}

#[test]
fn senders_are_one_address_with_or_without_a_name() {
    for text in [
        "auth@labs.example",
        "Labs <auth@labs.example>",
        "\"Labs, Inc.\" <auth@b\u{fc}cher.example>",
        "Лаб <a@x.example>",
    ] {
        assert!(Sender::parse(text).is_ok(), "{text}");
    }
    for text in
        ["", "Labs", "Labs <>", "a@x.example, b@x.example", "a@x.example\r\nBcc: b@x.example", "\u{fc}@x.example"]
    {
        assert!(Sender::parse(text).is_err(), "{text}");
    }
}

#[test]
fn german_is_for_german_locales_and_english_for_the_others() {
    assert_eq!(Language::for_locale("de"), Language::German);
    for locale in ["en", "fr", "it"] {
        assert_eq!(Language::for_locale(locale), Language::English);
    }
}
