//! Passwords, from registration to reset. Unknown and wrong take the same path and the same time, and an answer never
//! tells whether an address is known.

pub mod breach;
pub mod change;
pub mod field;
pub mod forgot;
pub mod hashing;
pub mod login;
pub mod policy;
pub mod register;
pub mod resend;
pub mod reset;
pub mod routes;
pub mod set;
mod turns;
pub mod verify_email;

use std::fmt;

use crate::{
    account::{Account, Email, Locale},
    clock::Clock,
    error::{ApiError, ErrorCode},
    mail::{Delivery, Letter, Post, Recipient},
    public_url::PublicUrl,
    secret::Entropy,
    session::Sessions,
    store::{Contention, Database, Fault, Tx},
    ticket::{Purpose, Tickets},
};

pub use self::{breach::BreachList, hashing::Hashing, policy::Policy, turns::Turns};

/// What the use cases of this room need.
#[derive(Clone)]
pub struct Passwords {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
    pub tickets: Tickets,
    pub post: Post,
    pub hashing: Hashing,
    /// Changes of one account's password, one after the other.
    pub turns: Turns,
    /// Sign-ins of one account, one after the other once the password has been checked.
    pub sign_ins: Turns,
    pub sessions: Sessions,
    pub policy: Policy,
    /// Leads an address to the account whose hash an unknown one is compared with.
    pub neighbour_key: [u8; 32],
    /// Where mailed links lead.
    pub frontend: PublicUrl,
    /// Whether strangers may register.
    pub registration_open: bool,
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passwords")
    }
}

/// Why a use case of this room says no.
#[derive(Debug)]
pub enum Refusal {
    WrongCredentials,
    /// The current password of a signed-in person.
    WrongPassword,
    NoPassword,
    Unconfirmed,
    Disabled,
    RegistrationClosed,
    LinkInvalid,
    Weak(Vec<policy::Reason>),
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
            Refusal::WrongCredentials => Self::new(ErrorCode::WrongCredentials),
            Refusal::WrongPassword => Self::new(ErrorCode::WrongPassword),
            Refusal::NoPassword => Self::new(ErrorCode::NoPassword),
            Refusal::Unconfirmed => Self::new(ErrorCode::EmailUnconfirmed),
            Refusal::Disabled => Self::new(ErrorCode::AccountDisabled),
            Refusal::RegistrationClosed => Self::new(ErrorCode::RegistrationClosed),
            Refusal::LinkInvalid => Self::new(ErrorCode::LinkInvalid),
            Refusal::Weak(reasons) => Self::weak_password(reasons.into_iter().map(policy::Reason::name).collect()),
            Refusal::Store(fault) => fault.into(),
            Refusal::Failed(error) => error,
        }
    }
}

impl Passwords {
    /// Mails a one-time link to an account, or does the same work for nobody. The mail goes out only when the ticket is live.
    async fn mail_link(
        &self,
        tx: &mut Tx,
        address: &Email,
        account: Option<&Account>,
        purpose: Purpose,
        letter: impl FnOnce(String) -> Letter,
    ) -> Result<(), Fault> {
        let issued = self.tickets.issue_mailed(tx, purpose, account.map(|account| account.id)).await?;
        let letter = letter(self.frontend.link(page(purpose), &issued.secret));
        let delivery = if issued.live { Delivery::Send } else { Delivery::Void };
        self.post.enqueue(tx, recipient(address, account), &letter, delivery).await
    }
}

/// The page of the front end that redeems a ticket.
const fn page(purpose: Purpose) -> &'static str {
    match purpose {
        // A developer's link leads to the portal, which this room does not know.
        Purpose::PrimaSignup => "/developers",
        Purpose::VerifyEmail => "/verify-email",
        Purpose::SetPassword => "/set-password",
        Purpose::PasswordReset => "/reset-password",
        // Tickets that other rooms issue; their page is the one that signs in.
        Purpose::MagicLink | Purpose::OidcState | Purpose::OidcHandoff | Purpose::Cli | Purpose::WsTicket => {
            "/magic-link"
        }
        Purpose::ConfirmEmail => "/confirm-email",
        Purpose::UndoEmail => "/undo-email",
    }
}

fn recipient<'a>(address: &'a Email, account: Option<&'a Account>) -> Recipient<'a> {
    match account {
        Some(account) => account.recipient(),
        None => Recipient { email: address.as_str(), name: None, language: Locale::default().language() },
    }
}
