"""The page of a bench with real drivers, from a browser outside: PIN, drive, run, result.

Screenshots of each stage go to .cache/results, for people to look at.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
from collections.abc import Iterator

from playwright.sync_api import Page, expect, sync_playwright

from tests.web.browser_tab import ARGS, CHROMIUM, BrowserTab

from .conftest import CLONE, LiveVm, StartVm, once_more_when_lost

# The agent needs a moment for its first look at six drives.
COMMAND = """
benchstick agent & agent=$!
benchstick web --listen 0.0.0.0 & web=$!
wait $agent $web
"""
SLOW = 120_000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pin_of(vm: LiveVm) -> str:
    match = re.search(rb"PIN (\d{3} \d{3})", vm.wait_line(b"PIN "))
    assert match is not None
    return match[1].decode()


@contextlib.contextmanager
def visitor(port: int) -> Iterator[BrowserTab]:
    """A browser that has not been here; the test fails when the page had an error."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which(CHROMIUM), args=ARGS)
        context = browser.new_context(viewport={"width": 1240, "height": 900})
        context.set_default_timeout(SLOW)
        tab = BrowserTab(context.new_page(), f"http://127.0.0.1:{port}")
        yield tab
        browser.close()
        assert tab.problems == []


def picture(page: Page, name: str) -> None:
    folder = CLONE / ".cache/results"
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"page-{name}.png", full_page=True)


def test_a_usb_drive_is_tested_from_a_laptop(live_vm: StartVm) -> None:
    expect.set_options(timeout=SLOW)

    def from_outside() -> None:
        port = free_port()
        vm = live_vm(COMMAND, BENCHSTICK_VM_PORT=str(port))
        pin = pin_of(vm)
        with vm.lost_in(), visitor(port) as tab:
            use(tab, pin)

    once_more_when_lost(from_outside)


def use(tab: BrowserTab, pin: str) -> None:
    # Without the PIN nothing is shown.
    page = tab.go("/drives")
    expect(page.get_by_label("PIN")).to_be_visible()
    assert "BSUAS0001" not in page.content()
    page.get_by_label("PIN").fill("000000" if pin != "000 000" else "000001")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("PIN").fill(pin)
    page.get_by_role("button", name="Sign in").click()
    cards = page.get_by_role("article")
    expect(cards.filter(has_text="BSUAS0001")).to_contain_text("UASP")
    expect(cards.filter(has_text="BSBOT0001")).to_contain_text("BOT")
    expect(cards.filter(has_text="BSPCEXT4")).to_contain_text("protected")
    expect(cards.filter(has_text="BSSATA0001")).to_contain_text("locked")
    picture(page, "drives")
    tab.go("/drives/BSNVME0001")
    expect(page.locator("main")).to_contain_text("49.85 °C")
    picture(page, "drive")
    tab.go("/runs/new?drive=BSUAS0001&suite=das")
    page.get_by_label("Scale").fill("0.0005")
    page.get_by_label("Passes").fill("1")
    page.get_by_label("Sets", exact=True).fill("Home,ISOs")
    page.get_by_label("Idle", exact=True).fill("1")
    page.get_by_label("Type the drive's code to confirm").fill("BSUAS0001")
    picture(page, "new-run")
    page.get_by_role("button", name="Erase and start").click()
    expect(page).to_have_url(re.compile(r"/runs/\d+$"))
    expect(page.locator("#chart canvas")).to_be_visible()
    picture(page, "live")
    expect(page.locator(".tag", has_text="done").first).to_be_visible(timeout=900_000)
    expect(page.locator("main")).to_contain_text("file on exfat")
    expect(page.locator("#chart canvas")).to_be_visible()
    picture(page, "result")
