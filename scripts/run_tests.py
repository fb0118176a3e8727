"""Runs every test, level by level, and reports at the end what was run (scripts/run-tests).

The levels are lint, unit (pure), host (loop drives), web (browser), guest (inside the VM), vm
(driving the VM) and image (the booted stick, when `make image` has built one); guard is the part
of host that shows that no drive is written by error. Each is a process with a time limit, a
result file and a log in .cache/results.

The level host waits for its loop drives most of the time: lint, unit and web run with it, two at
a time. Then come the levels with a VM, two VMs at a time, each with half of the processors
(taskset): a test that measures has those to itself. The level image runs last and alone. A
level's output is printed when it ends. The files of guest share boots (GUEST_BOOTS).

tests/required.txt names the tests that must have run: one that did not, or was skipped, is a
failure, as is a level in which nothing was collected. tests/durations.tsv has the seconds of each
test on two cores, best saved on a quiet machine: tests that now take a fifth longer are listed.

SKIP=vm leaves out guest, vm and image, and the last line shows it. LEVEL=unit,web runs only those,
LEVEL=quick runs lint, unit, web and guard. DURATIONS=update saves the durations of this run.
`run-tests check-settings` only checks these. Exit codes: 0 all passed, 1 something failed, 2 a
bad setting.
"""

from __future__ import annotations

import fnmatch
import os
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

CLONE = Path(__file__).resolve().parent.parent
RESULTS = CLONE / ".cache/results"
REQUIRED = CLONE / "tests/required.txt"
DURATIONS = CLONE / "tests/durations.tsv"
DURATIONS_HEAD = "# seconds\ttest, with 2 cores: DURATIONS=update make test\n"
# A test is listed as slower when it takes this much longer, and so many seconds at least.
GROWTH, GROWTH_S = 1.2, 1.0
SLOWER_LISTED = 30
# After the time limit pytest gets a moment to write down what it has.
GRACE_S = 30
# scripts/vm's exit code when the guest ended without one.
VM_LOST = 125
# Of a guest's file that did not end although the guest did.
NO_CODE = 70


@dataclass(frozen=True)
class Level:
    """One group of tests; `folders` (or files) are relative to the clone, none for what is not
    pytest. `files` are the names of those of one job, where the level is divided into several.
    `is_alone`: nothing else may run at the same time."""

    name: str
    limit_s: int
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_alone: bool = False

    def owns(self, test: str) -> bool:
        """Whether a node id (or a pattern of one) belongs here."""
        inside = any(test.startswith((f"{folder}/", f"{folder}::")) for folder in self.folders)
        return inside and not (self.name == "vm" and test.startswith("tests/vm/guest/"))

    @property
    def title(self) -> str:
        """The name, with the files where the job has a part of them."""
        return f"{self.name} ({', '.join(self.files)})" if self.files else self.name

    @property
    def key(self) -> str:
        """The name of its files in .cache/results."""
        return f"{self.name}-{self.files[0]}" if self.files else self.name


# In the order in which they start: what finds most faults in a minute comes first.
LEVELS = (
    Level("host", 3000, ("tests/host",)),
    Level("lint", 600),
    Level("unit", 900, ("tests/unit", "tests/hardware")),
    Level("web", 1800, ("tests/web",)),
    Level("guest", 4500, ("tests/vm/guest",)),
    Level("vm", 3600, ("tests/vm",)),
    Level("image", 3000, ("tests/image",), is_alone=True),
)
GUARD = Level("guard", 600, ("tests/host/test_guard.py",))
QUICK = ("web", "lint", "unit", "guard")
VM_LEVELS = ("guest", "vm", "image")
# The guest's files by the boot that they share, the longest boot first; files that are not here go
# with the first. tests/vm/guest_files.py wipes the drives between.
GUEST_BOOTS = (
    ("test_drives", "test_guard", "test_leave", "test_scanner", "test_copier_fs", "test_purge"),
    ("test_block_suites",),
    ("test_suites",),
)
# So many jobs that need no VM run at a time, and the level host with them.
LANES_WITHOUT_VM = 2
# Two VMs of 4 GiB each, and what runs at the same time.
RAM_OF_TWO_VMS = 10 << 30
# Processes that share a level, a file of tests at a time. Most of the time of a test of host is
# waiting for its drive.
WORKERS = {"host": 4, "guard": 4, "web": 2}
# What is running, to be ended with this program.
RUNNING: set[subprocess.Popen[bytes]] = set()
STOPPED = threading.Event()
PRINTING = threading.Lock()
IMAGE = CLONE / "output/images/benchstick-x86_64.img"


