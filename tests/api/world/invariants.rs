//! The rules that hold for every answer of every test. They restate the contract and trust nothing of the service but
//! its list of routes.

use http::{Method, header};
use labs_auth::{
    error::ErrorCode,
    screens::{self, Asset},
};
use serde_json::Value;

use super::{Ask, Reply, facts::Facts};

/// What must never stand in an error, beside what the test itself sent.
const INSIDES: [&str; 9] = [
    "$argon2",
    "SELECT ",
    "INSERT ",
    "UPDATE ",
    "DELETE FROM",
    "sqlx",
    "UNIQUE constraint",
    "duplicate key",
    "panicked",
];

const EXPOSED: &str = "X-Total-Count, X-Request-ID, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, \
                       X-RateLimit-Remaining, X-RateLimit-Reset";

/// Checks an answer.
#[track_caller]
pub(super) fn check(facts: &Facts, asked: &Ask, reply: &Reply) {
    let method = asked.method.as_str();
    let path = &asked.plain_path();
    dressed(facts, asked, reply);
    readable_by(facts, asked, reply);
    counted(facts, asked, reply);
    if reply.body.is_empty() {
        let may_be_empty =
            method == "HEAD" || is_preflight(asked) || reply.status.is_redirection() || reply.status == 204;
        assert!(may_be_empty, "an answer without a body: {reply:?}");
    } else if is_page(asked, reply) {
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"), "{reply:?}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{reply:?}");
    } else if let Some(asset) = screen(asked, reply) {
        assert_eq!(reply.header("content-type"), Some(asset.kind), "{reply:?}");
        assert_eq!(reply.header("cache-control"), Some("no-cache"), "{reply:?}");
    } else {
        assert_eq!(reply.header("content-type"), Some("application/json"), "{reply:?}");
        let body = reply.json();
        let credential = body.get("access_token").is_some()
            || body.get("refresh_token").is_some()
            || body.get("key").is_some()
            || body.get("api_key").is_some();
        let is_error = reply.status.is_client_error() || reply.status.is_server_error();
        if credential || is_error {
            assert_eq!(reply.header("cache-control"), Some("no-store"), "{reply:?}");
        }
        if is_error {
            well_said(path, reply, &body);
            keeps_secrets(facts, reply);
        }
    }
    waits(reply);
}

