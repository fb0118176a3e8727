-- The store's tables as they are now. A new store is made from this; older ones come here through
-- the scripts in migrations/ (a test compares the two).

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid            TEXT NOT NULL UNIQUE,
    suite           TEXT NOT NULL,
    practice        INTEGER NOT NULL,  -- 1: on the practice drive, never mixed with real ones
    drive_key       TEXT NOT NULL,
    drive_code      TEXT NOT NULL,
    drive_model     TEXT NOT NULL,
    drive_json      TEXT NOT NULL,     -- the drive's facts at the start of the run
    plan_json       TEXT NOT NULL,
    conditions_json TEXT NOT NULL DEFAULT '{}',
    result_json     TEXT,              -- tables, charts, text, verdicts of the suite
    state           TEXT NOT NULL CHECK (state IN ('running', 'done', 'corrupt',
                     'failed', 'cancelled', 'interrupted', 'refused')),
    exit_code       INTEGER,
    reason          TEXT,
    request         INTEGER,
    created_utc     TEXT NOT NULL,
    ended_utc       TEXT,
    seconds         REAL,
    corrupt_json    TEXT               -- the findings, as they are made; NULL: none
) STRICT;
CREATE INDEX runs_by_drive ON runs (drive_key, number);
CREATE INDEX runs_by_suite
    ON runs (suite, practice, number, drive_model, drive_code, state, created_utc, uuid);
CREATE INDEX runs_running ON runs (number) WHERE state = 'running';
CREATE INDEX runs_by_kind ON runs (practice, number);
CREATE INDEX runs_done_of_drive ON runs (drive_key, suite, number) WHERE state = 'done';

CREATE TABLE steps (
    run         INTEGER NOT NULL REFERENCES runs (number),
    step_index  INTEGER NOT NULL,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN
                 ('running', 'done', 'failed', 'skipped', 'cancelled', 'interrupted')),
    reason      TEXT,
    t_start     REAL NOT NULL,
    t_end       REAL,
    artifacts   TEXT,                        -- folder, relative to the data folder
    detail_json TEXT NOT NULL DEFAULT '{}',  -- counters before and after, in-flight, tool totals
    PRIMARY KEY (run, step_index)
) STRICT;

CREATE TABLE results (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES runs (number),
    step        TEXT NOT NULL,
    name        TEXT NOT NULL,
    value       REAL,
    unit        TEXT NOT NULL,
    pass        INTEGER,  -- NULL: over all passes
    target      TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('valid', 'invalid', 'skipped')),
    reason      TEXT,
    detail_json TEXT NOT NULL DEFAULT '{}',
    test        TEXT NOT NULL DEFAULT '',
    direction   TEXT,
    metric      TEXT NOT NULL DEFAULT '',
    statistic   TEXT,
    percentile  REAL,
    part        TEXT
) STRICT;
CREATE INDEX results_by_run ON results (run);

