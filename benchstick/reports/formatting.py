"""How values are shown: numbers, times, facts. Pure functions, used by reports and by templates."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.drives import bottlenecks
from benchstick.drives.fact_catalogue import CATALOGUE, Group
from benchstick.plan.states import (
    EntryState,
    FoldingState,
    GuardState,
    LimitState,
    QueueingState,
    QueueState,
    RequestState,
    RunState,
    SlotState,
    SlowDownState,
    SteadyStatus,
    Validity,
    Verdict,
)
from benchstick.plan.units import CELSIUS, duration_text, size_text
from benchstick.reports.content import Table
from benchstick.suites.cdm import GridRow

# Recorded states, kinds and sources that the page shows in other words.
_SHOWN_AS = {
    RunState.CORRUPT: "data corrupt",
    SlotState.HERE: "not tested",
    EntryState.TAKEN_OUT: "removed",
    EntryState.NOT_STARTED: "not started",
    "asset": "asset tag",
    "serial": "serial number",
    "scanner": "the bench's scanner",
    "page": "this page",
}
# Between the thousands: narrow and not broken over lines.
_THIN = "\u202f"


def word(state: object) -> str:
    """A recorded state, kind or source as the page shows it."""
    return _SHOWN_AS.get(str(state), str(state))


def capacity(count: Any) -> str:
    """Bytes as a drive's box says it: `1 TB`, `500 GB`, `8.59 GB`."""
    if not isinstance(count, int | float):
        return "–"
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        # 999.9 GB is sold as 1 TB.
        if count >= 0.9995 * factor:
            return f"{count / factor:.3g} {unit}"
    return size_text(count)


def number(value: Any, digits: int = 1) -> str:
    """`57 739`, `1061.4`; a dash for nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}f}"
    whole, _, rest = text.partition(".")
    if len(whole) > 5:
        whole = whole.replace(",", _THIN)
    return whole.replace(",", "") + (f".{rest}" if rest else "")


def speed(value: Any) -> str:
    """MB/s as CrystalDiskMark shows it; two digits behind the point below 10."""
    small = isinstance(value, int | float) and abs(value) < 10
    return number(value, 2 if small else 1)


def latency(us: Any) -> str:
    """Microseconds, as milliseconds from 1000: `146 µs`, `7.9 ms`."""
    if not isinstance(us, int | float) or not math.isfinite(us):
        return "–"
    if us < 1000:
        return f"{number(us, 0 if us >= 100 else 1)} µs"
    return f"{number(us / 1000, 1)} ms"


def value_with_unit(value: Any, unit: str | None) -> str:
    """Any value or fact for people: bytes in GB, Mb/s in Gb/s, lists with commas."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(value_with_unit(item, unit) for item in value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_with_unit(item, None)}" for key, item in value.items())
    if not isinstance(value, int | float):
        return f"{value} {unit}" if unit else str(value)
    if not math.isfinite(value):
        return "–"
    if unit == "B":
        return size_text(value) if value >= 100_000 else f"{number(value, 0)} B"
    if unit == "Mb/s":
        return bottlenecks.gigabits(value)
    if unit == CELSIUS:
        return f"{value:g} °C"
    if unit == "us":
        return latency(value)
    text = number(value, 0) if float(value).is_integer() else f"{value:.4g}"
    return f"{text} {unit}" if unit else text


def parse_utc(text: str | None) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def utc(text: str | None) -> str:
    """`2026-01-31 12:00 UTC`."""
    when = parse_utc(text)
    return when.strftime("%Y-%m-%d %H:%M UTC") if when else "–"


def ago(text: str | None, now: datetime.datetime | None = None) -> str:
    """`4 min ago`; a time in the future (a clock was set) is shown as the time itself."""
    when = parse_utc(text)
    if when is None:
        return "–"
    seconds = ((now or datetime.datetime.now(datetime.UTC)) - when).total_seconds()
    if seconds < -60:
        return utc(text)
    for limit, size, unit in ((90, 1, "s"), (5400, 60, "min"), (129600, 3600, "h")):
        if seconds < limit:
            return f"{max(0, round(seconds / size))} {unit} ago"
    # At least two: up to 36 hours are shown as hours.
    return f"{round(seconds / 86400)} days ago"


