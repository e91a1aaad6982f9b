-- People, their workspaces, their sessions, single-use tickets and the mails on their way.
-- The PostgreSQL twin of this file differs in column types only.

CREATE TABLE users (
    id                   BLOB PRIMARY KEY,
    email                TEXT NOT NULL UNIQUE,
    full_name            TEXT,
    avatar_url           TEXT,
    role                 TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'admin')),
    locale               TEXT NOT NULL DEFAULT 'de' CHECK (locale IN ('de', 'en', 'fr', 'it')),
    is_active            boolean NOT NULL DEFAULT TRUE,
    email_verified_at    INTEGER,
    password_hash        TEXT,
    pending_workspace_name TEXT,
    default_workspace_id BLOB,
    created_at           INTEGER NOT NULL,
    last_login_at        INTEGER
);

CREATE TABLE workspaces (
    id         BLOB PRIMARY KEY,
    name       TEXT NOT NULL,
    slug       TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
);

CREATE TABLE workspace_members (
    workspace_id BLOB NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role         TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_members_user ON workspace_members (user_id);

CREATE TABLE sessions (
    id           BLOB PRIMARY KEY,
    user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    workspace_id BLOB,
    signed_in_by TEXT NOT NULL,
    ip_address   TEXT NOT NULL,
    user_agent   TEXT,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    revoked_at   INTEGER
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Only the SHA-256 of a token rests here. parent: the token that it was exchanged for.
CREATE TABLE refresh_tokens (
    hash       BLOB PRIMARY KEY,
    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    parent     BLOB,
    issued_at  INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX refresh_tokens_parent ON refresh_tokens (parent);

-- Everything that is valid once and not for long. Only the SHA-256 of the secret rests here.
CREATE TABLE tickets (
    hash       BLOB PRIMARY KEY,
    purpose    TEXT NOT NULL,
    user_id    BLOB REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
);
CREATE INDEX tickets_user ON tickets (user_id, purpose);
CREATE INDEX tickets_expiry ON tickets (expires_at);

-- Mails to be delivered. The message is sealed with a key derived from SECRET_KEY; a delivered mail leaves the table.
-- state: queued, dead (given up, kept for the operator), void (never to be sent: equal work for unknown addresses).
CREATE TABLE mail_outbox (
    id              BLOB PRIMARY KEY,
    recipient       TEXT NOT NULL,
    kind            TEXT NOT NULL,
    sealed          BLOB NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('queued', 'dead', 'void')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    last_error      TEXT,
    created_at      INTEGER NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    leased_until    INTEGER
);
CREATE INDEX mail_outbox_due ON mail_outbox (state, next_attempt_at);
