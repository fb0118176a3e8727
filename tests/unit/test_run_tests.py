"""The test runner: which levels run where, boots that are shared and lost, durations."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import run_tests
import vm_machine
import vm_run
from run_tests import BadSetting, Level, Result

from tests.vm import guest_files

REPORT = """<testsuites><testsuite><testcase classname="tests.vm.guest.{stem}" name="test_a"
 file="tests/vm/guest/{stem}.py" time="2.5" /></testsuite></testsuites>"""
Boot = Callable[[list[str]], tuple[list[str], int | None]]


def names(env: dict[str, str]) -> tuple[list[str], str]:
    levels, prefix = run_tests.chosen_levels(env)
    return [level.name for level in levels], prefix


def test_levels_are_chosen_by_the_settings() -> None:
    everything, prefix = names({})
    assert sorted(everything) == ["guest", "host", "image", "lint", "unit", "vm", "web"]
    assert prefix == ""
    assert names({"SKIP": "vm"}) == (["host", "lint", "unit", "web"], "SKIP=vm: ")
    assert names({"LEVEL": "unit,web"}) == (["unit", "web"], "LEVEL=unit,web: ")
    quick, prefix = names({"LEVEL": "quick"})
    assert (sorted(quick), prefix) == (["guard", "lint", "unit", "web"], "LEVEL=quick: ")
    # The tests of guard are in host.
    assert names({"LEVEL": "host,guard"})[0] == ["host"]


@pytest.mark.parametrize(
    "env",
    [{"SKIP": "web"}, {"LEVEL": "unit,nosuch"}, {"DURATIONS": "yes"}],
    ids=str,
)
def test_a_setting_that_cannot_be_is_refused(env: dict[str, str]) -> None:
    (name,) = env
    with pytest.raises(BadSetting, match=name):
        run_tests.chosen_levels(env)


def test_guard_owns_its_file_alone() -> None:
    assert run_tests.GUARD.owns("tests/host/test_guard.py::*")
    assert not run_tests.GUARD.owns("tests/host/test_erase.py::*")
    assert not run_tests.GUARD.owns("tests/unit/test_guard.py::*")
    command = run_tests.command_of(run_tests.GUARD, Path("r.xml"))
    assert command[-1] == "tests/host/test_guard.py"
    missing = run_tests.missing_required([run_tests.GUARD], [])
    assert [item.test for item in missing] == ["tests/host/test_guard.py::*"]


def test_vms_have_processors_of_their_own_where_two_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tests, "vms_at_once", lambda: 2)
    assert run_tests.lanes_of([0]) == [(0,)]
    assert run_tests.lanes_of([1, 0]) == [(0,), (1,)]
    assert run_tests.lanes_of([0, 2, 4, 6, 8]) == [(0, 2), (4, 6, 8)]
    monkeypatch.setattr(run_tests, "vms_at_once", lambda: 1)
    assert run_tests.lanes_of([0, 1]) == [(0, 1)]
    assert run_tests.pinned(["true"], (4, 6)) == ["taskset", "-c", "4,6", "true"]
    assert run_tests.pinned(["true"], ()) == ["true"]


def test_each_file_of_vm_is_a_job() -> None:
    (level,) = (level for level in run_tests.LEVELS if level.name == "vm")
    parts = run_tests.vm_parts(level)
    stems = {path.stem for path in (run_tests.CLONE / "tests/vm").glob("test_*.py")}
    assert sorted(part.files for part in parts) == [(stem,) for stem in sorted(stems)]
    assert len({part.key for part in parts}) == len(parts)


def test_the_longest_file_of_vm_starts_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (level,) = (level for level in run_tests.LEVELS if level.name == "vm")
    durations_file = tmp_path / "durations.tsv"
    durations_file.write_text(
        "10.0\ttests/vm/test_page.py::test_a\n300.0\ttests/vm/test_duplicate_serials.py::test_b[x]\n"
        "900.0\ttests/vm/guest/test_lost.py::test_c\n"
    )
    monkeypatch.setattr(run_tests, "DURATIONS", durations_file)
    files = [stem for part in run_tests.vm_parts(level) for stem in part.files]
    assert files[:2] == ["test_duplicate_serials", "test_page"]


def test_each_guest_file_is_in_one_boot() -> None:
    (level,) = (level for level in run_tests.LEVELS if level.name == "guest")
    boots = run_tests.guest_boots(level)
    stems = [stem for boot in boots for stem in boot.files]
    there = {path.stem for path in (run_tests.CLONE / "tests/vm/guest").glob("test_*.py")}
    assert sorted(stems) == sorted(there)
    assert len({boot.key for boot in boots}) == len(boots) == len(run_tests.GUEST_BOOTS)


@pytest.mark.parametrize(("name", "workers"), [("host", 4), ("guard", 4), ("web", 2)])
def test_processes_share_a_level_a_file_at_a_time(name: str, workers: int) -> None:
    (level,) = (level for level in (*run_tests.LEVELS, run_tests.GUARD) if level.name == name)
    assert run_tests.jobs_of([level]) == [level]
    words = " ".join(run_tests.command_of(level, Path("r.xml")))
    assert f"-n {workers} --dist loadfile {level.folders[0]}" in words


def test_one_level_alone_has_all_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[object, ...]] = []

    def run(*words: object) -> list[Result]:
        calls.append(words)
        return []

    monkeypatch.setattr(run_tests, "run_level", run)
    level = Level("unit", 1)
    assert run_tests.run_levels([level]) == []
    assert calls == [(level,)]


def test_a_lane_that_breaks_ends_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_tests, "RESULTS", tmp_path)
    monkeypatch.setattr(run_tests, "CLONE", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(run_tests, "STOPPED", threading.Event())
    calls: list[str] = []
    monkeypatch.setattr(run_tests, "end_all", lambda: calls.append("all"))

    def run(level: Level, lane: tuple[int, ...], log: object) -> list[Result]:
        if level.name == "host":
            raise KeyboardInterrupt
        assert run_tests.STOPPED.wait(30)
        return []

    monkeypatch.setattr(run_tests, "run_level", run)
    levels = [Level(name, 1) for name in ("host", "lint", "unit", "guard")]
    with pytest.raises(KeyboardInterrupt):
        run_tests.run_levels(levels)
    assert calls == ["all"]


def test_host_runs_with_others_vms_side_by_side_and_image_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_tests, "RESULTS", tmp_path)
    monkeypatch.setattr(run_tests, "CLONE", tmp_path)
    monkeypatch.setattr(run_tests, "vms_at_once", lambda: 2)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    together = {"host": threading.Barrier(2), "vm": threading.Barrier(2)}
    running: list[Level] = []
    calls: list[tuple[str, tuple[int, ...], bool]] = []

    def run(level: Level, lane: tuple[int, ...], log: object) -> list[Result]:
        running.append(level)
        calls.append((level.name, lane, level.is_alone))
        if level.is_alone:
            assert running == [level]
        elif level.name in ("host", "lint"):
            together["host"].wait(30)
        elif level.name in ("guest", "vm") and len(calls) < 5:
            together["vm"].wait(30)
        print(f"output of {level.name}", file=log)  # type: ignore[call-overload]
        running.remove(level)
        return [Result(level.name, "passed")]

    monkeypatch.setattr(run_tests, "run_level", run)
    jobs = [
        Level("host", 1),
        Level("lint", 1),
        Level("guest", 1, files=("a",)),
        Level("guest", 1, files=("b",)),
        Level("vm", 1, files=("c",)),
        Level("vm", 1, files=("d",)),
        Level("image", 1, is_alone=True),
    ]
    monkeypatch.setattr(run_tests, "jobs_of", lambda levels: jobs)
    results = run_tests.run_levels([])
    assert sorted(result.test for result in results) == sorted(job.name for job in jobs)
    assert {name for name, _, alone in calls[:2] if not alone} == {"host", "lint"}
    assert {lane for _, lane, _ in calls[:2]} == {(0, 1)}
    assert {lane for _, lane, alone in calls[2:] if not alone} == {(0,), (1,)}
    assert calls[-1] == ("image", (0, 1), True)
    output = capsys.readouterr().out
    assert all(f"output of {level.name}\n" in output for level in jobs)


class Guest:
    """A stand-in for scripts/vm: each boot runs files and ends with a code, as `boots` has them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *boots: Boot) -> None:
        self.folder, self.boots = folder, list(boots)
        self.boot_files: list[list[str]] = []
        monkeypatch.setattr(run_tests, "RESULTS", folder)
        monkeypatch.setattr(run_tests, "run_limited", self)

    def __call__(self, command: list[str], _limit: float, _log: object) -> int | None:
        stems = command[command.index("tests/vm/guest_files.py") + 1 :]
        self.boot_files.append(stems)
        finished_stems, code = self.boots.pop(0)(stems)
        for stem in finished_stems:
            (self.folder / f"guest-{stem}.xml").write_text(REPORT.format(stem=stem))
            (self.folder / f"guest-{stem}.code").write_text("0")
        return code

    def run(self, *stems: str) -> list[Result]:
        return run_tests.run_guest(Level("guest", 60, ("tests/vm/guest",), stems), ())


