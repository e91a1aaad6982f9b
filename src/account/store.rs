//! The statements of the tables `users`, `workspaces` and `workspace_members`.

use uuid::Uuid;

use super::{Account, Workspace};
use crate::store::{Database, Fault, Timestamp, Tx, query};

/// What a new account starts with.
#[derive(Debug)]
pub struct NewAccount<'a> {
    pub id: Uuid,
    pub email: &'a str,
    pub full_name: Option<&'a str>,
    pub locale: &'a str,
    pub password_hash: Option<&'a str>,
    pub workspace_name: Option<&'a str>,
    pub now: Timestamp,
}

/// The account with this id.
pub async fn find(db: &Database, id: Uuid) -> Result<Option<Account>, Fault> {
    query!(read db, optional<Account>, "SELECT * FROM users WHERE id = $1", id)
}

/// The account with this id, inside a transaction.
pub async fn find_in(tx: &mut Tx, id: Uuid) -> Result<Option<Account>, Fault> {
    query!(in tx, optional<Account>, "SELECT * FROM users WHERE id = $1", id)
}

/// The account with this canonical address.
pub async fn find_by_email(db: &Database, email: &str) -> Result<Option<Account>, Fault> {
    query!(read db, optional<Account>, "SELECT * FROM users WHERE email = $1", email)
}

/// The account with this canonical address, its row held until the transaction ends.
pub async fn find_for_update(tx: &mut Tx, email: &str) -> Result<Option<Account>, Fault> {
    query!(in tx, optional<Account>, "UPDATE users SET email = email WHERE email = $1 RETURNING *", email)
}

/// The account with this canonical address, and the password hash of the first account at or after this id: one question,
/// whether there is such an account or not.
pub async fn find_beside(db: &Database, email: &str, id: Uuid) -> Result<(Option<Account>, Option<String>), Fault> {
    let rows = query!(
        read db,
        all<Account>,
        "SELECT * FROM (SELECT * FROM users WHERE id >= $2 ORDER BY id LIMIT 1) AS neighbour
         UNION ALL SELECT * FROM users WHERE email = $1",
        email,
        id
    )?;
    let neighbour = rows.iter().filter(|account| account.id >= id).min_by_key(|account| account.id);
    let hash = neighbour.and_then(|account| account.password_hash.clone());
    let account = rows.into_iter().find(|account| account.email == email);
    Ok((account, hash))
}

/// The account with this id, its row held until the transaction ends.
pub async fn lock(tx: &mut Tx, id: Uuid) -> Result<Option<Account>, Fault> {
    query!(in tx, optional<Account>, "UPDATE users SET email = email WHERE id = $1 RETURNING *", id)
}

/// Gives an account another proved address; `None` when the account is gone or somebody has the address.
pub async fn change_email(tx: &mut Tx, id: Uuid, email: &str, now: Timestamp) -> Result<Option<Account>, Fault> {
    query!(
        in tx,
        optional<Account>,
        "UPDATE users SET email = $2, email_verified_at = $3
         WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM users o WHERE o.email = $2 AND o.id <> $1)
         RETURNING *",
        id,
        email,
        now
    )
}

/// Removes the account with this address when nobody ever proved the mailbox and nothing hangs on it: whoever typed the
/// address first does not keep it from its owner.
pub async fn remove_unproved(tx: &mut Tx, email: &str) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "DELETE FROM users
         WHERE email = $1 AND email_verified_at IS NULL AND last_login_at IS NULL AND is_active AND role = 'user'
           AND NOT EXISTS (SELECT 1 FROM workspace_members m WHERE m.user_id = users.id)",
        email
    )
    .map(|rows| rows == 1)
}

/// Removes an account with its sessions, tickets and memberships. Workspaces that nobody else belongs to go too; where
/// others stay behind without an owner, the longest-standing admin, else member, becomes one.
pub async fn delete(tx: &mut Tx, id: Uuid) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "UPDATE workspace_members SET role = 'owner'
         WHERE EXISTS (SELECT 1 FROM workspace_members me
                       WHERE me.workspace_id = workspace_members.workspace_id AND me.user_id = $1 AND me.role = 'owner')
           AND user_id = (SELECT o.user_id FROM workspace_members o
                          WHERE o.workspace_id = workspace_members.workspace_id AND o.user_id <> $1
                          ORDER BY CASE o.role WHEN 'owner' THEN 0 WHEN 'admin' THEN 1 ELSE 2 END,
                                   o.created_at, o.user_id
                          LIMIT 1)",
        id
    )?;
    query!(
        in tx,
        execute,
        "DELETE FROM workspaces
         WHERE id IN (SELECT workspace_id FROM workspace_members WHERE user_id = $1)
           AND NOT EXISTS (SELECT 1 FROM workspace_members o WHERE o.workspace_id = workspaces.id AND o.user_id <> $1)",
        id
    )?;
    query!(in tx, execute, "DELETE FROM users WHERE id = $1", id).map(|_| ())
}

/// The active admin that was created first.
pub async fn find_first_admin(db: &Database) -> Result<Option<Account>, Fault> {
    query!(
        read db,
        optional<Account>,
        "SELECT * FROM users WHERE role = 'admin' AND is_active ORDER BY created_at, id LIMIT 1"
    )
}