def clock(seconds: Any) -> str:
    """Seconds of a run's clock as `1:02:03` or `2:03`."""
    if not isinstance(seconds, int | float):
        return "–"
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"


def fact(drive: Mapping[str, Any], name: str) -> Any:
    """The value of a drive's fact, None where it is not known."""
    entry = drive.get(name)
    return entry.get("value") if isinstance(entry, Mapping) else None


def why_not(drive: Mapping[str, Any], name: str) -> str:
    """Why a fact is not known."""
    entry = drive.get(name)
    if not isinstance(entry, Mapping):
        return "not read"
    return str(entry.get("reason") or "not reported")


def drive_title(drive: Mapping[str, Any]) -> str:
    """The drive's name on a card: its label, else its model."""
    return str(drive.get("label") or drive["identity"]["model"] or drive["name"])


def is_practice(drive: Mapping[str, Any]) -> bool:
    return bool(fact(drive, "transport") == "virtual")


def link_line(drive: Mapping[str, Any]) -> list[str]:
    """`USB 10 Gb/s`, `UASP`, `queue 30`, `TRIM yes`: how the drive is really connected."""
    transport = fact(drive, "transport")
    line = [_connection(drive, transport)]
    if transport in ("usb-uas", "usb-bot"):
        line.append("UASP" if transport == "usb-uas" else "BOT")
    depth = fact(drive, "queue_depth")
    if depth is not None:
        ncq = transport == "sata" and depth != 1
        line.append(f"NCQ {depth}" if ncq else f"queue {depth}")
    trim, usable = fact(drive, "trim"), fact(drive, "trim_kernel")
    # Over USB the kernel often uses none although the drive offers it: then nothing is trimmed.
    if trim and usable == 0:
        line.append("TRIM offered, not used by the kernel")
    elif isinstance(trim, bool):
        line.append("TRIM yes" if trim or usable else "TRIM no")
    return line


def _connection(drive: Mapping[str, Any], transport: Any) -> str:
    if transport == "virtual":
        return "File on a loop device"
    if str(transport).startswith("usb"):
        rate = fact(drive, "usb_speed")
        return f"USB {value_with_unit(rate, 'Mb/s')}" if rate else "USB, speed not known"
    if transport == "sata":
        rate = fact(drive, "sata_speed")
        return f"SATA {value_with_unit(rate, 'Mb/s')}" if rate else "SATA, speed not known"
    if transport == "nvme":
        link = pcie_link(drive, "pcie")
        return f"NVMe · {link}" if link else "NVMe"
    return {"mmc": "SD/MMC", "scsi": "SCSI", "virtio": "virtio"}.get(str(transport), str(transport))


def worse_than_possible(drive: Mapping[str, Any]) -> str | None:
    """A sentence when the connection limits the drive, None when not. It is computed from the
    facts: records of older versions have no `bottlenecks`, and that of another bench is not
    verified."""
    problems = [item.text for item in bottlenecks.of_json(drive)]
    if not problems:
        return None
    return (
        f"Not running at full speed: {'; '.join(problems)}. Results will be limited by the "
        "connection, not the drive."
    )


def pcie_link(drive: Mapping[str, Any], prefix: str) -> str | None:
    """`PCIe 16 GT/s x4` from the facts `<prefix>_speed` and `<prefix>_width`."""
    rate, width = fact(drive, f"{prefix}_speed"), fact(drive, f"{prefix}_width")
    if rate is None or width is None:
        return None
    return f"PCIe {value_with_unit(rate, 'GT/s')} x{width}"


