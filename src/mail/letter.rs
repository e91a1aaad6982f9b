//! The closed list of letters this service writes, and to whom. It refuses to know how a letter looks or travels.
//!
//! A new letter is a new variant, its arms in the matches below, and six templates (see `templates.rs`).

use std::{fmt, time::Duration};

use crate::secret::fingerprint;

/// The language that a letter is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    German,
    English,
}

impl Language {
    /// The language for an account's locale: German for `de`, English for every other.
    pub fn for_locale(locale: &str) -> Self {
        if locale == "de" { Self::German } else { Self::English }
    }

    /// The folder of this language's templates.
    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::English => "en",
        }
    }
}

/// A letter, with the links it carries.
pub enum Letter {
    /// Asks the owner of a new account's mailbox to confirm it.
    VerifyEmail { link: String },
    /// Lets the owner of the mailbox choose the account's password: an invitation, or an address registered twice.
    SetPassword { link: String, valid_for: Duration },
    /// Lets the owner replace a forgotten password.
    ResetPassword { link: String },
    /// Lets the owner of the mailbox sign in, by the link here or by the code where the request was made.
    MagicLink { link: String, code: String, request: Request },
    /// Tells the owner that somebody tried to register the address again. Carries no token.
    AccountExists { sign_in: String, reset: String },
    /// Tells the owner that the password is a new one.
    PasswordChanged,
    /// Tells the owner that a passkey for a site was added. Its name is left out: a stranger may have chosen it.
    PasskeyAdded { site: String },
    /// Tells the owner that a passkey for a site was removed.
    PasskeyRemoved { site: String },
    /// Tells the owner that somebody signed in from a device not seen before, in words of ours and by its address.
    NewDevice { device: String, address: String },
    /// Asks the owner of a mailbox whether it shall be the address of an account that already exists.
    ConfirmEmail { link: String },
    /// Tells the present address that a change to `new` was asked for, with a link that stops or undoes it.
    EmailChangeAsked { new: String, link: String },
    /// Tells the former address that `new` has taken its place, with a link that undoes it.
    EmailChanged { new: String, link: String },
    /// Tells the restored address that the change is undone, with a link to a new password.
    EmailRestored { link: String },
    /// Carries the code that deletes the account.
    LeaveCode { code: String },
    /// Tells the owner that the account is gone.
    AccountDeleted,
    /// Asks a developer to confirm the mailbox, behind which the first API key waits.
    PrimaSignup { link: String },
    /// Tells a developer who signed up again that there is a key already. Carries no token.
    PrimaKeyExists { portal: String },
}

/// From where a letter was asked for, so that its reader can tell an own request from a stranger's.
#[derive(Clone, Debug)]
pub struct Request {
    pub address: String,
    /// Browser and system in words of ours, never what the client sent.
    pub device: String,
}

impl Letter {
    /// How long the link and the code of a [`Letter::MagicLink`] live (surface 2.7).
    pub const MAGIC_LINK_LIFETIME: Duration = Duration::from_mins(15);
    /// How long the link of a [`Letter::VerifyEmail`] lives (surface 2.7).
    pub const VERIFY_EMAIL_LIFETIME: Duration = Duration::from_hours(24);
    /// How long the link of a [`Letter::ResetPassword`] lives (surface 2.7).
    pub const RESET_PASSWORD_LIFETIME: Duration = Duration::from_hours(1);
    /// How long the link of a [`Letter::ConfirmEmail`] lives.
    pub const CONFIRM_EMAIL_LIFETIME: Duration = Duration::from_hours(24);
    /// How long a link that undoes a change of address lives: a weekend and a day.
    pub const UNDO_EMAIL_LIFETIME: Duration = Duration::from_hours(72);
    /// How long the code of a [`Letter::LeaveCode`] lives.
    pub const LEAVE_CODE_LIFETIME: Duration = Duration::from_mins(15);
    /// How long the link of a [`Letter::PrimaSignup`] lives (surface 2.7).
    pub const PRIMA_SIGNUP_LIFETIME: Duration = Duration::from_hours(24);

