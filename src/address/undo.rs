//! Stopping or undoing a change of address by the link in the former mailbox. Whoever opens it says "that was not me",
//! so every session ends, every other link dies, and a link to a new password is mailed.

use super::{Addresses, Refusal, store};
use crate::{
    account::{self, Account},
    audit::{self, Act, Event},
    limit::ClientIp,
    mail::{Delivery, Letter},
    secret::Plain,
    store::retrying,
    ticket::{self, Purpose},
};

impl Addresses {
    /// Gives the account behind a ticket its former address again, or keeps it, and returns the account.
    ///
    /// # Errors
    /// A bad link, or a former address that somebody else has by now; an absent part.
    pub async fn undo(&self, token: &Plain, client: &ClientIp) -> Result<Account, Refusal> {
        let account = retrying(|| self.move_back(token, client)).await?;
        self.post.wake();
        Ok(account)
    }

    async fn move_back(&self, token: &Plain, client: &ClientIp) -> Result<Account, Refusal> {
        let now = self.clock.now();
        let hash = token.hash();
        let mut tx = self.db.begin().await?;
        let claimed = ticket::claim(&mut tx, &hash, Purpose::UndoEmail, now).await?.ok_or(Refusal::LinkInvalid)?;
        let former = store::address_of(&mut tx, &hash).await?.ok_or(Refusal::LinkInvalid)?;
        let current = account::lock(&mut tx, claimed.user_id).await?.ok_or(Refusal::LinkInvalid)?;
        let account = if current.email == former {
            current
        } else {
            account::remove_unproved(&mut tx, &former).await?;
            account::change_email(&mut tx, current.id, &former, now).await?.ok_or(Refusal::LinkInvalid)?
        };
        self.sessions.revoke_all(&mut tx, account.id).await?;
        // The other ways back too: one of them may lie in the mailbox of whoever asked for the change.
        ticket::delete_every(&mut tx, account.id).await?;
        let reset = self.tickets.issue_mailed(&mut tx, Purpose::PasswordReset, Some(account.id)).await?;
        let letter = Letter::EmailRestored { link: self.frontend.link("/reset-password", &reset.secret) };
        self.post.enqueue(&mut tx, account.recipient(), &letter, Delivery::Send).await?;
        audit::record(&mut tx, &Event::by(Act::EmailChangeUndone, client, now).on(account.id)).await?;
        tx.commit().await?;
        Ok(account)
    }
}
