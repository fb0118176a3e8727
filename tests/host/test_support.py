"""The support file after real runs on drives whose serials are known: it holds none of them."""

from __future__ import annotations

import base64
import contextlib
import json
import platform
import re
import sqlite3
from pathlib import Path

from tests.host.bench import QUICK_CDM, Bench

SERIAL = "S6PUNX0T312345A"
BRIDGE = "MSFT30DD56419884"
BLANKS = "WD WX11 A7E9"
WWN, NGUID, MAC = "5002538e40a2b3c1", "00000000000000016479a7471a000123", "00:1a:2b:3c:4d:5e"


def swapped(text: str) -> str:
    return "".join(text[at : at + 2][::-1] for at in range(0, len(text), 2))


def forms(secret: str) -> set[bytes]:
    """A secret in every encoding that a file may have it in."""
    texts = {secret, secret.replace(" ", "_"), secret.replace(" ", ""),
             swapped(secret).strip(), swapped(secret.ljust(20)).strip(),
             swapped(secret.rjust(20)).strip()}  # fmt: skip
    encodings = set()
    for text in texts:
        data = text.encode()
        encodings |= {data, data.hex().encode(), data.hex(" ").encode(), data.hex(":").encode(),
                  text.encode("utf-16-le"), base64.b64encode(data).rstrip(b"=")[:-1]}  # fmt: skip
    return {form.lower() for form in encodings}


def set_serials(home: Path, number: int) -> None:
    """Make the run one on a drive with known serials, whose tools and logs named them."""
    with contextlib.closing(sqlite3.connect(home / "store.db")) as db, db:
        row = db.execute(
            "SELECT drive_json, conditions_json FROM runs WHERE number = ?", (number,)
        ).fetchone()
        drive, conditions = json.loads(row[0]), json.loads(row[1])
        drive["identity"] |= {"serial": SERIAL, "bridge_serial": BRIDGE,
                              "drive_key": f"{SERIAL}|Model X|1000"}  # fmt: skip
        drive |= {"code": SERIAL, "label": "Annas drive",
                  "serial": {"value": SERIAL, "unit": None, "source": "smartctl"},
                  "wwn": {"naa": 5, "oui": 9528, "id": 61234567890},
                  "bridge_serial": {"value": BLANKS, "unit": None, "source": "x"}}  # fmt: skip
        conditions["ran_alongside"] = f"smartd -d {BLANKS}"
        db.execute(
            "UPDATE runs SET drive_key = ?, drive_code = ?, drive_json = ?, conditions_json = ?,"
            " reason = ? WHERE number = ?",
            (f"{SERIAL}|Model X|1000", SERIAL, json.dumps(drive), json.dumps(conditions),
             f"drive {SERIAL} (/dev/sda) went away", number),
        )  # fmt: skip
        texts = (
            f"/dev/disk/by-id/ata-Model_X_{SERIAL}-part1", f"usb-WD_Model_{BLANKS}-0:0",
            f"usb-WD_Model_{BLANKS.replace(' ', '_')}-0:0", SERIAL.lower(),
            swapped(SERIAL.ljust(20)), SERIAL.encode().hex(), SERIAL.encode().hex(" "),
            f"wwn-0x{WWN}", "5 002538 e40a2b3c1", f"nvme-eui.{NGUID}", f"eth0 {MAC}",
            f"of {platform.node()}: /run/media/anna/DISK",
            f"/sys/bus/usb/devices/2-1/serial: {BRIDGE}", "Annas drive is locked",
        )  # fmt: skip
        for text in texts:
            db.execute(
                "INSERT INTO events (run, t, utc, kind, text) VALUES (?, 1, '2026-01-01', 'x', ?)",
                (number, text),
            )


def test_a_support_file_has_no_serial_in_any_encoding(bench: Bench, tmp_path: Path) -> None:
    assert bench.run(*bench.practice("cdm", *QUICK_CDM)).returncode == 0
    number = bench.json("runs", "--practice")["runs"][0]["number"]
    set_serials(bench.home, number)
    secrets = [SERIAL, BRIDGE, BLANKS, WWN, NGUID, MAC, "002538 e40a2b3c1", "61234567890", "anna"]
    # The search sees what is there where serials are kept.
    for options, leaks in ((("--keep-serials",), secrets), ((), [])):
        out = tmp_path / f"support{len(options)}.json"
        assert bench.run("support", "--output", str(out), *options).returncode == 0
        raw = out.read_bytes().lower()
        assert [one for one in secrets if any(form in raw for form in forms(one))] == leaks
        # As a word: the name of a machine may be short.
        name = re.escape(platform.node().lower().encode())
        assert bool(re.search(rb"(?<![0-9a-z])%s(?![0-9a-z])" % name, raw)) == bool(options)
    document = json.loads(out.read_text(encoding="utf-8"))
    run = next(item for item in document["runs"] if item["number"] == number)
    assert run["results"]
    assert run["drive"]["identity"]["capacity"] > 0
