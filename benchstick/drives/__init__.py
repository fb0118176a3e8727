"""Drives: which are plugged in, how they are connected, whether they may be written."""
