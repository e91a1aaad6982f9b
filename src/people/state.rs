//! Disabling, enabling and promoting. A disabled account loses its sessions and links at once.

use super::{People, Refusal, bring::Role, store};
use crate::{
    account::{self, Account, Email},
    audit::Act,
    session,
    store::{Tx, retrying},
    ticket,
};

impl People {
    /// Shuts an account: nobody signs in any more, every session ends, every mailed link dies.
    ///
    /// # Errors
    /// Nobody has the address; a fault of the database.
    pub async fn disable(&self, email: &Email) -> Result<(), Refusal> {
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let account = held(&mut tx, email).await?;
            store::set_active(&mut tx, account.id, false).await?;
            session::revoke_all(&mut tx, account.id, self.clock.now()).await?;
            ticket::delete_all(&mut tx, account.id).await?;
            self.record(&mut tx, Act::AccountDisabled, Some(account.id), None).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    /// Opens an account again. Its sessions stay ended.
    ///
    /// # Errors
    /// Nobody has the address; a fault of the database.
    pub async fn enable(&self, email: &Email) -> Result<(), Refusal> {
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let account = held(&mut tx, email).await?;
            store::set_active(&mut tx, account.id, true).await?;
            self.record(&mut tx, Act::AccountEnabled, Some(account.id), None).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    /// Gives an account a role. Sessions go on: the role is read from the account on every request.
    ///
    /// # Errors
    /// Nobody has the address; a fault of the database.
    pub async fn promote(&self, email: &Email, role: Role) -> Result<(), Refusal> {
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let account = held(&mut tx, email).await?;
            store::set_role(&mut tx, account.id, role.name()).await?;
            self.record(&mut tx, Act::AccountPromoted, Some(account.id), Some(role.name())).await?;
            Ok(tx.commit().await?)
        })
        .await
    }
}

/// The account, its row held until the transaction ends.
pub(super) async fn held(tx: &mut Tx, email: &Email) -> Result<Account, Refusal> {
    let account = account::find_for_update(tx, email.as_str()).await?;
    account.ok_or_else(|| Refusal::Unknown(email.clone()))
}
