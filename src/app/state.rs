//! What the rooms are handed. A room never names this type; it asks for its own struct.

use axum::extract::FromRef;

use crate::{
    address::Addresses, health::Health, limit::Limiter, passkey::Passkeys, password::Passwords, profile::Profiles,
    session::Sessions,
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
}