def test_the_files_of_a_boot_have_a_report_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest(tmp_path, monkeypatch, lambda stems: (stems, 0))
    # What an earlier run left is no result of this one.
    (tmp_path / "guest-test_b.code").write_text("1")
    results = guest.run("test_a", "test_b")
    assert [result.test for result in results] == [
        "tests/vm/guest/test_a.py::test_a", "tests/vm/guest/test_b.py::test_a",
    ]  # fmt: skip
    assert {result.state for result in results} == {"passed"}
    assert guest.boot_files == [["test_a", "test_b"]]


def test_a_lost_vm_is_booted_again_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest(tmp_path, monkeypatch, lambda stems: (stems[:1], 125), lambda stems: (stems, 0))
    results = guest.run("test_a", "test_b", "test_c")
    assert guest.boot_files == [["test_a", "test_b", "test_c"], ["test_b", "test_c"]]
    assert [result.state for result in results] == ["passed"] * 3


def test_a_file_that_loses_the_vm_twice_fails_and_the_rest_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest(
        tmp_path, monkeypatch, lambda _: ([], 125), lambda _: ([], 125), lambda stems: (stems, 0)
    )
    results = guest.run("test_a", "test_b")
    assert guest.boot_files == [["test_a", "test_b"], ["test_a", "test_b"], ["test_b"]]
    assert [(result.test, result.state) for result in results] == [
        ("guest:test_a", "failed"), ("tests/vm/guest/test_b.py::test_a", "passed"),
    ]  # fmt: skip


