//! Whatever bytes arrive: an answer of the house, never a 5xx.

use http::Method;
use proptest::{
    prelude::{Just, Strategy, any, prop, prop_oneof},
    test_runner::{Config, TestRunner},
};
use serde_json::{Map, Number, Value};
use tokio::runtime::Runtime;

use crate::world::{Ask, Verbs, World};

const ROUTES: [&str; 8] = [
    "/api/auth/register",
    "/api/auth/login",
    "/api/auth/refresh",
    "/api/auth/forgot-password",
    "/api/auth/reset-password",
    "/api/auth/set-password",
    "/api/auth/resend-verification",
    "/api/auth/verify-email",
];

/// Sends what `ask` makes of many values; the rules for every answer are checked on the way.
fn all_answered<T: std::fmt::Debug>(cases: u32, values: impl Strategy<Value = T>, ask: impl Fn(&World, T) -> Ask) {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(World::new());
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&values, |value| {
        let reply = runtime.block_on(async { ask(&world, value).await });
        assert!(reply.status.as_u16() < 500, "{reply:?}");
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|number| Value::Number(Number::from(number))),
        ".{0,24}".prop_map(Value::String),
        "[a-z.+@\u{e4}\0 ]{0,24}".prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((name(), inner), 0..5).prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

/// Mostly names that a route reads.
fn name() -> impl Strategy<Value = String> {
    let known = ["email", "password", "new_password", "token", "refresh_token", "full_name", "name", "locale"];
    prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,8}"]
}

#[test]
fn any_bytes_are_answered() {
    let content_type = prop::sample::select(vec![None, Some("application/json"), Some("text/plain"), Some("a/b+json")]);
    let values = (prop::sample::select(ROUTES.to_vec()), content_type, prop::collection::vec(any::<u8>(), 0..200));
    all_answered(300, values, |world, (path, content_type, bytes)| world.anonymous().raw(path, content_type, bytes));
}

#[test]
fn any_json_is_answered() {
    let values = (prop::sample::select(ROUTES.to_vec()), any_json());
    all_answered(400, values, |world, (path, body)| world.anonymous().post(path, body));
}

#[test]
fn any_header_is_answered() {
    let bytes = prop_oneof![
        prop::collection::vec(prop_oneof![0x20_u8..0x7f, 0x80_u8..=0xff, Just(b'\t')], 0..60),
        "(Bearer|bearer|Basic) [A-Za-z0-9._-]{0,40}".prop_map(String::into_bytes),
        "[0-9a-f.:%\\[\\], ]{0,60}".prop_map(String::into_bytes),
        "[a-z0-9.:-]{1,20}(:[0-9]{0,6})?".prop_map(String::into_bytes),
    ];
    let names = [
        "authorization",
        "x-forwarded-for",
        "host",
        "origin",
        "cookie",
        "content-type",
        "content-encoding",
        "x-workspace-id",
        "user-agent",
        "x-request-id",
    ];
    let values = (prop::sample::select(names.to_vec()), bytes, any::<bool>());
    all_answered(400, values, |world, (name, bytes, signed_in)| {
        let somebody = world.anonymous();
        let ask = if signed_in { somebody.get("/api/auth/me") } else { somebody.raw(ROUTES[2], None, "") };
        ask.only(name, bytes)
    });
}

#[test]
fn any_path_is_answered() {
    let path = prop_oneof![
        "/[!-\"$-;=@-~]{0,40}",
        "/(api|API)?/{1,2}(auth|scribe|health|prima/v1|%2e%2e|\\.\\.|;x)?/?(login|detailed|\\.|%2e)?/{0,2}(\\?[a-z=&%]{0,8})?",
    ];
    let method = prop::sample::select(vec![Method::GET, Method::POST, Method::HEAD, Method::OPTIONS]);
    let values = (path, method).prop_filter("a target that a client can send", |(path, _)| {
        path.parse::<http::Uri>().is_ok_and(|uri| uri.authority().is_none() && uri.path().starts_with('/'))
    });
    all_answered(400, values, |world, (path, method)| world.anonymous().ask(method, &path));
}
