"""Runs plans on drives: runner, fio, copier, sampler, recovery."""
