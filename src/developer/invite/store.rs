//! The statements of the table `developer_invites`.

use uuid::Uuid;

use crate::{
    secret::Hashed,
    store::{Database, Fault, FromRow, Timestamp, Tx, query},
};

/// An invitation as an operator sees it.
#[derive(Clone, Debug, FromRow)]
pub struct Invite {
    pub id: Uuid,
    pub prefix: String,
    pub note: Option<String>,
    pub max_uses: i64,
    pub uses: i64,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct NewInvite<'a> {
    pub id: Uuid,
    pub prefix: &'a str,
    pub note: Option<&'a str>,
    pub max_uses: i64,
    pub now: Timestamp,
    pub expires_at: Timestamp,
}

pub(super) async fn insert(tx: &mut Tx, hash: &Hashed, new: &NewInvite<'_>) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO developer_invites (id, hash, prefix, note, max_uses, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        new.id,
        hash.as_bytes(),
        new.prefix,
        new.note,
        new.max_uses,
        new.now,
        new.expires_at
    )
    .map(|_| ())
}

/// Whether sign-up is by invitation because of any of them.
pub async fn any_unexpired(db: &Database, now: Timestamp) -> Result<bool, Fault> {
    query!(read db, optional<(Uuid,)>, "SELECT id FROM developer_invites WHERE expires_at > $1 LIMIT 1", now)
        .map(|found| found.is_some())
}

/// The invitation of a code that may still be used.
pub async fn find_usable(db: &Database, hash: &Hashed, now: Timestamp) -> Result<Option<Uuid>, Fault> {
    query!(
        read db,
        optional<(Uuid,)>,
        "SELECT id FROM developer_invites
         WHERE hash = $1 AND expires_at > $2 AND revoked_at IS NULL AND uses < max_uses",
        hash.as_bytes(),
        now
    )
    .map(|found| found.map(|(id,)| id))
}

/// Counts a use, unless the invitation has been used up or revoked. One that expired meanwhile still counts: it was
/// valid when its holder signed up.
pub async fn count_use(tx: &mut Tx, id: Uuid) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE developer_invites SET uses = uses + 1 WHERE id = $1 AND revoked_at IS NULL AND uses < max_uses",
        id
    )
    .map(|rows| rows == 1)
}

/// Every invitation, the newest first.
pub async fn list(db: &Database) -> Result<Vec<Invite>, Fault> {
    query!(
        read db,
        all<Invite>,
        "SELECT id, prefix, note, max_uses, uses, created_at, expires_at, revoked_at FROM developer_invites
         ORDER BY created_at DESC, id"
    )
}

/// Takes an invitation back; `false` when there is none to take back.
pub(super) async fn revoke(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE developer_invites SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
        id,
        now
    )
    .map(|rows| rows == 1)
}
