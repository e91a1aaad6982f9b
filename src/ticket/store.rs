//! The statements of the table `tickets`.

use serde::Serialize;
use uuid::Uuid;

use super::Purpose;
use crate::{
    secret::Hashed,
    store::{Database, Fault, FromRow, Timestamp, Tx, query},
};

/// A ticket that has not been used.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct Live {
    pub user_id: Uuid,
}

pub(super) async fn insert(
    tx: &mut Tx,
    hash: &Hashed,
    purpose: &str,
    user: Option<Uuid>,
    now: Timestamp,
    expires: Timestamp,
) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO tickets (hash, purpose, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
        hash.as_bytes(),
        purpose,
        user,
        now,
        expires
    )
    .map(|_| ())
}

/// Counts a person's live tickets of one purpose, holding the person's row so that parallel requests count one after the other.
pub(super) async fn count_live_locked(tx: &mut Tx, user: Uuid, purpose: Purpose, now: Timestamp) -> Result<i64, Fault> {
    query!(in tx, execute, "UPDATE users SET email = email WHERE id = $1", user)?;
    query!(
        in tx,
        one<(i64,)>,
        "SELECT count(*) FROM tickets WHERE user_id = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3",
        user,
        purpose.name(),
        now
    )
    .map(|(count,)| count)
}

/// Claims a ticket: of any number of parallel attempts exactly one gets the row.
pub async fn claim(tx: &mut Tx, hash: &Hashed, purpose: Purpose, now: Timestamp) -> Result<Option<Live>, Fault> {
    query!(
        in tx,
        optional<Live>,
        "UPDATE tickets SET used_at = $3
         WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
         RETURNING user_id",
        hash.as_bytes(),
        purpose.name(),
        now
    )
}

/// Claims a ticket that belongs to no account. Whether this attempt was the one that got it.
pub async fn claim_unowned(tx: &mut Tx, hash: &Hashed, purpose: Purpose, now: Timestamp) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE tickets SET used_at = $3
         WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3",
        hash.as_bytes(),
        purpose.name(),
        now
    )
    .map(|rows| rows == 1)
}

/// Looks at a live ticket without claiming it, for checks that must not consume it.
pub async fn find_live(db: &Database, hash: &Hashed, purpose: Purpose, now: Timestamp) -> Result<Option<Live>, Fault> {
    query!(
        read db,
        optional<Live>,
        "SELECT user_id FROM tickets WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3",
        hash.as_bytes(),
        purpose.name(),
        now
    )
}

/// Looks at a ticket that was used within its lifetime.
pub async fn find_used(tx: &mut Tx, hash: &Hashed, purpose: Purpose, now: Timestamp) -> Result<Option<Live>, Fault> {
    query!(
        in tx,
        optional<Live>,
        "SELECT user_id FROM tickets WHERE hash = $1 AND purpose = $2 AND used_at IS NOT NULL AND expires_at > $3",
        hash.as_bytes(),
        purpose.name(),
        now
    )
}

/// Removes a person's unused tickets of one purpose.
pub async fn delete_others(tx: &mut Tx, user: Uuid, purpose: Purpose) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "DELETE FROM tickets WHERE user_id = $1 AND purpose = $2 AND used_at IS NULL",
        user,
        purpose.name()
    )
    .map(|_| ())
}

/// Removes a person's unused tickets of every purpose but one: a link that undoes a change of address lies in the mailbox
/// that the account had before. Whoever took the account over by that change could otherwise make it worthless.
pub async fn delete_all(tx: &mut Tx, user: Uuid) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "DELETE FROM tickets WHERE user_id = $1 AND used_at IS NULL AND purpose <> $2",
        user,
        Purpose::UndoEmail.name()
    )
    .map(|_| ())
}

/// Removes a person's unused tickets, every one.
pub async fn delete_every(tx: &mut Tx, user: Uuid) -> Result<(), Fault> {
    query!(in tx, execute, "DELETE FROM tickets WHERE user_id = $1 AND used_at IS NULL", user).map(|_| ())
}

/// A ticket as its owner may see it: not what redeems it.
#[derive(Clone, Debug, Serialize, FromRow)]
pub struct Pending {
    pub purpose: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

/// Every ticket of a person that still rests here.
pub async fn pending_of(db: &Database, user: Uuid) -> Result<Vec<Pending>, Fault> {
    query!(
        read db,
        all<Pending>,
        "SELECT purpose, created_at, expires_at, used_at FROM tickets WHERE user_id = $1 ORDER BY created_at, purpose",
        user
    )
}

/// Removes what has expired.
pub async fn sweep(db: &Database, now: Timestamp) -> Result<u64, Fault> {
    query!(write db, execute, "DELETE FROM tickets WHERE expires_at <= $1", now)
}
