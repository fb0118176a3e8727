"""Names that older programs stored: typed fields of results and steps, and keys of JSON documents.

Only migrations 017, 018 and 020 and bundles use it.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from benchstick.errors import BadInput
from benchstick.plan.quantity import read_name
from benchstick.plan.units import parse_size


def fields_of_name(name: str, unit: str) -> dict[str, Any]:
    """`test`, `direction` and the fields of the quantity of a result, from its name and unit."""
    key = read_name(name, unit)
    last = key.test.rpartition(" ")[2]
    direction = last if last in ("read", "write", "mix") else None
    return {"direction": direction, **key.to_json()}


# ---- fields of steps, which migration 020 and the import of bundles add

_WAYS = ("write", "read")
# Fields of steps that the first plans have only in the step's test.
_STEP_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "fio": {"part": ""},
    "skip": {"direction": None, "part": "", "block": 0, "set_name": ""},
}


def with_step_fields(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A stored plan whose steps have all fields by which the suites select them."""
    read_fields = _READERS.get(str(plan.get("suite")))
    if read_fields is None:
        return dict(plan)
    steps = []
    for step in plan["steps"]:
        fields = _STEP_FIELDS.get(step["kind"], {})
        is_old = bool(fields.keys() - step.keys())
        steps.append({**step, **fields, **read_fields(step)} if is_old else step)
    return {**plan, "steps": steps}


