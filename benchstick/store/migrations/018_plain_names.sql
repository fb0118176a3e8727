-- Tables, columns and keys get the names that the API has: one concept has one name.
-- `rename_keys` renames the keys of a JSON document of the given kind (store/legacy_names.py).
ALTER TABLE figures RENAME TO results;
ALTER TABLE results RENAME COLUMN why TO reason;
DROP INDEX figures_by_run;
CREATE INDEX results_by_run ON results (run);
ALTER TABLE reference_figures RENAME TO reference_results;
ALTER TABLE reference_results RENAME COLUMN figure TO result;
ALTER TABLE model_sheets RENAME TO spec_sheets;
ALTER TABLE drives_seen RENAME TO drive_scans;
ALTER TABLE desk RENAME TO scanner_status;
ALTER TABLE scanner_status RENAME COLUMN scanner TO status;
ALTER TABLE runs RENAME COLUMN why TO reason;
ALTER TABLE steps RENAME COLUMN idx TO step_index;
ALTER TABLE steps RENAME COLUMN why TO reason;
ALTER TABLE steps RENAME COLUMN artefacts TO artifacts;
ALTER TABLE samples RENAME COLUMN step TO step_index;
ALTER TABLE temperatures RENAME COLUMN step TO step_index;
ALTER TABLE temperatures RENAME COLUMN why TO reason;
ALTER TABLE labels RENAME COLUMN identity TO drive_key;
ALTER TABLE purges RENAME COLUMN step TO step_index;
ALTER TABLE purges RENAME COLUMN why TO reason;
ALTER TABLE purges RENAME COLUMN begun_utc TO started_utc;
ALTER TABLE queues RENAME COLUMN why TO reason;
ALTER TABLE queue_entries RENAME COLUMN place TO position;
ALTER TABLE queue_entries RENAME COLUMN why TO reason;
ALTER TABLE verdicts RENAME COLUMN why TO reason;
ALTER TABLE verdicts RENAME COLUMN begun_utc TO started_utc;
ALTER TABLE outbox RENAME COLUMN why TO reason;
ALTER TABLE outbox RENAME COLUMN tries TO attempts;
ALTER TABLE outbox RENAME COLUMN tried_utc TO attempted_utc;
ALTER TABLE scans RENAME COLUMN at_utc TO scanned_utc;
ALTER TABLE scans RENAME COLUMN taken TO assigned_to;
ALTER TABLE slots RENAME COLUMN place TO position;
ALTER TABLE slots RENAME COLUMN verdict TO verdict_number;
ALTER TABLE slots RENAME COLUMN word TO verdict;
ALTER TABLE slots RENAME COLUMN said TO message;

UPDATE runs SET
    drive_json = rename_keys('drive', drive_json),
    plan_json = rename_keys('plan', plan_json),
    conditions_json = rename_keys('conditions', conditions_json),
    result_json = rename_keys('result', result_json),
    corrupt_json = rename_keys('finding', corrupt_json);
UPDATE steps SET detail_json = rename_keys('step detail', detail_json);
UPDATE results SET detail_json = rename_keys('result detail', detail_json);
UPDATE drive_scans SET drives_json = rename_keys('drives', drives_json);
UPDATE spec_sheets SET sheet_json = rename_keys('sheet', sheet_json);
UPDATE requests SET body_json = rename_keys('request', body_json);
UPDATE verdicts SET verdict_json = rename_keys('verdict', verdict_json);
UPDATE imported_verdicts SET verdict_json = rename_keys('verdict', verdict_json);
-- Messages in the outbox are sent as they were written.
