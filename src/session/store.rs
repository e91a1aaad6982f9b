//! The statements of the tables `sessions` and `refresh_tokens`.

use uuid::Uuid;

use super::refresh::Grace;
use crate::{
    account::{Account, Workspace},
    secret::Hashed,
    store::{Database, Fault, FromRow, Timestamp, Tx, query},
};

#[derive(Debug)]
pub(super) struct NewSession<'a> {
    pub id: Uuid,
    pub user_id: Uuid,
    pub workspace_id: Option<Uuid>,
    pub signed_in_by: &'a str,
    pub ip_address: &'a str,
    pub user_agent: Option<&'a str>,
    pub label: Option<&'a str>,
    pub now: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Clone, Copy, Debug, FromRow)]
pub(super) struct SessionRow {
    pub id: Uuid,
    pub user_id: Uuid,
    pub workspace_id: Option<Uuid>,
}

pub(super) async fn insert(tx: &mut Tx, new: &NewSession<'_>) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO sessions
             (id, user_id, workspace_id, signed_in_by, ip_address, user_agent, label, created_at, last_seen_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)",
        new.id,
        new.user_id,
        new.workspace_id,
        new.signed_in_by,
        new.ip_address,
        new.user_agent,
        new.label,
        new.now,
        new.expires_at
    )
    .map(|_| ())
}

/// What a session must satisfy to be alive: not expired at `now`, and opened after the longest life reaches back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alive {
    pub now: Timestamp,
    pub opened_after: Timestamp,
}

/// The owner of a session, when the session was last seen, and the workspace it works in.
#[derive(Debug, FromRow)]
pub(super) struct Owner {
    #[sqlx(flatten)]
    pub account: Account,
    pub last_seen_at: Timestamp,
    #[sqlx(flatten)]
    work: Work,
}

/// Of a workspace, where there is one.
#[derive(Debug, FromRow)]
struct Work {
    #[sqlx(rename = "work_id")]
    id: Option<Uuid>,
    #[sqlx(rename = "work_name")]
    name: Option<String>,
    #[sqlx(rename = "work_slug")]
    slug: Option<String>,
    #[sqlx(rename = "work_role")]
    role: Option<String>,
    #[sqlx(rename = "work_created_at")]
    created_at: Option<Timestamp>,
}

impl Owner {
    /// The account, and the workspace that the session works in.
    pub(super) fn into_parts(self) -> (Account, Option<Workspace>) {
        let Self { account, work, .. } = self;
        let workspace = (|| {
            let id = work.id?;
            Some(Workspace {
                id,
                name: work.name?,
                slug: work.slug?,
                role: work.role?,
                is_default: account.default_workspace_id == Some(id),
                created_at: work.created_at?,
            })
        })();
        (account, workspace)
    }
}

/// The owner of a live session, with the workspace of the token, or else the owner's default, if the owner is a member.
pub(super) async fn find_owner(
    db: &Database,
    id: Uuid,
    user: Uuid,
    workspace: Option<Uuid>,
    alive: Alive,
) -> Result<Option<Owner>, Fault> {
    query!(
        read db,
        optional<Owner>,
        "SELECT u.*, s.last_seen_at, w.id AS work_id, w.name AS work_name, w.slug AS work_slug, m.role AS work_role,
                w.created_at AS work_created_at
         FROM sessions s
         JOIN users u ON u.id = s.user_id
         LEFT JOIN workspace_members m
                ON m.user_id = u.id AND m.workspace_id = coalesce($5, u.default_workspace_id)
         LEFT JOIN workspaces w ON w.id = m.workspace_id
         WHERE s.id = $1 AND s.user_id = $2 AND s.revoked_at IS NULL AND s.expires_at > $3 AND s.created_at > $4",
        id,
        user,
        alive.now,
        alive.opened_after,
        workspace
    )
}

/// Notes that a session was used, unless somebody else noted it after `before`.
pub(super) async fn touch(
    db: &Database,
    id: Uuid,
    now: Timestamp,
    before: Timestamp,
    expires: Timestamp,
) -> Result<(), Fault> {
    query!(
        write db,
        execute,
        "UPDATE sessions SET last_seen_at = $2, expires_at = $3
         WHERE id = $1 AND last_seen_at <= $4 AND revoked_at IS NULL",
        id,
        now,
        expires,
        before
    )
    .map(|_| ())
}

