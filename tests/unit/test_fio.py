"""fio's command line for a step, and the reading of its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from benchstick.engine.measure import fio
from benchstick.plan.steps import Fio, step_from_json


def step(**changes: Any) -> Fio:
    values: dict[str, Any] = {
        "name": "RND4K Q32T16 write, pass 1", "test": "RND4K Q32T16 write", "rw": "randwrite",
        "block": 4096, "depth": 32, "threads": 16, "size": 1 << 30, "runtime": 5, "pass_no": 1,
        **changes,
    }  # fmt: skip
    return cast(Fio, step_from_json({"kind": "fio", **values}))


def test_every_option_that_a_timed_job_needs_is_there() -> None:
    argv = fio.command(step(), "/dev/sdx", Path("/a"))
    for option in (
        "--direct=1", "--thread", "--group_reporting", "--time_based", "--runtime=5",
        "--refill_buffers", "--norandommap", "--randrepeat=0", "--bs=4096", "--iodepth=32",
        "--numjobs=16", "--size=1073741824", "--rw=randwrite", "--filename=/dev/sdx",
    ):  # fmt: skip
        assert option in argv
    assert "--zero_buffers" not in argv


def test_variants() -> None:
    assert "--zero_buffers" in fio.command(step(fill="zero"), "f", Path("/a"))
    assert "--rwmixread=70" in fio.command(step(rw="randrw", mix=70), "f", Path("/a"))
    # Never as a power of ten: fio 3.41 takes 2e+00 for nothing, and with 0.2e+01 does not end.
    assert "--runtime=1005010" in fio.command(step(runtime=1005010), "f", Path("/a"))
    assert "--runtime=1005010" in fio.command(step(runtime=1005010.0), "f", Path("/a"))
    assert "--runtime=0.5" in fio.command(step(runtime=0.5), "f", Path("/a"))
    once = fio.command(step(runtime=None), "f", Path("/a"))
    assert not any("time" in word for word in once)
    assert "--filename=/mnt/a\\:b" in fio.command(step(), "/mnt/a:b", Path("/a"))


def test_files_of_their_own_for_each_thread() -> None:
    many = step(threads=64, files=64, depth=1, size=16 << 20)
    on_files = fio.command(many, "/mnt/a:b", Path("/a"), raw=False)
    assert "--filename_format=/mnt/a:b.$jobnum" in on_files
    assert "--size=16777216" in on_files
    assert not any(word.startswith("--filename=") for word in on_files)
    assert fio.files_of(many, "/mnt/f")[:2] == ["/mnt/f.0", "/mnt/f.1"]
    assert len(fio.files_of(many, "/mnt/f")) == 64
    on_drive = fio.command(many, "/dev/sdx", Path("/a"), raw=True)
    assert "--filename=/dev/sdx" in on_drive
    assert "--offset_increment=16777216" in on_drive
    assert "--size=16777216" in on_drive


def test_one_thread_fills_the_files_one_after_the_other() -> None:
    layout = step(threads=1, files=64, size=16 << 20, rw="write", runtime=None)
    on_files = fio.command(layout, "/mnt/f", Path("/a"), raw=False)
    for option in (
        "--filename_format=/mnt/f.$filenum", "--nrfiles=64", "--filesize=16777216",
        "--file_service_type=sequential", "--size=1073741824",
    ):  # fmt: skip
        assert option in on_files
    on_drive = fio.command(layout, "/dev/sdx", Path("/a"), raw=True)
    assert "--size=1073741824" in on_drive
    assert not any("offset" in word or "nrfiles" in word for word in on_drive)


def test_the_whole_drive_is_only_read() -> None:
    argv = fio.command(step(rw="randread", whole_drive=True), "/dev/sdx", Path("/a"))
    assert "--readonly" in argv
    assert "--readonly" not in fio.command(step(rw="randread"), "/dev/sdx", Path("/a"))


@pytest.mark.parametrize(
    ("share", "options"),
    [
        (0, ["--refill_buffers"]),
        (30, ["--refill_buffers", "--buffer_compress_percentage=30",
              "--buffer_compress_chunk=4096"]),
        (100, ["--zero_buffers"]),
    ],
)  # fmt: skip
def test_compressible_data(share: int, options: list[str]) -> None:
    argv = fio.command(step(compress=share), "f", Path("/a"))
    assert [word for word in argv if "buffer" in word] == options


def test_write_through() -> None:
    assert "--sync=dsync" in fio.command(step(write_through=True), "f", Path("/a"))
    assert not any("sync" in word for word in fio.command(step(), "f", Path("/a")))


def test_a_series_is_kept_second_by_second_by_mean_and_maximum() -> None:
    argv = fio.command(step(threads=1, series=True), "/dev/sdx", Path("/a"))
    for option in (
        "--write_iops_log=/a/iops", "--write_lat_log=/a/latency", "--log_avg_msec=1000",
        "--log_window_value=both",
    ):  # fmt: skip
        assert option in argv
    assert not any("log" in word for word in fio.command(step(), "f", Path("/a")))
    with pytest.raises(ValueError, match="a series is of one"):
        fio.command(step(threads=2, series=True), "f", Path("/a"))


def output(path: Path, prefix: str = "") -> Path:
    def side(count: int, size: int, mean: float, runtime: int) -> dict[str, Any]:
        return {
            "io_bytes": size, "total_ios": count, "runtime": runtime,
            "lat_ns": {"mean": mean, "max": mean * 3},
            "clat_ns": {
                "percentile": {"99.000000": 5000},
                "bins": {"900": 1, "1100": count - 1},
            } if count else {},
        }  # fmt: skip

    read, write = side(700, 70_000_000, 1e6, 5000), side(300, 30_000_000, 2e6, 4990)
    job = {"error": 0, "read": read, "write": write}
    target = path / "fio.json"
    target.write_text(prefix + json.dumps({"jobs": [job]}))
    return target


def test_a_mix_counts_both_directions(tmp_path: Path) -> None:
    totals, error = fio.read_output(output(tmp_path, "fio: a warning\n"))
    assert error == 0
    assert totals.mbps == pytest.approx(20.0)
    assert totals.latency_us == pytest.approx(1300.0)
    assert totals.max_us == pytest.approx(6000.0)
    # From the bins of both directions, not from fio's value of either.
    assert totals.percentiles == {"99": 1.1}
    assert totals.histogram == {"read": [(1, 1), (2, 699)], "write": [(1, 1), (2, 299)]}


def test_percentiles_of_a_mix_are_of_all_its_requests(tmp_path: Path) -> None:
    def job(reads: dict[str, int], writes: dict[str, int]) -> fio.Totals:
        sides = {}
        for name, bins in (("read", reads), ("write", writes)):
            sides[name] = {
                "io_bytes": 4096, "total_ios": sum(bins.values()), "runtime": 1000,
                "lat_ns": {"mean": 1e3, "max": 1e9},
                # fio's value of the direction alone.
                "clat_ns": {"bins": bins, "percentile": {
                    "50.000000": min(map(int, bins)), "99.900000": max(map(int, bins)),
                }} if bins else {},
            }  # fmt: skip
        (tmp_path / "fio.json").write_text(json.dumps({"jobs": [{"error": 0, **sides}]}))
        return fio.read_output(tmp_path / "fio.json")[0]

    # 700 reads of 80 us; of 300 writes 298 of 90 us and two of 40 ms: those are 0.2 % of all.
    mix = job({"80000": 700}, {"90000": 298, "40000000": 2})
    assert mix.percentiles == {"50": 80.0, "99.9": 40000.0}
    # As many of both: neither is the one that counts.
    assert job({"80000": 501}, {"90000": 500}).percentiles == {"50": 80.0, "99.9": 90.0}
    assert job({"80000": 500}, {"90000": 501}).percentiles == {"50": 90.0, "99.9": 90.0}
    # For one direction fio's own value.
    assert job({"80000": 1, "90000": 1}, {}).percentiles == {"50": 80.0, "99.9": 90.0}


def test_no_percentile_is_above_the_maximum(tmp_path: Path) -> None:
    # As fio 3.33 wrote it: a bin is named by its middle, which may lie above all that is in it.
    side = {
        "io_bytes": 4096, "total_ios": 1, "runtime": 1000,
        "lat_ns": {"mean": 1e3, "max": 16276852},
        "clat_ns": {"percentile": {"99.999000": 16318464}, "bins": {"16318464": 1}},
    }  # fmt: skip
    none = {**side, "total_ios": 0, "io_bytes": 0, "clat_ns": {}, "lat_ns": {"mean": 0, "max": 0}}
    (tmp_path / "fio.json").write_text(json.dumps({"jobs": [{"read": none, "write": side}]}))
    totals, _ = fio.read_output(tmp_path / "fio.json")
    assert totals.percentiles == {"99.999": totals.max_us} == {"99.999": 16276.852}


def test_output_without_json_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "fio.json").write_text("fio: died\n")
    with pytest.raises(ValueError, match="no JSON"):
        fio.read_output(tmp_path / "fio.json")


def test_the_json_of_a_step_has_all_fields_side_by_side() -> None:
    document = {
        "kind": "fio", "timed": False, "name": "a", "seconds": 1.5, "bytes_written": 2,
        "bytes_read": 3, "destroys": True, "test": "b", "rw": "randrw", "block": 4, "depth": 5,
        "threads": 6, "size": 7, "runtime": 8.5, "pass_no": 9, "fill": "zero", "mix": 10,
        "counted": False, "latency_log": True, "needs": ("c",), "files": 11, "whole_drive": True,
        "compress": 12, "write_through": True, "series": True, "offset": 13, "group": "d",
        "round": 14, "enough": 15, "busy": 1.0, "rest": 2.0, "drive_state": "e",
        "part": "f",
    }  # fmt: skip
    assert json.dumps(step_from_json(document).to_json()) == json.dumps(document)
