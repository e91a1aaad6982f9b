//! One mailbox, one spelling.

use labs_auth::account::Email;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use serde_json::json;

use crate::world::{PASSWORD, Verbs, World};

/// Texts that look enough like an address to reach the later checks.
fn nearly_an_address() -> impl Strategy<Value = String> {
    let local = "[A-Za-z0-9.+_!#\"' -]{0,12}|.{0,6}";
    let domain = "[A-Za-z0-9.-]{0,12}|[a-zäöüß]{1,8}\\.[a-z]{2,4}|.{0,8}|xn--[a-z0-9-]{0,8}\\.example";
    (local, domain).prop_map(|(local, domain)| format!("{local}@{domain}"))
}

proptest! {
    #[test]
    fn an_address_that_parses_is_its_own_canonical_form(text in nearly_an_address()) {
        if let Ok(email) = Email::parse(&text) {
            let canonical = email.as_str();
            prop_assert_eq!(Email::parse(canonical), Ok(email.clone()));
            prop_assert!(canonical.is_ascii() && canonical.len() <= 254);
            prop_assert!(!canonical.bytes().any(|it| it.is_ascii_uppercase() || it.is_ascii_whitespace() || it.is_ascii_control()));
            prop_assert_eq!(canonical.matches('@').count(), 1);
            prop_assert!(!canonical.ends_with('.') && canonical.rsplit('@').next().is_some_and(|it| it.contains('.')));
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = Email::parse(&text);
    }

    #[test]
    fn case_and_surrounding_blanks_make_no_second_mailbox(
        local in "[a-z0-9]{1,10}(\\.[a-z0-9]{1,5})?",
        domain in "[a-z0-9]{1,10}\\.(example|ch)",
        blanks in prop::collection::vec(prop::sample::select(vec![" ", "\t", "\u{a0}"]), 0..3),
    ) {
        let plain = format!("{local}@{domain}");
        let pasted = format!("{}{}{}", blanks.concat(), plain.to_ascii_uppercase(), blanks.concat());
        prop_assert_eq!(Email::parse(&pasted), Email::parse(&plain));
        prop_assert!(Email::parse(&plain).is_ok());
    }
}

#[tokio::test]
async fn an_address_is_one_mailbox_in_every_case_and_with_pasted_blanks() {
    // cases 029, 051
    let world = World::new().await;
    let email = world.mailbox_of("mixed");
    world.member_at(&email.replace("mixed", "Mixed"), PASSWORD).await;
    world.sign_in(&email, PASSWORD).await;
    world.sign_in(&format!(" {} ", email.to_uppercase()), PASSWORD).await;
    world.register(&email.to_uppercase(), "Another-Horse-7!").await.is(201);
    assert_eq!(world.db_accounts_of(&email).await, 1);
    world.sign_in(&email, PASSWORD).await;
}

#[tokio::test]
async fn a_local_part_outside_ascii_is_refused_and_mails_nobody() {
    // cases 031, 035, 049
    let world = World::new().await;
    for local in ["m\u{131}ke", "\u{7528}\u{6237}", "test\u{43e}"] {
        let email = world.mailbox_of(local);
        let somebody = world.anonymous();
        world.register(&email, PASSWORD).await.has_fault("value_error", "body.email");
        somebody
            .post("/api/auth/forgot-password", json!({"email": email}))
            .await
            .has_fault("value_error", "body.email");
        assert_eq!(world.db_accounts_of(&email).await, 0);
    }
    assert!(world.mails().await.is_empty());
}

#[tokio::test]
async fn an_internationalised_domain_is_mailed_by_its_ascii_name() {
    // case 033
    let world = World::new().await;
    let typed = world.mailbox_of("user").replace("labs.example", "b\u{fc}cher.example");
    let mailed = world.mailbox_of("user").replace("labs.example", "xn--bcher-kva.example");
    assert_eq!(world.register(&typed, PASSWORD).await.is(201).field("email"), mailed);
    assert_eq!(world.mails_to(&mailed).await.len(), 1);
}

#[tokio::test]
async fn addresses_that_no_server_would_deliver_are_refused() {
    // cases 039, 041, 045
    let world = World::new().await;
    let member = world.member().await;
    let strange = [
        format!("\"a..b\"@{}", member.split_once('@').unwrap().1),
        format!("{member}."),
        format!("{member}\r\nBcc: evil@x.example"),
        format!("Me <{member}>"),
        format!("two@ats@{member}"),
        String::from("no-dot@localhost"),
        String::from("a@"),
        String::from("@b.ch"),
        String::new(),
    ];
    for email in &strange {
        world.register(email, PASSWORD).await.has_fault("value_error", "body.email");
        let somebody = world.anonymous();
        somebody
            .post("/api/auth/forgot-password", json!({"email": email}))
            .await
            .has_fault("value_error", "body.email");
        somebody.login(email, PASSWORD).await.has_fault("value_error", "body.email");
    }
    // The member's own verification mail, and no other.
    assert_eq!(world.mails().await.len(), 1);
}

#[tokio::test]
async fn an_address_has_at_most_254_characters() {
    // case 043
    let world = World::new().await;
    let (label, end) = ("d".repeat(60), world.mailbox_of("x").split_off(1));
    let long = format!("{}@{label}.{label}.{label}", "a".repeat(40));
    let fits = |local: usize| format!("{}{}{}", "a".repeat(local), &long[40..], end.replace('@', "."));
    let spare = 254 - fits(0).len();
    let (longest, too_long) = (fits(spare), fits(spare + 1));
    assert_eq!((longest.len(), too_long.len()), (254, 255));
    world.register(&longest, PASSWORD).await.is(201);
    assert_eq!(world.mails_to(&longest).await.len(), 1);
    world.register(&too_long, PASSWORD).await.has_fault("value_error", "body.email");
}

#[tokio::test]
async fn a_plus_tag_is_part_of_the_address() {
    // case 037
    let world = World::new().await;
    let (one, other) = (world.mailbox_of("u1+a"), world.mailbox_of("u1+b"));
    for _ in 0..10 {
        world.anonymous().post("/api/auth/forgot-password", json!({"email": one})).await.is(202);
    }
    world.anonymous().post("/api/auth/forgot-password", json!({"email": one})).await.is_mailbox_limited();
    world.anonymous().post("/api/auth/forgot-password", json!({"email": other})).await.is(202);
}
