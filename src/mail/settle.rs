//! What becomes of one mail: claimed, tried, then delivered, put off or given up. Logs name the mail and the mailbox's
//! fingerprint, never the mailbox, the link or the message.

use std::{io::Write, sync::PoisonError, time::Duration};

use super::{
    courier::Courier,
    failure::Failure,
    parcel::Parcel,
    report::MailState,
    store::{self, Held},
};
use crate::{
    secret::fingerprint,
    store::{Fault, retrying},
};

/// What a lease holds beyond the longest delivery: time to settle, and for clocks of other processes to differ.
const LEASE_MARGIN: Duration = Duration::from_mins(1);

/// The wait after the first failure; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// How long a mail is tried.
const PERSISTENCE: Duration = Duration::from_hours(24);

impl Courier {
    /// Takes a mail that is due, under a lease, and says whether there may be more. Claims as many as there are lanes with
    /// none in hand; one that waited for a lane would use up its lease.
    pub(super) async fn claim(&self) -> Result<Option<(Held, bool)>, Fault> {
        let mut claimed = self.claimed.lock().await;
        let fresh = claimed.mails.is_empty();
        if fresh {
            let now = self.clock.now();
            let until = now + self.patience.mail + LEASE_MARGIN;
            let lanes = self.idle.available_permits().max(1);
            let mut mails = retrying(|| store::claim(&self.db, now, until, lanes)).await?;
            let leases = mails.iter().map(|mail| (mail.id, mail.leased_until));
            self.in_hand.lock().unwrap_or_else(PoisonError::into_inner).extend(leases);
            claimed.more = mails.len() == lanes;
            mails.sort_by_key(|mail| mail.created_at);
            claimed.mails = mails.into();
        }
        let mail = claimed.mails.pop_front();
        // Whoever takes what another lane claimed may have been woken for a mail that came after that.
        let more = !fresh || claimed.more || !claimed.mails.is_empty();
        Ok(mail.map(|mail| (mail, more)))
    }

    /// Gives back every lease still held.
    pub(super) async fn let_go(&self) {
        self.claimed.lock().await.mails.clear();
        let held = std::mem::take(&mut *self.in_hand.lock().unwrap_or_else(PoisonError::into_inner));
        for (id, lease) in held {
            if let Err(fault) = store::release(&self.db, id, lease).await {
                tracing::warn!(cause = fault.for_log(), "mail {id} stays leased until its lease ends");
            }
        }
    }

    /// Tries one mail and settles it; whether it left the house.
    pub(super) async fn handle(&self, mail: Held) -> Result<bool, Fault> {
        if mail.state == "void" {
            self.put_down(&mail);
            retrying(|| store::remove(&self.db, mail.id, mail.leased_until)).await?;
            return Ok(false);
        }
        let Some(parcel) = self.open_parcel(&mail) else {
            self.bury(&mail, "it cannot be opened with the present keys").await?;
            return Ok(false);
        };
        let attempt = tokio::time::timeout(self.patience.mail, self.transport.deliver(&mail, &parcel)).await;
        let outcome = attempt.unwrap_or_else(|_| Err(Failure::postponed("delivery", "took too long in all")));
        // From here on the mail is settled; a lease given back now could only send it twice.
        self.put_down(&mail);
        match outcome {
            Ok(()) => {
                self.note(MailState::Healthy);
                tracing::info!(kind = mail.kind, mailbox = fingerprint(&mail.recipient), "mail {} delivered", mail.id);
                if self.announce_links {
                    announce(&parcel);
                }
                retrying(|| store::remove(&self.db, mail.id, mail.leased_until)).await?;
                Ok(true)
            }
            Err(Failure::Refused(reason)) => {
                self.note(MailState::Healthy);
                self.bury(&mail, &reason).await?;
                Ok(false)
            }
            Err(Failure::Postponed(reason)) => {
                self.note(MailState::Failing);
                self.postpone(&mail, &reason).await?;
                Ok(false)
            }
        }
    }

    fn open_parcel(&self, mail: &Held) -> Option<Parcel> {
        serde_json::from_slice(&self.seal.open(&mail.sealed)?).ok()
    }

    fn put_down(&self, mail: &Held) {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner).remove(&mail.id);
    }

    fn note(&self, state: MailState) {
        if self.outlook.note(state) {
            tracing::warn!(state = state.as_str(), "mail delivery is now {}", state.as_str());
        }
    }

    async fn postpone(&self, mail: &Held, reason: &str) -> Result<(), Fault> {
        let next = self.clock.now() + wait_after(mail.attempts);
        if next > mail.created_at + PERSISTENCE {
            return self.bury(mail, reason).await;
        }
        tracing::info!(
            kind = mail.kind,
            mailbox = fingerprint(&mail.recipient),
            attempts = mail.attempts + 1,
            cause = reason,
            "mail {} put off",
            mail.id,
        );
        retrying(|| store::postpone(&self.db, mail, next, reason)).await.map(|_| ())
    }

    async fn bury(&self, mail: &Held, reason: &str) -> Result<(), Fault> {
        self.put_down(mail);
        tracing::warn!(
            kind = mail.kind,
            mailbox = fingerprint(&mail.recipient),
            attempts = mail.attempts + 1,
            cause = reason,
            "mail {} given up",
            mail.id,
        );
        retrying(|| store::bury(&self.db, mail, reason)).await.map(|_| ())
    }
}

/// The wait after a failure that `failures` others came before.
fn wait_after(failures: i64) -> Duration {
    let doublings = u32::try_from(failures).unwrap_or(u32::MAX).min(16);
    FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT)
}

/// Prints a mail for whoever runs `dev`. A closed standard output is no reason to fail a delivery.
fn announce(parcel: &Parcel) {
    let link = parcel.link.as_deref().map(|link| format!("{link}\n")).unwrap_or_default();
    let _closed =
        std::io::stdout().lock().write_all(format!("mail to {}: {}\n{link}", parcel.to, parcel.subject).as_bytes());
}
