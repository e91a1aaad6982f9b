//! Changing a password by the one that is known. Every other session ends, and what was mailed to set or move anything
//! no longer works; this session stays.

use super::{Passwords, Refusal, field::CurrentPassword, field::NewPassword, hashing::Check};
use crate::{
    account,
    audit::{self, Act, Event},
    limit::ClientIp,
    mail::{Delivery, Letter},
    session::Proven,
    store::retrying,
    ticket::{self, Purpose},
};

/// What mailed tickets a change of password ends. Links to sign in stay: they prove the mailbox, which is the same.
const ENDED: [Purpose; 3] = [Purpose::PasswordReset, Purpose::SetPassword, Purpose::ConfirmEmail];

impl Passwords {
    /// Replaces the caller's password.
    ///
    /// # Errors
    /// No password or a wrong one, a weak new one, a busy or absent part.
    pub async fn change(
        &self,
        caller: &Proven,
        current: &CurrentPassword,
        new: &NewPassword,
        client: &ClientIp,
    ) -> Result<(), Refusal> {
        let stored = caller.account.password_hash.as_deref().ok_or(Refusal::NoPassword)?;
        if self.hashing.check(current.as_str(), Some(stored)).await? == Check::Wrong {
            let event = self.change_event(caller, client).refused("wrong password");
            return self.refuse(Refusal::WrongPassword, &event).await;
        }
        let hash = self.acceptable(new, &caller.account).await?;
        retrying(async || {
            let mut tx = self.db.begin().await?;
            // Of parallel changes the first wins: for the others the password they proved is no longer the current one.
            if !account::still_holds(&mut tx, caller.account.id, Some(stored)).await? {
                return Err(Refusal::WrongPassword);
            }
            account::set_password(&mut tx, caller.account.id, &hash).await?;
            let account = account::find_in(&mut tx, caller.account.id).await?.ok_or(Refusal::WrongPassword)?;
            self.sessions.revoke_others(&mut tx, caller.account.id, caller.session_id).await?;
            for purpose in ENDED {
                ticket::delete_others(&mut tx, caller.account.id, purpose).await?;
            }
            self.post.enqueue(&mut tx, account.recipient(), &Letter::PasswordChanged, Delivery::Send).await?;
            audit::record(&mut tx, &self.change_event(caller, client)).await?;
            tx.commit().await?;
            Ok(())
        })
        .await?;
        self.post.wake();
        Ok(())
    }

    fn change_event<'a>(&self, caller: &Proven, client: &'a ClientIp) -> Event<'a> {
        Event::by(Act::PasswordChange, client, self.clock.now()).on(caller.account.id).within(caller.session_id)
    }

    /// Writes down that something was refused, and refuses it.
    pub(super) async fn refuse<T>(&self, refusal: Refusal, event: &Event<'_>) -> Result<T, Refusal> {
        let mut tx = self.db.begin().await?;
        audit::record(&mut tx, event).await?;
        tx.commit().await?;
        Err(refusal)
    }
}
