"""File sets of the suites that copy: which files, how large, of what kind. Data only, no I/O.

The four built-in sets have the counts and bytes that AnandTech states for its DAS suite
(docs/methods/das.md). The distribution inside each set was never published: here it is log-normal
for each kind of media, from a fixed seed, with totals and counts exact. The three sets of AS SSD's
copy benchmark (docs/methods/asssd.md) are made in the same way. Everything is computed
in integers and correctly rounded decimals, so that the same name and scale give the same set
on every machine and Python.
"""

from __future__ import annotations

import functools
import hashlib
import json
import mmap
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchstick.errors import BadInput

SCHEMA = "benchstick/fileset/1"
FILLS = ("random", "text")
# A component longer than this is refused by every filesystem that the bench formats.
LONGEST_NAME = 255
MIN_SCALE = 1e-6
MIN_FILES = 4
MIN_FOLDERS = 1


@dataclass(frozen=True)
class FileEntry:
    """One file: `path` relative with `/`, `size` in bytes, `fill` random or text.

    `random` does not compress, as photos, music, video and disc images do not; `text` compresses
    to between a half and a third, as plain documents do.
    """

    path: str
    size: int
    fill: str = "random"


@dataclass(frozen=True)
class Nominal:
    """What the set has at scale 1: bytes, files and folders."""

    bytes: int
    files: int
    folders: int

    def to_json(self) -> dict[str, int]:
        return {"bytes": self.bytes, "files": self.files, "folders": self.folders}


