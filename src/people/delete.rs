//! Deleting an account with everything that belongs to it alone. A workspace with other members stays theirs.

use super::{People, Refusal, state::held, store};
use crate::{account::Email, store::retrying};

impl People {
    /// Deletes an account, its sessions, links and memberships, and the workspaces that nobody else belongs to.
    ///
    /// # Errors
    /// Nobody has the address; a fault of the database.
    pub async fn delete(&self, email: &Email) -> Result<u64, Refusal> {
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let account = held(&mut tx, email).await?;
            let workspaces = store::delete_lonely_workspaces(&mut tx, account.id).await?;
            store::delete(&mut tx, account.id).await?;
            tx.commit().await?;
            Ok(workspaces)
        })
        .await
    }
}
