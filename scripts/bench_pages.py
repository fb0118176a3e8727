"""The pages' part of `make bench`: how long each takes on a small store and on a large one.

Every GET address of the page and of its API, asked through the Flask app in this process, no
network between; warmed once, the median of five. The small store is the tests' sample bench; the
large one has 10 000 runs more, and one of 24 hours at a sample a second (bench_store.py). `ratio`
is the same address on the large store against the small one: what the store's size costs. The
run of 24 hours is compared with one of 20 minutes.

Claim: on the large store each page and each answer of the API comes within 100 ms. Whole records to
take away (exports, bundles, reports) are timed too but not held to it. Exit code 1 when missed.

Then each page of the large store is opened in Chromium: from the click until all its charts are
drawn with all that they get, the server's time included. Claim: within 1 s. The output also lists
the points of each chart.
"""

from __future__ import annotations

import logging
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CLONE))

import bench_store  # noqa: E402
from flask import Flask  # noqa: E402
from playwright.sync_api import Page, sync_playwright  # noqa: E402
from werkzeug.exceptions import HTTPException  # noqa: E402

from benchstick.errors import BenchError  # noqa: E402
from benchstick.store import locks  # noqa: E402
from tests.web import every_page  # noqa: E402
from tests.web.conftest import served  # noqa: E402
from tests.web.watched import ARGS, CHROMIUM  # noqa: E402
from webui.auth.pin import LoginKey  # noqa: E402
from webui.server.app import create_app  # noqa: E402
from webui.server.serve import settle  # noqa: E402

MOST_MS = 100.0
MOST_DRAWN_MS = 1000.0
TIMES = 5
# Of `every_page`: a wrong request is refused before much is read.
_ERRORS = ("start-wrong", "not-here")
# Files of the page itself, and what only a booted stick has.
_LEFT_OUT = ("static", "api.api_appliance")
# Ends of addresses whose answer is a file to take away, as long as what it holds.
_FILES = ("/export", "/bundle", "/report.html", "/report.pdf")


@dataclass(frozen=True)
class Timed:
    """An address on the large store: median milliseconds there and on the small store, bytes."""

    path: str
    ms: float
    small_ms: float
    size: int

    @property
    def is_file(self) -> bool:
        return self.path.split("?")[0].endswith(_FILES)

    @property
    def missed(self) -> bool:
        return self.ms > MOST_MS and not self.is_file


@dataclass(frozen=True)
class Drawing:
    """A page in the browser: milliseconds until it is drawn, and the points of each chart."""

    path: str
    ms: float
    points: Mapping[str, int]


def addresses(app: Flask, numbers: Mapping[str, Any]) -> list[str]:
    """Every GET address there is on a bench with these runs. BenchError for a rule without one."""
    named = every_page.paths(numbers).items()
    pages = [path for name, path in named if name not in _ERRORS]
    # The page where one chooses a drive has the JSON version of the drives.
    versions = [f"/api/v1{path}" for path in pages if path != "/runs/new"]
    pages += [path for path in versions if _rule_of(app, path)]
    pages += list(_more(numbers))
    page_rules = {_rule_of(app, path) for path in pages}
    rules = {rule.rule: rule for rule in app.url_map.iter_rules() if "GET" in (rule.methods or ())}
    for name, rule in rules.items():
        if name not in page_rules and rule.endpoint not in _LEFT_OUT:
            if rule.arguments:
                raise BenchError(f"{name}: bench_pages.py has no address for it")
            pages.append(name)
    return pages


