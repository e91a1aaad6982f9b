//! Asking for another address. The answer, the work and the notice to the present mailbox are the same whether the new
//! address is free or taken; only the new mailbox can tell.

use super::{Addresses, Refusal, store};
use crate::{
    account::{self, CurrentPassword, Email, Locale},
    audit::{self, Act, Event},
    limit::{Admission, ClientIp, extract::Mailbox},
    mail::{Delivery, Letter, Recipient},
    session::Proven,
    store::retrying,
    ticket::{self, Purpose},
};

/// What a signed-in person asks for.
#[derive(Debug)]
pub struct Wanted {
    pub new_email: Email,
    pub current_password: Option<CurrentPassword>,
}

impl Addresses {
    /// Mails a confirmation to the new address and a notice to the present one. An earlier unconfirmed wish is dropped:
    /// it may lie in a stranger's mailbox, by a slip of the keyboard.
    ///
    /// # Errors
    /// A missing or wrong password, the address that the account has already, an absent part.
    pub async fn ask<S>(
        &self,
        _: &Admission<Mailbox<S>>,
        caller: &Proven,
        wanted: &Wanted,
        client: &ClientIp,
    ) -> Result<(), Refusal> {
        let new = wanted.new_email.as_str();
        let event = Event::by(Act::EmailChangeAsked, client, self.clock.now());
        let event = event.on(caller.account.id).within(caller.session_id);
        if let Some(stored) = &caller.account.password_hash {
            let given = wanted.current_password.as_ref().ok_or(Refusal::PasswordMissing)?;
            if !self.proof.fits(given, stored).await? {
                return self.refuse(Refusal::WrongPassword, &event.refused("wrong password")).await;
            }
        }
        if new == caller.account.email {
            return Err(Refusal::Unchanged);
        }
        retrying(|| self.write_wish(caller, new, &event)).await?;
        self.post.wake();
        Ok(())
    }

    async fn write_wish(&self, caller: &Proven, new: &str, event: &Event<'_>) -> Result<(), Refusal> {
        let mut tx = self.db.begin().await?;
        let account = account::lock(&mut tx, caller.account.id).await?.ok_or(Refusal::Gone)?;
        if account.password_hash != caller.account.password_hash {
            // The password that was proved is no longer the current one.
            return Err(Refusal::WrongPassword);
        }
        ticket::delete_others(&mut tx, account.id, Purpose::ConfirmEmail).await?;
        let undo = self.link(&mut tx, Purpose::UndoEmail, Some(account.id), &account.email).await?;
        // No confirmation without a way back: while five ways back are live, nothing more is mailed.
        let free = undo.live && !store::is_taken(&mut tx, new).await?;
        let confirm = self.link(&mut tx, Purpose::ConfirmEmail, free.then_some(account.id), new).await?;
        let language = Locale::from_stored(&account.locale).language();
        // Without the name: the mailbox may be a stranger's.
        let to_new = Recipient { email: new, name: None, language };
        let letter = Letter::ConfirmEmail { link: confirm.link };
        self.post.enqueue(&mut tx, to_new, &letter, delivery(confirm.live)).await?;
        let notice = Letter::EmailChangeAsked { new: new.to_owned(), link: undo.link };
        self.post.enqueue(&mut tx, account.recipient(), &notice, delivery(undo.live)).await?;
        audit::record(&mut tx, event).await?;
        tx.commit().await?;
        Ok(())
    }
}

const fn delivery(live: bool) -> Delivery {
    if live { Delivery::Send } else { Delivery::Void }
}
