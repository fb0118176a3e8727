"""Verdicts: limits, reasons, precedence; the erase rule; rules that end a test early."""

from __future__ import annotations

import copy
import itertools
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchstick.errors import PRECEDENCE
from benchstick.recipes import codes, early_stop, limits, preconditions, verdict
from benchstick.recipes.codes import Reason
from benchstick.recipes.early_stop import Record
from benchstick.recipes.limits import Evidence
from benchstick.recipes.model import Recipe
from benchstick.recipes.parser import read
from benchstick.recipes.verdict import Attempt
from benchstick.suites import spec_sheets
from tests.results import document as document_of

Json = dict[str, Any]
NOTHING = '[[limit]]\nfact = "external"\nop = "=="\nvalue = true\n'


def recipe(text: str = NOTHING, top: str = "", suites: tuple[str, ...] = ("cdm",)) -> Recipe:
    entries = "".join(f'[[suite]]\nname = "{name}"\n' for name in suites)
    return read(f"{top}\n{entries}{text}".encode(), "my.toml")


def limit(kind: str, name: str, op: str, value: str, more: str = "") -> str:
    return f'[[limit]]\n{kind} = "{name}"\nop = "{op}"\nvalue = {value}\n{more}\n'


def drive(**facts: Any) -> Json:
    values = {
        "transport": "usb-uas", "external": True, "usb_speed": 10000, "usb_capable_speed": 10000,
        "temperature": 30, "trim": True, "trim_kernel": 1 << 30, "wear": 2, "health": "passed",
        "contents": "nothing", "firmware": "1.0", **facts,
    }  # fmt: skip
    identity = {"model": "Samsung PSSD T7", "serial": "S1", "capacity": 10**12, "port": "2-1.3",
                "lun": 0, "bridge": None, "bridge_serial": None, "drive_key": "S1|x"}  # fmt: skip
    fact_fields = {
        name: {"value": None, "reason": "not reported"} if value is None
        else {"value": value, "unit": None, "source": "test"}
        for name, value in values.items()
    }  # fmt: skip
    return {"code": "S1", "label": None, "identity": identity,
            "guard": {"state": "free", "reason": "USB"}, **fact_fields}  # fmt: skip


def result(name: str, value: float | None, unit: str = "MB/s", **more: Any) -> Json:
    return document_of(
        {"name": name, "value": value, "unit": unit, "pass": None, "state": "valid",
         "reason": None, **more}
    )  # fmt: skip


def run(*results: Json, suite: str = "cdm", number: int = 7, **more: Any) -> Json:
    return {"number": number, "uuid": f"u{number}", "suite": suite, "state": "done",
            "exit_code": 0, "reason": None, "results": list(results), "temperatures": [],
            **more}  # fmt: skip


def judged(rules: Recipe, evidence: Evidence, **more: Any) -> Json:
    fields = {"seconds": 60.0, "started_utc": "2026-01-31T12:00:00.000Z",
             "ended_utc": "2026-01-31T12:01:00.000Z", **more}  # fmt: skip
    judgement = verdict.judge(rules, Attempt(evidence=evidence, **fields))
    # It is what is kept and sent: JSON, and no NaN.
    assert json.loads(json.dumps(judgement, allow_nan=False)) == judgement
    return judgement


def of(rules: Recipe, *runs: Json, facts: Json | None = None, **more: Any) -> Json:
    own = {"seconds", "stopped", "end", "refused", "scanned", "earlier"} & more.keys()
    attempt = {name: more.pop(name) for name in own}
    evidence = Evidence(drive=facts or drive(), runs=runs or (run(),), **more)
    return judged(rules, evidence, **attempt)


def codes_of(judgement: Json) -> tuple[list[str], list[str]]:
    return ([item["code"] for item in judgement["failures"]],
            [item["code"] for item in judgement["inconclusive"]])  # fmt: skip


# ---- limits


READ = "SEQ1M Q8T1 read"


