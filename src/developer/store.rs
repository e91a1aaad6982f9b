//! The statements of the tables `developer_signups` and `developers`.

use uuid::Uuid;

use crate::{
    secret::Hashed,
    store::{Fault, FromRow, Timestamp, Tx, query},
    ticket::Purpose,
};

#[derive(Debug)]
pub(super) struct NewSignup<'a> {
    pub email: &'a str,
    pub name: Option<&'a str>,
    pub company: Option<&'a str>,
    pub locale: &'a str,
    pub terms_version: Option<&'a str>,
    pub terms_accepted_at: Option<Timestamp>,
    pub ip_address: &'a str,
    pub invite_id: Option<Uuid>,
    pub now: Timestamp,
}

/// A sign-up that waits for its mailbox to be proved.
#[derive(FromRow)]
pub(super) struct Pending {
    pub email: String,
    pub name: Option<String>,
    pub company: Option<String>,
    pub locale: String,
    pub terms_version: Option<String>,
    pub terms_accepted_at: Option<Timestamp>,
    pub ip_address: String,
    pub invite_id: Option<Uuid>,
}

pub(super) async fn insert(tx: &mut Tx, ticket: &Hashed, new: &NewSignup<'_>) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO developer_signups
             (ticket, email, name, company, locale, terms_version, terms_accepted_at, ip_address, invite_id, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        ticket.as_bytes(),
        new.email,
        new.name,
        new.company,
        new.locale,
        new.terms_version,
        new.terms_accepted_at,
        new.ip_address,
        new.invite_id,
        new.now
    )
    .map(|_| ())
}

/// How many links of this address still work.
pub(super) async fn count_live(tx: &mut Tx, email: &str, now: Timestamp) -> Result<i64, Fault> {
    query!(
        in tx,
        one<(i64,)>,
        "SELECT count(*) FROM developer_signups s JOIN tickets t ON t.hash = s.ticket
         WHERE s.email = $1 AND t.purpose = $2 AND t.used_at IS NULL AND t.expires_at > $3",
        email,
        Purpose::PrimaSignup.name(),
        now
    )
    .map(|(count,)| count)
}

/// The sign-up behind a link that still works; the link is not claimed.
pub(super) async fn find_live(tx: &mut Tx, ticket: &Hashed, now: Timestamp) -> Result<Option<Pending>, Fault> {
    query!(
        in tx,
        optional<Pending>,
        "SELECT s.email, s.name, s.company, s.locale, s.terms_version, s.terms_accepted_at, s.ip_address, s.invite_id
         FROM developer_signups s JOIN tickets t ON t.hash = s.ticket
         WHERE s.ticket = $1 AND t.purpose = $2 AND t.used_at IS NULL AND t.expires_at > $3",
        ticket.as_bytes(),
        Purpose::PrimaSignup.name(),
        now
    )
}

/// Removes the unused links of an address.
pub(super) async fn delete_others(tx: &mut Tx, email: &str) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "DELETE FROM tickets
         WHERE purpose = $2 AND used_at IS NULL
           AND hash IN (SELECT ticket FROM developer_signups WHERE email = $1)",
        email,
        Purpose::PrimaSignup.name()
    )
    .map(|_| ())
}

/// Whether the account of this address has a key that works.
pub(super) async fn has_live_key(tx: &mut Tx, email: &str, now: Timestamp) -> Result<bool, Fault> {
    query!(
        in tx,
        one<(i64,)>,
        "SELECT count(*) FROM api_keys k JOIN users u ON u.id = k.user_id
         WHERE u.email = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2)",
        email,
        now
    )
    .map(|(count,)| count > 0)
}

/// Keeps what a developer said when signing up; a later sign-up replaces it.
pub(super) async fn insert_developer(tx: &mut Tx, user: Uuid, from: &Pending, now: Timestamp) -> Result<(), Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO developers (user_id, company, terms_version, terms_accepted_at, ip_address, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (user_id) DO UPDATE SET
             company = coalesce(excluded.company, developers.company),
             terms_version = coalesce(excluded.terms_version, developers.terms_version),
             terms_accepted_at = coalesce(excluded.terms_accepted_at, developers.terms_accepted_at),
             ip_address = excluded.ip_address",
        user,
        from.company.as_deref(),
        from.terms_version.as_deref(),
        from.terms_accepted_at,
        from.ip_address.as_str(),
        now
    )
    .map(|_| ())
}
