//! The statements of the table `oidc_identities`.

use serde::Serialize;
use uuid::Uuid;

use crate::store::{Database, Fault, FromRow, Timestamp, Tx, query};

/// A link as its owner may see it.
#[derive(Debug, FromRow, Serialize)]
pub(super) struct Identity {
    issuer: String,
    subject: String,
    created_at: Timestamp,
}

/// Every link of a person.
pub(super) async fn all_of(db: &Database, user: Uuid) -> Result<Vec<Identity>, Fault> {
    query!(
        read db,
        all<Identity>,
        "SELECT issuer, subject, created_at FROM oidc_identities WHERE user_id = $1 ORDER BY created_at",
        user
    )
}

/// The account that is linked to a person of the provider.
pub(super) async fn find_linked(tx: &mut Tx, issuer: &str, subject: &str) -> Result<Option<(Uuid,)>, Fault> {
    query!(
        in tx,
        optional<(Uuid,)>,
        "SELECT user_id FROM oidc_identities WHERE issuer = $1 AND subject = $2",
        issuer,
        subject
    )
}

/// Links a person of the provider to an account; a link that stands already stays.
pub(super) async fn link(tx: &mut Tx, issuer: &str, subject: &str, user: Uuid, now: Timestamp) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO oidc_identities (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (issuer, subject) DO NOTHING",
        issuer,
        subject,
        user,
        now
    )
    .map(|_| ())
}
