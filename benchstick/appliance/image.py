"""A stick's image file: what is in it, and a copy of it with files put on its FAT partition.

The files are added before anything is written to a drive: the drive can then be read back and
compared byte for byte, and is never mounted for this.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchstick.appliance.stick import CONFIG, new_config, parse_id
from benchstick.drives import in_use, partition_table, subprocesses
from benchstick.drives.partition_table import Partition
from benchstick.drives.subprocesses import Finished
from benchstick.errors import BadInput

# What belongs to the stick's user at the top of its FAT partition, though the image brings some of
# it: an update leaves it, and anything else that the image does not bring.
USERS = frozenset({"benchstick.toml", "recipes", "reports"})
_PACKED = {".xz": "xz -dk", ".zst": "zstd -dk", ".gz": "gunzip -k", ".zip": "unzip"}
_SECTOR = 512
Run = Callable[..., Finished]


@dataclass(frozen=True)
class Image:
    """An image file with its FAT and its data partition."""

    path: Path
    size: int
    boot: Partition
    data: Partition


def read(path: Path, run: Run = subprocesses.run) -> Image:
    """The image in `path`. BadInput for what is not a stick's image."""
    if path.suffix in _PACKED:
        raise BadInput(f"{path}: is packed; unpack it first: {_PACKED[path.suffix]} {path}")
    hint = "give the image that `make image` built"
    try:
        size = path.stat().st_size
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; {hint}") from None
    if not path.is_file():
        raise BadInput(f"{path}: not a file; {hint}")
    # Through its file's absolute name: sfdisk would take a leading dash for an option.
    where = str(path.absolute())
    answer = run(["sfdisk", "-J", where], timeout=30)
    partitions: list[Partition] = []
    label = ""
    if answer.exit_code == 0:
        label, partitions = partition_table.parse_sfdisk(answer.text, where)
    by_id = {part.partuuid: part for part in partitions}
    boot, data = by_id.get(in_use.STICK_FAT), by_id.get(in_use.STICK_DATA)
    if label != "dos" or boot is None or data is None or len(partitions) != 2:
        raise BadInput(f"{path}: not an image of a bench stick (its partitions are others)")
    if size % _SECTOR or data.start + data.size > size or boot.start + boot.size > data.start:
        raise BadInput(f"{path}: cut short: its partitions reach beyond its end; build it again")
    return Image(path, size, boot, data)


class Fat:
    """The FAT partition at an offset in a file. Names are relative to its root."""

    def __init__(self, file: Path, offset: int = 0, run: Run = subprocesses.run) -> None:
        # Else mtools refuses partitions whose size is no multiple of a floppy's tracks.
        os.environ.setdefault("MTOOLS_SKIP_CHECK", "1")
        self._where = f"{file}@@{offset}"
        self._run = run

    def names(self) -> list[str]:
        """The names at the top."""
        # An empty one answers "File not found" and 1.
        lines = self._do(["mdir", "-b", "-a", "-i", self._where, "::/"], empty=True).splitlines()
        return sorted(line.removeprefix("::/").rstrip("/") for line in lines if line)

    def get(self, names: Sequence[str], folder: Path) -> None:
        """Copy files and folders from the top into `folder`."""
        if names:
            inside = [f"::/{name}" for name in names]
            self._do(["mcopy", "-s", "-n", "-m", "-i", self._where, *inside, str(folder)])

    def put(self, paths: Sequence[Path]) -> None:
        """Copy files and folders to the top, over those of the same name."""
        if paths:
            sources = [str(path) for path in paths]
            self._do(["mcopy", "-s", "-o", "-m", "-i", self._where, *sources, "::/"])

    def _do(self, argv: list[str], *, empty: bool = False) -> str:
        answer = self._run(argv, timeout=600)
        if answer.exit_code != 0 and not (empty and "not found" in answer.error_line):
            raise BadInput(f"the FAT partition: {argv[0]}: {answer.error_line}")
        return answer.text


@contextlib.contextmanager
def with_users_files(
    image: Image, old: Path | None = None, run: Run = subprocesses.run
) -> Iterator[tuple[Path, str, Path]]:
    """A copy of the image whose stick has an id of its own; the copy, the id, a folder of files.

    `old` is a copy of a stick's FAT partition whose user's files are kept, its id with them; they
    are in the folder as well, which goes with the copy at the end.
    """
    with TemporaryDirectory(prefix="benchstick-") as name:
        work, files = Path(name), Path(name) / "files"
        files.mkdir()
        fat = Fat(image.path.absolute(), image.boot.start, run)
        system = {*fat.names(), CONFIG.parts[0]} - USERS
        if old is not None:
            before = Fat(old, 0, run)
            before.get([item for item in before.names() if item not in system], files)
            (files / CONFIG).parent.mkdir()
            # A stick that was never booted has none.
            with contextlib.suppress(BadInput):
                before.get([str(CONFIG)], (files / CONFIG).parent)
        identity = _give_id(files)
        copy = work / "stick.img"
        try:
            shutil.copyfile(image.path, copy)
        except OSError as error:
            raise BadInput(
                f"{work}: {error.strerror}: a copy of the image needs {image.size} bytes there; "
                "set TMPDIR to a folder that has them"
            ) from None
        Fat(copy, image.boot.start, run).put(sorted(files.iterdir()))
        yield copy, identity, files


def _give_id(files: Path) -> str:
    """The id in the stick's configuration among `files`; a fresh one where there is none."""
    config = files / CONFIG
    if config.exists():
        stick_id = parse_id(config.read_text(encoding="utf-8", errors="replace"))
        if stick_id is not None:
            return stick_id
    fresh, text = new_config()
    config.parent.mkdir(exist_ok=True)
    config.write_text(text, encoding="utf-8")
    return fresh
