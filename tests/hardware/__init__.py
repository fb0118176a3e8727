"""Recorded drives; see README.md here."""
