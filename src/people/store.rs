//! The statements by which an operator reads and changes accounts.

use uuid::Uuid;

use super::bring::{Home, Row};
use crate::{
    account::Account,
    store::{Database, Fault, Tx, insert_many, query},
};

pub(super) async fn insert_people(tx: &mut Tx, rows: &[Row<'_>]) -> Result<Vec<Uuid>, Fault> {
    insert_many!(
        tx,
        (Uuid,),
        "INSERT INTO users
             (id, email, full_name, role, locale, is_active, email_verified_at, password_hash, pending_workspace_name,
              default_workspace_id, created_at)",
        rows,
        |row| [
            row.id,
            row.from.email.as_str(),
            row.from.full_name.as_ref().map(|name| name.0.as_str()),
            row.from.role.name(),
            row.from.locale.name(),
            row.from.is_active,
            row.verified_at,
            row.from.password_hash.as_deref(),
            row.from.workspace_name.as_ref().map(|name| name.0.as_str()),
            row.workspace,
            row.created_at,
        ],
        "ON CONFLICT (email) DO NOTHING RETURNING id"
    )
    .map(ids)
}

pub(super) async fn insert_homes(tx: &mut Tx, homes: &[Home]) -> Result<Vec<Uuid>, Fault> {
    insert_many!(
        tx,
        (Uuid,),
        "INSERT INTO workspaces (id, name, slug, created_at)",
        homes,
        |home| [home.id, home.name.as_str(), home.slug.as_str(), home.created_at],
        "ON CONFLICT (slug) DO NOTHING RETURNING id"
    )
    .map(ids)
}

pub(super) async fn insert_owners(tx: &mut Tx, homes: &[Home]) -> Result<(), Fault> {
    insert_many!(
        tx,
        (Uuid,),
        "INSERT INTO workspace_members (workspace_id, user_id, role, created_at)",
        homes,
        |home| [home.id, home.owner, "owner", home.created_at],
        "RETURNING workspace_id"
    )
    .map(|_| ())
}

fn ids(rows: Vec<(Uuid,)>) -> Vec<Uuid> {
    rows.into_iter().map(|(id,)| id).collect()
}

/// Accounts in the order of their addresses, after one of them. A filter that is `None` lets everybody through.
pub(super) async fn list(
    db: &Database,
    after: &str,
    role: Option<&str>,
    active: Option<bool>,
    verified: Option<bool>,
    limit: i64,
) -> Result<Vec<Account>, Fault> {
    query!(
        read db,
        all<Account>,
        "SELECT * FROM users
         WHERE email > $1
           AND role = coalesce($2, role)
           AND is_active = coalesce($3, is_active)
           AND (email_verified_at IS NOT NULL) = coalesce($4, email_verified_at IS NOT NULL)
         ORDER BY email LIMIT $5",
        after,
        role,
        active,
        verified,
        limit
    )
}

pub(super) async fn count_sessions(db: &Database, user: Uuid, now: crate::store::Timestamp) -> Result<i64, Fault> {
    query!(
        read db,
        one<(i64,)>,
        "SELECT count(*) FROM sessions WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $2",
        user,
        now
    )
    .map(|(count,)| count)
}

pub(super) async fn set_active(tx: &mut Tx, user: Uuid, active: bool) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE users SET is_active = $2 WHERE id = $1", user, active).map(|_| ())
}

pub(super) async fn set_role(tx: &mut Tx, user: Uuid, role: &str) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE users SET role = $2 WHERE id = $1", user, role).map(|_| ())
}
