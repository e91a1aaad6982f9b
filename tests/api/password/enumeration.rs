//! No answer tells whether an address is known: bodies are equal after masking, and so are the names of the headers.

use std::time::Instant;

use serde_json::{Value, json};

use super::races::FLOOD;
use crate::world::{PAGE, PASSWORD, Reply, Verbs, World};

/// People who differ in everything that a stranger might want to know.
async fn everybody(world: &World) -> Vec<String> {
    let everybody = vec![
        world.mailbox(),
        world.unconfirmed().await,
        world.member().await,
        world.member().await,
        world.member().await,
    ];
    world.db_forget_password(&everybody[3]).await;
    world.db_disable(&everybody[4]).await;
    everybody
}

async fn answers(world: &World, path: &str, body: impl Fn(&str) -> Value) -> Vec<Reply> {
    let mut answers = Vec::new();
    for email in everybody(world).await {
        answers.push(world.anonymous().post(path, body(&email)).origin(PAGE).await);
    }
    answers
}

#[tokio::test]
async fn login_forgot_and_resend_answer_everybody_alike() {
    // cases 107, 109, 111
    let world = World::new().await;
    for path in ["/api/auth/login", "/api/auth/forgot-password", "/api/auth/resend-verification"] {
        let answers = answers(&world, path, |email| json!({"email": email, "password": "Wrong-Horse-1!"})).await;
        for answer in &answers[1..] {
            answer.tells_no_more_than(&answers[0]);
        }
    }
}

#[tokio::test]
async fn register_answers_everybody_alike() {
    // case 113
    let world = World::new().await;
    let answers = answers(&world, "/api/auth/register", |email| json!({"email": email, "password": PASSWORD})).await;
    for answer in &answers {
        assert_eq!(answer.is(201).header_names(), answers[0].header_names());
        let (mut one, mut other) = (answer.json(), answers[0].json());
        // The address is the one that was sent.
        (one["email"], other["email"]) = (Value::Null, Value::Null);
        assert_eq!(one, other);
    }
}

#[tokio::test]
async fn the_same_faults_are_found_whether_or_not_the_address_is_known() {
    let world = World::new().await;
    let answers = answers(&world, "/api/auth/register", |email| json!({"email": email, "password": "short"})).await;
    for answer in &answers {
        answer.has_fault("string_too_short", "body.password").tells_no_more_than(&answers[0]);
    }
    let weak = "password123";
    let answers = self::answers(&world, "/api/auth/register", |email| json!({"email": email, "password": weak})).await;
    for answer in &answers {
        answer.is_error(422, "VAL_002").tells_no_more_than(&answers[0]);
    }
}

#[tokio::test]
async fn equal_answers_leave_equally_many_rows_behind() {
    // Equal work: a decoy ticket and a mail that is never sent stand where a real one would.
    let world = World::new().await;
    let (unknown, member) = (world.mailbox(), world.member().await);
    world.deliver().await;
    let rows = async || {
        let tickets = world.db_number("SELECT count(*) FROM tickets WHERE $1 <> ''", "any").await;
        let mails = world.db_number("SELECT count(*) FROM mail_outbox WHERE $1 <> ''", "any").await;
        (tickets, mails)
    };
    let mut grown = Vec::new();
    for email in [&unknown, &member] {
        let before = rows().await;
        world.anonymous().post("/api/auth/forgot-password", json!({"email": email})).await.is(202);
        let after = rows().await;
        grown.push((after.0 - before.0, after.1 - before.1));
    }
    assert_eq!(grown, [(1, 1), (1, 1)]);
    assert_eq!(world.mails_to(&unknown).await.len(), 0);
    assert_eq!(world.mails_to(&member).await.len(), 2);
}

/// Pairs of logins whose times are compared.
const PAIRS: usize = 30;

/// How far the middle ratio of two times may lie from one. Two hashes instead of one would be 2, none a twentieth; what
/// remains is a busy machine, which strikes both of a pair alike. The limit is in neither direction a promise of speed.
const NEARLY_ONE: std::ops::Range<f64> = 0.67..1.5;

#[tokio::test]
async fn an_unknown_address_takes_as_long_as_a_wrong_password() {
    // case 107
    let _turn = FLOOD.acquire().await.unwrap();
    let world = World::new().await;
    let member = world.member().await;
    let timed = async |email: &str| {
        let ask = world.anonymous().login(email, "Wrong-Horse-1!");
        let begun = Instant::now();
        let reply = ask.await;
        (begun.elapsed().as_secs_f64(), reply)
    };
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        let unknown = world.mailbox();
        // Who comes first takes turns, so that neither always finds a warm cache.
        let ((unknown, one), (known, other)) = if pair % 2 == 0 {
            (timed(&unknown).await, timed(&member).await)
        } else {
            let known = timed(&member).await;
            (timed(&unknown).await, known)
        };
        one.is_error(401, "AUTH_001");
        other.tells_no_more_than(&one);
        ratios.push(unknown / known);
    }
    ratios.sort_by(f64::total_cmp);
    let middle = f64::midpoint(ratios[PAIRS / 2 - 1], ratios[PAIRS / 2]);
    assert!(NEARLY_ONE.contains(&middle), "{middle}: {ratios:?}");
}
