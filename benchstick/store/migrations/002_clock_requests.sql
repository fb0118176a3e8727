-- Requests may ask for the clock to be set. SQLite cannot change a CHECK, so the table is made anew;
-- the answers point to its rows again when they are back.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE requests_before AS SELECT * FROM requests;
DROP TABLE requests;
CREATE TABLE requests (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT NOT NULL CHECK (kind IN ('run', 'cancel', 'clock')),
    body_json   TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;
INSERT INTO requests (id, kind, body_json, created_utc)
    SELECT id, kind, body_json, created_utc FROM requests_before ORDER BY id;
DROP TABLE requests_before;
