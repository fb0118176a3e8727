-- The bench's slots as the agent has them now.
CREATE TABLE slots (
    place       INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    state       TEXT NOT NULL CHECK (state IN
                    ('empty', 'here', 'countdown', 'stopped', 'testing', 'done')),
    drive_key   TEXT,
    code        TEXT,
    model       TEXT,
    until       REAL,       -- Unix time
    verdict     INTEGER,
    word        TEXT,
    said        TEXT,
    utc         TEXT NOT NULL
) STRICT;
