"""The suite `erase`: its plans, its verdict, its certificate, and the marks that prove it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from benchstick.analysis.sanitize_sampling import Marks, what_is_there
from benchstick.drives.sanitize_methods import UNFINISHED
from benchstick.errors import BadInput
from benchstick.plan.steps import Mark, Plan, Purge, ReadBack, plan_from_json
from benchstick.suites import registry
from benchstick.suites.erase import purge_steps
from benchstick.suites.erase_certificate import certificate
from benchstick.suites.interface import PlanRequest
from tests.results import document, result_of

Make = Callable[..., dict[str, Any]]
TRIM = {"trim": True, "trim_kernel": 1 << 30}


def plan_of(drive: dict[str, Any], **params: str) -> Plan:
    return registry.make_plan("erase", drive, params)


def kinds(plan: Plan) -> list[str]:
    return [step.kind for step in plan.steps]


def the_purge(plan: Plan) -> Purge:
    return next(step for step in plan.steps if isinstance(step, Purge))


# ---- plans


def test_marks_then_the_purge_then_reading_back(drive_json: Make) -> None:
    plan = plan_of(drive_json(**TRIM))
    assert kinds(plan) == ["mark", "purge", "read-back"]
    assert (plan.target, plan.fs, plan.destroys) == ("block", "keep", True)
    assert the_purge(plan).rung == "discard"
    assert the_purge(plan).user_rung == "auto"
    mark, back = plan.steps[0], plan.steps[2]
    assert isinstance(mark, Mark)
    assert isinstance(back, ReadBack)
    assert (mark.samples, mark.size) == (back.samples, back.size) == (1000, 4096)
    assert back.required
    assert mark.bytes_written == 1000 * 4096
    assert [step.destroys for step in plan.steps] == [True, True, False]


def test_the_cost_of_an_overwrite_is_the_whole_drive(drive_json: Make) -> None:
    plan = plan_of(drive_json(capacity=10**12), rung="overwrite")
    assert plan.bytes_written == 10**12 + 1000 * 4096
    assert plan.bytes_read == 10**12 + 2 * 1000 * 4096
    # Twice the drive at what 10 Gb/s carries, in seconds.
    assert 2000 < the_purge(plan).seconds < 2100


def test_the_plan_has_the_reasons_against_better_erase_methods(drive_json: Make) -> None:
    stick = plan_of(drive_json(transport="usb-bot", trim=False))
    assert the_purge(stick).rung == "overwrite"
    assert stick.notes == (
        "not security-erase: not sent through a USB bridge: this has bricked drives; connect "
        "the drive to a SATA port",
        "not security-erase-enhanced: not sent through a USB bridge: this has bricked drives; "
        "connect the drive to a SATA port",
        "not discard: TRIM: the drive or its bridge reports none",
    )
    frozen = plan_of(
        drive_json(transport="sata", security="disabled, frozen", security_erase="supported",
                   **TRIM)
    )  # fmt: skip
    assert the_purge(frozen).rung == "discard"
    assert "suspend the machine" in frozen.notes[0]


def test_the_password_is_in_the_notes_before_it_is_set(drive_json: Make) -> None:
    drive = drive_json(transport="sata", security="disabled, not frozen",
                       security_erase="supported", **TRIM)  # fmt: skip
    plan = plan_of(drive)
    assert the_purge(plan).rung == "security-erase"
    assert plan.notes[-1].startswith("the ATA password benchstick is on the drive until")
    assert plan_of(drive, rung="discard").notes == ()


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"rung": "gutmann"}, "rung"),
        ({"rung": "none"}, "rung"),
        ({"rung": "format"}, "rung"),
        ({"rung": "resume"}, "rung"),
        ({"samples": "15"}, "samples"),
        ({"samples": "many"}, "samples"),
        ({"passes": "3"}, "passes"),
    ],
)
def test_wrong_parameters_name_their_field(
    drive_json: Make, params: dict[str, str], field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        plan_of(drive_json(**TRIM), **params)
    assert caught.value.field == field
    assert "\n" not in caught.value.message


def test_an_erase_has_no_file_target(drive_json: Make) -> None:
    with pytest.raises(BadInput) as caught:
        registry.make_plan("erase", drive_json(**TRIM), {}, target="file")
    assert caught.value.field == "target"


def test_no_second_sanitize_while_one_is_running(drive_json: Make) -> None:
    with pytest.raises(BadInput, match="is being sanitized"):
        plan_of(drive_json(transport="nvme", sanitize_state="in progress"))


OLD_PURGE = {"run": 7, "rung": "overwrite", "phase": "erasing", "written": 1 << 30, "samples": 500,
             "mark_size": 4096}  # fmt: skip


def test_an_interrupted_purge_resumes_with_its_own_method_and_marks(drive_json: Make) -> None:
    drive = drive_json(**TRIM)
    drive[UNFINISHED] = {"value": OLD_PURGE, "unit": None, "source": "run 7"}
    plan = plan_of(drive, rung="resume", samples="16")
    assert kinds(plan) == ["purge", "read-back"]
    assert (the_purge(plan).rung, the_purge(plan).resumes) == ("overwrite", 7)
    back = plan.steps[1]
    assert isinstance(back, ReadBack)
    assert back.samples == 500
    assert plan.notes == ("continues the purge that was interrupted in run 7",)


NVME = {"transport": "nvme", "sanitize": ["block erase"], "format": ["user data erase"],
        "format_scope": "this namespace", "namespaces": 1}  # fmt: skip
SATA = {"transport": "sata", "security_erase": "supported"}


def left_on(drive: dict[str, Any], rung: str, **more: object) -> dict[str, Any]:
    record = {**OLD_PURGE, "rung": rung, "written": 0, **more}
    return {**drive, UNFINISHED: {"value": record, "unit": None, "source": "run 7"}}


@pytest.mark.parametrize(
    ("rung", "facts", "more", "anew"),
    [
        ("discard", TRIM, {}, True),
        ("format", NVME, {}, True),
        # The command never reached the drive; or it is at it, or done with it.
        ("sanitize-block", {**NVME, "sanitize_state": "never sanitized"}, {}, True),
        ("sanitize-block", {**NVME, "sanitize_state": "completed"}, {}, True),
        ("sanitize-block", {**NVME, "sanitize_state": "in progress"}, {}, False),
        ("sanitize-block", {**NVME, "sanitize_state": "completed"}, {"written": 1}, False),
        ("sanitize-block", {**NVME, "sanitize_state": "failed"}, {"written": 1}, False),
        ("sanitize-block", {**NVME, "sanitize_state": "failed, left since"}, {"written": 1}, True),
        ("security-erase", {**SATA, "security": "enabled, not frozen"}, {}, True),
        ("security-erase", {**SATA, "security": "enabled, locked, not frozen"}, {}, False),
        ("overwrite", {}, {}, False),
    ],
)
def test_a_purge_that_starts_again_gets_new_marks(
    drive_json: Make, rung: str, facts: dict[str, Any], more: dict[str, Any], anew: bool
) -> None:
    """The drive may have been used since: old marks may be overwritten without any purge."""
    plan = plan_of(left_on(drive_json(**facts), rung, **more), rung="resume")
    assert kinds(plan) == ["mark"] * anew + ["purge", "read-back"]
    assert (the_purge(plan).rung, the_purge(plan).resumes) == (rung, 7)
    back = plan.steps[-1]
    assert isinstance(back, ReadBack)
    assert (back.samples, back.required) == (500, True)


@pytest.mark.parametrize(
    ("rung", "facts", "part"),
    [
        ("security-erase", {**SATA, "transport": "usb-uas"}, "not sent through a USB bridge"),
        ("security-erase", {**SATA, "transport": "scsi"}, "this is no SATA drive"),
        ("security-erase", {**SATA, "security": "enabled, locked, frozen"}, "suspend the machine"),
        ("sanitize-block", {**NVME, "namespaces": 2}, "all 2 namespaces"),
        ("sanitize-block", {**NVME, "transport": "usb-uas"}, "an NVMe command"),
        ("format", {**NVME, "namespaces": 2, "format_scope": "all namespaces"}, "all 2 name"),
        ("discard", {"trim": False, "trim_kernel": 0}, "TRIM"),
    ],
)
def test_a_purge_does_not_resume_where_it_would_not_start(
    drive_json: Make, rung: str, facts: dict[str, Any], part: str
) -> None:
    """The drive may be on another port now, or have more namespaces."""
    with pytest.raises(BadInput, match=part) as no:
        plan_of(left_on(drive_json(**facts), rung), rung="resume")
    assert no.value.field == "rung"
    assert no.value.message.startswith(f"resume: {rung}: ")


def test_a_plan_survives_json(drive_json: Make) -> None:
    plan = plan_of(drive_json(**TRIM))
    text = json.dumps(plan.to_json())
    assert json.dumps(plan_from_json(json.loads(text)).to_json()) == text


def test_other_suites_start_with_the_same_steps_or_state_that_they_did_not(
    drive_json: Make,
) -> None:
    drive = drive_json(**TRIM)
    request = PlanRequest(drive=drive, params={}, target="block", fs="keep", scale=None)
    steps = purge_steps(request, "auto")
    assert [step.kind for step in steps] == ["mark", "purge", "read-back"]
    assert isinstance(steps[2], ReadBack)
    assert not steps[2].required
    (none,) = purge_steps(request, "none")
    assert isinstance(none, Purge)
    assert (none.rung, none.destroys, none.bytes_written) == ("none", False, 0)


# ---- the marks


@pytest.mark.parametrize(
    ("capacity", "size", "count"),
    [(4 << 30, 4096, 1000), (500107862016, 4096, 1000), (10**6 * 512, 4096, 64), (65536, 4096, 16),
     (4096 * 16 + 512, 4096, 16), (1 << 40, 65536, 100_000)],
)  # fmt: skip
def test_one_place_in_each_part_of_the_drive(capacity: int, size: int, count: int) -> None:
    places = list(Marks("seed", capacity, size, count).places())
    assert len(places) == len(set(places)) == count
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, capacity - size)
    part = capacity / count
    assert all(abs(place - number * part) <= part + size for number, place in enumerate(places))
    # No two overlap but for the last, which ends where the drive ends.
    assert all(b - a >= size for a, b in pairwise(places[:-1]))
    assert all(place % size == 0 for place in places[:-1])


def test_places_and_contents_of_marks_differ_only_between_runs() -> None:
    one, again = Marks("a", 1 << 30, 4096, 50), Marks("a", 1 << 30, 4096, 50)
    other = Marks("b", 1 << 30, 4096, 50)
    assert list(one.places()) == list(again.places()) != list(other.places())
    assert one.content(4096) == again.content(4096) != one.content(8192)
    assert one.content(4096) != other.content(4096)
    # Fixed, so that a later version of the bench finds the marks of an earlier one.
    assert list(one.places())[:3] == [0, 31592448, 53727232]
    assert one.content(0)[:8].hex() == "e4675521f0b5c5d6"


def test_the_state_of_a_mark_after_a_purge() -> None:
    mark = Marks("a", 1 << 30, 4096, 50).content(0)
    assert what_is_there(bytes(4096), mark) == "zeros"
    assert what_is_there(b"\xff" * 4096, mark) == "ones"
    assert what_is_there(b"\x12" * 4096, mark) == "one value"
    assert what_is_there(Marks("b", 1 << 30, 4096, 50).content(0), mark) == "other"
    assert what_is_there(mark, mark) == "mark"
    # One sector of it is enough.
    assert what_is_there(bytes(512) + mark[512:1024] + bytes(3072), mark) == "mark"


# ---- the verdict and the certificate


def results(counts: dict[str, int], places: int = 1000) -> list[dict[str, Any]]:
    counted = Counter(counts)
    rest = counted["mark"]
    base = {"step": "x", "pass": 1, "target": "block", "state": "valid", "reason": None}
    text = f"{rest} of {places} marks can still be read" if rest else f"all {places} marks are gone"
    items = [
        {**base, "name": "purge time", "value": 12.5, "unit": "s", "detail": {}},
        {
            **base, "name": "marks gone", "value": 100.0 * (places - rest) / places, "unit": "%",
            "detail": {"text": text, "found": counts, "places": places, "bytes": 4096},
            **({"state": "invalid", "reason": text} if rest else {}),
        },
    ]  # fmt: skip
    return [document(item) for item in items]


@pytest.mark.parametrize(
    ("measurements", "verdict"),
    [
        (results({"zeros": 1000}), "pass"),
        (results({"zeros": 990, "mark": 10}), "fail"),
        (results({"zeros": 1000})[:1], "inconclusive"),
        ([], "inconclusive"),
    ],
)
def test_the_verdict_depends_on_the_marks(
    drive_json: Make, measurements: list[dict[str, Any]], verdict: str
) -> None:
    plan = plan_of(drive_json(**TRIM))
    result = result_of(registry.find("erase"), plan, measurements, drive_json())
    assert result.document["verdict"] == verdict
    assert result.document["certificate"] == (verdict == "pass")


def run_document(drive: dict[str, Any], **changes: Any) -> dict[str, Any]:
    identity = {"serial": "S1", "bridge": None, "bridge_serial": None, "port": "ata3", "lun": 0}
    return {
        "number": 3, "uuid": "12345678-1234-1234-1234-123456789abc", "suite": "erase",
        "state": "done", "reason": None, "practice": False,
        "created_utc": "2026-01-31T12:00:00.000Z",
        "ended_utc": "2026-01-31T12:01:00.000Z",
        "drive": {**drive, "label": None, "identity": {**drive["identity"], **identity}},
        "results": results({"zeros": 999, "other": 1}),
        "conditions": {
            "host": {"benchstick": "0.1.0", "kernel": "6.12"},
            "purge": {"rung": "security-erase", "command": "hdparm ...", "tool": "hdparm v9.65",
                      "tool_output": "hdparm -I after it: not enabled, not frozen",
                      "seconds": 12.5},
        },
        **changes,
    }  # fmt: skip


def test_a_certificate_states_method_tool_and_limits(drive_json: Make) -> None:
    cert = certificate(run_document(drive_json(firmware="FW1", transport="sata")))
    assert cert["schema"] == "benchstick/certificate/2"
    assert cert["drive"]["serial"] == "S1"
    assert cert["drive"]["firmware"] == "FW1"
    assert cert["purge"]["standard"] == "ATA (ACS), SECURITY ERASE UNIT, normal mode"
    assert cert["purge"]["nist_sp_800_88"].endswith("calls it Clear on flash")
    assert cert["verification"]["found"] == {"zeros": 999, "other": 1}
    assert not cert["verification"]["whole_drive_read_back"]
    assert cert["times"]["began_utc"] == "2026-01-31T12:00:00.000Z"
    assert cert["tool_versions"]["tool"] == "hdparm v9.65"
    assert any("no certification" in line for line in cert["limitations"])
    text = cert["text"]
    for part in ("ERASE CERTIFICATE", "Serial         S1", "1000 places of 4096 bytes",
                 "Limitations", "Benchstick 0.1.0"):  # fmt: skip
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "PRACTICE" not in text
    json.dumps(cert)


def test_a_certificate_of_a_resumed_purge_names_the_earlier_run(drive_json: Make) -> None:
    document = run_document(drive_json())
    assert certificate(document)["purge"]["goes_on_with_run"] is None
    assert "Continues" not in certificate(document)["text"]
    document["conditions"]["purge"]["resumes"] = 2
    cert = certificate(document)
    assert cert["purge"]["goes_on_with_run"] == 2
    assert "Continues      the purge that was interrupted in run 2" in cert["text"]


def test_a_practice_drive_is_marked_as_one(drive_json: Make) -> None:
    cert = certificate(run_document(drive_json(), practice=True))
    assert cert["warning"].startswith("PRACTICE DRIVE")
    assert cert["text"].splitlines()[2].startswith("PRACTICE DRIVE")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"suite": "cdm"}, "cdm is no erase"),
        ({"state": "interrupted", "reason": "killed"}, "it is interrupted: killed"),
        ({"state": "failed", "reason": "x"}, "it is failed"),
        ({"results": results({"zeros": 9, "mark": 1}, 10)}, "not proved"),
        ({"results": []}, "not proved"),
        ({"conditions": {}}, "not proved"),
    ],
)
def test_no_certificate_without_proof(drive_json: Make, changes: dict[str, Any], part: str) -> None:
    with pytest.raises(BadInput, match="run 3: no certificate") as no:
        certificate(run_document(drive_json(), **changes))
    assert part in no.value.message
