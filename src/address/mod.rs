//! Changing the address of an account. Nothing changes before the new mailbox is proved; the former one is told when the
//! change is asked for and when it is done, each time with a link that stops or undoes it. It may use `session` and
//! `account`; nothing else uses it.

pub mod ask;
pub mod confirm;
pub mod routes;
mod store;
pub mod undo;

use uuid::Uuid;

use crate::{
    account::{
        PasswordProof,
        holding::{Held, Holding},
    },
    audit::{self, Event},
    clock::Clock,
    error::{ApiError, ErrorCode, Loc},
    extract::{Problem, fields::fault},
    mail::Post,
    public_url::PublicUrl,
    session::Sessions,
    store::{Contention, Database, Fault, Tx},
    ticket::{Purpose, Tickets},
};

/// What the use cases of this room need.
#[derive(Clone, Debug)]
pub struct Addresses {
    pub db: Database,
    pub clock: Clock,
    pub tickets: Tickets,
    pub post: Post,
    pub sessions: Sessions,
    pub proof: PasswordProof,
    /// Where mailed links lead.
    pub frontend: PublicUrl,
}

/// Why a use case of this room says no.
#[derive(Debug)]
pub enum Refusal {
    /// The account has a password and none was given.
    PasswordMissing,
    WrongPassword,
    /// The new address is the present one.
    Unchanged,
    LinkInvalid,
    /// The account vanished meanwhile.
    Gone,
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
        let field = |name, problem| Self::invalid(vec![fault(vec![Loc::Name("body"), Loc::Name(name)], problem)]);
        match refusal {
            Refusal::PasswordMissing => field("current_password", Problem::missing()),
            Refusal::WrongPassword => Self::new(ErrorCode::WrongPassword),
            Refusal::Unchanged => {
                field("new_email", Problem::value("Value error, this is already the address of the account"))
            }
            Refusal::LinkInvalid => Self::new(ErrorCode::LinkInvalid),
            Refusal::Gone => Self::new(ErrorCode::AccessTokenInvalid).with_challenge(),
            Refusal::Store(fault) => fault.into(),
            Refusal::Failed(error) => error,
        }
    }
}

/// A link that is good for one address, and whether it may be mailed.
struct Linked {
    link: String,
    live: bool,
}

impl Addresses {
    /// Issues a ticket that stands for `address`: the one that shall be, or the one that shall be again. For nobody, the
    /// same statements write a decoy.
    async fn link(&self, tx: &mut Tx, purpose: Purpose, user: Option<Uuid>, address: &str) -> Result<Linked, Fault> {
        let issued = self.tickets.issue_mailed(tx, purpose, user).await?;
        store::note(tx, &issued.secret.hash(), address).await?;
        let page = if purpose == Purpose::ConfirmEmail { "/confirm-email" } else { "/undo-email" };
        Ok(Linked { link: self.frontend.link(page, &issued.secret), live: issued.live })
    }

    /// Writes down that something was refused, and refuses it.
    async fn refuse<T>(&self, refusal: Refusal, event: &Event<'_>) -> Result<T, Refusal> {
        let mut tx = self.db.begin().await?;
        audit::record(&mut tx, event).await?;
        tx.commit().await?;
        Err(refusal)
    }
}

/// The changes of address that a person asked for, for the export.
#[derive(Debug)]
pub struct Wishes(pub Database);

impl Holding for Wishes {
    fn name(&self) -> &'static str {
        "email_changes"
    }

    fn about(&self, person: Uuid) -> Held<'_> {
        Box::pin(async move {
            let wishes = store::wishes_of(&self.0, person).await?;
            serde_json::to_value(wishes).map_err(|error| Fault::Defect(error.to_string()))
        })
    }
}
