"""Verdicts as JSON, CSV, JUnit and event lines: all four agree."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from benchstick.plan.plain import plain
from benchstick.recipes import event_lines, outputs
from benchstick.recipes.codes import Reason
from tests.unit.test_verdicts import Json, drive, limit, of, recipe, result, run

READ, WRITE = "SEQ1M Q8T1 read", "SEQ1M Q8T1 write"
RECIPE = recipe(
    limit("figure", READ, ">=", "400") + limit("figure", WRITE, "~", "300", 'within = "5 %"')
    + limit("fact", "transport", "==", '["usb-uas", "nvme"]')
)  # fmt: skip
CANCELLATION: Json = {"state": "cancelled", "exit_code": 130, "reason": "cancelled"}
LOSS: Json = {"state": "failed", "exit_code": 4, "reason": 'went "away" = <gone> & lost\n\x01é'}


def verdicts() -> list[Json]:
    """One verdict of each kind, and with most of the reasons."""
    good = [result(READ, 500.0), result(WRITE, 300.0)]
    odd = drive(transport="usb-bot", firmware=None)
    odd["code"] = odd["identity"]["serial"] = "=1+1,'x\""
    odd["label"] = "shelf 4"
    first = of(RECIPE, run(result(READ, 100.0), good[1]))
    return [
        of(RECIPE, run(*good)),
        first,
        of(RECIPE, run(*good), facts=odd),
        of(RECIPE, run(good[0])),
        of(RECIPE, run(**LOSS)),
        of(RECIPE, run(result(READ, 1 / 3), good[1], **CANCELLATION), earlier=[first]),
        of(RECIPE, run(good[0], **CANCELLATION), stopped=Reason("stopped-slow", "3 MB/s for 30 s")),
        of(RECIPE, run(*good), scanned="S2", seconds=0.0),
        {**of(RECIPE, run(*good)), "labels": {"asset": "A-17", "operator": "Ann Bé"}},
    ]


def logfmt(line: str) -> dict[str, str]:
    """A line of `key=value`, read as a program that knows JSON strings reads it."""
    fields = {}
    for key, text, bare in re.findall(r'([a-z_]+)=(?:("(?:[^"\\]|\\.)*")|(\S+))', line):
        fields[key] = json.loads(text) if text else bare
    return fields


def test_json_csv_junit_and_events_agree() -> None:
    verdict_list = verdicts()
    document = json.loads(json.dumps(outputs.document(verdict_list), allow_nan=False))
    assert document["schema"] == "benchstick/qa/2"
    assert document["counts"] == {"pass": 2, "fail": 4, "inconclusive": 3, "retries": 1}
    assert document["exit_code"] == 130
    rows = list(csv.DictReader(io.StringIO(outputs.csv_text(verdict_list))))
    suites = list(Xml.fromstring(outputs.junit(verdict_list)))
    assert len(rows) == len(suites) == len(document["verdicts"]) == len(verdict_list)
    for item, row, suite in zip(document["verdicts"], rows, suites, strict=True):
        events = [logfmt(line) for line in event_lines.event_lines(item)]
        last = events[-1]
        properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
        expected = (item["verdict"], str(item["exit_code"]), str(item["retries"]))
        assert (row["verdict"], row["exit_code"], row["retries"]) == expected
        assert (last["verdict"], last["exit_code"], last["retries"]) == expected
        assert tuple(properties[name] for name in ("verdict", "exit_code", "retries")) == expected
        assert last["event"] == "verdict"
        assert last["drive"] == properties["code"] == suite.get("name") == item["drive"]["code"]
        assert row["drive"].removeprefix("'") == item["drive"]["code"]
        assert last.get("reason", "") == (item["reason"] or "")
        # Only the cell of CSV is without control characters.
        assert row["reason"] == plain(item["reason"] or "")
        again = [event["reason"] for event in events if event["event"] == "retried"]
        assert again == [one["reason"] for one in item["previous_attempts"]]
        assert len(again) == item["retries"]
        _same_codes(item, row, suite, events)
        _same_limits(item, row, suite, events)
        runs = [event["number"] for event in events if event["event"] == "run"]
        assert runs == row["runs"].split() == [str(one["number"]) for one in item["runs"]]


def _same_codes(item: Json, row: Json, suite: Xml.Element, events: list[dict[str, str]]) -> None:
    failed = [one["code"] for one in item["failures"]]
    unknown = [one["code"] for one in item["inconclusive"]]
    assert row["failures"].split() == failed
    assert row["inconclusive"].split() == unknown
    assert sorted(str(one.get("type")) for one in suite.iter("failure")) == sorted(failed)
    assert sorted(str(one.get("type")) for one in suite.iter("error")) == sorted(unknown)
    assert (suite.get("failures"), suite.get("errors")) == (str(len(failed)), str(len(unknown)))
    event_codes = [event["code"] for event in events[:-1] if "code" in event]
    assert sorted(event_codes) == sorted(failed + unknown)
    passed = item["verdict"] == "pass"
    assert passed == (not failed and not unknown)


def _same_limits(item: Json, row: Json, suite: Xml.Element, events: list[dict[str, str]]) -> None:
    states = [one["state"] for one in item["limits"]]
    for state in ("held", "failed", "unknown"):
        assert row[f"limits_{state}"] == str(states.count(state))
    limit_events = [event for event in events if event["event"] == "limit"]
    assert [event["state"] for event in limit_events] == states
    for event, one in zip(limit_events, item["limits"], strict=True):
        measured = one["measured"]
        if isinstance(measured, float):
            assert float(event["measured"]) == pytest.approx(measured, rel=1e-9)
        else:
            assert event.get("measured") == measured
    cases = suite.findall("testcase")
    beside = sum(one["limit"] is None for one in item["failures"] + item["inconclusive"])
    assert len(cases) == len(states) + beside == int(suite.get("tests", "-1"))
    for case, state in zip(cases, states, strict=False):
        kinds = [child.tag for child in case]
        assert kinds == {"held": [], "failed": ["failure"], "unknown": ["error"]}[state]


def test_junit_counts_all_drives_and_is_xml_whatever_a_drive_is_called() -> None:
    text = outputs.junit(verdicts())
    root = Xml.fromstring(text)
    for name in ("tests", "failures", "errors"):
        assert root.get(name) == str(sum(int(suite.get(name, "0")) for suite in root))
    assert int(root.get("failures", "0")) >= 4
    assert "\x01" not in text and "\ufffd" in text
    (error,) = (one for one in root.iter("error") if one.get("type") == "drive-lost")
    assert 'went "away" = <gone> & lost' in str(error.get("message"))


def test_event_lines_are_one_line_of_ascii_each() -> None:
    for line in itertools.chain(*(event_lines.event_lines(item) for item in verdicts())):
        assert line.isascii() and line.isprintable()
        again = " ".join(
            f"{key}={value}" if re.fullmatch(r"[\w./:+-]+", value, re.ASCII)
            else f"{key}={json.dumps(value)}"
            for key, value in logfmt(line).items()
        )  # fmt: skip
        assert again == line


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "x=true"), (1.0, "x=1"), (0.25, "x=0.25"), ("a b", 'x="a b"'), ("", 'x=""'),
        ('a"b', 'x="a\\"b"'), (["usb-uas", "nvme"], 'x="usb-uas,nvme"'), (None, ""),
        ("2026-01-31T12:00:00Z", "x=2026-01-31T12:00:00Z"), ("a=b", 'x="a=b"'),
        ("é", 'x="\\u00e9"'),
    ],
)  # fmt: skip
def test_a_value_is_written_bare_where_it_can_be(value: Any, text: str) -> None:
    assert event_lines.line_of({"x": value}) == text


def test_csv_is_no_formula() -> None:
    rows = list(csv.reader(io.StringIO(outputs.csv_text(verdicts()))))
    assert tuple(rows[0]) == outputs.COLUMNS
    assert all(len(row) == len(rows[0]) for row in rows)
    assert not any(cell[:1] in ("=", "+", "@") for row in rows[1:] for cell in row)


def test_outputs_without_any_verdict() -> None:
    assert outputs.document([])["exit_code"] == 0
    assert Xml.fromstring(outputs.junit([])).get("tests") == "0"
    assert outputs.csv_text([]).count("\n") == 1
