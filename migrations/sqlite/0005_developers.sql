-- Developers: sign-ups that wait for their mailbox to be proved, invitations, and API keys.
-- The PostgreSQL twin of this file differs in column types only.

-- An invitation's code is shown once, when it is made; only its SHA-256 and its first characters rest here.
CREATE TABLE developer_invites (
    id         BLOB PRIMARY KEY,
    hash       BLOB NOT NULL UNIQUE,
    prefix     TEXT NOT NULL,
    note       TEXT,
    max_uses   INTEGER NOT NULL CHECK (max_uses > 0),
    uses       INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
);
CREATE INDEX developer_invites_expiry ON developer_invites (expires_at);

-- What somebody signed up with, until the mailed ticket is used or gone. invite_id: the invitation that opened the gate.
CREATE TABLE developer_signups (
    ticket            BLOB PRIMARY KEY REFERENCES tickets (hash) ON DELETE CASCADE,
    email             TEXT NOT NULL,
    name              TEXT,
    company           TEXT,
    locale            TEXT NOT NULL CHECK (locale IN ('de', 'en', 'fr', 'it')),
    terms_version     TEXT,
    terms_accepted_at INTEGER,
    ip_address        TEXT NOT NULL,
    invite_id         BLOB REFERENCES developer_invites (id) ON DELETE SET NULL,
    created_at        INTEGER NOT NULL
);
CREATE INDEX developer_signups_email ON developer_signups (email);

-- What is kept of a sign-up once the mailbox is proved.
CREATE TABLE developers (
    user_id           BLOB PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    company           TEXT,
    terms_version     TEXT,
    terms_accepted_at INTEGER,
    ip_address        TEXT NOT NULL,
    created_at        INTEGER NOT NULL
);

-- Only the SHA-256 of a key and its first 13 characters rest here. replaced_by: the key that a rotation put in its place.
CREATE TABLE api_keys (
    id           BLOB PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE,
    prefix       TEXT NOT NULL,
    name         TEXT NOT NULL,
    user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    workspace_id BLOB NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    scopes       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    revoked_at   INTEGER,
    replaced_by  BLOB
);
CREATE INDEX api_keys_user ON api_keys (user_id);
