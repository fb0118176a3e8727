"""What the figures of a run rest on, as rows for the result page. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchstick.plan.units import binary_text, duration_text, size_text
from webui import present
from webui.words import N_, _, ngettext


@dataclass(frozen=True)
class Row:
    """One row: a name, a state for its tag (or None), a sentence."""

    name: str
    state: str | None
    text: str


def rows(run: Mapping[str, Any]) -> Iterator[Row]:
    """Verdicts, counters, target, link, host: what somebody asks before believing a figure."""
    result = run["result"] or {}
    names = set()
    for verdict in result.get("verdicts") or []:
        names.add(verdict["name"])
        yield Row(str(verdict["name"]), verdict.get("state"), str(verdict.get("text") or ""))
    if "Counters" not in names:
        counters = _counters(run)
        if counters is not None:
            yield counters
    yield Row(N_("Target"), None, _target(run))
    yield Row(N_("Link"), None, " · ".join(present.link_line(run["drive"])))
    for row in _conditions(run):
        if row.name not in names:
            yield row


def deviation(figure: Mapping[str, Any]) -> float | None:
    """How far the drive's counters are from the tool's total, as a share; None where not kept."""
    detail = figure.get("detail") or {}
    counters = detail.get("counters")
    totals = detail.get("totals") or _copy_totals(figure)
    if not isinstance(counters, Mapping) or not isinstance(totals, Mapping):
        return None
    deviations = []
    for side in ("read_bytes", "write_bytes"):
        tool, device = totals.get(side), counters.get(side)
        if isinstance(tool, int | float) and isinstance(device, int | float) and tool > 0:
            deviations.append((device - tool) / tool)
    return max(deviations, key=abs, default=None)


def _copy_totals(figure: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a copy moved, on the side that its name tells."""
    moved = (figure.get("detail") or {}).get("bytes")
    if not isinstance(moved, int):
        return None
    return {f"{str(figure['name']).rsplit(' ', 1)[-1]}_bytes": moved}


def _counters(run: Mapping[str, Any]) -> Row | None:
    passes = [figure for figure in run["figures"] if figure["unit"] == "MB/s" and figure["pass"]]
    if not passes:
        return None
    bad = [figure for figure in passes if figure["state"] == "invalid"]
    if bad:
        text = _(
            "%(count)s of %(total)s passes, see below: %(why)s",
            count=len(bad),
            total=len(passes),
            why=bad[0]["why"],
        )
        return Row(N_("Figures"), "invalid", text)
    deviations = [share for figure in passes if (share := deviation(figure)) is not None]
    if not deviations:
        text = ngettext(
            "the pass was checked against the drive",
            "all %(num)s passes were checked against the drive",
            len(passes),
        )
        return Row(N_("Counters"), "agree", text)
    worst = max(deviations, key=abs)
    text = _("device and tool within %(share)s %%", share=f"{abs(worst) * 100:.2g}")
    return Row(N_("Counters"), "agree", text)


def _target(run: Mapping[str, Any]) -> str:
    targets = sorted({figure["target"] for figure in run["figures"]})
    if targets:
        return ", ".join(targets)
    plan = run["plan"]
    if plan["target"] == "block":
        return str(plan["target"])
    return _("file, filesystem %(fs)s", fs=plan["fs"])


def _in_force(text: Any) -> str:
    """The one in brackets of `[none] mq-deadline`."""
    match = re.search(r"\[([^]]+)\]", str(text))
    return match[1] if match else str(text)


def _filesystem(filesystem: Mapping[str, Any]) -> str:
    place = filesystem.get("path") or filesystem.get("device")
    parts = [_("%(fs)s on %(place)s", fs=filesystem.get("fs"), place=place)]
    if isinstance(filesystem.get("size"), int):
        parts.append(size_text(filesystem["size"]))
    if isinstance(filesystem.get("cluster"), int):
        parts.append(_("clusters of %(size)s", size=binary_text(filesystem["cluster"])))
    return " · ".join(parts)


def _purge(purge: Mapping[str, Any]) -> str:
    """How the drive was purged (`engine.purge.do_purge`), and what was found behind it."""
    rest = {name: item for name, item in purge.items() if name not in _PURGE_TOLD}
    parts = [str(purge[name]) for name in ("rung", "tool") if purge.get(name)]
    seconds = purge.get("seconds")
    if isinstance(seconds, int | float):
        long = seconds >= 60
        parts.append(duration_text(seconds) if long else present.value_with_unit(seconds, "s"))
    if purge.get("told"):
        parts.append(str(purge["told"]))
    if purge.get("read back"):
        parts.append(_("read back: %(found)s", found=purge["read back"]))
    return " · ".join([*parts, *([present.condition(rest)] if rest else [])])


# The command stands with its step, what was asked for with the parameters.
_PURGE_TOLD = frozenset({"rung", "tool", "seconds", "told", "read back", "command", "asked"})
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
# What the head of the page, the verdicts or the rows above tell already.
_TOLD = frozenset({"host", "drive", "target", "notes", "sets", "scale", "sampler"})


def _queue(settings: Mapping[str, Any]) -> str:
    """The block layer's settings (`engine.host.queue_settings`) in words."""
    parts = []
    if "scheduler" in settings:
        parts.append(_("scheduler %(name)s", name=_in_force(settings["scheduler"])))
    if "nr_requests" in settings:
        parts.append(_("the kernel keeps %(number)s requests", number=settings["nr_requests"]))
    if str(settings.get("max_sectors_kb", "")).isdigit():
        size = binary_text(int(settings["max_sectors_kb"]) * 1024)
        parts.append(_("requests of at most %(size)s", size=size))
    if "write_cache" in settings:
        parts.append(_("write cache: %(mode)s", mode=settings["write_cache"]))
    return " · ".join(parts)


def _conditions(run: Mapping[str, Any]) -> Iterator[Row]:
    """The host in one line, then every other condition as it was kept."""
    conditions = run["conditions"] or {}
    host = conditions.get("host")
    if isinstance(host, Mapping):
        facts = dict(host)
        if isinstance(host.get("ram"), int):
            facts["ram"] = _("%(size)s RAM", size=size_text(host["ram"]))
        if host.get("governor"):
            facts["governor"] = _("governor %(name)s", name=host["governor"])
        parts = [f"{before}{facts[name]}" for name, before in _HOST_PARTS if facts.get(name)]
        yield Row(N_("Host"), None, " · ".join(parts))
    for name, value in conditions.items():
        if name in _TOLD:
            continue
        if name == "alongside":
            others = ", ".join(_("run %(number)s", number=number) for number in value)
            yield Row(N_("Alongside"), None, others or _("no other run"))
            continue
        if name == "queue" and isinstance(value, Mapping):
            value = _queue(value)
        if name == "filesystem" and isinstance(value, Mapping):
            yield Row(N_("Filesystem"), None, _filesystem(value))
            continue
        if name == "purge" and isinstance(value, Mapping):
            value = _purge(value)
        if name == "filled" and isinstance(value, Mapping):
            yield Row(N_("Filled before the run"), None, present.condition(value))
            continue
        if value not in (None, "", [], {}):
            yield Row(present.fact_title(str(name)), None, present.condition(value))
