//! Names that strangers type: they stay names, in headers and in HTML.

use labs_auth::mail::Recipient;

use super::desk::{Correspondence, anna, letter_as_received, verify_email};

const LABS: &str = "Labs <auth@labs.example>";

// cases 045 and 269
#[tokio::test]
async fn no_name_changes_who_gets_the_mail() {
    let long = "Ä".repeat(255);
    let unbroken = "x".repeat(255);
    let names = [
        "Boss <boss@evil.example>",
        "Boss\r\nBcc: evil@x.example",
        "Boss\nTo: evil@x.example\n\nbody",
        "\"quoted\" \\ <evil@x.example>, more@x.example;",
        "a, b@evil.example, c",
        "=?utf-8?q?=0D=0ABcc:_evil@x.example?=",
        "group: evil@x.example;",
        "(comment) <evil@x.example> (",
        "Мария \"Маша\" <evil@x.example>",
        "\u{202e}elpmaxe.live@x",
        "\u{1f980}",
        &long,
        &unbroken,
    ];
    let labs = Correspondence::from(LABS).await;
    for name in names {
        let mail = labs.send(Recipient { name: Some(name), ..anna() }, &verify_email()).await;
        assert_eq!(mail.to, ["anna@x.example"], "{name}");
        let parsed = mail.parsed();
        let to: Vec<_> = parsed.to().unwrap().iter().map(|mailbox| mailbox.address().unwrap_or_default()).collect();
        assert_eq!(to, ["anna@x.example"], "{name}");
        assert_eq!((mail.count("To"), mail.count("Bcc"), mail.count("Cc")), (1, 0, 0), "{name}");
        assert!(mail.header_lines().iter().all(|line| line.len() <= 998), "{name}");
    }
}

#[tokio::test]
async fn an_ordinary_name_arrives_as_it_was_typed() {
    let labs = Correspondence::from(LABS).await;
    for name in ["Anna Müller-Lüdenscheidt", "Иван Иванович Петров", "O'Brien, Pat", "山田 太郎", "J. R. \"Bob\" Dobbs"]
    {
        let mail = labs.send(Recipient { name: Some(name), ..anna() }, &verify_email()).await;
        assert_eq!(mail.parsed().to().unwrap().first().unwrap().name(), Some(name));
        assert_eq!(mail.text().lines().next(), Some(format!("Guten Tag {name},").as_str()));
    }
}

// case 047
#[tokio::test]
async fn a_name_is_never_markup_and_never_a_link() {
    let name = "<a href=https://evil.example>Click</a>";
    let mail = letter_as_received(LABS, Recipient { name: Some(name), ..anna() }, &verify_email()).await;
    let html = mail.html();
    assert!(html.contains("&lt;a"), "{html}");
    assert!(!html.contains("<a href=https"), "{html}");
    assert!(!html.contains("evil.example"), "nothing that a mail program would make a link of: {html}");
    assert!(!mail.text().contains("evil.example"), "{}", mail.text());
}
