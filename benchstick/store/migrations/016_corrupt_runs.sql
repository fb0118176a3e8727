-- A run whose drive returned other data than was written to it has a state of its own, and its
-- findings. SQLite cannot change a CHECK, so the table is copied to one that takes its name. Foreign
-- keys are off during migrations.
CREATE TABLE runs_made (
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
                      ('running', 'done', 'corrupt', 'failed', 'cancelled', 'interrupted', 'refused')),
    exit_code       INTEGER,
    why             TEXT,
    request         INTEGER,
    created_utc     TEXT NOT NULL,
    ended_utc       TEXT,
    seconds         REAL,
    corrupt_json    TEXT                       -- the findings, as they are made; NULL: none
) STRICT;
-- Until now such a run ended as done, cancelled, ..., with an event: what that event says is its
-- finding.
INSERT INTO runs_made
    SELECT before.*, (
        SELECT json_group_array(json_object(
            'step', 0, 'name', 'compare', 'set', NULL, 'pass', NULL, 'files', 0,
            'differences', json('[]'), 'text', text))
        FROM (SELECT text FROM events WHERE run = before.number AND kind = 'data-differ' ORDER BY id)
        HAVING count(*) > 0)
    FROM runs AS before ORDER BY number;
DROP TABLE runs;
ALTER TABLE runs_made RENAME TO runs;
UPDATE runs SET
    why = 'data corrupt: compare: ' || json_extract(corrupt_json, '$[0].text')
        || CASE json_array_length(corrupt_json) WHEN 1 THEN ''
           ELSE ' (and ' || (json_array_length(corrupt_json) - 1) || ' more comparisons)' END
        || CASE WHEN state = 'done' THEN '' ELSE '; then ' || state || coalesce(': ' || why, '') END,
    exit_code = CASE WHEN exit_code IN (130, 70, 6, 3) THEN exit_code ELSE 4 END,
    state = 'corrupt'
    WHERE corrupt_json IS NOT NULL AND state <> 'running';
CREATE INDEX runs_by_drive ON runs (drive_key, number);
CREATE INDEX runs_by_suite
    ON runs (suite, practice, number, drive_model, drive_code, state, created_utc, uuid);
CREATE INDEX runs_running ON runs (number) WHERE state = 'running';
CREATE INDEX runs_by_kind ON runs (practice, number);
CREATE INDEX runs_done_of_drive ON runs (drive_key, suite, number) WHERE state = 'done';
