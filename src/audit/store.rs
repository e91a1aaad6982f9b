//! The statements of the table `audit_events`. There are none that change or remove an entry.

use serde::Serialize;
use uuid::Uuid;

use super::Event;
use crate::store::{Database, Fault, FromRow, Timestamp, Tx, query};

/// An entry as it rests.
#[derive(Clone, Debug, Serialize, FromRow)]
pub struct Entry {
    pub id: i64,
    pub at: Timestamp,
    pub act: String,
    pub outcome: String,
    pub detail: Option<String>,
    pub user_id: Option<Uuid>,
    pub session_id: Option<Uuid>,
    pub network: String,
    pub mailbox: Option<String>,
}

/// Which entries to read.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Of this person.
    pub user: Option<Uuid>,
    /// Or of this address's fingerprint, while nobody had it.
    pub mailbox: Option<String>,
    /// Not older than this.
    pub since: Timestamp,
    /// After the entry with this id.
    pub after: i64,
    /// At most so many.
    pub limit: i64,
}

pub(super) async fn insert(tx: &mut Tx, event: &Event<'_>) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO audit_events (at, act, outcome, detail, user_id, session_id, network, mailbox)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        event.at,
        event.act.name(),
        if event.refused { "refused" } else { "ok" },
        event.detail,
        event.user,
        event.session,
        event.origin.network(),
        event.mailbox.as_deref()
    )
    .map(|_| ())
}

/// The entries that fit, oldest first. Without a person and an address: everybody's.
///
/// # Errors
/// A fault of the database.
pub async fn find(db: &Database, filter: &Filter) -> Result<Vec<Entry>, Fault> {
    let everybody = filter.user.is_none() && filter.mailbox.is_none();
    query!(
        read db,
        all<Entry>,
        "SELECT * FROM audit_events
         WHERE id > $1 AND at >= $2 AND ($3 OR user_id = $4 OR mailbox = $5)
         ORDER BY id LIMIT $6",
        filter.after,
        filter.since,
        everybody,
        filter.user,
        filter.mailbox.as_deref(),
        filter.limit
    )
}

/// Everything about one person, oldest first.
///
/// # Errors
/// A fault of the database.
pub async fn of_person(db: &Database, user: Uuid) -> Result<Vec<Entry>, Fault> {
    query!(read db, all<Entry>, "SELECT * FROM audit_events WHERE user_id = $1 ORDER BY id", user)
}
