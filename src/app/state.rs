//! What the rooms are handed. A room never names this type; it asks for its own struct.

use axum::extract::FromRef;

use crate::{
    address::Addresses,
    developer::{Developers, api_key::ApiKeys, gate::SignupGate},
    extract::ServiceKeys,
    health::Health,
    limit::Limiter,
    passkey::Passkeys,
    password::Passwords,
    profile::Profiles,
    session::{Keys, Sessions},
};

/// The parts that handlers may ask for.
#[derive(Clone, Debug)]
pub struct AppState {
    pub limiter: Limiter,
    pub sessions: Sessions,
    pub passwords: Passwords,
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
                state.$field.clone()
            }
        }
    )*};
}

parts! {
    limiter: Limiter,
    sessions: Sessions,
    passwords: Passwords,
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
