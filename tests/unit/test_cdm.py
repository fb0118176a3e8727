"""The CrystalDiskMark-style suite: its plans against its source, its result from made-up values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchstick.errors import BadInput
from benchstick.plan.steps import Fio, Idle, Plan, plan_from_json
from benchstick.suites import registry
from tests.results import document, result_of

Make = Callable[..., dict[str, Any]]


def names_of(plan: Plan, direction: str) -> list[str]:
    names = [s.test for s in plan.steps if isinstance(s, Fio) and s.test.endswith(direction)]
    return list(dict.fromkeys(name.rsplit(" ", 1)[0] for name in names))


@pytest.mark.parametrize(
    ("params", "tests", "seconds", "interval"),
    [
        ({}, ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"], 5, 5),
        (
            {"preset": "nvme"},
            ["SEQ1M Q8T1", "SEQ128K Q32T1", "RND4K Q32T16", "RND4K Q1T1"],
            5,
            5,
        ),
        (
            {"preset": "flash"},
            ["SEQ1M Q8T1", "SEQ1M Q1T1", "RND4K Q32T1", "RND4K Q1T1"],
            1,
            30,
        ),
        ({"preset": "cdm3"}, ["SEQ1M Q1T1", "RND512K Q1T1", "RND4K Q1T1", "RND4K Q32T1"], 5, 5),
        ({"profile": "peak"}, ["SEQ1M Q8T1", "RND4K Q32T1"], 5, 5),
        ({"preset": "nvme", "profile": "peak"}, ["SEQ1M Q8T1", "RND4K Q32T16"], 5, 5),
        ({"profile": "real"}, ["SEQ1M Q1T1", "RND4K Q1T1"], 5, 5),
        ({"profile": "demo"}, ["SEQ1M Q8T1"], 5, 5),
    ],
)
def test_presets_and_profiles(
    drive_json: Make, params: dict[str, str], tests: list[str], seconds: int, interval: int
) -> None:
    plan = registry.make_plan("cdm", drive_json(), params)
    assert names_of(plan, "read") == tests
    assert names_of(plan, "write") == tests
    timed = [s for s in plan.steps if isinstance(s, Fio) and s.test != "layout"]
    assert {step.job.runtime for step in timed} == {seconds}
    idles = [s for s in plan.steps if isinstance(s, Idle) and s.name.startswith("idle before")]
    assert {step.seconds for step in idles} == {interval}
    assert len(idles) == 2 * len(tests)


def test_all_reads_come_before_all_writes_before_all_mixes(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(), {"mix": "70"})
    order = [s.test.rsplit(" ", 1)[1] for s in plan.steps if isinstance(s, Fio) and s.pass_no == 1]
    assert order == ["read"] * 4 + ["write"] * 4 + ["mix"] * 4


def test_each_test_has_one_preparing_pass_that_does_not_count(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(), {"passes": "5"})
    passes = [s for s in plan.steps if isinstance(s, Fio) and s.test == "RND4K Q32T1 write"]
    assert [step.pass_no for step in passes] == [0, 1, 2, 3, 4, 5]
    assert [step.recording.counted for step in passes] == [False] + [True] * 5
    assert (passes[0].job.block, passes[0].job.depth, passes[0].job.threads) == (4096, 32, 1)
    assert passes[0].job.rw == "randwrite"


def test_keeps_the_drives_filesystem_by_default(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(), {})
    assert (plan.target, plan.fs, plan.destroys) == ("file", "keep", False)
    assert registry.make_plan("cdm", drive_json(), {}, fs="auto").destroys
    assert registry.make_plan("cdm", drive_json(), {}, target="block").destroys
    read_only = registry.make_plan("cdm", drive_json(), {"only": "read"}, target="block")
    assert not read_only.destroys
    assert read_only.bytes_written == 0


def test_the_practice_drive_always_takes_auto(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(transport="virtual"), {})
    assert (plan.fs, plan.destroys) == ("auto", True)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"passes": "10"}, "passes"),
        ({"passes": "x"}, "passes"),
        ({"time": "11"}, "time"),
        ({"interval": "2"}, "interval"),
        ({"size": "1"}, "size"),
        ({"size": "17MiB", "nosuch": "1"}, "nosuch"),
        ({"size": "65g"}, "size"),
        ({"size": "4k"}, "size"),
        ({"mix": "75"}, "mix"),
        ({"mix": "70", "only": "read"}, "mix"),
        ({"preset": "CDM"}, "preset"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        registry.make_plan("cdm", drive_json(), params)
    assert caught.value.field == field


def test_a_size_larger_than_the_drive_is_refused(drive_json: Make) -> None:
    with pytest.raises(BadInput, match="does not fit"):
        registry.make_plan("cdm", drive_json(capacity=10**9), {"size": "1g"})


def test_a_plan_survives_json(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(), {"latency_log": "yes"})
    text = json.dumps(plan.to_json())
    assert json.dumps(plan_from_json(json.loads(text)).to_json()) == text


def results(speeds: dict[str, list[float]], latencies: dict[str, list[float]]) -> list[Any]:
    entries = []
    for name, values in speeds.items():
        for number, value in enumerate(values, 1):
            entries.append(
                {
                    "step": f"{name}, pass {number}", "name": name, "value": value,
                    "unit": "MB/s", "pass": number, "target": "file on exfat",
                    "state": "valid", "reason": None, "detail": {},
                }
            )  # fmt: skip
            entries.append({**entries[-1], "name": f"{name} IOPS", "value": value * 1e6 / 4096,
                         "unit": "IOPS"})  # fmt: skip
    for name, values in latencies.items():
        for number, value in enumerate(values, 1):
            entries.append({**entries[0], "name": f"{name} latency", "value": value, "unit": "us",
                         "pass": number})  # fmt: skip
    return [document(item) for item in entries]


def test_best_speed_and_lowest_latency_are_chosen_separately(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(), {})
    entries = results(
        {"SEQ1M Q8T1 read": [560.0, 561.763, 559.0]},
        {"SEQ1M Q8T1 read": [14900.0, 14990.0, 14881.26]},
    )
    result = result_of(registry.find("cdm"), plan, entries, drive_json())
    over_all = {item["name"]: item for item in result.results}
    assert over_all["SEQ1M Q8T1 read"]["value"] == 561.763
    assert over_all["SEQ1M Q8T1 read"]["detail"]["passes"] == [560.0, 561.763, 559.0]
    assert over_all["SEQ1M Q8T1 read"]["detail"]["mean"] == pytest.approx(560.2543, abs=1e-3)
    assert over_all["SEQ1M Q8T1 read latency"]["value"] == 14881.26
    # A line in CrystalDiskMark's shape.
    assert "561.763 MB/s [    535.7 IOPS] < 14881.26 us>" in result.document["text"]
    assert result.document["text"].splitlines()[1].startswith("  SEQ    1MiB (Q=  8, T= 1):")


def test_an_invalid_pass_is_not_counted_but_listed(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(), {})
    entries = results({"SEQ1M Q8T1 read": [900.0, 500.0]}, {})
    entries[0].update(state="invalid", reason="buffered: 90 %")
    result = result_of(registry.find("cdm"), plan, entries, drive_json())
    over_all = {item["name"]: item for item in result.results}
    assert over_all["SEQ1M Q8T1 read"]["value"] == 500.0
    entries[2].update(state="invalid", reason="buffered: 80 %")
    result = result_of(registry.find("cdm"), plan, entries, drive_json())
    over_all = {item["name"]: item for item in result.results}
    assert over_all["SEQ1M Q8T1 read"]["value"] is None
    assert over_all["SEQ1M Q8T1 read"]["state"] == "invalid"
    assert "invalid: buffered" in result.document["text"]


def test_queueing_that_contradicts_sysfs_is_an_event(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(), {})
    entries = results({"RND4K Q32T1 read": [30.0], "RND4K Q1T1 read": [29.0]}, {})
    result = result_of(registry.find("cdm"), plan, entries, drive_json(queue_depth=30))
    assert result.document["verdicts"][0]["state"] == "ineffective"
    assert [kind for kind, _ in result.events] == ["contradiction"]
    calm = result_of(registry.find("cdm"), plan, entries, drive_json(queue_depth=1))
    assert calm.events == []


def test_a_run_cut_short_still_has_a_result(drive_json: Make) -> None:
    plan = registry.make_plan("cdm", drive_json(), {})
    result = result_of(registry.find("cdm"), plan, [], drive_json())
    assert result.results == []
    assert result.document["verdicts"][0]["state"] == "unknown"
