//! Replacing a forgotten password by the mailed link. A failing policy does not consume the link; success ends every
//! session and every other link of the account, one that undoes a change of address aside.

use super::{Passwords, Refusal, field::NewPassword, hashing::Check, policy};
use crate::{
    account::{self, Account, Email},
    audit::{self, Act, Event},
    error::ApiError,
    limit::ClientIp,
    mail::{Delivery, Letter},
    secret::Plain,
    store::retrying,
    ticket::{self, Purpose},
};

impl Passwords {
    /// Replaces the password of the account behind a ticket.
    ///
    /// # Errors
    /// A bad link, a weak password, a busy or absent part.
    pub async fn reset(&self, token: &Plain, password: &NewPassword, client: &ClientIp) -> Result<(), Refusal> {
        let account = self.owner_of(token, Purpose::PasswordReset).await?;
        let hash = self.acceptable(password, &account, client).await?;
        retrying(|| self.replace(token, &hash, client)).await?;
        self.post.wake();
        Ok(())
    }

    async fn replace(&self, token: &Plain, hash: &str, client: &ClientIp) -> Result<(), Refusal> {
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        let ticket =
            ticket::claim(&mut tx, &token.hash(), Purpose::PasswordReset, now).await?.ok_or(Refusal::LinkInvalid)?;
        account::set_password(&mut tx, ticket.user_id, hash).await?;
        let account = account::mark_verified(&mut tx, ticket.user_id, now).await?.ok_or(Refusal::LinkInvalid)?;
        account::workspace::create_personal(&mut tx, &account, &self.entropy, now).await?;
        self.sessions.revoke_all(&mut tx, account.id).await?;
        ticket::delete_all(&mut tx, account.id).await?;
        self.post.enqueue(&mut tx, account.recipient(), &Letter::PasswordChanged, Delivery::Send).await?;
        audit::record(&mut tx, &Event::by(Act::PasswordReset, client, now).on(account.id)).await?;
        tx.commit().await?;
        Ok(())
    }

    /// The account behind a live ticket, without consuming it.
    pub(super) async fn owner_of(&self, token: &Plain, purpose: Purpose) -> Result<Account, Refusal> {
        let ticket = ticket::find_live(&self.db, &token.hash(), purpose, self.clock.now()).await?;
        let ticket = ticket.ok_or(Refusal::LinkInvalid)?;
        account::find(&self.db, ticket.user_id).await?.ok_or(Refusal::LinkInvalid)
    }

    /// The hash of a new password, when the policy admits it for this account.
    pub(super) async fn acceptable(
        &self,
        password: &NewPassword,
        account: &Account,
        client: &ClientIp,
    ) -> Result<String, Refusal> {
        let hashing = self.hashing.on_behalf_of(client);
        let email = Email::parse(&account.email).map_err(ApiError::internal)?;
        let mut reasons = self.policy.reasons(password.as_str(), &email).await;
        if let Some(stored) = &account.password_hash
            && hashing.check(password.as_str(), Some(stored)).await? != Check::Wrong
        {
            reasons.push(policy::Reason::Unchanged);
        }
        if reasons.is_empty() { Ok(hashing.hash(password.as_str()).await?) } else { Err(Refusal::Weak(reasons)) }
    }
}
