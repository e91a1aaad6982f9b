//! Confirming an address by the mailed link. It opens no session: the one who confirms may not be the one who registered.

use super::{Passwords, Refusal};
use crate::{
    account,
    audit::{self, Act, Event},
    limit::ClientIp,
    secret::Plain,
    store::retrying,
    ticket::{self, Purpose},
};

impl Passwords {
    /// Confirms the address behind a ticket and returns it. The same link may be opened again within its lifetime.
    ///
    /// # Errors
    /// A bad link; an absent part.
    pub async fn verify_email(&self, token: &Plain, client: &ClientIp) -> Result<String, Refusal> {
        retrying(|| self.confirm(token, client)).await
    }

    async fn confirm(&self, token: &Plain, client: &ClientIp) -> Result<String, Refusal> {
        let now = self.clock.now();
        let hash = token.hash();
        let mut tx = self.db.begin().await?;
        if let Some(ticket) = ticket::claim(&mut tx, &hash, Purpose::VerifyEmail, now).await? {
            let account = account::mark_verified(&mut tx, ticket.user_id, now).await?.ok_or(Refusal::LinkInvalid)?;
            account::workspace::create_personal(&mut tx, &account, &self.entropy, now).await?;
            ticket::delete_others(&mut tx, account.id, Purpose::VerifyEmail).await?;
            audit::record(&mut tx, &Event::by(Act::VerifyEmail, client, now).on(account.id)).await?;
            tx.commit().await?;
            return Ok(account.email);
        }
        let used = ticket::find_used(&mut tx, &hash, Purpose::VerifyEmail, now).await?.ok_or(Refusal::LinkInvalid)?;
        let account = account::find_in(&mut tx, used.user_id).await?.ok_or(Refusal::LinkInvalid)?;
        if account.is_verified() { Ok(account.email) } else { Err(Refusal::LinkInvalid) }
    }
}
