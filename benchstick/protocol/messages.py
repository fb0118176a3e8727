"""The types of the answers: plain values that can be sent to another process.

Answers that the API returns as they are stay documents, under their schema's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.drive_key import DriveKey
from benchstick.plan.result import Result
from benchstick.plan.states import RunState

Document = dict[str, Any]


# ---- runs


@dataclass(frozen=True)
class RunningRun:
    """A run in progress."""

    number: int
    suite: str
    drive_key: DriveKey
    drive_model: str


@dataclass(frozen=True)
class RunEntry:
    """One run in a list. `state` is the state to show, `label` today's label of its drive,
    `headline` its main results, empty before it has any."""

    number: int
    uuid: str
    suite: str
    practice: bool
    drive_key: DriveKey
    drive_code: str
    drive_model: str
    state: RunState
    exit_code: int | None
    reason: str | None
    created_utc: str
    ended_utc: str | None
    seconds: float | None
    headline: Sequence[Document]
    label: str | None
    imported: bool


@dataclass(frozen=True)
class OtherRun:
    """A run that can be added to a comparison."""

    number: int
    drive_model: str
    drive_code: str
    state: str
    created_utc: str


@dataclass(frozen=True)
class StoredRun:
    """A run: its `benchstick/run/2` document with the state to show, and its results as typed
    values, in the order measured."""

    document: Document
    results: Sequence[Result]


@dataclass(frozen=True)
class RunBundle:
    """A run as a bundle, a zip file, and the run's UUID."""

    uuid: str
    data: bytes


# ---- drives


@dataclass(frozen=True)
class Scan:
    """The agent's last scan: its UTC time, None before any, the drives with today's labels, and the
    links that several of them share, the narrowest first (`shared` of the `benchstick/drives/2`
    document)."""

    utc: str | None
    drives: list[Document]
    shared: list[Document]


@dataclass(frozen=True)
class DriveHistory:
    """How many runs a drive has, and the last of them."""

    runs: int
    last: RunEntry


@dataclass(frozen=True)
class DriveRecord:
    """What the bench has on a drive: the sheet of its model with its results, the keys that its
    label combines, how many runs there are, the last of them, and the last temperature of any."""

    spec_sheet: Document | None
    identities: Sequence[DriveKey]
    runs: int
    history: Sequence[RunEntry]
    last_temperature: Document | None


# ---- requests


@dataclass(frozen=True)
class WaitingRequest:
    """A request for a run that the agent has not answered."""

    id: int
    created_utc: str


# ---- sign-in


@dataclass(frozen=True)
class Session:
    """A signed-in browser: the hash of its cookie, and its token against forged requests."""

    hash: str
    csrf: str


@dataclass(frozen=True)
class NewSession:
    """A session that was just opened: the cookie's value, its token against forged requests, and
    how many seconds it lasts."""

    secret: str
    csrf: str
    seconds: int


@dataclass(frozen=True)
class Token:
    """A token without its secret, which is not stored. `used_utc` is exact to the hour, `is_noted`:
    it is of this hour."""

    name: str
    created_utc: str
    used_utc: str | None
    is_noted: bool


class NameTaken(BadInput):
    """There is a token of this name already."""


# ---- the status


@dataclass(frozen=True)
class Status:
    """The bench's own UUID, the numbers of its running runs, the time of the last scan, and whether
    an agent runs."""

    bench: str
    running: Sequence[int]
    scanned_utc: str | None
    agent: bool