@pytest.mark.parametrize(
    ("op", "bound", "more", "value", "by", "percent"),
    [
        (">=", "400", "", 400.0, None, None),
        (">=", "400", "", 399.0, 1.0, 0.25),
        ("<=", "400", "", 400.0, None, None),
        ("<=", "400", "", 500.0, 100.0, 25.0),
        ("<=", "0", "", 1.5, 1.5, None),
        ("==", "400", "", 400.0, None, None),
        ("==", "0.3", "", 0.1 + 0.2, None, None),
        ("==", "400", "", 401.0, 1.0, 0.25),
        ("~", "400", 'within = "5 %"', 420.0, None, None),
        ("~", "400", 'within = "5 %"', 380.0, None, None),
        ("~", "400", 'within = "5 %"', 421.0, 1.0, 0.25),
        ("~", "400", 'within = "5 %"', 340.0, 40.0, 10.0),
        (">=", "0.4", 'unit = "GB/s"', 300.0, 100.0, 25.0),
    ],
)
def test_a_limit_shows_measured_required_and_the_difference(
    op: str, bound: str, more: str, value: float, by: float | None, percent: float | None
) -> None:
    rules = recipe(limit("figure", READ, op, bound, more))
    judgement = of(rules, run(result(READ, value)))
    (one,) = judgement["limits"]
    assert (one["shortfall"], one["shortfall_percent"]) == (by, percent)
    assert (one["measured"], one["unit"], one["run"]) == (value, "MB/s", 7)
    assert one["required"] == float(bound) * (1000 if "GB/s" in more else 1)
    assert one["state"] == ("held" if by is None else "failed")
    assert judgement["verdict"] == ("pass" if by is None else "fail")
    assert judgement["exit_code"] == (0 if by is None else 1)
    if by is not None:
        assert codes_of(judgement) == (["figure-limit"], [])
        assert judgement["reason"] == one["text"]
        sentence = rf"{READ} of cdm: [\d.]+ MB/s, required .*, off by [\d.]+ MB/s"
        assert re.match(sentence, one["text"])
    else:
        assert judgement["reason"] is None


def test_the_text_of_a_failed_limit() -> None:
    text = limit("figure", READ, ">=", '"90 %"', 'of = "claim"')
    sheet = spec_sheets.read(b'model = "Samsung*"\nseq_read_mbps = 1000\n', "x.toml")
    judgement = of(recipe(text), run(result(READ, 810.0)), sheet=sheet)
    assert judgement["limits"][0]["required"] == 900.0
    assert judgement["reason"] == (
        "SEQ1M Q8T1 read of cdm: 810 MB/s, required >= 900 MB/s "
        "(90 % of the manufacturer's specification), off by 90 MB/s (10 %)"
    )
    text = limit("figure", READ, "~", '"5 %"', 'of = "run 12"')
    other = run(result(READ, 1000.0), number=12)
    judgement = of(recipe(text), run(result(READ, 900.0)), referenced={"run 12": other})
    assert judgement["reason"] == (
        "SEQ1M Q8T1 read of cdm: 900 MB/s, required 1000 MB/s within 5 % (run 12), "
        "off by 50 MB/s (5 %)"
    )
    judgement = of(recipe(limit("fact", "transport", "==", '["usb-uas", "nvme"]')),
               facts=drive(transport="usb-bot"))  # fmt: skip
    assert judgement["reason"] == "transport: usb-bot, required usb-uas or nvme"
    assert codes_of(judgement) == (["fact-limit"], [])


def test_a_result_over_all_passes_overrides_those_of_single_ones() -> None:
    passes = [{**result(READ, value), "pass": at} for at, value in ((1, 100.0), (2, 500.0))]
    rules = recipe(limit("figure", READ, ">=", "400"))
    assert of(rules, run(*passes, result(READ, 450.0)))["verdict"] == "pass"
    judgement = of(rules, run(*passes))
    assert (judgement["verdict"], judgement["limits"][0]["measured"]) == ("fail", 100.0)


def test_a_suite_that_was_run_twice_is_judged_by_both() -> None:
    rules = recipe(limit("figure", READ, ">=", "400"), suites=("cdm", "cdm:real"))
    judgement = of(rules, run(result(READ, 450.0)), run(result(READ, 300.0), number=8))
    assert judgement["limits"][0]["run"] == 8
    # The other one has no such test.
    assert of(rules, run(result(READ, 450.0)), run(number=8))["verdict"] == "pass"


