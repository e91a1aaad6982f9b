//! Handing a session over to a command-line client on the same machine (RFC 8252 with PKCE). A page in the browser asks
//! the person; the client gets a code of one minute on the loopback interface and exchanges it with its verifier. The
//! target is always 127.0.0.1: no host is taken from the request, and no token travels in an address.

pub mod approve;
mod csrf;
mod extract;
mod page;
pub mod routes;
pub mod wish;

pub use self::csrf::CsrfKeys;
use crate::{
    clock::Clock, public_url::PublicUrl, secret::Entropy, session::Sessions, store::Database, ticket::Tickets,
};

/// What the use cases of this room need.
#[derive(Clone, Debug)]
pub struct CliLogins {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
    pub tickets: Tickets,
    pub sessions: Sessions,
    pub csrf: CsrfKeys,
    /// Where people without a session sign in first.
    pub frontend: PublicUrl,
    /// The origin under which our own page is served.
    pub own_origin: String,
}
