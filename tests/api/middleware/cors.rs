//! Which pages may read an answer. What every answer wears is a rule of the world; here is what the rules cannot see.

use http::Method;
use serde_json::json;

use crate::world::{Ask, PAGE, Verbs, World};

const LOGIN: &str = "/api/auth/login";

fn preflight(world: &World, path: &str, origin: &str) -> Ask {
    let ask = world.anonymous().ask(Method::OPTIONS, path).origin(origin);
    ask.header("access-control-request-method", "POST").header("access-control-request-headers", "content-type")
}

#[tokio::test]
async fn a_preflight_from_an_allowed_page_lists_what_the_page_may_do() {
    // case 139
    let world = World::new().await;
    for path in ["/api/auth/me", "/api/auth/logout", LOGIN, "/api/auth/nope", "/health"] {
        let reply = preflight(&world, path, PAGE).await;
        reply.is(200);
        assert_eq!(reply.header("access-control-allow-methods"), Some("GET, POST, PATCH, DELETE"));
        let headers = "Authorization, Content-Type, X-Workspace-ID";
        assert_eq!(reply.header("access-control-allow-headers"), Some(headers));
        assert_eq!(reply.header("access-control-max-age"), Some("600"));
    }
    preflight(&world, LOGIN, "https://admin.labs.example:8443").await.is(200);
}

#[tokio::test]
async fn a_look_alike_of_an_allowed_page_may_do_nothing() {
    // cases 133, 135; that no Access-Control header is there at all is a rule for every answer.
    let world = World::new().await;
    for origin in [
        "https://app.labs.example.evil.example",
        "null",
        "http://app.labs.example",
        "https://app.labs.example:443",
        "https://APP.labs.example",
        "https://app.labs.example/",
        "https://xapp.labs.example",
        "https://admin.labs.example",
        "*",
        "",
    ] {
        let reply = preflight(&world, LOGIN, origin).await;
        assert!(reply.header("access-control-allow-origin").is_none(), "{reply:?}");
        let reply = world.anonymous().post("/api/auth/refresh", json!({})).origin(origin).await;
        assert!(reply.is(401).header("access-control-allow-origin").is_none(), "{reply:?}");
    }
    // Two origins are nobody's.
    let twice = world.anonymous().get("/health").origin(PAGE).header("origin", PAGE).await;
    assert!(twice.is(200).header("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn preflights_are_counted_nowhere() {
    // case 121
    let world = World::new().await;
    let somebody = world.anonymous();
    for path in [LOGIN, "/api/scribe/x"] {
        for _ in 0..300 {
            let ask = somebody.ask(Method::OPTIONS, path).origin(PAGE).header("access-control-request-method", "POST");
            ask.await.is(200);
        }
    }
    assert_eq!(somebody.get("/api/scribe/x").await.remaining(), 239);
    for _ in 0..30 {
        somebody.post(LOGIN, json!({})).origin(PAGE).await.is(422);
    }
    // cases 123, 137: the page can read that it is refused, and for how long.
    let refused = somebody.post(LOGIN, json!({})).origin(PAGE).await;
    refused.is_rate_limited();
    assert_eq!(refused.header("access-control-allow-origin"), Some(PAGE));
    assert_eq!(refused.header("access-control-allow-credentials"), Some("true"));
    assert!(refused.header("access-control-expose-headers").unwrap().contains("Retry-After"));
}

#[tokio::test]
async fn an_options_that_is_no_preflight_is_a_request_like_any_other() {
    let world = World::new().await;
    let somebody = world.anonymous();
    let plain = somebody.ask(Method::OPTIONS, "/api/scribe/x").await;
    assert_eq!(plain.is_error(404, "RES_001").remaining(), 239);
    let without_method = somebody.ask(Method::OPTIONS, "/api/scribe/x").origin(PAGE).await;
    assert_eq!(without_method.is(404).remaining(), 238);
    let without_origin = somebody.ask(Method::OPTIONS, LOGIN).header("access-control-request-method", "POST").await;
    assert_eq!(without_origin.is_error(405, "RES_003").header("allow"), Some("POST"));
}

#[tokio::test]
async fn any_page_may_read_the_public_prefixes_without_credentials() {
    let world = World::new().await;
    for path in ["/api/scribe", "/api/scribe/x", "/api/f/form", "/api/commerce/self-service/y"] {
        let reply = world.anonymous().get(path).origin("https://anybody.example").await;
        assert_eq!(reply.is(404).header("access-control-allow-origin"), Some("https://anybody.example"));
        assert!(reply.header("access-control-allow-credentials").is_none());
        preflight(&world, path, "https://anybody.example").await.is(200);
    }
    // Near misses are not public.
    for path in ["/api/scribed", "/api/f", "/api/commerce", LOGIN] {
        let reply = world.anonymous().get(path).origin("https://anybody.example").await;
        assert!(reply.header("access-control-allow-origin").is_none(), "{reply:?}");
    }
}

#[tokio::test]
async fn the_public_prefixes_can_be_chosen() {
    let world = World::with(&[("PUBLIC_CORS_PREFIXES", "/api/widgets")]).await;
    let reply = world.anonymous().get("/api/widgets/x").origin("https://anybody.example").await;
    assert_eq!(reply.header("access-control-allow-origin"), Some("https://anybody.example"));
    let reply = world.anonymous().get("/api/scribe/x").origin("https://anybody.example").await;
    assert!(reply.header("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn without_a_page_exactly_one_header_speaks_of_waiting() {
    // The reference's check greps an answer for the words and must find one line.
    let world = World::new().await;
    let somebody = world.anonymous();
    for _ in 0..30 {
        somebody.post(LOGIN, json!({})).await.is(422);
    }
    let refused = somebody.post(LOGIN, json!({})).await;
    let lines = refused.is_rate_limited().headers.iter().filter(|(name, value)| {
        name.as_str().contains("retry-after") || value.to_str().unwrap().to_lowercase().contains("retry-after")
    });
    assert_eq!(lines.count(), 1, "{refused:?}");
}

#[tokio::test]
async fn no_cache_hands_one_pages_answer_to_another() {
    // case 129
    let world = World::new().await;
    let health = || world.anonymous().get("/health");
    for reply in [health().await, health().origin(PAGE).await, health().origin("https://evil.example").await] {
        let varies = reply.is(200).header("vary").unwrap_or_default();
        assert!(varies.split(',').any(|name| name.trim().eq_ignore_ascii_case("origin")), "{reply:?}");
    }
}