@dataclass(frozen=True)
class FileSet:
    """A tree of files. `folders` holds every folder below the root, parents before children.

    `seed` decides the contents of the synthetic files, `scale` the part of `nominal` used.
    """

    name: str
    seed: str
    folders: tuple[str, ...]
    files: tuple[FileEntry, ...]
    scale: float
    nominal: Nominal

    @property
    def bytes(self) -> int:
        """All bytes of all files."""
        return sum(entry.size for entry in self.files)

    @property
    def count(self) -> int:
        """The number of files."""
        return len(self.files)

    @property
    def ram_needed(self) -> int:
        """Bytes that the set takes in a tmpfs: whole pages, and an entry for each name."""
        names = self.count + len(self.folders)
        whole = sum(-(-entry.size // mmap.PAGESIZE) for entry in self.files) * mmap.PAGESIZE
        return whole + names * 1024

    def estimate(self) -> dict[str, int]:
        """Bytes, files and folders, as a plan lists them."""
        return {"bytes": self.bytes, "files": self.count, "folders": len(self.folders)}

    def conditions(self) -> dict[str, Any]:
        """Test conditions of each result of this set: the scale and the counts really used."""
        return {"set": self.name, "scale": self.scale, **self.estimate()}

    def describe(self, source: str) -> dict[str, Any]:
        """Test conditions of the set in a plan, shown with its results."""
        return {
            "name": self.name, **self.estimate(), "scale": self.scale,
            "nominal": self.nominal.to_json(), "source": source,
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "name": self.name,
            "seed": self.seed,
            "scale": self.scale,
            "nominal": self.nominal.to_json(),
            "folders": list(self.folders),
            "files": [[entry.path, entry.size, entry.fill] for entry in self.files],
        }

    @staticmethod
    def from_json(document: str | Mapping[str, Any]) -> FileSet:
        """The set written by `to_json`. BadInput naming the place that is wrong."""
        return _from_json(document)


# --- the built-in sets ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """One kind of media in a set: how many files, their bytes together, spread and limits.

    `spread` is the sigma of the log-normal in thousandths; `names` the file name pattern;
    `tree` the folder that the kind lives under.
    """

    count: int
    total: int
    spread: int
    least: int
    most: int
    names: str
    tree: str
    fill: str = "random"


_KB, _MB, _GB = 10**3, 10**6, 10**9

# Counts add up to the stated number of files. The last kind of each set with `total` 0 takes
# the bytes that the others leave.
_KINDS: dict[str, tuple[_Kind, ...]] = {
    "AV": (
        _Kind(760, 3_650 * _MB, 350, 1_200 * _KB, 14 * _MB, "IMG_{:04d}.JPG", "Photos"),
        _Kind(40, 960 * _MB, 150, 14 * _MB, 40 * _MB, "RAW_{:04d}.CR2", "Photos"),
        _Kind(330, 2_640 * _MB, 350, 2 * _MB, 30 * _MB, "{:03d} Track.mp3", "Music"),
        _Kind(50, 1_400 * _MB, 300, 12 * _MB, 60 * _MB, "{:03d} Track.flac", "Music"),
        _Kind(83, 0, 900, 12 * _MB, 1_900 * _MB, "MVI_{:04d}.MP4", "Videos"),
    ),
    "Home": (
        _Kind(2_400, 7_680 * _MB, 400, 500 * _KB, 12 * _MB, "DSC_{:04d}.JPG", "Pictures"),
        _Kind(900, 5_130 * _MB, 350, 1_500 * _KB, 20 * _MB, "{:03d} Song.mp3", "Music"),
        _Kind(1_500, 1_200 * _MB, 1_300, 20 * _KB, 40 * _MB, "Document {:04d}.pdf", "Documents"),
        _Kind(700, 130 * _MB, 1_000, 11 * _KB, 5 * _MB, "Letter {:04d}.docx", "Documents"),
        _Kind(
            600, 150 * _MB, 1_200, 12 * _KB, 8 * _MB, "Report {:04d}.doc", "Documents", fill="text"
        ),
        _Kind(1_490, 15 * _MB, 1_300, 120, 400 * _KB, "notes {:04d}.txt", "Documents", fill="text"),
        _Kind(37, 0, 700, 15 * _MB, 700 * _MB, "Clip {:03d}.mp4", "Videos"),
    ),
    "ISOs": (_Kind(4, 0, 250, 4_000 * _MB, 12_000 * _MB, "Disc {:d}.iso", "ISOs"),),
    "ISO": (_Kind(2, 0, 0, 500 * _MB, 500 * _MB, "Image {:d}.iso", "ISO"),),
    "Program": (_Kind(4_000, 0, 1_300, 1 * _KB, 1 * _MB, "module {:04d}.dll", "Program"),),
    "Game": (
        _Kind(5, 500 * _MB, 400, 40 * _MB, 250 * _MB, "data {:d}.pak", "Game"),
        _Kind(6_000, 0, 600, 10 * _KB, 200 * _KB, "texture {:04d}.dds", "Game"),
    ),
}

_STATED: dict[str, Nominal] = {
    "AV": Nominal(24_030 * _MB, 1263, 109),
    "Home": Nominal(18_860 * _MB, 7627, 382),
    "BR": Nominal(23_090 * _MB, 111, 10),
    "ISOs": Nominal(28_610 * _MB, 4, 1),
}
BUILTIN_NAMES = tuple(_STATED)
# AS SSD's copy benchmark states the kinds of files; their number and sizes are our choice.
_COPY_NOMINAL: dict[str, Nominal] = {
    "ISO": Nominal(1_000 * _MB, 2, 1),
    "Program": Nominal(400 * _MB, 4_000, 200),
    "Game": Nominal(1_000 * _MB, 6_005, 100),
}
COPY_NAMES = tuple(_COPY_NOMINAL)
_NOMINAL = {**_STATED, **_COPY_NOMINAL}

_BR_FOLDERS = (
    "BDMV",
    "BDMV/STREAM",
    "BDMV/CLIPINF",
    "BDMV/PLAYLIST",
    "BDMV/AUXDATA",
    "BDMV/META",
    "BDMV/BACKUP",
    "BDMV/BACKUP/CLIPINF",
    "BDMV/BACKUP/PLAYLIST",
    "CERTIFICATE",
)


@dataclass(frozen=True)
class _Item:
    """A file before it has its place: the folder it would like, its name, size and fill."""

    home: str
    name: str
    size: int
    fill: str


# The start page estimates the cost of a few sets repeatedly, and a large one takes 0.1 s.
@functools.lru_cache(maxsize=32)
def builtin(name: str, scale: float = 1.0) -> FileSet:
    """The built-in set `name` (of BUILTIN_NAMES or COPY_NAMES) at `scale`, 0 < scale <= 1.

    `scale` multiplies the number of files and folders (at least 4 files and 1 folder) with file
    sizes unchanged, and shrinks sizes only where that is still more than `scale` times the
    set's bytes. BadInput for an unknown name or a scale out of range.
    """
    if name not in _NOMINAL:
        raise BadInput(
            f"file set {name!r} is unknown: choose one of {', '.join(BUILTIN_NAMES)}", field="set"
        )
    if not MIN_SCALE <= scale <= 1:
        raise BadInput(
            f"scale {scale:g} is out of range: choose a number above 0 and up to 1", field="scale"
        )
    nominal = _NOMINAL[name]
    items = _br_items() if name == "BR" else _items(name, nominal.bytes)
    folders = nominal.folders
    if scale < 1:
        items = _fewer(items, nominal, scale)
        folders = max(MIN_FOLDERS, round(nominal.folders * scale))
    return _lay_out(name, items, folders, scale)


def _draw(*key: object) -> int:
    """64 bits that depend on the key only, the same on every machine."""
    text = "/".join(str(part) for part in key)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _normal(*key: object) -> int:
    """A draw from about the standard normal distribution, in thousandths.

    The sum of twelve even draws (16 bits each) has variance 1 and stays within +-6: integers
    only, where a quantile function would depend on the C library's last bit.
    """
    digest = hashlib.sha256("/".join(str(part) for part in key).encode()).digest()
    total = sum(int.from_bytes(digest[2 * i : 2 * i + 2], "little") for i in range(12))
    return (total - 6 * 65535) * 1000 // 65535


def _exp(thousandths: int) -> int:
    """e to the power of `thousandths`/1000, in millionths; within 1e-6 of it, in integers."""
    # Taylor series of the remainder below 1/64, then squared six times.
    one = 10**24
    x = thousandths * one // 1000 // 64
    term, total = one, one
    for i in range(1, 14):
        term = term * x // one // i
        total += term
    for _ in range(6):
        total = total * total // one
    return total * 10**6 // one


def _sizes(key: str, kind: _Kind, total: int) -> list[int]:
    """`kind.count` log-normal sizes within the kind's limits that add up to `total` exactly."""
    weights = [_exp(_normal(key, i) * kind.spread // 1000) for i in range(kind.count)]
    sizes = [0] * kind.count
    free = list(range(kind.count))
    remaining = total
    # Whatever hits a limit stays there and the others share what is left, until none hits one.
    while free:
        whole = sum(weights[i] for i in free)
        shares = {i: remaining * weights[i] // whole for i in free}
        low = [i for i in free if shares[i] < kind.least]
        high = [i for i in free if shares[i] > kind.most]
        pinned_indexes = low if sum(kind.least - shares[i] for i in low) >= sum(
            shares[i] - kind.most for i in high
        ) else high  # fmt: skip
        if not pinned_indexes:
            for i in free:
                sizes[i] = shares[i]
            break
        for i in pinned_indexes:
            sizes[i] = kind.least if pinned_indexes is low else kind.most
            remaining -= sizes[i]
        free = [i for i in free if i not in set(pinned_indexes)]
    # What the division left over, at most one byte a file, goes to the largest.
    sizes[max(range(kind.count), key=sizes.__getitem__)] += total - sum(sizes)
    return sizes


def _items(name: str, total: int) -> list[_Item]:
    kinds = _KINDS[name]
    rest = total - sum(kind.total for kind in kinds)
    items = []
    for kind in kinds:
        sizes = _sizes(f"{name}/{kind.names}", kind, kind.total or rest)
        items += [
            _Item(kind.tree, kind.names.format(i + 1), size, kind.fill)
            for i, size in enumerate(sizes)
        ]
    return items


def _br_items() -> list[_Item]:
    """A Blu-ray folder: one feature, some extras, many clips, and their small description files.

    Every clip has a clip information file, and descriptions exist twice (BACKUP), as on a disc.
    """
    clips = 32
    small = [
        _Item("BDMV", "index.bdmv", 268, "random"),
        _Item("BDMV", "MovieObject.bdmv", 21_478, "random"),
        _Item("BDMV/BACKUP", "index.bdmv", 268, "random"),
        _Item("BDMV/BACKUP", "MovieObject.bdmv", 21_478, "random"),
        _Item("CERTIFICATE", "id.bdmv", 104, "random"),
    ]
    for i in range(clips):
        size = 300 + _draw("BR/clpi", i) % (220_000 if i < 6 else 9_000)
        small.append(_Item("BDMV/CLIPINF", f"{i:05d}.clpi", size, "random"))
        small.append(_Item("BDMV/BACKUP/CLIPINF", f"{i:05d}.clpi", size, "random"))
    for i in range(5):
        size = 200 + _draw("BR/mpls", i) % 3_000
        small.append(_Item("BDMV/PLAYLIST", f"{i:05d}.mpls", size, "random"))
        small.append(_Item("BDMV/BACKUP/PLAYLIST", f"{i:05d}.mpls", size, "random"))
    extras = _sizes("BR/extras", _Kind(5, 0, 500, 250 * _MB, 2_600 * _MB, "", ""), 5_400 * _MB)
    shorts = _sizes("BR/shorts", _Kind(26, 0, 1_000, 300 * _KB, 250 * _MB, "", ""), 1_040 * _MB)
    feature = _STATED["BR"].bytes - sum(item.size for item in small) - sum(extras) - sum(shorts)
    streams = [
        _Item("BDMV/STREAM", f"{i:05d}.m2ts", size, "random")
        for i, size in enumerate([feature, *extras, *shorts])
    ]
    return streams + small


# --- scale ---------------------------------------------------------------------------------


def _fewer(items: list[_Item], nominal: Nominal, scale: float) -> list[_Item]:
    """A sample of `items` that has their distribution of sizes; see `builtin` for the rule."""
    count = min(len(items), max(MIN_FILES, round(nominal.files * scale)))
    budget = int(nominal.bytes * scale)
    ranks = sorted(range(len(items)), key=lambda i: (items[i].size, i))
    # One file out of each of `required` equal ranges of the sizes, its middle one at first.
    edges = [len(ranks) * i // count for i in range(count + 1)]
    strata = [ranks[edges[i] : edges[i + 1]] for i in range(count)]
    sample = [stratum[len(stratum) // 2] for stratum in strata]
    total = sum(items[i].size for i in sample)
    # From the largest range down, take the largest file that keeps the sum within the budget:
    # the sum comes close to it without a size changed.
    for place in reversed(range(count)):
        rest = total - items[sample[place]].size
        fitting = [i for i in strata[place] if rest + items[i].size <= budget]
        sample[place] = fitting[-1] if fitting else strata[place][0]
        total = rest + items[sample[place]].size
    if total < budget * 9 // 10:
        # One file outweighs the budget (the feature of BR): without it the set would be far
        # smaller than asked for, so it is taken and all sizes shrink.
        rest = total - items[sample[-1]].size
        sample[-1] = next((i for i in strata[-1] if rest + items[i].size >= budget), strata[-1][-1])
        total = rest + items[sample[-1]].size
    sampled_items = [items[i] for i in sorted(sample)]
    return _shrink(sampled_items, budget) if total > budget else sampled_items


def _shrink(items: list[_Item], budget: int) -> list[_Item]:
    """All sizes by one factor, so that they add up to `budget` exactly."""
    total = sum(item.size for item in items)
    sizes = [item.size * budget // total for item in items]
    largest = max(range(len(items)), key=lambda i: (sizes[i], -i))
    sizes[largest] += budget - sum(sizes)
    return [
        _Item(item.home, item.name, size, item.fill)
        for item, size in zip(items, sizes, strict=True)
    ]


# --- folders -------------------------------------------------------------------------------


def _lay_out(name: str, items: list[_Item], folders: int, scale: float) -> FileSet:
    """Give the items their folders, exactly `folders` of them."""
    if name == "BR":
        names = list(_BR_FOLDERS[:folders])
        homes = {home: [_nearest(home, names)] for home in {item.home for item in items}}
    else:
        names, homes = _folder_tree(items, folders)
    files = _place(items, homes)
    return FileSet(
        name=name,
        seed=f"benchstick/{name}/1",
        folders=tuple(names),
        files=tuple(sorted(files, key=lambda entry: entry.path)),
        scale=scale,
        nominal=_NOMINAL[name],
    )


def _nearest(home: str, names: Iterable[str]) -> str:
    """`home` if it is among `names`, else its nearest parent there, else the first."""
    candidates = list(names)
    while home:
        if home in candidates:
            return home
        home = home.rpartition("/")[0]
    return candidates[0]


def _folder_tree(items: list[_Item], folders: int) -> tuple[list[str], dict[str, list[str]]]:
    """`folders` folder names and, for each kind's home, the folders its files go to.

    Every home has a folder of its own as far as `folders` reaches; the others are shared out by
    the number of files and nested two deep (`Pictures/2011/2011-07 Event 3`).
    """
    counts: dict[str, int] = {}
    for item in items:
        counts[item.home] = counts.get(item.home, 0) + 1
    tops = sorted(counts, key=lambda home: (-counts[home], home))
    names = tops[:folders]
    leaves: dict[str, list[str]] = {}
    extra = folders - len(names)
    weight = sum(counts.values())
    for home in names:
        share = extra * counts[home] // weight if weight else 0
        extra -= share
        weight -= counts[home]
        below = _below(home, share)
        names = [*names, *below]
        leaves[home] = below or [home]
    for home in tops[folders:]:
        leaves[home] = leaves[tops[0]]
    return sorted(names), leaves


def _below(home: str, count: int) -> list[str]:
    """`count` folders below `home`: groups of up to seven, each a parent and its children."""
    folders: list[str] = []
    group = 0
    while len(folders) < count:
        parent = f"{home}/{2004 + group}"
        folders.append(parent)
        for i in range(min(6, count - len(folders))):
            folders.append(f"{parent}/{2004 + group}-{2 * i + 1:02d} Part {i + 1}")
        group += 1
    return folders


def _place(items: list[_Item], homes: Mapping[str, list[str]]) -> list[FileEntry]:
    """Put each home's items into its folders in runs of equal length; names made unique."""
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(item.home, []).append(item)
    used_paths: set[str] = set()
    entries = []
    for home in sorted(groups):
        group, places = groups[home], homes[home]
        for i, item in enumerate(group):
            folder = places[i * len(places) // len(group)]
            path, copy = f"{folder}/{item.name}", 1
            while path.casefold() in used_paths:
                copy += 1
                path = f"{folder}/{copy} {item.name}"
            used_paths.add(path.casefold())
            entries.append(FileEntry(path, item.size, item.fill))
    return entries


# --- manifests -----------------------------------------------------------------------------


_LINE = re.compile(r"(?P<size>[^\s]+)(?:\t| +)(?P<path>.+)")


def manifest(text: str, name: str = "manifest") -> FileSet:
    """A set from a manifest: `SIZE<TAB or spaces>PATH` a line; `#` starts a comment line.

    SIZE is a whole number of bytes. A path ending in `/` (size 0) is a folder, for empty ones.
    BadInput with the line's number for an absolute path, `..`, a path given twice (also when
    only upper and lower case differ, which exFAT and NTFS hold for the same), a path that is
    both file and folder, a size that is no number, or a manifest without files.
    """
    files: dict[str, int] = {}
    folders: dict[str, int] = {}
    sizes: dict[str, int] = {}
    lines: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        size, path, is_folder = _manifest_line(line, number)
        key = _same_key(path)
        if not is_folder and key in lines:
            raise _at(number, f"{path!r} was given in line {lines[key][1]} already")
        if is_folder:
            folders.setdefault(path, number)
        else:
            files[path], sizes[path] = number, size
            lines[key] = (path, number)
        for parent in _parents(path):
            folders.setdefault(parent, number)
    _no_clash(lines, folders)
    if not files:
        raise BadInput("the manifest names no file: write SIZE, a tab and PATH on a line each")
    entries = tuple(FileEntry(path, sizes[path], _fill_for(path)) for path in sorted(sizes))
    total = sum(sizes.values())
    ordered_folders = tuple(sorted(folders, key=_folder_order))
    seed = "manifest/" + hashlib.sha256(text.encode()).hexdigest()[:16]
    return FileSet(
        name,
        seed,
        ordered_folders,
        entries,
        1.0,
        Nominal(total, len(entries), len(ordered_folders)),
    )


def from_listing(name: str, folders: Iterable[str], files: Iterable[tuple[str, int]]) -> FileSet:
    """The set of a tree that was read from a drive: its folders and (path, size) pairs."""
    entries = tuple(FileEntry(path, size) for path, size in files)
    ordered_folders = tuple(sorted(folders, key=_folder_order))
    nominal = Nominal(sum(entry.size for entry in entries), len(entries), len(ordered_folders))
    return FileSet(name, "", ordered_folders, entries, 1.0, nominal)


def check_path(path: str) -> str | None:
    """What is wrong with a relative path, in words, or None."""
    if not path:
        return "the path is empty"
    if path.startswith("/"):
        return f"{path!r} is absolute: paths are relative to the set's folder"
    if "\0" in path:
        return f"{path!r} holds a NUL character"
    for part in path.split("/"):
        if part == "..":
            return f"{path!r} leaves the set's folder by '..'"
        if part in ("", "."):
            return f"{path!r} holds an empty part or '.'"
        if len(part.encode("utf-8", "surrogateescape")) > LONGEST_NAME and len(part) > LONGEST_NAME:
            return f"{path!r} holds a name longer than {LONGEST_NAME} characters"
    return None


def _manifest_line(line: str, number: int) -> tuple[int, str, bool]:
    match = _LINE.fullmatch(line.strip("\r\n"))
    if match is None:
        raise _at(number, f"{line.strip()!r} is not SIZE, a tab or space, and PATH")
    text, path = match["size"], match["path"]
    if not (text.isascii() and text.isdigit()):
        raise _at(number, f"the size {text!r} is not a whole number of bytes")
    is_folder = path.endswith("/") and len(path) > 1
    path = path[:-1] if is_folder else path
    wrong = check_path(path)
    if wrong is not None:
        raise _at(number, wrong)
    if is_folder and int(text):
        raise _at(number, f"{path + '/'!r} is a folder: its size must be 0")
    return int(text), path, is_folder


def _no_clash(lines: Mapping[str, tuple[str, int]], folders: Mapping[str, int]) -> None:
    for folder, number in folders.items():
        clash = lines.get(_same_key(folder))
        if clash is not None:
            raise _at(
                max(number, clash[1]),
                f"{clash[0]!r} is a file in line {clash[1]} and a folder in line {number}",
            )


def _same_key(path: str) -> str:
    """Paths with the same key are one file on a filesystem that ignores case."""
    return unicodedata.normalize("NFC", path).casefold()


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]


def _folder_order(folder: str) -> tuple[str, ...]:
    return tuple(folder.split("/"))


_TEXT_ENDINGS = (".txt", ".md", ".csv", ".log", ".html", ".htm", ".xml", ".json", ".doc", ".xls",
                 ".rtf", ".c", ".h", ".py", ".js", ".css", ".ini", ".sql")  # fmt: skip


def _fill_for(path: str) -> str:
    return "text" if path.lower().endswith(_TEXT_ENDINGS) else "random"


def _at(number: int, what: str) -> BadInput:
    return BadInput(f"manifest line {number}: {what}", field="set")


# --- JSON ----------------------------------------------------------------------------------


def _from_json(document: str | Mapping[str, Any]) -> FileSet:
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except json.JSONDecodeError as error:
            raise BadInput(f"file set: line {error.lineno}: not JSON: {error.msg}") from None
    if not isinstance(document, Mapping):
        raise BadInput("file set: not a JSON object")
    if document.get("schema") != SCHEMA:
        raise BadInput(f"file set: schema: expected {SCHEMA!r}, found {document.get('schema')!r}")
    nominal = _get(document, "nominal", Mapping)
    folders = _get(document, "folders", list)
    for i, folder in enumerate(folders):
        wrong = check_path(folder) if isinstance(folder, str) else "not a text"
        if wrong is not None:
            raise BadInput(f"file set: folders[{i}]: {wrong}")
    files = tuple(_entry(i, row) for i, row in enumerate(_get(document, "files", list)))
    paths = [entry.path for entry in files]
    if len(set(paths)) != len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise BadInput(f"file set: files: {twice!r} is given twice")
    folder_set = set(folders)
    for i, entry in enumerate(files):
        for parent in _parents(entry.path):
            if parent not in folder_set:
                raise BadInput(f"file set: files[{i}]: its folder {parent!r} is not in folders")
        if entry.path in folder_set:
            raise BadInput(f"file set: files[{i}]: {entry.path!r} is a folder too")
    return FileSet(
        name=_get(document, "name", str),
        seed=_get(document, "seed", str),
        folders=tuple(folders),
        files=files,
        scale=float(_get(document, "scale", (int, float))),
        nominal=Nominal(
            *(_whole(nominal, "nominal", key) for key in ("bytes", "files", "folders"))
        ),
    )


def _get(document: Mapping[str, Any], key: str, kind: Any) -> Any:
    value = document.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        problem = "missing" if key not in document else f"found {type(value).__name__}"
        raise BadInput(f"file set: {key}: wrong or missing ({problem})")
    return value


def _whole(document: Mapping[str, Any], where: str, key: str) -> int:
    value = document.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadInput(f"file set: {where}.{key}: expected a whole number, found {value!r}")
    return value


def _entry(i: int, row: Any) -> FileEntry:
    where = f"file set: files[{i}]"
    if not isinstance(row, list) or len(row) != 3:
        raise BadInput(f"{where}: expected [path, size, fill]")
    path, size, fill = row
    wrong = check_path(path) if isinstance(path, str) else f"the path {path!r} is not a text"
    if wrong is not None:
        raise BadInput(f"{where}: {wrong}")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise BadInput(f"{where}: the size {size!r} is not a whole number of bytes")
    if fill not in FILLS:
        raise BadInput(f"{where}: the fill {fill!r} is not one of {', '.join(FILLS)}")
    return FileEntry(path, size, fill)
