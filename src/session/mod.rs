//! Sessions: opened after a proof, carried by a short access token and a rotating refresh token, ended at once.
//! The row behind an access token is asked on every request. How a person proved to be one is other rooms' business.

pub mod cookie;
pub mod device;
pub mod extract;
mod genuine;
mod key;
pub mod key_ring;
mod open;
pub mod overview;
mod prove;
mod recognise;
mod refresh;
mod revoke;
pub mod routes;
mod signature;
mod store;
pub mod token;
mod user_agent;
pub mod ws_ticket;

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

pub use self::{
    device::Devices,
    extract::{CurrentSession, KnownCaller, LimitedSession, LimitedSignIn, OwnMailbox},
    key::{KeySet, PrivateKey, TokenKeys},
    key_ring::{KeyHolder, KeyRing, Keys},
    open::{Opened, Visitor},
    refresh::RefreshError,
    routes::TokenResponse,
    store::{revoke_all, sweep},
    token::Signer,
    ws_ticket::SocketTickets,
};
use crate::{
    account::Account,
    clock::Clock,
    mail::Post,
    secret::Entropy,
    store::{Database, Timestamp},
};

/// How a session came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedInBy {
    Password,
    SetPasswordLink,
    MagicLink,
    Infomaniak,
    Cli,
    Passkey,
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
            Self::Passkey => "passkey",
            Self::DevLogin => "dev_login",
        }
    }

    /// Whether a sign-in of this kind from an unknown device is told to the account's owner.
    pub const fn is_announced(self) -> bool {
        match self {
            Self::Password | Self::SetPasswordLink | Self::MagicLink | Self::Infomaniak | Self::Cli | Self::Passkey => {
                true
            }
            Self::DevLogin => false,
        }
    }
}

/// How long tokens live.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    /// Of an access token; 30 minutes.
    pub access: Duration,
    /// Of a refresh token; 30 days, sliding.
    pub refresh: Duration,
    /// Of a session that nobody uses; as long as a refresh token, sliding.
    pub idle: Duration,
    /// Of a session in all, however busy; 180 days from the sign-in.
    pub absolute: Duration,
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
    devices: Devices,
    post: Post,
}

/// The parts that [`Sessions`] is made of.
#[derive(Debug)]
pub struct Parts {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
    pub signer: Arc<Signer>,
    pub lifetimes: Lifetimes,
    pub cookie: cookie::Policy,
    pub devices: Devices,
    pub post: Post,
}

impl Sessions {
    pub fn new(parts: Parts) -> Self {
        let Parts { db, clock, entropy, signer, lifetimes, cookie, devices, post } = parts;
        Self { db, clock, entropy, signer, lifetimes, cookie, devices, post }
    }

    /// What a session must satisfy at `now` to be alive.
    fn alive_at(&self, now: Timestamp) -> store::Alive {
        store::Alive { now, opened_after: now - self.lifetimes.absolute }
    }

    /// The keys by which others may check access tokens.
    pub fn public_keys(&self) -> &KeySet {
        self.signer.public()
    }
}

/// A session that a bearer token proved to be live, with the account it belongs to.
#[derive(Clone, Debug)]
pub struct Proven {
    pub session_id: Uuid,
    pub workspace_id: Option<Uuid>,
    pub account: Account,
}