@pytest.mark.parametrize(
    ("rows", "more", "code", "expected"),
    [
        ([result(READ, None, state="skipped", reason="TRIM: no UNMAP")], "", "figure-skipped",
         "SEQ1M Q8T1 read: skipped: TRIM: no UNMAP"),
        ([result(READ, 500.0, state="invalid", reason="buffered")], "", "figure-invalid",
         "SEQ1M Q8T1 read: invalid: buffered"),
        ([result("x", 5.0), result("y", 5.0)], "", "figure-missing",
         "cdm gave no result 'SEQ1M Q8T1 read'; it gave x, y"),
        ([result(READ, 500.0, "IOPS")], 'unit = "MB/s"', "figure-missing", "in MB/s"),
        ([result(READ, 5.0), result(READ, 5.0, "IOPS")], "", "figure-missing", "IOPS and MB/s"),
        ([], "", "figure-missing", "it gave none"),
    ],
)  # fmt: skip
def test_a_result_that_cannot_be_judged_makes_the_test_inconclusive(
    rows: list[Json], more: str, code: str, expected: str
) -> None:
    judgement = of(recipe(limit("figure", READ, ">=", "400", more)), run(*rows))
    assert (judgement["verdict"], judgement["exit_code"]) == ("inconclusive", 5)
    assert codes_of(judgement) == ([], [code])
    assert expected in judgement["reason"]
    assert judgement["limits"][0]["state"] == "unknown"


@pytest.mark.parametrize(
    ("text", "evidence", "code"),
    [
        (limit("fact", "wear", "<=", "5"), {"facts": drive(wear=None)}, "fact-unknown"),
        (limit("fact", "usb_lanes", "<=", "5"), {}, "fact-unknown"),
        (limit("fact", "wear", "<=", "5"), {"facts": drive(wear="much")}, "fact-unknown"),
        (limit("change", "wear", "<=", "0"), {}, "change-unknown"),
        (limit("change", "wear", "<=", "0"), {"after": drive(wear=None)}, "change-unknown"),
        (limit("change", "wear", "<=", "0"), {"facts": drive(wear=None)}, "change-unknown"),
        (limit("peak", "temperature", "<=", "60"), {}, "peak-unknown"),
    ],
)
def test_what_is_not_known_makes_the_test_inconclusive(
    text: str, evidence: Json, code: str
) -> None:
    judgement = of(recipe(text), **evidence)
    assert codes_of(judgement) == ([], [code])
    assert judgement["exit_code"] == 5


@pytest.mark.parametrize(
    ("more", "evidence", "code"),
    [
        ('of = "claim"', {}, "no-claim"),
        (
            'of = "claim"',
            {"sheet": spec_sheets.read(b'model = "*"\nrand_read_iops = 9\n', "x.toml")},
            "no-claim",
        ),
        ('of = "run 12"', {}, "no-reference"),
        ('of = "run 12"', {"referenced": {"run 12": run(number=12)}}, "no-reference"),
        ('of = "run 12"', {"referenced": {"run 12": run(suite="das", number=12)}}, "no-reference"),
        ('of = "run 12"',
         {"referenced": {"run 12": run(result(READ, 1.0, state="invalid", reason="x"), number=12)}},
         "no-reference"),
        ('of = "run 12"',
         {"referenced": {"run 12": run(result(READ, 1.0, "IOPS"), number=12)}}, "no-reference"),
    ],
)  # fmt: skip
def test_what_there_is_nothing_to_compare_with_is_inconclusive(
    more: str, evidence: Json, code: str
) -> None:
    rules = recipe(limit("figure", READ, ">=", '"90 %"', more))
    assert codes_of(of(rules, run(result(READ, 500.0)), **evidence)) == ([], [code])


