"""The results of a comparison as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchstick.plan.tabular_output import csv_text

COMPARED = (
    "suite", "result", "unit", "better", "rank", "drive", "code", "model", "run", "under_test",
    "value", "lowest", "highest", "passes_valid", "passes_all", "target", "state", "reason",
    "source",
    "differs",
)  # fmt: skip


def comparison_csv(document: Mapping[str, Any]) -> str:
    """The results of a comparison's document, one a line for each run and each reference, with
    the conditions that differ between the runs."""
    rows = []
    runs = {item["run"]: item for item in document["runs"]}
    differs: dict[int, list[str]] = {number: [] for number in runs}
    for item in document["differ"]:
        for one in item["values"]:
            differs[one["run"]].append(f"{item['title']}: {one['text']}")
    for result in document["results"]:
        for row in result["rows"]:
            drive = runs[row["run"]]["drive"] if row["run"] is not None else {}
            cells = {
                **row,
                "suite": document["suite"],
                "result": result["name"],
                "unit": result["unit"],
                "better": result["better"],
                "drive": row["label"],
                "code": drive.get("code"),
                "model": drive.get("model"),
                "under_test": "yes" if row["under_test"] else "no",
                "lowest": row["min"],
                "highest": row["max"],
                "passes_valid": len(row["passes"]),
                "differs": "; ".join(differs.get(row["run"], ())),
            }
            rows.append([cells[column] for column in COMPARED])
    return csv_text(COMPARED, rows)