/// Inserts an unverified account; `None` when the address is taken.
pub async fn insert_unverified(tx: &mut Tx, new: &NewAccount<'_>) -> Result<Option<Account>, Fault> {
    query!(
        in tx,
        optional<Account>,
        "INSERT INTO users (id, email, full_name, locale, password_hash, pending_workspace_name, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (email) DO NOTHING
         RETURNING *",
        new.id,
        new.email,
        new.full_name,
        new.locale,
        new.password_hash,
        new.workspace_name,
        new.now
    )
}

/// Marks the mailbox as proved and returns the account; an earlier proof keeps its time.
pub async fn mark_verified(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<Option<Account>, Fault> {
    query!(
        in tx,
        optional<Account>,
        "UPDATE users SET email_verified_at = coalesce(email_verified_at, $2) WHERE id = $1 RETURNING *",
        id,
        now
    )
}

/// Whether the account is active and its password hash is still this one; its row is held until the transaction ends.
pub async fn still_holds(tx: &mut Tx, id: Uuid, hash: Option<&str>) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE users SET email = email WHERE id = $1 AND password_hash = $2 AND is_active",
        id,
        hash
    )
    .map(|rows| rows == 1)
}

/// Stores a password hash.
pub async fn set_password(tx: &mut Tx, id: Uuid, hash: &str) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE users SET password_hash = $2 WHERE id = $1", id, hash).map(|_| ())
}

/// Removes the password.
pub async fn clear_password(tx: &mut Tx, id: Uuid) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE users SET password_hash = NULL WHERE id = $1", id).map(|_| ())
}

/// Notes a sign-in and returns the account as it is now.
pub async fn touch_login(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<Option<Account>, Fault> {
    query!(in tx, optional<Account>, "UPDATE users SET last_login_at = $2 WHERE id = $1 RETURNING *", id, now)
}

/// The same by a password that was right for this hash; `None` when the account is no longer active, or no longer has it.
pub async fn touch_login_with(
    tx: &mut Tx,
    id: Uuid,
    hash: Option<&str>,
    now: Timestamp,
) -> Result<Option<Account>, Fault> {
    query!(
        in tx,
        optional<Account>,
        "UPDATE users SET last_login_at = $3 WHERE id = $1 AND password_hash = $2 AND is_active RETURNING *",
        id,
        hash,
        now
    )
}

/// Makes an account an admin.
pub async fn promote(tx: &mut Tx, id: Uuid) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE users SET role = 'admin' WHERE id = $1", id).map(|_| ())
}

/// Writes the whole profile.
pub async fn update_profile(tx: &mut Tx, account: &Account) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "UPDATE users SET full_name = $2, avatar_url = $3, locale = $4, default_workspace_id = $5 WHERE id = $1",
        account.id,
        account.full_name.as_deref(),
        account.avatar_url.as_deref(),
        account.locale.as_str(),
        account.default_workspace_id
    )
    .map(|_| ())
}

pub(super) async fn find_workspace(db: &Database, user: Uuid, id: Uuid) -> Result<Option<Workspace>, Fault> {
    query!(
        read db,
        optional<Workspace>,
        "SELECT w.id, w.name, w.slug, m.role, coalesce(u.default_workspace_id = w.id, FALSE) AS is_default, w.created_at
         FROM workspaces w
         JOIN workspace_members m ON m.workspace_id = w.id
         JOIN users u ON u.id = m.user_id
         WHERE m.user_id = $1 AND w.id = $2",
        user,
        id
    )
}

pub(super) async fn list_workspaces(db: &Database, user: Uuid) -> Result<Vec<Workspace>, Fault> {
    query!(
        read db,
        all<Workspace>,
        "SELECT w.id, w.name, w.slug, m.role, coalesce(u.default_workspace_id = w.id, FALSE) AS is_default, w.created_at
         FROM workspaces w
         JOIN workspace_members m ON m.workspace_id = w.id
         JOIN users u ON u.id = m.user_id
         WHERE m.user_id = $1
         ORDER BY CASE WHEN u.default_workspace_id = w.id THEN 0 ELSE 1 END, w.name, w.id",
        user
    )
}

pub(super) async fn insert_workspace(
    tx: &mut Tx,
    id: Uuid,
    name: &str,
    slug: &str,
    now: Timestamp,
) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO workspaces (id, name, slug, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (slug) DO NOTHING",
        id,
        name,
        slug,
        now
    )
    .map(|rows| rows == 1)
}

pub(super) async fn insert_member(
    tx: &mut Tx,
    workspace: Uuid,
    user: Uuid,
    role: &str,
    now: Timestamp,
) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO workspace_members (workspace_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)",
        workspace,
        user,
        role,
        now
    )
    .map(|_| ())
}

pub(super) async fn set_default_workspace(tx: &mut Tx, user: Uuid, workspace: Uuid) -> Result<(), Fault> {
    query!(in tx, execute, "UPDATE users SET default_workspace_id = $2 WHERE id = $1", user, workspace).map(|_| ())
}
