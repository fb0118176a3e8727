"""The suite `sustained`: its plan, and its result from made samples with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchstick.engine.measure import fio
from benchstick.errors import BadInput
from benchstick.plan.steps import Fio, Idle, Plan, plan_from_json
from benchstick.plan.units import MIB
from benchstick.store.run_results import Sample
from benchstick.suites import registry
from benchstick.suites.interface import Recorded, RecordSuite
from benchstick.suites.sustained import Sustained, fill_series
from tests.results import Outcome, document, outcome, results_from
from tests.unit.made_series import GB, Speed, constant, slowed, zones

Make = Callable[..., dict[str, Any]]


def writes(plan: Plan, word: str = "part") -> list[Fio]:
    return [step for step in plan.steps if isinstance(step, Fio) and step.name.startswith(word)]


@pytest.mark.parametrize("capacity", [10**12, 256 * MIB, 10**9 + 4096 * 7, 4_000_787_030_016])
@pytest.mark.parametrize("block", ["1m", "128k"])
def test_the_parts_cover_the_drive_once_in_whole_blocks(
    drive_json: Make, capacity: int, block: str
) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=capacity), {"block": block})
    parts = writes(plan)
    size = {"1m": MIB, "128k": 128 * 1024}[block]
    assert len(parts) == 20
    place = 0
    for step in parts:
        job, span = step.job, step.span
        assert (span.offset, span.size, step.bytes_written) == (place, span.size, span.size)
        assert span.size % size == 0
        assert (job.block, job.depth, job.threads, job.rw) == (size, 8, 1, "write")
        assert step.job.runtime is None
        place += step.span.size
    assert 0 <= capacity - place < size
    assert plan.bytes_written == place
    assert plan.destroys
    assert (plan.target, plan.fs) == ("block", "keep")
    sizes = {step.span.size for step in parts[:-1]}
    assert len(sizes) == 1
    assert 0 <= parts[-1].span.size - parts[0].span.size < 20 * size


def test_a_pause_of_two_seconds_with_a_temperature_after_every_part(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(), {})
    kinds = [step.kind for step in plan.steps]
    assert kinds == ["prepare", "idle", *(["fio", "idle"] * 20)]
    idles = [step for step in plan.steps if isinstance(step, Idle)]
    assert [step.seconds for step in idles] == [2] * 21
    assert all(step.temperature for step in idles)
    # 10^12 bytes at the 980 MB/s assumed of a 10 Gbit/s link, and 20 pauses.
    assert plan.seconds == pytest.approx(10**12 / 980e6 + 43, rel=0.001)


def test_no_pauses_make_one_part(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(), {"pause": "0"})
    (step,) = writes(plan)
    assert (step.span.offset, step.span.size) == (0, 10**12 // MIB * MIB)
    assert any(note.startswith("no pauses") for note in plan.notes)


def test_a_span_is_a_share_or_a_size(drive_json: Make) -> None:
    half = registry.make_plan("sustained", drive_json(), {"span": "50%"})
    assert half.bytes_written == 5 * 10**11 // MIB * MIB
    assert any("of the drive were not written" in note for note in half.notes)
    some = registry.make_plan("sustained", drive_json(), {"span": "64GiB"})
    assert some.bytes_written == 64 << 30
    whole = registry.make_plan("sustained", drive_json(), {})
    assert not any("were not written" in note for note in whole.notes)


def test_bursts_after_idle_times_come_last(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(), {"recovery": "yes"})
    rest, last = plan.steps[-6:], writes(plan, "burst")
    assert [step.name for step in rest] == [
        "rest for 30 s", "burst after 30 s", "rest for 5 min 0 s", "burst after 5 min 0 s",
        "rest for 30 min 0 s", "burst after 30 min 0 s",
    ]  # fmt: skip
    assert [step.seconds for step in rest[::2]] == [30, 300, 1800]
    assert [(step.span.offset, step.span.size) for step in last] == [(0, 4 << 30)] * 3
    # The bursts are on a drive that this run has filled, the parts are not.
    state = "written once in this run, in order, over 1.00 TB"
    assert {step.drive_state for step in last} == {state}
    assert {step.drive_state for step in writes(plan, "part")} == {None}
    own = registry.make_plan(
        "sustained", drive_json(), {"recovery": "5, 10", "burst": "16MiB", "span": "64MiB"}
    )
    assert [step.seconds for step in own.steps if step.name.startswith("rest")] == [5, 10]
    assert [step.span.size for step in writes(own, "burst")] == [16 * MIB] * 2


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"span": "0"}, "span"),
        ({"span": "0%"}, "span"),
        ({"span": "101%"}, "span"),
        ({"span": "2TB"}, "span"),
        ({"span": "half"}, "span"),
        ({"span": "1MiB"}, "span"),
        ({"span": ""}, "span"),
        ({"span": "-5%"}, "span"),
        ({"span": "1" * 400 + "%"}, "span"),
        ({"block": "3k"}, "block"),
        ({"depth": "0"}, "depth"),
        ({"depth": "257"}, "depth"),
        ({"pause": "1"}, "pause"),
        ({"pause": "601"}, "pause"),
        ({"recovery": "maybe"}, "recovery"),
        ({"recovery": "0"}, "recovery"),
        ({"recovery": "30,30"}, "recovery"),
        ({"recovery": "30,"}, "recovery"),
        ({"recovery": "99999999"}, "recovery"),
        ({"burst": "4k"}, "burst"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        registry.make_plan("sustained", drive_json(), params)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_a_drive_smaller_than_the_test_is_refused(drive_json: Make) -> None:
    with pytest.raises(BadInput, match="at least"):
        registry.make_plan("sustained", drive_json(capacity=10**7), {})


def test_only_the_raw_drive(drive_json: Make) -> None:
    with pytest.raises(BadInput, match="takes block"):
        registry.make_plan("sustained", drive_json(), {}, target="file")


def test_a_plan_survives_json_with_its_offsets(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(), {"recovery": "yes"})
    plan_copy = plan_from_json(json.loads(json.dumps(plan.to_json())))
    assert plan_copy.to_json() == plan.to_json()
    assert [step.span.offset for step in writes(plan_copy)] == [
        step.span.offset for step in writes(plan)
    ]


def test_the_offset_is_in_the_command(drive_json: Make) -> None:
    first, second, *_ = writes(registry.make_plan("sustained", drive_json(), {}))
    assert f"--offset={first.span.size}" in fio.command(second, "/dev/x", Path("/a"))
    assert not any("offset" in word for word in fio.command(first, "/dev/x", Path("/a")))


class Story:
    """A run of a plan as the sampler and fio would have recorded it.

    The steps start and end inside the sampler's seconds, with `overhead` seconds before each write
    in which nothing is moved.
    """

    def __init__(self, plan: Plan, speed: Speed, overhead: float = 0.37) -> None:
        self.plan = plan
        self.samples: list[Sample] = []
        self.results: list[dict[str, Any]] = []
        self._now = self._offset = 0.0
        self._second = 0.0
        for index, step in enumerate(plan.steps):
            if isinstance(step, Fio):
                self._idle(index, overhead)
                self._write(index, step, speed)
            else:
                self._idle(index, step.seconds)
        self._idle(len(plan.steps), 1.0)

    def _tick(self, step: int, moved: float) -> None:
        self._now += 0.01
        self._second += moved
        if abs(self._now - round(self._now)) < 0.005:
            number = len(self.samples)
            self.samples.append(
                Sample(number, round(self._now, 3), 1.0, step, 0, round(self._second), 0,
                       0, 0, 0, 0, 8 if moved else 0, 0.0)
            )  # fmt: skip
            self._second = 0.0

    def _idle(self, step: int, seconds: float) -> None:
        for _ in range(round(seconds / 0.01)):
            self._tick(step, 0.0)

    def _write(self, index: int, step: Fio, speed: Speed) -> None:
        remaining, seconds = float(step.span.size), 0.0
        while remaining > 0:
            moved = min(remaining, speed(self._now, self._offset) * 1e6 * 0.01)
            remaining -= moved
            self._offset += moved
            seconds += 0.01
            self._tick(index, moved)
        self.results.append(
            document({
                "step": step.name, "name": step.test, "value": step.span.size / seconds / 1e6,
                "unit": "MB/s", "pass": 1, "target": "block", "state": "valid", "reason": None,
                "detail": {"totals": {"write_bytes": step.span.size, "seconds": round(seconds, 3)}},
            })
        )  # fmt: skip

    def result(self, warm: Sequence[tuple[float, float | None]] = ()) -> Outcome:
        recorded = Recorded(samples=self.samples, temperatures=warm)
        return outcome(
            Sustained().result_of_record(self.plan, results_from(self.results), {}, recorded)
        )


def values(result: Outcome) -> dict[str, float]:
    return {item["name"]: item["value"] for item in result.results}


@pytest.mark.parametrize("fast", [80, 200, 400])
@pytest.mark.parametrize("overhead", [0.0, 0.37, 0.8])
def test_a_two_gb_fast_zone_is_found_between_the_pauses(
    drive_json: Make, fast: int, overhead: float
) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=8 * GB), {})
    result = Story(plan, zones((2, fast), (0, fast / 4)), overhead).result()
    results = values(result)
    assert results["cache knee"] == pytest.approx(2.0, rel=0.03)
    assert results["before the knee"] == pytest.approx(fast, rel=0.05)
    assert results["after the knee"] == pytest.approx(fast / 4, rel=0.05)
    # 2 GB at the full speed and 6 GB at a quarter of it.
    assert results["sustained write"] == pytest.approx(8 / (2 + 24) * fast, rel=0.02)
    assert results["slowest part"] == pytest.approx(fast / 4, rel=0.02)
    assert [item["state"] for item in result.document["verdicts"]] == ["found", "none"]
    assert result.events == []
    assert [item["label"] for item in result.document["headline"]] == [
        "sustained write", "cache knee", "before the knee", "after the knee",
    ]  # fmt: skip


def test_a_constant_speed_has_neither_knee_nor_slow_down(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=8 * GB), {})
    result = Story(plan, constant(150)).result([(1, 40), (20, 60), (50, 70)])
    assert [item["name"] for item in result.results] == ["sustained write", "slowest part"]
    assert [item["state"] for item in result.document["verdicts"]] == ["none", "none"]
    assert result.document["knees"]["reason"].startswith("the speed stays at about 1")
    assert values(result)["sustained write"] == pytest.approx(150, rel=0.02)


def test_half_the_speed_for_a_minute_is_an_event(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=30 * GB), {})
    story = Story(plan, slowed(constant(150), 60, 120, 0.5))
    cold, warm = story.result(), story.result([(50, 50), (70, 66), (90, 71)])
    assert [kind for kind, _ in cold.events] == ["slowdown"]
    assert "cause unknown" in cold.events[0][1]
    assert [kind for kind, _ in warm.events] == ["throttling"]
    assert "with rising temperature" in warm.document["text"]
    assert values(cold)["deepest slow-down"] == pytest.approx(50, abs=3)
    assert "cache knee" not in values(cold)
    (slow_down,) = warm.document["slow_downs"]["found"]
    # A part that starts or ends in it moves the times by its pause.
    assert slow_down["from_seconds"] == pytest.approx(60, abs=3)
    assert slow_down["to_seconds"] == pytest.approx(120, abs=3)


def test_folding_is_reported_with_the_knee(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=30 * GB), {})
    result = Story(plan, zones((6, 400), (9, 50), (0, 200))).result()
    verdicts = {item["name"]: item for item in result.document["verdicts"]}
    assert list(verdicts) == ["Cache knee", "Slowing down", "Folding"]
    assert verdicts["Folding"]["state"] == "likely"
    (fold,) = result.document["folding"]["found"]
    assert fold["from_bytes"] == pytest.approx(6 * GB, rel=0.03)
    assert fold["to_bytes"] == pytest.approx(9 * GB, abs=0.8 * GB)
    assert (fold["mbps"], fold["beside_mbps"]) == pytest.approx((50, 200), rel=0.06)
    assert verdicts["Folding"]["text"] in result.document["text"]


def test_recovery_comes_from_the_bursts(drive_json: Make) -> None:
    plan = registry.make_plan(
        "sustained", drive_json(capacity=8 * GB),
        {"recovery": "30,300", "burst": "1GiB"},
    )  # fmt: skip

    def speed(t: float, total_bytes: float) -> float:
        # The fill; then half a GB came back for the first burst, everything for the second.
        gb = total_bytes / GB
        return 200 if gb < 2 or 8 <= gb < 8.5 or gb >= 9.06 else 50

    story = Story(plan, speed)
    recovery = story.result().document["recovery"]
    first, second = recovery["bursts"]
    assert (first["idle_seconds"], second["idle_seconds"]) == (30, 300)
    assert first["fast_bytes"] == pytest.approx(0.5 * GB, rel=0.05)
    assert first["share"] == pytest.approx(0.25, rel=0.05)
    assert second["at_least"]
    # Stopped before the second burst: the first one counts.
    del story.results[-1]
    assert len(story.result().document["recovery"]["bursts"]) == 1
    constant_drive = Story(plan, constant(200)).result()
    assert constant_drive.document["recovery"]["reason"] == (
        "no fast zone was found that could come back"
    )


def test_a_run_cut_short_shows_what_it_has(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=8 * GB), {})
    story = Story(plan, zones((2, 200), (0, 50)))
    # In the middle of part 12: it has no result, and samples up to there.
    story.results = story.results[:11]
    index = next(at for at, step in enumerate(plan.steps) if step.name == "part 12 of 20")
    begin = next(at for at, sample in enumerate(story.samples) if sample.step_index == index)
    story.samples = story.samples[: begin + 5]
    result = story.result()
    assert values(result)["cache knee"] == pytest.approx(2.0, rel=0.03)
    # A mean over half of the drive is marked: it is not one of the whole drive.
    assert {item["reason"] for item in result.results} == {"only 11 of 20 parts were written"}
    assert len(result.document["tables"][0]["rows"]) == 11
    place, time = result.document["charts"]
    assert 11 * 0.4 < place["to"] < 12 * 0.4
    assert time["to"] <= story.samples[-1].t
    nothing = Sustained().result(plan, [], {})
    assert nothing.results == []
    assert [item["state"] for item in nothing.document["verdicts"]] == ["none", "unknown"]
    assert nothing.document["folding"]["state"] == "none"
    assert nothing.document["charts"] == []


def test_an_invalid_part_is_not_counted_but_reported(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=8 * GB), {})
    story = Story(plan, constant(100))
    story.results[3].update(state="invalid", reason="counters: +9 %", value=9999.0)
    result = story.result()
    assert values(result)["sustained write"] == pytest.approx(100, rel=0.01)
    assert "19 of 20 passes" in result.results[0]["reason"]
    for item in story.results:
        item.update(state="invalid", reason="counters: +9 %")
    assert story.result().results[0]["state"] == "invalid"
    assert values(story.result())["sustained write"] is None


def test_the_series_holds_every_byte_and_no_pause(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=8 * GB), {})
    story = Story(plan, constant(100))
    series = fill_series(plan, results_from(story.results), story.samples)
    assert series[-1].total == plan.bytes_written
    assert sum(interval.seconds for interval in series) == pytest.approx(80, rel=0.01)
    for interval in series:
        assert interval.moved / interval.seconds / 1e6 == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize("overhead", [0.0, 0.13, 0.37, 0.61, 0.99])
def test_parts_of_less_than_a_second_are_not_lost(drive_json: Make, overhead: float) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=GB), {"recovery": "1,3"})
    story = Story(plan, constant(500), overhead)
    series = fill_series(plan, results_from(story.results), story.samples)
    assert series[-1].total == plan.bytes_written - sum(
        one.span.size for one in writes(plan, "burst")
    )
    for interval in series:
        assert interval.moved / interval.seconds / 1e6 == pytest.approx(500, rel=0.15)


def test_the_charts_have_the_knee_and_each_pause(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=8 * GB), {})
    story = Story(plan, zones((2, 80), (0, 20)))
    result = story.result([(1.0, 40.0), (30.0, None), (60.0, 44.0), (9000.0, 70.0)])
    place, time = result.document["charts"]
    (line,) = place["series"]
    assert place["x"] == {"label": "written", "unit": "GB", "scale": "linear"}
    assert (place["from"], place["to"]) == (0, pytest.approx(8.0, rel=1e-3))
    # A line of so few seconds is not reduced.
    assert "low" not in line
    assert [x for x, _ in line["points"]] == sorted(x for x, _ in line["points"])
    # How long the first second of a part was written in follows from fio's time alone.
    for x, y in line["points"]:
        if abs(x - 2) > 0.2:
            assert y == pytest.approx(80 if x < 2 else 20, rel=0.2)
    (knee,) = place["marks"]
    assert knee == {"x": pytest.approx(2.0, rel=0.03), "label": f"knee at {knee['x']:.4g} GB"}
    write, temperature = time["series"]
    assert len(write["points"]) == len(line["points"]) + 19
    gaps = [x for x, y in write["points"] if y is None]
    # A quarter of the drive took 25 s and its five pauses.
    assert len(gaps) == 19
    assert [item["label"] for item in time["marks"]] == ["knee"]
    assert gaps[4] - 5 < time["marks"][0]["x"] < gaps[4] + 5
    # What was read long after the fill, and what was not read, is not drawn.
    assert temperature == {
        "name": "temperature", "points": [[1.0, 40.0], [60.0, 44.0]], "on": "y2",
    }  # fmt: skip
    assert time["y2"] == {"label": "temperature", "unit": "°C", "scale": "linear"}
    assert time["from"] == 1.0
    assert time["to"] == pytest.approx(story.samples[-1].t, abs=5)


def test_without_a_temperature_there_is_no_second_axis(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=8 * GB), {})
    story = Story(plan, slowed(constant(50), 60, 90, 0.4))
    _, time = story.result([(1.0, None), (60.0, None)]).document["charts"]
    assert "y2" not in time
    assert [item["name"] for item in time["series"]] == ["write"]
    (slow,) = time["marks"]
    assert slow["x"] == pytest.approx(60, abs=3)
    assert slow["label"].startswith("slow for ")


def test_the_chart_is_bounded_and_the_document_is_json(drive_json: Make) -> None:
    plan = registry.make_plan("sustained", drive_json(capacity=400 * GB), {"pause": "0"})
    story = Story(plan, slowed(constant(200), 500, 501, 0.1))
    result = story.result()
    (line,) = result.document["charts"][0]["series"]
    # 2000 s, two a point.
    assert 900 < len(line["points"]) <= 1200
    assert len(line["low"]) == len(line["high"]) == len(line["points"])
    at = line["low"].index(min(line["low"]))
    # The one slow second is not lost in its mean.
    assert line["low"][at] == pytest.approx(20, rel=0.2)
    assert line["points"][at][1] > 80
    assert line["points"][-1][0] == pytest.approx(400, rel=0.01)
    assert len(json.dumps(result.document, allow_nan=False)) < 150_000
    json.dumps(list(result.results), allow_nan=False)


def test_the_runner_gives_it_the_record(drive_json: Make) -> None:
    assert isinstance(registry.find("sustained"), RecordSuite)
    assert not isinstance(registry.find("cdm"), RecordSuite)
