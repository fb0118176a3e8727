"""Measurement: fio, the sampler of block counters, the per-second log, the page cache."""
