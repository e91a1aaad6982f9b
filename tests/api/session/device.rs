//! Devices that are known again, and the mail about one that is not.

use http::header;
use serde_json::json;

use crate::world::{Mail, PASSWORD, Reply, Verbs, World};

/// The mark that an answer gives the browser.
fn mark_of(reply: &Reply) -> String {
    let cookies = reply.cookies();
    let cookie = cookies.iter().find(|cookie| cookie.starts_with("labs_device=")).unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

fn announcements(mails: &[Mail]) -> usize {
    mails.iter().filter(|mail| mail.subject.contains("Neue Anmeldung")).count()
}

const FIREFOX: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0";

#[tokio::test]
async fn the_mark_of_a_device_lives_one_year_and_is_no_scripts_business() {
    let world = World::new().await;
    let email = world.member().await;
    let reply = world.anonymous().login(&email, PASSWORD).await;
    let end = "; HttpOnly; Secure; SameSite=Lax; Path=/api/auth; Max-Age=31536000";
    assert!(reply.is(200).cookies()[1].ends_with(end), "{reply:?}");
    assert!(!mark_of(&reply).contains(&email));
}

#[tokio::test]
async fn the_first_sign_in_and_a_known_device_are_not_announced_and_another_device_is() {
    let world = World::new().await;
    let email = world.member().await;
    let first = world.anonymous().login(&email, PASSWORD).await;
    let known = mark_of(first.is(200));
    world.anonymous().login(&email, PASSWORD).header("cookie", &known).await.is(200);
    assert_eq!(announcements(&world.mails_to(&email).await), 0);
    let somebody = world.anonymous();
    somebody.login(&email, PASSWORD).header("user-agent", FIREFOX).await.is(200);
    let mails = world.mails_to(&email).await;
    assert_eq!(announcements(&mails), 1);
    let text = &mails.last().unwrap().text;
    assert!(text.contains("Firefox on Windows") && text.contains(&somebody.address.to_string()), "{text}");
}

#[tokio::test]
async fn no_word_of_the_user_agent_reaches_the_mail() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let evil = "https://evil.example/ <b>Windows</b> Firefox/1";
    world.anonymous().login(&anna.email, PASSWORD).header("user-agent", evil).await.is(200);
    let mail = world.mails_to(&anna.email).await.pop().unwrap();
    assert!(mail.text.contains("Firefox on Windows") && !mail.text.contains("evil"), "{}", mail.text);
}

#[tokio::test]
async fn one_browser_is_known_for_several_accounts_and_a_mark_for_no_other() {
    let world = World::new().await;
    let (anna, ben) = (world.signed_in().await, world.signed_in().await);
    let of_anna = mark_of(&world.anonymous().login(&anna.email, PASSWORD).await);
    // Anna's mark says nothing about Ben.
    let of_both = world.anonymous().login(&ben.email, PASSWORD).header("cookie", &of_anna).await;
    assert_eq!(announcements(&world.mails_to(&ben.email).await), 1);
    let of_both = mark_of(of_both.is(200));
    for email in [&anna.email, &ben.email] {
        let before = announcements(&world.mails_to(email).await);
        world.anonymous().login(email, PASSWORD).header("cookie", &of_both).await.is(200);
        assert_eq!(announcements(&world.mails_to(email).await), before);
    }
}

#[tokio::test]
async fn a_forged_or_broken_mark_is_an_unknown_device_and_never_an_error() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let real = mark_of(&world.anonymous().login(&anna.email, PASSWORD).await);
    let mut forged = real.clone();
    let last = if forged.ends_with('A') { 'E' } else { 'A' };
    forged.pop();
    forged.push(last);
    let long = format!("labs_device={}", "A".repeat(4000));
    for (count, broken) in
        [forged.as_str(), "labs_device=.", "labs_device=..", "labs_device=\u{e9}", &long].into_iter().enumerate()
    {
        let reply = world.anonymous().login(&anna.email, PASSWORD).header("cookie", broken).await;
        assert_ne!(mark_of(reply.is(200)), real);
        assert_eq!(announcements(&world.mails_to(&anna.email).await), 1 + count + 1, "{broken}");
    }
}

#[tokio::test]
async fn a_refresh_and_a_failed_sign_in_leave_no_mark() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    assert_eq!(anna.refresh_with(&anna.refresh).await.is(200).cookies().len(), 1);
    let refused = world.anonymous().login(&anna.email, "Wrong-Horse-1!").await;
    assert!(!refused.is(401).headers.contains_key(header::SET_COOKIE));
}

#[tokio::test]
async fn a_first_password_by_link_marks_the_device_too() {
    let world = World::new().await;
    let email = world.member().await;
    world.db_forget_password(&email).await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    let token = world.mailed_token(&email, "/set-password").await;
    let body = json!({"token": token, "password": "Chosen-Horse-3!"});
    let mark = mark_of(world.anonymous().post("/api/auth/set-password", body).await.is(200));
    world.anonymous().login(&email, "Chosen-Horse-3!").header("cookie", &mark).await.is(200);
    assert_eq!(announcements(&world.mails_to(&email).await), 0);
}
