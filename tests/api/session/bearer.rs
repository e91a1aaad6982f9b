//! Who is let in by an access token, and what the others hear.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use labs_auth::{
    clock::Clock,
    secret::SecretKey,
    session::{Signer, TokenKeys},
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{SignedIn, Verbs, World};

const ME: &str = "/api/auth/me";
const ISSUER: &str = "https://auth.labs.example";

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

fn id(claims: &Value, name: &str) -> Uuid {
    claims[name].as_str().unwrap().parse().unwrap()
}

/// A token for Anna's session, signed by somebody at some time.
fn forged(world: &World, anna: &SignedIn, issuer: &str, secret: &str, ahead: Duration) -> String {
    let keys = TokenKeys::Shared { current: SecretKey::parse(secret).unwrap(), previous: None };
    let signer = Signer::new(issuer.to_owned(), &keys).unwrap();
    let claims = claims(&anna.access);
    let life = Duration::from_mins(30);
    signer.sign(id(&claims, "sub"), id(&claims, "sid"), None, Uuid::new_v4(), world.now() + ahead, life).unwrap()
}

const SECRET: &str = "a secret key of more than thirty-two bytes";

#[tokio::test]
async fn a_token_says_who_whose_session_and_for_how_long_and_nothing_else() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let claims = claims(&anna.access);
    let mut names: Vec<&String> = claims.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["aud", "exp", "iat", "iss", "jti", "sid", "sub", "type", "wid"]);
    assert_eq!((&claims["iss"], &claims["aud"], &claims["type"]), (&json!(ISSUER), &json!("labs"), &json!("access")));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 1800);
    let header: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(anna.access.split('.').next().unwrap()).unwrap()).unwrap();
    assert_eq!(header["alg"], "HS256");
    assert!(header["kid"].is_string());
}

#[tokio::test]
async fn no_token_is_one_thing_and_a_bad_token_another() {
    // case 099
    let world = World::new().await;
    let anna = world.signed_in().await;
    let somebody = world.anonymous();
    let refused = somebody.get(ME).await;
    assert_eq!(refused.is_error(401, "AUTH_002").header("www-authenticate"), Some("Bearer"));
    for value in ["", "Bearer", "Bearer ", "Basic YTpi", "Token x"] {
        somebody.get(ME).header("authorization", value).await.tells_no_more_than(&refused);
    }
    let (head, tail) = anna.access.rsplit_once('.').unwrap();
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let payload = head.split_once('.').unwrap().1;
    let bad = [
        String::from("x"),
        anna.refresh.clone(),
        format!("{head}."),
        format!("{head}.{}", tail.chars().rev().collect::<String>()),
        format!("{none}.{payload}."),
        forged(&world, &anna, ISSUER, "another secret of more than thirty-two bytes", Duration::ZERO),
        forged(&world, &anna, "https://evil.example", SECRET, Duration::ZERO),
        forged(&world, &anna, ISSUER, SECRET, Duration::from_secs(90)),
    ];
    for token in bad {
        let reply = somebody.get(ME).header("authorization", format!("Bearer {token}")).await;
        assert_eq!(reply.is_error(401, "AUTH_004").header("www-authenticate"), Some("Bearer"));
    }
}

#[tokio::test]
async fn a_believed_token_lends_its_belief_to_no_other() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    assert!(anna.is_signed_in().await && anna.is_signed_in().await);
    let parts: Vec<&str> = anna.access.split('.').collect();
    for altered in 0..parts.len() {
        let mut parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        let other = if parts[altered].starts_with('A') { "B" } else { "A" };
        parts[altered].replace_range(..1, other);
        let bearer = format!("Bearer {}", parts.join("."));
        world.anonymous().get(ME).header("authorization", bearer).await.is_error(401, "AUTH_004");
    }
    anna.post("/api/auth/logout", json!({})).await;
    anna.get(ME).await.is_error(401, "AUTH_004");
}

#[test]
fn of_ten_thousand_tokens_each_says_its_own_again() {
    let keys = TokenKeys::Shared { current: SecretKey::parse(SECRET).unwrap(), previous: None };
    let signer = Signer::new(ISSUER.to_owned(), &keys).unwrap();
    let now = Clock::system().now();
    let sign = |session| signer.sign(Uuid::new_v4(), session, None, Uuid::new_v4(), now, Duration::from_mins(30));
    let tokens: Vec<(Uuid, String)> = (0..10_000)
        .map(|_| {
            let session = Uuid::new_v4();
            (session, sign(session).unwrap())
        })
        .collect();
    for _ in 0..2 {
        for (session, token) in &tokens {
            assert_eq!(signer.verify(token, now).unwrap().sid, *session);
        }
    }
}

#[tokio::test]
async fn a_clock_that_is_half_a_minute_ahead_signs_nobody_out() {
    // case 097
    let world = World::new().await;
    let anna = world.signed_in().await;
    let early = forged(&world, &anna, ISSUER, SECRET, Duration::from_secs(30));
    world.anonymous().get(ME).header("authorization", format!("bearer {early}")).await.is(200);
}

#[tokio::test]
async fn a_token_lives_for_half_an_hour_and_a_minute_of_leeway() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.advance(Duration::from_secs(30 * 60 + 59));
    anna.get(ME).await.is(200);
    world.advance(Duration::from_secs(1));
    anna.get(ME).await.is_error(401, "AUTH_003");
    let renewed = world.holder_of(anna.refresh_with(&anna.refresh).await.is(200));
    renewed.get(ME).await.is(200);
}

#[tokio::test]
async fn a_disabled_account_is_told_so() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    world.db_disable(&anna.email).await;
    anna.get(ME).await.is_error(403, "AUTH_008");
}

#[tokio::test]
async fn the_previous_key_still_opens_while_keys_rotate() {
    let world = World::new().await;
    let anna = world.signed_in().await;
    let rotated =
        [("SECRET_KEY", "the next secret of more than thirty-two bytes"), ("DATABASE_URL", world.database_url())];
    let next = World::with(&[rotated[0], rotated[1], ("SECRET_KEY_PREVIOUS", SECRET)]).await;
    let bearer = format!("Bearer {}", anna.access);
    next.anonymous().get(ME).header("authorization", &bearer).await.is(200);
    let refreshed = next.anonymous().post("/api/auth/refresh", json!({"refresh_token": anna.refresh})).await;
    next.holder_of(refreshed.is(200)).get(ME).await.is(200);
    let forgotten = World::with(&rotated).await;
    forgotten.anonymous().get(ME).header("authorization", &bearer).await.is_error(401, "AUTH_004");
}

#[tokio::test]
async fn a_thousand_and_one_strangers_questions_are_answered_and_never_counted() {
    let world = World::new().await;
    let somebody = world.anonymous();
    for _ in 0..1001 {
        somebody.get(ME).await.is_error(401, "AUTH_002");
    }
}
