"""Where a drive could be connected better than it is. Pure: it looks at facts, and asks nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# The value of a fact by its name, None where it is not known.
Values = Callable[[str], Any]

CODES = ("usb_link", "usb_driver", "sata_link", "pcie_link", "trim")
_LINK = "the drive can do %(best)s, the link runs at %(now)s"
_PORT = "the drive can do %(best)s, the link runs at %(now)s (the port's limit is %(limit)s)"
_DRIVER = "no UASP: %(why)s"
_TRIM = "the drive says that it takes TRIM, but the kernel does not use it"
_MODE = (
    "the drive says that it takes TRIM, but the kernel does not use it (provisioning mode %(mode)s)"
)
# More than any fact has; neither NaN nor infinity is below it.
_MOST = 1 << 64
# All that `Worse.sentence` may be: the page has each in its catalogue.
SENTENCES = (_LINK, _PORT, _DRIVER, _TRIM, _MODE)


@dataclass(frozen=True)
class Worse:
    """One thing that this connection gives away.

    `code` is one of `CODES`, `sentence` of `SENTENCES`; `shown` is what is put into the sentence,
    with units. `values` has the facts that it rests on, by the facts' own names and in their units
    (Mb/s, GT/s, lanes, bytes).
    """

    code: str
    sentence: str
    shown: Mapping[str, str]
    values: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The sentence in English."""
        return self.sentence % self.shown

    def to_json(self) -> dict[str, Any]:
        """One entry of `worse` of a drive in the `benchstick/drives/1` document."""
        return {"code": self.code, "text": self.text, "values": dict(self.values)}


def find_worse(value: Values) -> list[Worse]:
    """What the connection of the drive with these facts gives away; empty where nothing."""
    return [*_usb(value), *_sata(value), *_pcie(value), *_trim(value)]


def of_json(drive: Mapping[str, Any]) -> list[Worse]:
    """The same of a drive's JSON, whatever program or bench wrote it."""

    def value(name: str) -> Any:
        fact = drive.get(name)
        return fact.get("value") if isinstance(fact, Mapping) else None

    return find_worse(value)


def put_into(drive: dict[str, Any]) -> None:
    """Give a drive's JSON its `worse`, whatever it had: records of older programs have none, and
    that of another bench need not be what its facts say."""
    drive["worse"] = [item.to_json() for item in of_json(drive)]


def gigabits(megabits: float) -> str:
    """`10 Gb/s`, `480 Mb/s`, `1.5 Gb/s`."""
    if megabits < 1000:
        return f"{megabits:g} Mb/s"
    return f"{megabits / 1000:g} Gb/s"


def _usb(value: Values) -> Iterator[Worse]:
    values = _numbers(value, "usb_speed", "usb_capable_speed")
    if values and values["usb_capable_speed"] > values["usb_speed"]:
        now, best = values.values()
        texts = {"best": gigabits(best), "now": gigabits(now)}
        yield Worse("usb_link", _LINK, texts, values)
    # Known only where UAS is offered and another driver is bound.
    why = value("driver_why")
    if why:
        driver_facts = {"driver": value("driver"), "driver_why": why}
        yield Worse("usb_driver", _DRIVER, {"why": str(why)}, driver_facts)


def _sata(value: Values) -> Iterator[Worse]:
    values = _numbers(value, "sata_speed", "sata_capable_speed")
    if not values or values["sata_capable_speed"] <= values["sata_speed"]:
        return
    now, best = values.values()
    texts = {"best": f"SATA {gigabits(best)}", "now": gigabits(now)}
    limit = _numbers(value, "sata_port_limit")
    if limit and limit["sata_port_limit"] < best:
        texts["limit"] = gigabits(limit["sata_port_limit"])
        yield Worse("sata_link", _PORT, texts, {**values, **limit})
    else:
        yield Worse("sata_link", _LINK, texts, values)


def _pcie(value: Values) -> Iterator[Worse]:
    values = _numbers(value, "pcie_speed", "pcie_width", "pcie_capable_speed", "pcie_capable_width")
    if not values:
        return
    speed, width, best, widest = values.values()
    if best > speed or widest > width:
        texts = {"best": f"PCIe {best:g} GT/s x{widest:g}", "now": f"{speed:g} GT/s x{width:g}"}
        yield Worse("pcie_link", _LINK, texts, values)


def _trim(value: Values) -> Iterator[Worse]:
    usable = _numbers(value, "trim_kernel")
    if not value("trim") or not usable or usable["trim_kernel"]:
        return
    values = {"trim": value("trim"), **usable}
    mode = value("provisioning_mode")
    if mode:
        texts = {"mode": str(mode)}
        yield Worse("trim", _MODE, texts, {**values, "provisioning_mode": mode})
    else:
        yield Worse("trim", _TRIM, {}, values)


def _numbers(value: Values, *names: str) -> dict[str, Any]:
    """The facts by these names; none of them where one is not a number, as in another's record."""
    values = {name: value(name) for name in names}
    is_known = all(
        isinstance(item, int | float) and not isinstance(item, bool) and abs(item) <= _MOST
        for item in values.values()
    )
    return values if is_known else {}
