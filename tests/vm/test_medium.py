"""Cards swapped in USB readers while the bench works: the other card is never written.

The readers keep their serial and their node. One boot for all cases; the runs on cards that are
swapped in an idle step overlap.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from .conftest import CLONE, LiveVm, StartVm, once_more_when_lost

MIB = 1 << 20
SIZE = 64 * MIB
# PLAN: swapped between plan and execution; FILE, EXT4, RAW: in an idle step of a run.
# TAKEN: the kernel never learns of it. POLL: the kernel asks the reader on its own.
PLAN = ("CARDPLAN-POLL", "CARDPLAN-TAKEN")
IDLE = ("CARDFILE-POLL", "CARDEXT4-QUIET", "CARDRAW-QUIET", "CARDRAW-POLL")
READERS = PLAN + IDLE


@dataclass
class Swapped:
    """What the guest answered, and which of the other cards differ from what they held before."""

    answer: dict[str, Any] = field(default_factory=dict)
    changed_readers: list[str] = field(default_factory=list)


def other_card(path: Path, *, blank_ends: bool) -> str:
    """A card with data in its middle; its checksum. Blank ends look like the card before."""
    with path.open("wb") as file:
        file.truncate(SIZE)
        file.seek(8 * MIB)
        file.write(os.urandom(4 * MIB))
        if not blank_ends:
            file.seek(512 * 1024)
            file.write(os.urandom(4096))
    return checksum(path)


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def arguments(folder: Path) -> str:
    """QEMU's readers, each with a blank card. The two commonest drivers take turns."""
    words = ["-device", "qemu-xhci,id=readers,p2=15,p3=15"]
    for at, name in enumerate(READERS):
        card = folder / f"{name}.img"
        with card.open("wb") as file:
            file.truncate(SIZE)
        bridge = "usb-uas" if at % 2 else "usb-bot"
        words += ["-drive", f"if=none,id=n{at},format=raw,file={card}"]
        words += ["-device", f"{bridge},bus=readers.0,id=reader{at},serial={name}"]
        words += [
            "-device",
            f"scsi-hd,bus=reader{at}.0,id={name},drive=n{at},removable=on,serial={name}",
        ]
    return shlex.join(words)


def swap_cards(live_vms: StartVm, folder: Path) -> Swapped:
    signals = Path(tempfile.mkdtemp(prefix="medium-", dir=CLONE / ".cache"))
    sums = {
        name: other_card(folder / f"{name}.other", blank_ends=name != "CARDPLAN-TAKEN")
        for name in READERS
    }
    vm: LiveVm = live_vms(
        shlex.join(["python3", "-m", "tests.vm.medium_runs", *READERS]),
        BENCHSTICK_VM_QEMU=arguments(folder),
        BENCHSTICK_TEST_SIGNALS=str(signals),
        BENCHSTICK_VM_TIMEOUT="900",
    )
    result = Swapped()
    with vm.lost_in():
        assert vm.process.stdout
        for line in vm.process.stdout:
            word, _, rest = line.decode().strip().partition(" ")
            if word == "swap":
                qmp = vm.qmp()
                qmp.execute(
                    "blockdev-change-medium", id=rest, filename=str(folder / f"{rest}.other"),
                    format="raw", force=True,
                )  # fmt: skip
                qmp.close()
                (signals / rest).touch()
            elif word == "answer":
                result.answer = json.loads(rest)
                print(json.dumps(result.answer, indent=1))
        outcome = vm.finish()
        assert result.answer, outcome.text()
    result.changed_readers = [n for n in READERS if checksum(folder / f"{n}.other") != sums[n]]
    for path in signals.iterdir():
        path.unlink()
    signals.rmdir()
    return result


@pytest.fixture(scope="module")
def swap_results(live_vms: StartVm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swapped]:
    yield once_more_when_lost(lambda: swap_cards(live_vms, tmp_path_factory.mktemp("cards")))


def test_no_swapped_card_is_written(swap_results: Swapped) -> None:
    assert sorted(swap_results.answer) == sorted(READERS)
    assert swap_results.changed_readers == [], swap_results.answer


@pytest.mark.parametrize("name", PLAN)
def test_a_card_swapped_between_plan_and_run_is_refused(swap_results: Swapped, name: str) -> None:
    answer = swap_results.answer[name]
    assert answer["code"] == 3, answer
    # The case is what its name says only if the kernel knew, or did not.
    assert answer["kernel_knew"] == name.endswith("POLL"), answer
    assert "medium" in answer["reason"]


@pytest.mark.parametrize("name", IDLE)
def test_a_card_swapped_in_an_idle_step_is_lost(swap_results: Swapped, name: str) -> None:
    answer = swap_results.answer[name]
    assert answer["swapped"], answer
    assert answer["code"] == 4, answer
    assert "medium" in answer["reason"]
    assert answer["begun"]
    assert not answer["mounted"]
    assert answer["state"] == "running"