@dataclass(frozen=True)
class Result:
    """The outcome of one test: `state` is passed, failed or skipped."""

    test: str
    state: str
    seconds: float = 0.0
    reason: str = ""


class BadSetting(Exception):
    """SKIP, LEVEL or DURATIONS holds something else than it may."""


def chosen_levels(env: Mapping[str, str]) -> tuple[list[Level], str]:
    """The levels to run, and what stands before the last line when that is not all of them."""
    skip, only = env.get("SKIP", ""), env.get("LEVEL", "")
    if skip not in ("", "vm"):
        raise BadSetting(f"SKIP={skip}: only SKIP=vm can be left out")
    if env.get("DURATIONS", "") not in ("", "update"):
        raise BadSetting(f"DURATIONS={env['DURATIONS']}: only DURATIONS=update saves them")
    by_name = {level.name: level for level in (*LEVELS, GUARD)}
    level_names = list(QUICK) if only == "quick" else list(filter(None, only.split(",")))
    if unknown := set(level_names) - set(by_name):
        names = ", ".join(by_name)
        raise BadSetting(f"LEVEL={','.join(sorted(unknown))}: the levels are {names}; or quick")
    left_out = VM_LEVELS if skip else ()
    prefix = "".join(f"{n}={v}: " for n, v in (("LEVEL", only), ("SKIP", skip)) if v)
    names_in_order = list(dict.fromkeys(level_names)) or [level.name for level in LEVELS]
    if {"host", "guard"} <= set(names_in_order):
        names_in_order.remove("guard")
    return [by_name[name] for name in names_in_order if name not in left_out], prefix


def command_of(level: Level, report: Path) -> list[str]:
    """The command that runs a level; pytest writes its results to `report`."""
    if level.name == "lint":
        return [str(CLONE / "scripts/lint")]
    pytest = ["python", "-m", "pytest", f"--junitxml={report}", "-o", "junit_family=xunit1"]
    if level.name in WORKERS:
        pytest += ["-n", str(WORKERS[level.name]), "--dist", "loadfile"]
    if level.files:
        return [*pytest, *(f"{level.folders[0]}/{stem}.py" for stem in level.files)]
    return [*pytest, *(folder for folder in level.folders if has_tests(folder))]


def has_tests(folder: str) -> bool:
    """Whether the folder, or file, has tests."""
    path = CLONE / folder
    return path.is_file() or bool(list(path.rglob("test_*.py")))


def environment() -> dict[str, str]:
    """Tools as the bench has them: .venv first, then the current fio."""
    path = [f"{CLONE}/.venv/bin", f"{CLONE}/.cache/fio/bin", os.environ.get("PATH", "")]
    env = {name: value for name, value in os.environ.items() if name != "BENCHSTICK_HOME"}
    return env | {"PATH": ":".join(path)}


def jobs_of(levels: Iterable[Level]) -> list[Level]:
    """What is started: the levels, guest as one job for each boot, vm as one for each file."""
    jobs: list[Level] = []
    for level in levels:
        if level.name == "guest":
            jobs += guest_boots(level)
        elif level.name == "vm":
            jobs += vm_parts(level)
        else:
            jobs.append(level)
    return jobs