    /// The letter's name in the outbox, in the log and among the templates.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::VerifyEmail { .. } => "verify_email",
            Self::SetPassword { .. } => "set_password",
            Self::ResetPassword { .. } => "reset_password",
            Self::MagicLink { .. } => "magic_link",
            Self::AccountExists { .. } => "account_exists",
            Self::PasswordChanged => "password_changed",
            Self::PasskeyAdded { .. } => "passkey_added",
            Self::PasskeyRemoved { .. } => "passkey_removed",
            Self::NewDevice { .. } => "new_device",
            Self::ConfirmEmail { .. } => "confirm_email",
            Self::EmailChangeAsked { .. } => "email_change_asked",
            Self::EmailChanged { .. } => "email_changed",
            Self::EmailRestored { .. } => "email_restored",
            Self::LeaveCode { .. } => "leave_code",
            Self::AccountDeleted => "account_deleted",
            Self::PrimaSignup { .. } => "prima_signup",
            Self::PrimaKeyExists { .. } => "prima_key_exists",
        }
    }

    /// The links, the one behind the button first.
    pub(super) fn links(&self) -> [Option<&str>; 2] {
        match self {
            Self::VerifyEmail { link }
            | Self::SetPassword { link, .. }
            | Self::ResetPassword { link }
            | Self::MagicLink { link, .. }
            | Self::ConfirmEmail { link }
            | Self::EmailChangeAsked { link, .. }
            | Self::EmailChanged { link, .. }
            | Self::EmailRestored { link }
            | Self::PrimaSignup { link }
            | Self::PrimaKeyExists { portal: link } => [Some(link), None],
            Self::AccountExists { sign_in, reset } => [Some(sign_in), Some(reset)],
            Self::PasswordChanged
            | Self::PasskeyAdded { .. }
            | Self::PasskeyRemoved { .. }
            | Self::NewDevice { .. }
            | Self::LeaveCode { .. }
            | Self::AccountDeleted => [None, None],
        }
    }

    /// Texts that the letter's own words refer to: a device and its address, a new address, a code, a site.
    pub(super) fn facts(&self) -> [Option<&str>; 2] {
        match self {
            Self::NewDevice { device, address } => [Some(device), Some(address)],
            Self::EmailChangeAsked { new, .. } | Self::EmailChanged { new, .. } => [Some(new), None],
            Self::LeaveCode { code } => [Some(code), None],
            Self::PasskeyAdded { site } | Self::PasskeyRemoved { site } => [Some(site), None],
            Self::VerifyEmail { .. }
            | Self::SetPassword { .. }
            | Self::ResetPassword { .. }
            | Self::MagicLink { .. }
            | Self::AccountExists { .. }
            | Self::PasswordChanged
            | Self::ConfirmEmail { .. }
            | Self::EmailRestored { .. }
            | Self::AccountDeleted
            | Self::PrimaSignup { .. }
            | Self::PrimaKeyExists { .. } => [None, None],
        }
    }

    /// How long the link lives, where the letter says so.
    pub(super) const fn lifetime(&self) -> Option<Duration> {
        match self {
            Self::VerifyEmail { .. } => Some(Self::VERIFY_EMAIL_LIFETIME),
            Self::SetPassword { valid_for, .. } => Some(*valid_for),
            Self::MagicLink { .. } => Some(Self::MAGIC_LINK_LIFETIME),
            Self::ResetPassword { .. } | Self::EmailRestored { .. } => Some(Self::RESET_PASSWORD_LIFETIME),
            Self::ConfirmEmail { .. } => Some(Self::CONFIRM_EMAIL_LIFETIME),
            Self::EmailChangeAsked { .. } | Self::EmailChanged { .. } => Some(Self::UNDO_EMAIL_LIFETIME),
            Self::LeaveCode { .. } => Some(Self::LEAVE_CODE_LIFETIME),
            Self::PrimaSignup { .. } => Some(Self::PRIMA_SIGNUP_LIFETIME),
            Self::AccountExists { .. }
            | Self::PasswordChanged
            | Self::PasskeyAdded { .. }
            | Self::PasskeyRemoved { .. }
            | Self::NewDevice { .. }
            | Self::AccountDeleted
            | Self::PrimaKeyExists { .. } => None,
        }
    }

    /// The code beside the link, and from where both were asked for.
    pub(super) fn code(&self) -> Option<(&str, &Request)> {
        if let Self::MagicLink { code, request, .. } = self { Some((code, request)) } else { None }
    }
}

/// Prints the kind alone: links are secrets.
impl fmt::Debug for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Letter({})", self.kind())
    }
}

/// To whom a letter goes. The name is whatever the person (or a stranger) typed.
pub struct Recipient<'a> {
    pub email: &'a str,
    pub name: Option<&'a str>,
    pub language: Language,
}

/// Prints the mailbox's fingerprint alone.
impl fmt::Debug for Recipient<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipient({})", fingerprint(self.email))
    }
}

/// Whether a letter leaves the house.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is sent.
    Send,
    /// It is composed and stored like any other and then dropped: equal work for an address that has no account.
    Void,
}
