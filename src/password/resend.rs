//! Mailing the confirmation link once more. The answer is the same for every address, and so is the work.

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
    /// Mails a confirmation link to an active account that still needs one.
    ///
    /// # Errors
    /// An absent part.
    pub async fn resend_verification<S>(
        &self,
        _: &Admission<Mailbox<S>>,
        email: &Email,
        client: &ClientIp,
    ) -> Result<(), Refusal> {
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let account = account::find_for_update(&mut tx, email.as_str()).await?;
            let waiting = account.as_ref().filter(|account| account.is_active && !account.is_verified());
            let letter = |link| Letter::VerifyEmail { link };
            self.mail_link(&mut tx, email, waiting, Purpose::VerifyEmail, letter).await?;
            let event = Event::by(Act::VerificationResent, client, self.clock.now());
            audit::record(&mut tx, &event.naming(account.as_ref().map(|it| it.id), email.as_str())).await?;
            tx.commit().await?;
            Ok::<_, Refusal>(())
        })
        .await?;
        self.post.wake();
        Ok(())
    }
}
