//! The whole API on one page. A line names method, path and handler; what guards a route stands in its handler's parameters.

use axum::Router;

use super::{
    plan::{Plan, Planned, Verb},
    state::AppState,
};
use crate::{
    address::routes as address,
    cli_login::routes as cli_login,
    config::Environment,
    developer::{api_key::routes as api_key, routes as developer},
    health::routes as health,
    magic_link::routes as magic_link,
    oidc::routes as oidc,
    passkey::routes as passkey,
    password::routes as password,
    profile::routes as profile,
    screens,
    session::{overview::routes as overview, routes as session, ws_ticket::routes as ws_ticket},
};

const RELATED: &str =
    "browsers fetch it without a person: a constant from the configuration, outside the counted paths";
const PAGES: &str = "a page, the same for everybody";
const PROBES: &str = "probes ask without an account, and must be answered under any load";

const PUBLIC_KEYS: &str = "public keys are for everybody, and the answer costs nothing";

/// Every route of the service.
///
/// # Errors
/// Every route that nothing guards.
pub fn build(
    state: AppState,
    environment: Environment,
    screens_shown: bool,
) -> Result<(Router, Vec<Planned>), Vec<String>> {
    plan(environment, screens_shown).finish(state)
}

/// The same routes, without anything behind them.
pub fn planned(environment: Environment, screens_shown: bool) -> Vec<Planned> {
    plan(environment, screens_shown).into_routes()
}

fn plan(environment: Environment, screens_shown: bool) -> Plan<AppState> {
    use Verb::{Delete, Get, Patch, Post};

    let mut plan = Plan::new()
        .open(Get, "/health", health::health, PROBES)
        .open(Get, "/health/detailed", health::detailed, PROBES)
        .open(Get, "/api/health", health::health, PROBES)
        .open(Get, "/api/health/detailed", health::detailed, PROBES)
        .open(Get, "/.well-known/jwks.json", session::public_keys, PUBLIC_KEYS)
        .on(Post, "/api/auth/register", password::register)
        .on(Post, "/api/auth/login", password::login)
        .on(Post, "/api/auth/refresh", session::refresh)
        .on(Post, "/api/auth/logout", session::logout)
        .on(Get, "/api/auth/me", profile::me)
        .on(Patch, "/api/auth/me", profile::change_me)
        .on(Delete, "/api/auth/me", profile::leave)
        .on(Post, "/api/auth/me/leave-code", profile::ask_to_leave)
        .on(Get, "/api/auth/me/export", profile::export)
        .on(Get, "/api/auth/workspaces", profile::workspaces)
        .on(Get, "/api/auth/sessions", overview::list)
        .on(Delete, "/api/auth/sessions", overview::end_others)
        .on(Delete, "/api/auth/sessions/{id}", overview::end_one)
        .on(Post, "/api/auth/change-email", address::ask)
        .on(Post, "/api/auth/confirm-email", address::confirm)
        .on(Post, "/api/auth/undo-email", address::undo)
        .on(Post, "/api/auth/change-password", password::change)
        .on(Post, "/api/auth/forgot-password", password::forgot)
        .on(Post, "/api/auth/reset-password", password::reset)
        .on(Post, "/api/auth/set-password", password::set)
        .on(Post, "/api/auth/resend-verification", password::resend_verification)
        .on(Post, "/api/auth/verify-email", password::verify_email)
        .on(Post, "/api/auth/request-magic-link", magic_link::ask)
        .on(Post, "/api/auth/verify-magic-link", magic_link::redeem)
        .on(Post, "/api/auth/ws-ticket", ws_ticket::issue)
        .on(Post, "/api/auth/ws-ticket/redeem", ws_ticket::redeem)
        .on(Get, "/api/auth/cli-login", cli_login::show)
        .on(Post, "/api/auth/cli-login", cli_login::answer)
        .on(Get, "/api/auth/infomaniak/start", oidc::start)
        .on(Get, "/api/auth/infomaniak/callback", oidc::callback)
        .on(Post, "/api/auth/webauthn/login/begin", passkey::begin_login)
        .on(Post, "/api/auth/webauthn/login/begin-discoverable", passkey::begin_discoverable)
        .on(Post, "/api/auth/webauthn/login/complete", passkey::complete_login)
        .on(Post, "/api/auth/webauthn/login/complete-discoverable", passkey::complete_discoverable)
        .on(Get, "/api/auth/webauthn/check", passkey::check)
        .on(Post, "/api/auth/webauthn/register/begin", passkey::begin_enrolment)
        .on(Post, "/api/auth/webauthn/register/complete", passkey::complete_enrolment)
        .on(Get, "/api/auth/webauthn/credentials", passkey::list)
        .on(Patch, "/api/auth/webauthn/credentials/{id}", passkey::rename)
        .on(Delete, "/api/auth/webauthn/credentials/{id}", passkey::remove)
        .open(Get, "/.well-known/webauthn", passkey::related_origins, RELATED)
        .on(Post, "/api/prima/v1/accounts", developer::sign_up)
        .on(Post, "/api/prima/v1/accounts/verify", developer::verify)
        .on(Get, "/api/prima/v1/keys", api_key::list)
        .on(Post, "/api/prima/v1/keys", api_key::create)
        .on(Patch, "/api/prima/v1/keys/{id}", api_key::change)
        .on(Delete, "/api/prima/v1/keys/{id}", api_key::revoke)
        .on(Post, "/api/prima/v1/keys/{id}/rotate", api_key::rotate)
        .on(Post, "/api/prima/v1/keys/introspect", api_key::introspect);
    if screens_shown {
        let files = screens::PATHS.map(|path| (path, screens::DOCUMENT)).into_iter().chain(screens::ASSETS);
        for (path, file) in files {
            plan = plan.open(Get, path, move || std::future::ready(screens::routes::answer(file)), PAGES);
        }
    }
    if environment == Environment::Development {
        plan =
            plan.open(Post, "/api/auth/dev-login", session::dev_login, "a developer's shortcut, absent in production");
    }
    plan
}
