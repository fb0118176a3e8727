-- Verdicts that came with imported runs, by the bench that gave them and their number there. They
-- are not among the bench's own and have no number here.
CREATE TABLE imported_verdicts (
    bench        TEXT NOT NULL,
    number       INTEGER NOT NULL,
    verdict_json TEXT NOT NULL,                -- the benchstick/verdict/1 document, as it was there
    PRIMARY KEY (bench, number)
) STRICT;
CREATE TABLE imported_verdict_runs (
    bench   TEXT NOT NULL,
    number  INTEGER NOT NULL,
    run     INTEGER NOT NULL REFERENCES runs (number),
    PRIMARY KEY (run, bench, number),
    FOREIGN KEY (bench, number) REFERENCES imported_verdicts (bench, number)
) STRICT;