def _more(numbers: Mapping[str, Any]) -> Iterator[str]:
    """What `every_page` has not: the second page of the list, files of runs, the long run."""
    yield from ("/runs?kind=practice", "/api/v1/runs?limit=500", "/drives/practice",
                "/api/v1/drives/practice", "/api/v1/methods/charts",
                "/methods/decisions/guard", "/api/v1/methods/decisions/guard")  # fmt: skip
    cdm, day = numbers["cdm"], numbers["day"]
    both = f"runs={cdm},{numbers['slow']}"
    for api in ("", "/api/v1"):
        yield f"{api}/runs/{day}"
        for run in (cdm, day):
            yield from (f"{api}/runs/{run}/{name}" for name in (
                "report.html", "report.pdf", "results.csv", "charts/1.svg", "bundle", "export",
                f"charts/{numbers['session']}.svg" if run == day else "charts/1.svg",
                "export?format=csv", "export?format=samples"))  # fmt: skip
        yield f"{api}/compare?runs={day}"
        yield from (f"{api}/compare/{name}?{both}" for name in (
            "report.html", "report.pdf", "results.csv", "ranks/1.svg"))  # fmt: skip
        yield f"{api}/compare/charts/1.svg?runs={day}"
        yield f"{api}/runs/{cdm}/steps/1/command"
    verdict = numbers["verdict-pass"]
    for api in ("", "/api/v1"):
        yield f"{api}/verdicts/{verdict}/export?format=junit"
        yield f"{api}/verdicts/export?format=csv"
    yield f"/api/v1/runs/{cdm}/steps/1"
    yield f"/api/v1/runs/{day}/samples"
    # What the chart of that run asks for, again and again until it has all.
    yield f"/api/v1/runs/{day}/samples?every=72"


def _rule_of(app: Flask, path: str) -> str | None:
    try:
        rule, _ = app.url_map.bind("localhost").match(path.split("?")[0], return_rule=True)
    except HTTPException:
        return None
    return str(rule.rule)


class Visitor:
    """A signed-in browser of the bench in `home`."""

    def __init__(self, home: Path) -> None:
        self.key = LoginKey()
        self.app = create_app(home, key=self.key)
        self.client = self.app.test_client()
        if self.client.post("/api/v1/login", json={"key": self.key.current}).status_code != 200:
            raise BenchError("the page takes no log-in")

    def time(self, path: str) -> tuple[float, int]:
        """Median milliseconds and bytes of an answer. BenchError where it is an error."""
        answer = self.client.get(path)
        if answer.status_code >= 400:
            raise BenchError(f"{path}: answered with {answer.status_code}: {answer.text[:200]}")
        times = []
        for _ in range(TIMES):
            started_at = time.perf_counter()
            size = len(self.client.get(path).data)
            times.append((time.perf_counter() - started_at) * 1000)
        return statistics.median(times), size


# Charts are drawn in the next frame, and what a session's chart gets comes in pieces.
_WHEN_DRAWN = """() => new Promise((done) => {
  const drawn = (box) => box.querySelector("canvas") && (box.id !== "chart" || box.dataset.all);
  const boxes = () => [...document.querySelectorAll(".chart")];
  const label = (box) => [box.ariaLabel.split(/ over |,|:/)[0],
                         (box.session ?? box.lines).plot.data[0].length];
  const look = () => {
    if (document.readyState !== "complete" || !boxes().every(drawn)) setTimeout(look, 2);
    else requestAnimationFrame(() => setTimeout(
      () => done([performance.now(), boxes().map(label)])));
  };
  look();
})"""


def draw(page: Page, base: str, path: str) -> Drawing:
    """Open a page and wait until it is drawn."""
    page.goto(base + path, wait_until="commit")
    ms, points = page.evaluate(_WHEN_DRAWN)
    return Drawing(path, ms, {f"{at + 1}. {name}": n for at, (name, n) in enumerate(points)})


def draw_all(visitor: Visitor, numbers: Mapping[str, Any]) -> list[Drawing]:
    """Each page of the large store as Chromium draws it, the faster of two times. BenchError."""
    chromium = shutil.which(CHROMIUM)
    if chromium is None:
        raise BenchError(f"no {CHROMIUM}; run: scripts/setup test")
    paths = [path for name, path in every_page.paths(numbers).items() if name not in _ERRORS]
    paths.append(f"/runs/{numbers['day']}")
    with served(visitor.app) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        page = browser.new_page()
        page.goto(f"{base}/login?key={visitor.key.current}")
        drawings = [min((draw(page, base, path) for _ in range(2)), key=lambda item: item.ms)
                 for path in paths]  # fmt: skip
        browser.close()
    return drawings


