"""Who may write through the page: sessions of browsers and tokens of scripts.

Only hashes are kept: who reads the store cannot take over a session.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import sqlite3
import time
from dataclasses import dataclass

from benchstick.errors import BadInput
from benchstick.store.database import transaction, utc_now

SESSION_SECONDS = 7 * 24 * 3600
# Long enough never to be typed by chance, short enough not to be a load: 256 bits are 43 letters.
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")


def new_secret() -> str:
    """256 random bits as text."""
    return secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    """What the store keeps of a secret. A random secret of 256 bits needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8")).hexdigest()


def open_session(db: sqlite3.Connection) -> str:
    """Add a session and forget expired ones. Returns the cookie's value."""
    secret = new_secret()
    with transaction(db):
        db.execute("DELETE FROM sessions WHERE expires < ?", (time.time(),))
        db.execute(
            "INSERT INTO sessions (hash, csrf, created_utc, expires) VALUES (?, ?, ?, ?)",
            (hash_of(secret), new_secret(), utc_now(), time.time() + SESSION_SECONDS),
        )
    return secret


def find_session(db: sqlite3.Connection, secret: str) -> sqlite3.Row | None:
    """`hash` and `csrf` of the session that this cookie's value opens; None when there is none or
    it expired."""
    if not _SECRET.fullmatch(secret):
        return None
    row: sqlite3.Row | None = db.execute(
        "SELECT hash, csrf FROM sessions WHERE hash = ? AND expires >= ?",
        (hash_of(secret), time.time()),
    ).fetchone()
    return row


def keep_sessions(db: sqlite3.Connection, seconds: float) -> None:
    """The clock was moved by `seconds`: nobody is signed out by that. The agent's to call."""
    with transaction(db):
        db.execute("UPDATE sessions SET expires = expires + ?", (seconds,))


def close_session(db: sqlite3.Connection, session_hash: str) -> None:
    """Sign out."""
    with transaction(db):
        db.execute("DELETE FROM sessions WHERE hash = ?", (session_hash,))


class NameTaken(BadInput):
    """There is a token of this name already."""


@dataclass(frozen=True)
class Token:
    """A token without its secret, which is not stored. `used_utc` is exact to the hour."""

    name: str
    created_utc: str
    used_utc: str | None


def new_token(
    db: sqlite3.Connection, name: str, *, replace: bool = True, field: str = "new-token"
) -> str:
    """Add a bearer token for scripts, called `name`; one of the same name is replaced.

    Returns the token, which cannot be read again later. BadInput naming `field` for a
    bad name; with `replace` False NameTaken for one that is in use.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"token name {name!r}: letters, digits, spaces, dots, hyphens; up to 64", field=field
        )
    secret = new_secret()
    with transaction(db):
        row = db.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)).fetchone()
        if row is not None and not replace:
            raise NameTaken(
                f"{name}: there is a token of this name; revoke it first, or take another name",
                field=field,
            )
        db.execute("DELETE FROM tokens WHERE name = ?", (name,))
        db.execute(
            "INSERT INTO tokens (hash, name, created_utc) VALUES (?, ?, ?)",
            (hash_of(secret), name, utc_now()),
        )
    return secret


def find_token(db: sqlite3.Connection, secret: str) -> Token | None:
    """The token that this secret is; None when it is not one."""
    if not _SECRET.fullmatch(secret):
        return None
    row = db.execute(
        "SELECT name, created_utc, used_utc FROM tokens WHERE hash = ?", (hash_of(secret),)
    ).fetchone()
    return None if row is None else Token(*row)


def tokens(db: sqlite3.Connection) -> list[Token]:
    """All tokens by name."""
    rows = db.execute("SELECT name, created_utc, used_utc FROM tokens ORDER BY name")
    return [Token(*row) for row in rows]


def is_noted(token: Token) -> bool:
    """Whether the token's use in this hour is written down."""
    return token.used_utc is not None and token.used_utc[:13] == utc_now()[:13]


def note_use(db: sqlite3.Connection, name: str) -> None:
    """Write down that the token is used in this hour."""
    hour = f"{utc_now()[:13]}:00:00.000Z"
    with transaction(db):
        db.execute("UPDATE tokens SET used_utc = ? WHERE name = ?", (hour, name))


def revoke_token(db: sqlite3.Connection, name: str) -> bool:
    """Make the token worthless. False when there is none of this name."""
    with transaction(db):
        count = db.execute("DELETE FROM tokens WHERE name = ?", (name,)).rowcount
    return count > 0
