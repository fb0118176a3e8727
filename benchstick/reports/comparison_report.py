"""The report of a comparison: what its page shows, without links. Pure functions.

`benchstick.reports` writes it as HTML or PDF, and its bars and charts as SVG.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchstick import __version__
from benchstick.reports import charts, formatting, ranking
from benchstick.reports.content import (
    UNDER_TEST,
    Bar,
    Chart,
    Heading,
    Part,
    Ranks,
    Report,
    Table,
    Text,
)
from benchstick.reports.run_report import exact
from benchstick.reports.sheet_texts import claimed_share, sheet_facts
from benchstick.suites import registry

Json = Mapping[str, Any]

# More columns than that leave no room for words on paper.
_MOST_COLUMNS = 4
_HINTS = {"higher": "higher is better", "lower": "lower is better"}
_UNITS = {"us": "µs and ms"}


def of_comparison(document: Json, bench: str = "") -> Report:
    """The report of a `benchstick/comparison/2` document; `bench` is the UUID of this
    bench."""
    runs = document["runs"]
    suite = registry.all_suites().get(document["suite"])
    title = document["suite"] if suite is None else suite.title
    summary = f"{len(runs)} runs compared" if len(runs) > 1 else "one run"
    # As on the page: the most important results, then the charts, then the others.
    first, *more = [list(parts) for parts in _results(document)]
    further = [part for parts in more for part in parts]
    return Report(
        title=f"{title}, {summary}",
        lead=list(_lead(document)),
        parts=[
            *_head(document), *_differ(document), *first, *_claims(document),
            *_charts(document), *further, *_all_results(document), *_apart(document),
        ],
        foot=_foot(bench),
        made_utc=max(run["created_utc"] for run in runs),
    )  # fmt: skip


# ---- the parts


def _labels(document: Json) -> dict[int, str]:
    """The name of each run by its number, the one under test marked in words."""
    return {run["run"]: _marked(run) for run in document["runs"]}


def _marked(row: Json) -> str:
    return f"{row['label']}{UNDER_TEST if row['under_test'] else ''}"


def _lead(document: Json) -> Iterator[str]:
    mine = next(run for run in document["runs"] if run["under_test"])
    others = [run for run in document["runs"] if not run["under_test"]]
    yield f"Under test: {_with_run(mine)}"
    if others:
        yield "Compared with: " + "; ".join(map(_with_run, others))


def _with_run(run: Json) -> str:
    """A drive's name with the run's number, which labels of several runs of it have already."""
    return f"{_name(run)}{_tail(run)}"


def _tail(row: Json) -> str:
    return "" if row["run"] is None else f", run {row['run']}"


def _name(row: Json) -> str:
    """A label without the run's number."""
    return str(row["label"]).removesuffix(_tail(row))


def _head(document: Json) -> Iterator[Part]:
    if document["runs"][0]["practice"]:
        yield Text("Practice drive: a file on the bench. These are not the results of a real "
                   "drive.", "note")  # fmt: skip


def _differ(document: Json) -> Iterator[Part]:
    runs, differences = document["runs"], document["differ"]
    if differences:
        yield Heading("Test conditions differ between these runs")
        yield Text("These differences affect the results.", "bad")
        yield _in_columns(document) if len(runs) <= _MOST_COLUMNS else _in_rows(document)
    yield Heading("The runs")
    if not differences and len(runs) > 1:
        yield Text("All recorded conditions match: target, filesystem, link, driver, state, scale, "
                   "parameters, host, kernel, fio.", "dim")  # fmt: skip
    yield Table(
        [
            [_marked(run), str(run["drive"]["model"]), str(run["drive"]["code"]), str(run["run"]),
             str(run["state"]), formatting.capacity(run["drive"]["capacity"]),
             formatting.utc(run["created_utc"])]
            for run in runs
        ],
        ("Drive", "Model", "Code", "Run", "State", "Capacity", "Started"),
    )  # fmt: skip


def _in_columns(document: Json) -> Table:
    """The conditions that differ, a column a run."""
    labels = _labels(document)
    return Table(
        [[item["title"], *(one["text"] for one in item["values"])] for item in document["differ"]],
        ("Condition", *(labels[run["run"]] for run in document["runs"])),
        texts=frozenset(range(len(labels) + 1)),
    )


def _in_rows(document: Json) -> Table:
    """The conditions that differ, a row a value: many runs have few values."""
    labels = _labels(document)
    rows = []
    for item in document["differ"]:
        drives: dict[str, list[str]] = {}
        for one in item["values"]:
            drives.setdefault(one["text"], []).append(labels[one["run"]])
        rows += [[item["title"], text, "; ".join(names)] for text, names in drives.items()]
    return Table(rows, ("Condition", "Value", "Drives"), texts=frozenset({0, 1, 2}))


def _results(document: Json) -> Iterator[Iterator[Part]]:
    """The bars of each unit, or why there are none."""
    groups = list(ranking.groups(document["results"]))
    if not groups:
        yield _no_result(document)
    for unit, results in groups:
        yield _bars(unit, results)


