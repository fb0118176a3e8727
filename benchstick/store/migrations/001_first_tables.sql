-- Everything the bench keeps. JSON columns end in _json; times are seconds on the run's own
-- monotonic clock unless the name ends in _utc.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid            TEXT NOT NULL UNIQUE,
    suite           TEXT NOT NULL,
    practice        INTEGER NOT NULL,          -- 1: on the practice drive, never mixed with real ones
    drive_key       TEXT NOT NULL,
    drive_code      TEXT NOT NULL,
    drive_model     TEXT NOT NULL,
    drive_json      TEXT NOT NULL,             -- the drive's facts when the run began
    plan_json       TEXT NOT NULL,
    conditions_json TEXT NOT NULL DEFAULT '{}',
    result_json     TEXT,                      -- tables, charts, text, verdicts of the suite
    state           TEXT NOT NULL CHECK (state IN
                      ('running', 'done', 'failed', 'cancelled', 'interrupted', 'refused')),
    exit_code       INTEGER,
    why             TEXT,
    request         INTEGER,
    created_utc     TEXT NOT NULL,
    ended_utc       TEXT,
    seconds         REAL
) STRICT;
CREATE INDEX runs_by_drive ON runs (drive_key, number);

CREATE TABLE steps (
    run           INTEGER NOT NULL REFERENCES runs (number),
    idx           INTEGER NOT NULL,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN
                    ('running', 'done', 'failed', 'skipped', 'cancelled', 'interrupted')),
    why           TEXT,
    t_start       REAL NOT NULL,
    t_end         REAL,
    artefacts     TEXT,                        -- folder, relative to the data folder
    detail_json   TEXT NOT NULL DEFAULT '{}',  -- counters before and after, in-flight, tool totals
    PRIMARY KEY (run, idx)
) STRICT;

CREATE TABLE figures (
    id      INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL REFERENCES runs (number),
    step    TEXT NOT NULL,
    name    TEXT NOT NULL,
    value   REAL,
    unit    TEXT NOT NULL,
    pass    INTEGER,                           -- NULL: over all passes
    target  TEXT NOT NULL,
    state   TEXT NOT NULL CHECK (state IN ('valid', 'invalid', 'skipped')),
    why     TEXT,
    detail_json TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX figures_by_run ON figures (run);

CREATE TABLE samples (
    run           INTEGER NOT NULL REFERENCES runs (number),
    n             INTEGER NOT NULL,            -- 0, 1, 2, ...: the cursor of ?after=
    t             REAL NOT NULL,               -- end of the interval
    dt            REAL NOT NULL,
    step          INTEGER,
    read_bytes    INTEGER NOT NULL,
    write_bytes   INTEGER NOT NULL,
    discard_bytes INTEGER NOT NULL,
    reads         INTEGER NOT NULL,
    writes        INTEGER NOT NULL,
    discards      INTEGER NOT NULL,
    flushes       INTEGER NOT NULL,
    inflight      INTEGER NOT NULL,            -- started requests at the instant t
    queue         REAL NOT NULL,               -- mean over dt, waiting in the kernel included
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE temperatures (
    run     INTEGER NOT NULL REFERENCES runs (number),
    t       REAL NOT NULL,
    step    INTEGER NOT NULL,
    celsius REAL,
    source  TEXT,
    why     TEXT
) STRICT;
CREATE INDEX temperatures_by_run ON temperatures (run);

CREATE TABLE events (
    id   INTEGER PRIMARY KEY,
    run  INTEGER REFERENCES runs (number),     -- NULL: of the bench
    t    REAL,
    utc  TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_run ON events (run);

-- Host settings that a run changed, put back at its end or by recovery.
CREATE TABLE host_settings (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES runs (number),
    path     TEXT NOT NULL,
    old      TEXT NOT NULL,
    new      TEXT NOT NULL,
    restored INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Runs that have not been closed. Where their mounts, RAM and processes are follows from the
-- run's UUID: recovery takes no path from the store.
CREATE TABLE running (
    run        INTEGER PRIMARY KEY REFERENCES runs (number),
    pid        INTEGER NOT NULL,
    device     TEXT NOT NULL
) STRICT;

-- The agent's last scan: the page cannot open a drive and shows this.
CREATE TABLE drives_seen (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    utc        TEXT NOT NULL,
    drives_json TEXT NOT NULL
) STRICT;

-- The four tables that the web process may write.
CREATE TABLE requests (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT NOT NULL CHECK (kind IN ('run', 'cancel')),
    body_json   TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;
CREATE TABLE sessions (
    hash        TEXT PRIMARY KEY,
    csrf        TEXT NOT NULL,
    created_utc TEXT NOT NULL,
    expires     REAL NOT NULL                  -- Unix time
) STRICT;
CREATE TABLE tokens (
    hash        TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;
CREATE TABLE labels (
    identity    TEXT PRIMARY KEY,
    label       TEXT NOT NULL UNIQUE,
    created_utc TEXT NOT NULL
) STRICT;

-- The agent's side of requests: the web process inserts a request and reads its answer here.
CREATE TABLE answers (
    request     INTEGER PRIMARY KEY REFERENCES requests (id),
    state       TEXT NOT NULL CHECK (state IN ('taken', 'done', 'refused')),
    run         INTEGER REFERENCES runs (number),
    answer_json TEXT NOT NULL DEFAULT '{}',
    utc         TEXT NOT NULL
) STRICT;
