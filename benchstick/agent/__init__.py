"""The agent: the process that owns the drives, with its worker, run queue, scanner and webhook."""
