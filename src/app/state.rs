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

macro_rules! rooms {
    ($($field:ident: $room:ty),* $(,)?) => {
        /// The parts that handlers may ask for. Rooms are shared: handing one over costs one count, whatever it holds.
        #[derive(Debug)]
        pub struct Rooms {
            pub limiter: Limiter,
            pub service_keys: ServiceKeys,
            $(pub $field: Arc<$room>,)*
        }

        $(impl FromRef<AppState> for Arc<$room> {
            fn from_ref(state: &AppState) -> Self {
                Self::clone(&state.0.$field)
            }
        })*
    };
}

rooms! {
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
    keys: Keys,
    developers: Developers,
    signup_gate: SignupGate,
    api_keys: ApiKeys,
}

impl FromRef<AppState> for Limiter {
    fn from_ref(state: &AppState) -> Self {
        state.0.limiter.clone()
    }
}

impl FromRef<AppState> for ServiceKeys {
    fn from_ref(state: &AppState) -> Self {
        state.0.service_keys.clone()
    }
}
