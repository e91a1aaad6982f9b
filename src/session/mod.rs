//! Sessions: opened after a proof, carried by a short access token and a rotating refresh token, ended at once.
//! The row behind an access token is asked on every request. How a person proved to be one is other rooms' business.

pub mod cookie;
pub mod extract;
mod open;
mod prove;
mod recognise;
mod refresh;
mod revoke;
pub mod routes;
mod signature;
mod store;
pub mod token;
pub mod ws_ticket;

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

pub use self::{
    extract::CurrentSession,
    open::{Opened, Visitor},
    refresh::RefreshError,
    routes::TokenResponse,
    store::sweep,
    token::Signer,
    ws_ticket::SocketTickets,
};
use crate::{account::Account, clock::Clock, secret::Entropy, store::Database};

/// How a session came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedInBy {
    Password,
    SetPasswordLink,
    MagicLink,
    Infomaniak,
    Cli,
    DevLogin,
}

impl SignedInBy {
    /// The name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::SetPasswordLink => "set_password",
            Self::MagicLink => "magic_link",
            Self::Infomaniak => "infomaniak",
            Self::Cli => "cli",
            Self::DevLogin => "dev_login",
        }
    }
}

/// How long tokens live.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// Of an access token; 30 minutes.
    pub access: Duration,
    /// Of a refresh token and of an unused session; 30 days, sliding.
    pub refresh: Duration,
}

/// What the use cases of this room need.
#[derive(Clone, Debug)]
pub struct Sessions {
    pub(crate) db: Database,
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    signer: Arc<Signer>,
    lifetimes: Lifetimes,
    pub(crate) cookie: cookie::Policy,
}

impl Sessions {
    pub const fn new(
        db: Database,
        clock: Clock,
        entropy: Entropy,
        signer: Arc<Signer>,
        lifetimes: Lifetimes,
        cookie: cookie::Policy,
    ) -> Self {
        Self { db, clock, entropy, signer, lifetimes, cookie }
    }
}

/// A session that a bearer token proved to be live, with the account it belongs to.
#[derive(Clone, Debug)]
pub struct Proven {
    pub session_id: Uuid,
    pub workspace_id: Option<Uuid>,
    pub account: Account,
}
