"""The ATTO-style suite: its plans against its source, its result from invented values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchstick.errors import BadInput
from benchstick.plan.steps import Fio, Plan, Skip, plan_from_json
from benchstick.plan.units import GIB, KIB, MIB
from benchstick.suites import registry
from tests.results import document, result_of

Make = Callable[..., dict[str, Any]]
V2 = [512, *(KIB << at for at in range(14))]
V4 = [*V2, 12 * MIB, 16 * MIB, 24 * MIB, 32 * MIB, 48 * MIB, 64 * MIB]


def fio_tests(plan: Plan) -> list[Fio]:
    return [step for step in plan.steps if isinstance(step, Fio) and step.recording.counted]


def test_each_size_is_written_and_then_read_upwards(drive_json: Make) -> None:
    plan = registry.make_plan("atto", drive_json(), {})
    steps = fio_tests(plan)
    assert [(step.job.block, step.job.rw) for step in steps] == [
        (block, way) for block in V4 for way in ("write", "read")
    ]
    assert {(step.job.depth, step.job.threads, step.job.runtime) for step in steps} == {
        (4, 1, None)
    }
    assert {step.data.fill for step in steps} == {"zero"}
    assert {step.job.write_through for step in steps} == {False}
    older = fio_tests(registry.make_plan("atto", drive_json(), {"version": "2"}))
    assert sorted({step.job.block for step in older}) == V2


def test_bytes_are_exact_and_whole_ios(drive_json: Make) -> None:
    plan = registry.make_plan("atto", drive_json(), {})
    for step in fio_tests(plan):
        moved = 256 * MIB // step.job.block * step.job.block
        assert step.span.size == moved
        assert (step.bytes_written, step.bytes_read) == (
            (moved, 0) if step.job.rw == "write" else (0, moved)
        )
    # 21 x 12, 10 x 24 and 5 x 48 MiB; all others are 256 MiB. The test area is laid out once.
    each = 18 * 256 * MIB + (252 + 240 + 240) * MIB
    assert (plan.bytes_written, plan.bytes_read) == (each + 256 * MIB, each)
    assert any("12 MiB, 24 MiB, 48 MiB: whole I/Os only" in note for note in plan.notes)


def test_the_area_is_written_before_anything_is_measured(drive_json: Make) -> None:
    plan = registry.make_plan("atto", drive_json(), {"length": "1MiB", "to": "64KiB"})
    kinds = [step.kind for step in plan.steps]
    assert kinds[:3] == ["prepare", "fio", "idle"]
    assert kinds[-1] == "idle"
    first = plan.steps[1]
    assert isinstance(first, Fio)
    assert (first.test, first.recording.counted) == ("layout", False)
    assert (first.span.size, first.data.fill) == (MIB, "zero")
    odd = registry.make_plan("atto", drive_json(), {"length": "1028KiB", "to": "64KiB"}).steps[1]
    assert isinstance(odd, Fio)
    assert (odd.job.block, odd.span.size) == (4 * KIB, 1028 * KIB)


def test_seconds_follow_the_time_or_the_length(drive_json: Make) -> None:
    timed = registry.make_plan("atto", drive_json(), {"time": "2"})
    assert {step.job.runtime for step in fio_tests(timed)} == {2}
    assert {step.seconds for step in fio_tests(timed)} == {2.5}
    # 42 tests of 2.5 s, the layout at 980 MB/s of a link of 10 Gb/s, 1 s to prepare.
    assert timed.seconds == pytest.approx(42 * 2.5 + 256 * MIB / 980e6 + 1)
    assert any("each size is moved for 2 s" in note for note in timed.notes)
    whole = {step.test: step.seconds for step in fio_tests(registry.make_plan(
        "atto", drive_json(), {}))}  # fmt: skip
    assert whole["1 MiB write"] == pytest.approx(256 * MIB / 980e6)
    assert whole["512 B write"] == pytest.approx(256 * MIB / 512 / 40_000)


def test_own_sizes_come_ascending(drive_json: Make) -> None:
    plan = registry.make_plan("atto", drive_json(), {"sizes": "1m, 4KiB,1536"})
    assert [step.job.block for step in fio_tests(plan)] == [1536, 1536, 4096, 4096, MIB, MIB]
    part = registry.make_plan("atto", drive_json(), {"from": "4KiB", "to": "16KiB", "depth": "10"})
    assert [step.job.block for step in fio_tests(part)][::2] == [4 * KIB, 8 * KIB, 16 * KIB]
    assert {step.job.depth for step in fio_tests(part)} == {10}


def test_write_through_is_of_writes_only(drive_json: Make) -> None:
    plan = registry.make_plan("atto", drive_json(), {"write_through": "yes"})
    assert {(step.job.rw, step.job.write_through) for step in fio_tests(plan)} == {
        ("write", True), ("read", False),
    }  # fmt: skip


def test_what_is_destroyed(drive_json: Make) -> None:
    assert not registry.make_plan("atto", drive_json(), {}).destroys
    assert registry.make_plan("atto", drive_json(), {}, fs="exfat").destroys
    raw = registry.make_plan("atto", drive_json(), {}, target="block")
    assert {step.destroys for step in fio_tests(raw) if step.job.rw == "write"} == {True}
    assert {step.destroys for step in fio_tests(raw) if step.job.rw == "read"} == {False}


def test_sizes_below_the_logical_block_are_skipped_with_the_reason(drive_json: Make) -> None:
    drive = drive_json(logical_sector=4096, physical_sector=4096)
    plan = registry.make_plan("atto", drive, {})
    skipped = [step for step in plan.steps if isinstance(step, Skip)]
    assert [step.test for step in skipped] == [
        f"{name} {way}" for name in ("512 B", "1 KiB", "2 KiB") for way in ("write", "read")
    ]
    assert skipped[0].reason == "512 B is not a whole number of the drive's logical blocks of 4 KiB"
    assert fio_tests(plan)[0].job.block == 4096
    assert not any("read-modify-write" in note for note in plan.notes)


def test_writes_below_the_physical_block_are_flagged(drive_json: Make) -> None:
    drive = drive_json(logical_sector=512, physical_sector=4096)
    plan = registry.make_plan("atto", drive, {"to": "8KiB"})
    assert not any(isinstance(step, Skip) for step in plan.steps)
    (note,) = [note for note in plan.notes if "read-modify-write" in note]
    assert note.startswith("writes of 512 B, 1 KiB, 2 KiB: ")
    result = result_of(registry.find("atto"), plan, fake_run(["512 B", "4 KiB"]), drive)
    rows = {row["name"]: row for row in result.document["sizes"]}
    assert "read-modify-write" in rows["512 B"]["write"]["reason"]
    assert rows["512 B"]["read"]["reason"] is None
    assert rows["4 KiB"]["write"]["reason"] is None
    results = {item["name"]: item for item in result.results}
    assert results["512 B write"]["state"] == "valid"
    assert "physical blocks of 4 KiB" in results["512 B write"]["reason"]
    (size_row,) = [row for row in result.document["tables"][0]["rows"] if row[0] == "512 B"]
    assert size_row[-1].startswith("valid: write read-modify-write")


@pytest.mark.parametrize(
    ("params", "field", "words"),
    [
        ({"depth": "0"}, "depth", "from 1 to 256"),
        ({"length": "0"}, "length", "bytes"),
        ({"length": "100000"}, "length", "multiple of 4 KiB"),
        ({"length": "64GiB"}, "length", "bytes"),
        ({"length": "1MiB"}, "length", "less than the largest I/O size, 64 MiB"),
        ({"sizes": "3000"}, "sizes", "multiple of 512"),
        ({"sizes": "0"}, "sizes", "multiple of 512"),
        ({"sizes": "128MiB"}, "sizes", "64 MiB"),
        ({"sizes": "4KiB,,8KiB"}, "sizes", "not a size"),
        ({"sizes": "4KiB,4096"}, "sizes", "twice"),
        ({"sizes": "4KiB", "to": "8KiB"}, "sizes", "replaces to"),
        ({"sizes": ",".join(str(512 * n) for n in range(1, 66))}, "sizes", "more than 64"),
        ({"from": "3KiB"}, "from", "not one of"),
        ({"from": "8KiB", "to": "4KiB"}, "from", "more than"),
        ({"version": "2", "from": "12MiB"}, "from", "has no I/O size"),
        ({"data": "text"}, "data", "not one of"),
        ({"time": "-1"}, "time", "whole number"),
        ({"block": "4k"}, "block", "unknown parameter"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], field: str, words: str
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        registry.make_plan("atto", drive_json(), params)
    assert caught.value.field == field
    assert "\n" not in caught.value.message


def test_a_length_beyond_the_drive_is_refused(drive_json: Make) -> None:
    small = drive_json(capacity=200 * MIB)
    with pytest.raises(BadInput, match="more than the drive has") as caught:
        registry.make_plan("atto", small, {}, target="block")
    assert caught.value.field == "length"
    with pytest.raises(BadInput, match="does not fit"):
        registry.make_plan("atto", small, {})
    with pytest.raises(BadInput, match="does not fit"):
        registry.make_plan("atto", small, {"length": "192MiB"})
    assert registry.make_plan("atto", small, {"length": "192MiB"}, target="block").steps


def test_a_drive_that_takes_none_of_the_sizes_is_refused(drive_json: Make) -> None:
    drive = drive_json(logical_sector=4096)
    with pytest.raises(BadInput, match="logical blocks of 4 KiB") as caught:
        registry.make_plan("atto", drive, {"sizes": "512,1k"})
    assert caught.value.field == "sizes"


def test_a_plan_survives_json(drive_json: Make) -> None:
    drive = drive_json(logical_sector=4096)
    plan = registry.make_plan("atto", drive, {"write_through": "yes"})
    text = json.dumps(plan.to_json())
    assert json.dumps(plan_from_json(json.loads(text)).to_json()) == text


def pass_result(name: str, value: float | None, unit: str, **changes: Any) -> dict[str, Any]:
    return document({
        "step": name, "name": name, "value": value, "unit": unit, "pass": 1,
        "target": "file on exfat", "state": "valid", "reason": None,
        "detail": {"totals": {"seconds": 1.5}}, **changes,
    })  # fmt: skip


def fake_run(names: list[str], factor: float = 100.0) -> list[Any]:
    """100 MB/s for the first size, 200 for the second, ...; reads twice as fast."""
    results = []
    for at, name in enumerate(names, 1):
        for way, times in (("write", 1), ("read", 2)):
            label = f"{name} {way}"
            results += [
                pass_result(label, factor * at * times, "MB/s"),
                pass_result(f"{label} IOPS", 1000.0 * at * times, "IOPS"),
                pass_result(f"{label} latency", 50.0, "us"),
                pass_result(f"{label} latency max", 900.0, "us"),
                *(pass_result(f"{label} latency p{p}", 60.0, "us")
                  for p in ("50", "99", "99.9", "99.99", "99.999")),
            ]  # fmt: skip
    return results


def test_table_chart_and_best_of_each_way(drive_json: Make) -> None:
    drive = drive_json()
    plan = registry.make_plan("atto", drive, {"from": "512B", "to": "2KiB"})
    result = result_of(registry.find("atto"), plan, fake_run(["512 B", "1 KiB", "2 KiB"]), drive)
    table, latency = result.document["tables"]
    assert table["columns"][:5] == ["I/O size", "write MB/s", "read MB/s", "write IO/s",
                                    "read IO/s"]  # fmt: skip
    assert table["rows"][1] == ["1 KiB", "200.00", "400.00", "2000", "4000", "valid"]
    assert latency["rows"][0] == ["512 B write", "50.0", *["60.0"] * 5, "900.0"]
    speed, ios = result.document["charts"]
    assert speed["x"] == {"label": "I/O size", "unit": "B", "scale": "log2"}
    assert speed["series"][0] == {
        "name": "write", "points": [[512, 1e8], [1024, 2e8], [2048, 3e8]],
    }  # fmt: skip
    assert ios["y"]["unit"] == "IO/s"
    assert ios["series"][1]["points"] == [[512, 2000.0], [1024, 4000.0], [2048, 6000.0]]
    assert [(item["label"], item["value"]) for item in result.document["headline"]] == [
        ("write, best (2 KiB)", 300.0), ("read, best (2 KiB)", 600.0),
    ]  # fmt: skip
    assert result.document["text"].splitlines()[0].startswith("I/O size  write MB/s")
    over_all = {item["name"]: item for item in result.results}
    assert len(over_all) == 3 * 2 * 3
    assert over_all["1 KiB read"]["value"] == 400.0
    assert over_all["1 KiB read latency"]["value"] == 50.0
    assert over_all["1 KiB read"]["detail"]["percentiles_us"]["99.9"] == 60.0


def test_skipped_invalid_and_short_tests_are_marked(drive_json: Make) -> None:
    drive = drive_json(logical_sector=4096)
    plan = registry.make_plan("atto", drive, {"from": "2KiB", "to": "8KiB"})
    results = fake_run(["4 KiB", "8 KiB"])
    results += [
        pass_result(f"2 KiB {way}", None, "MB/s", state="skipped", reason="no", detail={})
        for way in ("write", "read")
    ]
    results[0].update(state="invalid", reason="buffered: 90 %")
    for item in results:
        if item["name"] == "8 KiB read":
            item["detail"] = {"totals": {"seconds": 0.025}}
    result = result_of(registry.find("atto"), plan, results, drive)
    states = {row[0]: row[-1] for row in result.document["tables"][0]["rows"]}
    assert states == {
        "2 KiB": "skipped: no",
        "4 KiB": "write invalid: buffered: 90 %; read valid",
        "8 KiB": "valid: read took 25 ms, ±1 ms",
    }
    over_all = {item["name"]: item for item in result.results}
    assert (over_all["4 KiB write"]["value"], over_all["4 KiB write"]["state"]) == (None, "invalid")
    assert over_all["2 KiB read"]["state"] == "skipped"
    write = result.document["charts"][0]["series"][0]
    assert write["points"] == [[8192, 2e8]]
    assert result.document["headline"][0]["label"] == "write, best (8 KiB)"


def test_a_run_cut_short_still_has_a_result(drive_json: Make) -> None:
    plan = registry.make_plan("atto", drive_json(), {})
    result = result_of(registry.find("atto"), plan, [], drive_json())
    assert (result.results, result.document["headline"]) == ([], [])
    part = result_of(registry.find("atto"), plan, fake_run(["512 B"])[:1], drive_json())
    assert [row[0] for row in part.document["tables"][0]["rows"]] == ["512 B"]
    assert part.document["sizes"][0]["read"] is None


def test_the_largest_length_is_planned(drive_json: Make) -> None:
    plan = registry.make_plan("atto", drive_json(), {"length": "32GiB", "to": "1KiB"})
    assert fio_tests(plan)[0].span.size == 32 * GIB
