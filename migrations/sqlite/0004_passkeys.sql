-- Passkeys of people, each bound to the relying party it was made on. passkey: the public key and what the library
-- keeps about it, as JSON; nothing in here can sign anybody in.
CREATE TABLE webauthn_credentials (
    id              BLOB PRIMARY KEY,
    user_id         BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    rp_id           TEXT NOT NULL,
    credential_id   BLOB NOT NULL UNIQUE,
    passkey         TEXT NOT NULL,
    counter         INTEGER NOT NULL,
    backup_eligible boolean NOT NULL,
    backup_state    boolean NOT NULL,
    transports      TEXT,
    aaguid          BLOB NOT NULL,
    name            TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    last_used_at    INTEGER
);
CREATE INDEX webauthn_credentials_user ON webauthn_credentials (user_id, rp_id);

-- Ceremonies under way. The first completion removes the row, whatever comes of it.
-- user_id has no foreign key: a ceremony of somebody who is gone must still fail like a wrong passkey.
CREATE TABLE webauthn_ceremonies (
    id         BLOB PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('login', 'discoverable', 'registration')),
    rp_id      TEXT NOT NULL,
    user_id    BLOB,
    name       TEXT,
    state      TEXT NOT NULL,
    expires_at INTEGER NOT NULL
);
CREATE INDEX webauthn_ceremonies_expiry ON webauthn_ceremonies (expires_at);
