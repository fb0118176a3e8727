-- What recipes said of drives, one row a test; a drive that was tested again has one for each time.
CREATE TABLE verdicts (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    recipe       TEXT NOT NULL,
    drive_key    TEXT NOT NULL,
    drive_code   TEXT NOT NULL,
    verdict      TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'inconclusive')),
    exit_code    INTEGER NOT NULL,
    why          TEXT,
    begun_utc    TEXT NOT NULL,
    ended_utc    TEXT NOT NULL,
    verdict_json TEXT NOT NULL                 -- the benchstick/verdict/1 document
) STRICT;
CREATE INDEX verdicts_by_drive ON verdicts (drive_key, number);
CREATE TABLE verdict_runs (
    verdict INTEGER NOT NULL REFERENCES verdicts (number),
    run     INTEGER NOT NULL REFERENCES runs (number),
    PRIMARY KEY (verdict, run)
) STRICT;
CREATE INDEX verdict_runs_by_run ON verdict_runs (run);
