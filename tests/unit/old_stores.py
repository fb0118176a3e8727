"""Stores as older programs made them."""

from __future__ import annotations

import pytest

from benchstick.store import database


def as_version(patch: pytest.MonkeyPatch, version: int) -> None:
    """While `patch` lasts, the program knows only the first `version` migrations, and makes a new
    store from these."""
    scripts = database.migrations()[:version]
    patch.setattr(database, "migrations", lambda: scripts)
    patch.setattr(database, "schema", lambda: "\n".join(scripts))
