"""Runs every test, level by level, and says at the end what was run (scripts/run-tests).

The levels are lint, unit (pure), host (loop drives), web (browser), guest (inside the VM, one
boot for each file), vm (driving the VM) and image (the booted stick, when `make image` has built
one). Each is a process with a time limit and a result file in .cache/results. The level host waits
for its drives most of the time: lint, unit and web run beside it, and what it says comes after
them. The others have the machine to themselves.
tests/required.txt names the tests that must have run: one that did not, or was skipped, is a
failure, as is a level in which nothing was collected.

SKIP=vm leaves out guest, vm and image, and the last line says so. LEVEL=unit,web runs only those.
`run-tests check-settings` only checks SKIP and LEVEL. Exit codes: 0 all passed, 1 something
failed, 2 a bad setting.
"""

from __future__ import annotations

import fnmatch
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

CLONE = Path(__file__).resolve().parent.parent
RESULTS = CLONE / ".cache/results"
REQUIRED = CLONE / "tests/required.txt"
# After the time limit pytest gets a moment to write down what it has.
GRACE_S = 30
# scripts/vm's exit code when the guest ended without one.
VM_LOST = 125


@dataclass(frozen=True)
class Level:
    """One group of tests; `folders` are relative to the clone, none for what is not pytest."""

    name: str
    limit_s: int
    folders: tuple[str, ...] = ()

    def owns(self, test: str) -> bool:
        """Whether a node id (or a pattern of one) belongs here."""
        inside = any(test.startswith(f"{folder}/") for folder in self.folders)
        return inside and not (self.name == "vm" and test.startswith("tests/vm/guest/"))


LEVELS = (
    Level("lint", 600),
    Level("unit", 900, ("tests/unit", "tests/hardware")),
    Level("host", 2400, ("tests/host",)),
    Level("web", 1200, ("tests/web",)),
    Level("guest", 3300, ("tests/vm/guest",)),
    Level("vm", 2700, ("tests/vm",)),
    Level("image", 3000, ("tests/image",)),
)
VM_LEVELS = ("guest", "vm", "image")
# These run one after the other, beside `host`.
BESIDE_HOST = ("lint", "unit", "web")
# Processes that share the level host, a file of tests at a time.
HOST_WORKERS = 4
# Processes that share a guest file's drives where it says which test has which (LANES).
GUEST_WORKERS = 3
# What is running, to be ended with this program.
RUNNING: set[subprocess.Popen[bytes]] = set()
IMAGE = CLONE / "output/images/benchstick-x86_64.img"


@dataclass(frozen=True)
class Result:
    """What became of one test: `state` is passed, failed or skipped."""

    test: str
    state: str
    seconds: float = 0.0
    why: str = ""


class BadSetting(Exception):
    """SKIP or LEVEL holds something else than it may."""


def chosen_levels(env: Mapping[str, str]) -> tuple[list[Level], str]:
    """The levels to run, and what stands before the last line when that is not all of them."""
    skip, only = env.get("SKIP", ""), env.get("LEVEL", "")
    if skip not in ("", "vm"):
        raise BadSetting(f"SKIP={skip}: only SKIP=vm can be left out")
    names = {level.name for level in LEVELS}
    wanted = set(filter(None, only.split(","))) or names
    if unknown := wanted - names:
        raise BadSetting(f"LEVEL={','.join(sorted(unknown))}: the levels are {', '.join(names)}")
    left_out = set(VM_LEVELS) if skip else set()
    prefix = "".join(f"{n}={v}: " for n, v in (("LEVEL", only), ("SKIP", skip)) if v)
    return [level for level in LEVELS if level.name in wanted - left_out], prefix


def command_of(level: Level, report: Path) -> list[str]:
    """The command that runs a level; pytest writes its results to `report`."""
    if level.name == "lint":
        return [str(CLONE / "scripts/lint")]
    pytest = ["python", "-m", "pytest", f"--junitxml={report}", "-o", "junit_family=xunit1"]
    if level.name == "host":
        # Most of a test's time is waiting for its drive; a file's tests share one.
        pytest += ["-n", str(HOST_WORKERS), "--dist", "loadfile"]
    pytest += [folder for folder in level.folders if any((CLONE / folder).rglob("test_*.py"))]
    return pytest


