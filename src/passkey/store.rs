//! The statements of the tables `webauthn_credentials` and `webauthn_ceremonies`.

use uuid::Uuid;

use crate::store::{Database, Fault, FromRow, Timestamp, Tx, query};

/// A passkey as it rests in the database.
#[derive(Clone, Debug, FromRow)]
pub(super) struct Row {
    pub(super) id: Uuid,
    pub(super) user_id: Uuid,
    pub(super) rp_id: String,
    pub(super) credential_id: Vec<u8>,
    pub(super) passkey: String,
    pub(super) counter: i64,
    pub(super) backup_eligible: bool,
    pub(super) backup_state: bool,
    pub(super) transports: Option<String>,
    pub(super) aaguid: Uuid,
    pub(super) name: String,
    pub(super) created_at: Timestamp,
    pub(super) last_used_at: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct NewCeremony<'a> {
    pub(super) id: Uuid,
    pub(super) kind: &'a str,
    pub(super) rp_id: &'a str,
    pub(super) user_id: Option<Uuid>,
    pub(super) name: Option<&'a str>,
    pub(super) state: &'a str,
    pub(super) expires_at: Timestamp,
}

#[derive(Debug, FromRow)]
pub(super) struct CeremonyRow {
    pub(super) kind: String,
    pub(super) rp_id: String,
    pub(super) user_id: Option<Uuid>,
    pub(super) name: Option<String>,
    pub(super) state: String,
}

pub(super) async fn insert_ceremony(db: &Database, new: &NewCeremony<'_>) -> Result<(), Fault> {
    query!(
        write db,
        execute,
        "INSERT INTO webauthn_ceremonies (id, kind, rp_id, user_id, name, state, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        new.id,
        new.kind,
        new.rp_id,
        new.user_id,
        new.name,
        new.state,
        new.expires_at
    )
    .map(|_| ())
}

/// Takes a live ceremony: of any number of parallel completions exactly one gets the row.
pub(super) async fn take_ceremony(db: &Database, id: Uuid, now: Timestamp) -> Result<Option<CeremonyRow>, Fault> {
    query!(
        write db,
        optional<CeremonyRow>,
        "DELETE FROM webauthn_ceremonies WHERE id = $1 AND expires_at > $2
         RETURNING kind, rp_id, user_id, name, state",
        id,
        now
    )
}

/// An active person's passkeys on one relying party, by the canonical address, oldest first.
pub(super) async fn find_by_email(db: &Database, email: &str, rp_id: &str) -> Result<Vec<Row>, Fault> {
    query!(
        read db,
        all<Row>,
        "SELECT c.* FROM webauthn_credentials c JOIN users u ON u.id = c.user_id
         WHERE u.email = $1 AND u.is_active AND c.rp_id = $2
         ORDER BY c.created_at, c.id",
        email,
        rp_id
    )
}

/// A person's passkeys on every relying party, newest first.
pub(super) async fn find_by_user(db: &Database, user: Uuid) -> Result<Vec<Row>, Fault> {
    query!(
        read db,
        all<Row>,
        "SELECT * FROM webauthn_credentials WHERE user_id = $1 ORDER BY created_at DESC, id",
        user
    )
}

/// The passkey with this credential id on one relying party.
pub(super) async fn find_credential(db: &Database, credential: &[u8], rp_id: &str) -> Result<Option<Row>, Fault> {
    query!(
        read db,
        optional<Row>,
        "SELECT * FROM webauthn_credentials WHERE credential_id = $1 AND rp_id = $2",
        credential,
        rp_id
    )
}

/// Counts a person's passkeys, holding the person's row so that parallel registrations count one after the other.
pub(super) async fn count_locked(tx: &mut Tx, user: Uuid) -> Result<i64, Fault> {
    query!(in tx, execute, "UPDATE users SET email = email WHERE id = $1", user)?;
    query!(in tx, one<(i64,)>, "SELECT count(*) FROM webauthn_credentials WHERE user_id = $1", user)
        .map(|(count,)| count)
}

/// Inserts a passkey; `false` when its credential id is taken, by anybody.
pub(super) async fn insert(tx: &mut Tx, new: &Row) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "INSERT INTO webauthn_credentials
             (id, user_id, rp_id, credential_id, passkey, counter, backup_eligible, backup_state, transports, aaguid,
              name, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
         ON CONFLICT (credential_id) DO NOTHING",
        new.id,
        new.user_id,
        new.rp_id.as_str(),
        new.credential_id.as_slice(),
        new.passkey.as_str(),
        new.counter,
        new.backup_eligible,
        new.backup_state,
        new.transports.as_deref(),
        new.aaguid,
        new.name.as_str(),
        new.created_at
    )
    .map(|rows| rows == 1)
}

/// What an assertion showed about its authenticator.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) counter: i64,
    pub(super) backup_eligible: bool,
    pub(super) backup_state: bool,
    pub(super) now: Timestamp,
}

/// Notes a use; `false` when the passkey is gone or its counter has not grown. One statement, so that of two copies of a
/// key that answer at once only one gets in. Authenticators that do not count say zero for ever.
pub(super) async fn note_use(tx: &mut Tx, id: Uuid, seen: &Use) -> Result<bool, Fault> {
    query!(
        in tx,
        execute,
        "UPDATE webauthn_credentials
         SET counter = $2, backup_eligible = $3, backup_state = $4, last_used_at = $5
         WHERE id = $1 AND (counter < $2 OR (counter = 0 AND $2 = 0))",
        id,
        seen.counter,
        seen.backup_eligible,
        seen.backup_state,
        seen.now
    )
    .map(|rows| rows == 1)
}

/// Renames a person's own passkey.
pub(super) async fn rename(db: &Database, user: Uuid, id: Uuid, name: &str) -> Result<Option<Row>, Fault> {
    query!(
        write db,
        optional<Row>,
        "UPDATE webauthn_credentials SET name = $3 WHERE id = $2 AND user_id = $1 RETURNING *",
        user,
        id,
        name
    )
}

/// Removes a person's own passkey and returns what it was.
pub(super) async fn delete(tx: &mut Tx, user: Uuid, id: Uuid) -> Result<Option<Row>, Fault> {
    query!(
        in tx,
        optional<Row>,
        "DELETE FROM webauthn_credentials WHERE id = $2 AND user_id = $1 RETURNING *",
        user,
        id
    )
}

/// The active owner of an address that has a passkey on one relying party.
pub(super) async fn find_holder(db: &Database, email: &str, rp_id: &str) -> Result<Option<Uuid>, Fault> {
    query!(
        read db,
        optional<(Uuid,)>,
        "SELECT u.id FROM users u
         WHERE u.email = $1 AND u.is_active
           AND EXISTS (SELECT 1 FROM webauthn_credentials c WHERE c.user_id = u.id AND c.rp_id = $2)",
        email,
        rp_id
    )
    .map(|row| row.map(|(id,)| id))
}

/// Removes the ceremonies that nobody completed.
///
/// # Errors
/// A fault of the database.
pub async fn sweep(db: &Database, now: Timestamp) -> Result<u64, Fault> {
    query!(write db, execute, "DELETE FROM webauthn_ceremonies WHERE expires_at <= $1", now)
}
