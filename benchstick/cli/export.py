"""`benchstick export N --format FORMAT [--output FILE]`."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchstick.analysis.run_timeline import Session, session, timed_steps
from benchstick.cli.common import reader
from benchstick.errors import BadInput
from benchstick.paths import data_folder
from benchstick.store import export as files
from benchstick.store import run_queries, run_reader
from benchstick.suites.erase_certificate import certificate

FORMATS = ("json", "csv", "html", "pdf", "svg", "bundle", "certificate", "certificate-text")
# Not for a terminal.
_BINARY = frozenset({"pdf", "bundle"})


@click.command()
@click.argument("number", type=int, metavar="N")
@click.option("--format", "form", type=click.Choice(FORMATS), default="json")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE",
              help="write there instead of to stdout; of svg a folder")  # fmt: skip
@click.option("--artifacts", "--artefacts", "artifacts", is_flag=True,
              help="include the steps' raw output files in the bundle")  # fmt: skip
def export(number: int, form: str, output: Path | None, artifacts: bool) -> None:
    """Write run N to stdout or to FILE: json (everything, with samples), csv (its results), a
    report as html or pdf, each chart as svg, a bundle that another bench imports, or of an erase
    its certificate, as JSON or as plain text."""
    if artifacts and form != "bundle":
        raise BadInput("export: --artifacts needs --format bundle", field="artifacts")
    check_place("export", form, output)
    with reader() as db:
        if form == "bundle":
            put(_bundle(db, number, artifacts), output, is_text=False)
            return
        document = files.bundle(db, number)
        results = run_reader.results_of(db, number)
        bench = run_queries.bench_id(db)
    if form == "csv":
        put(encoded(files.results_csv(document, results)), output)
        return
    if form == "svg":
        assert output is not None
        _charts(document, output)
        return
    put(_build_file(document, form, bench), output, is_text=form not in _BINARY)


def check_place(command: str, form: str, output: Path | None) -> None:
    """BadInput when a file of this format cannot be written to this place."""
    if output is None and form == "svg":
        raise BadInput(f"{command}: svg needs --output FOLDER, one file a chart", field="output")
    if output is None and form in _BINARY and sys.stdout.isatty():
        raise BadInput(f"{command}: {form} is not text; add --output FILE", field="output")


def put(data: bytes, output: Path | None, *, is_text: bool = True) -> None:
    """To the file, or to stdout where there is none, which may be a terminal. BadInput."""
    if output is None and is_text:
        sys.stdout.write(data.decode("utf-8"))
        sys.stdout.flush()
    elif output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        write_file(output, data)


def _bundle(db: sqlite3.Connection, number: int, artifacts: bool) -> bytes:
    from benchstick.reports import bundle

    file = io.BytesIO()
    bundle.write(db, number, file, data_folder() if artifacts else None)
    return file.getvalue()


def encoded(text: str) -> bytes:
    r"""The bytes of a file. Halves of surrogate pairs, which JSON may bring, become `\udc80`."""
    return text.encode("utf-8", "backslashreplace")


def _build_file(document: Mapping[str, Any], form: str, bench: str) -> bytes:
    """The file of a run's document in this format."""
    if form == "certificate-text":
        return encoded(str(certificate(document)["text"]))
    if form in ("html", "pdf"):
        return _report(document, form, bench)
    content = certificate(document) if form == "certificate" else document
    return encoded(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _session(document: Mapping[str, Any]) -> Session:
    return session(document["samples"], timed_steps(document["plan"]))


def _report(document: Mapping[str, Any], form: str, bench: str) -> bytes:
    # On use: other commands need no reports.
    from benchstick.reports import html, pdf, run_report

    report = run_report.of_run(document, _session(document), bench)
    return encoded(html.page(report)) if form == "html" else pdf.document(report)


def _charts(document: Mapping[str, Any], folder: Path) -> None:
    from benchstick.reports import run_report
    from benchstick.reports.svg import standalone

    charts = run_report.charts_of(document, _session(document))
    if not charts:
        raise BadInput(f"export: run {document['number']} has no chart", field="format")
    put_drawings(folder, {
        f"benchstick-run-{document['number']}-chart-{at}.svg": standalone(
            chart, run_report.file_title(document, chart.title)
        )
        for at, chart in enumerate(charts, 1)
    })  # fmt: skip


def put_drawings(folder: Path, drawings: Mapping[str, str]) -> None:
    """Each drawing as a file of its name in the folder; their paths are printed. BadInput."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}", field="output") from None
    for name, text in drawings.items():
        write_file(folder / name, encoded(text))
        print(folder / name)


def write_file(path: Path, data: bytes) -> None:
    """Replace the file at `path` by `data`, whole or not at all. BadInput."""
    fresh = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name[:100]}.", delete=False
        ) as file:
            fresh = Path(file.name)
            file.write(data)
        # The mode of a new file: NamedTemporaryFile makes it readable for its owner alone.
        mask = os.umask(0)
        os.umask(mask)
        fresh.chmod(0o666 & ~mask)
        fresh.replace(path)
    except OSError as error:
        if fresh is not None:
            fresh.unlink(missing_ok=True)
        text = f"{path}: {error.strerror}; choose another --output"
        raise BadInput(text, field="output") from None
