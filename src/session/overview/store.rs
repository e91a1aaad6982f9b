//! The statements of a person's own view of the table `sessions`.

use serde::Serialize;
use uuid::Uuid;

use crate::{
    session::store::Alive,
    store::{Database, Fault, FromRow, Timestamp, Tx, query},
};

/// A session as it rests, without what only the service needs.
#[derive(Clone, Debug, Serialize, FromRow)]
pub struct Kept {
    pub id: Uuid,
    pub signed_in_by: String,
    pub ip_address: String,
    pub user_agent: Option<String>,
    pub label: Option<String>,
    pub created_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

pub(super) async fn live(db: &Database, user: Uuid, current: Uuid, alive: Alive) -> Result<Vec<Kept>, Fault> {
    query!(
        read db,
        all<Kept>,
        "SELECT id, signed_in_by, ip_address, user_agent, label, created_at, last_seen_at, expires_at, revoked_at
         FROM sessions
         WHERE user_id = $1 AND revoked_at IS NULL AND expires_at > $3 AND created_at > $4
         ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END, last_seen_at DESC, id",
        user,
        current,
        alive.now,
        alive.opened_after
    )
}

/// Every session of a person that still rests here, ended ones too.
pub(super) async fn everything_of(db: &Database, user: Uuid) -> Result<Vec<Kept>, Fault> {
    query!(
        read db,
        all<Kept>,
        "SELECT id, signed_in_by, ip_address, user_agent, label, created_at, last_seen_at, expires_at, revoked_at
         FROM sessions WHERE user_id = $1 ORDER BY created_at, id",
        user
    )
}

pub(super) async fn end(tx: &mut Tx, user: Uuid, id: Uuid, alive: Alive) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE sessions SET revoked_at = $3
         WHERE id = $2 AND user_id = $1 AND revoked_at IS NULL AND expires_at > $3 AND created_at > $4",
        user,
        id,
        alive.now,
        alive.opened_after
    )
    .map(|rows| rows == 1)
}