def test_files_without_time_are_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = Guest(tmp_path, monkeypatch, lambda stems: (stems[:1], None))
    results = guest.run("test_a", "test_b", "test_c")
    assert [result.state for result in results] == ["passed", "failed", "failed"]
    assert "not done after" in results[1].reason
    assert results[2].reason == "did not run"


def test_a_guest_that_ends_without_a_files_code_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = Guest(tmp_path, monkeypatch, lambda _: ([], 0))
    (result,) = guest.run("test_a")
    assert result.state == "failed"


def test_what_wipes_drives_runs_in_the_vm_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCHSTICK_IN_GUEST", raising=False)
    with pytest.raises(SystemExit, match="inside the VM only"):
        guest_files.main(["test_a", "test_b"])


def test_durations_are_saved_and_those_that_grew_by_a_fifth_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_tests, "DURATIONS", tmp_path / "durations.tsv")
    assert run_tests.saved_durations() == {}
    run_tests.save_durations(
        [Result("a", "passed", 10), Result("b", "passed", 10), Result("c", "passed", 0.2)]
    )
    # A test that was not run keeps what it had, one that failed has no new time.
    run_tests.save_durations([Result("d", "passed", 1.26), Result("a", "failed", 99)])
    before = run_tests.saved_durations()
    assert before == {"a": 10, "b": 10, "c": 0.2, "d": 1.3}
    results = [Result("a", "passed", 12.1), Result("b", "passed", 11.9), Result("c", "passed", 0.9),
               Result("new", "passed", 50)]  # fmt: skip
    (line,) = run_tests.slower_tests(results, before)
    assert line.split() == ["12.1", "s,", "was", "10.0", "s", "a"]
    assert run_tests.summarise(results, "LEVEL=unit: ", 125) == 0
    output = capsys.readouterr().out.splitlines()
    assert line in output and "total time: 2 min 5 s" in output
    assert output[-1] == "LEVEL=unit: 4 passed, 0 failed, 0 skipped"
    many = [Result(str(at), "passed", 10 + at) for at in range(40)]
    lines = run_tests.slower_tests(many, {str(at): 1.0 for at in range(40)})
    assert len(lines) == run_tests.SLOWER_LISTED + 1 and lines[-1] == "and 10 more"


HOLD = """
import os, sys, pathlib
sys.path.insert(0, sys.argv[1])
os.sched_getaffinity = lambda _: set(map(int, sys.argv[3].split(",")))
import vm_run
vm_run.CACHE = pathlib.Path(sys.argv[2])
with vm_run.alone_on_these_cpus():
    print("runs", flush=True)
    sys.stdin.read()
"""


def test_vms_on_other_processors_run_side_by_side_and_others_wait(tmp_path: Path) -> None:
    scripts = str(Path(vm_run.__file__).parent)
    processes: list[subprocess.Popen[str]] = []

    def hold(cpus: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", HOLD, scripts, str(tmp_path), cpus]
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return processes[-1]

    try:
        first, second = hold("0"), hold("1")
        for one in (first, second):
            assert one.stdout is not None and one.stdout.readline() == "runs\n"
        both = hold("0,1")
        assert both.stderr is not None and "waiting for it to end" in both.stderr.readline()
        first.communicate("")
        assert both.poll() is None
        second.communicate("")
        assert both.stdout is not None and both.stdout.readline() == "runs\n"
    finally:
        for one in processes:
            one.kill()
            one.communicate()


def test_vms_that_start_together_keep_their_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one removes what a killed one left, and never the folder of one that just starts."""
    monkeypatch.setattr(vm_run, "CACHE", tmp_path)
    monkeypatch.setattr(vm_run, "LOGS", ())
    (tmp_path / "vm-run-killed").mkdir()

    def boots() -> None:
        for _ in range(50):
            with vm_run.run_folder() as folder:
                assert (folder / "lock").exists()

    with ThreadPoolExecutor(8) as pool:
        for boot in [pool.submit(boots) for _ in range(8)]:
            boot.result()
    assert list(tmp_path.glob("vm-run-*")) == []


def test_the_counters_frequency_does_not_depend_on_what_else_runs() -> None:
    rates = [vm_machine.tsc_khz() for _ in range(3)]
    if rates[0] is None:
        assert rates == [None] * 3
        return
    numbers = [float(rate) for rate in rates if rate is not None]
    assert len(numbers) == 3 and max(numbers) < 1.001 * min(numbers)
