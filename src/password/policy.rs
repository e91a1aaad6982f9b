//! Which passwords are too easy to guess. Length is the field's business; composition rules are refused on purpose.

use std::sync::LazyLock;

use super::BreachList;
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

/// The policy of this service.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Passwords that were found in breaches, when the operator keeps the list.
    pub breached: Option<BreachList>,
}

impl Policy {
    /// Every reason against a password, the comparison with the current one aside. A breached password is a common one:
    /// the catalogue knows no finer word, and a person can do nothing different about it.
    pub async fn reasons(&self, password: &str, email: &Email) -> Vec<Reason> {
        let folded = password.to_lowercase();
        let mut reasons = Vec::new();
        if COMMON.binary_search(&folded.as_str()).is_ok() || self.is_breached(password).await {
            reasons.push(Reason::Common);
        }
        if folded == email.as_str() || folded == email.local() {
            reasons.push(Reason::ContainsEmail);
        }
        reasons
    }

    /// A list that cannot be read any more refuses nobody: the rest of the policy still holds, and the log tells.
    async fn is_breached(&self, password: &str) -> bool {
        let Some(list) = &self.breached else { return false };
        list.holds(password).await.unwrap_or_else(|error| {
            tracing::error!(cause = %error, "PASSWORD_BREACH_FILE cannot be read");
            false
        })
    }
}
