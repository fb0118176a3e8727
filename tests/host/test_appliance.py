"""`benchstick appliance start` on loop sticks: found, grown, checked, mounted, or why not."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.appliance import state, web_address
from benchstick.appliance.boot import boot_folder, start
from benchstick.appliance.data_partition import grow_partition
from benchstick.appliance.reports import Reports
from benchstick.appliance.stick import Machine, find, parse_id
from benchstick.appliance.stick_removed import go_on_in_ram
from benchstick.cli.agent import VERDICT_FILES, html_report
from benchstick.drives.subprocesses import Finished
from benchstick.errors import BadInput
from benchstick.recipes import outputs
from benchstick.store import database, export, run_queries, settings, verdicts
from tests.host.bench import Bench, wait_for
from tests.host.drive_help import call
from tests.host.stick_help import MIB, TABLE, run_but_no_clock, stick
from tests.unit import test_recipe_outputs
from tests.web import sample

CONFIG = "benchstick/stick.cfg"


@pytest.fixture
def folder(bench_home: Path, tmp_path: Path) -> Iterator[Path]:
    """Folders of the test's own; what the appliance mounted is taken away at the end."""
    yield tmp_path
    for point in (bench_home, boot_folder()):
        subprocess.run(["umount", "-R", point], capture_output=True)


def options_of(point: Path) -> str:
    return call("findmnt", "--noheadings", "--output", "OPTIONS", "--mountpoint", point)


def size_of(point: Path) -> int:
    fs_stats = os.statvfs(point)
    return fs_stats.f_blocks * fs_stats.f_frsize


def started(machine: Machine) -> dict[str, Any]:
    document = start(machine)
    link = paths.run_folder() / "appliance.json"
    assert json.loads(link.read_text()) == document == state.read()
    return document


def test_the_first_boot_grows_the_store_and_gives_the_stick_an_id(folder: Path) -> None:
    with stick(folder) as disk:
        before = disk.table()
        document = started(disk.machine(""))
        assert document["persistent"]
        assert document["reason"] is None
        assert document["notes"] == []
        assert state.notices(document) == []
        assert document["stick"]["path"] == disk.node
        assert size_of(paths.data_folder()) > 200 * MIB
        assert {"nosuid", "nodev", "noexec"} <= set(options_of(paths.data_folder()).split(","))
        assert {"ro", "nosuid", "nodev", "noexec"} <= set(options_of(boot_folder()).split(","))
        assert parse_id((boot_folder() / CONFIG).read_text()) == document["stick"]["id"]
        assert paths.data_folder().stat().st_mode & 0o7777 == 0o2770
        after = disk.table()
        assert after.splitlines()[:-1] == before.splitlines()[:-1], "only the last line may change"
        # Again, as a restarted script would: nothing changes.
        assert start(disk.machine("")) == document
        assert disk.table() == after


def test_the_next_boot_finds_the_store_again(folder: Path) -> None:
    with stick(folder) as disk:
        name = started(disk.machine(""))["stick"]["id"]
        (paths.data_folder() / "kept").write_text("result")
        for point in (paths.data_folder(), boot_folder()):
            call("umount", point)
        (paths.run_folder() / "appliance" / "state.json").unlink()
        document = started(disk.machine(name))
        assert document["persistent"]
        assert document["stick"]["id"] == name
        assert (paths.data_folder() / "kept").read_text() == "result"


def test_a_store_that_stopped_growing_continues_at_the_next_boot(folder: Path) -> None:
    """The power went between the partition and its filesystem."""
    with stick(folder) as disk:
        machine = disk.machine("")
        (boot_stick,) = find(machine)
        assert grow_partition(machine, boot_stick)
        assert not grow_partition(machine, replace(boot_stick, data=find(machine)[0].data))
        document = started(machine)
        assert document["persistent"]
        assert document["notes"] == []
        assert size_of(paths.data_folder()) > 200 * MIB


def test_a_store_that_cannot_grow_is_used_as_it_is(folder: Path) -> None:
    with stick(folder) as disk:
        machine = disk.machine("")

        def run(argv: Sequence[str], **options: Any) -> Finished:
            if argv[0] == "resize2fs":
                return Finished(tuple(argv), 1, b"", b"no", 0.0)
            return run_but_no_clock(argv, **options)

        document = started(replace(machine, run=run))
        assert document["persistent"]
        assert "The store keeps its size" in document["notes"][0]


def test_of_two_sticks_the_booted_one_gives_the_store(folder: Path) -> None:
    one, two = "1" * 16, "2" * 16
    with (
        stick(folder, {CONFIG: f"set stick_id={one}\n"}, name="a") as first,
        stick(folder, {CONFIG: f"set stick_id={two}\n"}, name="b") as second,
    ):
        table_before = second.table()
        document = started(first.machine(one, second))
        assert document["stick"]["path"] == first.node
        assert document["persistent"]
        assert [other["id"] for other in document["other_sticks"]] == [two]
        assert "More than one stick" in " ".join(state.notices(document))
        assert second.table() == table_before


