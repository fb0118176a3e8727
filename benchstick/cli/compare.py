"""`benchstick compare RUN RUN...`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from benchstick.analysis.compare import summary
from benchstick.cli.common import print_json, print_table, reader
from benchstick.store import comparisons


@click.command()
@click.argument("numbers", type=int, nargs=-1, metavar="RUN RUN...")
@click.option("--mark", type=int, metavar="RUN", help="the drive under test; the first run's else")
@click.option("--no-references", is_flag=True, help="leave out figures measured elsewhere")
@click.option("--json", "as_json", is_flag=True, help="the benchstick/comparison/1 document")
def compare(numbers: tuple[int, ...], mark: int | None, no_references: bool, as_json: bool) -> None:
    """Compare runs of one suite: each figure ranked, and the conditions that differ."""
    with reader() as db:
        document = comparisons.comparison(db, numbers, mark=mark, with_references=not no_references)
    if as_json:
        print_json(document)
    else:
        print_comparison(document)


def print_comparison(document: Mapping[str, Any]) -> None:
    """A comparison as text: what differs first, then a ranked table."""
    told = list(summary(document))
    if told:
        print("These runs differ in more than the drive:")
        for line in told:
            print(f"  {line}")
        print()
    if not document["figures"]:
        print("no figure is in more than one of these runs")
        return
    rows = [row for figure in document["figures"] for row in _rows(figure)]
    print_table(("figure", "rank", "drive", "run", "value", "unit", "spread", "note"), rows)
    print("\n* the drive under test")
    _print_models(document)


def _print_models(document: Mapping[str, Any]) -> None:
    """What makers claim beside what was measured, and what a GB costs."""
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
                ("figure", "claimed", "measured", "unit", "of the claim"),
                [
                    (claim["figure"], _digits(claim["claimed"]), _digits(claim["measured"]),
                     claim["unit"],
                     claim["why"] if claim["percent"] is None else f"{claim['percent']:g} %")
                    for claim in item["claims"]
                ],
            )  # fmt: skip


def _rows(figure: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for at, row in enumerate(figure["rows"]):
        yield (
            figure["name"] if at == 0 else "",
            "-" if row["rank"] is None else str(row["rank"]),
            f"{'*' if row['marked'] else ' '} {row['label']}",
            "-" if row["run"] is None else str(row["run"]),
            _digits(row["value"]),
            figure["unit"],
            spread(row),
            _note(row),
        )


def _digits(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:.1f}"


def spread(row: Mapping[str, Any]) -> str:
    """`1058.3 to 1061.4 in 3 passes`, empty where there is nothing to tell."""
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
        return row["why"] or ""
    if row["state"] == "reference":
        return f"{row['why']}: {row['source']}"
    return f"{row['state']}: {row['why']}"
