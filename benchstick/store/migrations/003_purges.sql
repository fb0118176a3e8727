-- Purges, from before the first command to their end: what is needed to go on with one that was
-- interrupted, or to take it back. An ATA password is here before it is set on the drive.
CREATE TABLE purges (
    run         INTEGER NOT NULL REFERENCES runs (number),
    step        INTEGER NOT NULL,
    drive_key   TEXT NOT NULL,
    rung        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('running', 'interrupted', 'done', 'closed')),
    phase       TEXT NOT NULL CHECK (phase IN ('begun', 'password', 'erasing')),
    password    TEXT,
    written     INTEGER NOT NULL DEFAULT 0,    -- overwrite: bytes from the start; sanitize: 1, taken
    marks       TEXT,                          -- UUID of the run whose marks are on the drive
    samples     INTEGER NOT NULL DEFAULT 0,
    mark_size   INTEGER NOT NULL DEFAULT 0,
    why         TEXT,
    begun_utc   TEXT NOT NULL,
    changed_utc TEXT NOT NULL,
    PRIMARY KEY (run, step)
) STRICT;
