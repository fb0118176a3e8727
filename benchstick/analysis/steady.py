"""Steady state by the rule of SNIA's Performance Test Specification.

Source: SNIA PTS 2.0.2 (docs/methods/pts.md): over five successive rounds the tracking
variable's range is at most 20 % of its mean, and its least-squares line rises or falls over the
window by at most 10 % of the mean; at most 25 rounds. Ours: a value that lies on a limit is within
it whatever binary fractions make of it (a relative slack of 1e-9), and a round that could not be
measured breaks the window that it lies in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchstick.plan.states import SteadyStatus

WINDOW = 5
RANGE_LIMIT = 0.20
SLOPE_LIMIT = 0.10
MOST_ROUNDS = 25
_SLACK = 1e-9


@dataclass(frozen=True)
class Window:
    """Five successive rounds compared with both criteria.

    `first` and `last` number the rounds from 1. `range_share` is (highest - lowest) / mean;
    `slope` the change from one round to the next by the least-squares line, in the unit of the
    values, and `slope_share` its size over the whole window, |slope| * 4 / mean. `line` is that
    line at each of the five rounds, for a chart.
    """

    first: int
    last: int
    values: tuple[float, ...]
    mean: float
    lowest: float
    highest: float
    range_share: float
    slope: float
    slope_share: float
    range_met: bool
    slope_met: bool
    line: tuple[float, ...]

    @property
    def met(self) -> bool:
        """Whether both criteria are."""
        return self.range_met and self.slope_met

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


@dataclass(frozen=True)
class SteadyState:
    """The verdict over all rounds so far.

    `window` is the first one that meets both criteria, otherwise the last one that could be judged,
    None before there is any. `windows` are all that were judged, for a table;
    `rounds` is how many rounds were looked at, of at most `most`.
    """

    state: SteadyStatus
    rounds: int
    window: Window | None
    windows: tuple[Window, ...]
    text: str
    most: int = MOST_ROUNDS

    @property
    def reached(self) -> bool:
        return self.state == SteadyStatus.REACHED

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "rounds": self.rounds,
            "window": None if self.window is None else self.window.to_json(),
            "windows": [window.to_json() for window in self.windows],
            "limits": {"range_share": RANGE_LIMIT, "slope_share": SLOPE_LIMIT,
                       "rounds": WINDOW, "most_rounds": self.most},
            "text": self.text,
        }  # fmt: skip


def judge_steady(
    values: Sequence[float | None], *, unit: str = "", most: int = MOST_ROUNDS
) -> SteadyState:
    """Steady or not, from the tracking variable's value in each round, in order.

    None stands for a round that could not be measured. Rounds after number `most`, or after the
    window that met both criteria, are not looked at. `unit` is only named in the text.
    ValueError for a value that no measurement gives: negative, infinite or not a number.
    """
    for number, value in enumerate(values, 1):
        if value is not None and not 0 <= value < math.inf:
            raise ValueError(f"round {number}: {value} is no measured value")
    looked_at = values[:most]
    windows: list[Window] = []
    for last in range(WINDOW, len(looked_at) + 1):
        five = [value for value in looked_at[last - WINDOW : last] if value is not None]
        if len(five) < WINDOW:
            continue
        windows.append(judge_window(five, last))
        if windows[-1].met:
            return SteadyState(
                SteadyStatus.REACHED, last, windows[-1], tuple(windows),
                _reached_text(windows[-1], unit), most,
            )  # fmt: skip
    is_over = len(looked_at) >= most
    state = SteadyStatus.NOT_REACHED if is_over else SteadyStatus.NOT_YET
    text = _open_text(state, len(looked_at), most, windows[-1] if windows else None, unit)
    return SteadyState(
        state, len(looked_at), windows[-1] if windows else None, tuple(windows), text, most
    )


def judge_window(five: Sequence[float], last: int) -> Window:
    """The five values of the rounds up to number `last` against both criteria.

    Rounds in which nothing at all was done (mean 0) meet neither.
    """
    if len(five) != WINDOW:
        raise ValueError(f"{len(five)} rounds: a window has {WINDOW}")
    mean = math.fsum(five) / WINDOW
    middle = WINDOW // 2
    # Sum of squared distances from the middle: 4 + 1 + 0 + 1 + 4.
    slope = math.fsum((x - middle) * (value - mean) for x, value in enumerate(five)) / 10.0
    lowest, highest = min(five), max(five)
    range_share = (highest - lowest) / mean if mean > 0 else math.nan
    slope_share = abs(slope) * (WINDOW - 1) / mean if mean > 0 else math.nan
    return Window(
        first=last - WINDOW + 1,
        last=last,
        values=tuple(five),
        mean=mean,
        lowest=lowest,
        highest=highest,
        range_share=range_share if mean > 0 else 0.0,
        slope=slope,
        slope_share=slope_share if mean > 0 else 0.0,
        # Not a number compares as False, so that a mean of 0 meets neither.
        range_met=range_share <= RANGE_LIMIT * (1 + _SLACK),
        slope_met=slope_share <= SLOPE_LIMIT * (1 + _SLACK),
        line=tuple(mean + slope * (x - middle) for x in range(WINDOW)),
    )


def _reached_text(window: Window, unit: str) -> str:
    return f"Steady state in rounds {window.first} to {window.last}: {_evidence(window, unit)}."


def _open_text(
    state: SteadyStatus, rounds: int, most: int, window: Window | None, unit: str
) -> str:
    head = (
        f"Steady state was not reached in {rounds} rounds"
        if state == SteadyStatus.NOT_REACHED
        else f"Steady state is not reached yet after {rounds} of at most {most} rounds"
    )
    if window is None:
        return f"{head}: five measured rounds in a row are needed."
    return f"{head}; rounds {window.first} to {window.last}: {_evidence(window, unit)}."


def _evidence(window: Window, unit: str) -> str:
    unit_text = f" {unit}" if unit else ""
    return (
        f"mean {_plain(window.mean)}{unit_text}, "
        f"range {_percent(window.range_share, RANGE_LIMIT)}, "
        f"slope {_percent(window.slope_share, SLOPE_LIMIT)}"
    )


def _plain(value: float) -> str:
    """Four digits, and never as a power of ten."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _percent(share: float, limit: float) -> str:
    # As many digits as it takes to distinguish a share just above the limit from the limit.
    for digits in (1, 2, 3, 4):
        text = f"{100 * share:.{digits}f}"
        if (float(text) > 100 * limit) == (share > limit * (1 + _SLACK)):
            break
    return f"{text} % of it (at most {100 * limit:.0f} %)"
