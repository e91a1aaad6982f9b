-- Developers: sign-ups that wait for their mailbox to be proved, invitations, and API keys.
-- The SQLite twin of this file differs in column types only.

-- An invitation's code is shown once, when it is made; only its SHA-256 and its first characters rest here.
CREATE TABLE developer_invites (
    id         uuid PRIMARY KEY,
    hash       bytea NOT NULL UNIQUE,
    prefix     text NOT NULL,
    note       text,
    max_uses   bigint NOT NULL CHECK (max_uses > 0),
    uses       bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX developer_invites_expiry ON developer_invites (expires_at);

-- What somebody signed up with, until the mailed ticket is used or gone. invite_id: the invitation that opened the gate.
CREATE TABLE developer_signups (
    ticket            bytea PRIMARY KEY REFERENCES tickets (hash) ON DELETE CASCADE,
    email             text NOT NULL,
    name              text,
    company           text,
    locale            text NOT NULL CHECK (locale IN ('de', 'en', 'fr', 'it')),
    terms_version     text,
    terms_accepted_at timestamptz,
    ip_address        text NOT NULL,
    invite_id         uuid REFERENCES developer_invites (id) ON DELETE SET NULL,
    created_at        timestamptz NOT NULL
);
CREATE INDEX developer_signups_email ON developer_signups (email);

-- What is kept of a sign-up once the mailbox is proved.
CREATE TABLE developers (
    user_id           uuid PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    company           text,
    terms_version     text,
    terms_accepted_at timestamptz,
    ip_address        text NOT NULL,
    created_at        timestamptz NOT NULL
);

-- Only the SHA-256 of a key and its first 13 characters rest here. replaced_by: the key that a rotation put in its place.
CREATE TABLE api_keys (
    id           uuid PRIMARY KEY,
    hash         bytea NOT NULL UNIQUE,
    prefix       text NOT NULL,
    name         text NOT NULL,
    user_id      uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    scopes       jsonb NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    replaced_by  uuid
);
CREATE INDEX api_keys_user ON api_keys (user_id);