def environment() -> dict[str, str]:
    """Tools as the bench has them: .venv first, then the current fio."""
    path = [f"{CLONE}/.venv/bin", f"{CLONE}/.cache/fio/bin", os.environ.get("PATH", "")]
    env = {name: value for name, value in os.environ.items() if name != "BENCHSTICK_HOME"}
    return env | {"PATH": ":".join(path)}


def run_levels(levels: list[Level]) -> list[Result]:
    """Runs them all, what can run beside `host` beside it."""
    host = next((level for level in levels if level.name == "host"), None)
    beside = [level for level in levels if host is not None and level.name in BESIDE_HOST]
    results = []
    if host is not None and beside:
        results += run_beside(host, beside)
    for level in levels:
        if not beside or level not in (host, *beside):
            results += run_level(level)
    return results


def run_beside(slow: Level, others: list[Level]) -> list[Result]:
    """`slow` beside the others; what it says is kept and printed after them, whatever happens."""
    said = RESULTS / f"{slow.name}.log"
    print(f"\n=== {slow.name} runs beside the next; what it says comes after them", flush=True)
    with said.open("w") as log, ThreadPoolExecutor(1) as pool:
        kept = pool.submit(run_level, slow, log)
        try:
            results = [result for level in others for result in run_level(level)]
            return results + kept.result()
        except BaseException:
            end_all()
            raise
        finally:
            wait([kept])
            log.flush()
            print(said.read_text(errors="replace"), flush=True)


def run_level(level: Level, log: TextIO | None = None) -> list[Result]:
    """Runs one level and gives its results; a level that breaks is a failure itself.

    What it says goes to `log`, where there is one.
    """
    report = RESULTS / f"{level.name}.xml"
    report.unlink(missing_ok=True)
    print(f"\n=== {level.name} (at most {level.limit_s} s)", file=log, flush=True)
    if level.folders and not any(any((CLONE / f).rglob("test_*.py")) for f in level.folders):
        return [Result(level.name, "failed", why="there is no test in it")]
    if level.name == "guest":
        return run_guest(level)
    begin = time.monotonic()
    code = run_limited(command_of(level, report), level.limit_s, log)
    seconds = time.monotonic() - begin
    if not level.folders:
        state = "failed" if code else "passed"
        return [Result(level.name, state, seconds, f"exit code {code}" if code else "")]
    return judged(level.name, report, code, level.limit_s)


def run_guest(level: Level) -> list[Result]:
    """The tests inside the VM, a boot for each file, all within the level's time.

    QEMU's plain emulation now and then breaks the guest's kernel. A VM that is lost is booted once
    more, which is told; a test that fails is not tried again.
    """
    deadline = time.monotonic() + level.limit_s
    results: list[Result] = []
    for file in sorted((CLONE / "tests/vm/guest").glob("test_*.py")):
        name = f"{level.name}:{file.stem}"
        report = RESULTS / f"{level.name}-{file.stem}.xml"
        command = [str(CLONE / "scripts/vm"), "python", "-m", "pytest", f"--junitxml={report}",
                   "-o", "junit_family=xunit1", str(file.relative_to(CLONE))]  # fmt: skip
        if "\nLANES = " in file.read_text():
            command += ["-n", str(GUEST_WORKERS), "--dist", "loadscope"]
        for attempt in (1, 2):
            report.unlink(missing_ok=True)
            left = max(1.0, deadline - time.monotonic())
            code = run_limited(command, left)
            if code != VM_LOST or attempt == 2:
                break
            print(f"{name}: the VM was lost; booted once more", flush=True)
        results += judged(name, report, code, left)
    return results


def judged(name: str, report: Path, code: int | None, limit_s: float) -> list[Result]:
    """The results in a report, and a failure more when the process itself did not end well."""
    results = list(read_report(report)) if report.exists() else []
    # 1 is pytest's "some tests failed"; anything else but 0 means that the level itself broke
    if code is None:
        results.append(Result(name, "failed", why=f"not done after {limit_s:.0f} s"))
    elif not results:
        results.append(Result(name, "failed", why=f"no test was run, exit code {code}"))
    elif code and not (code == 1 and any(r.state == "failed" for r in results)):
        results.append(Result(name, "failed", why=f"exit code {code}"))
    return results


