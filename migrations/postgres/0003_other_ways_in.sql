-- What a ticket carries besides its owner, the codes beside mailed links, and identities at a foreign provider.
-- The SQLite twin of this file differs in column types only.

-- particulars: JSON, a matter of the ticket's purpose. mailbox: where a ticket was mailed that has no owner yet.
ALTER TABLE tickets ADD COLUMN particulars text;
ALTER TABLE tickets ADD COLUMN mailbox text;
CREATE INDEX tickets_mailbox ON tickets (mailbox, purpose);

-- A short code stands for the long secret of its ticket, for whoever holds the handle. Hashes only.
CREATE TABLE ticket_codes (
    handle   bytea PRIMARY KEY,
    ticket   bytea NOT NULL REFERENCES tickets (hash) ON DELETE CASCADE,
    code     bytea NOT NULL,
    attempts bigint NOT NULL DEFAULT 0
);
CREATE INDEX ticket_codes_ticket ON ticket_codes (ticket);

CREATE TABLE oidc_identities (
    issuer     text NOT NULL,
    subject    text NOT NULL,
    user_id    uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX oidc_identities_user ON oidc_identities (user_id);
