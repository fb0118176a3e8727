"""The test conditions of a run, as rows for the result page. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchstick.plan.units import binary_text, duration_text, size_text
from benchstick.reports import formatting


@dataclass(frozen=True)
class Row:
    """One row: a name, a state for its tag (or None), a sentence."""

    name: str
    state: str | None
    text: str


def rows(run: Mapping[str, Any]) -> Iterator[Row]:
    """Verdicts, counters, target, link, host: what shows whether a result is valid."""
    result = run["result"] or {}
    names = set()
    for verdict in result.get("verdicts") or []:
        names.add(verdict["name"])
        yield Row(str(verdict["name"]), verdict.get("state"), str(verdict.get("text") or ""))
    if "Counters" not in names:
        counters = _counters(run)
        if counters is not None:
            yield counters
    yield Row("Target", None, _target(run))
    yield Row("Link", None, " · ".join(formatting.link_line(run["drive"])))
    for row in _conditions(run):
        if row.name not in names:
            yield row


def deviation(result: Mapping[str, Any]) -> float | None:
    """How far the drive's counters are from the tool's total, as a share; None where not kept."""
    detail = result.get("detail") or {}
    counters = detail.get("counters")
    totals = detail.get("totals") or _copy_totals(result)
    if not isinstance(counters, Mapping) or not isinstance(totals, Mapping):
        return None
    deviations = []
    for side in ("read_bytes", "write_bytes"):
        tool, device = totals.get(side), counters.get(side)
        if isinstance(tool, int | float) and isinstance(device, int | float) and tool > 0:
            deviations.append((device - tool) / tool)
    return max(deviations, key=abs, default=None)


def _copy_totals(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a copy moved, in its direction."""
    moved = (result.get("detail") or {}).get("bytes")
    if not isinstance(moved, int):
        return None
    return {f"{result.get('direction')}_bytes": moved}


def _counters(run: Mapping[str, Any]) -> Row | None:
    passes = [result for result in run["results"] if result["unit"] == "MB/s" and result["pass"]]
    if not passes:
        return None
    bad = [result for result in passes if result["state"] == "invalid"]
    if bad:
        text = f"{len(bad)} of {len(passes)} passes, see below: {bad[0]['reason']}"
        return Row("Results", "invalid", text)
    deviations = [share for result in passes if (share := deviation(result)) is not None]
    if not deviations:
        subject = "the pass was" if len(passes) == 1 else f"all {len(passes)} passes were"
        text = f"{subject} checked against the drive"
        return Row("Counters", "agree", text)
    worst = max(deviations, key=abs)
    text = f"drive counters and fio agree within {abs(worst) * 100:.2g} %"
    return Row("Counters", "agree", text)


def _target(run: Mapping[str, Any]) -> str:
    targets = sorted({result["target"] for result in run["results"]})
    if targets:
        return ", ".join(targets)
    plan = run["plan"]
    if plan["target"] == "block":
        return str(plan["target"])
    return f"file, filesystem {plan['fs']}"


def _in_force(text: Any) -> str:
    """The one in brackets of `[none] mq-deadline`."""
    match = re.search(r"\[([^]]+)\]", str(text))
    return match[1] if match else str(text)


def _filesystem(filesystem: Mapping[str, Any]) -> str:
    place = filesystem.get("path") or filesystem.get("device")
    parts = [f"{filesystem.get('fs')} on {place}"]
    if isinstance(filesystem.get("size"), int):
        parts.append(size_text(filesystem["size"]))
    if isinstance(filesystem.get("cluster"), int):
        parts.append(f"clusters of {binary_text(filesystem['cluster'])}")
    return " · ".join(parts)


def _purge(purge: Mapping[str, Any]) -> str:
    """How the drive was purged (`engine.steps.sanitize`), and what was read back."""
    rest = {name: item for name, item in purge.items() if name not in _PURGE_PARTS}
    parts = [str(purge[name]) for name in ("rung", "tool") if purge.get(name)]
    seconds = purge.get("seconds")
    if isinstance(seconds, int | float):
        long = seconds >= 60
        parts.append(duration_text(seconds) if long else formatting.value_with_unit(seconds, "s"))
    if purge.get("tool_output"):
        parts.append(str(purge["tool_output"]))
    if purge.get("read_back"):
        parts.append(f"read back: {purge['read_back']}")
    return " · ".join([*parts, *([formatting.condition(rest)] if rest else [])])


# The page shows the command with its step, and the request with the parameters.
_PURGE_PARTS = frozenset(
    {"rung", "tool", "seconds", "tool_output", "read_back", "command", "requested_rung"}
)
_HOST_PARTS = (
    ("cpu", ""),
    ("ram", ""),
    ("kernel", "Linux "),
    ("fio", ""),
    ("smartctl", ""),
    ("nvme", ""),
    ("hdparm", ""),
    ("governor", ""),
)
# What the head of the page, the verdicts or the rows above show already.
_SHOWN_ELSEWHERE = frozenset({"host", "drive", "target", "notes", "sets", "scale", "sampler"})


def _queue(settings: Mapping[str, Any]) -> str:
    """The block layer's settings (`engine.host_settings`) in words."""
    parts = []
    if "scheduler" in settings:
        parts.append(f"scheduler {_in_force(settings['scheduler'])}")
    if "nr_requests" in settings:
        parts.append(f"kernel queue size {settings['nr_requests']}")
    if str(settings.get("max_sectors_kb", "")).isdigit():
        size = binary_text(int(settings["max_sectors_kb"]) * 1024)
        parts.append(f"requests of at most {size}")
    if "write_cache" in settings:
        parts.append(f"write cache: {settings['write_cache']}")
    return " · ".join(parts)


def _conditions(run: Mapping[str, Any]) -> Iterator[Row]:
    """The host in one line, then every other condition as recorded."""
    conditions = run["conditions"] or {}
    host = conditions.get("host")
    if isinstance(host, Mapping):
        facts = dict(host)
        if isinstance(host.get("ram"), int):
            facts["ram"] = f"{size_text(host['ram'])} RAM"
        if host.get("governor"):
            facts["governor"] = f"governor {host['governor']}"
        parts = [f"{before}{facts[name]}" for name, before in _HOST_PARTS if facts.get(name)]
        yield Row("Host", None, " · ".join(parts))
    for name, value in conditions.items():
        if name in _SHOWN_ELSEWHERE:
            continue
        if name == "alongside":
            others = ", ".join(f"run {number}" for number in value)
            yield Row("Alongside", None, others or "no other run")
            continue
        if name == "queue" and isinstance(value, Mapping):
            value = _queue(value)
        if name == "filesystem" and isinstance(value, Mapping):
            yield Row("Filesystem", None, _filesystem(value))
            continue
        if name == "purge" and isinstance(value, Mapping):
            value = _purge(value)
        if name == "filled" and isinstance(value, Mapping):
            yield Row("Filled before the run", None, formatting.condition(value))
            continue
        if value not in (None, "", [], {}):
            yield Row(formatting.fact_title(str(name)), None, formatting.condition(value))
