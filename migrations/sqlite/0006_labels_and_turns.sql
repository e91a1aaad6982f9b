-- What a device calls itself, and the turns in which mailboxes are counted.
-- The PostgreSQL twin of this file differs in column types only.

-- label: the name that the machine of a command-line client gave itself, as its owner approved it.
ALTER TABLE sessions ADD COLUMN label TEXT;

-- Whoever counts what was mailed to an address holds its row here until the end of the transaction, so that parallel
-- requests count one after the other also where there is no account whose row could be held. An address has one of 1024
-- rows by its hash: a fixed number, nothing of anybody to sweep, and strangers seldom wait for each other.
CREATE TABLE mailbox_turns (
    turn INTEGER PRIMARY KEY
);
INSERT INTO mailbox_turns (turn)
WITH RECURSIVE turns (turn) AS (
    SELECT 0
    UNION ALL
    SELECT turn + 1 FROM turns WHERE turn < 1023
)
SELECT turn FROM turns;
