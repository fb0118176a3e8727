"""The axes of a chart: from values to places, their ticks, and how values are shown.

As the page draws them (`static/js/lines.js`): MB/s of bytes a second, µs to s, KiB and MiB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchstick.plan.units import CELSIUS

# Seconds between the ticks of a long time axis: whole ones, as the labels are.
_TIMES = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
# Where seconds are shown as h:mm:ss.
_LONG = 7200.0


@dataclass(frozen=True)
class Axis:
    """An axis from value `low` at place `start` to `high` at `end`; shown values are multiplied by
    `factor`. `log` is the base of a log axis, 0 of a linear one. `text` is a value (as the
    chart has it) as people read it."""

    label: str
    log: int
    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[tuple[float, str]]
    factor: float
    text: Callable[[float], str]

    def place(self, value: float) -> float:
        """Where `value` (as the chart has it) lies. A log axis has no 0: it is at its lower end."""
        value *= self.factor
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            part = (math.log(max(value, self.low)) - low) / (high - low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


@dataclass(frozen=True)
class Scale:
    """What an axis of the chart format means: the factor, the label, how a tick is written, and the
    unit behind values whose ticks have none."""

    label: str
    factor: float
    log: int
    tick: Callable[[float], str]
    unit: str

    def text(self, value: float) -> str:
        """A value (as the chart has it) with its unit."""
        return f"{self.tick(value * self.factor)} {self.unit}".rstrip()


def scale_of(axis: Any, *, long: bool = False) -> Scale:
    """How an axis of the chart format is shown. `long`: seconds as h:mm:ss."""
    label, unit = str(axis["label"]), str(axis["unit"])
    log = {"log": 10, "log2": 2}.get(str(axis["scale"]), 0)
    if unit == "s":
        return Scale("", 1.0, log, clock if long else lambda value: f"{_few(value)} s", "")
    by_unit: dict[str, tuple[str, float, Callable[[float], str]]] = {
        "B/s": ("MB/s", 1e-6, plain),
        "us": ("", 1.0, micros),
        "B": ("", 1.0, binary),
        CELSIUS: ("", 1.0, lambda value: f"{_few(value)} °C"),
        "%": ("", 1.0, lambda value: f"{_few(value)} %"),
        "": (label, 1.0, _few),
    }
    scale_label, factor, tick = by_unit.get(unit, (unit, 1.0, plain))
    return Scale(scale_label, factor, log, tick, scale_label if unit else "")


def x_axis(axis: Any, low: float, high: float, start: float, end: float, *, exact: bool) -> Axis:
    """The axis of x over `low` to `high` (as the chart has them); `exact`: no room at its ends."""
    scale = scale_of(axis, long=str(axis["unit"]) == "s" and high > _LONG)
    low, high = low * scale.factor, high * scale.factor
    if scale.log and low <= 0:
        # A log axis has no 0: ten doublings are shown.
        high = high if high > 0 else 1.0
        low = high / 1024
    if high <= low:
        low, high = (low / 2, low * 2) if scale.log and low > 0 else (low - 1, low + 1)
    if scale.log:
        low, high = low / 1.12, high * 1.12
        tick_values = doublings(low, high, (end - start) / 44)
    else:
        room = 0.0 if exact else (high - low) * 0.01
        low, high = low - room, high + room
        most = (end - start) / 64
        tick_values = times(low, high, most) if scale.tick is clock else steps(low, high, most)
        # Without a unit things are counted, as rounds: there is no half of one.
        if not str(axis["unit"]):
            tick_values = [value for value in tick_values if value.is_integer()]
    ticks = [(value, scale.tick(value)) for value in tick_values]
    return Axis(scale.label, scale.log, low, high, start, end, ticks, scale.factor, scale.text)


def y_axis(axis: Any, values: Sequence[float], start: float, end: float) -> Axis:
    """The axis of y that shows all `values` (as the chart has them)."""
    scale = scale_of(axis)
    scaled_values = [value * scale.factor for value in values]
    if scale.log:
        above = [value for value in scaled_values if value > 0]
        low, high = _log_ends(min(above), max(above)) if above else (1.0, 10.0)
        tick_values = decades(low, high)
    else:
        top = max([*scaled_values, 0.0])
        bottom = min([*scaled_values, 0.0])
        high = top * 1.08 if top > 0 else (0.0 if bottom < 0 else max(1.0, scale.factor))
        low = bottom * 1.08
        tick_values = steps(low, high, abs(end - start) / 36)
    ticks = [(value, scale.tick(value)) for value in tick_values]
    return Axis(scale.label, scale.log, low, high, start, end, ticks, scale.factor, scale.text)


def right_axis(axis: Any, values: Sequence[float], start: float, end: float) -> Axis:
    """The axis on the right, which mostly shows temperatures: around them, and not from 0."""
    scale = scale_of(axis)
    if str(axis["unit"]) != CELSIUS:
        return y_axis(axis, values, start, end)
    low = min(20.0, math.floor(min(values, default=20) / 10) * 10)
    high = max(60.0, math.ceil((max(values, default=55) + 5) / 10) * 10)
    ticks = [(value, scale.tick(value)) for value in steps(low, high, abs(end - start) / 36)]
    return Axis(scale.label, 0, low, high, start, end, ticks, scale.factor, scale.text)


def _log_ends(low: float, high: float) -> tuple[float, float]:
    low, high = round125(low * 0.97, -1), round125(high * 1.03, 1)
    # Less than a decade makes noise look like a fall.
    if high / low >= 10:
        return low, high
    return round125(low / 2, -1), round125(high * 2, 1)


# ---- ticks


def steps(low: float, high: float, most: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, about `most` of them."""
    raw = (high - low) / max(2.0, most)
    if not math.isfinite(raw) or raw <= 0:
        return []
    step = round125(raw, 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{at * step:.12g}") for at in range(first, last + 1)]


def times(low: float, high: float, most: float) -> list[float]:
    """Seconds as clocks show them from `low` to `high`, at most about `most` of them."""
    raw = (high - low) / max(2.0, most)
    step = next((time for time in _TIMES if time >= raw), 86400 * math.ceil(raw / 86400))
    return [float(at * step) for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Of a log axis: 1, 2 and 5 of each decade, the decades alone where that is too many."""
    each = (1,) if high / low > 2e3 else (1, 2, 5)
    values = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for part in each:
            value = float(f"{part * 10.0**power:.3g}")
            if low * 0.999999 <= value <= high * 1.000001:
                values.append(value)
    # Of a very long axis every other decade, or fewer.
    every = math.ceil(len(values) / 12) if len(each) == 1 else 1
    return values[::every]


def doublings(low: float, high: float, most: float) -> list[float]:
    """Powers of two from `low` to `high`, at most about `most` of them."""
    first, last = math.ceil(math.log2(low) - 1e-6), math.floor(math.log2(high) + 1e-6)
    every = max(1, math.ceil((last - first + 1) / max(1.0, most)))
    return [2.0**power for power in range(first, last + 1, every)]


def round125(value: float, side: int) -> float:
    """The nearest of 1, 2, 5, 10, ... not above (`side` -1) or not below (1) `value`, above 0."""
    power = 10.0 ** math.floor(math.log10(value))
    candidates = [float(f"{part * power:.3g}") for part in (1, 2, 5, 10)]
    if side < 0:
        return next(one for one in reversed(candidates) if one <= value * 1.000001)
    return next(candidate for candidate in candidates if candidate >= value * 0.999999)


# ---- how values are shown


def plain(value: float) -> str:
    """`12 000`, `450`, `1.5`."""
    if 10_000 <= abs(value) < 1e12:
        return f"{value:,.0f}".replace(",", "\u202f")
    return _few(value)


def _few(value: float) -> str:
    """Four digits, and no zeros behind them."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e12 else f"{value:.4g}"


def micros(value: float) -> str:
    """Microseconds in the unit that reads best."""
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if value >= factor:
            return f"{_few(value / factor)} {unit}"
    return f"{_few(value)} µs"


def binary(value: float) -> str:
    """Bytes in the binary unit that reads best."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= factor:
            return f"{_few(value / factor)} {unit}"
    return f"{_few(value)} B"


def clock(seconds: float) -> str:
    """`1:02:03`, `2:03`."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"
