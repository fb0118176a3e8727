"""Whole runs on the practice drive: what is kept, and that nothing is left behind."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.host.bench import QUICK_CDM, QUICK_DAS, Bench, mounts_below, wait_for

CLONE = Path(__file__).resolve().parents[2]


def assert_nothing_left(bench: Bench) -> None:
    assert mounts_below(bench.root) == []
    assert list((bench.root / "run" / "live").iterdir()) == []
    assert list((bench.root / "run" / "runs").glob("*.lock")) == []


def test_a_quick_cdm_has_every_result_with_its_conditions(bench: Bench) -> None:
    document = bench.json(*bench.practice("cdm", *QUICK_CDM))
    assert document["schema"] == "benchstick/run/2"
    assert (document["state"], document["exit_code"]) == ("done", 0)
    assert document["practice"]
    single = [item for item in document["results"] if item["pass"] == 1]
    speeds = [item for item in single if item["unit"] == "MB/s"]
    assert len(speeds) == 8
    assert {item["state"] for item in speeds} == {"valid"}
    assert {item["target"] for item in speeds} == {"file on ext4"}
    for item in speeds:
        totals, counters = item["detail"]["totals"], item["detail"]["counters"]
        tool = totals["read_bytes"] + totals["write_bytes"]
        side = "write_bytes" if "write" in item["name"] else "read_bytes"
        assert tool <= counters[side] <= tool * 1.03 + 65536
    over_all = [item["name"] for item in document["results"] if item["pass"] is None]
    assert "SEQ1M Q8T1 read" in over_all
    assert "RND4K Q1T1 write latency" in over_all
    assert document["conditions"]["host"]["kernel"] == os.uname().release
    assert_nothing_left(bench)
    for step in document["steps"]:
        folder = bench.home / step["artifacts"]
        assert folder.is_dir()
        if step["kind"] == "fio":
            file_names = {path.name for path in folder.iterdir()}
            assert {"command", "stdout", "stderr", "exit", "fio.json"} <= file_names
            assert (folder / "exit").read_text() == "0\n"
            assert "--direct=1" in (folder / "command").read_text()


def test_samples_cover_the_run_without_a_gap(bench: Bench) -> None:
    document = bench.json(*bench.practice("das", *QUICK_DAS))
    exported = json.loads(bench.run("export", str(document["number"]), "--format", "json").stdout)
    samples = exported["samples"]
    assert [sample["n"] for sample in samples] == list(range(len(samples)))
    last = samples[0]
    for sample in samples[1:]:
        assert abs((sample["t"] - sample["dt"]) - last["t"]) < 0.01
        last = sample
    total_bytes = sum(sample["write_bytes"] for sample in samples)
    assert total_bytes >= exported["plan"]["sets"][0]["bytes"]


def test_a_quick_das_keeps_counts_scale_and_seconds(bench: Bench) -> None:
    document = bench.json(*bench.practice("das", *QUICK_DAS))
    (used,) = document["plan"]["sets"]
    assert (used["files"], used["scale"], used["source"]) == (8, 0.001, "ram")
    results = {(item["name"], item["pass"]): item for item in document["results"]}
    write = results["Home write", 1]
    assert write["state"] == "valid", write["reason"]
    assert write["detail"]["bytes"] == used["bytes"]
    assert write["detail"]["files"] == 8
    seconds = results["Home write time", 1]["value"]
    assert write["value"] * seconds * 1e6 == pytest.approx(used["bytes"])
    assert results["Home read", 1]["state"] == "valid"
    assert_nothing_left(bench)


def test_generated_source_is_judged_by_its_own_rate(bench: Bench) -> None:
    result = bench.run(*bench.practice("das", *QUICK_DAS, "--param", "source=generated"), "--json")
    document = json.loads(result.stdout)
    build = next(step for step in document["steps"] if step["kind"] == "build-set")
    rate = build["detail"]["source_rate"]
    assert rate > 1e6
    write = next(
        item for item in document["results"] if item["name"] == "Home write" and item["pass"] == 1
    )
    if write["value"] * 1e6 * 2 > rate:
        assert write["state"] == "invalid"
        assert write["reason"].startswith("source-bound: ")
    else:
        assert write["state"] == "valid"
    compare = next(step for step in document["steps"] if step["kind"] == "verify")
    assert compare["detail"] == {"compared": "equal"}


def listing(tree: Path) -> list[Any]:
    """Names, kinds, times and contents of a tree, without changing its access times."""
    rows = []
    for path in entries(tree):
        status = path.lstat()
        digest = ""
        # Asked first: following a link changes the access time of the link itself.
        if stat.S_ISREG(status.st_mode):
            fd = os.open(path, os.O_RDONLY | os.O_NOATIME)
            with os.fdopen(fd, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
        rows.append((str(path), status.st_mode, status.st_mtime_ns, status.st_atime_ns, digest))
    return rows


def entries(tree: Path) -> list[Path]:
    """Everything below `tree`; rglob and os.walk ask what a link points at, which touches it."""
    paths: list[Path] = []
    with os.scandir(tree) as folder:
        for entry in sorted(folder, key=lambda entry: entry.name):
            paths.append(Path(entry.path))
            if entry.is_dir(follow_symlinks=False):
                paths += entries(Path(entry.path))
    return paths


def test_a_tree_of_your_own_is_copied_and_never_changed(bench: Bench, tmp_path: Path) -> None:
    tree = tmp_path / "my tree"
    (tree / "deep" / "er" / "ä ö 日本").mkdir(parents=True)
    (tree / "empty folder").mkdir()
    (tree / "deep" / "er" / "ä ö 日本" / ("n" * 200)).write_bytes(os.urandom(3_000_001))
    (tree / "nothing").write_bytes(b"")
    (tree / "read only").write_bytes(os.urandom(4097))
    (tree / "read only").chmod(0o400)
    (tree / "link").symlink_to("/etc/passwd")
    # With access times before the changes, a kernel mounted relatime notes every access.
    for path in entries(tree):
        os.utime(path, ns=(10**18, path.lstat().st_mtime_ns), follow_symlinks=False)
    before = listing(tree)
    for source in ("ram", "drive"):
        document = bench.json(
            *bench.practice("das", "--param", f"set={tree}", "--param", f"source={source}",
                            "--param", "passes=2", "--param", "idle=0")
        )  # fmt: skip
        assert {item["state"] for item in document["results"]} == {"valid"}, document["results"]
        assert document["plan"]["sets"][0]["files"] == 3
        assert listing(tree) == before


def test_a_manifest_is_a_set(bench: Bench, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest"
    manifest.write_text("# two files\n1000000\ta/b one\n5\tc\n")
    document = bench.json(
        *bench.practice("das", "--param", f"set={manifest}", "--param", "passes=1",
                        "--param", "idle=0")
    )  # fmt: skip
    assert document["plan"]["sets"][0]["bytes"] == 1000005
    manifest.write_text("1000000\ta\nmany\tb\n")
    result = bench.run(*bench.practice("das", "--param", f"set={manifest}"))
    assert result.returncode == 2
    assert "2" in result.stderr


def test_data_that_differ_make_the_pass_invalid_and_the_next_one_is_clean(bench: Bench) -> None:
    process = bench.start(
        *bench.practice("das", "--scale", "0.001", "--param", "sets=BR", "--param", "passes=2",
                        "--param", "idle=3"), "--json",
    )  # fmt: skip

    def first_written() -> Path | None:
        live = list((bench.root / "run" / "live").glob("*.json"))
        if not live or "pass 1, idle after write" not in live[0].read_text():
            return None
        files = [
            path
            for point in mounts_below(bench.root / "run" / "mnt")
            for path in Path(point).rglob("*")
            if path.is_file() and path.stat().st_size > 1 << 20
        ]
        return files[0] if files else None

    victim = wait_for(first_written)
    with victim.open("r+b") as file:
        file.seek(700_001)
        byte = file.read(1)
        file.seek(700_001)
        file.write(bytes([byte[0] ^ 1]))
        file.flush()
        os.fsync(file.fileno())
    out, err = process.communicate(timeout=120)
    assert process.returncode == 4, err
    document = json.loads(out)
    assert document["state"] == "corrupt"
    by_pass = {(item["name"], item["pass"]): item for item in document["results"]}
    for name in ("BR write", "BR read"):
        assert by_pass[name, 1]["state"] == "invalid"
        assert by_pass[name, 1]["reason"].startswith("data differ: 1 file differs, the first: ")
        assert victim.name in by_pass[name, 1]["reason"]
        assert by_pass[name, 2]["state"] == "valid"
        assert by_pass[name, None]["value"] == by_pass[name, 2]["value"]
    assert "data-differ" in [event["kind"] for event in document["events"]]


def test_practice_runs_are_listed_apart(bench: Bench) -> None:
    assert bench.json("runs")["runs"] == []
    practice = bench.json("runs", "--practice")["runs"]
    assert len(practice) > 0
    assert all(item["practice"] for item in practice)


def test_csv_has_one_line_a_result(bench: Bench) -> None:
    number = bench.json("runs", "--practice")["runs"][0]["number"]
    document = bench.json("show", str(number))
    text = bench.run("export", str(number), "--format", "csv").stdout
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == len(document["results"])
    assert rows[0]["suite"] == document["suite"]


def test_dry_run_writes_nothing_and_needs_no_code(own_bench: Bench) -> None:
    before = sorted(own_bench.root.rglob("*"))
    result = own_bench.run("run", "das", "--drive", "practice", "--dry-run")
    assert result.returncode == 2
    assert "run: benchstick practice" in result.stderr
    assert sorted(own_bench.root.rglob("*")) == before
    own_bench.run("practice")
    name = own_bench.json("drive", "practice")["name"]
    stat = Path(f"/sys/block/{name}/stat")
    sectors_before = stat.read_text().split()[6]
    plan = own_bench.json("run", "das", "--drive", "practice", "--dry-run", "--scale", "0.001")
    assert plan["schema"] == "benchstick/plan/2"
    assert plan["destroys"]
    assert any(step["destroys"] for step in plan["steps"])
    assert stat.read_text().split()[6] == sectors_before
    assert not (own_bench.home / "store.db").exists()


def test_raw_target_is_exact_to_half_a_percent(bench: Bench) -> None:
    document = bench.json(*bench.practice("cdm", *QUICK_CDM, "--target", "block"))
    speeds = [i for i in document["results"] if i["pass"] == 1 and i["unit"] == "MB/s"]
    assert {item["target"] for item in speeds} == {"block"}
    for item in speeds:
        totals, counters = item["detail"]["totals"], item["detail"]["counters"]
        for side in ("read_bytes", "write_bytes"):
            if totals[side]:
                assert abs(counters[side] - totals[side]) <= 0.005 * totals[side]


def test_make_run_on_this_clone() -> None:
    result = subprocess.run(
        ["make", "run", "SERVE=0"], cwd=CLONE, capture_output=True, text=True, timeout=900
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert "MB/s" in result.stdout
    assert "SEQ    1MiB" in result.stdout
    assert "Home  write" in result.stdout
