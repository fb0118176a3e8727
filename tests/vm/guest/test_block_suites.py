"""The block suites, short, on real drivers: the drives' own counters match the plans.

Each run is looked at twice: step by step as the bench itself counted, and as a whole by what the
test read from the kernel before and after it.
"""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchstick.drives import discover
from tests.host.bench import Bench
from tests.vm.delayed_runs import null_blk

from .conftest import by_pass, mounts_of
from .drive_help import scsi_debug

MIB = 1 << 20
SECTOR = 512
TIMEOUT = 900.0
# What the bench reads of its drives to identify them (partition tables, signatures, superblocks),
# before a run and after it.
KNOWING = 48 * MIB
# A test file's first writes bring some of the filesystem's own blocks.
OWN_BLOCKS = 64 * 1024
# The drive that only this test uses, where no parameter has it (conftest.py).
LANES = {
    "test_random_tests_make_requests_of_their_own_size": "BSUAS0001",
    "test_consistency_has_each_second_as_the_drive_counted_it": "BSNVME0001",
    "test_pts_saturation_shows_what_was_written_to_the_drive": "BSNVME0001",
    "test_as_ssd_on_files_with_copies": "BSSATA0001",
    "test_the_compression_curve_on_a_null_blk": "made",
    "test_512_bytes_go_directly_to_a_file": "BSUAS0001",
    "test_a_4kn_drives_512_bytes_are_skipped_with_the_reason": "made",
    "test_a_raw_4kn_drives_512_bytes_are_skipped_with_the_reason": "made",
    "test_a_512e_drives_512_byte_writes_are_flagged": "made",
}


@dataclass(frozen=True)
class Stat:
    """/sys/block/X/stat: requests completed, requests merged with others, bytes."""

    reads: int
    reads_joined: int
    read_bytes: int
    writes: int
    writes_joined: int
    write_bytes: int

    @staticmethod
    def of(name: str) -> Stat:
        words = [int(word) for word in Path(f"/sys/block/{name}/stat").read_text().split()]
        reads, writes = words[0:3], words[4:7]
        return Stat(reads[0], reads[1], reads[2] * SECTOR, writes[0], writes[1], writes[2] * SECTOR)


