"""Drives: what is plugged in, how it is connected, may it be written, how it is prepared."""
