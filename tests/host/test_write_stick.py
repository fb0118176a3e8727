"""scripts/write-stick on the practice drive, the one loop device that the guard accepts."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchstick import paths
from benchstick.appliance import image as images
from benchstick.appliance import state, stick_writer
from benchstick.appliance.image import Fat
from benchstick.appliance.stick import parse_id
from benchstick.drives import practice
from benchstick.drives.guard import hold
from benchstick.drives.types import Drive
from benchstick.errors import DriveLost, Refused
from tests.host.drive_help import call, checksum, practice_home

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
TABLE = "label: dos\nlabel-id: 0xb5e0c057\nstart=1MiB, size=17MiB, type=ef\nsize=8MiB, type=83\n"
SYSTEM = {"EFI/BOOT/bootx64.efi": "old loader", "benchstick/bzImage": "old kernel"}


def make_image(path: Path, files: dict[str, str], *, mark: bytes, table: str = TABLE) -> Path:
    """An image like the one that is built: boot code, a FAT partition with files, an ext4."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(27 * MIB)
        file.write(mark * 55)
        file.seek(512)
        file.write(mark * 1000)
    subprocess.run(["sfdisk", "-q", path], input=table.encode(), check=True, capture_output=True)
    call("mkfs.vfat", "--offset", "2048", "-n", "BENCHSTICK", path, str(17 << 10))
    root = path.parent / f"{path.stem}-root"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    Fat(path, MIB).put(sorted(root.iterdir()))
    call("mkfs.ext4", "-q", "-E", f"offset={18 * MIB}", path, "8M")
    return path


@pytest.fixture
def home(bench_home: Path, tmp_path: Path) -> Iterator[Path]:
    with practice_home(tmp_path) as folder:
        yield folder


@pytest.fixture
def drive(home: Path) -> Drive:
    return practice.ensure(home)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    files = {**SYSTEM, "benchstick.toml": "# settings\n", "recipes/example.toml": "example"}
    return make_image(tmp_path / "images/one.img", files, mark=b"ONE")


def write_stick(*argv: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts/write-stick", *argv],
        input=stdin, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )  # fmt: skip


def read(node: str | Path, at: int, size: int) -> bytes:
    with open(node, "rb") as file:  # noqa: PTH123 - a device node
        file.seek(at)
        return file.read(size)


def text_on(node: str | Path, name: str, folder: Path, at: int = MIB) -> str:
    into = folder / f"out-{len(list(folder.iterdir()))}"
    into.mkdir()
    Fat(Path(node), at).get([name], into)
    return (into / Path(name).name).read_text()


def test_a_free_drive_becomes_a_stick(drive: Drive, image: Path, tmp_path: Path) -> None:
    # A GPT has a second table at the end of the drive.
    subprocess.run(["sfdisk", "-q", drive.path], input=b"label: gpt\n", check=True)
    result = write_stick("--erase", "practice", image, "practice")
    assert result.returncode == 0, result.stderr
    assert read(drive.path, 0, 440) == read(image, 0, 440)
    assert read(drive.path, 512, MIB - 512) == read(image, 512, MIB - 512)
    assert read(drive.path, 18 * MIB, 9 * MIB) == read(image, 18 * MIB, 9 * MIB)
    assert not any(read(drive.path, drive.identity.capacity - MIB, MIB))
    name = parse_id(text_on(drive.path, "benchstick/stick.cfg", tmp_path))
    assert name is not None
    assert f"its id is {name}" in result.stderr
    assert (
        "stick.cfg"
        not in subprocess.run(
            ["mdir", "-b", "-/", "-i", f"{image}@@{MIB}", "::/"], capture_output=True, text=True
        ).stdout
    ), "the image itself stays as it is"
    again = practice.ensure(paths.data_folder())
    assert again.guard.state == "protected"
    assert "the stick's own" in again.guard.reason


def test_a_stick_is_written_again_with_another_id(drive: Drive, image: Path) -> None:
    """Protected from every run, not from this."""
    first = write_stick("--erase", "practice", image, "practice")
    stick = practice.ensure(paths.data_folder())
    with pytest.raises(Refused, match="protected and never written"):
        hold(stick, erase="practice", destructive=True, home=paths.data_folder())
    second = write_stick("--erase", "practice", image, "practice")
    assert second.returncode == 0, second.stderr
    assert first.stderr.split()[-1] != second.stderr.split()[-1]


