//! The letterbox that rooms hold: a letter goes in with the transaction that causes it. It sends nothing itself.

use std::{fmt, sync::Arc};

use tokio::sync::Notify;

pub use super::store::Queued;
use super::{
    compose::Composer,
    letter::{Delivery, Letter, Recipient},
    store::{self, Posted},
};
use crate::{
    clock::Clock,
    secret::{Entropy, Seal},
    store::{Database, Fault, Tx},
};

/// Takes letters into the outbox.
#[derive(Clone)]
pub struct Post {
    pub(super) composer: Arc<Composer>,
    pub(super) seal: Seal,
    pub(super) clock: Clock,
    pub(super) entropy: Entropy,
    pub(super) bell: Arc<Notify>,
}

impl Post {
    /// Composes the letter now and stores it, sealed, in the caller's transaction.
    ///
    /// # Errors
    /// [`Fault::Defect`] when the recipient is no address or a link is broken; otherwise what the database says.
    pub async fn enqueue(
        &self,
        tx: &mut Tx,
        to: Recipient<'_>,
        letter: &Letter,
        delivery: Delivery,
    ) -> Result<(), Fault> {
        let parcel = self.composer.compose(&to, letter)?;
        let text = serde_json::to_vec(&parcel).map_err(|error| Fault::defect(format!("a mail to seal: {error}")))?;
        let sealed = self.seal.seal(&self.entropy, &text);
        let posted = Posted { recipient: to.email, kind: letter.kind(), sealed: &sealed, delivery };
        store::insert(tx, self.entropy.uuid(), &posted, self.clock.now()).await
    }

    /// Removes what waits for a mailbox, dead mails too: its account is gone. A mail that is being delivered right now
    /// may still arrive.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn forget(&self, tx: &mut Tx, email: &str) -> Result<(), Fault> {
        store::forget(tx, email).await
    }

    /// What waits for a mailbox, without what it says.
    ///
    /// # Errors
    /// A fault of the database.
    pub async fn queued_for(&self, db: &Database, email: &str) -> Result<Vec<Queued>, Fault> {
        store::queued_for(db, email).await
    }

    /// Tells the courier to look at once. To be called after the commit; a forgotten call costs seconds, not the mail.
    pub fn wake(&self) {
        self.bell.notify_one();
    }
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Post")
    }
}
