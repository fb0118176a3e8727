-- What the bench's scanner read, and what was typed in the page's scan field. An operator and an
-- order hold until the next one; an asset tag and a serial number are one drive's.
CREATE TABLE scans (
    id          INTEGER PRIMARY KEY,
    at_utc      TEXT NOT NULL,
    source      TEXT NOT NULL CHECK (source IN ('scanner', 'page')),
    text        TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('asset', 'serial', 'order', 'operator')),
    value       TEXT NOT NULL,
    taken       TEXT        -- the drive that it went to, by identity key; '': none will have it
) STRICT;
CREATE INDEX scans_by_kind ON scans (kind, id);
-- What the agent says of its scanner.
CREATE TABLE desk (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    scanner     TEXT NOT NULL
) STRICT;
-- Requests may bring a scan, or drop those that wait. As in 002.sql.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE requests_before AS SELECT * FROM requests;
DROP TABLE requests;
CREATE TABLE requests (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT NOT NULL CHECK (kind IN ('run', 'cancel', 'clock', 'scan', 'qa')),
    body_json   TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;
INSERT INTO requests (id, kind, body_json, created_utc)
    SELECT id, kind, body_json, created_utc FROM requests_before ORDER BY id;
DROP TABLE requests_before;
