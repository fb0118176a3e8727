-- The steps of a plan get the fields by which the suites select them: part, and those of a skipped
-- test. `with_step_fields` adds them (store/legacy_names.py).
UPDATE runs SET plan_json = with_step_fields(plan_json)
    WHERE suite IN ('sweep', 'sustained', 'asssd', 'atto');
