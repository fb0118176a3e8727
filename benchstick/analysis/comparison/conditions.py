"""The test conditions of a run, each as one text, and which of them differ between runs.

Where runs differ here, their results depend on the port, the filesystem or the settings as much as
on the drives. Pure functions of run documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchstick.plan.units import KIB, MIB, binary_text, size_text

Json = Mapping[str, Any]
NOT_KNOWN = "not known"
_LONGEST = 300


def one_line(text: Any, longest: int) -> str:
    """The text in one line of at most `longest` characters, without control and direction
    characters: it may come from a drive or from another bench."""
    clean_text = "".join(sign if sign.isprintable() else " " for sign in str(text))
    folded = " ".join(clean_text.split())
    return folded if len(folded) <= longest else f"{folded[: longest - 1]}…"


def _part(value: Any, *names: str) -> Any:
    """The value at `names` in nested objects, None where one of them is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _fact(run: Json, name: str) -> Any:
    """A fact as stored with the run, otherwise as the drive reported it at the start of the run."""
    value = _part(run, "conditions", "drive", name, "value")
    return _part(run, "drive", name, "value") if value is None else value


def _target(run: Json) -> Any:
    target = _part(run, "conditions", "target")
    if target is not None:
        return target
    targets = {result["target"] for result in run["results"]}
    return ", ".join(sorted(targets)) or _part(run, "plan", "target")


def _filesystem(run: Json) -> Any:
    if _part(run, "plan", "target") == "block":
        return "none, the raw drive"
    return _part(run, "conditions", "filesystem", "fs") or _part(run, "plan", "fs")


def _rate(megabits: Any) -> str:
    return f"{megabits / 1000:g} Gb/s" if megabits >= 1000 else f"{megabits:g} Mb/s"


def _link(run: Json) -> Any:
    for bus in ("usb", "sata"):
        rate = _fact(run, f"{bus}_speed")
        if isinstance(rate, int | float):
            return f"{bus.upper()} {_rate(rate)}"
    rate, width = _fact(run, "pcie_speed"), _fact(run, "pcie_width")
    if rate is not None:
        return f"PCIe {rate} GT/s x{width}"
    return _fact(run, "transport")


_DRIVERS = {"usb-uas": "UASP", "usb-bot": "BOT"}


def _driver(run: Json) -> Any:
    transport, driver = _fact(run, "transport"), _fact(run, "driver")
    parts = [_DRIVERS.get(str(transport), transport), driver and f"driver {driver}"]
    return ", ".join(str(item) for item in parts if item) or None


def _state(run: Json) -> Any:
    return _part(run, "conditions", "state") or _part(run, "conditions", "drive_state")


def _scale(run: Json) -> Any:
    scale = _part(run, "plan", "scale")
    if scale is None:
        return "whole (1)"
    return f"{scale:g}" if isinstance(scale, int | float) else scale


def _sets(run: Json) -> Any:
    sets = _part(run, "plan", "sets")
    parts = [
        f"{item.get('name')} {size_text(item['bytes'])}"
        for item in (sets if isinstance(sets, list) else ())
        if isinstance(item, Mapping) and isinstance(item.get("bytes"), int)
    ]
    return ", ".join(parts) or "none"


def _host(run: Json) -> Any:
    host = _part(run, "conditions", "host")
    if not isinstance(host, Mapping):
        return None
    ram = host.get("ram")
    parts = [host.get("cpu"), f"{size_text(ram)} RAM" if isinstance(ram, int) else None]
    return ", ".join(str(item) for item in parts if item) or None


def _version(name: str) -> Callable[[Json], Any]:
    return lambda run: _part(run, "conditions", "host", name)


def _alongside(run: Json) -> Any:
    entries = _part(run, "conditions", "alongside")
    if not isinstance(entries, list):
        return entries
    return "; ".join(str(item) for item in entries) or "nothing"


# Name in the document, title for people, how a run's text is found.
_CONDITIONS: tuple[tuple[str, str, Callable[[Json], Any]], ...] = (
    ("target", "Target", _target),
    ("filesystem", "Filesystem", _filesystem),
    ("link", "Link", _link),
    ("driver", "Driver", _driver),
    ("queue_depth", "Queue depth", lambda run: _fact(run, "queue_depth")),
    ("state", "State of the drive", _state),
    ("scale", "Scale", _scale),
    ("sets", "File sets", _sets),
    ("host", "Host", _host),
    ("controller", "Controller", lambda run: _part(run, "conditions", "controller") or None),
    ("governor", "Governor", _version("governor")),
    ("scheduler", "Scheduler", lambda run: _part(run, "conditions", "queue", "scheduler")),
    ("alongside", "Ran alongside", _alongside),
    ("kernel", "Kernel", _version("kernel")),
    ("fio", "fio", _version("fio")),
    ("benchstick", "Benchstick", _version("benchstick")),
)


def _text(value: Any) -> str:
    if value is None or value == "":
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    # Among parameters only sizes are so large and so even.
    if isinstance(value, int) and value >= MIB and value % (4 * KIB) == 0:
        return binary_text(value)
    return one_line(value, _LONGEST) or NOT_KNOWN


def conditions_of(run: Json) -> Iterator[tuple[str, str, str]]:
    """(name, title, text) of each condition of a run document; its parameters come last."""
    for name, title, find in _CONDITIONS:
        yield name, title, _text(find(run))
    params = _part(run, "plan", "params")
    for name, value in params.items() if isinstance(params, Mapping) else ():
        yield f"param.{name}", f"Parameter {name}", _text(value)


def differing(runs: Sequence[Json]) -> list[dict[str, Any]]:
    """The conditions that are not the same in all `runs`, with each run's value.

    `[{"name", "title", "values": [{"run", "text"}]}]`; a condition that a run does not record is
    `not known` there, and differs from a known one.
    """
    titles: dict[str, str] = {}
    tables: list[dict[str, str]] = []
    for run in runs:
        table = {}
        for name, title, text in conditions_of(run):
            titles.setdefault(name, title)
            table[name] = text
        tables.append(table)
    differences = []
    for name, title in titles.items():
        texts = [table.get(name, NOT_KNOWN) for table in tables]
        if len(set(texts)) > 1:
            values = [
                {"run": run["number"], "text": text} for run, text in zip(runs, texts, strict=True)
            ]
            differences.append({"name": name, "title": title, "values": values})
    return differences
