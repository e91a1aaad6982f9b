//! Which account a person of the provider has here: the one that is linked, or the one with the same verified address,
//! or a new one. An address that the provider did not verify opens nothing.

use super::{Oidc, callback::Failure, provider::Person, store};
use crate::{
    account::{self, Account, Email, FullName, Locale, NewAccount},
    error::ApiError,
    extract::Field,
    secret::Plain,
    store::Tx,
    ticket::Purpose,
};

impl Oidc {
    /// Finds or makes the account and issues the ticket that signs it in.
    pub(super) async fn enter(&self, issuer: &str, person: &Person, particulars: &str) -> Result<Plain, Failure> {
        let mut tx = self.db.begin().await?;
        let account = match store::find_linked(&mut tx, issuer, &person.subject).await? {
            Some((id,)) => account::find_in(&mut tx, id).await?.ok_or(Failure::StateInvalid)?,
            None => self.link(&mut tx, issuer, person).await?,
        };
        if !account.is_active {
            return Err(Failure::Disabled);
        }
        let ticket = self.tickets.issue(&mut tx, Purpose::OidcHandoff, Some(account.id), particulars).await?;
        tx.commit().await?;
        Ok(ticket)
    }

    async fn link(&self, tx: &mut Tx, issuer: &str, person: &Person) -> Result<Account, Failure> {
        let verified = person.email_verified.unwrap_or(self.trust_email);
        let email = person.email.as_deref().filter(|_| verified).and_then(|text| Email::parse(text).ok());
        let email = email.ok_or(Failure::EmailUnverified)?;
        let known = account::find_for_update(tx, email.as_str()).await?;
        let account = match known {
            Some(account) if !account.is_active => return Err(Failure::Disabled),
            Some(account) => account,
            None if self.registration_open => self.welcome(tx, &email, person).await?,
            None => return Err(Failure::SignupClosed),
        };
        let account = self.sessions.prove_mailbox(tx, &account).await?;
        let account = account.ok_or_else(|| Failure::Failed(ApiError::internal("an account vanished while linked")))?;
        store::link(tx, issuer, &person.subject, account.id, self.clock.now()).await?;
        Ok(account)
    }

    async fn welcome(&self, tx: &mut Tx, email: &Email, person: &Person) -> Result<Account, Failure> {
        let name = person.name.as_ref().and_then(|name| FullName::read(name).ok());
        let language = person.locale.as_deref().map(|tag| tag.split(['-', '_']).next().unwrap_or("").to_lowercase());
        let new = NewAccount {
            id: self.entropy.uuid(),
            email: email.as_str(),
            full_name: name.as_ref().map(|name| name.0.as_str()),
            locale: Locale::from_stored(language.as_deref().unwrap_or("")).name(),
            password_hash: None,
            workspace_name: None,
            now: self.clock.now(),
        };
        if let Some(fresh) = account::insert_unverified(tx, &new).await? {
            return Ok(fresh);
        }
        // Registered by another request since we looked.
        let known = account::find_for_update(tx, email.as_str()).await?;
        known.ok_or_else(|| Failure::Failed(ApiError::internal("an address was taken and free in one transaction")))
    }
}
