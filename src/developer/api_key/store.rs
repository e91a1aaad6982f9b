//! The statements of the table `api_keys`.

use uuid::Uuid;

use super::ApiKey;
use crate::{
    secret::Hashed,
    store::{Database, Fault, FromRow, Json, Timestamp, Tx, query},
};

/// What a new key starts with.
#[derive(Debug)]
pub struct NewKey<'a> {
    pub id: Uuid,
    pub user_id: Uuid,
    pub workspace_id: Uuid,
    pub name: &'a str,
    pub scopes: &'a [String],
    pub now: Timestamp,
    pub expires_at: Option<Timestamp>,
}

/// A key as an operator sees it.
#[derive(Clone, Debug, FromRow)]
pub struct Listed {
    pub id: Uuid,
    pub prefix: String,
    pub name: String,
    pub email: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A live key, and whether its owner's account is active.
#[derive(FromRow)]
pub(super) struct Found {
    #[sqlx(flatten)]
    pub key: ApiKey,
    pub owner_is_active: bool,
}

/// Holds the owner's row, so that parallel changes of one person's keys count one after the other.
pub(super) async fn hold_owner(tx: &mut Tx, user: Uuid) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE users SET email = email WHERE id = $1", user).map(|_| ())
}

pub(super) async fn insert(tx: &mut Tx, hash: &Hashed, prefix: &str, new: &NewKey<'_>) -> Result<ApiKey, Fault> {
    query!(
        in tx,
        one<ApiKey>,
        "INSERT INTO api_keys (id, hash, prefix, name, user_id, workspace_id, scopes, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         RETURNING *",
        new.id,
        hash.as_bytes(),
        prefix,
        new.name,
        new.user_id,
        new.workspace_id,
        Json(new.scopes),
        new.now,
        new.expires_at
    )
}

pub(super) async fn count_live(tx: &mut Tx, user: Uuid, now: Timestamp) -> Result<i64, Fault> {
    query!(
        in tx,
        one<(i64,)>,
        "SELECT count(*) FROM api_keys
         WHERE user_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
        user,
        now
    )
    .map(|(count,)| count)
}

/// The keys of a person that have not been revoked, the newest first.
pub(super) async fn list(db: &Database, user: Uuid) -> Result<Vec<ApiKey>, Fault> {
    query!(
        read db,
        all<ApiKey>,
        "SELECT * FROM api_keys WHERE user_id = $1 AND revoked_at IS NULL ORDER BY created_at DESC, id",
        user
    )
}

/// Every key of a person, dead ones included.
pub(super) async fn everything_of(db: &Database, user: Uuid) -> Result<Vec<ApiKey>, Fault> {
    query!(read db, all<ApiKey>, "SELECT * FROM api_keys WHERE user_id = $1 ORDER BY created_at, id", user)
}

/// A person's live key, its row held until the transaction ends.
pub(super) async fn find_for_update(
    tx: &mut Tx,
    user: Uuid,
    id: Uuid,
    now: Timestamp,
) -> Result<Option<ApiKey>, Fault> {
    query!(
        in tx,
        optional<ApiKey>,
        "UPDATE api_keys SET name = name
         WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)
         RETURNING *",
        id,
        user,
        now
    )
}

pub(super) async fn update(tx: &mut Tx, key: &ApiKey) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "UPDATE api_keys SET name = $2, scopes = $3, expires_at = $4, replaced_by = $5 WHERE id = $1",
        key.id,
        key.name.as_str(),
        &key.scopes,
        key.expires_at,
        key.replaced_by
    )
    .map(|_| ())
}

/// Revokes a person's key; `false` when there is none to revoke.
pub(super) async fn revoke(tx: &mut Tx, user: Uuid, id: Uuid, now: Timestamp) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE api_keys SET revoked_at = $3 WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL",
        id,
        user,
        now
    )
    .map(|rows| rows == 1)
}

/// The live key with this digest, while its owner is still a member of its workspace: one query on the unique index.
pub(super) async fn find_live(db: &Database, hash: &Hashed, now: Timestamp) -> Result<Option<Found>, Fault> {
    query!(
        read db,
        optional<Found>,
        "SELECT k.*, u.is_active AS owner_is_active
         FROM api_keys k
         JOIN users u ON u.id = k.user_id
         JOIN workspace_members m ON m.workspace_id = k.workspace_id AND m.user_id = k.user_id
         WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2)",
        hash.as_bytes(),
        now
    )
}

/// Notes a use, unless one was noted since `before`.
pub(super) async fn touch(db: &Database, id: Uuid, now: Timestamp, before: Timestamp) -> Result<(), Fault> {
    query!(
        write db,
        execute,
        "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)",
        id,
        now,
        before
    )
    .map(|_| ())
}

/// Every key, or those of one address, the newest first.
pub async fn list_all(db: &Database, email: Option<&str>) -> Result<Vec<Listed>, Fault> {
    query!(
        read db,
        all<Listed>,
        "SELECT k.id, k.prefix, k.name, u.email, k.created_at, k.expires_at, k.last_used_at, k.revoked_at
         FROM api_keys k JOIN users u ON u.id = k.user_id
         WHERE u.email = coalesce($1, u.email)
         ORDER BY k.created_at DESC, k.id",
        email
    )
}

/// Revokes anybody's key and says whose it was; `None` when there is none to revoke.
pub(super) async fn revoke_any(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<Option<Uuid>, Fault> {
    query!(
        in tx,
        optional<(Uuid,)>,
        "UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING user_id",
        id,
        now
    )
    .map(|found| found.map(|(owner,)| owner))
}

/// Removes keys that were revoked or expired before this moment.
pub async fn sweep(db: &Database, before: Timestamp) -> Result<u64, Fault> {
    query!(write db, execute, "DELETE FROM api_keys WHERE revoked_at <= $1 OR expires_at <= $1", before)
}
