"""No page is wider than its screen, everything on it opened."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect

from benchstick.store.database import open_writer
from tests.web import every_page, sample
from tests.web.browser_tab import BrowserTab
from tests.web.conftest import Bench
from webui.auth.pin import LoginKey

# 320 is 1280 at the zoom of 400 % that WCAG 2.2, 1.4.10 asks for, 640 the same at 200 %.
SIZES = ((320, 640), (640, 400), (1240, 900))
OPEN = "for (const node of document.querySelectorAll('details')) node.open = true"
# Charts take a new width in the next frame.
NEXT_FRAME = "() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))"
# Words and what can be focused that are not whole between the screen's edges where nothing around
# them scrolls; and how much wider than the screen the page is.
OUTSIDE = r"""() => {
  const wide = document.documentElement.clientWidth;
  const around = new Map([[document.body, { scrolls: false, left: -Infinity, right: Infinity }]]);
  // What an element that hides its overflow cuts off is not seen outside it.
  const inside = (node) => {
    if (!around.has(node)) {
      const { overflowX } = getComputedStyle(node);
      let { scrolls, left, right } = inside(node.parentElement);
      if (/auto|scroll/.test(overflowX)) scrolls = true;
      if (/hidden|clip/.test(overflowX)) {
        const box = node.getBoundingClientRect();
        [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      }
      around.set(node, { scrolls, left, right });
    }
    return around.get(node);
  };
  const found = [];
  const look = (node, box, said) => {
    const { scrolls, left, right } = inside(node);
    if (scrolls || !box.width || !box.height) return;
    const [from, to] = [Math.max(left, box.left), Math.min(right, box.right)];
    if (from >= -0.5 && to <= wide + 0.5) return;
    found.push(`${said}: ${from.toFixed(1)} to ${to.toFixed(1)}`);
  };
  const unseen = ".sr, .skip, noscript, option";
  const focused = "a, button, input, select, textarea, summary, [tabindex]";
  const words = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.data.trim() || text.parentElement.closest(unseen)) continue;
    words.selectNodeContents(text);
    look(text.parentElement, words.getBoundingClientRect(), text.data.trim().slice(0, 40));
  }
  for (const node of document.querySelectorAll(focused)) {
    if (node.closest(unseen)) continue;
    look(node.parentElement, node.getBoundingClientRect(), node.outerHTML.slice(0, 60));
  }
  const over = document.documentElement.scrollWidth - wide;
  if (over > 0) found.push(`the page is ${over} px too wide`);
  return found;
}"""


@pytest.fixture
def tab(chromium: Chromium, base: str, bench: Bench, key: LoginKey) -> Iterator[BrowserTab]:
    """A signed-in page."""
    context = chromium.new_context()
    tab = BrowserTab(context.new_page(), base)
    tab.go(f"/login?key={key.current}")
    yield tab
    context.close()
    assert tab.problems == []


def outside(page: Page) -> list[str]:
    """What is not between the edges of each screen, all details opened and all charts drawn."""
    page.evaluate(OPEN)
    expect(page.locator(".chart:not(:has(canvas))")).to_have_count(0)
    problems = []
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(NEXT_FRAME)
        problems += [f"{width}: {one}" for one in page.evaluate(OUTSIDE)]
    return problems


def test_no_page_is_wider_than_the_screen(tab: BrowserTab, bench: Bench) -> None:
    every_page.add_to(bench.home, bench.numbers)
    problems = []
    for name, path in every_page.paths(bench.numbers).items():
        problems += [f"{name}, {one}" for one in outside(tab.go(path))]
    assert problems == []


def test_what_lies_outside_is_found(tab: BrowserTab) -> None:
    """At both edges, words and fields; not what scrolls, nor what is cut off."""
    page = tab.go("/licences")
    assert outside(page) == []
    wrong = """<p id=left>left of it</p><details><input id=field></details>
      <div id=box><p>in a box</p></div><div id=cut><p>cut off</p></div>"""
    page.locator("main").evaluate(
        """(main, wrong) => {
          main.insertAdjacentHTML("beforeend", wrong);
          const look = (of) => main.querySelector(of).style;
          look("#left").marginLeft = "-40px";
          look("#field").width = "700px";
          look("#box").overflow = "auto";
          look("#cut").overflow = "hidden";
          for (const of of ["#box p", "#cut p"]) look(of).width = "2000px";
          for (const of of ["#box p", "#cut p"]) look(of).textAlign = "right";
        }""",
        wrong,
    )
    names = [one.partition(" style")[0].partition(": -")[0] for one in outside(page)]
    text, field = "left of it", '<input id="field"'
    assert names == [
        f"320: {text}", f"320: {field}", "320: the page is 396 px too wide",
        f"640: {text}", f"640: {field}", "640: the page is 76 px too wide",
    ]  # fmt: skip


def heights(page: Page) -> list[int]:
    """How high the page is on each screen."""
    heights = []
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(NEXT_FRAME)
        heights.append(page.evaluate("document.documentElement.scrollHeight"))
    return heights


@pytest.mark.parametrize("name", ["N" * 10_000, "long name " * 1000])
def test_a_long_name_takes_a_few_lines_of_a_list(tab: BrowserTab, bench: Bench, name: str) -> None:
    """As a run of another bench may bring it; that run's own page has the whole name."""
    lists = ("/runs", "/comparisons?suite=cdm")
    before = [heights(tab.go(path)) for path in lists]
    numbers = []
    with contextlib.closing(open_writer(bench.home)) as db:
        for _ in range(2):
            drive = sample.fast()
            drive = replace(drive, identity=replace(drive.identity, model=name, serial=name[:9000]))
            story = sample.start(bench.home, db, "cdm", drive, fs="exfat")
            story.tell()
            numbers.append(story.finish())
    for path, were in zip(lists, before, strict=True):
        added_heights = [now - was for now, was in zip(heights(tab.go(path)), were, strict=True)]
        assert max(added_heights) < 2 * 500, path
        assert outside(tab.page) == [], path
    # The comparison has many results, with both names in each.
    page = tab.go(f"/compare?runs={numbers[0]},{numbers[1]}")
    assert outside(page) == []
    assert max(heights(page)) < 16_000
    assert name.strip() in tab.go(f"/runs/{numbers[0]}").locator("h1").inner_text()
