//! Asking for a reset link. The answer is the same for every address, and so is the work.

use super::{Passwords, Refusal};
use crate::{
    account::{self, Email},
    audit::{self, Act, Event},
    limit::{Admission, ClientIp, extract::Mailbox},
    mail::Letter,
    store::retrying,
    ticket::Purpose,
};

impl Passwords {
    /// Mails a link to an active account: to reset its password, or to set the first one.
    ///
    /// # Errors
    /// An absent part.
    pub async fn forgot<S>(&self, _: &Admission<Mailbox<S>>, email: &Email, client: &ClientIp) -> Result<(), Refusal> {
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let account = account::find_for_update(&mut tx, email.as_str()).await?;
            let active = account.as_ref().filter(|account| account.is_active);
            let first = active.is_some_and(|account| account.password_hash.is_none());
            let purpose = if first { Purpose::SetPassword } else { Purpose::PasswordReset };
            let letter = |link| {
                if first {
                    Letter::SetPassword { link, valid_for: Purpose::SetPassword.lifetime() }
                } else {
                    Letter::ResetPassword { link }
                }
            };
            self.mail_link(&mut tx, email, active, purpose, letter).await?;
            let event = Event::by(Act::PasswordForgotten, client, self.clock.now());
            audit::record(&mut tx, &event.naming(account.as_ref().map(|it| it.id), email.as_str())).await?;
            tx.commit().await?;
            Ok::<_, Refusal>(())
        })
        .await?;
        self.post.wake();
        Ok(())
    }
}
