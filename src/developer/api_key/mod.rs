//! API keys: what stands in for a developer where a program calls. Only the SHA-256 and a short prefix rest in the
//! database. An owner manages them with a session; a sibling service asks whether one is alive.

pub mod export;
pub mod format;
pub mod introspect;
pub mod manage;
pub mod routes;
mod store;

use std::time::Duration;

use uuid::Uuid;

pub use self::{
    export::Everything,
    format::Key,
    store::{Listed, NewKey, list_all, sweep},
};
use crate::{
    audit::{self, Act, Event, Origin},
    clock::Clock,
    secret::Entropy,
    store::{Database, Fault, FromRow, Json, Timestamp, Tx, retrying},
};

/// Keys that one person may hold at once.
pub const LIVE_LIMIT: i64 = 20;

/// How fine "last used" is: a busy key costs one write in this time.
pub const USE_NOTED_EVERY: Duration = Duration::from_mins(1);

/// What the use cases of keys need.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    pub db: Database,
    pub clock: Clock,
    pub entropy: Entropy,
}

/// A key as it rests in the database.
#[derive(Clone, Debug, FromRow)]
pub struct ApiKey {
    pub id: Uuid,
    pub prefix: String,
    pub name: String,
    pub user_id: Uuid,
    pub workspace_id: Uuid,
    pub scopes: Json<Vec<String>>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub replaced_by: Option<Uuid>,
}

/// Writes a new key, in the transaction that gives its owner the right to one.
///
/// # Errors
/// A fault of the database.
pub async fn insert(tx: &mut Tx, key: &Key, new: &NewKey<'_>) -> Result<ApiKey, Fault> {
    store::insert(tx, &key.hash(), key.prefix(), new).await
}

/// Revokes anybody's key, as an operator does; `false` when there is none to revoke.
///
/// # Errors
/// A fault of the database.
pub async fn revoke_any(db: &Database, id: Uuid, now: Timestamp) -> Result<bool, Fault> {
    retrying(async || {
        let mut tx = db.begin().await?;
        let Some(owner) = store::revoke_any(&mut tx, id, now).await? else { return Ok(false) };
        let key = id.to_string();
        let event = Event::from(Act::ApiKeyRevoked, Origin::CommandLine, now).on(owner).detail(&key);
        audit::record(&mut tx, &event).await?;
        tx.commit().await?;
        Ok(true)
    })
    .await
}
