//! Developers: from an e-mail address to an API key, and what the key is worth afterwards. Whether an address is known
//! shows in no answer; a key is shown once and rests as a digest.

pub mod api_key;
pub mod field;
pub mod gate;
pub mod invite;
pub mod routes;
pub mod signup;
mod store;
pub mod verify;

use crate::{
    clock::Clock,
    error::{ApiError, ErrorCode, Loc},
    extract::{Problem, fields::fault},
    mail::Post,
    public_url::PublicUrl,
    secret::Entropy,
    session::Sessions,
    store::{Contention, Database, Fault},
    ticket::Tickets,
};

/// What signing up needs.
#[derive(Clone, Debug)]
pub struct Developers {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
    pub tickets: Tickets,
    pub post: Post,
    pub sessions: Sessions,
    /// Where mailed links lead.
    pub portal: PublicUrl,
    pub terms: Terms,
}

/// The terms of use that a developer accepts.
#[derive(Clone, Debug)]
pub struct Terms {
    pub required: bool,
    /// What is noted beside the time of acceptance.
    pub version: String,
}

/// Why a use case of this room says no.
#[derive(Debug)]
pub enum Refusal {
    LinkInvalid,
    Disabled,
    /// The account has a live key already.
    HasKey,
    /// The invitation that opened the gate has been used up or revoked meanwhile.
    InviteSpent,
    TermsMissing,
    TermsRefused,
    NoSuchWorkspace,
    NoSuchKey,
    TooManyKeys,
    /// A rotation has already put another key in its place.
    Replaced,
    ExpiryPast,
    Store(Fault),
    Failed(ApiError),
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

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::LinkInvalid => Self::new(ErrorCode::LinkInvalid),
            Refusal::Disabled => Self::new(ErrorCode::AccountDisabled),
            Refusal::HasKey => Self::new(ErrorCode::Exists),
            Refusal::InviteSpent => Self::new(ErrorCode::SignupClosed),
            Refusal::TermsMissing => faulty("accept_terms", Problem::missing()),
            Refusal::TermsRefused => {
                faulty("accept_terms", Problem::value("Value error, the terms of use must be accepted"))
            }
            Refusal::NoSuchWorkspace | Refusal::NoSuchKey => Self::new(ErrorCode::NotFound),
            Refusal::TooManyKeys => Self::new(ErrorCode::Exists).saying("The maximum number of API keys is reached."),
            Refusal::Replaced => Self::new(ErrorCode::Exists).saying("This API key has already been replaced."),
            Refusal::ExpiryPast => faulty("expires_at", Problem::value("Value error, the moment must lie ahead")),
            Refusal::Store(fault) => fault.into(),
            Refusal::Failed(error) => error,
        }
    }
}

fn faulty(field: &'static str, problem: Problem) -> ApiError {
    ApiError::invalid(vec![fault(vec![Loc::Name("body"), Loc::Name(field)], problem)])
}
