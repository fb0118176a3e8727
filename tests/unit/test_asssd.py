"""The AS SSD-style suite: its plans against its source, its scores against published results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchstick.errors import BadInput
from benchstick.plan.steps import (
    TO,
    Copy,
    CopyWithin,
    Fio,
    LaySet,
    Plan,
    Skip,
    Verify,
    plan_from_json,
)
from benchstick.plan.units import GIB, KIB, MIB
from benchstick.suites import registry
from benchstick.suites.asssd_result import side_score, total_score
from tests.results import document, result_of

Make = Callable[..., dict[str, Any]]
BENCHMARK = {"parts": "benchmark"}


def fio_tests(plan: Plan) -> dict[str, Fio]:
    return {
        step.test: step for step in plan.steps if isinstance(step, Fio) and step.recording.counted
    }


def shape(step: Fio) -> tuple[Any, ...]:
    job, span = step.job, step.span
    return job.rw, job.block, job.depth, job.threads, span.size, span.files, job.runtime


@pytest.mark.parametrize(
    ("read", "write", "points"),
    [
        # docs/methods/asssd.md: the 960 EVO.
        ((1353.82, 37.38, 671.87), (1178.03, 80.51, 720.75), (845, 919, 2196)),
        # Two results that were published as AS SSD's own text.
        ((2468.65, 60.63, 445.71), (1077.41, 122.14, 259.35), (753, 489, 1580)),
        ((2863.65, 49.57, 790.21), (2127.69, 89.19, 1066.48), (1126, 1368, 3046)),
    ],
)
def test_scores_of_published_results(
    read: tuple[float, ...], write: tuple[float, ...], points: tuple[int, int, int]
) -> None:
    names = ("Seq", "4K", "4K-64Thrd")
    reads, writes = dict(zip(names, read, strict=True)), dict(zip(names, write, strict=True))
    assert (side_score(reads), side_score(writes), total_score(reads, writes)) == points


def test_the_tests_in_their_order(drive_json: Make) -> None:
    steps = fio_tests(registry.make_plan("asssd", drive_json(), BENCHMARK))
    assert list(steps) == [
        "Seq write", "Seq read", "4K write", "4K read", "4K-64Thrd write", "4K-64Thrd read",
        "Acc.time read", "Acc.time write",
    ]  # fmt: skip
    assert shape(steps["Seq write"]) == ("write", 16 * MIB, 1, 1, GIB, 1, None)
    assert shape(steps["Seq read"]) == ("read", 16 * MIB, 1, 1, GIB, 1, None)
    assert shape(steps["4K write"]) == ("randwrite", 4 * KIB, 1, 1, GIB, 1, 10)
    assert shape(steps["4K-64Thrd read"]) == ("randread", 4 * KIB, 1, 64, 16 * MIB, 64, 10)
    assert shape(steps["Acc.time write"]) == ("randwrite", 512, 1, 1, GIB, 1, 10)
    assert {step.data.fill for step in steps.values()} == {"random"}


@pytest.mark.parametrize("target", ["file", "block"])
def test_the_access_time_is_read_over_the_whole_raw_drive(drive_json: Make, target: str) -> None:
    drive = drive_json(capacity=10**11 + 512)
    step = fio_tests(registry.make_plan("asssd", drive, BENCHMARK, target=target))["Acc.time read"]
    assert shape(step) == ("randread", 4 * KIB, 1, 1, 10**11 // 4096 * 4096, 1, 10)
    assert step.span.whole_drive
    assert not step.destroys
    assert step.bytes_written == 0


def test_bytes_and_seconds(drive_json: Make) -> None:
    plan = registry.make_plan("asssd", drive_json(), {**BENCHMARK, "time": "0"})
    steps = fio_tests(plan)
    for name in ("Seq", "4K", "4K-64Thrd"):
        assert steps[f"{name} write"].bytes_written == GIB
        assert steps[f"{name} read"].bytes_read == GIB
        assert steps[f"{name} read"].job.runtime is None
    # Where the original has no amount the time stays.
    assert steps["Acc.time read"].job.runtime == 10
    layouts = [step for step in plan.steps if isinstance(step, Fio) and not step.recording.counted]
    assert [(s.bytes_written, s.span.size, s.span.files, s.job.threads) for s in layouts] == [
        (GIB, GIB, 1, 1), (GIB, 16 * MIB, 64, 1),
    ]  # fmt: skip
    assert steps["Seq write"].seconds == pytest.approx(GIB / 980e6)
    timed = registry.make_plan("asssd", drive_json(), {**BENCHMARK, "time": "3", "interval": "7"})
    # Prepare, two layouts, Seq each way, six random tests, four idles.
    assert timed.seconds == pytest.approx(1 + 4 * GIB / 980e6 + 6 * 3.5 + 4 * 7)
    on_disk = registry.make_plan("asssd", drive_json(), {"parts": "compression"})
    assert on_disk.bytes_written == 12 * GIB
    assert on_disk.bytes_read == 11 * GIB


def test_the_64_files_are_areas_of_the_raw_drive(drive_json: Make) -> None:
    plan = registry.make_plan("asssd", drive_json(), BENCHMARK, target="block")
    layouts = [step for step in plan.steps if isinstance(step, Fio) and not step.recording.counted]
    # 64 x 16 MiB are the first GiB, which is laid out already.
    assert [(step.span.size, step.span.files) for step in layouts] == [(GIB, 1)]
    step = fio_tests(plan)["4K-64Thrd write"]
    assert step.span.size * step.span.files <= layouts[0].span.size
    small = fio_tests(registry.make_plan("asssd", drive_json(), {"size": "64MiB"}))
    assert (small["4K-64Thrd read"].span.size, small["4K-64Thrd read"].span.files) == (MIB, 64)


def test_the_compression_curve(drive_json: Make) -> None:
    steps = fio_tests(registry.make_plan("asssd", drive_json(), {"parts": "compression"}))
    assert [(step.data.compress, step.job.rw) for step in steps.values()] == [
        (share, way) for share in range(0, 101, 10) for way in ("write", "read")
    ]
    assert {(step.job.block, step.job.depth, step.span.size) for step in steps.values()} == {
        (MIB, 1, GIB)
    }


def test_the_copies(drive_json: Make) -> None:
    plan = registry.make_plan("asssd", drive_json(), {"parts": "copy"})
    assert [(item["name"], item["bytes"], item["files"]) for item in plan.sets] == [
        ("ISO", 10**9, 2), ("Program", 4 * 10**8, 4000), ("Game", 10**9, 6005),
    ]  # fmt: skip
    copies = [step for step in plan.steps if isinstance(step, CopyWithin)]
    assert [(s.set_name, s.bytes_read, s.bytes_written, s.threads) for s in copies] == [
        ("ISO", 10**9, 10**9, 1), ("Program", 4 * 10**8, 4 * 10**8, 1), ("Game", 10**9, 10**9, 1),
    ]  # fmt: skip
    assert [s.set_name for s in plan.steps if isinstance(s, LaySet)] == ["ISO", "Program", "Game"]
    assert {s.folder for s in plan.steps if isinstance(s, Verify)} == {TO}
    assert plan.bytes_written == 2 * 24 * 10**8
    assert not any(isinstance(step, Copy | Fio) for step in plan.steps)
    scaled = registry.make_plan("asssd", drive_json(), {"parts": "copy"}, scale=0.01)
    assert scaled.scale == 0.01
    assert scaled.bytes_written <= plan.bytes_written // 100
    assert any("reduced file sets" in note for note in scaled.notes)


def test_copies_need_files(drive_json: Make) -> None:
    plan = registry.make_plan("asssd", drive_json(), {}, target="block")
    skipped = [step for step in plan.steps if isinstance(step, Skip)]
    assert [step.test for step in skipped] == ["ISO copy", "Program copy", "Game copy"]
    assert "filesystem" in skipped[0].reason
    assert (plan.sets, plan.scale) == ((), None)
    only = registry.make_plan("asssd", drive_json(), {"parts": "copy"}, target="block")
    assert not only.destroys
    with pytest.raises(BadInput) as caught:
        registry.make_plan("asssd", drive_json(), {}, target="block", scale=0.1)
    assert caught.value.field == "scale"


def test_what_is_destroyed(drive_json: Make) -> None:
    assert not registry.make_plan("asssd", drive_json(), {}).destroys
    assert registry.make_plan("asssd", drive_json(), {}, fs="auto").destroys
    assert registry.make_plan("asssd", drive_json(), {}, target="block").destroys


def test_small_writes_on_large_sectors(drive_json: Make) -> None:
    native = drive_json(logical_sector=4096, physical_sector=4096)
    plan = registry.make_plan("asssd", native, BENCHMARK)
    assert fio_tests(plan)["Acc.time write"].job.block == 4096
    assert "Acc.time write: writes of 4 KiB: the drive takes no smaller ones" in plan.notes
    emulated = drive_json(logical_sector=512, physical_sector=4096)
    plan = registry.make_plan("asssd", emulated, BENCHMARK)
    assert fio_tests(plan)["Acc.time write"].job.block == 512
    assert any("Acc.time write: read-modify-write" in note for note in plan.notes)
    result = result_of(registry.find("asssd"), plan, fake_run(), emulated)
    over_all = {item["name"]: item for item in result.results}
    assert "read-modify-write" in over_all["Acc.time write latency"]["reason"]
    assert over_all["Acc.time read latency"]["reason"] is None
    huge = registry.make_plan("asssd", drive_json(logical_sector=16384), BENCHMARK)
    assert [s.test for s in huge.steps if isinstance(s, Skip)] == [
        "4K write", "4K read", "4K-64Thrd write", "4K-64Thrd read",
    ]  # fmt: skip
    assert fio_tests(huge)["Acc.time read"].job.block == 16384


@pytest.mark.parametrize(
    ("params", "field", "words"),
    [
        ({"size": "0"}, "size", "bytes"),
        ({"size": "16MiB"}, "size", "bytes"),
        ({"size": "100MiB"}, "size", "multiples of 64 MiB"),
        ({"size": "65GiB"}, "size", "bytes"),
        ({"size": "x"}, "size", "not a size"),
        ({"time": "601"}, "time", "from 0 to 600"),
        ({"interval": "-1"}, "interval", "from 0 to 600"),
        ({"parts": "benchmark,disk"}, "parts", "not one of"),
        ({"parts": ""}, "parts", "at least one"),
        ({"parts": "copy,copy"}, "parts", "each part once"),
        ({"depth": "0"}, "depth", "unknown parameter"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], field: str, words: str
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        registry.make_plan("asssd", drive_json(), params)
    assert caught.value.field == field
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("capacity", "params", "target", "field", "words"),
    [
        (2 * 10**9, BENCHMARK, "file", "size", "do not fit"),
        (10**9, {"parts": "compression"}, "file", "size", "do not fit"),
        (10**9, {}, "block", "size", "more than the drive"),
        (2 * 10**9, {"parts": "copy"}, "file", "scale", "ISO files twice"),
    ],
)
def test_a_drive_smaller_than_the_test_is_refused(
    drive_json: Make,
    capacity: int,
    params: dict[str, str],
    target: str,
    field: str,
    words: str,
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        registry.make_plan("asssd", drive_json(capacity=capacity), params, target=target)
    assert caught.value.field == field


def test_a_plan_survives_json(drive_json: Make) -> None:
    for target in ("file", "block"):
        plan = registry.make_plan("asssd", drive_json(), {}, target=target)
        text = json.dumps(plan.to_json())
        assert json.dumps(plan_from_json(json.loads(text)).to_json()) == text


def pass_result(name: str, value: float | None, unit: str, **changes: Any) -> dict[str, Any]:
    return document({
        "step": name, "name": name, "value": value, "unit": unit, "pass": 1,
        "target": "file on exfat", "state": "valid", "reason": None,
        "detail": {"totals": {"seconds": 1.5}}, **changes,
    })  # fmt: skip


def measured(label: str, mbps: float, us: float = 100.0, **changes: Any) -> list[Any]:
    return [
        pass_result(label, mbps, "MB/s", **changes),
        pass_result(f"{label} IOPS", mbps * 1e6 / 4096, "IOPS", **changes),
        pass_result(f"{label} latency", us, "us", **changes),
        pass_result(f"{label} latency max", 10 * us, "us", **changes),
        *(pass_result(f"{label} latency p{p}", 2 * us, "us", **changes)
          for p in ("50", "99", "99.9", "99.99", "99.999")),
    ]  # fmt: skip


# docs/methods/asssd.md: the 960 EVO, in MiB/s as AS SSD shows them.
EVO = {
    "Seq read": 1353.82, "Seq write": 1178.03, "4K read": 37.38, "4K write": 80.51,
    "4K-64Thrd read": 671.87, "4K-64Thrd write": 720.75,
}  # fmt: skip


def fake_run(**invalid: str) -> list[Any]:
    """The results of a run on the 960 EVO. `invalid` has names of tests, with _ for a blank."""
    results: list[Any] = []
    for label, speed in EVO.items():
        reason = invalid.get(label.replace(" ", "_").replace("-", "_").replace("4K", "R4K"))
        state: dict[str, Any] = {"state": "invalid", "reason": reason} if reason else {}
        results += measured(label, speed * MIB / 1e6, **state)
    results += measured("Acc.time read", 90.0, 45.0, target="block")
    return results + measured("Acc.time write", 20.0, 25.5)


def test_the_window_and_its_scores(drive_json: Make) -> None:
    plan = registry.make_plan("asssd", drive_json(), BENCHMARK)
    result = result_of(registry.find("asssd"), plan, fake_run(), drive_json())
    over_all = {item["name"]: item for item in result.results}
    # MB/s of 10^6 bytes are kept, AS SSD's MB/s (2^20) are scored.
    assert over_all["Seq read"]["value"] == pytest.approx(1353.82 * MIB / 1e6)
    assert [over_all[f"Score {name}"]["value"] for name in ("read", "write", "total")] == [
        845, 919, 2196,
    ]  # fmt: skip
    assert over_all["Score total"]["unit"] == "points"
    assert over_all["Acc.time read latency"]["value"] == 45.0
    assert over_all["Acc.time read"]["target"] == "block"
    assert over_all["Acc.time write"]["target"] == "file on exfat"
    assert [(item["label"], item["value"]) for item in result.document["headline"]] == [
        ("Score total", 2196), ("Score read", 845), ("Score write", 919),
    ]  # fmt: skip
    window = {row[0]: row for row in result.document["tables"][0]["rows"]}
    assert window["Seq"][1:5] == ["1353.82 MiB/s", "1178.03 MiB/s", "1419.58", "1235.25"]
    assert window["Acc.time"][1:3] == ["0.045 ms", "0.025 ms"]
    assert window["Score"][1:3] == ["845", "919"]
    assert window["Score total"][1] == "2196"
    text = result.document["text"]
    assert "Sequential:\n------------------------------\nRead: 1353.82 MiB/s\n" in text
    assert "Access Times:\n------------------------------\nRead: 0.045 ms\n" in text
    assert "Score:\n------------------------------\nRead: 845\nWrite: 919\nTotal: 2196\n" in text
    latency = result.document["tables"][-1]
    assert latency["rows"][-1] == ["Acc.time write", "25.5", *["51.0"] * 5, "255.0"]


def test_a_score_with_an_invalid_test_has_no_value(drive_json: Make) -> None:
    plan = registry.make_plan("asssd", drive_json(), BENCHMARK)
    result = result_of(
        registry.find("asssd"), plan, fake_run(R4K_write="buffered: 9 %"), drive_json()
    )
    over_all = {item["name"]: item for item in result.results}
    assert over_all["Score read"]["value"] == 845
    for name in ("Score write", "Score total"):
        assert over_all[name]["value"] is None
        assert (over_all[name]["state"], over_all[name]["reason"]) == (
            "invalid", "4K write: buffered: 9 %",
        )  # fmt: skip
    assert "Total: 4K write: buffered: 9 %" in result.document["text"]


def test_a_run_cut_short_still_has_a_result(drive_json: Make) -> None:
    plan = registry.make_plan("asssd", drive_json(), {})
    empty = result_of(registry.find("asssd"), plan, [], drive_json())
    assert (empty.results, empty.document["headline"], empty.document["scores"]) == ([], [], {})
    part = [item for item in fake_run() if item["name"].startswith(("Seq", "4K w"))]
    result = result_of(registry.find("asssd"), plan, part, drive_json())
    assert not any(item["name"].startswith("Score") for item in result.results)
    assert result.document["headline"][0]["label"] == "Seq read"
    assert [row[0] for row in result.document["tables"][0]["rows"]] == ["Seq", "4K"]


def test_the_curve_and_the_copies(drive_json: Make) -> None:
    plan = registry.make_plan("asssd", drive_json(), {"parts": "compression,copy"})
    results = []
    for share in range(0, 101, 10):
        results += measured(f"Compression {share} % write", 200.0 + share)
        results += measured(f"Compression {share} % read", 500.0)
    detail = {"files": 2, "bytes": 10**9, "scale": 1.0}
    results += [
        pass_result("ISO copy", 250.0, "MB/s", detail=detail),
        pass_result("ISO copy time", 4.0, "s", detail=detail),
        pass_result(
            "Game copy", 99.0, "MB/s", state="invalid", reason="data differ", detail=detail
        ),
    ]
    result = result_of(registry.find("asssd"), plan, results, drive_json())
    (chart,) = result.document["charts"]
    assert chart["x"] == {"label": "compressible", "unit": "%", "scale": "linear"}
    series = {line["name"]: line["points"] for line in chart["series"]}
    assert series["write"][0] == [0, 2e8]
    assert series["write"][-1] == [100, 3e8]
    assert len(series["read"]) == 11
    over_all = {item["name"]: item for item in result.results}
    assert (over_all["ISO copy"]["value"], over_all["ISO copy time"]["value"]) == (250.0, 4.0)
    assert (over_all["Game copy"]["value"], over_all["Game copy"]["state"]) == (None, "invalid")
    copies = result.document["tables"][0]
    assert copies["rows"][0] == ["ISO copy", "250.00", "4.00", "2", "1.00 GB", "valid"]
    assert copies["rows"][1][1] == "-"
    assert copies["rows"][1][-1] == "invalid: data differ"
