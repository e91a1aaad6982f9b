//! For whom the service answers.

use http::Method;
use serde_json::json;

use crate::world::{PAGE, Verbs, World};

const LOGIN: &str = "/api/auth/login";

#[tokio::test]
async fn a_request_for_nobody_or_for_two_is_refused_and_costs_nothing() {
    let world = World::new().await;
    let somebody = world.anonymous();
    for _ in 0..20 {
        somebody.post(LOGIN, json!({})).without("host").origin(PAGE).await.is_error(400, "VAL_006");
        somebody.post(LOGIN, json!({})).header("host", "auth.labs.example").await.is_error(400, "VAL_006");
    }
    for host in [
        "",
        "a b",
        "a/b",
        "evil.example@auth.labs.example",
        "\u{fc}.example",
        ":80",
        "a:b",
        "a:80b",
        "a:+80",
        "a:-1",
        "a:65536",
        "a:80:80",
        "[::1]x",
        "[::1]:x",
    ] {
        somebody.post(LOGIN, json!({})).only("host", host).await.is_error(400, "VAL_006");
    }
    somebody.post("/api/scribe/x", json!({})).without("host").await.is_error(400, "VAL_006");
    assert_eq!(somebody.post(LOGIN, json!({})).await.remaining(), 29);
    assert_eq!(somebody.get("/api/scribe/x").await.remaining(), 239);
}

#[tokio::test]
async fn a_target_that_names_another_authority_than_the_host_is_refused() {
    let world = World::new().await;
    let somebody = world.anonymous();
    somebody.post("http://evil.example/api/auth/login", json!({})).await.is_error(400, "VAL_006");
    somebody.post("http://auth.labs.example/api/auth/login", json!({})).await.is_error(422, "VAL_001");
    somebody.post("http://auth.labs.example:80/api/auth/login", json!({})).await.is_error(400, "VAL_006");
}

#[tokio::test]
async fn only_the_listed_names_are_served_and_probes_ask_by_address() {
    let world = World::with(&[("ALLOWED_HOSTS", "auth.labs.example, Other.example")]).await;
    let somebody = world.anonymous();
    for host in [
        "auth.labs.example",
        "AUTH.labs.example",
        "auth.labs.example:8443",
        "auth.labs.example:",
        "auth.labs.example.",
        "other.example",
    ] {
        somebody.post(LOGIN, json!({})).only("host", host).await.is_error(422, "VAL_001");
    }
    for host in ["evil.example", "auth.labs.example.evil.example", "xauth.labs.example", "127.0.0.1", "[::1]:8020"] {
        somebody.post(LOGIN, json!({})).only("host", host).origin(PAGE).await.is_error(400, "VAL_006");
        for path in ["/health", "/health/detailed", "/api/health", "/api/health/detailed"] {
            somebody.get(path).only("host", host).await.is(200);
        }
        for path in ["/healthX", "/health/", "/api/health/x", "/nope"] {
            somebody.get(path).only("host", host).await.is_error(400, "VAL_006");
        }
    }
    // A browser's preflight is answered before anything else is looked at.
    let preflight = somebody.ask(Method::OPTIONS, LOGIN).only("host", "evil.example").origin(PAGE);
    preflight.header("access-control-request-method", "POST").await.is(200);
}