def test_an_update_keeps_what_is_the_users(
    drive: Drive, image: Path, home: Path, tmp_path: Path
) -> None:
    assert write_stick("--erase", "practice", image, "practice").returncode == 0
    name = text_on(drive.path, "benchstick/stick.cfg", tmp_path)
    mine = tmp_path / "mine"
    for path, text in (
        ("benchstick.toml", "port = 81\n"),
        ("recipes/my recipe ä.toml", "mine"),
        ("reports/run-1.json", "report"),
        ("note.txt", "note"),
    ):
        (mine / path).parent.mkdir(parents=True, exist_ok=True)
        (mine / path).write_text(text)
    Fat(Path(drive.path), MIB).put(sorted(mine.iterdir()))
    # Grown, as on its first boot: the table is the stick's own.
    subprocess.run(
        ["sfdisk", "-q", "--no-reread", "-N", "2", drive.path], input=b",64MiB\n", check=True,
        capture_output=True,
    )  # fmt: skip
    table = call("sfdisk", "-d", drive.path)
    store = checksum(drive.path, 64 * MIB) and read(drive.path, 18 * MIB, 64 * MIB)
    files = {
        "EFI/BOOT/bootx64.efi": "new loader",
        "benchstick/vmlinuz": "new",
        "benchstick.toml": "#\n",
        "recipes/example.toml": "new example",
    }
    fresh = make_image(tmp_path / "images/two.img", files, mark=b"TWO")
    result = write_stick("--update", "--erase", "practice", fresh, "practice")
    assert result.returncode == 0, result.stderr
    assert call("sfdisk", "-d", drive.path) == table
    assert read(drive.path, 18 * MIB, 64 * MIB) == store
    assert read(drive.path, 0, 440) == read(fresh, 0, 440)
    assert read(drive.path, 512, MIB - 512) == read(fresh, 512, MIB - 512)
    for path, text in (
        ("benchstick/stick.cfg", name),
        ("benchstick.toml", "port = 81\n"),
        ("recipes/my recipe ä.toml", "mine"),
        ("reports/run-1.json", "report"),
        ("note.txt", "note"),
        ("EFI/BOOT/bootx64.efi", "new loader"),
        ("benchstick/vmlinuz", "new"),
    ):
        assert text_on(drive.path, path, tmp_path) == text
    assert "bzImage" not in call("mdir", "-b", "-/", "-i", f"{drive.path}@@{MIB}", "::/")


@pytest.mark.parametrize(
    ("code", "words"),
    [("practise", "the code of"), (None, "type its code"), ("", "the code of")],
)
@pytest.mark.parametrize("stick", [False, True])
def test_without_the_right_code_nothing_is_written(
    drive: Drive, image: Path, code: str | None, words: str, stick: bool
) -> None:
    if stick:
        assert write_stick("--erase", "practice", image, "practice").returncode == 0
    before = checksum(drive.path)
    code_args = [] if code is None else ["--erase", code]
    for option in ([], ["--update"]):
        result = write_stick(*option, *code_args, image, "practice")
        assert result.returncode == 3, result.stderr
        assert words in result.stderr
    assert checksum(drive.path) == before


@pytest.mark.parametrize(("keys", "code"), [("practice\n", 0), ("yes\n", 3), ("\x04", 130)])
def test_on_a_terminal_the_code_is_typed(drive: Drive, image: Path, keys: str, code: int) -> None:
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [ROOT / "scripts/write-stick", image, "practice"], stdin=inner, stdout=inner, stderr=inner
    )
    os.close(inner)
    output = b""
    while b"Type its code" not in output:
        output += os.read(outer, 1000)
    os.write(outer, keys.encode())
    # Reading fails when the last process has closed the other end.
    with contextlib.suppress(OSError):
        while data := os.read(outer, 1000):
            output += data
    os.close(outer)
    assert process.wait(timeout=60) == code, output
    assert b"destroys all data on" in output
    assert (b"read back and right" in output) == (code == 0)