@dataclass(frozen=True)
class Ran:
    """A run's document, the drive's counters before and after it, and the bytes that the run's own
    processes read from drives: other commands and udev read the drive too before and after it."""

    document: Any
    before: Stat
    after: Stat
    own_read_bytes: int

    @property
    def bytes_written(self) -> int:
        return self.after.write_bytes - self.before.write_bytes

    @property
    def read(self) -> int:
        return self.after.read_bytes - self.before.read_bytes

    def fio_steps(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """(as planned, what was recorded) of each fio process, in order."""
        planned = {step["name"]: step for step in self.document["plan"]["steps"]}
        return [
            (planned[step["name"]], step["detail"])
            for step in self.document["steps"]
            if step["kind"] == "fio" and step["state"] == "done"
        ]

    def left_out(self) -> dict[str, str]:
        """The fio processes that were planned and not started, each with the reason."""
        return {
            step["name"]: step["reason"]
            for step in self.document["steps"]
            if step["kind"] == "fio" and step["state"] == "skipped"
        }

    def sum(self, key: str) -> int:
        """Of fio's own totals over all of its processes."""
        return sum(int(detail["totals"][key]) for _, detail in self.fio_steps())


def ran(bench: Bench, name: Callable[[], str], code: str, suite: str, *argv: str) -> Ran:
    """A complete run with every result valid, or skipped by its plan."""
    before = Stat.of(name())
    read_before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    document = bench.json("run", suite, "--drive", code, "--erase", code, "--unlock", code, *argv,
                          timeout=TIMEOUT)  # fmt: skip
    assert (document["state"], document["exit_code"]) == ("done", 0)
    bad = [item for item in document["results"] if item["state"] == "invalid"]
    assert bad == []
    own_read = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - read_before
    return Ran(document, before, Stat.of(name()), own_read * SECTOR)


def assert_steps_did_what_they_said(run: Ran, *, raw: bool) -> None:
    """Each fio process: the plan's bytes where it moves a size, and the drive's counters agree.

    Only rounds that their suite may end early may be missing, and those with a reason."""
    planned = {s["name"]: s for s in run.document["plan"]["steps"] if s["kind"] == "fio"}
    recorded = [(s["name"], s["state"]) for s in run.document["steps"] if s["kind"] == "fio"]
    assert [name for name, _ in recorded] == list(planned)
    assert {state for _, state in recorded} <= {"done", "skipped"}
    skips = run.left_out()
    assert all(planned[name]["round"] and reason for name, reason in skips.items()), skips
    for step, detail in run.fio_steps():
        totals, counters = detail["totals"], detail["counters"]
        name = step["name"]
        for side in ("read", "write"):
            moved, counted = totals[f"{side}_bytes"], int(counters[f"{side}_bytes"])
            planned_bytes = step["bytes_read" if side == "read" else "bytes_written"]
            if step["runtime"] is None:
                assert moved == planned_bytes, (name, side, moved, planned_bytes)
            else:
                assert bool(moved) == bool(planned_bytes), (name, side, moved, planned_bytes)
            if not moved:
                # A filesystem reads its own blocks when it writes; nobody else has a raw drive.
                assert counted <= (0 if raw else KNOWING), (name, side, counted)
            elif raw or step["whole_drive"]:
                assert abs(counted - moved) <= 0.005 * moved, (name, side, moved, counted)
            else:
                most = 1.03 * moved + step["files"] * OWN_BLOCKS
                assert moved <= counted <= most, (name, side, moved, counted)
        assert totals["ios"] * step["block"] == totals["read_bytes"] + totals["write_bytes"]


def assert_the_drive_was_given_that_and_no_more(run: Ran, queue: Path) -> None:
    """The whole run on the raw drive: what was written is to the byte what fio wrote and the marks
    of a purge, in as many requests as the kernel makes of it."""
    marks = [step for step in run.document["plan"]["steps"] if step["kind"] == "mark"]
    assert run.bytes_written == run.sum("write_bytes") + sum(m["bytes_written"] for m in marks)
    assert run.sum("read_bytes") <= run.read
    assert run.sum("read_bytes") <= run.own_read_bytes <= run.sum("read_bytes") + KNOWING
    largest = int((queue / "max_sectors_kb").read_text()) * 1024
    least, most = {"read": 0, "write": 0}, {"read": 0, "write": 0}
    for planned, detail in run.fio_steps():
        for side in least:
            count = int(detail["totals"][f"{side}_bytes"]) // planned["block"]
            least[side] += count
            # A request may also be split at a page that does not fit in its list.
            most[side] += 2 * count * -(-planned["block"] // largest)
    before, after = run.before, run.after
    wrote = after.writes + after.writes_joined - before.writes - before.writes_joined
    wrote -= sum(mark["samples"] for mark in marks)
    assert least["write"] <= wrote <= most["write"], (wrote, least, most)
    gave = after.reads + after.reads_joined - before.reads - before.reads_joined
    assert gave >= least["read"], (gave, least)


@dataclass(frozen=True)
class Short:
    """A suite's short run on a raw drive; `named` are the expected fio processes, in order."""

    suite: str
    serial: str
    argv: tuple[str, ...]
    named: tuple[str, ...]


def params(**values: object) -> tuple[str, ...]:
    return tuple(word for name, value in values.items() for word in ("--param", f"{name}={value}"))


RAW = (
    Short(
        "atto", "BSUAS0001",
        ("--target", "block", *params(sizes="512,4KiB,48KiB,512KiB", length="512KiB")),
        ("lay out the test area", *(f"{size} {way}" for size in ("512 B", "4 KiB", "48 KiB",
                                                                 "512 KiB")
                                    for way in ("write", "read"))),
    ),
    Short(
        "sweep", "BSSATA0001",
        params(state="steady", span=7, fills=1, soak=2, time=1, depths="1,64"),
        ("fill SEQ128K Q32T1 write, pass 1", "precondition RND4K Q32T1 write",
         *(f"RND4K Q{depth}T1 {way}" for way in ("read", "mix", "write") for depth in (1, 64))),
    ),
    Short(
        "consistency", "BSNVME0001", params(span=7, fills=2, time=4),
        ("fill SEQ128K Q32T1 write, pass 1", "fill SEQ128K Q32T1 write, pass 2",
         "RND4K Q32T1 write"),
    ),
    Short(
        "sustained", "BSBOT0001", params(span="96MiB", pause=0, recovery=1, burst="8MiB"),
        ("part 1 of 1", "burst after 1 s"),
    ),
    Short(
        "asssd", "BSUAS0001", ("--target", "block", *params(parts="benchmark", size="64MiB",
                                                            time=1)),
        ("lay out the test area", "Seq write", "Seq read", "4K write", "4K read",
         "4K-64Thrd write", "4K-64Thrd read", "Acc.time read", "Acc.time write"),
    ),
)  # fmt: skip


@pytest.fixture
def name_of(node: Callable[[str], str]) -> Callable[[str], str]:
    """name_of(SERIAL) is the kernel's name of the drive now."""
    return lambda serial: Path(node(serial)).name


@pytest.mark.parametrize("short", RAW, ids=lambda short: f"{short.suite}-{short.serial}")
def test_a_raw_drive_is_given_what_the_plan_says(
    bench: Bench, name_of: Callable[[str], str], short: Short
) -> None:
    run = ran(bench, lambda: name_of(short.serial), short.serial, short.suite, *short.argv)
    assert tuple(planned["name"] for planned, _ in run.fio_steps()) == short.named
    assert_steps_did_what_they_said(run, raw=True)
    queue = Path(f"/sys/block/{name_of(short.serial)}/queue")
    assert_the_drive_was_given_that_and_no_more(run, queue)
    counted = {item["name"]: item for item in run.document["results"] if item["pass"] == 1}
    for planned, detail in run.fio_steps():
        if not planned["counted"]:
            continue
        result = counted[planned["test"]]
        assert result["target"] == "block"
        if planned["pass_no"] == 1:
            speed = sum(detail["totals"][f"{side}_bytes"] for side in ("read", "write"))
            speed /= detail["totals"]["seconds"] * 1e6
            assert result["value"] == pytest.approx(speed, rel=1e-6)


def test_random_tests_make_requests_of_their_own_size(
    bench: Bench, name_of: Callable[[str], str]
) -> None:
    """4 KiB at random over the whole drive, where none can be joined to another."""
    run = ran(
        bench, lambda: name_of("BSUAS0001"), "BSUAS0001", "sweep",
        *params(depths="1,4", time=1, only="read"),
    )  # fmt: skip
    for planned, detail in run.fio_steps():
        counters = detail["counters"]
        assert counters["reads"] == pytest.approx(detail["totals"]["ios"], rel=0.005)
        assert counters["read_bytes"] == 4096 * counters["reads"]
        assert planned["size"] > 0.99 * run.document["drive"]["identity"]["capacity"]
    assert run.document["plan"]["destroys"] is False
    assert run.bytes_written == 0


def test_consistency_has_each_second_as_the_drive_counted_it(
    bench: Bench, name_of: Callable[[str], str]
) -> None:
    run = ran(
        bench, lambda: name_of("BSNVME0001"), "BSNVME0001", "consistency",
        *params(span=7, fills=0, time=6),
    )  # fmt: skip
    single = by_pass(run.document)
    detail = single["RND4K Q32T1 write IOPS by second", 1]["detail"]
    assert detail["source"] == "fio" or detail["source_reason"]
    series = detail["series"]["mean"]
    totals = single["RND4K Q32T1 write", 1]["detail"]["totals"]
    assert 4 <= len(series) <= 6
    # The seconds' mean is the whole's, but for the second that may be missing at each end.
    mean = sum(series) / len(series)
    assert mean == pytest.approx(totals["ios"] / totals["seconds"], rel=0.35)
    assert sum(count for _, count in totals["histogram_us"]["write"]) == totals["ios"]


# --- pts: rounds that end by a rule ----------------------------------------------------------


PTS = {"preset": "reduced", "amount": "32MiB", "time": 1}
TWO = {"depth": 4, "threads": 2}


def steady(five: list[float]) -> bool:
    """SNIA's two criteria, written down a second time (docs/methods/pts.md)."""
    mean = sum(five) / 5
    slope = sum((x - 2) * (value - mean) for x, value in enumerate(five)) / 10
    return max(five) - min(five) <= 0.2 * mean and abs(slope) * 4 <= 0.1 * mean


@pytest.mark.parametrize(
    ("test", "serial", "more", "fills", "cells", "most", "tracked"),
    [
        ("throughput", "BSNVME0001", {**TWO, "rounds": 6}, 2, 2, 6, "SEQ1M 0:100 Q8T1"),
        ("latency", "BSSATA0001", {"rounds": 5}, 2, 3, 5, "RND4K 0:100 Q1T1 latency"),
        ("hir", "BSUAS0001", {**TWO, "rounds": 5, "accesses": 1, "waits": "5"}, 0, 1, 5,
         "RND4K 0:100 Q4T2 IOPS"),
        ("iops", "BSBOT0001", {**TWO, "rounds": 5}, 2, 9, 5, "RND4K 0:100 Q4T2 IOPS"),
    ],
)  # fmt: skip
def test_pts_gives_the_drive_its_rounds_and_no_more(
    bench: Bench,
    name_of: Callable[[str], str],
    test: str,
    serial: str,
    more: dict[str, object],
    fills: int,
    cells: int,
    most: int,
    tracked: str,
) -> None:
    run = ran(bench, lambda: name_of(serial), serial, "pts", *params(test=test, **PTS, **more))
    document = run.document
    assert_steps_did_what_they_said(run, raw=True)
    queue = Path(f"/sys/block/{name_of(serial)}/queue")
    assert_the_drive_was_given_that_and_no_more(run, queue)
    # The drive was purged where it can be, and each fill is the whole of the range that is tested.
    state = "as found, not purged" if serial == "BSBOT0001" else "purged by "
    assert document["conditions"]["state"].startswith(state)
    filled = [d["counters"]["write_bytes"] for p, d in run.fio_steps() if p["runtime"] is None]
    assert filled == [32 * MIB] * fills
    # As many rounds as the rule requires for these results; this test applies the rule on its own.
    rounds = [planned["round"] for planned, _ in run.fio_steps() if planned["round"]]
    single = by_pass(document)
    values = [single[f"reduced {tracked}", number]["value"] for number in range(1, max(rounds) + 1)]
    round_count = next((n for n in range(5, most) if steady(values[n - 5 : n])), most)
    assert rounds == [number for number in range(1, round_count + 1) for _ in range(cells)], values
    assert len(run.left_out()) == (most - round_count) * cells
    assert set(run.left_out().values()) <= {f"steady state after round {round_count}"}
    reached = steady(values[-5:])
    (verdict,) = document["result"]["verdicts"]
    assert verdict["state"] == ("reached" if reached else "not reached")
    overall = single[f"reduced {tracked}", None]
    assert "PTS-like, reduced: not SNIA-conformant" in overall["reason"]
    assert overall["value"] == pytest.approx(sum(values[-5:]) / 5, rel=1e-6)
    if test == "iops":
        (matrix,) = [t for t in document["result"]["tables"] if "by read:write" in t["title"]]
        assert matrix["columns"] == ["block", "100:0", "65:35", "0:100"]
        assert [row[0] for row in matrix["rows"]] == ["1 MiB", "64 KiB", "4 KiB"]
        assert matrix["rows"][2][3] == f"{overall['value']:.0f}"
        assert all(float(cell) > 0 for row in matrix["rows"] for cell in row[1:])
    # Reads and writes of a mix stand in the proportion that the plan names.
    for planned, detail in run.fio_steps():
        # Of few requests chance makes another one.
        if planned["mix"] is not None and detail["totals"]["ios"] >= 200:
            share = detail["counters"]["read_bytes"] / (
                detail["counters"]["read_bytes"] + detail["counters"]["write_bytes"]
            )
            assert share == pytest.approx(planned["mix"] / 100, abs=0.15)


def test_pts_saturation_shows_what_was_written_to_the_drive(
    bench: Bench, name_of: Callable[[str], str]
) -> None:
    serial = "BSNVME0001"
    run = ran(
        bench, lambda: name_of(serial), serial, "pts",
        *params(test="wsat", limit=3, **PTS, **TWO),
    )  # fmt: skip
    assert_steps_did_what_they_said(run, raw=True)
    assert_the_drive_was_given_that_and_no_more(run, Path(f"/sys/block/{name_of(serial)}/queue"))
    result = by_pass(run.document)["reduced RND4K 0:100 Q4T2 written", None]
    assert result["value"] * 1e9 == pytest.approx(run.sum("write_bytes"), rel=1e-9)
    assert len(run.fio_steps()) == 3 or result["value"] * 1e9 >= 1 << 30


def test_as_ssd_on_files_with_copies(bench: Bench, name_of: Callable[[str], str]) -> None:
    run = ran(
        bench, lambda: name_of("BSSATA0001"), "BSSATA0001", "asssd", "--fs", "auto",
        "--scale", "0.002", *params(parts="benchmark,copy", size="64MiB", time=1),
    )  # fmt: skip
    document = run.document
    assert document["conditions"]["target"] == "file on exfat"
    assert_steps_did_what_they_said(run, raw=False)
    copies = [step for step in document["plan"]["steps"] if step["kind"] == "copy-within"]
    assert len(copies) == 3
    single = by_pass(document)
    for step in copies:
        detail = single[step["name"], 1]["detail"]
        assert detail["bytes"] == step["bytes_written"]
        for side in ("read_bytes", "write_bytes"):
            most = 1.03 * detail["bytes"] + detail["files"] * OWN_BLOCKS
            assert detail["bytes"] <= detail["counters"][side] <= most, (step["name"], side)
    assert run.bytes_written >= run.sum("write_bytes") + sum(s["bytes_written"] for s in copies)
    assert single["Acc.time read", 1]["target"] == "block"
    assert mounts_of(document["uuid"]) == []


@contextlib.contextmanager
def made_null_blk(label: str, **settings: int) -> Iterator[tuple[str, str]]:
    """(code, name) of a null_blk, which takes everything and keeps nothing; it goes at the end."""
    code = null_blk(label, **settings)
    folder = Path("/sys/kernel/config/nullb") / label
    try:
        yield code, next(drive.name for drive in discover.scan() if drive.code == code)
    finally:
        (folder / "power").write_text("0")
        folder.rmdir()


def test_the_compression_curve_on_a_null_blk(bench: Bench) -> None:
    with made_null_blk("bsnull") as (code, name):
        run = ran(bench, lambda: name, code, "asssd", "--target", "block",
                    *params(parts="compression", size="64MiB"))  # fmt: skip
        assert_steps_did_what_they_said(run, raw=True)
        queue = Path(f"/sys/block/{name}/queue")
        assert_the_drive_was_given_that_and_no_more(run, queue)
    assert len(run.fio_steps()) == 1 + 22
    assert run.sum("write_bytes") == 12 * 64 * MIB
    assert run.sum("read_bytes") == 11 * 64 * MIB


# --- sectors: ATTO's sizes below a block -----------------------------------------------------


ATTO = params(sizes="512,4KiB", length="256KiB")


def states(document: Any) -> dict[str, tuple[str, str]]:
    """State and reason of each test's speed over all passes."""
    return {
        item["name"]: (item["state"], item["reason"] or "")
        for item in document["results"]
        if item["pass"] is None and item["unit"] == "MB/s"
    }


def code_of(name: str) -> str:
    return next(drive.code for drive in discover.scan() if drive.name == name)


@pytest.mark.parametrize("fs", ["exfat", "ntfs"])
def test_512_bytes_go_directly_to_a_file(
    bench: Bench, name_of: Callable[[str], str], fs: str
) -> None:
    """On a drive of 512-byte blocks they are neither buffered nor flagged."""
    run = ran(bench, lambda: name_of("BSUAS0001"), "BSUAS0001", "atto", "--fs", fs, *ATTO)
    document = run.document
    assert document["conditions"]["target"] == f"file on {fs}"
    assert_steps_did_what_they_said(run, raw=False)
    by_test = states(document)
    assert set(by_test) == {"512 B write", "512 B read", "4 KiB write", "4 KiB read"}
    for state, reason in by_test.values():
        assert state == "valid"
        assert "read-modify-write" not in reason


def assert_512_bytes_are_skipped(run: Ran) -> None:
    document = run.document
    assert document["drive"]["logical_sector"]["value"] == 4096
    by_test = states(document)
    reason = "512 B is not a whole number of the drive's logical blocks of 4 KiB"
    assert by_test["512 B write"] == by_test["512 B read"] == ("skipped", reason)
    assert by_test["4 KiB write"][0] == by_test["4 KiB read"][0] == "valid"
    steps = {step["name"]: step["state"] for step in document["steps"]}
    assert steps["512 B write"] == steps["512 B read"] == "skipped"
    names = [planned["name"] for planned, _ in run.fio_steps()]
    assert names == ["lay out the test area", "4 KiB write", "4 KiB read"]


def test_a_4kn_drives_512_bytes_are_skipped_with_the_reason(bench: Bench) -> None:
    with scsi_debug("dev_size_mb=128", "sector_size=4096") as (name,):
        run = ran(bench, lambda: name, code_of(name), "atto", "--fs", "exfat", *ATTO)
        assert run.document["conditions"]["target"] == "file on exfat"
        assert_512_bytes_are_skipped(run)
        assert_steps_did_what_they_said(run, raw=False)


def test_a_raw_4kn_drives_512_bytes_are_skipped_with_the_reason(bench: Bench) -> None:
    with scsi_debug("dev_size_mb=64", "sector_size=4096") as (name,):
        run = ran(bench, lambda: name, code_of(name), "atto", "--target", "block", *ATTO)
        assert_512_bytes_are_skipped(run)
        assert_steps_did_what_they_said(run, raw=True)
        assert run.bytes_written == (256 << 10) * 2
        # Alone it is no test at all.
        process = bench.run("run", "atto", "--drive", code_of(name), "--target", "block",
                         "--param", "sizes=512", "--dry-run")  # fmt: skip
        assert process.returncode == 2
        assert "logical blocks of 4 KiB" in process.stderr


@pytest.mark.parametrize("target", ["exfat", "block"])
def test_a_512e_drives_512_byte_writes_are_flagged(bench: Bench, target: str) -> None:
    where = ("--target", "block") if target == "block" else ("--fs", target)
    with scsi_debug("dev_size_mb=128", "sector_size=512", "physblk_exp=3") as (name,):
        run = ran(bench, lambda: name, code_of(name), "atto", *where, *ATTO)
        assert_steps_did_what_they_said(run, raw=target == "block")
    document = run.document
    assert document["drive"]["logical_sector"]["value"] == 512
    assert document["drive"]["physical_sector"]["value"] == 4096
    by_test = states(document)
    assert {state for state, _ in by_test.values()} == {"valid"}
    flagged = {name for name, (_, reason) in by_test.items() if "read-modify-write" in reason}
    assert flagged == {"512 B write"}
    assert "physical blocks of 4 KiB" in by_test["512 B write"][1]
    notes = [note for note in document["plan"]["notes"] if "read-modify-write" in note]
    assert len(notes) == 1
    assert notes[0].startswith("writes of 512 B: ")
