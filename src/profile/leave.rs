//! Leaving for good, by a fresh proof: the password, or a code from the mailbox. Everything about the person goes;
//! the security events stay, which name an id and no address.

use std::fmt;

use uuid::Uuid;

use super::{ProfileError, Profiles, store};
use crate::{
    account::{self, Account, CurrentPassword},
    audit::{self, Act, Event},
    limit::{Admission, ClientIp, extract::Mailbox},
    mail::{Delivery, Letter},
    secret::{Entropy, Plain, equal},
    session::Proven,
    store::retrying,
};

/// Wrong codes that end a code. With ten codes a minute (the mailbox's budget) a guesser has 50 tries at 10^8.
const TRIES: i64 = 5;

/// Digits of a code.
const DIGITS: usize = 8;

/// By what the person proves to be the one.
#[derive(Debug)]
pub enum LeaveProof {
    Password(CurrentPassword),
    Code(TypedCode),
}

/// A code as somebody typed it, blanks and hyphens aside.
pub struct TypedCode(Plain);

impl TypedCode {
    pub fn new(text: &str) -> Self {
        Self(Plain::presented(text.chars().filter(|sign| !matches!(sign, ' ' | '-')).collect()))
    }

    fn mint(entropy: &Entropy) -> Self {
        let number = u64::from_be_bytes(entropy.bytes()) % 10_u64.pow(8);
        Self(Plain::presented(format!("{number:0DIGITS$}")))
    }

    /// As a mail shows it: `1234 5678`.
    fn shown(&self) -> String {
        let (left, right) = self.0.reveal().split_at(DIGITS / 2);
        format!("{left} {right}")
    }

    /// What is stored: the hash over the person and the code, so that equal codes of two people differ.
    fn of(&self, person: Uuid) -> Plain {
        Plain::presented(format!("leave:{person}:{}", self.0.reveal()))
    }
}

impl fmt::Debug for TypedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TypedCode(…)")
    }
}

impl Profiles {
    /// Mails a code to the caller; an earlier one ends.
    ///
    /// # Errors
    /// An absent part.
    pub async fn ask_to_leave<S>(
        &self,
        _: &Admission<Mailbox<S>>,
        caller: &Proven,
        client: &ClientIp,
    ) -> Result<(), ProfileError> {
        let now = self.clock.now();
        let code = TypedCode::mint(&self.entropy);
        let letter = Letter::LeaveCode { code: code.shown() };
        let event = Event::by(Act::LeaveAsked, client, now).on(caller.account.id).within(caller.session_id);
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let account = account::lock(&mut tx, caller.account.id).await?.ok_or(ProfileError::Gone)?;
            let hash = code.of(account.id).hash();
            store::put_code(&mut tx, account.id, &hash, now + Letter::LEAVE_CODE_LIFETIME).await?;
            self.post.enqueue(&mut tx, account.recipient(), &letter, Delivery::Send).await?;
            audit::record(&mut tx, &event).await?;
            tx.commit().await?;
            Ok::<_, ProfileError>(())
        })
        .await?;
        self.post.wake();
        Ok(())
    }

    /// Deletes the caller's account.
    ///
    /// # Errors
    /// A wrong proof, or an absent part.
    pub async fn leave(&self, caller: &Proven, proof: &LeaveProof, client: &ClientIp) -> Result<(), ProfileError> {
        if let LeaveProof::Password(password) = proof {
            let stored = caller.account.password_hash.as_deref().ok_or(ProfileError::NoPassword)?;
            if !self.proof.fits(password, stored).await? {
                let mut tx = self.db.begin().await?;
                audit::record(&mut tx, &self.leave_event(caller, client).refused("wrong password")).await?;
                tx.commit().await?;
                return Err(ProfileError::WrongPassword);
            }
        }
        retrying(|| self.remove(caller, proof, client)).await?;
        self.post.wake();
        Ok(())
    }

    async fn remove(&self, caller: &Proven, proof: &LeaveProof, client: &ClientIp) -> Result<(), ProfileError> {
        let mut tx = self.db.begin().await?;
        let account = account::lock(&mut tx, caller.account.id).await?.ok_or(ProfileError::Gone)?;
        match proof {
            // The password that was proved must still be the current one.
            LeaveProof::Password(_) if account.password_hash != caller.account.password_hash => {
                return Err(ProfileError::WrongPassword);
            }
            LeaveProof::Password(_) => {}
            LeaveProof::Code(code) => {
                let tried = store::try_code(&mut tx, account.id, self.clock.now(), TRIES).await?;
                if !tried.is_some_and(|it| equal(&it.hash, code.of(account.id).hash().as_bytes())) {
                    audit::record(&mut tx, &self.leave_event(caller, client).refused("wrong code")).await?;
                    // The try counts, so this transaction is kept.
                    tx.commit().await?;
                    return Err(ProfileError::WrongCode);
                }
            }
        }
        self.erase(&mut tx, &account).await?;
        audit::record(&mut tx, &self.leave_event(caller, client)).await?;
        tx.commit().await?;
        Ok(())
    }

    async fn erase(&self, tx: &mut crate::store::Tx, account: &Account) -> Result<(), ProfileError> {
        self.post.forget(tx, &account.email).await?;
        account::delete(tx, account.id).await?;
        // The last word: if somebody else did this, the owner learns of it.
        self.post.enqueue(tx, account.recipient(), &Letter::AccountDeleted, Delivery::Send).await?;
        Ok(())
    }

    fn leave_event<'a>(&self, caller: &Proven, client: &'a ClientIp) -> Event<'a> {
        Event::by(Act::Leave, client, self.clock.now()).on(caller.account.id).within(caller.session_id)
    }
}
