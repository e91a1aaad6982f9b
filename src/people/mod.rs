//! What an operator does with accounts: bring them along from another backend, invite, look, disable, promote, delete.
//! No request reaches this room; the commands of `labs-auth users` do. Whoever runs them holds the database anyway.

pub mod bring;
pub mod delete;
pub mod invite;
pub mod look;
pub mod state;
mod store;

use uuid::Uuid;

use crate::{
    account::Email,
    audit::{self, Act, Event, Origin},
    clock::Clock,
    secret::Entropy,
    store::{Contention, Database, Fault, Tx},
};

/// What the use cases of this room need.
#[derive(Clone, Debug)]
pub struct People {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
}

impl People {
    /// Writes what the operator did, as part of the act.
    async fn record(&self, tx: &mut Tx, act: Act, user: Option<Uuid>, detail: Option<&str>) -> Result<(), Fault> {
        let mut event = Event::from(act, Origin::CommandLine, self.clock.now());
        if let Some(user) = user {
            event = event.on(user);
        }
        if let Some(detail) = detail {
            event = event.detail(detail);
        }
        audit::record(tx, &event).await
    }
}

/// Why a use case of this room says no.
#[derive(Debug)]
pub enum Refusal {
    /// Nobody has this address.
    Unknown(Email),
    /// The address belongs to somebody who can sign in already.
    AlreadyHere,
    /// The account is disabled; enable it first.
    Disabled,
    /// As many links as one person may hold are on their way.
    EnoughLinks,
    Store(Fault),
}

impl Refusal {
    /// The sentence for the operator.
    pub fn sentence(&self) -> String {
        match self {
            Self::Unknown(email) => format!("there is no account for {email}"),
            Self::AlreadyHere => String::from("there is a confirmed account for this address already"),
            Self::Disabled => String::from("the account is disabled; enable it first"),
            Self::EnoughLinks => String::from("five links are on their way to this address and still valid"),
            Self::Store(fault) => format!("the database refuses: {}", fault.for_log()),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl Contention for Refusal {
    fn is_contention(&self) -> bool {
        matches!(self, Self::Store(fault) if fault.is_contention())
    }
}
