"""The DAS suite: its plan against its source, its result from invented values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchstick.errors import BadInput
from benchstick.plan.steps import BuildSet, Copy, Idle
from benchstick.suites import registry
from tests.results import document, result_of

Make = Callable[..., dict[str, Any]]
RAM = 64 << 30


def test_full_plan_has_the_published_shape(drive_json: Make) -> None:
    plan = registry.make_plan("das", drive_json(), {}, ram=RAM)
    assert [item["name"] for item in plan.sets] == ["AV", "Home", "BR", "ISOs"]
    assert [(item["bytes"], item["files"], item["folders"]) for item in plan.sets] == [
        (24_030_000_000, 1263, 109),
        (18_860_000_000, 7627, 382),
        (23_090_000_000, 111, 10),
        (28_610_000_000, 4, 1),
    ]
    copies = [step for step in plan.steps if isinstance(step, Copy)]
    assert [(c.set_name, c.pass_no, c.direction) for c in copies[:7]] == [
        ("AV", 1, "write"), ("AV", 1, "read"), ("AV", 2, "write"), ("AV", 2, "read"),
        ("AV", 3, "write"), ("AV", 3, "read"), ("Home", 1, "write"),
    ]  # fmt: skip
    assert {step.threads for step in copies} == {32}
    assert plan.bytes_written == 3 * 94_590_000_000
    assert plan.destroys
    assert plan.fs == "auto"


def test_each_copy_is_followed_by_ten_idle_seconds_with_temperature(drive_json: Make) -> None:
    plan = registry.make_plan("das", drive_json(), {}, ram=RAM)
    for at, step in enumerate(plan.steps):
        if isinstance(step, Copy):
            after = plan.steps[at + 1]
            assert isinstance(after, Idle)
            assert (after.seconds, after.temperature) == (10, True)


def test_keep_destroys_nothing(drive_json: Make) -> None:
    assert not registry.make_plan("das", drive_json(), {}, fs="keep", ram=RAM).destroys


def test_the_source_is_generated_when_ram_is_too_small(drive_json: Make) -> None:
    plan = registry.make_plan("das", drive_json(), {}, ram=20 << 30)
    assert {step.source for step in plan.steps if isinstance(step, BuildSet)} == {"generated"}
    assert any("not enough RAM" in note for note in plan.notes)
    with pytest.raises(BadInput, match="largest set needs"):
        registry.make_plan("das", drive_json(), {"source": "ram"}, ram=20 << 30)


@pytest.mark.parametrize(
    ("params", "scale", "field"),
    [
        ({"sets": "AV,Nope"}, None, "sets"),
        ({"sets": ""}, None, "sets"),
        ({"sets": "AV,AV"}, None, "sets"),
        ({"source": "drive"}, None, "source"),
        ({"passes": "0"}, None, "passes"),
        ({"block": "1000"}, None, "block"),
        ({"set": "folder"}, None, "set"),
        ({}, 0.0, "scale"),
        ({}, 1.5, "scale"),
        ({}, float("nan"), "scale"),
        ({}, float("inf"), "scale"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], scale: float | None, field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        registry.make_plan("das", drive_json(), params, scale=scale, ram=RAM)
    assert caught.value.field == field


def test_a_set_that_does_not_fit_names_a_scale_that_does(drive_json: Make) -> None:
    small = drive_json(capacity=4 << 30)
    with pytest.raises(BadInput, match=r"try scale ([0-9.]+)") as caught:
        registry.make_plan("das", small, {}, ram=RAM)
    hint = float(caught.value.message.rsplit(" ", 1)[1])
    plan = registry.make_plan("das", small, {}, scale=hint, ram=RAM)
    assert max(item["bytes"] for item in plan.sets) <= 4 << 30


def test_scale_is_for_file_sets_only(drive_json: Make) -> None:
    with pytest.raises(BadInput) as caught:
        registry.make_plan("cdm", drive_json(), {}, scale=0.5)
    assert caught.value.field == "scale"


def passes(name: str, values: list[tuple[float, float]]) -> list[dict[str, Any]]:
    raw_results = []
    for number, (mbps, seconds) in enumerate(values, 1):
        base = {"step": name, "pass": number, "state": "valid", "reason": None, "detail": {}}
        raw_results.append({**base, "name": name, "value": mbps, "unit": "MB/s"})
        raw_results.append({**base, "name": f"{name} time", "value": seconds, "unit": "s"})
    return [document(item) for item in raw_results]


def test_mean_of_the_passes_with_each_pass_in_speed_and_seconds(drive_json: Make) -> None:
    plan = registry.make_plan("das", drive_json(), {}, scale=0.01, ram=RAM)
    raw_results = passes("Home write", [(800.0, 23.6), (860.0, 21.9), (830.0, 22.7)])
    result = result_of(registry.find("das"), plan, raw_results, drive_json())
    over_all = {item["name"]: item["value"] for item in result.results}
    assert over_all == {
        "Home write": pytest.approx(830.0),
        "Home write time": pytest.approx(22.7333, abs=1e-3),
    }
    row = result.document["sets"][0]
    assert [item["mbps"] for item in row["passes"]] == [800.0, 860.0, 830.0]
    assert [item["seconds"] for item in row["passes"]] == [23.6, 21.9, 22.7]
    assert row["scale"] == 0.01
    assert "860.0 (21.90 s)" in result.document["text"]


def test_an_invalid_pass_is_left_out_of_the_mean_and_shown(drive_json: Make) -> None:
    plan = registry.make_plan("das", drive_json(), {}, scale=0.01, ram=RAM)
    raw_results = passes("Home write", [(800.0, 23.6), (9999.0, 1.0)])
    raw_results[2].update(state="invalid", reason="data differ")
    result = result_of(registry.find("das"), plan, raw_results, drive_json())
    home_write = {item["name"]: item for item in result.results}["Home write"]
    assert (home_write["value"], home_write["state"]) == (800.0, "valid")
    # The result itself states that it is a mean of fewer passes.
    assert home_write["reason"] == "1 of 2 passes; pass 2 invalid: data differ"
    assert result.document["headline"][0]["reason"] == home_write["reason"]
    assert "800.0 (1 of 2)" in result.document["text"]
    assert "invalid: data differ" in result.document["text"]