def guest_boots(level: Level) -> list[Level]:
    """The level guest, a boot at a time. Each test file is in one of them."""
    stems = sorted(file.stem for file in (CLONE / "tests/vm/guest").glob("test_*.py"))
    boots = [[stem for stem in boot if stem in stems] for boot in GUEST_BOOTS]
    boots[0] += [stem for stem in stems if not any(stem in boot for boot in boots)]
    return [replace(level, files=tuple(boot)) for boot in boots if boot]


def vm_parts(level: Level) -> list[Level]:
    """A job for each file of vm, the longest first by the saved durations."""
    return [replace(level, files=(stem,)) for stem in seconds_by_file(level)]


def seconds_by_file(level: Level) -> dict[str, float]:
    """The saved durations of the level's files, the longest first; a second for an unknown one."""
    folder = level.folders[0]
    seconds = {file.stem: 1.0 for file in sorted((CLONE / folder).glob("test_*.py"))}
    for test, duration in saved_durations().items():
        path = Path(test.partition("::")[0])
        if str(path.parent) == folder and path.stem in seconds:
            seconds[path.stem] += duration
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def lanes_of(cpus: Iterable[int]) -> list[tuple[int, ...]]:
    """The processors of each VM that runs at a time: half of them, where two VMs fit."""
    cpu_list = sorted(cpus)
    half = len(cpu_list) // 2 if vms_at_once() > 1 else 0
    return [tuple(cpu_list[:half]), tuple(cpu_list[half:])] if half else [tuple(cpu_list)]


def vms_at_once() -> int:
    """How many VMs fit in this machine's RAM."""
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 2 if ram >= RAM_OF_TWO_VMS else 1


def needs_vm(job: Level) -> bool:
    """Whether the job boots VMs."""
    return job.name in VM_LEVELS


def run_levels(levels: list[Level]) -> list[Result]:
    """Run them all: what needs no VM, then the VMs, then what must be alone."""
    jobs = jobs_of(levels)
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    if len(jobs) == 1:
        return run_level(jobs[0])
    with_vm = [job for job in jobs if needs_vm(job) and not job.is_alone]
    results = run_jobs([job for job in jobs if not needs_vm(job)], [cpus] * LANES_WITHOUT_VM)
    results += run_jobs(with_vm, lanes_of(cpus))
    return results + run_jobs([job for job in jobs if job.is_alone], [cpus])


def run_jobs(jobs: list[Level], lanes: list[tuple[int, ...]]) -> list[Result]:
    """Run the jobs in their order, one in each lane at a time; the level host runs with all."""
    waiting = deque(job for job in jobs if job.name != "host")
    with ThreadPoolExecutor(len(lanes) + 1) as pool:
        parts = [pool.submit(run_logged, job, lanes[0]) for job in jobs if job.name == "host"]
        parts += [pool.submit(run_lane, waiting, lane) for lane in lanes]
        try:
            return [result for part in parts for result in part.result()]
        except BaseException:
            STOPPED.set()
            end_all()
            raise


def run_lane(waiting: deque[Level], cpus: tuple[int, ...]) -> list[Result]:
    """Run jobs on these processors until none is left."""
    results: list[Result] = []
    while waiting and not STOPPED.is_set():
        try:
            job = waiting.popleft()
        except IndexError:
            break
        results += run_logged(job, cpus)
    return results


def run_logged(job: Level, cpus: tuple[int, ...]) -> list[Result]:
    """Run a job with its output in a log, which is printed as a whole, whatever happens."""
    log_file = RESULTS / f"{job.key}.log"
    where = ",".join(map(str, cpus))
    with PRINTING:
        print(f"=== {job.title} starts on CPU {where}: {log_file.relative_to(CLONE)}", flush=True)
    try:
        with log_file.open("w") as log:
            return run_level(job, cpus, log)
    finally:
        with PRINTING:
            print(log_file.read_text(errors="replace"), flush=True)