def test_changes_and_peaks_are_measured() -> None:
    rules = recipe(limit("change", "wear", "<=", "0") + limit("peak", "temperature", "<=", "60"))
    warm = run(temperatures=[{"celsius": None}, {"celsius": 61.5}, {"celsius": 40.0}])
    judgement = of(rules, warm, after=drive(wear=3))
    assert codes_of(judgement) == (["change-limit", "peak-limit"], [])
    assert [item["measured"] for item in judgement["limits"]] == [1.0, 61.5]
    assert judgement["reason"].endswith("(and 1 more)")
    assert of(rules, run(temperatures=[{"celsius": 60.0}]), after=drive())["verdict"] == "pass"


def test_one_is_not_true() -> None:
    rules = recipe(limit("fact", "trim", "==", "true"))
    assert of(rules, facts=drive(trim=1))["verdict"] == "fail"
    assert of(rules, facts=drive(trim=False))["verdict"] == "fail"
    assert of(rules)["verdict"] == "pass"


# ---- how a test ended


@pytest.mark.parametrize(
    ("how", "code", "number"),
    [
        ({"state": "failed", "exit_code": 4, "reason": "went away"}, "drive-lost", 4),
        ({"state": "cancelled", "exit_code": 130, "reason": "cancelled"}, "cancelled", 130),
        ({"state": "interrupted", "exit_code": None}, "interrupted", 5),
        ({"state": "failed", "exit_code": 3, "reason": "replaced"}, "refused", 3),
        ({"state": "failed", "exit_code": 6, "reason": "disk full"}, "store-failed", 6),
        ({"state": "failed", "exit_code": 70, "reason": "bug"}, "internal-error", 70),
        ({"state": "done", "exit_code": 5, "reason": "no valid result"}, "nothing-valid", 5),
    ],
)
def test_a_run_that_did_not_end_well_is_inconclusive(how: Json, code: str, number: int) -> None:
    judgement = of(recipe(), run(**how))
    assert (judgement["verdict"], judgement["exit_code"]) == ("inconclusive", number)
    assert codes_of(judgement) == ([], [code])
    assert "run 7 (cdm)" in judgement["reason"]


def test_a_failed_limit_overrides_a_lost_drive_but_not_a_cancelled_test() -> None:
    rules = recipe(limit("figure", READ, ">=", "400"), suites=("cdm", "cdm:real"))
    slow = run(result(READ, 100.0))
    lost_run = run(number=8, state="failed", exit_code=4, reason="went away")
    judgement = of(rules, slow, lost_run)
    assert (judgement["verdict"], judgement["exit_code"]) == ("fail", 1)
    assert codes_of(judgement) == (["figure-limit"], ["drive-lost"])
    cancelled_run = run(number=8, state="cancelled", exit_code=130, reason="cancelled")
    judgement = of(rules, slow, cancelled_run)
    assert (judgement["verdict"], judgement["exit_code"]) == ("inconclusive", 130)
    # The deciding reason comes first, and the measured reason stays.
    assert judgement["reason"].startswith("run 8 (cdm) cancelled")
    assert codes_of(judgement)[0] == ["figure-limit"]


def test_a_suite_that_was_not_run_is_reported() -> None:
    rules = recipe(suites=("cdm", "das"))
    judgement = of(rules, run())
    assert codes_of(judgement) == ([], ["not-run"])
    assert judgement["reason"] == "not run: das"
    # The run that ended badly is the only reason.
    assert codes_of(of(rules, run(state="failed", exit_code=4, reason="x"))) == ([], ["drive-lost"])
    assert codes_of(of(rules, run(), end=(3, "das was not begun: replugged"))) == (
        [],
        ["refused"],
    )


def test_a_rule_that_ended_the_test_fails_the_drive() -> None:
    stopped_run = run(state="cancelled", exit_code=130, reason="cancelled")
    reason = Reason("stopped-hot", "71 °C, required at most 70")
    judgement = of(recipe(), stopped_run, stopped=reason)
    assert (judgement["verdict"], judgement["exit_code"]) == ("fail", 1)
    assert codes_of(judgement) == (["stopped-hot"], [])


