-- One drive may have several identities: behind another bridge it has another serial or none, in
-- another port another place. The operator's label joins them, so several may have the same one.
CREATE TABLE labels_before AS SELECT * FROM labels;
DROP TABLE labels;
CREATE TABLE labels (
    identity    TEXT PRIMARY KEY,
    label       TEXT NOT NULL,
    created_utc TEXT NOT NULL
) STRICT;
INSERT INTO labels (identity, label, created_utc)
    SELECT identity, label, created_utc FROM labels_before;
DROP TABLE labels_before;
CREATE INDEX labels_by_label ON labels (label);
-- Who carries a queue out: NULL the agent, else the lock of the command that does so itself.
ALTER TABLE queues ADD COLUMN owner TEXT;
