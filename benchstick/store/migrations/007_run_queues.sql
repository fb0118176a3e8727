-- Queues: several suites for one drive, one after the other. The agent's own; a queue's number is
-- that of the request for it. What each entry asks for stays in the request.
CREATE TABLE queues (
    number      INTEGER PRIMARY KEY REFERENCES requests (id),
    drive_key   TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('open', 'done', 'stopped', 'cancelled')),
    why         TEXT,
    ended_utc   TEXT
) STRICT;
CREATE TABLE queue_entries (
    queue         INTEGER NOT NULL REFERENCES queues (number),
    place         INTEGER NOT NULL,
    state         TEXT NOT NULL CHECK (state IN
                    ('waiting', 'started', 'taken_out', 'not_started', 'refused')),
    run           INTEGER REFERENCES runs (number),  -- once it has begun; what became of it is there
    why           TEXT,
    PRIMARY KEY (queue, place)
) STRICT;
CREATE INDEX queue_entries_by_run ON queue_entries (run);