def test_the_time_limit_fails_the_drive_once() -> None:
    rules = recipe(top='time_limit = "1 min"')
    assert of(rules, seconds=60.0)["verdict"] == "pass"
    judgement = of(rules, seconds=75.0)
    assert codes_of(judgement) == (["time-limit"], [])
    assert judgement["reason"] == "the test took 75 s, required <= 60 s, off by 15 s"
    stopped_run = run(state="cancelled", exit_code=130, reason="cancelled")
    judgement = of(
        rules, stopped_run, seconds=61.0, stopped=Reason("time-limit", "not done after 60 s")
    )
    assert codes_of(judgement) == (["time-limit"], [])


def test_a_scanned_serial_that_differs_is_a_fail() -> None:
    assert of(recipe(), scanned="S1")["verdict"] == "pass"
    judgement = of(recipe(), scanned="S2")
    assert codes_of(judgement) == (["serial-mismatch"], [])
    assert "S2" in judgement["reason"] and "S1" in judgement["reason"]
    # As in a real test, without any run: no limit is judged, and no suite is missing.
    judgement = judged(recipe(), Evidence(drive=drive()), scanned="S2")
    assert codes_of(judgement) == (["serial-mismatch"], [])
    assert (judgement["verdict"], judgement["exit_code"], judgement["limits"]) == ("fail", 1, [])


def test_another_drive_after_the_test_is_inconclusive() -> None:
    other = drive()
    other["identity"] = {**other["identity"], "serial": "S9"}
    judgement = of(recipe(), after=other)
    assert codes_of(judgement) == ([], ["identity-changed"])
    assert of(recipe(), after=drive(temperature=44))["verdict"] == "pass"


def test_every_limit_holds_for_a_pass() -> None:
    judgement = of(recipe(NOTHING + limit("fact", "health", "==", '"failed"')))
    assert [item["state"] for item in judgement["limits"]] == ["held", "failed"]
    assert judgement["failures"][0]["limit"] == 2
    assert judgement["verdict"] == "fail"


# ---- before the start


@pytest.mark.parametrize(
    ("start", "facts", "code"),
    [
        ("full_link = true", {"usb_speed": 480}, "port-speed"),
        ("full_link = true", {}, None),
        ("full_link = true", {"usb_speed": None}, "fact-unknown"),
        (
            "full_link = true",
            {"usb_speed": None, "sata_speed": 3000, "sata_capable_speed": 6000},
            "port-speed",
        ),
        ("full_link = true", {"pcie_width": 2, "pcie_capable_width": 4}, "port-speed"),
        ("link = 10000", {}, None),
        ("link = 20000", {}, "port-speed"),
        ("link = 5000", {"usb_speed": None}, "fact-unknown"),
        ("temperature = 29", {}, "too-hot"),
        ("temperature = 30", {}, None),
        ("temperature = 30", {"temperature": None}, "fact-unknown"),
        ("trim = true", {}, None),
        ("trim = true", {"trim": False}, "no-trim"),
        ("trim = true", {"trim_kernel": 0}, "no-trim"),
        ("trim = true", {"trim": None, "trim_kernel": None}, "fact-unknown"),
        ("trim = false\nfull_link = false", {"trim": False, "usb_speed": 12}, None),
    ],
)
def test_what_the_bench_must_offer_is_looked_at_first(
    start: str, facts: Json, code: str | None
) -> None:
    rules = recipe(f"{NOTHING}[start]\n{start}")
    reasons = preconditions.reasons(rules, drive(**facts))
    assert [item.code for item in reasons] == ([] if code is None else [code])
    if code is not None:
        judgement = judged(rules, Evidence(drive=drive(**facts)), refused=reasons)
        assert (judgement["verdict"], judgement["exit_code"]) == ("inconclusive", 5)
        assert codes_of(judgement) == ([], [code])
        assert judgement["limits"] == [] and judgement["runs"] == []


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ('transport = "usb-uas"', True),
        ('transport = ["sata", "usb-bot"]', False),
        ('model = "samsung pssd*"', True),
        ('model = ["Crucial*", "*T7"]', True),
        ('model = "T7"', False),
        ('size = "1TB"', True),
        ('size = "2TB"', False),
        ('size = [">= 500GB", "<= 1TB"]', True),
        ('size = "> 500GB"'.replace(">", ">="), True),
        ('size = "== 999GB"', False),
        ('transport = "usb-uas"\nsize = "<= 500GB"', False),
    ],
)
def test_a_recipe_is_for_the_drives_that_it_matches(match: str, fits: bool) -> None:
    rules = recipe(f"{NOTHING}[match]\n{match}")
    reasons = preconditions.reasons(rules, drive())
    assert [item.code for item in reasons] == ([] if fits else ["no-match"])


