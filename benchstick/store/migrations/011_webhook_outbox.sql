-- What is to be posted to the webhook of the settings, kept until its receiver has taken it. The
-- address is not here: one that is mended in the settings gets what waited.
CREATE TABLE outbox (
    id              INTEGER PRIMARY KEY,
    key             TEXT NOT NULL UNIQUE,   -- sent along, so that a receiver knows a second try
    body            TEXT NOT NULL,          -- JSON
    created_utc     TEXT NOT NULL,
    tries           INTEGER NOT NULL DEFAULT 0,
    tried_utc       TEXT,
    why             TEXT,                   -- why the last try failed
    delivered_utc   TEXT
) STRICT;
CREATE INDEX outbox_waiting ON outbox (id) WHERE delivered_utc IS NULL;
