-- Results have typed fields: a result is found by them, never by a part of its name.
-- `legacy_field` reads the names that older programs stored (store/legacy_names.py).
ALTER TABLE figures ADD COLUMN test TEXT NOT NULL DEFAULT '';
ALTER TABLE figures ADD COLUMN direction TEXT;         -- read, write, mix; NULL: none
ALTER TABLE figures ADD COLUMN metric TEXT NOT NULL DEFAULT '';
ALTER TABLE figures ADD COLUMN statistic TEXT;         -- mean, min, max, stdev, percentile
ALTER TABLE figures ADD COLUMN percentile REAL;
ALTER TABLE figures ADD COLUMN part TEXT;              -- NULL: of the whole test
UPDATE figures SET
    test = legacy_field(name, unit, 'test'),
    direction = legacy_field(name, unit, 'direction'),
    metric = legacy_field(name, unit, 'metric'),
    statistic = legacy_field(name, unit, 'statistic'),
    percentile = legacy_field(name, unit, 'percentile'),
    part = legacy_field(name, unit, 'part');