def run_limited(command: list[str], limit_s: float, log: TextIO | None = None) -> int | None:
    """The command's exit code; None when it had to be ended after `limit_s`."""
    process = subprocess.Popen(
        command,
        cwd=CLONE,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    RUNNING.add(process)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        end(process)
        RUNNING.discard(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a level's process and all that belongs to it."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def end_all() -> None:
    """Ends every level that is running, whichever thread waits for it."""
    for process in list(RUNNING):
        end(process)


def read_report(report: Path) -> Iterable[Result]:
    """The results in a JUnit file as pytest writes it (xunit1: with each test's file)."""
    worst: dict[str, Result] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        result = _result_of(case)
        known = worst.get(result.test)
        # A test whose teardown breaks is there twice.
        if known is None or known.state != "failed":
            worst[result.test] = result
    return worst.values()


def _result_of(case: ElementTree.Element) -> Result:
    file, name = case.get("file"), case.get("name", "")
    classname = case.get("classname", "")
    if file is None:  # a module that could not be collected
        test = ".".join(filter(None, (classname, name)))
    else:
        module = file.removesuffix(".py").replace("/", ".")
        classes = classname.removeprefix(module).strip(".")
        test = "::".join(filter(None, (file, classes.replace(".", "::"), name)))
    seconds = float(case.get("time", 0))
    for kind in ("failure", "error", "skipped"):
        child = case.find(kind)
        if child is not None:
            state = "skipped" if kind == "skipped" else "failed"
            why = (child.get("message") or "").partition("\n")[0]
            return Result(test, state, seconds, why)
    return Result(test, "passed", seconds)


def missing_required(levels: list[Level], results: list[Result]) -> list[Result]:
    """A failure for each line of tests/required.txt without a test that ran to its end."""
    problems = []
    for line in REQUIRED.read_text().splitlines():
        wanted = line.partition("#")[0].strip()
        if not wanted:
            continue
        if not any(level.owns(wanted) for level in LEVELS):
            problems.append(Result(wanted, "failed", why="no level runs this required test"))
        if not any(level.owns(wanted) for level in levels):
            continue
        found = [r for r in results if _matches(r.test, wanted)]
        if not found:
            problems.append(Result(wanted, "failed", why="required test did not run"))
        problems += [
            Result(r.test, "failed", why=f"required test was skipped: {r.why}")
            for r in found
            if r.state == "skipped"
        ]
    return problems


def _matches(test: str, wanted: str) -> bool:
    # In a pattern only * is special: node ids hold brackets. A name without its parameters means
    # all of them.
    pattern = wanted.replace("[", "[[]")
    return fnmatch.fnmatchcase(test, pattern) or test.startswith(f"{wanted}[")


def summarise(results: list[Result], prefix: str, seconds: float) -> int:
    """Prints skips, failures, the slowest ten and the last line; gives the exit code."""
    for state in ("skipped", "failed"):
        for result in (r for r in results if r.state == state):
            print(f"{state}: {result.test}: {result.why}")
    print(f"\nthe slowest of {len(results)} tests ({seconds:.0f} s in all):")
    for result in sorted(results, key=lambda r: -r.seconds)[:10]:
        print(f"{result.seconds:8.1f} s  {result.test}")
    count = Counter(result.state for result in results)
    print()
    print(f"{prefix}{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


def main() -> int:
    try:
        levels, prefix = chosen_levels(os.environ)
    except BadSetting as error:
        print(f"benchstick: error: {error}", file=sys.stderr)
        return 2
    if sys.argv[1:] == ["check-settings"]:
        return 0
    RESULTS.mkdir(parents=True, exist_ok=True)
    if not IMAGE.exists() and any(level.name == "image" for level in levels):
        print(f"image: not run: {IMAGE.relative_to(CLONE)} is not there; make image builds it")
        levels = [level for level in levels if level.name != "image"]
    begin = time.monotonic()
    results = run_levels(levels)
    results += missing_required(levels, results)
    return summarise(results, prefix, time.monotonic() - begin)


def stop(number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
