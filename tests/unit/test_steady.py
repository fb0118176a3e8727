"""The five-round rule of SNIA's PTS against series worked by hand."""

from __future__ import annotations

import json
import math

import pytest

from benchstick.analysis.steady import MOST_ROUNDS, judge_steady, judge_window


@pytest.mark.parametrize(
    ("five", "mean", "range_share", "slope", "slope_share", "range_met", "slope_met"),
    [
        # Deviations -10, 0, 10, 0, 0: range 20 of 100; slope (-2)(-10) / 10 = 2, times 4 is 8.
        ([90, 100, 110, 100, 100], 100, 0.20, 2.0, 0.08, True, True),
        # As above with 10.1: range 20.2; slope 2.02, times 4 is 8.08.
        ([89.9, 100, 110.1, 100, 100], 100, 0.202, 2.02, 0.0808, False, True),
        # A straight line: 2.5 a round, 10 over the window, exactly the limit; and its mirror.
        ([95, 97.5, 100, 102.5, 105], 100, 0.10, 2.5, 0.10, True, True),
        ([105, 102.5, 100, 97.5, 95], 100, 0.10, -2.5, 0.10, True, True),
        # 2.55 a round: 10.2 over the window.
        ([94.9, 97.45, 100, 102.55, 105.1], 100, 0.102, 2.55, 0.102, True, False),
        ([105.1, 102.55, 100, 97.45, 94.9], 100, 0.102, -2.55, 0.102, True, False),
        # Deviations 15, -15, 0, -15, 15: no slope at all, range 30.
        ([115, 85, 100, 85, 115], 100, 0.30, 0.0, 0.0, False, True),
        # Range 40 and, with (-2)(-20) + (-1)(-10) + 10 + 2 * 20 = 100, slope 10, times 4 is 40.
        ([80, 90, 100, 110, 120], 100, 0.40, 10.0, 0.40, False, False),
        ([50, 50, 50, 50, 50], 50, 0.0, 0.0, 0.0, True, True),
    ],
)
def test_both_criteria_on_both_sides_of_their_limits(
    five: list[float],
    mean: float,
    range_share: float,
    slope: float,
    slope_share: float,
    range_met: bool,
    slope_met: bool,
) -> None:
    window = judge_window(five, 5)
    assert window.mean == pytest.approx(mean)
    assert window.range_share == pytest.approx(range_share)
    assert window.slope == pytest.approx(slope, abs=1e-9)
    assert window.slope_share == pytest.approx(slope_share, abs=1e-9)
    assert (window.range_met, window.slope_met) == (range_met, slope_met)
    assert window.met == (range_met and slope_met)


@pytest.mark.parametrize("unit", [1e-3, 0.1, 1.0, 1e5])
def test_a_value_on_the_limit_is_within_it_in_any_unit(unit: float) -> None:
    # 0.9, 1.0, 1.1 have no exact binary fractions: their range comes out as 0.2000...018.
    assert judge_window([unit * x for x in (0.9, 1.0, 1.1, 1.0, 1.0)], 5).range_met
    assert judge_window([unit * x for x in (0.95, 0.975, 1.0, 1.025, 1.05)], 5).slope_met
    assert not judge_window([unit * x for x in (0.9, 1.0, 1.10001, 1.0, 1.0)], 5).range_met


def test_the_line_runs_through_the_window() -> None:
    window = judge_window([50, 48, 47, 47, 46], 9)
    # Mean 47.6; (-2)(2.4) + (-1)(0.4) + (-0.6) + 2(-1.6) = -9: a slope of -0.9.
    assert window.line == pytest.approx((49.4, 48.5, 47.6, 46.7, 45.8))
    assert (window.first, window.last) == (5, 9)


