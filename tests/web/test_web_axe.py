"""axe-core finds nothing to complain of on any page, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect

from tests.web import every_page
from tests.web.conftest import Bench
from webui.auth.pin import LoginKey

AXE = Path(__file__).resolve().parents[2] / ".cache/npm/node_modules/axe-core/axe.min.js"
LOOK = """async (rules) => {
  const found = await axe.run(document, { resultTypes: ["violations"], ...rules });
  return found.violations.flatMap((rule) => rule.nodes.map(
    (node) => `${rule.id}: ${rule.help}: ${node.html.slice(0, 160)} ${node.failureSummary}`));
}"""
# Pages of the same making as others, which would only take time.
LIKE_OTHERS = ("run-cdm", "run-practice", "run-lost", "run-sweep", "drive-protected", "charts")
# In the dark only the colours differ, and on a phone only what has to be scrolled.
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
SCROLLED = {"runOnly": ["scrollable-region-focusable", "meta-viewport"]}


def complaints(page: Page, rules: dict[str, Any] | None = None) -> list[str]:
    problems: list[str] = page.evaluate(LOOK, rules or {})
    return problems


@pytest.fixture
def page(chromium: Chromium) -> Iterator[Page]:
    """A page with axe in it."""
    assert AXE.exists(), f"{AXE} is missing; run: scripts/setup test"
    context = chromium.new_context()
    context.add_init_script(path=AXE)
    yield context.new_page()
    context.close()


def test_axe_has_no_complaint(page: Page, base: str, bench: Bench, key: LoginKey) -> None:
    every_page.add_to(bench.home, bench.numbers)
    page.goto(f"{base}/login?key={key.current}")
    problems = []
    for name, path in every_page.paths(bench.numbers).items():
        if name in LIKE_OTHERS:
            continue
        page.set_viewport_size({"width": 1240, "height": 900})
        page.emulate_media(color_scheme="light")
        page.goto(base + path)
        for chart in page.locator("#chart").all():
            expect(chart.locator("canvas")).to_be_visible()
        messages = complaints(page)
        page.emulate_media(color_scheme="dark")
        messages += complaints(page, COLOURS)
        page.set_viewport_size({"width": 400, "height": 900})
        messages += complaints(page, SCROLLED)
        problems += [f"{path}: {one}" for one in messages]
    assert problems == []


def test_axe_complains_of_what_is_wrong(page: Page, base: str) -> None:
    page.goto(f"{base}/drives")
    wrong = "<img src=x><p id=p>words</p>"
    page.evaluate(f"document.querySelector('main').insertAdjacentHTML('beforeend', '{wrong}')")
    page.evaluate("document.getElementById('p').style.color = '#6b6b6b'")
    messages = complaints(page)
    assert any(one.startswith("image-alt") for one in messages)
    assert not any(one.startswith("color-contrast") for one in messages)
    page.emulate_media(color_scheme="dark")
    assert any(one.startswith("color-contrast") for one in complaints(page, COLOURS))