/// What every answer wears.
#[track_caller]
fn dressed(facts: &Facts, asked: &Ask, reply: &Reply) {
    let id = reply.header("x-request-id").unwrap_or_else(|| panic!("no request id: {reply:?}"));
    let parsed = uuid::Uuid::parse_str(id).unwrap_or_else(|_| panic!("the request id is no UUID: {reply:?}"));
    assert_eq!((parsed.get_version_num(), parsed.to_string()), (4, id.to_owned()), "{reply:?}");
    let time = reply.header("x-response-time").and_then(|it| it.strip_suffix("ms")).map(str::parse::<f64>);
    assert!(matches!(time, Some(Ok(millis)) if millis >= 0.0), "no response time: {reply:?}");
    for (name, value) in
        [("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("referrer-policy", "no-referrer")]
    {
        assert_eq!(reply.header(name), Some(value), "{reply:?}");
    }
    let policy = reply.header("content-security-policy");
    if is_page(asked, reply) {
        let strict = |it: &str| it.starts_with("default-src 'none'; style-src 'nonce-") && !it.contains("unsafe");
        assert!(policy.is_some_and(strict), "{reply:?}");
    } else if screen(asked, reply).is_some() {
        let own = |it: &str| it.starts_with("default-src 'none'; script-src 'self';") && !it.contains("unsafe");
        assert!(policy.is_some_and(own), "{reply:?}");
    } else {
        assert_eq!(policy, Some("default-src 'none'; frame-ancestors 'none'"), "{reply:?}");
    }
    assert_eq!(reply.header("strict-transport-security").is_some(), facts.production, "{reply:?}");
    for name in reply.headers.keys().filter(|name| !matches!(**name, header::SET_COOKIE | header::VARY)) {
        assert_eq!(reply.headers.get_all(name).iter().count(), 1, "{name} stands twice: {reply:?}");
    }
}

/// Which pages may read the answer.
#[track_caller]
fn readable_by(facts: &Facts, asked: &Ask, reply: &Reply) {
    let vary: Vec<&str> =
        reply.headers.get_all(header::VARY).iter().flat_map(|it| it.to_str().unwrap().split(',')).collect();
    assert!(vary.iter().any(|token| token.trim().eq_ignore_ascii_case("origin")), "no Vary: Origin: {reply:?}");
    let mut origins = asked.headers.get_all(header::ORIGIN).iter();
    let origin = origins.next().filter(|_| origins.next().is_none()).map(|it| String::from_utf8_lossy(it.as_bytes()));
    let known = origin.as_deref().is_some_and(|origin| facts.origins.iter().any(|allowed| allowed == origin));
    let public = facts.public_prefixes.iter().any(|prefix| {
        let path = asked.plain_path();
        let rest = path.strip_prefix(prefix.as_str());
        rest.is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
    });
    if origin.is_some() && (known || public) {
        assert_eq!(reply.header("access-control-allow-origin"), origin.as_deref(), "{reply:?}");
        let credentials = reply.header("access-control-allow-credentials");
        assert_eq!(credentials, known.then_some("true"), "{reply:?}");
        assert_eq!(reply.header("access-control-expose-headers"), Some(EXPOSED), "{reply:?}");
    } else {
        let stray = reply.headers.keys().find(|name| name.as_str().starts_with("access-control-"));
        assert_eq!(stray, None, "{reply:?}");
    }
}

/// Which answers tell of a budget: those that were counted, and no other.
#[track_caller]
fn counted(facts: &Facts, asked: &Ask, reply: &Reply) {
    let (method, path) = (asked.method.as_str(), &asked.plain_path());
    let policies = reply.header("ratelimit-policy").unwrap_or("");
    // What breaks inside may break before or after the count.
    if reply.status.is_server_error() {
        return;
    }
    let uncounted = is_preflight(asked) || is_refused_at_the_door(reply) || is_sibling(facts, asked);
    let volumetric = facts.volumetric && !uncounted && is_volumetric(path);
    if is_plain(path) {
        assert_eq!(policies.contains("\"ip\";"), volumetric, "{reply:?}");
    }
    let unread = matches!(reply.status.as_u16(), 408 | 413 | 415)
        || reply.faults_or_none().iter().any(|(kind, _)| kind == "json_invalid")
        || is_gateway(path) && reply.status == 422 && is_not_json(asked);
    // What the ceiling over everything refuses has met no bucket of its own.
    let flooded = reply.status == 429 && reply.body_code().as_deref() == Some("");
    let own = facts.counts_networks(method, path) && !uncounted && !unread && !flooded;
    let has_own = ["\"auth\";", "\"signup-ip\";"].iter().any(|name| policies.contains(name));
    assert_eq!(has_own, own, "a route's own bucket: {reply:?}");
    // A mailbox's numbers are never shown, and a refusal by one shows none at all.
    let hides_numbers = reply.header("ratelimit").is_none() && (reply.status == 429 || (!own && !volumetric));
    if is_plain(path) && !facts.has_policy(method, path) {
        // A mailbox is counted once the body names one.
        let named = facts.counts_mailboxes(method, path) && policies.contains("\"auth-email\";");
        assert_eq!(policies.is_empty(), !volumetric && !own && !named, "{reply:?}");
    }
    if !policies.is_empty() && !hides_numbers {
        for name in ["ratelimit", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
            assert!(reply.header(name).is_some(), "no {name}: {reply:?}");
        }
    }
}

/// The one page among the answers of the API.
fn is_page(asked: &Ask, reply: &Reply) -> bool {
    asked.method == Method::GET && asked.plain_path() == "/api/auth/cli-login" && reply.status == 200
}

/// What a hosted screen consists of.
fn screen(asked: &Ask, reply: &Reply) -> Option<Asset> {
    let path = asked.plain_path();
    let files = screens::PATHS.iter().map(|path| (*path, screens::DOCUMENT)).chain(screens::ASSETS);
    files.filter(|_| asked.method == Method::GET && reply.status == 200).find(|file| file.0 == path).map(|file| file.1)
}

fn is_refused_at_the_door(reply: &Reply) -> bool {
    reply.status == 400 && reply.code() == "VAL_006"
}

/// Whether a sibling service asks about a key or redeems a ticket: whoever shows a valid service key is counted nowhere.
fn is_sibling(facts: &Facts, asked: &Ask) -> bool {
    const ROUTES: [&str; 2] = ["/api/prima/v1/keys/introspect", "/api/auth/ws-ticket/redeem"];
    ROUTES.contains(&asked.plain_path().as_str()) && facts.service_keys.admit(&asked.headers)
}

/// The gateway shape does not say what was wrong with a body.
fn is_not_json(asked: &Ask) -> bool {
    let declared = asked.headers.get(header::CONTENT_TYPE).is_none_or(|it| it == "application/json");
    declared && !asked.body.is_empty() && serde_json::from_slice::<Value>(&asked.body).is_err()
}

fn is_gateway(path: &str) -> bool {
    path.strip_prefix("/api/prima/v1").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_preflight(asked: &Ask) -> bool {
    let headers = &asked.headers;
    asked.method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn is_volumetric(path: &str) -> bool {
    let under = |prefix: &str| path == prefix || path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
    under("/api") && !under("/api/auth") && !matches!(path, "/api/health" | "/api/health/detailed")
}

/// Whether no proxy could read the path differently; how the others are counted has tests of its own.
fn is_plain(path: &str) -> bool {
    !path.contains(['%', ';']) && !path.contains("//") && !path.split('/').any(|it| matches!(it, "." | ".."))
}

/// One of the three shapes, and the right one for the path.
#[track_caller]
fn well_said(path: &str, reply: &Reply, body: &Value) {
    if path.ends_with("/health/detailed") && reply.status == 503 {
        return;
    }
    let keys = |value: &Value| {
        let mut keys: Vec<String> = value.as_object().unwrap_or_else(|| panic!("{reply:?}")).keys().cloned().collect();
        keys.sort();
        keys
    };
    if body["error"] == "rate_limit_exceeded" {
        assert!(reply.status == 429 && (is_volumetric(path) || !is_plain(path)), "{reply:?}");
        assert_eq!(keys(body), ["error", "message"], "{reply:?}");
        return;
    }
    let id = reply.header("x-request-id").unwrap();
    let (code, sentence) = if is_gateway(path) {
        assert_eq!(keys(body), ["error"], "{reply:?}");
        let inner = &body["error"];
        assert_eq!(keys(inner), ["code", "message", "param", "request_id", "type"], "{reply:?}");
        assert_eq!(inner["request_id"], id, "{reply:?}");
        assert_eq!(inner["type"], gateway_type(reply.status.as_u16()), "{reply:?}");
        (&inner["code"], &inner["message"])
    } else {
        assert_eq!(keys(body), ["code", "details", "error", "request_id", "timestamp"], "{reply:?}");
        assert_eq!(body["request_id"], id, "{reply:?}");
        let timestamp = body["timestamp"].as_str().unwrap();
        assert!(timestamp.len() == 24 && timestamp.ends_with('Z') && timestamp.as_bytes()[10] == b'T', "{reply:?}");
        detailed(reply, body);
        (&body["code"], &body["error"])
    };
    let known = ErrorCode::ALL.iter().find(|known| *code == known.wire()).unwrap_or_else(|| panic!("{reply:?}"));
    assert_eq!(known.status(), reply.status, "{reply:?}");
    assert!(sentence.as_str().is_some_and(|it| it.ends_with('.')), "no sentence: {reply:?}");
}

#[track_caller]
fn detailed(reply: &Reply, body: &Value) {
    let details = &body["details"];
    match body["code"].as_str().unwrap_or_default() {
        "VAL_001" if reply.status == 422 => {
            let errors = details["errors"].as_array().unwrap_or_else(|| panic!("no faults: {reply:?}"));
            assert!(!errors.is_empty() && details.as_object().unwrap().len() == 1, "{reply:?}");
            for error in errors {
                let mut names: Vec<&String> = error.as_object().unwrap().keys().collect();
                names.sort();
                assert_eq!(names, ["loc", "msg", "type"], "a fault echoes or omits something: {reply:?}");
            }
        }
        "VAL_002" => {
            let reasons = details["reasons"].as_array().unwrap_or_else(|| panic!("no reasons: {reply:?}"));
            let known = ["common", "contains_email", "unchanged"];
            assert!(!reasons.is_empty() && reasons.iter().all(|it| known.contains(&it.as_str().unwrap())), "{reply:?}");
        }
        _ => assert!(details.is_null(), "{reply:?}"),
    }
}

fn gateway_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

#[track_caller]
fn keeps_secrets(facts: &Facts, reply: &Reply) {
    let body = String::from_utf8_lossy(&reply.body);
    for inside in INSIDES {
        assert!(!body.contains(inside), "{inside} shows: {reply:?}");
    }
    assert_eq!(facts.given_away(&body), None, "an error repeats a secret: {reply:?}");
    for (name, value) in &reply.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        assert_eq!(facts.given_away(&value), None, "{name} repeats a secret: {reply:?}");
    }
}

/// Who is told to wait: whoever is refused for now, and nobody else.
#[track_caller]
fn waits(reply: &Reply) {
    let waits = reply.status == 429 || reply.body_code().as_deref() == Some("SYS_002");
    let wait = reply.header("retry-after");
    assert_eq!(wait.is_some(), waits, "{reply:?}");
    if let Some(wait) = wait {
        assert!(wait.parse::<u64>().is_ok_and(|seconds| seconds >= 1 && seconds.to_string() == wait), "{reply:?}");
    }
}

impl Reply {
    pub(crate) fn body_code(&self) -> Option<String> {
        serde_json::from_slice::<Value>(&self.body).ok().map(|_| self.code())
    }

    fn faults_or_none(&self) -> Vec<(String, String)> {
        if self.status == 422 && self.body_code().as_deref() == Some("VAL_001") { self.faults() } else { Vec::new() }
    }
}