def run_level(level: Level, cpus: tuple[int, ...] = (), log: TextIO | None = None) -> list[Result]:
    """Run one level on these processors (none: on all) and give its results; a level that breaks
    is a failure itself. Its output goes to `log`, where there is one."""
    report = RESULTS / f"{level.key}.xml"
    report.unlink(missing_ok=True)
    print(f"\n=== {level.title} (at most {level.limit_s} s)", file=log, flush=True)
    if level.folders and not any(has_tests(folder) for folder in level.folders):
        return [Result(level.name, "failed", reason="there is no test in it")]
    if level.name == "guest":
        return run_guest(level, cpus, log)
    start = time.monotonic()
    code = run_limited(pinned(command_of(level, report), cpus), level.limit_s, log)
    seconds = time.monotonic() - start
    if not level.folders:
        state = "failed" if code else "passed"
        return [Result(level.name, state, seconds, f"exit code {code}" if code else "")]
    return judged(level.key, report, code, level.limit_s)


def pinned(command: list[str], cpus: tuple[int, ...]) -> list[str]:
    """The command, kept to these processors."""
    return ["taskset", "-c", ",".join(map(str, cpus)), *command] if cpus else command


def run_guest(level: Level, cpus: tuple[int, ...], log: TextIO | None = None) -> list[Result]:
    """The files of one boot, all within the level's time.

    QEMU's plain emulation now and then breaks the guest's kernel. A VM that is lost is booted
    again for the files that have not ended, which is printed; a file in which the VM is lost twice
    is a failure. A test that fails is not tried again.
    """
    deadline = time.monotonic() + level.limit_s
    results: list[Result] = []
    losses: Counter[str] = Counter()
    waiting = list(level.files)
    for stem in waiting:
        for end in ("xml", "code"):
            (RESULTS / f"guest-{stem}.{end}").unlink(missing_ok=True)
    while waiting:
        time_left = max(1.0, deadline - time.monotonic())
        # No port: another VM may be running.
        command = ["env", "BENCHSTICK_VM_PORT=0", str(CLONE / "scripts/vm"),
                   "python", "tests/vm/guest_files.py", *waiting]  # fmt: skip
        code = run_limited(pinned(command, cpus), time_left, log)
        codes = {stem: status for stem in waiting if (status := exit_code_of(stem)) is not None}
        for stem, file_code in codes.items():
            results += judged(f"guest:{stem}", RESULTS / f"guest-{stem}.xml", file_code, time_left)
        waiting = [stem for stem in waiting if stem not in codes]
        if not waiting:
            break
        # The first that has not ended is the one that was running.
        stem = waiting[0]
        losses[stem] += 1
        if code != VM_LOST or losses[stem] > 1:
            waiting.remove(stem)
            report = RESULTS / f"guest-{stem}.xml"
            results += judged(f"guest:{stem}", report, NO_CODE if code == 0 else code, time_left)
        if code is None or STOPPED.is_set():
            results += [Result(f"guest:{stem}", "failed", reason="did not run") for stem in waiting]
            break
        if waiting:
            print(f"guest:{stem}: the VM was lost; booted again for {', '.join(waiting)}",
                  file=log, flush=True)  # fmt: skip
    return results


def exit_code_of(stem: str) -> int | None:
    """The exit code of a guest's file, None where it has not ended."""
    try:
        return int((RESULTS / f"guest-{stem}.code").read_text())
    except (FileNotFoundError, ValueError):
        return None


def judged(name: str, report: Path, code: int | None, limit_s: float) -> list[Result]:
    """The results in a report, and a failure more when the process itself did not end well."""
    results = list(read_report(report)) if report.exists() else []
    # 1 is pytest's "some tests failed"; anything else but 0 means that the level itself broke
    if code is None:
        results.append(Result(name, "failed", reason=f"not done after {limit_s:.0f} s"))
    elif not results:
        results.append(Result(name, "failed", reason=f"no test was run, exit code {code}"))
    elif code and not (code == 1 and any(r.state == "failed" for r in results)):
        results.append(Result(name, "failed", reason=f"exit code {code}"))
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
    """End every level that is running, whichever thread waits for it."""
    for process in list(RUNNING):
        end(process)


