"""Verdicts for other programs: JSON, CSV, JUnit XML. Lines of text: recipes.event_lines.

All are made from the same `benchstick/verdict/2` documents only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchstick.plan import tabular_output
from benchstick.recipes import limits, verdict
from benchstick.recipes.event_lines import LABELS

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SCHEMA = "benchstick/qa/2"
COLUMNS = (
    "recipe", "verdict", "exit_code", "drive", "model", "serial", "capacity", "port", "slot",
    "label", "asset", "order", "operator", "transport", "firmware", "reason", "failures",
    "inconclusive", "limits_held", "limits_failed", "limits_unknown", "runs", "retries",
    "started_utc", "ended_utc", "seconds",
)  # fmt: skip
# Characters that XML 1.0 does not allow, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Json = Mapping[str, Any]


def document(verdicts: Sequence[Json]) -> dict[str, Any]:
    """The `benchstick/qa/2` document: the verdicts, how many there are of each kind, and the exit
    code of them all."""
    kinds = [item["verdict"] for item in verdicts]
    return {
        "schema": SCHEMA,
        "exit_code": verdict.exit_code(verdicts),
        "counts": {
            **{kind: kinds.count(kind)
               for kind in (verdict.PASS, verdict.FAIL, verdict.INCONCLUSIVE)},
            "retries": sum(item["retries"] for item in verdicts),
        },
        "verdicts": list(verdicts),
    }  # fmt: skip


# ---- CSV


def csv_text(verdicts: Sequence[Json]) -> str:
    """A header, and a line for each drive."""
    rows = (csv_row(item) for item in verdicts)
    return tabular_output.csv_text(COLUMNS, ([row[name] for name in COLUMNS] for row in rows))


def csv_row(item: Json) -> dict[str, Any]:
    """The cells of one drive by their column."""
    drive, limit_rows = item["drive"], item["limits"]
    states = [limit_row["state"] for limit_row in limit_rows]
    return {
        "recipe": item["recipe"]["name"],
        "drive": drive["code"],
        **{name: drive[name]
           for name in ("model", "serial", "capacity", "port", "slot", "label", "transport",
                        "firmware")},
        **{name: item["labels"].get(name) for name in LABELS},
        **{name: item[name]
           for name in ("verdict", "exit_code", "reason", "retries", "started_utc", "ended_utc",
                        "seconds")},
        "failures": " ".join(failure["code"] for failure in item["failures"]),
        "inconclusive": " ".join(one["code"] for one in item["inconclusive"]),
        "limits_held": states.count(limits.MET),
        "limits_failed": states.count(limits.FAILED),
        "limits_unknown": states.count(limits.UNKNOWN),
        "runs": " ".join(str(run["number"]) for run in item["runs"]),
    }  # fmt: skip


# ---- JUnit


def junit(verdicts: Sequence[Json]) -> str:
    """JUnit XML: a test suite for each drive, a test case for each limit and for each other reason.
    What fails is a failure, what could not be judged an error; their `type` is the stable code."""
    # Imported on use: the agent and the page rarely need XML, and it takes a megabyte in each.
    from xml.etree import ElementTree as Xml

    root = Xml.Element("testsuites")
    for item in verdicts:
        _suite(root, item)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", f"{sum(item['seconds'] for item in verdicts):.3f}")
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _suite(root: Element, item: Json) -> None:
    from xml.etree import ElementTree as Xml

    drive, recipe = item["drive"], item["recipe"]["name"]
    suite = Xml.SubElement(root, "testsuite", name=_xml(drive["code"]))
    suite.set("timestamp", item["started_utc"])
    suite.set("time", f"{item['seconds']:.3f}")
    values = {
        "recipe": recipe, **drive, **{name: item["labels"].get(name) for name in LABELS},
        **{name: item[name] for name in ("verdict", "exit_code", "retries")},
    }  # fmt: skip
    properties = Xml.SubElement(suite, "properties")
    for name, value in values.items():
        if value is not None:
            Xml.SubElement(properties, "property", name=_xml(name), value=_xml(value))
    cases = [
        (
            f"limit {limit['number']}: {limit['description']}",
            limit["state"],
            limit["code"],
            limit["text"],
        )
        for limit in item["limits"]
    ]
    for kind, state in (("failures", limits.FAILED), ("inconclusive", limits.UNKNOWN)):
        beside = [reason for reason in item[kind] if reason["limit"] is None]
        cases += [(reason["code"], state, reason["code"], reason["text"]) for reason in beside]
    elements = {limits.FAILED: "failure", limits.UNKNOWN: "error"}
    for name, state, code, text in cases:
        case = Xml.SubElement(suite, "testcase", classname=_xml(recipe), name=_xml(name))
        if state in elements:
            Xml.SubElement(case, elements[state], type=str(code), message=_xml(text))
    suite.set("tests", str(len(cases)))
    for name, state in (("failures", limits.FAILED), ("errors", limits.UNKNOWN)):
        suite.set(name, str(sum(case[1] == state for case in cases)))


def _xml(value: Any) -> str:
    return _NO_XML.sub("\ufffd", str(value))


# ---- for people


def text_lines(item: Json) -> Iterator[str]:
    """A verdict as text: the word, each reason, then each limit."""
    drive = item["drive"]
    place = drive["slot"] or drive["port"]
    yield (f"{item['verdict'].upper()}: {drive['code']} ({drive['model']}) at {place}, "
           f"by {item['recipe']['name']}")  # fmt: skip
    for kind in ("failures", "inconclusive"):
        for reason in item[kind]:
            yield f"{reason['code']}: {reason['text']}"
    for limit in item["limits"]:
        unit = f" {limit['unit']}" if limit["unit"] else ""
        value = limit["measured"]
        measured_text = "not measured" if value is None else limits.format_value(value)
        yield (
            f"limit {limit['number']} {limit['state']}: {limit['description']}: "
            f"{measured_text}{unit}"
        )
    for run in item["runs"]:
        yield f"run {run['number']}: {run['suite']} {run['state']}"
    if item["retries"]:
        yield f"tested again {item['retries']} times"