def test_a_drive_that_settles_is_steady_in_the_first_window_that_meets_both() -> None:
    # Rounds 4 to 8: 55, 50, 48, 47, 47: mean 49.4, range 16.2 %, slope -1.9 * 4 = 15.4 %: not yet.
    # Rounds 5 to 9: 50, 48, 47, 47, 46: mean 47.6, range 8.4 %, slope -0.9 * 4 = 7.6 %: steady.
    verdict = judge_steady([100, 80, 65, 55, 50, 48, 47, 47, 46, 46, 46], unit="IOPS")
    assert (verdict.state, verdict.reached, verdict.rounds) == ("reached", True, 9)
    assert verdict.window is not None
    assert (verdict.window.first, verdict.window.last) == (5, 9)
    assert [window.met for window in verdict.windows] == [False, False, False, False, True]
    assert verdict.windows[3].range_share == pytest.approx(8 / 49.4)
    assert verdict.windows[3].slope_share == pytest.approx(7.6 / 49.4)
    assert verdict.text == (
        "Steady state in rounds 5 to 9: mean 47.6 IOPS, range 8.4 % of it (at most 20 %), "
        "slope 7.6 % of it (at most 10 %)."
    )


def test_not_reached_in_25_rounds_is_reported_and_round_26_is_ignored() -> None:
    falling = [1000 * 0.9**number for number in range(MOST_ROUNDS)]
    verdict = judge_steady([*falling, *([falling[-1]] * 10)])
    assert (verdict.state, verdict.rounds) == ("not reached", 25)
    assert verdict.window is not None
    assert (verdict.window.first, verdict.window.last) == (21, 25)
    assert len(verdict.windows) == 21
    assert verdict.text.startswith("Steady state was not reached in 25 rounds; rounds 21 to 25: ")


def test_steady_in_the_very_last_window_counts() -> None:
    falling = [1000 * 0.9**number for number in range(20)]
    verdict = judge_steady([*falling, *([100.0] * 5)])
    assert (verdict.state, verdict.rounds) == ("reached", 25)


def test_fewer_rounds_are_not_yet_steady() -> None:
    assert judge_steady([]).state == "not yet"
    four = judge_steady([100, 100, 100, 100])
    assert (four.state, four.window) == ("not yet", None)
    assert "five measured rounds in a row are needed" in four.text
    assert judge_steady([100, 100, 100, 100, 100]).state == "reached"
    assert judge_steady([100, 50, 100, 50, 100]).text.startswith(
        "Steady state is not reached yet after 5 of at most 25 rounds; rounds 1 to 5: "
    )


def test_a_round_that_was_not_measured_breaks_its_windows() -> None:
    verdict = judge_steady([100, 100, 100, None, 100, 100, 100, 100, 100])
    assert verdict.window is not None
    assert (verdict.window.first, verdict.window.last) == (5, 9)
    assert len(verdict.windows) == 1


def test_rounds_in_which_nothing_was_done_are_not_steady() -> None:
    verdict = judge_steady([0.0] * 5)
    assert verdict.state == "not yet"
    assert not verdict.windows[0].range_met
    assert not verdict.windows[0].slope_met


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_what_is_no_measurement_is_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="round 2"):
        judge_steady([1.0, value, 1.0, 1.0, 1.0])


def test_a_share_just_above_its_limit_is_not_printed_as_the_limit() -> None:
    verdict = judge_steady([89.99, 100, 110.01, 100, 100])
    assert "range 20.02 % of it (at most 20 %)" in verdict.text


def test_the_answer_is_json() -> None:
    document = json.loads(json.dumps(judge_steady([90, 100, 110, 100, 100]).to_json()))
    assert document["state"] == "reached"
    assert document["window"]["met"] is True
    assert document["window"]["values"] == [90, 100, 110, 100, 100]
    assert document["limits"]["range_share"] == 0.2
    json.dumps(judge_steady([0.0] * 25).to_json(), allow_nan=False)


def test_a_lower_limit_of_rounds_is_reported() -> None:
    verdict = judge_steady([100.0] * 3, most=10)
    assert verdict.text.startswith("Steady state is not reached yet after 3 of at most 10 rounds")
    assert verdict.to_json()["limits"]["most_rounds"] == 10