def _no_result(document: Json) -> Iterator[Part]:
    yield Heading("Results")
    yield Text("No result is in more than one of these runs: their tests differ, or they ended "
               "before their first result." if len(document["runs"]) > 1
               else "This run ended before its first result.")  # fmt: skip


def _bars(unit: str, results: Sequence[ranking.Ranked]) -> Iterator[Part]:
    yield Heading(f"Results in {_UNITS.get(unit, unit)}")
    for item in results:
        yield _ranks(item)


def ranks_of(document: Json) -> list[Ranks]:
    """The bars of each result, in the order of the document's `results`."""
    return [_ranks(ranking.ranked(result, at)) for at, result in enumerate(document["results"], 1)]


def _ranks(item: ranking.Ranked) -> Ranks:
    result = item.result
    name, unit = str(result["name"]), str(result["unit"])
    # Values in us are shown with their unit, µs or ms.
    has_unit = unit == "us" or name.endswith(f" {unit}")
    return Ranks(
        title=name if has_unit else f"{name}, {unit}",
        hint=_HINTS.get(result["better"], "not ranked"),
        bars=[
            Bar(
                place="–" if bar.row["rank"] is None else str(bar.row["rank"]),
                name=_name(bar.row),
                tail=str(bar.row["label"]).removeprefix(_name(bar.row)),
                value=ranking.value_text(bar.row["value"], unit) if bar.counts else "–",
                detail=_describe_row(bar.row, unit),
                length=bar.width,
                low=bar.low,
                high=bar.high,
                look=bar.look,
            )
            for bar in item.bars
        ],
    )


def _describe_row(row: Json, unit: str) -> str:
    """The text next to a bar: the spread, and why a result does not count."""
    if row["state"] == "reference":
        return f"{row['reason']}: {row['source']}"
    if row["state"] == "missing":
        return str(row["reason"])
    state = "" if row["state"] == "valid" else str(row["state"])
    parts = (state, ranking.spread_text(row, unit), str(row["reason"] or ""))
    return " · ".join(part for part in parts if part)


def _claims(document: Json) -> Iterator[Part]:
    labels = _labels(document)
    if document["models"]:
        yield Heading("Spec vs. measured")
    for item in document["models"]:
        title = f"{labels[item['run']]}: spec sheet {item['sheet']['name']}"
        facts = [[name, text] for name, text in sheet_facts(item["sheet"], item["price_per_gb"])]
        if facts:
            yield Table(facts, title=title)
        if item["claims"]:
            yield Table(
                [
                    [claim["result"], exact(claim["claimed"]), exact(claim["measured"]),
                     claim["unit"], claimed_share(claim)]
                    for claim in item["claims"]
                ],
                ("Result", "Claimed", "Measured", "Unit", "% of spec"),
                title=f"Specifications: {labels[item['run']]}" if facts else title,
            )  # fmt: skip


def charts_of(document: Json) -> list[Chart]:
    """The overlaid charts, each line in the colour of its run."""
    looks, marked = ranking.looks_of(document["runs"]), document["under_test"]
    overlays = []
    for drawing in charts.list_charts({"charts": document["charts"]}):
        lines = [
            {**line, "name": f"{line['name']}{UNDER_TEST if line['run'] == marked else ''}"}
            for line in drawing.chart["series"]
        ]
        colours = [looks[line["run"]] for line in lines]
        overlays.append(Chart(drawing.chart, lines, colours, drawing.description, drawing.notes))
    return overlays


def _charts(document: Json) -> Iterator[Part]:
    overlays = charts_of(document)
    if overlays:
        yield Heading("Charts")
    yield from overlays


def _all_results(document: Json) -> Iterator[Part]:
    """Every result with all its digits, to compare with those of the JSON."""
    if not document["results"]:
        return
    yield Heading("All results")
    yield Table(
        [
            [result["name"], result["unit"], "–" if row["rank"] is None else str(row["rank"]),
             _marked(row), exact(row["value"]), exact(row["min"]), exact(row["max"]),
             f"{len(row['passes'])} of {row['passes_all']}" if row["passes_all"] else "–",
             _state(row)]
            for result in document["results"] for row in result["rows"]
        ],
        ("Result", "Unit", "Rank", "Drive", "Value", "Lowest", "Highest", "Passes", "State"),
        texts=frozenset({0, 1, 3, 8}),
    )  # fmt: skip


def _state(row: Json) -> str:
    if row["state"] == "reference":
        return f"{row['reason']}: {row['source']}"
    return f"{row['state']}: {row['reason']}" if row["reason"] else str(row["state"])


def _apart(document: Json) -> Iterator[Part]:
    if not document["apart"]:
        return
    yield Heading("Results that only one of the runs has")
    for number, label in _labels(document).items():
        results = [
            f"{item['name']} ({item['unit']})"
            for item in document["apart"]
            if item["run"] == number
        ]
        if results:
            yield Text(f"{label}: {', '.join(results)}")


def _foot(bench: str) -> str:
    parts = [f"Benchstick {__version__}", *([f"bench {bench}"] if bench else [])]
    return (
        " · ".join(parts)
        + ". MB/s is 10^6 bytes a second, GB is 10^9 bytes. Times are UTC. Lowest "
        "and highest are those of the valid passes."
    )
