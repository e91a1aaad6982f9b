//! A person's own passkeys: listed, named, removed. A foreign one is as unknown as none. The last one may go: the
//! mailbox always remains a way in.

use uuid::Uuid;

use super::{PasskeyView, Passkeys, Refusal, credential::PasskeyName, store};
use crate::{
    account::Account,
    audit::{self, Act, Event},
    limit::ClientIp,
    mail::{Delivery, Letter},
    session::Proven,
    store::retrying,
};

impl Passkeys {
    /// Every passkey of the caller, on every site, newest first.
    ///
    /// # Errors
    /// An absent part.
    pub async fn list(&self, account: &Account) -> Result<Vec<PasskeyView>, Refusal> {
        let rows = store::find_by_user(&self.db, account.id).await?;
        Ok(rows.into_iter().map(PasskeyView::from).collect())
    }

    /// Names one of the caller's passkeys.
    ///
    /// # Errors
    /// A passkey that is not the caller's, an absent part.
    pub async fn rename(&self, account: &Account, id: Uuid, name: &PasskeyName) -> Result<PasskeyView, Refusal> {
        let row = store::rename(&self.db, account.id, id, &name.0).await?;
        row.map(PasskeyView::from).ok_or(Refusal::NotFound)
    }

    /// Removes one of the caller's passkeys and tells its owner by mail.
    ///
    /// # Errors
    /// A passkey that is not the caller's, an absent part.
    pub async fn remove(&self, caller: &Proven, client: &ClientIp, id: Uuid) -> Result<(), Refusal> {
        let account = &caller.account;
        retrying(async || {
            let mut tx = self.db.begin().await?;
            let row = store::delete(&mut tx, account.id, id).await?.ok_or(Refusal::NotFound)?;
            let event = Event::by(Act::PasskeyRemoved, client, self.clock.now()).detail(&row.rp_id);
            audit::record(&mut tx, &event.on(account.id).within(caller.session_id)).await?;
            let letter = Letter::PasskeyRemoved { site: row.rp_id.clone() };
            self.post.enqueue(&mut tx, account.recipient(), &letter, Delivery::Send).await?;
            tx.commit().await?;
            Ok::<_, Refusal>(())
        })
        .await?;
        self.post.wake();
        Ok(())
    }
}
