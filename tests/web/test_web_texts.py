"""The texts of the pages: values are escaped in them, markup is not, and plurals are right."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from benchstick.reports import conditions, formatting
from benchstick.store.agent_requests import add_request
from benchstick.store.database import open_writer
from tests.web import every_page, sample
from tests.web.conftest import Bench, Browser, SignedIn, browser
from tests.web.test_web_pages import words
from webui.server.app import create_app

# Signs of a template, of a format string, and of markup or an entity that was escaped twice.
ODD = re.compile(
    r"\{\{|\{%|%\(\w+\)|\b_\(|%%|&amp;(amp|lt|gt|quot|#\d+);"
    r"|&lt;/?(a|b|bdi|button|code|i|p|span|sup|time)[ &]"
)
# Of these the text is not the page's own.
FOREIGN = re.compile(r'<(pre|textarea)\b.*?</\1>|<div class="doc">.*?</article>', re.DOTALL)
RECIPE = every_page.OWN_RECIPE


def test_no_page_shows_a_sign_of_a_template_or_markup_that_was_escaped(
    bench: Bench, client: Browser, signed_in: SignedIn
) -> None:
    every_page.add_to(bench.home, bench.numbers)
    for name, path in every_page.paths(bench.numbers).items():
        for visitor in (client, signed_in.client):
            html = FOREIGN.sub("", visitor.get(path).text)
            assert "</html>" in html, name
            assert ODD.findall(html) == [], name


@pytest.mark.parametrize(
    "text",
    ["<p>%(number)s</p>", "<p>{{ count }}</p>", "<p>5 %% of it</p>", "&lt;b&gt;1&lt;/b&gt;",
     "the bench&amp;#39;s clock"],
)  # fmt: skip
def test_such_a_sign_is_found(text: str) -> None:
    assert ODD.search(text)


def test_values_in_a_text_are_escaped_once_and_shown_as_they_are(
    bench: Bench, client: Browser
) -> None:
    label = "Reset zoom %(number)s 5 % {{ count }} <b>"
    drive = sample.fast().to_json()
    with contextlib.closing(open_writer(bench.home)) as db:
        db.execute("INSERT OR REPLACE INTO labels VALUES (?, ?, ?)",
                   (drive["identity"]["drive_key"], label, "2026-01-01T00:00:00Z"))  # fmt: skip
    escaped = "Reset zoom %(number)s 5 % {{ count }} &lt;b&gt;"
    assert escaped in client.get("/drives").text
    # Inside a sentence of the template, and in one of Python.
    code = drive["code"]
    assert f"Test <bdi>{escaped}</bdi> with a recipe" in (
        client.get(f"/desk/new?drive={code}&recipe=full-review").text
    )
    wrong = client.get("/suites/<b>%(name)s")
    assert "Suite &#39;&lt;b&gt;%(name)s&#39;: there are " in wrong.text


@pytest.mark.parametrize(
    ("recorded", "text"),
    [("corrupt", "data corrupt"), ("here", "not tested"), ("taken_out", "removed"),
     ("asset", "asset tag"), ("running", "running"), (None, "None")],
)  # fmt: skip
def test_recorded_states_are_shown_in_words(app: Flask, recorded: Any, text: str) -> None:
    assert formatting.word(recorded) == text
    assert app.jinja_env.from_string("{{ state|word }}").render(state=recorded) == text


# ---- one and many


def test_one_run_and_many(bench: Bench, client: Browser) -> None:
    counts = re.findall(r"(\d+) (runs?)\b", words(client.get("/drives").text))
    assert {noun for _count, noun in counts} == {"run", "runs"}
    assert all((count == "1") == (noun == "run") for count, noun in counts)
    numbers = bench.numbers["cdm"], bench.numbers["slow"]
    one, two = (client.get(f"/compare?runs={runs}").text
                for runs in (numbers[0], f"{numbers[0]},{numbers[1]}"))  # fmt: skip
    assert "<h1>CrystalDiskMark-style, one run</h1>" in one
    assert "<h1>CrystalDiskMark-style, 2 runs compared</h1>" in two


def test_one_pass_and_many(app: Flask) -> None:
    source = app.jinja_env.get_template("_grid.html")
    context: dict[str, Any] = {"run": {"results": []}, "grid": [], "mixed": False}
    for passes, text in (([1], "best of 1 pass, raw"), ([1, 2], "best of 2 passes, raw")):
        html = source.render(plan={"target": "raw"}, passes=passes, **context)
        assert text in words(html)
    result = {"unit": "MB/s", "pass": 1, "state": "valid", "name": "x"}
    for count, text in ((1, "the pass was checked against the drive"),
                        (3, "all 3 passes were checked against the drive")):  # fmt: skip
        row = conditions._counters({"results": [result] * count})
        assert row is not None
        assert row.text == text


def test_one_request_and_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHSTICK_RUN", str(tmp_path / "run"))
    with contextlib.closing(open_writer(tmp_path / "home")) as db:
        client = browser(create_app(tmp_path / "home"))
        for text in ("1 request waits for the agent: no. ", "2 requests wait for the agent: no. "):
            add_request(db, "run", {"drive": "practice", "suite": "cdm", "params": {}})
            assert text in words(client.get("/runs").text)


def test_one_error_of_a_recipe_and_many(signed_in: SignedIn) -> None:
    for wrong, text in (
        ("retries = 9\n", "One error. Nothing was saved."),
        ("retries = 9\nspeed = 1\n", "2 errors. Nothing was saved."),
    ):
        page = signed_in.post("/recipes", {"name": "mine", "text": wrong + RECIPE})
        assert text in words(page.text)
