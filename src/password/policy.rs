//! Which passwords are too easy to guess. Length is the field's business; composition rules are refused on purpose.

use std::sync::LazyLock;

use crate::account::Email;

/// Common passwords of at least eight characters, lower case, sorted. Source and licence: `NOTICE`.
static COMMON: LazyLock<Vec<&'static str>> = LazyLock::new(|| include_str!("common.txt").lines().collect());

/// Why a password is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Common,
    ContainsEmail,
    Unchanged,
}

impl Reason {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::ContainsEmail => "contains_email",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Every reason against a password, the comparison with the current one aside.
pub fn reasons(password: &str, email: &Email) -> Vec<Reason> {
    let folded = password.to_lowercase();
    let mut reasons = Vec::new();
    if COMMON.binary_search(&folded.as_str()).is_ok() {
        reasons.push(Reason::Common);
    }
    if folded == email.as_str() || folded == email.local() {
        reasons.push(Reason::ContainsEmail);
    }
    reasons
}