/// Extends the live session behind a refresh token, used or not, and holds its row.
pub(super) async fn extend_by_refresh(
    tx: &mut Tx,
    hash: &Hashed,
    alive: Alive,
    expires: Timestamp,
) -> Result<Option<SessionRow>, Fault> {
    query!(
        in tx,
        optional<SessionRow>,
        "UPDATE sessions SET last_seen_at = $2, expires_at = $3
         WHERE id = (SELECT session_id FROM refresh_tokens WHERE hash = $1 AND expires_at > $2)
           AND revoked_at IS NULL AND expires_at > $2 AND created_at > $4
         RETURNING id, user_id, workspace_id",
        hash.as_bytes(),
        alive.now,
        expires,
        alive.opened_after
    )
}

/// Marks a refresh token as used; `false` when it was already.
pub(super) async fn use_refresh(tx: &mut Tx, hash: &Hashed, now: Timestamp) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE refresh_tokens SET used_at = $2 WHERE hash = $1 AND used_at IS NULL",
        hash.as_bytes(),
        now
    )
    .map(|rows| rows == 1)
}

/// Whether a used token was used within the grace and none of its successors has been used.
pub(super) async fn is_in_grace(tx: &mut Tx, hash: &Hashed, grace: Grace) -> Result<bool, Fault> {
    query!(
        in tx,
        optional<(Uuid,)>,
        "SELECT session_id FROM refresh_tokens
         WHERE hash = $1 AND used_at >= $2 AND used_at <= $3
           AND NOT EXISTS (SELECT 1 FROM refresh_tokens s WHERE s.parent = $1 AND s.used_at IS NOT NULL)",
        hash.as_bytes(),
        grace.from,
        grace.to
    )
    .map(|row| row.is_some())
}

/// The live session behind a refresh token that is unused, or was used within the grace with no successor used.
pub(super) async fn find_by_refresh(
    db: &Database,
    hash: &Hashed,
    alive: Alive,
    grace: Grace,
) -> Result<Option<SessionRow>, Fault> {
    query!(
        read db,
        optional<SessionRow>,
        "SELECT s.id, s.user_id, s.workspace_id FROM refresh_tokens t JOIN sessions s ON s.id = t.session_id
         WHERE t.hash = $1 AND t.expires_at > $2 AND s.revoked_at IS NULL AND s.expires_at > $2 AND s.created_at > $4
           AND (t.used_at IS NULL
                OR (t.used_at >= $3 AND t.used_at <= $5
                    AND NOT EXISTS (SELECT 1 FROM refresh_tokens c WHERE c.parent = $1 AND c.used_at IS NOT NULL)))",
        hash.as_bytes(),
        alive.now,
        grace.from,
        alive.opened_after,
        grace.to
    )
}

/// When a live session ends if nobody uses it, and when it was opened.
pub(super) async fn find_ends(tx: &mut Tx, id: Uuid, alive: Alive) -> Result<Option<(Timestamp, Timestamp)>, Fault> {
    query!(
        in tx,
        optional<(Timestamp, Timestamp)>,
        "SELECT expires_at, created_at FROM sessions
         WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2 AND created_at > $3",
        id,
        alive.now,
        alive.opened_after
    )
}

pub(super) async fn insert_refresh(
    tx: &mut Tx,
    hash: &Hashed,
    session: Uuid,
    parent: Option<&Hashed>,
    now: Timestamp,
    expires: Timestamp,
) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO refresh_tokens (hash, session_id, parent, issued_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
        hash.as_bytes(),
        session,
        parent.map(Hashed::as_bytes),
        now,
        expires
    )
    .map(|_| ())
}

pub(super) async fn revoke(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE sessions SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1", id, now)
        .map(|_| ())
}

/// Ends every session of a person.
///
/// # Errors
/// A fault of the database.
pub async fn revoke_all(tx: &mut Tx, user: Uuid, now: Timestamp) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE sessions SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL", user, now)
        .map(|_| ())
}

/// Ends every live session of a person but one.
pub(super) async fn revoke_others(tx: &mut Tx, user: Uuid, kept: Uuid, alive: Alive) -> Result<u64, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE sessions SET revoked_at = $3
         WHERE user_id = $1 AND id <> $2 AND revoked_at IS NULL AND expires_at > $3 AND created_at > $4",
        user,
        kept,
        alive.now,
        alive.opened_after
    )
}

/// Removes sessions that ended before `before`, with their tokens.
///
/// # Errors
/// A fault of the database.
pub async fn sweep(db: &Database, before: Timestamp) -> Result<u64, Fault> {
    query!(write db, execute, "DELETE FROM refresh_tokens WHERE expires_at <= $1", before)?;
    query!(write db, execute, "DELETE FROM sessions WHERE expires_at <= $1 OR revoked_at <= $1", before)
}
