"""`benchstick qa` on the practice drive: verdicts, rules, outputs, and what is left undone."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from benchstick import paths
from benchstick.agent import hotplugged
from benchstick.plan.quantity import key_of
from benchstick.recipes import plan_check
from benchstick.recipes.model import Match
from benchstick.recipes.parser import read
from benchstick.store import locks
from tests.host.bench import Bench, wait_for

SUITE = """
[[suite]]
name = "cdm"
params = { passes = 1, time = 1, interval = 0, size = "32MiB", profile = "demo" }
"""
FACT = '[[limit]]\nfact = "transport"\nop = "=="\nvalue = "virtual"\n'


def rate(minimum: float) -> str:
    return f'[[limit]]\nfigure = "SEQ1M Q8T1 read"\nop = ">="\nvalue = {minimum}\nunit = "MB/s"\n'


def write(folder: Path, text: str, name: str = "my.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def qa(bench: Bench, recipe: str, *more: str, code: int) -> dict[str, Any]:
    """The one verdict of a test of the practice drive that ends with this exit code."""
    document = bench.json("qa", recipe, "--drive", "practice", *more, code=code)
    assert document["exit_code"] == code
    (verdict,) = document["verdicts"]
    assert isinstance(verdict, dict)
    return verdict


ERASE = ("--erase", "practice")


def test_a_drive_passes_and_every_output_shows_it(bench: Bench, tmp_path: Path) -> None:
    recipe = write(tmp_path, f"{SUITE}{FACT}{rate(0.1)}[after]\neject = true\n")
    files = {name: tmp_path / f"out.{name}" for name in ("junit", "csv", "events")}
    options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    config_file = bench.home / "benchstick.toml"
    config_file.parent.mkdir(exist_ok=True)
    config_file.write_text('event_log = "events.log"\n', encoding="utf-8")
    verdict = qa(bench, recipe, *ERASE, "--asset", "A-17", *options, code=0)
    config_file.unlink()
    assert (verdict["verdict"], verdict["reason"], verdict["labels"]) == (
        "pass",
        None,
        {"asset": "A-17"},
    )
    assert [item["state"] for item in verdict["limits"]] == ["held", "held"]
    assert verdict["limits"][1]["measured"] > 0.1
    # A file on a loop device cannot be ejected: the verdict reports it.
    assert (verdict["post_action"]["action"], verdict["post_action"]["is_done"]) == ("eject", False)
    (run,) = verdict["runs"]
    keys = {key_of(item) for item in bench.json("show", str(run["number"]))["results"]}
    entry = read(Path(recipe).read_bytes(), recipe).entries[0]
    # What a recipe is checked by is what the suite gives.
    assert keys == set(plan_check.results(entry, Match()) or ())
    assert bench.json("show", str(run["number"]))["uuid"] == run["uuid"]
    (row,) = csv.DictReader(files["csv"].read_text(encoding="utf-8").splitlines())
    assert (row["verdict"], row["asset"], row["exit_code"]) == ("pass", "A-17", "0")
    root = Xml.parse(files["junit"]).getroot()
    assert root is not None and (root.get("tests"), root.get("failures")) == ("2", "0")
    lines = files["events"].read_text(encoding="ascii").splitlines()
    assert (bench.home / "events.log").read_text(encoding="ascii").splitlines() == lines
    assert " event=started drive=practice " in lines[0] and "asset=A-17" in lines[0]
    assert "event=verdict" in lines[-1] and " verdict=pass " in lines[-1]
    verdicts = bench.json("verdict", "list")["verdicts"]
    assert [item["verdict"] for item in verdicts] == ["pass"]
    number = str(verdicts[0]["number"])
    stored_verdict = json.loads(bench.run("verdict", "show", number, "--format", "json").stdout)
    assert stored_verdict == {"number": verdicts[0]["number"], **verdict}
    export_document = json.loads(bench.run("export", str(run["number"]), "--format", "json").stdout)
    assert export_document["verdicts"] == [stored_verdict]
    assert bench.run("verdict", "show", number).stdout.startswith("PASS: practice ")
    assert bench.run("verdict", "show", "9999").returncode == 2


def test_a_limit_that_fails_is_named_and_the_test_done_again(bench: Bench, tmp_path: Path) -> None:
    recipe = write(tmp_path, f"retries = 1\n{SUITE}{rate(9e6)}")
    result = bench.run("qa", recipe, "--drive", "practice", *ERASE)
    assert result.returncode == 1
    assert "FAIL" in result.stdout and "tested again" in result.stderr
    last = bench.json("verdict", "list")["verdicts"][0]["number"]
    verdict = json.loads(bench.run("verdict", "show", str(last), "--format", "json").stdout)
    assert [item["code"] for item in verdict["failures"]] == ["figure-limit"]
    assert verdict["reason"].startswith("SEQ1M Q8T1 read of cdm: ")
    assert "required >= 9000000 MB/s" in verdict["reason"]
    assert (verdict["retries"], len(verdict["previous_attempts"])) == (1, 1)
    assert verdict["previous_attempts"][0]["reason"] != verdict["reason"]


class Watching:
    """Stands for an agent that saw drives being plugged in: its lock, and what it published."""

    def __init__(self, bench: Bench, *hotplugs: int) -> None:
        self._bench, self._hotplugs = bench, hotplugs
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> None:
        self._patch.setenv("BENCHSTICK_RUN", self._bench.environment["BENCHSTICK_RUN"])
        paths.make_run_folder()
        self._lock = locks.RunLock("agent")
        hotplugged.publish(self._hotplugs)

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self._patch.undo()


def test_data_is_erased_without_a_code_where_all_four_conditions_hold_and_nowhere_else(
    own_bench: Bench, tmp_path: Path
) -> None:
    bench = own_bench
    bench.run("practice")
    image = bench.home / "practice" / "practice.img"
    diskseq = bench.json("drive", "practice")["diskseq"]
    settings = bench.home / "benchstick.toml"

    def checksum() -> str:
        # All that is not zero, and where. Holes are left out: what the filesystem below takes for
        # one may change while nobody writes. What was written before is on its way no more.
        os.sync()
        digest, zero = hashlib.sha256(), bytes(4096)
        with image.open("rb") as file:
            at = 0
            while True:
                try:
                    start = os.lseek(file.fileno(), at, os.SEEK_DATA)
                except OSError:
                    return digest.hexdigest()
                at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                file.seek(start)
                for place in range(start, at, 4096):
                    block = file.read(min(4096, at - place))
                    if block != zero[: len(block)]:
                        digest.update(f"{place}:".encode() + block)

    def tested(*tops: str, code: int) -> dict[str, Any]:
        match = '[match]\ntransport = "virtual"\n'
        text = "".join(f"{top} = true\n" for top in tops) + match + SUITE + FACT
        return qa(bench, write(tmp_path, text), code=code)

    def refused(reason: str, *tops: str) -> None:
        before = checksum()
        verdict = tested(*tops, code=5)
        assert [item["code"] for item in verdict["inconclusive"]] == ["erase-not-allowed"]
        assert verdict["reason"] == f"erase not allowed: {reason}"
        assert verdict["runs"] == [] and checksum() == before

    settings.write_text('bench_ports = {"slot 1" = "practice"}\n', encoding="utf-8")
    with Watching(bench, diskseq):
        refused("the recipe does not say allow_erase = true")
        settings.write_text("", encoding="utf-8")
        refused("port practice is not listed in bench_ports", "allow_erase")
    settings.write_text('bench_ports = {"slot 1" = "practice"}\n', encoding="utf-8")
    with Watching(bench, diskseq + 1):
        refused("the drive was not plugged in while the agent was running", "allow_erase")
    refused("the drive was not plugged in while the agent was running", "allow_erase")
    with Watching(bench, diskseq):
        verdict = tested("allow_erase", code=0)
        assert (verdict["verdict"], verdict["drive"]["slot"]) == ("pass", "slot 1")
        contents = bench.json("drive", "practice")["contents"]["value"]
        assert "partition table" in contents
        refused(
            f"the drive is not blank ({contents}) and the recipe does not say erase_used = true",
            "allow_erase",
        )
        assert checksum() != hashlib.sha256().hexdigest()
        assert tested("allow_erase", "erase_used", code=0)["verdict"] == "pass"
        # Nobody has to name a drive that is on one of the bench's ports.
        text = f'allow_erase = true\n[match]\ntransport = "virtual"\n{SUITE}{FACT}'
        document = bench.json("qa", write(tmp_path, text), code=5)
        assert [item["drive"]["code"] for item in document["verdicts"]] == ["practice"]
    # A code of another drive is none.
    result = bench.run("qa", write(tmp_path, SUITE + FACT), "--drive", "practice", "--erase", "x")
    assert result.returncode == 2


@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_random_data_without_a_signature_is_not_blank(
    own_bench: Bench, tmp_path: Path, place: str
) -> None:
    """A VeraCrypt or plain dm-crypt container has no signature: all of it looks random."""
    bench = own_bench
    bench.run("practice")
    diskseq = bench.json("drive", "practice")["diskseq"]
    node = bench.json("drive", "practice")["path"]
    size, length = bench.json("drive", "practice")["capacity"]["value"], 64 << 20
    at = {"start": 0, "middle": size // 2 + 12345 * 512, "end": size - length}[place]
    data = os.urandom(length)
    with Path(node).open("r+b") as file:
        file.seek(at)
        file.write(data)
        os.fsync(file.fileno())
    (bench.home / "benchstick.toml").write_text(
        'bench_ports = {"slot 1" = "practice"}\n', encoding="utf-8"
    )
    text = f'allow_erase = true\n[match]\ntransport = "virtual"\n{SUITE}{FACT}'
    with Watching(bench, diskseq):
        verdict = qa(bench, write(tmp_path, text), code=5)
    assert [item["code"] for item in verdict["inconclusive"]] == ["erase-not-allowed"]
    assert "the drive is not blank (data of no known kind" in verdict["reason"]
    assert verdict["runs"] == []
    with Path(node).open("rb") as file:
        file.seek(at)
        assert file.read(length) == data


def test_a_recipe_for_other_drives_and_a_dry_run_start_nothing(
    bench: Bench, tmp_path: Path
) -> None:
    runs = len(bench.json("runs", "--practice")["runs"])
    other = write(tmp_path, f'{SUITE}{FACT}[match]\nsize = ">= 100TB"\n')
    verdict = qa(bench, other, *ERASE, code=5)
    assert [item["code"] for item in verdict["inconclusive"]] == ["no-match"]
    recipe = write(tmp_path, SUITE + FACT)
    result = bench.run("qa", recipe, "--drive", "practice", "--dry-run")
    assert result.returncode == 0
    assert "erase not allowed" in result.stdout
    result = bench.run("qa", recipe, "--drive", "practice", *ERASE, "--dry-run")
    assert "destroys the data" in result.stdout
    result = bench.run("qa", recipe, "--drive", "practice", *ERASE, "--scanned", "X-1", "--dry-run")
    assert "the scanned serial X-1 is not the drive's" in result.stdout
    assert "destroys the data" not in result.stdout
    verdict = qa(bench, recipe, *ERASE, "--scanned", "X-1", code=1)
    assert [item["code"] for item in verdict["failures"]] == ["serial-mismatch"]
    for argv in (("--drive", "practice", "--drive", "practice"), ()):
        assert bench.run("qa", recipe, *argv).returncode == 2
    bad = write(tmp_path, "name = 5\n", "bad.toml")
    result = bench.run("qa", bad, "--drive", "practice")
    assert result.returncode == 2
    assert f"{bad}:1: name: text is required\n" in result.stderr
    assert len(bench.json("runs", "--practice")["runs"]) == runs


LONG = """
[[suite]]
name = "cdm"
params = { passes = 1, time = 6, interval = 0, size = "32MiB", profile = "demo" }
"""


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ('[[stop]]\nrate_below = 1e6\nfor = "2 s"\n', "stopped-slow"),
        ('time_limit = "3 s"\n', "time-limit"),
    ],
)
def test_a_rule_ends_the_test_early_as_failed(
    bench: Bench, tmp_path: Path, rule: str, code: str
) -> None:
    text = f"{LONG}{FACT}{rule}" if rule.startswith("[") else f"{rule}{LONG}{FACT}"
    verdict = qa(bench, write(tmp_path, text), *ERASE, code=1)
    assert [item["code"] for item in verdict["failures"]] == [code]
    assert [run["state"] for run in verdict["runs"]] == ["cancelled"]


def test_a_cancelled_test_is_inconclusive_and_is_kept(bench: Bench, tmp_path: Path) -> None:
    recipe = write(tmp_path, LONG + FACT)
    process = bench.start("qa", recipe, "--drive", "practice", *ERASE, "--json")
    wait_for(lambda: [r for r in bench.json("runs", "--practice")["runs"]
                      if r["state"] == "running"])  # fmt: skip
    # During it the drive is in use.
    assert qa(bench, recipe, *ERASE, code=3)["inconclusive"][0]["code"] == "refused"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    (verdict,) = json.loads(out)["verdicts"]
    assert (verdict["verdict"], verdict["inconclusive"][0]["code"]) == ("inconclusive", "cancelled")
    assert bench.json("verdict", "list")["verdicts"][0]["exit_code"] == 130


def test_a_test_whose_process_is_killed_has_a_verdict_and_ends_with_who_asked(
    bench: Bench, tmp_path: Path
) -> None:
    recipe = write(tmp_path, LONG + FACT)

    def running() -> Any:
        return [r for r in bench.json("runs", "--practice")["runs"] if r["state"] == "running"]

    process = bench.start("qa", recipe, "--drive", "practice", *ERASE, "--json")
    wait_for(running)
    (pid,) = processes_of(bench)
    os.kill(pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 70
    (verdict,) = json.loads(out)["verdicts"]
    assert verdict["inconclusive"][0]["code"] == "internal-error"
    process = bench.start("qa", recipe, "--drive", "practice", *ERASE, "--json")
    wait_for(running)
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not running())
    wait_for(lambda: not processes_of(bench))
    assert bench.json("verdict", "list")["verdicts"][0]["exit_code"] == 130


def processes_of(bench: Bench) -> list[int]:
    """The processes that test a drive for this bench. One that was forked to become a tool has its
    parent's command line for a moment: it is not one of them."""
    parents = {}
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"benchstick.qa.drive_session" in command and str(bench.home).encode() in environment:
            parents[int(entry.name)] = parent
    return [pid for pid, parent in parents.items() if parent not in parents]
