//! Setting a first password by the mailed link. The link proved the mailbox, so the person lands signed in; it cannot
//! replace a password that a proved mailbox already has.

use super::{Passwords, Refusal, field::NewPassword};
use crate::{
    account::{self, Account, FullName},
    audit::{self, Act, Event},
    secret::Plain,
    session::{Opened, SignedInBy, Visitor},
    store::retrying,
    ticket::{self, Purpose},
};

impl Passwords {
    /// Sets the first password of the account behind a ticket and opens a session.
    ///
    /// # Errors
    /// A bad link, a weak password, a disabled account, a busy or absent part.
    pub async fn set(
        &self,
        token: &Plain,
        password: &NewPassword,
        name: Option<&FullName>,
        visitor: &Visitor,
    ) -> Result<Opened, Refusal> {
        let account = self.owner_of(token, Purpose::SetPassword).await?;
        check_open(&account)?;
        let hash = self.acceptable(password, &account, &visitor.client).await?;
        retrying(|| self.write_first(token, &hash, name, visitor)).await
    }

    async fn write_first(
        &self,
        token: &Plain,
        hash: &str,
        name: Option<&FullName>,
        visitor: &Visitor,
    ) -> Result<Opened, Refusal> {
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        let ticket =
            ticket::claim(&mut tx, &token.hash(), Purpose::SetPassword, now).await?.ok_or(Refusal::LinkInvalid)?;
        let before = account::find_in(&mut tx, ticket.user_id).await?.ok_or(Refusal::LinkInvalid)?;
        check_open(&before)?;
        account::set_password(&mut tx, before.id, hash).await?;
        if let (None, Some(name)) = (&before.full_name, name) {
            let named = Account { full_name: Some(name.0.clone()), ..before.clone() };
            account::update_profile(&mut tx, &named).await?;
        }
        let account = account::mark_verified(&mut tx, before.id, now).await?.ok_or(Refusal::LinkInvalid)?;
        account::workspace::create_personal(&mut tx, &account, &self.entropy, now).await?;
        ticket::delete_others(&mut tx, account.id, Purpose::SetPassword).await?;
        self.sessions.revoke_all(&mut tx, account.id).await?;
        let account = account::find_in(&mut tx, account.id).await?.ok_or(Refusal::LinkInvalid)?;
        audit::record(&mut tx, &Event::by(Act::PasswordSet, &visitor.client, now).on(account.id)).await?;
        let opened = self.sessions.open(&mut tx, &account, SignedInBy::SetPasswordLink, visitor).await?;
        tx.commit().await?;
        Ok(opened)
    }
}

/// The link cannot replace a password that a proved mailbox already has, nor open a disabled account.
fn check_open(account: &Account) -> Result<(), Refusal> {
    if account.is_verified() && account.password_hash.is_some() {
        return Err(Refusal::LinkInvalid);
    }
    if account.is_active { Ok(()) } else { Err(Refusal::Disabled) }
}
