//! The statements of the table `leave_codes`.

use uuid::Uuid;

use crate::{
    secret::Hashed,
    store::{Fault, FromRow, Timestamp, Tx, query},
};

/// A code that may still be tried.
#[derive(Debug, FromRow)]
pub(super) struct Waiting {
    pub hash: Vec<u8>,
}

/// Stores a code in place of an earlier one.
pub(super) async fn put_code(tx: &mut Tx, user: Uuid, code: &Hashed, expires: Timestamp) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO leave_codes (user_id, hash, wrong, expires_at) VALUES ($1, $2, 0, $3)
         ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, wrong = 0, expires_at = excluded.expires_at",
        user,
        code.as_bytes(),
        expires
    )
    .map(|_| ())
}

/// The live code of a person, counted as tried wrongly once more; a right try deletes the row with its account.
pub(super) async fn try_code(tx: &mut Tx, user: Uuid, now: Timestamp, tries: i64) -> Result<Option<Waiting>, Fault> {
    query!(
        in tx,
        optional<Waiting>,
        "UPDATE leave_codes SET wrong = wrong + 1
         WHERE user_id = $1 AND expires_at > $2 AND wrong < $3
         RETURNING hash",
        user,
        now,
        tries
    )
}
