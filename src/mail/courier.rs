//! The courier: takes due mails from the outbox, a few at a time, and settles each: delivered, put off, or given up.
//! It delivers at least once; after a crash between delivery and settling, a mail may come twice, with one Message-ID.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    report::{MailReport, Outlook},
    settings::{MailSettings, Patience},
    store::{self, Held},
    transport::Transport,
};
use crate::{
    clock::{Clock, Timestamp},
    secret::Seal,
    store::{Database, Fault, PING_DEADLINE},
};

/// Mails in delivery at once.
const LANES: usize = 4;

/// How long a mail that was given up is kept for the operator.
const DEAD_KEPT: Duration = Duration::from_hours(30 * 24);

/// How often the outbox is looked at when nobody rings.
const ROUND_EVERY: Duration = Duration::from_secs(5);

/// Delivers mails.
pub struct Courier {
    pub(super) db: Database,
    pub(super) seal: Seal,
    pub(super) clock: Clock,
    pub(super) transport: Transport,
    pub(super) patience: Patience,
    pub(super) announce_links: bool,
    bell: Arc<Notify>,
    pub(super) outlook: Outlook,
    /// What was claimed and waits for its lanes. One claim at a time: two at once would count on the same idle lanes.
    pub(super) claimed: tokio::sync::Mutex<Claimed>,
    /// A permit for each lane that has no mail in hand.
    pub(super) idle: Semaphore,
    /// Leases held at this moment.
    pub(super) in_hand: Mutex<HashMap<Uuid, Timestamp>>,
}

/// Mails that were claimed together, for as many lanes as had none in hand.
#[derive(Default)]
pub(super) struct Claimed {
    pub(super) mails: VecDeque<Held>,
    /// Whether the outbox may have more that are due.
    pub(super) more: bool,
}

impl Courier {
    pub(super) fn new(
        settings: &MailSettings,
        transport: Transport,
        db: Database,
        seal: Seal,
        clock: Clock,
        bell: Arc<Notify>,
    ) -> Self {
        Self {
            db,
            seal,
            clock,
            transport,
            patience: settings.patience,
            announce_links: settings.announce_links,
            bell,
            outlook: Outlook::new(settings.transport.name()),
            claimed: tokio::sync::Mutex::default(),
            idle: Semaphore::new(LANES),
            in_hand: Mutex::default(),
        }
    }

    /// One round: tries every due mail once, a few at a time, and says how many were delivered.
    ///
    /// # Errors
    /// What the database said. Mails in hand are finished first.
    pub async fn deliver_due(&self) -> Result<usize, Fault> {
        let lanes = join_all((0..LANES).map(|_| self.lane())).await;
        lanes.into_iter().try_fold(0, |sum, delivered| delivered.map(|delivered| sum + delivered))
    }

    /// Delivers until `cancel`: at each ring of the bell and every few seconds. Each lane waits for its own mail alone,
    /// so one that hangs holds up no other. At the end every lane makes a last round, bounded, so that a mail whose
    /// request was just answered still leaves; what could not be finished is given back.
    pub async fn run(&self, cancel: CancellationToken) {
        let overdue = async {
            cancel.cancelled().await;
            tokio::time::sleep(self.patience.parting).await;
        };
        tokio::select! {
            _ = join_all((0..LANES).map(|_| self.lane_until(&cancel))) => {}
            () = overdue => {}
        }
        self.let_go().await;
    }

    async fn lane_until(&self, cancel: &CancellationToken) {
        loop {
            // Asked before the round: a round that began earlier may have missed the last mails.
            let last = cancel.is_cancelled();
            if let Err(fault) = self.lane().await {
                tracing::warn!(cause = fault.for_log(), "the outbox could not be read or written");
            }
            if last {
                break;
            }
            tokio::select! {
                () = cancel.cancelled() => {}
                () = self.bell.notified() => {}
                () = tokio::time::sleep(ROUND_EVERY) => {}
            }
        }
    }

    /// One mail after the other until the outbox had no more when it was asked. Lanes are polled side by side and never
    /// wait for each other while they hold a connection of the database.
    async fn lane(&self) -> Result<usize, Fault> {
        let mut delivered = 0;
        let outcome = loop {
            let (mail, more) = match self.claim().await {
                Ok(Some(claimed)) => claimed,
                Ok(None) => break Ok(delivered),
                Err(fault) => break Err(fault),
            };
            let _in_hand = self.idle.try_acquire();
            if more {
                // For another lane.
                self.bell.notify_one();
            }
            match self.handle(mail).await {
                Ok(left) => delivered += usize::from(left),
                Err(fault) => break Err(fault),
            }
            // What came meanwhile rang the bell.
            if !more {
                break Ok(delivered);
            }
        };
        self.transport.rest().await;
        outcome
    }

    /// What the health route shows. When the database does not answer in time, the figures are the last known ones.
    pub async fn report(&self) -> MailReport {
        if let Ok(Ok(figures)) = tokio::time::timeout(PING_DEADLINE, store::figures(&self.db)).await {
            let now = self.clock.now();
            let oldest = figures.oldest.map_or(0, |oldest| now.since(oldest).as_secs());
            self.outlook.count(figures.queued.unsigned_abs(), figures.dead.unsigned_abs(), oldest);
        }
        self.outlook.report()
    }

    /// Removes given-up mails that have been kept long enough; says how many.
    ///
    /// # Errors
    /// What the database said.
    pub async fn sweep(&self) -> Result<u64, Fault> {
        store::sweep(&self.db, self.clock.now() - DEAD_KEPT).await
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Courier")
    }
}
