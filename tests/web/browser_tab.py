"""A page in Chromium, with what went wrong on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Locator, Page

# Chromium without windows: a fifth faster in tests than `chromium --headless`.
CHROMIUM = "chromium-headless-shell"
ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@dataclass
class BrowserTab:
    """A page, and what went wrong on it: script errors, console errors, requests to elsewhere."""

    page: Page
    base: str
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("console", self._on_console)
        self.page.on("request", self._on_request)

    def _on_console(self, message: Any) -> None:
        # The browser itself reports each answer of 400 and above, which some tests ask for.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.problems.append(f"console: {message.text}")

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.problems.append(f"outside: {request.url}")

    def go(self, path: str) -> Page:
        self.page.goto(self.base + path)
        return self.page


def drag(over: Locator, low: float, high: float) -> None:
    """Over a chart from one share of its width to another."""
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    mouse, y = over.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + low * box["width"], y)
    mouse.down()
    mouse.move(box["x"] + high * box["width"], y, steps=4)
    mouse.up()
