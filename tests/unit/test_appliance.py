"""Which stick was booted, and the notices that users see: pure decisions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchstick import paths
from benchstick.appliance import ssh_access, state
from benchstick.appliance.stick import Machine, Stick, choose, new_config, parse_id
from benchstick.drives.partition_table import Partition
from benchstick.store import settings

A, B = "a" * 16, "b" * 16


def build_stick(name: str, identity: str | None) -> Stick:
    boot = Partition(1, 1 << 20, 8 << 20, kernel=f"{name}1")
    return Stick(name, 1, 1 << 30, "Stick", False, boot, None, identity)


@pytest.mark.parametrize(
    ("ids", "parameter", "index"),
    [
        ([A], A, 0),
        ([A, B], B, 1),
        ([None], "", 0),
        ([A, None], "", 1),
        ([A], "", None),
        ([None], A, None),
        ([A, A], A, None),
        ([None, None], "", None),
        ([A], None, None),
        ([], A, None),
        ([], None, None),
    ],
)
def test_the_booted_stick_is_the_one_whose_id_the_loader_passed(
    ids: list[str | None], parameter: str | None, index: int | None
) -> None:
    sticks = [build_stick(f"sd{chr(97 + at)}", name) for at, name in enumerate(ids)]
    stick, reason = choose(sticks, parameter)
    assert stick is (None if index is None else sticks[index])
    assert bool(reason) == (index is None)


@pytest.mark.parametrize(
    ("line", "parameter"),
    [
        ("quiet benchstick.stick=0123 ro", "0123"),
        ("benchstick.stick=", ""),
        ("benchstick.stick= quiet", ""),
        ("quiet", None),
        ("xbenchstick.stick=1", None),
    ],
)
def test_the_parameter_is_read_from_the_command_line(line: str, parameter: str | None) -> None:
    assert Machine(command_line=line).parameter() == parameter


def test_an_id_is_read_back_as_it_is_written() -> None:
    name, text = new_config()
    assert parse_id(text) == name
    assert parse_id(f"# hello\r\nset stick_id={name}\r\n") == name
    assert new_config()[0] != name
    for odd in ("", "set stick_id=", f"set stick_id={name}0", "set stick_id=$(x)"):
        assert parse_id(odd) is None


def document(**changes: Any) -> dict[str, Any]:
    stick = {"path": "/dev/sda", "name": "sda", "diskseq": 3}
    return {
        "schema": state.SCHEMA, "stick": stick, "persistent": True, "reason": None,
        "settings_error": None, "other_sticks": [], "notes": [], **changes,
    }  # fmt: skip


def test_there_are_no_notices_without_a_problem_and_on_a_host(bench_home: Path) -> None:
    assert state.notices(document()) == []
    assert state.read() is None
    assert state.notices() == []


def test_each_notice_is_a_sentence(bench_home: Path) -> None:
    notices = state.notices(
        document(
            persistent=False,
            reason="the stick is write-protected",
            settings_error={"line": 3, "message": "port: 0 is not a port"},
            other_sticks=[{"path": "/dev/sdb"}],
        )
    )
    assert notices == [
        "Results will not last: the stick is write-protected.",
        "Settings: line 3: port: 0 is not a port; running with defaults.",
        "More than one stick is plugged in: /dev/sda is used; /dev/sdb left alone.",
    ]


def test_a_pulled_stick_is_written_down_once(
    bench_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchstick.drives.sysfs import Tree

    monkeypatch.setattr("os.geteuid", lambda: 0)
    paths.make_run_folder()
    state.write(document())
    block = tmp_path / "sys/block/sda"
    block.mkdir(parents=True)
    (block / "diskseq").write_text("3\n")
    tree = replace(Tree(), root=tmp_path)
    state.note_pulled(tree)
    assert state.read() == document()
    (block / "diskseq").write_text("4\n")
    state.note_pulled(tree)
    assert state.notices() == [f"Results will not last: {state.PULLED}."]


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtG reviewer"


def test_the_keys_of_the_settings_and_no_others_may_log_in(bench_home: Path) -> None:
    paths.make_run_folder()
    folder = paths.run_folder() / "ssh"
    ssh_access.authorise([])
    assert not folder.exists()
    ssh_access.authorise(settings.read(f"ssh_keys = ['{KEY}']", "x").ssh_keys)
    assert (folder / "authorized_keys").read_text() == f"{KEY}\n"
    assert (folder / "authorized_keys").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    ssh_access.authorise([])
    assert list(folder.iterdir()) == []


def test_the_fingerprint_of_the_servers_key_is_read_when_there_is_one(bench_home: Path) -> None:
    paths.make_run_folder()
    assert ssh_access.fingerprint() is None
    (paths.run_folder() / "ssh").mkdir()
    (paths.run_folder() / "ssh/fingerprint").write_text("SHA256:abc\n")
    assert ssh_access.fingerprint() == "SHA256:abc"


def test_a_damaged_record_is_no_record(bench_home: Path) -> None:
    paths.make_run_folder()
    state.write(document())
    (paths.run_folder() / "appliance/state.json").write_text("{")
    assert state.read() is None


def test_settings_are_written_as_they_are_read(tmp_path: Path) -> None:
    text = 'hosts = ["a.example"]\nlisten = "::"\nport = 81\npin = false\n'
    config = settings.read(text, "x")
    assert settings.read(settings.to_toml(config), "y") == config
    stick = settings.read("", "x", on_stick=True)
    assert (stick.listen, stick.port, stick.pin) == ("::", 80, True)


def test_a_settings_file_of_any_size_or_from_windows_is_read_safely(tmp_path: Path) -> None:
    file = tmp_path / "benchstick.toml"
    file.write_bytes(b"\xef\xbb\xbfport = 81\r\n")
    assert settings.load(file).port == 81
    file.write_bytes(b"#" * (1 << 20))
    with pytest.raises(settings.SettingsError, match="larger than"):
        settings.load(file)


def test_notices_list_the_other_sticks_that_are_plugged_in_now(bench_home: Path) -> None:
    paths.make_run_folder()
    at_boot = {"path": "/dev/sdb", "model": "Stick", "id": B}
    state.write(document(other_sticks=[at_boot]))
    here = [{"path": path, "model": "Stick", "id": None} for path in ("/dev/sda", "/dev/sdb")]
    state.note_sticks(here)
    assert state.read() == document(other_sticks=[at_boot])
    state.note_sticks([*here, {"path": "/dev/sdc", "model": "New", "id": None}])
    assert "/dev/sdb, /dev/sdc left alone" in state.notices()[0]
    state.note_sticks(here[:1])
    assert state.notices() == []


def test_on_a_host_other_sticks_give_no_notice(bench_home: Path) -> None:
    state.note_sticks([{"path": "/dev/sda", "model": "Stick", "id": None}])
    assert state.read() is None
