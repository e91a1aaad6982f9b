//! Fifty at once: of everything that happens once, once.

use futures_util::future::join_all;
use serde_json::json;

use super::{
    CREDENTIALS, LABS, REGISTER_COMPLETE, begin_enrolment, begin_login, complete_body, complete_login, db_passkeys_of,
    enrol, enrol_by, sites,
};
use crate::world::{Reply, Verbs, soft_passkey::Maker};

fn count(replies: &[Reply], status: u16) -> usize {
    replies.iter().filter(|reply| reply.status.as_u16() == status).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_completion_of_fifty_gets_in() {
    let world = sites().await;
    let person = world.signed_in().await;
    let mut passkey = enrol(&person, LABS).await;
    let begun = begin_login(&world, &person.email, LABS).await;
    let credential = passkey.get(&begun["options"]);
    let replies = join_all((0..50).map(|_| complete_login(&world, &begun, &credential).into_future())).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 49));
    assert_eq!(world.db_open_sessions_of(&person.email).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_copies_of_a_key_one_gets_in() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (passkey, _) = enrol_by(&person, &Maker { counter: 7, ..Maker::on(LABS) }).await;
    let begun = join_all((0..50).map(|_| begin_login(&world, &person.email, LABS))).await;
    let replies = join_all(begun.iter().map(|begun| {
        let credential = passkey.clone().get(&begun["options"]);
        complete_login(&world, begun, &credential).into_future()
    }))
    .await;
    assert_eq!((count(&replies, 200), count(&replies, 401)), (1, 49));
    assert_eq!(world.db_open_sessions_of(&person.email).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_enrolments_at_once_leave_ten_passkeys() {
    let world = sites().await;
    let person = world.signed_in().await;
    let begun = join_all((0..50).map(|_| begin_enrolment(&person, LABS))).await;
    let replies = join_all(begun.iter().map(|begun| {
        let (_, credential) = Maker::on(LABS).make(&begun["options"]);
        person.post(REGISTER_COMPLETE, complete_body(begun, &credential)).into_future()
    }))
    .await;
    assert_eq!((count(&replies, 201), count(&replies, 409)), (10, 40));
    assert_eq!(db_passkeys_of(&world, &person.email).await, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_sent_fifty_times_is_one_passkey() {
    let world = sites().await;
    let person = world.signed_in().await;
    let maker = Maker::on(LABS);
    let begun = join_all((0..50).map(|_| begin_enrolment(&person, LABS))).await;
    let replies = join_all(begun.iter().map(|begun| {
        let (_, credential) = maker.make(&begun["options"]);
        person.post(REGISTER_COMPLETE, complete_body(begun, &credential)).into_future()
    }))
    .await;
    assert_eq!((count(&replies, 201), count(&replies, 409)), (1, 49));
    let added = world.mails_to(&person.email).await.iter().filter(|mail| mail.subject.contains("Passkey")).count();
    assert_eq!(added, 1, "what did not happen is not mailed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_removal_of_fifty_happens() {
    let world = sites().await;
    let person = world.signed_in().await;
    let (_, reply) = enrol_by(&person, &Maker::on(LABS)).await;
    let path = format!("{CREDENTIALS}/{}", reply.field("id"));
    let replies = join_all((0..50).map(|_| person.delete(&path).into_future())).await;
    assert_eq!((count(&replies, 204), count(&replies, 404)), (1, 49));
    person.patch(&path, json!({"name": "x"})).await.is_error(404, "RES_001");
}
