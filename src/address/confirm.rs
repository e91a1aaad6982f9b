//! Confirming a new address by the link in its mailbox. Of two accounts that want one address the first to confirm gets
//! it; the link of the other is then as invalid as any.

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
    /// Gives the account behind a ticket the ticket's address and returns the account. What was mailed to the former
    /// mailbox ends, the ways back aside; sessions stay.
    ///
    /// # Errors
    /// A bad link, or an address that somebody has by now; an absent part.
    pub async fn confirm(&self, token: &Plain, client: &ClientIp) -> Result<Account, Refusal> {
        let account = retrying(|| self.move_over(token, client)).await?;
        self.post.wake();
        Ok(account)
    }

    async fn move_over(&self, token: &Plain, client: &ClientIp) -> Result<Account, Refusal> {
        let now = self.clock.now();
        let hash = token.hash();
        let mut tx = self.db.begin().await?;
        let claimed = ticket::claim(&mut tx, &hash, Purpose::ConfirmEmail, now).await?.ok_or(Refusal::LinkInvalid)?;
        let new = store::address_of(&mut tx, &hash).await?.ok_or(Refusal::LinkInvalid)?;
        let former = account::lock(&mut tx, claimed.user_id).await?.ok_or(Refusal::LinkInvalid)?;
        if !former.is_active {
            return Err(Refusal::LinkInvalid);
        }
        account::remove_unproved(&mut tx, &new).await?;
        let account = account::change_email(&mut tx, former.id, &new, now).await?.ok_or(Refusal::LinkInvalid)?;
        ticket::delete_all(&mut tx, account.id).await?;
        let undo = self.link(&mut tx, Purpose::UndoEmail, Some(account.id), &former.email).await?;
        let letter = Letter::EmailChanged { new, link: undo.link };
        // While five ways back are live, the notices that carried them have said it all.
        let delivery = if undo.live { Delivery::Send } else { Delivery::Void };
        self.post.enqueue(&mut tx, former.recipient(), &letter, delivery).await?;
        audit::record(&mut tx, &Event::by(Act::EmailChange, client, now).on(account.id)).await?;
        tx.commit().await?;
        Ok(account)
    }
}
