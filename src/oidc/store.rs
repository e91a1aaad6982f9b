//! The statements of the table `oidc_identities`.

use uuid::Uuid;

use crate::store::{Fault, Timestamp, Tx, query};

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
