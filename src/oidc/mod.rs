//! Signing in with an account at Infomaniak (OpenID Connect, code flow with PKCE). The provider is believed exactly as
//! far as its signature reaches: one issuer, one algorithm, one nonce, one browser. Whatever it does wrong ends in a
//! redirect to the front end within ten seconds; no word of it is repeated there.

pub mod begin;
pub mod callback;
pub mod cookie;
mod enter;
mod extract;
mod linked;
pub mod provider;
pub mod routes;
mod store;
mod wire;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

pub use self::{linked::Everything, provider::Provider};
use crate::{
    clock::Clock,
    public_url::PublicUrl,
    secret::{Entropy, Seal},
    session::Sessions,
    store::Database,
    ticket::Tickets,
};

/// Label of the key that seals what rests between start and return.
pub const SEAL_LABEL: &str = "oidc state";

/// Longest that the provider may take, in all, before a person is told that it did not work. Leaves a second of the ten
/// for our own work.
pub const PATIENCE: Duration = Duration::from_secs(9);

/// What the use cases of this room need.
#[derive(Clone, Debug)]
pub struct Oidc {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
    pub tickets: Tickets,
    pub sessions: Sessions,
    pub seal: Seal,
    /// `None` while client id and secret are not configured.
    pub provider: Option<Arc<Provider>>,
    pub frontend: PublicUrl,
    /// Whether an unknown person gets an account.
    pub registration_open: bool,
    /// Whether an address counts as verified when the provider does not say.
    pub trust_email: bool,
    pub patience: Duration,
}

/// What rests between start and return, under the hash of the state.
#[derive(Debug, Serialize, Deserialize)]
struct Pending {
    /// [`Secrets`], sealed.
    sealed: Vec<u8>,
    /// SHA-256 of the cookie's value.
    browser: Vec<u8>,
    redirect_to: Option<String>,
}

/// What only the token request and the ID token may show.
#[derive(Serialize, Deserialize)]
struct Secrets {
    nonce: String,
    verifier: String,
}
