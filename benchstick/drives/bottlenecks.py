"""Finds what limits a drive's connection (link speed, UAS, TRIM) in its facts. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# The value of a fact by its name, None where it is not known.
Values = Callable[[str], Any]

CODES = ("usb_link", "usb_driver", "sata_link", "pcie_link", "trim")
# More than any fact has; neither NaN nor infinity is below it.
_MOST = 1 << 64


@dataclass(frozen=True)
class Worse:
    """One thing that this connection limits.

    `code` is one of `CODES`. `values` has the facts that show it, by name and in their units
    (Mb/s, GT/s, lanes, bytes).
    """

    code: str
    text: str
    values: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """One entry of `bottlenecks` of a drive in the `benchstick/drives/2` document."""
        return {"code": self.code, "text": self.text, "values": dict(self.values)}


def find_worse(value: Values) -> list[Worse]:
    """What limits the connection of the drive with these facts; empty when nothing does."""
    return [*_usb(value), *_sata(value), *_pcie(value), *_trim(value)]


def of_json(drive: Mapping[str, Any]) -> list[Worse]:
    """As `find_worse`, from a drive's JSON of any program version or bench."""

    def value(name: str) -> Any:
        fact = drive.get(name)
        return fact.get("value") if isinstance(fact, Mapping) else None

    return find_worse(value)


def put_into(drive: dict[str, Any]) -> None:
    """Set `bottlenecks` in a drive's JSON from its facts: records of older programs have none, and
    that of another bench need not match its facts."""
    drive["bottlenecks"] = [item.to_json() for item in of_json(drive)]


def gigabits(megabits: float) -> str:
    """`10 Gb/s`, `480 Mb/s`, `1.5 Gb/s`."""
    if megabits < 1000:
        return f"{megabits:g} Mb/s"
    return f"{megabits / 1000:g} Gb/s"


def _usb(value: Values) -> Iterator[Worse]:
    values = _numbers(value, "usb_speed", "usb_capable_speed")
    if values and values["usb_capable_speed"] > values["usb_speed"]:
        now, best = values.values()
        yield Worse("usb_link", _describe_link(gigabits(best), gigabits(now)), values)
    # Known only where UAS is offered and another driver is bound.
    reason = value("driver_why")
    if reason:
        driver_facts = {"driver": value("driver"), "driver_why": reason}
        yield Worse("usb_driver", f"no UASP: {reason}", driver_facts)


def _sata(value: Values) -> Iterator[Worse]:
    values = _numbers(value, "sata_speed", "sata_capable_speed")
    if not values or values["sata_capable_speed"] <= values["sata_speed"]:
        return
    now, best = values.values()
    text = _describe_link(f"SATA {gigabits(best)}", gigabits(now))
    limit = _numbers(value, "sata_port_limit")
    if limit and limit["sata_port_limit"] < best:
        text += f" (the port's limit is {gigabits(limit['sata_port_limit'])})"
        values |= limit
    yield Worse("sata_link", text, values)


def _pcie(value: Values) -> Iterator[Worse]:
    values = _numbers(value, "pcie_speed", "pcie_width", "pcie_capable_speed", "pcie_capable_width")
    if not values:
        return
    speed, width, best, widest = values.values()
    if best > speed or widest > width:
        text = _describe_link(f"PCIe {best:g} GT/s x{widest:g}", f"{speed:g} GT/s x{width:g}")
        yield Worse("pcie_link", text, values)


def _trim(value: Values) -> Iterator[Worse]:
    usable = _numbers(value, "trim_kernel")
    if not value("trim") or not usable or usable["trim_kernel"]:
        return
    text = "the drive supports TRIM, but the kernel does not use it"
    values = {"trim": value("trim"), **usable}
    mode = value("provisioning_mode")
    if mode:
        text += f" (provisioning mode {mode})"
        values["provisioning_mode"] = mode
    yield Worse("trim", text, values)


def _describe_link(best: str, now: str) -> str:
    return f"the drive can do {best}, the link runs at {now}"


def _numbers(value: Values, *names: str) -> dict[str, Any]:
    """The facts by these names; none of them where one is not a number, as in another's record."""
    values = {name: value(name) for name in names}
    is_known = all(
        isinstance(item, int | float) and not isinstance(item, bool) and abs(item) <= _MOST
        for item in values.values()
    )
    return values if is_known else {}
