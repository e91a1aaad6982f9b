//! `POST /api/auth/register`.

use serde_json::json;

use crate::world::{PASSWORD, Verbs, World, token_of};

const REGISTER: &str = "/api/auth/register";

#[tokio::test]
async fn a_new_mailbox_gets_one_answer_one_account_and_one_link() {
    let world = World::new().await;
    let email = world.mailbox();
    let body = json!({"email": email, "password": PASSWORD, "full_name": "Anna Muster", "locale": "en"});
    let reply = world.anonymous().post(REGISTER, body).await;
    let expected = json!({
        "message": "Check your inbox to confirm your email address.",
        "email": email,
        "verification_required": true,
    });
    assert_eq!(reply.is(201).json(), expected);
    assert_eq!(world.db_accounts_of(&email).await, 1);
    let mails = world.mails_to(&email).await;
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to, [email.as_str()]);
    let link = world.link_to(&email, "/verify-email").await;
    assert!(mails[0].html.contains(&link), "{}", mails[0].html);
    world.anonymous().login(&email, PASSWORD).await.is_error(403, "AUTH_007");
}

#[tokio::test]
async fn a_member_is_told_by_mail_and_nothing_else_changes() {
    // case 113
    let world = World::new().await;
    let email = world.member().await;
    let fresh = world.register(&world.mailbox(), PASSWORD).await;
    let known = world.register(&email, "Another-Horse-7!").await;
    assert_eq!((known.status, known.header_names()), (fresh.status, fresh.header_names()));
    assert_eq!(known.json()["message"], fresh.json()["message"]);
    world.sign_in(&email, PASSWORD).await;
    world.anonymous().login(&email, "Another-Horse-7!").await.is_error(401, "AUTH_001");
    let mails = world.mails_to(&email).await;
    assert_eq!(mails.len(), 2, "{mails:#?}");
    assert!(!mails[1].raw.contains("token="), "{}", mails[1].text);
    let links = mails[1].links();
    assert!(links.contains(&String::from("https://labs.example/login")), "{links:?}");
    assert!(links.contains(&String::from("https://labs.example/forgot-password")), "{links:?}");
}

#[tokio::test]
async fn a_second_registration_takes_the_planted_password_away() {
    // surface 2.9: whoever registered the address first does not keep a way in.
    let world = World::new().await;
    let email = world.mailbox();
    world.register(&email, "Planted-Horse-1!").await.is(201);
    let planted_link = world.mailed_token(&email, "/verify-email").await;
    world.register(&email, PASSWORD).await.is(201);
    let token = world.mailed_token(&email, "/set-password").await;
    world.anonymous().login(&email, "Planted-Horse-1!").await.is_error(401, "AUTH_001");
    // Neither does the second registration's own password work: the owner of the mailbox chooses.
    world.anonymous().login(&email, PASSWORD).await.is_error(401, "AUTH_001");
    // Confirming by the first link opens nothing either.
    world.anonymous().post("/api/auth/verify-email", json!({"token": planted_link})).await.is(200);
    world.anonymous().login(&email, "Planted-Horse-1!").await.is_error(401, "AUTH_001");
    let chosen = json!({"token": token, "password": "Chosen-Horse-3!"});
    world.anonymous().post("/api/auth/set-password", chosen).await.is(200);
    world.sign_in(&email, "Chosen-Horse-3!").await;
}

