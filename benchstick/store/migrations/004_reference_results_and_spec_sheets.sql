-- Figures measured elsewhere or published, shown beside measured ones in comparisons. The web process
-- may write this table and the next.
CREATE TABLE reference_figures (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    drive       TEXT NOT NULL,
    suite       TEXT NOT NULL,
    figure      TEXT NOT NULL,
    value       REAL NOT NULL,
    unit        TEXT NOT NULL,
    source      TEXT NOT NULL,
    created_utc TEXT NOT NULL,
    UNIQUE (suite, figure, unit, drive, source)
) STRICT;

-- What makers claim of a model, matched to drives by `pattern`.
CREATE TABLE model_sheets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    pattern     TEXT NOT NULL,                 -- of a drive's model, as in a shell, any case
    sheet_json  TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;

-- The runs that one may be compared with. All that is shown of them is in it: in the table it lies
-- behind long columns.
CREATE INDEX runs_by_suite
    ON runs (suite, practice, number, drive_model, drive_code, state, created_utc, uuid);
