//! What the rooms are handed. A room never names this type; it asks for its own struct.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::{
    address::Addresses,
    cli_login::CliLogins,
    developer::{Developers, api_key::ApiKeys, gate::SignupGate},
    extract::ServiceKeys,
    health::Health,
    limit::Limiter,
    magic_link::MagicLinks,
    oidc::Oidc,
    passkey::Passkeys,
    password::Passwords,
    profile::Profiles,
    session::{Keys, Sessions, SocketTickets},
};

/// The state of the router, which clones it for every request: one count, however many rooms there are.
#[derive(Clone, Debug)]
pub struct AppState(Arc<Rooms>);

impl AppState {
    /// Shares the parts.
    pub fn new(rooms: Rooms) -> Self {
        Self(Arc::new(rooms))
    }
}

/// The parts that handlers may ask for.
#[derive(Debug)]
pub struct Rooms {
    pub limiter: Limiter,
    pub sessions: Sessions,
    pub passwords: Passwords,
    pub magic_links: MagicLinks,
    pub oidc: Oidc,
    pub cli_logins: CliLogins,
    pub socket_tickets: SocketTickets,
    pub passkeys: Passkeys,
    pub profiles: Profiles,
    pub addresses: Addresses,
    pub health: Health,
    pub service_keys: ServiceKeys,
    pub keys: Keys,
    pub developers: Developers,
    pub signup_gate: SignupGate,
    pub api_keys: ApiKeys,
}

macro_rules! parts {
    ($($field:ident: $part:ty),* $(,)?) => {$(
        impl FromRef<AppState> for $part {
            fn from_ref(state: &AppState) -> Self {
                state.0.$field.clone()
            }
        }
    )*};
}

parts! {
    limiter: Limiter,
    sessions: Sessions,
    passwords: Passwords,
    magic_links: MagicLinks,
    oidc: Oidc,
    cli_logins: CliLogins,
    socket_tickets: SocketTickets,
    passkeys: Passkeys,
    profiles: Profiles,
    addresses: Addresses,
    health: Health,
    service_keys: ServiceKeys,
    keys: Keys,
    developers: Developers,
    signup_gate: SignupGate,
    api_keys: ApiKeys,
}