#[tokio::test]
async fn every_field_is_checked_and_every_fault_is_named_at_once() {
    let world = World::new().await;
    let email = world.mailbox();
    let register = async |body| world.anonymous().post(REGISTER, body).await;
    let reply = register(json!({})).await;
    assert_eq!(
        reply.faults(),
        [("missing", "body.email"), ("missing", "body.password")].map(|(a, b)| (a.into(), b.into()))
    );
    let reply = register(json!({
        "email": 1, "password": "short", "full_name": "", "workspace_name": "w".repeat(121), "locale": "es"
    }))
    .await;
    reply.has_fault("string_type", "body.email");
    reply.has_fault("string_too_short", "body.password");
    reply.has_fault("string_too_short", "body.full_name");
    reply.has_fault("string_too_long", "body.workspace_name");
    reply.has_fault("enum", "body.locale");
    let with = |name: &str, value: serde_json::Value| json!({"email": email, "password": PASSWORD, name: value});
    register(with("full_name", json!("n".repeat(256)))).await.has_fault("string_too_long", "body.full_name");
    register(with("name", json!("A\u{7}B"))).await.has_fault("value_error", "body.name");
    register(with("full_name", json!("   "))).await.has_fault("string_too_short", "body.full_name");
    register(with("workspace_name", json!(["w"]))).await.has_fault("string_type", "body.workspace_name");
    register(with("password", json!("p".repeat(129)))).await.has_fault("string_too_long", "body.password");
    register(with("password", json!("\u{e9}".repeat(7)))).await.has_fault("string_too_short", "body.password");
    assert_eq!(world.db_accounts_of(&email).await, 0);
    register(json!({"email": email, "password": PASSWORD, "full_name": null, "locale": null})).await.is(201);
}

#[tokio::test]
async fn the_name_has_an_alias_and_is_trimmed() {
    let world = World::new().await;
    let email = world.mailbox();
    let body = json!({"email": email, "password": PASSWORD, "name": "  Anna Muster ", "workspace_name": "Lab 7"});
    world.anonymous().post(REGISTER, body).await.is(201);
    let token = world.mailed_token(&email, "/verify-email").await;
    world.anonymous().post("/api/auth/verify-email", json!({"token": token})).await.is(200);
    let me = world.sign_in(&email, PASSWORD).await.get("/api/auth/me").await.json();
    assert_eq!(me["full_name"], "Anna Muster");
    assert_eq!(me["workspace"]["name"], "Lab 7");
    assert_eq!(me["workspace"]["role"], "owner");
}

#[tokio::test]
async fn a_password_that_everybody_guesses_first_is_refused_with_its_reasons() {
    let world = World::new().await;
    let email = world.mailbox_of("wondrous.anna");
    for (password, reason) in [
        ("password123", "common"),
        ("PassWord123", "common"),
        ("wondrous.anna", "contains_email"),
        (email.to_uppercase().as_str(), "contains_email"),
    ] {
        let reply = world.register(&email, password).await;
        assert_eq!(reply.is_error(422, "VAL_002").json()["details"], json!({"reasons": [reason]}));
    }
    assert_eq!(world.db_accounts_of(&email).await, 0);
}

#[tokio::test]
async fn registration_can_be_closed_and_then_says_so_to_everybody() {
    let world = World::with(&[("REGISTRATION_ENABLED", "false")]).await;
    let reply = world.register(&world.mailbox(), PASSWORD).await;
    reply.is_error(403, "AUTH_011");
    assert!(world.mails().await.is_empty());
}

#[tokio::test]
async fn nobody_registers_as_more_than_a_user() {
    // case 309
    let world = World::new().await;
    let email = world.mailbox();
    let body = json!({
        "email": email, "password": PASSWORD, "role": "admin", "email_verified": true, "is_active": false,
        "workspace_id": "x", "default_workspace_id": "x",
    });
    world.anonymous().post(REGISTER, body).await.is(201);
    world.anonymous().login(&email, PASSWORD).await.is_error(403, "AUTH_007");
    assert_eq!(world.db_texts("SELECT role FROM users WHERE email = $1", &email).await, ["user"]);
}

#[tokio::test]
async fn a_name_stays_a_name_in_the_mail() {
    // cases 047, 269
    let world = World::new().await;
    for name in ["<a href=https://evil.example>Click</a>", "Boss <boss@evil.example>"] {
        let email = world.mailbox();
        let body = json!({"email": email, "password": PASSWORD, "full_name": name});
        world.anonymous().post(REGISTER, body).await.is(201);
        let mails = world.mails_to(&email).await;
        assert_eq!(mails.len(), 1);
        assert_eq!(mails[0].to, [email.as_str()]);
        assert!(
            !mails[0].html.contains("<a href=https://evil") && !mails[0].html.contains("<boss@"),
            "{}",
            mails[0].html
        );
        assert!(mails[0].html.contains("&lt;"), "{}", mails[0].html);
    }
}

