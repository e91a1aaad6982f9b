-- Passkeys of people, each bound to the relying party it was made on. passkey: the public key and what the library
-- keeps about it, as JSON; nothing in here can sign anybody in.
CREATE TABLE webauthn_credentials (
    id              uuid PRIMARY KEY,
    user_id         uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    rp_id           text NOT NULL,
    credential_id   bytea NOT NULL UNIQUE,
    passkey         text NOT NULL,
    counter         bigint NOT NULL,
    backup_eligible boolean NOT NULL,
    backup_state    boolean NOT NULL,
    transports      text,
    aaguid          uuid NOT NULL,
    name            text NOT NULL,
    created_at      timestamptz NOT NULL,
    last_used_at    timestamptz
);
CREATE INDEX webauthn_credentials_user ON webauthn_credentials (user_id, rp_id);

-- Ceremonies under way. The first completion removes the row, whatever comes of it.
-- user_id has no foreign key: a ceremony of somebody who is gone must still fail like a wrong passkey.
CREATE TABLE webauthn_ceremonies (
    id         uuid PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('login', 'discoverable', 'registration')),
    rp_id      text NOT NULL,
    user_id    uuid,
    name       text,
    state      text NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX webauthn_ceremonies_expiry ON webauthn_ceremonies (expires_at);
