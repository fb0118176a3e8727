"""A comparison as its page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import request

from benchstick.errors import BadInput
from benchstick.reports import charts
from webui.context import bench
from webui.forms.inputs import LARGEST, whole
from webui.forms.queries import numbers_of


def document() -> dict[str, Any]:
    """The comparison that the query asks for."""
    numbers = numbers_of(request.args)
    mark = whole(request.args.get("mark"), "mark", low=1, high=LARGEST, default=0)
    references = request.args.get("references", "yes")
    if references not in ("yes", "no"):
        raise BadInput("references: expected yes or no", field="references")
    return bench().comparison(numbers, mark=mark or None, with_references=references == "yes")


@dataclass(frozen=True)
class Overlay:
    """An overlaid chart as the page draws it: `lines` are (name, look, run, dash), where dash
    counts the lines of a run, which have its colour."""

    drawing: charts.PageChart
    lines: Sequence[tuple[str, str, int, int]]

    @property
    def looks(self) -> str:
        return " ".join(look for _, look, _, _ in self.lines)

    @property
    def dashes(self) -> str:
        return " ".join(str(dash) for _, _, _, dash in self.lines)

    @property
    def runs(self) -> str:
        return " ".join(str(run) for _, _, run, _ in self.lines)


def overlay(drawing: charts.PageChart, looks: Mapping[int, str]) -> Overlay:
    """The chart with each line in the colour of its run."""
    counts: dict[int, int] = {}
    lines = []
    for line in drawing.chart["series"]:
        run = line["run"]
        lines.append((line["name"], looks[run], run, counts.setdefault(run, 0)))
        counts[run] += 1
    return Overlay(drawing, lines)
