"""Recipes that were uploaded in the page. Written by the web process and not trusted: a
test parses its recipe again."""

from __future__ import annotations

import sqlite3
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.recipe_names import check_name
from benchstick.store.database import transaction, utc_now

MOST = 200


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