@dataclass(frozen=True)
class ShownFact:
    """One row of a drive's page. `lines` has the parts of a list, one a line."""

    title: str
    text: str | None
    source: str
    reason: str | None
    lines: tuple[str, ...] = ()


# Conditions of a run whose name does not say enough.
_CONDITION_TITLES = {"state": "State of the drive"}


def fact_title(name: str) -> str:
    """The title of a fact or condition; of one that this version does not know, its name."""
    if name in CATALOGUE:
        return CATALOGUE[name].title
    text = _CONDITION_TITLES.get(name, name.replace("_", " ").strip() or name)
    return text[0].upper() + text[1:]


def is_fact(value: Any) -> bool:
    return isinstance(value, Mapping) and "value" in value


# Facts that do not apply to this kind of drive: listed separately.
_OTHER_KIND = re.compile(r"not (on|an?) (USB|PCIe|ATA|SATA|SCSI|NVMe)\b")


def fact_groups(drive: Mapping[str, Any]) -> Iterator[tuple[str, list[ShownFact]]]:
    """A drive's facts in groups; those without a group come last, and at the very end, under
    `Does not apply`, those of other kinds of drives."""
    facts_by_group: dict[str, list[ShownFact]] = {group: [] for group in (*Group, "More")}
    apart: list[ShownFact] = []
    for name, value in drive.items():
        if not is_fact(value):
            continue
        group = CATALOGUE[name].group if name in CATALOGUE else "More"
        other = value["value"] is None and _OTHER_KIND.match(str(value.get("reason") or ""))
        (apart if other else facts_by_group[group]).append(_show_fact(name, value))
    # A card of its own shows the identity.
    del facts_by_group[Group.IDENTITY]
    for title, facts in facts_by_group.items():
        if facts:
            yield title, facts
    if apart:
        yield "Does not apply", apart


def _show_fact(name: str, entry: Mapping[str, Any]) -> ShownFact:
    if entry.get("value") is None:
        return ShownFact(fact_title(name), None, "", str(entry.get("reason") or "not reported"))
    value, source = entry["value"], str(entry.get("source") or "")
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return ShownFact(
            fact_title(name), "", source, None, tuple(_format_item(item) for item in value)
        )
    text = value_with_unit(value, entry.get("unit"))
    return ShownFact(fact_title(name), text, source, None)


def _format_item(item: Any) -> str:
    """One entry of a fact that is a list, as a filesystem: its known parts side by side."""
    if not isinstance(item, Mapping):
        return value_with_unit(item, None)
    parts = []
    for name, value in item.items():
        if value in (None, "") or name == "uuid":
            continue
        if name == "size":
            parts.append(capacity(value))
        elif name == "label":
            parts.append(f"label {value}")
        elif name == "mounted":
            parts.append(f"mounted on {value}")
        else:
            parts.append(str(value))
    return " · ".join(parts)


def condition(value: Any) -> str:
    """A condition in one line: facts with their unit or why, objects as `name value · ...`."""
    if is_fact(value):
        if value["value"] is None:
            return f"not known: {value.get('reason') or 'not reported'}"
        return value_with_unit(value["value"], value.get("unit"))
    if isinstance(value, Mapping):
        return " · ".join(
            f"{str(name).replace('_', ' ')} {condition(item)}" for name, item in value.items()
        )
    if isinstance(value, list):
        return "; ".join(condition(item) for item in value) or "none"
    return value_with_unit(value, None)


def place(identity: Mapping[str, Any], transport: Any) -> str:
    """Where a drive is plugged in, with the namespace of an NVMe drive, or the LUN of a drive that
    takes SCSI commands."""
    port, lun = identity["port"], identity["lun"]
    # A run of another bench may have any value there.
    if transport == "nvme" and isinstance(lun, int):
        return f"port {port}, namespace {lun + 1}"
    if transport in ("usb-uas", "usb-bot", "scsi") or lun:
        return f"port {port}, LUN {lun}"
    return f"port {port}"


