"""What a run will do, as data: steps, plans, file-set manifests, units, errors. No I/O here."""
