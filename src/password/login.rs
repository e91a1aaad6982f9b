//! Signing in with a password. Unknown address, wrong password and no password are one answer at one cost; what else
//! is wrong with an account is told only to somebody who knew the password.

use super::{Passwords, Refusal, field::CurrentPassword, hashing::Check};
use crate::{
    account::{self, Email},
    audit::{Act, Event},
    session::{Opened, SignedInBy, Visitor},
    store::retrying,
};

/// What somebody signs in with.
#[derive(Debug)]
pub struct Credentials {
    pub email: Email,
    pub password: CurrentPassword,
}

impl Passwords {
    /// Checks credentials and opens a session.
    ///
    /// # Errors
    /// Wrong credentials; an unconfirmed or disabled account once the password was right; a busy or absent part.
    pub async fn login(&self, credentials: &Credentials, visitor: &Visitor) -> Result<Opened, Refusal> {
        let password = credentials.password.as_str();
        let account = account::find_by_email(&self.db, credentials.email.as_str()).await?;
        let stored = account.as_ref().and_then(|account| account.password_hash.as_deref());
        let check = self.hashing.check(password, stored).await?;
        let (Some(account), Check::Right { outdated }) = (&account, check) else {
            // Written for a known and an unknown address alike; the latter leaves its fingerprint only.
            let event =
                self.sign_in_event(visitor).naming(account.map(|account| account.id), credentials.email.as_str());
            return self.refuse(Refusal::WrongCredentials, &event.refused("wrong credentials")).await;
        };
        if !account.is_active {
            let event = self.sign_in_event(visitor).on(account.id);
            return self.refuse(Refusal::Disabled, &event.refused("account disabled")).await;
        }
        if !account.is_verified() {
            let event = self.sign_in_event(visitor).on(account.id);
            return self.refuse(Refusal::Unconfirmed, &event.refused("address unconfirmed")).await;
        }
        let renewed = if outdated { Some(self.hashing.hash(password).await?) } else { None };
        retrying(async || {
            let mut tx = self.db.begin().await?;
            // The password may have been changed or the account disabled while the hash ran.
            if account::still_holds(&mut tx, account.id, stored).await? {
                if let Some(hash) = &renewed {
                    account::set_password(&mut tx, account.id, hash).await?;
                }
                let opened = self.sessions.open(&mut tx, account, SignedInBy::Password, visitor).await?;
                tx.commit().await?;
                Ok(opened)
            } else {
                Err(Refusal::WrongCredentials)
            }
        })
        .await
    }

    fn sign_in_event<'a>(&self, visitor: &'a Visitor) -> Event<'a> {
        Event::by(Act::SignIn, &visitor.client, self.clock.now())
    }
}
