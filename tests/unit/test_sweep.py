"""The queue depth sweep: its plans against its source, its result from invented values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchstick.errors import BadInput
from benchstick.plan.steps import Plan, plan_from_json
from benchstick.suites import registry
from tests.results import document, result_of
from tests.unit.test_consistency import fios

Make = Callable[..., dict[str, Any]]
DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256]


def test_fob_is_reads_then_mix_then_writes_at_each_depth(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(), {})
    steps = fios(plan)
    assert [step.job.depth for step in steps] == DEPTHS * 3
    assert [step.job.rw for step in steps] == ["randread"] * 9 + ["randrw"] * 9 + ["randwrite"] * 9
    assert {step.job.mix for step in steps[9:18]} == {70}
    assert {(step.job.block, step.job.runtime, step.job.threads) for step in steps} == {
        (4096, 30, 1)
    }
    assert {step.span.size for step in steps} == {10**12 // 131072 * 131072}
    assert [step.destroys for step in steps] == [False] * 9 + [True] * 18
    assert plan.state == "as found, not purged; not preconditioned"
    assert any("fob is recorded as found" in note for note in plan.notes)
    assert plan.destroys
    assert plan.seconds == pytest.approx(1 + 27 * 30.5)
    # 20 MB/s at QD1 to start with, and 30 % of the mix are writes.
    assert (steps[0].bytes_read, steps[0].bytes_written) == (600_000_000, 0)
    assert (steps[9].bytes_read, steps[9].bytes_written) == (420_000_000, 180_000_000)


def test_steady_is_two_fills_and_six_hours_of_writing(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(), {"state": "steady"})
    first, second, soak, *rest = fios(plan)
    assert [(step.job.rw, step.job.block, step.job.runtime) for step in (first, second)] == [
        ("write", 131072, None)
    ] * 2
    job = soak.job
    assert (job.rw, job.block, job.depth, job.runtime) == ("randwrite", 4096, 32, 21600)
    assert soak.recording.series
    assert len(rest) == 27
    # Two fills at the 980 MB/s of a link of 10 Gb/s, six hours, and 27 depths of 30 s.
    assert plan.seconds == pytest.approx(1 + 2 * first.span.size / 980e6 + 21600.5 + 27 * 30.5)
    assert first.bytes_written == second.bytes_written == first.span.size
    # 640 MB/s at random at QD32, for estimates.
    assert soak.bytes_written == int(21600 * 640e6)
    assert plan.state == (
        "as found, not purged; filled 2 times in this run, in order in 128 KiB pieces, over "
        "1.00 TB (100.0 % of the LBAs); then written at random in 4 KiB pieces at QD32 for "
        "6 h 0 min"
    )
    shorter = registry.make_plan(
        "sweep", drive_json(), {"state": "steady", "fills": "1", "soak": "60", "span": "10"}
    )
    assert [step.span.size for step in fios(shorter)] == [10**11 // 131072 * 131072] * 29
    assert fios(shorter)[1].job.runtime == 60
    assert "filled 1 times" in str(shorter.state)


def test_both_states_lie_over_each_other(drive_json: Make) -> None:
    plan = registry.make_plan(
        "sweep", drive_json(), {"state": "both", "depths": "1,32", "soak": "60"}
    )
    names = [step.test for step in fios(plan)]
    labels = [f"RND4K Q{depth}T1 {way}" for way in ("read", "mix", "write") for depth in (1, 32)]
    assert names[:6] == [f"fob {label}" for label in labels]
    assert [step.job.rw for step in fios(plan)[6:8]] == ["write", "write"]
    assert names[8:] == ["precondition RND4K Q32T1 write", *(f"steady {la}" for la in labels)]
    assert any(note.startswith("fob is recorded as found") for note in plan.notes)
    # Each pass has the drive state in which it was measured, not the one at the end.
    passes = [plan.state_after(None, step.drive_state) for step in fios(plan)]
    initial_state = "as found, not purged; not preconditioned"
    assert passes[:7] == [initial_state] * 7
    assert passes[7].startswith("as found, not purged; filled 1 times in this run")
    assert "filled 2 times" in passes[8]
    assert "at random" not in passes[8]
    assert {state.endswith("at QD32 for 1 min 0 s") for state in passes[9:]} == {True}
    assert not any("not preconditioned" in state for state in passes[9:])
    result_rows = results(plan, {("randread", 1): 9e3, ("randread", 32): 9e4})
    for item in result_rows:
        if item["name"].startswith("steady "):
            item["value"] /= 2
    result = result_of(registry.find("sweep"), plan, result_rows, drive_json())
    iops, latency = result.document["charts"]
    assert iops["title"] == "IOPS by queue depth, read"
    assert {item["name"]: item["points"] for item in iops["series"]} == {
        "fob": [[1, 9e3], [32, 9e4]], "steady": [[1, 4.5e3], [32, 4.5e4]],
    }  # fmt: skip
    assert [item["name"] for item in latency["series"]] == ["fob", "steady"]
    assert [item["label"] for item in result.document["headline"]] == [
        "fob RND4K Q32T1 read", "steady RND4K Q32T1 read",
    ]  # fmt: skip
    states = {item["name"]: item["detail"]["drive_state"] for item in result.results}
    assert states["fob RND4K Q1T1 read"] == "as found, not purged; not preconditioned"
    assert states["steady RND4K Q1T1 read"].startswith(
        "as found, not purged; filled 2 times in this run"
    )
    assert states["steady RND4K Q1T1 read"].endswith("at QD32 for 1 min 0 s")


def test_only_reads_leave_the_drive_as_it_is(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(), {"only": "read", "depths": "32,1"})
    assert [step.job.depth for step in fios(plan)] == [32, 1]
    assert not plan.destroys
    assert plan.bytes_written == 0
    steady = registry.make_plan("sweep", drive_json(), {"only": "read", "state": "steady"})
    assert steady.destroys


def test_the_users_statement_on_a_purge_is_kept(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(), {"purged": "hdparm --security-erase"})
    assert plan.state == (
        "purged by hand before the run, as the user says: hdparm --security-erase; "
        "not preconditioned"
    )
    assert not any("as found" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"depths": "0"}, "depths"),
        ({"depths": "1,2,0"}, "depths"),
        ({"depths": ""}, "depths"),
        ({"depths": "1,,2"}, "depths"),
        ({"depths": "1,x"}, "depths"),
        ({"depths": "-1"}, "depths"),
        ({"depths": "1,1"}, "depths"),
        ({"depths": "99999999999999999999"}, "depths"),
        ({"depths": "0000000012048"}, "depths"),
        ({"depths": "²"}, "depths"),
        ({"block": "4095"}, "block"),
        ({"block": "512"}, "block"),
        ({"block": "0"}, "block"),
        ({"span": "0"}, "span"),
        ({"time": "0"}, "time"),
        ({"mix": "100"}, "mix"),
        ({"state": "dirty"}, "state"),
        ({"state": "steady", "fills": "0", "soak": "0"}, "fills"),
        ({"state": "steady", "soak": "-1"}, "soak"),
        ({"soak": "60"}, "soak"),
        ({"fills": "1"}, "fills"),
        ({"only": "read", "mix": "50"}, "mix"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        registry.make_plan("sweep", drive_json(), params)
    assert caught.value.field == field
    assert "\n" not in caught.value.message


def test_a_drive_smaller_than_the_test_is_refused(drive_json: Make) -> None:
    with pytest.raises(BadInput, match="less than the test needs"):
        registry.make_plan("sweep", drive_json(capacity=15 << 20), {})


def test_a_plan_survives_json(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(), {"state": "steady"})
    text = json.dumps(plan.to_json())
    assert json.dumps(plan_from_json(json.loads(text)).to_json()) == text


def results(plan: Plan, iops: dict[tuple[str, int], float]) -> list[Any]:
    """One pass of each test named."""
    rows: list[Any] = []
    for step in fios(plan):
        value = iops.get((step.job.rw, step.job.depth))
        if value is None:
            continue
        base = {"step": step.name, "pass": 1, "target": "block", "state": "valid", "reason": None}
        detail = {"inflight_median": 30, "totals": {}}
        rows += [
            {**base, "name": step.test, "value": value * 4096 / 1e6, "unit": "MB/s",
             "detail": detail},
            {**base, "name": f"{step.test} IOPS", "value": value, "unit": "IOPS", "detail": {}},
            {**base, "name": f"{step.test} latency", "value": 100.0, "unit": "us", "detail": {}},
        ]  # fmt: skip
    return [document(item) for item in rows]


def test_a_depth_above_the_drives_is_marked(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(queue_depth=32), {})
    assert any(
        note.startswith("QD64, QD128, QD256: the drive takes 32 requests") for note in plan.notes
    )
    result_rows = results(plan, {("randread", 32): 90_000, ("randread", 64): 91_000})
    result = result_of(registry.find("sweep"), plan, result_rows, drive_json(queue_depth=32))
    by_name = {item["name"]: item for item in result.results}
    assert by_name["RND4K Q32T1 read"]["detail"]["queue"]["waits_in_kernel"] is False
    marked = by_name["RND4K Q64T1 read IOPS"]
    assert marked["value"] == 91_000
    assert marked["detail"]["queue"] == {"requested": 64, "drive": 32, "waits_in_kernel": True}
    assert marked["detail"]["drive_state"] == plan.state
    queued = [row[7] for row in result.document["tables"][0]["rows"]]
    assert queued == ["in the drive", "in the kernel above 32"]
    mark = {"x": 32, "label": "above 32: waiting in the kernel"}
    assert [chart["mark_above"] for chart in result.document["charts"]] == [mark, mark]
    unknown = {**drive_json(), "queue_depth": {"value": None, "reason": "the kernel tells none"}}
    result = result_of(registry.find("sweep"), plan, result_rows, unknown)
    assert {row[7] for row in result.document["tables"][0]["rows"]} == {"drive's depth not known"}
    assert not any("mark_above" in chart for chart in result.document["charts"])
    result_rows = results(plan, {("randread", 1): 9000, ("randread", 32): 90_000})
    result = result_of(registry.find("sweep"), plan, result_rows, drive_json(queue_depth=32))
    assert not any("mark_above" in chart for chart in result.document["charts"])


def test_the_lines_of_the_chart_go_by_depth(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(), {"depths": "32,1"})
    result_rows = results(
        plan, {("randread", 32): 9e4, ("randread", 1): 9e3, ("randwrite", 1): 2e4}
    )
    result = result_of(registry.find("sweep"), plan, result_rows, drive_json())
    json.dumps(result.document)
    iops, latency = result.document["charts"]
    assert {item["name"]: item["points"] for item in iops["series"]} == {
        "read": [[1, 9e3], [32, 9e4]], "write": [[1, 2e4]],
    }  # fmt: skip
    assert iops["x"] == {"label": "queue depth", "unit": "", "scale": "log2"}
    assert (iops["y"]["scale"], latency["y"]["scale"]) == ("linear", "log")
    assert latency["y"]["unit"] == "us"
    assert [(item["label"], item["value"]) for item in result.document["headline"]] == [
        ("RND4K Q32T1 read", 9e4), ("RND4K Q1T1 write", 2e4),
    ]  # fmt: skip


def test_an_invalid_depth_is_reported_and_not_drawn(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(), {})
    result_rows = results(plan, {("randread", 1): 9e3, ("randread", 2): 1e4})
    for item in result_rows[:3]:
        item.update(state="invalid", reason="counters: the drive moved 0 bytes")
    result = result_of(registry.find("sweep"), plan, result_rows, drive_json())
    by_name = {item["name"]: item for item in result.results}
    assert by_name["RND4K Q1T1 read IOPS"]["value"] is None
    assert by_name["RND4K Q1T1 read IOPS"]["state"] == "invalid"
    assert result.document["charts"][0]["series"] == [{"name": "read", "points": [[2, 1e4]]}]
    assert "invalid: counters" in result.document["text"]


def test_a_run_cut_short_still_has_a_result(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(), {"state": "steady"})
    result = result_of(registry.find("sweep"), plan, [], drive_json())
    assert (result.results, result.document["charts"], result.document["tables"]) == ([], [], [])
