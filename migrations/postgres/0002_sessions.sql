-- What happened to accounts, pending changes of address, and codes for leaving.
-- The SQLite twin of this file differs in column types and in how its triggers are written.

-- Append-only: the triggers below refuse to change or remove an entry. Ids of people and sessions are kept without
-- references, so that an entry outlives what it speaks of. mailbox: the fingerprint of an address that has no account.
CREATE TABLE audit_events (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    act        text NOT NULL,
    outcome    text NOT NULL CHECK (outcome IN ('ok', 'refused')),
    detail     text,
    user_id    uuid,
    session_id uuid,
    network    text NOT NULL,
    mailbox    text
);
CREATE INDEX audit_events_user ON audit_events (user_id, id);
CREATE INDEX audit_events_mailbox ON audit_events (mailbox, id);
CREATE INDEX audit_events_at ON audit_events (at);

CREATE FUNCTION audit_events_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_events is append-only';
END;
$$;
CREATE TRIGGER audit_events_keep BEFORE UPDATE OR DELETE ON audit_events
    FOR EACH ROW EXECUTE FUNCTION audit_events_refuse();
CREATE TRIGGER audit_events_stay BEFORE TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_refuse();

-- The address that a confirmation or undo ticket stands for. It goes with its ticket.
CREATE TABLE email_changes (
    ticket  bytea PRIMARY KEY REFERENCES tickets (hash) ON DELETE CASCADE,
    address text NOT NULL
);

-- One mailed code per account that wants to leave. Only a hash rests here; five wrong codes end it.
CREATE TABLE leave_codes (
    user_id    uuid PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    hash       bytea NOT NULL,
    wrong      bigint NOT NULL DEFAULT 0,
    expires_at timestamptz NOT NULL
);
