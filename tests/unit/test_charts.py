"""The format of charts: what is in a line, and that a long one stays small."""

from __future__ import annotations

import json

from benchstick.analysis.series import reduced
from benchstick.suites.charts import axis, by_second, chart, curve, line, mark, short


def test_a_curve_passes_over_what_is_missing_and_a_line_is_broken_there() -> None:
    points = [(512, 1.0), (1024, None), (67_108_864, 123_456_789.5)]
    assert curve("read", points)["points"] == [[512, 1], [67_108_864, 123_457_000]]
    assert line("read", points)["points"][1] == [1024, None]
    assert line("t", [(1, 2.5)], on="y2") == {"name": "t", "points": [[1, 2.5]], "on": "y2"}


def test_six_digits_are_kept_of_a_fraction_and_all_of_an_int() -> None:
    assert (short(1234.56789), short(67_108_863), short(None)) == (1234.57, 67_108_863, None)
    assert isinstance(short(3.0), int)


def test_seconds_become_points_and_long_series_get_a_band() -> None:
    series = by_second("IOPS", reduced([5.0, 0.0, None, 7.0], start=1))
    assert series == {"name": "IOPS", "points": [[1, 5], [2, 0], [3, None], [4, 7]]}
    day: list[float | None] = [50_000.0] * 86_400
    day[40_000], day[70_000] = 3.0, 91_234.0
    series = by_second("IOPS", reduced(day))
    assert len(series["points"]) == len(series["low"]) == len(series["high"]) == 1200
    assert [x for x, _ in series["points"][:3]] == [0, 72, 144]
    assert min(series["low"]) == 3
    at = series["high"].index(91_234)
    assert series["points"][at][0] <= 70_000 < series["points"][at + 1][0]
    # A day is kept in less than 64 KiB a line.
    assert len(json.dumps(series)) < 1 << 16


def test_a_chart_has_only_what_it_needs() -> None:
    x, y = axis("second", "s"), axis("IOPS", "IOPS", "log")
    plain = chart("whole run", x, y, ["IOPS"])
    assert plain == {
        "title": "whole run", "x": {"label": "second", "unit": "s", "scale": "linear"},
        "y": {"label": "IOPS", "unit": "IOPS", "scale": "log"}, "series": ["IOPS"],
    }  # fmt: skip
    full = chart(
        "whole run", x, y, ["IOPS"], y2=axis("temperature", "°C"), dots=True, within=(1400, 2000),
        mark_above=mark(32, "waiting"), marks=[mark(2.0, "knee")],
    )  # fmt: skip
    assert {key: full[key] for key in full if key not in plain} == {
        "y2": {"label": "temperature", "unit": "°C", "scale": "linear"}, "dots": True,
        "from": 1400, "to": 2000, "mark_above": {"x": 32, "label": "waiting"},
        "marks": [{"x": 2, "label": "knee"}],
    }  # fmt: skip