# ---- erasing


ERASING = recipe(
    f'{NOTHING}[match]\ntransport = "usb-uas"', top="allow_erase = true\nerase_used = true"
)
BLANK_ONLY = replace(ERASING, erase_used=False)


def why_not(
    rules: Recipe,
    drive_facts: Json,
    ports: tuple[str, ...],
    is_hotplugged: bool,
    data: str | None = None,
) -> str | None:
    reason = preconditions.why_not_erased(
        rules, drive_facts, bench_ports=ports, is_hotplugged=is_hotplugged, sample=lambda: data
    )
    assert reason is None or reason.code == "erase-not-allowed"
    return reason.text if reason else None


def test_all_four_conditions_are_required_and_each_missing_one_is_reported() -> None:
    for allow, port, is_hotplugged, blank in itertools.product((True, False), repeat=4):
        rules = replace(BLANK_ONLY, allow_erase=allow)
        drive_facts = drive(contents="nothing" if blank else "gpt partition table, ntfs")
        refusal = why_not(rules, drive_facts, ("2-1.3",) if port else ("2-1.4",), is_hotplugged)
        missing = {
            "the recipe does not say allow_erase = true": not allow,
            "port 2-1.3 is not listed in bench_ports": not port,
            "the drive was not plugged in while the agent was running": not is_hotplugged,
            "the drive is not blank (gpt partition table, ntfs) and the recipe does not say "
            "erase_used = true": not blank,
        }
        if not any(missing.values()):
            assert refusal is None
            continue
        assert refusal is not None and refusal.startswith("erase not allowed: ")
        for sentence, lacks in missing.items():
            assert (sentence in refusal) == lacks, (refusal, sentence)


def test_used_drives_are_erased_where_the_recipe_allows_it() -> None:
    used_drive = drive(contents="ntfs")
    assert why_not(ERASING, used_drive, ("2-1.3",), True) is None
    refusal = why_not(replace(ERASING, allow_erase=False), used_drive, ("2-1.3",), True)
    assert refusal == "erase not allowed: the recipe does not say allow_erase = true"


@pytest.mark.parametrize("state", ["locked", "protected", None])
def test_a_drive_that_is_not_free_is_never_erased(state: str | None) -> None:
    drive_facts = drive()
    drive_facts["guard"] = {"state": state, "reason": "it holds BitLocker"} if state else {}
    refusal = why_not(ERASING, drive_facts, ("2-1.3",), True)
    assert refusal is not None and refusal.startswith("erase not allowed: the drive is ")


def test_a_drive_with_unknown_facts_is_not_erased() -> None:
    assert why_not(BLANK_ONLY, drive(contents=None), ("2-1.3",), True) is not None
    lacking = drive()
    del lacking["contents"]
    assert why_not(BLANK_ONLY, lacking, ("2-1.3",), True) is not None
    nowhere = drive()
    nowhere["identity"] = {**nowhere["identity"], "port": None}
    assert why_not(ERASING, nowhere, ("2-1.3",), True) is not None
    refusal = why_not(ERASING, drive(transport="sata"), ("2-1.3",), True)
    assert refusal is not None and "the recipe does not match this drive: transport sata" in refusal


def test_a_drive_without_a_signature_is_erased_only_where_its_sample_is_blank() -> None:
    assert why_not(BLANK_ONLY, drive(), ("2-1.3",), True) is None
    text = why_not(BLANK_ONLY, drive(), ("2-1.3",), True, "data of no known kind at byte 65536")
    assert text is not None and "not blank (data of no known kind at byte 65536)" in text
    assert why_not(ERASING, drive(), ("2-1.3",), True, "data") is None


