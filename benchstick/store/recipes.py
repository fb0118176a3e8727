"""Recipes that were uploaded in the page. Written by the web process and not trusted: a
test parses its recipe again."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

from benchstick.errors import BadInput
from benchstick.store.database import transaction, utc_now

MOST, MOST_BYTES = 200, 64 << 10
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


def check_name(name: str) -> str:
    """The name of a recipe: letters, digits, dots, hyphens, in lower case. BadInput."""
    if not NAME.fullmatch(name) or name.endswith(".toml"):
        raise BadInput(
            f"name: {name[:60]!r} is no recipe's name: 1 to 60 of a-z, 0-9, dots, hyphens and "
            "underscores, without .toml at its end",
            field="name",
        )
    return name


def save(db: sqlite3.Connection, name: str, text: str) -> None:
    """Keep a recipe; one of the same name is replaced. BadInput when there are too many."""
    with transaction(db):
        db.execute("DELETE FROM recipes WHERE name = ?", (check_name(name),))
        if db.execute("SELECT count(*) FROM recipes").fetchone()[0] >= MOST:
            raise BadInput(f"name: there are {MOST} recipes already; remove some", field="name")
        db.execute(
            "INSERT INTO recipes (name, text, created_utc) VALUES (?, ?, ?)",
            (name, text, utc_now()),
        )


def remove(db: sqlite3.Connection, name: str) -> bool:
    """Remove a recipe; whether it was there."""
    with transaction(db):
        return bool(db.execute("DELETE FROM recipes WHERE name = ?", (name,)).rowcount)


def text_of(db: sqlite3.Connection, name: str) -> str | None:
    """The text of a recipe, None when there is none of this name."""
    row = db.execute("SELECT text FROM recipes WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row["text"])


def list_recipes(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Name and time of each, by name."""
    rows = db.execute("SELECT name, created_utc FROM recipes ORDER BY name")
    return [dict(row) for row in rows]
