//! The statements of the table `email_changes`: which address a ticket stands for.

use serde::Serialize;
use uuid::Uuid;

use crate::{
    secret::Hashed,
    store::{Database, Fault, FromRow, Timestamp, Tx, query},
};

/// A change of address that a person asked for, as the person may see it.
#[derive(Clone, Debug, Serialize, FromRow)]
pub(super) struct Wish {
    pub purpose: String,
    pub address: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub used_at: Option<Timestamp>,
}

pub(super) async fn note(tx: &mut Tx, ticket: &Hashed, address: &str) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO email_changes (ticket, address) VALUES ($1, $2)",
        ticket.as_bytes(),
        address
    )
    .map(|_| ())
}

pub(super) async fn address_of(tx: &mut Tx, ticket: &Hashed) -> Result<Option<String>, Fault> {
    query!(
        in tx,
        optional<(String,)>,
        "SELECT address FROM email_changes WHERE ticket = $1",
        ticket.as_bytes()
    )
    .map(|row| row.map(|(address,)| address))
}

/// Whether an account stands in the way of giving this address away: proved, used, or more than a typed address.
pub(super) async fn is_taken(tx: &mut Tx, email: &str) -> Result<bool, Fault> {
    query!(
        in tx,
        optional<(Uuid,)>,
        "SELECT id FROM users
         WHERE email = $1
           AND (email_verified_at IS NOT NULL OR last_login_at IS NOT NULL OR NOT is_active OR role <> 'user'
                OR EXISTS (SELECT 1 FROM workspace_members m WHERE m.user_id = users.id))",
        email
    )
    .map(|row| row.is_some())
}

/// Every change of address that a person's tickets speak of.
pub(super) async fn wishes_of(db: &Database, user: Uuid) -> Result<Vec<Wish>, Fault> {
    query!(
        read db,
        all<Wish>,
        "SELECT t.purpose, c.address, t.created_at, t.expires_at, t.used_at
         FROM email_changes c JOIN tickets t ON t.hash = c.ticket
         WHERE t.user_id = $1 ORDER BY t.created_at, t.purpose",
        user
    )
}