CREATE TABLE samples (
    run           INTEGER NOT NULL REFERENCES runs (number),
    n             INTEGER NOT NULL,  -- 0, 1, 2, ...: the cursor of ?after=
    t             REAL NOT NULL,     -- end of the interval
    dt            REAL NOT NULL,
    step_index    INTEGER,
    read_bytes    INTEGER NOT NULL,
    write_bytes   INTEGER NOT NULL,
    discard_bytes INTEGER NOT NULL,
    reads         INTEGER NOT NULL,
    writes        INTEGER NOT NULL,
    discards      INTEGER NOT NULL,
    flushes       INTEGER NOT NULL,
    inflight      INTEGER NOT NULL,  -- started requests at the instant t
    queue         REAL NOT NULL,     -- mean over dt, waiting in the kernel included
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE temperatures (
    run        INTEGER NOT NULL REFERENCES runs (number),
    t          REAL NOT NULL,
    step_index INTEGER NOT NULL,
    celsius    REAL,
    source     TEXT,
    reason     TEXT
) STRICT;
CREATE INDEX temperatures_by_run ON temperatures (run);

CREATE TABLE events (
    id   INTEGER PRIMARY KEY,
    run  INTEGER REFERENCES runs (number),  -- NULL: of the bench
    t    REAL,
    utc  TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_run ON events (run);

CREATE TABLE host_settings (
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES runs (number),
    path     TEXT NOT NULL,
    old      TEXT NOT NULL,
    new      TEXT NOT NULL,
    restored INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE running (
    run    INTEGER PRIMARY KEY REFERENCES runs (number),
    pid    INTEGER NOT NULL,
    device TEXT NOT NULL
) STRICT;

CREATE TABLE drive_scans (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    utc         TEXT NOT NULL,
    drives_json TEXT NOT NULL
) STRICT;

CREATE TABLE sessions (
    hash        TEXT PRIMARY KEY,
    csrf        TEXT NOT NULL,
    created_utc TEXT NOT NULL,
    expires     REAL NOT NULL  -- Unix time
) STRICT;

CREATE TABLE tokens (
    hash        TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    created_utc TEXT NOT NULL,
    used_utc    TEXT
) STRICT;

CREATE TABLE purges (
    run         INTEGER NOT NULL REFERENCES runs (number),
    step_index  INTEGER NOT NULL,
    drive_key   TEXT NOT NULL,
    rung        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('running', 'interrupted', 'done', 'closed')),
    phase       TEXT NOT NULL CHECK (phase IN ('begun', 'password', 'erasing')),
    password    TEXT,
    written     INTEGER NOT NULL DEFAULT 0,  -- overwrite: bytes from the start; sanitize: 1, taken
    marks       TEXT,                        -- UUID of the run whose marks are on the drive
    samples     INTEGER NOT NULL DEFAULT 0,
    mark_size   INTEGER NOT NULL DEFAULT 0,
    reason      TEXT,
    started_utc TEXT NOT NULL,
    changed_utc TEXT NOT NULL,
    PRIMARY KEY (run, step_index)
) STRICT;

CREATE TABLE reference_results (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    drive       TEXT NOT NULL,
    suite       TEXT NOT NULL,
    result      TEXT NOT NULL,
    value       REAL NOT NULL,
    unit        TEXT NOT NULL,
    source      TEXT NOT NULL,
    created_utc TEXT NOT NULL,
    UNIQUE (suite, result, unit, drive, source)
) STRICT;

CREATE TABLE spec_sheets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    pattern     TEXT NOT NULL,  -- of a drive's model, as in a shell, any case
    sheet_json  TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;

CREATE TABLE imports (
    run          INTEGER PRIMARY KEY REFERENCES runs (number),
    bench        TEXT NOT NULL,  -- UUID of the bench that measured
    number       INTEGER NOT NULL,
    digest       TEXT NOT NULL,  -- SHA-256 of the record as it came
    imported_utc TEXT NOT NULL
) STRICT;

CREATE TABLE uploads (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    bundle      BLOB NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;

CREATE TABLE upload_answers (
    upload INTEGER PRIMARY KEY,
    run    INTEGER REFERENCES runs (number),  -- NULL: refused
    text   TEXT NOT NULL,
    utc    TEXT NOT NULL
) STRICT;

CREATE TABLE requests (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT NOT NULL CHECK (kind IN ('run', 'cancel', 'clock', 'scan', 'qa')),
    body_json   TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;

CREATE TABLE answers (
    request     INTEGER PRIMARY KEY REFERENCES requests (id),
    state       TEXT NOT NULL CHECK (state IN ('taken', 'done', 'refused')),
    run         INTEGER REFERENCES runs (number),
    answer_json TEXT NOT NULL DEFAULT '{}',
    utc         TEXT NOT NULL
) STRICT;

CREATE TABLE queues (
    number    INTEGER PRIMARY KEY REFERENCES requests (id),
    drive_key TEXT NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('open', 'done', 'stopped', 'cancelled')),
    reason    TEXT,
    ended_utc TEXT,
    owner     TEXT
) STRICT;

CREATE TABLE queue_entries (
    queue    INTEGER NOT NULL REFERENCES queues (number),
    position INTEGER NOT NULL,
    state    TEXT NOT NULL CHECK (state IN
              ('waiting', 'started', 'taken_out', 'not_started', 'refused')),
    run      INTEGER REFERENCES runs (number),  -- NULL until it starts
    reason   TEXT,
    PRIMARY KEY (queue, position)
) STRICT;
CREATE INDEX queue_entries_by_run ON queue_entries (run);

CREATE TABLE labels (
    drive_key   TEXT PRIMARY KEY,
    label       TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;
CREATE INDEX labels_by_label ON labels (label);

CREATE TABLE verdicts (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    recipe       TEXT NOT NULL,
    drive_key    TEXT NOT NULL,
    drive_code   TEXT NOT NULL,
    verdict      TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'inconclusive')),
    exit_code    INTEGER NOT NULL,
    reason       TEXT,
    started_utc  TEXT NOT NULL,
    ended_utc    TEXT NOT NULL,
    verdict_json TEXT NOT NULL  -- the benchstick/verdict/1 document
) STRICT;
CREATE INDEX verdicts_by_drive ON verdicts (drive_key, number);

CREATE TABLE verdict_runs (
    verdict INTEGER NOT NULL REFERENCES verdicts (number),
    run     INTEGER NOT NULL REFERENCES runs (number),
    PRIMARY KEY (verdict, run)
) STRICT;
CREATE INDEX verdict_runs_by_run ON verdict_runs (run);

CREATE TABLE outbox (
    id            INTEGER PRIMARY KEY,
    key           TEXT NOT NULL UNIQUE,  -- sent along, so that a receiver knows a second try
    body          TEXT NOT NULL,         -- JSON
    created_utc   TEXT NOT NULL,
    attempts      INTEGER NOT NULL DEFAULT 0,
    attempted_utc TEXT,
    reason        TEXT,                  -- why the last try failed
    delivered_utc TEXT
) STRICT;
CREATE INDEX outbox_waiting ON outbox (id) WHERE delivered_utc IS NULL;

CREATE TABLE scans (
    id          INTEGER PRIMARY KEY,
    scanned_utc TEXT NOT NULL,
    source      TEXT NOT NULL CHECK (source IN ('scanner', 'page')),
    text        TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('asset', 'serial', 'order', 'operator')),
    value       TEXT NOT NULL,
    assigned_to TEXT  -- drive key; '': no drive gets it
) STRICT;
CREATE INDEX scans_by_kind ON scans (kind, id);

CREATE TABLE scanner_status (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    status TEXT NOT NULL
) STRICT;

CREATE TABLE slots (
    position       INTEGER PRIMARY KEY,
    name           TEXT NOT NULL UNIQUE,
    state          TEXT NOT NULL CHECK (state IN
                    ('empty', 'here', 'countdown', 'stopped', 'testing', 'done')),
    drive_key      TEXT,
    code           TEXT,
    model          TEXT,
    until          REAL,  -- Unix time
    verdict_number INTEGER,
    verdict        TEXT,
    message        TEXT,
    utc            TEXT NOT NULL
) STRICT;

CREATE TABLE recipes (
    name        TEXT PRIMARY KEY,
    text        TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;

CREATE TABLE imported_verdicts (
    bench        TEXT NOT NULL,
    number       INTEGER NOT NULL,
    verdict_json TEXT NOT NULL,  -- the benchstick/verdict/1 document, as it was there
    PRIMARY KEY (bench, number)
) STRICT;

CREATE TABLE imported_verdict_runs (
    bench  TEXT NOT NULL,
    number INTEGER NOT NULL,
    run    INTEGER NOT NULL REFERENCES runs (number),
    PRIMARY KEY (run, bench, number),
    FOREIGN KEY (bench, number) REFERENCES imported_verdicts (bench, number)
) STRICT;
