//! Signing in with a password. Unknown address, wrong password and no password are one answer at one cost; what else
//! is wrong with an account is told only to somebody who knew the password.

use uuid::Uuid;

use super::{Passwords, Refusal, field::CurrentPassword, hashing::Check};
use crate::{
    account::{self, Account, Email},
    audit::{Act, Event},
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

/// How often a login is tried whose account changed while the hash ran: parallel first logins renew one imported hash.
const ATTEMPTS: u32 = 3;

impl Passwords {
    /// Checks credentials and opens a session.
    ///
    /// # Errors
    /// Wrong credentials; an unconfirmed or disabled account once the password was right; a busy or absent part.
    pub async fn login(&self, credentials: &Credentials, visitor: &Visitor) -> Result<Opened, Refusal> {
        for _ in 0..ATTEMPTS {
            if let Some(opened) = self.try_login(credentials, visitor).await? {
                return Ok(opened);
            }
        }
        Err(Refusal::WrongCredentials)
    }

    /// `None` when the password was changed or the account disabled while the hash ran.
    async fn try_login(&self, credentials: &Credentials, visitor: &Visitor) -> Result<Option<Opened>, Refusal> {
        let password = credentials.password.as_str();
        let (account, neighbour) = self.find_with_neighbour(&credentials.email).await?;
        let stored = account.as_ref().and_then(|account| account.password_hash.as_deref());
        let hashing = self.hashing.on_behalf_of(&visitor.client);
        let check = hashing.check_beside(&credentials.password, stored, neighbour.as_deref()).await?;
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
        let renewed = if outdated { Some(hashing.hash(password).await?) } else { None };
        // All sign-ins of one account wait for its row. Waiting there, twenty of them would hold every connection, and
        // everybody else would be told that the database is absent; so they wait here and hold one.
        let _turn = self.sign_ins.of(account.id).await?;
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let noted = account::touch_login_with(&mut tx, account.id, stored, self.clock.now()).await?;
            let Some(noted) = noted else { return Ok(None) };
            if let Some(hash) = &renewed {
                account::set_password(&mut tx, account.id, hash).await?;
            }
            let opened = self.sessions.open_noted(&mut tx, account, noted, SignedInBy::Password, visitor).await?;
            tx.commit().await?;
            Ok(Some(opened))
        })
        .await
    }

    /// The account, and the hash of one that this address leads to by chance, always the same: what an unknown address
    /// costs. Imported hashes cost more or less than ours, and a decoy of one fixed cost would tell them apart.
    async fn find_with_neighbour(&self, email: &Email) -> Result<(Option<Account>, Option<String>), Fault> {
        let tag = secret::tag(&self.neighbour_key, &[email.as_str().as_bytes()]);
        let (place, _) = tag.split_at(size_of::<Uuid>());
        account::find_beside(&self.db, email.as_str(), Uuid::from_slice(place).unwrap_or_default()).await
    }

    fn sign_in_event<'a>(&self, visitor: &'a Visitor) -> Event<'a> {
        Event::by(Act::SignIn, &visitor.client, self.clock.now())
    }
}