def without_step_fields(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan as older programs stored it: digests of bundles are over these."""
    steps = [
        {key: step[key] for key in step.keys() - _STEP_FIELDS.get(step["kind"], {}).keys()}
        for step in plan["steps"]
    ]
    return {**plan, "steps": steps}


def _fields_of_sweep(step: Mapping[str, Any]) -> dict[str, Any]:
    """Of `fob RND4K Q1T1 read`."""
    first = str(step.get("test")).partition(" ")[0]
    return {"part": first} if first in ("fob", "steady") else {}


def _fields_of_sustained(step: Mapping[str, Any]) -> dict[str, Any]:
    """Of `part 1 of 20` and `burst after 30 s`."""
    first = str(step.get("test")).partition(" ")[0]
    return {"part": {"part": "fill", "burst": "burst"}.get(first, "")}


def _fields_of_asssd(step: Mapping[str, Any]) -> dict[str, Any]:
    """Of `4K-64Thrd write`, and of the skipped `ISO copy`."""
    head, _, last = str(step.get("test")).rpartition(" ")
    if last in _WAYS:
        return {"part": head} | ({"direction": last} if step["kind"] == "skip" else {})
    return {"set_name": head} if step["kind"] == "skip" else {}


def _fields_of_atto(step: Mapping[str, Any]) -> dict[str, Any]:
    """Of the skipped `512 B write`."""
    head, _, last = str(step.get("test")).rpartition(" ")
    with contextlib.suppress(BadInput):
        if step["kind"] == "skip" and last in _WAYS:
            return {"block": parse_size(head, "size"), "direction": last}
    return {}


_READERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "sweep": _fields_of_sweep,
    "sustained": _fields_of_sustained,
    "asssd": _fields_of_asssd,
    "atto": _fields_of_atto,
}


# ---- keys of JSON documents, which migration 018 and the import of bundles of version 1 rename

# (kind of the document, path in it, old key, new key). `**` in a path is any number of keys; the
# items of a list have the path of the list.
_KEYS: tuple[tuple[str, str, str, str], ...] = (
    ("drive", "**", "why", "reason"),
    ("drive", "", "worse", "bottlenecks"),
    ("drive", "identity", "key", "drive_key"),
    ("plan", "", "departs", "deviations"),
    ("plan", "", "ends_early", "may_end_early"),
    ("plan", "steps", "why", "reason"),
    ("plan", "steps", "made", "drive_state"),
    ("plan", "steps", "asked", "requested_rung"),
    ("conditions", "**", "why", "reason"),
    ("conditions", "purge", "asked", "requested_rung"),
    ("conditions", "purge", "told", "tool_output"),
    ("conditions", "purge", "read back", "read_back"),
    ("result", "**", "why", "reason"),
    ("step detail", "**", "why", "reason"),
    ("step detail", "", "asked", "requested_rung"),
    ("step detail", "", "told", "tool_output"),
    ("step detail", "", "read back", "read_back"),
    ("result detail", "**", "why", "reason"),
    ("result detail", "", "source_why", "source_reason"),
    ("result detail", "queue", "asked", "requested"),
    ("finding", "", "step", "step_index"),
    ("finding", "differences", "what", "description"),
    ("sheet", "claims", "figure", "result"),
    ("request", "", "identity_key", "drive_key"),
    ("request", "", "place", "position"),
    ("verdict", "", "why", "reason"),
    ("verdict", "", "begun_utc", "started_utc"),
    ("verdict", "", "earlier", "previous_attempts"),
    ("verdict", "", "after", "post_action"),
    ("verdict", "drive", "key", "drive_key"),
    ("verdict", "runs", "why", "reason"),
    ("verdict", "earlier", "why", "reason"),
    ("verdict", "earlier", "begun_utc", "started_utc"),
    ("verdict", "after", "asked", "action"),
    ("verdict", "after", "done", "is_done"),
    ("verdict", "after", "why", "reason"),
    ("verdict", "limits", "what", "description"),
    ("verdict", "limits", "wanted", "required"),
    ("verdict", "limits", "within", "tolerance_percent"),
    ("verdict", "limits", "by", "shortfall"),
    ("verdict", "limits", "by_percent", "shortfall_percent"),
    ("run", "", "why", "reason"),
    ("run", "", "figures", "results"),
    ("run", "steps", "index", "step_index"),
    ("run", "steps", "why", "reason"),
    ("run", "steps", "artefacts", "artifacts"),
    ("run", "figures", "why", "reason"),
    ("run", "temperatures", "step", "step_index"),
    ("run", "temperatures", "why", "reason"),
)
# Parts of documents that are documents of another kind.
_DOCUMENTS_IN: Mapping[str, Mapping[str, str]] = {
    "run": {
        "drive": "drive", "plan": "plan", "conditions": "conditions", "result": "result",
        "corrupt": "finding", "steps.detail": "step detail", "figures.detail": "result detail",
    },
    "drives": {"drives": "drive"},
}  # fmt: skip


# Stored documents that have a schema: `benchstick/KIND/1`, today `benchstick/KIND/2`.
_WITH_SCHEMA = frozenset({"plan", "drives", "verdict"})


class _Renaming:
    """The keys to rename in documents of one kind, by the path in a document of version 1."""

    def __init__(self, kind: str, *, back: bool) -> None:
        self.back = back
        self.everywhere: dict[str, str] = {}
        self.by_path: dict[str, dict[str, str]] = {}
        for of_kind, path, old, new in _KEYS:
            if of_kind == kind:
                keys = self.everywhere if path == "**" else self.by_path.setdefault(path, {})
                keys.update({new: old} if back else {old: new})
        schemas = (f"benchstick/{kind}/1", f"benchstick/{kind}/2")
        self.old_schema, self.schema = reversed(schemas) if back else schemas
        self.has_schema = kind in _WITH_SCHEMA
        self.parts = _DOCUMENTS_IN.get(kind, {})

    def rename(self, value: Any, path: str = "") -> Any:
        if isinstance(value, list):
            return [self.rename(item, path) for item in value]
        if not isinstance(value, dict):
            return value
        names = {**self.everywhere, **self.by_path.get(path, {})}
        document = {}
        for key, item in value.items():
            name = names.get(key, key)
            below = ".".join(filter(None, (path, name if self.back else key)))
            part = self.parts.get(below)
            document[name] = (
                _renaming(part, self.back).rename(item) if part else self.rename(item, below)
            )
        if self.has_schema and not path and document.get("schema") == self.old_schema:
            document["schema"] = self.schema
        return document


@functools.cache
def _renaming(kind: str, back: bool) -> _Renaming:
    return _Renaming(kind, back=back)


def rename_keys(kind: str, document: Any) -> Any:
    """A document of version 1 with the keys of version 2. `kind` is one of `_KEYS`."""
    return _renaming(kind, False).rename(document)


def old_keys(kind: str, document: Any) -> Any:
    """A document of version 2 with the keys of version 1: digests of bundles are over these."""
    return _renaming(kind, True).rename(document)


def rename_in_text(kind: str, text: str | None) -> str | None:
    """`rename_keys` for JSON as text: what is no JSON object or list stays as it is."""
    if text is None:
        return None
    try:
        document = json.loads(text)
    except ValueError:
        return text
    return json.dumps(rename_keys(kind, document))
