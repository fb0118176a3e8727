"""A support file has no serial in it, in no form that a tool or the kernel makes of one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchstick.cli.masking import masked

SERIAL = "S6PUNX0T312345A"
BLANKS = "WD WX11 A7"
BRIDGE = "0123456789AB"


def swapped(text: str) -> str:
    return "".join(text[at : at + 2][::-1] for at in range(0, len(text), 2))


def drive(**more: Any) -> dict[str, Any]:
    return {
        "code": SERIAL,
        "label": "Annas drive",
        "identity": {"serial": SERIAL, "bridge_serial": BRIDGE, "model": "Model X",
                     "drive_key": f"{SERIAL}|Model X|1000", "port": "2-1.3"},
        **more,
    }  # fmt: skip


FORMS = {
    "a message": f"drive {SERIAL} (/dev/sda) is locked",
    "lower case": SERIAL.lower(),
    "by-id": f"/dev/disk/by-id/ata-Model_X_{SERIAL}-part1",
    "of the bridge": f"usb-Vendor_Product_{BRIDGE}-0:0",
    "swapped": swapped(SERIAL.ljust(20)),
    "swapped, right": swapped(SERIAL.rjust(20)),
    "hex": SERIAL.encode().hex(),
    "HEX": SERIAL.encode().hex().upper(),
    "hex with blanks": SERIAL.encode().hex(" "),
    "hex with colons": SERIAL.encode().hex(":"),
    "hex words": swapped(SERIAL.ljust(20)).encode().hex(),
    "drive_key": f"{SERIAL}|Model X|1000",
    "label": "the drive Annas drive is free",
}


@pytest.mark.parametrize("name", FORMS)
def test_a_serial_is_masked_in_every_form(name: str) -> None:
    report = masked({"drives": [drive()], "events": [{"text": FORMS[name]}]})
    text = json.dumps(report).casefold()
    for secret in (SERIAL, swapped(SERIAL.ljust(20)).strip(), swapped(SERIAL.rjust(20)).strip(),
                   SERIAL.encode().hex(), SERIAL.encode().hex(" "), SERIAL.encode().hex(":"),
                   BRIDGE, "Annas"):  # fmt: skip
        assert secret.casefold() not in text
    assert "masked-" in report["events"][0]["text"]
    # What the report is for stays.
    assert report["drives"][0]["identity"]["model"] == "Model X"
    assert report["drives"][0]["identity"]["port"] == "2-1.3"


@pytest.mark.parametrize("text", [f"x {BLANKS} y", "usb-WD_WX11_A7-0:0", "WDWX11A7", "wd wx11 a7"])
def test_a_serial_with_blanks_is_masked(text: str) -> None:
    document = {"drive": {"serial": {"value": f"  {BLANKS}  ", "unit": None, "source": "x"}},
                "events": [text]}  # fmt: skip
    report = masked(document)
    assert "WX11" not in json.dumps(report).upper()
    assert report["drive"]["serial"]["value"].startswith("masked-")


@pytest.mark.parametrize(
    "text",
    ["wwn-0x5002538e40a2b3c1", "5 002538 e40a2b3c1", "naa.5002538e40a2b3c1",
     "nvme-eui.0025385b71b0a2c4", "eui.00000000000000016479a7471a000123",
     "00-25-38-5b-71-b0-a2-c4", "00:1a:2b:3c:4d:5e", "00:25:38:5b:71:b0:a2:c4",
     "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "locked with the ATA password aB3xK9; go on"],
)  # fmt: skip
def test_what_is_unique_by_its_form_is_masked(text: str) -> None:
    masked_text = str(masked({"events": [text]})["events"][0])
    for part in ("002538", "5b71b0", "a747", "3c:4d", "5b:71", "5b-71", "00c04fd", "aB3xK9"):
        assert part not in masked_text


def test_a_wwn_in_numbers_is_masked() -> None:
    report = masked({"wwn": {"naa": 5, "oui": 9528, "id": 61234567890}, "eui64": 9007199254740991})
    assert "61234567890" not in json.dumps(report)
    assert "9007199254740991" not in json.dumps(report)


def test_names_of_machines_people_and_media_are_masked() -> None:
    document = {
        "filesystems": {"value": [{"fs": "ext4", "label": "ANNAS", "uuid": "ABCD-1234",
                                   "mounted": "/run/media/anna/ANNAS DISK"}]},
        "mounted": {"value": ["/media/anna/ANNAS DISK"]},
        "events": ["mounted at /home/anna/x, on workshop7.example", "of WORKSHOP7: ABCD-1234",
                   "the label ANNAS"],
    }  # fmt: skip
    text = json.dumps(masked(document, ["workshop7.example", "workshop7"])).casefold()
    for secret in ("anna", "workshop7", "abcd-1234"):
        assert secret not in text
    assert "ext4" in text


def test_a_mask_is_the_same_for_one_drive_and_cannot_be_computed() -> None:
    report = masked({"drives": [drive(), drive(code="X1")], "runs": [{"serial": SERIAL.lower()}]})
    masks = {item["identity"]["serial"] for item in report["drives"]}
    assert masks == {report["runs"][0]["serial"], report["drives"][0]["code"]}
    other = masked({"drives": [{"serial": "ANOTHER1"}]})
    assert other["drives"][0]["serial"] == "masked-1"


@pytest.mark.parametrize("serial", ["", "1", "usb", "practice", "None"])
def test_a_serial_that_is_a_common_word_spoils_nothing(serial: str) -> None:
    document = {"serial": serial, "transport": "usb-uas", "count": 11, "text": "practice, None, 1"}
    report = masked(document)
    assert {**report, "serial": ""} == {**document, "serial": ""}
