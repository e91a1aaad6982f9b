//! Many at once: no 5xx, no two winners.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::world::{Ask, PASSWORD, Reply, Verbs, World};

/// One flood of hashes at a time: a request waits for its turn for a bounded time and is then told so with a 503. That
/// is as it should be, but several floods at once would measure the machine and not the service.
pub(crate) static FLOOD: Semaphore = Semaphore::const_new(1);

/// Sends all of these at once, each on a task of its own.
pub(crate) async fn at_once(asks: impl IntoIterator<Item = Ask>) -> Vec<Reply> {
    let tasks: Vec<_> = asks.into_iter().map(|ask| tokio::spawn(async move { ask.await })).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

/// How many of the answers have this status.
pub(crate) fn count(replies: &[Reply], status: u16) -> usize {
    replies.iter().filter(|reply| reply.status == status).count()
}

/// Asks until nobody is told that there is no connection: they are dear to open, and a race about rows is not about them.
pub(crate) async fn connected(asks: impl Fn() -> Vec<Ask>) {
    for _ in 0..10 {
        if count(&at_once(asks()).await, 503) == 0 {
            return;
        }
    }
    panic!("still no connections after ten rounds");
}

/// The same from many networks.
fn from_everywhere(world: &World, path: &'static str, body: &Value, times: usize) -> Vec<Ask> {
    (0..times).map(|_| world.anonymous().post(path, body.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_resets_with_one_link_have_one_winner() {
    // case 073
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let email = world.member().await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    let token = world.mailed_token(&email, "/reset-password").await;
    // Without a current password there is none to compare with, which halves the work.
    world.db_forget_password(&email).await;
    let asks = (0..50).map(|number| {
        let body = json!({"token": token, "new_password": format!("Chosen-Horse-{number}!")});
        world.anonymous().post("/api/auth/reset-password", body)
    });
    let replies = at_once(asks).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    let winner = replies.iter().position(|reply| reply.status == 200).unwrap();
    world.sign_in(&email, &format!("Chosen-Horse-{winner}!")).await;
    // The confirmation, the link, and one word that the password is a new one.
    assert_eq!(world.mails_to(&email).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_first_passwords_with_one_link_open_one_session() {
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let email = world.member().await;
    world.db_forget_password(&email).await;
    world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
    let token = world.mailed_token(&email, "/set-password").await;
    let body = json!({"token": token, "password": "Chosen-Horse-3!"});
    let replies = at_once(from_everywhere(&world, "/api/auth/set-password", &body, 50)).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49), "{replies:?}");
    assert_eq!(world.db_open_sessions_of(&email).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_confirmations_with_one_link_make_one_workspace() {
    let world = World::new().await;
    let email = world.unconfirmed().await;
    let token = world.mailed_token(&email, "/verify-email").await;
    let replies = at_once(from_everywhere(&world, "/api/auth/verify-email", &json!({"token": token}), 50)).await;
    assert_eq!(count(&replies, 200), 50, "{replies:?}");
    let sql = "SELECT count(*) FROM workspace_members m JOIN users u ON u.id = m.user_id WHERE u.email = $1";
    assert_eq!(world.db_number(sql, &email).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_registrations_of_one_mailbox_make_one_account() {
    // case 193
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let email = world.mailbox();
    let body = json!({"email": email, "password": PASSWORD});
    let replies = at_once(from_everywhere(&world, "/api/auth/register", &body, 10)).await;
    assert_eq!(count(&replies, 201), 10, "{replies:?}");
    assert_eq!(world.db_accounts_of(&email).await, 1);
    let mails = world.mails_to(&email).await;
    let confirmations = mails.iter().filter(|mail| mail.text.contains("/verify-email?token=")).count();
    let choices = mails.iter().filter(|mail| mail.text.contains("/set-password?token=")).count();
    assert_eq!((confirmations, choices, mails.len()), (1, 5, 6), "{mails:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_registrations_of_one_mailbox_are_ten_and_forty_refusals() {
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let email = world.mailbox();
    let body = json!({"email": email, "password": PASSWORD});
    let replies = at_once(from_everywhere(&world, "/api/auth/register", &body, 50)).await;
    assert_eq!((count(&replies, 201), count(&replies, 429)), (10, 40), "{replies:?}");
    assert_eq!(world.db_accounts_of(&email).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_mailboxes_register_at_once() {
    // case 197
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let asks: Vec<Ask> = (0..50)
        .map(|_| world.anonymous().post("/api/auth/register", json!({"email": world.mailbox(), "password": PASSWORD})))
        .collect();
    let replies = at_once(asks).await;
    assert_eq!(count(&replies, 201), 50, "{replies:?}");
    assert_eq!(world.db_number("SELECT count(*) FROM users WHERE $1 <> ''", "any").await, 50);
    assert_eq!(world.mails().await.len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_logins_of_one_office_are_thirty_sessions() {
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    world.warm().await;
    let email = world.member().await;
    let office = world.anonymous();
    let replies = at_once((0..30).map(|_| office.login(&email, PASSWORD))).await;
    assert_eq!(count(&replies, 200), 30, "{replies:?}");
    assert_eq!(world.db_open_sessions_of(&email).await, 30);
    office.login(&email, PASSWORD).await.is_rate_limited();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_logins_at_once_exactly_thirty_are_heard() {
    // case 165. On Redis the limiter's own contract proves it: here a busy machine may outlast a request's allowance,
    // and then memory decides, as it should.
    let world = World::on_memory().await;
    let somebody = world.anonymous();
    let replies = at_once((0..100).map(|_| somebody.post("/api/auth/login", json!({})))).await;
    assert_eq!((count(&replies, 422), count(&replies, 429)), (30, 70), "{replies:?}");
}
