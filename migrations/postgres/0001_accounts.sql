-- People, their workspaces, their sessions, single-use tickets and the mails on their way.
-- The SQLite twin of this file differs in column types only.

CREATE TABLE users (
    id                   uuid PRIMARY KEY,
    email                text NOT NULL UNIQUE,
    full_name            text,
    avatar_url           text,
    role                 text NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'admin')),
    locale               text NOT NULL DEFAULT 'de' CHECK (locale IN ('de', 'en', 'fr', 'it')),
    is_active            boolean NOT NULL DEFAULT true,
    email_verified_at    timestamptz,
    password_hash        text,
    pending_workspace_name text,
    default_workspace_id uuid,
    created_at           timestamptz NOT NULL,
    last_login_at        timestamptz
);

CREATE TABLE workspaces (
    id         uuid PRIMARY KEY,
    name       text NOT NULL,
    slug       text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL
);

CREATE TABLE workspace_members (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_members_user ON workspace_members (user_id);

CREATE TABLE sessions (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    workspace_id uuid,
    signed_in_by text NOT NULL,
    ip_address   text NOT NULL,
    user_agent   text,
    created_at   timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    revoked_at   timestamptz
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Only the SHA-256 of a token rests here. parent: the token that it was exchanged for.
CREATE TABLE refresh_tokens (
    hash       bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    parent     bytea,
    issued_at  timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX refresh_tokens_parent ON refresh_tokens (parent);

-- Everything that is valid once and not for long. Only the SHA-256 of the secret rests here.
CREATE TABLE tickets (
    hash       bytea PRIMARY KEY,
    purpose    text NOT NULL,
    user_id    uuid REFERENCES users (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX tickets_user ON tickets (user_id, purpose);
CREATE INDEX tickets_expiry ON tickets (expires_at);

-- Mails to be delivered. The message is sealed with a key derived from SECRET_KEY; a delivered mail leaves the table.
-- state: queued, dead (given up, kept for the operator), void (never to be sent: equal work for unknown addresses).
CREATE TABLE mail_outbox (
    id              uuid PRIMARY KEY,
    recipient       text NOT NULL,
    kind            text NOT NULL,
    sealed          bytea NOT NULL,
    state           text NOT NULL CHECK (state IN ('queued', 'dead', 'void')),
    attempts        bigint NOT NULL DEFAULT 0,
    last_error      text,
    created_at      timestamptz NOT NULL,
    next_attempt_at timestamptz NOT NULL,
    leased_until    timestamptz
);
CREATE INDEX mail_outbox_due ON mail_outbox (state, next_attempt_at);
