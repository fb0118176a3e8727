"""The names that an uploaded recipe may have, and how long any recipe may be."""

from __future__ import annotations

import re

from benchstick.errors import BadInput

MOST_BYTES = 64 << 10
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
