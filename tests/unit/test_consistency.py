"""The consistency suite: its plans against its source, its result from invented values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchstick.analysis.consistency import seconds_above, summary
from benchstick.analysis.series import reduced
from benchstick.errors import BadInput
from benchstick.plan.steps import Fio, Idle, Plan, plan_from_json
from benchstick.suites import registry
from benchstick.suites.charts import lines_of
from tests import results
from tests.results import result_of

Make = Callable[..., dict[str, Any]]
DOCS = Path(__file__).resolve().parents[2] / "docs"
SSD = 512_110_190_592


def fios(plan: Plan) -> list[Fio]:
    return [step for step in plan.steps if isinstance(step, Fio)]


def test_the_default_is_two_fills_and_2000_s_over_all_lbas(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(capacity=SSD), {})
    first, second, test = fios(plan)
    span = SSD // 131072 * 131072
    for number, fill in enumerate((first, second), 1):
        job = fill.job
        assert (job.rw, job.block, job.depth, job.runtime) == ("write", 131072, 32, None)
        assert (fill.span.size, fill.bytes_written, fill.pass_no) == (span, span, number)
    job = test.job
    assert (job.rw, job.block, job.depth, job.threads) == ("randwrite", 4096, 32, 1)
    assert (test.span.size, job.runtime) == (span, 2000)
    assert (test.recording.series, test.data.fill) == (True, "random")
    assert (plan.target, plan.destroys) == ("block", True)
    assert all(step.destroys for step in fios(plan))
    assert plan.bytes_written == 2 * span + test.bytes_written
    # 980 MB/s over a link of 10 Gb/s, and 640 MB/s at random at QD32.
    assert plan.seconds == pytest.approx(1 + 2 * span / 980e6 + 2000.5)
    assert test.bytes_written == int(2000 * 640e6)
    assert all(step.seconds == 0 for step in plan.steps if isinstance(step, Idle))


@pytest.mark.parametrize(
    ("params", "span"),
    [
        ({"span": "75"}, SSD * 75 // 100),
        # 512 GiB are 549.8 GB; three quarters of them are 80.5 % of the LBAs.
        ({"spare": "25"}, 412_316_860_416),
        ({"spare": "40", "nand": "640GiB"}, 412_316_860_416),
        ({"spare": "50"}, 274_877_906_944),
    ],
)
def test_the_span_is_filled_and_written(
    drive_json: Make, params: dict[str, str], span: int
) -> None:
    plan = registry.make_plan("consistency", drive_json(capacity=SSD), params)
    assert {step.span.size for step in fios(plan)} == {span // 131072 * 131072}


def test_less_spare_area_than_the_drive_has_is_refused(drive_json: Make) -> None:
    with pytest.raises(BadInput, match=r"leaves 20\.0 % of 687\.19 GB") as caught:
        registry.make_plan(
            "consistency", drive_json(capacity=512 << 30), {"spare": "19", "nand": "640GiB"}
        )
    assert caught.value.field == "spare"


def test_the_notes_state_the_spare_area(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(capacity=SSD), {"spare": "25"})
    (note,) = [note for note in plan.notes if "spare" in note]
    assert "549.76 GB raw NAND (assumed: the next power of two GiB)" in note
    assert "412.32 GB, 80.5 % of the LBAs" in note


def test_the_128k_variant_is_not_preconditioned(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(), {"preset": "128k", "span": "75"})
    (test,) = fios(plan)
    assert (test.test, test.job.block, test.job.rw) == ("RND128K Q32T1 write", 131072, "randwrite")
    assert plan.state == "as found, not purged; not preconditioned"
    filled = registry.make_plan("consistency", drive_json(), {"preset": "128k", "fills": "1"})
    assert [step.pass_no for step in fios(filled)] == [1, 1]


def test_the_state_is_what_it_was(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(), {"fills": "0"})
    assert plan.state == "as found, not purged; not preconditioned"
    assert any("not purged first" in note for note in plan.notes)
    purged_plan = registry.make_plan(
        "consistency", drive_json(), {"purged": "nvme format -s 1", "span": "75"}
    )
    assert purged_plan.state == (
        "purged by hand before the run, as the user says: nvme format -s 1; filled 2 times in "
        "this run, in order in 128 KiB pieces, over 750.00 GB (75.0 % of the LBAs)"
    )
    assert not any("not fresh" in note for note in purged_plan.notes)
    assert plan_from_json(purged_plan.to_json()).state == purged_plan.state


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"span": "0"}, "span"),
        ({"span": "101"}, "span"),
        ({"depth": "0"}, "depth"),
        ({"depth": "1025"}, "depth"),
        ({"block": "5000"}, "block"),
        ({"block": "32g"}, "block"),
        ({"time": "0"}, "time"),
        ({"fills": "5"}, "fills"),
        ({"spare": "25", "span": "75"}, "span"),
        ({"spare": "5"}, "spare"),
        ({"spare": "91"}, "spare"),
        ({"spare": "25", "nand": "100GiB"}, "nand"),
        ({"nand": "512GiB"}, "nand"),
        ({"purged": "x\ny"}, "purged"),
        ({"purged": "x" * 201}, "purged"),
        ({"preset": "8k"}, "preset"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        registry.make_plan("consistency", drive_json(capacity=SSD), params)
    assert caught.value.field == field
    assert "\n" not in caught.value.message


def test_a_drive_smaller_than_the_test_is_refused(drive_json: Make) -> None:
    with pytest.raises(BadInput, match="less than the test needs") as caught:
        registry.make_plan("consistency", drive_json(capacity=10**9), {"span": "1"})
    assert caught.value.field == "span"
    with pytest.raises(BadInput, match="less than the test needs"):
        registry.make_plan("consistency", drive_json(capacity=0), {})
    with pytest.raises(BadInput, match="takes block"):
        registry.make_plan("consistency", drive_json(), {}, target="file")


def test_a_plan_survives_json(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(), {})
    text = json.dumps(plan.to_json())
    assert json.dumps(plan_from_json(json.loads(text)).to_json()) == text


def pass_results(
    plan: Plan, iops: list[float], maxima: list[float] | None, **state: Any
) -> list[dict[str, Any]]:
    """What the engine makes of such seconds."""
    step = fios(plan)[-1]
    common = {
        "step": step.name, "pass": 1, "target": "block", "state": "valid", "reason": None, **state,
    }  # fmt: skip
    totals = {
        "latency_us": 640.0, "max_us": 70_000.0, "percentiles_us": {"50": 500.0, "99.999": 9000.0},
        "histogram_us": {"write": [[500, 3], [1000, 1]]},
    }  # fmt: skip
    items = [
        {**common, "name": step.test, "value": 1.0, "unit": "MB/s", "detail": {"totals": totals}},
        {**common, "name": f"{step.test} IOPS by second", "value": sum(iops) / len(iops),
         "unit": "IOPS", "detail": {"source": "fio", "source_reason": None, "block": step.job.block,
                                    "summary": summary(iops), "series": reduced(iops)}},
    ]  # fmt: skip
    if maxima is None:
        skipped = {"state": "skipped", "reason": "fio 3.33 has no option log_window_value"}
        items.append({**common, **skipped, "name": f"{step.test} latency by second", "value": None,
                     "unit": "us", "detail": {}})  # fmt: skip
    else:
        rest = {"mean": reduced(maxima), "max": reduced(maxima), "above": seconds_above(maxima)}
        items.append({**common, "name": f"{step.test} latency by second", "value": 1.0,
                     "unit": "us", "detail": rest})  # fmt: skip
    return [results.document(item) for item in items]


def summary_of(plan: Plan, entries: list[Any], drive: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    result = result_of(registry.find("consistency"), plan, entries, drive)
    # What is kept must be JSON.
    json.dumps(result.document)
    return {item["name"]: item for item in result.results}, result.document


def test_the_derived_results_and_three_charts(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(), {})
    iops = [50_000.0] * 1000 + [4000.0, 6000.0] * 500
    maxima = [10_000.0] * 1999 + [60_000.0]
    by_name, document = summary_of(plan, pass_results(plan, iops, maxima), drive_json())
    test = "RND4K Q32T1 write"
    assert by_name[f"{test} IOPS mean"]["value"] == 27_500.0
    assert by_name[f"{test} IOPS min"]["value"] == 4000.0
    assert by_name[f"{test} IOPS mean from 1400 s"]["value"] == 5000.0
    assert by_name[f"{test} IOPS p1 from 1400 s"]["value"] == 4000.0
    # 400 values of which each is 1000 from the mean.
    stdev = 1000 * (400 / 399) ** 0.5
    assert by_name[f"{test} IOPS stdev of the last 400 s"]["value"] == pytest.approx(stdev)
    assert by_name[f"{test} consistency of the last 400 s"]["value"] == pytest.approx(5000 / stdev)
    assert by_name[f"{test} time until half"]["value"] == 1000
    assert by_name[f"{test} seconds with a latency above 50 ms"]["value"] == 1
    assert {item["state"] for item in by_name.values()} == {"valid"}
    charts = [(chart["from"], chart["to"], chart["y"]["scale"]) for chart in document["charts"]]
    assert charts == [
        (0, 2000, "log"), (1400, 2000, "log"), (1400, 2000, "linear"), (0, 2000, "log"),
    ]  # fmt: skip
    series = {item["name"]: item for item in document["series"]}
    assert set(series) == {"IOPS", "latency mean", "latency max"}
    assert [chart["series"] for chart in document["charts"][2:]] == [
        ["IOPS"], ["latency max", "latency mean"],
    ]  # fmt: skip
    assert series["IOPS"]["points"] == [[second, value] for second, value in enumerate(iops)]
    assert (series["IOPS"]["source"], series["IOPS"]["reason"]) == ("fio", None)
    assert [len(line["points"]) for line in lines_of(document, document["charts"][3])] == [2000] * 2
    assert {chart["dots"] for chart in document["charts"]} == {True}
    assert [item["value"] for item in document["headline"]][:2] == [5000.0, 4000.0]
    assert "last 400 s" in document["text"]
    assert "75.0000" in document["text"]
    # Three series of 2000 seconds, each of them once.
    assert len(json.dumps(document)) < 120_000


def test_results_of_large_blocks_are_in_megabytes(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(), {"preset": "128k"})
    by_name, document = summary_of(plan, pass_results(plan, [1000.0] * 2000, [5.0]), drive_json())
    test = "RND128K Q32T1 write"
    assert by_name[f"{test} MB/s mean"]["value"] == pytest.approx(131.072)
    assert by_name[f"{test} MB/s mean"]["unit"] == "MB/s"
    assert document["charts"][0]["y"] == {"label": "speed", "unit": "MB/s", "scale": "log"}
    assert {value for _, value in document["series"][0]["points"]} == {131.07}
    # Every second is the same: there is no spread to divide by.
    even = by_name[f"{test} consistency of the last 400 s"]
    assert (even["value"], even["state"], even["reason"]) == (
        None, "skipped", "the seconds do not differ",
    )  # fmt: skip
    never = by_name[f"{test} time until half"]
    assert (never["value"], never["state"], never["reason"]) == (None, "valid", "never in 2000 s")


def test_a_short_run_lists_the_missing_results(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(), {"time": "60"})
    assert any("no part from 1400 s" in note for note in plan.notes)
    by_name, document = summary_of(plan, pass_results(plan, [100.0] * 60, None), drive_json())
    late = by_name["RND4K Q32T1 write IOPS mean from 1400 s"]
    assert (late["state"], late["reason"]) == ("skipped", "needs 1401 s, the series has 60 s")
    assert by_name["RND4K Q32T1 write IOPS mean"]["value"] == 100.0
    assert "RND4K Q32T1 write seconds with a latency above 50 ms" not in by_name
    assert [chart["title"] for chart in document["charts"]] == ["IOPS by second, whole run"]
    assert document["charts"][0]["series"] == ["IOPS"]


def test_a_run_cut_short_shows_what_it_has(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(), {})
    entries = pass_results(
        plan, [100.0] * 812, [5.0] * 812, state="invalid", reason="cancelled after 812 s of 2000"
    )
    by_name, document = summary_of(plan, entries[1:], drive_json())
    mean = by_name["RND4K Q32T1 write IOPS mean"]
    assert (mean["value"], mean["state"]) == (100.0, "invalid")
    assert "cancelled after 812 s of 2000" in document["text"]
    assert len(document["series"][0]["points"]) == 812
    empty = result_of(registry.find("consistency"), plan, [], drive_json())
    assert (empty.results, empty.document["charts"]) == ([], [])
