"""Comparison of runs: rank, differing conditions, overlaid series."""