def test_a_stick_in_use_is_never_written(drive: Drive, image: Path, tmp_path: Path) -> None:
    assert write_stick("--erase", "practice", image, "practice").returncode == 0
    point = tmp_path / "point"
    point.mkdir()
    subprocess.run(["partx", "--update", drive.path], capture_output=True)
    call("mount", f"{drive.path}p2", point)
    try:
        before = checksum(drive.path)
        for argv in ([], ["--update"]):
            result = write_stick(*argv, "--erase", "practice", image, "practice")
            assert result.returncode == 3, result.stderr
            assert "mounted at" in result.stderr
        assert checksum(drive.path) == before
    finally:
        call("umount", point)


def test_the_stick_that_was_booted_is_never_written(
    drive: Drive, image: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_stick("--erase", "practice", image, "practice").returncode == 0
    stick = practice.ensure(home)
    paths.make_run_folder()
    document = {"schema": state.SCHEMA, "persistent": True, "stick": {"diskseq": stick.diskseq}}
    state.write(document)
    with pytest.raises(Refused, match="that this system was booted from"):
        stick_writer.find("practice")
    state.write({**document, "stick": None})
    with pytest.raises(Refused, match="not known which stick"):
        stick_writer.find("practice")
    state.write({**document, "stick": {"diskseq": -1}})
    assert stick_writer.find("practice").name == stick.name


def test_what_does_not_read_back_is_reported(
    drive: Drive, image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drive that answers and keeps nothing: here of the first part."""
    real = stick_writer._pwrite

    def lossy(fd: int, data: memoryview, at: int) -> None:
        if at == 0:
            data.release()
        else:
            real(fd, data, at)

    monkeypatch.setattr(stick_writer, "_pwrite", lossy)
    with pytest.raises(DriveLost, match="gives back other bytes"):
        stick_writer.write(
            images.read(image), drive, "practice", lambda text: None, lambda what, part: None
        )


def test_an_update_that_fails_keeps_the_files(
    drive: Drive, image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert write_stick("--erase", "practice", image, "practice").returncode == 0
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(stick_writer, "_pwrite", lambda fd, data, at: data.release())
    fresh = make_image(tmp_path / "images/two.img", SYSTEM, mark=b"TWO")
    with pytest.raises(DriveLost, match="are kept in"):
        stick_writer.update(
            images.read(fresh), stick_writer.find("practice"), "practice", lambda text: None,
            lambda what, part: None,
        )  # fmt: skip
    backup = next(tmp_path.glob("benchstick-*-kept"))
    assert (backup / "recipes/example.toml").read_text() == "example"


def test_what_is_no_image_or_no_stick_is_one_clear_line(
    drive: Drive, image: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.img"
    odd.write_bytes(bytes(MIB))
    short_image = tmp_path / "cut.img"
    short_image.write_bytes(image.read_bytes()[: 20 * MIB])
    packed_image = tmp_path / "image.img.xz"
    packed_image.write_bytes(b"")
    other = make_image(
        tmp_path / "images/other.img", SYSTEM, mark=b"X",
        table=TABLE.replace("size=17MiB", "size=16MiB"),
    )  # fmt: skip
    before = checksum(drive.path)
    wrong: tuple[tuple[list[str | Path], str], ...] = (
        ([odd, "practice"], "not an image of a bench stick"),
        ([short_image, "practice"], "cut short"),
        ([packed_image, "practice"], "xz -dk"),
        ([tmp_path / "none", "practice"], "No such file"),
        ([tmp_path, "practice"], "not a file"),
        ([image, "/dev/nothing"], "no drive"),
        (["--update", image, "practice"], "not a bench stick"),
    )
    for argv, words in wrong:
        result = write_stick("--erase", "practice", *argv)
        assert result.returncode == 2, (argv, result.stderr)
        assert words in result.stderr
        assert len(result.stderr.splitlines()) <= 2, result.stderr
    assert checksum(drive.path) == before
    assert write_stick("--erase", "practice", image, "practice").returncode == 0
    result = write_stick("--update", "--erase", "practice", other, "practice")
    assert result.returncode == 2
    assert "laid out for another version" in result.stderr
