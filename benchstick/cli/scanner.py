"""`benchstick scanner`: which devices a barcode scanner could be, and what it reads."""

from __future__ import annotations

import json
import sys
import time

import click

from benchstick.agent.barcode import scanner as scanners
from benchstick.agent.barcode.keymaps import LAYOUTS
from benchstick.cli.common import print_line
from benchstick.engine.signals import cancel_on_signals
from benchstick.errors import BadInput
from benchstick.paths import settings_file
from benchstick.store import settings

SCHEMA = "benchstick/scanner/1"
SCAN_SCHEMA = "benchstick/scan/1"


@click.command()
@click.argument("device", required=False)
@click.option("--layout", type=click.Choice(list(LAYOUTS)), help="the keyboard that it emulates")
@click.option("--json", "as_json", is_flag=True, help="one JSON document, or one a scan")
def scanner(device: str | None, layout: str | None, as_json: bool) -> int:
    """List the keyboards that are plugged in, or print what DEVICE scans until Ctrl-C.

    DEVICE is a vendor and product id (0c2e:0b61) or a pattern of the name ("Honeywell*"), as in the
    setting `scanner`. While the bench reads it, it does not act as a keyboard.
    """
    config = settings.load(settings_file())
    if device is None:
        _list(config.scanner, as_json)
        return 0
    try:
        selector = settings.check_scanner(device)
    except ValueError as error:
        raise BadInput(f"DEVICE: {error}") from None
    if not selector:
        raise BadInput('DEVICE: an id or a name is needed, as 0c2e:0b61 or "Honeywell*"')
    _read(selector, layout or config.scanner_layout, as_json)
    return 0


def _list(selector: str, as_json: bool) -> None:
    if not scanners.is_installed():
        print(scanners.NEEDS_EXTRA, file=sys.stderr)
    devices = scanners.keyboards()
    scanner_nodes = {device.node for device in devices if selector and device.matches(selector)}
    if as_json:
        rows = [{**item.to_json(), "scanner": item.node in scanner_nodes} for item in devices]
        sys.stdout.write(json.dumps({"schema": SCHEMA, "keyboards": rows}) + "\n")
        return
    for item in devices:
        mark = "  the scanner of the settings" if item.node in scanner_nodes else ""
        print_line(f"{item.id}  {item.name}  {item.node}{mark}")
    if not devices:
        print("no keyboard and no scanner is plugged in", file=sys.stderr)


def _read(selector: str, layout: str, as_json: bool) -> None:
    if not scanners.is_installed():
        raise BadInput(scanners.NEEDS_EXTRA)
    device = scanners.the_one(selector)
    try:
        device_grab = scanners.Grabbed(device, layout)
    except OSError as error:
        # EBUSY: the bench's agent has it, or another program.
        raise BadInput(f"{device.node} ({device.name}): {error.strerror}") from None
    print_line(f"reading {device.name} ({device.id}), layout {layout}", file=sys.stderr, flush=True)
    with cancel_on_signals() as stop:
        try:
            while not stop.is_set():
                for text in device_grab.read(0.25):
                    _print(scanners.Scan(text, time.time()), as_json)
        except OSError as error:
            raise BadInput(f"{device.name}: {error.strerror}: was it pulled out?") from None
        finally:
            device_grab.close()


def _print(scan: scanners.Scan, as_json: bool) -> None:
    if as_json:
        document = {"schema": SCAN_SCHEMA, "text": scan.text, "at": scan.at}
        sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
    else:
        print_line(scan.text)
    sys.stdout.flush()
