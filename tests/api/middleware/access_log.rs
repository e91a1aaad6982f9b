//! What a request leaves in the log: one line, and nothing that it brought.

use serde_json::json;
use tracing::Level;

use crate::{
    limit::world::Log,
    world::{Verbs, World},
};

#[tokio::test]
async fn no_line_of_the_log_repeats_a_query_a_header_a_body_or_a_path() {
    // case 291
    let (log, _listening) = Log::listen_to(Level::TRACE);
    let world = World::new().await;
    for route in world.routes() {
        let path = route.path.replace('{', "path-mark-").replace('}', "");
        let path = format!("{path}?code=query-mark-1&state=query-mark-2&token=query-mark-3&port=7777");
        let body = json!({
            "email": "body-mark-1@labs.example", "password": "body-mark-2", "new_password": "body-mark-3",
            "token": "body-mark-4", "refresh_token": "body-mark-5", "code": "body-mark-6", "handle": "body-mark-7",
            "name": "body-mark-8", "key": "body-mark-9", "ticket": "body-mark-10",
        });
        let ask = world.anonymous().ask(route.verb.name().parse().unwrap(), &path).json(&body);
        let ask = ask.header("authorization", "Bearer header-mark-1").header("cookie", "labs_refresh=header-mark-2");
        ask.header("x-workspace-id", "header-mark-3").header("user-agent", "header-mark-4").await;
        // The log listened: a route is named by its template.
        assert!(!log.lines_with(route.path).is_empty(), "{} left no line", route.path);
    }
    // A form, and a path that no route has.
    let form =
        world.anonymous().raw("/api/auth/cli-login", Some("application/x-www-form-urlencoded"), "csrf=body-mark-1");
    form.await;
    world.anonymous().get("/nowhere/path-mark?x=query-mark").await;
    let told = log.lines_with("-mark");
    assert!(told.is_empty(), "{told:#?}");
}
