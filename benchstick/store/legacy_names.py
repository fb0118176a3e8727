"""Names that older programs stored: typed fields of results, and keys of JSON documents.

Only migrations 017 and 018 and bundles of version 1 use it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from typing import Any

from benchstick.plan.quantity import Metric, Quantity, Statistic

_PARTS = re.compile(
    r"(?P<test>.*?)"
    r"(?: (?P<words>IOPS|MB/s|latency|time|seconds|consistency|written)"
    r"(?: (?P<statistic>mean|min|max|stdev)| p(?P<percentile>\d+(?:\.\d+)?))?"
    r"(?: (?P<part>by second|from \d+ s|of the .*|until half|with a latency above .*))?)?"
)
_METRICS = {
    "IOPS": Metric.IOPS, "MB/s": Metric.SPEED, "latency": Metric.LATENCY, "time": Metric.TIME,
    "seconds": Metric.SECONDS, "consistency": Metric.CONSISTENCY, "written": Metric.BYTES_WRITTEN,
}  # fmt: skip
_BY_UNIT = {"points": Metric.SCORE, "%": Metric.SHARE, "GB": Metric.SIZE, "s": Metric.TIME}


def fields_of_name(name: str, unit: str) -> dict[str, Any]:
    """`test`, `direction` and the fields of the quantity of a result, from its name and unit."""
    match = _PARTS.fullmatch(name)
    assert match is not None, "the test may be any text"
    test, words = match["test"], match["words"]
    metric = _METRICS[words] if words else _BY_UNIT.get(unit, Metric.SPEED)
    percentile = float(match["percentile"]) if match["percentile"] else None
    statistic = Statistic(match["statistic"]) if match["statistic"] else None
    if percentile is not None:
        statistic = Statistic.PERCENTILE
    last = test.rpartition(" ")[2]
    direction = last if last in ("read", "write", "mix") else None
    quantity = Quantity(metric, statistic, percentile, match["part"])
    return {"test": test, "direction": direction, **quantity.to_json()}


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
