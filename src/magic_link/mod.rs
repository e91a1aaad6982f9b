//! Signing in by mail: a link, and a code beside it for whoever reads mail on another device. Both are one ticket. The
//! same door takes the tickets of the other hand-offs, so that one page of a front end serves them all.
//! A link is redeemed by POST alone: a mail scanner that opens it changes nothing.

pub mod ask;
pub mod redeem;
pub mod routes;

use serde::{Deserialize, Serialize};

use crate::{
    clock::Clock,
    error::{ApiError, ErrorCode},
    mail::Post,
    public_url::PublicUrl,
    secret::Entropy,
    session::Sessions,
    store::{Contention, Database, Fault},
    ticket::Tickets,
};

/// What the use cases of this room need.
#[derive(Clone, Debug)]
pub struct MagicLinks {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
    pub tickets: Tickets,
    pub post: Post,
    pub sessions: Sessions,
    /// Where mailed links lead.
    pub frontend: PublicUrl,
    /// Whether an unknown address gets an account by redeeming a link.
    pub signup_open: bool,
}

/// What a ticket of this room carries.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Particulars {
    redirect_to: Option<String>,
}

/// Why a use case of this room says no.
#[derive(Debug)]
pub enum Refusal {
    LinkInvalid,
    Disabled,
    Store(Fault),
    Failed(ApiError),
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
            Refusal::LinkInvalid => Self::new(ErrorCode::LinkInvalid),
            Refusal::Disabled => Self::new(ErrorCode::AccountDisabled),
            Refusal::Store(fault) => fault.into(),
            Refusal::Failed(error) => error,
        }
    }
}