def measure(folder: Path) -> tuple[list[Timed], list[Drawing]]:
    """Make both stores in `folder`, time every address on them, and draw the pages."""
    os.environ["BENCHSTICK_RUN"] = str(folder / "run")
    start = time.monotonic()
    numbers = bench_store.small(folder / "small")
    agent = locks.RunLock("agent")
    try:
        there = bench_store.large(folder / "small", folder / "large", numbers)
        size = sum(file.stat().st_size for file in (folder / "large").glob("store.db*"))
        print(f"pages: {bench_store.RUNS} runs and one of 24 hours, {size / 1e6:.0f} MB, made in "
              f"{time.monotonic() - start:.0f} s; median of {TIMES}", file=sys.stderr)  # fmt: skip
        one, other = Visitor(folder / "small"), Visitor(folder / "large")
        # As the server does before its first answer.
        settle()
        timings = []
        pairs = zip(addresses(one.app, numbers), addresses(other.app, there), strict=True)
        for before, path in dict.fromkeys(pairs):
            small_ms, _ = one.time(before)
            ms, length = other.time(path)
            timings.append(Timed(path, ms, small_ms, length))
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        drawings = draw_all(other, there)
    finally:
        agent.release()
        numbers["lock"].release()
    return timings, drawings


def print_drawings(drawings: list[Drawing]) -> None:
    width = max(len(item.path) for item in drawings)
    print(f"\n{'page in Chromium':<{width}}{'ms':>9}  points of its charts")
    for item in sorted(drawings, key=lambda item: -item.ms):
        counts = ", ".join(f"{name} {count}" for name, count in item.points.items())
        late = "  OVER" if item.ms > MOST_DRAWN_MS else ""
        print(f"{item.path:<{width}}{item.ms:>9.0f}  {counts}{late}")


def print_table(timings: list[Timed]) -> None:
    width = max(len(item.path) for item in timings)
    print(f"\n{'address':<{width}}{'ms':>9}{'small':>9}{'ratio':>8}{'bytes':>10}")
    for item in sorted(timings, key=lambda item: -item.ms):
        remark = ""
        if item.ms > MOST_MS:
            remark = "  over, a file" if item.is_file else "  OVER"
        print(f"{item.path:<{width}}{item.ms:>9.1f}{item.small_ms:>9.1f}"
              f"{item.ms / item.small_ms:>8.2f}{item.size:>10}{remark}")  # fmt: skip


def run() -> int:
    """Time the pages and print the table; 1 when a page takes more than 100 ms."""
    with tempfile.TemporaryDirectory(prefix="benchstick-bench-pages-") as folder:
        timings, drawings = measure(Path(folder))
    print_table(timings)
    print_drawings(drawings)
    pages = [item for item in timings if not item.is_file]
    missed = [item for item in pages if item.missed]
    worst = max(pages, key=lambda item: item.ms)
    files = sum(item.ms > MOST_MS for item in timings if item.is_file)
    print(
        f"\n{'MISSED' if missed else 'ok    '}  {len(missed)} of {len(pages)} pages and answers "
        f"take more than {MOST_MS:.0f} ms with {bench_store.RUNS} runs (claim: none); the slowest "
        f"{worst.ms:.0f} ms: {worst.path}\n"
        f"        of {len(timings) - len(pages)} files of whole records {files} take more"
    )
    late = [item for item in drawings if item.ms > MOST_DRAWN_MS]
    last = max(drawings, key=lambda item: item.ms)
    most = max(count for item in drawings for count in item.points.values())
    print(
        f"{'MISSED' if late else 'ok    '}  {len(late)} of {len(drawings)} pages are drawn later "
        f"than {MOST_DRAWN_MS:.0f} ms (claim: none); the slowest {last.ms:.0f} ms: {last.path}\n"
        f"        a chart has {most} points at most, of a record of {bench_store.DAY} seconds"
    )
    return 1 if missed or late else 0
