//! The statements of the table `tickets`.

use serde::Serialize;
use uuid::Uuid;

use super::{Purpose, take_turn};
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

/// A ticket as it is written.
#[derive(Debug)]
pub(super) struct New<'a> {
    pub purpose: &'a str,
    pub user: Option<Uuid>,
    pub mailbox: Option<&'a str>,
    pub particulars: Option<&'a str>,
    pub now: Timestamp,
    pub expires: Timestamp,
}

/// A ticket that was just claimed, with all it carries.
#[derive(Clone, Debug, FromRow)]
pub struct Claimed {
    pub purpose: String,
    pub user_id: Option<Uuid>,
    pub mailbox: Option<String>,
    pub particulars: Option<String>,
}

/// What a try at a code found.
#[derive(FromRow)]
pub(super) struct Tried {
    pub ticket: Vec<u8>,
    pub code: Vec<u8>,
}

pub(super) async fn insert_whole(tx: &mut Tx, hash: &Hashed, new: &New<'_>) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO tickets (hash, purpose, user_id, mailbox, particulars, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        hash.as_bytes(),
        new.purpose,
        new.user,
        new.mailbox,
        new.particulars,
        new.now,
        new.expires
    )
    .map(|_| ())
}

pub(super) async fn insert_code(tx: &mut Tx, handle: &Hashed, ticket: &Hashed, code: &Hashed) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO ticket_codes (handle, ticket, code) VALUES ($1, $2, $3)",
        handle.as_bytes(),
        ticket.as_bytes(),
        code.as_bytes()
    )
    .map(|_| ())
}

/// Counts a try and returns what it is compared with; nothing once `tries` were counted.
pub(super) async fn count_try(db: &Database, handle: &Hashed, tries: i64) -> Result<Option<Tried>, Fault> {
    query!(
        write db,
        optional<Tried>,
        "UPDATE ticket_codes SET attempts = attempts + 1 WHERE handle = $1 AND attempts < $2 RETURNING ticket, code",
        handle.as_bytes(),
        tries
    )
}

/// Counts the live tickets of one purpose that were mailed to an address without an account, holding the mailbox's turn
/// so that parallel requests count one after the other.
pub(super) async fn count_mailed_to_locked(
    tx: &mut Tx,
    mailbox: &str,
    purpose: Purpose,
    now: Timestamp,
) -> Result<i64, Fault> {
    take_turn(tx, mailbox).await?;
    query!(
        in tx,
        one<(i64,)>,
        "SELECT count(*) FROM tickets WHERE mailbox = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3",
        mailbox,
        purpose.name(),
        now
    )
    .map(|(count,)| count)
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

/// Claims a ticket: of any number of parallel attempts exactly one gets the row. The person's row is taken first, as by
/// everybody who ends all tickets of a person: two links of one person cannot wait for each other.
pub async fn claim(tx: &mut Tx, hash: &Hashed, purpose: Purpose, now: Timestamp) -> Result<Option<Live>, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE users SET email = email WHERE id = (SELECT user_id FROM tickets WHERE hash = $1)",
        hash.as_bytes()
    )?;
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

/// Claims a ticket with all it carries.
pub async fn claim_whole(
    tx: &mut Tx,
    hash: &Hashed,
    purpose: Purpose,
    now: Timestamp,
) -> Result<Option<Claimed>, Fault> {
    query!(
        in tx,
        optional<Claimed>,
        "UPDATE tickets SET used_at = $3
         WHERE hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
         RETURNING purpose, user_id, mailbox, particulars",
        hash.as_bytes(),
        purpose.name(),
        now
    )
}

/// For whom a ticket was written, without claiming it.
pub async fn find_holder(tx: &mut Tx, hash: &Hashed) -> Result<Option<(Option<Uuid>, Option<String>)>, Fault> {
    query!(
        in tx,
        optional<(Option<Uuid>, Option<String>)>,
        "SELECT user_id, mailbox FROM tickets WHERE hash = $1 AND used_at IS NULL",
        hash.as_bytes()
    )
}

/// Claims a ticket of any purpose that signs somebody in.
pub async fn claim_sign_in(tx: &mut Tx, hash: &Hashed, now: Timestamp) -> Result<Option<Claimed>, Fault> {
    let [first, second, third] = Purpose::SIGN_IN;
    query!(
        in tx,
        optional<Claimed>,
        "UPDATE tickets SET used_at = $5
         WHERE hash = $1 AND purpose IN ($2, $3, $4) AND used_at IS NULL AND expires_at > $5
         RETURNING purpose, user_id, mailbox, particulars",
        hash.as_bytes(),
        first.name(),
        second.name(),
        third.name(),
        now
    )
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

/// Removes the unused tickets of one purpose that were mailed to an address without an account.
pub async fn delete_mailed_to(tx: &mut Tx, mailbox: &str, purpose: Purpose) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "DELETE FROM tickets WHERE mailbox = $1 AND purpose = $2 AND used_at IS NULL",
        mailbox,
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
