//! Passkeys for several sites from one backend: the page's origin chooses the relying party, and a passkey made on one is
//! never offered or accepted on another. Ceremonies rest in the database; who is here is told to nobody.

mod ceremony;
mod check;
pub mod cookie;
mod credential;
mod decoy;
mod device;
mod enrol;
pub mod extract;
mod manage;
mod options;
mod relying_party;
pub mod routes;
pub mod setting;
mod sign_in;
mod store;

use std::{fmt, sync::Arc};

use serde::Serialize;
use uuid::Uuid;

pub use self::{
    decoy::Decoys,
    device::Devices,
    relying_party::{RelyingParties, RelyingParty},
    store::sweep,
};
use crate::{
    account::holding::{Held, Holding},
    clock::Clock,
    error::{ApiError, ErrorCode},
    mail::Post,
    secret::Entropy,
    session::Sessions,
    store::{Contention, Database, Fault, Timestamp},
};

/// Passkeys that one person may hold, on all sites together.
const PASSKEYS_MAX: usize = 10;

/// What the use cases of this room need.
#[derive(Clone, Debug)]
pub struct Passkeys {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
    pub post: Post,
    pub sessions: Sessions,
    pub parties: RelyingParties,
    pub decoys: Decoys,
    pub devices: Arc<Devices>,
    /// Whether `check` tells strangers which addresses have passkeys.
    pub check_discloses: bool,
}

impl Passkeys {
    /// The relying party of the calling page.
    fn party(&self, origin: Option<&str>) -> Result<&RelyingParty, Refusal> {
        self.parties.for_origin(origin).ok_or(Refusal::Elsewhere)
    }
}

/// A passkey as its owner sees it.
#[derive(Clone, Debug, Serialize)]
pub struct PasskeyView {
    id: Uuid,
    name: String,
    rp_id: String,
    transports: Vec<String>,
    aaguid: Uuid,
    backup_eligible: bool,
    backup_state: bool,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
}

impl From<store::Row> for PasskeyView {
    fn from(row: store::Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            rp_id: row.rp_id,
            transports: row.transports.as_deref().map(options::words).unwrap_or_default(),
            aaguid: row.aaguid,
            backup_eligible: row.backup_eligible,
            backup_state: row.backup_state,
            created_at: row.created_at,
            last_used_at: row.last_used_at,
        }
    }
}

/// Everything this room holds about people, for the export. Public keys say nothing about anybody and stay.
#[derive(Debug)]
pub struct Everything(pub Database);

impl Holding for Everything {
    fn name(&self) -> &'static str {
        "passkeys"
    }

    fn about(&self, person: Uuid) -> Held<'_> {
        Box::pin(async move {
            let rows = store::find_by_user(&self.0, person).await?;
            let views: Vec<PasskeyView> = rows.into_iter().map(PasskeyView::from).collect();
            serde_json::to_value(views).map_err(|error| Fault::Defect(error.to_string()))
        })
    }
}

/// Why a use case of this room says no.
#[derive(Debug)]
pub enum Refusal {
    /// The calling page has no relying party.
    Elsewhere,
    /// The ceremony is unknown, used, too old, or another one.
    Expired,
    /// The assertion proves nothing; the reason is for the log.
    Refused(String),
    /// The new passkey is not what was asked for; the reason is for the log.
    Unusable(String),
    Known,
    Full,
    NotFound,
    Unconfirmed,
    Disabled,
    Store(Fault),
    Failed(ApiError),
}

impl Refusal {
    fn refused(why: impl fmt::Display) -> Self {
        Self::Refused(why.to_string())
    }

    fn unusable(why: impl fmt::Display) -> Self {
        Self::Unusable(why.to_string())
    }

    fn defect(why: impl fmt::Display) -> Self {
        Self::Failed(ApiError::internal(why))
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

impl Contention for Refusal {
    fn is_contention(&self) -> bool {
        matches!(self, Self::Store(fault) if fault.is_contention())
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Elsewhere => Self::new(ErrorCode::PasskeysElsewhere),
            Refusal::Expired => Self::new(ErrorCode::PasskeyExpired),
            Refusal::Refused(why) => Self::new(ErrorCode::PasskeyRefused).because(why),
            Refusal::Unusable(why) => Self::new(ErrorCode::PasskeyUnusable).because(why),
            Refusal::Known => Self::new(ErrorCode::PasskeyKnown),
            Refusal::Full => Self::new(ErrorCode::PasskeysFull),
            Refusal::NotFound => Self::new(ErrorCode::NotFound),
            Refusal::Unconfirmed => Self::new(ErrorCode::EmailUnconfirmed),
            Refusal::Disabled => Self::new(ErrorCode::AccountDisabled),
            Refusal::Store(fault) => fault.into(),
            Refusal::Failed(error) => error,
        }
    }
}
