"""`make screenshots`: a picture of every page, light and dark, wide and on a phone.

    scripts/screenshots.py [NAME ...]

The pages are those of the tests' sample bench, with invented drives and runs, in Debian's Chromium.
They go to output/screenshots/NAME-light-wide.png and so on; with names only those pages are made.
Exit codes: 0 made, 2 bad input or no Chromium.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CLONE))

from flask import Flask  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from benchstick.store import locks  # noqa: E402
from tests.web import every_page, sample  # noqa: E402
from tests.web.browser_tab import ARGS, CHROMIUM  # noqa: E402
from tests.web.conftest import serve  # noqa: E402
from webui.auth.pin import LoginKey  # noqa: E402
from webui.server.app import create_app  # noqa: E402

OUT = CLONE / "output/screenshots"
WIDTHS = {"wide": 1240, "phone": 400}
SCHEMES = ("light", "dark")


def main(names: Sequence[str]) -> int:
    chromium = shutil.which(CHROMIUM)
    if chromium is None:
        print(f"screenshots: no {CHROMIUM}; run: make screenshots", file=sys.stderr)
        return 2
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="benchstick-screenshots-") as folder:
        os.environ["BENCHSTICK_HOME"] = f"{folder}/home"
        os.environ["BENCHSTICK_RUN"] = f"{folder}/run"
        home = Path(folder) / "home"
        numbers = sample.full_bench(home)
        agent = locks.RunLock("agent")
        try:
            every_page.add_to(home, numbers)
            paths = every_page.paths(numbers)
            unknown = [name for name in names if name not in paths]
            if unknown:
                print(f"screenshots: {', '.join(unknown)}: no such page; there are "
                      f"{', '.join(paths)}", file=sys.stderr)  # fmt: skip
                return 2
            page_paths = {name: paths[name] for name in names or paths}
            key = LoginKey()
            count = take(create_app(home, key=key), key, page_paths, chromium)
        finally:
            agent.release()
            numbers["lock"].release()
    print(f"screenshots: {count} pictures in {OUT.relative_to(CLONE)}")
    return 0


def take(app: Flask, key: LoginKey, paths: Mapping[str, str], chromium: str) -> int:
    """Take all pictures; how many there are."""
    OUT.mkdir(parents=True, exist_ok=True)
    count = 0
    with serve(app) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        for width in WIDTHS:
            page = _page(browser, width)
            page.goto(f"{base}/login?key={key.current}")
            for name, path in paths.items():
                page.goto(base + path, wait_until="networkidle")
                for scheme in SCHEMES:
                    _picture(page, OUT / f"{name}-{scheme}-{width}.png", scheme)
                    count += 1
            page.context.close()
        browser.close()
    return count


def _page(browser: Browser, width: str) -> Page:
    size = {"width": WIDTHS[width], "height": 900 if width == "wide" else 800}
    return browser.new_context(viewport=size).new_page()  # type: ignore[arg-type]


def _picture(page: Page, file: Path, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    # Charts are drawn again in the other colours, in the next frames.
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go, 60)))")
    page.screenshot(path=file, full_page=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
