//! Registering. One answer for a new, an unverified and a known address; the difference is in the mail.

use super::{Passwords, Refusal, field::NewPassword};
use crate::{
    account::{self, Email, FullName, Locale, NewAccount, WorkspaceName},
    audit::{self, Act, Event},
    error::ApiError,
    limit::{Admission, ClientIp, extract::Mailbox},
    mail::{Delivery, Letter},
    store::retrying,
    ticket::Purpose,
};

/// What somebody registers with.
#[derive(Debug)]
pub struct Registration {
    pub email: Email,
    pub password: NewPassword,
    pub full_name: Option<FullName>,
    pub workspace_name: Option<WorkspaceName>,
    pub locale: Locale,
}

impl Passwords {
    /// Registers an address. A known one changes nothing but gets a mail; an unverified one loses its password, so that
    /// nobody can plant one in another person's name.
    ///
    /// # Errors
    /// Closed registration, a weak password, a busy or absent part.
    pub async fn register<S>(
        &self,
        _: &Admission<Mailbox<S>>,
        wanted: &Registration,
        client: &ClientIp,
    ) -> Result<(), Refusal> {
        if !self.registration_open {
            return Err(Refusal::RegistrationClosed);
        }
        let reasons = self.policy.reasons(wanted.password.as_str(), &wanted.email).await;
        if !reasons.is_empty() {
            return Err(Refusal::Weak(reasons));
        }
        let hash = self.hashing.on_behalf_of(client).hash(wanted.password.as_str()).await?;
        retrying(|| self.write_registration(wanted, &hash, client)).await?;
        self.post.wake();
        Ok(())
    }

    async fn write_registration(&self, wanted: &Registration, hash: &str, client: &ClientIp) -> Result<(), Refusal> {
        let email = &wanted.email;
        let mut tx = self.db.begin().await?;
        let new = NewAccount {
            id: self.entropy.uuid(),
            email: email.as_str(),
            full_name: wanted.full_name.as_ref().map(|name| name.0.as_str()),
            locale: wanted.locale.name(),
            password_hash: Some(hash),
            workspace_name: wanted.workspace_name.as_ref().map(|name| name.0.as_str()),
            now: self.clock.now(),
        };
        let event = Event::by(Act::Register, client, new.now);
        if let Some(fresh) = account::insert_unverified(&mut tx, &new).await? {
            let letter = |link| Letter::VerifyEmail { link };
            self.mail_link(&mut tx, email, Some(&fresh), Purpose::VerifyEmail, letter).await?;
            audit::record(&mut tx, &event.on(fresh.id)).await?;
            tx.commit().await?;
            return Ok(());
        }
        let known = account::find_for_update(&mut tx, email.as_str())
            .await?
            .ok_or_else(|| ApiError::internal("an address was taken and free in one transaction"))?;
        audit::record(&mut tx, &event.on(known.id).refused("address known")).await?;
        if known.is_verified() || !known.is_active {
            // A decoy: the statements that the other two cases run.
            self.tickets.issue_mailed(&mut tx, Purpose::VerifyEmail, None).await?;
            let letter = Letter::AccountExists {
                sign_in: self.frontend.page("/login"),
                reset: self.frontend.page("/forgot-password"),
            };
            let delivery = if known.is_active { Delivery::Send } else { Delivery::Void };
            self.post.enqueue(&mut tx, known.recipient(), &letter, delivery).await?;
        } else {
            account::clear_password(&mut tx, known.id).await?;
            let letter = |link| Letter::SetPassword { link, valid_for: Purpose::SetPassword.lifetime() };
            self.mail_link(&mut tx, email, Some(&known), Purpose::SetPassword, letter).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}
