-- What every page asks for, with 10 000 runs and more: the columns that these look at lie behind long
-- ones in the table, so without an index each row's whole text is passed over.
CREATE INDEX runs_running ON runs (number) WHERE state = 'running';
CREATE INDEX runs_by_kind ON runs (practice, number);
CREATE INDEX runs_done_of_drive ON runs (drive_key, suite, number) WHERE state = 'done';