def share(part: Any, whole: Any) -> float:
    """`part` of `whole` in percent, between 0 and 100; for bars."""
    if not isinstance(part, int | float) or not isinstance(whole, int | float) or whole <= 0:
        return 0.0
    return round(min(100.0, max(0.0, 100.0 * part / whole)), 2)


TAG_OF_STATE = {
    GuardState.FREE: "ok", GuardState.LOCKED: "lock", GuardState.PROTECTED: "bad",
    RunState.RUNNING: "run", RunState.COMPLETE: "ok", RunState.CORRUPT: "bad",
    RunState.FAILED: "bad", RunState.CANCELLED: "warn", RunState.INTERRUPTED: "warn",
    RunState.REFUSED: "bad", RunState.DAMAGED: "bad",
    Validity.SKIPPED: "warn", Validity.INVALID: "bad", Validity.VALID: "ok",
    QueueingState.WORKS: "ok", QueueingState.INEFFECTIVE: "warn", QueueingState.UNCLEAR: "warn",
    Verdict.PASS: "ok", Verdict.FAIL: "bad", Verdict.INCONCLUSIVE: "warn",
    LimitState.MET: "ok",
    SteadyStatus.REACHED: "ok", SteadyStatus.NOT_REACHED: "warn",
    SlowDownState.SLOWDOWN: "warn", SlowDownState.THROTTLING: "warn", FoldingState.LIKELY: "warn",
    RequestState.ACCEPTED: "run", QueueState.OPEN: "run", QueueState.STOPPED: "bad",
    EntryState.STARTING: "run",
    "agree": "ok", "differ": "bad",
}  # fmt: skip


def tag_of(state: Any) -> str:
    """The look of a state's tag."""
    return TAG_OF_STATE.get(str(state), "plain")


def share_text(percent: Any) -> str:
    """`12.3 %`; small shares with as many digits as they need: one request of a million counts."""
    if not isinstance(percent, int | float):
        return "–"
    if percent >= 1 or percent == 0:
        return f"{percent:.1f} %"
    return f"{percent:.4f} %" if percent >= 0.0001 else "< 0.0001 %"


@dataclass(frozen=True)
class ShownTable:
    """A table of a suite's result, its cells as people read them; `right`: columns of numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[int]


def table(raw_table: Mapping[str, Any]) -> ShownTable:
    """One of a result's `tables`, whose texts are those of the terminal, for the page."""
    columns = [unit_text(str(name)) for name in raw_table["columns"]]
    rows = [[cell_text(cell) for cell in row] for row in raw_table["rows"]]
    # The first column names the rows, with numbers as well.
    right = Table(rows, columns, texts=frozenset({0})).right()
    return ShownTable(str(raw_table.get("title") or ""), columns, rows, right)


def unit_text(text: str) -> str:
    """`latency us` as `latency µs`."""
    return re.sub(r"\bus\b", "µs", text)


def cell_text(cell: Any) -> str:
    """A cell of a result's table: a dash for nothing, thousands apart in large whole numbers."""
    if cell in (None, "-"):
        return "–"
    text = str(cell)
    return number(int(text), 0) if re.fullmatch(r"[0-9]{5,15}", text) else unit_text(text)


def headline_text(item: Mapping[str, Any]) -> tuple[str, str]:
    """The value of a headline and its unit, which is empty where the value includes it."""
    value, unit = item.get("value"), str(item.get("unit") or "")
    if unit == "MB/s":
        return speed(value), unit
    if unit == "s" and isinstance(value, int | float) and value >= 60:
        return duration_text(value), ""
    return number(value, 0 if unit in ("points", "IOPS") else 1), unit


def best_speed(grid: Sequence[GridRow]) -> float:
    """The largest MB/s of a grid; bars are drawn against it."""
    cells = [cell for row in grid for cell in row.cells.values()]
    speeds = [cell.speed.value for cell in cells if cell.speed.value is not None]
    return max(speeds, default=0.0)
