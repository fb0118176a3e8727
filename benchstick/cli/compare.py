"""`benchstick compare RUN RUN...`."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from benchstick.analysis.comparison.rank import summary
from benchstick.cli.common import print_line, print_table, reader
from benchstick.cli.export import check_place, encoded, put, put_drawings
from benchstick.errors import BadInput
from benchstick.reports.comparison_csv import comparison_csv
from benchstick.store import comparisons, run_queries

FORMATS = ("text", "json", "csv", "html", "pdf", "svg")


@click.command()
@click.argument("numbers", type=int, nargs=-1, metavar="RUN RUN...")
@click.option("--mark", type=int, metavar="RUN", help="drive under test (default: the first run)")
@click.option("--no-references", is_flag=True, help="leave out results measured elsewhere")
@click.option("--format", "form", type=click.Choice(FORMATS), default=None,
              help="default: text")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="the same as --format json")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE",
              help="write there instead of to stdout; of svg a folder")  # fmt: skip
def compare(
    numbers: tuple[int, ...], mark: int | None, no_references: bool, form: str | None,
    as_json: bool, output: Path | None,
) -> None:  # fmt: skip
    """Compare runs of one suite: each result ranked, and the conditions that differ.

    As text, as json (the benchstick/comparison/2 document), csv (its results), a report as html or
    pdf, or as svg, a file for the bars of each result and for each chart."""
    if as_json and form not in (None, "json"):
        raise BadInput(f"compare: --json and --format {form}; choose one", field="format")
    kind = "json" if as_json else form or "text"
    check_place("compare", kind, output)
    with reader() as db:
        document = comparisons.comparison(db, numbers, mark=mark, with_references=not no_references)
        bench = run_queries.bench_id(db)
    if kind == "svg":
        assert output is not None
        _drawings(document, output)
    else:
        put(_build_file(document, kind, bench), output, is_text=kind != "pdf")


def _build_file(document: Mapping[str, Any], form: str, bench: str) -> bytes:
    """The file of a comparison's document in this format."""
    if form == "json":
        return encoded(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if form == "csv":
        return encoded(comparison_csv(document))
    if form == "text":
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            print_comparison(document)
        return encoded(text.getvalue())
    # On use: other formats need no reports.
    from benchstick.reports import comparison_report, html, pdf

    report = comparison_report.of_comparison(document, bench)
    return encoded(html.page(report)) if form == "html" else pdf.document(report)


def _drawings(document: Mapping[str, Any], folder: Path) -> None:
    from benchstick.reports import comparison_report
    from benchstick.reports.ranking import name_of
    from benchstick.reports.svg import standalone

    name = name_of(document)
    drawings = {
        f"{name}-rank-{at}.svg": standalone(ranks)
        for at, ranks in enumerate(comparison_report.ranks_of(document), 1)
    }
    drawings |= {
        f"{name}-chart-{at}.svg": standalone(chart)
        for at, chart in enumerate(comparison_report.charts_of(document), 1)
    }
    if not drawings:
        raise BadInput("compare: these runs have no result and no chart in common", field="format")
    put_drawings(folder, drawings)


def print_comparison(document: Mapping[str, Any]) -> None:
    """A comparison as text: what differs first, then a ranked table."""
    differences = list(summary(document))
    if differences:
        print("Test conditions differ between these runs:")
        for line in differences:
            print_line(f"  {line}")
        print()
    if not document["results"]:
        print("no result is in more than one of these runs")
        return
    rows = [row for result in document["results"] for row in _rows(result)]
    print_table(("result", "rank", "drive", "run", "value", "unit", "spread", "note"), rows)
    print("\n* the drive under test")
    _print_models(document)


def _print_models(document: Mapping[str, Any]) -> None:
    """Manufacturer's specifications and measured results, and the price per GB."""
    labels = {item["run"]: item["label"] for item in document["runs"]}
    for item in document["models"]:
        sheet, price = item["sheet"], item["price_per_gb"]
        cost = (
            ""
            if price is None
            else (
                f": {sheet['price']:.2f} {sheet['currency']} on {sheet['price_date']}, "
                f"{price:g} {sheet['currency']} per GB"
            )
        )
        print(f"\n{labels[item['run']]}, claims of {sheet['name']}{cost}")
        if item["claims"]:
            print_table(
                ("result", "claimed", "measured", "unit", "% of spec"),
                [
                    (claim["result"], _digits(claim["claimed"]), _digits(claim["measured"]),
                     claim["unit"],
                     claim["reason"] if claim["percent"] is None else f"{claim['percent']:g} %")
                    for claim in item["claims"]
                ],
            )  # fmt: skip


def _rows(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for at, row in enumerate(result["rows"]):
        yield (
            result["name"] if at == 0 else "",
            "-" if row["rank"] is None else str(row["rank"]),
            f"{'*' if row['under_test'] else ' '} {row['label']}",
            "-" if row["run"] is None else str(row["run"]),
            _digits(row["value"]),
            result["unit"],
            spread(row),
            _note(row),
        )


def _digits(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:.1f}"


def spread(row: Mapping[str, Any]) -> str:
    """`1058.3 to 1061.4 in 3 passes`, empty where there are no passes."""
    count, every = len(row["passes"]), row["passes_all"]
    if not every:
        return ""
    of = f"{count} of {every}" if count < every else str(every)
    if not count:
        return f"no valid pass of {every}"
    low, high = _digits(row["min"]), _digits(row["max"])
    return f"{low} to {high} in {of} passes" if every > 1 else "1 pass"


def _note(row: Mapping[str, Any]) -> str:
    if row["state"] == "valid":
        return row["reason"] or ""
    if row["state"] == "reference":
        return f"{row['reason']}: {row['source']}"
    return f"{row['state']}: {row['reason']}"
