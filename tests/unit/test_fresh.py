"""How suites start: which purge the drive gets, and what its state is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchstick.errors import BadInput
from benchstick.plan.steps import Plan, Purge, plan_from_json
from benchstick.suites import precondition, registry
from tests.results import document, results_from

Make = Callable[..., dict[str, Any]]
TRIM = {"trim": True, "trim_kernel": 1 << 30}
NVME = {
    "transport": "nvme", "sanitize": ["block erase"], "format": ["user data erase"],
    "namespaces": 1, "format_scope": "this namespace",
}  # fmt: skip
SATA = {"transport": "sata", "security": "disabled, not frozen", "security_erase": "supported"}
SUITES = ("consistency", "sweep", "sustained")


def purges(plan: Plan) -> list[tuple[str, str]]:
    return [(step.rung, step.user_rung) for step in plan.steps if isinstance(step, Purge)]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize(
    ("facts", "rung"),
    [
        ({**NVME, **TRIM}, "sanitize-block"),
        ({**NVME, "sanitize": [], **TRIM}, "format"),
        ({**NVME, "sanitize": [], "format": [], **TRIM}, "discard"),
        # No password is set by default: a power cut would leave the drive locked.
        ({**SATA, **TRIM}, "discard"),
        ({"transport": "usb-uas", **TRIM}, "discard"),
    ],
)
def test_auto_takes_the_first_erase_method_that_restores_fresh_state(
    drive_json: Make, suite: str, facts: dict[str, Any], rung: str
) -> None:
    plan = registry.make_plan(suite, drive_json(**facts), {})
    assert purges(plan) == [(rung, "auto")]
    assert [step.kind for step in plan.steps[:4]] == ["mark", "purge", "read-back", "prepare"]
    assert str(plan.state).startswith("purged by ")
    assert not any("not fresh" in note or "not purged" in note for note in plan.notes)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("facts", [{"transport": "usb-bot", "trim": False}, SATA])
def test_auto_never_takes_an_overwrite_nor_sets_a_password(
    drive_json: Make, suite: str, facts: dict[str, Any]
) -> None:
    plan = registry.make_plan(suite, drive_json(**facts), {})
    assert purges(plan) == []
    assert str(plan.state).startswith("as found, not purged")
    (reason,) = [note for note in plan.notes if note.startswith("not purged: ")]
    expected = "sets an ATA password" if facts is SATA else "TRIM: the drive or its bridge reports"
    assert expected in reason
    assert any("not purged first" in note for note in plan.notes)


@pytest.mark.parametrize("suite", SUITES)
def test_an_erase_method_requested_by_name_is_used(drive_json: Make, suite: str) -> None:
    drive = drive_json(**SATA, **TRIM)
    locked = registry.make_plan(suite, drive, {"purge": "security-erase"})
    assert purges(locked) == [("security-erase", "security-erase")]
    assert any("the ATA password benchstick is on the drive" in note for note in locked.notes)
    over = registry.make_plan(suite, drive, {"purge": "overwrite"})
    assert purges(over) == [("overwrite", "overwrite")]
    assert "no fresh drive, all is in use" in str(over.state)
    assert any("overwriting does not restore fresh state" in note for note in over.notes)
    assert over.bytes_written > 10**12
    none = registry.make_plan(suite, drive, {"purge": "none"})
    assert purges(none) == []
    assert str(none.state).startswith("as found, not purged")


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize(
    "params",
    [
        {"purge": "format"},
        {"purge": "gutmann"},
        {"purge": "resume"},
        {"purge": "auto", "purged": "hdparm"},
        {"purge": "discard", "purged": "hdparm"},
    ],
)
def test_wrong_purges_name_their_field(
    drive_json: Make, suite: str, params: dict[str, str]
) -> None:
    with pytest.raises(BadInput) as caught:
        registry.make_plan(suite, drive_json(**TRIM), params)
    assert caught.value.field == "purge"
    assert caught.value.message.startswith("purge")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("suite", SUITES)
def test_a_manual_purge_is_not_repeated(drive_json: Make, suite: str) -> None:
    plan = registry.make_plan(suite, drive_json(**TRIM), {"purged": "hdparm --security-erase"})
    assert purges(plan) == []
    assert str(plan.state).startswith("purged by hand before the run, as the user says: hdparm")
    # The parameters of the plan can be given as they are.
    assert plan.params["purge"] == "none"
    assert not any("not fresh" in note for note in plan.notes)


def test_a_sweep_that_only_reads_does_not_purge_by_default(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(**TRIM), {"only": "read"})
    assert (plan.destroys, plan.bytes_written, purges(plan)) == (False, 0, [])
    assert any(note.startswith("not purged: this run only reads") for note in plan.notes)
    purge_plan = registry.make_plan(
        "sweep", drive_json(**TRIM), {"only": "read", "purge": "discard"}
    )
    assert purge_plan.destroys
    assert purges(purge_plan) == [("discard", "discard")]


def test_plan_and_run_agree_on_the_state(drive_json: Make) -> None:
    plan = registry.make_plan("consistency", drive_json(**TRIM), {"span": "75"})
    filled = (
        "filled 2 times in this run, in order in 128 KiB pieces, over 750.00 GB "
        "(75.0 % of the LBAs)"
    )
    assert plan.state == f"purged by discard of all blocks; {filled}"
    assert plan.state_after("purged by discard of all blocks") == plan.state
    assert plan.state_after(None) == f"purge not done; {filled}"
    read = plan_from_json(plan.to_json())
    assert (read.states, read.state) == (plan.states, plan.state)
    older = {key: value for key, value in plan.to_json().items() if key != "states"}
    assert plan_from_json({**older, "state": "as found"}).state == "as found"
    assert plan_from_json({**older, "state": None}).state is None


def test_the_drive_state_as_the_results_show_it(drive_json: Make) -> None:
    plan = registry.make_plan("sweep", drive_json(**TRIM), {})
    assert precondition.state_told(plan, []) == "purge not done; not preconditioned"
    time_result = document({"name": "purge time", "unit": "s", "state": "valid", "reason": None})
    marks_result = document({"name": "marks gone", "unit": "%", "state": "valid", "reason": None})
    assert precondition.state_told(plan, results_from([time_result, marks_result])) == plan.state
    bad_marks = {**marks_result, "state": "invalid", "reason": "3 of 64 marks can still be read"}
    assert precondition.state_told(plan, results_from([time_result, bad_marks])) == (
        "purged by discard of all blocks, not proved (3 of 64 marks can still be read); "
        "not preconditioned"
    )
    as_found = registry.make_plan("sweep", drive_json(), {})
    assert precondition.state_told(as_found, []) == "as found, not purged; not preconditioned"
