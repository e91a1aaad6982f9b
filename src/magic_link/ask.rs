//! Asking for a link. The answer is the same for every address, its random handle included, and so is the work.

use super::{MagicLinks, Particulars, Refusal};
use crate::{
    account::{self, Email, Locale},
    audit::{self, Act, Event},
    error::ApiError,
    limit::{Admission, extract::Mailbox},
    mail::{Delivery, Letter, Recipient, Request},
    secret::Plain,
    session::Visitor,
    store::{Tx, retrying},
    ticket::{Holder, Purpose},
};

/// Who wants a link, and where the person wanted to go.
#[derive(Debug)]
pub struct Wish {
    pub email: Email,
    pub redirect_to: Option<String>,
}

impl MagicLinks {
    /// Mails a link and a code to an active account, or to a newcomer where those are welcome. The handle that belongs
    /// to the code is for whoever asked.
    ///
    /// # Errors
    /// An absent part.
    pub async fn ask<S>(&self, _: &Admission<Mailbox<S>>, wish: &Wish, visitor: &Visitor) -> Result<Plain, Refusal> {
        let particulars = Particulars { redirect_to: wish.redirect_to.clone() };
        let particulars = serde_json::to_string(&particulars).map_err(ApiError::internal)?;
        let handle = retrying(async || {
            let mut tx = self.db.begin().await?;
            let handle = self.mail(&mut tx, &wish.email, &particulars, visitor).await?;
            tx.commit().await?;
            Ok::<_, Refusal>(handle)
        })
        .await?;
        self.post.wake();
        Ok(handle)
    }

    async fn mail(&self, tx: &mut Tx, email: &Email, particulars: &str, visitor: &Visitor) -> Result<Plain, Refusal> {
        let account = account::find_for_update(tx, email.as_str()).await?;
        let holder = match &account {
            Some(account) if account.is_active => Holder::Account(account.id),
            None if self.signup_open => Holder::Newcomer,
            _ => Holder::Nobody,
        };
        let issued = self.tickets.issue_to_mailbox(tx, Purpose::MagicLink, email.as_str(), holder, particulars).await?;
        let (handle, code) = self.tickets.add_code(tx, &issued.secret).await?;
        let letter = Letter::MagicLink {
            link: self.frontend.link("/magic-link", &issued.secret),
            code: code.shown(),
            request: Request { address: visitor.client.address().to_string(), device: visitor.in_words() },
        };
        let recipient = match &account {
            Some(account) => account.recipient(),
            None => Recipient { email: email.as_str(), name: None, language: Locale::default().language() },
        };
        let delivery = if issued.live { Delivery::Send } else { Delivery::Void };
        self.post.enqueue(tx, recipient, &letter, delivery).await?;
        let event = Event::by(Act::LinkAsked, &visitor.client, self.clock.now());
        audit::record(tx, &event.naming(account.as_ref().map(|it| it.id), email.as_str())).await?;
        Ok(handle)
    }
}
