"""The suite `pts`: its plans against its source, its end of rounds, and its result from values
worked out by hand, on both sides of 20 % and 10 %."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchstick.engine.measure import fio
from benchstick.errors import BadInput
from benchstick.plan.steps import Fio, Plan, Purge, Skip, plan_from_json
from benchstick.plan.units import KIB, MIB
from benchstick.suites import registry
from benchstick.suites.pts import Pts
from tests.results import document, over, result_of

Make = Callable[..., dict[str, Any]]
TRIM = {"trim": True, "trim_kernel": 1 << 30}
NVME = {
    **TRIM, "transport": "nvme", "sanitize": [], "format": ["user data erase"],
    "format_scope": "this namespace", "namespaces": 1, "queue_depth": 1023,
}  # fmt: skip
CLIENT = {**NVME, "write_cache": "enabled"}
ENTERPRISE = {**NVME, "write_cache": "supported, off"}
TB = 10**12


def plan_of(drive: dict[str, Any], **params: str) -> Plan:
    return registry.make_plan("pts", drive, params)


def rounds(plan: Plan, number: int = 1) -> list[Fio]:
    return [step for step in plan.steps if isinstance(step, Fio) and step.round.number == number]


def fills(plan: Plan) -> list[Fio]:
    return [step for step in plan.steps if isinstance(step, Fio) and step.name.startswith("fill")]


# ---- plans


def test_iops_is_56_cells_a_minute_each_25_rounds_after_purge_and_two_fills(
    drive_json: Make,
) -> None:
    plan = plan_of(drive_json(**CLIENT))
    first = rounds(plan)
    blocks = [1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512]
    assert [step.job.block for step in first] == blocks * 7
    shares = {"randread": 100, "randwrite": 0}
    mixes = [shares.get(step.job.rw, step.job.mix) for step in first]
    assert mixes == [mix for mix in (100, 95, 65, 50, 35, 5, 0) for _ in blocks]
    assert {(step.job.runtime, step.job.depth, step.job.threads) for step in first} == {(60, 16, 2)}
    span = TB * 75 // 100 // MIB * MIB
    assert {step.span.size for step in first} == {span}
    assert len([step for step in plan.steps if isinstance(step, Fio)]) == 2 + 25 * 56
    assert [(step.job.rw, step.job.block, step.bytes_written) for step in fills(plan)] == [
        ("write", 128 * KIB, span)
    ] * 2
    kinds = [step.kind for step in plan.steps[:7]]
    assert kinds == ["mark", "purge", "read-back", "prepare", "idle", "fio", "fio"]
    # 25 rounds of 56 minutes, both fills at 2000 MB/s, a minute of purge, and marks.
    assert plan.seconds == pytest.approx(25 * 56 * 60 + 2 * span / 2000e6 + 60, abs=10)
    assert plan.may_end_early
    assert plan.to_json()["may_end_early"] is True
    assert plan.deviations == ()
    assert any(note.startswith("ends early: at steady state, at the latest after 25 rounds")
               for note in plan.notes)  # fmt: skip
    assert any("first 75.0 % of the LBAs in one piece" in note for note in plan.notes)
    assert plan.state == (
        "purged by NVMe Format, user data erase; filled 2 times in this run, in order in 128 KiB "
        "pieces, over 750.00 GB (75.0 % of the LBAs); then by the test itself, round by round"
    )


def test_enterprise_uses_the_whole_drive_and_requires_the_cache_off(drive_json: Make) -> None:
    plan = plan_of(drive_json(**ENTERPRISE), preset="enterprise")
    (step, *_) = rounds(plan)
    assert (step.job.depth, step.job.threads, step.span.size) == (32, 4, TB // MIB * MIB)
    assert step.test == "RND1M 100:0 Q32T4"
    assert plan.deviations == ()
    cached = plan_of(drive_json(**CLIENT), preset="enterprise")
    assert cached.deviations == ("write cache enabled instead of off",)
    assert any(note.startswith("PTS-like, changed: not SNIA-conformant: write cache enabled")
               for note in cached.notes)  # fmt: skip


def test_throughput_purges_and_fills_for_each_block_size(drive_json: Make) -> None:
    plan = plan_of(drive_json(**ENTERPRISE), preset="enterprise", test="throughput")
    assert [(step.round.group, step.job.block, step.job.rw) for step in rounds(plan)] == [
        ("SEQ128K", 128 * KIB, "read"), ("SEQ128K", 128 * KIB, "write"),
        ("SEQ1M", MIB, "read"), ("SEQ1M", MIB, "write"),
    ]  # fmt: skip
    # Two threads would both start at the first LBA.
    assert {(step.job.depth, step.job.threads) for step in rounds(plan)} == {(128, 1)}
    assert len([step for step in plan.steps if isinstance(step, Purge)]) == 2
    assert [step.name for step in fills(plan)] == [
        "fill SEQ128K Q32T1 write, pass 1", "fill SEQ128K Q32T1 write, pass 2",
        "fill SEQ128K Q32T1 write, pass 1, before SEQ1M",
        "fill SEQ128K Q32T1 write, pass 2, before SEQ1M",
    ]  # fmt: skip
    client = plan_of(drive_json(**CLIENT), test="throughput")
    assert {step.job.block for step in rounds(client)} == {MIB}
    assert client.seconds == pytest.approx(25 * 2 * 60 + 2 * 750e9 / 2000e6 + 60, abs=10)


def test_latency_is_one_request_at_a_time(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="latency")
    assert [(step.job.block, step.job.rw, step.job.mix) for step in rounds(plan)] == [
        (block, way, mix)
        for way, mix in (("randread", None), ("randrw", 65), ("randwrite", None))
        for block in (8 * KIB, 4 * KIB, 512)
    ]
    assert {(step.job.depth, step.job.threads) for step in rounds(plan)} == {(1, 1)}
    assert rounds(plan)[4].test == "RND4K 65:35 Q1T1"


def test_wsat_writes_four_times_the_capacity_or_six_hours(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="wsat")
    assert fills(plan) == []
    steps = [step for step in plan.steps if isinstance(step, Fio)]
    assert len(steps) == 360
    assert {(s.job.rw, s.job.block, s.job.runtime, s.round.enough) for s in steps} == {
        ("randwrite", 4096, 60, 4 * TB)
    }
    assert sum(step.bytes_written for step in steps) == 4 * TB
    assert any("4 times the capacity" in note and "6 h" in note for note in plan.notes)
    assert str(plan.state).endswith("; not preconditioned")
    # A slow drive is written for six hours and no more.
    slow = plan_of(drive_json(**{**CLIENT, "transport": "usb-uas", "usb_speed": 480}), test="wsat")
    assert sum(step.bytes_written for step in rounds(slow)) == 60 * 40_000_000
    assert slow.bytes_written == pytest.approx(360 * 60 * 40e6, rel=0.001)


def test_hir_waits_after_each_five_seconds_and_not_in_between(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="hir")
    steps = [step for step in plan.steps if isinstance(step, Fio) and not step.round.number]
    assert [(step.pauses.busy, step.pauses.rest, step.job.runtime) for step in steps] == [
        row
        for wait in (5, 10, 15, 25, 50)
        for row in ((5, wait, 360 * (5 + wait)), (0, 0, 360 * 5))
    ]
    assert [step.busy_seconds for step in steps[:2]] == [1800, None]
    assert len(rounds(plan)) == 1
    argv = fio.command(steps[0], "/dev/x", Path("/step"))
    assert "--thinktime=5s" in argv
    assert "--thinktime_iotime=5s" in argv
    assert not any("think" in word for word in fio.command(steps[1], "/dev/x", Path("/step")))
    # The estimate counts only the seconds in which it writes.
    assert steps[0].bytes_written == steps[1].bytes_written


@pytest.mark.parametrize("test", ["iops", "throughput", "latency", "wsat", "hir"])
def test_reduced_is_labelled_everywhere(drive_json: Make, test: str) -> None:
    plan = plan_of(drive_json(**CLIENT), preset="reduced", test=test)
    measured = [step for step in plan.steps if isinstance(step, Fio) and "fill" not in step.name]
    assert all(step.name.startswith("reduced ") for step in measured)
    assert {step.job.runtime for step in measured if step.round.number} == {30}
    assert any(note.startswith("PTS-like, reduced: not SNIA-conformant: ") for note in plan.notes)
    raw_results = results(plan, rounds_of(plan, [100.0] * 5))
    result = result_of(Pts(), plan, raw_results, drive_json())
    json.dumps(result.document)
    assert result.results
    assert all("PTS-like, reduced: not SNIA-conformant" in str(item["reason"])
               for item in result.results)  # fmt: skip
    assert all("PTS-like, reduced" in table["title"] for table in result.document["tables"])
    assert all("PTS-like, reduced" in chart["title"] for chart in result.document["charts"])
    assert all("PTS-like, reduced" in item["label"] for item in result.document["headline"])
    assert result.document["text"].startswith("PTS-like, reduced")


def test_reduced_has_nine_cells_of_30_seconds(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), preset="reduced")
    assert [(step.job.block, step.job.rw) for step in rounds(plan)] == [
        (block, way)
        for way in ("randread", "randrw", "randwrite")
        for block in (MIB, 64 * KIB, 4 * KIB)
    ]


@pytest.mark.parametrize(
    ("params", "deviations"),
    [
        ({"time": "10"}, "time 10 instead of 60 s"),
        ({"range": "50"}, "range 50 instead of 75 %"),
        ({"rounds": "6"}, "rounds 6 instead of 25"),
        ({"amount": "8GiB"}, "amount 8.59 GB, not the whole active range"),
        ({"purge": "none"}, "no purge that makes the drive fresh"),
        ({"purge": "overwrite"}, "no purge that makes the drive fresh"),
        ({"purge": "discard"}, "purged by discard, not by Sanitize, Format or Security Erase"),
        ({"test": "wsat", "limit": "600"}, "limit 600 instead of 21600 s"),
        ({"test": "hir", "accesses": "3"}, "accesses 3 instead of 360"),
        ({"test": "hir", "waits": "5"}, "waits 5 instead of 5,10,15,25,50 s"),
    ],
)
def test_what_is_changed_is_not_called_pts(
    drive_json: Make, params: dict[str, str], deviations: str
) -> None:
    plan = plan_of(drive_json(**CLIENT), **params)
    assert plan.deviations == (deviations,)
    assert plan_from_json(plan.to_json()).deviations == plan.deviations
    result = result_of(Pts(), plan, results(plan, rounds_of(plan, [100.0] * 5)), drive_json())
    assert result.document["method"] == "PTS-like, changed"
    assert {"PTS-like, changed: not SNIA-conformant"} <= {
        str(item["reason"]).rsplit("; ", 1)[-1] for item in result.results
    }
    # The standard leaves these to the operator, who only has to report them.
    custom_plan = plan_of(drive_json(**CLIENT), depth="8", threads="4")
    assert custom_plan.deviations == ()
    assert rounds(custom_plan)[0].test == "RND1M 100:0 Q8T4"


def test_a_discard_is_none_of_snias_purges(drive_json: Make) -> None:
    trimmed = plan_of(drive_json(**TRIM, write_cache="enabled"))
    assert str(trimmed.state).startswith("purged by discard of all blocks; ")
    assert trimmed.deviations == ("purged by discard, not by Sanitize, Format or Security Erase",)
    assert any(
        note.startswith("PTS-like, changed: not SNIA-conformant: purged by discard")
        for note in trimmed.notes
    )
    # A purge by hand, as the user states it, is no departure.
    purged_plan = plan_of(drive_json(**CLIENT), purged="hdparm --security-erase")
    assert purged_plan.deviations == ()


def test_no_half_kilobytes_on_4k_sectors(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT, logical_sector=4096))
    assert {step.job.block for step in rounds(plan)} == {
        at * KIB for at in (1024, 128, 64, 32, 16, 8, 4)
    }
    skips = [step for step in plan.steps if isinstance(step, Skip)]
    assert len(skips) == 7
    assert "not a whole number of the drive's logical blocks of 4 KiB" in skips[0].reason
    raw_results = results(plan, rounds_of(plan, [100.0] * 5))
    document = result_of(Pts(), plan, raw_results, drive_json()).document
    assert "RND512B 95:5 Q16T2: skipped" in document["text"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"test": "xsr"}, "test"),
        ({"preset": "pro"}, "preset"),
        ({"range": "101"}, "range"),
        ({"range": "0"}, "range"),
        ({"amount": "0"}, "amount"),
        ({"amount": "2tb"}, "amount"),
        ({"amount": "1MiB"}, "amount"),
        ({"amount": "5000"}, "amount"),
        ({"depth": "257"}, "depth"),
        ({"depth": "0"}, "depth"),
        ({"threads": "0"}, "threads"),
        ({"threads": "65"}, "threads"),
        ({"time": "0"}, "time"),
        ({"rounds": "4"}, "rounds"),
        ({"rounds": "26"}, "rounds"),
        ({"limit": "60"}, "limit"),
        ({"accesses": "3"}, "accesses"),
        ({"test": "wsat", "rounds": "5"}, "rounds"),
        ({"test": "wsat", "limit": "59"}, "limit"),
        # A week of rounds of a second: more steps than any page or store should hold.
        ({"test": "wsat", "limit": "604800", "time": "1"}, "limit"),
        ({"waits": "5"}, "waits"),
        ({"test": "hir", "waits": "0"}, "waits"),
        ({"test": "hir", "waits": "5,x"}, "waits"),
        ({"test": "hir", "waits": "5,5"}, "waits"),
        ({"test": "hir", "waits": ""}, "waits"),
        ({"test": "latency", "depth": "2"}, "depth"),
        ({"test": "latency", "threads": "2"}, "threads"),
        ({"purge": "security-erase"}, "purge"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        plan_of(drive_json(**CLIENT), **params)
    assert caught.value.field == field
    assert "\n" not in caught.value.message


def test_a_plan_survives_json(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="wsat")
    text = json.dumps(plan.to_json())
    assert json.dumps(plan_from_json(json.loads(text)).to_json()) == text


# ---- values worked out by hand


def rounds_of(plan: Plan, values: Sequence[float]) -> dict[int, float]:
    """The value of the tracked test in each round."""
    return dict(enumerate(values, 1))


def results(plan: Plan, values: dict[int, float], bad: Sequence[str] = ()) -> list[Any]:
    """What the engine makes of rounds in which every test has the round's value as its IOPS, a
    hundredth of it as MB/s, and as its latency in us; of steps outside of rounds 50."""
    raw_results: list[Any] = []
    for step in plan.steps:
        if not isinstance(step, Fio) or step.name.startswith("fill"):
            continue
        value = values.get(step.round.number, None if step.round.number else 50.0)
        if value is None:
            continue
        state = {"state": "invalid", "reason": "bad"} if step.name in bad else {
            "state": "valid", "reason": None}  # fmt: skip
        base = {"step": step.name, "pass": step.pass_no, "target": "block", **state}
        totals = {"write_bytes": int(value) * 10**9, "read_bytes": 0, "seconds": step.job.runtime}
        raw_results += [
            {**base, "name": f"{step.test}{suffix}", "value": number, "unit": unit,
             "detail": {} if suffix else {"totals": totals}}
            for suffix, number, unit in (
                ("", value / 100, "MB/s"), (" IOPS", value, "IOPS"), (" latency", value, "us"),
                (" latency max", 10 * value, "us"),
            )
        ]  # fmt: skip
    return [document(item) for item in raw_results]


def quick(drive_json: Make, **params: str) -> Plan:
    return plan_of(drive_json(**CLIENT), preset="reduced", **params)


# Mean 100, and by hand: range in percent, |slope| * 4 in percent of the mean.
LEVEL_20 = [90.0, 110.0, 100.0, 110.0, 90.0]  # range 20, slope 0
LEVEL_20_2 = [89.9, 110.1, 100.0, 110.1, 89.9]  # range 20.2, slope 0
RISE_10 = [95.0, 97.5, 100.0, 102.5, 105.0]  # range 10, slope 2.5 * 4 = 10
RISE_10_4 = [94.8, 97.4, 100.0, 102.6, 105.2]  # range 10.4, slope 2.6 * 4 = 10.4


@pytest.mark.parametrize(
    ("five", "reached"),
    [(LEVEL_20, True), (LEVEL_20_2, False), (RISE_10, True), (RISE_10_4, False)],
)
@pytest.mark.parametrize("test", ["iops", "latency", "throughput", "hir"])
def test_the_rounds_end_by_the_rule_on_both_sides_of_its_limits(
    drive_json: Make, five: list[float], reached: bool, test: str
) -> None:
    plan = quick(drive_json, test=test)
    sixth = rounds(plan, 6)[0]
    reason = over(Pts(), plan, sixth, results(plan, rounds_of(plan, five)))
    assert reason == ("steady state after round 5" if reached else None)
    # Four rounds are no window, whatever they are.
    fifth = rounds(plan, 5)[0]
    assert over(Pts(), plan, fifth, results(plan, rounds_of(plan, five[:4]))) is None
    document = result_of(Pts(), plan, results(plan, rounds_of(plan, five)), drive_json()).document
    (verdict,) = document["verdicts"]
    assert verdict["state"] == ("reached" if reached else "not yet")


def test_the_cells_are_the_means_of_the_five_rounds_of_steady_state(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT))
    values = [1000.0, 500.0, *RISE_10]
    result = result_of(Pts(), plan, results(plan, rounds_of(plan, values)), drive_json())
    by_name = {item["name"]: item for item in result.results}
    cell = by_name["RND4K 65:35 Q16T2 IOPS"]
    # (95 + 97.5 + 100 + 102.5 + 105) / 5
    assert (cell["value"], cell["state"], cell["reason"]) == (100.0, "valid", None)
    assert cell["detail"]["rounds"] == [3, 7]
    assert cell["detail"]["values"] == RISE_10
    assert by_name["RND4K 65:35 Q16T2"]["value"] == 1.0
    assert by_name["RND4K 65:35 Q16T2 latency max"]["value"] == 1050.0
    assert len(result.results) == 56 * 4
    document = result.document
    assert document["method"] == "PTS client"
    matrix, evidence = document["tables"]
    assert matrix["title"] == ("PTS client: IOPS by read:write, rounds 3 to 7 (steady state)")
    assert matrix["columns"] == ["block", "100:0", "95:5", "65:35", "50:50", "35:65", "5:95",
                                 "0:100"]  # fmt: skip
    assert [row[0] for row in matrix["rows"]] == [
        "1 MiB",
        "128 KiB",
        "64 KiB",
        "32 KiB",
        "16 KiB",
        "8 KiB",
        "4 KiB",
        "512 B",
    ]
    assert {cell for row in matrix["rows"] for cell in row[1:]} == {"100"}
    assert evidence["rows"] == [
        ["round 3", "95", "95.0 %", "95"],
        ["round 4", "98", "97.5 %", "98"],
        ["round 5", "100", "100.0 %", "100"],
        ["round 6", "102", "102.5 %", "102"],
        ["round 7", "105", "105.0 %", "105"],
        ["average", "100", "100.0 %", ""],
        ["highest - lowest", "10", "10.00 %", "within 20 %"],
        ["slope over 4 rounds", "10", "10.00 %", "within 10 %"],
    ]
    chart = document["charts"][0]
    assert chart["title"] == "PTS client: RND4K 0:100 Q16T2 by round"
    lines = {line["name"]: line["points"] for line in chart["series"]}
    assert lines["IOPS"] == [[at, value] for at, value in enumerate(values, 1)]
    assert lines["average"] == [[3, 100.0], [7, 100.0]]
    assert [at[1] for at in lines["average + 10 %"]] == pytest.approx([110.0, 110.0])
    assert [at[1] for at in lines["average - 10 %"]] == pytest.approx([90.0, 90.0])
    assert lines["best fit"] == [[3 + at, pytest.approx(value)] for at, value in enumerate(RISE_10)]
    blocks = document["charts"][1]
    assert blocks["x"] == {"label": "block", "unit": "B", "scale": "log2"}
    assert blocks["series"][0]["name"] == "100:0"
    assert blocks["series"][0]["points"][0] == [512.0, 100.0]
    assert document["headline"][0]["label"] == "RND4K 100:0 Q16T2 IOPS (PTS client)"


def test_every_result_states_that_steady_state_was_not_reached(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="throughput")
    values = [1000.0 / number for number in range(1, 26)]
    result = result_of(Pts(), plan, results(plan, rounds_of(plan, values)), drive_json())
    assert {item["state"] for item in result.results} == {"valid"}
    assert {item["reason"] for item in result.results} == {"steady state not reached in 25 rounds"}
    cell = next(item for item in result.results if item["name"] == "SEQ1M 0:100 Q32T1")
    assert cell["detail"]["rounds"] == [21, 25]
    assert cell["value"] == pytest.approx(sum(values[20:]) / 500)
    (verdict,) = result.document["verdicts"]
    assert verdict["state"] == "not reached"
    assert "above 10 %" in result.document["text"]


def test_a_run_cut_short_has_no_valid_cell(drive_json: Make) -> None:
    plan = quick(drive_json)
    raw_results = results(plan, rounds_of(plan, [100.0] * 3))
    result = result_of(Pts(), plan, raw_results, drive_json())
    assert {item["state"] for item in result.results} == {"invalid"}
    assert all("only 3 rounds, before steady state" in item["reason"]
               for item in result.results)  # fmt: skip
    empty = result_of(Pts(), plan, [], drive_json())
    assert (empty.results, empty.document["tables"], empty.document["charts"]) == ([], [], [])


def test_an_invalid_round_breaks_the_window(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="throughput")
    bad = ["SEQ1M 0:100 Q32T1, round 3"]
    values = rounds_of(plan, [100.0] * 7)
    assert over(Pts(), plan, rounds(plan, 8)[0], results(plan, values, bad)) is None
    values = rounds_of(plan, [100.0] * 8)
    # Rounds 4 to 8 are the first five without it.
    assert over(Pts(), plan, rounds(plan, 9)[0], results(plan, values, bad)) == (
        "steady state after round 8"
    )
    reads = results(plan, values, ["SEQ1M 100:0 Q32T1, round 8"])
    result = result_of(Pts(), plan, reads, drive_json())
    by_name = {item["name"]: item for item in result.results}
    # A cell that is not tracked uses the other rounds of the window, and states this.
    assert over(Pts(), plan, rounds(plan, 9)[0], reads) == "steady state after round 5"
    assert by_name["SEQ1M 100:0 Q32T1"]["detail"]["rounds"] == [1, 5]
    inside = results(plan, rounds_of(plan, [100.0] * 5), ["SEQ1M 100:0 Q32T1, round 5"])
    cell = {item["name"]: item for item in result_of(Pts(), plan, inside, drive_json()).results}[
        "SEQ1M 100:0 Q32T1"
    ]
    assert (cell["value"], cell["reason"]) == (1.0, "4 of 5 passes; pass 5 invalid: bad")


def test_half_kilobytes_on_512e_have_a_note_on_read_modify_write(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT, physical_sector=4096), test="latency")
    raw_results = results(plan, rounds_of(plan, [100.0] * 5))
    result = result_of(Pts(), plan, raw_results, drive_json(physical_sector=4096))
    whys = {item["name"]: item["reason"] for item in result.results}
    assert str(whys["RND512B 65:35 Q1T1 latency"]).startswith("read-modify-write")
    assert whys["RND512B 100:0 Q1T1 latency"] is None
    assert whys["RND4K 0:100 Q1T1 latency"] is None
    mean, highest, evidence = result.document["tables"]
    assert "mean latency, us" in mean["title"]
    assert mean["rows"][1] == ["4 KiB", "100.0", "100.0", "100.0"]
    assert highest["rows"][1] == ["4 KiB", "1000.0", "1000.0", "1000.0"]
    assert "RND4K 0:100 Q1T1, us: steady state reached" in evidence["title"]


def test_wsat_ends_when_all_is_written(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="wsat")
    # 1000, 1500, 1500 GB are written in the rounds: 4 TB are reached in the third.
    two = results(plan, rounds_of(plan, [1000.0, 1500.0]))
    assert over(Pts(), plan, rounds(plan, 3)[0], two) is None
    three = results(plan, rounds_of(plan, [1000.0, 1500.0, 1500.0]))
    reason = over(Pts(), plan, rounds(plan, 4)[0], three)
    assert reason == "4.00 TB written after round 3, as required"
    # Six rounds alike are no steady state here.
    result = result_of(Pts(), plan, three, drive_json())
    by_name = {item["name"]: item["value"] for item in result.results}
    assert by_name["RND4K 0:100 Q16T2 written"] == 4000.0
    assert by_name["RND4K 0:100 Q16T2 IOPS of the first round"] == 1000.0
    titles = [chart["title"] for chart in result.document["charts"]]
    assert "PTS client: write saturation, IOPS by written" in titles
    points = result.document["charts"][2]["series"][0]["points"]
    assert points == [[1000.0, 1000.0], [2500.0, 1500.0], [4000.0, 1500.0]]
    by_time = result.document["charts"][0]["series"][0]["points"]
    assert by_time == [[60.0, 1000.0], [120.0, 1500.0], [180.0, 1500.0]]
    assert result.document["verdicts"] == []
    last = next(item for item in result.results if item["name"].endswith("of the last 5 rounds"))
    assert (last["state"], last["reason"]) == ("valid", "of 3 rounds only")


def test_wsat_cut_short_does_not_report_where_it_would_have_ended(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="wsat")
    raw_results = results(plan, rounds_of(plan, [500.0, 100.0, 90.0, 80.0, 70.0, 60.0]))
    by_name = {
        item["name"]: item for item in result_of(Pts(), plan, raw_results, drive_json()).results
    }
    test = "RND4K 0:100 Q16T2"
    states = {name.removeprefix(test): item["state"] for name, item in by_name.items()}
    assert states == {
        " written": "valid", " IOPS of the first round": "valid",
        " IOPS of the last 5 rounds": "invalid",
    }  # fmt: skip
    assert by_name[f"{test} IOPS of the last 5 rounds"]["reason"] == (
        "only 6 rounds, 900.00 GB of 4.00 TB written"
    )
    # All of its rounds are an end as well, whatever was written.
    short = plan_of(drive_json(**CLIENT), test="wsat", limit="300")
    raw_results = results(short, rounds_of(short, [500.0, 100.0, 90.0, 80.0, 70.0]))
    last = result_of(Pts(), short, raw_results, drive_json()).results[-1]
    assert (last["value"], last["state"]) == (168.0, "valid")


def test_wsat_cut_short_has_no_speed_of_its_end(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="wsat")
    result = result_of(Pts(), plan, results(plan, rounds_of(plan, [1000.0, 1500.0])), drive_json())
    states = {item["name"]: (item["state"], item["reason"]) for item in result.results}
    reason = "only 2 rounds, 2.50 TB of 4.00 TB written"
    assert states == {
        "RND4K 0:100 Q16T2 written": ("valid", reason),
        "RND4K 0:100 Q16T2 IOPS of the first round": ("valid", reason),
        "RND4K 0:100 Q16T2 IOPS of the last 5 rounds": ("invalid", reason),
    }
    # At the end of its time it is not cut short, however little was written.
    slow = plan_of(drive_json(**CLIENT), test="wsat", time="7200")
    result = result_of(Pts(), slow, results(slow, rounds_of(slow, [1.0] * 3)), drive_json())
    assert {item["state"] for item in result.results} == {"valid"}
    changed = "PTS-like, changed: not SNIA-conformant"
    assert {item["reason"] for item in result.results} == {
        changed, f"of 3 rounds only; {changed}"
    }  # fmt: skip


def test_hir_reports_the_recovery_of_each_wait(drive_json: Make) -> None:
    plan = plan_of(drive_json(**CLIENT), test="hir")
    raw_results = results(plan, rounds_of(plan, [40.0] * 5))
    for item in raw_results:
        if item["name"].startswith("RND4K 0:100 Q16T2, wait 50 s IOPS"):
            item["value"] = 80.0
    result = result_of(Pts(), plan, raw_results, drive_json())
    by_name = {item["name"]: item["value"] for item in result.results}
    assert by_name["RND4K 0:100 Q16T2 IOPS"] == 40.0
    assert by_name["RND4K 0:100 Q16T2, wait 50 s IOPS"] == 80.0
    table = result.document["tables"][0]
    assert table["rows"][0] == ["5 s", "50", "125.0 %", "50", "125.0 %"]
    assert table["rows"][4] == ["50 s", "80", "200.0 %", "50", "125.0 %"]
    chart = result.document["charts"][-1]
    assert chart["series"][0]["points"][-1] == [50.0, 80.0]
    # Cut short in the waits, it shows those that it has.
    some = [item for item in raw_results if not item["step"].endswith(("50 s", "25 s"))]
    rows = result_of(Pts(), plan, some, drive_json()).document["tables"][0]["rows"]
    assert [row[0] for row in rows] == ["5 s", "10 s", "15 s"]
