"""Tools are found in fixed folders, whatever PATH the caller has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchstick.drives import discover, subprocesses
from benchstick.engine.measure import fio
from benchstick.errors import BadInput
from webui.server import sandbox

CLONE = Path(__file__).resolve().parents[2]
# What busybox's setpriv prints and how it ends, whatever it is given beyond its own few options.
BUSYBOX_SETPRIV = """#!/bin/sh
cat >&2 <<'END'
setpriv: unrecognized option '--pdeathsig'
BusyBox v1.37.0 () multi-call binary.

Usage: setpriv [OPTIONS] PROG ARGS

--inh-caps CAP,CAP\tSet inheritable capabilities
--ambient-caps CAP,CAP\tSet ambient capabilities
END
exit 1
"""


def put(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def busybox(tmp_path: Path) -> Path:
    """A folder with busybox's setpriv."""
    put(tmp_path / "busybox", "setpriv", BUSYBOX_SETPRIV)
    return tmp_path / "busybox"


@pytest.fixture
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the tool path that the tests set for themselves."""
    monkeypatch.delenv(subprocesses.PATH_VARIABLE, raising=False)


@pytest.mark.usefixtures("own_path")
def test_busyboxs_setpriv_first_in_path_is_not_used(
    busybox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{busybox}:/usr/sbin:/usr/bin:/sbin:/bin")
    answer = subprocesses.run(["echo", "hello"])
    assert (answer.exit_code, answer.text) == (0, "hello\n"), answer
    assert fio.version() >= fio.OLDEST
    assert Path(sandbox.setpriv()).parent != busybox


@pytest.mark.usefixtures("own_path")
@pytest.mark.parametrize("path", [None, "", ".", ":", "no/such:folder"])
def test_an_odd_path_of_the_caller_changes_nothing(
    path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("echo", "setpriv"):
        put(tmp_path, name, "#!/bin/sh\necho hostile\n")
    monkeypatch.chdir(tmp_path)
    if path is None:
        monkeypatch.delenv("PATH")
    else:
        monkeypatch.setenv("PATH", path)
    answer = subprocesses.run(["echo", "hello"])
    assert (answer.exit_code, answer.text) == (0, "hello\n"), answer


@pytest.mark.usefixtures("own_path")
def test_a_tools_own_helpers_are_not_from_the_callers_path(
    busybox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(busybox))
    assert subprocesses.run(["sh", "-c", "echo $PATH"]).text == f"{subprocesses.PATH}\n"


def test_the_tool_path_is_searched_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put(tmp_path / "first", "some-tool", "#!/bin/sh\necho first\n")
    put(tmp_path / "second", "some-tool", "#!/bin/sh\necho second\n")
    folders = f"{tmp_path}/first:{tmp_path}/second:{subprocesses.PATH}"
    monkeypatch.setenv(subprocesses.PATH_VARIABLE, folders)
    assert subprocesses.require("some-tool") == str(first)
    assert subprocesses.run(["some-tool"]).text == "first\n"
    assert subprocesses.run(["sh", "-c", "echo $PATH"]).text == f"{folders}\n"


def test_util_linuxs_setpriv_is_found_behind_busyboxs(
    busybox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(subprocesses.PATH_VARIABLE, f"{busybox}:{subprocesses.PATH}")
    assert subprocesses.run(["echo", "hello"]).text == "hello\n"


def test_busyboxs_setpriv_alone_is_one_clear_line(
    busybox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(busybox, "fio", "#!/bin/sh\necho fio-3.39\n")
    monkeypatch.setenv(subprocesses.PATH_VARIABLE, str(busybox))
    for use in (lambda: subprocesses.run(["fio"]), fio.version, discover.scan):
        with pytest.raises(BadInput) as caught:
            use()
        message = caught.value.message
        assert message.startswith(f"{busybox}/setpriv is not util-linux's setpriv")
        assert "apt-get install util-linux" in message
        assert "\n" not in message


@pytest.mark.parametrize("value", ["bin", "/usr/bin:", "/usr/bin::/bin", "/usr/bin:./bin"])
def test_a_tool_path_with_a_relative_folder_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(subprocesses.PATH_VARIABLE, value)
    with pytest.raises(BadInput, match=r"BENCHSTICK_TOOL_PATH: .* is not an absolute folder"):
        subprocesses.require("echo")


@pytest.mark.usefixtures("own_path")
def test_a_missing_tool_is_named_with_the_place_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = put(tmp_path / "own", "some-tool", "#!/bin/sh\n")
    with pytest.raises(BadInput, match=r"^some-tool is not installed: apt-get install some-tool$"):
        subprocesses.require("some-tool")
    monkeypatch.setenv("PATH", f"{tmp_path}/own")
    with pytest.raises(BadInput, match=r"the folder of .* in BENCHSTICK_TOOL_PATH$") as caught:
        subprocesses.require("some-tool")
    assert str(place) in caught.value.message


def test_one_module_alone_searches_programs() -> None:
    """Elsewhere a program is Python itself or goes through `tool`."""
    starts = re.compile(
        r"\bsubprocess\.(?:run|Popen|call|check_\w+)\(\s*(\S+)|\bshutil\.which\b"
        r"|\bos\.(?:system|popen|exec[lv]p\w*|spawn\w+|posix_spawn\w*)\("
    )
    places: dict[str, list[str]] = {}
    for folder in ("benchstick", "webui"):
        for path in sorted((CLONE / folder).rglob("*.py")):
            for match in starts.finditer(path.read_text(encoding="utf-8")):
                if not (match[1] or "").startswith("[sys.executable"):
                    places.setdefault(str(path.relative_to(CLONE)), []).append(match[0])
    # Its COMMAND is Python as well.
    commands = places.pop("benchstick/qa/parallel_drives.py")
    assert [re.sub(r"\s+", "", command) for command in commands] == ["subprocess.Popen(COMMAND,"]
    assert list(places) == ["benchstick/drives/subprocesses.py"], places
