//! The policy of every bucket as one enum: quota, window, setting, name, sentence and shape are arms of it.
//! Configuration, documentation and headers loop over it; no second list of buckets exists.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// Requests per minute, network and anonymous route.
const AUTH_PER_MINUTE: u32 = 30;

/// Requests per minute and mailbox, of each kind of mail.
const AUTH_EMAIL_PER_MINUTE: u32 = 10;

/// Sign-ins per hour and account, over all devices that are not known to it.
const ACCOUNT_PER_HOUR: u32 = 100;

/// Sign-ins per minute of one known device, after the other buckets have refused.
const DEVICE_PER_MINUTE: u32 = 10;

/// The names of all named budgets that this process ever read. A name keeps its number when the policies are read again.
static NAMES: Mutex<Vec<Arc<str>>> = Mutex::new(Vec::new());

/// A named budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PolicyId(u32);

impl PolicyId {
    /// The number of a name.
    pub(super) fn of(name: &Arc<str>) -> Self {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            names.push(Arc::clone(name));
            names.len() - 1
        });
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// The kind of mail that a mailbox bucket holds back; each kind has its own budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MailScope {
    MagicLink,
    PasswordReset,
    Verification,
    Registration,
    ChangeEmail,
    Leave,
}

impl MailScope {
    /// Every kind.
    pub const ALL: &'static [Self] =
        &[Self::MagicLink, Self::PasswordReset, Self::Verification, Self::Registration, Self::ChangeEmail, Self::Leave];

    /// Its part of the key.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MagicLink => "magic-link",
            Self::PasswordReset => "password-reset",
            Self::Verification => "verification",
            Self::Registration => "registration",
            Self::ChangeEmail => "change-email",
            Self::Leave => "leave",
        }
    }
}

/// A budget, and what somebody hears who has spent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// Every counted path, per network.
    Ip,
    /// Besides it, the paths that anybody may embed, per network.
    PublicIp,
    /// An anonymous route, per route and network.
    Auth,
    /// A route that mails an address it was given, per kind of mail and mailbox.
    AuthEmail(MailScope),
    /// A developer's sign-up, per network.
    SignupIp,
    /// A developer's sign-up, per mailbox.
    SignupEmail,
    /// Sign-ins to one account from devices that it does not know, over all networks.
    Account,
    /// Sign-ins from a device that the account knows, asked only when another bucket has refused.
    Device,
    /// A budget of the policy file.
    Named(PolicyId),
}

/// The quotas that an operator may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    pub ip_per_minute: u32,
    pub public_ip_per_minute: u32,
    pub signup_ip_per_hour: u32,
    pub signup_email_per_hour: u32,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { ip_per_minute: 1000, public_ip_per_minute: 240, signup_ip_per_hour: 5, signup_email_per_hour: 3 }
    }
}

impl Bucket {
    /// Every bucket but the named ones, in the order in which a request meets them.
    pub const ALL: &'static [Self] = &[
        Self::Ip,
        Self::PublicIp,
        Self::Auth,
        Self::SignupIp,
        Self::SignupEmail,
        Self::AuthEmail(MailScope::MagicLink),
        Self::AuthEmail(MailScope::PasswordReset),
        Self::AuthEmail(MailScope::Verification),
        Self::AuthEmail(MailScope::Registration),
        Self::AuthEmail(MailScope::ChangeEmail),
        Self::AuthEmail(MailScope::Leave),
        Self::Account,
        Self::Device,
    ];

    /// Its name in the `RateLimit` headers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::PublicIp => "public-ip",
            Self::Auth => "auth",
            Self::AuthEmail(_) => "auth-email",
            Self::SignupIp => "signup-ip",
            Self::SignupEmail => "signup-email",
            Self::Account => "account",
            Self::Device => "device",
            Self::Named(_) => "policy",
        }
    }

    /// How long a window lasts, from its first hit.
    pub const fn window(self) -> Duration {
        match self {
            Self::Ip | Self::PublicIp | Self::Auth | Self::AuthEmail(_) | Self::Device | Self::Named(_) => MINUTE,
            Self::SignupIp | Self::SignupEmail | Self::Account => HOUR,
        }
    }

    /// How many requests a window admits.
    pub const fn quota(self, quotas: &Quotas) -> u32 {
        match self {
            Self::Ip => quotas.ip_per_minute,
            Self::PublicIp => quotas.public_ip_per_minute,
            Self::Auth => AUTH_PER_MINUTE,
            Self::AuthEmail(_) => AUTH_EMAIL_PER_MINUTE,
            Self::SignupIp => quotas.signup_ip_per_hour,
            Self::SignupEmail => quotas.signup_email_per_hour,
            Self::Account => ACCOUNT_PER_HOUR,
            Self::Device => DEVICE_PER_MINUTE,
            // The policy file says; without it there is no such bucket.
            Self::Named(_) => 1,
        }
    }

    /// The variable that sets its quota, when one does.
    pub const fn setting(self) -> Option<&'static str> {
        match self {
            Self::Ip => Some("RATE_LIMIT_IP_PER_MINUTE"),
            Self::PublicIp => Some("RATE_LIMIT_PUBLIC_IP_PER_MINUTE"),
            Self::Auth | Self::AuthEmail(_) | Self::Account | Self::Device | Self::Named(_) => None,
            Self::SignupIp => Some("PRIMA_SIGNUP_MAX_PER_IP_PER_HOUR"),
            Self::SignupEmail => Some("PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR"),
        }
    }

    /// What a refused client reads.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Ip | Self::PublicIp | Self::Named(_) => "Too many requests. Please slow down.",
            Self::Auth | Self::Account | Self::Device => "Too many authentication attempts. Please try again later.",
            Self::AuthEmail(_) => "Too many requests for this email. Please try again later.",
            Self::SignupIp | Self::SignupEmail => "Too many signup attempts. Please try again later.",
        }
    }

    /// What the operator reads.
    pub const fn log_sentence(self) -> &'static str {
        match self {
            Self::Ip | Self::PublicIp => "Rate limit exceeded for IP",
            Self::Auth | Self::AuthEmail(_) | Self::Account | Self::Device => "Auth rate limit exceeded",
            Self::Named(_) => "Rate limit of a policy exceeded",
            Self::SignupIp | Self::SignupEmail => "Signup rate limit exceeded",
        }
    }

    /// Whether it stands in the corridor and speaks the middleware's shape.
    pub const fn is_volumetric(self) -> bool {
        matches!(self, Self::Ip | Self::PublicIp)
    }

    /// Whether it counts a mailbox. Its numbers would tell one person of another's traffic, so they are never shown.
    pub const fn is_mailbox(self) -> bool {
        matches!(self, Self::AuthEmail(_) | Self::SignupEmail | Self::Account)
    }

    /// Whether a refusal's log line may carry the mailbox's fingerprint.
    pub const fn logs_mailbox(self) -> bool {
        matches!(self, Self::AuthEmail(_) | Self::Account)
    }
}
