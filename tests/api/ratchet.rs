//! The ratchet: every route of the plan is asked as a stranger, over its limit, with a body that is none, by a wrong
//! method and with a slash too many. A route that is new is covered on the day it is mounted, or fails here.

use std::collections::BTreeSet;

use http::Method;
use labs_auth::{
    app::{Planned, plan::Verb},
    extract::Rule,
    limit::{Bucket, MailScope, Quotas},
};

use crate::world::{Ask, SignedIn, Verbs, World};

/// What the contract demands of a route: a session, or these buckets.
enum Demand {
    Session,
    /// A session, and a mailbox that is mailed.
    SessionAnd(MailScope),
    Buckets(&'static [Bucket]),
    /// Nobody is asked and nothing is counted: probes, a developer's shortcut, and what is public by nature.
    Nothing,
}

use Demand::{Buckets, Nothing, Session, SessionAnd};

const AUTH: Demand = Buckets(&[Bucket::Auth]);

/// Method, path and demand of every route of the contract. Those that do not exist yet wait here.
const CONTRACT: [(&str, &str, Demand); 63] = [
    ("GET", "/health", Nothing),
    ("GET", "/health/detailed", Nothing),
    ("GET", "/api/health", Nothing),
    ("GET", "/api/health/detailed", Nothing),
    ("POST", "/api/auth/register", Buckets(&[Bucket::Auth, Bucket::AuthEmail(MailScope::Registration)])),
    ("POST", "/api/auth/login", AUTH),
    ("POST", "/api/auth/refresh", AUTH),
    ("POST", "/api/auth/logout", Session),
    ("GET", "/api/auth/me", Session),
    ("PATCH", "/api/auth/me", Session),
    ("DELETE", "/api/auth/me", Session),
    ("POST", "/api/auth/me/leave-code", SessionAnd(MailScope::Leave)),
    ("GET", "/api/auth/me/export", Session),
    ("GET", "/api/auth/workspaces", Session),
    ("POST", "/api/auth/change-password", Session),
    ("POST", "/api/auth/forgot-password", Buckets(&[Bucket::Auth, Bucket::AuthEmail(MailScope::PasswordReset)])),
    ("POST", "/api/auth/reset-password", AUTH),
    ("POST", "/api/auth/set-password", AUTH),
    ("POST", "/api/auth/resend-verification", Buckets(&[Bucket::Auth, Bucket::AuthEmail(MailScope::Verification)])),
    ("POST", "/api/auth/verify-email", AUTH),
    ("POST", "/api/auth/request-magic-link", Buckets(&[Bucket::Auth, Bucket::AuthEmail(MailScope::MagicLink)])),
    ("POST", "/api/auth/verify-magic-link", AUTH),
    ("POST", "/api/auth/ws-ticket", Session),
    ("POST", "/api/auth/ws-ticket/redeem", AUTH),
    ("GET", "/api/auth/cli-login", AUTH),
    ("POST", "/api/auth/cli-login", AUTH),
    ("POST", "/api/auth/dev-login", Nothing),
    ("GET", "/api/auth/infomaniak/start", AUTH),
    ("GET", "/api/auth/infomaniak/callback", AUTH),
    ("GET", "/api/auth/sessions", Session),
    ("DELETE", "/api/auth/sessions", Session),
    ("DELETE", "/api/auth/sessions/{id}", Session),
    ("POST", "/api/auth/change-email", SessionAnd(MailScope::ChangeEmail)),
    ("POST", "/api/auth/confirm-email", AUTH),
    ("POST", "/api/auth/undo-email", AUTH),
    ("POST", "/api/auth/webauthn/register/begin", Session),
    ("POST", "/api/auth/webauthn/register/complete", Session),
    ("POST", "/api/auth/webauthn/login/begin", AUTH),
    ("POST", "/api/auth/webauthn/login/begin-discoverable", AUTH),
    ("POST", "/api/auth/webauthn/login/complete", AUTH),
    ("POST", "/api/auth/webauthn/login/complete-discoverable", AUTH),
    ("GET", "/api/auth/webauthn/check", AUTH),
    ("GET", "/api/auth/webauthn/credentials", Session),
    ("PATCH", "/api/auth/webauthn/credentials/{id}", Session),
    ("DELETE", "/api/auth/webauthn/credentials/{id}", Session),
    ("POST", "/api/prima/v1/accounts", Buckets(&[Bucket::Auth, Bucket::SignupIp, Bucket::SignupEmail])),
    ("POST", "/api/prima/v1/accounts/verify", AUTH),
    ("GET", "/api/prima/v1/keys", Session),
    ("POST", "/api/prima/v1/keys", Session),
    ("PATCH", "/api/prima/v1/keys/{id}", Session),
    ("DELETE", "/api/prima/v1/keys/{id}", Session),
    ("POST", "/api/prima/v1/keys/introspect", AUTH),
    ("GET", "/.well-known/webauthn", Nothing),
    ("GET", "/.well-known/jwks.json", Nothing),
    ("GET", "/api/openapi.json", Nothing),
    ("GET", "/login", Nothing),
    ("GET", "/register", Nothing),
    ("GET", "/verify-email", Nothing),
    ("GET", "/set-password", Nothing),
    ("GET", "/reset-password", Nothing),
    ("GET", "/magic-link", Nothing),
    ("GET", "/confirm-email", Nothing),
    ("GET", "/undo-email", Nothing),
];

/// Routes that answer a slash too many, or a stranger, in a way of their own. This list may only shrink.
const EXEMPT: [(&str, &str); 0] = [];

fn is_exempt(route: &Planned) -> bool {
    EXEMPT.contains(&(route.verb.name(), route.path))
}

fn is_bearer(route: &Planned) -> bool {
    route.rules.contains(&Rule::Bearer)
}

fn has_body(route: &Planned) -> bool {
    route.rules.contains(&Rule::Body)
}

fn buckets(route: &Planned) -> Vec<Bucket> {
    let bucket = |rule: &Rule| if let Rule::Bucket(bucket) = rule { Some(*bucket) } else { None };
    route.rules.iter().filter_map(bucket).collect()
}

fn method(verb: Verb) -> Method {
    verb.name().parse().unwrap()
}

/// The route's path with something in every place that a path leaves open.
fn path(route: &Planned) -> String {
    let fill = |step: &str| if step.starts_with('{') { uuid::Uuid::nil().to_string() } else { step.to_owned() };
    route.path.split('/').map(fill).collect::<Vec<_>>().join("/")
}

async fn world() -> World {
    // Development mounts everything.
    World::with(&[("ENVIRONMENT", "development")]).await
}

#[tokio::test]
async fn every_route_demands_what_the_contract_says_and_nothing_else() {
    let world = world().await;
    for route in world.routes() {
        let place = format!("{} {}", route.verb.name(), route.path);
        let row = CONTRACT.iter().find(|(verb, path, _)| *verb == route.verb.name() && *path == route.path);
        let (_, _, demand) = row.unwrap_or_else(|| panic!("{place} is not in the contract"));
        let (session, wanted) = match demand {
            Session => (true, Vec::new()),
            SessionAnd(scope) => (true, vec![Bucket::AuthEmail(*scope)]),
            Buckets(buckets) => (false, buckets.to_vec()),
            Nothing => (false, Vec::new()),
        };
        assert_eq!((is_bearer(route), buckets(route)), (session, wanted), "{place}");
        assert_eq!(route.open_because.is_some(), matches!(demand, Nothing), "{place}");
    }
}

#[tokio::test]
async fn no_route_is_listed_twice_and_production_mounts_all_but_the_shortcut() {
    let names = |world: &World| {
        let all = world.routes().iter().map(|route| (route.verb.name(), route.path)).collect::<Vec<_>>();
        let set: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(all.len(), set.len());
        set
    };
    let (development, production) = (names(&world().await), names(&World::new().await));
    let only_there: Vec<_> = development.difference(&production).collect();
    assert_eq!(only_there, [&("POST", "/api/auth/dev-login")]);
    assert!(production.is_subset(&development));
}

#[tokio::test]
async fn a_stranger_is_turned_away_from_every_route_that_wants_a_session() {
    let world = world().await;
    let somebody = world.anonymous();
    for route in world.routes().iter().filter(|route| is_bearer(route) && !is_exempt(route)) {
        let reply = somebody.ask(method(route.verb), &path(route)).await;
        assert_eq!(reply.is_error(401, "AUTH_002").header("www-authenticate"), Some("Bearer"), "{reply:?}");
        let reply = somebody.ask(method(route.verb), &path(route)).header("authorization", "Bearer x.y.z").await;
        assert_eq!(reply.is_error(401, "AUTH_004").header("www-authenticate"), Some("Bearer"), "{reply:?}");
        // Who asks is settled before what is asked.
        let reply =
            somebody.ask(method(route.verb), &path(route)).only("content-type", "application/json").bytes("}").await;
        reply.is_error(401, "AUTH_002");
    }
}

#[tokio::test]
async fn a_route_with_a_bucket_admits_its_quota_and_refuses_the_next() {
    let world = world().await;
    let quotas = Quotas::default();
    for route in world.routes() {
        let networks = buckets(route).into_iter().filter(|bucket| !bucket.is_mailbox());
        let Some(tightest) = networks.min_by_key(|bucket| bucket.quota(&quotas)) else { continue };
        let somebody = world.anonymous();
        let idle =
            || somebody.ask(method(route.verb), &path(route)).only("content-type", "application/json").bytes("[]");
        for sent in 0..tightest.quota(&quotas) {
            let reply = idle().await;
            assert!(!reply.status.is_server_error() && reply.status != 429, "request {sent}: {reply:?}");
        }
        let refused = idle().await;
        if tightest == Bucket::Auth && !route.path.starts_with("/api/prima/v1") {
            refused.is_rate_limited();
        } else {
            refused.is_error(429, "RATE_001");
        }
        // Another network has a budget of its own.
        let other = world.anonymous().ask(method(route.verb), &path(route)).bytes("[]").await;
        assert_ne!(other.status, 429, "{other:?}");
    }
}

/// A request to a route by somebody it lets in.
fn let_in(route: &Planned, anna: &SignedIn, world: &World) -> Ask {
    if is_bearer(route) {
        anna.ask(method(route.verb), &path(route))
    } else {
        world.anonymous().ask(method(route.verb), &path(route))
    }
}

#[tokio::test]
async fn a_body_that_is_none_is_a_422_and_costs_as_the_table_says() {
    let world = world().await;
    let anna = world.signed_in().await;
    for route in world.routes().iter().filter(|route| has_body(route) && !is_exempt(route)) {
        let ask = |body: &str| let_in(route, &anna, &world).only("content-type", "application/json").bytes(body);
        let broken = ask("}").await;
        assert_eq!(broken.is_error(422, "VAL_001").faults()[0].0, "json_invalid", "{broken:?}");
        ask("[]").await.has_fault("model_attributes_type", "body");
        let compressed = ask("{}").header("content-encoding", "gzip").await;
        compressed.is_error(415, "VAL_004");
        ask(&" ".repeat(64 * 1024 + 1)).await.is_error(413, "VAL_003");
    }
}

#[tokio::test]
async fn every_other_method_is_refused_with_the_exact_list_and_costs_nothing() {
    let world = world().await;
    let everything =
        [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::PUT, Method::HEAD, Method::TRACE];
    for route in world.routes() {
        let mut allowed: Vec<&str> =
            world.routes().iter().filter(|other| other.path == route.path).map(|other| other.verb.name()).collect();
        // Under /api a HEAD would run the handler and spend what a GET spends; probes and pages may be asked it.
        if allowed.contains(&"GET") && (!route.path.starts_with("/api/") || route.path.starts_with("/api/health")) {
            allowed.push("HEAD");
        }
        let somebody = world.anonymous();
        for wrong in everything.iter().filter(|method| !allowed.contains(&method.as_str())) {
            let reply = somebody.ask(wrong.clone(), &path(route)).await;
            let listed: BTreeSet<&str> = reply.is_error(405, "RES_003").header("allow").unwrap().split(", ").collect();
            assert_eq!(listed, allowed.iter().copied().collect(), "{reply:?}");
        }
    }
}

#[tokio::test]
async fn a_slash_too_many_is_a_relative_redirect_that_costs_nothing() {
    let world = world().await;
    for route in world.routes().iter().filter(|route| !is_exempt(route)) {
        let somebody = world.anonymous();
        let evil = somebody.ask(method(route.verb), &format!("{}/?a=b", path(route))).only("host", "evil.example");
        let reply = evil.bytes("[]").await;
        assert_eq!(reply.is(307).header("location"), Some(format!("{}?a=b", path(route)).as_str()), "{reply:?}");
        somebody.ask(method(route.verb), &format!("{}//", path(route))).await.is_error(404, "RES_001");
    }
}

#[test]
fn the_contract_lists_no_route_twice() {
    let listed: BTreeSet<_> = CONTRACT.iter().map(|(verb, path, _)| (verb, path)).collect();
    assert_eq!(listed.len(), CONTRACT.len());
}
