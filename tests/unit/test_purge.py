"""The erase methods: the output of tools, and which methods a drive offers, with the reasons."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives import nvme as nvme_facts
from benchstick.drives import sanitize_commands, sanitize_methods
from benchstick.drives.device_query import PROBE, Asker
from benchstick.drives.sanitize_commands import (
    BLOCK_ERASE,
    CRYPTO_ERASE,
    AtaSecurity,
    LbaFormat,
    parse_ata_security,
    parse_lba_format,
    parse_namespaces,
    parse_sanitize_log,
)
from benchstick.drives.subprocesses import Finished
from benchstick.drives.sysfs import Tree
from benchstick.errors import BadInput

Make = Callable[..., dict[str, Any]]
RECORDINGS = Path(__file__).with_name("purge_recordings")
SPEED = 500e6


def recorded(name: str) -> str:
    return (RECORDINGS / name).read_text(encoding="utf-8")


# ---- the output of the tools


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            "ready",
            AtaSecurity(is_supported=True),
        ),
        (
            "frozen",
            AtaSecurity(is_supported=True, is_frozen=True),
        ),
        (
            "password",
            AtaSecurity(is_supported=True, is_enabled=True),
        ),
        (
            "locked",
            AtaSecurity(is_supported=True, is_enabled=True, is_locked=True),
        ),
        (
            "locked-and-frozen",
            AtaSecurity(is_supported=True, is_enabled=True, is_locked=True, is_frozen=True),
        ),
        (
            "expired",
            AtaSecurity(is_supported=True, is_enabled=True, is_locked=True, is_expired=True),
        ),
        (
            "disk",
            AtaSecurity(is_supported=True),
        ),
        ("old-disk", AtaSecurity(is_supported=True)),
        ("none", AtaSecurity()),
    ],
)
def test_the_security_section_of_hdparm(file: str, expected: AtaSecurity) -> None:
    assert parse_ata_security(recorded(f"hdparm-I-{file}.txt")) == expected


@pytest.mark.parametrize("text", ["", "\n/dev/sda:\n HDIO_DRIVE_CMD(identify) failed\n"])
def test_what_is_no_identify_data_is_not_taken_for_a_drive_without_security(text: str) -> None:
    with pytest.raises(ValueError, match="no IDENTIFY data"):
        parse_ata_security(text)


@pytest.mark.parametrize(
    ("file", "word", "progress", "action", "seconds"),
    [
        ("2.3-sanitize-log-never", "never sanitized", 65535 / 65536, 0, {}),
        ("2.3-sanitize-log-progress", "in progress", 16704 / 65536, BLOCK_ERASE,
         {BLOCK_ERASE: 90, CRYPTO_ERASE: 15, sanitize_commands.OVERWRITE: 7200}),
        ("2.3-sanitize-log-done", "completed", 65535 / 65536, BLOCK_ERASE,
         {BLOCK_ERASE: 90, CRYPTO_ERASE: 15, sanitize_commands.OVERWRITE: 7200}),
        ("2.3-sanitize-log-failed", "failed", 40000 / 65536, CRYPTO_ERASE, {}),
        ("2.15-sanitize-log-progress", "in progress", 0.5, CRYPTO_ERASE, {BLOCK_ERASE: 60}),
        ("2.15-sanitize-log-kept", "completed", 65535 / 65536, BLOCK_ERASE, {}),
    ],
)  # fmt: skip
def test_the_sanitize_log(
    file: str, word: str, progress: float, action: int, seconds: dict[int, int]
) -> None:
    log = parse_sanitize_log(recorded(f"nvme-{file}.json"))
    assert (log.word, log.progress, log.action, log.seconds) == (word, progress, action, seconds)


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"nvme0": {"sprog": 1}}', '{"nvme0": {"sstat": {}}}']
)
def test_what_is_no_sanitize_log_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_sanitize_log(text)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("2.3-id-ns-512", LbaFormat(0, 512, 0, 0, 0, 0)),
        ("2.3-id-ns-4k", LbaFormat(1, 4096, 0, 0, 0, 0)),
        # Format 3 of 4, metadata with the data, protection type 3 in the first bytes.
        ("2.3-id-ns-protected", LbaFormat(3, 4096, 8, 1, 3, 1)),
        # More than 16 formats: bits 6:5 of flbas count.
        ("2.15-id-ns-many", LbaFormat(17, 4096, 64, 0, 0, 0)),
    ],
)
def test_the_lba_format_in_use(file: str, expected: LbaFormat) -> None:
    assert parse_lba_format(recorded(f"nvme-{file}.json")) == expected


def test_a_format_keeps_the_lba_format_with_its_metadata_and_protection() -> None:
    keep = parse_lba_format(recorded("nvme-2.3-id-ns-protected.json"))
    argv = sanitize_commands.format_nvm("/dev/nvme0n1", keep, sanitize_commands.USER_DATA_ERASE)
    options = dict(zip(argv[3:-1:2], argv[4:-1:2], strict=True))
    assert {name: options[name] for name in ("--ses", "--lbaf", "--ms", "--pi", "--pil")} == {
        "--ses": "1", "--lbaf": "3", "--ms": "1", "--pi": "3", "--pil": "1",
    }  # fmt: skip
    assert argv[-1] == "--force"
    assert int(options["--timeout"]) > 600_000


def test_namespaces_and_the_word_after_a_format() -> None:
    assert parse_namespaces(recorded("nvme-2.3-list-ns-two.json")) == [1, 3]
    assert sanitize_commands.is_formatted(recorded("nvme-2.3-format.txt"))
    assert not sanitize_commands.is_formatted("NVMe status: Invalid Format(0x10a)\n")


@pytest.mark.parametrize("password", ["", "-x", "a b", "x" * 33, "a'b"])
def test_a_password_from_the_store_cannot_become_an_option(password: str) -> None:
    with pytest.raises(ValueError):
        sanitize_commands.ata("/dev/sda", "unlock", password)


# ---- what a drive offers


def nvme(make: Make, **facts: object) -> dict[str, Any]:
    return make(
        **{
            "transport": "nvme",
            "sanitize": ["crypto erase", "block erase"], "sanitize_state": "never sanitized",
            "format": ["user data erase", "crypto erase"], "format_scope": "this namespace",
            "namespaces": 1, "trim": True, "trim_kernel": 1 << 40, **facts,
        },
    )  # fmt: skip


def sata(make: Make, **facts: object) -> dict[str, Any]:
    return make(
        **{
            "transport": "sata",
            "security": "disabled, not frozen", "security_erase": "supported, also enhanced",
            "erase_time": 2, "erase_time_enhanced": 8, "trim": True, "trim_kernel": 1 << 30,
            **facts,
        },
    )  # fmt: skip


def reasons(drive: dict[str, Any]) -> dict[str, str | None]:
    return {offer.rung.name: offer.why_not for offer in sanitize_methods.offers(drive, SPEED)}


def offered(drive: dict[str, Any]) -> list[str]:
    return [name for name, reason in reasons(drive).items() if reason is None]


def test_an_nvme_drive_that_can_do_all(drive_json: Make) -> None:
    assert offered(nvme(drive_json)) == [
        "sanitize-block", "sanitize-crypto", "format", "format-crypto", "discard", "overwrite",
    ]  # fmt: skip
    assert sanitize_methods.choose(nvme(drive_json), "auto", SPEED).rung.name == "sanitize-block"


def test_an_nvme_drive_without_sanitize_is_formatted_with_the_reason(drive_json: Make) -> None:
    drive = nvme(drive_json, sanitize=[], format=["user data erase"])
    assert sanitize_methods.choose(drive, "auto", SPEED).rung.name == "format"
    reason = reasons(drive)
    assert reason["sanitize-block"] == "the drive's Sanitize has no block erase (test)"
    assert reason["format-crypto"] == "the drive's Format has no crypto erase (test)"
    with pytest.raises(BadInput, match="rung sanitize-crypto: the drive's Sanitize has no") as no:
        sanitize_methods.choose(drive, "sanitize-crypto", SPEED)
    assert no.value.field == "rung"


def test_other_namespaces_are_not_erased_as_well(drive_json: Make) -> None:
    drive = nvme(drive_json, namespaces=3)
    assert "all 3 namespaces" in str(reasons(drive)["sanitize-block"])
    assert reasons(drive)["format"] is None
    whole = nvme(drive_json, namespaces=3, format_scope="all namespaces")
    assert "all 3 namespaces" in str(reasons(whole)["format"])
    assert offered(whole) == ["discard", "overwrite"]
    unknown = nvme(drive_json)
    unknown["namespaces"] = {"value": None, "reason": "nvme: timed out"}
    assert "is not known: nvme: timed out" in str(reasons(unknown)["sanitize-block"])


def test_a_sata_drive(drive_json: Make) -> None:
    assert offered(sata(drive_json)) == [
        "security-erase", "security-erase-enhanced", "discard", "overwrite",
    ]  # fmt: skip
    assert (
        sanitize_methods.choose(sata(drive_json), "security-erase-enhanced", SPEED).seconds == 480
    )


def test_a_frozen_drive_is_refused_with_what_to_do(drive_json: Make) -> None:
    drive = sata(drive_json, security="disabled, frozen")
    assert offered(drive) == ["discard", "overwrite"]
    with pytest.raises(BadInput, match=r"suspend the machine.*pull the drive's power plug"):
        sanitize_methods.choose(drive, "security-erase", SPEED)


@pytest.mark.parametrize(
    ("facts", "part"),
    [
        ({"security": "enabled, not frozen"}, "protected by an ATA password"),
        ({"security": "enabled, locked, not frozen"}, "locked with an ATA password"),
        ({"security_erase": "not supported"}, "no ATA security feature set"),
        ({"transport": "usb-uas"}, "not sent through a USB bridge"),
        ({"transport": "usb-bot"}, "not sent through a USB bridge"),
        ({"transport": "scsi"}, "no SATA drive"),
    ],
)
def test_why_no_security_erase(drive_json: Make, facts: dict[str, Any], part: str) -> None:
    assert part in str(reasons(sata(drive_json, **facts))["security-erase"])


def test_a_capable_drive_behind_a_bridge_is_refused_too(drive_json: Make) -> None:
    drive = sata(drive_json, transport="usb-uas")
    assert offered(drive) == ["discard", "overwrite"]
    with pytest.raises(BadInput, match="USB bridge"):
        sanitize_methods.choose(drive, "security-erase-enhanced", SPEED)


def test_discard_only_where_the_kernel_sends_it(drive_json: Make) -> None:
    stick = drive_json(trim=False, trim_kernel=0)
    assert offered(stick) == ["overwrite"]
    assert sanitize_methods.choose(stick, "auto", SPEED).rung.name == "overwrite"
    forgotten = drive_json(trim=True, trim_kernel=0)
    assert "the kernel does not send it" in str(reasons(forgotten)["discard"])


def test_an_overwrite_is_estimated_twice_and_is_not_fresh(drive_json: Make) -> None:
    offer = sanitize_methods.choose(drive_json(capacity=10**12), "overwrite", SPEED)
    assert (offer.bytes_written, offer.bytes_read, offer.seconds) == (10**12, 10**12, 4000)
    assert not offer.rung.fresh
    assert all(rung.fresh for rung in sanitize_methods.LADDER if rung.name != "overwrite")


def test_erase_methods_that_do_not_exist(drive_json: Make) -> None:
    with pytest.raises(BadInput, match="available: sanitize-block") as no:
        sanitize_methods.choose(drive_json(), "gutmann", SPEED)
    assert no.value.field == "rung"


def test_a_drive_that_can_only_be_purged_is_reported(drive_json: Make) -> None:
    assert sanitize_methods.unusable(nvme(drive_json)) is None
    assert "rung=resume" in str(
        sanitize_methods.unusable(nvme(drive_json, sanitize_state="in progress"))
    )
    assert "--undo" in str(sanitize_methods.unusable(nvme(drive_json, sanitize_state="failed")))
    locked_drive = sata(drive_json, security="enabled, locked, not frozen")
    assert "benchstick purges" in str(sanitize_methods.unusable(locked_drive))
    assert sanitize_methods.unusable(sata(drive_json, security="enabled, not frozen")) is None


@pytest.mark.parametrize("reads", [True, False])
def test_a_failed_sanitize_that_was_left_does_not_keep_the_drive_from_tests(
    tmp_path: Path, reads: bool
) -> None:
    """Its log still reports that the last sanitize failed."""

    def answer(argv: Sequence[str]) -> Finished:
        text = ""
        if argv[1] == "id-ctrl":
            text = json.dumps({"oacs": 0, "fna": 0, "sanicap": 2})
        elif argv[1] == "sanitize-log":
            text = recorded("nvme-2.3-sanitize-log-failed.json")
        elif argv[0] == PROBE:
            text = f"exclusive=ok\nread={'ok' if reads else '0: Input/output error'}\nrdev=259:0\n"
        return Finished(tuple(argv), 0, text.encode(), b"", 0.0)

    facts = nvme_facts.facts(Tree(tmp_path), Asker(answer), "nvme0n1")
    drive = {name: fact.to_json() for name, fact in facts.items()}
    assert (sanitize_methods.unusable(drive) is None) == reads
    assert sanitize_methods.sanitize_failed(drive) != reads


@pytest.mark.parametrize(
    ("rung", "rotational", "part"),
    [
        ("security-erase", False, "Clear on flash"),
        ("security-erase-enhanced", True, "under Purge"),
        ("security-erase", None, "does not name it"),
        ("overwrite", True, "Clear"),
        ("sanitize-block", False, "was not checked against IEEE 2883"),
        ("format", False, "not judged"),
        ("discard", False, "not among the techniques"),
    ],
)
def test_standards_only_as_far_as_read(rung: str, rotational: bool | None, part: str) -> None:
    assert part in sanitize_methods.nist(rung, rotational=rotational)


def test_every_recording_is_read_by_a_test() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for path in RECORDINGS.iterdir():
        stem = path.stem.removeprefix("hdparm-I-").removeprefix("nvme-")
        assert path.name == "README.md" or f'"{stem}"' in source or path.name in source, path.name
    for path in RECORDINGS.glob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
