//! What happened to accounts: an append-only table of security events, each written in the transaction of its act.
//! An entry names people by id and never by address; an address that has no account leaves only its fingerprint.

mod store;

use uuid::Uuid;

pub use self::store::{Entry, Filter, find, of_person};
use crate::{
    clock::Timestamp,
    limit::ClientIp,
    secret::fingerprint,
    store::{Fault, Tx},
};

/// What was done or tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Register,
    VerificationResent,
    VerifyEmail,
    LinkAsked,
    SignIn,
    SignOut,
    RefreshReused,
    PasswordForgotten,
    PasswordReset,
    PasswordSet,
    PasswordChange,
    EmailChangeAsked,
    EmailChange,
    EmailChangeUndone,
    PasskeyAdded,
    PasskeyRemoved,
    SessionRevoked,
    SessionsRevoked,
    Export,
    LeaveAsked,
    Leave,
    DeveloperSignup,
    DeveloperVerified,
    InviteMade,
    InviteRevoked,
    ApiKeyIssued,
    ApiKeyChanged,
    ApiKeyRotated,
    ApiKeyRevoked,
    AccountDisabled,
    AccountEnabled,
    AccountPromoted,
    AccountDeleted,
    AccountInvited,
    AccountsImported,
}

impl Act {
    /// The name in the database and in the command's output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::VerificationResent => "verification_resent",
            Self::LinkAsked => "link_asked",
            Self::VerifyEmail => "verify_email",
            Self::SignIn => "sign_in",
            Self::SignOut => "sign_out",
            Self::RefreshReused => "refresh_reused",
            Self::PasswordForgotten => "password_forgotten",
            Self::PasswordReset => "password_reset",
            Self::PasswordSet => "password_set",
            Self::PasswordChange => "password_change",
            Self::EmailChangeAsked => "email_change_asked",
            Self::EmailChange => "email_change",
            Self::EmailChangeUndone => "email_change_undone",
            Self::PasskeyAdded => "passkey_added",
            Self::PasskeyRemoved => "passkey_removed",
            Self::SessionRevoked => "session_revoked",
            Self::SessionsRevoked => "sessions_revoked",
            Self::Export => "export",
            Self::LeaveAsked => "leave_asked",
            Self::Leave => "leave",
            Self::DeveloperSignup => "developer_signup",
            Self::DeveloperVerified => "developer_verified",
            Self::InviteMade => "invite_made",
            Self::InviteRevoked => "invite_revoked",
            Self::ApiKeyIssued => "api_key_issued",
            Self::ApiKeyChanged => "api_key_changed",
            Self::ApiKeyRotated => "api_key_rotated",
            Self::ApiKeyRevoked => "api_key_revoked",
            Self::AccountDisabled => "account_disabled",
            Self::AccountEnabled => "account_enabled",
            Self::AccountPromoted => "account_promoted",
            Self::AccountDeleted => "account_deleted",
            Self::AccountInvited => "account_invited",
            Self::AccountsImported => "accounts_imported",
        }
    }
}

/// From where something was done.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// A client of the API: its counted network.
    Client(&'a ClientIp),
    /// The operator's command line.
    CommandLine,
}

impl Origin<'_> {
    fn network(self) -> String {
        match self {
            Self::Client(client) => client.network().to_string(),
            Self::CommandLine => String::from("cli"),
        }
    }
}

/// One event on its way into the table.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    at: Timestamp,
    act: Act,
    origin: Origin<'a>,
    refused: bool,
    detail: Option<&'a str>,
    user: Option<Uuid>,
    session: Option<Uuid>,
    mailbox: Option<String>,
}

impl<'a> Event<'a> {
    /// Something that a client did.
    pub const fn by(act: Act, client: &'a ClientIp, at: Timestamp) -> Self {
        Self::from(act, Origin::Client(client), at)
    }

    /// Something that was done from `origin`.
    pub const fn from(act: Act, origin: Origin<'a>, at: Timestamp) -> Self {
        Self { at, act, origin, refused: false, detail: None, user: None, session: None, mailbox: None }
    }

    /// Whose account it concerned.
    #[must_use]
    pub const fn on(mut self, user: Uuid) -> Self {
        self.user = Some(user);
        self
    }

    /// Whose account it concerned, or, when there is none, which address was named.
    #[must_use]
    pub fn naming(mut self, user: Option<Uuid>, address: &str) -> Self {
        self.user = user;
        self.mailbox = if user.is_none() { Some(fingerprint(address)) } else { None };
        self
    }

    /// In which session.
    #[must_use]
    pub const fn within(mut self, session: Uuid) -> Self {
        self.session = Some(session);
        self
    }

    /// A word or two that the act's name does not say; no address, no secret.
    #[must_use]
    pub const fn detail(mut self, detail: &'a str) -> Self {
        self.detail = Some(detail);
        self
    }

    /// It was refused, and why.
    #[must_use]
    pub const fn refused(mut self, why: &'a str) -> Self {
        self.refused = true;
        self.detail = Some(why);
        self
    }
}

/// Writes an event as part of the act's own transaction.
///
/// # Errors
/// A fault of the database; the act must fail with it.
pub async fn record(tx: &mut Tx, event: &Event<'_>) -> Result<(), Fault> {
    store::insert(tx, event).await
}