#[tokio::test]
async fn the_words_of_a_password_are_never_shortened_nor_stopped_at_a_nul() {
    // cases 053, 055, 057, 059
    let world = World::new().await;
    let long = world.mailbox();
    let start = "a".repeat(72);
    world.member_at(&long, &format!("{start}X1!")).await;
    world.anonymous().login(&long, &format!("{start}Y2?")).await.is_error(401, "AUTH_001");
    world.register(&world.mailbox(), "Abcdefg1!\0SECRET").await.has_fault("value_error", "body.password");
    let composed = world.mailbox();
    world.member_at(&composed, "P\u{e4}sswort-2026!").await;
    world.sign_in(&composed, "Pa\u{308}sswort-2026!").await;
    let spaced = world.mailbox();
    world.member_at(&spaced, "Abcdef12! ").await;
    world.anonymous().login(&spaced, "Abcdef12!").await.is_error(401, "AUTH_001");
    world.sign_in(&spaced, "Abcdef12! ").await;
}

#[tokio::test]
async fn no_validation_error_echoes_what_was_sent() {
    // case 065
    let world = World::new().await;
    let reply = world.anonymous().post(REGISTER, json!({"password": "S3cret-marker-77"})).await;
    reply.has_fault("missing", "body.email");
    let shown = format!("{reply:?}");
    assert!(!shown.contains("S3cret-marker"), "{shown}");
}

#[tokio::test]
async fn a_disabled_account_is_neither_mailed_nor_changed() {
    let world = World::new().await;
    let email = world.member().await;
    world.db_disable(&email).await;
    world.register(&email, "Another-Horse-7!").await.is(201);
    assert_eq!(world.mails_to(&email).await.len(), 1, "only the first confirmation");
}

#[tokio::test]
async fn a_repeated_key_means_its_last_value_everywhere() {
    // case 003
    let world = World::new().await;
    let (first, last) = (world.mailbox(), world.mailbox());
    let body = format!(r#"{{"email":"{first}","email":"{last}","password":"{PASSWORD}"}}"#);
    let reply = world.anonymous().raw(REGISTER, Some("application/json"), body).await;
    assert_eq!(reply.is(201).field("email"), last);
    assert_eq!((world.db_accounts_of(&first).await, world.db_accounts_of(&last).await), (0, 1));
    assert_eq!((world.mails_to(&first).await.len(), world.mails_to(&last).await.len()), (0, 1));
    for mailed in 1..10 {
        let reply = world.register(&last, PASSWORD).await;
        assert_eq!(reply.status, 201, "request {mailed}");
    }
    world.register(&last, PASSWORD).await.is_mailbox_limited();
    world.register(&first, PASSWORD).await.is(201);
}

#[tokio::test]
async fn a_failing_mail_server_changes_no_answer_and_loses_no_mail() {
    // cases 117, 255
    use crate::world::{smtp, wire::Wire};
    let server = smtp::SmtpServer::start(smtp::Wire::Clear, smtp::Manner::Obliging).await;
    let wire = Wire::to(server.address()).await;
    wire.cut();
    let world = World::with(&[("MAIL_URL", &format!("smtp://{}", wire.address))]).await;
    let email = world.mailbox();
    world.register(&email, PASSWORD).await.is(201);
    let somebody = world.anonymous();
    somebody.post("/api/auth/resend-verification", json!({"email": email})).await.is(202);
    somebody.post("/api/auth/resend-verification", json!({"email": world.mailbox()})).await.is(202);
    world.deliver().await;
    assert!(server.received().is_empty());
    wire.restore();
    world.advance(std::time::Duration::from_hours(1));
    world.deliver().await;
    let received = server.received();
    assert_eq!(received.len(), 2, "both mails arrive, and none for the unknown mailbox");
    for mail in received {
        assert_eq!(mail.to, [email.as_str()]);
        let message = mail_parser::MessageParser::default().parse(&mail.message).unwrap();
        let text = message.body_text(0).unwrap();
        let link = text.split_whitespace().find(|word| word.contains("?token=")).unwrap();
        somebody.post("/api/auth/verify-email", json!({"token": token_of(link)})).await;
    }
    world.sign_in(&email, PASSWORD).await;
}
