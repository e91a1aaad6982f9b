//! Deleting an account with everything that belongs to it alone. A workspace with other members stays theirs.

use super::{People, Refusal, state::held};
use crate::{
    account::{self, Email},
    audit::Act,
    mail,
    store::retrying,
};

impl People {
    /// Deletes an account, its sessions, links, memberships and waiting mails, and the workspaces that nobody else
    /// belongs to.
    ///
    /// # Errors
    /// Nobody has the address; a fault of the database.
    pub async fn delete(&self, email: &Email) -> Result<(), Refusal> {
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let account = held(&mut tx, email).await?;
            mail::forget(&mut tx, &account.email).await?;
            account::delete(&mut tx, account.id).await?;
            self.record(&mut tx, Act::AccountDeleted, Some(account.id), None).await?;
            Ok(tx.commit().await?)
        })
        .await
    }
}
