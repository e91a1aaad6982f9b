//! The outbox's statements. A mail in delivery is held by a lease; whoever finishes must still hold it, so that two
//! processes never settle the same mail twice.

use uuid::Uuid;

use super::letter::Delivery;
use crate::store::{Database, Fault, Timestamp, Tx, query};

/// A mail on its way in.
pub(super) struct Posted<'a> {
    pub(super) recipient: &'a str,
    pub(super) kind: &'static str,
    pub(super) sealed: &'a [u8],
    pub(super) delivery: Delivery,
}

/// A mail that this process holds, until `leased_until`.
#[derive(sqlx::FromRow)]
pub(super) struct Held {
    pub(super) id: Uuid,
    pub(super) recipient: String,
    pub(super) kind: String,
    pub(super) sealed: Vec<u8>,
    pub(super) state: String,
    pub(super) attempts: i64,
    pub(super) created_at: Timestamp,
    pub(super) leased_until: Timestamp,
}

/// How full the outbox is.
#[derive(sqlx::FromRow)]
pub(super) struct Figures {
    pub(super) queued: i64,
    pub(super) dead: i64,
    pub(super) oldest: Option<Timestamp>,
}

pub(super) async fn insert(tx: &mut Tx, id: Uuid, mail: &Posted<'_>, now: Timestamp) -> Result<(), Fault> {
    let state = match mail.delivery {
        Delivery::Send => "queued",
        Delivery::Void => "void",
    };
    query!(
        in tx,
        execute,
        "INSERT INTO mail_outbox (id, recipient, kind, sealed, state, created_at, next_attempt_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)",
        id,
        mail.recipient,
        mail.kind,
        mail.sealed,
        state,
        now,
    )
    .map(|_| ())
}

/// Takes the mails that have been due longest, so many at most, until `until`. In `PostgreSQL` two processes pass over
/// each other's rows, where they would otherwise wait for them and find nothing; `SQLite` has one writer.
pub(super) async fn claim(db: &Database, now: Timestamp, until: Timestamp, most: usize) -> Result<Vec<Held>, Fault> {
    let most = i64::try_from(most).unwrap_or(1);
    match db {
        Database::Postgres(pool) => query!(
            @run Postgres,
            pool,
            all<Held>,
            "UPDATE mail_outbox SET leased_until = $2
             WHERE id = ANY(ARRAY(
                 SELECT id FROM mail_outbox
                 WHERE state IN ('queued', 'void') AND next_attempt_at <= $1
                   AND (leased_until IS NULL OR leased_until <= $1)
                 ORDER BY next_attempt_at LIMIT $3 FOR UPDATE SKIP LOCKED
             ))
             RETURNING id, recipient, kind, sealed, state, attempts, created_at, leased_until",
            now,
            until,
            most,
        ),
        Database::Sqlite(pools) => query!(
            @run Sqlite,
            &pools.writer,
            all<Held>,
            "UPDATE mail_outbox SET leased_until = $2
             WHERE id IN (
                 SELECT id FROM mail_outbox
                 WHERE state IN ('queued', 'void') AND next_attempt_at <= $1
                   AND (leased_until IS NULL OR leased_until <= $1)
                 ORDER BY next_attempt_at LIMIT $3
             )
             RETURNING id, recipient, kind, sealed, state, attempts, created_at, leased_until",
            now,
            until,
            most,
        ),
    }
}

/// Forgets a mail that is done.
pub(super) async fn remove(db: &Database, id: Uuid, lease: Timestamp) -> Result<u64, Fault> {
    query!(write db, execute, "DELETE FROM mail_outbox WHERE id = $1 AND leased_until = $2", id, lease)
}

/// Puts a mail off until `next`.
pub(super) async fn postpone(db: &Database, mail: &Held, next: Timestamp, reason: &str) -> Result<u64, Fault> {
    query!(
        write db,
        execute,
        "UPDATE mail_outbox SET attempts = attempts + 1, last_error = $3, next_attempt_at = $4, leased_until = NULL
         WHERE id = $1 AND leased_until = $2",
        mail.id,
        mail.leased_until,
        reason,
        next,
    )
}

/// Gives a mail up and keeps it for the operator.
pub(super) async fn bury(db: &Database, mail: &Held, reason: &str) -> Result<u64, Fault> {
    query!(
        write db,
        execute,
        "UPDATE mail_outbox SET state = 'dead', attempts = attempts + 1, last_error = $3, leased_until = NULL
         WHERE id = $1 AND leased_until = $2",
        mail.id,
        mail.leased_until,
        reason,
    )
}

/// Gives a lease back unused.
pub(super) async fn release(db: &Database, id: Uuid, lease: Timestamp) -> Result<u64, Fault> {
    query!(
        write db,
        execute,
        "UPDATE mail_outbox SET leased_until = NULL WHERE id = $1 AND leased_until = $2",
        id,
        lease,
    )
}

/// Removes dead mails that were written before `before`.
pub(super) async fn sweep(db: &Database, before: Timestamp) -> Result<u64, Fault> {
    query!(write db, execute, "DELETE FROM mail_outbox WHERE state = 'dead' AND created_at < $1", before)
}

pub(super) async fn figures(db: &Database) -> Result<Figures, Fault> {
    query!(
        read db,
        one<Figures>,
        "SELECT COUNT(CASE WHEN state = 'queued' THEN 1 END) AS queued,
                COUNT(CASE WHEN state = 'dead' THEN 1 END) AS dead,
                MIN(CASE WHEN state = 'queued' THEN created_at END) AS oldest
         FROM mail_outbox",
    )
}

/// A mail that waits, as its recipient may see it.
#[derive(Clone, Debug, serde::Serialize, sqlx::FromRow)]
pub struct Queued {
    pub kind: String,
    pub created_at: Timestamp,
}

pub(super) async fn queued_for(db: &Database, email: &str) -> Result<Vec<Queued>, Fault> {
    query!(
        read db,
        all<Queued>,
        "SELECT kind, created_at FROM mail_outbox WHERE recipient = $1 AND state <> 'void' ORDER BY created_at",
        email,
    )
}

pub async fn forget(tx: &mut Tx, email: &str) -> Result<(), Fault> {
    query!(in tx, execute, "DELETE FROM mail_outbox WHERE recipient = $1", email).map(|_| ())
}
