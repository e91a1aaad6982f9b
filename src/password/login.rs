//! Signing in with a password. Unknown address, wrong password and no password are one answer at one cost; what else
//! is wrong with an account is told only to somebody who knew the password.

use uuid::Uuid;

use super::{Passwords, Refusal, field::CurrentPassword, hashing::Check};
use crate::{
    account::{self, Email},
    secret,
    session::{Opened, SignedInBy, Visitor},
    store::{Fault, retrying},
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
        let neighbour = self.neighbour_of(&credentials.email).await?;
        let check = self.hashing.check_beside(&credentials.password, stored, neighbour.as_deref()).await?;
        let (Some(account), Check::Right { outdated }) = (&account, check) else {
            return Err(Refusal::WrongCredentials);
        };
        if !account.is_active {
            return Err(Refusal::Disabled);
        }
        if !account.is_verified() {
            return Err(Refusal::Unconfirmed);
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

    /// The hash of an account that this address leads to by chance, always the same one: what an unknown address costs.
    /// Imported hashes cost more or less than ours, and a decoy of one fixed cost would tell them apart.
    async fn neighbour_of(&self, email: &Email) -> Result<Option<String>, Fault> {
        let tag = secret::tag(&self.neighbour_key, &[email.as_str().as_bytes()]);
        let (place, _) = tag.split_at(size_of::<Uuid>());
        account::find_hash_from(&self.db, Uuid::from_slice(place).unwrap_or_default()).await
    }
}
