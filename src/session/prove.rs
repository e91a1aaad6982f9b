//! A mailbox proved by another way than the confirmation link. Whoever registered an address without owning it must
//! not keep a password or a session there.

use super::Sessions;
use crate::{
    account::{self, Account},
    store::{Fault, Tx},
};

impl Sessions {
    /// Marks the mailbox of `account` as proved, gives it its workspace, and returns it as it is now. An account that was
    /// unverified loses its password and all its sessions first.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn prove_mailbox(&self, tx: &mut Tx, account: &Account) -> Result<Option<Account>, Fault> {
        let now = self.clock.now();
        if !account.is_verified() {
            account::clear_password(tx, account.id).await?;
            self.revoke_all(tx, account.id).await?;
        }
        let Some(account) = account::mark_verified(tx, account.id, now).await? else { return Ok(None) };
        account::workspace::create_personal(tx, &account, &self.entropy, now).await?;
        account::find_in(tx, account.id).await
    }
}
