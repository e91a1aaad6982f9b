-- What happened to accounts, pending changes of address, and codes for leaving.
-- The PostgreSQL twin of this file differs in column types and in how its triggers are written.

-- Append-only: the triggers below refuse to change or remove an entry. Ids of people and sessions are kept without
-- references, so that an entry outlives what it speaks of. mailbox: the fingerprint of an address that has no account.
CREATE TABLE audit_events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    act        TEXT NOT NULL,
    outcome    TEXT NOT NULL CHECK (outcome IN ('ok', 'refused')),
    detail     TEXT,
    user_id    BLOB,
    session_id BLOB,
    network    TEXT NOT NULL,
    mailbox    TEXT
);
CREATE INDEX audit_events_user ON audit_events (user_id, id);
CREATE INDEX audit_events_mailbox ON audit_events (mailbox, id);
CREATE INDEX audit_events_at ON audit_events (at);

CREATE TRIGGER audit_events_keep BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only');
END;
CREATE TRIGGER audit_events_stay BEFORE DELETE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only');
END;

-- The address that a confirmation or undo ticket stands for. It goes with its ticket.
CREATE TABLE email_changes (
    ticket  BLOB PRIMARY KEY REFERENCES tickets (hash) ON DELETE CASCADE,
    address TEXT NOT NULL
);

-- One mailed code per account that wants to leave. Only a hash rests here; five wrong codes end it.
CREATE TABLE leave_codes (
    user_id    BLOB PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    hash       BLOB NOT NULL,
    wrong      INTEGER NOT NULL DEFAULT 0,
    expires_at INTEGER NOT NULL
);
