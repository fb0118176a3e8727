"""The built-in sets have the stated counts to the byte; manifest and JSON errors are located."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest

from benchstick.errors import BadInput
from benchstick.plan.fileset import (
    BUILTIN_NAMES,
    COPY_NAMES,
    FileSet,
    builtin,
    from_listing,
    manifest,
)

STATED = {
    "AV": (24_030_000_000, 1263, 109),
    "Home": (18_860_000_000, 7627, 382),
    "BR": (23_090_000_000, 111, 10),
    "ISOs": (28_610_000_000, 4, 1),
}
# The first bytes of SHA-256 over each set's JSON: the same set on every machine and Python.
DIGESTS = {
    "AV": "183daf73fd253696",
    "Home": "5136bc1db0b56289",
    "BR": "38d4509d3c59d2ce",
    "ISOs": "641407da303bec4b",
}
SCALES = (0.9, 0.5, 0.25, 0.1, 0.05, 0.01, 0.001)


def digest(fileset: FileSet) -> str:
    return hashlib.sha256(json.dumps(fileset.to_json()).encode()).hexdigest()[:16]


def assert_sound(fileset: FileSet) -> None:
    """Every folder has its parent before it, every file its folder, and no name is there twice."""
    parents = {""}
    for folder in fileset.folders:
        assert folder.rpartition("/")[0] in parents, folder
        assert folder not in parents
        parents.add(folder)
    paths = [entry.path.casefold() for entry in fileset.files]
    assert len(set(paths)) == len(paths)
    for entry in fileset.files:
        assert entry.path.rpartition("/")[0] in parents, entry.path
        assert entry.size >= 0
        assert entry.fill in ("random", "text")


@pytest.mark.parametrize("name", BUILTIN_NAMES)
def test_builtin_has_the_stated_counts(name: str) -> None:
    fileset = builtin(name)
    assert (fileset.bytes, fileset.count, len(fileset.folders)) == STATED[name]
    assert fileset.estimate() == dict(zip(("bytes", "files", "folders"), STATED[name], strict=True))
    assert_sound(fileset)


@pytest.mark.parametrize("name", BUILTIN_NAMES)
def test_builtin_is_the_same_everywhere(name: str) -> None:
    assert digest(builtin(name)) == DIGESTS[name]


@pytest.mark.parametrize("name", BUILTIN_NAMES)
@pytest.mark.parametrize("scale", SCALES)
def test_scale_rule(name: str, scale: float) -> None:
    nominal_bytes, nominal_files, nominal_folders = STATED[name]
    fileset = builtin(name, scale)
    assert fileset.count == max(4, round(nominal_files * scale))
    assert len(fileset.folders) == max(1, round(nominal_folders * scale))
    # Never more than asked for, and never far less.
    assert 0.9 * nominal_bytes * scale <= fileset.bytes <= nominal_bytes * scale
    assert fileset.scale == scale
    assert fileset.nominal.bytes == nominal_bytes
    assert_sound(fileset)


@pytest.mark.parametrize(
    ("name", "count", "files", "folders", "begins"),
    [
        ("ISO", 10**9, 2, 1, "59c12580f95fef6c"),
        ("Program", 4 * 10**8, 4000, 200, "3bdbfcc67944fbf0"),
        ("Game", 10**9, 6005, 100, "b385c2455de88db1"),
    ],
)
def test_the_sets_that_are_copied_within_a_drive(
    name: str, count: int, files: int, folders: int, begins: str
) -> None:
    fileset = builtin(name)
    assert (fileset.bytes, fileset.count, len(fileset.folders)) == (count, files, folders)
    assert digest(fileset) == begins
    assert_sound(fileset)
    small = builtin(name, 0.01)
    assert 0.9 * count * 0.01 <= small.bytes <= count * 0.01
    assert_sound(small)
    assert name in COPY_NAMES
    assert name not in BUILTIN_NAMES


def test_half_of_the_game_is_in_five_files() -> None:
    sizes = sorted(entry.size for entry in builtin("Game").files)
    assert sum(sizes[-5:]) == 500 * 10**6
    # What the division leaves over, at most a byte a file, is in the largest of the others.
    assert 10_000 <= sizes[0] <= sizes[-7] <= 200_000
    assert sizes[-6] <= 200_000 + 6000


@pytest.mark.parametrize("name", ["AV", "Home"])
@pytest.mark.parametrize("scale", [0.5, 0.1, 0.02])
def test_scale_keeps_sizes_where_the_set_allows_it(name: str, scale: float) -> None:
    whole = Counter(entry.size for entry in builtin(name).files)
    part = Counter(entry.size for entry in builtin(name, scale).files)
    assert not part - whole


def test_scale_shrinks_four_images_by_one_factor() -> None:
    whole = sorted(entry.size for entry in builtin("ISOs").files)
    part = sorted(entry.size for entry in builtin("ISOs", 0.01).files)
    assert sum(part) == 286_100_000
    for a, b in zip(whole, part, strict=True):
        assert b == pytest.approx(a * 0.01, abs=4)


def test_sizes_follow_the_media() -> None:
    home = builtin("Home")
    median = sorted(entry.size for entry in home.files)[home.count // 2]
    assert median < 2_470_000 / 2, "log-normal: most files are far smaller than the mean"
    texts = [entry for entry in home.files if entry.path.endswith(".txt")]
    assert texts and all(entry.fill == "text" for entry in texts)
    photos = [entry for entry in home.files if entry.path.endswith(".JPG")]
    assert photos and all(entry.fill == "random" for entry in photos)
    assert all(entry.fill == "random" for entry in builtin("AV").files)
    disc = builtin("BR")
    streams = [entry.size for entry in disc.files if entry.path.endswith(".m2ts")]
    assert sum(streams) > 0.99 * disc.bytes
    assert max(streams) > disc.bytes / 2
    assert sum(1 for entry in disc.files if entry.size < 250_000) >= 70


@pytest.mark.parametrize("scale", [0, -1, 1.01, float("nan"), float("inf"), 1e-9])
def test_scale_out_of_range(scale: float) -> None:
    with pytest.raises(BadInput, match=r"scale .* is out of range"):
        builtin("AV", scale)


def test_unknown_set_names_those_there_are() -> None:
    with pytest.raises(BadInput, match="'Video' is unknown: choose one of AV, Home, BR, ISOs"):
        builtin("Video")


def test_json_round_trip() -> None:
    fileset = builtin("Home", 0.01)
    assert FileSet.from_json(json.dumps(fileset.to_json())) == fileset
    assert FileSet.from_json(fileset.to_json()) == fileset


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other/1"}, "schema: expected 'benchstick/fileset/1'"),
        ({"name": 5}, "name: wrong or missing"),
        ({"nominal": {"bytes": -1, "files": 1, "folders": 1}}, "nominal.bytes"),
        ({"folders": ["/etc"]}, r"folders\[0\]: '/etc' is absolute"),
        ({"files": [["a", 1]]}, r"files\[0\]: expected \[path, size, fill\]"),
        ({"files": [["../a", 1, "random"]]}, r"files\[0\]: '../a' leaves the set's folder"),
        ({"files": [["a", -1, "random"]]}, r"files\[0\]: the size -1"),
        ({"files": [["a", True, "random"]]}, r"files\[0\]: the size True"),
        ({"files": [["a", 1, "zero"]]}, r"files\[0\]: the fill 'zero'"),
        ({"files": [["x/a", 1, "random"]]}, r"files\[0\]: its folder 'x' is not in folders"),
        ({"files": [["a", 1, "random"], ["a", 2, "random"]]}, "'a' is given twice"),
    ],
)
def test_json_errors_name_the_place(change: dict[str, object], message: str) -> None:
    document = {**builtin("ISOs").to_json(), **change}
    with pytest.raises(BadInput, match=message):
        FileSet.from_json(document)


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_json_that_is_no_set(text: str) -> None:
    with pytest.raises(BadInput, match=r"^file set: "):
        FileSet.from_json(text)


def test_manifest() -> None:
    fileset = manifest(
        "# my files\n\n100\tone.bin\n0\tempty file.txt\n2048 deep/er/name with  blanks.doc\n"
        "0\tnothing in here/\n5\tdeep/ümlaut 日本.txt\n"
    )
    assert [(entry.path, entry.size) for entry in fileset.files] == [
        ("deep/er/name with  blanks.doc", 2048),
        ("deep/ümlaut 日本.txt", 5),
        ("empty file.txt", 0),
        ("one.bin", 100),
    ]
    assert fileset.folders == ("deep", "deep/er", "nothing in here")
    assert fileset.bytes == 2153
    assert {entry.path: entry.fill for entry in fileset.files}["one.bin"] == "random"
    assert {entry.path: entry.fill for entry in fileset.files}["empty file.txt"] == "text"
    assert_sound(fileset)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t/etc/passwd", "line 1: '/etc/passwd' is absolute"),
        ("1\ta\n2\tb/../../c", r"line 2: 'b/../../c' leaves the set's folder by '..'"),
        ("1\ta//b", "line 1: 'a//b' holds an empty part"),
        ("1\t./a", "line 1: './a' holds an empty part or '.'"),
        ("1\ta\n\n1\ta", "line 3: 'a' was given in line 1 already"),
        ("1\tReadme\n1\treadme", "line 2: 'readme' was given in line 1 already"),
        ("1\ta\n1\ta/b", "line 2: 'a' is a file in line 1 and a folder in line 2"),
        ("1\ta/b\n1\ta", "line 2: 'a' is a file in line 2 and a folder in line 1"),
        ("abc\ta", "line 1: the size 'abc' is not a whole number"),
        ("-1\ta", "line 1: the size '-1' is not a whole number"),
        ("1.5\ta", "line 1: the size '1.5' is not a whole number"),
        ("100", "line 1: '100' is not SIZE, a tab or space, and PATH"),
        ("5\tfolder/", "line 1: 'folder/' is a folder: its size must be 0"),
        ("1\t" + "x" * 256, "line 1: .* longer than 255"),
        ("# nothing\n", "names no file"),
        ("", "names no file"),
    ],
)
def test_manifest_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        manifest(text)


def test_manifest_takes_255_characters() -> None:
    assert manifest("1\t" + "ä" * 255).count == 1


def test_same_manifest_same_seed() -> None:
    assert manifest("1\ta").seed == manifest("1\ta").seed
    assert manifest("1\ta").seed != manifest("2\ta").seed


def test_listing_keeps_order_of_folders() -> None:
    fileset = from_listing("tree", ["b/c", "b", "a"], [("b/c/x", 3)])
    assert fileset.folders == ("a", "b", "b/c")
    assert (fileset.bytes, fileset.count) == (3, 1)
    assert_sound(fileset)
