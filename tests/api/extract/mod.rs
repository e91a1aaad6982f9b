//! Reading a request: the table of what counts as a body, and what each kind of nonsense costs.

mod random;

use http::Method;
use serde_json::json;

use crate::world::{Anonymous, Ask, PAGE, PASSWORD, Reply, Verbs, World};

const LOGIN: &str = "/api/auth/login";
const JSON: Option<&str> = Some("application/json");

/// Asks, and says how many units of the login's budget that cost.
async fn cost(somebody: &Anonymous, ask: Ask) -> (Reply, u64) {
    let before = somebody.post(LOGIN, json!({})).await.remaining();
    let reply = ask.await;
    let after = somebody.post(LOGIN, json!({})).await.remaining();
    // The second probe costs a unit itself.
    (reply, before - after - 1)
}

async fn login(world: &World, content_type: Option<&str>, body: impl Into<Vec<u8>>) -> (Reply, u64) {
    let somebody = world.anonymous();
    cost(&somebody, somebody.raw(LOGIN, content_type, body)).await
}

fn credentials(email: &str) -> String {
    json!({"email": email, "password": PASSWORD}).to_string()
}

#[tokio::test]
async fn a_body_that_is_not_json_costs_nothing() {
    // cases 007, 015, 021, 023
    let world = World::new().await;
    let email = world.member().await;
    let deep = |levels: usize| format!(r#"{{"x":{}1{}}}"#, "[".repeat(levels), "]".repeat(levels)).into_bytes();
    let bodies: [Vec<u8>; 13] = [
        b"}".to_vec(),
        b"not json".to_vec(),
        b" ".to_vec(),
        format!("{}x", credentials(&email)).into_bytes(),
        b"{\"email\":\"a@b.ch\",\"password\":\"\xff\"}".to_vec(),
        b"{\"password\":NaN}".to_vec(),
        b"{\"password\":Infinity}".to_vec(),
        b"{\"x\":1e999}".to_vec(),
        b"{\"x\":\"\\ud800\"}".to_vec(),
        b"{\"email\":\"a@b.ch\",}".to_vec(),
        vec![b'['; 60_000],
        deep(128),
        b"\xEF\xBB\xBF".to_vec(),
    ];
    for body in bodies {
        for content_type in [JSON, Some("application/problem+json; charset=utf-8"), None] {
            let (reply, units) = login(&world, content_type, body.clone()).await;
            assert_eq!(
                (reply.is_error(422, "VAL_001").faults()[0].0.as_str(), units),
                ("json_invalid", 0),
                "{reply:?}"
            );
        }
    }
    let (reply, _) = login(&world, JSON, "\n\n  }").await;
    reply.has_fault("json_invalid", "body.4");
}

#[tokio::test]
async fn json_of_the_wrong_shape_costs_a_unit() {
    // cases 005, 019
    let world = World::new().await;
    let email = world.member().await;
    let array = json!([email, PASSWORD]).to_string();
    for body in [array.as_str(), "[]", "\"text\"", "7", "true"] {
        let (reply, units) = login(&world, JSON, body).await;
        assert_eq!(units, 1);
        reply.has_fault("model_attributes_type", "body");
    }
    for body in ["", "null", " null ", "\u{feff}null"] {
        let (reply, units) = login(&world, JSON, body).await;
        assert_eq!(units, 1);
        reply.has_fault("missing", "body");
    }
    let (reply, units) = login(&world, JSON, "{}").await;
    assert_eq!((reply.faults().len(), units), (2, 1));
    let (reply, units) = login(&world, JSON, format!(r#"{{"email":"a\u0000{email}","password":"p"}}"#)).await;
    reply.has_fault("value_error", "body.email");
    assert_eq!(units, 1);
}

#[tokio::test]
async fn a_content_type_that_is_json_in_any_spelling_is_read() {
    // cases 013, 017
    let world = World::new().await;
    let email = world.member().await;
    let body = credentials(&email);
    for content_type in [
        JSON,
        None,
        Some("application/json; charset=utf-8"),
        Some("APPLICATION/JSON"),
        Some("application/vnd.api+json"),
    ] {
        let (reply, units) = login(&world, content_type, body.clone()).await;
        reply.is(200);
        assert_eq!(units, 1);
    }
    let (reply, _) = login(&world, JSON, format!("\u{feff}{body}")).await;
    reply.is(200);
    let levels = format!(r#"{{"x":{}1{},{}"#, "[".repeat(100), "]".repeat(100), &body[1..]);
    login(&world, JSON, levels).await.0.is(200);
    let doubled = format!(r#"{{"password":"wrong",{}"#, &body[1..]);
    login(&world, JSON, doubled).await.0.is(200);
}

#[tokio::test]
async fn another_content_type_is_no_body_of_ours_and_costs_a_unit() {
    // case 011
    let world = World::new().await;
    let email = world.member().await;
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "text/json",
        "application/",
        "json",
        "",
    ] {
        let somebody = world.anonymous();
        let ask = somebody.raw(LOGIN, Some(content_type), credentials(&email)).origin("https://evil.example");
        let (reply, units) = cost(&somebody, ask).await;
        reply.has_fault("model_attributes_type", "body");
        assert_eq!(units, 1);
        assert!(reply.cookies().is_empty());
    }
    let (reply, units) = login(&world, Some("application/x-www-form-urlencoded"), "email=a&password=b").await;
    reply.has_fault("model_attributes_type", "body");
    assert_eq!(units, 1);
}

#[tokio::test]
async fn a_body_over_64_kib_is_too_large_and_costs_nothing() {
    // case 125
    let world = World::new().await;
    let email = world.member().await;
    let padded = |length: usize| {
        let body = credentials(&email);
        format!("{body}{}", " ".repeat(length - body.len()))
    };
    login(&world, JSON, padded(64 * 1024)).await.0.is(200);
    let somebody = world.anonymous();
    for length in [64 * 1024 + 1, 3 * 1024 * 1024] {
        let (reply, units) = cost(&somebody, somebody.raw(LOGIN, JSON, padded(length)).origin(PAGE)).await;
        reply.is_error(413, "VAL_003");
        assert_eq!((units, reply.header("connection")), (0, Some("close")));
    }
}

#[tokio::test]
async fn nothing_is_ever_decompressed() {
    // case 027
    let world = World::new().await;
    let email = world.member().await;
    let somebody = world.anonymous();
    for encoding in ["gzip", "br", "GZIP", "deflate, gzip", "identity, gzip", ""] {
        let ask = somebody.raw(LOGIN, JSON, credentials(&email)).header("content-encoding", encoding);
        let (reply, units) = cost(&somebody, ask).await;
        reply.is_error(415, "VAL_004");
        assert_eq!(units, 0);
    }
    somebody.raw(LOGIN, JSON, credentials(&email)).header("content-encoding", "Identity").await.is(200);
}

#[tokio::test]
async fn a_wrong_method_and_a_slash_too_many_cost_nothing() {
    // cases 127, 275, 277
    let world = World::new().await;
    let somebody = world.anonymous();
    for method in [Method::GET, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS, Method::HEAD] {
        let (reply, units) = cost(&somebody, somebody.ask(method, LOGIN).origin(PAGE)).await;
        assert_eq!((reply.is_error(405, "RES_003").header("allow"), units), (Some("POST"), 0));
    }
    let (reply, units) = cost(&somebody, somebody.post("/api/auth/login/?next=%2Fa&b", json!({}))).await;
    assert_eq!((reply.is(307).header("location"), units), (Some("/api/auth/login?next=%2Fa&b"), 0));
    for path in ["/api/auth/login//", "/api/auth/nope/", "/api/auth/nope", "/nope", "/", "/api", "/api/auth"] {
        for method in [Method::GET, Method::POST] {
            somebody.ask(method, path).origin(PAGE).await.is_error(404, "RES_001");
        }
    }
}

#[tokio::test]
async fn a_refusal_is_json_and_bears_the_id_of_its_request() {
    // case 025
    let world = World::new().await;
    let reply = world.anonymous().post(LOGIN, json!({})).await;
    reply.is_error(422, "VAL_001").has_fault("missing", "body.email").has_fault("missing", "body.password");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("x-request-id"), Some(reply.field("request_id").as_str()));
}
