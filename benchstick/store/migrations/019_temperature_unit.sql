-- The unit of temperatures is °C in every document. Older programs stored it as C.
-- `with_celsius` replaces it (store/legacy_units.py).
UPDATE runs SET drive_json = with_celsius(drive_json), result_json = with_celsius(result_json)
    WHERE with_celsius(drive_json) <> drive_json OR with_celsius(result_json) <> result_json;
UPDATE steps SET detail_json = with_celsius(detail_json)
    WHERE with_celsius(detail_json) <> detail_json;
UPDATE verdicts SET verdict_json = with_celsius(verdict_json)
    WHERE with_celsius(verdict_json) <> verdict_json;
UPDATE imported_verdicts SET verdict_json = with_celsius(verdict_json)
    WHERE with_celsius(verdict_json) <> verdict_json;
UPDATE drive_scans SET drives_json = with_celsius(drives_json);
