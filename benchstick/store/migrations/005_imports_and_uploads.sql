-- Runs of other benches, read from a bundle. `run` is the number here, `number` the one there.
CREATE TABLE imports (
    run          INTEGER PRIMARY KEY REFERENCES runs (number),
    bench        TEXT NOT NULL,                -- UUID of the bench that measured
    number       INTEGER NOT NULL,
    digest       TEXT NOT NULL,                -- SHA-256 of the record as it came
    imported_utc TEXT NOT NULL
) STRICT;

-- Bundles that came through the page, checked by it and waiting for the agent. The web process may
-- only add; the agent checks again, answers and takes the bundle away.
CREATE TABLE uploads (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    bundle      BLOB NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;
CREATE TABLE upload_answers (
    upload INTEGER PRIMARY KEY,
    run    INTEGER REFERENCES runs (number),   -- NULL: refused
    text   TEXT NOT NULL,
    utc    TEXT NOT NULL
) STRICT;