@pytest.mark.parametrize(
    ("state", "allow", "contents"),
    [("locked", True, "nothing"), ("free", False, "nothing"), ("free", True, "ntfs")],
)
def test_no_sample_is_read_where_the_answer_is_known(
    state: str, allow: bool, contents: str
) -> None:
    def sample() -> str | None:
        raise AssertionError("read")

    drive_facts = drive(contents=contents)
    drive_facts["guard"] = {"state": state, "reason": "test"}
    rules = replace(BLANK_ONLY, allow_erase=allow)
    assert preconditions.why_not_erased(
        rules, drive_facts, bench_ports=("2-1.3",), is_hotplugged=True, sample=sample
    )


def test_erase_not_allowed_is_inconclusive() -> None:
    reason = preconditions.why_not_erased(
        BLANK_ONLY, drive(), bench_ports=(), is_hotplugged=True, sample=lambda: None
    )
    assert reason is not None
    judgement = judged(BLANK_ONLY, Evidence(drive=drive()), refused=[reason])
    assert (judgement["verdict"], judgement["exit_code"]) == ("inconclusive", 5)
    assert judgement["reason"].startswith("erase not allowed: port 2-1.3")


# ---- rules that end a test


@dataclass(frozen=True)
class Second:
    t: float
    step_index: int | None
    write_bytes: int
    read_bytes: int = 0
    dt: float = 1.0


STEPS = [
    {"name": "SEQ1M Q8T1 write pass 1", "timed": True},
    {"name": "idle", "timed": False},
    {"name": "RND4K Q1T1 write pass 1", "timed": True},
    {"name": "SEQ1M with rests", "timed": True, "rest": 5.0},
]


def seconds(*parts: tuple[int, int, float]) -> list[Second]:
    """(step, how many seconds, MB/s) of each part."""
    samples: list[Second] = []
    for step, count, rate in parts:
        samples += [Second(len(samples) + at + 1.0, step, int(rate * 1e6)) for at in range(count)]
    return samples


@pytest.mark.parametrize(
    ("record", "ends"),
    [
        (seconds((0, 60, 100.0)), False),
        (seconds((0, 20, 100.0), (0, 9, 5.0)), False),
        (seconds((0, 20, 100.0), (0, 10, 5.0)), True),
        (seconds((0, 20, 100.0), (0, 10, 0.0)), True),
        (seconds((0, 6, 5.0), (0, 1, 100.0), (0, 6, 5.0)), False),
        (seconds((1, 60, 0.0)), False),
        (seconds((2, 60, 5.0)), False),
        (seconds((3, 60, 5.0)), False),
        (seconds((0, 7, 5.0), (1, 3, 0.0), (0, 7, 5.0)), False),
        # The first and the last second of a step are not whole.
        (seconds((0, 11, 5.0), (1, 3, 0.0)), False),
        (seconds((0, 12, 5.0), (1, 3, 0.0)), True),
    ],
)
def test_a_rate_below_the_rule_for_its_time_ends_the_test(record: list[Second], ends: bool) -> None:
    rules = recipe(f'{NOTHING}[[stop]]\nrate_below = 20\nfor = "10 s"\nsteps = "SEQ*"')
    reason = early_stop.due(rules.stops, Record(steps=STEPS, samples=record))
    assert (reason is not None) == ends
    if reason is not None:
        assert reason.code == "stopped-slow"
        assert reason.text.startswith("SEQ1M Q8T1 write pass 1: ")
        assert reason.text.endswith(" MB/s for 10 s, required at least 20 MB/s")


def test_heat_and_errors_end_the_test() -> None:
    rules = recipe(f"{NOTHING}[[stop]]\ntemperature_above = 70\n[[stop]]\nerrors = 2")
    link = ("link", "usb_speed changed from 10000 to 480")
    assert (
        early_stop.due(rules.stops, Record(steps=STEPS, temperatures=[70.0], events=[link])) is None
    )
    reason = early_stop.due(rules.stops, Record(steps=STEPS, temperatures=[20.0, 70.5]))
    assert reason == Reason("stopped-hot", "70.5 °C, required at most 70")
    reason = early_stop.due(rules.stops, Record(steps=STEPS, events=[link, ("setting", "x"), link]))
    assert reason is not None and reason.code == "stopped-errors"


