//! Looking at accounts: a page of many, or one with what belongs to it.

use super::{People, Refusal, store};
use crate::{
    account::{self, Account, Email},
    store::Fault,
};

/// Which accounts to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those whose address comes after this one.
    pub after: String,
    pub role: Option<super::bring::Role>,
    pub active: Option<bool>,
    pub verified: Option<bool>,
    pub limit: u32,
}

impl People {
    /// Accounts in the order of their addresses.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Account>, Fault> {
        let role = filter.role.map(super::bring::Role::name);
        store::list(&self.db, &filter.after, role, filter.active, filter.verified, filter.limit.into()).await
    }

    /// One account, and how many live sessions it has.
    ///
    /// # Errors
    /// Nobody has the address; a fault of the database.
    pub async fn show(&self, email: &Email) -> Result<(Account, i64), Refusal> {
        let account = account::find_by_email(&self.db, email.as_str()).await?;
        let account = account.ok_or_else(|| Refusal::Unknown(email.clone()))?;
        let sessions = store::count_sessions(&self.db, account.id, self.clock.now()).await?;
        Ok((account, sessions))
    }
}