def read_report(report: Path) -> Iterable[Result]:
    """The results in a JUnit file as pytest writes it (xunit1: with each test's file)."""
    worst: dict[str, Result] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        result = _result_of(case)
        old_result = worst.get(result.test)
        # A test whose teardown breaks is there twice.
        if old_result is None or old_result.state != "failed":
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
            reason = (child.get("message") or "").partition("\n")[0]
            return Result(test, state, seconds, reason)
    return Result(test, "passed", seconds)


def missing_required(levels: list[Level], results: list[Result]) -> list[Result]:
    """A failure for each line of tests/required.txt without a test that ran to its end."""
    problems = []
    for line in REQUIRED.read_text().splitlines():
        name = line.partition("#")[0].strip()
        if not name:
            continue
        if not any(level.owns(name) for level in LEVELS):
            problems.append(Result(name, "failed", reason="no level runs this required test"))
        if not any(level.owns(name) for level in levels):
            continue
        matches = [r for r in results if _matches(r.test, name)]
        if not matches:
            problems.append(Result(name, "failed", reason="required test did not run"))
        problems += [
            Result(r.test, "failed", reason=f"required test was skipped: {r.reason}")
            for r in matches
            if r.state == "skipped"
        ]
    return problems


def _matches(test: str, name: str) -> bool:
    # In a pattern only * is special: node ids hold brackets. A name without its parameters means
    # all of them.
    pattern = name.replace("[", "[[]")
    return fnmatch.fnmatchcase(test, pattern) or test.startswith(f"{name}[")


def saved_durations() -> dict[str, float]:
    """Seconds by test, as they were saved; empty where none are."""
    try:
        lines = DURATIONS.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {test: float(seconds) for seconds, test in pairs}


def save_durations(results: list[Result]) -> None:
    """Save the seconds of each test that passed; those that did not run keep theirs."""
    durations = saved_durations()
    durations |= {r.test: r.seconds for r in results if r.state == "passed"}
    lines = [f"{seconds:.1f}\t{test}\n" for test, seconds in sorted(durations.items())]
    DURATIONS.write_text(DURATIONS_HEAD + "".join(lines), encoding="utf-8")


def slower_tests(results: list[Result], before: Mapping[str, float]) -> list[str]:
    """A line for each test that takes a fifth longer than it did, the worst first."""
    increases = [
        (result.seconds - before[result.test], result)
        for result in results
        if result.test in before
        and result.seconds > GROWTH * before[result.test]
        and result.seconds - before[result.test] >= GROWTH_S
    ]
    increases.sort(key=lambda pair: -pair[0])
    lines = [f"{r.seconds:8.1f} s, was {before[r.test]:.1f} s  {r.test}" for _, r in increases]
    more = len(lines) - SLOWER_LISTED
    return [*lines[:SLOWER_LISTED], f"and {more} more"] if more > 0 else lines


def summarise(results: list[Result], prefix: str, seconds: float) -> int:
    """Print skips, failures, the slowest ten, those that grew, the total time and the last line;
    give the exit code."""
    for state in ("skipped", "failed"):
        for result in (r for r in results if r.state == state):
            print(f"{state}: {result.test}: {result.reason}")
    print(f"\nthe slowest of {len(results)} tests:")
    for result in sorted(results, key=lambda r: -r.seconds)[:10]:
        print(f"{result.seconds:8.1f} s  {result.test}")
    if slower := slower_tests(results, saved_durations()):
        print("\nslower by a fifth or more than in tests/durations.tsv:")
        print("\n".join(slower))
    print(f"\ntotal time: {seconds // 60:.0f} min {seconds % 60:.0f} s")
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
    start = time.monotonic()
    results = run_levels(levels)
    results += missing_required(levels, results)
    code = summarise(results, prefix, time.monotonic() - start)
    if os.environ.get("DURATIONS") == "update":
        save_durations(results)
    return code


def stop(number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
