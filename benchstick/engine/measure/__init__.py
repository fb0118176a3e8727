"""Measurement: fio, the sampler of block-layer counters, the per-second log, the page cache."""