@pytest.mark.parametrize(
    ("ids", "parameter", "words"),
    [
        (("1" * 16, "1" * 16), "1" * 16, "not known which"),
        ((None, None), "", "not known which"),
        (("1" * 16, None), "3" * 16, "not there any more"),
        (("1" * 16, None), None, "not booted from a stick"),
    ],
)
def test_where_it_is_unknown_no_stick_is_used(
    folder: Path,
    ids: tuple[str | None, str | None],
    parameter: str | None,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchstick.appliance.boot._release", lambda machine: "ID=benchstick")
    files = [{CONFIG: f"set stick_id={name}\n"} if name else {} for name in ids]
    with stick(folder, files[0], name="a") as one, stick(folder, files[1], name="b") as two:
        before = one.table(), two.table()
        document = started(one.machine(parameter, two))
        assert document["stick"] is None
        assert not document["persistent"]
        assert words in document["reason"]
        assert "will not last" in state.notices(document)[0]
        assert (one.table(), two.table()) == before
        assert call("findmnt", "-no", "FSTYPE", "--mountpoint", paths.data_folder()) == "tmpfs"


def test_a_host_is_refused(folder: Path) -> None:
    with pytest.raises(BadInput, match="does not run the stick's system"):
        start(Machine(disks=(), command_line="root=/dev/sda1", run=run_but_no_clock))
    assert state.read() is None


def test_a_damaged_store_is_left_alone_and_reported(folder: Path) -> None:
    with stick(folder, size=64 * MIB) as disk:
        node = f"{disk.node}p2"
        # A wrong block bitmap: an error that `e2fsck -p` does not repair.
        call("debugfs", "-w", "-R", "clri <2>", node)
        call("debugfs", "-w", "-R", "set_super_value state 2", node)
        document = started(disk.machine(""))
        assert not document["persistent"]
        assert "damaged" in document["reason"]
        assert document["stick"]["path"] == disk.node
        assert (boot_folder() / CONFIG).exists()


def test_a_write_protected_stick_gives_its_settings_only(folder: Path) -> None:
    with stick(folder, {"benchstick.toml": 'hosts = ["a.example"]\n'}) as disk:
        call("blockdev", "--setro", disk.node)
        call("blockdev", "--setro", f"{disk.node}p1")
        document = started(disk.machine(""))
        call("blockdev", "--setrw", disk.node)
        assert not document["persistent"]
        assert "write-protected" in document["reason"]
        assert settings.load(paths.settings_file()).hosts == ("a.example",)


@pytest.mark.parametrize(
    "table",
    [
        TABLE + "size=8MiB, type=83\n",
        TABLE.replace("size=32MiB, type=83\n", "start=100MiB, size=32MiB, type=83\n")
        + "start=30MiB, size=8MiB, type=83\n",
    ],
    ids=["behind", "between"],
)
def test_other_partitions_keep_the_table_as_it_is(folder: Path, table: str) -> None:
    with stick(folder, table=table) as disk:
        before = disk.table()
        document = started(disk.machine(""))
        assert disk.table() == before
        assert document["persistent"]
        assert "other partitions" in document["notes"][0]


def test_settings_are_put_in_force_with_the_sticks_defaults(folder: Path) -> None:
    with stick(folder, {"benchstick.toml": "\ufeffpin = false\r\n"}) as disk:
        assert started(disk.machine(""))["settings_error"] is None
        config = settings.load(paths.settings_file())
    assert (config.pin, config.listen, config.port) == (False, "::", 80)


def test_a_wrong_setting_is_reported_with_its_line_and_defaults_hold(folder: Path) -> None:
    with stick(folder, {"benchstick.toml": "pin = false\n\nport = 99999\n"}) as disk:
        document = started(disk.machine(""))
        config = settings.load(paths.settings_file())
    assert document["persistent"]
    notices = " ".join(state.notices(document))
    assert "line 3: port: 99999 is not a whole number" in notices
    assert "running with defaults" in notices
    assert (config.pin, config.port) == (True, 80)


def test_a_pulled_stick_is_reported(folder: Path) -> None:
    with stick(folder) as disk:
        document = started(disk.machine(""))
        state.note_pulled()
        assert state.read() == document
    # Its loop device is another disk now, as a replugged stick would be.
    with stick(folder, name="b"):
        state.note_pulled()
    notices = state.notices()
    assert "pulled out" in notices[0]


def test_every_run_that_ended_leaves_its_report_where_any_pc_reads_it(folder: Path) -> None:
    with stick(folder) as disk:
        machine = disk.machine("")
        started(machine)
        numbers = sample.full_bench(paths.data_folder())
        reports = Reports(machine, {"html": html_report})
        with contextlib.closing(database.open_writer(paths.data_folder())) as db:
            reports.write_new(db)
            assert not (boot_folder() / "reports").exists(), "not while a run is on"
            numbers["lock"].release()
            reports.write_new(db)
            rows = [row for row in run_queries.last_runs(db) if not row["practice"]]
            run_ids = [row["number"] for row in rows if row["state"] not in ("running", "refused")]
            bundle = export.bundle(db, run_ids[0])
        assert "ro" in options_of(boot_folder()).split(",")
        files = sorted(path.name for path in (boot_folder() / "reports").iterdir())
        assert len(files) == 3 * len(run_ids) > 3
        name = f"run-{run_ids[0]}-{bundle['uuid'][:8]}"
        assert json.loads((boot_folder() / f"reports/{name}.json").read_text()) == bundle
        page = (boot_folder() / f"reports/{name}.html").read_text()
        assert f"run {bundle['uuid']}" in page
        assert "Content-Security-Policy" in page
        assert (boot_folder() / f"reports/{name}.csv").read_text().startswith("run,suite,drive")
        assert state.notices() == []


def test_every_verdict_leaves_its_files_there_too(folder: Path) -> None:
    documents = [{**item, "runs": []} for item in test_recipe_outputs.verdicts()]
    with stick(folder) as disk:
        machine = disk.machine("")
        started(machine)
        reports = Reports(machine, verdicts=VERDICT_FILES)
        with contextlib.closing(database.open_writer(paths.data_folder())) as db:
            numbers = [verdicts.keep(db, item) for item in documents]
            reports.write_new(db)
            one = verdicts.keep(db, {**documents[1], "labels": {"asset": "A/17"}})
            practice = {**documents[1], "drive": {**documents[1]["drive"], "transport": "virtual"}}
            verdicts.keep(db, practice)
            with contextlib.closing(database.open_writer(paths.data_folder())) as other:
                verdicts.keep(other, documents[0])
            reports.write_new(db)
            expected = verdicts.find(db, one)
        files = sorted(path.name for path in (boot_folder() / "reports").iterdir())
        assert len(files) == 3 * (len(numbers) + 2)
        (name,) = [item for item in files if item.startswith(f"verdict-{one}-A-17-2")
                   and item.endswith(".json")]  # fmt: skip
        path = boot_folder() / "reports" / name
        assert json.loads(path.read_text()) == expected
        assert path.with_suffix(".csv").read_text() == outputs.csv_text([expected])
        assert path.with_suffix(".xml").read_text() == outputs.junit([expected])
        # An agent that is started again has nothing to do.
        before = path.stat().st_mtime_ns
        with contextlib.closing(database.open_writer(paths.data_folder())) as db:
            Reports(machine, verdicts=VERDICT_FILES).write_new(db)
        assert path.stat().st_mtime_ns == before
        assert state.notices() == []


def test_a_stick_without_room_is_reported_and_keeps_working(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchstick.appliance.reports._FLOOR_BYTES", 1 << 40)
    with stick(folder) as disk:
        machine = disk.machine("")
        started(machine)
        sample.full_bench(paths.data_folder())["lock"].release()
        with contextlib.closing(database.open_writer(paths.data_folder())) as db:
            Reports(machine).write_new(db)
        notices = state.notices()
        assert len(notices) == 1
        assert "has no report on the stick: its first partition is full" in notices[0]
        assert not (boot_folder() / "reports").exists()


def test_when_the_stick_is_pulled_the_bench_continues_in_ram(folder: Path) -> None:
    with stick(folder) as disk:
        machine = disk.machine("")
        document = started(machine)
        assert not go_on_in_ram(machine), "it is there"
        (paths.data_folder() / "kept").write_text("on the stick")
        with subprocess.Popen(["sleep", "60"]) as process:
            web_address.publish(web_address.Page(process.pid, "::", 80, None))
            # Another disk under the same name, as after pulling it and plugging it in again.
            state.write({**document, "stick": {**document["stick"], "diskseq": -1}})
            assert go_on_in_ram(machine)
            assert process.wait(timeout=60) == -signal.SIGTERM, "the page is started anew"
        assert call("findmnt", "-no", "FSTYPE", "--mountpoint", paths.data_folder()) == "tmpfs"
        assert not (paths.data_folder() / "kept").exists()
        assert subprocess.run(["mountpoint", "-q", boot_folder()]).returncode != 0
        assert "pulled out" in state.notices()[0]
        database.open_writer(paths.data_folder()).close()
        assert not go_on_in_ram(machine), "once is enough"


def test_the_agent_of_a_pulled_stick_ends_and_starts_again_in_ram(folder: Path) -> None:
    with stick(folder) as disk:
        document = started(disk.machine(""))
        agent = Bench(folder).start("agent")
        try:
            wait_for(lambda: (paths.data_folder() / "store.db").exists())
            state.write({**document, "stick": {**document["stick"], "diskseq": -1}})
            assert agent.wait(timeout=60) == 6
            assert agent.stderr is not None
            assert "the stick was pulled out" in agent.stderr.read()
        finally:
            agent.kill()
            agent.communicate()
        again = Bench(folder).start("agent")
        try:
            wait_for(lambda: (paths.data_folder() / "store.db").exists())
        finally:
            again.terminate()
            again.communicate(timeout=120)
        assert again.returncode == 0