# ---- again, and several drives


def test_a_test_is_retried_only_where_that_may_change_something() -> None:
    rules = recipe(limit("figure", READ, ">=", "400") + NOTHING, top="retries = 2")
    slow = run(result(READ, 100.0))
    first = of(rules, slow)
    assert verdict.again(rules, first)
    second = of(rules, slow, earlier=[first])
    assert (second["retries"], verdict.again(rules, second)) == (1, True)
    third = of(rules, slow, earlier=[first, second])
    assert (third["retries"], verdict.again(rules, third)) == (2, False)
    assert [item["verdict"] for item in third["previous_attempts"]] == ["fail", "fail"]
    assert not verdict.again(rules, of(rules, run(result(READ, 500.0))))
    # A fact, a lost drive and a wrong serial do not change with a retry.
    assert not verdict.again(rules, of(rules, slow, facts=drive(external=False)))
    lost_run = run(state="failed", exit_code=4, reason="went away")
    assert not verdict.again(rules, of(rules, lost_run))
    assert not verdict.again(recipe(limit("figure", READ, ">=", "400")), first)
    assert not verdict.again(rules, of(rules, run(result("x", 1.0))))
    stopped_run = run(state="cancelled", exit_code=130, reason="cancelled")
    stop_reason = Reason("stopped-slow", "too slow")
    assert verdict.again(rules, of(rules, stopped_run, stopped=stop_reason))
    assert not verdict.again(rules, of(rules, lost_run, stopped=stop_reason))


def test_the_exit_code_of_several_drives_is_by_precedence() -> None:
    for first, second in itertools.product(PRECEDENCE, repeat=2):
        exit_code = verdict.exit_code([{"exit_code": first}, {"exit_code": second}])
        assert exit_code == min(first, second, key=PRECEDENCE.index)
    assert verdict.exit_code([{"exit_code": 0}, {"exit_code": 2}]) == 2


def test_fail_is_exit_code_1_and_nothing_else_is() -> None:
    rules = recipe(limit("figure", READ, ">=", "400"))
    ends = [(None, 0, "done"), ("x", 4, "failed"), ("x", 130, "cancelled"), ("x", 3, "failed")]
    for (reason, code, state), value, scanned_serial in itertools.product(
        ends, (100.0, 500.0), ("S1", "S2")
    ):
        one = run(result(READ, value), reason=reason, exit_code=code, state=state)
        judgement = of(rules, one, scanned=scanned_serial)
        assert (judgement["exit_code"] == 1) == (judgement["verdict"] == "fail")
        assert (judgement["exit_code"] == 0) == (judgement["verdict"] == "pass")
        assert (judgement["reason"] is None) == (judgement["verdict"] == "pass")


def test_judging_does_not_change_its_input() -> None:
    rules = recipe(limit("figure", READ, ">=", "400"))
    drive_facts, one = drive(), run(result(READ, 100.0))
    originals = copy.deepcopy((drive_facts, one))
    of(rules, one, facts=drive_facts)
    assert (drive_facts, one) == originals


# ---- codes


def test_every_code_is_in_the_docs() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/recipes.md").read_text(encoding="utf-8")
    tables = page.split("Codes are stable")[1].split("## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \|", tables, re.MULTILINE)
    assert rows == [text for name, text in vars(codes).items() if name.isupper() and text in rows]
    names = [name for name, text in vars(codes).items() if name.isupper() and isinstance(text, str)]
    assert len(names) == len(rows)
    assert len(set(rows)) == len(rows)
    assert set(codes.END_CODES.values()) | codes.RETRIED <= set(rows)


def test_every_kind_of_limit_has_a_title() -> None:
    rules = recipe(
        limit("figure", READ, ">=", "1") + limit("fact", "wear", "<=", "1")
        + limit("change", "wear", "<=", "1") + limit("peak", "temperature", "<=", "1")
    )  # fmt: skip
    assert [limits.what(item) for item in rules.limits] == [
        "SEQ1M Q8T1 read of cdm", "wear", "change of wear", "highest temperature",
    ]  # fmt: skip
